"""Page 40: how well flipped answers to all pairs can rank, between tests of two items and Kemeny.

Everybody reports on every pair; a report is the true answer with probability e^eps / (1 + e^eps).
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.mechanisms.responses import positive_epsilon

_STEP = 0.2  # of the trapezoidal rule


def report_probability(gap: ArrayLike, epsilon: float) -> Array:
    """Probability that a report prefers the item that is ahead by so many log-odds, (...)."""
    win = expit(check.number_array("gap", gap))
    return np.asarray(0.5 + np.tanh(positive_epsilon(epsilon) / 2) * (win - 0.5))


def swap_error(
    theta: ArrayLike, i: int, j: int, people: int, epsilon: float, *, extra: float = 0.15
) -> tuple[float, float]:
    """Bracket of the error of the best test whether items i and j have exchanged their strengths.

    With L the log-ratio of the probabilities P and Q of all reports, B the sum of sqrt(P Q) and E
    the mean under sqrt(P Q) / B, the error is B E[exp(-|L| / 2)] / 2, and the Fourier transform of
    L is a product of cosines. One more normal observation, of log-ratio N(0, ``extra``^2), cannot
    raise the error, and lets the integrand decay. What it may lower is added to the upper end, what
    the trapezoidal rule may add is taken from the lower one. Rounding is not bounded.
    """
    at, extra = check.item_vector("theta", theta), check.positive("extra", extra)
    m, others = check.integer("people", people, 1), np.delete(at, [i, j])
    gaps = at[i] - at[j], at[i] - others, at[j] - others
    own, q, r = (report_probability(gap, epsilon) for gap in gaps)
    both, neither = np.sqrt(q * r), np.sqrt((1 - q) * (1 - r))
    share, turn = both / (both + neither), np.log(q * (1 - r) / (r * (1 - q)))
    log_affinity = m * (np.log(4 * own * (1 - own)) / 2 + 2 * np.log(both + neither).sum())
    y = np.arange(np.ceil(6 / extra / _STEP) + 1) * _STEP
    spread = 4 * (share * (1 - share))[:, None] * np.sin(turn[:, None] * y / 2) ** 2
    wave = np.cos(np.log(own / (1 - own)) * y) * np.prod(1 - spread, axis=0)
    value = wave**m * np.exp(-((extra * y) ** 2) / 2) / (0.25 + y**2)
    scale = np.exp(log_affinity - extra**2 / 8) / (2 * np.pi)
    found = scale * _STEP * (value.sum() - value[0] / 2)
    cut = scale * np.exp(-((extra * y[-1]) ** 2) / 2) / y[-1]
    lower = found - cut - 2 / np.expm1(np.pi / _STEP)
    return max(float(lower), 0.0), float((found + cut) / (2 * norm.sf(extra / 2)))


def swap_bound(theta: ArrayLike, people: int, epsilon: float, *, reach: int = 4) -> float:
    """Least mean Kendall error of any ranking, from below: swaps up to ``reach`` places apart."""
    n = len(np.asarray(theta))
    near = [(i, j) for i, j in combinations(range(n), 2) if j - i <= reach]
    return sum(swap_error(theta, i, j, people, epsilon)[0] for i, j in near) * 2 / (n * (n - 1))


def order_constant(
    spacing: float, people: int, epsilon: float, *, known: bool = False, most: int = 1000
) -> float:
    """C: on items at least ``spacing`` apart Kemeny's order of the reports errs by at most 2 C / n.

    The least log(Z) / a over a, s > 0, where Z is the sum over v of exp(a v - c_1 - ... - c_v), and
    exp(-c_d) the mean of exp(-s X), X the sum of the reports, +1 or -1, on a pair d places apart.
    Every a and s are valid, so the minimiser need not be exact. From v = ``most`` on, a geometric
    series bounds the terms. With ``known`` strengths, equally spaced, C belongs to their likeliest
    assignment, and exp(-c_d) to the affinity of a pair d places apart, put one place apart in the
    wrong order: cos(psi_d + psi_1) for a report, sin(2 psi_d) the mean of X.
    """
    q = report_probability(check.positive("spacing", spacing) * np.arange(1.0, most + 1), epsilon)
    angle = np.arcsin(2 * q - 1) / 2
    far = -people * np.log(np.cos(angle + angle[0]))

    def constant(x: Array) -> float:
        a, s = np.exp(x)
        cost = far if known else -people * np.log(q * np.exp(-s) + (1 - q) * np.exp(s))
        if cost[0] <= 0 or cost[-1] <= a:
            return 1e9
        terms = a * np.arange(most + 1) - np.append(0, np.cumsum(cost))
        terms[-1] -= np.log(-np.expm1(a - cost[-1]))
        return float(np.logaddexp(terms[0], logsumexp(terms[1:])) / a)  # near 0, too

    best_s = np.log(q[0] / (1 - q[0])) / 2  # for neighbours alone
    grid = product(np.geomspace(1e-4, 3, 12), best_s * np.array([0.9, 1.3, 2, 4]))
    start = min((np.log(x) for x in grid), key=constant)
    return float(minimize(constant, start, method="Nelder-Mead").fun)
