"""Sphinx extension: a book at an address of its own, which it is, how to cite it, what changed.

In ``_config.yml`` ``html.baseurl`` gives the sitemap and full addresses, ``repository.url`` the
links to repository, issues and sources; without them nothing of the kind appears.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from dpbook.book.files import about, words
from dpbook.book.run.compare import Change, changes, claimed, load, version, versions
from dpbook.book.run.editions import EDITIONS, this_edition
from dpbook.book.run.render import sources
from dpbook.book.sphinx import nodes as own

_BUTTONS = ("use_repository_button", "use_issues_button", "use_edit_page_button")
_TEX = str.maketrans({"\\": r"\textbackslash{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"}})


def fill_in(app: Sphinx, config: Config) -> None:
    """On ``config-inited``: what follows from the two addresses."""
    known = bool(config.html_theme_options.get("repository_url"))
    config.html_theme_options |= dict.fromkeys(_BUTTONS, known)
    config.ogp_type, config.ogp_social_cards = "article", {"enable": False}
    config.ogp_site_name = config.html_title
    if config.html_baseurl:
        config.html_baseurl = config.ogp_site_url = config.html_baseurl.rstrip("/") + "/"
        config.sitemap_url_scheme = "{link}"  # no language, no version
        if config.book_preview:
            config.ogp_image = f"_static/{Path(config.book_preview).name}"


def describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """On ``html-page-context``: words for search engines, if it has none, and the footer."""
    tags = context.get("metatags") or ""
    if 'name="description"' not in tags:
        content = escape(app.config.book_description)
        context["metatags"] = f'{tags}\n<meta name="description" content="{content}" />'
    here = about(sources(app.srcdir), own.output_dir(app.srcdir))
    if this_edition() != EDITIONS[0]:
        here["edition"] = this_edition()
    state = words(here)
    footer = f'<p class="about-build">{escape(state[:1].upper() + state[1:])}.</p>'
    source = Path(app.srcdir, "CITATION.cff")
    if doctree is not None and source.is_file():
        plain = unescape(re.sub(r"<[^>]+>", "", str(context.get("title", ""))))
        title = None if pagename == app.config.root_doc else re.sub(r"^\d+\.\s+", "", plain)
        citation = yaml.safe_load(source.read_text(encoding="utf-8"))
        entry = bibtex(citation, title, pagename, here, app.config.html_baseurl)
        footer += (
            '\n<details class="cite-page"><summary>Cite this page</summary>\n'
            f'<pre tabindex="0" aria-label="BibTeX entry">{escape(entry)}</pre></details>'
        )
    context["theme_extra_footer"] = footer


def bibtex(
    citation: dict[str, Any], title: str | None, page: str, here: dict[str, str], base: str
) -> str:
    """The BibTeX entry of a page, or without a `title` of the whole book, with its version.

    Authors and year are those of ``CITATION.cff``.
    """
    book = str(citation["title"])
    names = [
        f"{{{_tex(one['name'])}}}"
        if "name" in one
        else f"{_tex(one['family-names'])}, {_tex(one['given-names'])}"
        for one in citation["authors"]
    ]
    fields = {
        "author": " and ".join(names),
        "title": f"{{{_tex(title or book)}}}",
        "booktitle": title and f"{{{_tex(book)}}}",
        "year": str(citation["date-released"])[:4],
        "note": _tex(words(here)),
        "url": f"{base.rstrip('/')}/{page}.html" if base else None,
        "doi": citation.get("doi"),
    }
    key = f"{book} {page.rpartition('/')[2]}" if title else book
    key = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'incollection' if title else 'book'}{{{key},", *lines, "}"])


def _tex(text: str) -> str:
    return text.translate(_TEX)


def history(root: Path, out: Path) -> Iterator[tuple[str, str, list[Change]]]:
    """From, to, and what moved; the latest first: this build, then the versions, tags of git."""
    states = {name: version(root, name) for name in versions(root)}
    if (out / "claims.json").is_file():
        states["this build"] = claimed(load(out / "claims.json"))
    for before, after in reversed(list(pairwise(states))):
        yield before, after, changes(states[before], states[after])


class ChangesDirective(SphinxDirective):
    """``{claim-changes}``: what moved from version to version, and up to this build."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(own.output_dir(root) / "claims.json"))
        shown: list[nodes.Node] = []
        for before, after, moved in history(sources(root), own.output_dir(root)):
            rows: list[own.Row] = [
                [[own.link_to(claim, own.row_uri(self.env, claim))], kind, what]
                for claim, kind, what in moved
            ]
            count = f"{len(moved)} changes in {len({one.claim for one in moved})} claims."
            words = nodes.paragraph(text=count if moved else "Nothing moved.")
            table = own.table_of(("Claim", "What happened", "From what to what"), rows)
            title = f"From {before} to {after}"
            shown.append(own.chapter(nodes.make_id(title), title, words, *[table] * bool(moved)))
        return shown or [nodes.paragraph(text="No version has been given out yet.")]
