"""Sphinx extension: ``{trust} NAME`` shows what a run found out about the book itself.

A tool leaves ``book/trust/NAME.json``: a sentence, the head and the rows of a table, as texts, and
the commit.  A list of records is a table, too; ``proved`` and ``balls`` are drawn from this build.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from dpbook.book.ledger.check import CERTIFIED_FOR_ALL
from dpbook.book.ledger.claims import Claim
from dpbook.book.sphinx.nodes import (
    ClaimsDirective,
    Row,
    badge_ref,
    link_to,
    output_dir,
    place_uri,
    read_json,
    table_of,
)

Shown = tuple[str, Sequence[str], Sequence[Row]]
_NOT_RUN = "This copy of the book was built before this was run, so there is no table."


class TrustDirective(ClaimsDirective):
    """A sentence and a table, or a sentence that there is none yet."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name in ("proved", "balls"):
            shown = self.proved() if name == "proved" else self.balls()
        else:
            shown = of_run(read_json(self.env, Path(self.env.srcdir, f"book/trust/{name}.json")))
        sentence, head, rows = shown or (_NOT_RUN, (), ())
        return [nodes.paragraph(text=sentence), *[table_of(head, rows)] * bool(rows)]

    def proved(self) -> Shown | None:
        """The certificates of this build: what they prove, and by how many inequalities."""
        ledger, records = self.load()
        rows: list[Row] = []
        inequalities = 0
        for claim in ledger.values():
            if claim.tier != CERTIFIED_FOR_ALL or claim.id not in records:
                continue
            path = output_dir(self.env.srcdir) / "certificates" / f"{claim.id}.json"
            if (certificate := read_json(self.env, path)) is None:
                return None
            count = sum(map(len, certificate["which"]))
            inequalities += count
            link = self.check_of(claim, str(claim.notebook))
            rows.append([[badge_ref(claim)], [link], claim.scope or "", grouped(count)])
        words = f"{len(rows)} claims have a certificate; together they decide "
        words += f"{grouped(inequalities)} inequalities for every ε at once."
        return words, ("claim", "page", "what is proved", "inequalities"), rows

    def balls(self) -> Shown:
        """The numbers with proved bounds: six digits, and how far the bounds are apart."""
        ledger, records = self.load()
        rows: list[Row] = []
        for claim in filter(None, map(ledger.get, records)):
            record = records[claim.id]
            for number, (low, high) in record.get("bounds", {}).items():
                texts = f"{record['report'][number]:.6g}", f"{float(high) - float(low):.0e}"
                rows.append(
                    [[badge_ref(claim)], [self.check_of(claim, claim.label(number))], *texts]
                )
        claims = sum("bounds" in record for record in records.values())
        words = f"{len(rows)} numbers of {claims} claims have proved bounds."
        return words, ("claim", "number", "reported", "bounds apart by"), rows

    def check_of(self, claim: Claim, words: str) -> nodes.reference:
        """A link to the check of a claim."""
        return link_to(
            words, place_uri(self.env, f"notebooks/{claim.notebook}", f"claim-{claim.id}")
        )


def of_run(results: Any) -> Shown | None:
    """What a run left, with the commit at which it was made, where that is known."""
    if isinstance(results, list):
        rows = [list(record.values()) for record in results]
        return f"{len(rows)} in all.", list(results[0]), rows
    if results is None:
        return None
    commit = f" (Commit {results['commit']}.)" if results.get("commit") else ""
    return results["sentence"] + commit, results["head"], results["rows"]


def grouped(number: int) -> str:
    """A count, in groups of three digits."""
    return f"{number:,}".replace(",", "\u202f")


def setup(app: Sphinx) -> None:
    app.add_directive("trust", TrustDirective)
