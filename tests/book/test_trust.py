"""The page on how sure a reader can be: what it quotes of runs, and what it counts."""

from __future__ import annotations

import re
from types import SimpleNamespace

from dpbook.book.ledger.claims import _validator, load_ledger
from dpbook.book.sphinx import claims as trust
from tests.book.browsing import ROOT

PAGE = (ROOT / "book" / "trust.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"\{trust\}`([^`]+)`", PAGE)
LEVELS = {*_validator().schema["properties"]["evidence"]["enum"], "formal"}


def test_every_run_and_every_level_is_named_once():
    """The proofs have their own record, and the faults of a build their own test."""
    runs = {path.stem for path in (ROOT / "book" / "trust").glob("*.json")} - {"proofs", "faults"}
    assert sorted(" ".join(QUOTED).split()) == sorted(runs | LEVELS | {"bounds"})


def test_what_the_page_says_is_from_runs_and_from_the_build(tmp_path, monkeypatch):
    found = {"trust/grid.json": {"sentence": "Same.", "head": [], "rows": [], "commit": "0a1b"}}
    found["claims.json"] = [{"id": "A", "bounds": {"x": ["0", "1"], "y": ["0", "1"]}}, {"id": "B"}]
    read = lambda env, path: found.get(str(path).partition("/book/")[2] or path.name)  # noqa: E731
    monkeypatch.setattr(trust.own, "read_json", read)
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    monkeypatch.setattr(trust.own, "ledger_of", lambda env: ledger)
    role = SimpleNamespace(env=SimpleNamespace(srcdir=str(tmp_path)))

    def said(text):
        role.text = text
        return trust.TrustRole.run(role)[0][0].astext()

    assert said("grid") == "Same. (Commit 0a1b.)" and said("bounds") == "2"
    counts = {level: int(said(level)) for level in LEVELS - {"formal"}}
    checked = [claim for claim in ledger.values() if claim.evidence and not claim.same_as]
    assert sum(counts.values()) == len(checked)
    assert int(said("exact certified")) == counts["exact"] + counts["certified"]
