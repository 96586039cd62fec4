"""What people's ratings say about pairs of films, ratings and gaps kept apart (page 22).

Sources: Harper and Konstan (2015); XSC, Section 5.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbook._typing import Array, Ints
from dpbook.data import load_table
from dpbook.data.tables import film_titles, rows_of

Counts = Ints


@dataclass(frozen=True)
class Films:
    """Outcomes of each pair of films, counted over users; tables have the shape (n, n)."""

    items: tuple[str | int, ...]
    higher: Counts  # users who rated both films, and i higher than j
    equal: Counts  # users who gave both films the same rating
    only: Counts  # users who rated i and not j
    neither: Counts  # users who rated neither
    # Sum over users of the product of the surpluses of i and j: a surplus is the number of films
    # put after a film less those put before it, the unrated last.
    products: Counts
    users: int = 610
    raters: int = 580  # users who rated at least one film

    @property
    def n_items(self) -> int:
        return len(self.items)

    def decided(self) -> Counts:
        """Users who prefer i to j when the unrated come last."""
        return self.higher + self.only

    def undecided(self) -> Counts:
        """Users for whom a fair coin decides the pair."""
        return self.equal + self.neither

    def expected(self) -> Array:
        """Expected number of users with i before j after the coins."""
        return self.decided() + self.undecided() / 2

    def probabilities(self) -> Array:
        """Chance that a random user puts i before j; diagonal 1/2."""
        return self.expected() / self.users + np.eye(self.n_items) / 2

    def score_covariance(self) -> Array:
        """Covariance over users of scores, half the surpluses; coins add their own variance."""
        decided = self.decided()
        mean = (decided.sum(axis=1) - decided.sum(axis=0)) / self.users
        return (self.products / self.users - np.outer(mean, mean)) / 4

    def ratings(self) -> Counts:
        """Number of ratings of each film, shape (n,)."""
        rated = self.higher + self.higher.T + self.equal + self.only
        return rated.max(axis=1)


def committed_films() -> Films:
    """The tables that the package carries."""
    films = list(film_titles())
    place, n = {movie: k for k, movie in enumerate(films)}, len(films)
    higher, equal, only, neither = np.zeros((4, n, n), dtype=np.int64)
    for row in rows_of("movielens_top40_pairs.csv"):
        i, j = place[int(row["first"])], place[int(row["second"])]
        higher[i, j], higher[j, i] = int(row["first_higher"]), int(row["second_higher"])
        only[i, j], only[j, i] = int(row["only_first"]), int(row["only_second"])
        equal[i, j] = equal[j, i] = int(row["equal"])
        neither[i, j] = neither[j, i] = int(row["neither"])
    lists = rows_of("movielens_top40_lists.csv")
    products = np.array([[int(row[str(movie)]) for movie in films] for row in lists])
    return Films(load_table("movielens_top40").items, higher, equal, only, neither, products)
