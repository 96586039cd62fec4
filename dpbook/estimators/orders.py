"""Win counts, and rankings by a score of each item or of each of its places."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from dpbook import _validation as check
from dpbook._typing import Ints
from dpbook.data import Comparisons


def win_counts(data: Comparisons | ArrayLike) -> NDArray[Any]:
    """Number of comparisons won by each item, (..., n): the Copeland score if each pair meets once.

    Data are comparisons, or win matrices, (..., n, n), with entry [i, j] the number of times i beat
    j. In matrices of floats a tie may count half a win for each side; the result then has floats.

    Examples
    --------
    >>> win_counts([[0, 2, 1], [1, 0, 3], [2, 0, 0]])
    array([3, 4, 2])
    """
    if isinstance(data, Comparisons):
        return np.bincount(data.winner, minlength=data.n_items)
    return np.asarray(check.win_tables("data", data, unit=0.5).sum(axis=-1))


def ranks_from_scores(scores: ArrayLike, *, rng: np.random.Generator | None = None) -> Ints:
    """Rank of each item, 0 for the largest score; scores and ranks have the shape (..., n).

    A generator breaks ties uniformly at random; without it the smaller index comes first.
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
    """Which items are among the k largest scores, 1 <= k < n: booleans, shape (..., n).

    Exactly k entries of each row are true; ties as for `ranks_from_scores`.
    """
    ranks = ranks_from_scores(scores, rng=rng)
    return ranks < check.integer("k", k, 1, ranks.shape[-1] - 1)


def borda_ranking(counts: ArrayLike) -> Ints:
    """Rank by the number of times an item is placed before another one, or by average place.

    Entry [i, j] of ``counts``, (..., n, n), says how many users place i before j; noisy counts will
    do. Positions, (..., n); of tied items the first comes first.
    """
    table = check.square_tables("counts", counts)
    off = ~np.eye(table.shape[-1], dtype=bool)
    return ranks_from_scores((table * off).sum(axis=-1))


def copeland_ranking(counts: ArrayLike, *, rng: np.random.Generator | None = None) -> Ints:
    """Rank by the number of items that lose the majority vote; a tied vote counts one half.

    Counts and positions as for `borda_ranking`, ties as for `ranks_from_scores`.
    """
    table = check.square_tables("counts", counts)
    outcome = np.sign(table - np.swapaxes(table, -1, -2))
    return ranks_from_scores(outcome.sum(axis=-1), rng=rng)


def footrule_ranking(reached: ArrayLike) -> Ints:
    """Ranking with the smallest total footrule distance to the users' rankings.

    Entry [i, k] of ``reached``, (..., n, n - 1), says how many users place item i at place k or
    before it, k counted from 0 (``(positions[:, :, None] <= np.arange(n - 1)).sum(axis=0)``); noisy
    counts or fractions will do. The last place is left out: there the count is the number of users.
    Positions, (..., n); which of several best rankings depends on the names of the items. At most
    twice as many disagreements as a Kemeny ranking (Diaconis and Graham 1977; Dwork, Kumar, Naor
    and Sivakumar 2001).
    """
    tables = check.finite_array("reached", reached, min_ndim=2)
    fit = tables.shape[-2] == tables.shape[-1] + 1
    check.shaped("reached", tables, fit, "(..., n, n - 1), n >= 2")
    # The total distance is, up to a constant, twice the sum of the entries [i, l] with l < k_i, the
    # place of item i: an assignment problem.
    costs = np.zeros((*tables.shape[:-1], tables.shape[-2]))
    np.cumsum(tables, axis=-1, out=costs[..., 1:])
    flat = costs.reshape(-1, *costs.shape[-2:])
    places = np.array([linear_sum_assignment(cost)[1] for cost in flat], dtype=np.int64)
    return places.reshape(tables.shape[:-1])
