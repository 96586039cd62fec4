"""One HTML document for paper, made of pages of the built book; `tools/pdf.py` prints it.

What makes no sense on paper goes: panels, buttons, editors, folded code.  What a reader opens on
the screen stands open.  Solutions come last, with links from exercise to solution and back.  Every
id gets its page's name in front, so that links between pages are links within the document.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement
from jinja2 import Environment
from markupsafe import Markup, escape

FRONT = "book/index.html"
#: Goes without a trace; folded cells hold code only, their outputs stand beside them.
GONE = (
    "details.hide, .headerlink, script, form, button, input, progress, details.live, .copybtn,"
    " .claim-filters, .slider, .toggle-button"
)
_REFERENCES = ("for", "headers", "aria-describedby", "aria-labelledby", "aria-controls")
#: Stands where a page number comes in once it is known.
_NUMBER = '<span class="page-number" data-page-of="{}">0000</span>'


class Chapter(NamedTuple):
    """One page of the book: what its ids begin with, title and part, and the article."""

    key: str
    title: str
    part: str
    article: Tag
    solutions: list[Tag]


def outline_of(html: Path) -> list[tuple[str, str]]:
    """Path and part of every page, in the order of the book, as its own navigation has them."""
    soup = _soup(html / FRONT)
    pages, part = [(FRONT, "")], ""
    for node in soup.select(
        "nav.bd-docs-nav p.caption, nav.bd-docs-nav li.toctree-l1 > a.internal"
    ):
        if node.name == "p":
            part = node.get_text(" ", strip=True)
        else:
            path = posixpath.normpath(posixpath.join("book", str(node["href"]).split("#")[0]))
            if path not in (FRONT, "book") and (html / path).is_file():
                pages.append((path, part))
    return pages


def read_chapter(html: Path, path: str, part: str, known: Mapping[str, str]) -> Chapter:
    """Read one page and make it fit for paper; `known` maps the paths of all pages to their ids."""
    soup = _soup(html / path)
    article = soup.select_one("article.bd-article")
    if article is None:
        raise ValueError(f"{path} has no <article>; is {html} a built book?")
    for node in article.select(GONE):
        node.decompose()
    for details in article.select("details"):  # a reader on the screen opens them
        if summary := details.find("summary"):
            summary.name = "p"
            summary["class"] = "print-summary"
        details.name = "div"
    for editor in article.select("div.try"):  # the code that it begins with
        code = escape(editor.textarea.get_text().strip("\n") if editor.textarea else "")
        code = f'<div class="highlight"><pre>{code}</pre></div>'
        words = "<p>Code to start from:</p>"
        editor.replace_with(_node(f'<div class="print-editor">{words}{code}</div>'))
    for empty in article.select("div.cell"):
        if not empty.get_text(strip=True) and not empty.find("img"):
            empty.decompose()
    _localise(article, path, known)
    title = article.h1.get_text() if article.h1 else known[path]
    solutions = [node.extract() for node in article.select("div.solution")]
    _link_solutions(article, solutions)
    return Chapter(known[path], " ".join(title.split()), part, article, solutions)


def _soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def _localise(article: Tag, path: str, known: Mapping[str, str]) -> None:
    """Ids, links and pictures as they are in the document."""
    key, folder = known[path], posixpath.dirname(path)
    for node in article.find_all(True):
        if "id" in node.attrs:
            node["id"] = f"{key}--{node['id']}"
        for name in _REFERENCES:
            if name in node.attrs:
                node[name] = " ".join(f"{key}--{word}" for word in str(node[name]).split())
    for image in article.find_all("img"):
        image["src"] = posixpath.normpath(posixpath.join(folder, str(image["src"])))
        image["loading"] = "eager"
    for link in article.find_all("a", href=True):
        parts = urlsplit(str(link["href"]))
        if parts.scheme or parts.netloc:
            continue
        target = posixpath.normpath(posixpath.join(folder, parts.path)) if parts.path else path
        if target not in known:  # a file beside the HTML
            del link["href"]
        elif parts.fragment:
            link["href"] = f"#{known[target]}--{unquote(parts.fragment)}"
        else:
            link["href"] = f"#{known[target]}"


def _link_solutions(article: Tag, solutions: Sequence[Tag]) -> None:
    """A line below each exercise that leads to its solution, and one back."""
    for solution in solutions:
        back = solution.select_one(".admonition-title a[href^='#']")
        exercise = article.find(id=str(back["href"])[1:]) if back else None
        if exercise is None or back is None:
            raise ValueError(f"solution {solution.get('id')!r} belongs to no exercise of its page")
        line = f'<a href="#{solution["id"]}">Solution on page {_NUMBER.format(solution["id"])}</a>'
        exercise.append(_node(f'<p class="print-see">{line}</p>'))
        line = f" (page {_NUMBER.format(exercise['id'])})"
        back.insert_after(_node(f'<span class="print-see">{line}</span>'))


def _node(text: str) -> PageElement:
    return BeautifulSoup(text, "html.parser").contents[0]


def document(html: Path, title: str, known: Mapping[str, str | None]) -> str:
    """The document: what is `known` of the book, contents, every page, and the solutions."""
    outline = outline_of(html)
    keys = {path: PurePosixPath(path).stem for path, _ in outline}
    templates = Environment(autoescape=True, trim_blocks=True)
    templates.filters["css"] = lambda text: Markup(re.sub(r'(["\\])', r"\\\1", text))
    template = templates.from_string(Path(__file__).with_name("print.html").read_text("utf-8"))
    sheets = (str(link["href"]) for link in _soup(html / FRONT).select("link[rel=stylesheet]"))
    return template.render(
        title=title,
        sheets=[posixpath.normpath(f"book/{sheet}") for sheet in sheets],
        chapters=[read_chapter(html, path, part, keys) for path, part in outline],
        number=Markup(_NUMBER),
        **known,
    )
