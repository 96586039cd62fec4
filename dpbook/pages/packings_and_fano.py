"""Packings of sets, the printed Fano inequality, and linear programs as referees of the bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, combinations_with_replacement
from math import comb, exp, expm1, factorial, log, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, linprog, minimize_scalar
from scipy.sparse import coo_array
from scipy.special import gammaln, logsumexp

from dpbook import _validation as check
from dpbook.lower_bounds import edge_kl, fano_error, product_log_ratio, product_pmf
from dpbook.models import average_win_probabilities, two_level_probabilities
from dpbook.simulation import critical_gaps

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.bool_]

_MOST_WORDS, _DRAWS = 300_000, 2000


# Sets that are pairwise far apart, how many there are, and how alike their data are.


def constant_weight_code(
    length: int,
    weight: int,
    distance: int,
    *,
    method: str = "lexicographic",
    rng: np.random.Generator | None = None,
) -> Words:
    """Sets of equal size, (words, length), that differ pairwise in at least ``distance`` places.

    Words are looked at one after the other, and kept if they are far from all that were kept: all
    words in lexicographic order, all in random order (``"greedy"``), or 2000 random words. The
    first two methods leave no word that could be added, so they meet the guarantee of
    `gilbert_varshamov`.
    """
    _check_sizes(length, weight, distance)
    check.choice("method", method, ("lexicographic", "greedy", "random"))
    if method == "random":
        check.fits("length", length, _DRAWS * length, "a shorter length")
        words = np.argsort(check.generator(rng).random((_DRAWS, length)), axis=1)[:, :weight]
    else:
        if comb(length, weight) > _MOST_WORDS:
            raise ValueError(
                f"length = {length}, weight = {weight}: allowed are at most {_MOST_WORDS} words; "
                "use method='random'"
            )
        words = np.array(list(combinations(range(length), weight)))
        if method == "greedy":
            words = check.generator(rng).permutation(words)
    rows = np.zeros((len(words), length), dtype=bool)
    np.put_along_axis(rows, words, True, axis=1)
    return _keep(rows, weight - distance / 2)


def _keep(rows: Words, most_shared: float) -> Words:
    """Keep each row that shares at most so many items with every row kept before."""
    kept, left = [], rows.astype(np.float32)  # floats multiply faster
    while len(left):
        first, left = left[0], left[1:]
        left = left[left @ first <= most_shared]
        kept.append(first)
    return np.array(kept, dtype=bool)


def minimum_distance(code: ArrayLike) -> int:
    """Smallest Hamming distance between two rows of a code, (words, length) of truth values."""
    rows = check.real_array("code", code)
    if not np.isin(rows, (0, 1)).all():
        raise ValueError("code holds an entry other than 0 and 1: allowed are truth values")
    rows = rows.astype(np.int64)
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(f"code of shape {rows.shape}: allowed is (words, length), 2 words or more")
    sizes = rows.sum(axis=1)
    far = sizes[:, None] + sizes - 2 * rows @ rows.T
    return int(far[np.triu_indices(len(rows), 1)].min())


def johnson_bound(length: int, weight: int, distance: int) -> int:
    """Size that no constant-weight code of this distance exceeds.

    Johnson's recursion A(n, w) <= n/w A(n-1, w-1): count the words through each item. It ends
    where two words of the weight cannot be that far apart.
    """
    _check_sizes(length, weight, distance)
    if 2 * weight < distance:
        return 1
    shortest = (distance + 1) // 2  # the smallest weight at which two words fit
    bound = 1
    for w in range(shortest, weight + 1):
        bound = (length - weight + w) * bound // w
    return bound


def _check_sizes(length: int, weight: int, distance: int) -> None:
    check.integer("weight", weight, 1, check.integer("length", length, 1))
    check.integer("distance", distance, 1)


def log_sizes(n: int, nu_1: float, nu_2: float = 0.5) -> tuple[float, float, float]:
    """Logarithm of the number of sets for the largest tolerance: printed, guaranteed, at most."""
    m = int(n ** (1 - nu_1) / (2 * (1 + nu_2)))
    w, length, h = int(2 * (1 + nu_2) * m), n // 2, np.arange(2 * m + 1)
    ball = logsumexp(_log_comb(w, h) + _log_comb(length - w, h))
    share = w - 2 * m  # two words share at most this many items
    most = _log_comb(length, share) - _log_comb(w, share)
    return 0.9 * nu_1 * nu_2 * m * log(n), float(_log_comb(length, w) - ball), float(most)


def _log_comb(a: Any, b: Any) -> Any:
    return gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1)


def edge_coupling_distance(rho: Array, other: Array, *, p: float = 1.0) -> float:
    """Expected number of flips that turn edge data of one model into data of the other.

    p times the sum of ``abs(rho_ij - other_ij)`` over pairs. The coupling compares the same pairs
    on both sides and couples each outcome best possible. None is better: each pair must differ with
    probability at least its total variation distance.
    """
    at = np.triu_indices(len(rho), 1)
    return p * float(np.abs(rho[at] - other[at]).sum())


def comparison_law(rho: ArrayLike) -> Array:
    """Law (n (n - 1),) of one comparison in the individual design, over (winner, loser).

    CCW25, section 3.1: a pair is drawn uniformly, then its winner.
    """
    matrix = np.asarray(rho)
    n = len(matrix)
    return np.asarray(matrix[~np.eye(n, dtype=bool)] / (n * (n - 1) / 2))


def user_total_variation(law: ArrayLike, other: ArrayLike, per_user: int) -> float:
    """Total variation distance of ``per_user`` independent draws from two laws, exactly.

    Outcomes with the same likelihood ratio are merged, which changes no total variation distance.
    The two-level models have seven ratios, so a sum over multisets of ratios is short.
    """
    a, b = np.asarray(law), np.asarray(other)
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


def record_laws(n: int, k: int, gap: float, h: int = 1) -> list[Array]:
    """Laws of one comparison for two sets, each with h items that the other lacks."""
    sets = np.arange(k), np.r_[: k - h, k : k + h]
    return [comparison_law(two_level_probabilities(n, s, gap)) for s in sets]


def family_laws(n: int, k: int, gap: float) -> Array:
    """Laws of the tournament for every k-set, shape (sets, data)."""
    at, sets = np.triu_indices(n, 1), combinations(range(n), k)
    return np.array([product_pmf(two_level_probabilities(n, s, gap)[at]) for s in sets])


def fano_error_of(laws: Array) -> float:
    """`fano_error` of laws that are positive everywhere."""
    kl = max(float((p * np.log(p / q)).sum()) for p in laws for q in laws)
    return fano_error(len(laws), kl)


# Bounds.


def dp_fano_risk(hypotheses: int, distance: float, *, epsilon: float, delta: float = 0.0) -> float:
    """Risk that no private estimator avoids, for a metric loss and loss distance 1.

    With M laws and D a bound on the expected Hamming distance of the couplings, in records: the
    minimum over h in [0, 1] of (1 - h + max(0, x)) / 2, where
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
        Number of laws besides the first: M - 1 for a packing, or the number of neighbours of one
        law in a star.
    exponent : float
        Privacy cost of moving from one law to the other: epsilon times the expected coupling
        distance, or a (mean) largest log-ratio such as `product_log_ratio`.
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


def record_log_ratio(law: ArrayLike, other: ArrayLike, epsilon: float) -> float:
    """`product_log_ratio` for one record with any finite law, all of whose values are neighbours.

    The maximum over events A of log((1 + law(A) (e^eps - 1)) / (1 + other(A) (e^eps - 1))).
    Independent records add up.
    """
    a, b = np.asarray(law), np.asarray(other)
    factor = expm1(epsilon)
    order = np.argsort(-a / np.where(a + b > 0, a + b, 1), kind="stable")
    sums = np.cumsum(a[order]), np.cumsum(b[order])  # the best event is a likelihood-ratio set
    return float(max(0.0, (np.log1p(factor * sums[0]) - np.log1p(factor * sums[1])).max()))


def failing_c(n: int, sets: int, kind: str) -> float:
    """Largest c at which the error is still 1/10, with the ``"printed"`` steps or by coupling."""
    per_gap, unit = 2 * 4 * (n - 4), log(n) / n  # D / (p gap); with epsilon = 1, gap = c unit / p
    if kind == "printed":
        return log(sets - 1) / (10 * per_gap * unit)
    return 0.9 * log(9 * (sets - 1)) / (per_gap * unit)


def star_exponent(gap: float, n: int, epsilon: float) -> float:
    """Sharp exponent for p = 1: one item of S against one outside."""
    changed = product_log_ratio([0.5 + gap, 0.5], [0.5, 0.5 - gap], epsilon)  # both moved items
    return (n - 2) * changed + product_log_ratio([0.5 + gap], [0.5 - gap], epsilon)


def star_gap(n: int, k: int, epsilon: float, *, sharp: bool = False) -> float:
    """Gap at which the star of k (n - k) sets still leaves an error of 1/10."""
    goal = log(9 * k * (n - k))
    if not sharp:
        return 0.9 * goal / (2 * (n - 1) * epsilon)
    if star_exponent(0.5, n, epsilon) <= goal:
        return 0.5
    return float(brentq(lambda g: star_exponent(g, n, epsilon) - goal, 0, 0.5))


def ordinary_gap(n: int, k: int, items: float = 1.0) -> float:
    """Gap at which Fano leaves an error of 1/10: one free place, n - k + 1 sets."""

    def excess(gap: float) -> float:
        pair = [two_level_probabilities(n, np.r_[: k - 1, i], gap) for i in (k, k + 1)]
        return fano_error(n - k + 1, items * edge_kl(pair[0], pair[1])) - 0.1

    return float(brentq(excess, 1e-6, 0.49))


def random_set_fails(n: int, u: int) -> float:
    """Chance that a random set of k = n / 2 items is more than 2u places off."""
    k = n // 2
    return sum(comb(k, same) ** 2 for same in range(k - u)) / comb(n, k)


def star_error(n: int, users: int, gap: float, epsilon: float, per_user: int) -> float:
    """Error of the star of k = n / 2, by the exact total variation of one person."""
    law, other = record_laws(n, n // 2, gap)
    tv = user_total_variation(law, other, per_user)
    return dp_fano_error(n * n / 4, epsilon * users * tv)


def measured_gaps(
    n: int, scale: float, batches: int, rng: np.random.Generator, comparisons: int | None = None
) -> Array:
    """Gaps that noisy counts need for the top half, 50 data sets a batch."""
    design: dict[str, Any] = {"comparisons": comparisons} if comparisons else {"p": 1.0}
    found = [
        critical_gaps(n, n // 2, scale=scale, size=50, rng=rng, **design) for _ in range(batches)
    ]
    return np.concatenate(found)


# Steps of the proof of Theorem 2.4.


def code_distances(
    code: Words, formula: Callable[[int, int], float], n: int, k: int, gap: float, p: float = 0.5
) -> tuple[Array, Array, Array]:
    """Coupling distances of models of sets from the last half: exact, by a formula; their gaps."""
    sets = [np.r_[: k - 4, n // 2 + np.flatnonzero(word)] for word in code[[0, 1, 2, -1]]]
    models = [two_level_probabilities(n, s, gap) for s in sets]
    exact, formal, gaps = [], [], []
    for i, j in combinations(range(len(models)), 2):
        exact.append(edge_coupling_distance(models[i], models[j], p=p))
        formal.append(2 * p * gap * formula(n, len(np.setdiff1d(sets[i], sets[j]))))
        tau = np.sort(average_win_probabilities(models[i]))[::-1]
        gaps.append(tau[k - 2] - tau[k + 1])  # places k - 1 and k + 2: tolerance 1
    return np.array(exact), np.array(formal), np.array(gaps)


def strengths_error(link: Callable[[Any], Any], n: int, k: int, gap: float) -> float:
    """Largest error of the table that strengths give, with the step g that fits best."""
    model, g = two_level_probabilities(n, k, gap), np.linspace(0, 1, 100_001)[1:]
    theta = np.where(np.arange(n) < k, g[np.abs(link(g) - 0.5 - gap).argmin()], 0)
    at = np.triu_indices(n, 1)
    return float(np.abs(link(np.subtract.outer(theta, theta)) - model)[at].max())


# Linear programs over all private tests, and over all private mechanisms.


def largest_log_ratio(law: ArrayLike, other: ArrayLike, epsilon: float) -> float:
    """`product_log_ratio` by linear programming, over all tests of a few bits.

    The laws, shape (2^d,), are as from `product_pmf`.
    """
    a, b = np.asarray(law), np.asarray(other)
    x, y = _flips(len(a))
    rows = np.arange(len(x))
    weights = np.concatenate([np.ones(len(x)), np.full(len(x), -exp(epsilon))])
    at = (np.tile(rows, 2), np.concatenate([x, y]))
    ratio = coo_array((weights, at), shape=(len(x), len(a)))
    found = linprog(-a, A_ub=ratio.toarray(), b_ub=np.zeros(len(x)), A_eq=b[None], b_eq=[1.0])
    if found.status != 0:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    return log(-float(found.fun or 0.0))


def optimal_private_risk(
    laws: Sequence[ArrayLike] | Array, loss: ArrayLike, *, epsilon: float, delta: float = 0.0
) -> float:
    """Smallest worst-case risk of all private mechanisms on a few bits, by linear programming.

    ``laws``, shape (M, 2^d), are laws of the data, and neighbours differ in one bit; ``loss``,
    shape (M, outputs), is at least 0. Returns a lower bound of the optimum that the dual solution
    proves, up to rounding; it is within 1e-6 of the risk that the solver attains.
    """
    p, cost = np.asarray(laws, dtype=float), np.asarray(loss, dtype=float)
    growth = exp(epsilon)
    (laws_n, data), out = p.shape, cost.shape[1]
    x, y = _flips(data)
    # Variables: mechanism (data x out), excess over e^eps (neighbours x out), worst risk.
    k, e = data * out, len(x) * out
    s = np.tile(np.arange(out), len(x))
    here, there = np.repeat(x, out) * out + s, np.repeat(y, out) * out + s
    row = np.arange(e)
    upper = np.zeros((laws_n + e + len(x), k + e + 1))
    upper[:laws_n, :k] = (p[:, :, None] * cost[:, None, :]).reshape(laws_n, -1)
    upper[:laws_n, -1] = -1
    upper[laws_n + row, here], upper[laws_n + row, there] = 1, -growth
    upper[laws_n + row, k + row] = -1
    upper[laws_n + e + row // out, k + row] = 1
    right = np.concatenate([np.zeros(laws_n + e), np.full(len(x), delta)])
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


def _flips(data: int) -> tuple[Ints, Ints]:
    """All ordered pairs of data sets that differ in one bit."""
    bits = data.bit_length() - 1
    x = np.repeat(np.arange(data), bits)
    return x, x ^ np.tile(2 ** np.arange(bits), data)
