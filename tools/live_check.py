"""Rerun pages of the built book in a browser and compare what they find with CPython's records.

    python tools/live_check.py [--html _build/html] [--only GLOB] [--quick] [--third [K]]

A second machine for every claim: CPython for WebAssembly, 32 bits, another NumPy and SciPy.
Verdicts must be equal, exact and certified numbers to 1e-9 and others to 1e-6, relative; no request
may leave this machine.  At the pages' own parameters the page must say that nothing on it changed.
Of a whole run, seconds and differences go to ``live.json`` beside the HTML.  Two pages run at
once.  Needs Chromium and ``make live``.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromium import Watch, chromium, installed, missing

from dpbook.book.files import serve, write_whole

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

PATIENCE = 1800.0  # seconds for one page, on a machine that has other work
_RUN = """
([buttons, patience]) => new Promise(ended => {
  window.liveLog = [];
  window.addEventListener("dpbook-live", ({detail}) => {
    if (detail.kind !== "stage") liveLog.push(detail);
    if (["done", "failed", "refused", "broken"].includes(detail.kind)) ended();
  });
  setTimeout(() => { liveLog.push({kind: "broken", why: "not done in time"}); ended(); }, patience);
  window.before = [...document.querySelectorAll(".pasted-text[data-glue]")].map(s => s.textContent);
  document.querySelector("details.live").open = true;
  for (const button of buttons) document.querySelector(button).click();
})
"""
_ANSWER = """
(() => {
  const cells = liveLog.filter(one => one.kind === "cell");
  const outputs = cells.flatMap(one => one.outputs);
  const bad = liveLog.find(one => ["failed", "refused", "broken"].includes(one.kind));
  return {
    records: outputs.filter(one => one.record).map(one => one.record),
    figures: outputs.filter(one => one.svg).length,
    images: document.querySelectorAll(".cell_output img").length,
    start: liveLog.find(one => one.kind === "started")?.seconds,
    sentences: liveLog.find(one => one.kind === "done")?.glued
      .map((now, k) => [before[k], now]).filter(([old, now]) => old !== now).slice(0, 3),
    shown: document.querySelectorAll(".live-mark").length,
    status: document.querySelector(".live-status").textContent,
    left_out: [...document.querySelectorAll(".live-mark.left-out")].flatMap(
      one => [...one.parentElement.querySelectorAll(".claim-card strong")].map(
        name => name.textContent)),
    why: bad ? bad.why : null};
})()
"""


def run_here(context: BrowserContext, address: str, quick: bool) -> dict[str, Any]:
    """Rerun the page at an address: what it found, how long it took, what went wrong."""
    with context.new_page() as page:
        watch = Watch(page, address.partition("/notebooks/")[0])
        page.goto(address)
        page.wait_for_selector(".live [type=submit]:enabled", state="attached")
        start = time.monotonic()
        buttons = ["[data-set=quick]"] * quick + [".live [type=submit]"]
        page.evaluate(_RUN, [buttons, 1000 * PATIENCE])
        seconds = round(time.monotonic() - start, 1)
        return {"seconds": seconds, **page.evaluate(_ANSWER), "requests": watch.problems}


def differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """What a record of the browser says otherwise than CPython's."""
    for field in ("holds", "repaired", "applies", "control", "verdict", "evidence"):
        if mine[field] != theirs[field]:
            yield f"{field}: {mine[field]} here, {theirs[field]} there"
    tolerance = 1e-9 if theirs["evidence"] != "statistical" else 1e-6
    here, there = (dict(_leaves(record["report"])) for record in (mine, theirs))
    for place in sorted(here.keys() | there.keys()):
        one, two = here.get(place), there.get(place)
        numbers = all(isinstance(n, int | float) and not isinstance(n, bool) for n in (one, two))
        if one != two and not (numbers and math.isclose(one, two, rel_tol=tolerance)):
            yield f"{place}: {one} here, {two} there"


def _leaves(value: Any, place: str = "report") -> Iterator[tuple[str, Any]]:
    """The numbers and words of a recorded value, each with its place."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(one, f"{place}/{key}")
    else:
        yield place, value


def claims_wrong(
    found: Mapping[str, Any], known: Mapping[str, Any], quick: bool
) -> Iterator[tuple[str, str]]:
    """Claims of a page that came out otherwise in a run, each with what is wrong."""
    here = {record["id"]: record for record in found["records"]}
    for name, there in known.items():
        if record := here.get(name):
            if not quick:
                yield from ((name, line) for line in differences(record, there))
            elif record["applies"] and record["control"] is False:
                yield name, "the control was not caught"
        elif name not in found["left_out"]:
            yield name, "no record"


def page_wrong(found: Mapping[str, Any], quick: bool) -> Iterator[str]:
    """What is wrong with a run beside its claims: errors, requests, what the page shows."""
    yield from found["requests"]
    if found["why"]:
        yield found["why"]
    elif quick and not found["shown"]:
        yield "the page does not show the run"
    elif not quick and "Nothing on the page changed." not in found["status"]:
        yield f"at its own parameters the page says: {found['status']} {found['sentences']}"
    elif not quick and found["figures"] != found["images"]:
        yield f"{found['figures']} figures, and {found['images']} on the page"


def run_pages(
    binary: str, html: Path, known: Sequence[Mapping[str, Any]], quick: bool, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Rerun some pages in one browser, whose cache stays; tell and give what each found."""
    rows = []
    with chromium(binary) as browser, serve(html.resolve()) as origin:
        context = browser.new_context()
        context.set_default_timeout(1000 * PATIENCE)
        for name in names:
            found = run_here(context, f"{origin}/notebooks/{name}.html", quick)
            mine = {record["id"]: record for record in known if record["notebook"] == name}
            wrong = [*claims_wrong(found, mine, quick)]
            problems = [*page_wrong(found, quick), *map(": ".join, wrong)]
            same = len(mine) - len({claim for claim, _ in wrong})
            row = {"page": name, "problems": problems, "claims": len(mine), "same": same}
            how = f"start {found['start'] or 0:5.1f} s, in all {found['seconds']:6.1f} s"
            lines = [f"  {name:<42} {'FAILED' if problems else 'ok':>6}  {how}", *problems[:12]]
            print("\n      ".join(line[:300] for line in lines), flush=True)
            rows.append(row | {"seconds": found["seconds"]})
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Rerun pages of the built book in a browser.")
    parser.add_argument("--html", type=Path, default=Path("_build/html"))
    parser.add_argument("--only", metavar="GLOB", action="append", help="such as '0*'")
    parser.add_argument("--quick", action="store_true", help="small, without the long studies")
    day = time.localtime().tm_yday
    third = {"type": int, "nargs": "?", "const": day % 3, "choices": range(3), "metavar": "K"}
    parser.add_argument("--third", **third, help="every third page from K = 0, 1, 2, or by the day")
    given = parser.parse_args(arguments)
    if not (given.html / "live").is_dir():
        print(f"no runtime beside {given.html}; run `make live` first", file=sys.stderr)
        return 2
    if (binary := installed()) is None:
        return missing("no page was rerun")
    known = json.loads((given.html.parent / "claims.json").read_text(encoding="utf-8"))
    pages = sorted(path.stem for path in (given.html / "live").glob("*/pages/*.json"))
    names = [name for name in pages if any(fnmatch.fnmatch(name, g) for g in given.only or "*")]
    if given.third is not None:
        names = names[given.third :: 3]
        print(f"--third {given.third} runs these {len(names)} pages again")
    rerun = functools.partial(run_pages, binary, given.html, known, given.quick)
    with ThreadPoolExecutor(2) as pool:  # each with a browser of its own
        halves = [*pool.map(rerun, (names[::2], names[1::2]))]
    rows = sorted(itertools.chain(*halves), key=lambda row: row["page"])
    if not given.quick and names == pages:
        write_whole(given.html.parent / "live.json", json.dumps(rows, indent=1) + "\n")
    return int(not rows or any(row["problems"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
