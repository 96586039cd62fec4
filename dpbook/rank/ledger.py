"""What was released of some data before: one line of JSON for each release, epsilons added up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike, fspath
from typing import BinaryIO

Totals = dict[str, tuple[int, Fraction]]


def charge(path: str | PathLike[str], protect: str, epsilon: Fraction) -> Totals:
    """Write a release into the ledger, before its noise is drawn; the sums with it, by protection.

    A ledger belongs to one data set. Two processes take turns.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    entry = {"when": now, "protect": protect, "epsilon": str(epsilon)}
    if os.path.exists(path) and not os.path.isfile(path):  # a device may have no end
        raise ValueError(f"{fspath(path)} is no file: allowed is a ledger that this command wrote")
    with _alone(path) as file:
        totals = _sums(fspath(path), file.read().decode("utf-8", "replace"))
        count, before = totals.get(protect, (0, Fraction()))
        totals[protect] = count + 1, before + epsilon
        file.write(json.dumps(entry).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return totals


def fraction_of(text: str) -> Fraction:
    """The fraction that a text of up to 40 characters says exactly; else a ValueError.

    A float looks at it first: of a large exponent it would have as many digits.
    """
    if len(text) > 40 or ("/" not in text and not 1e-99 < abs(float(text)) < 1e99):
        raise ValueError
    return Fraction(text)


@contextmanager
def _alone(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """The file, open for reading and appending, and locked where the system can."""
    with open(path, "a+b") as file:
        with suppress(ModuleNotFoundError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        file.seek(0)
        yield file


def _sums(name: str, text: str) -> Totals:
    totals: Totals = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            protect, epsilon = str(entry["protect"]), fraction_of(str(entry["epsilon"]))
            if epsilon <= 0:
                raise ValueError
        except (ValueError, KeyError, TypeError, ArithmeticError):
            what = f"{name}, line {number}: {line!r:.60} is no release"
            raise ValueError(f"{what}: allowed is a ledger that this command wrote") from None
        count, total = totals.get(protect, (0, Fraction()))
        totals[protect] = count + 1, total + epsilon
    return totals
