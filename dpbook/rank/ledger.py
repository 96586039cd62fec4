"""What was released of some data: a line of JSON for each release, before its noise is drawn."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from hashlib import file_digest, sha256
from math import exp
from os import PathLike, fspath
from secrets import token_hex
from typing import Any, BinaryIO

import dpbook
from dpbook.rank.names import fraction_of
from dpbook.rank.promise import Promise, exact

Path = str | PathLike[str]


@dataclass(frozen=True)
class Sum:
    """What releases lose together."""

    epsilon: Fraction = Fraction()
    delta: Fraction = Fraction()

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.epsilon + other.epsilon, self.delta + other.delta)

    def __str__(self) -> str:
        return f"{self.epsilon} (and delta {1.01 * float(self.delta):.2g})"


@dataclass(frozen=True)
class Spent:
    """What a ledger says after the release `id`, for data sets that differ by a replacement.

    `person` adds up what protects a person, `comparison` all, since each release protects a
    comparison. To replace is to take away and to add: "add_remove" counts twice.
    """

    id: str = ""
    person: Sum = Sum()
    comparison: Sum = Sum()
    budget: Fraction | None = None

    def __str__(self) -> str:
        single = self.comparison.epsilon - self.person.epsilon
        words = f"epsilon spent on these data (budget: {self.budget}): {self.person} to protect a "
        words += f"person; {self.comparison} to protect one comparison; a person lost up to "
        return words + f"{single} more for each answer they gave"


def charge(path: Path, promise: Promise, *, budget: Any = None, data: str | None = None) -> Spent:
    """Write a release into the ledger, before its noise is drawn; the sums with it.

    A ledger belongs to one data set, whose SHA-256 is the `data`; the first budget that is given
    holds for all later releases.
    """
    entry: dict[str, Any] = {
        "id": token_hex(8),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        **vars(promise),
        "data_sha256": data,
        "version": dpbook.__version__,
    }
    with _alone(path) as (file, text):
        before = _sums(fspath(path), text)
        limit = before.budget
        if budget is not None:
            limit = budget_of(budget)
        if before.budget not in (None, limit):
            allowed = f"allowed is {before.budget}, as the ledger says"
            raise ValueError(f"budget = {budget!s:.60}: {allowed}")
        entry["budget"] = limit
        after = _with(before, entry)
        spent = before.comparison.epsilon  # the larger of both sums
        now = after.comparison.epsilon
        if limit is not None and now > limit:
            given = f"budget = {limit}, of which {spent} is spent, and this release takes"
            left = max(limit - spent, Fraction())
            raise ValueError(f"{given} {now - spent}: allowed is up to {left}")
        _append(file, entry, text)
    return after


def fingerprint(files: Sequence[Path]) -> str | None:
    """SHA-256 of the files, one after the other; None for what is read but once."""
    if not all(map(os.path.isfile, files)):
        return None
    digest = sha256()
    for name in files:
        with open(name, "rb") as file:
            file_digest(file, lambda: digest)
    return digest.hexdigest()


def budget_of(value: object) -> Fraction:
    """What the releases of some data may lose together."""
    return exact("budget", value, "1e-6", "1e9", "a number above 0, as 3 or 1/2")


@contextmanager
def _alone(path: Path) -> Iterator[tuple[BinaryIO, str]]:
    """The file, open for reading and appending, and locked where the system can; and its text."""
    own = partial(os.open, mode=0o600)  # it tells of the data: for its keeper
    with open(path, "a+b", opener=own) as file:
        with suppress(ModuleNotFoundError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        file.seek(0)
        yield file, file.read().decode("utf-8", "replace")


def _append(file: BinaryIO, entry: dict[str, Any], text: str) -> None:
    """One line more; a last line without its end gets it first."""
    line = f"{json.dumps(entry, default=str)}\n"
    if text and not text.endswith("\n"):
        line = f"\n{line}"
    file.write(line.encode())
    file.flush()
    os.fsync(file.fileno())


def _sums(name: str, text: str) -> Spent:
    """All releases of a ledger, added up; what is no line of a ledger is refused."""
    spent = Spent()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if "output_sha256" not in entry:  # which earlier versions wrote after the draw
                spent = _with(spent, entry)
        except Exception:  # whatever somebody wrote there
            what = f"{name}, line {number}: {line!r:.60} is no release"
            raise ValueError(f"{what}: allowed is a ledger that this command wrote") from None
    return spent


def _with(spent: Spent, entry: dict[str, Any]) -> Spent:
    """The sums with one release more; an error if the entry is none."""
    epsilon = fraction_of(str(entry["epsilon"]))
    delta = fraction_of(str(entry.get("delta", 0)))
    if epsilon <= 0 or not 0 <= delta < 1:
        raise ValueError
    relation = entry.get("relation", "replace")
    if relation not in ("replace", "add_remove"):
        raise ValueError
    if relation == "add_remove":
        delta *= 1 + Fraction(exp(epsilon) * (1 + 1e-9))  # of two steps, rounded up
        epsilon *= 2
    budget = spent.budget
    if budget is None and entry.get("budget"):
        budget = budget_of(entry["budget"])
    one = Sum(epsilon, delta)
    person = spent.person + one
    if entry["protect"] == "comparison":
        person = spent.person
    return Spent(str(entry.get("id", "")), person, spent.comparison + one, budget)
