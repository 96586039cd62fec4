"""Every page at the ends of its parameters, at pairs of ends, and at seeds 1 to 20: ``make grid``.

    python tools/grid.py [--only '04-*'] [--kind pairs] [--jobs 1] [--report]

All runs start from the smoke profile and go through `dpbook.book.run.sweep`, so that a run which is
there is not made again.  Four kinds: ``own`` is the profile itself, ``pairs`` a covering array in
which any two ends of any two parameters meet, ``seeds``, and ``tops``, where one size at a time is
at its upper end.  (A *size*, an integer that a profile changes, is in the array at its lower end
and at its value in the profile.)  Writes ``_build/grid.json``, all of it, and
``book/trust/grid.json``, what the book shows.
"""

from __future__ import annotations

import argparse
import ast
import collections
import html
import itertools
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.about import commit
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.output import write_whole
from dpbook.book.pages import Page, Parameter, find_pages, load_profile, outputs, select
from dpbook.book.run.collect import ledger_problems
from dpbook.book.run.grid import plan
from dpbook.book.run.sweep import kept_result, sweep

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("own", "pairs", "seeds", "tops")
PATIENCE = 120  # seconds for one cell
_SPARE = 1e-6  # of the width of a range: how near a run goes to an end that is excluded
_GLUE = "application/papermill.record/text/plain"
# \inf is a formula, "information" a word
_WORD = re.compile(r"(?<![\w\\])(nan|inf|infinity)(?!\w)", re.IGNORECASE)
_NAN = re.compile(r"\bnan\b", re.IGNORECASE)

Setting = dict[str, Any]


def ends(parameter: Parameter) -> list[Any]:
    """The ends of a parameter's range, every member of a set of words; in a list if it is one."""
    inside = parameter.allowed.removeprefix("each in").strip()
    if inside.startswith("{"):
        members = ast.literal_eval(inside)
        words = any(isinstance(member, str) for member in members)
        found = sorted(members) if words else [min(members), max(members)]
    else:
        low, high = (float(x) for x in inside[1:-1].split(","))
        room = _SPARE * (high - low)
        found = [low + room * (inside[0] == "("), high - room * (inside[-1] == ")")]
    values = [[x] if isinstance(parameter.default, list) else x for x in found]
    return [parameter.coerce(value) for value in values]


def covering(axes: Mapping[str, Sequence[Any]]) -> list[Setting]:
    """Settings in which any two values of any two axes meet at least once; greedy, no chance."""
    names = list(axes)
    if len(names) < 2:
        return [{name: value} for name in names for value in axes[name]]
    indices = {name: range(len(axes[name])) for name in names}
    missing = {
        frozenset(((a, i), (b, j)))
        for a, b in itertools.combinations(names, 2)
        for i in indices[a]
        for j in indices[b]
    }
    found = []
    while missing:
        row = dict(min(sorted(pair) for pair in missing))
        for name in names:
            if name not in row:
                gains = [
                    sum(frozenset(((name, i), other)) in missing for other in row.items())
                    for i in indices[name]
                ]
                row[name] = gains.index(max(gains))
        missing -= {frozenset(pair) for pair in itertools.combinations(row.items(), 2)}
        found.append({name: axes[name][row[name]] for name in names})
    return found


def runs(page: Page, profiles: Mapping[str, Mapping[str, Setting]]) -> dict[str, list[Setting]]:
    """The settings of one page by kind, on top of its smoke profile."""
    own = profiles["smoke"].get(page.name, {})
    larger = {name for values in profiles.values() for name in values.get(page.name, {})}
    axes, tops = {}, []
    for name, parameter in page.parameters.items():
        low, *_, high = values = ends(parameter)
        if name in larger and isinstance(parameter.default, int):
            base = own.get(name, parameter.default)
            values = [low, base]
            tops += [{name: high}] if high != base else []
        axes[name] = [x for k, x in enumerate(values) if x not in values[:k]]
    seeds = [{"seed": seed} for seed in range(1, 21) if "seed" in page.parameters]
    return {"own": [{}], "pairs": covering(axes), "seeds": seeds, "tops": tops}


def not_finite(notebook: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The id of a cell, and the words around a NaN or an infinity that a reader sees there.

    Of a record only what passes is looked at: an infinite loss is how many a twin is caught.
    """
    for cell in notebook["cells"]:
        for output, data in outputs({"cells": [cell]}):
            texts = ["".join(output.get("text", ""))]
            if record := data.get(RECORD_MIME):
                passed = [one["parts"] for one in record["measured"] if one["passes"]]
                texts = [json.dumps([record["report"], passed], ensure_ascii=False)]
            elif _GLUE in data:
                texts = ["".join(data[_GLUE])]
            else:
                shown = [text for kind, text in data.items() if kind.startswith("text/")]
                texts += [re.sub(r"<[^>]*>", " ", "".join(text)) for text in shown]
            for text in map(html.unescape, texts):
                for word in _WORD.finditer(text):
                    around = text[max(0, word.start() - 60) : word.end() + 20]
                    yield cell["id"], " ".join(around.split())


def look(executed: Path) -> dict[str, Any]:
    """What is kept of an executed page, besides its records."""
    notebook = json.loads(executed.read_text(encoding="utf-8"))
    return {"not_finite": sorted(set(not_finite(notebook)))}


def main() -> int:
    """Run what the command line names, then tell and store what is known of the whole grid."""
    parser = argparse.ArgumentParser(description="Every page at the ends of its parameters.")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="these pages")
    parser.add_argument("--kind", action="append", choices=KINDS, help="default: all of them")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one page")
    parser.add_argument("--report", action="store_true", help="run nothing")
    given = parser.parse_args()
    pages, out = find_pages(ROOT), ROOT / "_build" / "grid"
    names = [page.name for page in select(pages, given.only)]
    profiles = {name: load_profile(ROOT, name) for name in ("smoke", "paper")}
    planned = {page.name: runs(page, profiles) for page in pages}
    with tempfile.TemporaryDirectory() as folder:
        # a page's own setting tells which infinities it means
        wanted = {"own", *(given.kind or KINDS)}
        for kind in [] if given.report else filter(wanted.__contains__, KINDS):
            if grid := written(folder, {name: planned[name][kind] for name in names}):
                how = {"jobs": given.jobs, "timeout": given.timeout, "look": look}
                sweep(ROOT, grid, out, **how)
        every = {name: [x for kind in KINDS for x in planned[name][kind]] for name in planned}
        tasks = plan(ROOT, written(folder, every) or Path())
    results: dict[str, list[Any]] = {name: [] for name in planned}
    for task in tasks:
        kind = next(k for k in KINDS if task.given in planned[task.page.name][k])
        results[task.page.name].append((kind, task.given, kept_result(task, out)))
    found = {name: page_found(name, mine) for name, mine in results.items()}
    whole = {"pages": found, "statistical": statistical(found)}
    write_whole(ROOT / "_build" / "grid.json", text(whole))
    write_whole(ROOT / "book" / "trust" / "grid.json", text(summary(whole)))
    wrong = list(problems(found))
    print(*wrong, sep="\n")
    done, all_ = (sum(sum(one[key].values()) for one in found.values()) for key in ("ran", "runs"))
    print(f"{done} of {all_} runs are there; {len(wrong)} findings")
    return int(bool(wrong) or done < all_)


def written(folder: str, settings: Mapping[str, Sequence[Setting]]) -> Path | None:
    """A grid as the sweep reads it; None without settings."""
    path, pages = Path(folder, "grid.yml"), {k: listed for k, listed in settings.items() if listed}
    if pages:
        write_whole(path, yaml.safe_dump({"profile": "smoke", "pages": pages}, sort_keys=False))
    return path if pages else None


def page_found(
    page: str, results: Sequence[tuple[str, Setting, Mapping[str, Any] | None]]
) -> dict[str, Any]:
    """What all runs of a page found: claims, contradictions, what is not finite, times.

    An infinity that the page shows at its own setting too, in the same cell, is listed as its own.
    """
    ledger = load_ledger(ROOT / "book" / "claims.yml")
    ran = [(kind, given, one) for kind, given, one in results if one]
    own = [x for kind, _, one in ran if kind == "own" for x in one.get("not_finite", ())]
    usual = {cell for cell, words in own if not _NAN.search(words)}
    found: dict[str, Any] = {
        "runs": collections.Counter(kind for kind, *_ in results),
        "ran": collections.Counter(kind for kind, *_ in ran),
        "longest": max((one.get("longest", 0.0) for *_, one in ran), default=0.0),
        "own_infinities": [words for cell, words in own if cell in usual],
        "claims": 0,
        "checks": collections.Counter(),
        **{name: [] for name in ("contradictions", "not_applicable", "failed")},
        **{name: [] for name in ("not_finite", "slow")},
    }
    for kind, given, one in ran:
        at = {"kind": kind, "setting": given}
        if one.get("longest", 0.0) > PATIENCE:
            found["slow"].append(at | {"seconds": round(one["longest"])})
        if one["error"]:
            found["failed"].append(at | {"why": one["error"]})
            continue
        for cell, words in one.get("not_finite", ()):
            if cell not in usual or _NAN.search(words):
                found["not_finite"].append(at | {"cell": cell, "words": words})
        for problem in sorted(ledger_problems(ledger, one["records"], [page])):
            found["contradictions"].append(at | {"problem": problem})
        for record in one["records"]:
            found["claims"] += record["applies"]
            if not record["applies"]:
                why = {"claim": record["id"], "why": record["why"]}
                found["not_applicable"].append(at | why)
            elif record["tier"] == "statistical":
                found["checks"][record["id"]] += 1
    return found


def statistical(found: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """By stated probability of a false alarm: checks run, alarms to be expected, alarms seen.

    An alarm is a statement that contradicts its verdict; a twin that passes is counted apart.
    """
    path = ROOT / "book" / "trust" / "alarms.yml"
    stated = yaml.safe_load(path.read_text(encoding="utf-8"))
    rows: dict[tuple[float, bool], collections.Counter[str]] = {}
    for one in found.values():
        told: dict[str, dict[str, bool]] = {}  # by claim and setting: whether the twins alone
        for each in one["contradictions"]:
            claim, words = each["problem"].split()[0], each["problem"]
            twins = "control" in words or "no twin" in words
            mine = told.setdefault(claim, {})
            setting = json.dumps(each["setting"])
            mine[setting] = mine.get(setting, True) and twins
        for claim, times in one["checks"].items():
            alarm, power = float(stated[claim][0]), stated[claim][1]
            row = rows.setdefault((alarm, power), collections.Counter())
            by_twins = list(told.get(claim, {}).values())
            row.update(claims=1, checks=times, seen=by_twins.count(False))
            row.update(twins_passed=by_twins.count(True))
    return [
        {"alarm": alarm, "power": power, **row, "expected": float(f"{alarm * row['checks']:.2g}")}
        for (alarm, power), row in sorted(rows.items())
    ]


def summary(whole: Mapping[str, Any]) -> dict[str, Any]:
    """What the book shows of the grid."""
    lists = ("contradictions", "not_applicable", "failed", "not_finite")
    pages = {
        name: {
            "runs": sum(one["ran"].values()),
            "planned": sum(one["runs"].values()),
            "claims": one["claims"],
            **{key: len(one[key]) for key in lists},
            "longest": round(one["longest"]),
        }
        for name, one in whole["pages"].items()
    }
    return {"commit": commit(ROOT), "pages": pages, "statistical": whole["statistical"]}


def problems(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A line for everything that should not be."""
    for page, one in found.items():
        for key in ("failed", "contradictions", "not_finite", "slow"):
            for each in one[key]:
                setting = " ".join(f"{name}={value}" for name, value in each["setting"].items())
                said = next(each[k] for k in ("why", "problem", "words", "seconds") if k in each)
                last = str(said).strip().splitlines()[-1]
                yield f"{page} {setting}: {key.replace('_', ' ')}: {last}"


def text(value: Any) -> str:
    """JSON as it is stored."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
