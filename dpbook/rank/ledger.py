"""What was released of some data: a line of JSON before the noise is drawn, and one after."""

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
from dpbook.rank.promise import Promise

_PROMISED = "protect relation epsilon delta statistic only max_answers".split()
_ALLOWED = "allowed is a ledger that this command wrote"
Path = str | PathLike[str]


@dataclass(frozen=True)
class Ledger:
    """The path of a ledger, and the SHA-256 of the data that it belongs to."""

    path: Path
    data: str | None = None

    def __fspath__(self) -> str:
        return fspath(self.path)


@dataclass(frozen=True)
class Sum:
    """Releases, and the sums of their epsilons and deltas."""

    count: int = 0
    epsilon: Fraction = Fraction()
    delta: Fraction = Fraction()

    def __str__(self) -> str:
        delta = f" and delta {1.01 * float(self.delta):.2g} at most" if self.delta else ""
        return f"{exactly(self.epsilon)}{delta}, in {self.count} release{'s' * (self.count > 1)}"


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
        lines = [f"{self.person} to protect a person"] if self.person.count else []
        if self.comparison.count > self.person.count:
            lines.append(f"{self.comparison} to protect one comparison")
        if single := self.comparison.epsilon - self.person.epsilon:
            lines.append(f"a person lost up to {exactly(single)} more for each answer they gave")
        of = "" if self.budget is None else f", of a budget of {exactly(self.budget)}"
        return f"epsilon spent on these data{of}: {'; '.join(lines)}"


def charge(
    path: Path, promise: Promise, items: Sequence[str] = (), budget: Any = None, dry: bool = False
) -> Spent:
    """Write a release into the ledger, before its noise is drawn (but if `dry`); the sums with it.

    A ledger belongs to one data set; the first budget that is given holds for all later releases.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a device may have no end
        raise ValueError(f"{fspath(path)} is no file: {_ALLOWED}")
    entry: dict[str, Any] = {
        "id": token_hex(8),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        **{name: getattr(promise, name) for name in _PROMISED},
        "items": len(items),
        "items_sha256": sha256("\n".join(items).encode()).hexdigest(),
        "data_sha256": getattr(path, "data", None),
        "version": dpbook.__version__,
    }
    with _alone(os.devnull if dry and not os.path.exists(path) else path, dry) as (file, text):
        before = _sums(fspath(path), text)
        limit = before.budget if budget is None else budget_of(budget)
        if before.budget and before.budget != limit:
            allowed = f"allowed is {exactly(before.budget)}, as the ledger says"
            raise ValueError(f"budget = {budget!s:.60}: {allowed}")
        after = _with(before, entry | {"budget": limit})
        spent, now = before.comparison.epsilon, after.comparison.epsilon  # the larger of both sums
        if limit is not None and now > limit:
            said = map(exactly, (limit, spent, now - spent, max(limit - spent, Fraction())))
            words = "{}, of which {} is spent, and this release takes {}: allowed is up to {}"
            raise ValueError("budget = " + words.format(*said))
        if not dry:
            _append(file, entry | {"budget": limit}, text)
    return after


def settle(path: Path, spent: Spent, output: str) -> None:
    """Write the digest of the output into the ledger, if it can be: the output must not be lost."""
    with suppress(OSError), _alone(path) as (file, text):
        digest = sha256(output.encode()).hexdigest()
        _append(file, {"id": spent.id, "output_sha256": digest}, text)


def fingerprint(files: Sequence[Path]) -> str | None:
    """SHA-256 of a file, or of the lines with those of several; None for what is read but once."""
    digests = []
    if not all(map(os.path.isfile, files)):
        return None
    for name in files:
        with open(name, "rb") as file:
            digests.append(file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()


def budget_of(value: object) -> Fraction:
    """What the releases of some data may lose together."""
    with suppress(ValueError, ArithmeticError):
        if (budget := fraction_of(str(value))) > 0:
            return budget
    raise ValueError(f"budget = {value!s:.60}: allowed is a number above 0, as 3 or 1/2")


def exactly(value: Fraction) -> str:
    """A number >= 0 in decimals if they end, otherwise as a fraction."""
    digits = next((k for k in range(81) if (value * 10**k).denominator == 1), 0)
    whole, rest = divmod((value * 10**digits).numerator, 10**digits)
    return f"{whole}.{rest:0{digits}}" if digits else str(value)


@contextmanager
def _alone(path: Path, dry: bool = False) -> Iterator[tuple[BinaryIO, str]]:
    """The file, open for reading and appending, and locked where the system can; and its text."""
    own = partial(os.open, mode=0o600)  # it tells of the data: for its keeper
    with open(path, "rb" if dry else "a+b", opener=own) as file:
        with suppress(ModuleNotFoundError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        file.seek(0)
        yield file, file.read().decode("utf-8", "replace")


def _append(file: BinaryIO, entry: dict[str, Any], text: str) -> None:
    """One line more; a last line without its end gets it first."""
    start = "\n" if text and not text.endswith("\n") else ""
    file.write(f"{start}{json.dumps(entry, default=str)}\n".encode())
    file.flush()
    os.fsync(file.fileno())


def _sums(name: str, text: str) -> Spent:
    """All releases of a ledger, added up; what is no line of a ledger is refused."""
    spent, known = Spent(), set[str]()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            entry = json.loads(line) if line.strip() else {"output_sha256": ""}
            if "output_sha256" not in entry:
                spent = _with(spent, entry)
                known.add(spent.id)
            elif line.strip():
                known.remove(entry["id"])
        except (ValueError, KeyError, TypeError, ArithmeticError, AttributeError, RecursionError):
            what = f"{name}, line {number}: {line!r:.60} is no release"
            raise ValueError(f"{what}: {_ALLOWED}") from None
    return spent


def _with(spent: Spent, entry: dict[str, Any]) -> Spent:
    """The sums with one release more; an error if the entry is none."""
    epsilon, delta = (fraction_of(str(entry.get(name, 0))) for name in ("epsilon", "delta"))
    budget = spent.budget if entry.get("budget") is None else budget_of(entry["budget"])
    persons = {"person": 1, "comparison": 0}[entry["protect"]]
    if epsilon <= 0 or not 0 <= delta < 1 or spent.budget not in (None, budget):
        raise ValueError
    if {"replace": False, "add_remove": True}[entry.get("relation", "replace")]:
        delta *= 1 + Fraction(exp(epsilon) * (1 + 1e-9))  # of two steps, rounded up
        epsilon *= 2
    person, comparison = (
        Sum(old.count + k, old.epsilon + k * epsilon, old.delta + k * delta)
        for old, k in ((spent.person, persons), (spent.comparison, 1))
    )
    return Spent(str(entry.get("id", "")), person, comparison, budget)
