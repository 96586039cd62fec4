"""A deck of slides from a page of the built book: its boxes, figures and cards, in their order.

One HTML file that asks nobody for anything: figures and formulas' script lie in it.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any, NamedTuple

from bs4 import BeautifulSoup, Tag
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from dpbook.book.files import write_whole
from dpbook.book.pages import PageError

#: What becomes a slide of its own; a solution and a hint never do.
_SLIDES = "h2, .page-opens, .claim-box, .proof, figure, .claim-card, .page-remember, .exercise"
_FALSE = ("claim-false-repaired", "claim-refuted", "claim-contradiction")
_SHOWN_PROOFS = {"theorem", "lemma", "proposition", "corollary", "definition", "algorithm"}
_DROPPED = ".headerlink, .solution, .exercise-hint, script, button, details"
_PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}


class Slide(NamedTuple):
    """Its kind (classes), the section that it stands in, and its HTML."""

    kind: str
    head: str
    html: Markup


def write_slides(html: Path, page: str, target: Path) -> int:
    """Write the deck of one page; how many slides it has.

    Raises
    ------
    PageError
        If the page is not in the built book, or has nothing to show.
    """
    path = html / "notebooks" / f"{page}.html"
    if not path.is_file():
        raise PageError(f"{path} is missing: `make book` writes it")
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    article = soup.find("article")
    slides = found(article, path.parent) if isinstance(article, Tag) else []
    if len(slides) < 2:
        raise PageError(f"page {page} has no boxes, figures or cards to make slides of")
    environment = Environment(loader=PackageLoader("dpbook.book.sphinx"), autoescape=True)
    title = _text(article.find("h1")) if isinstance(article, Tag) else page
    given: dict[str, Any] = {"title": title, "slides": slides, "language": "en", "mathjax": ""}
    if any('class="math' in slide.html for slide in slides):
        script = (html / "_static" / "mathjax" / "tex-svg.js").read_text(encoding="utf-8")
        given["mathjax"] = Markup(script.replace("</script", r"<\/script"))
    text = environment.get_template("slides.html.j2").render(given)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, text)
    return len(slides)


def found(article: Tag, folder: Path) -> list[Slide]:
    """The slides of a page; pictures named from `folder` are taken into them."""
    title = article.find("h1")
    opens = article.select_one(".page-opens")
    lead = _inside(opens, folder) if opens else ""
    slides = [Slide("title", "", Markup(f"<h1>{_text(title)}</h1>\n{lead}"))]
    head = ""
    for node in article.select(_SLIDES):
        classes = set(node.get("class") or ())
        if "page-opens" in classes or node.find_parent(class_=["solution", "live"]):
            continue
        if node.name == "h2":
            head = _text(node)
        elif "proof" in classes and not classes & _SHOWN_PROOFS:
            continue
        elif node.find_parent(class_=["claim-box", "proof", "exercise"]):
            continue  # a figure in a box goes with its box
        else:
            claim = bool(classes & {"claim-box", "claim-card"})
            kind = "claim" * claim + " bad" * bool(claim and classes & set(_FALSE))
            slides.append(Slide(kind, head, Markup(_inside(node, folder))))
    return slides


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
        path = folder / str(picture["src"])
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        picture["src"] = f"data:{_PICTURES[path.suffix]};base64,{data}"
    return str(copy)


def _text(node: Any) -> str:
    """The text of a heading, without its number's link."""
    if not isinstance(node, Tag):
        return ""
    words = " ".join(node.get_text().split())
    return re.sub(r"\s*#$", "", words)
