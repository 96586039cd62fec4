"""Compare a PDF of the book with the HTML: nothing lost, links lead somewhere.

Reads the HTML of the built book anew, not the document that was printed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from bs4 import BeautifulSoup
from pypdf import PdfReader

#: What paper leaves out, as the title page says; formulas; words for those who hear the page.
LEFT_OUT = (
    "details.hide, details.live, .slider, .try, form, script, .headerlink, .claim-filters, "
    ".visually-hidden, .math"
)
_LEAST = 4  # letters; shorter pieces between formulas are found anywhere and say nothing


def pieces(html: Path, path: str) -> Iterator[str]:
    """What one page says, in pieces between formulas and tags."""
    soup = BeautifulSoup((html / path).read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article.bd-article")
    if article is None:
        raise ValueError(f"{path} has no <article>")
    for node in article.select(LEFT_OUT):
        node.decompose()
    yield from dict.fromkeys(text for text in map(squeeze, article.strings) if len(text) >= _LEAST)


def squeeze(text: str) -> str:
    """Letters alone: no spaces, ligatures or hyphens at ends of lines."""
    return re.sub(r"[\s\u00ad\u200b\ufffd]+", "", unicodedata.normalize("NFKC", text))


def destinations(reader: PdfReader) -> dict[str, int]:
    """The page, from 1, of every place that something in the PDF leads to."""
    found = {}
    for name, place in reader.named_destinations.items():
        number = reader.get_destination_page_number(place)
        if number is not None:
            found[name.removeprefix("/")] = number + 1
    return found


def compare(html: Path, paths: Sequence[str], pdf: Path) -> list[str]:
    """What the PDF lacks of these pages of the built book, or has wrong; a line for each."""
    reader = PdfReader(pdf)
    texts = [_body(page.extract_text(), n) for n, page in enumerate(reader.pages, 1)]
    empty = [f"page {n} is empty" for n, text in enumerate(texts, 1) if not text.strip()]
    return empty + missing(html, paths, texts) + broken_links(reader)


def _body(text: str, number: int) -> str:
    """The text of a page without its head and its number, which come first."""
    lines = text.split("\n")
    return "\n".join(lines[2:] if lines[1:2] == [str(number)] else lines)


def missing(html: Path, paths: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Pieces of the HTML that the PDF does not hold, on one page or over several."""
    whole = squeeze("".join(texts))
    return [
        f"{path}: not in the PDF: {text[:80]}"
        for path in paths
        for text in pieces(html, path)
        if text not in whole
    ]


def broken_links(reader: PdfReader) -> list[str]:
    """Links to no place in the PDF, or to this machine."""
    known = destinations(reader)
    problems = []
    for number, page in enumerate(reader.pages, 1):
        for one in page.get("/Annots") or []:
            link = one.get_object()
            place, action = link.get("/Dest"), link.get("/A") or {}
            if place is not None and str(place).removeprefix("/") not in known:
                problems.append(f"page {number}: a link leads to {place}, which is nowhere")
            if re.match(r"(?:file:|https?://127\.)", str(action.get("/URI", ""))):
                problems.append(f"page {number}: a link leads to {action['/URI']}")
    return problems
