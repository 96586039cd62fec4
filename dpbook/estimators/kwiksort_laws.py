"""Exact laws of KwikSort: the ranking it returns, and the number of comparisons it makes."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.models.rankings import all_rankings

__all__ = ["comparisons_pmf", "comparisons_pmf_tournament", "kwiksort_pmf"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_ENUMERATED = 8  # most items whose rankings are listed
_SUBSETS = 16  # most items whose subsets are listed


def kwiksort_pmf(preference: ArrayLike) -> tuple[Ints, Array]:
    """Exact law of the ranking when each comparison made is decided at random, independently.

    Parameters
    ----------
    preference : array, shape (..., n, n)
        Entry [i, j] is the probability that i is placed before j when the two are compared; n is
        from 2 to 8, and entry [i, j] + entry [j, i] is 1. The diagonal is not looked at.

    Returns
    -------
    rankings : array of int, shape (n!, n)
        Positions, in lexicographic order.
    probabilities : array, shape (..., n!)

    Raises
    ------
    ValueError
        If an entry is no probability, or two opposite entries do not add up to 1.

    Notes
    -----
    No pair is compared twice, so majority votes with or without noise drawn afresh for each
    comparison are of this form (a tied vote is 1/2). A part of a known result order is a stretch
    of it: the probability of a stretch is the average, over its pivots, of the probability that
    all others fall on their sides, times those of the two stretches left. All terms are positive.
    """
    table = _preference(preference)
    n = table.shape[-1]
    rankings = all_rankings(n)
    orders = np.argsort(rankings, axis=1)
    keeps = table[..., orders[:, :, None], orders[:, None, :]]
    law: dict[tuple[int, int], Array] = {}
    for length in range(n + 1):
        for a in range(n + 1 - length):
            b = a + length
            if length < 2:
                law[a, b] = np.ones(keeps.shape[:-2])
                continue
            total = np.zeros(keeps.shape[:-2])
            for k in range(a, b):
                sides = keeps[..., a:k, k].prod(axis=-1) * keeps[..., k, k + 1 : b].prod(axis=-1)
                total += sides * law[a, k] * law[k + 1, b]
            law[a, b] = total / length
    return rankings, law[0, n]


def comparisons_pmf(n_items: int) -> Array:
    """Exact law of the number of comparisons when the majority order has no cycle.

    Parameters
    ----------
    n_items : int
        From 1 to 120.

    Returns
    -------
    array, shape (n_items (n_items - 1)/2 + 1,)
        Entry c is the probability of c comparisons.

    Notes
    -----
    C_n = n - 1 + C_k + C'_{n-1-k} with k uniform on 0..n-1. Convolutions of non-negative numbers
    only, so tail probabilities are relatively accurate too.
    """
    return _comparisons(check.integer("n_items", n_items, 1, 120)).copy()


def comparisons_pmf_tournament(wins: ArrayLike) -> Array:
    """Exact law of the number of comparisons for any outcome of the majority votes.

    Parameters
    ----------
    wins : array of bool, shape (n, n)
        Entry [i, j] says that i is placed before j when compared; exactly one of [i, j] and
        [j, i] is true. n is from 1 to 16.

    Returns
    -------
    array, shape (n (n - 1)/2 + 1,)
        Entry c is the probability of c comparisons.

    Raises
    ------
    ValueError
        If wins is not a tournament.

    Notes
    -----
    A recursion over the sets that can arise, with the items after and before each pivot.
    """
    beats = check.real_array("wins", wins)
    n = beats.shape[0] if beats.ndim == 2 else 0
    if beats.shape != (n, n) or not 1 <= n <= _SUBSETS or beats.dtype != bool:
        raise ValueError(
            f"wins of shape {beats.shape} and type {beats.dtype}: allowed are booleans (n, n), "
            f"n from 1 to {_SUBSETS}"
        )
    if not ((beats ^ beats.T) | np.eye(n, dtype=bool)).all() or np.diagonal(beats).any():
        raise ValueError("wins is no tournament: allowed is one of [i, j] and [j, i] true, i != j")
    losers = [sum(1 << j for j in range(n) if beats[i, j]) for i in range(n)]
    known: dict[int, Array] = {0: np.ones(1)}

    def law(members: int) -> Array:
        if members not in known:
            size = members.bit_count()
            total = np.zeros(size * (size - 1) // 2 + 1)
            for pivot in range(n):
                if members >> pivot & 1:
                    after = members & losers[pivot]
                    part = np.convolve(law(after), law(members & ~after & ~(1 << pivot)))
                    total[size - 1 : size - 1 + part.size] += part
            known[members] = total / size
        return known[members]

    return law(2**n - 1).copy()


@cache
def _comparisons(n: int) -> Array:
    total = np.zeros(n * (n - 1) // 2 + 1)
    if n < 2:
        return np.ones(1)
    for k in range((n + 1) // 2):  # k and n - 1 - k alike
        part = np.convolve(_comparisons(n - 1 - k), _comparisons(k))
        total[n - 1 : n - 1 + part.size] += part * (1 if 2 * k == n - 1 else 2)
    return total / n


def _preference(preference: ArrayLike) -> Array:
    table = check.finite_array("preference", preference, min_ndim=2)
    n = table.shape[-1]
    if table.shape[-2] != n or not 2 <= n <= _ENUMERATED:
        raise ValueError(
            f"preference of shape {table.shape}: allowed is (..., n, n), n from 2 to {_ENUMERATED}"
        )
    off = ~np.eye(n, dtype=bool)
    table = np.where(off, table, 0.5)
    if table.min() < 0 or table.max() > 1:
        raise ValueError("preference leaves [0, 1]: allowed are probabilities")
    if not np.allclose(table + np.swapaxes(table, -1, -2), 1, rtol=0, atol=1e-12):
        raise ValueError("preference: allowed is entry [i, j] + entry [j, i] = 1")
    return table
