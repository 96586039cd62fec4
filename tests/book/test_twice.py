"""The comparison of two builds: what differs is named, and nothing is passed over."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("twice", ROOT / "tools" / "twice.py")
twice = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twice)

PAGE = "html/notebooks/01-one.html"


@pytest.fixture
def builds(tmp_path):
    made = [tmp_path / "one", tmp_path / "two"]
    for build in made:
        for name in (PAGE, "executed/notebooks/01-one.ipynb", "claims.json", "seconds.json"):
            (build / name).parent.mkdir(parents=True, exist_ok=True)
            (build / name).write_text("first\nsecond\n")
    (made[1] / "seconds.json").write_text("another time")
    return made


def test_two_builds_that_are_the_same(builds):
    found = {"files": 3, "identical": 3, "different": {}, "exceptions": {}}
    assert twice.compare(*builds) == found


def test_a_planted_difference_is_named_with_its_line(builds):
    (builds[1] / PAGE).write_text("first\nsecund\n")
    (builds[0] / "html/new.html").write_text("x")
    found = twice.compare(*builds)
    assert found["different"] == {
        "html/new.html": "only in the first",
        PAGE: "line 2: 'second' / 'secund'",
    }
    assert (found["files"], found["identical"]) == (4, 2)


@pytest.mark.parametrize("name", ["claims.json", "executed/notebooks/01-one.ipynb"])
def test_only_what_is_listed_is_excused(builds, name):
    (builds[1] / name).write_text("first\n")
    (builds[1] / PAGE).write_text("first\nsecond\nthird")
    found = twice.compare(*builds, {name: "a reason"})
    assert found["exceptions"] == {name: "a reason"}
    assert list(found["different"]) == [PAGE]


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        (b"a\nb", b"a\nb", ""),
        (b"a\nb", b"a\nb\nc", "one ends after line 2"),
        (b"x" * 100 + b"1", b"x" * 100 + b"2", f"line 1: '{'x' * 30}1' / '{'x' * 30}2'"),
        (b"\xff", b"\xfe", "line 1: '\ufffd' / '\ufffd'"),
    ],
)
def test_the_first_difference(one, two, words):
    assert twice.first_difference(one, two) == words


def test_what_is_published_is_what_a_run_wrote():
    path = ROOT / "book" / "trust" / "twice.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["identical"] + len(found["exceptions"]) == found["files"] > 0
    assert not found["different"] and found["exceptions"].keys() <= twice.EXCEPTIONS.keys()
    assert {name: tuple(pair) for name, pair in found["varied"].items()} == twice.VARIED
    assert min(found["control"][key] for key in found["control"] if key != "page") > 0


def test_of_what_is_no_text_only_the_place_is_told():
    assert twice.first_difference(b"PK\0\1a", b"PK\0\1b") == "byte 4 of 5 and 5"
    assert twice.first_difference(b"PK\0\1", b"PK\0\1b") == "byte 4 of 4 and 5"
