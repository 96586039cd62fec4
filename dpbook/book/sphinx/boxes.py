"""Sphinx extension: boxes of a page: what a paper claims, how the page opens, what to remember."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from dpbook.book.ledger.claims import Claim
from dpbook.book.reading import minutes
from dpbook.book.sphinx.nodes import badge_of, ledger_of, link_to, place_uri, row_uri, unknown


class ClaimDirective(SphinxDirective):
    """``{claim} CCW25-T3.3``: a statement of a paper, in the colour of its verdict.

    Several ids may follow each other; the box takes the colour of the first.  The option ``title``
    says what the statement is about, ``where`` replaces the ledger's place in the paper.
    """

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"title": directives.unchanged, "where": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        names, ledger = self.arguments[0].split(), ledger_of(self.env)
        if unknown := [name for name in names if name not in ledger]:
            raise self.error(f"claim: {', '.join(unknown)} is not in book/claims.yml")
        claims = [ledger[name] for name in names]
        box = nodes.admonition(classes=["claim-box", f"claim-{claims[0].state}"])
        if any(claim.breaks_privacy for claim in claims):
            box["classes"].append("claim-privacy")
        box += self.title(claims)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]

    def title(self, claims: list[Claim]) -> nodes.title:
        """The place in the paper, what it is about, and the verdicts, each with a link."""
        where = self.options.get("where") or place(claims[0])
        targets = [nodes.target("", "", ids=[box_id(claim.id)]) for claim in claims]
        title = nodes.title("", "", *targets, nodes.strong(text=where))
        if words := self.options.get("title"):
            children, messages = self.state.inline_text(f" {words}", self.lineno)
            title += [*children, *messages]
        for claim in claims:
            title += [nodes.Text(" "), badge_of(self.env, claim)]
        return title


class ClaimRefRole(SphinxRole):
    """``{claim-ref}`CCW25-T3.3```: a link to the box of a claim, or to the row of a pending one."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        match = re.fullmatch(r"(?:(.*\S)\s*<([^<>]+)>|(\S+))", self.text.strip(), re.DOTALL)
        words, name = (match[1], match[2] or match[3]) if match else (None, self.text)
        claim = ledger_of(self.env).get(name)
        if claim is None:
            return unknown(self, name, f"claim-ref: {name!r} is not in book/claims.yml")
        uri = row_uri(self.env, name)
        if claim.checked and has_box(self.env, claim):
            uri = place_uri(self.env, f"notebooks/{claim.notebook}", box_id(name))
        return [link_to(words or place(claim), uri)], []


class PageBox(SphinxDirective):
    """A box with a title of its own."""

    has_content = True
    words: ClassVar[str]
    look: ClassVar[str]

    def run(self) -> list[nodes.Node]:
        box = nodes.admonition("", nodes.title(text=self.words), classes=[self.look])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class PageOpensDirective(PageBox):
    """``{page-opens}``: what a reader will learn and needs, and how long the page takes."""

    words, look = "On this page", "page-opens"

    def run(self) -> list[nodes.Node]:
        (box,) = super().run()
        path = Path(self.env.doc2path(self.env.docname))
        if path.suffix == ".ipynb":
            took = minutes(json.loads(path.read_text("utf-8")))
            words = nodes.Text(f"About {took} minutes, without exercises.")
            box += nodes.paragraph("", "", nodes.strong(text="Time. "), words)
        return [box]


class RememberDirective(PageBox):
    """``{remember}``: what to take away from a page."""

    words, look = "To remember", "page-remember"


#: What the ledger shortens, in full for a heading.
_WORDS = {
    "Thm": "Theorem", "Thms": "Theorems", "Prop.": "Proposition", "Props": "Propositions",
    "Cor.": "Corollary", "Cors": "Corollaries", "Def.": "Definition", "Defs": "Definitions",
    "Fig.": "Figure", "Figs": "Figures", "Exp.": "Experiment", "Algs": "Algorithms",
    "eq.": "equation", "eqs": "equations",
}  # fmt: skip


def place(claim: Claim) -> str:
    """Paper and place in it: "CCW25, Theorem 3.3"; for a result of ours its name."""
    if claim.paper == "BOOK":
        return claim.id
    words = " ".join(_WORDS.get(word, word) for word in claim.where.split())
    return f"{claim.paper}, {words.split(', proof')[0]}"


def has_box(env: BuildEnvironment, claim: Claim) -> bool:
    """Whether the page of a claim shows its statement in a box; some stand in theorems."""
    path = Path(env.srcdir, "notebooks", f"{claim.notebook}.ipynb")
    env.note_dependency(str(path))
    return path.is_file() and claim.id in _in_boxes(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)  # every reference to a claim of the page asks
def _in_boxes(path: Path, changed: int) -> set[str]:
    boxes = re.findall(r"\{claim\}([^\\\n]*)", path.read_text(encoding="utf-8"))
    return {name for box in boxes for name in re.findall(r"[\w.-]+", box)}


def box_id(name: str) -> str:
    return f"box-{name}"


def explain_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """On ``doctree-resolved``: a link to a term says what it means when it is hovered over."""
    meanings = glossary(app)
    for link in doctree.findall(nodes.reference):
        name = link.get("refid") or link.get("refuri", "").partition("#")[2]
        if name.startswith("term-") and name in meanings:
            link["reftitle"] = meanings[name]


@lru_cache(maxsize=1)  # every page asks
def glossary(app: Sphinx) -> dict[str, str]:
    """The first paragraph of every entry of the glossary, by the id of its term."""
    if "book/glossary" not in app.env.found_docs:
        return {}
    found: dict[str, str] = {}
    for item in app.env.get_doctree("book/glossary").findall(nodes.definition_list_item):
        words = item.next_node(nodes.paragraph)
        for term in item.findall(nodes.term):
            found |= dict.fromkeys(term["ids"], _plain(words.astext() if words else ""))
    return found


def _plain(words: str) -> str:
    """A sentence with formulas, for a place that shows no formulas."""
    for name, letter in (("varepsilon", "ε"), ("varphi", "φ"), ("delta", "δ")):
        words = words.replace(f"\\{name}", letter)
    return words


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("claim", ClaimDirective)
    app.add_directive("page-opens", PageOpensDirective)
    app.add_directive("remember", RememberDirective)
    app.add_role("claim-ref", ClaimRefRole())
    app.connect("doctree-resolved", explain_terms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
