"""How many private answers to ask of each person.

A person who answers K questions at epsilon / K each gives K weak answers. The *margin* of an
answer, P(true report) - P(false report), says how weak; K margin^2 is what a majority over
people gains from it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook.rankers.local_rankings.ldp_channels import MECHANISMS

__all__ = ["best_queries", "best_ratio", "response_exponent", "switch_epsilon"]

Array = NDArray[np.float64]


def response_exponent(
    queries: ArrayLike, epsilon: float, *, mechanism: str = "response", margin: float = 0.0
) -> Array:
    """Rate at which a majority over people errs less, as a function of K, up to a constant.

    Parameters
    ----------
    queries : array of positive numbers
        Questions K per person, any shape; fractions are allowed, to find the continuous optimum.
    epsilon : float
        Privacy parameter of a person, in nats; each answer gets epsilon / K.
    mechanism : {"response", "laplace"}
        Kind of the answers.
    margin : float
        P(a person agrees with the truth) - P(disagrees), in [0, 1]; 0 means the limit.

    Returns
    -------
    array of the shape of ``queries``
        ``K (p - q)^2`` for margin 0, where p - q is the margin of one report; for a margin t,
        ``2 K (1 - sqrt(1 - t^2 (p - q)^2)) / t^2``.

    Notes
    -----
    With r = K / C(n, 2) the chance that a person is asked about a given pair, the probability
    that N people give the wrong sign is at most (1 - r + 2 r sqrt(ab))^N, where a - b =
    t (p - q): this is the exact exponential rate in N. To first order in r it is
    -r (1 - sqrt(1 - t^2 (p - q)^2)). Source: YLL, Section 4.2, whose
    Hoeffding bound keeps the first term in t.
    """
    k = check.finite_array("queries", queries, min_ndim=0)
    if (k <= 0).any():
        raise ValueError(f"queries = {queries!r}: allowed are numbers above 0")
    t = check.probability("margin", margin)
    gap = _report_margin(check.epsilon(epsilon) / k, mechanism)
    return np.asarray(k * _gain(gap, t))


def best_queries(
    epsilon: float, *, mechanism: str = "response", margin: float = 0.0, most: int | None = None
) -> int:
    """Whole number of questions per person with the largest `response_exponent`.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of a person, in nats, above 0.
    mechanism : {"response", "laplace"}
        Kind of the answers.
    margin : float
        As for `response_exponent`.
    most : int, optional
        Largest number allowed, for instance n (n - 1) / 2.

    Returns
    -------
    int
        The smaller one if two are equally good.
    """
    start = check.epsilon(epsilon) * best_ratio(mechanism, margin)
    # K -> exponent rises and then falls, so only the neighbours of the real optimum compete.
    candidates = np.maximum([np.floor(start), np.floor(start) + 1], 1)
    if most is not None:
        candidates = np.minimum(candidates, check.integer("most", most, 1))
    value = response_exponent(candidates, epsilon, mechanism=mechanism, margin=margin)
    return int(candidates[np.argmax(value)])


def best_ratio(mechanism: str = "response", margin: float = 0.0) -> float:
    """Real number K / epsilon that maximises `response_exponent`, the same for every epsilon.

    Parameters
    ----------
    mechanism : {"response", "laplace"}
        Kind of the answers.
    margin : float
        As for `response_exponent`.

    Returns
    -------
    float

    Notes
    -----
    With x = epsilon / K and margin 0, randomised response maximises tanh^2(x / 2) / x, that is
    sinh(x) = 2 x; Laplace maximises (1 - exp(-x / 2))^2 / x, that is exp(x / 2) = 1 + x.
    """
    check.choice("mechanism", mechanism, MECHANISMS)
    t = check.probability("margin", margin)

    def slope(x: float) -> float:
        gap, change = _report_margin(x, mechanism), _margin_slope(x, mechanism)
        return float(2 * gap * change * x / np.sqrt(1 - (t * gap) ** 2) - _gain(gap, t))

    return 1 / brentq(slope, 1.0, 10.0, xtol=1e-14)


def switch_epsilon(queries: int, mechanism: str = "response", margin: float = 0.0) -> float:
    """Privacy parameter from which on ``queries + 1`` questions beat ``queries``.

    Parameters
    ----------
    queries : int
        Number of questions, at least 1.
    mechanism : {"response", "laplace"}
        Kind of the answers.
    margin : float
        As for `response_exponent`.

    Returns
    -------
    float
        In nats. From 1 to 2 at margin 0: ``4 artanh(sqrt(sqrt(2) - 1))`` for randomised response,
        ``4 ln(1 + sqrt(2))`` for Laplace.
    """
    k = check.integer("queries", queries, 1)
    ratio = best_ratio(mechanism, margin)

    def lead(epsilon: float) -> float:
        pair = response_exponent([k, k + 1], epsilon, mechanism=mechanism, margin=margin)
        return float(pair[1] - pair[0])

    return float(brentq(lead, k / ratio, (k + 1) / ratio, xtol=1e-14))


def _report_margin(epsilon: ArrayLike, mechanism: str) -> Array:
    """P(true report) - P(false report) of one answer."""
    half = 0.5 * np.asarray(epsilon, dtype=float)
    if check.choice("mechanism", mechanism, MECHANISMS) == "response":
        return np.asarray(np.tanh(half))
    return np.asarray(-np.expm1(-half))


def _margin_slope(epsilon: float, mechanism: str) -> float:
    half = 0.5 * epsilon
    return float(0.5 / np.cosh(half) ** 2 if mechanism == "response" else 0.5 * np.exp(-half))


def _gain(gap: ArrayLike, t: float) -> Array:
    """2 (1 - sqrt(1 - t^2 gap^2)) / t^2 without cancellation; gap^2 for t = 0."""
    square = np.asarray(gap, dtype=float) ** 2
    return np.asarray(2 * square / (1 + np.sqrt(1 - t**2 * square)))
