"""What a build must find again: what is kept, what may move, what is told, and who may keep it."""

import json
from pathlib import Path

import pytest

from dpbook.book.cli import main
from dpbook.book.files import note
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.run import errata, numbers

ROOT = Path(__file__).resolve().parents[2]
PART = {"what": "loss", "sign": "≤", "value": 0.5, "limit": 1, "slack": 1e-9, "entries": 4}
CONTROL = {"subject": "control", "name": "half", "parts": [PART | {"value": 2, "passes": False}]}
RECORD = {"id": "A-1", "holds": True, "tried": {"n": [2, 5]}, "report": {"x": 0.25}}
SVG = '<svg><path d="M 1.5 2 L 3 4.25"/><text>errors</text></svg>'
TABLE = "<table><tr><td>0.25</td></tr></table>"
SOURCE = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}


def record(control=CONTROL, report=None, **fields):
    printed = {"subject": "printed", "name": "", "parts": [PART | {"passes": True} | fields]}
    changed = {"measured": [printed, control]}
    return RECORD | changed | ({} if report is None else {"report": report})


def executed(folder, record=record(), svg=SVG, table=TABLE, parameters=None):  # noqa: B008
    """An executed page with a claim, a number of a sentence, a figure and a table."""
    outputs = [
        {"data": {RECORD_MIME: record}},
        {"data": {numbers.GLUE: "0.25"}, "metadata": {"scrapbook": {"name": "share"}}},
        {"data": {errata.MIME: {"name": "A-1", "output": "π\n"}}},
        {"data": {"image/svg+xml": [svg], "text/plain": "<Figure>"}},
        {"data": {"text/html": table}},
        {"text": "printed 7\n"},
    ]
    path = folder / "01-one.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [{"id": "c", "outputs": outputs}, {"source": "text"}]
    stamp = {"metadata": {"dpbook": {"parameters": parameters or {"seed": 1}}}}
    path.write_text(json.dumps({"cells": cells, **stamp}))
    return numbers.gathered([path, folder / "02-never-ran.ipynb"])


def test_records_numbers_figures_tables_and_printed_text_are_gathered(tmp_path):
    found = executed(tmp_path)
    names = ["claim A-1", "reports A-1 x", "says share", "A-1"]
    names += ["shows c 0", "shows c 1", "shows c 2"]
    assert [*found] == [("01-one", name) for name in names]
    assert found["01-one", "claim A-1"][1] == [0.5]


@pytest.mark.parametrize(
    ("other", "name"),
    [
        *(
            ({"record": record(**change)}, "claim A-1")
            for change in (
                *({"slack": 0.1}, {"entries": 1}, {"error": 0.1}, {"limit": 2}, {"value": 0.6}),
                *({"what": "gain"}, {"control": CONTROL | {"name": "a third"}}),
                {"control": CONTROL | {"parts": [PART | {"value": 2.0001, "passes": False}]}},
            )
        ),
        ({"record": record() | {"tried": {"n": [2, 2]}}}, "claim A-1"),
        ({"record": record() | {"score": {"mutants": 3}}}, "claim A-1"),
        ({"record": record() | {"certificate": "0" * 64}}, "claim A-1"),
        ({"svg": SVG.replace("4.25", "4.5")}, "shows c 0"),
        ({"svg": SVG.replace("errors", "gains")}, "shows c 0"),
        ({"table": TABLE.replace("0.25", "0.50")}, "shows c 1"),
    ],
)
def test_a_weaker_test_or_another_picture_is_told(tmp_path, other, name):
    before, after = executed(tmp_path / "a"), executed(tmp_path / "b", **other)
    moved = [at[1] for at in before if numbers.difference(before[at], after[at])]
    assert moved == [name]
    assert executed(tmp_path / "c") == before


@pytest.mark.parametrize(("to", "told"), [(" 77.87 ", True), (" 77.7700001 ", False)])
def test_one_point_of_many_is_told_and_rounding_is_not(to, told):
    text = " ".join(f"{x % 400}.{x}" for x in range(5000)) + " url(#m7e70-71e70)"
    before, after = (numbers._print(one) for one in (text, text.replace(" 77.77 ", to)))
    assert bool(numbers.difference(before, after)) is told


@pytest.mark.parametrize(
    ("kept", "found", "words"),
    [
        (1.3068528194, 1.3068548, ""),  # half a unit in the sixth digit is 5e-6
        (1.3068528194, 1.306858, ": 1.306853 -> 1.306858"),
        (1.3068528194, 1.306847, ": 1.306853 -> 1.306847"),
        (1234567.0, 1234571.0, ""),
        (1234567.0, 1234573.5, ": 1234567.0 -> 1234574.0"),
        (3, 2, ": 3 -> 2"),
        (1, True, ": 1 -> True"),
        (0.0, 1e-300, ": 0 -> 1e-300"),
        ([1, 2.5], [1, 2.6], "[1]: 2.5 -> 2.6"),
        ("inf", "inf", ""),
    ],
)
def test_a_number_stays_as_it_is_to_a_reader(kept, found, words):
    pair = [
        [*map(numbers.short, x)] if isinstance(x, list) else numbers.short(x) for x in (kept, found)
    ]
    assert numbers.difference(*pair) == words


def row(mean, p=0.5):
    spread = {"sd": 1.0, "replicates": 5, "sd_between": 0.01, "runs": 10}
    return {"mean": mean, "p": p, "noise": "fresh"} | spread


def test_simulated_means_are_compared_by_their_errors_at_other_parameters():
    def reported(*rows):
        return dict(numbers.reported({"report": {"t": [*rows]}}))

    kept = reported(row(0.5), row(0.7, p=0.9))
    assert [*kept] == ["t[noise=fresh, p=0.5]", "t[noise=fresh, p=0.9]"]
    old, _ = kept.values()
    near, far = ([mean, *old[1:]] for mean in (0.62, 0.63))
    assert "0.5 -> 0.62" in numbers.difference(old, near)
    # The error of the difference is 0.01 * sqrt(2 / 10), and t with 9 degrees of freedom exceeds
    # 25.8 with probability 1e-9 / 2 on each side: what differs by more than 0.115 is seen.
    assert numbers.difference(old, [0.61, *old[1:]], welch=True) == ""
    assert numbers.difference(old, far, welch=True)
    # one of ten rows: ten times as rare
    many = reported(*(row(0.5, p / 10) for p in range(10)))["t"]
    moved = [many[0], [[0.5 + 0.12, *many[1][0][1:]], *many[1][1:]]]
    assert numbers.difference(many, moved, welch=True) == ""
    assert numbers.difference(old, [0.62, *old[1:]], welch=True)


@pytest.fixture
def book(tmp_path):
    """A book with one page and one row of the ledger, built at the smoke profile."""
    cell = {
        "id": "p",
        "cell_type": "code",
        "source": "seed = 1  # seed of the draws | - | [0, 9]",
        "metadata": {"tags": ["parameters"]},
        "outputs": [],
        "execution_count": None,
    }
    cells = [{"id": "t", "cell_type": "markdown", "source": "# One", "metadata": {}}, cell]
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/01-one.ipynb").write_text(json.dumps({"cells": cells, **SOURCE}))
    (tmp_path / numbers.FOLDER).mkdir(parents=True)
    (tmp_path / "book/claims.yml").write_text("[{id: A-1, says: One thing}]")
    (tmp_path / "book/glossary.md").write_text("How far it can move.")
    executed(tmp_path / "_build/executed/notebooks")
    (tmp_path / "_build/claims.json").write_text("[]")
    note(tmp_path / "_build", "default", "moved")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "name"),
    [
        ("book/glossary.md", "How far", "How little", "book: book/glossary.md"),
        ("book/claims.yml", "One thing", "Another", "ledger: A-1"),
        ("notebooks/01-one.ipynb", "# One", "# Two", "01-one: texts"),
    ],
)
def test_a_changed_text_needs_a_reason(book, capsys, file, old, new, name):
    out = book / "_build"
    assert main(["lock", "--because", "the first three words"], book) == 0
    assert numbers.problems(book, out, "default", None) == []
    (book / file).write_text((book / file).read_text().replace(old, new))
    (line,) = numbers.problems(book, out, "default", None)
    assert line.startswith(f"{name}: ")
    assert main(["lock", "--because", "because"], book) == 2
    assert "say why, in three words or more" in capsys.readouterr().err
    assert main(["lock", "--dry-run"], book) == 0 and name in capsys.readouterr().out
    assert main(["lock", "--because", "said more plainly now"], book) == 0
    assert numbers.problems(book, out, "default", None) == []
    last = (book / numbers.REASONS).read_text().splitlines()[-1].split("\t")
    assert last[1:3] == ["default", "said more plainly now"] and name in last[3]


def test_a_profile_keeps_only_what_differs_and_both_are_compared(book):
    out, folder = book / "_build", book / "_build/executed/notebooks"
    numbers.renew(book, out, "default", "the first three words")
    executed(folder, record(value=0.4), parameters={"seed": 2})
    told = numbers.problems(book, out, "smoke", None)
    assert any(line.startswith("01-one: claim A-1: new, [") for line in told)
    numbers.renew(book, out, "smoke", "the first three words")
    assert numbers.problems(book, out, "smoke", None) == []
    assert len(numbers.problems(book, out, "default", None)) == 1
    lines = (book / numbers.FOLDER / "01-one.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines if line.count("\t") == 2] == ["claim A-1"]
    # a reader's own parameters: what is reported has to come out as kept, the rest need not
    executed(folder, record(report={"x": 0.26}), svg="<svg/>", parameters={"seed": 3})
    assert numbers.problems(book, out, None, None) == ["01-one: reports A-1 x: 0.25 -> 0.26"]
    executed(folder, record(report={}))
    assert numbers.problems(book, out, None, None) == ["01-one: reports A-1 x: gone, 0.25"]
    assert numbers.problems(book, out, None, ["02-two"]) == []


@pytest.mark.parametrize(("profile", "outcome"), [("smoke", "failed"), ("paper", "passed")])
def test_only_a_whole_build_without_contradictions_is_kept(book, capsys, profile, outcome):
    note(book / "_build", profile, outcome)
    assert main(["lock", "--because", "one two three"], book) == 2
    assert f"profile {profile}, outcome {outcome}" in capsys.readouterr().err
    note(book / "_build", "smoke", "passed")
    (book / "_build/claims.json").write_text("[1]")  # not those of the build
    assert main(["lock", "--because", "one two three"], book) == 2


def test_a_damaged_file_is_named(book, capsys):
    (book / numbers.FOLDER / "01-one.tsv").write_text("says share\t0.2x\n")
    assert main(["lock", "--dry-run"], book) == 2
    assert "01-one.tsv: says share: '0.2x' is no value" in capsys.readouterr().err


def test_the_book_keeps_both_profiles_and_what_is_written():
    kept = numbers.load(ROOT)
    assert all(len(side) > 500 for side in kept)
    for at, value in numbers.texts(ROOT).items():
        assert kept[0].get(at) == value, f"{at}: `dpbook lock` keeps what was changed"
    folder = ROOT / numbers.FOLDER
    pages = len([*(ROOT / "notebooks").glob("*.ipynb")])
    assert sum(path.stat().st_size for path in folder.glob("*")) <= 4000 * pages
