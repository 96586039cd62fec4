"""Files of answers: what is read, what is left out row by row, what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import tracemalloc
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from dpbook.rank import Answers, BadFile, from_frame, read_answers, rows
from dpbook.rank.facts import facts
from dpbook.rank.reading import look
from dpbook.rank.rows import NO_ITEM, NO_PERSON, NO_RANK, NO_ROW, NO_WINNER, UNKNOWN_NAME

HEAD = "person,winner,loser\n"
TWO = "person,first,second,winner\n"
DRINKS = ["coffee", "mate", "tea"]
ROWS = "ann,tea,mate\nbob,mate,coffee\nann,coffee,tea\n"
PLAIN = HEAD + ROWS


def file(tmp_path: Path, content: str | bytes, name: str = "answers.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def read(tmp_path):
    """Reads a text, by default with three items."""
    return lambda content, **how: read_answers(file(tmp_path, content), **{"items": DRINKS} | how)


@pytest.fixture
def seen(tmp_path):
    """Looks at a text in the same way."""
    return lambda content, **how: look(file(tmp_path, content), **{"items": DRINKS} | how)


# Whatever the keeper's file has, and no respondent can write into one row: refused, in every mode.
NO_LAYOUT = "line 1 has the columns "
NOTHING = "no answers below the names of the columns"
BAD = {
    "empty": ("", "the file is empty or begins with an empty line: allowed is person,winner,loser"),
    "blank first": ("\nperson,winner,loser\n", "the file is empty or begins with"),
    "no header": ("ann,tea,coffee\n", f"{NO_LAYOUT}'ann', 'tea', 'coffee': allowed is person,win"),
    "other column": ("person,winner,loser,date\n", "or --columns person=NAME,winner=NAME,"),
    "twice": ("winner,winner,loser\n", NO_LAYOUT),
    "mixed": ("person,winner,loser,count\n", NO_LAYOUT),
    "odd quote": (HEAD + 'ann,"tea"x,mate\n', "1 x no row as line 1 describes it"),
    "cut gzip": (gzip.compress(HEAD.encode() * 99)[:-9], "the file is packed by gzip and damaged"),
    "places": ("person,1,3\n", NO_LAYOUT),
    "nobody ranks": ("ranking\ntea>mate\n", NO_LAYOUT),
    "no lines": (HEAD, NOTHING),
    "open quote": (HEAD + '"ann,tea,mate\nbob,tea,mate\n', "line 2: a quote is open at the end"),
    "open first": ('"person,winner\n', "line 1: unexpected end of data"),
    "odd first": (b"p\xe9rson,winner,loser\n", "line 1 is in another encoding: allowed is UTF-8"),
    "cut UTF-16": (HEAD.encode("utf-16")[:-1], "the file is not in the encoding utf-8,"),
    "count": ("winner,loser,count\ntea,mate,2.5\n", "line 2: count = '2.5': allowed is a whole"),
    "minus": ("winner,loser,count\ntea,mate,-2\n", "line 2: count = '-2': allowed is a whole"),
    "long": (f"winner,loser,count\ntea,mate,{'9' * 5000}\n", "count = '999"),
    "zero": ("winner,loser,count\ntea,mate,0\n", NOTHING),
}


# Where the reading is not clear, or nothing is left: why, and what decides.
UNCLEAR = {
    "numbered items": ("person,1,2,3\na,2,3,1\n", {"items": ["1", "2", "3"]},
        "2 ways.*--layout places: .* the best in '1'.*; or --layout ranks: .* 1 for the best"),
    "an item is a column": ("A,B,winner\nB,A,A\n", {"items": ["A", "B", "C"],
        "columns": {"first": "A", "second": "B"}}, "'A' .* allowed are names that are no column"),
    "an item is a role": ("first,second,winner\n", {"items": ["first", "b"]}, "contains 'first'"),
    "two questions": ("person,Now [tea],Then [tea],[mate],[coffee]\n",
        {"columns": {"person": "person"}}, "'Now .tea.', 'Then .tea.'.* or --columns"),
    "a sign": ("person,ranking\n", {"items": ["x=y", "c"]}, "'x=y' .* without the signs"),
    "an arrow": ("person,ranking\n", {"items": ["a->b", "c"]}, "'a->b' with column 'ranking'"),
    "no row": (TWO + "a,tea,coffee,Left\n", {}, "no answers .*\n  1 x a winner that is neither"),
    "one column more": (HEAD + "a,tea,coffee,\n", {}, "no answers .*\n  1 x no row as line 1"),
    "too many": ("winner,loser,count\ntea,coffee,9000000000000000\ncoffee,tea,100000000000000\n",
        {}, r"add up to 9100000000000000: allowed is up to 2\*\*53"),
    "xlsx": ("PK\3\4...", {}, "is a spreadsheet or an archive: allowed is a table .* as CSV"),
    "JSON": ('[{"person": 1}]', {}, "the file is JSON: allowed is a table that is saved as CSV"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*BAD, *UNCLEAR])
def test_what_is_refused_says_why(read, name) -> None:
    content, *how, words = {**BAD, **UNCLEAR}[name]
    with pytest.raises(ValueError, match=f"(?s){words if how else re.escape(words)}"):
        read(content, **dict(*how))


# What one person can write into a row: it takes this row away and nothing else (audit, L4).
ROW = {
    "ann,tea,": "a blank",
    " ,tea,mate": NO_PERSON,
    "ann,tea,water": NO_ITEM,
    "ann,Unentschieden,tea": NO_ITEM,  # no sixth item
    "ann,Tie,tea": "a tie that does not name both items",
    "ann,tea,tea ": "an item against itself",
    "ann,tea": NO_ROW,
    "ann,tea,mate,coffee": NO_ROW,
    'ann,"tea"x,mate': NO_ROW,
    "ann,te\ra,mate": NO_ROW,
    f"ann,tea,{'x' * 200_000}": NO_ITEM,
    "ann,=1+1,mate": NO_ITEM,
    "ann,te\x1b[2Ja,mate": NO_ITEM,
}
LEFT = {f"{HEAD}{row}\n{ROWS}": what for row, what in ROW.items()} | {
    "person,ranking\nann,tea>mate>tea\nbob,tea>mate": "an item ranked twice",
    "person,ranking\n,tea>mate\nbob,tea>mate": NO_PERSON,
    "person,ranking\nann,tea>b\nbob,tea>mate": UNKNOWN_NAME,
    "person,1,2\nann,,\nbob,tea,mate": "a ranking without items",
    "person,coffee,mate,tea\nann,1,0,\nbob,1,2,3": NO_RANK,
    "person,coffee,mate,tea\nann,1,first,\nbob,1,2,3": NO_RANK,
}


@pytest.mark.parametrize("content", LEFT)
def test_no_row_stops_or_steers_the_reading(read, seen, content):
    head, _, *rest = content.split("\n")
    looked = seen(content)
    plain = read("\n".join([head, "", *rest]))
    assert np.array_equal(looked.answers.data, plain.data)
    assert np.array_equal(looked.answers.answers_of_each(), plain.answers_of_each())
    assert dict(looked.found.number) == {LEFT[content]: 1}
    assert "answers.csv, line 2" in str(looked.found)


def test_all_problems_at_once(seen):
    """And not one for each run: counts, the first line, and the value."""
    bad = "".join(f"ann,water {k},tea\n" for k in range(5)) + "bob,,tea\n"
    items, blank = str(seen(PLAIN + bad).found).splitlines()
    assert items.startswith("  5 x an item that is not on the list (")
    assert items.endswith("line 5: 'water 0')") and blank.startswith("  1 x a blank")


ITEMS = {
    "one": (["tea"], "items has 1 names: allowed are 2 to 10000 items"),
    "twice": (["tea", "tea "], "items contains 'tea' more than once: allowed is once"),
    "blank": (["tea", ""], "items contains '': allowed are names, not empty"),
    "escape": (
        ["tea", "\x1b"],
        r"items contains '\\x1b': allowed are names, .* control characters",
    ),
    "number": (["tea", 3], "items contains 3: allowed are names, not empty"),
    "text": ("tea", "items has 0 names"),
    "nothing": (None, "items: allowed is items .* which publishes their list"),
}


@pytest.mark.parametrize("name", ITEMS)
def test_items_are_public_input(read, name):
    items, message = ITEMS[name]
    with pytest.raises(ValueError, match=message):
        read(PLAIN, items=items)


def test_items_from_the_data(read):
    """Only where their list may be published."""
    found = read(PLAIN + "eve,a secret of hers,tea\n", items=None, items_from_data=True)
    assert found.items == ("a secret of hers", *DRINKS) and not found.listed
    with pytest.raises(ValueError, match="items: allowed is items"):
        read(PLAIN, items_from_data=True)
    with pytest.raises(BadFile, match="and 1 items: allowed is one answer, and two items"):
        read(f"{HEAD}a,tea,te\x1ba\n", items=None, items_from_data=True)
    assert read(f"{HEAD}a,both,tea\n", items=["both", "tea"]).data.tolist() == [[0], [1]]


ACCEPTED = {
    "plain": (PLAIN, {}),
    "CRLF": (PLAIN.replace("\n", "\r\n"), {}),
    "old Mac": (PLAIN.replace("\n", "\r"), {}),
    "BOM": ("\ufeff" + PLAIN, {}),
    "semicolons": (PLAIN.replace(",", ";"), {}),
    "tabs": (PLAIN.replace(",", "\t"), {}),
    "sep=": ("sep=|\n" + PLAIN.replace(",", "|"), {}),
    "UTF-16": (PLAIN.encode("utf-16"), {}),
    "cp1252": (PLAIN.replace("ann", "Zo\u00eb").encode("cp1252"), {"encoding": "cp1252"}),
    "gzip": (gzip.compress(PLAIN.encode()), {}),
    "quotes": (PLAIN.replace("ann,tea,", '"ann"," tea ",'), {}),
    "capitals": (PLAIN.replace("person,winner,loser", "Person, Winner ,LOSER"), {}),
    "named": (
        PLAIN.replace("person,winner,loser", "E-Mail,Gewinner,loser").replace("\n", ",b\n"),
        {"columns": {"winner": "Gewinner", "person": "E-Mail"}},
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_accepted(read, name):
    content, how = ACCEPTED[name]
    found = read(content, **how)
    assert found.data.tolist() == [[2, 1, 0], [1, 0, 2]]
    first, second, third = found.person.tolist()
    assert first == third != second
    assert sorted(found.answers_of_each().tolist()) == [1, 2]


def test_several_files_and_the_standard_input(tmp_path, monkeypatch):
    one = file(tmp_path, PLAIN)
    other = file(tmp_path, "loser;winner;person\ntea;mate;bob\n", "b")
    found = read_answers([one, other], items=DRINKS)
    assert found.data.tolist() == [[2, 1, 0, 1], [1, 0, 2, 2]]
    assert found.person.tolist() == [0, 1, 0, 1]
    raw = io.BufferedReader(io.BytesIO(PLAIN.encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    assert read_answers("-", items=DRINKS).data.tolist() == [[2, 1, 0], [1, 0, 2]]
    third = file(tmp_path, "winner,loser,count\n", "c")
    for paths, how, message in (
        ([one, third], {}, "holds counts: allowed is comparisons, as in the files before"),
        ([], {}, "paths is empty"),
        (one, {"encoding": "klingon"}, "encoding = 'klingon': allowed is a name"),
        (one, {"columns": {"winner": "G"}}, "column 'G' is missing, or twice: allowed is one of"),
    ):
        with pytest.raises(ValueError, match=message):
            read_answers(paths, items=DRINKS, **how)


RANKINGS = {
    "one cell": ("person,ranking\na,z>x>y\nb, y = x >z\n", {}, [[1, 2, 0], [0, 0, 1]]),
    "top of all": ("person,ranking\na,z\nb,y>x\n", {}, [[1, 1, 0], [1, 0, 2]]),
    "not seen": ("person,ranking\na,z>x\n", {"unranked": "unknown"}, [[1, -1, 0]]),
    "places": ("person,1,2\na,z,y\nb,,x\n", {}, [[2, 1, 0], [0, 1, 1]]),
    "a column each": ("person,y,x,z\na,2,1,\nb,10,9,9\n", {}, [[0, 1, 2], [0, 1, 0]]),
    "LimeSurvey": (
        "id,Rank [x],Rank [y],Rank [z],note\n7,1st,2nd,3rd choice,!\n",
        {"columns": {"person": "id"}},
        [[0, 1, 2]],
    ),
    "Qualtrics": (
        'ResponseId,Q1_1,Q1_2,Q1_3\nId,Rank - x,Rank - y,Rank - z\n"{""I"":1}",a,b,c\nR1,3,1,2\n',
        {"columns": {"person": "ResponseId", "x": "Q1_1", "y": "Q1_2", "z": "Q1_3"}},
        [[2, 0, 1]],
    ),
    "another name": ("person,ranking\na,w>z>x\nb,z>x\n", {}, [[1, 2, 0]]),
}


@pytest.mark.parametrize("name", RANKINGS)
def test_rankings_of_every_layout(read, name):
    content, how, ranks = RANKINGS[name]
    found = read(content, items=["x", "y", "z"], **how)
    assert found.kind == "rankings" and found.data.tolist() == ranks


def test_ties_in_any_language(tmp_path):
    """A tie is half a win for each, where both items are named."""
    rows = "a,x,y,x\nb,x,y,model_b\nc,x,y,Unentschieden\nd,y,x,TIE\ne,x,y,z\n"
    path = file(tmp_path, "person,model_a,model_b,winner\n" + rows)
    how = {
        "columns": {"first": "model_a", "second": "model_b"},
        "items": ["x", "y"],
    }
    found = read_answers(path, ties=["unentschieden"], **how)
    assert found.data.tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert found.tied.tolist() == [False, False, True, True]
    assert found.exact("net").tolist() == [0, 0] and found.exact("pairs").tolist() == [
        [0, 4],
        [4, 0],
    ]
    assert dict(look(path, **how).found.number) == {NO_WINNER: 2}


def test_counts_add_up_and_follow_the_list(read):
    content = "count,winner,loser\n3,y,x\n0,x,y\n2,y,x\n4,water,x\n"
    found = read(content, items=["x", "y"])
    assert (
        found.kind == "counts" and found.data.tolist() == [[0, 0], [5, 0]] and found.person is None
    )


def test_bytes_in_another_encoding_take_their_row_away(seen):
    content = PLAIN.encode() + "bob,th\u00e9,mate\n".encode("latin-1") + b"b\xf6b,tea,mate\n"
    looked = seen(content)
    assert looked.answers.data.shape == (2, 4)  # a person may be called what they like
    assert dict(looked.found.number) == {"bytes in another encoding": 1}


def test_columns_that_are_named_decide(tmp_path):
    """Others are ignored, whatever they are called; and nothing is guessed where two fit."""
    path = file(tmp_path, "ID,Gewinner,Verlierer,Ranking,1,count,\na,tea,mate,mate>tea,mate,9,\n")
    names = {"person": "ID", "winner": "Gewinner", "loser": "Verlierer"}
    found = read_answers(path, items=DRINKS, columns=names)
    assert found.kind == "comparisons" and found.data.tolist() == [[2], [1]]
    counts = {"count": "count", "winner": "Gewinner", "loser": "Verlierer"}
    assert read_answers(path, items=DRINKS, columns=counts).kind == "counts"
    both = "can be read in 2 ways: allowed is one of them, by --layout ranking: .*--layout places"
    with pytest.raises(BadFile, match=both):
        read_answers(path, items=DRINKS, columns={"person": "ID"})


def test_what_the_keeper_sees(seen):
    """Items that few people name, and names that differ only in case or blanks."""
    rows = "Ann,tea,mate\nann ,Tea,mate\nbob,coffee,mate\n bob,mate,tea\nBob,mate,t ea\n"
    rows += "ann,tea,coffee\nBob,tea,coffee\n"
    looked = seen(HEAD + rows)
    assert "many people name each item, the rarest first: mate 2, coffee 3, tea 4" in "".join(
        facts(looked, None)
    )
    assert dict(looked.found.unlisted) == {"Tea": 1, "t ea": 1}
    told = "\n".join(facts(looked, None))
    assert "blanks: 'tea' and 'Tea' and 't ea'\n" in told
    assert "blanks: 4 names of people\n" in told
    ranked = seen("person,ranking\na,x>y\na,x\nb,y\n", items=["x", "y", "z"])
    assert "the rarest first: z 0, x 1, y 2" in "".join(facts(ranked, None))


def test_one_name_in_two_spellings_is_one_person(read):
    rows = "Zo\u00eb,tea,mate\nZoe\u0308 ,tea,coffee\n"
    assert len(set(read(HEAD + rows).person.tolist())) == 1
    rows = "ann,caf\u00e9,tea\nbob,cafe\u0301,tea\n"
    assert len(read(HEAD + rows, items=None, items_from_data=True).items) == 2


def test_too_many(read, monkeypatch):
    monkeypatch.setattr(rows, "MOST_NUMBERS", 8)
    for content in (PLAIN, "person,1,2\n" + "ann,tea,mate\n" * 3):
        with pytest.raises(BadFile, match="too many answers: allowed is 8 numbers, or the extra"):
            read(content)
    monkeypatch.setattr(rows, "MOST_ITEMS", 2)
    with pytest.raises(BadFile, match="is one item too many: allowed is 2 items"):
        read(PLAIN, items=None, items_from_data=True)


def test_a_hundred_thousand_lines_are_read_as_a_stream(tmp_path):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 50, size=100_000)
    second = (first + rng.integers(1, 50, size=first.size)) % 50
    people, names = rng.integers(0, 30_000, first.size), [f"model {k}" for k in range(50)]
    rows = (
        f"voter-{p},model {a},model {b}\n" for p, a, b in zip(people, first, second, strict=True)
    )
    path = file(tmp_path, HEAD + "".join(rows))
    tracemalloc.start()
    try:
        found = read_answers(path, items=names)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.data.tolist() == [first.tolist(), second.tolist()]
    assert peak < 100 * 100_000, peak  # as the documentation says


WRONG = {
    "a person who is nobody": (
        {"person": np.array([1.0, np.nan])},
        "person has shape .* type float64",
    ),
    "one person too few": ({"person": np.array([1])}, r"person has shape \(1,\) .* \(2,\)"),
    "ties that are numbers": ({"tied": np.array([0, 1])}, "tied has .* truth for ties"),
    "a winner of itself": ({"data": np.array([[0, 1], [1, 1]])}, "compares an item with itself"),
    "no item": ({"data": np.array([[0, 1], [1, 3]])}, "data holds 0 to 3: allowed are 0 to 2"),
    "halves": (
        {"data": np.array([[0.5], [1]])},
        "data has type float64: allowed are whole numbers",
    ),
    "the wrong way": (
        {"data": np.array([[0, 1]] * 3)},
        r"data of shape \(3, 2\): allowed is \(2, 2\)",
    ),
    "one item twice": ({"items": ("a", "b", "a")}, "items contains 'a' more than once"),
    "counts of persons": (
        {"kind": "counts", "data": np.zeros((3, 3), int)},
        "person has .* no counts",
    ),
    "negative": (
        {"kind": "counts", "data": np.full((3, 3), -1), "person": None},
        "a sum up to",
    ),
    "of itself": (
        {"kind": "counts", "data": np.eye(3, dtype=int), "person": None},
        "zeros on the diag",
    ),
    "too far": ({"kind": "rankings", "data": np.array([[0, 1, 3]] * 2)}, "allowed are -1 to 2"),
    "kind": ({"kind": "ratings"}, "kind = 'ratings'"),
    "repeats": ({"repeats": "drop"}, "repeats = 'drop'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_answers_check_themselves(name):
    """L3: arrays that would void the limit of a person are refused."""
    change, message = WRONG[name]
    right = {
        "kind": "comparisons",
        "items": ("a", "b", "c"),
        "person": np.array([1, 2]),
    }
    right["data"] = np.array([[0, 1], [1, 2]])
    Answers(**right)
    with pytest.raises(ValueError, match=message):
        Answers(**right | change)


def test_answers_from_columns():
    found = from_frame({"winner": ["x", "y"], "loser": ["y", None]}, items=["x", "y"])
    assert found.data.tolist() == [[0], [1]] and found.person is None
    with pytest.raises(ValueError, match="frame has columns of different lengths"):
        from_frame({"winner": ["x"], "loser": ["y", "x"]}, items=["x", "y"])


def test_the_exact_numbers_by_pairs_of_items():
    """Against a plain loop: for each pair of items a win, half a win for each, or nothing."""
    rng = np.random.default_rng(1)
    ranks = rng.integers(-1, 4, size=(300, 4))
    table = np.zeros((4, 4), dtype=int)
    for row, (i, j) in product(ranks, combinations(range(4), 2)):
        if min(row[i], row[j]) >= 0:
            table[i, j] += 1 + np.sign(row[j] - row[i])
            table[j, i] += 1 + np.sign(row[i] - row[j])
    answers = Answers("rankings", tuple("abcd"), ranks)
    assert answers.exact("pairs").tolist() == table.tolist() and answers.halves
    assert answers.exact("net").tolist() == ((table.sum(axis=1) - table.sum(axis=0)) // 2).tolist()


def test_of_a_pair_one_answer_counts_and_each_equally_often():
    """A person's answers to one pair, 200 times: the first is kept with chance 1/3 (z below 5)."""
    data = np.array([[0, 1, 0, 1], [1, 0, 1, 2]])
    votes = Answers("comparisons", ("a", "b", "c"), data, np.zeros(4, dtype=int))
    kept = [votes.keep(4) for _ in range(900)]
    assert {x.person.size for x in kept} == {2}
    lost = sum(x.data[0].tolist() == [1, 1] for x in kept)  # b beat a
    assert abs(lost - 300) < 5 * (900 * 2 / 9) ** 0.5
    assert votes.keep(1).person.size == 1
    every = Answers("comparisons", ("a", "b", "c"), data, np.zeros(4, dtype=int), repeats="keep")
    assert every.keep(4).person.size == 4 and every.keep(3).person.size == 3


# One reading, and what is not recognised votes for nobody: (file, options, net wins of all items).

WIDE = "person,tea,coffee,mate\na,1,2,3\nb,"
ITEMS3 = ["tea", "coffee", "mate"]
NET = {
    "numbered places": ("person,1,2,3\na,2,3,1\n", {"layout": "places"}, [-2, 2, 0]),
    "numbered ranks": ("person,1,2,3\na,2,3,1\n", {"layout": "ranks"}, [0, -2, 2]),
    "an item more": ("person,1,2,3\na,2,3,1\n", {"items": list("1234")}, [-1, 3, 1, -3]),
    "codes of sides": (TWO + "a,tea,mate,1\nb,tea,mate,left\n",
        {"labels": {"1": "first", "left": "second"}}, [0, 0, 0]),
    "codes of items": ("person,1,2\na,A2,A1\n", {"labels": {"A1": "tea", "A2": "mate"}},
        [0, -2, 2]),
    "another spelling": ("person,ranking\na,Tea > coffee > mate\nb,tea>mate\n", {}, [2, -2, 0]),
    "braces": ("person,ranking\na,{tea,coffee} > mate\nb,mate\n", {}, [-1, -1, 2]),
    "two in a place": ("person,1,2,3\na,tea=coffee,mate,\nb,mate\n,,\nb,mate,,\n", {}, [-1, -1, 2]),
    "one cell": ("person,ranking\na,mate;tea;coffee;\n", {"between": ";"}, [0, -2, 2]),
    "stars": (WIDE + "4.7,4.2,4.9\n", {}, [2, 0, -2]),
    "half stars": (WIDE + "4.5,3.5,5\n", {}, [2, 0, -2]),
    "decimal commas": (WIDE.replace(",", ";") + "4,7;4,2;4,9\n", {}, [2, 0, -2]),
    "Excel": (WIDE + "1e3,2,3\n", {}, [2, 0, -2]),
    "dates": (WIDE + "2024-01-03,2024-05-01,2023-01-01\n", {}, [2, 0, -2]),
    "second header": (WIDE + "1. Rank these - tea,1. Rank these,1. Rank\n", {}, [2, 0, -2]),
    "ranks": (WIDE + "#2,1st choice,3.0\n", {}, [2, 2, -4]),
    "midranks": (WIDE + "1.5,1.5,3\n", {}, [3, 1, -4]),
    "a blank": (WIDE + "1,2,\n", {}, [4, 0, -4]),
    "NA as a blank": (WIDE + "1,2,NA\n", {"missing": ["NA", "0", "-99"]}, [4, 0, -4]),
    "0 as a blank": (WIDE + "1,2,0\n", {"missing": ["NA", "0", "-99"]}, [4, 0, -4]),
    "nobody": ("person,winner,loser\nNA,tea,mate\na,tea,mate\n", {"missing": ["NA"]}, [1, 0, -1]),
    "blank names": ("ID,winner,loser,,\na,tea,mate,,\n", {"columns": {"person": "ID",
        "winner": "winner", "loser": "loser"}}, [1, 0, -1]),
    "two of a name": ("ID,x,x,winner,loser\na,1,2,tea,mate\n", {"columns": {"person": "ID"}},
        [1, 0, -1]),
    "index": (",person,winner,loser\n0,a,tea,mate\n", {}, [1, 0, -1]),
    "line break in line 1": ('Email,"Rank\n(1 = best) [tea]","Rank [mate]"\na,1,2\n',
        {"columns": {"person": "Email"}, "items": ["tea", "mate"]}, [1, -1]),
    "separators in quotes": ('"person";"Which, if any, is, better";"loser"\na;tea;mate\n',
        {"columns": {"winner": "Which, if any, is, better"}}, [1, 0, -1]),
    "another separator": ("person|winner|loser\na|tea|mate\n", {"separator": "|"}, [1, 0, -1]),
    "two lines": ("ID,Rank,,\n,tea,mate,coffee\na,1,2,3\n", {"header_lines": 2,
        "columns": {"person": "ID"}}, [2, -2, 0]),
    "joined letters": ("person,winner,loser\na,\u0645\u06cc\u200c\u062e,x\u200f\n",
        {"items": ["\u0645\u06cc\u200c\u062e", "x"]}, [1, -1]),
}  # fmt: skip


@pytest.mark.parametrize("name", NET)
def test_what_a_row_means(read, name):
    content, how, net = NET[name]
    how = {"items": ["1", "2", "3"] if "numbered" in name else ITEMS3} | how
    assert read(content, **how).exact("net").tolist() == net


def test_alike_also_where_signs_are_invisible(seen):
    rows = f"a,cof\u200bfee,tea\na,coffee,tea\na,{'x' * 9000},tea\n"
    looked = seen(HEAD + rows)
    assert r"blanks: 'coffee' and 'cof\u200bfee'" in "".join(facts(looked, None))
    assert max(map(len, facts(looked, None))) < 300


# Nothing that one person writes moves, drops or adds another person's row.

HOSTILE = ['"', '"tea', 'tea"', '""', ',', ';', "\t", "|", "\r", "\n", "\r\n", "\0", "\x1a",
    "\u2028", "\x85", "\x1c", "\ufeff", "=1", "\\", "\\\"", "'", "a,b,c\nq0,tea,mate\nq1,tea,mate",
    "x" * 200_000, '"\nq0,tea,mate\n"', "tea,mate\n", "\ud800", "", " ", "NULL"]  # fmt: skip
FORMS = [
    (sep, end, code) for sep in ",;\t" for end in ("\n", "\r\n") for code in ("utf-8", "utf-16")
]


@pytest.mark.parametrize("line_breaks", [False, True])
@pytest.mark.parametrize(("separator", "end", "code"), FORMS)
def test_hostile_cells_stay_in_their_row(tmp_path, separator, end, code, line_breaks):
    """In each place of a row between others; as a program writes it that quotes, or has no quotes.

    The others' rows count the same, and hers counts once at most, or the file is refused, which
    is for a row of several lines alone.
    """
    others = [(f"p{k}", "tea", "mate") for k in range(40)]
    head = ("person", "winner", "loser", "comment")
    refused = 0
    for cell, at, quoted in product(HOSTILE, range(4), (True, False)):
        hers = ["ann", "mate", "tea", "fine"]
        hers[at] = cell
        table = [
            head,
            *((*row, "") for row in others[:20]),
            hers,
            *((*row, 'x"') for row in others),
        ]
        if not quoted and (separator != "\t" or separator in cell or end[-1] in cell):
            continue  # which no such file can hold
        text = io.StringIO(newline="")
        if quoted:
            csv.writer(text, delimiter=separator, lineterminator=end, quoting=1).writerows(table)
        else:
            text.write("".join(separator.join(row) + end for row in table))
        path = file(tmp_path, text.getvalue().encode(code, "replace"))
        how = {"columns": {"person": "person"}, "line_breaks": line_breaks, "repeats": "keep"}
        try:
            found = read_answers(path, items=ITEMS3, **how)
        except BadFile as error:
            assert "a quote is open" in str(error) and end in cell and not line_breaks, cell
            refused += 1
            continue
        net = found.exact("net") - [60, 0, -60]
        assert net.tolist() in ([0, 0, 0], [-1, 0, 1]), (cell, at)
        assert len(found.answers_of_each()) in (40, 41) and found.person.size in (60, 61)
    assert (refused > 0) != line_breaks


def test_a_file_without_quotes_is_read_as_it_is(read):
    """Ann's odd quote, and another's, once took a thousand rows away without a word."""
    rows = [f"p{k}\ttea\tcoffee\n" for k in range(1000)] + ['bob\tcoffee\tlamp 10"\n']
    rows += [f"r{k}\ttea\tcoffee\n" for k in range(10)]
    text = HEAD.replace(",", "\t") + 'ann\ttea\t"other: juice\n' + "".join(rows)
    items = ["tea", "coffee", 'lamp 10"']
    assert read(text, items=items).exact("net").tolist() == [
        1010,
        -1009,
        -1,
    ]
    with pytest.raises(BadFile, match="line 2: a quote is open at the end of the line"):
        read(text.replace("\t", ","), items=items)


def test_tables_say_what_files_say(tmp_path):
    """Kinds of pandas with something missing, by both entrances; Parquet as well."""
    pandas = pytest.importorskip("pandas")
    nothing = [None, float("nan"), pandas.NA, pandas.NaT]
    frame = {"person": ["a", *nothing, 7.0], "winner": ["tea"] * 6, "loser": ["mate"] * 6}
    for table in (frame, pandas.DataFrame(frame), pandas.DataFrame(frame).convert_dtypes()):
        found = from_frame(table, items=ITEMS3)
        assert found.person.tolist() == [0, 1] and found.exact("net").tolist() == [2, 0, -2]
    counts = {"winner": ["tea"], "loser": ["mate"], "count": [3.0]}
    assert from_frame(counts, items=ITEMS3).exact("net").tolist() == [3, 0, -3]
    ranks = pandas.DataFrame({"person": [1], "tea": [1], "mate": [pandas.NA], "coffee": [2]})
    assert from_frame(ranks, items=ITEMS3).data.tolist() == [[0, 1, 2]]
    duckdb = pytest.importorskip("duckdb")
    rows = "(VALUES ('a'::DOUBLE, 3.0), ('nan', 2)) t(person, n)".replace("'a'", "'1'")
    query = f"SELECT person, 'tea' AS winner, 'mate' AS loser FROM {rows}"
    duckdb.execute(f"COPY ({query}) TO '{tmp_path / 't.parquet'}'")
    assert read_answers(tmp_path / "t.parquet", items=ITEMS3).person.tolist() == [0]
