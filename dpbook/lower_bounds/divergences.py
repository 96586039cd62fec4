"""Exact distances between the laws that two models of comparisons induce.

For privacy the distance that counts is the expected number of records that the best coupling has
to change: comparisons in the edge design, people in the individual design.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from dpbook import _validation as check

__all__ = [
    "comparison_law",
    "edge_coupling_distance",
    "edge_kl",
    "product_law",
    "total_variation",
    "user_total_variation",
]

Array = NDArray[np.float64]


def edge_coupling_distance(rho: ArrayLike, other: ArrayLike, *, p: float = 1.0) -> float:
    """Expected number of flips that turn data of one model into data of the other.

    Parameters
    ----------
    rho, other : array, shape (n, n)
        Winning probabilities.
    p : float
        Probability that a pair is compared, in (0, 1].

    Returns
    -------
    float
        p times the sum of ``abs(rho_ij - other_ij)`` over pairs.

    Notes
    -----
    The coupling compares the same pairs on both sides and couples each outcome best possible.
    None is better: each pair must differ with probability at least its total variation distance.
    """
    a, b = _above_diagonal(rho, other)
    return check.probability("p", p, zero=False) * float(np.abs(a - b).sum())


def edge_kl(rho: ArrayLike, other: ArrayLike, *, p: float = 1.0) -> float:
    """Kullback-Leibler divergence of the edge data of two models, in nats.

    Parameters
    ----------
    rho, other, p
        As for `edge_coupling_distance`.

    Returns
    -------
    float
        Infinite if ``other`` rules out what ``rho`` allows.
    """
    a, b = _above_diagonal(rho, other)
    p = check.probability("p", p, zero=False)
    return p * float((rel_entr(a, b) + rel_entr(1 - a, 1 - b)).sum())


def product_law(probabilities: ArrayLike) -> Array:
    """Law of independent bits over all 2^d data sets.

    Parameters
    ----------
    probabilities : array, shape (d,)
        Probability of a one, for at most 16 bits.

    Returns
    -------
    array, shape (2^d,)
        In the order of the binary numbers, the first bit the highest.
    """
    ones = check.finite_array("probabilities", probabilities)
    if ones.ndim != 1 or len(ones) > 16 or ones.min() < 0 or ones.max() > 1:
        raise ValueError("probabilities: allowed are at most 16 numbers in [0, 1]")
    law = np.ones(1)
    for one in ones:
        law = np.outer(law, [1 - one, one]).ravel()
    return law


def comparison_law(rho: ArrayLike) -> Array:
    """Law of one comparison in the individual design, over all ordered pairs (winner, loser).

    Parameters
    ----------
    rho : array, shape (n, n)
        Winning probabilities.

    Returns
    -------
    array, shape (n (n - 1),)

    Notes
    -----
    CCW25, section 3.1: a pair is drawn uniformly, then its winner.
    """
    matrix = check.finite_array("rho", rho, min_ndim=2)
    n = len(matrix)
    return np.asarray(matrix[~np.eye(n, dtype=bool)] / (n * (n - 1) / 2))


def total_variation(law: ArrayLike, other: ArrayLike) -> float:
    """Total variation distance of two laws on the same finite set.

    Parameters
    ----------
    law, other : array, shape (outcomes,)
        Probabilities.

    Returns
    -------
    float
    """
    a, b = _two_laws(law, other)
    return float(np.abs(a - b).sum() / 2)


def user_total_variation(law: ArrayLike, other: ArrayLike, per_user: int) -> float:
    """Total variation distance of ``per_user`` independent draws, exactly.

    Parameters
    ----------
    law, other : array, shape (outcomes,)
        Laws of one draw.
    per_user : int
        Number of draws L, at most 8.

    Returns
    -------
    float

    Notes
    -----
    Outcomes with the same likelihood ratio are merged, which changes no total variation distance.
    The two-level models have seven ratios, so a sum over multisets of ratios is short.
    """
    a, b = _two_laws(law, other)
    draws = check.integer("per_user", per_user, 1, 8)
    share = np.round(a / np.where(a + b > 0, a + b, 1), 12)
    _, group = np.unique(share, return_inverse=True)
    first, second = np.bincount(group, a), np.bincount(group, b)
    distance = 0.0
    for multiset in combinations_with_replacement(range(len(first)), draws):
        chosen = list(multiset)
        times = prod(factorial(n) for n in np.bincount(chosen).tolist())
        ways = factorial(draws) / times
        distance += ways * abs(first[chosen].prod() - second[chosen].prod()) / 2
    return float(distance)


def _above_diagonal(rho: ArrayLike, other: ArrayLike) -> tuple[Array, Array]:
    a = check.finite_array("rho", rho, min_ndim=2)
    b = check.finite_array("other", other, min_ndim=2)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape != b.shape:
        raise ValueError(f"other of shape {b.shape}: allowed is a square matrix like rho")
    at = np.triu_indices(len(a), 1)
    return a[at], b[at]


def _two_laws(law: ArrayLike, other: ArrayLike) -> tuple[Array, Array]:
    a, b = check.finite_array("law", law), check.finite_array("other", other)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"other of shape {b.shape}: allowed is the shape of law, one dimension")
    for name, value in (("law", a), ("other", b)):
        if value.min() < 0 or abs(value.sum() - 1) > 1e-9:
            raise ValueError(f"{name}: allowed are probabilities that sum to 1")
    return a, b
