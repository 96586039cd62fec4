"""Win counts, and the orders that scores give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Comparisons

__all__ = ["ranks_from_scores", "top_k_mask", "win_counts"]


def win_counts(data: Comparisons | ArrayLike) -> NDArray[np.int64]:
    """Number of comparisons won by each item (the Copeland score when each pair meets once).

    Parameters
    ----------
    data : Comparisons, or array of int, shape (..., n, n)
        Comparisons, or win matrices with entry [i, j] the number of times i beat j.

    Returns
    -------
    array of int, shape (..., n)
    """
    if isinstance(data, Comparisons):
        return np.bincount(data.winner, minlength=data.n_items)
    return np.asarray(win_matrices(data).sum(axis=-1), dtype=np.int64)


def ranks_from_scores(
    scores: ArrayLike, *, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Rank of each item, 0 for the largest score.

    Parameters
    ----------
    scores : array, shape (..., n)
        Larger is better.
    rng : numpy.random.Generator, optional
        Breaks ties uniformly at random; without it the smaller index comes first.

    Returns
    -------
    array of int, shape (..., n)
    """
    values = check.finite_array("scores", scores)
    keys = np.zeros(values.shape) if rng is None else check.generator(rng).random(values.shape)
    order = np.lexsort((keys, -values), axis=-1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(values.shape[-1]), order.shape), -1)
    return ranks


def top_k_mask(
    scores: ArrayLike, k: int, *, rng: np.random.Generator | None = None
) -> NDArray[np.bool_]:
    """Which items are among the k largest scores.

    Parameters
    ----------
    scores : array, shape (..., n)
        Larger is better.
    k : int
        From 1 to n - 1.
    rng : numpy.random.Generator, optional
        Breaks ties uniformly at random; without it the smaller index comes first.

    Returns
    -------
    array of bool, shape (..., n)
        Exactly k entries of each row are true.
    """
    ranks = ranks_from_scores(scores, rng=rng)
    return ranks < check.integer("k", k, 1, ranks.shape[-1] - 1)


def win_matrices(data: ArrayLike) -> NDArray[Any]:
    """Check win matrices of shape (..., n, n): non-negative, finite, with a zero diagonal."""
    wins = np.asarray(data)
    if wins.ndim < 2 or wins.shape[-1] != wins.shape[-2] or wins.shape[-1] < 2:
        raise ValueError(f"data of shape {wins.shape}: allowed is (..., n, n) with n >= 2")
    if not np.isfinite(wins).all() or wins.min() < 0:
        raise ValueError("data holds a negative or non-finite count: allowed are counts >= 0")
    if np.diagonal(wins, axis1=-2, axis2=-1).any():
        raise ValueError("data has a non-zero diagonal: an item is never compared with itself")
    return wins
