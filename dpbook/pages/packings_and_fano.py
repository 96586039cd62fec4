"""Page 15: one person's answers, the bounds of private Fano, a linear program as referee."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil, comb, exp, factorial, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, linprog, minimize_scalar

from dpbook import _validation as check
from dpbook.lower_bounds import bit_chances

Array = NDArray[np.float64]


def product_log_ratio(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Largest log-ratio of acceptance probabilities of a private test of independent bits.

    Sum of log((1 + p (e^(s epsilon) - 1)) / (1 + q (e^(s epsilon) - 1))), s the sign of p - q, over
    the bits, of which p and q, (bits,), are the chances of a one under the two distributions.
    Neighbours differ in one bit; epsilon is in nats.
    """
    a, b = bit_chances("p", p), bit_chances("q", q)
    if a.shape != b.shape:
        raise ValueError(f"q has {b.size} entries: allowed are as many as p, {a.size}")
    factor = np.expm1(np.sign(a - b) * check.nonnegative("epsilon", epsilon))
    return float((np.log1p(a * factor) - np.log1p(b * factor)).sum())


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


def comparison_distribution(rho: ArrayLike) -> Array:
    """Distribution (n (n - 1),) of one comparison in the individual design, over (winner, loser).

    CCW25, section 3.1: a pair is drawn uniformly, then its winner.
    """
    matrix = np.asarray(rho)
    n = len(matrix)
    return np.asarray(matrix[~np.eye(n, dtype=bool)] / (n * (n - 1) / 2))


def user_total_variation(distribution: ArrayLike, other: ArrayLike, per_user: int) -> float:
    """Total variation distance of ``per_user`` independent draws from two distributions, exactly.

    Outcomes with the same likelihood ratio are merged, which changes no total variation distance.
    The two-level models have seven ratios, so a sum over multisets of ratios is short.
    """
    a, b = np.asarray(distribution), np.asarray(other)
    share = np.round(a / np.where(a + b > 0, a + b, 1), 12)
    _, group = np.unique(share, return_inverse=True)
    first, second = np.bincount(group, a), np.bincount(group, b)
    distance = 0.0
    for multiset in combinations_with_replacement(range(len(first)), per_user):
        chosen = list(multiset)
        times = prod(factorial(n) for n in np.bincount(chosen).tolist())
        ways = factorial(per_user) / times
        distance += ways * abs(first[chosen].prod() - second[chosen].prod()) / 2
    return float(distance)


# Bounds.


def dp_fano_risk(hypotheses: int, distance: float, *, epsilon: float, delta: float = 0.0) -> float:
    """Risk that no private estimator avoids, for a metric loss and loss distance 1.

    With M distributions and D a bound on the expected Hamming distance of the couplings, in
    records: the minimum over h in [0, 1] of (1 - h + max(0, x)) / 2, where
    x = (M - 1) (h e^(-eps D / h) - e^(-eps) D delta). CCW25, Theorem A.1, repaired and sharpened:
    h is the mean weight that the estimator puts nearer to the truth than half the loss distance.
    """
    m = check.integer("hypotheses", hypotheses, 2, 10**300) - 1  # what a float can hold
    d, eps = check.nonnegative("distance", distance), check.nonnegative("epsilon", epsilon)
    delta = check.probability("delta", delta)

    def half(h: float) -> float:
        return (1 - h + max(0.0, m * (h * exp(-eps * d / h) - d * delta * exp(-eps)))) / 2

    found = minimize_scalar(half, bounds=(1e-9, 1.0), method="bounded", options={"xatol": 1e-12})
    return float(min(found.fun, half(1.0)))  # convex in h, so the local minimum is global


def dp_fano_error(
    alternatives: float, exponent: float, *, random: bool = True, delta_term: float = 0.0
) -> float:
    """Error probability that no private test avoids.

    The smallest b with b >= alternatives ((1-b) e^(-exponent/(1-b)) - delta_term).

    Parameters
    ----------
    alternatives : float
        Number of distributions besides the first: M - 1 for a packing, or the neighbours in a star.
    exponent : float
        Privacy cost of moving from one distribution to the other: epsilon times the expected
        coupling distance, or a (mean) largest log-ratio such as `product_log_ratio`.
    random : bool
        False if the exponent bounds the log-ratio itself and not only the mean of a random cost;
        it is then not divided by 1 - b.
    delta_term : float
        exp(-epsilon) D delta, the part of an acceptance probability that delta gives away.
    """
    number = check.positive("alternatives", alternatives)
    cost = check.nonnegative("exponent", exponent)
    lost = check.nonnegative("delta_term", delta_term)

    def excess(b: float) -> float:
        scale = 1 - b if random else 1.0
        return b - number * ((1 - b) * exp(-cost / scale) - lost)

    if excess(0.0) >= 0:
        return 0.0
    return float(brentq(excess, 0.0, 1 - 1e-12, xtol=1e-15))


def dp_fano_risk_printed(
    hypotheses: int, distance: float, *, epsilon: float, delta: float = 0.0
) -> float:
    """Private part of the Fano inequality as printed, for loss distance 1: CCW25, Theorem A.1.

    0.45 (min(1, (M - 1) exp(-10 epsilon D)) - 10 (M - 1) D delta), with D the expected Hamming
    distance of the couplings.
    """
    m = hypotheses - 1
    return 0.45 * (min(1.0, m * exp(-10 * epsilon * distance)) - 10 * m * distance * delta)


# A linear program over all private mechanisms.


def optimal_private_risk(
    distributions: Sequence[ArrayLike] | Array,
    loss: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
) -> float:
    """Smallest worst-case risk of all private mechanisms on a few bits, by linear programming.

    ``distributions``, shape (M, 2^d), are distributions of the data, and neighbours differ in one
    bit; ``loss``, shape (M, outputs), is at least 0. Returns a lower bound of the optimum that the
    dual solution proves, up to rounding; it is within 1e-6 of the risk that the solver attains.
    """
    p, cost = np.asarray(distributions, dtype=float), np.asarray(loss, dtype=float)
    (m, data), out, growth = p.shape, cost.shape[1], exp(epsilon)
    # All ordered pairs of data sets that differ in one bit.
    bits = data.bit_length() - 1
    x = np.repeat(np.arange(data), bits)
    y = x ^ np.tile(2 ** np.arange(bits), data)
    # Variables: mechanism (data x out), excess over e^eps (neighbours x out), worst risk.
    k, e = data * out, len(x) * out
    s = np.tile(np.arange(out), len(x))
    here, there = np.repeat(x, out) * out + s, np.repeat(y, out) * out + s
    row = np.arange(e)
    upper = np.zeros((m + e + len(x), k + e + 1))
    upper[:m, :k] = (p[:, :, None] * cost[:, None, :]).reshape(m, -1)
    upper[:m, -1] = -1
    upper[m + row, here], upper[m + row, there] = 1, -growth
    upper[m + row, k + row] = -1
    upper[m + e + row // out, k + row] = 1
    right = np.concatenate([np.zeros(m + e), np.full(len(x), delta)])
    equal = np.zeros((data, k + e + 1))
    equal[np.repeat(np.arange(data), out), np.arange(k)] = 1
    goal = np.zeros(k + e + 1)
    goal[-1] = 1
    # The default of 1e-7 is too coarse for rows with coefficients of e^epsilon.
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    program: dict[str, Any] = {"A_ub": upper, "b_ub": right, "A_eq": equal, "options": tight}
    found = linprog(goal, b_eq=np.ones(data), **program)
    if found.status != 0:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    # Weak duality: whatever the multipliers, no mechanism has a risk below this value. All
    # variables lie in [0, 1], except the risk, which the largest loss bounds.
    less, same = np.minimum(found.ineqlin.marginals, 0), found.eqlin.marginals
    reduced = goal - upper.T @ less - equal.T @ same
    reduced[-1] *= max(1.0, float(cost.max()))
    proved = float(right @ less + same.sum() + np.minimum(reduced, 0).sum())
    if abs(proved - float(found.fun or 0.0)) > 1e-6:
        raise RuntimeError("the dual solution does not certify the optimum to 1e-6")
    return proved
