"""The numbers that claims record, locked: a later build must find them again.

``book/reports.lock`` keeps every recorded number with its tolerance, which is derived, not chosen:

* a whole number has none;
* any other number may move by half a unit in the sixth significant digit, the last that its card
  shows, so that no reader ever sees another number without a renewed lock;
* a row of simulated means carries its standard error.  On a page that runs at the parameters of the
  lock the rule above holds for it too; at others the two means are compared by Welch's test, with
  an error probability of `FALSE_ALARM` for the whole table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbook.book.output import write_whole
from dpbook.book.pages import PageError

FILE = "book/reports.lock"
DIGITS = 6
FALSE_ALARM = 1e-9
_NOTHING: dict[str, Any] = {"parameters": None, "numbers": {}, "report": {}}
_SPREAD = ("mean", "sd", "sd_between", "runs", "replicates")

Record = Mapping[str, Any]
Entry = dict[str, Any]


def load(root: Path) -> dict[str, Entry] | None:
    """The lock: parameters and numbers by claim; None if there is no readable one."""
    try:
        kept: dict[str, Entry] = json.loads((root / FILE).read_text(encoding="utf-8"))
        whole = all(
            "parameters" in entry
            and all({"value", "tolerance"} <= n.keys() for n in entry["numbers"].values())
            for entry in kept.values()
        )
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return None
    return kept if whole else None


def problems(root: Path, records: Sequence[Record], complete: bool) -> list[str]:
    """One line for every number that is not the locked one, or missing if they are `complete`."""
    reporting = {record["id"]: record for record in records if record["report"]}
    if (kept := load(root)) is None:
        return [f"{FILE} is missing or not readable: `dpbook lock` writes it"] * bool(reporting)
    found = []
    for claim in {*reporting, *(kept if complete else ())}:
        record = reporting.get(claim, _NOTHING)
        entry, names = kept.get(claim, _NOTHING), dict(_entries(record["report"]))
        locked, same = entry["numbers"], entry["parameters"] == record["parameters"]
        for name, number in names.items():
            where = f"{claim} ({record['notebook']}): {name}"
            if name not in locked:
                found.append(f"{where} is not in {FILE}: `dpbook lock` adds it")
            elif complaint := _differs(locked[name], number, 0 if same else len(names)):
                found.append(f"{where} {complaint}")
        gone = locked.keys() - names
        found += [f"{claim}: {name} is in {FILE}, but nothing reports it" for name in gone]
    return sorted(found)


def _entries(value: Any, name: str = "") -> Iterator[tuple[str, Entry]]:
    """Every number of a report with its tolerance, by name; rows of a table one by one."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _entries(item, f"{name}[{_label(item, number)}]")
    elif isinstance(value, Mapping) and {"mean", "sd_between", "runs"} <= value.keys():
        runs = int(value["runs"])
        error = value["sd_between"] / math.sqrt(runs)
        yield name, _entry(value["mean"]) | {"standard error": error, "runs": runs}
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entries(item, f"{name}.{key}".removeprefix("."))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, _entry(value)


def _label(item: Any, number: int) -> str:
    """Which row this is: the settings of a simulated mean, the place of anything else."""
    if not isinstance(item, Mapping) or "sd_between" not in item:
        return str(number)
    return ", ".join(f"{k}={item[k]}" for k in sorted(item) if k not in _SPREAD)


def _entry(value: float | int) -> Entry:
    if isinstance(value, int) or value == 0:
        return {"value": value, "tolerance": 0}
    last = math.floor(math.log10(abs(value))) - DIGITS + 1
    return {"value": value, "tolerance": 0.5 * 10.0**last}


def _differs(locked: Entry, found: Entry, count: int) -> str | None:
    """What is wrong with a number; `count` simulated means are compared at other parameters."""
    value, kept, tolerance = found["value"], locked["value"], locked["tolerance"]
    said = f"is {value!r}, but {kept!r} is locked"
    if "standard error" in found and count:
        from scipy.stats import t  # a second, for other parameters than the locked ones

        error = math.hypot(found["standard error"], locked["standard error"])
        freedom = min(found["runs"], locked["runs"]) - 1
        tolerance += float(t.isf(FALSE_ALARM / (2 * count), freedom)) * error
    return f"{said}, tolerance {tolerance:.2g}" if abs(value - kept) > tolerance else None


def moved(before: Record, after: Record) -> Iterator[tuple[str, Any, Any]]:
    """Numbers of one claim that differ between two records: name, before, after; None for none."""
    old, new = (dict(_entries(record["report"])) for record in (before, after))
    same = before["parameters"] == after["parameters"]
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield name, old.get(name, {}).get("value"), new.get(name, {}).get("value")
        elif _differs(old[name], new[name], 0 if same else len(new)):
            yield name, old[name]["value"], new[name]["value"]


def renew(
    root: Path, records: Sequence[Record], defaults: Mapping[str, Mapping[str, Any]], *, write: bool
) -> list[str]:
    """What changed since the lock was written, one line each; then the new lock, if `write`.

    The records are those of a build of the whole book, with every page at its `defaults`.
    """
    for record in records:
        if record["parameters"] != defaults.get(record["notebook"]):
            page = f"{record['notebook']} ran at other parameters than its defaults"
            raise PageError(f"{page}; run `make book`, then lock")
    numbers = {r["id"]: dict(_entries(r["report"])) for r in records if r["report"]}
    old = {claim: entry["numbers"] for claim, entry in (load(root) or {}).items()}
    before, after = (
        {f"{claim}: {name}": side[claim][name]["value"] for claim in side for name in side[claim]}
        for side in (old, numbers)
    )
    if write:
        parameters = {record["id"]: json.dumps(record["parameters"]) for record in records}
        lines = (
            f' {json.dumps(claim)}: {{\n  "parameters": {parameters[claim]},\n'
            f'  "numbers": {json.dumps(numbers[claim])}\n }}'
            for claim in sorted(numbers)
        )
        write_whole(root / FILE, "{\n" + ",\n".join(lines) + "\n}\n")
    pairs = {name: (before.get(name, "-"), after.get(name, "-")) for name in before | after}
    return [f"{name}: {x} -> {y}" for name, (x, y) in sorted(pairs.items()) if x != y]
