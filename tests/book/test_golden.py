"""The stored copy of what the book says: what goes into it, and what is told when it moves."""

import importlib.util
import json
from pathlib import Path

import pytest

from dpbook.book import errata
from dpbook.book.claims import RECORD_MIME

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("golden", ROOT / "tools" / "golden.py")
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


def test_records_quoted_numbers_and_printed_outputs_are_gathered(tmp_path):
    glued = {"name": "share"}
    outputs = [
        {"data": {RECORD_MIME: {"id": "A-1", "holds": True}}},
        {"data": {golden._GLUE: "0.25"}, "metadata": {"scrapbook": glued}},
        {"data": {errata.MIME: {"name": "A-1", "output": "π\n"}}},
        {"text": "nothing to keep"},
    ]
    path = tmp_path / "01-one.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": outputs}, {"source": "text"}]}))
    found = golden.gathered([path, tmp_path / "02-never-ran.ipynb"])
    assert found == {
        "01-one claim A-1": '{"holds": true, "id": "A-1"}',
        "01-one says share": "0.25",
        "01-one A-1": '"π\\n"',
    }
    (tmp_path / "kept.tsv").write_text(golden.text(found))
    assert golden.load(tmp_path / "kept.tsv") == found
    assert golden.load(tmp_path / "none.tsv") == {}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('{"x": [1, 2.5]}', '{"x": [1, 2.5]}', None),
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
    assert golden.differences(stored, found).get("a") == told
