"""What moved between two ``claims.json``, claim by claim: verdicts, outcomes and numbers.

A number has moved if it differs by more than the tolerance of `dpbook.book.ledger.lock`; means
that were simulated at other parameters are compared by its test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpbook.book.ledger import lock
from dpbook.book.ledger.words import format_number
from dpbook.book.output import write_whole
from dpbook.book.pages import PageError

#: Versions that were given out, each with what its claims found: ``VERSION.json``.
RELEASES = "book/releases"
#: What may have happened to a claim, the gravest first.
KINDS = ("verdict changed", "outcome changed", "number changed", "new", "gone")
_KEPT = ("id", "notebook", "verdict", "tier", "holds", "repaired", "applies", "parameters")

Record = Mapping[str, Any]


class Change(NamedTuple):
    """One thing that moved: the claim, a member of `KINDS`, and from what to what."""

    claim: str
    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.kind}: {self.words}".removesuffix(": ")


def changes(before: Iterable[Record], after: Iterable[Record]) -> list[Change]:
    """All that moved from one set of records to another, by claim."""
    old, new = ({record["id"]: record for record in side} for side in (before, after))
    found = [Change(name, "gone", old[name]["verdict"]) for name in old.keys() - new.keys()]
    found += [Change(name, "new", new[name]["verdict"]) for name in new.keys() - old.keys()]
    for name in old.keys() & new.keys():
        found += _moved(name, old[name], new[name])
    return sorted(found, key=lambda change: (change.claim, KINDS.index(change.kind)))


def _moved(name: str, old: Record, new: Record) -> list[Change]:
    pairs = {"verdict": (old["verdict"], new["verdict"]), "outcome": (_outcome(old), _outcome(new))}
    found = [
        Change(name, f"{what} changed", f"{x} → {y}") for what, (x, y) in pairs.items() if x != y
    ]
    for number, x, y in lock.moved(old, new):
        if x is None or y is None:  # what a check reports may change, too
            state = "new" if x is None else "gone"
            words = f"{number}: {format_number(y if x is None else x)} is {state}"
        else:
            words = f"{number}: {format_number(x)} → {format_number(y)}"
        found.append(Change(name, "number changed", words))
    return found


def _outcome(record: Record) -> str:
    """How the test came out, in words."""
    if not record["applies"]:
        return "not tested at these parameters"
    printed = f"as printed it {'passes' if record['holds'] else 'fails'}"
    repaired = record["repaired"]
    mended = "" if repaired is None else f", repaired it {'passes' if repaired else 'fails'}"
    return printed + mended


def load(path: Path) -> list[dict[str, Any]]:
    """The records in a ``claims.json``; a `PageError` names the file and what is wrong with it."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PageError(f"{path}: not a readable claims.json ({error})") from None
    fields = {*_KEPT, "report"}
    for record in (records if isinstance(records, list) else None) or [None]:
        if (
            not isinstance(record, dict)
            or fields - record.keys()
            or not isinstance(record["report"], dict)
            or not all(isinstance(record[field], str) for field in ("id", "notebook", "verdict"))
        ):
            raise PageError(f"{path}: not a claims.json, which is a list of records of claims")
    return list(records)


def released(root: Path) -> dict[str, list[dict[str, Any]]]:
    """The records of every version that was given out, the oldest first."""
    paths = sorted((root / RELEASES).glob("*.json"), key=lambda path: _order(path.stem))
    return {path.stem: load(path) for path in paths}


def _order(version: str) -> list[int]:
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")]


def keep(root: Path, version: str, records: Sequence[Record]) -> Path:
    """Store what the claims of a version found, without what only its own pages need."""
    lines = (
        json.dumps({field: record[field] for field in (*_KEPT, "report")}, ensure_ascii=False)
        for record in records
    )
    path = root / RELEASES / f"{version}.json"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, "[\n" + ",\n".join(lines) + "\n]\n")
    return path


def summary(before: Sequence[Record], after: Sequence[Record], found: Sequence[Change]) -> str:
    """How many claims are in both, and in how many of these nothing moved."""
    both = {record["id"] for record in before} & {record["id"] for record in after}
    same = len(both - {change.claim for change in found})
    counts = {kind: sum(change.kind == kind for change in found) for kind in KINDS}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{len(both)} claims in both, {same} of them the same" + (f"; {told}" if told else "")
