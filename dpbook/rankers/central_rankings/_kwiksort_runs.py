"""KwikSort on noisy comparisons: exact laws, and many runs at once with their comparisons counted.

The laws are sums of products of positive terms, so that small probabilities keep their relative
accuracy and a log-ratio of two laws is exact to rounding.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators.kwiksort import partition_runs
from dpbook.models.rankings import all_rankings

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ITEMS = 7


@lru_cache(maxsize=8)
def all_orders(n_items: int) -> Ints:
    """The order, best item first, of every ranking of `all_rankings`: the outcomes of all laws."""
    table = positions_of(all_rankings(n_items))
    table.flags.writeable = False
    return table


def positions_of(orders: Ints) -> Ints:
    """Places of the items from orders that list the best item first."""
    return np.argsort(orders, axis=-1).astype(np.int64)


def pair_table(name: str, value: ArrayLike, *, max_items: int | None = None) -> Array:
    """The argument as one square table, with at most so many items."""
    table = check.square_table(name, value)
    if max_items is not None and len(table) > max_items:
        raise ValueError(f"{name} has {len(table)} items: allowed are at most {max_items}")
    return table


def count_table(name: str, value: ArrayLike, *, max_items: int | None = None) -> Array:
    """Numbers of users behind each pair as one square table; fractions and negatives refused."""
    table = pair_table(name, value, max_items=max_items).copy()
    np.fill_diagonal(table, 0.0)
    return np.asarray(check.win_tables(name, table, unit=1), dtype=float)


def all_costs(tables: Array) -> Array:
    """Total weight of the pairs that each ranking contradicts, in the order of `all_orders`.

    `tables` has shape (..., n, n), the costs (..., n!).
    """
    n = tables.shape[-1]
    places = positions_of(all_orders(n))
    behind = (places[:, :, None] > places[:, None, :]).reshape(len(places), -1)
    return np.asarray(tables.reshape(*tables.shape[:-2], n * n) @ behind.T.astype(float))


def laplace_preference(margin: ArrayLike, scale: float) -> Array:
    """P(margin + Laplace noise > 0), entry by entry, with full relative accuracy."""
    x = np.asarray(margin, dtype=float) / scale
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def kwiksort_cost_pmf(preference: ArrayLike) -> Array:
    """Exact joint law of the ranking and of the number of comparisons KwikSort makes.

    Parameters
    ----------
    preference : array, shape (n, n)
        Entry [i, j] is the chance that i is put before j when the two are compared; pairs are
        independent of each other and of the pivots. Off the diagonal, [i, j] and [j, i] add to 1.
        From 2 to 7 items.

    Returns
    -------
    array, shape (n!, n(n-1)/2 + 1)
        Rows in the order of `dpbook.models.all_rankings`, columns the numbers of comparisons.

    Raises
    ------
    ValueError
        If preference is not such a table.

    Notes
    -----
    A run that ends in a given order splits every stretch of it at some pivot, uniform in the
    stretch. So the law is a recursion over stretches (a sum over binary trees) of polynomials in
    a variable that counts comparisons.
    """
    table = pair_table("preference", preference, max_items=MAX_ITEMS)
    n = len(table)
    off = ~np.eye(n, dtype=bool)
    if (table[off] < 0).any() or np.abs((table + table.T)[off] - 1).max() > 1e-9:
        raise ValueError(
            "preference: allowed are chances with [i, j] + [j, i] = 1 off the diagonal"
        )
    orders = all_orders(n)
    ahead = table[orders[:, :, None], orders[:, None, :]]
    one = np.zeros((len(orders), comb(n, 2) + 1))
    one[:, 0] = 1.0
    law = {(a, a + width): one for width in (0, 1) for a in range(n + 1 - width)}
    for width in range(2, n + 1):
        for a in range(n + 1 - width):
            law[a, a + width] = _stretch(law, ahead, a, a + width)
    return law[0, n]


def counted_kwiksorts(ahead: NDArray[np.bool_], *, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """KwikSort on a stack of tournaments: positions, and the comparisons made.

    `ahead` has shape (runs, n, n) and holds one true entry for each pair.
    """
    runs, n = ahead.shape[:2]
    rows = np.arange(runs)
    made = np.zeros(runs, dtype=np.int64)

    def before(pivot: Ints, part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        np.add(made, part.sum(axis=1), out=made)
        return part & ~ahead[rows, pivot]

    return partition_runs(np.argsort(rng.random((runs, n)), axis=1), before), made


def _stretch(law: dict[tuple[int, int], Array], ahead: Array, a: int, b: int) -> Array:
    """Law of a stretch a..b-1 of every order, from the laws of shorter stretches."""
    total = np.zeros_like(law[a, a])
    for k in range(a, b):
        chance = ahead[:, a:k, k].prod(axis=1) * ahead[:, k, k + 1 : b].prod(axis=1)
        left, right = law[a, k], law[k + 1, b]
        shift = b - a - 1
        for c in range(comb(k - a, 2) + 1):
            width = comb(b - k - 1, 2) + 1
            term = left[:, c, None] * right[:, :width] * chance[:, None]
            total[:, shift + c : shift + c + width] += term
    return total / (b - a)
