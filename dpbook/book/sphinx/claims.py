"""Tables: the ledger, the errata, what was withdrawn, what was measured, why to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from dpbook.book.ledger import words as report
from dpbook.book.ledger.claims import SINCE, Claim
from dpbook.book.run import errata
from dpbook.book.sphinx import nodes as own

#: The page of the errata of each group of claims.
PAGES = {"CCW25": "ccw", "CCW23": "ccw", "XSC": "xsc", "AGKM": "agkm", "YLL": "yll", SINCE: "since"}


class LedgerDirective(own.ClaimsDirective):
    """``{claims-ledger}``: counts, and one sortable table of all claims."""

    def run(self) -> list[nodes.Node]:
        ledger, records = self.load()
        head = ("Id", "Paper", "Where", "Kind", "Claim", "Verdict", "Evidence")
        rows = [self.row(claim, records.get(claim.id)) for claim in ledger.values()]
        return [
            self.counts(list(ledger.values())),
            own.table_of(head, rows, "claims-ledger", "All claims"),
        ]

    def counts(self, claims: list[Claim]) -> nodes.table:
        """How many claims of each paper are in each state."""
        states = [state for state, count in report.state_counts(claims).items() if count]
        rows = []
        for paper in [*dict.fromkeys(claim.group for claim in claims), None]:
            of_paper = [claim for claim in claims if paper in (claim.group, None)]
            counts = report.state_counts(of_paper)
            rows.append([paper or "All", *(str(counts[s]) for s in states), str(len(of_paper))])
        head = ("Paper", *(report.STATES[state][1] for state in states), "all")
        return own.table_of(head, rows, "claims-counts", "Verdicts by paper")

    def row(self, claim: Claim, record: dict[str, Any] | None) -> own.Row:
        says = self.inline(claim.says)
        if claim.remark:
            says += [nodes.Text(" "), nodes.emphasis("", "", *self.inline(claim.remark))]
        says.append(nodes.raw("", own.around(self.env, claim), format="html"))
        # An id on the row itself is lost by the HTML writer; one inside the first cell is kept.
        name = [own.facts_of(claim, f"ledger-{claim.id}"), nodes.literal(text=claim.id)]
        facts = (claim.paper, claim.where, claim.kind)
        return [name, *facts, says, [own.mark_of(claim)], self.evidence(claim, record)]


class ErrataDirective(own.ClaimsDirective):
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
            return [own.table_of(head, [self.row(claim) for claim in corrected], "claims-errata")]
        papers = self.arguments[0].split("; ")
        printed = self.printed(ledger)
        found: list[nodes.Node] = []
        for name, heading in report.CHAPTERS.items():
            mine = [c for c in corrected if c.group in papers and report.chapter(c) == name]
            parts = [self.section(c, records.get(c.id), printed.get(c.id)) for c in mine]
            if mine:
                found.append(own.chapter(f"errata-{name}", f"{heading} ({len(mine)})", *parts))
        left = [c for c in ledger.values() if c.group in papers and c.status == "not-judged"]
        if left:
            head = ("Where", "What it says", "Why it is not judged")
            table = own.table_of(head, [self.open_row(claim) for claim in left], "claims-open")
            found.append(own.chapter("errata-open", f"Not judged ({len(left)})", table))
        return found

    def row(self, claim: Claim) -> own.Row:
        """One erratum in the table: the finding, which leads to its section."""
        uri = own.place_uri(self.env, f"book/errata/{PAGES[claim.group]}", f"erratum-{claim.id}")
        link = nodes.reference("", "", *self.inline(claim.heading), refuri=uri, internal=True)
        badge = own.mark_of(claim, own.row_uri(self.env, claim.id))
        return [f"{claim.paper}, {claim.where}", [link], [badge]]

    def open_row(self, claim: Claim) -> own.Row:
        anchor = nodes.target("", "", ids=[f"open-{claim.id}"])
        where = [anchor, nodes.Text(f"{claim.paper}, {claim.where}")]
        return [where, self.inline(claim.says), self.inline(claim.remark)]

    def printed(self, ledger: dict[str, Claim]) -> dict[str, str]:
        """What the reproducers print; one that has not run in its present form is a warning."""
        ran = own.read_json(self.env, errata.executed_copy(own.output_dir(self.env.srcdir)))
        found = errata.results(ran or {"cells": []})
        wanted = errata.snippets(ledger.values())
        same = [name for name in wanted if found.get(name, {}).get("code") == wanted[name]]
        for name in (one for one in wanted if one not in same):
            message = f"the reproducer of {name} has not been executed in this form"
            own.warn(message, self.env, "reproducer")
        return {name: found[name]["output"] for name in same}

    def section(
        self, claim: Claim, record: dict[str, Any] | None, printed: str | None
    ) -> nodes.section:
        words = nodes.Text(f" {claim.paper}, {claim.where}. {report.failure_words(claim)}")
        opening = nodes.paragraph("", "", own.facts_of(claim), own.badge_ref(claim), words)
        cause, quote = claim.consequence_of, (claim.quote or "").replace("*", "")
        parts = {
            "This is no mistake of its own: ": cause
            and [nodes.Text("it follows from "), own.link_to(cause, own.row_uri(self.env, cause))],
            "In the words of our copy. ": quote and [nodes.Text(f"“{quote}”")],
            "How we read it. ": self.inline(claim.printed),
            f"{report.failure_head(claim)}. ": self.inline(claim.wrong),
            "Correction. ": self.inline(claim.repair),
            "Evidence. ": self.evidence(claim, record),
            "What would change our mind. ": self.inline(claim.reconsider),
        }
        section = own.chapter(f"erratum-{claim.id}", self.inline(claim.heading), opening)
        section += [own.labelled(label, children) for label, children in parts.items() if children]
        if form := self.objections(f"&title={claim.id}"):
            section += nodes.paragraph("", "", own.link_to("Object to this verdict", form))
        section += [own.labelled("See it in a second."), own.block(claim.reproducer, "python")]
        if printed:
            section += [own.labelled("It prints"), own.block(printed, "none")]
        return section


class ContactDirective(own.ClaimsDirective):
    """``{objections}``: where to object to a verdict, as far as ``_config.yml`` names a place."""

    def run(self) -> list[nodes.Node]:
        form, address = self.objections(), self.config.book_contact
        to = [f"[the form for objections]({form})"] * bool(form)
        if address:
            to.append(f"[{address}]({address if '/' in address else f'mailto:{address}'})")
        words = f"To object, use {', or '.join(to)}."
        lost = "This copy names no address; the form is .github/ISSUE_TEMPLATE/objection.yml."
        return self.parse_text_to_nodes(words if to else lost)


class WithdrawnDirective(own.ClaimsDirective):
    """``{claims-withdrawn}``: what this book said and no longer says, the latest first."""

    def run(self) -> list[nodes.Node]:
        told = [(claim, it) for claim in self.load()[0].values() for it in claim.withdrawn]
        told.sort(key=lambda pair: pair[1]["date"], reverse=True)  # stable: then as in the ledger
        rows: list[own.Row] = [
            [it["date"], [own.badge_ref(claim)], self.inline(it["said"]), self.inline(it["reason"])]
            for claim, it in told
        ]
        head = ("Date", "Now", "What we said", "Why not")
        return [own.table_of(head, rows, "claims-withdrawn", "What was withdrawn")]


class TrustRole(SphinxRole):
    """``{trust}`NAME```: what a run found out about the book itself, a sentence of its JSON file.

    Or how many claims have the named levels of evidence; of ``bounds``, how many numbers have them.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        path = Path(self.env.srcdir, "book", "trust", f"{self.text}.json")
        if found := own.read_json(self.env, path):
            commit = f" (Commit {found['commit']}.)" if found.get("commit") else ""
            return [nodes.Text(found["sentence"] + commit)], []
        names = {*self.text.split()}
        if names == {"bounds"}:
            records = own.read_json(self.env, own.output_dir(self.env.srcdir) / "claims.json") or ()
            return [nodes.Text(str(sum(len(one.get("bounds", ())) for one in records)))], []
        claims = [claim for claim in own.ledger_of(self.env).values() if not claim.same_as]
        return [nodes.Text(str(sum(bool(names.intersection(c.levels)) for c in claims)))], []


class TheoremDirective(own.ClaimsDirective):
    """``{theorem} CCW25-ALG2``: the theorem of a claim, as in its result box, if it has one."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        html = own.theorem(self.env, own.ledger_of(self.env)[self.arguments[0]])
        return [nodes.raw("", html, format="html")]


def second_machine(env: BuildEnvironment) -> list[dict[str, Any]] | None:
    """What ``make live-check`` found for each page in a browser, if it ran before this build."""
    return own.read_json(env, own.output_dir(env.srcdir) / "live.json")


def second_machine_words(rows: Sequence[dict[str, Any]]) -> str:
    """How many claims came out the same in a browser, in a sentence."""
    claims, same = (sum(row[key] for row in rows) for key in ("claims", "same"))
    return (
        f"On a second machine, CPython for WebAssembly in a browser (32 bits, another NumPy and "
        f"SciPy), {same} of {claims} claims had the same outcome."
    )
