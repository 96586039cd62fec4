"""What ratings say about pairs of films, by hand and against the ratings themselves."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from full_data import FULL_DATA, needs_full_data

from dpbook.data import load_dataset, load_table
from dpbook.data.tables import film_titles
from dpbook.pages.movielens import committed_films, films_of

TABLES = ("higher", "equal", "only", "neither", "products")


def test_outcomes_of_small_ratings_by_hand() -> None:
    nan = np.nan
    silent = [nan, nan, nan]
    table = films_of([[5.0, 3.0, nan], [4.0, 4.0, 1.0], [nan, 2.0, nan], silent, silent])
    assert table.higher.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert table.equal.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert table.only.tolist() == [[0, 0, 1], [1, 0, 2], [0, 0, 0]]
    assert table.neither.tolist() == [[0, 2, 3], [2, 0, 2], [3, 2, 0]]
    assert table.decided().tolist() == [[0, 1, 2], [1, 0, 3], [0, 0, 0]]
    assert table.undecided().tolist() == [[0, 3, 3], [3, 0, 2], [3, 2, 0]]
    # Surpluses (2, 0, -2), (1, 1, -2), (-1, 2, -1), and nothing for two silent users.
    assert table.products.tolist() == [[6, -1, -5], [-1, 5, -4], [-5, -4, 9]]
    scores = np.array([[2, 0, -2], [1, 1, -2], [-1, 2, -1], [0, 0, 0], [0, 0, 0]]) / 2
    assert np.allclose(table.score_covariance(), np.cov(scores.T, ddof=0), rtol=0, atol=1e-15)
    assert table.ratings().tolist() == [2, 3, 1]
    assert (table.users, table.raters) == (5, 3)
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


@needs_full_data
def test_the_committed_films_equal_two_recounts() -> None:
    """With plain dictionaries, sharing no code with the package, and with `films_of`."""
    films = committed_films()
    again = films_of(load_dataset("movielens_top40", path=FULL_DATA))
    for name in TABLES:
        assert np.array_equal(getattr(again, name), getattr(films, name)), name
    assert again.raters == films.raters
    people: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for line in (FULL_DATA / "movielens_top40.csv").read_text().splitlines()[1:]:
        user, movie, rating = line.split(",")
        people[user][int(movie)] = float(rating)
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
