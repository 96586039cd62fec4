"""What a test measured: named parts, each a value against its limit.

A test returns a `Finding`, made by the four functions here and joined with ``&``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_FAILED = {"≤": ">", "<": "≥", "≥": "<", ">": "≤", "=": "≠"}


@dataclass(frozen=True)
class Part:
    """One thing that a test looked at, in words with its unit; a plain fact has no numbers."""

    what: str
    passes: bool
    value: float | int | None = None
    limit: float | int | None = None
    sign: str = ""

    def words(self) -> str:
        """The part as a reader sees it: ``largest loss (ε) 1.11 > 1``."""
        if not self.sign:
            return f"{self.what}: {'yes' if self.passes else 'no'}"
        if self.passes:
            return f"{self.what} {_shown(self.value)} {self.sign} {_shown(self.limit)}"
        value, limit = _apart(self.value, self.limit)
        return f"{self.what} {value} {_FAILED[self.sign]} {limit}"

    def plain(self) -> dict[str, Any]:
        """The part as JSON; infinite values become words."""
        infinite = (math.inf, -math.inf)
        values = {k: getattr(self, k) for k in ("what", "passes", "sign", "value", "limit")}
        return {name: str(v) if v in infinite else v for name, v in values.items()}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Part:
        """The part that `plain` wrote."""
        words = {k: float(plain[k]) for k in ("value", "limit") if isinstance(plain[k], str)}
        return cls(**{**plain, **words})


@dataclass(frozen=True)
class Finding:
    """The parts of a test on one subject, joined with ``&``; it passes when all of them do."""

    parts: tuple[Part, ...]

    @property
    def passes(self) -> bool:
        """Whether every part passes."""
        return all(part.passes for part in self.parts)

    def __and__(self, other: Finding) -> Finding:
        if not isinstance(other, Finding):
            return NotImplemented
        if twice := [p.what for p in other.parts if p.what in {q.what for q in self.parts}]:
            raise ValueError(f"two parts of one test are called {twice[0]!r}")
        return Finding(self.parts + other.parts)

    def __bool__(self) -> bool:
        raise TypeError("a Finding has no truth value: join findings with &, or ask for .passes")


def at_most(
    what: str, value: Any, limit: Any, *, slack: float = 0.0, strict: bool = False
) -> Finding:
    """Whether a number, or every entry of an array, stays below a limit.

    Parameters
    ----------
    what : str
        What was measured, in words, with its unit.
    value, limit : number or array
        Broadcast against each other, without NaN; the entry with the least room is kept.
    slack : float
        Rounding that is forgiven, in the unit of `value`; not shown to the reader as the limit.
    strict : bool
        Whether meeting the limit exactly counts as failing.
    """
    return _compared(what, value, limit, "<" if strict else "≤", np.positive, slack)


def at_least(
    what: str, value: Any, limit: Any, *, slack: float = 0.0, strict: bool = False
) -> Finding:
    """Whether a number, or every entry of an array, stays above a limit; as `at_most`."""
    return _compared(what, value, limit, ">" if strict else "≥", np.negative, slack)


def equal(what: str, value: Any, expected: Any, *, slack: float = 0.0) -> Finding:
    """Whether a number, or every entry of an array, is the expected one; as `at_most`."""
    return _compared(what, value, expected, "=", np.abs, slack)


def fact(what: str, truth: Any) -> Finding:
    """Something that is so or not so, when there is no number to show."""
    if not isinstance(truth, (bool, np.bool_)):
        raise ValueError(f"{what}: must be True or False, got {truth!r}")
    return Finding((Part(_named(what), bool(truth)),))


def _compared(
    what: str,
    value: Any,
    limit: Any,
    sign: str,
    beyond: Callable[[np.ndarray], np.ndarray],
    slack: float,
) -> Finding:
    """The entry that goes farthest `beyond` its limit, and whether that is within the slack."""
    found, wanted = _numbers(what, value, limit)
    with np.errstate(invalid="ignore"):
        over = np.where(found == wanted, 0.0, beyond(found - wanted))
    at = int(over.argmax())
    passes = over[at] < slack if sign in ("<", ">") else over[at] <= slack
    return Finding((Part(what, bool(passes), _whole(found[at]), _whole(wanted[at]), sign),))


def _numbers(what: str, value: Any, limit: Any) -> tuple[np.ndarray, np.ndarray]:
    """Value and limit as flat arrays of one length, without gaps."""
    _named(what)
    try:
        found, wanted = np.broadcast_arrays(np.asarray(value), np.asarray(limit))
    except ValueError as error:
        raise ValueError(f"{what}: value and limit do not fit together ({error})") from None
    for array in (found, wanted):
        if array.dtype.kind not in "biuf" or array.size == 0 or np.isnan(array).any():
            raise ValueError(f"{what}: needs numbers without NaN, got {value!r} and {limit!r}")
    return found.ravel().astype(float), wanted.ravel().astype(float)


def _named(what: str) -> str:
    if not isinstance(what, str) or not what.strip():
        raise ValueError(f"a measurement needs a name in words, got {what!r}")
    return what


def _whole(number: float) -> float | int:
    """An integer where the number is one that reads better so."""
    number = float(number)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _shown(number: Any, digits: int = 4) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.{digits}g}"


def _apart(value: Any, limit: Any) -> Sequence[str]:
    """Two numbers with just enough digits, four at least, to be told apart if they differ."""
    for digits in range(4, 17):
        shown = [_shown(number, digits) for number in (value, limit)]
        if shown[0] != shown[1] or value == limit:
            return shown
    return [repr(value), repr(limit)]
