"""What ratings say about pairs of films, by hand and against the ratings themselves."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from full_data import FULL_DATA, needs_full_data

from dpbook.data import load_table
from dpbook.data.tables import film_titles
from dpbook.pages.movielens import Films, committed_films


def test_chances_and_covariance_of_five_people_by_hand() -> None:
    # Ratings (5, 3, -), (4, 4, 1), (-, 2, -), and two people who rated nothing.
    table = Films(
        items=(0, 1, 2),
        higher=np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]),
        equal=np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
        only=np.array([[0, 0, 1], [1, 0, 2], [0, 0, 0]]),
        neither=np.array([[0, 2, 3], [2, 0, 2], [3, 2, 0]]),
        products=np.array([[6, -1, -5], [-1, 5, -4], [-5, -4, 9]]),
        users=5,
    )
    scores = np.array([[2, 0, -2], [1, 1, -2], [-1, 2, -1], [0, 0, 0], [0, 0, 0]]) / 2
    assert np.allclose(table.score_covariance(), np.cov(scores.T, ddof=0), rtol=0, atol=1e-15)
    assert table.ratings().tolist() == [2, 3, 1]
    assert np.allclose(table.probabilities() + table.probabilities().T, 1)
    assert table.probabilities()[0].tolist() == pytest.approx([0.5, 0.5, 0.7])


def test_the_committed_films_are_those_of_the_pair_table() -> None:
    films, table = committed_films(), load_table("movielens_top40")
    assert films.items == table.items and films.users == table.users
    assert np.array_equal(films.decided(), table.counts)
    assert np.array_equal(films.undecided(), table.ties)
    assert films.ratings()[[0, 1, -1]].tolist() == [329, 317, 162]
    assert int(films.ratings().sum()) == 8307
    assert not films.products.sum(axis=0).any()  # every user's surpluses add up to zero


def surplus(rated: dict[int, float], films: list[int]) -> list[int]:
    """Films put after each film less those put before it."""
    stars = [rated.get(film, 0.0) for film in films]
    return [sum((star > other) - (star < other) for other in stars) for star in stars]


@needs_full_data
def test_the_committed_films_equal_a_recount() -> None:
    """With plain dictionaries, sharing no code with the package."""
    films = committed_films()
    people: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for line in (FULL_DATA / "movielens_top40.csv").read_text().splitlines()[1:]:
        user, movie, rating = line.split(",")
        people[user][int(movie)] = float(rating)
    assert len(people) == films.raters
    surpluses = np.array([surplus(rated, list(film_titles())) for rated in people.values()])
    assert np.array_equal(surpluses.T @ surpluses, films.products)
    for (i, a), (j, b) in itertools.combinations(enumerate(film_titles()), 2):
        seen: Counter[str] = Counter({"neither": films.users - len(people)})
        for rated in people.values():
            if a in rated and b in rated:
                word = "equal" if rated[a] == rated[b] else "ab"[rated[b] > rated[a]]
            else:
                word = "only a" if a in rated else "only b" if b in rated else "neither"
            seen[word] += 1
        assert (films.higher[i, j], films.higher[j, i]) == (seen["a"], seen["b"])
        assert (films.only[i, j], films.only[j, i]) == (seen["only a"], seen["only b"])
        assert (films.equal[i, j], films.neither[i, j]) == (seen["equal"], seen["neither"])
