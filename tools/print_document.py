"""One HTML document for paper, made of pages of the built book; `tools/pdf.py` prints it.

What makes no sense on paper goes: panels, buttons, editors, folded code.  What a reader opens on
the screen stands open.  Solutions come last, with links from exercise to solution and back.  Every
id gets its page's name in front, so that links between pages are links within the document.
"""

from __future__ import annotations

import html as escape
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

FRONT = "book/index.html"
SOLUTIONS = "Solutions of the exercises"
#: Goes without a trace; folded cells hold code only, their outputs stand beside them.
GONE = (
    "details.hide, .headerlink, script, form, button, input, progress, details.live, .copybtn,"
    " .claim-filters, .slider, .toggle-button"
)
SHEETS = "link[rel=stylesheet]"
_REFERENCES = ("for", "headers", "aria-describedby", "aria-labelledby", "aria-controls")
#: Stands where a page number comes in once it is known.
_NUMBER = '<span class="page-number" data-page-of="{}">0000</span>'


@dataclass(frozen=True)
class Chapter:
    """One page of the book: its path, title and part, and the article."""

    path: str
    title: str
    part: str
    article: Tag
    solutions: tuple[Tag, ...]

    @property
    def key(self) -> str:
        """What its ids begin with."""
        return PurePosixPath(self.path).stem


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
    for editor in article.select("div.try"):
        _print_editor(soup, editor)
    for empty in article.select("div.cell"):
        if not empty.get_text(strip=True) and not empty.find("img"):
            empty.decompose()
    _localise(article, path, known)
    heading = article.find("h1")
    title = heading.get_text("", strip=False).strip() if heading else known[path]
    solutions = tuple(node.extract() for node in article.select("div.solution"))
    _link_solutions(soup, article, solutions)
    return Chapter(path, " ".join(title.split()), part, article, solutions)


def _soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def _print_editor(soup: BeautifulSoup, editor: Tag) -> None:
    """The code that an editor begins with."""
    code = editor.find("textarea")
    pre = soup.new_tag("pre")
    pre.string = code.get_text().strip("\n") if code else ""
    words = soup.new_tag("p")
    words.string = "Code to start from:"
    box = soup.new_tag("div", attrs={"class": "highlight"})
    box.append(pre)
    editor.clear()
    editor.attrs = {"class": "print-editor"}
    editor.extend([words, box])


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


def _link_solutions(soup: BeautifulSoup, article: Tag, solutions: Sequence[Tag]) -> None:
    """A line below each exercise that leads to its solution, and one back."""
    for solution in solutions:
        back = solution.select_one(".admonition-title a[href^='#']")
        exercise = article.find(id=str(back["href"])[1:]) if back else None
        if exercise is None or back is None:
            raise ValueError(f"solution {solution.get('id')!r} belongs to no exercise of its page")
        line = _fragment(
            f'<p class="print-see"><a href="#{solution["id"]}">Solution on page '
            f"{_NUMBER.format(solution['id'])}</a></p>"
        )
        exercise.append(line)
        back.insert_after(
            _fragment(f' <span class="print-see">(page {_NUMBER.format(exercise["id"])})</span>')
        )


def _fragment(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def document(html: Path, title: str, first: str, chapters: Sequence[Chapter]) -> str:
    """The document: the book's style sheets, those for paper, MathJax, and what stands `first`."""
    front = _soup(html / FRONT)
    sheets = "\n".join(
        f'<link rel="stylesheet" href="{posixpath.normpath("book/" + str(link["href"]))}">'
        for link in front.select(SHEETS)
    )
    body, part = [first, contents_html(chapters)], ""
    for chapter in chapters:
        body.append(chapter_html(chapter, chapter.part if chapter.part != part else ""))
        part = chapter.part
    body.append(solutions_html(chapters))
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light" data-content_root="./">
<head><meta charset="utf-8"><title>{escape.escape(title)}</title>
{sheets}
<link rel="stylesheet" href="print/print.css">
<style>{running_heads(chapters, title)}</style>
<script>window.MathJax = {{options: {{enableMenu: false, enableAssistiveMml: false,
  processHtmlClass: "tex2jax_process|mathjax_process|math|output_area"}}}}</script>
<script defer src="_static/mathjax/tex-chtml.js"></script>
</head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
<article class="bd-article">
{"".join(body)}
</article></div></div></main></body></html>
"""


def running_heads(chapters: Sequence[Chapter], book: str) -> str:
    """CSS: the title of the chapter at the head of its pages."""
    rules = [f'@page {{ @top-left {{ content: "{_css(book)}" }} }}']
    rules += ["@page bare { @top-left { content: none } }"]
    rules += [
        f'@page ch-{chapter.key} {{ @top-right {{ content: "{_css(chapter.title)}" }} }}\n'
        f"section.ch-{chapter.key} {{ page: ch-{chapter.key} }}"
        for chapter in chapters
    ]
    return "\n".join(rules)


def _css(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", text)


def chapter_html(chapter: Chapter, part: str) -> str:
    """One chapter, without its solutions; `part` stands above the first chapter of a part."""
    above = f'<p class="print-part">{escape.escape(part)}</p>' if part else ""
    return (
        f'<section class="print-chapter ch-{chapter.key}" id="{chapter.key}">{above}\n'
        f"{chapter.article.decode_contents()}</section>\n"
    )


def solutions_html(chapters: Sequence[Chapter]) -> str:
    """The solutions of the chapters, under the title of each."""
    body = "".join(
        f"<h2>{escape.escape(chapter.title)}</h2>\n" + "\n".join(map(str, chapter.solutions))
        for chapter in chapters
        if chapter.solutions
    )
    return (
        '<section class="print-chapter print-solutions" id="solutions">'
        f"<h1>{SOLUTIONS}</h1>\n{body}</section>\n"
    )


def contents_html(chapters: Sequence[Chapter]) -> str:
    """The table of contents; the page numbers come in later."""
    lines, part = [], ""
    for chapter in chapters:
        if chapter.part != part:
            part = chapter.part
            lines.append(f'</ol><p class="print-contents-part">{escape.escape(part)}</p><ol>')
        lines.append(_contents_line(chapter.key, chapter.title))
    lines.append('</ol><p class="print-contents-part">Appendix</p><ol>')
    lines.append(_contents_line("solutions", SOLUTIONS))
    return (
        '<nav class="print-contents" id="contents"><h1>Contents</h1><ol>'
        + "\n".join(lines)
        + "</ol></nav>\n"
    )


def _contents_line(key: str, title: str) -> str:
    return (
        f'<li><a href="#{key}"><span class="print-contents-title">{escape.escape(title)}</span>'
        f"{_NUMBER.format(key)}</a></li>"
    )
