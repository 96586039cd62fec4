"""Open every page of the built book in a browser, without a network, and look at it.

    python tools/check_pages.py [--html _build/html] [--screens _build/screens]

Fails if a formula is not rendered, a page asks another host for anything, the console shows an
error, a page is wider than the window of a desk or a phone, or a figure is missing, has no
alternative text, shows the page through its background, or is recoloured by a filter.  Fails, too,
on what stops readers who do not see or do not use a mouse: axe finds a violation in light or dark,
at the width of a desk or of a phone; a formula is a stop of the Tab key; a control shows no focus;
a table has no caption or no row headers; code must be scrolled sideways on a desk.
Keeps a screenshot of every page, light and dark.  Needs Chromium, and the script of axe.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import fnmatch
import importlib.resources
import itertools
import json
import os
import queue
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dpbook.book.output import claim_folder
from dpbook.book.pages import PageError
from dpbook.book.serving import serve

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # Chromium refuses to run as root with it, as it does in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # there is no other host
    "--remote-debugging-pipe",
)
WIDTH, HEIGHT = 1280, 900
PHONE = 390
TALLEST = 16000  # pixels; Chromium draws nothing beyond
PATIENCE = 240.0  # seconds for one command; axe takes long over a long page
AXE_PACKAGE = "axe_playwright_python"

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
  return JSON.stringify({problems, formulas: formulas.length, figures: figures.length,
    height: Math.ceil(document.documentElement.scrollHeight)});
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
  say([...document.querySelectorAll("mjx-container")].filter(
    math => math.tabIndex >= 0), "formulas are stops of the Tab key");
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
  // Transitions would show the old look for a while.
  const still = document.head.appendChild(document.createElement("style"));
  still.textContent = "*, *::before, *::after { transition: none !important; }";
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
  still.remove();
  say(dull, "controls show no focus");
  return JSON.stringify(problems);
})()
"""
# All rules, with one that axe still calls experimental. The rules on colours take most of the time
# and do not depend on the width, so that a phone's window is not asked again.
_COLORS = ("color-contrast", "link-in-text-block")
_NAMES = '"label-content-name-mismatch": {"enabled": true}'
_NO_COLORS = "".join(f', "{rule}": {{"enabled": false}}' for rule in _COLORS)
AXE_RUNS = (
    (WIDTH, "light", f'{{"rules": {{{_NAMES}}}}}'),
    (WIDTH, "dark", json.dumps({"runOnly": _COLORS})),
    (PHONE, "light", f'{{"rules": {{{_NAMES}{_NO_COLORS}}}}}'),
)
#: What axe finds in the theme's own parts and this book leaves: the rule and the element.
AXE_KNOWN: tuple[tuple[str, str], ...] = ()
RUN_AXE = """
(async () => {
  // Scrolling boxes become stops of the Tab key a moment after the window has changed.
  await new Promise(done => setTimeout(done, 500));
  // Without the preload, which fetches style sheets again and loses the place of what they import.
  const found = await axe.run({exclude: ["mjx-container"]}, {
    preload: false, resultTypes: ["violations"], ...RULES});
  // A head of a table that holds a formula is not empty: its MathML is read, which axe cannot see.
  const read = (rule, node) => rule.id === "empty-table-header"
    && document.querySelector(node.target.flat().join(" "))?.querySelector("mjx-assistive-mml");
  return JSON.stringify(found.violations.flatMap(rule => rule.nodes.filter(
    node => !read(rule, node)).map(
    node => [rule.id, node.target.flat().join(" "), node.html.slice(0, 100)])));
})()
"""
SET_THEME = """
document.documentElement.dataset.mode = document.documentElement.dataset.theme = "{theme}"; 0
"""
# Top left corner, fonts there, and two frames drawn since.
SETTLE = """
(async () => {
  window.scrollTo(0, 0);
  await document.fonts.ready;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
})()
"""


class BrowserError(RuntimeError):
    """The browser did not do what it was told."""


class Browser:
    """Chromium, spoken to over a pair of pipes in its own DevTools protocol."""

    def __init__(self, binary: str, profile: str, patience: float = PATIENCE) -> None:
        self._patience = patience
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The child wants the pipes as file descriptors 3 and 4; move ours out of the way first.
        ours = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, to_write)]

        def place() -> None:
            os.dup2(ours[0], 3)
            os.dup2(ours[1], 4)

        self._process = subprocess.Popen(
            [binary, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place,
            pass_fds=(3, 4),
        )
        for fd in (to_read, to_write, *ours):
            os.close(fd)
        self._ids = itertools.count(1)
        self._buffer = b""
        self.on_event: Callable[[str, dict[str, Any]], None] = lambda method, params: None
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events on the way go to `on_event`."""
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self._patience
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def wait_for(self, happened: Callable[[], bool]) -> None:
        """Receive events until something has happened."""
        deadline = time.monotonic() + self._patience
        while not happened():
            self._receive(deadline)

    def evaluate(self, script: str) -> Any:
        """The value of a script in the page, waited for if it is a promise."""
        done = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in done:
            raise BrowserError(str(done["exceptionDetails"].get("exception", done)))
        return done["result"].get("value")

    def close(self) -> None:
        """End the browser."""
        try:
            self._session = None
            self.send("Browser.close")
        except (BrowserError, OSError):
            self._process.terminate()
        for fd in (self._read, self._write):
            os.close(fd)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                raise BrowserError("no answer from the browser" if not ready else "it has ended")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.on_event(message["method"], message.get("params", {}))
        return message


class Watch:
    """Listens to the events of one page and keeps what must not happen."""

    def __init__(self, origin: str) -> None:
        self.problems: list[str] = []
        self.loaded = False
        self._origin = origin

    def __call__(self, method: str, params: dict[str, Any]) -> None:
        """Take one event."""
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self._request(params["request"]["url"])
        elif method == "Network.responseReceived" and params["response"]["status"] >= 400:
            response = params["response"]
            self.problems.append(f"{response['url']} answers {response['status']}")
        elif method == "Network.webSocketCreated":
            self._request(params["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "")
            self.problems.append(f"script error: {text.splitlines()[0] if text else details}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            said = [str(a.get("value", a.get("description", ""))) for a in params["args"]]
            self.problems.append(f"console error: {' '.join(said)}")
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            entry = params["entry"]
            self.problems.append(f"console error: {entry['text']} {entry.get('url', '')}".strip())

    def _request(self, url: str) -> None:
        local = (self._origin + "/", "data:", "blob:" + self._origin, "about:")
        if not url.startswith(local):
            self.problems.append(f"asks another host: {url}")


def axe_script() -> str:
    """The script of axe, from the package that carries it; a `PageError` says how to get it."""
    try:
        return (importlib.resources.files(AXE_PACKAGE) / "axe.min.js").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError) as error:
        words = "axe is not installed: pip install --no-deps -r tools/requirements.txt"
        raise PageError(words) from error


def _axe_lines(found: list[list[str]], where: str) -> list[str]:
    """One line for each rule that is violated: how often, and the first place."""
    by_rule: dict[str, list[list[str]]] = {}
    for rule, target, html in found:
        if not any(rule == known and part in target for known, part in AXE_KNOWN):
            by_rule.setdefault(rule, []).append([target, html])
    return [
        f"axe: {rule} ({where}): {len(nodes)}, first: {nodes[0][0]} {nodes[0][1]}"
        for rule, nodes in by_rule.items()
    ]


def check_page(
    browser: Browser, origin: str, name: str, screens: Path, axe: str
) -> tuple[list[str], str]:
    """Look at one page, in light and in dark.

    Parameters
    ----------
    browser : Browser
    origin : str
        Where the book is served.
    name : str
        Path of the page in the book, ``notebooks/04-noisy-counts.html``.
    screens : Path
        Folder of the screenshots.
    axe : str
        The script of axe.

    Returns
    -------
    problems : list of str
    summary : str
        What was seen.
    """
    watch = Watch(origin)
    browser.on_event = watch
    _set_window(browser, WIDTH, HEIGHT)
    browser.send("Page.navigate", url=f"{origin}/{name}")
    browser.wait_for(lambda: watch.loaded)
    problems: list[str] = []
    seen: dict[str, Any] = {}
    for theme in ("light", "dark"):
        browser.evaluate(SET_THEME.replace("{theme}", theme))
        _set_window(browser, WIDTH, HEIGHT)
        browser.evaluate(SETTLE)
        seen = json.loads(browser.evaluate(LOOK))
        problems += [line for line in seen["problems"] if line not in problems]
        stem = name.removesuffix(".html").replace("/", "-")
        (screens / f"{stem}-{theme}.png").write_bytes(_screenshot(browser, seen["height"]))
    browser.evaluate(axe + "; 0")
    for width in (WIDTH, PHONE):
        _set_window(browser, width, HEIGHT)
        browser.evaluate(SETTLE)
        problems += filter(None, [browser.evaluate(TOO_WIDE)])
        if width == WIDTH:
            problems += json.loads(browser.evaluate(REACH))
        for theme, rules in [run[1:] for run in AXE_RUNS if run[0] == width]:
            browser.evaluate(SET_THEME.replace("{theme}", theme))
            browser.evaluate(SETTLE)
            found = json.loads(browser.evaluate(RUN_AXE.replace("RULES", rules)))
            problems += _axe_lines(found, f"{theme}, {width} px")
    summary = f"{seen['formulas']} formulas, {seen['figures']} figures"
    return list(dict.fromkeys([*watch.problems, *problems])), summary


def _set_window(browser: Browser, width: int, height: int) -> None:
    browser.send(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=False,
    )


def _screenshot(browser: Browser, height: int) -> bytes:
    # The window is made as tall as the page. To capture beyond the window instead would squeeze the
    # page into one pixel and back, and the picture sometimes shows it on its way.
    _set_window(browser, WIDTH, min(max(height, HEIGHT), TALLEST))
    browser.evaluate(SETTLE)
    taken = browser.send("Page.captureScreenshot", format="png")
    return base64.b64decode(taken["data"])


def pages_of(html: Path) -> list[str]:
    """The pages of the book; not the theme's fragments, nor pages that only lead to another."""
    names = []
    for path in sorted(html.rglob("*.html")):
        inside = path.relative_to(html)
        redirects = 'http-equiv="refresh"' in path.read_text(encoding="utf-8").lower()
        if "_static" not in inside.parts and not redirects:
            names.append(inside.as_posix())
    return names


def check_book(binary: str, html: Path, screens: Path, only: str = "*") -> int:
    """Look at every page; print one line each, return how many problems there are."""
    for old in claim_folder(screens).glob("*.png"):
        old.unlink()
    axe = axe_script()
    names = fnmatch.filter(pages_of(html), only)
    total = 0
    start = time.monotonic()
    idle: queue.SimpleQueue[Browser] = queue.SimpleQueue()
    with serve(html) as origin, contextlib.ExitStack() as stack:
        # One browser for each core: axe computes most of the time.
        for _ in range(min(os.cpu_count() or 1, len(names))):
            fresh = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            browser = Browser(binary, stack.enter_context(fresh))
            stack.callback(browser.close)
            idle.put(browser)

        def look(name: str) -> tuple[list[str], str]:
            browser = idle.get()
            try:
                return check_page(browser, origin, name, screens, axe)
            finally:
                idle.put(browser)

        with ThreadPoolExecutor(max(idle.qsize(), 1)) as pool:
            for name, (problems, summary) in zip(names, pool.map(look, names), strict=True):
                print(f"  {name:<48} {'FAILED' if problems else 'ok':>6}  {summary}", flush=True)
                for problem in problems:
                    print(f"      {problem}")
                total += len(problems)
    print(f"{len(names)} pages in {time.monotonic() - start:.1f} s, {total} problems")
    print(f"screenshots: {screens}")
    return total


def without_browser(undone: str) -> int:
    """Say that Chromium is missing; the exit status, a failure where a machine looks."""
    in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    print("Chromium is not installed: apt-get install chromium", file=sys.stderr)
    print("failed" if in_ci else f"skipped: {undone}", file=sys.stderr)
    return 1 if in_ci else 0


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Look at every page of the built book.")
    parser.add_argument("--html", type=Path, default=Path("_build/html"))
    parser.add_argument("--screens", type=Path, help="default: screens/ beside the HTML")
    parser.add_argument("--only", metavar="GLOB", default="*", help="such as 'notebooks/0*'")
    given = parser.parse_args(arguments)
    if not (given.html / "index.html").is_file():
        print(f"no book at {given.html}; run `make book` first", file=sys.stderr)
        return 2
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    if binary is None:
        return without_browser("no page was looked at")
    screens = given.screens or given.html.parent / "screens"
    try:
        return 1 if check_book(binary, given.html.resolve(), screens, given.only) else 0
    except PageError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
