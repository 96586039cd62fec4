"""Tables: the ledger, the errata, what was withdrawn, what was measured, why to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment

from dpbook.book.ledger import words as report
from dpbook.book.ledger.check import CERTIFIED_FOR_ALL
from dpbook.book.ledger.claims import SINCE, Claim
from dpbook.book.run import errata
from dpbook.book.sphinx import nodes as own

Shown = tuple[str, Sequence[str], Sequence[own.Row]]
_NOT_RUN = "This copy of the book was built before this was run, so there is no table."

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


class TrustDirective(own.ClaimsDirective):
    """``{trust} NAME``: what a run found out about the book itself, as a sentence and a table.

    A tool leaves ``book/trust/NAME.json``: a sentence, the head and the rows of a table, as texts,
    and the commit.  A list of records is a table, too.  Drawn from this build are ``proved`` and
    ``balls``.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        drawn = {"proved": self.proved, "balls": self.balls}
        path = Path(self.env.srcdir, "book", "trust", f"{name}.json")
        shown = drawn[name]() if name in drawn else of_run(own.read_json(self.env, path))
        sentence, head, rows = shown or (_NOT_RUN, (), ())
        words = [nodes.paragraph(text=sentence)] * bool(sentence)
        return [*words, *[own.table_of(head, rows)] * bool(rows)]

    def proved(self) -> Shown | None:
        """The certificates of this build: what they prove, and by how many inequalities."""
        ledger, records = self.load()
        rows: list[own.Row] = []
        inequalities = 0
        for claim in ledger.values():
            if claim.evidence != CERTIFIED_FOR_ALL or claim.id not in records:
                continue
            path = own.output_dir(self.env.srcdir) / "certificates" / f"{claim.id}.json"
            if (certificate := own.read_json(self.env, path)) is None:
                return None
            count = sum(map(len, certificate["which"]))
            inequalities += count
            link = self.check_of(claim, str(claim.notebook))
            rows.append([[own.badge_ref(claim)], [link], claim.scope or "", own.grouped(count)])
        words = f"{len(rows)} claims have a certificate; together they decide "
        words += f"{own.grouped(inequalities)} inequalities for every ε at once."
        return words, ("claim", "page", "what is proved", "inequalities"), rows

    def balls(self) -> Shown:
        """How many numbers have proved bounds, with the first of them as an example."""
        ledger, records = self.load()
        listed = [claim for claim in map(ledger.get, records) if claim]
        found = [(c, name) for c in listed for name in records[c.id].get("bounds", ())]
        claims = len({claim.id for claim, _ in found})
        words = f"{len(found)} numbers of {claims} claims have proved bounds."
        for claim, name in found[:1]:
            value, (low, high) = (records[claim.id][key][name] for key in ("report", "bounds"))
            words += f" For example, {claim.id} reports for “{claim.label(name)}” the number "
            words += f"{value:.6g}, and the exact value lies between {low} and {high}."
        return words, (), ()

    def check_of(self, claim: Claim, words: str) -> nodes.reference:
        uri = own.place_uri(self.env, f"notebooks/{claim.notebook}", f"claim-{claim.id}")
        return own.link_to(words, uri)


def of_run(results: Any) -> Shown | None:
    """What a run left, with the commit at which it was made, where that is known."""
    if isinstance(results, list):
        rows = [list(record.values()) for record in results]
        return f"{len(rows)} in all.", list(results[0]), rows
    if results is None:
        return None
    commit = f" (Commit {results['commit']}.)" if results.get("commit") else ""
    return results["sentence"] + commit, results["head"], results["rows"]


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
