"""Sphinx extension: the HTML for readers who listen to a page, or search it.

Row headers and captions for tables, names of controls that say what is seen, no id twice.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

#: What the writers below us put into a page, and what we make of it.
_REPLACED = {
    # the name says what is seen: the words on the bar
    ' aria-label="Toggle hidden content"': "",
    # a list has list items; the role that said "bibliography entry" has been withdrawn from ARIA
    ' role="doc-biblioentry"': ' role="listitem"',
    '<th class="stub"': '<th scope="row" class="stub"',
    '<th class="head': '<th scope="col" class="head',
}
#: The same on every box.
_REPEATED = {"proof-content", "exercise-content", "solution-content"}
_BARE = re.compile(r"<table\b[^>]*>(?!\s*<caption)")


class NameTheTables(SphinxPostTransform):
    """Every table gets a caption, and names of its rows in the first column; no id stands twice."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_: Any) -> None:
        caption = ""
        for node in list(self.document.findall()):
            if isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
                caption = f'\n<caption class="from-heading">{escape(node.astext())}</caption>'
            elif isinstance(node, nodes.table) and isinstance(node[0], nodes.tgroup):
                node.insert(0, nodes.raw("", caption, format="html"))
            elif isinstance(node, nodes.raw) and _BARE.search(node.astext()):
                pieces = re.split(f"({_BARE.pattern})", node.astext())
                node[:] = [nodes.Text("".join(p + caption * (i % 2) for i, p in enumerate(pieces)))]
            elif isinstance(node, nodes.tgroup) and any(node.findall(nodes.thead)):
                if len(columns := list(node.findall(nodes.colspec))) > 1:
                    columns[0]["stub"] = 1
            elif isinstance(node, nodes.section):
                node["ids"] = [name for name in node["ids"] if name not in _REPEATED]


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
    for kind in (nodes.literal_block, nodes.math_block, nodes.math):
        for node in list(copy.findall(kind)):
            if not isinstance(node.parent, nodes.title):
                node.parent.remove(node)
    return copy


def finish_html(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """On ``html-page-context``: the same page for a screen reader, and each script once."""
    for old, new in _REPLACED.items() if context.get("body") else ():
        context["body"] = context["body"].replace(old, new)
    if title := context.get("pagetitle"):  # the theme's heading for print, put in as markup
        context["pagetitle"] = escape(title, quote=False)
    scripts = context.get("script_files", [])  # one that two extensions add is an error in browsers
    bodies = [getattr(script, "attributes", {}).get("body") for script in scripts]
    scripts[:] = [s for i, s in enumerate(scripts) if not bodies[i] or bodies[i] not in bodies[:i]]
