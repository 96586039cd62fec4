"""Rerun pages of the built book in a browser and compare what they find with CPython's records.

    python tools/live_check.py [--html _build/html] [--only GLOB] [--quick]

A second machine for every claim: CPython for WebAssembly, 32 bits, another NumPy and SciPy.
Verdicts must be equal, exact and certified numbers to 1e-9 and others to 1e-6, relative; no request
may leave this machine.  At the pages' own parameters the numbers in the
sentences must be the printed ones.  Times, bytes and differences go to ``live.json`` beside
the HTML.  Needs Chromium and ``make live``.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromium import Watch, chromium, installed, missing

from dpbook.book.output import write_whole
from dpbook.book.serving import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PATIENCE = 600.0  # seconds for one page
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
    start: liveLog.find(one => one.kind === "started")?.seconds,
    cells: cells.map(one => one.seconds),
    sentences: [before, liveLog.find(one => one.kind === "done")?.glued ?? []],
    shown: document.querySelectorAll(".live-mark").length,
    left_out: [...document.querySelectorAll(".live-mark.left-out")].flatMap(
      one => [...one.parentElement.querySelectorAll(".claim-card strong")].map(
        name => name.textContent)),
    bytes: performance.getEntriesByType("resource").reduce(
      (sum, one) => sum + one.encodedBodySize, 0),
    why: bad ? bad.why : null};
})()
"""


def run_here(browser: Browser, address: str, quick: bool) -> dict[str, Any]:
    """Rerun the page at an address: what it found, how long it took, what went wrong."""
    with browser.new_page() as page:
        watch = Watch(page, address.partition("/notebooks/")[0])
        page.goto(address)
        start = time.monotonic()
        buttons = ["[data-set=quick]"] * quick + [".live [type=submit]"]
        page.evaluate(_RUN, [buttons, 1000 * PATIENCE])
        seconds = round(time.monotonic() - start, 1)
        return {"seconds": seconds, **page.evaluate(_ANSWER), "requests": watch.problems}


@contextmanager
def broken_copy(html: Path) -> Iterator[Path]:
    """The same book with one file of the runtime cut short."""
    with tempfile.TemporaryDirectory() as made:
        for path in html.iterdir():
            if path.name != "live":
                Path(made, path.name).symlink_to(path)
        shutil.copytree(html / "live", Path(made, "live"))
        (wheel,) = Path(made, "live", "runtime").glob("numpy-*.whl")
        wheel.write_bytes(wheel.read_bytes()[:-1])
        yield Path(made)


def differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """What a record of the browser says otherwise than CPython's."""
    for field in ("holds", "repaired", "applies", "control", "verdict", "tier"):
        if mine[field] != theirs[field]:
            yield f"{field}: {mine[field]} here, {theirs[field]} there"
    tolerance = 1e-9 if theirs["tier"] != "statistical" else 1e-6
    for key, value in theirs["report"].items():
        if (off := _off(mine["report"].get(key), value)) > tolerance:
            yield f"{key}: off by {off:.1e} (relative)"


def _off(mine: Any, theirs: Any) -> float:
    """The largest relative difference of two recorded values; infinite if the shapes differ."""
    if isinstance(theirs, bool) or not isinstance(theirs, int | float | list | dict):
        return 0.0 if mine == theirs else math.inf
    if isinstance(theirs, dict):
        if not isinstance(mine, dict) or mine.keys() != theirs.keys():
            return math.inf
        return max((_off(mine[key], value) for key, value in theirs.items()), default=0.0)
    if isinstance(theirs, list):
        if not isinstance(mine, list) or len(mine) != len(theirs):
            return math.inf
        return max(map(_off, mine, theirs), default=0.0)
    if not isinstance(mine, int | float):
        return math.inf
    return 0.0 if mine == theirs else abs(mine - theirs) / max(abs(theirs), 1e-300)


def problems_of(found: Mapping[str, Any], known: Mapping[str, Any], quick: bool) -> list[str]:
    """What is wrong with a run: errors, other records, other sentences, requests."""
    problems = [*found["requests"]]
    if found["why"]:
        return [*problems, str(found["why"])]
    for record in found["records"]:
        there = known.get(record["id"])
        if there is None or quick:
            if record["applies"] and record["control"] is False:
                problems.append(f"{record['id']}: the control was not caught")
            continue
        problems += [f"{record['id']}: {line}" for line in differences(record, there)]
    mine = [name for name, record in known.items() if record["notebook"] == found["page"]]
    missing = {*mine} - {record["id"] for record in found["records"]} - {*found["left_out"]}
    if missing:
        problems.append(f"no record of {', '.join(sorted(missing))}")
    before, after = found["sentences"]
    if not quick and before != after:
        pairs = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
        problems.append(f"{len(pairs)} numbers in sentences differ, such as {pairs[:3]}")
    if not found["shown"]:
        problems.append("the page does not show the run")
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Rerun pages of the built book in a browser.")
    parser.add_argument("--html", type=Path, default=Path("_build/html"))
    parser.add_argument("--only", metavar="GLOB", action="append", help="such as '0*'")
    parser.add_argument("--quick", action="store_true", help="small, without the long studies")
    given = parser.parse_args(arguments)
    if not (given.html / "live" / "build.json").is_file():
        print(f"no runtime beside {given.html}; run `make live` first", file=sys.stderr)
        return 2
    if (binary := installed()) is None:
        return missing("no page was rerun")
    records = json.loads((given.html.parent / "claims.json").read_text(encoding="utf-8"))
    known = {record["id"]: record for record in records}
    pages = sorted(path.stem for path in (given.html / "live" / "pages").glob("*.json"))
    names = [name for name in pages if any(fnmatch.fnmatch(name, g) for g in given.only or "*")]
    results, failed = [], 0
    with chromium(binary) as browser:
        with serve(given.html.resolve()) as origin:
            for name in names:
                address = f"{origin}/notebooks/{name}.html"
                found = {"page": name, **run_here(browser, address, given.quick)}
                problems = problems_of(found, known, given.quick)
                failed += bool(problems)
                mine = [record for record in known.values() if record["notebook"] == name]
                here = {record["id"]: record for record in found["records"]}
                same = (r["id"] in here and not [*differences(here[r["id"]], r)] for r in mine)
                found |= {"problems": problems, "claims": len(mine), "same": sum(same)}
                told = f"start {found['start'] or 0:5.1f} s, in all {found['seconds']:6.1f} s"
                how = "FAILED" if problems else "ok"
                print(f"  {name:<34} {how:>6}  {told}, {len(here)} claims", flush=True)
                for problem in problems[:12]:
                    print(f"      {problem[:300]}")
                results.append(found)
        with broken_copy(given.html.resolve()) as copy, serve(copy) as origin:
            found = run_here(browser, f"{origin}/notebooks/{pages[0]}.html", quick=True)
        how = "ok" if found["why"] and not found["shown"] else "FAILED"
        print(f"  {'a broken file of the runtime':<34} {how:>6}  {found['why']}")
        failed += how != "ok"
    if not given.quick and not given.only:
        kept = ("page", "seconds", "start", "figures", "bytes", "problems", "claims", "same")
        rows = [{key: found.get(key) for key in kept} for found in results]
        write_whole(given.html.parent / "live.json", json.dumps(rows, indent=1) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
