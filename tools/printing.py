"""How Chromium prints one document: what it waits for, what it makes fit, what it looks at."""

from __future__ import annotations

import base64
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from check_pages import Browser, Watch
from pdf_check import destinations
from pypdf import PdfReader

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
  return JSON.stringify(found);
})()
"""
NUMBERS = """
(pages => {
  for (const e of document.querySelectorAll("[data-page-of]"))
    e.textContent = pages[e.dataset.pageOf] ?? "?";
  return 0;
})(PAGES)
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


def print_document(browser: Browser, origin: str, name: str) -> tuple[bytes, list[str]]:
    """Print one document of the workshop; the PDF, and what is wrong with its layout."""
    watch = Watch(origin)
    browser.on_event = watch
    browser.send("Emulation.setEmulatedMedia", media="print")
    browser.send(
        "Emulation.setDeviceMetricsOverride",
        width=MEASURE,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.send("Page.navigate", url=f"{origin}/{name}")
    browser.wait_for(lambda: watch.loaded)
    browser.evaluate(READY)
    browser.evaluate(FIT)
    problems = json.loads(browser.evaluate(OUTSIDE))
    pages = destinations(PdfReader(io.BytesIO(_print(browser, tagged=False))))
    browser.evaluate(NUMBERS.replace("PAGES", json.dumps(pages)))
    return _print(browser, tagged=True), [*watch.problems, *problems]


def _print(browser: Browser, *, tagged: bool) -> bytes:
    done = browser.send(
        "Page.printToPDF",
        printBackground=True,
        preferCSSPageSize=True,
        generateTaggedPDF=tagged,
        generateDocumentOutline=tagged,
        transferMode="ReturnAsStream",
    )
    parts = []
    while True:
        part = browser.send("IO.read", handle=done["stream"])
        parts.append(
            base64.b64decode(part["data"]) if part.get("base64Encoded") else part["data"].encode()
        )
        if part["eof"]:
            return b"".join(parts)
