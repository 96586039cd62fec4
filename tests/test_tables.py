"""Published tables, recounted from the full files where these are."""

from __future__ import annotations

import csv
import hashlib
import itertools
import os
import re
from collections import Counter, defaultdict
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from full_data import FULL_DATA, needs_full_data

from dpbook.data import load_dataset, load_table, tables

# People of the four parts, and the items of the first.
TURK = {
    "turkdots": ((795, 794, 800, 794), (200, 203, 206, 209)),
    "turkpuzzle": ((793, 795, 795, 797), (11, 14, 17, 20)),
}
ROOT = Path(__file__).resolve().parents[1]

# ---------------------------------------------------------------- all committed tables

# The files as they were counted or copied, with line feeds at the ends of lines whatever the
# checkout has. A change is meant to be seen: recount, or look at the source again, and only then
# write the new digest here.
SHA256 = {
    "ccw25_reference": "fdb0893f66754111b708b1fc4472d541a4b829ee23c37349a79bd498cc904f9f",
    "movielens_top40_films": "3afe201c6d41e3ac5132f89b675be44e70ff9e4b9a3ed1354a90b4d6905539ce",
    "movielens_top40_lists": "a7e2689ec4daac21819da96a3d62d674b89e82e043806dd2e5fcdb25bd7730c0",
    "movielens_top40_pairs": "91872431e84701f54d6ab957ef1206a5eece5a0b46998d19d679541ae02fc2b8",
    "pair_tables": "21437750b15c35e5c1efdc70e12495362688fdab4d059bfcfd4297a39e145514",
    "turk_rankings": "34302c0207ebc358697f8fac0660e20dad0de2a508618fc8a2ca8947da49ee72",
}


def test_committed_tables_are_unchanged() -> None:
    folder = resources.files("dpbook.data")
    tables = {f.name.removesuffix(".csv"): f for f in folder.iterdir() if f.name.endswith(".csv")}
    assert {
        name: hashlib.sha256(f.read_text(encoding="utf-8").encode()).hexdigest()
        for name, f in tables.items()
    } == SHA256


# ---------------------------------------------------------------- surveys


# People, items, decided, tied, unanswered; decided for the item named first, and second.
TOTALS = {
    "cems": (303, 6, 3967, 487, 91, 2595, 1372),
    "cems_1998": (303, 6, 3967, 487, 91, 2513, 1454),
    "immigration": (98, 4, 379, 124, 85, 236, 143),
}


@pytest.mark.parametrize("name", TOTALS)
def test_wins_in_questionnaire_order_match_the_published_totals(name: str) -> None:
    table = load_table(name)  # items in the order in which a question names them
    sums = (table.counts.sum(), table.ties.sum() // 2, table.missing.sum() // 2)
    named = (np.triu(table.counts).sum(), np.tril(table.counts).sum())
    assert (table.users, table.n_items, *sums, *named) == TOTALS[name]
    assert "GPL" in table.licence and "Hatzinger" in table.source


def test_the_two_cems_editions_differ_in_one_reversed_pair() -> None:
    new, old = load_table("cems"), load_table("cems_1998")
    b, s = new.items.index("Barcelona"), new.items.index("Stockholm")
    differing = {tuple(map(int, where)) for where in np.argwhere(new.counts != old.counts)}
    assert differing == {(b, s), (s, b)}
    assert (new.counts[b, s], new.counts[s, b]) == (old.counts[s, b], old.counts[b, s]) == (172, 90)
    assert np.array_equal(new.ties, old.ties) and new.items == old.items
    assert "1998" in old.source and "Corrected" in new.source


@needs_full_data
@pytest.mark.parametrize("name", ["cems", "cems_1998", "immigration", "llmfao"])
def test_comparisons_equal_a_recount_of_the_answers(name: str) -> None:
    """Count with plain dictionaries, sharing no code with the package."""
    rows = [*csv.DictReader((FULL_DATA / f"{name}.csv").read_text().splitlines())]
    said = Counter((row["item_a"], row["item_b"], row["outcome"]) for row in rows)
    table, people = load_table(name), Counter(row["respondent"] for row in rows)
    assert len(people) == table.users
    ends = (min(people.values()), max(people.values()))
    assert name != "llmfao" or ends == (7, 343)
    for (i, a), (j, b) in itertools.product(enumerate(table.items), repeat=2):
        assert table.counts[i, j] == said[a, b, "a"] + said[b, a, "b"]
        assert table.ties[i, j] == said[a, b, "tie"] + said[b, a, "tie"]
        if name != "llmfao":  # where nobody was asked for all pairs, none is missing
            assert table.missing[i, j] == said[a, b, "missing"] + said[b, a, "missing"]


# ---------------------------------------------------------------- the simulated data set


@pytest.mark.parametrize("name", TURK)
def test_sizes_and_items_of_the_turk_tables(name: str) -> None:
    sizes, first = TURK[name]
    tables = [load_table(name, part=part) for part in range(1, 5)]
    assert tuple(table.users for table in tables) == sizes
    assert tables[0].items == first
    for part, table in enumerate(tables, start=1):
        assert list(table.items) == sorted(table.items)
        assert "Mao" in table.source and "PrefLib" in table.licence
        rankings = load_dataset(name, part=part)
        assert len(rankings) == table.users and rankings.items == table.items
        orders = Counter(map(tuple, np.argsort(rankings.positions, axis=1).tolist()))
        # The right order is the most frequent one in all files.
        assert len(orders) == 24 and orders.most_common(1)[0][0] == (0, 1, 2, 3)


@needs_full_data
@pytest.mark.parametrize("name", TURK)
def test_turk_tables_equal_a_recount(name: str) -> None:
    people: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    before: Counter[tuple[str, str, str]] = Counter()
    for row in csv.DictReader((FULL_DATA / f"{name}.csv").read_text().splitlines()):
        part, order = row["file_id"][-1], tuple(row[f"pos{k}"] for k in range(1, 5))
        people[part][order] += int(row["multiplicity"])
        for a, b in itertools.combinations(order, 2):
            before[part, a, b] += int(row["multiplicity"])
    for part in range(1, 5):
        table, rankings = load_table(name, part=part), load_dataset(name, part=part)
        for (i, a), (j, b) in itertools.permutations(enumerate(table.items), 2):
            assert table.counts[i, j] == before[str(part), str(a), str(b)]
        named = np.array(table.items).astype(str)[np.argsort(rankings.positions)]
        assert Counter(map(tuple, named.tolist())) == people[str(part)]


# ---------------------------------------------------------------- SUSHI


def test_sushi_counts_add_up_and_put_fatty_tuna_first() -> None:
    table = load_table("sushi")
    off = ~np.eye(10, dtype=bool)
    assert ((table.counts + table.counts.T)[off] == 5000).all()
    ranked = [table.items[i] for i in np.argsort(-table.counts.sum(axis=1))]
    # In PrefLib's copy, whose names are off by one, the favourite is called egg.
    assert (ranked[0], ranked[-1]) == ("fatty tuna", "cucumber roll")
    assert "redistributed" in table.licence


@needs_full_data
def test_sushi_table_equals_a_recount() -> None:
    table = load_table("sushi")
    items = csv.DictReader((FULL_DATA / "sushi_items.csv").read_text().splitlines())
    assert [row["english"] for row in items] == list(table.items)
    counts = np.zeros((10, 10), dtype=int)
    for line in (FULL_DATA / "sushi.csv").read_text().splitlines()[1:]:
        for a, b in itertools.combinations(map(int, line.split(",")[1:]), 2):
            counts[a, b] += 1
    assert np.array_equal(table.counts, counts)


# ---------------------------------------------------------------- MovieLens


def test_movielens_table_says_what_it_is() -> None:
    table = load_table("movielens_top40")
    assert (table.n_items, table.users) == (40, 610)
    assert table.items[:2] == ("Forrest Gump (1994)", "Shawshank Redemption, The (1994)")
    assert not table.missing.any()
    assert "latest-small" in table.source and "not MovieLens 100K" in table.source
    for condition in ("same conditions", "commercial", "Harper and Konstan", "endorsement"):
        assert condition in table.licence


# ---------------------------------------------------------------- language models


def test_totals_of_the_language_models_match_the_source() -> None:
    """8,931 judgements: 2,911 for the first answer, 2,549 for the second, 3,471 ties."""
    table = load_table("llmfao")
    assert (table.n_items, table.users) == (59, 124)
    assert (table.counts.sum(), table.ties.sum() // 2) == (2911 + 2549, 3471)
    judged = table.counts + table.counts.T + table.ties
    assert np.count_nonzero(np.triu(judged)) == 927 and judged.max() == 60
    assert table.items[:2] == ("Airoboros L2 70B", "Weaver 12k")
    assert "Ustalov" in table.source and "7 to 343 each" in table.source
    assert "CC BY 4.0" in table.licence and "Dmitry Ustalov" in table.licence


def test_a_damaged_count_of_judgements_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [dict(row) for row in tables.rows_of("pair_tables.csv")]
    rows[-1]["first_before"] = "-1"
    monkeypatch.setattr(tables, "rows_of", lambda file: rows)
    with pytest.raises(ValueError, match="counts"):
        load_table("llmfao")


# ---------------------------------------------------------------- what the package carries


def test_the_package_carries_no_respondent_level_file() -> None:
    """No file has a column of people, and none has more lines than pairs, or rankings of four."""
    words = {"respondent", "user", "userid", "worker", "student"}
    limits = {
        "movielens_top40_pairs.csv": 40 * 39 // 2,
        "pair_tables.csv": 15 + 1 + 6 + 45 + 927,
        "turk_rankings.csv": 8 * 24,
    }
    for file in sorted((ROOT / "dpbook" / "data").rglob("*.csv")):
        header, *lines = file.read_text(encoding="utf-8").splitlines()
        assert not words & {name.strip('"').lower() for name in header.split(",")}, file.name
        if file.name != "ccw25_reference.csv":
            assert len(lines) <= limits.get(file.name, 40), file.name


def test_only_one_place_knows_where_full_data_are() -> None:
    """No test looks beside the project; DPBOOK_DATA is taken away before the first one runs."""
    for file in sorted((ROOT / "tests").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        assert not re.findall(r"ROOT\.parent\b|/ [\"']shared[\"']", text), file
        asks = re.findall(r"environ\W.*DPBOOK_DATA", text)
        assert not asks or file.name in ("full_data.py", Path(__file__).name), file
    assert "DPBOOK_DATA" not in os.environ
