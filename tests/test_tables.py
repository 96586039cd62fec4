"""Aggregate tables of rankings and ratings, recounted from the full files where these are."""

from __future__ import annotations

import csv
import hashlib
import itertools
import os
from collections import Counter, defaultdict
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from dpbook.data import (
    OutcomeTable,
    PreferenceTable,
    RankingTable,
    RatingTable,
    preference_table,
    ranking_table,
    rankings_from_ratings,
)

ROOT = Path(__file__).resolve().parents[1]
FULL_DATA = Path(os.environ.get("DPBOOK_DATA") or ROOT.parent / "shared" / "data")
needs_full_data = pytest.mark.skipif(
    not all((FULL_DATA / f"{n}.csv").is_file() for n in ("sushi", "turkdots", "movielens_top40")),
    reason=f"no rankings and ratings in {FULL_DATA} (set DPBOOK_DATA to their folder)",
)

# ---------------------------------------------------------------- all committed tables

# The files as they were counted or copied, with line feeds at the ends of lines whatever the
# checkout has. A change is meant to be seen: recount, or look at the source again, and only then
# write the new digest here.
SHA256 = {
    "ccw25_reference": "d9997c075ce74d9189c5430d6c6032da0fcd26d94dab84392068968acb8018a7",
    "movielens_top40_films": "3afe201c6d41e3ac5132f89b675be44e70ff9e4b9a3ed1354a90b4d6905539ce",
    "movielens_top40_lists": "a7e2689ec4daac21819da96a3d62d674b89e82e043806dd2e5fcdb25bd7730c0",
    "movielens_top40_pairs": "91872431e84701f54d6ab957ef1206a5eece5a0b46998d19d679541ae02fc2b8",
    "sushi_pairs": "79c1b4b80d45385c1c750c0410b0d7df468f1b272a71f83b38f7483202ada4a3",
    "turk_rankings": "34302c0207ebc358697f8fac0660e20dad0de2a508618fc8a2ca8947da49ee72",
}


def test_committed_tables_are_unchanged() -> None:
    folder = resources.files("dpbook.data")
    tables = {f.name.removesuffix(".csv"): f for f in folder.iterdir() if f.name.endswith(".csv")}
    assert {
        name: hashlib.sha256(f.read_text(encoding="utf-8").encode()).hexdigest()
        for name, f in tables.items()
    } == SHA256


# ---------------------------------------------------------------- counts of rankings


@pytest.mark.parametrize(
    ("name", "sizes", "first"),
    [
        ("turkdots", (795, 794, 800, 794), (200, 203, 206, 209)),
        ("turkpuzzle", (793, 795, 795, 797), (11, 14, 17, 20)),
    ],
)
def test_sizes_and_items_of_the_turk_tables(
    name: str, sizes: tuple[int, ...], first: tuple[int, ...]
) -> None:
    tables = [ranking_table(name, part) for part in range(1, 5)]
    assert tuple(table.users for table in tables) == sizes
    assert ranking_table(name).items == first
    for table in tables:
        assert table.orders.shape == (24, 4)
        assert list(table.items) == sorted(table.items)
        assert table.truth is not None and table.truth.tolist() == [0, 1, 2, 3]
        assert "Mao" in table.source and "PrefLib" in table.licence
        expanded = table.rankings()
        assert expanded.n_users == table.users and expanded.items == table.items
        counted = Counter(map(tuple, expanded.orders.tolist()))
        assert counted == Counter(
            dict(zip(map(tuple, table.orders.tolist()), table.counts.tolist(), strict=True))
        )


def test_the_right_order_is_the_most_frequent_one_in_all_files() -> None:
    for name, part in itertools.product(("turkdots", "turkpuzzle"), range(1, 5)):
        table = ranking_table(name, part)
        assert table.orders[table.counts.argmax()].tolist() == [0, 1, 2, 3]


def test_pairwise_counts_by_hand() -> None:
    table = RankingTable(
        ("x", "y", "z"), np.array([[2, 0, 1], [1, 2, 0]]), np.array([3, 4]), "", ""
    )
    assert table.pairwise_counts().tolist() == [[0, 3, 0], [4, 0, 4], [7, 3, 0]]
    assert table.users == 7 and table.truth is None
    with pytest.raises(ValueError, match="read-only"):
        table.orders[0, 0] = 0


@needs_full_data
@pytest.mark.parametrize("name", ["turkdots", "turkpuzzle"])
def test_turk_tables_equal_a_recount(name: str) -> None:
    before: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for row in csv.DictReader((FULL_DATA / f"{name}.csv").read_text().splitlines()):
        order = [row[f"pos{k}"] for k in range(1, 5)]
        for a, b in itertools.combinations(order, 2):
            before[row["file_id"][-1], a, b] += int(row["multiplicity"])
    for part in range(1, 5):
        table = ranking_table(name, part)
        counts = table.pairwise_counts()
        for (i, a), (j, b) in itertools.permutations(enumerate(table.items), 2):
            assert counts[i, j] == before[str(part), str(a), str(b)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"orders": [[0, 0, 1, 2]] * 24}, "permutation"),
        ({"counts": [1] * 23}, "counts has 23 entries: allowed is 24"),
        ({"counts": [0] * 24}, r"counts\[0\] = 0: allowed is 1 or more"),
        ({"orders": [[0, 1, 2, 3]] * 24}, "each order once"),
        ({"items": ("a", "b", "c", "c")}, "more than once"),
        ({"truth": [0, 1, 2, 2]}, r"truth = \[0, 1, 2, 2\]: allowed is a permutation"),
        ({"truth": [0, 1, 2, 4]}, r"truth\[3\] = 4: allowed is 0\.\.3"),
    ],
)
def test_bad_ranking_tables_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(ranking_table("turkdots"), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", [0, 5, 1.5, True])
def test_unknown_parts_and_names_are_refused(part: object) -> None:
    with pytest.raises(ValueError, match=r"part = .*allowed is an integer from 1 to 4"):
        ranking_table("turkdots", part)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="name = 'sushi': allowed is one of 'turkdots'"):
        ranking_table("sushi")
    with pytest.raises(ValueError, match="name = 'turkdots': allowed is one of 'sushi'"):
        preference_table("turkdots")


# ---------------------------------------------------------------- SUSHI


def test_sushi_counts_add_up_and_put_fatty_tuna_first() -> None:
    table = preference_table("sushi")
    assert isinstance(table, PreferenceTable)
    off = ~np.eye(10, dtype=bool)
    assert ((table.counts + table.counts.T)[off] == 5000).all()
    ranked = [table.items[i] for i in np.argsort(-table.counts.sum(axis=1))]
    # In PrefLib's copy, whose names are off by one, the favourite is called egg.
    assert (ranked[0], ranked[-1]) == ("toro", "kappa_maki")
    assert dict(zip(table.items, table.english, strict=True))["toro"] == "fatty tuna"
    assert "redistributed" in table.licence


@needs_full_data
def test_sushi_table_equals_a_recount() -> None:
    table = preference_table("sushi")
    names = [
        (row["name"], row["english"])
        for row in csv.DictReader((FULL_DATA / "sushi_items.csv").read_text().splitlines())
    ]
    assert names == list(zip(table.items, table.english, strict=True))
    counts = np.zeros((10, 10), dtype=int)
    for line in (FULL_DATA / "sushi.csv").read_text().splitlines()[1:]:
        for a, b in itertools.combinations(map(int, line.split(",")[1:]), 2):
            counts[a, b] += 1
    assert np.array_equal(table.counts, counts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": 4999}, "allowed is users = 4999"),
        ({"users": 0}, "users = 0"),
        ({"items": ("a", "b")}, "counts has 10 rows: allowed is 2"),
        ({"english": ("a",)}, "english has 1 entries: allowed is 10"),
        ({"counts": np.zeros((10, 9), dtype=int)}, "counts has shape"),
    ],
)
def test_bad_preference_tables_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(preference_table("sushi"), **change)  # type: ignore[arg-type]


# ---------------------------------------------------------------- MovieLens


def small_ratings() -> RatingTable:
    nan = np.nan
    ratings = np.array([[5.0, 3.0, nan], [4.0, 4.0, 1.0], [nan, 2.0, nan]])
    users = np.array([7, 8, 30])
    return RatingTable(("x", "y", "z"), ratings, np.array([1, 5, 9]), users, "here", "-", 5)


def test_outcomes_of_small_ratings_by_hand() -> None:
    table = small_ratings().outcomes()
    assert table.higher.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert table.equal.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert table.only.tolist() == [[0, 0, 1], [1, 0, 2], [0, 0, 0]]
    assert table.neither.tolist() == [[0, 2, 3], [2, 0, 2], [3, 2, 0]]
    assert table.decided().tolist() == [[0, 1, 2], [1, 0, 3], [0, 0, 0]]
    assert table.undecided().tolist() == [[0, 3, 3], [3, 0, 2], [3, 2, 0]]
    # Surpluses (2, 0, -2), (1, 1, -2), (-1, 2, -1), and nothing for two silent users.
    assert table.products is not None
    assert table.products.tolist() == [[6, -1, -5], [-1, 5, -4], [-5, -4, 9]]
    scores = np.array([[2, 0, -2], [1, 1, -2], [-1, 2, -1], [0, 0, 0], [0, 0, 0]]) / 2
    assert np.allclose(table.score_covariance(), np.cov(scores.T, ddof=0), rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="products = None: allowed is the table of products"):
        replace(table, products=None).score_covariance()
    assert table.ratings().tolist() == [2, 3, 1]
    assert (table.users, table.raters) == (5, 3)
    assert np.allclose(table.probabilities() + table.probabilities().T, 1)
    assert table.probabilities()[0].tolist() == pytest.approx([0.5, 0.5, 0.7])


def test_random_rankings_follow_the_law_of_the_table() -> None:
    """The share of draws with i before j, against `probabilities`: 5 users, exact to 5 sd."""
    ratings, draws = small_ratings(), 4000
    rng = np.random.default_rng(7)
    many = np.repeat(ratings.everyone(), draws, axis=0)
    places = rankings_from_ratings(many, rng=rng).positions
    share = (places[:, :, None] < places[:, None, :]).mean(axis=0)
    off = ~np.eye(3, dtype=bool)
    gap = np.abs(share - ratings.outcomes().probabilities())[off]
    assert gap.max() < 5 * 0.5 / np.sqrt(5 * draws)


def test_movielens_table_says_what_it_is() -> None:
    table = preference_table("movielens_top40")
    assert isinstance(table, OutcomeTable)
    assert (table.n_items, table.users, table.raters) == (40, 610, 580)
    assert table.items[:2] == ("Forrest Gump (1994)", "Shawshank Redemption, The (1994)")
    assert table.ratings()[[0, 1, -1]].tolist() == [329, 317, 162]
    assert int(table.ratings().sum()) == 8307
    assert np.all(np.diff(table.ratings()) <= 0)
    assert "latest-small" in table.source and "not MovieLens 100K" in table.source
    for condition in ("same conditions", "commercial", "Harper and Konstan", "endorsement"):
        assert condition in table.licence
    total = table.expected() + table.expected().T
    assert (total[~np.eye(40, dtype=bool)] == 610).all()


@needs_full_data
def test_movielens_table_equals_a_recount() -> None:
    """Count with plain dictionaries, sharing no code with the package."""
    table = preference_table("movielens_top40")
    people: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for line in (FULL_DATA / "movielens_top40.csv").read_text().splitlines()[1:]:
        user, movie, rating = line.split(",")
        people[user][int(movie)] = float(rating)
    assert len(people) == table.raters
    for i, j in itertools.combinations(range(40), 2):
        a, b = int(table.movies[i]), int(table.movies[j])
        seen: Counter[str] = Counter({"neither": table.users - len(people)})
        for rated in people.values():
            if a in rated and b in rated:
                word = "equal" if rated[a] == rated[b] else "ab"[rated[b] > rated[a]]
            else:
                word = "only a" if a in rated else "only b" if b in rated else "neither"
            seen[word] += 1
        assert (table.higher[i, j], table.higher[j, i]) == (seen["a"], seen["b"])
        assert (table.only[i, j], table.only[j, i]) == (seen["only a"], seen["only b"])
        assert (table.equal[i, j], table.neither[i, j]) == (seen["equal"], seen["neither"])
    movies, total = table.movies.tolist(), Counter[tuple[int, int]]()
    for rated in people.values():
        stars = [rated.get(movie, 0.0) for movie in movies]
        surplus = [sum((s > x) - (s < x) for x in stars) for s in stars]
        total.update({(i, j): surplus[i] * surplus[j] for i in range(40) for j in range(40)})
    assert table.products is not None
    assert table.products.tolist() == [[total[i, j] for j in range(40)] for i in range(40)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: {"users": 4}, "higher .* holds 5 outcomes of a pair: allowed is users = 4"),
        (lambda t: {"raters": 2}, "raters = 2: allowed is at least 3"),
        (lambda t: {"raters": 6}, "raters = 6: allowed is an integer from 1 to 5"),
        (lambda t: {"equal": np.triu(t.equal)}, "equal is not symmetric"),
        (lambda t: {"neither": np.tril(t.neither)}, "neither is not symmetric"),
        (lambda t: {"higher": t.only, "only": t.higher}, "in different ways"),
        (lambda t: {"products": t.products[:2, :2]}, r"products of shape \(2, 2\): allowed is"),
        (lambda t: {"products": np.triu(t.products)}, "products: allowed is a symmetric table"),
        (lambda t: {"products": t.products + 1}, "products: .* rows add up to 0"),
        (lambda t: {"movies": [1, 1, 2]}, "movies has 3 entries: allowed is one for each"),
        (lambda t: {"only": t.only[:2, :2]}, "only has 2 rows: allowed is 3"),
    ],
)
def test_bad_outcome_tables_are_refused(change, message: str) -> None:
    table = small_ratings().outcomes()
    with pytest.raises(ValueError, match=message):
        replace(table, **change(table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": [7, 8]}, r"ratings of shape \(3, 3\): allowed is \(2, 3\)"),
        ({"users": [7, 8, 8]}, "users of 3 entries: allowed is 3 different"),
        ({"movies": [1, 5]}, "movies of 2 entries: allowed is 3 different"),
        ({"all_users": 2}, "all_users = 2: allowed is an integer >= 3"),
        ({"ratings": np.full((3, 3), np.inf)}, "infinity"),
        ({"ratings": np.array([[1.0] * 3, [np.nan] * 3, [1.0] * 3])}, r"ratings\[1\] is all NaN"),
    ],
)
def test_bad_rating_tables_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(small_ratings(), **change)  # type: ignore[arg-type]


# ---------------------------------------------------------------- what the package carries


def test_the_package_carries_no_respondent_level_file() -> None:
    """No file has a column of people, and none has more lines than pairs, or rankings of four."""
    words = {"respondent", "user", "userid", "worker", "student"}
    limits = {"movielens_top40_pairs.csv": 40 * 39 // 2, "turk_rankings.csv": 8 * 24}
    for file in sorted((ROOT / "dpbook" / "data").rglob("*.csv")):
        header, *lines = file.read_text(encoding="utf-8").splitlines()
        assert not words & {name.strip('"').lower() for name in header.split(",")}, file.name
        if file.name != "ccw25_reference.csv":
            assert len(lines) <= limits.get(file.name, 40), file.name
