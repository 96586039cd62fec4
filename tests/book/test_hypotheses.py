"""Dropped conditions: each reproducer prints what its row says, and a faulty row is refused."""

import contextlib
import io
import warnings
from pathlib import Path

import pytest
import yaml

from dpbook.book.ledger.claims import load_ledger
from dpbook.book.pages import PageError
from dpbook.book.sphinx.hypotheses import FILE, fits, load_hypotheses

ROOT = Path(__file__).resolve().parents[2]
LEDGER = load_ledger(ROOT / "book" / "claims.yml")
ROWS = load_hypotheses(ROOT, LEDGER)


@pytest.mark.parametrize("row", ROWS, ids=[f"{r['claim']}: {r['condition']}" for r in ROWS])
def test_a_reproducer_prints_what_the_row_quotes(row):
    assert row["reproducer"].count("\n") <= 14
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(action="error"):
        exec(compile(row["reproducer"], row["claim"], "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == row["prints"]


def test_every_paper_has_its_table_and_no_condition_is_dropped_twice():
    shown = {f"book/map/{name}.md" for name in ("ccw25", "xsc", "agkm", "yll")}
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in shown}
    assert all(text.count("```{hypotheses} ") == 1 for text in texts.values())
    papers = "; ".join(t.split("```{hypotheses} ")[1].split("\n")[0] for t in texts.values())
    assert {*papers.split("; ")} >= {LEDGER[row["claim"]].paper for row in ROWS}
    assert len({(row["claim"], row["condition"]) for row in ROWS}) == len(ROWS)
    assert not fits(LEDGER["CCW25-ALG3"]) and not fits(LEDGER["CCW25-ADJ-EDGE"])  # false; a term


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"claim": "CCW25-ALG3"}, "must be a claim of the five"),  # false as printed
        ({"claim": "BOOK-RR-ORDER"}, "must be a claim of the five"),
        ({"claim": "NONE"}, "must be a claim of the five"),
        ({"needed": "perhaps"}, "needed is yes, no or open"),
        ({"without": ""}, "must have"),
        ({"note": "more"}, "must have"),
        ({"without": "The loss is 1.25."}, r"\['1.25'\] is not printed"),
        ({"without": "With 31 items."}, r"\['31'\] is not printed"),
        ({"prints": "loss 11.5"}, r"\['1.5'\] is not printed"),
    ],
)
def test_a_faulty_row_is_refused(tmp_path, change, told):
    row = {"claim": "CCW25-ALG2", "condition": "c", "needed": "yes", "without": "The loss is 1.5."}
    row |= {"reproducer": "print('loss 1.5')\n", "prints": "loss 1.5\n"}
    (tmp_path / "book").mkdir()

    def load(rows):
        text = yaml.safe_dump(rows, sort_keys=False)
        (tmp_path / FILE).write_text(text, encoding="utf-8")
        return load_hypotheses(tmp_path, LEDGER)

    assert load([row | {"claim": "XSC-RR"}, row])[0] == row  # in the order of the ledger
    with pytest.raises(PageError, match=told):
        load([row, row | change])
