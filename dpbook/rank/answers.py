"""Answers of real people in arrays, checked; how many of each person count; the exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import urandom
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Ints
from dpbook.rank.names import public_items

MOST_PAIR_ITEMS = 1000
_CHUNK = 2**24  # entries of rankings at once
_HIGH = np.uint64(44)  # bits of a hash but 20
Bytes = Callable[[int], bytes] | None


@dataclass(frozen=True)
class Read:
    """How answers came here: what may be said of it in public, decided before any look at them."""

    words: str = "they were given as arrays"
    typed: tuple[str, ...] = ()  # options that read a file in the same way


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of real people: not for publication, and checked when they are put together.

    Attributes
    ----------
    kind : {"comparisons", "rankings", "counts"}
    items : tuple of str
        All items; for the promise of a release they are public.
    data : array of int
        The two items of each comparison, the winner first, shape (2, N); the rank of each item in
        each ranking, shape (m, n), 0 for the best, equal for a tie, -1 for an item that the person
        could not rank; or how often the row won against the column, shape (n, n).
    person : array of int, shape (N,) or (m,), optional
        The same number for answers of the same person. Not with counts.
    tied : array of bool, shape (N,), optional
        For comparisons that may end in a tie: which of them did. A tie is half a win for each.
    repeats : {"one", "keep"}
        Of a person's answers to the same pair, one counts, drawn at random, or each.
    unranked : {"below", "unknown"}
        What it means that a ranking leaves out an item; the data have its rank, or -1.
    listed : bool
        The items were given by the caller; otherwise they are those that the data name.
    read : Read
        How they were read, for the statement.

    Examples
    --------
    >>> votes = Answers("comparisons", ("coffee", "tea"), np.array([[0, 0, 1], [1, 1, 0]]))
    >>> votes.exact("net").tolist()
    [1, -1]
    """

    kind: str
    items: tuple[str, ...]
    data: NDArray[np.integer]
    person: Ints | None = None
    tied: NDArray[np.bool_] | None = None
    repeats: str = "one"
    listed: bool = True
    unranked: str = "below"
    read: Read = Read()

    def __post_init__(self) -> None:
        check.choice("kind", self.kind, ("comparisons", "rankings", "counts"))
        check.choice("repeats", self.repeats, ("one", "keep"))
        object.__setattr__(self, "items", public_items(self.items))
        data = np.asarray(self.data)
        if data.dtype.kind not in "iu":
            raise ValueError(f"data has type {data.dtype}: allowed are whole numbers")
        check.shaped("data", data, data.ndim == 2, "a table")
        n = len(self.items)
        rows = (self.size,)
        shape = {"comparisons": (2, *rows), "rankings": (*rows, n), "counts": (n, n)}[self.kind]
        check.shaped("data", data, data.shape == shape, f"{shape} with kind = {self.kind!r}")
        low = -int(self.kind == "rankings")
        most = n - 1
        if self.kind == "counts":
            most = check.MOST_COUNT
            if data.diagonal().any() or sum(data.ravel().tolist()) > most:
                raise ValueError("data: allowed are zeros on the diagonal, and a sum up to 2**53")
        if data.size and not low <= data.min() <= data.max() <= most:
            given = f"data holds {data.min()} to {data.max()}"
            raise ValueError(f"{given}: allowed are {low} to {most}")
        if self.kind == "comparisons" and (data[0] == data[1]).any():
            raise ValueError("data compares an item with itself: allowed are two different items")
        allowed = {"person": ("iu", "counts"), "tied": ("b", "counts or rankings")}
        for name, (types, without) in allowed.items():
            value = getattr(self, name)
            array = np.asarray(value)
            fits = array.dtype.kind in types and array.shape == rows
            if value is not None and (self.kind in without or not fits):
                given = f"{name} has shape {array.shape} and type {array.dtype}"
                words = "whole numbers for persons, truth for ties"
                raise ValueError(f"{given}: allowed is {rows} and {words}; no {without}")

    @property
    def _axis(self) -> int:
        """Along which the answers are."""
        return int(self.kind == "comparisons")

    @property
    def size(self) -> int:
        """How many answers, or rankings."""
        return self.data.shape[self._axis]

    @property
    def halves(self) -> bool:
        """Whether numbers of wins are given in half wins."""
        return self.tied is not None or self.kind == "rankings"

    def answers_of_each(self) -> Ints:
        """How many answers each person gave, shape (people,)."""
        return np.unique(self._people(), return_counts=True)[1].astype(np.int64)

    def keep(self, limit: int, random: Bytes = None) -> Answers:
        """At most so many answers of each person, chosen at random, whatever others answered.

        The random bytes come from the operating system by default.
        """
        person = self._people()
        stays = np.ones(person.size, dtype=bool)
        if self.kind == "comparisons" and self.repeats == "one":
            pair = np.sort(self.data, axis=0)
            stays[_beyond(1, random, person, *pair)] = False
        rows = np.flatnonzero(stays)
        stays[rows[_beyond(limit, random, person[rows])]] = False
        if stays.all():
            return self
        more: dict[str, Any] = {}
        if self.tied is not None:
            more["tied"] = self.tied[stays]
        data = self.data.compress(stays, axis=self._axis)
        return replace(self, data=data, person=person[stays], **more)

    def exact(self, statistic: str, limit: int | None = None, random: Bytes = None) -> Ints:
        """The numbers without noise: wins minus losses, (n,), or wins of pairs, (n, n).

        Of at most `limit` answers of each person; wins of pairs in half wins if `halves`.
        """
        net = check.choice("statistic", statistic, ("net", "pairs")) == "net"
        if limit is not None and self.person is not None:
            return self.keep(limit, random).exact(statistic)
        n = len(self.items)
        if self.kind == "rankings":
            of = _net_of_ranks if net else _wins_of_ranks
            parts = np.array_split(self.data, 1 + self.data.size * n // _CHUNK)
            return np.asarray(sum(map(of, parts)))
        if self.kind == "counts":
            table = self.data.astype(np.int64)
            return table.sum(axis=1) - table.sum(axis=0) if net else table
        tied = self.tied
        if tied is None:
            tied = np.zeros(self.size, dtype=bool)
        first, second = self.data.astype(np.intp)  # bincount wants no other kind, anywhere
        if net:
            won = np.bincount(first[~tied], minlength=n)
            lost = np.bincount(second[~tied], minlength=n)
            return np.asarray(won - lost, dtype=np.int64)
        pair = first * n + second
        wins = np.bincount(pair[~tied], minlength=n * n)
        table = wins.reshape(n, n).astype(np.int64)
        if self.halves:
            half = np.bincount(pair[tied], minlength=n * n).reshape(n, n)
            table = 2 * table + half + half.T
        return table

    def _people(self) -> Ints:
        if self.person is None:
            raise ValueError("the data do not say who gave which answer")
        return np.asarray(self.person)


def _beyond(limit: int, random: Bytes, *groups: Ints) -> NDArray[np.intp]:
    """Which answers are not among the first `limit` of their groups in a random order.

    Values are sorted many times faster than places, so that the places of larger groups alone are
    sorted, and of a few others.
    """
    mixed = np.zeros(groups[0].size, dtype=np.uint64)
    for group in groups:
        mixed = (mixed ^ group.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    values = np.sort(mixed)
    larger = np.zeros(2**20, dtype=bool)
    later = values[limit:]
    larger[later[later == values[:-limit]] >> _HIGH] = True
    rows = np.flatnonzero(larger[mixed >> _HIGH])
    keys = np.frombuffer((random or urandom)(8 * rows.size), dtype=np.uint64)
    rows = rows[np.lexsort([keys, *(group[rows] for group in groups)])]
    same = [group[rows[limit:]] == group[rows[:-limit]] for group in groups]
    return rows[limit:][np.logical_and.reduce(same)]


def _net_of_ranks(ranks: NDArray[np.integer]) -> Ints:
    """Items behind an item minus items ahead of it, over rankings (m, n), added up."""
    m, n = ranks.shape
    row, item = np.nonzero(ranks >= 0)
    rank = ranks[row, item].astype(np.intp)  # bincount wants no other kind on 32 bits
    at = np.bincount(row * n + rank, minlength=m * n).reshape(m, n)
    up_to = at.cumsum(axis=1)
    behind = up_to[row, -1] - up_to[row, rank]
    ahead = up_to[row, rank] - at[row, rank]
    net = np.zeros(n, dtype=np.int64)
    np.add.at(net, item, behind - ahead)
    return net


def _wins_of_ranks(ranks: NDArray[np.integer]) -> Ints:
    """In half wins of the row against the column, over rankings (m, n), added up."""
    one = ranks[:, :, None]
    other = ranks[:, None, :]
    half = (one >= 0) & (other >= 0)
    twice = (one < other).astype(np.int64) * 2 + (one == other)
    table = (twice * half).sum(axis=0)
    np.fill_diagonal(table, 0)
    return np.asarray(table)
