"""Codes of rankings in Kendall's distance, and the guarantee and the limit of their size."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, permutations
from math import ceil, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

__all__ = ["kendall_ball", "kendall_code", "kendall_size_limits", "pair_orders"]

_MOST_ITEMS = 8
_MOST_DRAWS = 40_320  # as many as there are rankings of 8 items
_MOST_SUMS = 2 * 10**6  # of long integers: seconds
_BLOCK = 512  # words looked at together


def pair_orders(rankings: ArrayLike) -> NDArray[np.bool_]:
    """For every pair i < j, whether i stands before j: Kendall's distance is then Hamming's.

    Parameters
    ----------
    rankings : array of int, shape (..., n)
        Items 0..n-1, best first.

    Returns
    -------
    array of bool, shape (..., n (n - 1) / 2)
        Pairs in the order of ``numpy.triu_indices``.
    """
    orders = check.real_array("rankings", rankings)
    n = orders.shape[-1] if orders.ndim else 0
    if n < 2 or not np.array_equal(
        np.sort(orders, -1), np.broadcast_to(np.arange(n), orders.shape)
    ):
        raise ValueError("rankings: allowed are rows that hold each of 0..n-1 once, n >= 2")
    position = np.argsort(orders, axis=-1)
    i, j = np.triu_indices(n, 1)
    return np.asarray(position[..., i] < position[..., j])


def kendall_code(
    n_items: int,
    distance: int,
    *,
    method: str = "lexicographic",
    draws: int = 2000,
    rng: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """Build rankings that differ pairwise in the order of at least ``distance`` pairs.

    Parameters
    ----------
    n_items : int
        Number of items; at most 8 unless the method is ``"random"``.
    distance : int
        Least Kendall distance wanted, from 1 to n (n - 1) / 2.
    method : {"lexicographic", "greedy", "random"}
        All rankings in lexicographic order, all in random order, or ``draws`` random ones.
    draws : int
        Number of rankings tried by ``"random"``.
    rng : numpy.random.Generator, optional
        Needed by ``"greedy"`` and ``"random"``.

    Returns
    -------
    array of int, shape (words, n_items)
        Rankings, best item first. The first two methods meet `kendall_size_limits`' guarantee.
    """
    check.choice("method", method, ("lexicographic", "greedy", "random"))
    n = check.integer("n_items", n_items, 2, None if method == "random" else _MOST_ITEMS)
    pairs = n * (n - 1) // 2
    distance = check.integer("distance", distance, 1, pairs)
    if method == "lexicographic":
        words = np.array(list(permutations(range(n))))
    else:
        source = check.generator(rng)
        if method == "greedy":
            words = source.permutation(np.array(list(permutations(range(n)))))
        else:
            draws = check.integer("draws", draws, 1, _MOST_DRAWS)
            check.fits("n_items", n, draws * pairs, "fewer items, or draws")
            words = np.argsort(source.random((draws, n)), axis=1)
    if distance == 1:  # whatever differs is far enough
        first = np.unique(words, axis=0, return_index=True)[1]
        return words[np.sort(first)]
    # Products of signs are whole numbers, which single precision holds up to 2**24.
    signs = 2 * pair_orders(words).astype(np.float32) - 1
    most = pairs - 2 * distance  # sign rows at distance d have the inner product pairs - 2 d
    kept: list[int] = []
    for start in range(0, len(words), _BLOCK):
        block = signs[start : start + _BLOCK]
        open_ = np.ones(len(block), dtype=bool)
        if kept:
            open_ = (signs[kept] @ block.T).max(axis=0) <= most
        close = block @ block.T > most
        for row in range(len(block)):
            if open_[row]:
                kept.append(start + row)
                open_ &= ~close[row]
    return words[kept]


def kendall_ball(n_items: int, radius: int) -> int:
    """Number of rankings within a Kendall distance of one ranking.

    Parameters
    ----------
    n_items, radius : int
        Number of items, and the largest distance counted, at least 0.

    Returns
    -------
    int
        Permutations with at most ``radius`` inversions (sums of Mahonian numbers).
    """
    n = check.integer("n_items", n_items, 1)
    radius = check.integer("radius", radius, 0)
    radius = min(radius, n * (n - 1) // 2)
    if n * (radius + 1) > _MOST_SUMS:
        raise ValueError(
            f"n_items = {n_items!r}, radius = {radius}: allowed is a product of at most "
            f"{_MOST_SUMS}"
        )
    counts = [1]
    for m in range(2, n + 1):
        # Inserting the m-th item creates 0..m-1 inversions: a sliding sum of m counts.
        sums = [0, *accumulate(counts)]
        last = len(counts)
        counts = [
            sums[min(d + 1, last)] - sums[max(0, d - m + 1)]
            for d in range(min(last + m - 1, radius + 1))
        ]
    return sum(counts)


def kendall_size_limits(n_items: int, distance: int) -> tuple[int, int]:
    """Size that a code of this Kendall distance can always be given, and one it never exceeds.

    Parameters
    ----------
    n_items, distance : int
        As for `kendall_code`.

    Returns
    -------
    guaranteed, limit : int
        Gilbert and Varshamov: all rankings over the ball of radius distance - 1. Sphere packing:
        all rankings over the ball of radius (distance - 1) // 2.
    """
    n = check.integer("n_items", n_items, 2)
    distance = check.integer("distance", distance, 1, n * (n - 1) // 2)
    guaranteed = ceil(Fraction(factorial(n), kendall_ball(n, distance - 1)))
    return guaranteed, factorial(n) // kendall_ball(n, (distance - 1) // 2)
