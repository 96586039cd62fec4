"""Comparisons, rankings, and the table that both are counted into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints

Item = str | int

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
        arrays = vars(self).keys() - {"items"}
        pairs = ((getattr(self, name), getattr(other, name)) for name in arrays)
        return self.items == other.items and all(np.array_equal(*pair) for pair in pairs)

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
        At least two items, all different, kept as a tuple; an integer n stands for 0, ..., n - 1.
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
    winner: Ints
    loser: Ints
    user: Ints | None

    def __init__(
        self,
        items: int | Sequence[Item],
        winner: ArrayLike,
        loser: ArrayLike,
        user: ArrayLike | None = None,
    ) -> None:
        names = _names(items)
        won = _labels("winner", winner, stop=len(names))
        lost = _labels("loser", loser, stop=len(names), size=won.size)
        people = None if user is None else _labels("user", user, size=won.size)
        if (equal := np.flatnonzero(won == lost)).size:
            k = int(equal[0])
            same = f"loser[{k}] = {lost[k]} equals winner[{k}]"
            raise ValueError(f"{same}: an item is never compared with itself")
        self._freeze(items=names, winner=won, loser=lost, user=people)

    def __len__(self) -> int:
        """Return the number of comparisons N."""
        return int(self.winner.size)

    def win_matrix(self) -> Ints:
        """Count the wins, shape (n, n): entry [i, j] says how often item i beat item j."""
        n = self.n_items
        wins = np.bincount(self.winner * n + self.loser, minlength=n * n).reshape(n, n)
        return wins.astype(np.int64, copy=False)

    @classmethod
    def from_win_matrix(
        cls, wins: ArrayLike, items: int | Sequence[Item] | None = None
    ) -> Comparisons:
        """One comparison per counted win, without users; the items are 0, ..., n - 1 by default."""
        table = _counts("wins", wins)
        names = _names(len(table) if items is None else items)
        if len(names) != len(table):
            raise ValueError(f"items has {len(names)} entries; wins has {len(table)} rows")
        total = table.sum(dtype=float)  # integers might run over
        if not 0 < total <= MOST_COMPARISONS:
            raise ValueError(
                f"wins adds up to {total:g}: allowed are 1 to {MOST_COMPARISONS} comparisons, "
                "listed one by one; the estimators and rankers take the table itself"
            )
        pairs = np.repeat(np.arange(table.size), table.ravel().astype(np.intp))
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
    positions: Ints

    def __init__(self, items: int | Sequence[Item], positions: ArrayLike) -> None:
        names = _names(items)
        table = check.rankings("positions", positions, 2)
        if table.shape[1] != len(names):
            allowed = f"allowed is (users, {len(names)}), as items"
            raise ValueError(f"positions of shape {table.shape}: {allowed}")
        self._freeze(items=names, positions=table.copy())

    @classmethod
    def from_orders(cls, orders: ArrayLike, items: int | Sequence[Item] | None = None) -> Rankings:
        """From the items of each user, (users, n), the most preferred first; 0..n-1 by default."""
        table = check.rankings("orders", orders, 2)
        return cls(table.shape[1] if items is None else items, np.argsort(table, axis=1))

    def __len__(self) -> int:
        """Return the number of users."""
        return len(self.positions)


@dataclass(frozen=True, eq=False, init=False)
class PairTable(_Data):
    """How many people put one item before another, pair by pair; nobody can be told apart in it.

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
    counts: Ints
    users: int
    ties: Ints
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
        most = (before + before.T + tied).max()
        if most > users:
            raise ValueError(f"users = {users}: allowed is at least {most}, as at a pair")
        self._freeze(items=names, counts=before, users=users, ties=tied)
        self._freeze(source=source, licence=licence)

    @property
    def n_pairs(self) -> int:
        """Number of pairs n (n - 1) / 2."""
        return self.n_items * (self.n_items - 1) // 2

    @property
    def missing(self) -> Ints:
        """People who said nothing about a pair, shape (n, n), symmetric, zero diagonal."""
        silent = self.users - (self.counts + self.counts.T + self.ties)
        np.fill_diagonal(silent, 0)
        return silent

    def half_tied_counts(self) -> Array:
        """Return counts + ties / 2, shape (n, n): a tie is half a win for each side."""
        return self.counts + self.ties / 2


def _names(items: int | Sequence[Item]) -> tuple[Item, ...]:
    """Turn a number of items, or their names, into a tuple of at least two different names."""
    if isinstance(items, int | np.integer) and not isinstance(items, bool):
        if not 2 <= items <= MOST_ITEMS:
            raise ValueError(f"items = {items}: allowed is at least 2 items, at most {MOST_ITEMS}")
        return tuple(range(int(items)))
    if isinstance(items, str) or not isinstance(items, Sequence | np.ndarray):
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


def _labels(
    name: str, values: ArrayLike, *, stop: int | None = None, size: int | None = None
) -> Ints:
    """Return a copy of a list of integers, each from 0 to stop - 1."""
    array = check.real_array(name, values)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} of shape {array.shape}: allowed is (N,), at least 1 entry")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} of type {array.dtype}: allowed are integers")
    if size not in (None, array.size):
        raise ValueError(f"{name} has {array.size} entries: allowed is {size}, as in winner")
    array = array.astype(np.intp)  # they index: NumPy wants no other kind, on any platform
    bad = np.flatnonzero((array < 0) | (stop is not None and array >= stop))
    if bad.size:
        allowed = "0 or more" if stop is None else f"0..{stop - 1}"
        raise ValueError(f"{name}[{bad[0]}] = {array[bad[0]]}: allowed is {allowed}")
    return array


def _counts(name: str, values: ArrayLike) -> Ints:
    """Return a copy of a square table of counts with zero diagonal."""
    table = np.array(check.win_tables(name, values, unit=1))
    if table.ndim != 2:
        raise ValueError(f"{name} of shape {table.shape}: allowed is (n, n)")
    return table
