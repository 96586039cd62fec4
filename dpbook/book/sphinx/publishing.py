"""Sphinx extension: a book at an address of its own, which it is, how to cite it.

``CITATION.cff`` says who answers for the book: version, date, licence, authors and, if it has them,
``contact``, ``url`` (for the sitemap and full addresses) and ``repository-code`` (for links to the
repository, its issues and the form for objections).
"""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx
from sphinx.config import Config

from dpbook.book.files import about, words
from dpbook.book.ledger.words import state_words
from dpbook.book.run.editions import EDITIONS, this_edition
from dpbook.book.run.render import sources
from dpbook.book.sphinx import nodes as own

_BUTTONS = ("use_repository_button", "use_issues_button", "use_edit_page_button")
_TEX = str.maketrans({"\\": r"\textbackslash{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"}})


def identify(app: Sphinx) -> None:
    """Take what ``CITATION.cff`` says into the settings; `_config.yml` fills what it leaves out."""
    config, citation = app.config, cited(app)
    config.author = ", ".join(authors(citation))
    config.copyright = f"{str(citation.get('date-released'))[:4]}, {config.author}"
    config.html_baseurl = citation.get("url", config.html_baseurl)
    if place := citation.get("repository-code"):
        config.html_theme_options["repository_url"] = place
    for who in citation.get("contact", ()):
        config.book_contact = who.get("email") or who.get("website", "")


def cited(app: Sphinx) -> dict[str, Any]:
    """What stands in ``CITATION.cff``, if there is one."""
    path = Path(app.srcdir, "CITATION.cff")
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def authors(citation: dict[str, Any]) -> list[str]:
    """The names of the authors, people or groups."""
    people = citation.get("authors", ())
    return [one.get("name") or f"{one['given-names']} {one['family-names']}" for one in people]


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
    """On ``html-page-context``: words for search engines and catalogues, and the footer."""
    tags = context.get("metatags") or ""
    if 'name="description"' not in tags:
        content = escape(app.config.book_description)
        context["metatags"] = f'{tags}\n<meta name="description" content="{content}" />'
    here = about(sources(app.srcdir), own.output_dir(app.srcdir))
    if this_edition() != EDITIONS[0]:
        here["edition"] = this_edition()
    state = words(here)
    footer = f'<p class="about-build">{escape(state[:1].upper() + state[1:])}.</p>'
    if doctree is not None and (citation := cited(app)):
        plain = unescape(re.sub(r"<[^>]+>", "", str(context.get("title", ""))))
        title = None if pagename == app.config.root_doc else re.sub(r"^\d+\.\s+", "", plain)
        context["metatags"] += catalogued(app, citation, title or str(citation["title"]), pagename)
        entry = bibtex(citation, title, pagename, here, app.config.html_baseurl)
        footer += (
            '\n<details class="cite-page"><summary>Cite this page</summary>\n'
            f'<pre tabindex="0" aria-label="BibTeX entry">{escape(entry)}</pre></details>'
        )
    context["theme_extra_footer"] = footer


def catalogued(app: Sphinx, citation: dict[str, Any], title: str, page: str) -> str:
    """A page for machines: ``citation_*`` tags, and JSON-LD with a review of each of its claims."""
    day, base, names = str(citation["date-released"]), app.config.html_baseurl, authors(citation)
    url = {"url": f"{base}{page}.html"} if base else {}
    tags = [("title", title), *(("author", one) for one in names), ("publication_date", day)]
    tags += [("public_url", one) for one in url.values()]
    shared: dict[str, Any] = {"author": [{"@type": "Organization", "name": one} for one in names]}
    shared |= {"datePublished": day}
    whole = {"@type": "Book", "name": citation["title"], "version": citation["version"]}
    whole |= shared | {"license": citation["license"], "inLanguage": "en"}
    part = {"@type": "ScholarlyArticle", "headline": title, **shared, **url, "isPartOf": whole}
    graph = [whole | url if page == app.config.root_doc else part]
    domain = app.env.get_domain("claim")
    for claim in own.ledger_of(app.env, reading=False).values():
        there, anchor = domain.where(claim)  # type: ignore[attr-defined]
        if there == page and claim.checked:
            paper = {"@type": "ScholarlyArticle", "name": own.place(claim)}
            rating = {"@type": "Rating", "alternateName": state_words(claim)}
            review: dict[str, Any] = {
                "@type": "ClaimReview",
                "claimReviewed": claim.says,
                "reviewRating": rating,
            }
            review |= shared | {"url": f"{url.get('url', '')}#{anchor}"}
            graph.append(review | {"itemReviewed": {"@type": "Claim", "appearance": paper}})
    data = json.dumps({"@context": "https://schema.org", "@graph": graph}, ensure_ascii=False)
    metas = (f'\n<meta name="citation_{name}" content="{escape(text)}" />' for name, text in tags)
    data = data.replace("<", "\\u003c")  # nothing in it ends the script
    return "".join(metas) + f'\n<script type="application/ld+json">{data}</script>'


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
