"""Whole rankings: one row for one person.

`Rankings`
    a complete ranking of the same items by every user.
`rankings_from_ratings`
    the rankings behind a table of ratings: better rated first, unrated last, ties at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpbook import _validation as check
from dpbook.data import _checks
from dpbook.data._checks import IntArray, Item

__all__ = ["Rankings", "rankings_from_ratings"]


@dataclass(frozen=True, eq=False, init=False)
class Rankings:
    """Complete rankings, one row for one user.

    Parameters
    ----------
    items : int or sequence of str or int
        The items, all different, at least two.  An integer n stands for the items 0, ..., n - 1.
    positions : array_like of int, shape (users, n)
        Entry [u, i] is the place of item i in the ranking of user u, 0 for the most preferred;
        every row is a permutation of 0..n-1.

    Attributes
    ----------
    items : tuple of str or int, length n
    positions : ndarray of int64, shape (users, n), read-only

    Raises
    ------
    ValueError
        If there is no ranking, the table does not hold integers, has another width than `items`,
        or a row is not a permutation.

    Examples
    --------
    >>> data = Rankings.from_orders([[2, 0, 1]], items=["tea", "coffee", "water"])
    >>> data.positions
    array([[1, 2, 0]])
    """

    items: tuple[Item, ...]
    positions: IntArray

    def __init__(self, items: int | Sequence[Item], positions: npt.ArrayLike) -> None:
        names = _checks.item_names(items)
        table = _permutations("positions", positions, len(names))
        # A frozen dataclass has no ordinary assignment, not even in its own __init__.
        object.__setattr__(self, "items", names)
        object.__setattr__(self, "positions", table)

    @classmethod
    def from_orders(
        cls, orders: npt.ArrayLike, items: int | Sequence[Item] | None = None
    ) -> Rankings:
        """Build rankings from orders: entry [u, r] is the item at place r in the list of user u.

        Parameters
        ----------
        orders : array_like of int, shape (users, n)
            Every row is a permutation of 0..n-1, the most preferred item first.
        items : int or sequence of str or int, optional
            The n items; 0, ..., n - 1 when left out.

        Returns
        -------
        Rankings
        """
        table = check.real_array("orders", orders)
        width = table.shape[-1] if table.ndim == 2 else 0
        table = _permutations("orders", table, width)
        return cls(width if items is None else items, np.argsort(table, axis=1))

    def __len__(self) -> int:
        """Return the number of users."""
        return len(self.positions)

    def __eq__(self, other: object) -> bool:
        """Compare items and positions entry by entry (the order of the users counts)."""
        if not isinstance(other, Rankings):
            return NotImplemented
        return self.items == other.items and np.array_equal(self.positions, other.positions)

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equality without a hash

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return len(self.items)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.positions)

    @property
    def orders(self) -> IntArray:
        """Items from the most to the least preferred, shape (users, n)."""
        return np.argsort(self.positions, axis=1)


def rankings_from_ratings(
    ratings: npt.ArrayLike,
    *,
    items: int | Sequence[Item] | None = None,
    rng: np.random.Generator,
) -> Rankings:
    """Rank by rating, the unrated last, ties broken uniformly at random.

    Parameters
    ----------
    ratings : array_like of float, shape (users, n)
        Larger is better; NaN marks an item without a rating.
    items : int or sequence of str or int, optional
        The n items; 0, ..., n - 1 when left out.
    rng : numpy.random.Generator
        Breaks the ties, those among unrated items included.

    Returns
    -------
    Rankings

    Raises
    ------
    ValueError
        If `ratings` is not a table of numbers with a user and two items, or holds an infinity.

    Notes
    -----
    XSC, Section 5.4.  A tie between two items is broken once for a user, in a ranking; the paper
    breaks it pair by pair.  Each pair alone has the same law either way, but only a ranking is free
    of cycles.
    """
    table = check.real_array("ratings", ratings).astype(float)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2 or np.isinf(table).any():
        raise ValueError(
            f"ratings of shape {table.shape}: allowed are finite numbers or NaN, shape (users, n) "
            "with a user and at least 2 items"
        )
    values = np.where(np.isnan(table), -np.inf, table)
    keys = check.generator(rng).random(table.shape)
    orders = np.lexsort((keys, -values), axis=-1)
    return Rankings.from_orders(orders, table.shape[1] if items is None else items)


def _permutations(name: str, values: npt.ArrayLike, width: int) -> IntArray:
    table = check.real_array(name, values)
    if table.ndim != 2 or not len(table) or table.shape[1] != width or width < 2:
        raise ValueError(
            f"{name} of shape {table.shape}: allowed is (users, {width or 'n'}), one row for one "
            "user, at least one user and two items"
        )
    if not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"{name} of type {table.dtype}: allowed are integers")
    ordered = np.sort(table, axis=1)
    wrong = np.flatnonzero((ordered != np.arange(width)).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"{name}[{row}] = {table[row].tolist()}: allowed is a permutation of 0..{width - 1}"
        )
    result = table.astype(np.int64)
    result.setflags(write=False)
    return result
