"""What moved between two builds, or versions, claim by claim: verdicts, outcomes and numbers.

A version is a tag of git, and what it found is read there: ``book/claims.yml``, ``book/numbers``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dpbook.book.files import git
from dpbook.book.pages import PageError
from dpbook.book.run import numbers

#: What may have happened to a claim, the gravest first.
KINDS = ("verdict changed", "outcome changed", "number changed", "new", "gone")

Record = Mapping[str, Any]


class Claimed(NamedTuple):
    """What one claim came to: outcome and parameters are None where a version does not tell."""

    verdict: str
    outcome: str | None
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
            if x != y and None not in (x, y):
                found.append(Change(name, f"{what} changed", f"{x} → {y}"))
        other = old.parameters != new.parameters
        for number in sorted(old.numbers.keys() | new.numbers.keys()):
            pair = old.numbers.get(number), new.numbers.get(number)
            if words := numbers.difference(*pair, welch=other):
                found.append(Change(name, "number changed", f"{number}{words}"))
    return sorted(found, key=lambda change: (change.claim, KINDS.index(change.kind)))


def claimed(records: Iterable[Record]) -> dict[str, Claimed]:
    """What the claims of a build came to, from its records."""
    return {
        record["id"]: Claimed(
            record["verdict"],
            _outcome(record),
            record["parameters"],
            dict(numbers.reported(record)),
        )
        for record in records
    }


def _outcome(record: Record) -> str:
    """How the test came out, in words."""
    if not record["applies"]:
        return "not tested at these parameters"
    came_out = {"as printed": record["holds"], "repaired": record["repaired"]}
    words = {True: "passes", False: "fails"}
    return ", ".join(f"{x} it {words[y]}" for x, y in came_out.items() if y is not None)


def versions(root: Path) -> list[str]:
    """The tags of versions that were given out, the oldest first."""
    return (git(root, "tag", "--list", "--sort=version:refname", "v[0-9]*") or "").split()


def version(root: Path, tag: str) -> dict[str, Claimed]:
    """What the claims of a version came to; a `PageError` if there is no such version."""
    if tag not in (known := versions(root)):
        told = f"{tag!r} is no version that was given out"
        raise PageError(f"{told}; there are {', '.join(known) or 'none'}")
    names = git(root, "ls-tree", "--name-only", f"{tag}:{numbers.FOLDER}") or ""
    files = {Path(n).stem: git(root, "show", f"{tag}:{numbers.FOLDER}/{n}") for n in names.split()}
    kept: dict[str, dict[str, Any]] = {}
    for (_, line), value in numbers.parse({n: text or "" for n, text in files.items()})[0].items():
        if line.startswith("reports "):
            _, claim, name = line.split(" ", 2)
            kept.setdefault(claim, {})[name] = value
    rows = yaml.safe_load(git(root, "show", f"{tag}:book/claims.yml") or "[]")
    checked = {row["id"]: row["verdict"] for row in rows if row.get("verdict")}
    return {name: Claimed(word, None, None, kept.get(name, {})) for name, word in checked.items()}


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
