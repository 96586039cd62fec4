"""Sphinx extension: the finding on the front page, drawn from the ledger and the records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from jinja2 import Environment, PackageLoader
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from dpbook.book import report
from dpbook.book.ledger import FIVE, SINCE, Claim
from dpbook.book.reading import minutes
from dpbook.book.sphinx_ext import (
    ClaimsDirective,
    _link,
    _unknown,
    second_machine,
    second_machine_words,
)

_TEMPLATES = Environment(
    loader=PackageLoader("dpbook.book"), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
#: Width of "as promised" in the picture, in per cent; there is room for a loss of 2.4 times that.
_UNIT = 33
#: The recorded losses that the picture shows.
_BROKEN = (
    ("CCW25-ALG3", "set_loss_over_eps_n2_k1_L1_m10_eps1"),
    ("CCW25-F8", "cems_counts_spend_per_eps"),
    ("CCW25-F8", "immigration_counts_spend_per_eps"),
    ("YLL-DPKS", "worst_loss_over_eps_m3_replace"),
)


class SummaryDirective(ClaimsDirective):
    """``{claims-summary}``: how the statements came out, a bar for each paper, one picture."""

    def run(self) -> list[nodes.Node]:
        ledger, records = self.load()
        here, builder = self.env.docname, self.env.app.builder
        uris = [builder.get_relative_uri(here, f"book/{name}") for name in ("ledger", "next")]
        html = summary_html(ledger, records, *uris)
        rows = second_machine(self.env)
        told = [nodes.paragraph(text=second_machine_words(rows))] if rows else []
        return [nodes.raw("", html, format="html"), *told]


class PageRole(SphinxRole):
    """``{page}`04-noisy-counts```: a link with number and title; number only after ``!``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name = self.text.strip().removeprefix("!")
        if not Path(self.env.srcdir, "notebooks", f"{name}.ipynb").is_file():
            return _unknown(self, name, f"page: there is no notebooks/{name}.ipynb")
        link, _ = page_link(self.env, name, number_only=self.text.startswith("!"))
        return [link], []


class ContentsDirective(SphinxDirective):
    """``{page-list}``: the parts of the book with their pages, numbers and minutes."""

    def run(self) -> list[nodes.Node]:
        toc = Path(self.env.srcdir, "_toc.yml")
        self.env.note_dependency(str(toc))
        found = nodes.definition_list()
        for part in yaml.safe_load(toc.read_text(encoding="utf-8"))["parts"]:
            files = [Path(entry["file"]) for entry in part["chapters"]]
            rows = nodes.bullet_list()
            for name in [file.name for file in files if file.parts[0] == "notebooks"]:
                link, notebook = page_link(self.env, name)
                took = nodes.Text(f" ({minutes(notebook)} min)")
                rows += nodes.list_item("", nodes.paragraph("", "", link, took))
            if len(rows):
                term = nodes.term(text=part["caption"])
                found += nodes.definition_list_item("", term, nodes.definition("", rows))
        return [found]


def page_link(
    env: BuildEnvironment, name: str, *, number_only: bool = False
) -> tuple[nodes.reference, dict[str, Any]]:
    """A link with the number of a page and the heading of its notebook; and the notebook."""
    path = Path(env.srcdir, "notebooks", f"{name}.ipynb")
    env.note_dependency(str(path))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    heading = "".join(notebook["cells"][0]["source"]).splitlines()[0].removeprefix("#").strip()
    number = name.partition("-")[0].lstrip("0")
    uri = env.app.builder.get_relative_uri(env.docname, f"notebooks/{name}")
    return _link(number if number_only else f"{number}. {heading}", uri), notebook


def summary_html(
    ledger: Mapping[str, Claim], records: Mapping[str, Mapping[str, Any]], uri: str, further: str
) -> str:
    """The finding in words, the bars, and the broken guarantees as far as recorded."""
    claims = [claim for claim in ledger.values() if claim.paper in FIVE]
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    later = [claim for claim in ledger.values() if claim.group == SINCE]
    bars = []
    for paper in papers:
        of_paper = [claim for claim in claims if claim.paper == paper]
        bars.append({"paper": paper, "total": len(of_paper), "parts": _parts(of_paper)})
    broken = []
    for name, key in _BROKEN:
        if name in records and key in records[name]["report"]:
            row = {"name": name, "label": ledger[name].label(key).removesuffix(" (ε)")}
            broken.append(row | {"factor": float(records[name]["report"][key])})
    told = "; ".join(f"{row['label']}: {row['factor']:.2f} times the promise" for row in broken)
    return _TEMPLATES.get_template("front.html.j2").render(
        words=finding(claims, len(papers)),
        since=since(later),
        group=SINCE,
        bars=bars,
        key=_parts(claims),
        broken=broken,
        alt=f"Bars, blue as far as the promise, orange beyond it. {told}.",
        unit=_UNIT,
        ledger=uri,
        further=further,
    )


def finding(claims: list[Claim], papers: int) -> str:
    """What became of the statements of the papers, in one sentence."""
    count = report.state_counts(claims)
    rest = ("proof-repaired", "empty", "shape-only", "definition", "refuted", "pending")
    true = count["holds"] + count["holds-loosely"]
    said = [f"{true} hold ({count['holds-loosely']} of them loosely)"]
    said += [f"{count[state]} are {_PLURAL[state]}" for state in rest if count[state]]
    broken = sum(claim.breaks_privacy for claim in claims)
    return (
        f"Of {len(claims)} statements in {papers} papers {', '.join(said)}, and "
        f"{count['false-repaired']} are false as printed, each with a repair; "
        f"in {broken} of these a promised privacy guarantee is broken."
    )


def since(claims: list[Claim]) -> str:
    """What became of the statements of all other papers, in a sentence; empty without any."""
    counts = report.state_counts(claims)
    told = [f"{count} {report.STATES[state][1]}" for state, count in counts.items() if count]
    words = f"Of papers since then the ledger lists {len(claims)} statements: {', '.join(told)}."
    return words if claims else ""


_PLURAL = {
    "proof-repaired": "true but needed another proof",
    "empty": "true but empty",
    "shape-only": "rates of which only the shape was tested",
    "definition": "definitions",
    "refuted": "refuted without a repair",
    "pending": "not checked yet",
}


def _parts(claims: list[Claim]) -> list[dict[str, Any]]:
    return [
        {
            "state": state,
            "count": n,
            "mark": report.STATES[state][0],
            "words": report.STATES[state][1],
        }
        for state, n in report.state_counts(claims).items()
        if n
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("claims-summary", SummaryDirective)
    app.add_directive("page-list", ContentsDirective)
    app.add_role("page", PageRole())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
