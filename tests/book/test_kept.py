"""What a build must find again: what is kept, what is told when it moves, and who may keep it."""

import json
from pathlib import Path

import pytest

from dpbook.book.about import note
from dpbook.book.cli import main
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.pages import PageError
from dpbook.book.run import errata, kept

ROOT = Path(__file__).resolve().parents[2]
PART = {"what": "loss", "sign": "≤", "value": 0.5, "limit": 1, "slack": 1e-9, "entries": 4}
RECORD = {"id": "A-1", "holds": True, "verdict": "holds", "tried": {"n": [2, 5]}}
RECORD |= {"measured": [{"subject": "printed", "name": "", "parts": [PART | {"passes": True}]}]}
SVG = '<svg><path d="M 1.5 2 L 3 4.25"/><text>errors</text></svg>'
TABLE = "<table><tr><td>0.25</td></tr></table>"


def executed(folder, record=RECORD, svg=SVG, table=TABLE):
    """An executed page with a claim, a number of a sentence, a figure and a table."""
    outputs = [
        {"data": {RECORD_MIME: record}},
        {"data": {kept._GLUE: "0.25"}, "metadata": {"scrapbook": {"name": "share"}}},
        {"data": {errata.MIME: {"name": "A-1", "output": "π\n"}}},
        {"data": {"image/svg+xml": [svg], "text/plain": "<Figure>"}},
        {"data": {"text/html": table}},
        {"text": "printed 7\n"},
    ]
    path = folder / "01-one.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": [{"id": "c", "outputs": outputs}, {"source": "text"}]}))
    return kept.gathered([path, folder / "02-never-ran.ipynb"])


def test_records_numbers_figures_tables_and_printed_text_are_gathered(tmp_path):
    found = executed(tmp_path)
    names = ["claim A-1", "says share", "A-1", "shows c 0", "shows c 1", "shows c 2"]
    assert [*found] == [f"01-one {name}" for name in names]
    assert json.loads(found["01-one claim A-1"])["parts"] == [["loss", "≤", 1e-9, 4, None]]


def changed(**fields):
    return {"record": RECORD | {"measured": [{"subject": "printed", "name": "", "parts": [
        PART | {"passes": True} | fields]}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (changed(slack=0.1), "claim A-1"),
        (changed(entries=1), "claim A-1"),
        (changed(error=0.1), "claim A-1"),
        (changed(limit=2), "claim A-1"),
        ({"record": RECORD | {"tried": {"n": [2, 2]}}}, "claim A-1"),
        ({"svg": SVG.replace("4.25", "4.5")}, "shows c 0"),
        ({"svg": SVG.replace("errors", "gains")}, "shows c 0"),
        ({"table": TABLE.replace("0.25", "0.50")}, "shows c 1"),
    ],
)
def test_a_weaker_test_or_another_picture_is_told(tmp_path, other, name):
    before, after = executed(tmp_path / "a"), executed(tmp_path / "b", **other)
    assert [*kept.differences(before, after)] == [f"01-one {name}"]
    assert kept.differences(before, executed(tmp_path / "c")) == {}


@pytest.mark.parametrize(("to", "told"), [(" 77.87 ", True), (" 77.7700001 ", False)])
def test_one_point_of_many_is_told_and_rounding_is_not(to, told):
    text = " ".join(f"{x % 400}.{x}" for x in range(5000)) + " url(#m7e70-71e70)"
    before, after = (json.dumps(kept._print(one)) for one in (text, text.replace(" 77.77 ", to)))
    differences = kept.differences({"a": before}, {"a": after})
    assert (differences.get("a", kept.ROUNDING) != kept.ROUNDING) is told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('{"x": [1, 2.5]}', '{"x": [1, 2.6]}', ".x[1]: 2.5 -> 2.6"),
        ("2.5", "2.500001", "rounding only"),
        ("2.5", "2.50002", ": 2.5 -> 2.50002"),
        ("1", "true", ": 1 -> True"),
        ("NaN", "NaN", None),
        (None, "1", "is new"),
        ("1", None, "is gone"),
    ],
)
def test_what_moved_is_told(old, new, told):
    stored, found = ({} if side is None else {"a": side} for side in (old, new))
    assert kept.differences(stored, found).get("a") == told


@pytest.fixture
def book(tmp_path):
    """A book with one page and one row of the ledger, built at the smoke profile."""
    cells = [{"id": "t", "cell_type": "markdown", "source": "# One", "metadata": {}}]
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/01-one.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "book" / "kept").mkdir(parents=True)
    (tmp_path / "book/claims.yml").write_text("[{id: A-1, says: One thing}]")
    (tmp_path / "book/glossary.md").write_text("How far it can move.")
    executed(tmp_path / "_build/executed/notebooks")
    (tmp_path / "_build/claims.json").write_text("[]")
    note(tmp_path / "_build", "smoke", "moved")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "name"),
    [
        ("book/glossary.md", "How far", "How little", "book/glossary.md"),
        ("book/claims.yml", "One thing", "Another", "ledger A-1"),
        ("notebooks/01-one.ipynb", "# One", "# Two", "01-one t"),
    ],
)
def test_a_changed_text_needs_a_reason(book, capsys, file, old, new, name):
    out = book / "_build"
    assert main(["lock", "--because", "the first three words"], book) == 0
    assert kept.problems(book, out, "smoke") == []
    (book / file).write_text((book / file).read_text().replace(old, new))
    (line,) = kept.problems(book, out, "smoke")
    assert line.startswith(f"{name}: ")
    assert main(["lock"], book) == 2 and "say why" in capsys.readouterr().err
    assert main(["lock", "--because", "said more plainly now"], book) == 0
    assert kept.problems(book, out, "smoke") == []
    last = (book / kept.REASONS).read_text().splitlines()[-1].split("\t")
    assert last[1:] == ["smoke", "said more plainly now", name]


@pytest.mark.parametrize(("profile", "outcome"), [("smoke", "failed"), ("paper", "passed")])
def test_only_a_whole_build_without_contradictions_is_kept(book, capsys, profile, outcome):
    note(book / "_build", profile, outcome)
    assert main(["lock", "--because", "one two three"], book) == 2
    assert f"profile {profile}, outcome {outcome}" in capsys.readouterr().err
    note(book / "_build", "smoke", "passed")
    (book / "_build/claims.json").write_text("[1]")  # not those of the build
    assert main(["lock", "--because", "one two three"], book) == 2


def test_a_reason_has_words(book):
    with pytest.raises(PageError, match="say why, in three words or more"):
        kept.renew(book, book / "_build", "smoke", "because")


def test_the_book_keeps_both_profiles_and_what_is_written():
    for kind in kept.PROFILES:
        assert len(kept.load(ROOT, kind)) > 500
    # a text that was changed on purpose: dpbook lock --because, after a build
    assert kept.differences(kept.load(ROOT, kept.TEXT), kept.texts(ROOT)) == {}
