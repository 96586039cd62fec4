"""Fano inequalities, with privacy and without, and what they take from the models."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import rel_entr

from dpbook import _validation as check

Array = NDArray[np.float64]

# More laws than a float can count.
MOST_HYPOTHESES = 10**300


def edge_kl(rho: ArrayLike, other: ArrayLike, *, p: float = 1.0) -> float:
    """Kullback-Leibler divergence of the edge data of two models, in nats.

    Parameters
    ----------
    rho, other : array, shape (n, n)
        Winning probabilities.
    p : float
        Probability that a pair is compared, in (0, 1].

    Returns
    -------
    float
        Infinite if ``other`` rules out what ``rho`` allows.
    """
    a = check.finite_array("rho", rho, min_ndim=2)
    b = check.finite_array("other", other, min_ndim=2)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape != b.shape:
        raise ValueError(f"other of shape {b.shape}: allowed is a square matrix like rho")
    at = np.triu_indices(len(a), 1)
    a, b = a[at], b[at]
    p = check.probability("p", p, zero=False)
    return p * float((rel_entr(a, b) + rel_entr(1 - a, 1 - b)).sum())


def product_log_ratio(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Largest log-ratio of acceptance probabilities of a private test of independent bits.

    Parameters
    ----------
    p, q : array, shape (bits,)
        Probabilities of a one under the two laws.
    epsilon : float
        Privacy parameter in nats; neighbours differ in one bit.

    Returns
    -------
    float
        Sum of log((1 + p (e^(s epsilon) - 1)) / (1 + q (e^(s epsilon) - 1))), s the sign of p - q.
    """
    a, b = check.finite_array("p", p).ravel(), check.finite_array("q", q).ravel()
    eps = check.nonnegative("epsilon", epsilon)
    for name, value in (("p", a), ("q", b)):
        if value.min() < 0 or value.max() > 1:
            raise ValueError(f"{name} leaves [0, 1]: allowed are probabilities")
    if a.shape != b.shape:
        raise ValueError(f"q has {b.size} entries: allowed are as many as p, {a.size}")
    factor = np.expm1(np.sign(a - b) * eps)
    return float((np.log1p(a * factor) - np.log1p(b * factor)).sum())


def fano_error(hypotheses: int, kl: float) -> float:
    """Error probability that no test avoids, private or not.

    Parameters
    ----------
    hypotheses : int
        Number M of laws, at least 2.
    kl : float
        Bound on the pairwise Kullback-Leibler divergences, in nats.

    Returns
    -------
    float
        max(0, 1 - (kl + log 2) / log M): a lower bound on the mean error over the M laws.
    """
    number = check.integer("hypotheses", hypotheses, 2, MOST_HYPOTHESES)
    return max(0.0, 1 - (check.nonnegative("kl", kl) + log(2)) / log(number))


def dp_fano_risk(hypotheses: int, distance: float, *, epsilon: float, delta: float = 0.0) -> float:
    """Risk that no private estimator avoids, for a metric loss and loss distance 1.

    Parameters
    ----------
    hypotheses : int
        Number M of laws, at least 2.
    distance : float
        Bound D on the expected Hamming distance of the couplings, in records.
    epsilon, delta : float
        Privacy parameters.

    Returns
    -------
    float
        The minimum over h in [0, 1] of (1 - h + max(0, x)) / 2, where
        x = (M - 1) (h e^(-eps D / h) - e^(-eps) D delta).

    Notes
    -----
    CCW25, Theorem A.1, repaired and sharpened: h is the mean weight that the estimator puts nearer
    to the truth than half the loss distance.
    """
    m = check.integer("hypotheses", hypotheses, 2, MOST_HYPOTHESES) - 1
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

    Parameters
    ----------
    alternatives : float
        Number of laws besides the first: M - 1 for a packing, or the number of neighbours of one
        law in a star.
    exponent : float
        Privacy cost of moving from one law to the other: epsilon times the expected coupling
        distance, or a (mean) largest log-ratio such as `product_log_ratio`.
    random : bool
        False if the exponent bounds the log-ratio itself and not only the mean of a random cost.
    delta_term : float
        exp(-epsilon) D delta, the part of an acceptance probability that delta gives away.

    Returns
    -------
    float
        The smallest b with b >= alternatives ((1-b) e^(-exponent/(1-b)) - delta_term); with
        ``random=False`` the exponent is not divided by 1 - b.
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
