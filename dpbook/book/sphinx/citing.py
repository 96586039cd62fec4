"""Sphinx extension: which book this is, in every footer; how to cite a page; what has changed.

``{claim-changes}`` lists what moved from one version that was given out to the next, and up to this
build.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dpbook.book.files import about, words
from dpbook.book.run.compare import Change, changes, claimed, load, version, versions
from dpbook.book.run.editions import EDITIONS, this_edition
from dpbook.book.run.render import sources
from dpbook.book.sphinx.nodes import Row, output_dir, row_uri, table_of

_TEX = {"\\": r"\textbackslash{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"}}


def bibtex(
    citation: dict[str, Any], title: str | None, page: str, here: dict[str, str], base: str
) -> str:
    """The BibTeX entry of a page, with the version; authors and year are those of CITATION.cff.

    Without a `title` it is that of the whole book.
    """
    book = str(citation["title"])
    whole = title is None
    fields = {
        "author": " and ".join(map(_author, citation["authors"])),
        "title": f"{{{_tex(title or book)}}}",
        "booktitle": None if whole else f"{{{_tex(book)}}}",
        "year": str(citation["date-released"])[:4],
        "note": _tex(words(here)),
        "url": f"{base.rstrip('/')}/{page}.html" if base else None,
        "doi": citation.get("doi"),
    }
    kind = "book" if whole else "incollection"
    key = re.sub(r"[^a-z0-9]+", "-", f"{book} {page.rpartition('/')[2] * (not whole)}".lower())
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key.strip('-')},", *lines, "}"])


def _author(author: dict[str, str]) -> str:
    if "name" in author:
        return f"{{{_tex(author['name'])}}}"
    return f"{_tex(author['family-names'])}, {_tex(author['given-names'])}"


def _tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)


def add_footer(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """On ``html-page-context``: version, commit and profile, and how to cite the page."""
    here = about(sources(app.srcdir), output_dir(app.srcdir))
    if this_edition() != EDITIONS[0]:
        here["edition"] = this_edition()
    told = words(here)
    shown = f'<p class="about-build">{escape(told[:1].upper() + told[1:])}.</p>'
    source = Path(app.srcdir, "CITATION.cff")
    if doctree is not None and source.is_file():
        citation = yaml.safe_load(source.read_text(encoding="utf-8"))
        title = None if pagename == app.config.root_doc else plain_title(context)
        entry = bibtex(citation, title, pagename, here, app.config.html_baseurl)
        shown += (
            '\n<details class="cite-page"><summary>Cite this page</summary>\n'
            f'<pre tabindex="0" aria-label="BibTeX entry">{escape(entry)}</pre></details>'
        )
    context["theme_extra_footer"] = shown


def plain_title(context: dict[str, Any]) -> str:
    """The title of a page without markup and without its number."""
    title = html.unescape(re.sub(r"<[^>]+>", "", str(context.get("title", ""))))
    return re.sub(r"^\d+\.\s+", "", title)


def history(root: Path, out: Path) -> Iterator[tuple[str, str, list[Change]]]:
    """From, to, and what moved; the latest first: this build, then the versions, tags of git."""
    states = {name: version(root, name) for name in versions(root)}
    if (out / "claims.json").is_file():
        states["this build"] = claimed(load(out / "claims.json"))
    for before, after in reversed(list(itertools.pairwise(states))):
        yield before, after, changes(states[before], states[after])


class ChangesDirective(SphinxDirective):
    """``{claim-changes}``: a table for each version, the latest first."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        shown: list[nodes.Node] = []
        for before, after, found in history(sources(root), output_dir(root)):
            title = f"From {before} to {after}"
            section = nodes.section(ids=[nodes.make_id(title)], names=[title.lower()])
            section += nodes.title(text=title)
            rows: list[Row] = []
            for claim, kind, what in found:
                link = nodes.reference("", claim, refuri=row_uri(self.env, claim))
                rows.append([[link], kind, what])
            count = f"{len(found)} changes in {len({c.claim for c in found})} claims."
            section += nodes.paragraph(text=count if found else "Nothing moved.")
            section += [table_of(("Claim", "What happened", "From what to what"), rows)] * bool(
                rows
            )
            shown.append(section)
        self.env.note_dependency(str(output_dir(root) / "claims.json"))
        return shown or [nodes.paragraph(text="No version has been given out yet.")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", add_footer)
    app.add_directive("claim-changes", ChangesDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
