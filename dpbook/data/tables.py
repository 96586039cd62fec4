"""Aggregate tables of published rankings and ratings, quoted as facts.

* Turk.  Workers of a crowdsourcing platform put four pictures in order: by their number of dots
  ("turkdots"), or sliding puzzles by the number of moves to their solution ("turkpuzzle").  Four
  files each, of different difficulty.  There is a right order.  A. Mao, A. D. Procaccia and
  Y. Chen, "Better human computation through principled voting", AAAI (2013).
* SUSHI.  5000 people put ten kinds of sushi in order.  The terms of the data forbid handing on the
  rankings, so only pairwise counts are here.  T. Kamishima, "Nantonac collaborative filtering:
  recommendation based on order responses", KDD (2003) 583-588.  Items carry the names and the
  numbers of the original source: the names in PrefLib's copy are off by one.
* MovieLens.  Ratings of the 40 most rated films in the file called latest-small: 100,836 ratings
  by 610 users of 9,742 films.  This is not MovieLens 100K, which has 100,000 ratings by 943 users.
  F. M. Harper and J. A. Konstan, "The MovieLens datasets: history and context", ACM Transactions
  on Interactive Intelligent Systems 5 (2015) 19:1-19:19.  Two tables of sums over all users, from
  the ratings: outcomes of each pair, and products of scores.  They are a transformation of the data
  and stand under GroupLens' terms, not under the licence of this package; `licence` states them.
"""

from __future__ import annotations

import csv
from importlib import resources
from typing import Literal, overload

import numpy as np

from dpbook import _validation as check
from dpbook.data._registry import MOVIELENS, SUSHI, TURK
from dpbook.data.aggregates import OutcomeTable, PreferenceTable, RankingTable

__all__ = [
    "PREFERENCE_NAMES",
    "RANKING_NAMES",
    "SUSHI_ITEMS",
    "preference_table",
    "ranking_table",
]

RANKING_NAMES: tuple[str, ...] = ("turkdots", "turkpuzzle")
"""Names that `ranking_table` knows."""

PREFERENCE_NAMES: tuple[str, ...] = ("sushi", "movielens_top40")
"""Names that `preference_table` knows."""

_SUSHI = {
    "ebi": "shrimp",
    "anago": "sea eel",
    "maguro": "tuna",
    "ika": "squid",
    "uni": "sea urchin",
    "ikura": "salmon roe",
    "tamago": "egg",
    "toro": "fatty tuna",
    "tekka_maki": "tuna roll",
    "kappa_maki": "cucumber roll",
}
SUSHI_ITEMS: tuple[str, ...] = tuple(_SUSHI)
"""The ten kinds of sushi, in the order of the source's numbers 0 to 9."""


def ranking_table(name: str, part: int = 1) -> RankingTable:
    """Return the counts of the rankings of four items by workers of a crowdsourcing platform.

    Parameters
    ----------
    name : {"turkdots", "turkpuzzle"}
        Pictures ordered by their number of dots, or puzzles by the moves to their solution.
    part : int
        File 1 to 4; the sizes are 795, 794, 800, 794 and 793, 795, 795, 797.  Part 1 has the sizes
        of the data of YLL.

    Returns
    -------
    RankingTable
        The items are the numbers of dots or moves, ascending, which is the right order; `truth` is
        [0, 1, 2, 3].

    Raises
    ------
    ValueError
        If `name` or `part` is unknown.

    Notes
    -----
    Sources: Mao, Procaccia and Chen (2013); PrefLib data sets 00024 and 00025.  The counts are of
    rankings: one worker may have given several.

    Examples
    --------
    >>> table = ranking_table("turkdots")
    >>> table.users, table.items
    (795, (200, 203, 206, 209))
    """
    check.choice("name", name, RANKING_NAMES)
    check.integer("part", part, 1, 4)
    rows = [
        row
        for row in _rows("turk_rankings.csv")
        if row["name"] == name and int(row["part"]) == part
    ]
    values = np.array([[int(row[f"pos{k}"]) for k in range(1, 5)] for row in rows])
    items = np.unique(values)
    return RankingTable(
        items=tuple(items.tolist()),
        orders=np.searchsorted(items, values),
        counts=np.array([int(row["count"]) for row in rows]),
        source=TURK.source,
        licence=TURK.licence,
        truth=np.arange(len(items)),
        title=rows[0]["title"],
    )


@overload
def preference_table(name: Literal["sushi"]) -> PreferenceTable: ...
@overload
def preference_table(name: Literal["movielens_top40"]) -> OutcomeTable: ...
@overload
def preference_table(name: str) -> PreferenceTable | OutcomeTable: ...


def preference_table(name: str) -> PreferenceTable | OutcomeTable:
    """Return pairwise counts over people.

    Parameters
    ----------
    name : {"sushi", "movielens_top40"}
        5000 rankings of ten kinds of sushi, or 610 users' ratings of 40 films.

    Returns
    -------
    PreferenceTable or OutcomeTable
        For "sushi" the number of people who place one item before another.  For "movielens_top40"
        the number of users who rated one film higher, both the same, only one, or neither, and the
        sums over users from which the covariance of their scores follows.

    Raises
    ------
    ValueError
        If `name` is unknown.

    Notes
    -----
    Sources: Kamishima (2003); Harper and Konstan (2015).

    Examples
    --------
    >>> table = preference_table("sushi")
    >>> table.users, table.english[int(table.counts.sum(axis=1).argmax())]
    (5000, 'fatty tuna')
    """
    check.choice("name", name, PREFERENCE_NAMES)
    return _sushi() if name == "sushi" else _movielens()


def _sushi() -> PreferenceTable:
    rows = {row["item"]: row for row in _rows("sushi_pairs.csv")}
    return PreferenceTable(
        items=SUSHI_ITEMS,
        counts=np.array([[int(rows[i][j]) for j in SUSHI_ITEMS] for i in SUSHI_ITEMS]),
        users=5000,
        source=SUSHI.source,
        licence=f"pairwise counts only; the data: {SUSHI.licence}",
        english=tuple(_SUSHI.values()),
    )


def _movielens() -> OutcomeTable:
    films = {int(row["movieId"]): row["title"] for row in _rows("movielens_top40_films.csv")}
    place = {movie: k for k, movie in enumerate(films)}
    n = len(films)
    higher, equal, only, neither = np.zeros((4, n, n), dtype=np.int64)
    for row in _rows("movielens_top40_pairs.csv"):
        i, j = place[int(row["first"])], place[int(row["second"])]
        higher[i, j], higher[j, i] = int(row["first_higher"]), int(row["second_higher"])
        only[i, j], only[j, i] = int(row["only_first"]), int(row["only_second"])
        equal[i, j] = equal[j, i] = int(row["equal"])
        neither[i, j] = neither[j, i] = int(row["neither"])
    return OutcomeTable(
        items=tuple(films.values()),
        higher=higher,
        equal=equal,
        only=only,
        neither=neither,
        users=610,
        raters=580,
        source=MOVIELENS.source,
        licence=MOVIELENS.licence,
        movies=np.array(list(films)),
        products=np.array(
            [
                [int(row[str(movie)]) for movie in films]
                for row in _rows("movielens_top40_lists.csv")
            ]
        ),
    )


def _rows(file: str) -> list[dict[str, str]]:
    source = resources.files("dpbook.data").joinpath(file)
    return list(csv.DictReader(source.read_text(encoding="utf-8").splitlines()))
