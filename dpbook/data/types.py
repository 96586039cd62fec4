"""Paired comparisons and paired-comparison tables.

Two frozen types carry the data of the whole book.

`Comparisons`
    one entry per decided comparison: which item won, which lost and, when known, who answered.
    The estimators and rankers read this type, or its win matrix.
`PairTable`
    the aggregate of a survey in which every respondent was offered every pair: wins, ties and
    missing answers, pair by pair.  No respondent can be told apart in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpbook.data import _checks
from dpbook.data._checks import IntArray, Item

# Three lists of so many 8-byte numbers, and their copies while they are made: about 2 GiB.
MOST_COMPARISONS = 2**26

__all__ = ["Comparisons", "IntArray", "Item", "PairTable"]


@dataclass(frozen=True, eq=False, init=False)
class Comparisons:
    """Decided paired comparisons.

    Parameters
    ----------
    items : int or sequence of str or int
        The items, all different, at least two.  An integer n stands for the items 0, ..., n - 1.
    winner, loser : array_like of int, shape (N,)
        Positions in `items` of the preferred and of the other item, N >= 1.
    user : array_like of int, shape (N,), optional
        Non-negative label of the person who answered.  ``None``: every comparison stands alone,
        as in the edge model.

    Attributes
    ----------
    items : tuple of str or int, length n
    winner, loser : ndarray of int64, shape (N,), read-only
    user : ndarray of int64, shape (N,), read-only, or None

    Raises
    ------
    ValueError
        If there is no comparison, an array is not one-dimensional or does not hold integers (NaN
        included), lengths differ, a position is outside 0..n-1, a label is negative, or an item
        is compared with itself.

    Examples
    --------
    >>> data = Comparisons(["tea", "coffee"], winner=[0, 1, 0], loser=[1, 0, 1])
    >>> data.win_matrix()
    array([[0, 2],
           [1, 0]])
    """

    items: tuple[Item, ...]
    winner: IntArray
    loser: IntArray
    user: IntArray | None

    def __init__(
        self,
        items: int | Sequence[Item],
        winner: npt.ArrayLike,
        loser: npt.ArrayLike,
        user: npt.ArrayLike | None = None,
    ) -> None:
        names = _checks.item_names(items)
        won = _checks.positions("winner", winner, len(names))
        lost = _checks.positions("loser", loser, len(names))
        _checks.same_length("loser", lost, won)
        equal = np.flatnonzero(won == lost)
        if equal.size:
            k = int(equal[0])
            raise ValueError(
                f"loser[{k}] = {lost[k]} equals winner[{k}]: an item is never compared with itself"
            )
        labels = None
        if user is not None:
            labels = _checks.integers("user", user)
            _checks.within("user", labels, None)
            _checks.same_length("user", labels, won)
        # A frozen dataclass has no ordinary assignment, not even in its own __init__.
        for field, value in zip(
            ("items", "winner", "loser", "user"), (names, won, lost, labels), strict=True
        ):
            object.__setattr__(self, field, value)

    def __len__(self) -> int:
        """Return the number of comparisons N."""
        return int(self.winner.size)

    def __eq__(self, other: object) -> bool:
        """Compare items and arrays entry by entry (the order of the comparisons counts)."""
        if not isinstance(other, Comparisons):
            return NotImplemented
        if (self.user is None) != (other.user is None) or self.items != other.items:
            return False
        pairs = [(self.winner, other.winner), (self.loser, other.loser)]
        if self.user is not None and other.user is not None:
            pairs.append((self.user, other.user))
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equality without a hash

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return len(self.items)

    @property
    def n_users(self) -> int:
        """Number of people with at least one comparison here; N when `user` is None."""
        return len(self) if self.user is None else int(np.unique(self.user).size)

    def win_matrix(self) -> IntArray:
        """Count the wins.

        Returns
        -------
        ndarray of int64, shape (n, n)
            Entry [i, j] is the number of times item i beat item j; the diagonal is 0.
        """
        n = self.n_items
        return np.bincount(self.winner * n + self.loser, minlength=n * n).reshape(n, n)

    @classmethod
    def from_win_matrix(
        cls, wins: npt.ArrayLike, items: int | Sequence[Item] | None = None
    ) -> Comparisons:
        """Build one comparison per counted win, pair by pair, without users.

        Parameters
        ----------
        wins : array_like of int, shape (n, n)
            Entry [i, j] is the number of times item i beat item j; zero diagonal, positive sum.
        items : int or sequence of str or int, optional
            The n items; 0, ..., n - 1 when left out.

        Returns
        -------
        Comparisons
            Its `win_matrix` is `wins`.

        Raises
        ------
        ValueError
            If `wins` is not a square table of counts with zero diagonal, is all zero, or does
            not match `items`.
        """
        table = _checks.counts("wins", wins)
        names = _checks.item_names(len(table) if items is None else items)
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


@dataclass(frozen=True, eq=False)
class PairTable:
    """Aggregate of a survey in which every respondent is offered each pair of items once.

    Parameters
    ----------
    items : tuple of str, length n
        Names of the items.
    wins : ndarray of int, shape (n, n)
        Entry [i, j]: respondents who preferred item i to item j.
    ties, missing : ndarray of int, shape (n, n), symmetric
        Entry [i, j]: respondents who were undecided about the pair, or left no answer.
    respondents : int
        Number of respondents m.  Off the diagonal, wins + wins.T + ties + missing = m.
    decided_per_respondent, answered_per_respondent : ndarray of int, shape (L + 1,)
        Entry c: respondents with exactly c decided answers (ties not counted), or exactly c
        answers (ties counted).
    source, licence : str
        Where the counts come from, and under what terms.

    Raises
    ------
    ValueError
        If a table is not a square table of counts, is not symmetric where it must be, or the
        counts do not add up.
    """

    items: tuple[str, ...]
    wins: IntArray
    ties: IntArray
    missing: IntArray
    respondents: int
    decided_per_respondent: IntArray
    answered_per_respondent: IntArray
    source: str
    licence: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _checks.item_names(self.items))
        for name in ("wins", "ties", "missing"):
            table = _checks.counts(name, getattr(self, name))
            if len(table) != self.n_items:
                raise ValueError(f"{name} has {len(table)} rows; items has {self.n_items} entries")
            if name != "wins" and not np.array_equal(table, table.T):
                raise ValueError(f"{name} = {table.tolist()} is not symmetric")
            object.__setattr__(self, name, table)
        seen = self.wins + self.wins.T + self.ties + self.missing
        off = seen[~np.eye(self.n_items, dtype=bool)]
        if not np.all(off == self.respondents):
            bad = int(off[off != self.respondents][0])
            raise ValueError(
                f"respondents = {self.respondents}, but one pair has {bad} outcomes; "
                "every respondent must be counted once for each pair"
            )
        self._check_histogram("decided_per_respondent", self.decided)
        self._check_histogram("answered_per_respondent", self.decided + self.tied)

    def _check_histogram(self, name: str, total: int) -> None:
        counts = _checks.integers(name, getattr(self, name))
        _checks.within(name, counts, None)
        if counts.size != self.pairs_offered + 1:
            raise ValueError(
                f"{name} has {counts.size} entries: allowed is {self.pairs_offered + 1}"
            )
        people, answers = int(counts.sum()), int(counts @ np.arange(counts.size))
        if (people, answers) != (self.respondents, total):
            raise ValueError(
                f"{name} counts {people} respondents and {answers} answers; "
                f"the tables say {self.respondents} and {total}"
            )
        object.__setattr__(self, name, counts)

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return len(self.items)

    @property
    def pairs_offered(self) -> int:
        """Pairs L = n (n - 1) / 2 that each respondent is offered."""
        return self.n_items * (self.n_items - 1) // 2

    @property
    def asked(self) -> int:
        """Questions put in all, m L."""
        return self.respondents * self.pairs_offered

    @property
    def decided(self) -> int:
        """Answers that prefer one item; decided + tied + unanswered = asked."""
        return int(self.wins.sum())

    @property
    def tied(self) -> int:
        """Answers that leave the pair undecided."""
        return int(self.ties.sum()) // 2

    @property
    def unanswered(self) -> int:
        """Questions without an answer."""
        return int(self.missing.sum()) // 2

    def half_tied_wins(self) -> npt.NDArray[np.float64]:
        """Return wins + ties / 2, shape (n, n): a tie is half a win for each side."""
        return self.wins + self.ties / 2

    def comparisons(self) -> Comparisons:
        """Return the decided answers as `Comparisons` without users (ties and gaps dropped)."""
        return Comparisons.from_win_matrix(self.wins, self.items)
