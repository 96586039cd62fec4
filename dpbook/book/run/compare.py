"""What moved between two builds, claim by claim: verdicts, outcomes and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpbook.book.pages import PageError
from dpbook.book.run import numbers

#: What may have happened to a claim, the gravest first.
KINDS = ("verdict changed", "outcome changed", "number changed", "new", "gone")

Record = Mapping[str, Any]


class Claimed(NamedTuple):
    """What one claim came to, and at which parameters."""

    verdict: str
    outcome: str
    parameters: Any
    numbers: dict[str, Any]


Claims = Mapping[str, Claimed]


class Change(NamedTuple):
    """One thing that moved: the claim, a member of `KINDS`, and from what to what."""

    claim: str
    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.kind}: {self.words}".removesuffix(": ")


def changes(before: Claims, after: Claims) -> list[Change]:
    """All that moved from one set of claims to another, by claim."""
    found = [Change(name, "gone", before[name].verdict) for name in before.keys() - after.keys()]
    found += [Change(name, "new", after[name].verdict) for name in after.keys() - before.keys()]
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        pairs = {"verdict": (old.verdict, new.verdict), "outcome": (old.outcome, new.outcome)}
        for what, (x, y) in pairs.items():
            if x != y:
                found.append(Change(name, f"{what} changed", f"{x} → {y}"))
        if old.parameters == new.parameters:  # others give other numbers
            moved = numbers.moved(old.numbers, new.numbers, {})
            found += [Change(name, "number changed", words) for words in moved]
    return sorted(found, key=lambda change: (change.claim, KINDS.index(change.kind)))


def claimed(records: Iterable[Record]) -> dict[str, Claimed]:
    """What the claims of a build came to, from its records."""
    return {
        record["id"]: Claimed(
            record["verdict"],
            numbers.outcome(record),
            record["parameters"],
            dict(numbers.reported(record)),
        )
        for record in records
    }


def load(path: Path) -> list[dict[str, Any]]:
    """The records in a ``claims.json``; a `PageError` names the file and what is wrong with it."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        if not claimed(records):
            raise ValueError("no list of records of claims")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PageError(f"{path}: not a readable claims.json ({error!r})") from None
    return list(records)


def summary(before: Claims, after: Claims, found: Sequence[Change]) -> str:
    """How many claims are in both, and in how many of these nothing moved."""
    both = before.keys() & after.keys()
    same = len(both - {change.claim for change in found})
    counts = {kind: sum(change.kind == kind for change in found) for kind in KINDS}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{len(both)} claims in both, {same} of them the same" + (f"; {told}" if told else "")
