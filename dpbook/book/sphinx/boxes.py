"""Sphinx extension: boxes of a page: what a paper claims, how the page opens, what to remember."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from myst_nb.core.render import MimeData, NbElementRenderer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dpbook.book.ledger.check import CERTIFICATE_MIME, RECORD_MIME, record_problems
from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.words import card_html
from dpbook.book.pages import SERIES_MIME
from dpbook.book.reading import details, minutes
from dpbook.book.sphinx import nodes as own


class ClaimDirective(SphinxDirective):
    """``{claim} CCW25-T3.3``: a statement of a paper, in the colour of its verdict.

    Several ids may follow each other; the box takes the colour of the first.  The option ``title``
    says what the statement is about, ``where`` replaces the ledger's own.place in the paper.
    """

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"title": directives.unchanged, "where": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        names, ledger = self.arguments[0].split(), own.ledger_of(self.env)
        if unknown := [name for name in names if name not in ledger]:
            raise self.error(f"claim: {', '.join(unknown)} is not in book/claims.yml")
        claims = [ledger[name] for name in names]
        for name in names:
            self.env.get_domain("claim").note("boxes", name)  # type: ignore[attr-defined]
        box = nodes.admonition(classes=["claim-box", f"claim-{claims[0].state}"])
        if any(claim.breaks_privacy for claim in claims):
            box["classes"].append("claim-privacy")
        box += self.title(claims)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]

    def title(self, claims: list[Claim]) -> nodes.title:
        """The own.place in the paper, what it is about, and the verdicts, each with a link."""
        where = self.options.get("where") or own.place(claims[0])
        targets = [nodes.target("", "", ids=[f"box-{claim.id}"]) for claim in claims]
        title = nodes.title("", "", *targets, nodes.strong(text=where))
        if words := self.options.get("title"):
            children, messages = self.state.inline_text(f" {words}", self.lineno)
            title += [*children, *messages]
        for claim in claims:
            title += [nodes.Text(" "), own.badge_ref(claim)]
        return title


class PageBox(SphinxDirective):
    """``{page-opens}``: what a reader will learn and needs, and how long the page takes.

    ``{remember}``: what to take away from it.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        opens = self.name == "page-opens"
        words, look = ("On this page", "page-opens") if opens else ("To remember", "page-remember")
        box = nodes.admonition("", nodes.title(text=words), classes=[look])
        self.state.nested_parse(self.content, self.content_offset, box)
        path = Path(self.env.doc2path(self.env.docname))
        if opens and path.suffix == ".ipynb":
            page = json.loads(path.read_text("utf-8"))
            spare = minutes(details(page))
            words = f" and {spare} for the details, which you can skip at first," * bool(spare)
            words = f"About {minutes(page) - spare} minutes read aloud,{words} without exercises."
            time = nodes.Text(words)
            box += nodes.paragraph("", "", nodes.strong(text="Time. "), time)
        return [box]


class QuizDirective(SphinxDirective):
    """``{quiz} A question?``: answers to click on, each with what is to be said of it.

    A line of its content is ``* [x] answer | why it is right`` or ``* [ ] answer | why not``, and
    one of them is right.  The answers fold, so that they work without a script.
    """

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        found = re.findall(r"(?m)^\* \[([x ])\] (.+?) \| (.+)$", "\n".join(self.content))
        marks = [mark for mark, *_ in found]
        if len(found) != len([*filter(str.strip, self.content)]) or marks.count("x") != 1:
            raise self.error("quiz: each line is '* [x] answer | why' or '* [ ] answer | why not'")
        question = nodes.paragraph("", "", nodes.strong(text="Question. "))
        question += self.parse_inline(" ".join(self.arguments[0].split()))[0]
        box = nodes.container("", question, classes=["quiz"])
        for mark, answer, why in found:
            said = ("Yes. ", "right") if mark == "x" else ("No. ", "wrong")
            named = '<details><summary><span class="visually-hidden">Answer: </span>'
            box += nodes.raw("", named, format="html")  # a formula alone is no name
            box += nodes.inline("", "", *self.parse_inline(answer)[0])
            box += nodes.raw("", "</summary>", format="html")
            told = nodes.paragraph("", "", nodes.strong(text=said[0]), classes=[f"quiz-{said[1]}"])
            told += self.parse_inline(why)[0]
            box += [told, nodes.raw("", "</details>", format="html")]
        return [box]


def explain_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """On ``doctree-resolved``: hovering says what a term means, and what a figure shows."""
    meanings = glossary(app)
    for link in doctree.findall(nodes.reference):
        name = link.get("refid") or link.get("refuri", "").partition("#")[2]
        if name.startswith("term-") and name in meanings:
            link["reftitle"] = meanings[name]
        elif isinstance(place := doctree.ids.get(name), nodes.figure):
            link["reftitle"] = "".join(said.astext() for said in place.findall(nodes.caption))


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
    """A sentence with formulas, for a own.place that shows no formulas."""
    for name, letter in (("varepsilon", "ε"), ("varphi", "φ"), ("delta", "δ")):
        words = words.replace(f"\\{name}", letter)
    return words


class ClaimCard:
    """Draws the record that a check leaves in a notebook: an entry point of MyST-NB."""

    mime_priority_overrides: ClassVar = [("*", RECORD_MIME, 1)]

    @staticmethod
    def handle_mime(
        renderer: NbElementRenderer, data: MimeData, inline: bool
    ) -> list[nodes.Element] | None:
        """The card of a claim, with its state in the ledger of today; nothing of other records."""
        if data.mime_type != RECORD_MIME:
            return [] if data.mime_type in (CERTIFICATE_MIME, SERIES_MIME) else None
        record: dict[str, Any] = data.content
        env = renderer.renderer.sphinx_env
        claim = own.ledger_of(env)[record["id"]]
        env.get_domain("claim").note("cards", claim.id)
        beside = own.row_uri(env, claim.id), own.around(env, claim), own.theorem(env, claim)
        html = card_html(record, claim, record_problems(record, claim), *beside)
        return [nodes.raw("", html, format="html", classes=["output", "text_html"])]
