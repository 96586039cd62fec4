"""What a build must find again: what is kept, how near it must come back, and who may keep it."""

import json

import pytest

from dpbook.book.cli import main
from dpbook.book.files import note
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.pages import SERIES_MIME, find_page
from dpbook.book.run import numbers
from dpbook.book.run.keys import page_keys

PART = {"what": "loss", "sign": "≤", "value": 0.5, "limit": 1, "stated": 1, "slack": 1e-9}
CONTROL = {"subject": "control", "name": "half", "parts": [PART | {"value": 2, "passes": False}]}
RECORD = {"id": "A-1", "holds": True, "repaired": None, "applies": True, "control": True}
MEAN = {"p": 0.5, "mean": 0.25, "sd": 1.0, "sd_between": 0.01, "runs": 4, "replicates": 5}
SERIES = {"line 0.0 errors y": [0.5, 0.25, 0.125], "bars": {"mean": [0.5], "error": [0.01]}}


def record(part=None, **fields):
    printed = {"subject": "printed", "name": "", "parts": [PART | {"passes": True} | (part or {})]}
    report = {"loss": 0.25, "runs": [MEAN]}
    return RECORD | {"measured": [printed, CONTROL], "report": report} | fields


def executed(folder, found=None, series=SERIES, share="0.25", stamp=None):
    """An executed page with a claim, a number of a sentence and a figure; its path."""
    outputs = [
        {"data": {RECORD_MIME: found or record()}},
        {"data": {numbers.GLUE: share}, "metadata": {"scrapbook": {"name": "share"}}},
        {"data": {"image/svg+xml": ["<svg/>"], SERIES_MIME: series}},
    ]
    path = folder / "01-one.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [{"id": "c", "outputs": outputs}]
    path.write_text(json.dumps({"cells": cells, "metadata": {"dpbook": stamp or {}}}))
    return path


def test_what_a_reader_is_told_is_gathered(tmp_path):
    found = numbers.found_on(executed(tmp_path))
    assert found["claim A-1"] == "as printed it passes, controls caught"
    assert found["test A-1"] == ["loss ≤ 1, slack 1e-09"]
    assert found["reports A-1 loss"] == found["says share"] == 0.25
    assert found["reports A-1 runs.mean"] == [{"mean": 0.25, "error": 0.005}]
    assert found["draws c line 0.0 errors y"] == [0.5, 0.25, 0.125]


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"found": record(holds=False)}, "claim A-1"),
        ({"found": record(control=False)}, "claim A-1"),
        ({"found": record(part={"slack": 0.08})}, "test A-1"),
        ({"found": record(part={"slack": 1e-12})}, "test A-1"),
        ({"found": record(part={"stated": 3})}, "test A-1"),
        ({"found": record(part={"error": 1e-6})}, "test A-1"),
        ({"found": record(part={"entries": 9})}, "test A-1"),
        ({"found": record(part={"what": "gain"})}, "test A-1"),
        ({"found": record(report={"loss": 0.250001, "runs": [MEAN]})}, "reports A-1 loss"),
        ({"found": record(report={"loss": 0.25, "runs": [MEAN | {"mean": 0.2506}]})}, "runs.mean"),
        ({"share": "0.2511"}, "says share"),
        ({"series": SERIES | {"line 0.0 errors y": [0.5, 0.25, 0.126]}}, "errors y[2]"),
        ({"series": SERIES | {"bars": {"mean": [0.502], "error": [0.01]}}}, "bars.mean[0]"),
        ({"series": SERIES | {"bars": {"mean": [0.5], "error": [0.02]}}}, "bars.error[0]"),
        ({"series": {"bars": SERIES["bars"]}}, "line 0.0 errors y: is gone"),
    ],
)
def test_what_a_reader_would_see_is_told(tmp_path, other, name):
    old = numbers.found_on(executed(tmp_path / "a"))
    new = numbers.found_on(executed(tmp_path / "b", **other))
    (line,) = numbers.moved(old, new, {"share": ".2f"})
    assert name in line


@pytest.mark.parametrize(
    "other",
    [
        {"found": record(part={"value": 0.4})},  # of the worst entry
        {"found": record(part={"limit": 0.9})},  # of an array of limits
        {"found": record(report={"loss": 0.25 + 2e-7, "runs": [MEAN | {"mean": 0.2504}]})},
        {"share": "0.2509"},  # two digits are shown
        {"series": SERIES | {"line 0.0 errors y": [0.5, 0.25, 0.125 + 4e-7]}},
        {"series": SERIES | {"bars": {"mean": [0.5005], "error": [0.0105]}}},
    ],
)
def test_what_no_reader_sees_is_not_told(tmp_path, other):
    old = numbers.found_on(executed(tmp_path / "a"))
    new = numbers.found_on(executed(tmp_path / "b", **other))
    assert numbers.moved(old, new, {"share": ".2f"}) == []


@pytest.mark.parametrize(
    ("old", "new", "form", "told"),
    [
        (5.6e-17, 2.8e-17, "", False),  # residues
        (0.123456, 0.1234561, "", False),
        (0.123456, 0.123457, "", True),
        (0.4567, 0.4567 + 0.009, ".1%", True),
        (0.4567, 0.4567 + 0.00009, ".1%", False),
        (123456.0, 123460.0, ",.0f", True),
        (123456.0, 123456.05, ",.0f", False),
        (1234.5, 1235.0, ".3g", False),
        ("0.084", "0.085", "", False),  # words with a rounded number
        ("0.084", "0.086", "", True),
        ("3 of 4", "2 of 4", "", True),
        ("inf", "inf", "", False),
        (True, 1, "", False),
        (3, 2, "", True),
    ],
)
def test_how_near_a_number_must_come_back(old, new, form, told):
    moved = numbers.moved({"says x": old}, {"says x": new}, {"x": form})
    assert bool(moved) is told
    assert all(line.startswith("says x") for line in moved)


@pytest.fixture
def book(tiny_book):
    """The tiny book, built at its own values."""
    (tiny_book / numbers.FOLDER).mkdir(parents=True)
    page = find_page(tiny_book, "1")
    own = {name: one.default for name, one in page.parameters.items()}
    (key,) = page_keys(page, [own], tiny_book)
    executed(tiny_book / "_build/executed/notebooks", stamp={"key": key})
    (tiny_book / "_build/claims.json").write_text("[]")
    note(tiny_book / "_build", numbers.PROFILE, "passed")
    return tiny_book


def test_one_page_is_accepted_and_no_other(book, capsys):
    kept = book / numbers.FOLDER / "02-two.tsv"
    kept.write_text("says other\t7\n")
    assert main(["numbers"], book) == 1
    told = capsys.readouterr().out
    assert "01-one: says share: is new" in told and "dpbook numbers --accept PAGE" in told
    assert main(["numbers", "--accept", "1"], book) == 0
    assert main(["numbers"], book) == 0
    assert kept.read_text() == "says other\t7\n"
    lines = (book / numbers.FOLDER / "01-one.tsv").read_text().splitlines()
    assert "says share\t0.25" in lines and lines == sorted(lines)


def test_only_a_page_that_ran_as_it_is_now_is_accepted(book, capsys):
    path = book / "notebooks/01-one.ipynb"
    path.write_text(path.read_text().replace("print(epsilon)", "print(1)"))
    assert main(["numbers", "--accept", "1"], book) == 2
    assert "01-one did not run as it is now" in capsys.readouterr().err
    note(book / "_build", "smoke", "passed")
    assert main(["numbers"], book) == 2
    assert "no whole build at the pages' own values" in capsys.readouterr().err


def test_a_damaged_file_is_named(book, capsys):
    (book / numbers.FOLDER / "01-one.tsv").write_text("says share\t0.2x\n")
    assert main(["numbers"], book) == 2
    assert "01-one.tsv: says share: '0.2x' is no value" in capsys.readouterr().err


def test_two_builds_are_compared_with_each_other(book, tmp_path):
    here = book / "_build"
    there = tmp_path / "other"
    executed(there / "executed/notebooks", series={})
    assert numbers.compared(here, there, book) == []  # figures are not told
    executed(there / "executed/notebooks", share="0.5")
    assert numbers.compared(here, there, book) == ["01-one: says share: 0.25 -> 0.5, allowed 2e-07"]
