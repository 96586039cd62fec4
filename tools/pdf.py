"""Print the built book as one PDF.

    python tools/pdf.py [--html _build/html] [--output _build/pdf] [--paper a4]

Chromium prints one HTML document that `print_document.py` makes of the pages; then
the PDF is compared with the HTML, read anew.  Fails if a statement, a figure or an exercise is
not in the PDF, a link leads nowhere, a page number of the contents is wrong, or something is wider
than the paper.  Needs Chromium.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from bs4 import BeautifulSoup
from chromium import Watch, chromium, installed, missing
from print_document import FRONT, document, outline_of
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject

from dpbook import __version__
from dpbook.book.files import claim_folder, git, serve

if TYPE_CHECKING:
    from playwright.sync_api import Page

BOOK = "private-ranking-checked.pdf"
TITLE = "Private Ranking, Checked"
MADE = "D:20000101000000Z"  # a date would make two files differ
PAPERS = {"a4": "size: A4; margin: 24mm 20mm 22mm", "letter": "size: letter; margin: 20mm 22.95mm"}
MEASURE = 642  # CSS pixels of 170 mm, the width of the text on either paper
#: What paper leaves out, as the title page says; formulas; words for those who hear the page.
LEFT_OUT = (
    "details.hide, details.live, .slider, .try, form, script, .headerlink, .claim-filters, "
    ".visually-hidden, .math"
)
_LEAST = 4  # letters; shorter pieces between formulas are found anywhere and say nothing

# Formulas set, fonts and pictures there.
READY = """
(async () => {
  await window.MathJax?.startup?.promise;
  await document.fonts.ready;
  const pictures = [...document.images];
  await Promise.all(pictures.map(image => image.decode().catch(() => 0)));
  const missing = pictures.filter(image => !image.naturalWidth).map(image => image.src);
  if (missing.length) throw new Error("not loaded: " + missing.slice(0, 3));
})()
"""
# What is wider than the measure gets smaller, as little as needed; what is short stays whole.
FIT = """
(() => {
  const shrink = (e, size, fits) => {
    for (; size >= 50 && !fits(); size -= 4)
      e.style.setProperty("font-size", size + "%", "important");
  };
  const right = e => e.getBoundingClientRect().right;
  for (const math of document.querySelectorAll("div.math mjx-container")) {
    const box = math.parentElement;
    shrink(math, 96, () => box.scrollWidth <= box.clientWidth + 1);
  }
  for (const math of document.querySelectorAll("span.math mjx-container")) {
    const block = math.closest("p, li, td, th, dd, dt, figcaption, h1, h2, h3, h4");
    if (block) shrink(math, 96, () => right(math) <= right(block) + 1);
  }
  for (const table of document.querySelectorAll("table")) {
    shrink(table, 86, () => table.offsetWidth <= table.parentElement.clientWidth + 1);
    if (table.offsetHeight < 420) table.classList.add("short-table");
  }
  for (const code of document.querySelectorAll("pre"))
    if (code.offsetHeight < 300)
      (code.closest(".cell_input, .print-editor") ?? code.closest("[class*=highlight-]") ?? code)
        .classList.add("short-code");
  return 0;
})()
"""
OUTSIDE = """
(() => {
  const edge = document.body.getBoundingClientRect();
  const name = e => `<${e.tagName.toLowerCase()} ${e.className}> `
    + e.textContent.trim().replace(/\\s+/g, " ").slice(0, 60);
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest(".visually-hidden, caption.from-heading") || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    if (box.right > edge.right + 1 || box.left < edge.left - 1) found.push("outside: " + name(e));
    else if (!e.closest("mjx-container") && e.clientWidth && e.scrollWidth > e.clientWidth + 1
        && getComputedStyle(e).overflowX !== "visible") found.push("cut: " + name(e));
  }
  for (const link of document.querySelectorAll("a[href]"))
    if (link.protocol === "file:" || link.host === location.host
        && !document.getElementById(decodeURIComponent(link.hash.slice(1))))
      found.push(`a link leads to ${link.getAttribute("href")}, which is nowhere`);
  return found;
})()
"""
NUMBERS = """
pages => {
  for (const e of document.querySelectorAll("[data-page-of]"))
    e.textContent = pages[e.dataset.pageOf] ?? "?";
}
"""


def print_page(page: Page, origin: str, text: str, paper: str) -> tuple[bytes, list[str]]:
    """Print a document that stands beside the book; the PDF, and what is wrong with its layout."""
    watch = Watch(page, origin)
    style = Path(__file__).with_name("print.css").read_text(encoding="utf-8")
    style = style.replace(PAPERS["a4"], PAPERS[paper])
    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    page.route("**/print.html", lambda one: one.fulfill(body=text, content_type="text/html"))
    page.route("**/print.css", lambda one: one.fulfill(body=style, content_type="text/css"))
    page.route("**/print/fonts/*", lambda one: one.fulfill(path=fonts / Path(one.request.url).name))
    page.emulate_media(media="print")
    page.set_viewport_size({"width": MEASURE, "height": 900})
    page.set_default_timeout(0)  # all pages are set and printed in one
    page.goto(f"{origin}/print.html")
    page.evaluate(READY)
    page.evaluate(FIT)
    problems = page.evaluate(OUTSIDE)
    draft = page.pdf(print_background=True, prefer_css_page_size=True, tagged=False)
    numbers = destinations(PdfReader(io.BytesIO(draft)))
    page.evaluate(NUMBERS, numbers)
    data = page.pdf(print_background=True, prefer_css_page_size=True, tagged=True, outline=True)
    if destinations(PdfReader(io.BytesIO(data))) != numbers:
        problems.append("the numbers of pages have changed since they were written down")
    return data, [*watch.problems, *problems]


def finish(data: bytes) -> bytes:
    """The same PDF with a title and no date."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.metadata = None
    writer.add_metadata(
        {
            "/Title": TITLE,
            "/Author": "The Private Ranking, Checked contributors",
            "/Subject": "Ranking from comparisons under differential privacy, tested by computer",
            "/CreationDate": MADE,
            "/ModDate": MADE,
        }
    )
    writer.root_object[NameObject("/Lang")] = TextStringObject("en")
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def pieces(html: Path, path: str) -> Iterator[str]:
    """What one page says, in pieces between formulas and tags."""
    soup = BeautifulSoup((html / path).read_text(encoding="utf-8"), "html.parser")
    article = soup.select_one("article.bd-article")
    if article is None:
        raise ValueError(f"{path} has no <article>")
    for node in article.select(LEFT_OUT):
        node.decompose()
    yield from (text for text in map(squeeze, article.strings) if len(text) >= _LEAST)


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
    """Pieces of these pages of the built book that no page of the PDF holds, nor several."""
    pages = enumerate(PdfReader(pdf).pages, 1)
    whole = squeeze("".join(_body(page.extract_text(), number) for number, page in pages))
    where = {text: path for path in paths for text in pieces(html, path)}  # each is sought once
    return [f"{where[text]}: not in the PDF: {text[:80]}" for text in where if text not in whole]


def _body(text: str, number: int) -> str:
    """The text of a page without its head and its number, which come first."""
    lines = text.split("\n")
    return "\n".join(lines[2:] if lines[1:2] == [str(number)] else lines)


def make(binary: str, html: Path, out: Path, paper: str = "a4", profile: str = "default") -> int:
    """Print the book; how many problems there are."""
    start = time.monotonic()
    commit = git(html, "log", "-1", "--format=commit %h of %cs")
    known = {"version": __version__, "commit": commit, "profile": profile}
    text = document(html, TITLE, known)
    for old in claim_folder(out).glob("*.pdf"):
        old.unlink()
    with serve(html) as origin, chromium(binary) as browser:
        data, problems = print_page(browser.new_page(), origin, text, paper)
    (out / BOOK).write_bytes(finish(data))
    problems += compare(html, [path for path, _ in outline_of(html)], out / BOOK)
    for problem in problems:
        print(f"      {problem}")
    print(f"{out / BOOK}: {time.monotonic() - start:.0f} s, {len(problems)} problems")
    return len(problems)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Print the built book as PDF.")
    parser.add_argument("--html", type=Path, default=Path("_build/html"))
    parser.add_argument("--output", type=Path, help="default: pdf/ beside the HTML")
    parser.add_argument("--paper", choices=sorted(PAPERS), default="a4")
    parser.add_argument("--profile", default="default", help="what the title page names")
    given = parser.parse_args(arguments)
    if not (given.html / FRONT).is_file():
        print(f"no book at {given.html}; run `make book` first", file=sys.stderr)
        return 2
    if (binary := installed()) is None:
        return missing("nothing was printed")
    out = given.output or given.html.parent / "pdf"
    return 1 if make(binary, given.html.resolve(), out, given.paper, given.profile) else 0


if __name__ == "__main__":
    raise SystemExit(main())
