"""One judge: a page that charges a paper with what the ledger does not say stops the build."""

import json
from pathlib import Path

import pytest

from dpbook.book.ledger.claims import Claim, load_ledger
from dpbook.book.ledger.texts import charges
from dpbook.book.run.collect import collect

ROOT = Path(__file__).resolve().parents[2]


def claim(name, **fields):
    base = {"verdict": "holds", "evidence": "exact"} | fields
    return Claim(name, "P", "Thm 1", "privacy", "s", "01-one", "checked", **base)


ERRATUM = {"heading": "h", "verdict": "false-repaired", "failed": "statement"}
LEDGER = {
    one.id: one
    for one in (
        claim("GOOD"),
        claim("SLIP", remark="A symbol is lost."),
        claim("BAD", severity="conclusion", **ERRATUM),
        claim("LEAK", severity="privacy", **ERRATUM),
    )
}
TOO_LITTLE = "Algorithm 3 of the paper is not private. See {{badge}}`{}`."
TABLE = "rows = [('AGKM, Algorithm 3', 'too little noise')]"


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("markdown", TOO_LITTLE.format("LEAK"), 0),
        ("markdown", TOO_LITTLE.format("BAD"), 1),
        ("markdown", TOO_LITTLE.format("GOOD"), 1),
        ("markdown", TOO_LITTLE.format("NONE"), 1),
        ("markdown", "Theorem 2 is false, by {verdict}`BAD`.", 0),
        ("markdown", "Theorem 2 has a slip ({claim-ref}`there <SLIP>`).", 0),
        ("markdown", "See {badge}`BAD`.\n\nTheorem 2 is false.", 1),
        ("markdown", "Our first guess is false.", 0),
        ("markdown", "```{claim} GOOD, BAD\nA.\n\nAs printed the theorem does not hold.\n```", 0),
        ("markdown", "```{claim} GOOD\nA.\n\nAs printed the theorem does not hold.\n```", 1),
        ("code", TABLE, 1),
        ("code", f"{TABLE}\ntable([verdict_of('LEAK')], 't')", 0),
        ("code", f"{TABLE}\nverdict_of('GOOD')", 1),
        ("code", "check('GOOD', test, printed=1, control={'too little noise': 2})  # Theorem 2", 0),
        ("code", "rows = [('ours', 'too little noise')]", 0),
        ("code", "%matplotlib inline", 0),
    ],
)
def test_a_charge_needs_the_ledger(tmp_path, kind, text, found):
    page = tmp_path / "01-one.ipynb"
    page.write_text(json.dumps({"cells": [{"cell_type": kind, "source": [text]}]}))
    told = list(charges(page, LEDGER))
    assert len(told) == found and all(line.startswith("01-one: ") for line in told)


def test_the_build_refuses_a_charge_that_the_ledger_does_not_make(tmp_path):
    for name in ("book", "notebooks", "_build"):
        (tmp_path / name).mkdir()
    (tmp_path / "book" / "claims.yml").write_text("[]")
    (tmp_path / "book" / "index.md").write_text("Algorithm 3 of {cite:t}`CCW25` is not private.\n")
    (line,) = collect(tmp_path / "_build", tmp_path)
    assert line.startswith("index: ") and "names no claim whose severity is privacy" in line


def test_no_page_charges_what_the_ledger_does_not():
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    pages = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "book").rglob("*.md")]
    assert pages and [line for page in pages for line in charges(page, ledger)] == []
