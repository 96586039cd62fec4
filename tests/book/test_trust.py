"""The tables of the page on how far to trust the book."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpbook.book.ledger.claims import load_ledger
from dpbook.book.sphinx import nodes, trust
from dpbook.book.sphinx.trust import FILES, SHOWN

ROOT = Path(__file__).resolve().parents[2]
PAGE = {"runs": 3, "planned": 4, "claims": 1200, "contradictions": 1, "not_applicable": 0}
MUTANT = {"kind": "tie", "wing": "science", "state": "caught"}
RANDOM = {
    **{"of": ["rankers"], "seed": 5, "sites": 1000, "slow": 2, "tests": 9, "left out": 1},
    "counts": {"tried": 10, "killed": 8, "explained": 1},
    "at least": {"killed": 0.493, "either": 0.606},
    "modules": {"a.py": {"tried": 10, "killed": 8, "explained": 1}},
    "survivors": [
        {"file": "a.py", "line": 3, "operator": "AddNot", "old": "x", "new": "y", "why": why}
        for why in ("a reason", "")
    ],
}
EXAMPLES = {
    "mutants": {
        "counts": {"wing": {"science": {"caught": 1, "survived": 1}}, "kind": {"tie": {}}},
        "mutants": [MUTANT, MUTANT | {"state": "survived"}],
    },
    "survivors": {"mutants": [MUTANT, MUTANT | {"state": "survived", "file": "a.py", "why": "w"}]},
    "random_mutants": RANDOM,
    "random_survivors": RANDOM,
    "grid": {"pages": {"01-one": PAGE | {"failed": 0, "not_finite": 0, "longest": 2}}},
    "alarms": {
        "statistical": [
            {"alarm": 1e-3, "power": True, "claims": 2, "checks": 40, "expected": 0.04, "seen": 1}
            | {"twins_passed": 0},
            {"alarm": 0, "power": True, "claims": 1, "checks": 2, "expected": 0, "seen": 0}
            | {"twins_passed": 0},
        ]
    },
    "twice": {
        **{"varied": {"TZ": ["UTC", "there"]}, "files": 10, "identical": 9, "profile": "smoke"},
        **{"pages": ["01-one"], "exceptions": {"a.json": "the time of day"}},
    },
    "faults": [{"kind": "data", "fault": "cut", "what happens": "refused", "test": "a/b.py::c"}],
    "matrix": {"cells": [{"python": "3.9", "outcome": "not run", "why": "too old"}]},
}
WORDS = {
    "mutants": "Of 2 seeded defects: 1 caught, 1 survived.",
    "survivors": "1 are open",
    "random_mutants": "in rankers 10 were tried (seed 5): 8 were killed, which makes at least 49",
    "random_survivors": "2 survived; 1 of them have no explanation.",
    "grid": "3 of 4 planned runs were made; of their 1\u202f200 checks of a claim 1 contradicted",
    "alarms": "In 42 statistical checks at most 0.04 false alarms",
    "twice": "9 are the same byte for byte; the exceptions are a.json: the time of day.",
    "faults": "1 faults, each with a test",
    "matrix": "1 combinations: 1 not run.",
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_run_is_told_in_a_sentence_and_a_table(name):
    sentence, head, rows = SHOWN[name](EXAMPLES[name])
    assert WORDS[name] in sentence
    assert rows and all(len(row) == len(head) for row in rows)


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_stored_can_be_shown(name):
    path = ROOT / "book" / "trust" / f"{FILES.get(name, name)}.json"
    if not path.is_file():
        pytest.skip(f"{name} has not been run")
    _, head, rows = SHOWN[name](json.loads(path.read_text(encoding="utf-8")))
    assert rows and all(len(row) == len(head) for row in rows)


def test_a_table_says_at_which_commit_it_was_made_if_that_is_known():
    results = EXAMPLES["grid"]
    sentence, *table = SHOWN["grid"](results)
    assert trust.of_run("grid", results) == (sentence, *table)
    assert trust.of_run("grid", results | {"commit": "0a1b"}) == (
        f"{sentence} (Commit 0a1b.)",
        *table,
    )


def test_the_page_shows_every_run():
    page = (ROOT / "book" / "trust.md").read_text(encoding="utf-8")
    assert all(f"{{trust}} {name}\n" in page for name in [*SHOWN, "proved", "balls"])


def test_numbers_with_proved_bounds_are_listed(monkeypatch):
    """A row for each number that has them, and none for a claim that has not."""
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    bounds = {"logit_p13": ["0.7353", "0.7354"], "two_logit_p12": ["0.8675", "0.8676"]}
    report = {"logit_p13": 0.73532, "two_logit_p12": 0.86756}
    records = {
        "XSC-L1": {"id": "XSC-L1", "bounds": bounds, "report": report},
        "XSC-L2": {"id": "XSC-L2", "report": {"variance_at_F_half_eps_1": 1.17}},
    }
    monkeypatch.setattr(nodes, "row_uri", lambda env, name: f"#{name}")
    monkeypatch.setattr(trust.TrustDirective, "load", lambda self: (ledger, records))
    monkeypatch.setattr(trust.TrustDirective, "page", lambda self, page, name: f"{page}#{name}")
    monkeypatch.setattr(trust.TrustDirective, "env", None)
    sentence, head, rows = trust.TrustDirective.balls(object.__new__(trust.TrustDirective))
    assert sentence == "2 numbers of 1 claims have proved bounds."
    assert [row[2] for row in rows] == ["0.73532", "0.86756"]
    assert [row[3] for row in rows] == ["0.7353 to 0.7354", "0.8675 to 0.8676"]
    assert all(len(row) == len(head) for row in rows)
    assert [row[1][0].astext() for row in rows] == [ledger["XSC-L1"].label(name) for name in bounds]
