"""Local search for a ranking of small total distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators.rank_distances import check_rankings

__all__ = ["local_search_ranking"]


def local_search_ranking(counts: ArrayLike, start: ArrayLike) -> NDArray[np.int64]:
    """Move one item at a time to a better place, the best such move first, until none helps.

    Parameters
    ----------
    counts : array, shape (n, n)
        Entry [i, j] says how many users place i before j; noisy counts will do.
    start : array of int, shape (n,)
        Positions to start from.

    Returns
    -------
    array of int, shape (n,)
        Positions that no single move improves.

    Raises
    ------
    ValueError
        If the shapes do not fit, or start is no permutation.
    """
    table = check.square_table("counts", counts)
    places = check_rankings("start", start)
    if places.shape != table.shape[:1]:
        raise ValueError(f"start of shape {places.shape}: allowed is ({len(table)},)")
    order = np.argsort(places)
    n = order.size
    # A float table may promise a gain that is only rounding.
    least = 1e-12 * n * np.abs(table).max()
    gains = np.zeros((n, n + 1))
    rows = np.arange(n)
    while True:
        listed = table[order][:, order]
        # Entry [p, k]: the sum over places r < k of what is won when the item of place p passes
        # from behind r to before it; a move to the gap k wins entry [p, p] less entry [p, k].
        np.cumsum(listed - listed.T, axis=1, out=gains[:, 1:])
        won = gains[rows, rows][:, None] - gains
        p, gap = np.unravel_index(np.argmax(won), won.shape)
        if won[p, gap] <= least:
            break
        item = order[p]
        order = np.insert(np.delete(order, p), gap if gap <= p else gap - 1, item)
    positions = np.empty(n, dtype=np.int64)
    positions[order] = rows
    return positions
