"""Whether the book still says what it said: ``python tools/golden.py --only '04-*'``.

``book/golden/`` keeps, line by line, every record, every number of a sentence, and what the
reproducers print.  What moved by less than the tolerance of `dpbook.book.lock` is called rounding.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbook.book import errata
from dpbook.book.build import errata_jobs, execute_stale, plan
from dpbook.book.claims import RECORD_MIME
from dpbook.book.lock import DIGITS
from dpbook.book.output import sole_build, write_whole
from dpbook.book.pages import find_pages, outputs, select

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "book" / "golden"
PROFILES = ("smoke", "default")
ROUNDING = "rounding only"
_GLUE = "application/papermill.record/text/plain"


def compare(profile: str, only: Sequence[str], *, write: bool, workers: int) -> bool:
    """Run the pages (all if `only` is empty) and compare with the stored copy; whether it holds."""
    names = {page.name for page in select(find_pages(ROOT), only)}
    out = ROOT / "_build" / "golden" / profile
    jobs = [job for job in plan(ROOT, out, profile=profile) if job.page.name in names]
    jobs += [] if only else errata_jobs(ROOT, out)
    with sole_build(ROOT, out):
        failed = execute_stale(jobs, ROOT, out, workers, timeout=3600)
        found = gathered([job.target for job in jobs])
    path = FOLDER / f"{profile}.tsv"
    before = load(path)
    mine = {n: v for n, v in before.items() if not only or n.split(" ", 1)[0] in names}
    told = differences(mine, found)
    for name, words in told.items():
        print(f"  {name}: {words}")
    rounding = list(told.values()).count(ROUNDING)
    moved = len(told) - rounding
    print(f"{profile}: {len(found)} lines, {moved} moved, {rounding} by rounding only")
    if write and not failed:
        write_whole(path, text({n: v for n, v in before.items() if n not in mine} | found))
    return not failed and (write or not moved)


def main() -> int:
    """Compare the profiles that the command line names; the exit status."""
    parser = argparse.ArgumentParser(description="Does the book still say what it said?")
    parser.add_argument("--profile", action="append", choices=PROFILES, help="default: both")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="these pages")
    parser.add_argument("--write", action="store_true", help="store what was found")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    given = parser.parse_args()
    how = {"write": given.write, "workers": given.jobs}
    held = [compare(profile, given.only, **how) for profile in given.profile or PROFILES]
    return int(not all(held))


def gathered(executed: Iterable[Path]) -> dict[str, str]:
    """What these executed pages found, quote and print, as lines of JSON by name."""
    found = {name: value for path in executed if path.is_file() for name, value in _said(path)}
    return {n: json.dumps(value, ensure_ascii=False, sort_keys=True) for n, value in found.items()}


def _said(executed: Path) -> Iterator[tuple[str, Any]]:
    """A name, and the record, the quoted number or text, or what a reproducer printed."""
    page = executed.stem
    for output, data in outputs(json.loads(executed.read_text(encoding="utf-8"))):
        if record := data.get(RECORD_MIME):
            yield f"{page} claim {record['id']}", record
        elif _GLUE in data:
            value: Any = "".join(data[_GLUE])
            with contextlib.suppress(ValueError):
                value = float(value)
            yield f"{page} says {output['metadata']['scrapbook']['name']}", value
        elif result := data.get(errata.MIME):
            yield f"{page} {result['name']}", result["output"]


def load(path: Path) -> dict[str, str]:
    """The stored lines of one profile by name; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: line for name, _, line in (text.partition("\t") for text in lines)}


def text(lines: Mapping[str, str]) -> str:
    """The lines as they are stored."""
    return "".join(f"{name}\t{lines[name]}\n" for name in sorted(lines))


def differences(stored: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """What differs, by name, in words; rounding is told apart."""
    told = {name: "is gone" for name in stored} | {name: "is new" for name in found}
    for name in stored.keys() & found.keys():
        old, new = (dict(_leaves(json.loads(side[name]))) for side in (stored, found))
        pairs = {where: (old.get(where), new.get(where)) for where in old | new}
        moved = [f"{at}: {x!r} -> {y!r}"[:300] for at, (x, y) in pairs.items() if not _close(x, y)]
        told[name] = "; ".join(moved) or ROUNDING * (stored[name] != found[name])
    return {name: told[name] for name in sorted(told) if told[name]}


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """What is no list and no mapping, each with its place."""
    if isinstance(value, list | dict):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        form = ".{}" if isinstance(value, dict) else "[{}]"
        for key, item in items:
            yield from _leaves(item, where + form.format(key))
    else:
        yield where, value


def _close(old: Any, new: Any) -> bool:
    """Whether two values are equal, or numbers as equal as the lock wants them."""
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (old, new))
    return repr(old) == repr(new) or (
        numbers and abs(old - new) <= 0.5 * 10.0 ** (1 - DIGITS) * max(abs(old), abs(new))
    )


if __name__ == "__main__":
    sys.exit(main())
