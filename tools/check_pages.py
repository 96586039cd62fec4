"""Open every page of the built book in a browser, without a network, and look at it.

    python tools/check_pages.py [--html _build/html] [--screens _build/screens]

Fails if a formula is not rendered, a page asks another host for anything, the console shows an
error, a page is wider than the window of a desk or a phone, or a figure is missing, has no
alternative text, shows the page through its background, or is recoloured by a filter.  Fails, too,
on what stops readers who do not see or do not use a mouse: axe finds a violation in light or dark,
at the width of a desk or of a phone; a formula is a stop of the Tab key; a control shows no focus;
a table has no caption or no row headers; code must be scrolled sideways on a desk.
Keeps a screenshot of every page, light and dark, unless told ``--no-screens``.  Needs Chromium.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromium import Watch, chromium, installed, missing

from dpbook.book.files import claim_folder, serve

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTH, HEIGHT = 1280, 900
PHONE = 390
SLOW = 900  # milliseconds after which boxes that scroll, and no others, are stops of the Tab key
TALLEST = 16000  # pixels; Chromium draws nothing beyond

# Runs in the page once it has loaded; returns one line per problem.
LOOK = r"""
(async () => {
  const problems = [];
  const article = document.querySelector("article") || document.body;
  const formulas = [...document.querySelectorAll(".math")];
  if (formulas.length) {
    // The load event waits for MathJax's script, so by now it is there or will never be.
    await window.MathJax?.startup?.promise;
    const bare = formulas.filter(math => !math.querySelector("mjx-container"));
    if (bare.length)
      problems.push(`${bare.length} of ${formulas.length} formulas are not rendered, first: `
        + bare[0].textContent.trim().slice(0, 80));
    const wrong = [...document.querySelectorAll("mjx-merror, [data-mjx-error]")];
    if (wrong.length)
      problems.push(`${wrong.length} formulas have an error, first: `
        + (wrong[0].getAttribute("data-mjx-error") || wrong[0].textContent).slice(0, 80));
  }
  const opaque = colour => !/^transparent$|,\s*0(\.\d+)?\)$|\/\s*0?(\.\d+)?\)$/.test(colour);
  const figures = [...article.querySelectorAll("img")];
  for (const image of figures) {
    image.loading = "eager";
    try { await image.decode(); } catch (error) { /* reported below as not loaded */ }
    const name = (image.getAttribute("src") || "").split("/").pop().slice(0, 24);
    const alt = image.getAttribute("alt") || "";
    if (!image.naturalWidth) { problems.push(`figure ${name} is not loaded`); continue; }
    if (!alt.trim()) problems.push(`figure ${name} has no alternative text`);
    else if (/[0-9a-f]{16,}|\.(png|svg|jpe?g)$/i.test(alt))
      problems.push(`figure ${name} has a file name for alternative text: ${alt.slice(0, 60)}`);
    const style = getComputedStyle(image);
    // The dark variant of a figure exchanges light and dark; anything else recolours it.
    const dark = document.documentElement.dataset.theme === "dark";
    if (style.filter !== "none" && !(dark && style.filter === "invert(1) hue-rotate(180deg)"))
      problems.push(`figure ${name} is filtered: ${style.filter}`);
    if (opaque(style.backgroundColor)) continue;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const brush = canvas.getContext("2d");
    brush.drawImage(image, 0, 0);
    const corners = [[0, 0], [canvas.width - 1, 0], [0, canvas.height - 1],
      [canvas.width - 1, canvas.height - 1]];
    if (corners.some(([x, y]) => brush.getImageData(x, y, 1, 1).data[3] < 255))
      problems.push(`figure ${name} shows the page through its background`);
  }
  return [problems, Math.ceil(document.documentElement.scrollHeight)];
})()
"""
# A page must not scroll sideways; a wide formula or table scrolls in a box of its own.
TOO_WIDE = r"""
(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= innerWidth) return null;
  const boxed = e => e && e !== document.body
    && (getComputedStyle(e).overflowX !== "visible" || boxed(e.parentElement));
  const out = [...document.querySelectorAll("body *")].find(
    e => e.getBoundingClientRect().right > innerWidth + 1 && !boxed(e));
  return `is ${root.scrollWidth} px wide in a window of ${innerWidth} px`
    + (out ? `, first: <${out.tagName.toLowerCase()}> ${out.textContent.trim().slice(0, 40)}` : "");
})()
"""
# On a desk, with every folded block open: what a keyboard or a screen reader meets.
REACH = r"""
(async () => {
  const problems = [];
  const article = document.querySelector("article") || document.body;
  const name = e => `<${e.tagName.toLowerCase()}> ` + (e.getAttribute("aria-label") || e.title
    || e.textContent).trim().replace(/\s+/g, " ").slice(0, 40);
  const say = (found, words) => {
    if (found.length) problems.push(`${found.length} ${words}, first: ${name(found[0])}`);
  };
  say([...document.querySelectorAll("mjx-container")].filter(math => math.tabIndex >= 0
    && math.scrollWidth <= math.clientWidth), "formulas are stops of the Tab key");
  const tables = [...article.querySelectorAll("table")];
  say(tables.filter(table => !table.caption?.textContent.trim()), "tables have no caption");
  say(tables.filter(table => !table.querySelector("tbody th[scope=row]")),
    "tables have no row headers");
  const folded = [...article.querySelectorAll("details:not([open])")];
  folded.forEach(block => { block.open = true; });
  const sideways = [...article.querySelectorAll("div.highlight pre")].filter(
    code => code.clientWidth && code.scrollWidth > code.clientWidth + 1);
  say(sideways, "blocks of code scroll sideways");
  folded.forEach(block => { block.open = false; });
  const look = e => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineWidth,
    s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor, s.textDecorationLine].join(); };
  const seen = new Set();
  const dull = [];
  for (const control of document.querySelectorAll("a[href], button, summary, select, input")) {
    const kind = control.tagName + control.className;
    if (seen.has(kind) || !control.checkVisibility({visibilityProperty: true})) continue;
    seen.add(kind);
    document.activeElement?.blur();
    const before = look(control);
    control.focus({preventScroll: true, focusVisible: true});
    if (document.activeElement === control && look(control) === before) dull.push(control);
  }
  document.activeElement?.blur();
  say(dull, "controls show no focus");
  return problems;
})()
"""
# All rules, with one that axe still calls experimental.
_COLORS = ("color-contrast", "link-in-text-block")
_NAMES = {"label-content-name-mismatch": {"enabled": True}}
AXE_RUNS: tuple[tuple[int, str, dict[str, Any]], ...] = (
    (WIDTH, "light", {"rules": _NAMES}),
    (WIDTH, "dark", {"runOnly": _COLORS}),
    (PHONE, "light", {"rules": _NAMES}),
    (PHONE, "dark", {"runOnly": _COLORS}),
)
# The same axe in half the time: private fields that its compiler made WeakMaps are kept by their
# objects, and a colour is parsed once.
AXE = """
(() => {
  class Kept {
    constructor() { this.key = Symbol(); }
    get(object) { return this.has(object) ? object[this.key] : undefined; }
    set(object, value) { object[this.key] = value; return this; }
    has(object) { return Object.hasOwn(object, this.key); }
    add(object) { return this.set(object, true); }
  }
  const WeakMap = Kept, WeakSet = Kept;
  SCRIPT
  const color = axe.commons.color.Color.prototype, parse = color.parseString, known = new Map();
  color.parseString = function (text) {
    const {r, g, b, alpha} = known.get(text) ?? parse.call(this, text);
    known.set(text, {r, g, b, alpha});
    return Object.assign(this, {r, g, b, alpha});
  };
})()
"""
# Axe reads every element. Of the coloured pieces of code one of each kind stays an element, and
# what draws a formula, which screen readers skip, becomes one empty box of its size.
THIN = """
(() => {
  const seen = new Set(), again = [];
  for (const token of document.querySelectorAll("pre span[class]:not([style]):not(:has(*))")) {
    const block = token.closest("pre");
    const kind = [token, block, block.parentElement].map(e => e.className).join("|");
    if (seen.has(kind)) again.push(token);
    seen.add(kind);
  }
  const drawn = [...document.querySelectorAll("mjx-math[aria-hidden=true]")];
  const boxes = drawn.map(math => math.getBoundingClientRect());
  again.forEach(token => token.replaceWith(token.textContent));
  drawn.forEach((math, at) => {
    math.replaceChildren();
    const [width, height] = [boxes[at].width + "px", boxes[at].height + "px"];
    Object.assign(math.style, {display: "inline-block", width, height});
  });
})()
"""
# Transitions would show the old look for a while, after a change of theme or of focus.
STILL = "*, *::before, *::after { transition: none !important; }"
SET_THEME = "theme => { const d = document.documentElement.dataset; d.mode = d.theme = theme; }"
# Top left corner, fonts there, and two frames drawn since.
SETTLE = """
(async () => {
  window.scrollTo(0, 0);
  await document.fonts.ready;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
})()
"""


def axe_lines(page: Page, options: dict[str, Any], where: str) -> Iterator[str]:
    """One line for each rule that is violated: how often, and the first place."""
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.replace("SCRIPT", AXE_SCRIPT))
        page.evaluate(THIN)
    # Without the preload, which fetches style sheets again and loses the place of what they import.
    options = {"preload": False, "resultTypes": ["violations"], **options}
    for rule in page.evaluate("o => axe.run(o).then(found => found.violations)", options):
        nodes = [(" ".join(map(str, node["target"])), node["html"]) for node in rule["nodes"]]
        if rule["id"] == "empty-table-header":
            # A head that holds a formula is not empty: its MathML is read, which axe cannot see.
            read = "mjx-assistive-mml"
            nodes = [node for node in nodes if not page.query_selector(f"{node[0]} {read}")]
        if nodes:
            first = f"{nodes[0][0]} {nodes[0][1][:100]}"
            yield f"axe: {rule['id']} ({where}): {len(nodes)}, first: {first}"


def check_page(page: Page, origin: str, name: str, screens: Path | None) -> list[str]:
    """Look at one page, in light and in dark: what is wrong with it."""
    watch = Watch(page, origin)

    def show(theme: str, width: int, height: int = HEIGHT) -> None:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(SET_THEME, theme)
        page.evaluate(SETTLE)

    page.goto(f"{origin}/{name}")
    page.add_style_tag(content=STILL)
    problems: list[str] = []
    for theme in ("light", "dark"):
        show(theme, WIDTH)
        wrong, height = page.evaluate(LOOK)
        problems += wrong
        if screens is None:
            continue
        stem = re.sub(r"\W+", "-", name.replace(".html", ""))
        # The window is made as tall as the page: a picture of more than the window may be torn.
        show(theme, WIDTH, min(max(height, HEIGHT), TALLEST))
        page.screenshot(path=screens / f"{stem}-{theme}.png")
    for width in (WIDTH, PHONE):
        show("dark", width)
        problems += filter(None, [page.evaluate(TOO_WIDE)])
        page.wait_for_timeout(SLOW)
        if width == WIDTH:
            problems += page.evaluate(REACH)
        for theme, options in [run[1:] for run in AXE_RUNS if run[0] == width]:
            show(theme, width)
            problems += axe_lines(page, options, f"{theme}, {width} px")
    return list(dict.fromkeys([*watch.problems, *problems]))


def pages_of(html: Path) -> list[str]:
    """The pages of the book; not the theme's fragments, nor pages that only lead to another."""
    names = []
    for path in sorted(html.rglob("*.html")):
        inside = path.relative_to(html)
        redirects = 'http-equiv="refresh"' in path.read_text(encoding="utf-8").lower()
        if "_static" not in inside.parts and not redirects:
            names.append(inside.as_posix())
    return names + [f"{name}?q=rank+my+own+data" for name in names if name == "search.html"]


def check_book(binary: str, html: Path, screens: Path | None, only: str = "*") -> int:
    """Look at every page; print one line each, return how many problems there are."""
    for old in claim_folder(screens).glob("*.png") if screens else ():
        old.unlink()
    names = fnmatch.filter(pages_of(html), only)
    start = time.monotonic()
    many = 1 + (os.cpu_count() or 1)  # browsers: axe computes most of the time, one may wait
    rest = iter(names)  # each takes the next

    def look(_: int) -> int:
        total = 0
        with chromium(binary) as browser:
            for name in rest:
                with browser.new_page() as page:
                    problems = check_page(page, origin, name, screens)
                state = "FAILED" if problems else "ok"
                lines = [f"  {name:<48} {state:>6}", *problems]
                print("\n      ".join(lines), flush=True)
                total += len(problems)
        return total

    with serve(html) as origin, ThreadPoolExecutor(many) as pool:
        total = sum(pool.map(look, range(min(many, len(names)))))
    print(f"{len(names)} pages in {time.monotonic() - start:.1f} s, {total} problems")
    print(f"screenshots: {screens}" if screens else "no screenshots")
    return total


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Look at every page of the built book.")
    parser.add_argument("--html", type=Path, default=Path("_build/html"))
    parser.add_argument("--screens", type=Path, help="default: screens/ beside the HTML")
    parser.add_argument("--only", metavar="GLOB", default="*", help="such as 'notebooks/0*'")
    parser.add_argument("--no-screens", action="store_true", help="keep no screenshots")
    given = parser.parse_args(arguments)
    if not (given.html / "index.html").is_file():
        print(f"no book at {given.html}; run `make book` first", file=sys.stderr)
        return 2
    if (binary := installed()) is None:
        return missing("no page was looked at")
    screens = None if given.no_screens else given.screens or given.html.parent / "screens"
    return 1 if check_book(binary, given.html.resolve(), screens, given.only) else 0


if __name__ == "__main__":
    raise SystemExit(main())
