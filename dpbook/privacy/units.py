"""Who is protected: one comparison, one person, or one whole ranking.

A unit says what may change between neighbouring data sets. It knows how far a statistic moves
(`l1`), lists the neighbours of small designs, and refuses data that break its promise. There is no
default: whoever calibrates noise says whom it protects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.privacy.neighbours import (
    DESIGNS,
    bundle_contributions,
    count_neighbours_edge,
    count_neighbours_individual,
)

Ints = NDArray[np.int64]

STATISTICS = ("counts", "leads", "places")
RELATIONS = ("replace", "add_remove")
COMPLETE = ("each_pair_once", "ranking")


class Unit(Protocol):
    """What every unit can do."""

    @property
    def n_items(self) -> int:
        """Number of items n."""

    def l1(self, statistic: str = "counts") -> float:
        """Largest change of a statistic between neighbours, in l1."""

    def neighbours(self, statistic: str = "counts") -> Any:
        """Neighbouring values of a statistic: an iterable of pairs."""

    def check(self, data: Comparisons | ArrayLike) -> None:
        """Refuse data that break the promise of the unit."""


def _only(statistic: str, *allowed: str) -> None:
    check.choice("statistic", statistic, allowed)


@dataclass(frozen=True)
class Edge:
    """One comparison is protected.

    Parameters
    ----------
    n_items : int
        Number of items n.
    exchange : bool
        Whether the pair compared may change as well as its outcome; False where the pairs are
        public or all are compared.

    Notes
    -----
    CCW25, section 2.1. The number of comparisons is not protected.

    Examples
    --------
    >>> Edge(4).l1("counts")
    2.0
    >>> Edge(3, exchange=False).neighbours().shape
    (3, 2, 3)
    """

    n_items: int
    exchange: bool = True

    def __post_init__(self) -> None:
        check.integer("n_items", self.n_items, 2)
        _flag("exchange", self.exchange)

    @property
    def comparisons(self) -> int:
        """Number of comparisons that may change."""
        return 1

    def l1(self, statistic: str = "counts") -> float:
        """2 wins: one fewer for an item, one more for another."""
        _only(statistic, "counts")
        return 2.0

    def neighbours(self, statistic: str = "counts") -> Ints:
        """Neighbouring win counts, shape (classes, 2, n), up to a renaming of the items."""
        _only(statistic, "counts")
        return count_neighbours_edge(self.n_items, complete=not self.exchange)

    def check(self, data: Comparisons | ArrayLike) -> None:
        """Nothing to refuse: no person's answers are protected together."""


@dataclass(frozen=True)
class Person:
    """Everything one person says is protected: it may become all that the design allows.

    Parameters
    ----------
    n_items : int
        Number of items n.
    per_user : int, optional
        A person makes at most so many comparisons L of any pairs.
    design : {"each_pair_once", "each_pair_or_skip", "ranking"}, optional
        A person answers every pair; every pair or not; every pair, without a circle. Exactly one
        of ``per_user`` and ``design`` is given.
    vouched : bool
        The caller vouches that everybody keeps to the design. Data that do not say who gave which
        answer are refused otherwise; with a false word a person loses more than epsilon.

    Notes
    -----
    CCW25, section 3.1, with the replacement ranging over everything the person could have said.

    Examples
    --------
    >>> Person(5, per_user=3).l1("counts"), Person(5, design="ranking").l1("counts")
    (6.0, 12.0)
    """

    n_items: int
    per_user: int | None = None
    design: str = "with_replacement"
    vouched: bool = False

    def __post_init__(self) -> None:
        check.integer("n_items", self.n_items, 2)
        check.choice("design", self.design, DESIGNS)
        _flag("vouched", self.vouched)
        if self.design == "with_replacement":
            check.integer("per_user", self.per_user, 1)
        elif self.per_user is not None:
            raise ValueError(
                f"per_user = {self.per_user!r} with design = {self.design!r}: allowed is None"
            )

    @property
    def comparisons(self) -> int:
        """Largest number of comparisons of one person."""
        return self.per_user or comb(self.n_items, 2)

    def l1(self, statistic: str = "counts") -> float:
        """Wins that move: 2 L; floor(n^2 / 2); or n (n - 1) / 2 + floor(n^2 / 4) with skips.

        Notes
        -----
        For every pair once, the counts of a person are majorised by (n-1, ..., 0) (Landau 1953), so
        the convex l1 distance is largest between two opposite rankings. With skips, fix the signs
        of the difference: a pair of items with opposite signs adds up to 2, with equal signs up to
        1 (one side answers, the other skips), and the split into halves is best. A tie that counts
        half a win for each side lies half-way between the two answers and changes nothing.
        """
        _only(statistic, "counts")
        n = self.n_items
        if self.per_user is not None:
            return 2.0 * self.per_user
        return float(n**2 // 2 if self.design in COMPLETE else comb(n, 2) + n**2 // 4)

    def contributions(self) -> Ints:
        """All win counts of one person, shape (vectors, n)."""
        return bundle_contributions(self.n_items, design=self.design, per_user=self.per_user)

    def neighbours(self, statistic: str = "counts", users: int = 1) -> Ints:
        """Neighbouring win counts of so many people, shape (classes, 2, n), up to a renaming."""
        _only(statistic, "counts")
        return count_neighbours_individual(self.contributions(), users)

    def check(self, data: Comparisons | ArrayLike) -> None:
        """Refuse data in which somebody said other things than the design allows.

        Raises
        ------
        ValueError
            If a person answered more or fewer pairs, or if that cannot be seen and nobody vouches.
        """
        if isinstance(data, Comparisons) and data.user is not None:
            _check_bundles(data, data.user, self.design, self.per_user)
        elif not self.vouched:
            raise ValueError(
                "data does not say who gave which answer, so that nobody can check that each "
                "person keeps to the design: allowed are labelled comparisons (Comparisons with "
                "user=...), or Person(..., vouched=True) if you vouch for every person"
            )
        elif self.design in COMPLETE:
            _check_even(data, self.design)


@dataclass(frozen=True)
class WholeRanking:
    """One person's ranking of all items is protected.

    Parameters
    ----------
    n_items : int
        Number of items n.
    users : int, optional
        Number of people m, where it is needed: to list the neighbours, and for fractions.
    relation : {"replace", "add_remove"}
        One ranking becomes another; or there is one ranking more or less.

    Examples
    --------
    >>> WholeRanking(5).l1("leads"), WholeRanking(5, relation="add_remove").l1("leads")
    (20.0, 10.0)
    """

    n_items: int
    users: int | None = None
    relation: str = "replace"

    def __post_init__(self) -> None:
        check.integer("n_items", self.n_items, 2)
        check.choice("relation", self.relation, RELATIONS)
        if self.users is not None:
            check.integer("users", self.users, 1, check.MOST_COUNT)

    @property
    def step(self) -> int:
        """How far the lead of one item over another moves, in people."""
        return 2 if self.relation == "replace" else 1

    def l1(self, statistic: str = "counts") -> float:
        """Change of the win counts, of all leads, or of the people per item and place or before.

        Notes
        -----
        ``"leads"`` takes one number for a pair, wins minus defeats: all turn round between opposite
        rankings. The ``"places"`` reached by an item move as far as the footrule distance.
        """
        _only(statistic, *STATISTICS)
        n = self.n_items
        if statistic == "leads":
            return float(self.step * comb(n, 2))
        return float(n**2 // 2 if self.relation == "replace" else comb(n, 2))

    def neighbours(self, statistic: str = "leads") -> Iterator[tuple[Ints, Ints]]:
        """Neighbouring tables of `users` rankings, each of shape (n, n), up to a renaming."""
        from dpbook.models.rankings import all_rankings

        _only(statistic, "leads")
        if self.users is None or self.relation != "replace":
            raise ValueError(
                f"users = {self.users!r}, relation = {self.relation!r}: allowed is a number of "
                "people, and 'replace', where neighbours are listed"
            )
        places = all_rankings(self.n_items)
        ahead = (places[:, :, None] < places[:, None, :]).astype(np.int64)
        for others in combinations_with_replacement(range(len(places)), self.users - 1):
            base = ahead[list(others)].sum(axis=0)
            for other in range(1, len(places)):
                yield base + ahead[0], base + ahead[other]

    def check(self, data: Comparisons | ArrayLike) -> None:
        """Refuse a table that is not one of so many rankings."""
        if not isinstance(data, Comparisons):
            _check_even(data, "ranking", self.users)


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r}: allowed is True or False")


def _check_even(data: Comparisons | ArrayLike, design: str, users: int | None = None) -> None:
    wins = data.win_matrix() if isinstance(data, Comparisons) else np.asarray(data)
    answers = (wins + np.swapaxes(wins, -1, -2))[..., ~np.eye(wins.shape[-1], dtype=bool)]
    wanted = answers[..., :1] if users is None else users
    uneven = (answers != wanted).any(axis=-1)
    if uneven.any():
        row = answers[uneven][0]
        raise ValueError(
            f"design = {design!r}: data holds {row.min():g} answers to one pair and "
            f"{row.max():g} to another, so that somebody skipped a pair: allowed is the same "
            "number for all pairs, that of the people, or design='each_pair_or_skip'"
        )


def _check_bundles(
    data: Comparisons, user: NDArray[Any], design: str, per_user: int | None
) -> None:
    people, index = np.unique(user, return_inverse=True)
    index = index.ravel()
    answered = np.bincount(index)
    if design == "with_replacement":
        limit = check.integer("per_user", per_user, 1)
        if answered.max() > limit:
            raise ValueError(
                f"per_user = {limit}: a person in data has {answered.max()} comparisons: allowed "
                f"is per_user of at least that, which adds noise"
            )
        return
    low, high = np.minimum(data.winner, data.loser), np.maximum(data.winner, data.loser)
    if len(np.unique(np.stack([index, low, high], axis=1), axis=0)) < len(data):
        raise ValueError(
            f"design = {design!r}: a person in data compares one pair twice: allowed is each pair "
            "at most once, or per_user, for any comparisons"
        )
    pairs = comb(data.n_items, 2)
    if design in COMPLETE and answered.min() < pairs:
        who = int(answered.argmin())
        raise ValueError(
            f"design = {design!r}: person {people[who]} in data answered {answered[who]} of "
            f"{pairs} pairs: allowed is every pair once, or design='each_pair_or_skip'"
        )
    if design == "ranking":
        # Answers to all pairs are a ranking if and only if no two items won equally often.
        wins = np.zeros((people.size, data.n_items), dtype=np.int64)
        np.add.at(wins, (index, data.winner), 1)
        circles = (np.sort(wins, axis=1) != np.arange(data.n_items)).any(axis=1)
        if circles.any():
            raise ValueError(
                f"design = 'ranking': the answers of person {people[circles.argmax()]} in data "
                "go round in a circle: allowed are rankings, or design='each_pair_once'"
            )
