"""Unanimous data: how many people an aggregate needs before it may tell their common ranking.

If all m people hand in one and the same ranking, the best score is 0. Under pure privacy no
output may become more than exp(m epsilon) times as likely when they all hand in another one.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import factorial, log

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check

__all__ = ["packing_sample_size", "reed_muller_code", "unanimous_sample_size"]


def unanimous_sample_size(n_items: int, error: float, *, epsilon: float) -> float:
    """People that a pure private algorithm needs for an expected Kendall distance.

    Parameters
    ----------
    n_items : int
        Number n of items, at least 2.
    error : float
        Expected distance wanted from the ranking that all people share, above 0.
    epsilon : float
        Privacy parameter; neighbours differ in the whole ranking of one person.

    Returns
    -------
    float
        (1 / epsilon) log(1 + (n (n - 1) / 4 - error) / E (error - X)_+), where X is the distance
        between two random rankings; 0 if a random ranking is good enough.

    Notes
    -----
    Averaging over all names of the items makes the law a function f of the output as seen from the
    truth, with f at most exp(m epsilon) times as large at one ranking as at another, m being the
    number of people. The best such f has two levels, the upper one where the distance is below its
    own mean. So no bound that uses unanimous data alone can be better. The volume argument is that
    of Hardt and Talwar (2010). Counts of rankings are exact integers.
    """
    n = check.integer("n_items", n_items, 2)
    beta = Fraction(check.positive("error", error))
    eps = check.epsilon(epsilon)
    excess = Fraction(n * (n - 1), 4) - beta
    if excess <= 0:
        return 0.0
    below = sum(((beta - d) * c for d, c in enumerate(_inversions(n, int(beta)))), Fraction(0))
    ratio = 1 + factorial(n) * excess / below
    return (log(ratio.numerator) - log(ratio.denominator)) / eps


def packing_sample_size(
    log_words: float, distance: float, error: float, *, epsilon: float
) -> float:
    """The same from a packing: rankings that are pairwise at least ``distance`` apart.

    Parameters
    ----------
    log_words : float
        Natural logarithm of the number of rankings, at least log 2.
    distance : float
        Least Kendall distance between two of them.
    error : float
        Expected distance wanted, above 0.
    epsilon : float
        Privacy parameter.

    Returns
    -------
    float
        (1 / epsilon) log((M - 1) (1 - b) / b) with b = 2 error / distance, an upper bound on the
        probability of leaving the ball around the truth; 0 if that is no bound.
    """
    size = check.positive("log_words", log_words)
    if size < log(2) - 1e-12:
        raise ValueError(f"log_words = {log_words!r}: allowed is at least log 2")
    b = 2 * check.positive("error", error) / check.positive("distance", distance)
    eps = check.epsilon(epsilon)
    if b >= 1:
        return 0.0
    others = size + float(np.log1p(-np.exp(-size)))
    return max(0.0, others + log((1 - b) / b)) / eps


def reed_muller_code(order: int, variables: int) -> NDArray[np.int64]:
    """Generators of the Reed-Muller code: all products of at most ``order`` of the variables.

    Parameters
    ----------
    order, variables : int
        Degree r and number k of binary variables, 0 <= r <= k <= 12.

    Returns
    -------
    array of 0 and 1, shape (dimension, 2^k)
        Rows span 2^dimension words of length 2^k, pairwise at least 2^(k - r) apart.
    """
    k = check.integer("variables", variables, 1, 12)
    r = check.integer("order", order, 0, k)
    bits = (np.arange(2**k) >> np.arange(k)[:, None]) & 1
    rows = [
        bits[list(s)].prod(axis=0) for size in range(r + 1) for s in combinations(range(k), size)
    ]
    return np.array(rows, dtype=np.int64)


def _inversions(n: int, most: int) -> list[int]:
    """Number of rankings of n items with 0, 1, ..., ``most`` inversions."""
    counts = [1] + [0] * most
    for m in range(2, n + 1):
        # Inserting the m-th item creates 0..m-1 inversions: a running sum over a window.
        window, following = 0, []
        for d in range(most + 1):
            window += counts[d] - (counts[d - m] if d >= m else 0)
            following.append(window)
        counts = following
    return counts
