"""Borda and Copeland: rankings by a score of each item."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators.orders import ranks_from_scores

__all__ = ["borda_ranking", "copeland_ranking"]


def borda_ranking(
    counts: ArrayLike, *, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Rank by the number of times an item is placed before another one.

    Parameters
    ----------
    counts : array, shape (..., n, n)
        Entry [i, j] says how many users place i before j; noisy counts will do.
    rng : numpy.random.Generator, optional
        Breaks ties uniformly at random; without it the smaller index comes first.

    Returns
    -------
    array of int, shape (..., n)
        Positions.

    Raises
    ------
    ValueError
        If counts is not a stack of square matrices of finite numbers.

    Notes
    -----
    For complete rankings it is the order by average place.
    """
    table = check.square_tables("counts", counts)
    off = ~np.eye(table.shape[-1], dtype=bool)
    return ranks_from_scores((table * off).sum(axis=-1), rng=rng)


def copeland_ranking(
    counts: ArrayLike, *, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Rank by the number of items that lose the majority vote; a tied vote counts one half.

    Parameters
    ----------
    counts, rng
        As for `borda_ranking`.

    Returns
    -------
    array of int, shape (..., n)
        Positions.
    """
    table = check.square_tables("counts", counts)
    outcome = np.sign(table - np.swapaxes(table, -1, -2))
    return ranks_from_scores(outcome.sum(axis=-1), rng=rng)
