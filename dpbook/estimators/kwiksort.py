"""KwikSort: quicksort by majority votes, with the comparisons it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

__all__ = ["kwiksort_comparisons", "kwiksort_ranking", "kwiksort_rankings"]

Ints = NDArray[np.int64]

_FEW = 8  # up to this many runs, one after the other is faster


def kwiksort_ranking(counts: ArrayLike, *, rng: np.random.Generator) -> Ints:
    """Rank by quicksort: a random pivot, on its left the items that a majority puts before it.

    Parameters
    ----------
    counts : array, shape (n, n)
        Entry [i, j] says how many users place i before j; only the sign of
        ``counts[i, j] - counts[j, i]`` is used, so fractions and noisy counts will do.
    rng : numpy.random.Generator
        Draws the pivots uniformly, and a fair coin for each compared pair that is tied.

    Returns
    -------
    array of int, shape (n,)
        Positions.

    Raises
    ------
    ValueError
        If counts is not a square matrix of finite numbers.

    Notes
    -----
    Ailon, Charikar and Newman (2008), as used by AGKM (Concrete bounds) and YLL (section 2.1).
    """
    return _sorted(_margins(check.square_table("counts", counts)), rng, [])


def kwiksort_comparisons(counts: ArrayLike, *, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rank as `kwiksort_ranking`, and list the comparisons in the order made.

    Parameters
    ----------
    counts, rng
        As for `kwiksort_ranking`.

    Returns
    -------
    positions : array of int, shape (n,)
    pairs : array of int, shape (comparisons, 2)
        The pivot first; no pair is compared twice.
    """
    pairs: list[tuple[int, int]] = []
    positions = _sorted(_margins(check.square_table("counts", counts)), rng, pairs)
    return positions, np.array(pairs, dtype=np.int64).reshape(-1, 2)


def kwiksort_rankings(
    counts: ArrayLike, size: int | None = None, *, rng: np.random.Generator
) -> Ints:
    """Many independent runs of KwikSort at once.

    Parameters
    ----------
    counts : array, shape (..., n, n)
        As for `kwiksort_ranking`; leading axes are replicates of the data.
    size : int, optional
        Number of runs on each matrix; without it one run, and no axis for it.
    rng : numpy.random.Generator
        Draws the pivots and the coins of tied pairs.

    Returns
    -------
    array of int, shape (..., n) or (..., size, n)
        Positions.

    Notes
    -----
    One random order of the items serves a run: the pivot of a part is its first member, which is
    uniform in the part. So step t splits, in every run, the part that holds the t-th item.
    """
    margin = _margins(check.square_tables("counts", counts))
    runs = 1 if size is None else check.integer("size", size, 1)
    check.generator(rng)
    n = margin.shape[-1]
    stack = margin.reshape(-1, n, n)
    total = len(stack) * runs
    shape = margin.shape[:-2] + (() if size is None else (runs,)) + (n,)
    if total <= _FEW:
        few = [_sorted(table, rng, []) for table in stack for _ in range(runs)]
        return np.array(few).reshape(shape)
    data = np.repeat(np.arange(len(stack)), runs)
    pivots = np.argsort(rng.random((total, n)), axis=1)
    tied = (stack[:, ~np.eye(n, dtype=bool)] == 0).any()

    def before(pivot: Ints, part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        lead = stack[data, pivot]  # by how much the pivot is ahead
        left = lead < 0
        if tied:
            left |= (lead == 0) & (rng.random((total, n)) < 0.5)
        return left & part

    return partition_runs(pivots, before).reshape(shape)


def partition_runs(
    pivots: Ints, before: Callable[[Ints, NDArray[np.bool_]], NDArray[np.bool_]]
) -> Ints:
    """Positions of many runs whose t-th pivot splits the part that it is in.

    Row r of `pivots` is an order of the items. ``before(pivot, part)``, with one pivot for each run
    and the others of its part marked, says which of these go before the pivot.
    """
    total, n = pivots.shape
    start = np.zeros((total, n), dtype=np.int64)  # first place of the part an item is in
    rows = np.arange(total)
    for pivot in pivots.T:
        begin = start[rows, pivot][:, None]
        part = start == begin
        part[rows, pivot] = False
        left = before(pivot, part)
        place = begin + left.sum(axis=1, keepdims=True)
        np.copyto(start, place + 1, where=part & ~left)
        start[rows, pivot] = place[:, 0]
    return start


def _sorted(margin: NDArray[Any], rng: np.random.Generator, pairs: list[tuple[int, int]]) -> Ints:
    """Positions; the comparisons made are appended to pairs."""
    n = len(margin)
    ahead = margin > 0
    tied = np.triu(margin == 0, 1)
    if tied.any():
        coin = tied & (check.generator(rng).random((n, n)) < 0.5)
        ahead |= coin | (tied & ~coin).T
    wins = ahead.tolist()
    placed: list[int] = []
    # A part of a shuffled list is a shuffled list, so its first member is a uniform pivot.
    parts = [check.generator(rng).permutation(n).tolist()]
    while parts:
        part = parts.pop()
        if len(part) < 2:
            placed += part
            continue
        pivot, *others = part
        pairs.extend((pivot, item) for item in others)
        loses = wins[pivot]
        parts.append([item for item in others if loses[item]])
        parts.append([pivot])
        parts.append([item for item in others if not loses[item]])
    positions = np.empty(n, dtype=np.int64)
    positions[placed] = np.arange(n)
    return positions


def _margins(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much i is ahead of j."""
    return np.asarray(table - np.swapaxes(table, -1, -2))
