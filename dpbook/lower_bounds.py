"""Laws that are hard to tell apart, and what follows; the best private rule for small problems."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse
from scipy.special import rel_entr

from dpbook import _validation as check

__all__ = [
    "PrivateRule",
    "best_private_rule",
    "edge_kl",
    "fano_error",
    "gilbert_varshamov",
    "product_law",
    "product_log_ratio",
]

Array = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

MOST_BITS = 21
_TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_INTERIOR_FROM = 500  # variables from which the interior point method is the faster one


def edge_kl(rho: ArrayLike, other: ArrayLike, *, p: float = 1.0) -> float:
    """Kullback-Leibler divergence of the edge data of two models, in nats.

    The models are winning probabilities, (n, n); a pair is compared with probability p in (0, 1].
    Infinite if ``other`` rules out what ``rho`` allows.
    """
    a = check.square_table("rho", rho)
    b = check.square_table("other", other)
    if a.shape != b.shape:
        raise ValueError(f"other of shape {b.shape}: allowed is {a.shape}, as rho")
    at = np.triu_indices(len(a), 1)
    a, b = a[at], b[at]
    p = check.probability("p", p, zero=False)
    return p * float((rel_entr(a, b) + rel_entr(1 - a, 1 - b)).sum())


def product_law(probabilities: ArrayLike) -> Array:
    """Law of independent bits over all 2^d data sets, shape (2^d,).

    The chances of a one, (d,), are those of at most 21 bits; bit e of the number of a data set is
    its e-th bit. The part of a table of win probabilities above its diagonal, row by row, gives the
    law of the tournament.
    """
    ones = _chances("probabilities", probabilities)
    if ones.size > MOST_BITS:
        raise ValueError(f"probabilities has {ones.size} entries: allowed are {MOST_BITS}")
    law = np.ones(1)
    for one in ones:
        law = np.concatenate([law * (1 - one), law * one])
    return law


def product_log_ratio(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Largest log-ratio of acceptance probabilities of a private test of independent bits.

    Sum of log((1 + p (e^(s epsilon) - 1)) / (1 + q (e^(s epsilon) - 1))), s the sign of p - q, over
    the bits, of which p and q, (bits,), are the chances of a one under the two laws. Neighbours
    differ in one bit; epsilon is in nats.
    """
    a, b = _chances("p", p), _chances("q", q)
    if a.shape != b.shape:
        raise ValueError(f"q has {b.size} entries: allowed are as many as p, {a.size}")
    factor = np.expm1(np.sign(a - b) * check.nonnegative("epsilon", epsilon))
    return float((np.log1p(a * factor) - np.log1p(b * factor)).sum())


def _chances(name: str, value: ArrayLike) -> Array:
    chances = check.finite_array(name, value)
    if chances.ndim != 1 or chances.min() < 0 or chances.max() > 1:
        raise ValueError(f"{name} = {value!r}: allowed is a list of numbers in [0, 1]")
    return chances


def fano_error(hypotheses: int, kl: float) -> float:
    """Error probability that no test avoids, private or not.

    max(0, 1 - (kl + log 2) / log M): a lower bound on the mean error over the M >= 2 laws, whose
    pairwise Kullback-Leibler divergences are at most ``kl``, in nats.
    """
    number = check.integer("hypotheses", hypotheses, 2)
    return max(0.0, 1 - (check.nonnegative("kl", kl) + log(2)) / log(number))


def gilbert_varshamov(length: int, weight: int, distance: int) -> int:
    """Number of sets of equal size, pairwise far apart, that can always be had.

    Of all sets of ``weight`` out of ``length`` items, divided by the sets that one kept set rules
    out, rounded up: in a greedy choice no more are lost. Two sets differ in at least ``distance``
    items, an even number 2h.
    """
    length = check.integer("length", length, 1)
    weight = check.integer("weight", weight, 1, length)
    near = range(min(weight, (check.integer("distance", distance, 1) - 1) // 2) + 1)
    ball = sum(comb(weight, h) * comb(length - weight, h) for h in near)
    return ceil(Fraction(comb(length, weight), ball))


@dataclass(frozen=True, eq=False)
class PrivateRule:
    """An optimal private rule, repaired so that its epsilon holds strictly, with its certificate.

    Attributes
    ----------
    risk : float
        Largest risk of the rule given here, repair included.
    lower : float
        No private rule has a smaller largest risk: value of a feasible point of the dual.
    loss : float
        Largest log-ratio over the neighbours, in nats; at most the epsilon asked for.
    weights : array, shape (variables,)
        The chances.
    """

    risk: float
    lower: float
    loss: float
    weights: Array


def best_private_rule(
    costs: ArrayLike, totals: sparse.csr_array, pairs: ArrayLike, epsilon: float
) -> PrivateRule:
    """Minimax epsilon-DP rule, by a linear program, enclosed from both sides.

    The variables are chances: of each outcome for each data set; or, if all names are alike, of one
    outcome for each data set, or for each orbit of data sets under the renamings that fix it.

    Parameters
    ----------
    costs : array, shape (hypotheses, variables)
        The risk at every hypothesis is ``costs @ weights``; not below 0.
    totals : sparse array, shape (laws, variables)
        ``totals @ weights`` is 1, a law each; every variable stands in one row.
    pairs : array of int, shape (pairs, 2)
        Variables whose ratio may be at most e^epsilon, either way.
    epsilon : float
        Privacy parameter, in nats.

    Raises
    ------
    RuntimeError
        If the solver fails.
    """
    table, near = np.atleast_2d(check.finite_array("costs", costs)), np.asarray(pairs)
    eps, (hypotheses, size) = check.epsilon(epsilon), table.shape
    row = sparse.csc_array(totals).indices
    if totals.shape[1] != size or row.size != size:
        raise ValueError(
            f"totals of shape {totals.shape} with {row.size} entries: allowed is one entry for "
            f"each of the {size} variables"
        )
    privacy = privacy_rows(near, size, eps)
    upper = bordered(
        [sparse.csr_array(table), privacy],
        np.repeat([-1.0, 0.0], [hypotheses, privacy.shape[0]]),
    )
    equal = bordered([totals], np.zeros(totals.shape[0]))
    solution = solve_program(np.eye(size + 1)[-1], upper, equal)  # the variables, and the risk t
    weights = _repair(np.asarray(solution.x[:size]), totals, row, near, eps)
    return PrivateRule(
        risk=float((table @ weights).max()),
        lower=_dual_bound(table, totals, solution, privacy),
        loss=_largest_loss(near, weights),
        weights=weights,
    )


def bordered(blocks: list[sparse.csr_array], column: Array) -> sparse.csr_array:
    """The blocks on top of each other, with one more column."""
    last = sparse.csr_array(column[:, None])
    return sparse.csr_array(sparse.hstack([sparse.vstack(blocks), last], format="csr"))


def privacy_rows(pairs: Ints, size: int, eps: float) -> sparse.csr_array:
    """Rows q_a - e^eps q_b <= 0, both ways, for every pair."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    where = np.repeat(np.arange(len(both)), 2)
    values = np.tile([1.0, -np.exp(eps)], len(both))
    return sparse.csr_array((values, (where, both.ravel())), shape=(len(both), size))


def solve_program(
    cost: Array, upper: sparse.csr_array, equal: sparse.csr_array, tol: float = 1e-10
) -> optimize.OptimizeResult:
    """Minimise cost x for x >= 0 with upper x <= 0 and equal x = 1, to the solver's tolerance."""
    program: dict[str, Any] = {
        "A_ub": upper,
        "b_ub": np.zeros(upper.shape[0]),
        "A_eq": equal,
        "b_eq": np.ones(equal.shape[0]),
        "method": "highs-ds" if cost.size < _INTERIOR_FROM else "highs-ipm",
        "options": dict.fromkeys(_TOLERANCES, tol),
    }
    solution = optimize.linprog(cost, **program)
    if not solution.success:
        raise RuntimeError(f"the linear program was not solved: {solution.message}")
    return solution


def _largest_loss(pairs: Ints, weights: Array) -> float:
    logs = np.log(weights)
    return float(np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max(initial=0.0))


def _repair(found: Array, totals: sparse.csr_array, row: Ints, pairs: Ints, eps: float) -> Array:
    """Make every law sum to one and the privacy constraints strict, at the least cost."""
    positive = np.maximum(found, 0)
    proper, even = positive / (totals @ positive)[row], 1 / totals.sum(axis=1)[row]
    for mixed in 10.0 ** np.arange(-10, 0):
        weights = (1 - mixed) * proper + mixed * even
        if _largest_loss(pairs, weights) < eps:
            return np.asarray(weights)
    raise RuntimeError("the solution of the linear program is too far from private to be repaired")


def _dual_bound(
    costs: Array,
    totals: sparse.csr_array,
    solution: optimize.OptimizeResult,
    privacy: sparse.csr_array,
) -> float:
    """Lower bound from the dual, whatever the accuracy of the solver.

    With prior mu over the hypotheses, z >= 0 and any y, every feasible q has risk at least
    mu C q + z (privacy q) - y (totals q - 1) >= sum y + sum over orbits of min(reduced cost, 0),
    because 0 <= q <= 1.
    """
    multipliers = np.maximum(-solution.ineqlin.marginals, 0)
    prior = multipliers[: len(costs)] / multipliers[: len(costs)].sum()
    y = np.asarray(solution.eqlin.marginals)
    reduced = prior @ costs + multipliers[len(costs) :] @ privacy - y @ totals
    return float(y.sum() + np.minimum(reduced, 0).sum())
