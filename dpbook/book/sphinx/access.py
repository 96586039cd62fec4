"""Sphinx extension: the HTML for readers who listen to a page, or search it.

Row headers and captions for tables, names of controls that say what is seen, no id twice.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

#: What the tools below us write, and what we make of it.
_REPLACED = {
    # the name says what is seen: the words on the bar
    ' aria-label="Toggle hidden content"': "",
    # the same id on every box
    ' id="proof-content"': "",
    ' id="exercise-content"': "",
    ' id="solution-content"': "",
    # a list has list items; the role that said "bibliography entry" has been withdrawn from ARIA
    ' role="doc-biblioentry"': ' role="listitem"',
    '<th class="stub"': '<th scope="row" class="stub"',
    '<th class="head"': '<th scope="col" class="head"',
    '<th class="head stub"': '<th scope="col" class="head stub"',
}
#: Captions of the tables that this package makes for Sphinx, where one numbered by Sphinx would
#: read "Table 2"; any other table without a caption takes the heading above it.
_CAPTIONS = {
    "claims-counts": "Verdicts by paper",
    "claims-ledger": "All claims",
    "claims-withdrawn": "What was withdrawn",
    "claims-map": "What the claims rest on, and what they are used by",
    "claims-upstream": "Where supports fail",
    "claims-told": "What fails upstream of each claim",
}
_HEADING_OR_TABLE = re.compile(r"<h[1-6][^>]*>(.*?)</h[1-6]>|<table\b[^>]*>(?!\s*<caption)", re.S)


def name_the_rows(app: Sphinx, doctree: nodes.document) -> None:
    """On ``doctree-read``: the first column of a table with a head holds the names of its rows."""
    for group in doctree.findall(nodes.tgroup):
        columns = list(group.findall(nodes.colspec))
        if len(columns) > 1 and any(group.findall(nodes.thead)):
            columns[0]["stub"] = 1


def search_prose(app: Sphinx) -> None:
    """On ``builder-inited``: code and formulas are no words of the search."""
    index_page = getattr(app.builder, "index_page", None)
    if index_page is not None:
        app.builder.index_page = lambda name, doctree, title: index_page(  # type: ignore[attr-defined]
            name, prose(doctree), title
        )


def prose(doctree: nodes.Element) -> nodes.Element:
    """A copy of a page without blocks of code, and without formulas outside of headings."""
    copy = doctree.deepcopy()
    for node in [*copy.findall(nodes.literal_block), *copy.findall(nodes.math_block)]:
        node.parent.remove(node)
    for node in list(copy.findall(nodes.math)):
        if not isinstance(node.parent, nodes.title):
            node.parent.remove(node)
    return copy


def finish_html(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """On ``html-page-context``: the same page for a screen reader."""
    if body := context.get("body"):
        context["body"] = accessible(body)
    if title := context.get("pagetitle"):  # the theme's heading for print, put in as markup
        context["pagetitle"] = html.escape(title, quote=False)


def accessible(body: str) -> str:
    """The HTML of a page with captions, scopes, and names that say what is seen."""
    for old, new in _REPLACED.items():
        body = body.replace(old, new)
    heading = ""

    def captioned(match: re.Match[str]) -> str:
        nonlocal heading
        if match[1] is not None:
            heading = re.sub(r'<a class="headerlink".*?</a>', "", match[1], flags=re.S)
            heading = html.escape(html.unescape(re.sub(r"<[^>]+>", "", heading)).strip())
            return match[0]
        for name, words in _CAPTIONS.items():
            if name in match[0]:
                return f"{match[0]}\n<caption>{words}</caption>"
        return f'{match[0]}\n<caption class="from-heading">{heading}</caption>'

    return _HEADING_OR_TABLE.sub(captioned, body)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", name_the_rows)
    app.connect("builder-inited", search_prose)
    app.connect("html-page-context", finish_html)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
