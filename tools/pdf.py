"""Print the built book as one PDF.

    python tools/pdf.py [--html _build/html] [--output _build/pdf] [--paper a4]

Chromium prints one HTML document that `print_document.py` makes of the pages; then
`pdf_check.py` compares the PDF with the HTML.  Fails if a statement, a figure or an exercise is
not in the PDF, a link leads nowhere, a page number of the contents is wrong, or something is wider
than the paper.  Needs Chromium.
"""

from __future__ import annotations

import argparse
import html as escape
import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from chromium import Watch, chromium, installed, missing
from pdf_check import compare, destinations
from print_document import FRONT, Chapter, document, outline_of, read_chapter
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, TextStringObject

from dpbook import __version__
from dpbook.book.output import claim_folder
from dpbook.book.pages import PageError
from dpbook.book.serving import serve

if TYPE_CHECKING:
    from playwright.sync_api import Page

BOOK = "private-ranking-checked.pdf"
TITLE = "Private Ranking, Checked"
MADE = "D:20000101000000Z"  # a date would make two files differ
PAPERS = {"a4": "size: A4; margin: 24mm 20mm 22mm", "letter": "size: letter; margin: 20mm 22.95mm"}
MEASURE = 642  # CSS pixels of 170 mm, the width of the text on either paper
_FONTS = (
    *(f"STIXGeneral{kind}.ttf" for kind in ("", "Italic", "Bol", "BolIta")),
    *(f"DejaVuSans{kind}.ttf" for kind in ("", "Mono", "Mono-Bold", "Mono-Oblique")),
)

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
  const wide = (e, width) => e.scrollWidth > width + 1;
  const shrink = (e, width, of) => {
    for (let size = 96; size >= 50 && wide(e, width()); size -= 4)
      of.style.setProperty("font-size", size + "%", "important");
  };
  for (const math of document.querySelectorAll("div.math mjx-container"))
    shrink(math.parentElement, () => math.parentElement.clientWidth, math);
  for (const math of document.querySelectorAll("span.math mjx-container")) {
    const block = math.closest("p, li, td, th, dd, dt, figcaption, h1, h2, h3, h4");
    if (block) for (let size = 96; size >= 50
        && math.getBoundingClientRect().right > block.getBoundingClientRect().right + 1; size -= 4)
      math.style.setProperty("font-size", size + "%", "important");
  }
  for (const table of document.querySelectorAll("table")) {
    const box = table.parentElement;
    for (let size = 86; size >= 50 && table.offsetWidth > box.clientWidth + 1; size -= 4)
      table.style.setProperty("font-size", size + "%", "important");
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
  for (const link of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(decodeURIComponent(link.hash.slice(1))))
      found.push(`a link leads to ${link.hash}, which is nowhere`);
  return found;
})()
"""
NUMBERS = """
pages => {
  for (const e of document.querySelectorAll("[data-page-of]"))
    e.textContent = pages[e.dataset.pageOf] ?? "?";
}
"""


@contextmanager
def workshop(html: Path, paper: str) -> Iterator[Path]:
    """The built book, and beside it a folder ``print`` for what is only for paper."""
    with tempfile.TemporaryDirectory() as made:
        for path in html.iterdir():
            Path(made, path.name).symlink_to(path)
        place = Path(made, "print", "fonts")
        place.mkdir(parents=True)
        style = Path(__file__).with_name("print.css").read_text(encoding="utf-8")
        (place.parent / "print.css").write_text(style.replace(PAPERS["a4"], PAPERS[paper]))
        for font in _FONTS:
            shutil.copy(Path(matplotlib.get_data_path(), "fonts", "ttf", font), place)
        yield Path(made)


def title_page(profile: str, commit: str, chapters: Sequence[Chapter]) -> str:
    """What edition this is, what it was built with, and what paper leaves out."""
    solved = sum(len(chapter.solutions) for chapter in chapters)
    rows = {
        "Version": __version__,
        "State": commit or "not known",
        "Computed with": f"the profile <code>{escape.escape(profile)}</code>",
        "Licence": "text and figures CC BY 4.0, code BSD 3-Clause",
    }
    lines = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows.items())
    return f"""<section class="print-title" id="title"><h1>{TITLE}</h1>
<p class="subtitle">Ranking items from people\u2019s comparisons under differential privacy:
every statement of the papers, tested by computer</p>
<dl>{lines}</dl>
<p class="small">This is the book on paper. Cells that stand open on the screen are printed with
what they put out; the code of folded cells is left out, its outputs are here. A slider shows
all its rows as a table, and an editor the code that it begins with. The panel that reruns a page
is left out. The {solved} solutions stand in an appendix. Everything else of the HTML is here.</p>
</section>
"""


def commit_of(folder: Path) -> str:
    """The commit that is checked out there; empty if that is not known."""
    words = ["git", "-C", str(folder), "log", "-1", "--format=commit %h of %cs"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def print_page(page: Page, address: str) -> tuple[bytes, list[str]]:
    """Print what is at an address; the PDF, and what is wrong with its layout."""
    watch = Watch(page, address.rpartition("/")[0])
    page.emulate_media(media="print")
    page.set_viewport_size({"width": MEASURE, "height": 900})
    page.set_default_timeout(0)  # all pages are set and printed in one
    page.goto(address)
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


def make(binary: str, html: Path, out: Path, paper: str = "a4", profile: str = "default") -> int:
    """Print the book; how many problems there are."""
    start = time.monotonic()
    outline = outline_of(html)
    known = {path: Path(path).stem for path, _ in outline}
    chapters = [read_chapter(html, path, part, known) for path, part in outline]
    for old in claim_folder(out).glob("*.pdf"):
        old.unlink()
    with workshop(html, paper) as place, serve(place) as origin, chromium(binary) as browser:
        text = document(html, TITLE, title_page(profile, commit_of(html), chapters), chapters)
        (place / "book.html").write_text(text, encoding="utf-8")
        data, problems = print_page(browser.new_page(), f"{origin}/book.html")
    (out / BOOK).write_bytes(finish(data))
    problems += compare(html, [path for path, _ in outline], out / BOOK)
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
    try:
        return 1 if make(binary, given.html.resolve(), out, given.paper, given.profile) else 0
    except PageError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
