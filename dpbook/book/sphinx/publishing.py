"""Sphinx extension: what a book needs at an address of its own, all of it set in ``_config.yml``.

``html.baseurl`` gives the sitemap and full addresses, ``repository.url`` the links to repository,
issues and sources; without them nothing of the kind appears.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from dpbook.book.sphinx.citing import plain_title

SITEMAP = "sitemap.xml"
_LENGTH = 200  # letters of a description: more is cut by those who show it
_BUTTONS = ("use_repository_button", "use_issues_button", "use_edit_page_button")


def link_repository(app: Sphinx, config: Config) -> None:
    """On ``config-inited``: links to the repository when its address is known, else none."""
    known = bool(config.html_theme_options.get("repository_url"))
    config.html_theme_options |= dict.fromkeys(_BUTTONS, known)


def describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """On ``html-page-context``: what search engines and previews show of a page."""
    title = plain_title(context)
    about = (opening(doctree) if doctree is not None else "") or app.config.book_description
    tags = {"og:type": "article", "og:title": title}
    tags |= {"og:description": about, "og:site_name": app.config.html_title}
    if base := app.config.html_baseurl.rstrip("/"):
        tags["og:url"] = f"{base}/{pagename}.html"
        if app.config.book_preview:
            tags["og:image"] = f"{base}/_static/{Path(app.config.book_preview).name}"
    told = [f'<meta name="description" content="{escape(about)}" />']
    told += [f'<meta property="{k}" content="{escape(v)}" />' for k, v in tags.items()]
    context["metatags"] = "\n".join([context.get("metatags") or "", *told])


def opening(doctree: nodes.document) -> str:
    """The first paragraph below the title, at most `_LENGTH` letters of it."""
    for section in doctree.findall(nodes.section):
        for child in section.children:
            if isinstance(child, nodes.paragraph):
                text = " ".join(child.astext().split())
                if len(text) <= _LENGTH:
                    return text
                return text[:_LENGTH].rpartition(" ")[0] + " …"
    return ""


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """On ``build-finished``: the address of every page, if the book has one."""
    base = app.config.html_baseurl.rstrip("/")
    if exception or app.builder.format != "html" or not base:
        return
    pages = sorted(app.env.found_docs)
    lines = [f"<url><loc>{escape(f'{base}/{page}.html')}</loc></url>" for page in pages]
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    text = f'{head}<urlset xmlns="{space}">\n' + "\n".join(lines) + "\n</urlset>\n"
    Path(app.outdir, SITEMAP).write_text(text, encoding="utf-8")
    robots = f"User-agent: *\nAllow: /\nSitemap: {base}/{SITEMAP}\n"
    Path(app.outdir, "robots.txt").write_text(robots, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("book_description", "", "html")
    app.add_config_value("book_preview", "", "html")
    app.connect("config-inited", link_repository, priority=900)
    app.connect("html-page-context", describe, priority=600)
    app.connect("build-finished", write_sitemap)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
