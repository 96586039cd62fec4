"""Compare a PDF of the book with the HTML: nothing lost, links lead somewhere, numbers right.

Reads the HTML of the built book anew, not the document that was printed.
"""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag
from pypdf import PageObject, PdfReader

#: What paper leaves out, as the title page says; and words for those who hear the page.
LEFT_OUT = (
    "details.hide, details.live, .slider, .try, form, script, .headerlink, .claim-filters, "
    ".visually-hidden"
)
#: What must be found: kind and where it stands in the HTML.
KINDS = (
    ("heading", "h1, h2, h3, h4"),
    ("claim", ".claim-box > .admonition-title"),
    ("outcome", ".claim-card"),
    ("theorem", ".proof > .admonition-title"),
    ("figure", "figcaption"),
    ("table", "caption:not(.from-heading)"),
    ("exercise", ".exercise"),
    ("solution", ".solution"),
    ("row", "tr"),
    ("text", "p, li, dd, dt, pre"),
)
_LEAST = 4  # letters; shorter pieces between formulas are found anywhere and say nothing


@dataclass(frozen=True)
class Piece:
    """A run of text of the HTML without a formula in it."""

    kind: str
    text: str


def pieces(html: Path, path: str) -> Iterator[Piece]:
    """What one page says, in pieces between formulas."""
    soup = BeautifulSoup((html / path).read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article.bd-article")
    if article is None:
        raise ValueError(f"{path} has no <article>")
    for node in article.select(LEFT_OUT):
        node.decompose()
    for kind, where in KINDS:
        for node in article.select(where):
            for run in _runs(node):
                text = squeeze(run)
                if len(text) >= _LEAST:
                    yield Piece(kind, text)


def _runs(node: Tag) -> Iterator[str]:
    """Text up to the next formula or block."""
    words: list[str] = []
    for child in node.descendants:
        if isinstance(child, Tag):
            if child.name in _BLOCKS or "math" in (child.get("class") or []):
                yield "".join(words)
                words = []
        elif isinstance(child, NavigableString) and not any(
            "math" in (parent.get("class") or []) for parent in child.parents
        ):
            words.append(str(child))
    yield "".join(words)


_BLOCKS = {"p", "li", "ul", "ol", "div", "tr", "td", "th", "dd", "dt", "dl", "pre", "section"}
_BLOCKS |= {"table", "span", "br", "em", "strong", "a", "code", "figure", "img", "svg"}


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


def read_page(page: PageObject) -> tuple[str, float, float]:
    """The text of a page, and the left- and rightmost place where text begins."""
    places: list[float] = []

    def note(text: str, cm: list[float], tm: list[float], *_: object) -> None:
        # A sign that is stretched to a line or a brace begins outside the paper, and is cut there.
        if text.strip() and abs(cm[0]) < 20 * abs(cm[3]):
            places.append(tm[4] * cm[0] + tm[5] * cm[2] + cm[4])

    text = page.extract_text(visitor_text=note)
    return text, min(places, default=0.0), max(places, default=0.0)


def compare(html: Path, paths: Sequence[str], pdf: Path, *, book: bool = True) -> list[str]:
    """What the PDF lacks or has wrong.

    Parameters
    ----------
    html : Path
        The built book.
    paths : sequence of str
        Pages of it that the PDF has to hold.
    pdf : Path
    book : bool
        It has contents, whose numbers are looked at.

    Returns
    -------
    list of str
        One line for each problem.
    """
    reader = PdfReader(pdf)
    problems = []
    texts = []
    for number, page in enumerate(reader.pages, 1):
        text, left, right = read_page(page)
        texts.append(_body(text, number))
        if left < 0 or right > float(page.mediabox.width):
            problems.append(f"page {number}: text begins at {left:.0f} and {right:.0f} points")
        if not texts[-1].strip():
            problems.append(f"page {number} is empty")
    problems += missing(html, paths, [squeeze(text) for text in texts])
    problems += broken_links(reader)
    if book:
        problems += wrong_numbers(texts)
    return problems


def _body(text: str, number: int) -> str:
    """The text of a page without its head and its number, which come first."""
    lines = text.split("\n")
    return "\n".join(lines[2:] if lines[1:2] == [str(number)] else lines)


def missing(html: Path, paths: Sequence[str], pages: Sequence[str]) -> list[str]:
    """Pieces of the HTML that no page of the PDF holds."""
    problems = []
    whole = "\0".join(pages)
    known: dict[str, bool] = {}
    for path in paths:
        for piece in pieces(html, path):
            if piece.text not in known:
                known[piece.text] = piece.text in whole or _over_two(piece.text, pages)
            if not known[piece.text]:
                problems.append(f"{path}: {piece.kind} not in the PDF: {piece.text[:80]}")
    return list(dict.fromkeys(problems))


def _over_two(text: str, pages: Sequence[str]) -> bool:
    """Begins on one page and ends on the next."""
    for one, two in itertools.pairwise(pages):
        # If a beginning is on a page, shorter ones are, too: the longest is found by bisection.
        begins = bisect.bisect_left(range(1, len(text)), True, key=lambda n: text[:n] not in one)
        if begins and text[begins:] in two:
            return True
    return False


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


def wrong_numbers(texts: Sequence[str]) -> list[str]:
    """Lines of the contents whose number is not that of the page with this title."""
    first = next((n for n, text in enumerate(texts) if text.startswith("Contents")), len(texts))
    problems, last, lines = [], len(texts), 0
    for number in range(first, len(texts)):
        if number + 1 >= last:
            break
        for title, printed in re.findall(r"(?m)^(.*\D)\s*?(\d{1,4})$", texts[number]):
            lines, last = lines + 1, min(last, int(printed))
            there = texts[int(printed) - 1] if 0 < int(printed) <= len(texts) else ""
            if squeeze(title) not in squeeze(there):
                problems.append(f"contents: {title!r} is not on page {printed}")
    return problems if lines else ["there are no contents"]
