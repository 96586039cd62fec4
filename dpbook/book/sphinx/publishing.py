"""Sphinx extension: what a book needs at an address of its own, all of it set in ``_config.yml``.

``html.baseurl`` gives the sitemap and full addresses, ``repository.url`` the links to repository,
issues and sources; without them nothing of the kind appears.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

_BUTTONS = ("use_repository_button", "use_issues_button", "use_edit_page_button")


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
    """On ``html-page-context``: what search engines show of a page without words of its own."""
    tags = context.get("metatags") or ""
    if 'name="description"' not in tags:
        words = escape(app.config.book_description)
        context["metatags"] = f'{tags}\n<meta name="description" content="{words}" />'


def setup(app: Sphinx) -> None:
    app.add_config_value("book_description", "", "html")
    app.add_config_value("book_preview", "", "html")
    app.setup_extension("sphinxext.opengraph")
    if app.config.html_baseurl:  # else it warns that there is none
        app.setup_extension("sphinx_sitemap")
    app.connect("config-inited", fill_in, priority=900)
    app.connect("html-page-context", describe, priority=600)
