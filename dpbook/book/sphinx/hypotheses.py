"""Sphinx extension: which conditions of a theorem are needed, from ``book/hypotheses.yml``."""

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

import yaml
from docutils import nodes

from dpbook.book.ledger.claims import FIVE, Claim
from dpbook.book.pages import PageError
from dpbook.book.sphinx import nodes as own

FILE = "book/hypotheses.yml"
#: The claims with a condition to drop: true ones of the papers, with more than samples behind them.
_FIT = {
    "paper": FIVE,
    "kind": "privacy sensitivity inequality utility lower-bound algorithm".split(),
    "verdict": "holds holds-loosely proof-repaired slip".split(),
    "evidence": "proof exact all-epsilon certified".split(),
    "same_as": (None,),
}
_FIELDS = ("claim", "condition", "needed", "without", "reproducer", "prints")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,/]\d+)*(?:e-?\d+)?")


def fits(claim: Claim) -> bool:
    return all(getattr(claim, name) in allowed for name, allowed in _FIT.items())


def load_hypotheses(root: Path, ledger: Mapping[str, Claim]) -> list[dict[str, str]]:
    """The rows, in the order of the ledger; a `PageError` says what is wrong with the first."""
    rows = yaml.load((root / FILE).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    known = [claim.id for claim in ledger.values() if fits(claim)]
    for row in rows:
        if (*row,) != _FIELDS or "" in row.values() or row["needed"] not in ("yes", "no", "open"):
            raise PageError(f"{FILE}: {row!r:.80} must have {_FIELDS}; needed is yes, no or open")
        if row["claim"] not in known:
            raise PageError(f"{FILE}: {row['claim']} must be a claim of the five, true and proved")
        shown = {*_NUMBER.findall(row["prints"]), "0", "1", "2"}
        if odd := [n for n in _NUMBER.findall(row["without"]) if n not in shown]:
            raise PageError(f"{FILE}: {row['claim']}, {row['condition']}: {odd} is not printed")
    return sorted(rows, key=lambda row: known.index(row["claim"]))


class HypothesesDirective(own.ClaimsDirective):
    """``{hypotheses} CCW25; CCW23``: a table of dropped conditions, and what has no row."""

    required_arguments, final_argument_whitespace = 1, True

    def run(self) -> list[nodes.Node]:
        ledger, root, papers = self.load()[0], Path(self.env.srcdir), self.arguments[0].split("; ")
        self.env.note_dependency(str(root / FILE))
        rows = [r for r in load_hypotheses(root, ledger) if ledger[r["claim"]].paper in papers]
        cells: list[own.Row] = []
        for row in rows:
            theorem = [own.badge_ref(ledger[row["claim"]])]
            theorem.append(nodes.Text(f" {ledger[row['claim']].where}"))
            cells.append([theorem, *(self.inline(row[name]) for name in _FIELDS[1:4])])
        head = ("Theorem", "Condition", "Needed?", "Without it")
        table = own.table_of(head, cells, "claims-ledger", "Which conditions are needed")
        for row, line in zip(rows, [*table.findall(nodes.row)][1:], strict=True):
            whose = f'<span class="visually-hidden">: {escape(row["condition"])}</span>'
            line[-1] += nodes.raw("", f"<details><summary>Code{whose}</summary>", format="html")
            line[-1] += [own.block(row["reproducer"], "python"), own.labelled("It prints")]
            line[-1] += own.block(row["prints"], "none")
            line[-1] += nodes.raw("", "</details>", format="html")
        done = {row["claim"] for row in rows}
        left = [c for c in ledger.values() if c.paper in papers and fits(c) and c.id not in done]
        names = [n for claim in left for n in (own.badge_ref(claim), nodes.Text(" "))]
        return [table, *[own.labelled("No condition was dropped for: ", names)] * bool(names)]
