"""The exactly optimal pure-DP mechanism for small complete tournaments.

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
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dpbook import _validation as check
from dpbook.lower_bounds import (
    best_private_rule,
    bordered,
    privacy_rows,
    product_law,
    solve_program,
)
from dpbook.models import all_rankings
from dpbook.privacy import sets_of

__all__ = [
    "OptimalMechanism",
    "optimal_mechanism",
    "relabel",
    "tournament_law",
    "unreduced_risk",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ITEMS = {"sets": 7, "rankings": 6}
MAX_EPSILON = 10
MAX_UNREDUCED = 110_000  # privacy rows of the unreduced program
LOSSES = ("exact", "average")
_BITS = 8  # width of the lookup tables of `relabel`


def tournament_law(rho: ArrayLike) -> Array:
    """Law of the tournament under win probabilities, (n, n), n <= 7: shape (2^(n(n-1)/2),)."""
    chances = check.square_table("rho", rho)
    return product_law(chances[np.triu_indices(len(chances), 1)])


def relabel(pi: ArrayLike) -> NDArray[np.uint32]:
    """All tournaments with their items renamed.

    Parameters
    ----------
    pi : array of int, shape (n,)
        A permutation of 0..n-1, n <= 7; item i gets the name pi[i].

    Returns
    -------
    array of uint32, shape (2^(n(n-1)/2),)
        Entry d is the renamed tournament d: pi[i] beats pi[j] in it if i beats j in d.
    """
    names = check.whole_array("pi", pi)
    n = names.size
    if n < 2 or n > 7 or sorted(names.tolist()) != list(range(n)):
        raise ValueError(f"pi = {pi!r}: allowed is a permutation of 0..n-1, 2 <= n <= 7")
    edges = list(combinations(range(n), 2))
    at = {edge: e for e, edge in enumerate(edges)}
    image = np.zeros(1, dtype=np.uint32)
    for start in range(0, len(edges), _BITS):
        # One small table per block of bits; all blocks together by an outer "or".
        block = np.zeros(1, dtype=np.uint32)
        for i, j in edges[start : start + _BITS]:
            a, b = int(names[i]), int(names[j])
            bit = np.uint32(1 << at[min(a, b), max(a, b)])
            set_if = (block | bit, block) if a > b else (block, block | bit)
            block = np.concatenate(set_if)
        image = (block[:, None] | image).ravel()
    return image


@dataclass(frozen=True)
class OptimalMechanism:
    """An optimal mechanism, repaired so that its epsilon holds strictly, with its certificate.

    Attributes
    ----------
    n_items, k : int, int or None
        Size of the problem; k is None for rankings.
    bounds : tuple of two Fractions
        The smallest largest risk of any eps-DP mechanism, for laws of exactly the win probabilities
        that are stored above the diagonal, lies between them.
    risk : float
        The upper one, rounded up: largest risk of the mechanism published here, repair included.
    lower : float
        The lower one, rounded down: no eps-DP mechanism has a smaller largest risk.
    loss : float
        Largest log-ratio over all flips, in nats; at most the epsilon asked for.
    weights : array, shape (orbits,)
        q, the chance of the reference outcome o0 (items 0..k-1, or 0, 1, ..., n-1) on each orbit.
    orbit : array of int, shape (2^(n(n-1)/2),)
        Orbit of each tournament.
    outcomes : array of int, shape (outcomes, n)
        Relabellings pi that carry o0 to each outcome, in the order of `sets_of`, `all_rankings`.
    """

    n_items: int
    k: int | None
    bounds: tuple[Fraction, Fraction]
    risk: float
    lower: float
    loss: float
    weights: Array
    orbit: NDArray[np.int32]
    outcomes: Ints

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
    RuntimeError
        If the solver fails.
    """
    matrices, k = _hypotheses(rho, k)
    eps = _epsilon(epsilon)
    problem = _reduced_program(matrices, k, check.choice("loss", loss, LOSSES))
    # A chance is a product of up to `edges` numbers, 1 - p rounded like the product; then sums over
    # an orbit and over the outcomes, and the loss with its product.
    edges, members = matrices.shape[1] * (matrices.shape[1] - 1) // 2, np.bincount(problem.orbit)
    count = 2 * edges + int(members.max()) + len(problem.outcomes) + 2
    rule = best_private_rule(problem.costs, problem.totals, problem.pairs, eps, roundings=count)
    found = (rule.bounds, rule.risk, rule.lower, rule.loss, rule.weights)
    return OptimalMechanism(matrices.shape[1], k, *found, problem.orbit, problem.outcomes)


def unreduced_risk(
    rho: ArrayLike, k: int | None = None, *, epsilon: float, tol: float = 1e-10
) -> float:
    """Minimax risk from the program without symmetry: a referee for `optimal_mechanism`.

    Parameters
    ----------
    rho, k, epsilon
        As in `optimal_mechanism`, one hypothesis; the loss is 1 if the outcome is wrong. At most
        110 000 privacy rows.
    tol : float
        Of the solver; with tens of thousands of rows it may not reach the default.

    Returns
    -------
    float
        Optimal value of the solver, neither repaired nor certified.
    """
    matrices, k = _hypotheses(rho, k)
    eps = _epsilon(epsilon)
    n = matrices.shape[1]
    outcomes, _ = _outcomes_of(n, k, "exact")
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
    privacy = privacy_rows(np.concatenate(pairs), size, eps)
    right = np.zeros((len(outcomes), size))  # chance of the right outcome, one row a hypothesis
    for row, pi in enumerate(outcomes):
        right[row, table[:, row]] = law[relabel(np.argsort(pi))]
    upper = bordered(
        [sparse.csr_array(-right), privacy],
        np.repeat([1.0, 0.0], [len(outcomes), privacy.shape[0]]),
    )
    totals = sparse.csr_array((np.ones(size), (np.arange(size) // len(outcomes), np.arange(size))))
    equal = bordered([totals], np.zeros(law.size))
    return 1 + float(solve_program(-np.eye(size + 1)[-1], upper, equal, tol).fun)


def _hypotheses(rho: ArrayLike, k: int | None) -> tuple[Array, int | None]:
    matrices = check.finite_array("rho", rho, min_ndim=2)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ValueError(f"rho of shape {matrices.shape}: allowed is (n, n) or (hypotheses, n, n)")
    n, limit = matrices.shape[1], MAX_ITEMS["rankings" if k is None else "sets"]
    if not 2 <= n <= limit:
        raise ValueError(f"rho has n = {n} items: allowed is 2 <= n <= {limit}")
    if matrices.min() < 0 or np.abs(matrices + np.swapaxes(matrices, 1, 2) - 1).max() > 1e-12:
        raise ValueError("rho: allowed are probabilities with rho + rho.T = 1")
    return matrices, None if k is None else check.integer("k", k, 1, n - 1)


def _epsilon(epsilon: float) -> float:
    eps = check.epsilon(epsilon)
    if eps > MAX_EPSILON:  # e^epsilon and 1 in one row: the solver's tolerance is not enough
        raise ValueError(f"epsilon = {epsilon!r}: allowed is a number in (0, {MAX_EPSILON}]")
    return eps


@dataclass(frozen=True)
class _Reduced:
    """Orbits, the orbits met by each class of tournaments, and the pairs of adjacent orbits."""

    orbit: NDArray[np.int32]
    outcomes: Ints
    totals: sparse.csr_array  # (classes, orbits)
    pairs: Ints  # (pairs, 2)
    costs: Array  # (hypotheses, orbits)


def _outcomes_of(n: int, k: int | None, loss: str) -> tuple[Ints, Array]:
    """Relabellings that carry the reference outcome to each outcome, and the losses."""
    if k is None:
        outcomes = all_rankings(n)
        wrong = [sum(a > b for a, b in combinations(pi, 2)) / (n * (n - 1) / 2) for pi in outcomes]
    else:
        sets = sets_of(n, k)
        outcomes = np.array([[*s, *np.setdiff1d(np.arange(n), s)] for s in sets], dtype=np.int64)
        wrong = (sets >= k).mean(axis=1)
    losses = np.asarray(wrong, dtype=float)
    return outcomes, losses if loss == "average" else np.sign(losses)


def _reduced_program(matrices: Array, k: int | None, loss: str) -> _Reduced:
    n = matrices.shape[1]
    outcomes, losses = _outcomes_of(n, k, loss)
    laws = [tournament_law(matrix) for matrix in matrices]
    codes = np.arange(laws[0].size, dtype=np.uint32)
    smallest = codes.copy()
    if k is not None:
        for head in permutations(range(k)):
            for tail in permutations(range(k, n)):
                np.minimum(smallest, relabel([*head, *tail]), out=smallest)
    first = np.flatnonzero(smallest == codes)
    number = np.zeros(codes.size, dtype=np.int32)
    number[first] = np.arange(first.size)
    orbit = number[smallest]
    costs, met = np.zeros((len(laws), first.size)), np.zeros((first.size, len(outcomes)), np.int64)
    for column, (pi, wrong) in enumerate(zip(outcomes, losses, strict=True)):
        image = orbit[relabel(np.argsort(pi))]
        met[:, column] = image[first]
        for row, law in enumerate(laws):
            costs[row] += wrong * np.bincount(image.astype(np.intp), law, first.size)
    # Tournaments of one isomorphism class meet the same orbits equally often.
    rows = np.unique(np.sort(met, axis=1), axis=0)
    where = np.repeat(np.arange(len(rows)), len(outcomes))
    totals = sparse.csr_array(
        (np.ones(rows.size), (where, rows.ravel())), shape=(len(rows), first.size)
    )
    flips = [orbit[first ^ (1 << e)] for e in range(n * (n - 1) // 2)]
    near = np.stack([np.tile(np.arange(first.size), len(flips)), np.concatenate(flips)], axis=1)
    pairs = np.unique(np.sort(near, axis=1), axis=0)
    return _Reduced(orbit, outcomes, totals, pairs[pairs[:, 0] < pairs[:, 1]], costs)
