"""The ledger, the errata, what was withdrawn, and where to object."""

from __future__ import annotations

from typing import Any

from docutils import nodes

from dpbook.book.ledger import words as report
from dpbook.book.ledger.claims import SINCE, Claim
from dpbook.book.run import errata
from dpbook.book.sphinx.nodes import (
    ClaimsDirective,
    Row,
    around,
    badge_ref,
    block,
    chapter,
    facts_of,
    labelled,
    link_to,
    mark_of,
    output_dir,
    place_uri,
    read_json,
    row_uri,
    table_of,
    warn,
)

#: The page of the errata of each group of claims.
PAGES = {"CCW25": "ccw", "CCW23": "ccw", "XSC": "xsc", "AGKM": "agkm", "YLL": "yll", SINCE: "since"}


class LedgerDirective(ClaimsDirective):
    """``{claims-ledger}``: counts, and one sortable table of all claims."""

    def run(self) -> list[nodes.Node]:
        ledger, records = self.load()
        head = ("Id", "Paper", "Where", "Kind", "Claim", "Verdict", "Evidence")
        rows = [self.row(claim, records.get(claim.id)) for claim in ledger.values()]
        return [self.counts(list(ledger.values())), table_of(head, rows, "claims-ledger")]

    def counts(self, claims: list[Claim]) -> nodes.table:
        """How many claims of each paper are in each state."""
        states = [state for state, count in report.state_counts(claims).items() if count]
        rows = []
        for paper in [*dict.fromkeys(claim.group for claim in claims), None]:
            of_paper = [claim for claim in claims if paper in (claim.group, None)]
            counts = report.state_counts(of_paper)
            rows.append([paper or "All", *(str(counts[s]) for s in states), str(len(of_paper))])
        head = ("Paper", *(report.STATES[state][1] for state in states), "all")
        return table_of(head, rows, "claims-counts")

    def row(self, claim: Claim, record: dict[str, Any] | None) -> Row:
        """One claim."""
        says = self.inline(claim.says)
        if claim.remark:
            says += [nodes.Text(" "), nodes.emphasis("", "", *self.inline(claim.remark))]
        says.append(nodes.raw("", around(self.env, claim), format="html"))
        # An id on the row itself is lost by the HTML writer; one inside the first cell is kept.
        name = [facts_of(claim, f"ledger-{claim.id}"), nodes.literal(text=claim.id)]
        facts = (claim.paper, claim.where, claim.kind)
        return [name, *facts, says, [mark_of(claim)], self.evidence(claim, record)]


class ErrataDirective(ClaimsDirective):
    """``{claims-errata}``: a table of all errata; with names of papers their sections, in chapters.

    The papers are separated by semicolons; at the end stands what of them is not judged.
    """

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        ledger, records = self.load()
        chapters = list(report.CHAPTERS)
        corrected = [claim for claim in ledger.values() if claim.is_erratum]
        corrected.sort(key=lambda claim: chapters.index(report.chapter(claim)))  # stable
        if not self.arguments:
            head = ("Where", "What we found", "Verdict")
            return [table_of(head, [self.row(claim) for claim in corrected], "claims-errata")]
        papers = self.arguments[0].split("; ")
        printed = self.printed(ledger)
        found: list[nodes.Node] = []
        for name, heading in report.CHAPTERS.items():
            mine = [c for c in corrected if c.group in papers and report.chapter(c) == name]
            parts = [self.section(c, records.get(c.id), printed.get(c.id)) for c in mine]
            if mine:
                found.append(chapter(f"errata-{name}", f"{heading} ({len(mine)})", *parts))
        left = [c for c in ledger.values() if c.group in papers and c.status == "not-judged"]
        if left:
            head = ("Where", "What it says", "Why it is not judged")
            table = table_of(head, [self.open_row(claim) for claim in left], "claims-open")
            found.append(chapter("errata-open", f"Not judged ({len(left)})", table))
        return found

    def row(self, claim: Claim) -> Row:
        """One erratum in the table: the finding, which leads to its section."""
        uri = place_uri(self.env, f"book/errata/{PAGES[claim.group]}", f"erratum-{claim.id}")
        link = nodes.reference("", "", *self.inline(claim.heading), refuri=uri, internal=True)
        badge = mark_of(claim, row_uri(self.env, claim.id))
        return [f"{claim.paper}, {claim.where}", [link], [badge]]

    def open_row(self, claim: Claim) -> Row:
        """One statement that is not judged."""
        anchor = nodes.target("", "", ids=[f"open-{claim.id}"])
        where = [anchor, nodes.Text(f"{claim.paper}, {claim.where}")]
        return [where, self.inline(claim.says), self.inline(claim.remark)]

    def printed(self, ledger: dict[str, Claim]) -> dict[str, str]:
        """What the reproducers print; one that has not run in its present form is a warning."""
        ran = read_json(self.env, errata.executed_copy(output_dir(self.env.srcdir)))
        found = errata.results(ran or {"cells": []})
        printed = {}
        for name, code in errata.snippets(ledger.values()).items():
            if name in found and found[name]["code"] == code:
                printed[name] = found[name]["output"]
            else:
                message = f"the reproducer of {name} has not been executed in this form"
                warn(message, self.env, "reproducer")
        return printed

    def section(
        self, claim: Claim, record: dict[str, Any] | None, printed: str | None
    ) -> nodes.section:
        """One erratum."""
        words = nodes.Text(f" {claim.paper}, {claim.where}. {report.failure_words(claim)}")
        opening = nodes.paragraph("", "", facts_of(claim), badge_ref(claim), words)
        cause, quote = claim.consequence_of, (claim.quote or "").replace("*", "")
        parts = {
            "No mistake of its own: ": cause
            and [nodes.Text("it follows from "), link_to(cause, row_uri(self.env, cause))],
            "In the words of our copy. ": quote and [nodes.Text(f"“{quote}”")],
            "How we read it. ": self.inline(claim.printed),
            f"{report.failure_head(claim)}. ": self.inline(claim.wrong),
            "Repair. ": self.inline(claim.repair),
            "Evidence. ": self.evidence(claim, record),
            "What would change our mind. ": self.inline(claim.reconsider),
        }
        section = chapter(f"erratum-{claim.id}", self.inline(claim.heading), opening)
        section += [labelled(label, children) for label, children in parts.items() if children]
        if form := self.objections(f"&title={claim.id}"):
            section += nodes.paragraph("", "", link_to("Object to this verdict", form))
        section += [labelled("See it in a second."), block(claim.reproducer, "python")]
        if printed:
            section += [labelled("It prints"), block(printed, "none")]
        return section


class ContactDirective(ClaimsDirective):
    """``{objections}``: where to object to a verdict, as far as ``_config.yml`` names a place."""

    def run(self) -> list[nodes.Node]:
        to = {"the form for objections": self.objections()}
        if address := self.config.book_contact:
            to[address] = address if "/" in address else f"mailto:{address}"
        links = [
            n for words, at in to.items() if at for n in (nodes.Text(", or "), link_to(words, at))
        ]
        if not links:
            text = "This copy names no address; the form is .github/ISSUE_TEMPLATE/objection.yml."
            return [nodes.paragraph(text=text)]
        opening = nodes.Text("To object, use ")
        return [nodes.paragraph("", "", opening, *links[1:], nodes.Text("."))]


class WithdrawnDirective(ClaimsDirective):
    """``{claims-withdrawn}``: what this book said and no longer says, the latest first."""

    def run(self) -> list[nodes.Node]:
        ledger, _ = self.load()
        told = [(claim, entry) for claim in ledger.values() for entry in claim.withdrawn]
        told.sort(key=lambda pair: pair[1]["date"], reverse=True)  # stable: then as in the ledger
        rows: list[Row] = [
            [entry["date"], [badge_ref(claim)], *map(self.inline, (entry["said"], entry["reason"]))]
            for claim, entry in told
        ]
        return [table_of(("Date", "Now", "What we said", "Why not"), rows, "claims-withdrawn")]
