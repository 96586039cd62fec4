"""Who is protected: one comparison, one person, or one whole ranking.

A unit knows how far a statistic moves between neighbouring data sets (`l1`, and `l2` for Gaussian
noise), lists them for small designs, and refuses data that break its promise (`check`). A statistic
is ``"counts"``, the wins of each item, shape (n,); ``"margins"``, wins minus losses of each pair,
listed as tables of wins, (n, n); or ``"ranks"``, the people who rank an item so high or higher.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import comb, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Ints
from dpbook.data import Comparisons
from dpbook.models.rankings import all_rankings
from dpbook.privacy.neighbours import (
    MOST_BUNDLES,
    count_classes,
    edge_datasets,
    most_sums,
    outcome_counts,
    sumset,
)

Data = Comparisons | ArrayLike

DESIGNS = ("with_replacement", "each_pair_once", "each_pair_or_skip", "ranking")
COMPLETE = ("each_pair_once", "ranking")  # everybody answers every pair


@dataclass(frozen=True)
class Edge:
    """One comparison is protected, where each pair is compared at most once: CCW25, section 2.1.

    With ``exchange`` the pair compared may change as well as its outcome; False where every pair is
    compared. The number of comparisons is not protected.

    Examples
    --------
    >>> Edge(4).l1("counts")
    2.0
    >>> Edge(3, exchange=False).neighbours().shape
    (3, 2, 3)
    """

    n_items: int
    exchange: bool = True
    comparisons = 1  # that may change
    users = None  # any number

    def __post_init__(self) -> None:
        check.integer("n_items", self.n_items, 2)
        _flag("exchange", self.exchange)

    def l1(self, statistic: str = "counts") -> float:
        """2 wins: one fewer for an item, one more for another."""
        _counts_only(statistic)
        return 2.0

    def l2(self, statistic: str = "counts") -> float:
        """The square root of 2, of the same two wins."""
        _counts_only(statistic)
        return sqrt(2)

    def half_range(self, k: int = 1) -> float:
        """1: a set loses a win and another gains one."""
        _apart(self.n_items, k)
        return 1.0

    def neighbours(self, statistic: str = "counts") -> Ints:
        """Neighbouring win counts, shape (classes, 2, n): n at most 5, or 7 without exchange.

        One pair of a class is enough for mechanisms that treat all items alike, and for no others.
        """
        _counts_only(statistic)
        data = edge_datasets(self.n_items, complete=not self.exchange)
        data = data[data[:, 0] == 1]  # by renaming, it is item 0 that loses its win over item 1
        counts, unit = outcome_counts(data, self.n_items), np.eye(self.n_items, dtype=np.int64)
        reduced = counts - unit[0]
        before, after = [counts], [reduced + unit[1]]
        for pair, answers in zip(combinations(unit, 2), data.T, strict=True):
            free = answers == 0
            before += [counts[free]] * 2
            after += [reduced[free] + winner for winner in pair]
        return count_classes(np.concatenate(before), np.concatenate(after))

    def check(self, data: Data) -> None:
        """Refuse another number of items; no person's answers are protected together."""
        _same_items(self.n_items, data)


@dataclass(frozen=True)
class Person:
    """Everything one person says is protected: it may become all that the design allows.

    CCW25, section 3.1, with the replacement ranging over everything the person could have said.

    Parameters
    ----------
    n_items : int
    per_user : int, optional
        A person makes at most so many comparisons L of any pairs.
    design : {"each_pair_once", "each_pair_or_skip", "ranking"}, optional
        A person answers every pair; every pair or not; every pair, without a circle. Exactly one
        of ``per_user`` and ``design`` is given.
    vouched : bool
        Everybody keeps to the design, says the caller, where the data do not say who gave which
        answer; with a false word a person loses more than epsilon.
    users : int, optional
        Number of people m, to list the neighbours: a ranking tells more about one of many.

    Examples
    --------
    >>> Person(5, per_user=3).l1("counts"), Person(5, design="ranking").l1("counts")
    (6.0, 12.0)
    >>> len(Person(3, design="each_pair_once").contributions())
    7
    """

    n_items: int
    per_user: int | None = None
    design: str = "with_replacement"
    vouched: bool = False
    users: int | None = None

    def __post_init__(self) -> None:
        check.integer("n_items", self.n_items, 2)
        check.choice("design", self.design, DESIGNS)
        _flag("vouched", self.vouched)
        check.integer("users", 1 if self.users is None else self.users, 1, check.MOST_COUNT)
        if self.design == "with_replacement":
            check.integer("per_user", self.per_user, 1)
        elif self.per_user is not None:
            given = f"per_user = {self.per_user!r} with design = {self.design!r}"
            raise ValueError(f"{given}: allowed is None")

    @property
    def comparisons(self) -> int:
        """Largest number of comparisons of one person."""
        return self.per_user or comb(self.n_items, 2)

    def l1(self, statistic: str = "counts") -> float:
        """Wins that move: 2 L; floor(n^2 / 2); or n (n - 1) / 2 + floor(n^2 / 4) with skips.

        For every pair once, the counts of a person are majorised by (n-1, ..., 0) (Landau 1953), so
        the convex l1 distance is largest between two opposite rankings. With skips, fix the signs
        of the difference: a pair with opposite signs adds up to 2, with equal signs up to 1 (one
        side skips), and the split into halves is best. A tie, half a win each, changes nothing.
        """
        _counts_only(statistic)
        n = self.n_items
        if self.per_user is not None:
            return 2.0 * self.per_user
        return float(n**2 // 2 if self.design in COMPLETE else comb(n, 2) + n**2 // 4)

    def l2(self, statistic: str = "counts") -> float:
        """Longest move of the wins, in Euclidean length: at a corner of the hull of all moves.

        All L wins pass from one item to another; a ranking is reversed; or, with skips, answers
        between two halves of the items are reversed, those within one given, in the other dropped.
        """
        _counts_only(statistic)
        n = self.n_items
        if self.per_user is not None:
            return sqrt(2) * self.per_user
        if self.design in COMPLETE:
            return sqrt(n * (n**2 - 1) / 3)
        k = np.arange(n)
        return sqrt((k[n // 2 :] ** 2).sum() + (k[(n + 1) // 2 :] ** 2).sum())

    def half_range(self, k: int = 1) -> float:
        """L; else a (n - a), or with skips a (2 n - a - 1) / 2, where a is min(k, n - k).

        Of two sets without their common items, a pair between them counts 2, of one of them and
        another item 1, and inside one of them 1 if it may be skipped, and nothing otherwise.
        """
        n, a = self.n_items, _apart(self.n_items, k)
        if self.per_user is not None:
            return float(self.per_user)
        return a * (n - a) if self.design in COMPLETE else a * (2 * n - a - 1) / 2

    def contributions(self) -> Ints:
        """All win counts of one person, shape (vectors, n), in lexicographic order."""
        n, unit = self.n_items, np.eye(self.n_items, dtype=np.int64)
        if self.per_user is not None:
            if comb(min(self.per_user, MOST_BUNDLES) + n - 1, n - 1) > MOST_BUNDLES:
                asked = f"per_user = {self.per_user!r} with n_items = {n}"
                raise ValueError(f"{asked}: allowed are at most {MOST_BUNDLES} ways to share wins")
            return sumset([unit] * self.per_user, n)
        if self.design == "ranking":
            return all_rankings(n)
        check.integer("n_items", n, 2, 7 if self.design in COMPLETE else 6)  # at most MOST_BUNDLES
        skipped = [0 * unit[0]] if self.design == "each_pair_or_skip" else []
        return sumset([np.array([*pair, *skipped]) for pair in combinations(unit, 2)], n)

    def neighbours(self, statistic: str = "counts") -> Ints:
        """Neighbouring win counts of `users` people, shape (classes, 2, n), as for `Edge`."""
        _counts_only(statistic)
        users, n = check.integer("users", self.users, 1), self.n_items
        bundles = self.contributions()
        allowed = "so few people, with so few bundles, that all sums can be listed"
        work = (users - 1) * most_sums(bundles, users - 1) * bundles.size
        check.fits("users", users, work, allowed)
        others = sumset([bundles] * (users - 1), n)
        # Renaming the items maps the bundles onto themselves: the sum of the others may descend.
        others = np.unique(-np.sort(-others, axis=1), axis=0)
        sides = np.triu_indices(len(bundles), 1)
        check.fits("users", users, 4 * len(others) * sides[0].size * n, allowed)
        return count_classes(*((others[:, None] + bundles[side]).reshape(-1, n) for side in sides))

    def check(self, data: Data) -> None:
        """Refuse data in which somebody breaks the design, or may, while nobody vouches."""
        _same_items(self.n_items, data)
        if isinstance(data, Comparisons) and data.user is not None:
            _check_answers(data, data.user, self.design, self.per_user)
        elif not self.vouched:
            raise ValueError(
                "data does not say who gave which answer, so nobody can check the design: allowed "
                "are Comparisons with user=..., or Person(..., vouched=True) if you vouch for all"
            )
        elif self.design in COMPLETE:
            _check_even(data, None, ", or design='each_pair_or_skip'")


@dataclass(frozen=True)
class WholeRanking:
    """One person's ranking of all items is protected.

    Of ``users`` people, where their number m is needed: to list the neighbours, and for fractions.
    One ranking becomes another; or, ``"add_remove"``, there is one ranking more or less. A table of
    pair counts cannot show that each person handed in a ranking: who passes one vouches.

    Examples
    --------
    >>> WholeRanking(5).l1("margins"), WholeRanking(5, relation="add_remove").l1("margins")
    (20.0, 10.0)
    """

    n_items: int
    users: int | None = None
    relation: str = "replace"

    def __post_init__(self) -> None:
        check.integer("n_items", self.n_items, 2)
        check.choice("relation", self.relation, ("replace", "add_remove"))
        check.integer("users", 1 if self.users is None else self.users, 1, check.MOST_COUNT)

    @property
    def step(self) -> int:
        """How far the lead of one item over another moves, in people."""
        return 2 if self.relation == "replace" else 1

    def l1(self, statistic: str = "counts") -> float:
        """Change of the win counts, of all leads, or of the people per item and place or before.

        ``"margins"`` takes one number for a pair, wins minus losses: all turn at opposite
        rankings. The ``"ranks"`` of an item move as far as the footrule distance.
        """
        check.choice("statistic", statistic, ("counts", "margins", "ranks"))
        n = self.n_items
        if statistic == "margins":
            return float(self.step * comb(n, 2))
        return float(n**2 // 2 if self.relation == "replace" else comb(n, 2))

    def l2(self, statistic: str = "counts") -> float:
        """Euclidean change of the win counts: two opposite rankings, or one more, n - 1, ..., 0."""
        _counts_only(statistic)
        n = self.n_items
        return sqrt(n * (n**2 - 1) / 3 if self.relation == "replace" else comb(2 * n, 3) / 4)

    def half_range(self, k: int = 1) -> float:
        """a (n - a) for a = min(k, n - k), as of a `Person`; half of it for one ranking more."""
        a = _apart(self.n_items, k)
        return self.step * a * (self.n_items - a) / 2

    def neighbours(self, statistic: str = "margins") -> Iterator[tuple[Ints, Ints]]:
        """Neighbouring tables of `users` rankings (or one fewer), (n, n), or win counts, (n,).

        Of all profiles of the others, and all new rankings of one whose ranking was 0, 1, ...
        """
        check.choice("statistic", statistic, ("margins", "counts"))
        ranks, users = all_rankings(self.n_items), check.integer("users", self.users, 1)
        profiles = comb(users + len(ranks) - 2, users - 1)
        check.fits("users", users, profiles * len(ranks), "so few people that all can be listed")
        ahead = (ranks[:, :, None] < ranks[:, None, :]).astype(np.int64)
        if statistic == "counts":
            ahead = ahead.sum(axis=-1)
        for others in combinations_with_replacement(range(len(ranks)), users - 1):
            base = ahead[list(others)].sum(axis=0)
            if self.relation == "add_remove":
                yield base, base + ahead[0]
            else:
                yield from ((base + ahead[0], base + other) for other in ahead[1:])

    def check(self, data: Data) -> None:
        """Refuse data that are not so many rankings, or one fewer, as far as they show it."""
        _same_items(self.n_items, data)
        if isinstance(data, Comparisons) and data.user is not None:
            _check_answers(data, data.user, "ranking")
        _check_even(data, self.users, fewer=self.relation == "add_remove")


Unit = Edge | Person | WholeRanking


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r}: allowed is True or False")


def _apart(n: int, k: int) -> int:
    """By how many items two sets of k out of n can differ."""
    return min(check.integer("k", k, 1, n - 1), n - k)


def _counts_only(statistic: str) -> None:
    check.choice("statistic", statistic, ("counts",))


def _same_items(n_items: int, data: Data) -> None:
    n = data.n_items if isinstance(data, Comparisons) else np.shape(data)[-1]
    if n != n_items:
        raise ValueError(f"data has {n} items: allowed are the {n_items} items of the unit")


def _check_even(data: Data, users: int | None, otherwise: str = "", *, fewer: bool = False) -> None:
    """Refuse data in which not everybody has answered every pair."""
    wins = data.win_matrix() if isinstance(data, Comparisons) else np.asarray(data)
    answers = (wins + np.swapaxes(wins, -1, -2))[..., ~np.eye(wins.shape[-1], dtype=bool)]
    first = answers[..., :1]
    wanted = first if users is None else users - (fewer & (first < users - 0.5))
    off = np.abs(answers - wanted)
    uneven = (off > 4 * np.finfo(float).eps * answers).any(axis=-1)  # shares times people round
    if uneven.any():
        least, most = answers[uneven][0].min(), answers[uneven][0].max()
        allowed = "the same number for all pairs" if users is None else f"users = {users}"
        given = f"data holds {least:g} to {most:g} answers to a pair"
        raise ValueError(f"{given}: allowed is {allowed}, one of each person{otherwise}")


def _check_answers(
    data: Comparisons, user: NDArray[Any], design: str, per_user: int | None = None
) -> None:
    """Refuse data in which a person's answers do not follow the design."""
    people, index = np.unique(user, return_inverse=True)
    answered, pairs = np.bincount(index), comb(data.n_items, 2)
    if per_user is not None:
        if answered.max() > per_user:
            more = f"per_user = {per_user}: a person in data has {answered.max()} comparisons"
            raise ValueError(f"{more}: allowed is per_user of at least that, which adds noise")
        return
    low, high = np.minimum(data.winner, data.loser), np.maximum(data.winner, data.loser)
    if len(np.unique(np.stack([index, low, high], axis=1), axis=0)) < len(data):
        twice = f"design = {design!r}: a person in data compares one pair twice"
        raise ValueError(f"{twice}: allowed is once, or per_user, for any comparisons")
    if design in COMPLETE and answered.min() < pairs:
        raise ValueError(
            f"design = {design!r}: person {people[answered.argmin()]} in data answered "
            f"{answered.min()} of {pairs} pairs: allowed is every pair once, or "
            "design='each_pair_or_skip'"
        )
    if design == "ranking":
        # Answers to all pairs are a ranking if and only if no two items won equally often.
        wins = np.zeros((people.size, data.n_items), dtype=np.int64)
        np.add.at(wins, (index, data.winner), 1)
        circle = (np.sort(wins, axis=1) != np.arange(data.n_items)).any(axis=1)
        if circle.any():
            raise ValueError(
                f"design = 'ranking': the answers of person {people[circle.argmax()]} in data go "
                "round in a circle: allowed are rankings, or design='each_pair_once'"
            )
