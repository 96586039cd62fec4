"""The tables of the page on how far to trust the book."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpbook.book.ledger.claims import load_ledger
from dpbook.book.sphinx import claims as trust

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "trust.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"\{trust\} (\w+)\n", PAGE)) - {"proved", "balls"}


def test_a_run_is_told_in_a_sentence_and_a_table_with_its_commit():
    results = {"sentence": "All is well.", "head": ["a", "b"], "rows": [["1", "2"]]}
    assert trust.of_run(results) == ("All is well.", ["a", "b"], [["1", "2"]])
    assert trust.of_run(results | {"commit": "0a1b"})[0] == "All is well. (Commit 0a1b.)"
    assert trust.of_run([{"a": "1", "b": "2"}]) == ("1 in all.", ["a", "b"], [["1", "2"]])
    assert trust.of_run(None) is None


def test_every_run_that_is_stored_is_shown():
    assert {path.stem for path in (ROOT / "book" / "trust").glob("*.json")} == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_what_is_stored_can_be_shown(name):
    path = ROOT / "book" / "trust" / f"{name}.json"
    sentence, head, rows = trust.of_run(json.loads(path.read_text(encoding="utf-8")))
    assert sentence.rstrip(")").endswith(".")
    assert rows and all(len(row) == len(head) for row in rows)
    assert all(isinstance(text, str) for row in [head, *rows] for text in row)


def test_numbers_with_proved_bounds_are_counted_and_one_is_shown():
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    bounds = {"logit_p13": ["0.7353", "0.7354"], "two_logit_p12": ["0.8675", "0.8676"]}
    report = {"logit_p13": 0.73532, "two_logit_p12": 0.86756789}
    records = {
        "XSC-L1": {"id": "XSC-L1", "bounds": bounds, "report": report},
        "XSC-L2": {"id": "XSC-L2", "report": {"variance_at_F_half_eps_1": 1.17}},
        "NO-CLAIM": {"id": "NO-CLAIM", "report": {}},
    }
    said, *table = trust.TrustDirective.balls(SimpleNamespace(load=lambda: (ledger, records)))
    label = ledger["XSC-L1"].label("logit_p13")
    assert said == (
        f"2 numbers of 1 claims have proved bounds. For example, XSC-L1 reports for “{label}” the "
        "number 0.73532, and the exact value lies between 0.7353 and 0.7354."
    )
    assert table == [(), ()]
    nothing = SimpleNamespace(load=lambda: ({}, records))
    assert trust.TrustDirective.balls(nothing)[0] == "0 numbers of 0 claims have proved bounds."
