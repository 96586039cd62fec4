"""Print the built book: the whole as one PDF, and each page alone.

    python tools/pdf.py [--html _build/html] [--output _build/pdf] [--paper a4] [--only GLOB]

Chromium prints one HTML document that `print_document.py` makes of the pages; then
`pdf_check.py` compares the PDF with the HTML.  Fails if a statement, a figure or an exercise is
not in the PDF, a link leads nowhere, a page number of the contents is wrong, or something is wider
than the paper.  Needs Chromium.
"""

from __future__ import annotations

import argparse
import fnmatch
import html as escape
import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from check_pages import BROWSERS, Browser, without_browser
from pdf_check import compare
from print_document import (
    FRONT,
    SOLUTIONS,
    Chapter,
    chapter_html,
    contents_html,
    document,
    key_of,
    lead_elsewhere,
    loose_links,
    outline_of,
    read_chapter,
    running_heads,
    solutions_html,
)
from printing import PAPERS, print_document, workshop
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

from dpbook import __version__
from dpbook.book.output import claim_folder
from dpbook.book.pages import PageError
from dpbook.book.serving import serve

BOOK = "private-ranking-checked.pdf"
TITLE = "Private Ranking, Checked"
PATIENCE = 1200.0  # seconds for one command: all pages are set and printed in one
MADE = "D:20000101000000Z"  # a date would make two files differ


def finish(data: bytes, origin: str, title: str) -> bytes:
    """The same PDF with a title and no date; links of a page alone lead into the book's PDF."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    for page in writer.pages:
        for annotation in page.get("/Annots", []):
            _lead_into_book(annotation.get_object(), origin)
    for mark in _bookmarks(writer.root_object.get("/Outlines")):
        words = str(mark.get("/Title", ""))
        half = words[: len(words) // 2]
        if half * 2 == words:  # Chromium names a heading at the top of a page twice
            mark[NameObject("/Title")] = TextStringObject(half)
    writer.metadata = None
    writer.add_metadata(
        {
            "/Title": title,
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


def _bookmarks(above: Any) -> Iterator[DictionaryObject]:
    one = above.get_object().get("/First") if above is not None else None
    while one is not None:
        mark = one.get_object()
        yield mark
        yield from _bookmarks(mark)
        one = mark.get("/Next")


def _lead_into_book(annotation: DictionaryObject, origin: str) -> None:
    action = annotation.get("/A")
    if action is None or not str(action.get("/URI", "")).startswith(f"{origin}/{BOOK}#"):
        return
    annotation[NameObject("/A")] = DictionaryObject(
        {
            NameObject("/S"): NameObject("/GoToR"),
            NameObject("/F"): TextStringObject(BOOK),
            NameObject("/D"): NameObject("/" + unquote(str(action["/URI"]).split("#", 1)[1])),
        }
    )


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


def book_html(html: Path, chapters: Sequence[Chapter], profile: str, commit: str) -> str:
    """The document of the whole book."""
    body, part = [title_page(profile, commit, chapters), contents_html(chapters)], ""
    for chapter in chapters:
        body.append(chapter_html(chapter, part=chapter.part if chapter.part != part else ""))
        part = chapter.part
    body.append(solutions_html(chapters, SOLUTIONS))
    return document(html, TITLE, running_heads(chapters, TITLE), "".join(body))


def page_html(html: Path, chapter: Chapter) -> str:
    """The document of one page alone; what it links to elsewhere is in the PDF of the book."""
    lead_elsewhere(chapter, BOOK)
    body = chapter_html(chapter)
    if chapter.solutions:
        body += solutions_html([chapter], SOLUTIONS)
    return document(html, chapter.title, running_heads([chapter], TITLE), body)


def commit_of(folder: Path) -> str:
    """The commit that is checked out there; empty if that is not known."""
    words = ["git", "-C", str(folder), "log", "-1", "--format=commit %h of %cs"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def make(
    binary: str,
    html: Path,
    out: Path,
    *,
    paper: str = "a4",
    profile: str = "default",
    only: str = "*",
) -> int:
    """Print the book and its pages alone, those that `only` names; how many problems there are."""
    start = time.monotonic()
    outline = outline_of(html)
    known = {path: key_of(path) for path, _ in outline}
    whole = fnmatch.fnmatch(BOOK.removesuffix(".pdf"), only)
    chapters = [
        read_chapter(html, path, part, known)
        for path, part in outline
        if whole or fnmatch.fnmatch(known[path], only)
    ]
    problems: list[str] = []
    claim_folder(out)
    with (
        workshop(html, paper) as place,
        serve(place) as origin,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as fresh,
    ):
        browser = Browser(binary, fresh, PATIENCE)

        def one(name: str, text: str, title: str) -> list[str]:
            source = f"{name}.html"  # one name for each: the browser keeps what it has seen
            (place / source).write_text(text, encoding="utf-8")
            data, wrong = print_document(browser, origin, source)
            done = finish(data, origin, title)
            partial = out / f".{name}.tmp"
            partial.write_bytes(done)
            partial.replace(out / name)
            return wrong

        try:
            if whole:
                text = book_html(html, chapters, profile, commit_of(html))
                wrong = [
                    f"a link leads to {link}, which is nowhere" for link in loose_links(chapters)
                ]
                wrong += one(BOOK, text, TITLE)
                wrong += compare(html, [chapter.path for chapter in chapters], out / BOOK)
                problems += _tell(BOOK, wrong, start)
            for chapter in chapters:
                if fnmatch.fnmatch(chapter.stem, only):
                    name = f"{chapter.stem}.pdf"
                    wrong = one(name, page_html(html, chapter), f"{chapter.title} ({TITLE})")
                    wrong += compare(html, [chapter.path], out / name, book=False)
                    problems += _tell(name, wrong, start)
        finally:
            browser.close()
    print(f"{out}: {time.monotonic() - start:.0f} s, {len(problems)} problems")
    return len(problems)


def _tell(name: str, problems: list[str], start: float) -> list[str]:
    state = "FAILED" if problems else "ok"
    print(f"  {name:<48} {state:>6}  {time.monotonic() - start:.0f} s", flush=True)
    for problem in problems:
        print(f"      {problem}")
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Print the built book as PDF.")
    parser.add_argument("--html", type=Path, default=Path("_build/html"))
    parser.add_argument("--output", type=Path, help="default: pdf/ beside the HTML")
    parser.add_argument("--paper", choices=sorted(PAPERS), default="a4")
    parser.add_argument("--profile", default="default", help="what the title page names")
    parser.add_argument(
        "--only", metavar="GLOB", default="*", help="such as '04-*', or 'private-*'"
    )
    given = parser.parse_args(arguments)
    if not (given.html / FRONT).is_file():
        print(f"no book at {given.html}; run `make book` first", file=sys.stderr)
        return 2
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    if binary is None:
        return without_browser("nothing was printed")
    out = given.output or given.html.parent / "pdf"
    try:
        wrong = make(
            binary,
            given.html.resolve(),
            out,
            paper=given.paper,
            profile=given.profile,
            only=given.only,
        )
    except PageError as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
