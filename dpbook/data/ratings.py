"""Ratings of items, user by user."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np

from dpbook import _validation as check
from dpbook.data import _checks
from dpbook.data._checks import IntArray, Item
from dpbook.data.aggregates import FloatArray, OutcomeTable

__all__ = ["ALL_USERS", "RatingTable"]

ALL_USERS = 610
"""Users of MovieLens latest-small, those without a rating of the 40 films included."""


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Ratings, one row for one user.

    Parameters
    ----------
    items : tuple of str or int, length n
        Titles.
    ratings : ndarray of float, shape (m, n)
        Larger is better; NaN where there is no rating.  Every row has a rating.
    movies : ndarray of int, shape (n,)
        Numbers of the items at the source.
    users : ndarray of int, shape (m,)
        Numbers of the users at the source.
    source, licence : str
        Where the ratings come from, and under what terms.
    all_users : int
        Users of the full data, those without a rating of these items included.

    Raises
    ------
    ValueError
        If the shapes do not fit, a number comes twice, a row is empty, or a rating is infinite.
    """

    items: tuple[Item, ...]
    ratings: FloatArray
    movies: IntArray
    users: IntArray
    source: str
    licence: str
    all_users: int = ALL_USERS

    def __post_init__(self) -> None:
        items = _checks.item_names(self.items)
        ratings = np.array(self.ratings, dtype=float)
        movies = _checks.integers("movies", self.movies)
        users = _checks.integers("users", self.users)
        if ratings.shape != (len(users), len(items)):
            raise ValueError(
                f"ratings of shape {ratings.shape}: allowed is {(len(users), len(items))}"
            )
        if np.isinf(ratings).any():
            raise ValueError("ratings holds an infinity: allowed are finite numbers or NaN")
        empty = np.flatnonzero(np.isnan(ratings).all(axis=1))
        if empty.size:
            raise ValueError(f"ratings[{empty[0]}] is all NaN: allowed is at least one rating")
        for name, numbers, size in (("movies", movies, len(items)), ("users", users, len(users))):
            if len(numbers) != size or len(np.unique(numbers)) != size:
                raise ValueError(f"{name} of {len(numbers)} entries: allowed is {size} different")
        check.integer("all_users", self.all_users, len(users))
        ratings.setflags(write=False)
        for name, value in zip(
            ("items", "ratings", "movies", "users"), (items, ratings, movies, users), strict=True
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_csv(
        cls, text: str, films: str, *, source: str, licence: str, all_users: int = ALL_USERS
    ) -> RatingTable:
        """Read the canonical CSVs: userId, movieId, rating; and movieId, n_ratings, title.

        Columns follow the second file, rows the numbers of the users.
        """
        rows = list(csv.DictReader(text.splitlines()))
        titles = {int(row["movieId"]): row["title"] for row in csv.DictReader(films.splitlines())}
        column = {movie: k for k, movie in enumerate(titles)}
        users = sorted({int(row["userId"]) for row in rows})
        line = {user: k for k, user in enumerate(users)}
        ratings = np.full((len(users), len(titles)), np.nan)
        for row in rows:
            ratings[line[int(row["userId"])], column[int(row["movieId"])]] = float(row["rating"])
        return cls(
            tuple(titles.values()),
            ratings,
            np.array(list(titles)),
            np.array(users),
            source,
            licence,
            all_users,
        )

    def everyone(self) -> FloatArray:
        """Return the ratings, shape (all_users, n), with rows of NaN for those who gave none."""
        silent = np.full((self.all_users - len(self.users), len(self.items)), np.nan)
        return np.vstack([self.ratings, silent])

    def outcomes(self) -> OutcomeTable:
        """Count, pair by pair, what the ratings of all users say."""
        ratings = self.everyone()
        rated = (~np.isnan(ratings)).astype(np.int64)
        # NaN compares as false, so that both counts are over users who rated both.
        higher = np.array([(column[:, None] > ratings).sum(axis=0) for column in ratings.T])
        equal = np.array([(column[:, None] == ratings).sum(axis=0) for column in ratings.T])
        neither = (1 - rated).T @ (1 - rated)
        # Here the unrated stand below every rating.
        ranked = np.nan_to_num(ratings, nan=-np.inf)
        above, below = np.zeros((2, *ranked.shape), dtype=np.int64)
        for k, column in enumerate(ranked.T):
            above[:, k] = (column[:, None] > ranked).sum(axis=1)
            below[:, k] = (column[:, None] < ranked).sum(axis=1)
        surplus = above - below
        np.fill_diagonal(equal, 0)
        np.fill_diagonal(neither, 0)
        return OutcomeTable(
            items=self.items,
            higher=higher,
            equal=equal,
            only=rated.T @ (1 - rated),
            neither=neither,
            users=self.all_users,
            raters=len(self.users),
            source=self.source,
            licence=self.licence,
            movies=self.movies,
            products=surplus.T @ surplus,
        )
