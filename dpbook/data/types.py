"""Comparisons, rankings, and the table that both are counted into.

`Comparisons`
    one entry per decided comparison: which item won, which lost and, when known, who answered.
`Rankings`
    a complete ranking of the same items by every person.
`PairTable`
    how many people put one item before another, pair by pair.  Nobody can be told apart in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

Item = str | int
Counts = NDArray[np.int64]
Places = NDArray[np.intp]

# Numbers stand for names one by one, about a hundred bytes each.
MOST_ITEMS = 10**7
# Three lists of so many 8-byte numbers, and their copies while they are made: about 2 GiB.
MOST_COMPARISONS = 2**26


class _Data:
    """Named items, read-only arrays, and equality entry by entry (the order of the rows counts)."""

    items: tuple[Item, ...]
    __hash__ = None  # type: ignore[assignment]  # arrays inside: equality without a hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        rest = {name: value for name, value in vars(self).items() if name != "items"}
        return self.items == other.items and all(
            np.array_equal(value, getattr(other, name)) for name, value in rest.items()
        )

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return len(self.items)

    def _freeze(self, **values: object) -> None:
        """Set the fields of a frozen dataclass, in its own ``__init__``."""
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False, init=False)
class Comparisons(_Data):
    """Decided paired comparisons.

    Parameters
    ----------
    items : int or sequence of str or int
        The items, all different, at least two; an integer n stands for 0, ..., n - 1. Kept as a
        tuple.
    winner, loser : array of int, shape (N,)
        Positions in `items` of the preferred and of the other item, N >= 1. Kept read-only.
    user : array of int, shape (N,), optional
        Label, at least 0, of the person who answered; without it every comparison stands alone,
        as in the edge model.

    Examples
    --------
    >>> data = Comparisons(["tea", "coffee"], winner=[0, 1, 0], loser=[1, 0, 1])
    >>> data.win_matrix()
    array([[0, 2],
           [1, 0]])
    """

    items: tuple[Item, ...]
    winner: Places
    loser: Places
    user: Counts | None

    def __init__(
        self,
        items: int | Sequence[Item],
        winner: ArrayLike,
        loser: ArrayLike,
        user: ArrayLike | None = None,
    ) -> None:
        names = _names(items)
        won = _within("winner", _integers("winner", winner), len(names)).astype(np.intp)
        lost = _within("loser", _integers("loser", loser), len(names)).astype(np.intp)
        labels = None if user is None else _within("user", _integers("user", user), None)
        for name, array in (("loser", lost), ("user", labels)):
            if array is not None and array.size != won.size:
                raise ValueError(
                    f"{name} has {array.size} entries: allowed is {won.size}, as in winner"
                )
        equal = np.flatnonzero(won == lost)
        if equal.size:
            k = int(equal[0])
            raise ValueError(
                f"loser[{k}] = {lost[k]} equals winner[{k}]: an item is never compared with itself"
            )
        self._freeze(items=names, winner=won, loser=lost, user=labels)

    def __len__(self) -> int:
        """Return the number of comparisons N."""
        return int(self.winner.size)

    @property
    def n_users(self) -> int:
        """Number of people with at least one comparison here; N when `user` is None."""
        return len(self) if self.user is None else int(np.unique(self.user).size)

    def win_matrix(self) -> Counts:
        """Count the wins, shape (n, n): entry [i, j] says how often item i beat item j."""
        n = self.n_items
        wins = np.bincount(self.winner * n + self.loser, minlength=n * n).reshape(n, n)
        return wins.astype(np.int64, copy=False)

    @classmethod
    def from_win_matrix(
        cls, wins: ArrayLike, items: int | Sequence[Item] | None = None
    ) -> Comparisons:
        """Build one comparison per counted win, pair by pair, without users.

        Parameters
        ----------
        wins : array of int, shape (n, n)
            The `win_matrix` wanted: zero diagonal, positive sum.
        items : int or sequence of str or int, optional
            The n items; 0, ..., n - 1 when left out.

        Returns
        -------
        Comparisons
        """
        table = _counts("wins", wins)
        names = _names(len(table) if items is None else items)
        if len(names) != len(table):
            raise ValueError(f"items has {len(names)} entries; wins has {len(table)} rows")
        if not table.any():
            raise ValueError("wins is all zero; at least one comparison is needed")
        total = table.sum(dtype=float)  # integers might run over
        if total > MOST_COMPARISONS:
            raise ValueError(
                f"wins adds up to {total:g}: allowed are at most {MOST_COMPARISONS} comparisons, "
                "listed one by one; the estimators and rankers take the table itself"
            )
        pairs = np.repeat(np.arange(table.size), table.ravel())
        return cls(names, pairs // len(table), pairs % len(table))


@dataclass(frozen=True, eq=False, init=False)
class Rankings(_Data):
    """Complete rankings, one row for one person.

    Parameters
    ----------
    items : int or sequence of str or int
        As for `Comparisons`.
    positions : array of int, shape (users, n)
        Entry [u, i] is the place of item i in the ranking of user u, 0 for the most preferred;
        every row is a permutation of 0..n-1. Kept read-only.

    Examples
    --------
    >>> data = Rankings.from_orders([[2, 0, 1]], items=["tea", "coffee", "water"])
    >>> data.positions
    array([[1, 2, 0]])
    """

    items: tuple[Item, ...]
    positions: Counts

    def __init__(self, items: int | Sequence[Item], positions: ArrayLike) -> None:
        names = _names(items)
        table = check.rankings("positions", positions, 2)
        if table.shape[1] != len(names):
            raise ValueError(
                f"positions of shape {table.shape}: allowed is (users, {len(names)}), as items"
            )
        self._freeze(items=names, positions=table.copy())

    @classmethod
    def from_orders(cls, orders: ArrayLike, items: int | Sequence[Item] | None = None) -> Rankings:
        """Build rankings from orders: entry [u, r] is the item at place r in the list of user u.

        Parameters
        ----------
        orders : array of int, shape (users, n)
            Every row is a permutation of 0..n-1, the most preferred item first.
        items : int or sequence of str or int, optional
            The n items; 0, ..., n - 1 when left out.

        Returns
        -------
        Rankings
        """
        table = check.rankings("orders", orders, 2)
        return cls(table.shape[1] if items is None else items, np.argsort(table, axis=1))

    def __len__(self) -> int:
        """Return the number of users."""
        return len(self.positions)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.positions)

    @property
    def orders(self) -> Places:
        """Items from the most to the least preferred, shape (users, n)."""
        return np.argsort(self.positions, axis=1)


@dataclass(frozen=True, eq=False, init=False)
class PairTable(_Data):
    """What people say about each pair of items, counted.

    Parameters
    ----------
    items : int or sequence of str or int
        As for `Comparisons`.
    counts : array of int, shape (n, n)
        Entry [i, j]: people who put item i before item j. Kept read-only.
    users : int
        People in the table. Off the diagonal, counts + counts.T + ties is at most this.
    ties : array of int, shape (n, n), symmetric, optional
        People who put neither item first; none when left out.
    source, licence : str
        Where the counts come from, and under what terms.
    """

    items: tuple[Item, ...]
    counts: Counts
    users: int
    ties: Counts
    source: str
    licence: str

    def __init__(
        self,
        items: int | Sequence[Item],
        counts: ArrayLike,
        users: int,
        ties: ArrayLike | None = None,
        source: str = "",
        licence: str = "",
    ) -> None:
        names, users = _names(items), check.integer("users", users, 1)
        before = _counts("counts", counts)
        tied = np.zeros_like(before) if ties is None else _counts("ties", ties)
        for name, table in (("counts", before), ("ties", tied)):
            if len(table) != len(names):
                raise ValueError(f"{name} has {len(table)} rows: allowed is {len(names)}, as items")
        if not np.array_equal(tied, tied.T):
            raise ValueError("ties is not symmetric: allowed is ties = ties.T")
        answers = before + before.T + tied
        if answers.max() > users:
            raise ValueError(f"users = {users}: allowed is at least {answers.max()}, as at a pair")
        self._freeze(items=names, counts=before, users=users, ties=tied)
        self._freeze(source=source, licence=licence)

    @property
    def n_pairs(self) -> int:
        """Number of pairs n (n - 1) / 2."""
        return self.n_items * (self.n_items - 1) // 2

    @property
    def missing(self) -> Counts:
        """People who said nothing about a pair, shape (n, n), symmetric, zero diagonal."""
        silent = self.users - (self.counts + self.counts.T + self.ties)
        np.fill_diagonal(silent, 0)
        return silent

    def half_tied_counts(self) -> NDArray[np.float64]:
        """Return counts + ties / 2, shape (n, n): a tie is half a win for each side."""
        return self.counts + self.ties / 2


def _names(items: int | Sequence[Item]) -> tuple[Item, ...]:
    """Turn a number of items, or their names, into a tuple of at least two different names."""
    if isinstance(items, int | np.integer) and not isinstance(items, bool):
        if not 2 <= items <= MOST_ITEMS:
            raise ValueError(f"items = {items}: allowed is at least 2 items, at most {MOST_ITEMS}")
        return tuple(range(int(items)))
    if isinstance(items, str | bool) or not isinstance(items, Sequence | range | np.ndarray):
        raise ValueError(f"items = {items!r}: allowed is a number of items or a sequence of names")
    names = tuple(n.item() if isinstance(n, np.generic) else n for n in items)
    for name in names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(f"items contains {name!r}: allowed is strings or integers")
    if len(names) < 2:
        raise ValueError(f"items = {names}: allowed is at least 2 items")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"items contains {twice!r} more than once: allowed is different items")
    return names


def _integers(name: str, values: ArrayLike) -> Counts:
    """Return an int64 copy of a non-empty list of integers."""
    array = check.real_array(name, values)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} of shape {array.shape}: allowed is (N,), at least 1 entry")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} of type {array.dtype}: allowed are integers")
    return array.astype(np.int64)


def _within(name: str, array: Counts, stop: int | None) -> Counts:
    """Check that all entries are in 0..stop-1, or non-negative when `stop` is None."""
    bad = np.flatnonzero((array < 0) | (array >= stop) if stop is not None else array < 0)
    if bad.size:
        allowed = "0 or more" if stop is None else f"0..{stop - 1}"
        raise ValueError(f"{name}[{bad[0]}] = {array[bad[0]]}: allowed is {allowed}")
    return array


def _counts(name: str, values: ArrayLike) -> Counts:
    """Return a copy of a square table of counts with zero diagonal."""
    table = np.array(check.win_tables(name, values, unit=1))
    if table.ndim != 2:
        raise ValueError(f"{name} of shape {table.shape}: allowed is (n, n)")
    return table
