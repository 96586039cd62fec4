"""The ledger, the errata, what was withdrawn, and what was measured, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

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
    plain_number,
    read_json,
    row_uri,
    table_of,
    warn,
)

#: The page of the errata of each group of claims.
PAGES = {"CCW25": "ccw", "CCW23": "ccw", "XSC": "xsc", "AGKM": "agkm", "YLL": "yll", SINCE: "since"}
_OVERVIEW = ("Where", "What we found", "Verdict")


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
        name: list[nodes.Node] = [
            facts_of(claim, f"ledger-{claim.id}"),
            nodes.literal(text=claim.id),
        ]
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
            return [table_of(_OVERVIEW, [self.row(claim) for claim in corrected], "claims-errata")]
        papers = self.arguments[0].split("; ")
        printed = self.printed(ledger)
        found: list[nodes.Node] = []
        for name, heading in report.CHAPTERS.items():
            mine = [c for c in corrected if c.group in papers and report.chapter(c) == name]
            rows = [self.section(c, records.get(c.id), printed.get(c.id)) for c in mine]
            found += [chapter(f"errata-{name}", f"{heading} ({len(mine)})", rows)] if mine else []
        left = [c for c in ledger.values() if c.group in papers and c.status == "not-judged"]
        rows = [self.open_row(claim) for claim in left]
        head = f"Not judged ({len(left)})"
        table = [table_of(("Where", "What it says", "Why it is not judged"), rows, "claims-open")]
        return found + ([chapter("errata-open", head, table)] if left else [])

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
        section = nodes.section(ids=[f"erratum-{claim.id}"], names=[f"erratum-{claim.id}".lower()])
        section += nodes.title("", "", *self.inline(claim.heading))
        words = nodes.Text(f" {claim.paper}, {claim.where}. {report.failure_words(claim)}")
        section += nodes.paragraph("", "", facts_of(claim), badge_ref(claim), words)
        if claim.consequence_of:
            other = link_to(claim.consequence_of, row_uri(self.env, claim.consequence_of))
            section += labelled("No mistake of its own: ", [nodes.Text("it follows from "), other])
        if claim.quote:
            quote = nodes.Text(f"“{claim.quote.replace('*', '')}”")
            section += labelled("In the words of our copy. ", [quote])
        section += labelled("How we read it. ", self.inline(claim.printed))
        section += labelled(f"{report.failure_head(claim)}. ", self.inline(claim.wrong))
        section += labelled("Repair. ", self.inline(claim.repair))
        section += labelled("Evidence. ", self.evidence(claim, record))
        if claim.reconsider:
            section += labelled("What would change our mind. ", self.inline(claim.reconsider))
        if url := str(self.config.html_theme_options.get("repository_url") or ""):
            form = f"{url}/issues/new?template=objection.yml&title={claim.id}"
            section += nodes.paragraph("", "", link_to("Object to this verdict", form))
        section += [labelled("See it in a second."), block(claim.reproducer, "python")]
        if printed:
            section += [labelled("It prints"), block(printed, "none")]
        return section


class ContactDirective(SphinxDirective):
    """``{objections}``: where to object to a verdict, as far as ``_config.yml`` names a place."""

    def run(self) -> list[nodes.Node]:
        url = str(self.config.html_theme_options.get("repository_url") or "")
        to = [("the form for objections", f"{url}/issues/new?template=objection.yml")] * bool(url)
        if address := self.config.book_contact:
            to.append((address, address if "/" in address else f"mailto:{address}"))
        if not to:
            text = "This copy names no address; the form is .github/ISSUE_TEMPLATE/objection.yml."
            return [nodes.paragraph(text=text)]
        links = [node for words in to for node in (link_to(*words), nodes.Text(", or "))][:-1]
        return [nodes.paragraph("", "", nodes.Text("To object, use "), *links, nodes.Text("."))]


class WithdrawnDirective(ClaimsDirective):
    """``{claims-withdrawn}``: what this book said and no longer says, the latest first."""

    def run(self) -> list[nodes.Node]:
        ledger, _ = self.load()
        told = [(claim, entry) for claim in ledger.values() for entry in claim.withdrawn]
        told.sort(key=lambda pair: pair[1]["date"], reverse=True)  # stable: then as in the ledger
        rows: list[Row] = []
        for claim, entry in told:
            texts = (self.inline(entry[field]) for field in ("said", "reason"))
            rows.append([entry["date"], [badge_ref(claim)], *texts])
        return [table_of(("Date", "Now", "What we said", "Why not"), rows, "claims-withdrawn")]


class BenchDirective(SphinxDirective):
    """``{bench-table}``: the measured ratios; with the word ``sizes`` the large sizes."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        results = read_json(self.env, Path(self.env.srcdir, "_build", "bench.json"))
        sizes = self.arguments == ["sizes"]
        shown = [result for result in results or () if result.get("size", False) == sizes]
        if not shown:
            ran = (
                "make bench ran, so there is no table" if results is None else "they were measured"
            )
            return [nodes.paragraph(text=f"This copy of the book was built before {ran}.")]
        rows = [size_row(result) if sizes else bench_row(result) for result in shown]
        return [table_of(list(rows[0]), [list(row.values()) for row in rows])]


def second_machine(env: BuildEnvironment) -> list[dict[str, Any]] | None:
    """What ``make live-check`` found for each page in a browser, if it ran before this build."""
    return read_json(env, Path(env.srcdir, "_build", "live.json"))


def second_machine_words(rows: Sequence[dict[str, Any]]) -> str:
    """How many claims came out the same in a browser, in a sentence."""
    claims, same = (sum(row[key] for row in rows) for key in ("claims", "same"))
    return (
        f"On a second machine, CPython for WebAssembly in a browser (32 bits, another NumPy and "
        f"SciPy), {same} of {claims} claims came out the same."
    )


class LiveDirective(SphinxDirective):
    """``{live-table}``: time and bytes of every page in a browser, and how its claims came out."""

    def run(self) -> list[nodes.Node]:
        rows = second_machine(self.env)
        if rows is None:
            text = "This copy of the book was built before make live-check ran: there is no table."
            return [nodes.paragraph(text=text)]
        head = ("page", "start (s)", "in all (s)", "loaded (MB)", "claims", "the same")
        cells: list[Row] = []
        for row in rows:
            measured = (row["start"], row["seconds"], row["bytes"] / 1e6)
            texts = (*(f"{x:.1f}" for x in measured), str(row["claims"]), str(row["same"]))
            cells.append([row["page"], *texts])
        return [nodes.paragraph(text=second_machine_words(rows)), table_of(head, cells)]


def bench_row(result: dict[str, Any]) -> dict[str, str]:
    """One case of ``bench.json`` as texts, by the heading of their column."""
    return {key: result[key] for key in ("case", "peer")} | {
        "ours (ms)": plain_number(1e3 * result["ours_s"]),
        "peer (ms)": plain_number(1e3 * result["peer_s"]),
        "ratio": plain_number(result["ratio"]),
        "target": f"{result['target']:g}",
        "residual": f"{result['accuracy']:.0e}" if result["accuracy"] else "0",
        "met": "yes" if result["passed"] else "no",
    }


def size_row(result: dict[str, Any]) -> dict[str, str]:
    """A large size as texts, by the heading of their column."""
    return {
        "what": result["case"],
        "seconds": plain_number(result["ours_s"]),
        "at most": plain_number(result["peer_s"]),
        "peak memory (MB)": plain_number(result["peak_mb"]),
        "at most (MB)": plain_number(result["peak_mb_limit"]),
        "met": "yes" if result["passed"] else "no",
    }


def drop_repeated_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """On ``html-page-context``: a script that two extensions add is an error in the browser."""
    scripts = context.get("script_files", [])
    bodies = [getattr(script, "attributes", {}).get("body") for script in scripts]
    first = [not body or body not in bodies[:at] for at, body in enumerate(bodies)]
    scripts[:] = compress(scripts, first)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", drop_repeated_scripts, priority=900)
    app.add_directive("claims-ledger", LedgerDirective)
    app.add_directive("claims-errata", ErrataDirective)
    app.add_config_value("book_contact", "", "html")
    app.add_directive("objections", ContactDirective)
    app.add_directive("claims-withdrawn", WithdrawnDirective)
    app.add_directive("bench-table", BenchDirective)
    app.add_directive("live-table", LiveDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
