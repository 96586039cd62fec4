"""Laws that are hard to tell apart, and what follows; the best private rule for small problems."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse
from scipy.special import rel_entr

from dpbook import _validation as check
from dpbook._typing import Array, Ints

__all__ = [
    "PrivateRule",
    "best_private_rule",
    "edge_kl",
    "fano_error",
    "product_pmf",
]

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


def product_pmf(probabilities: ArrayLike) -> Array:
    """Distribution of independent bits over all 2^d data sets, shape (2^d,).

    The chances of a one, (d,), are those of at most 21 bits; bit e of the number of a data set is
    its e-th bit. A table of win probabilities, above its diagonal row by row, gives a tournament's.
    """
    ones = bit_chances("probabilities", probabilities)
    if ones.size > MOST_BITS:
        raise ValueError(f"probabilities has {ones.size} entries: allowed are {MOST_BITS}")
    pmf = np.ones(1)
    for one in ones:
        pmf = np.concatenate([pmf * (1 - one), pmf * one])
    return pmf


def bit_chances(name: str, value: ArrayLike) -> Array:
    """The value as chances, shape (k,), each in [0, 1]."""
    chances = check.finite_array(name, value)
    if chances.ndim != 1 or chances.min() < 0 or chances.max() > 1:
        raise ValueError(f"{name} = {value!r}: allowed is a list of numbers in [0, 1]")
    return chances


def fano_error(hypotheses: int, kl: float) -> float:
    """Error probability that no test avoids, private or not.

    max(0, 1 - (kl + log 2) / log M): a lower bound on the mean error over the M >= 2 distributions,
    whose pairwise Kullback-Leibler divergences are at most ``kl``, in nats.
    """
    number = check.integer("hypotheses", hypotheses, 2)
    return max(0.0, 1 - (check.nonnegative("kl", kl) + log(2)) / log(number))


@dataclass(frozen=True, eq=False)
class PrivateRule:
    """An optimal private rule, repaired so that its epsilon holds strictly, with its certificate.

    Attributes
    ----------
    bounds : tuple of two Fractions
        The smallest largest risk of any private rule lies between them, ends included.
    risk : float
        The upper one, rounded up: largest risk of the rule given here, repair included.
    lower : float
        The lower one, rounded down: value of a feasible point of the dual.
    loss : float
        Largest log-ratio over the neighbours, in nats; at most the epsilon asked for.
    weights : array, shape (variables,)
        The chances, up to the rounding of each distribution's sum, which ``bounds`` accounts for.
    """

    bounds: tuple[Fraction, Fraction]
    risk: float
    lower: float
    loss: float
    weights: Array


def best_private_rule(
    costs: ArrayLike,
    totals: sparse.csr_array,
    pairs: ArrayLike,
    epsilon: float,
    *,
    roundings: int = 0,
) -> PrivateRule:
    """Minimax epsilon-DP rule, by a linear program, enclosed from both sides.

    The variables are chances: of each outcome for each data set; or, if all names are alike, of one
    outcome for each data set, or for each orbit of data sets under the renamings that fix it.
    The bounds are computed in whole numbers from whatever the solver found; nothing is believed.

    Parameters
    ----------
    costs : array, shape (hypotheses, variables)
        The risk at every hypothesis is ``costs @ weights``; not below 0.
    totals : sparse array, shape (distributions, variables)
        ``totals @ weights`` is 1, a distribution each; a variable has one entry, whole, at least 1.
    pairs : array of int, shape (pairs, 2)
        Variables whose ratio may be at most e^epsilon, either way.
    epsilon : float
        Privacy parameter, in nats.
    roundings : int
        A cost is the true one after so many roundings to 53 bits, each relative to a number that is
        not below 0. With 0 the costs are the binary fractions that are stored.

    Raises
    ------
    RuntimeError
        If the solver fails.
    """
    table, near = np.atleast_2d(check.finite_array("costs", costs)), np.asarray(pairs)
    eps, (hypotheses, size) = check.epsilon(epsilon), table.shape
    roundings = check.integer("roundings", roundings, 0, 2**40)
    columns = sparse.csc_array(totals)
    row, times = columns.indices, columns.data
    if totals.shape[1] != size or row.size != size:
        given = f"totals of shape {totals.shape} with {row.size} entries"
        raise ValueError(f"{given}: allowed is one entry for each of the {size} variables")
    if table.min() < 0 or table.max() > 2.0**60:
        raise ValueError(f"costs up to {table.max():g}: allowed are numbers in [0, 2^60]")
    if times.min() < 1 or (times != np.rint(times)).any():
        raise ValueError("totals: allowed are whole numbers of at least 1")
    ends, privacy = _exponential_bounds(eps), privacy_rows(near, size, eps)
    last = np.repeat([-1.0, 0.0], [hypotheses, privacy.shape[0]])
    upper = bordered([sparse.csr_array(table), privacy], last)
    equal = bordered([totals], np.zeros(totals.shape[0]))
    solution = solve_program(np.eye(size + 1)[-1], upper, equal)  # the variables, and the risk t
    rows = _Laws(row, np.asarray(times, dtype=float).astype(np.int64), near)
    weights = _repair(np.asarray(solution.x[:size]), totals, rows, eps, ends[0])
    # A rounding changes a number by a factor within 1 -+ 2^-53; or, below the smallest normal one,
    # by at most 2^-1075: fewer than 2^60 of those are added up.
    share = Fraction(roundings, 2**53 - roundings)
    least = Fraction(roundings > 0, 2**1000)
    low = (1 - share) * _dual_bound(table, rows, solution, ends[1]) - least
    high = (1 + share) * _largest_risk(table, rows, weights) + least
    bounds = max(low, Fraction(0)), high
    lower, risk = _outward(bounds[0], -np.inf), _outward(bounds[1], np.inf)
    return PrivateRule(bounds, risk, lower, _largest_loss(near, weights), weights)


def _exponential_bounds(x: float) -> tuple[int, int]:
    """Whole numbers around 2^60 e^x, x in (0, 700], from the series: partial sum and remainder.

    The terms are rounded down for the one and up for the other; from the term k >= 2x on each is at
    most half of the one before, so that all that follow are at most that term.
    """
    if x > 700:
        raise ValueError(f"epsilon = {x!r}: allowed is a number in (0, 700]")
    top, bottom = x.as_integer_ratio()
    unit = 2**200
    low, high, down, up = unit, unit, unit, unit
    k = 0
    while k < 2 * x or up > 1:
        k += 1
        down, up = down * top // (bottom * k), -(-up * top // (bottom * k))
        low, high = low + down, high + up
    return low >> 140, -(-(high + up) >> 140)


def _outward(value: Fraction, end: float) -> float:
    near = float(value)
    beyond = Fraction(near) < value if end > 0 else Fraction(near) > value
    return float(np.nextafter(near, end)) if beyond else near


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


@dataclass(frozen=True)
class _Laws:
    """What the variables add up to, and which are neighbours."""

    row: NDArray[np.integer[Any]]  # the distribution of each variable
    times: Ints  # how often it stands there
    pairs: Ints


def _whole(values: Array, bits: int, *, up: bool) -> Any:
    """Finite floats times 2^bits, rounded down or up, as whole numbers of any size."""
    scaled = np.ldexp(values, bits)
    return np.array([int(x) for x in (np.ceil if up else np.floor)(scaled).ravel()], dtype=object)


def _sums(rows: _Laws, weights: Array, *, up: bool) -> Any:
    """Sum of each distribution times 2^120, rounded down or up."""
    sums = np.zeros(int(rows.row.max()) + 1, dtype=object)
    np.add.at(sums, rows.row, _whole(weights, 120, up=up) * rows.times.astype(object))
    return sums


def _repair(found: Array, totals: sparse.csr_array, rows: _Laws, eps: float, least: int) -> Array:
    """Make every distribution sum to one and the privacy constraints strict, at the least cost.

    ``least`` / 2^60 is at most e^eps. The rule is ``weights`` divided by the exact sum of their
    distribution: its ratios are those of the weights up to the spread of these sums.
    """
    positive = np.maximum(found, 0)
    proper, even = positive / (totals @ positive)[rows.row], 1 / totals.sum(axis=1)[rows.row]
    for mixed in 10.0 ** np.arange(-10, 0):
        weights = np.asarray((1 - mixed) * proper + mixed * even)
        if not (weights > 1e-100).all():
            continue
        spread = Fraction(min(_sums(rows, weights, up=False)), max(_sums(rows, weights, up=True)))
        # A quotient is rounded once: 2^-52 of it is more than that changes.
        largest = Fraction(least, 2**60) * spread * (1 - Fraction(1, 2**52))
        ahead, behind = weights[rows.pairs.T]
        ratio = np.maximum(ahead / behind, behind / ahead).max(initial=1.0)
        if ratio <= _outward(largest, -np.inf) and _largest_loss(rows.pairs, weights) < eps:
            return weights
    raise RuntimeError("the solution of the linear program is too far from private to be repaired")


def _largest_risk(costs: Array, rows: _Laws, weights: Array) -> Fraction:
    """Upper bound on the risk of the weights, each divided by the sum of its distribution."""
    whole = _whole(weights, 120, up=True)
    risk = max(int(_whole(cost, 60, up=True) @ whole) for cost in costs)
    return Fraction(risk, 2**60 * int(min(_sums(rows, weights, up=False))))


def _dual_bound(costs: Array, rows: _Laws, found: optimize.OptimizeResult, most: int) -> Fraction:
    """Lower bound from the dual, whatever the accuracy of the solver.

    With prior mu over the hypotheses, z >= 0 and any y, every feasible q has risk at least
    mu C q + z (privacy q) - y (totals q - 1) >= sum y + sum over orbits of min(reduced cost, 0),
    because 0 <= q <= 1. All multipliers are rounded to multiples of one number and divided by the
    sum of the mu; e^eps is replaced by ``most`` / 2^60, which is not below it.
    """
    y = np.asarray(found.eqlin.marginals, dtype=float)
    multipliers = np.maximum(-np.asarray(found.ineqlin.marginals, dtype=float), 0)
    total = multipliers.sum() + np.abs(y).sum()
    if not (np.isfinite(total) and multipliers[: len(costs)].any()):
        return Fraction(0)  # no prior: costs are not below 0
    bits = 58 - int(np.frexp(total)[1])  # all of them together are below 2^60
    units, y = (np.rint(np.ldexp(part, bits)).astype(np.int64) for part in (multipliers, y))
    prior, z = units[: len(costs)].tolist(), units[len(costs) :]
    if not sum(prior):
        return Fraction(0)
    plus, minus = np.zeros((2, costs.shape[1]), dtype=np.int64)
    first, second = np.concatenate([rows.pairs, rows.pairs[:, ::-1]]).T
    np.add.at(plus, first, z)
    np.add.at(minus, second, z)
    reduced = plus.astype(object) * 2**60 - minus.astype(object) * most
    reduced -= (y[rows.row].astype(object) * rows.times.astype(object)) * 2**60
    for weight, cost in zip(prior, costs, strict=True):
        reduced += weight * _whole(cost, 60, up=False)
    value = sum(y.tolist()) * 2**60 + sum(x for x in reduced.tolist() if x < 0)
    return max(Fraction(value, 2**60 * sum(prior)), Fraction(0))
