"""Sphinx extension: the finding on the front page, drawn from the ledger and the records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.util.docutils import SphinxDirective, SphinxRole

from dpbook.book.files import write_whole
from dpbook.book.ledger import words as report
from dpbook.book.ledger.check import record_problems
from dpbook.book.ledger.claims import FIVE, PAPERS, SINCE, Claim
from dpbook.book.ledger.supports import listed
from dpbook.book.live.browser import sentence
from dpbook.book.pages import outputs
from dpbook.book.reading import minutes
from dpbook.book.run.numbers import GLUE
from dpbook.book.sphinx import nodes as own
from dpbook.book.sphinx.claims import second_machine, second_machine_words


class SummaryDirective(own.ClaimsDirective):
    """``{claims-summary}``: how the statements came out, a bar for each paper, one picture.

    ``{claims-summary} scope`` says in two lines what was judged, and by whom.
    """

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        if self.arguments:
            claims = [claim for claim in self.load()[0].values() if claim.paper in FIVE]
            return self.parse_text_to_nodes(own.rendered("scope.txt", **_counts(claims)))
        uri, here = self.env.app.builder.get_relative_uri, self.env.docname
        html = summary_html(self.load()[0], uri(here, "book/ledger"), uri(here, "book/next"))
        rows = second_machine(self.env)
        told = [nodes.paragraph(text=second_machine_words(rows))] if rows else []
        return [*self.contradicted(), nodes.raw("", html, format="html"), *told]

    def contradicted(self) -> list[nodes.Node]:
        """A warning with links to the claims that this build found otherwise than recorded."""
        ledger, records = self.load()
        links: list[nodes.Node] = []
        for name, record in records.items():
            if name in ledger and record_problems(record, ledger[name]):
                uri = own.place_uri(self.env, f"notebooks/{record['notebook']}", f"claim-{name}")
                links += [nodes.Text(" "), own.link_to(name, uri)]
        if not links:
            return []
        words = "In this build these claims came out otherwise than the ledger records:"
        return [nodes.warning("", nodes.paragraph("", words, *links))]


class PageRole(SphinxRole):
    """``{page}`04-noisy-counts```: a link with number and title; number only after ``!``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name = self.text.strip().removeprefix("!")
        if not Path(self.env.srcdir, "notebooks", f"{name}.ipynb").is_file():
            return own.unknown(self, name, f"page: there is no notebooks/{name}.ipynb")
        link, _ = page_link(self.env, name, number_only=self.text.startswith("!"))
        return [link], []


def keep_numbers() -> None:
    """A page keeps the number in its name, wherever it stands: results are cited by it."""
    assign = TocTreeCollector.assign_figure_numbers
    if assign.__module__ == __name__:
        return

    def renumbered(self: TocTreeCollector, env: BuildEnvironment) -> list[str]:
        for name, anchors in env.toc_secnumbers.items():
            if name.startswith("notebooks/"):
                number = int(page_number(name))
                for anchor, found in anchors.items():
                    anchors[anchor] = found and (number, *found[1:])
                for link in env.tocs[name].findall(nodes.reference):
                    if found := link.get("secnumber"):
                        link["secnumber"] = (number, *found[1:])
                env.titles[name]["secnumber"] = (number,)
        return assign(self, env)

    TocTreeCollector.assign_figure_numbers = renumbered  # type: ignore[method-assign]


def page_number(name: str) -> str:
    """The number in the name of a page."""
    return Path(name).name.partition("-")[0].lstrip("0")


class ContentsDirective(SphinxDirective):
    """``{page-list}``: the parts of the book with their pages, numbers and minutes."""

    def run(self) -> list[nodes.Node]:
        toc = Path(self.env.srcdir, "_toc.yml")
        self.env.note_dependency(str(toc))
        shown = []
        for part in yaml.safe_load(toc.read_text(encoding="utf-8"))["parts"]:
            files = [Path(entry["file"]) for entry in part["chapters"]]
            names = [file.name for file in files if file.parts[0] == "notebooks"]
            rows = [f"* {{page}}`{n}` ({minutes(page_link(self.env, n)[1])} min)" for n in names]
            shown += [f"{part['caption']}\n: " + "\n  ".join(rows)] * bool(names)
        return self.parse_text_to_nodes("\n\n".join(shown))


class FindingDirective(SphinxDirective):
    """``{finding} PAGE FIGURE``: what we found in a sentence, a figure of the page, and a link.

    The figure is the one that the executed page holds under this name.
    """

    has_content = True
    required_arguments = 2
    option_spec: ClassVar = {"title": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        page, name = self.arguments
        link, notebook = page_link(self.env, page)
        uri = link["refuri"]
        cells = [c for c in notebook["cells"] if "figure" in c["metadata"].get("mystnb", {})]
        found = [c for c in cells if c["metadata"]["mystnb"]["figure"].get("name") == name]
        if not found:
            raise self.error(f"finding: {page} has no figure {name}")
        box = nodes.container(classes=["finding"])
        drawn = [data["image/svg+xml"] for _, data in outputs({"cells": found}) if len(data) > 1]
        if drawn:
            path = own.output_dir(self.env.srcdir) / "findings" / f"{name}.svg"
            write_whole(path, "".join(drawn[0]))
            alt = found[0]["metadata"]["mystnb"]["image"]["alt"]
            image = nodes.image(uri=f"/{path.relative_to(self.env.srcdir)}", alt=alt)
            box += nodes.paragraph("", "", nodes.reference("", "", image, refuri=uri))
        else:
            own.warn(f"finding: {page} has not run", self.env, "missing")
        box += nodes.paragraph("", "", own.link_to(self.options["title"], uri), classes=["said"])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def page_link(
    env: BuildEnvironment, name: str, *, number_only: bool = False
) -> tuple[nodes.reference, dict[str, Any]]:
    """A link with the number of a page and the heading of its notebook; and the notebook."""
    path = Path(env.srcdir, "notebooks", f"{name}.ipynb")
    env.note_dependency(str(path))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    heading = "".join(notebook["cells"][0]["source"]).splitlines()[0].removeprefix("#").strip()
    number = page_number(name)
    uri = env.app.builder.get_relative_uri(env.docname, f"notebooks/{name}")
    return own.link_to(number if number_only else f"{number}. {heading}", uri), notebook


def summary_html(ledger: Mapping[str, Claim], uri: str, further: str) -> str:
    """The finding in words, and a bar for each paper."""
    claims = [claim for claim in ledger.values() if claim.paper in FIVE]
    bars = {
        paper: _parts(claim for claim in claims if claim.paper == paper)
        for paper in dict.fromkeys(claim.paper for claim in claims)
    }
    shown = {"group": SINCE, "bars": bars, "key": _parts(claims), "ledger": uri, "further": further}
    shown["since"] = since([claim for claim in ledger.values() if claim.group == SINCE])
    return own.rendered("front.html", words=finding(claims), **shown)


def finding(claims: Iterable[Claim]) -> str:
    """What became of the distinct statements of the papers, with the severity of each mistake."""
    return own.rendered("finding.txt", **_counts(claims))


def _counts(claims: Iterable[Claim]) -> dict[str, Any]:
    """How many distinct statements there are, and mistakes among them, by severity."""
    distinct = [claim for claim in claims if claim.same_as is None]
    count = report.state_counts(distinct)
    rebuilt = sum(c.rebuilt is not None and c.state in ("holds", "shape-only") for c in distinct)
    wrong = [claim for claim in distinct if claim.is_mistake]
    mistakes = [claim for claim in wrong if claim.consequence_of is None]
    carried = sum(claim.consequence_of in {other.id for other in wrong} for claim in wrong)
    apart = [f"{count[state]} {words}" for state, words in _APART.items() if count[state]]
    return {
        "papers": PAPERS,
        "distinct": len(distinct),
        "mistakes": len(mistakes),
        "rebuilt": rebuilt,
        "carried": carried,
        "after": len(wrong) - len(mistakes) - carried,
        "apart": listed(apart) if apart else "",
        "count": count,
        "marked": sum(claim.breaks_privacy for claim in distinct),
        "worst": Counter(str(claim.severity) for claim in mistakes),
    }


#: What is counted apart from the mistakes.
_APART = {
    "slip": "are slips of wording",
    "unproved": "are unproved and open",
    "undecided": "depend on a symbol or a formula that our copy may have lost",
    "not-judged": "are not judged",
    "pending": "are not checked yet",
}


def since(claims: list[Claim]) -> str:
    """What became of the statements of all other papers, in a sentence; empty without any."""
    counts = report.state_counts(claims).items()
    words = "; ".join(f"{report.STATES[state][1]} ({count})" for state, count in counts if count)
    return words and f"The ledger also lists {len(claims)} statements of newer papers: {words}."


def _parts(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """The distinct claims by verdict; of the false ones, also by severity, the gravest first."""
    count = Counter(
        (c.state, str(c.severity) * (c.state == "false-repaired"))
        for c in claims
        if c.same_as is None
    )
    kinds = [
        (state, severity)
        for state in report.STATES
        for severity in (report.SEVERITY_HEADINGS if state == "false-repaired" else [""])
        if count[state, severity]
    ]
    return [
        {
            "look": f"claim-{state}" + " claim-privacy" * (severity == "privacy"),
            "query": f"verdict={state}" + f"&severity={severity}" * bool(severity),
            "count": count[state, severity],
            "mark": report.PRIVACY_MARK[0] if severity == "privacy" else report.STATES[state][0],
            "words": report.STATES[state][1] + f" ({severity})" * bool(severity),
        }
        for state, severity in kinds
    ]


class RecordedRole(SphinxRole):
    """``{recorded}`CCW25-ALG2 l1_sensitivity .2f```: a number of the records of this build.

    With the name of a page in the first place, what this page quotes in a sentence under a name.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name, key, shape = (*self.text.split(), "", "")[:3]
        if (Path(self.env.srcdir) / f"notebooks/{name}.ipynb").is_file():
            return self.quoted(name, key, shape), []
        records = own.read_json(self.env, own.output_dir(self.env.srcdir) / "claims.json") or ()
        numbers = {record["id"]: record["report"] for record in records}.get(name)
        if numbers is None:
            own.warn(f"recorded: {name} has no record in this build", self.env, "missing")
            return [nodes.literal(text=self.text)], []
        if key not in numbers:
            return own.unknown(self, self.text, f"recorded: {name} does not report {key}")
        return [nodes.Text(format(numbers[key], shape or "g"))], []

    def quoted(self, page: str, key: str, shape: str) -> list[nodes.Node]:
        """A number, or a word, that a sentence of a page quotes."""
        for output, data in outputs(page_link(self.env, page)[1]):
            if output.get("metadata", {}).get("scrapbook", {}).get("name") == key:
                return [nodes.Text(sentence("".join(data[GLUE]), shape))]
        own.warn(f"recorded: {page} quotes no {key} in this build", self.env, "missing")
        return [nodes.literal(text=key)]
