"""Boxes, figures and cards of a built page as slides: one HTML file that asks nobody for more."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from mimetypes import guess_type
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from markupsafe import Markup

from dpbook.book.files import write_whole
from dpbook.book.pages import PageError
from dpbook.book.sphinx import nodes as own

#: What becomes a slide of its own, and what lies in one or is never shown.
_PROOFS = ".theorem, .lemma, .proposition, .corollary, .definition, .algorithm"
_SLIDES = f"h2, .claim-box, .proof:is({_PROOFS}), figure, .claim-card, .page-remember, .exercise"
_HIDDEN = ["claim-box", "proof", "exercise", "solution", "live"]
_FALSE = {"claim-false-repaired", "claim-refuted", "claim-contradiction"}
_DROPPED = ".headerlink, .solution, .exercise-hint, script, button, details"
Slide = tuple[str, str, Markup]  # its kind, the section that it stands in, its HTML


def write_slides(html: Path, page: str, target: Path) -> int:
    """Write the deck of one page, how many slides it has; `PageError` if it has nothing to show."""
    path = html / "notebooks" / f"{page}.html"
    if not path.is_file():
        raise PageError(f"{path} is missing: `make book` writes it")
    article = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").find("article")
    slides = list(slides_of(article, path.parent)) if isinstance(article, Tag) else []
    if len(slides) < 2:
        raise PageError(f"page {page} has no boxes, figures or cards to make slides of")
    script = ""
    if any('class="math' in text for _, _, text in slides):
        script = (html / "_static" / "mathjax" / "tex-svg.js").read_text(encoding="utf-8")
    mathjax = Markup(script.replace("</script", r"<\/script"))
    title = slides[0][2].partition("\n")[0].striptags()
    write_whole(target, own.rendered("slides.html", slides=slides, mathjax=mathjax, title=title))
    return len(slides)


def slides_of(article: Tag, folder: Path) -> Iterator[Slide]:
    """The slides of a page; pictures named from `folder` are taken into them."""
    margin = "".join(_inside(opens, folder) for opens in article.select(".page-opens"))
    yield "title", "", Markup(f"<h1>{_text(article.find('h1'))}</h1>\n{margin}")
    head = ""
    for node in article.select(_SLIDES):
        kinds = set(node.get("class") or ())
        if node.find_parent(class_=_HIDDEN):
            continue
        if node.name == "h2":
            head = _text(node)
        else:
            look = "claim" * bool(kinds & {"claim-box", "claim-card"})
            yield look + " bad" * bool(look and kinds & _FALSE), head, Markup(_inside(node, folder))


def _inside(node: Tag, folder: Path) -> str:
    """The HTML of a box without what only a page can do; its title becomes a heading."""
    copy = BeautifulSoup(str(node), "html.parser")
    for dropped in copy.select(_DROPPED):
        dropped.decompose()
    for title in copy.select(".admonition-title"):
        title.name = "h2"
    for link in copy.find_all("a"):
        if not str(link.get("href", "")).startswith(("http://", "https://")):
            link.name = "span"
            del link["href"]
    for one in copy.find_all(id=True):
        del one["id"]
    for picture in copy.find_all("img"):
        data = base64.b64encode((folder / str(picture["src"])).read_bytes()).decode("ascii")
        picture["src"] = f"data:{guess_type(str(picture['src']))[0]};base64,{data}"
    return str(copy)


def _text(heading: Tag | None) -> str:
    """The text of a heading, without its number's link."""
    return re.sub(r"\s*#$", "", " ".join(heading.get_text().split())) if heading else ""
