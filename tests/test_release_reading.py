"""Files of answers: what is read, and every way in which a file is refused, with its line."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from dpbook.rank import BadFile, read_answers, reading

HEAD = "person,winner,loser\n"
COLUMNS = (
    "allowed in the first line are person,winner,loser; winner,loser; winner,loser,count; "
    "person,ranking; or person,1,2,3"
)
TIES = (
    "a tie has no winner: leave the line out, or write it as two lines, one win each, which count "
    "as two answers"
)


def file(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "answers.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", f"line 1: the file is empty or begins with an empty line: {COLUMNS}"),
    "blank first": ("\nperson,winner,loser\n", "line 1: the file is empty or begins with"),
    "no header": ("ann,tea,coffee\n", f"line 1: unknown column 'ann': {COLUMNS}"),
    "unknown": ("person,winner,loser,date\n", f"line 1: unknown column 'date': {COLUMNS}"),
    "tie column": ("person,winner,loser,tie\n", "line 1: unknown column 'tie'"),
    "missing": ("person,winner\n", f"line 1: column 'loser' is missing: {COLUMNS}"),
    "missing too": ("person,loser\n", "line 1: column 'winner' is missing"),
    "twice": ("winner,winner\n", "line 1: column 'winner' appears twice"),
    "mixed": ("person,winner,loser,count\n", "line 1: columns person,winner,loser,count do not go"),
    "places": ("person,1,3\n", "line 1: columns person,1,3 do not go together"),
    "no lines": (HEAD, "line 1: no answers below the names of the columns"),
    "short row": (HEAD + "ann,tea\n", "line 2: 2 columns: allowed are 3, as in line 1"),
    "long row": (HEAD + "a,b,c\n\nann,tea,,mate\n", "line 4: 4 columns: allowed are 3"),
    "self": (HEAD + "ann,tea,tea \n", "line 2: 'tea' is compared with itself: allowed are two"),
    "tie": (HEAD + "ann,tea,\n", f"line 2: loser is empty: allowed is the name of an item; {TIES}"),
    "said tie": (
        HEAD + "a,b,c\nann,Tie,b\n",
        f"line 3: winner = 'Tie' says that there is none: {TIES}",
    ),
    "nobody": (HEAD + " ,tea,mate\n", "line 2: person is empty: allowed is a name or number"),
    "again": (
        HEAD + "ann,tea,mate\nbob,mate,tea\n\nann,mate,tea\n",
        "line 5: this person answers 'mate' against 'tea' a second time, first on line 2: allowed "
        "is once, or --repeats keep (repeats='keep')",
    ),
    "latin-1": (
        HEAD.encode() + "ann,tea,maté\n".encode("latin-1"),
        "line 2: byte 12 of the line is 0xe9: allowed is UTF-8; save the file in that encoding",
    ),
    "utf-16": (HEAD.encode("utf-16"), "line 1: byte 1 of the line is 0xff: allowed is UTF-8"),
    "quote": (HEAD + '"ann,tea,mate\n', "line 2: unexpected end of data: allowed is CSV"),
    "one line": (b"person,winner,loser\r" * 2**17, "line 1: longer than allowed, 1048576 bytes"),
    "old Mac": (
        HEAD.replace("\n", "\r") + "ann,tea,mate\r",
        "line 1: lines end with CR alone: allowed are LF and CRLF",
    ),
    "quoted": ('"person,winner\n', "line 1: unexpected end of data: allowed in the first"),
    "long cell": (HEAD + f"ann,tea,{'x' * 200_000}\n", "line 2: field larger than field limit"),
    "count": ("winner,loser,count\na,b,2.5\n", "line 2: count = '2.5': allowed are whole numbers"),
    "minus": ("winner,loser,count\na,b,-2\n", "line 2: count = '-2': allowed are whole numbers"),
    "pair twice": (
        "winner,loser,count\na,b,2\nb,a,1\na,b,2\n",
        "line 4: line 2 already has this winner and loser: allowed is once",
    ),
    "counts of itself": ("winner,loser,count\na,a,2\n", "line 2: 'a' is compared with itself"),
    "zero": ("winner,loser,count\na,b,0\n", "the counts add up to 0: allowed are 1 to 2**53"),
    "ranked twice": ("person,ranking\nann,a>b>a\n", "line 2: 'a' is ranked twice: allowed is each"),
    "not all": (
        "person,1,2,3\nann,a,b,c\nbob,a,b,\n",
        "line 3: place 3 is empty: allowed is the name of an item",
    ),
    "not ranked": (
        "person,ranking\nann,a>b>c\nbob,a>b\n",
        "line 3: 'c' is not ranked: allowed is each of the 3 items once, as in the first line",
    ),
    "one more": ("person,ranking\nann,a>b\nbob,a>c\n", "line 3: 'b' is not ranked: allowed"),
    "tied ranks": ("person,ranking\nann,a>b=c\n", "line 2: 'a>b=c' holds a tie, '=': allowed are"),
    "no ranking": ("person,ranking\n", "line 1: no rankings below the names of the columns"),
    "one ranked": ("person,ranking\nann,a\n", "1 item in the whole file: allowed are 2 or more"),
    "nobody ranks": ("person,ranking\n,a>b\n", "line 2: person is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    path = file(tmp_path, content)
    with pytest.raises(BadFile) as error:
        read_answers(path)
    assert str(error.value).startswith(f"{path}")
    assert message in str(error.value), error.value


def test_items_that_are_listed(tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + "ann,tea,mate\n")
    found = read_answers(path, items=["water", " mate", "tea"])
    assert found.items == ("water", "mate", "tea") and found.listed
    assert found.data.tolist() == [[2], [1]]
    with pytest.raises(BadFile, match=r"line 2: winner = 'tea' is not in the list .* mate"):
        read_answers(path, items=["water", "mate"])
    with pytest.raises(BadFile, match=r"line 2: 'c' is not ranked: allowed is each of the 3 items"):
        read_answers(file(tmp_path, "person,ranking\nann,a>b\n"), items=["a", "b", "c"])
    # who is really called so
    path = file(tmp_path, HEAD + "ann,both,mate\n")
    assert read_answers(path, items=["both", "mate"]).data.tolist() == [[0], [1]]


def test_a_bad_list_of_items(tmp_path: Path) -> None:
    for items, message in (
        (["tea"], "items has 1 names: allowed are 2 to 10000 items"),
        (["tea", "tea "], "items contains 'tea' more than once: allowed is once"),
        (["tea", ""], "items contains '': allowed are names, not empty"),
        (["tea", 3], "items contains 3: allowed are names, not empty"),
    ):
        with pytest.raises(ValueError, match=message):
            read_answers(file(tmp_path, HEAD), items=items)


def test_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ANSWERS", 2)
    path = file(tmp_path, "winner,loser\na,b\nb,a\na,b\n")
    with pytest.raises(BadFile, match="line 4: one answer too many: allowed are 2"):
        read_answers(path)
    path = file(tmp_path, "person,1,2\n" + "ann,b,a\n" * 3)
    with pytest.raises(BadFile, match="line 4: one ranking too many: allowed are 2"):
        read_answers(path)
    monkeypatch.setattr(reading, "MOST_ITEMS", 2)
    with pytest.raises(BadFile, match="line 3: loser = 'c' is one item too many: allowed are 2"):
        read_answers(file(tmp_path, "winner,loser\na,b\nb,c\n"))


PLAIN = HEAD + "ann,tea,mate\nbob,mate,coffee\nann,coffee,tea\n"


ACCEPTED = {
    "plain": PLAIN,
    "no end": PLAIN.rstrip("\n"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "BOM": "\ufeff" + PLAIN,
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "blank lines": PLAIN.replace("\n", "\n\n").replace(HEAD + "\n", HEAD),
    "quotes": PLAIN.replace("ann,tea,", '"ann"," tea ",'),
    "capitals": PLAIN.replace("person,winner,loser", "Person, Winner ,LOSER"),
}


@pytest.mark.parametrize("content", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_accepted(tmp_path: Path, content: str) -> None:
    found = read_answers(file(tmp_path, content))
    assert found.kind == "comparisons" and found.items == ("coffee", "mate", "tea")
    assert found.data.tolist() == [[2, 1, 0], [1, 0, 2]] and not found.listed
    first, second, third = found.person.tolist()
    assert first == third != second
    assert sorted(found.answers_of_each().tolist()) == [1, 2]


def test_other_columns_and_orders(tmp_path: Path) -> None:
    found = read_answers(file(tmp_path, "loser,winner,person\na,b,1\n"))
    assert found.data.tolist() == [[1], [0]] and found.person is not None
    found = read_answers(file(tmp_path, "winner,loser\na,b\n"))
    assert found.person is None
    for call in (lambda: found.keep(1), found.answers_of_each):
        with pytest.raises(ValueError, match="does not say who"):
            call()
    found = read_answers(file(tmp_path, "count,winner,loser\n3,b,a\n0,a,b\n2,c,a\n"))
    assert found.kind == "counts" and found.data.tolist() == [[0, 0, 0], [3, 0, 0], [2, 0, 0]]
    for text in ("person,1,2,3\nx,c,a,b\ny,b,a,c\n", "person,ranking\nx,c > a> b\ny,b>a>c\n"):
        found = read_answers(file(tmp_path, text))
        assert found.kind == "rankings" and found.items == ("a", "b", "c")
        assert found.data.tolist() == [[2, 0, 1], [1, 0, 2]]


def test_one_name_in_two_spellings_is_one_person(tmp_path: Path) -> None:
    rows = "Zo\u00eb,a,b\nZoe\u0308 ,a,c\n"
    assert len(set(read_answers(file(tmp_path, HEAD + rows)).person.tolist())) == 1
    rows = "ann,caf\u00e9,b\nbob,cafe\u0301,b\n"
    assert len(read_answers(file(tmp_path, HEAD + rows)).items) == 2


def test_repeats_may_be_kept(tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + "ann,a,b\nann,b,a\n")
    assert read_answers(path, repeats="keep").data.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="repeats = 'drop': allowed is one of 'refuse', 'keep'"):
        read_answers(path, repeats="drop")


def test_keys_where_hashes_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "sys", type("S", (), {"hash_info": type("H", (), {"width": 32})}))
    found = read_answers(file(tmp_path, PLAIN)).person.tolist()
    assert found[0] == found[2] != found[1] and max(map(abs, found)) > 2**40


def test_a_hundred_thousand_lines_are_read_as_a_stream(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 50, size=100_000)
    second = (first + rng.integers(1, 50, size=first.size)) % 50
    rows = (
        f"voter-{p},model {a},model {b}\n"
        for p, a, b in zip(rng.integers(0, 30_000, first.size), first, second, strict=True)
    )
    path = file(tmp_path, HEAD + "".join(rows))
    tracemalloc.start()
    began = time.perf_counter()
    try:
        found = read_answers(path, repeats="keep")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.data.shape == (2, 100_000) and len(found.items) == 50
    # 20 bytes for an answer, twice while lists grow and codes become places: ten million take a
    # tenth of a gigabyte each time; a tuple of three texts would take 300 bytes
    assert peak < 80 * 100_000, peak
    assert time.perf_counter() - began < 60
    names = [int(item.split()[1]) for item in found.items]
    assert np.array_equal(np.array(names)[found.data[0]], first)
