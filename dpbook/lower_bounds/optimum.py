r"""The exactly optimal pure-DP mechanism for small complete tournaments, by linear programming.

Data: a tournament, each pair compared once (p = 1). Neighbours: one comparison flipped. Outcome: a
k-set or a full ranking. A mechanism is a table Q[d, o]; its risk under a law of d is linear in Q,
and so are the privacy constraints, so the minimax mechanism solves a linear program.

If the hypotheses are closed under relabelling, some optimal Q is equivariant: averaging
Q[pi d, pi o] over all relabellings pi keeps privacy and does not raise the largest risk. Then
Q[d, pi o0] = q(pi^-1 d), and q is constant on the orbits of the relabellings that fix o0. These
orbits are the variables. A tournament is an integer: bit e says that the first item of the e-th
pair (i, j), i < j, in lexicographic order, won.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse

from dpbook import _validation as check
from dpbook.lower_bounds._reduction import (
    Array,
    Ints,
    Reduced,
    outcomes_of,
    reduced_program,
    relabel,
    tournament_law,
)

__all__ = ["OptimalMechanism", "optimal_mechanism", "relabel", "tournament_law", "unreduced_risk"]

MAX_ITEMS = {"sets": 7, "rankings": 6}
MAX_EPSILON = 10
MAX_UNREDUCED = 110_000  # privacy rows of the unreduced program
LOSSES = ("exact", "average")
_TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_INTERIOR_FROM = 500  # variables from which the interior point method is the faster one


@dataclass(frozen=True)
class OptimalMechanism:
    """An optimal mechanism, repaired so that its epsilon holds strictly, with its certificate.

    Attributes
    ----------
    n_items, k : int, int or None
        Size of the problem; k is None for rankings.
    risk : float
        Largest risk of the mechanism published here, repair included.
    lower : float
        No eps-DP mechanism has a smaller largest risk: value of a feasible point of the dual.
    loss : float
        Largest log-ratio over all flips, in nats; at most the epsilon asked for.
    mixed : float
        Weight of the uniform distribution that the repair mixed in.
    weights : array, shape (orbits,)
        q, the chance of the reference outcome o0 (items 0..k-1, or 0, 1, ..., n-1) on each orbit.
    orbit : array of int, shape (2^(n(n-1)/2),)
        Orbit of each tournament.
    outcomes : array of int, shape (outcomes, n)
        Relabellings pi that carry o0 to each outcome, in the order of `sets_of`, `all_rankings`.
    rows : int
        Rows of the reduced program.
    """

    n_items: int
    k: int | None
    risk: float
    lower: float
    loss: float
    mixed: float
    weights: Array
    orbit: NDArray[np.int32]
    outcomes: Ints
    rows: int

    def table(self) -> Array:
        """Chance of every outcome for every tournament, shape (tournaments, outcomes)."""
        columns = [self.weights[self.orbit[relabel(np.argsort(pi))]] for pi in self.outcomes]
        return np.stack(columns, axis=1)


def optimal_mechanism(
    rho: ArrayLike, k: int | None = None, *, epsilon: float, loss: str = "exact"
) -> OptimalMechanism:
    """Minimax eps-DP mechanism over all relabellings of the given hypotheses.

    Parameters
    ----------
    rho : array, shape (n, n) or (hypotheses, n, n)
        Win probabilities for which 0, 1, ..., n-1 is the right ranking and 0..k-1 the right set;
        every relabelling of every one of them is a hypothesis.
    k : int, optional
        Size of the set, n <= 7; None for full rankings, n <= 6.
    epsilon : float
        Privacy parameter in nats, in (0, 10].
    loss : {"exact", "average"}
        1 if the outcome is wrong; or the fraction of wrong items (sets) or pairs (rankings).

    Returns
    -------
    OptimalMechanism

    Raises
    ------
    ValueError
        If an argument is out of range.
    RuntimeError
        If the solver fails.
    """
    matrices, k = _hypotheses(rho, k)
    eps = _epsilon(epsilon)
    problem = reduced_program(matrices, k, check.choice("loss", loss, LOSSES))
    solution, rows, privacy = _solve(problem, eps)
    size = problem.class_of.size
    weights, mixed = _repair(problem, np.asarray(solution.x[:size]), eps)
    return OptimalMechanism(
        n_items=matrices.shape[1],
        k=k,
        risk=float((problem.costs @ weights).max()),
        lower=_dual_bound(problem, solution, privacy),
        loss=_largest_loss(problem, weights),
        mixed=mixed,
        weights=weights,
        orbit=problem.orbit,
        outcomes=problem.outcomes,
        rows=rows,
    )


def _hypotheses(rho: ArrayLike, k: int | None) -> tuple[Array, int | None]:
    matrices = check.finite_array("rho", rho, min_ndim=2)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ValueError(f"rho of shape {matrices.shape}: allowed is (n, n) or (hypotheses, n, n)")
    n, limit = matrices.shape[1], MAX_ITEMS["rankings" if k is None else "sets"]
    if not 2 <= n <= limit:
        raise ValueError(f"rho has n = {n} items: allowed is 2 <= n <= {limit}")
    return matrices, None if k is None else check.integer("k", k, 1, n - 1)


def _epsilon(epsilon: float) -> float:
    eps = check.epsilon(epsilon)
    if eps > MAX_EPSILON:  # e^epsilon and 1 in one row: the solver's tolerance is not enough
        raise ValueError(f"epsilon = {epsilon!r}: allowed is a number in (0, {MAX_EPSILON}]")
    return eps


def _solve(problem: Reduced, eps: float) -> tuple[optimize.OptimizeResult, int, sparse.csr_array]:
    """Minimise t with t >= every risk; the variables are q and t."""
    hypotheses, size = problem.costs.shape
    privacy = _privacy_rows(problem.pairs, size, eps)
    upper = _bordered(
        [sparse.csr_array(problem.costs), privacy],
        np.repeat([-1.0, 0.0], [hypotheses, privacy.shape[0]]),
    )
    equal = _bordered([problem.totals], np.zeros(problem.totals.shape[0]))
    solution = _highs(np.eye(size + 1)[-1], upper, equal)
    return solution, upper.shape[0] + equal.shape[0], privacy


def _bordered(blocks: list[sparse.csr_array], column: Array) -> sparse.csr_array:
    """The blocks on top of each other, with one more column for t."""
    last = sparse.csr_array(column[:, None])
    return sparse.csr_array(sparse.hstack([sparse.vstack(blocks), last], format="csr"))


def _privacy_rows(pairs: Ints, size: int, eps: float) -> sparse.csr_array:
    """Rows q_a - e^eps q_b <= 0, both ways, for every pair."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    where = np.repeat(np.arange(len(both)), 2)
    values = np.tile([1.0, -np.exp(eps)], len(both))
    return sparse.csr_array((values, (where, both.ravel())), shape=(len(both), size))


def _highs(
    cost: Array, upper: sparse.csr_array, equal: sparse.csr_array
) -> optimize.OptimizeResult:
    program: dict[str, Any] = {
        "A_ub": upper,
        "b_ub": np.zeros(upper.shape[0]),
        "A_eq": equal,
        "b_eq": np.ones(equal.shape[0]),
        "method": "highs-ds" if cost.size < _INTERIOR_FROM else "highs-ipm",
        "options": dict.fromkeys(_TOLERANCES, 1e-10),
    }
    solution = optimize.linprog(cost, **program)
    if not solution.success:
        raise RuntimeError(f"the linear program was not solved: {solution.message}")
    return solution


def _largest_loss(problem: Reduced, weights: Array) -> float:
    logs = np.log(weights)
    return float(np.abs(logs[problem.pairs[:, 0]] - logs[problem.pairs[:, 1]]).max(initial=0.0))


def _repair(problem: Reduced, found: Array, eps: float) -> tuple[Array, float]:
    """Make every law sum to one and the privacy constraints strict, at the least cost."""
    positive = np.maximum(found, 0)
    proper = positive / (problem.totals @ positive)[problem.class_of]
    for mixed in 10.0 ** np.arange(-10, 0):
        weights = (1 - mixed) * proper + mixed / len(problem.outcomes)
        if _largest_loss(problem, weights) < eps:
            return weights, float(mixed)
    raise RuntimeError("the solution of the linear program is too far from private to be repaired")


def _dual_bound(
    problem: Reduced, solution: optimize.OptimizeResult, privacy: sparse.csr_array
) -> float:
    """Lower bound from the dual, whatever the accuracy of the solver.

    With prior mu over the hypotheses, z >= 0 and any y, every feasible q has risk at least
    mu C q + z (privacy q) - y (totals q - 1) >= sum y + sum over orbits of min(reduced cost, 0),
    because 0 <= q <= 1.
    """
    multipliers = np.maximum(-solution.ineqlin.marginals, 0)
    hypotheses = len(problem.costs)
    prior = multipliers[:hypotheses] / multipliers[:hypotheses].sum()
    y = np.asarray(solution.eqlin.marginals)
    reduced = prior @ problem.costs + multipliers[hypotheses:] @ privacy - y @ problem.totals
    return float(y.sum() + np.minimum(reduced, 0).sum())


def unreduced_risk(rho: ArrayLike, k: int | None = None, *, epsilon: float) -> float:
    """Minimax risk from the program without symmetry: a referee for `optimal_mechanism`.

    Parameters
    ----------
    rho : array, shape (n, n)
        As in `optimal_mechanism`; the loss is 1 if the outcome is wrong.
    k : int, optional
        Size of the set; None for rankings.
    epsilon : float
        Privacy parameter in nats, in (0, 10].

    Returns
    -------
    float
        Optimal value of the solver, neither repaired nor certified.

    Raises
    ------
    ValueError
        If an argument is out of range, or the program has more than 110 000 privacy rows.
    """
    matrices, k = _hypotheses(rho, k)
    eps = _epsilon(epsilon)
    n = matrices.shape[1]
    outcomes, _ = outcomes_of(n, k, "exact")
    law = tournament_law(matrices[0])
    edges, size = n * (n - 1) // 2, law.size * len(outcomes)
    if size * edges > MAX_UNREDUCED:
        raise ValueError(
            f"rho, k: {size * edges} privacy rows; allowed are at most {MAX_UNREDUCED}"
        )
    table = np.arange(size).reshape(law.size, len(outcomes))
    codes = np.arange(law.size)
    flips = [(e, codes[codes >> e & 1 == 0]) for e in range(edges)]
    pairs = [np.stack([table[d].ravel(), table[d | 1 << e].ravel()], axis=1) for e, d in flips]
    privacy = _privacy_rows(np.concatenate(pairs), size, eps)
    right = np.zeros((len(outcomes), size))  # chance of the right outcome, one row a hypothesis
    for row, pi in enumerate(outcomes):
        right[row, table[:, row]] = law[relabel(np.argsort(pi))]
    upper = _bordered(
        [sparse.csr_array(-right), privacy],
        np.repeat([1.0, 0.0], [len(outcomes), privacy.shape[0]]),
    )
    totals = sparse.csr_array((np.ones(size), (np.arange(size) // len(outcomes), np.arange(size))))
    equal = _bordered([totals], np.zeros(law.size))
    return 1 + float(_highs(-np.eye(size + 1)[-1], upper, equal).fun)
