"""Answers of real people in arrays, checked; how many of each person count; the exact numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from os import urandom
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Ints
from dpbook.rank.names import public_items

MOST_PAIR_ITEMS = 1000
MOST_COUNT = 2**53
_CHUNK = 2**24  # entries of rankings at once


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
        n, data = len(self.items), np.asarray(self.data)
        if data.dtype.kind not in "iu":
            raise ValueError(f"data has type {data.dtype}: allowed are whole numbers")
        fits = {"comparisons": (2, data.shape[-1]), "rankings": (len(data), n), "counts": (n, n)}
        if data.ndim != 2 or data.shape != fits[self.kind]:
            shapes = {"comparisons": "(2, N)", "rankings": f"(m, {n})", "counts": f"({n}, {n})"}
            given = f"data of shape {data.shape} with kind = {self.kind!r}"
            raise ValueError(f"{given}: allowed is the shape {shapes[self.kind]}")
        most = MOST_COUNT if self.kind == "counts" else n - 1
        low = -1 if self.kind == "rankings" else 0
        if data.size and not low <= data.min() <= data.max() <= most:
            allowed = f"allowed are {low} to {most}"
            raise ValueError(f"data holds {data.min()} to {data.max()}: {allowed}")
        if self.kind == "comparisons" and (data[0] == data[1]).any():
            raise ValueError("data compares an item with itself: allowed are two different items")
        if self.kind == "counts" and (data.diagonal().any() or sum(data.ravel().tolist()) > most):
            raise ValueError("data: allowed are zeros on the diagonal, and a sum up to 2**53")
        size = data.shape[self.kind == "comparisons"]
        for name, types, what in (
            ("person", "iu", "whole numbers"),
            ("tied", "b", "True or False"),
        ):
            if (values := getattr(self, name)) is None:
                continue
            if self.kind == "counts" or (name == "tied" and self.kind == "rankings"):
                raise ValueError(f"{name} is given with kind = {self.kind!r}: allowed is None")
            array = np.asarray(values)
            if array.dtype.kind not in types or array.shape != (size,):
                given = f"{name} has shape {array.shape} and type {array.dtype}"
                raise ValueError(f"{given}: allowed are {what}, {size} of them")

    @property
    def has_persons(self) -> bool:
        """Whether the data say who gave which answer."""
        return self.person is not None

    def in_parts(self) -> Iterator[Answers]:
        """All of them at once; `dpbook.rank.shards` has more parts."""
        yield self

    @property
    def halves(self) -> bool:
        """Whether numbers of wins are given in half wins."""
        return self.tied is not None or self.kind == "rankings"

    def answers_of_each(self) -> Ints:
        """How many answers each person gave, shape (people,)."""
        return np.unique(self._people(), return_counts=True)[1].astype(np.int64)

    def keep(self, limit: int, random: NDArray[np.uint64] | None = None) -> Answers:
        """At most so many answers of each person, chosen at random, whatever others answered.

        The random numbers, one for each answer, come from the operating system by default.
        """
        person = self._people()
        stays = np.ones(person.size, dtype=bool)
        if self.kind == "comparisons" and self.repeats == "one":
            low, high = np.minimum(*self.data).astype(np.int64), np.maximum(*self.data)
            stays[_beyond(1, random, person, low * len(self.items) + high)] = False
        rows = np.flatnonzero(stays)
        left = None if random is None else random[rows]
        stays[rows[_beyond(limit, left, person[rows])]] = False
        if stays.all():
            return self
        data = self.data[stays] if self.kind == "rankings" else self.data[:, stays]
        tied = None if self.tied is None else self.tied[stays]
        return replace(self, data=data, person=person[stays], tied=tied)

    def exact(
        self, statistic: str, limit: int | None = None, random: NDArray[np.uint64] | None = None
    ) -> Ints:
        """The numbers without noise: wins minus losses, (n,), or wins of pairs, (n, n).

        Of at most `limit` answers of each person; wins of pairs in half wins if `halves`.
        """
        check.choice("statistic", statistic, ("net", "pairs"))
        if limit is not None and self.person is not None:
            return self.keep(limit, random).exact(statistic)
        n, net = len(self.items), statistic == "net"
        if self.kind == "rankings":
            of, shape = (_net_of_ranks, (n,)) if net else (_wins_of_ranks, (n, n))
            size = max(1, _CHUNK // prod(shape))
            parts = (of(self.data[k : k + size]) for k in range(0, len(self.data), size))
            return np.asarray(sum(parts, np.zeros(shape, dtype=np.int64)))
        if self.kind == "counts":
            table = self.data.astype(np.int64)
            return table.sum(axis=1) - table.sum(axis=0) if net else table
        first, second = self.data.astype(np.intp)  # bincount wants no other kind, anywhere
        wins: Any = slice(None) if self.tied is None else ~self.tied
        if net:
            won, lost = (np.bincount(row[wins], minlength=n) for row in (first, second))
            return np.asarray(won - lost, dtype=np.int64)
        code = first * n + second
        table = np.bincount(code[wins], minlength=n * n).reshape(n, n)
        if self.tied is not None:
            half = np.bincount(code[self.tied], minlength=n * n).reshape(n, n)
            table = 2 * table + half + half.T
        return np.asarray(table, dtype=np.int64)

    def _people(self) -> Ints:
        if self.person is None:
            raise ValueError("the data do not say who gave which answer")
        return np.asarray(self.person)


def _beyond(limit: int, random: NDArray[np.uint64] | None, *groups: Ints) -> NDArray[np.intp]:
    """Which answers are not among the first `limit` of their groups in a random order.

    Values are sorted many times faster than places, so that the places of larger groups alone are
    sorted, and of a few others.
    """
    mixed, odd = np.zeros(groups[0].size, dtype=np.uint64), np.uint64(0x9E3779B97F4A7C15)
    for group in groups:
        mixed = (mixed ^ group.astype(np.uint64)) * odd
    values, high = np.sort(mixed), np.uint64(44)
    larger = np.zeros(2**20, dtype=bool)
    larger[values[limit:][values[limit:] == values[:-limit]] >> high] = True
    if not larger.any():
        return np.zeros(0, dtype=np.intp)
    rows = np.flatnonzero(larger[mixed >> high])
    size = rows.size
    keys = np.frombuffer(urandom(8 * size), dtype=np.uint64) if random is None else random[rows]
    rows = rows[np.argsort(keys)]
    for group in groups[::-1]:
        rows = rows[np.argsort(group[rows], kind="stable")]
    same = [group[rows[limit:]] == group[rows[:-limit]] for group in groups]
    return rows[limit:][np.logical_and.reduce(same)]


def _net_of_ranks(ranks: NDArray[np.integer]) -> Ints:
    """Items behind an item minus items ahead of it, over rankings (m, n), added up."""
    m, n = ranks.shape
    at = np.where(ranks < 0, n, ranks).astype(np.intp) + (n + 1) * np.arange(m)[:, None]
    count = np.bincount(at.ravel(), minlength=m * (n + 1)).reshape(m, n + 1)[:, :n]
    up_to = np.cumsum(count, axis=1)
    gain = np.zeros((m, n + 1), dtype=np.int64)  # of each rank; the last one for what is missing
    gain[:, :n] = up_to[:, -1:] - 2 * up_to + count
    return np.asarray(gain.ravel()[at].sum(axis=0))


def _wins_of_ranks(ranks: NDArray[np.integer]) -> Ints:
    """In half wins of the row against the column, over rankings (m, n), added up."""
    one, other = ranks[:, :, None], ranks[:, None, :]
    half = (one >= 0) & (other >= 0)
    twice = (one < other).astype(np.int64) * 2 + (one == other)
    return np.asarray((twice * half).sum(axis=0) * (1 - np.eye(ranks.shape[1], dtype=np.int64)))
