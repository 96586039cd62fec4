"""Laws that are hard to tell apart: how many there are, how far apart, and what follows."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from dpbook import _validation as check

__all__ = ["edge_kl", "fano_error", "gilbert_varshamov", "product_law", "product_log_ratio"]

Array = NDArray[np.float64]

MOST_BITS = 21


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
