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
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chromium import Watch, chromium, installed, missing

from dpbook.book.files import serve, write_whole

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


def run_here(browser: Browser, address: str, quick: bool, broken: str = "") -> dict[str, Any]:
    """Rerun the page at an address: what it found, how long it took, what went wrong.

    The files that `broken` names come as something else.
    """
    with browser.new_page() as page:
        watch = Watch(page, address.partition("/notebooks/")[0])
        if broken:
            page.route(broken, lambda one: one.fulfill(body="something else"))
        page.goto(address)
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


def _tell(name: str, wrong: bool, words: str, problems: Sequence[str] = ()) -> None:
    lines = [f"  {name:<34} {'FAILED' if wrong else 'ok':>6}  {words}", *problems[:12]]
    print("\n      ".join(line[:300] for line in lines), flush=True)


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
    with chromium(binary) as browser, serve(given.html.resolve()) as origin:
        for name in names:
            address = f"{origin}/notebooks/{name}.html"
            found = {"page": name, **run_here(browser, address, given.quick)}
            problems = problems_of(found, known, given.quick)
            failed += bool(problems)
            mine = [record for record in known.values() if record["notebook"] == name]
            here = {record["id"]: record for record in found["records"]}
            same = (r["id"] in here and not [*differences(here[r["id"]], r)] for r in mine)
            found |= {"problems": problems, "claims": len(mine), "same": sum(same)}
            how = f"start {found['start'] or 0:5.1f} s, in all {found['seconds']:6.1f} s"
            _tell(name, bool(problems), f"{how}, {len(here)} claims", problems)
            results.append(found)
        address = f"{origin}/notebooks/{pages[0]}.html"
        found = run_here(browser, address, quick=True, broken="**/numpy-*.whl")
        wrong = not found["why"] or bool(found["shown"])
        _tell("a broken file of the runtime", wrong, found["why"])
        failed += wrong
    if not given.quick and not given.only:
        kept = ("page", "seconds", "start", "figures", "bytes", "problems", "claims", "same")
        rows = [{key: found.get(key) for key in kept} for found in results]
        write_whole(given.html.parent / "live.json", json.dumps(rows, indent=1) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
