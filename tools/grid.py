"""Every page at the ends of its parameters, at pairs of ends, and at seeds 1 to 20: ``make grid``.

All runs start from the smoke profile and go through `dpbook.book.run.sweep`: what is there is not
run again.  Any two ends of any two parameters meet in some run; a *size*, an integer that a profile
changes, is there at its lower end and as in the profile, and in a run of its own at its upper end.
"""

import argparse
import html
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from allpairspy import AllPairs

from dpbook.book.files import commit, write_whole
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.pages import Page, find_pages, load_profile, outputs, select
from dpbook.book.run.collect import ledger_problems
from dpbook.book.run.sweep import kept_result, plan, sweep
from dpbook.book.sphinx.nodes import grouped

ROOT = Path(__file__).resolve().parents[1]
_SHOWN = ("text/", "application/papermill.record/text/plain")
# \inf is a formula, "information" a word
_WORD = re.compile(r"(?<![\w\\])(nan|inf|infinity)(?!\w)", re.IGNORECASE)
_NAN = re.compile(r"(?i)\bnan\b")


def settings(page: Page, profiles: dict[str, Any]) -> list[dict[str, Any]]:
    """The settings of one page on top of its smoke profile, which comes first."""
    own = profiles["smoke"].get(page.name, {})
    larger = {name for values in profiles.values() for name in values.get(page.name, {})}
    axes, tops = {}, []
    for name, parameter in page.parameters.items():
        low, *_, high = axes[name] = parameter.ends
        if name in larger and isinstance(parameter.default, int):
            base = own.get(name, parameter.default)
            axes[name] = [low, base] if low != base else [low]
            tops += [{name: high}] if high != base else []
    rows = AllPairs(list(axes.values())) if len(axes) > 1 else zip(*axes.values(), strict=True)
    seeds = [{"seed": seed} for seed in range(1, 21) if "seed" in axes]
    return [{}, *(dict(zip(axes, row, strict=True)) for row in rows), *seeds, *tops]


def look(executed: Path) -> dict[str, Any]:
    """Cells that show a reader a NaN or an infinity, each with the words around it."""
    found = set()
    for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"]:
        for output, data in outputs({"cells": [cell]}):
            if record := data.get(RECORD_MIME):  # an infinite loss is how many a control is caught
                passed = [one["parts"] for one in record["measured"] if one["passes"]]
                text = json.dumps([record["report"], passed], ensure_ascii=False)
            else:
                shown = [output.get("text", ""), *(data[k] for k in data if k.startswith(_SHOWN))]
                text = html.unescape(re.sub(r"<[^>]*>", " ", "\n".join(map("".join, shown))))
            for word in _WORD.finditer(text):
                around = text[max(0, word.start() - 60) : word.end() + 20]
                found.add((cell["id"], " ".join(around.split())))
    return {"not_finite": sorted(found)}


def judge(page: str, results: list[Any]) -> tuple[Counter[str], list[str], list[tuple[str, bool]]]:
    """Counts of a page, a line for what should not be, and how each statistical check came out."""
    ledger, row = load_ledger(ROOT / "book" / "claims.yml"), Counter(planned=len(results))
    lines, checks = [], []
    own = [x for given, one in results if one and not given for x in one.get("not_finite", ())]
    # infinities, not NaNs, are meant in a cell that shows one at the page's own setting
    usual = {cell for cell, words in own if not _NAN.search(words)}
    for given, one in ((given, one) for given, one in results if one):
        failed = one["error"].split("\n")[-1:] if one["error"] else []
        wrong = [] if failed else sorted(ledger_problems(ledger, one["records"], [page]))
        odd = [w for c, w in one.get("not_finite", ()) if c not in usual or _NAN.search(w)]
        kinds = {"failed": failed, "contradictions": wrong, "not_finite": odd}
        at = " ".join([page, *(f"{name}={value}" for name, value in given.items())])
        lines += [f"{at}: {k.replace('_', ' ')}: {words}" for k in kinds for words in kinds[k]]
        row.update({kind: len(words) for kind, words in kinds.items()}, runs=1)
        for record in one["records"]:
            row["claims"] += record["applies"]
            if record["applies"] and record["evidence"] == "statistical":
                mine = [words for words in wrong if words.startswith(f"{record['id']} ")]
                controls = all("control" in words or "no control" in words for words in mine)
                checks.append((record["id"], bool(mine) and not controls))
    return row, lines, checks


def runs_told(pages: Iterable[Counter[str]]) -> str:
    """What the book says of the runs."""
    total = sum(pages, Counter())
    names = "runs planned claims contradictions failed not_finite".split()
    n = {name: grouped(total[name]) for name in names}
    return (
        f"{n['runs']} of {n['planned']} planned runs were made; of their {n['claims']} checks of "
        f"a claim {n['contradictions']} contradicted the ledger, {n['failed']} runs failed, and "
        f"{n['not_finite']} numbers were not finite."
    )


def alarms_told(checks: list[tuple[str, bool]]) -> str:
    """How many statistical checks, and the alarms stated and seen."""
    stated = yaml.safe_load((ROOT / "book" / "trust" / "alarms.yml").read_text(encoding="utf-8"))
    expected = sum(float(stated[claim][0]) for claim, _ in checks)
    seen = sum(alarm for _, alarm in checks)
    return (
        f"In {grouped(len(checks))} statistical checks at most {expected:.2g} false alarms were "
        f"to be expected from the stated probabilities; the grid saw {seen}."
    )


def main() -> int:
    """Run the pages that are named, then tell and store what is known of the whole grid."""
    parser = argparse.ArgumentParser(description="Every page at the ends of its parameters.")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="these pages")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    options, pages, out = parser.parse_args(), find_pages(ROOT), ROOT / "_build" / "grid"
    profiles = {name: load_profile(ROOT, name) for name in ("smoke", "paper")}
    planned = {page.name: settings(page, profiles) for page in pages}
    asked = {page.name: planned[page.name] for page in select(pages, options.only)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "grid.yml")
        write_whole(path, yaml.safe_dump({"profile": "smoke", "pages": asked}))
        sweep(ROOT, path, out, jobs=options.jobs, timeout=1800, look=look)
        write_whole(path, yaml.safe_dump({"profile": "smoke", "pages": planned}))
        results: dict[str, list[Any]] = {name: [] for name in planned}
        for task in plan(ROOT, path):
            results[task.page.name].append((task.given, kept_result(task, out)))
    found = {name: judge(name, mine) for name, mine in results.items()}
    checks = [one for _, _, mine in found.values() for one in mine]
    runs = runs_told(row for row, _, _ in found.values())
    for name, sentence in (("grid", runs), ("alarms", alarms_told(checks))):
        told = json.dumps({"sentence": sentence, "commit": commit(ROOT)}, indent=1)
        write_whole(ROOT / "book" / "trust" / f"{name}.json", told + "\n")
    lines = [line for _, mine, _ in found.values() for line in mine]
    missing = sum(row["planned"] - row["runs"] for row, _, _ in found.values())
    print(*lines, f"{missing} runs are not there yet; {len(lines)} findings", sep="\n")
    return int(bool(lines) or missing > 0)


if __name__ == "__main__":
    raise SystemExit(main())
