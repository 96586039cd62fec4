"""What a test measured: named parts, each a value against its limit.

A test returns a `Finding`, made by the three functions here and joined with ``&``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: One thing that a test looked at, as JSON: ``what``, in words with its unit, whether it
#: ``passes``, ``sign``, ``value`` and ``limit`` of the entry with the least room, the ``slack``,
#: how many ``entries`` were compared and, where stated, the ``error``, a bound on the chance that
#: luck alone decides it wrongly.  A limit that is one number for all entries is ``stated``; a
#: part without slack that meets its limit to the last digits does so ``by_rounding``.
Part = Mapping[str, Any]
Floats = NDArray[np.float64]

_BEYOND = {"≤": np.positive, "<": np.positive, "≥": np.negative, ">": np.negative, "=": np.abs}
#: Entries whose excess differs by less than this share of their size are told as equal.
_ROUNDING = 1e-9
#: So many units in the last place are a matter of the processor.
_ULPS = 16
_FAILED = {"≤": ">", "<": "≥", "≥": "<", ">": "≤", "=": "≠"}


@dataclass(frozen=True)
class Finding:
    """The parts of a test on one subject, joined with ``&``; it passes when all of them do."""

    parts: tuple[Part, ...]
    certificate: Mapping[str, Any] | None = None  # of `proved`

    @property
    def passes(self) -> bool:
        """Whether every part passes."""
        return all(part["passes"] for part in self.parts)

    def __and__(self, other: Finding) -> Finding:
        names = {part["what"] for part in self.parts}
        if twice := [part["what"] for part in other.parts if part["what"] in names]:
            raise ValueError(f"two parts of one test are called {twice[0]!r}")
        if self.certificate and other.certificate:
            raise ValueError("one test has two certificates: allowed is one")
        return Finding(self.parts + other.parts, self.certificate or other.certificate)

    def __bool__(self) -> bool:
        raise TypeError("a Finding has no truth value: join findings with &, or ask for .passes")


def at_most(
    what: str,
    value: Any,
    limit: Any,
    *,
    slack: float = 0.0,
    strict: bool = False,
    error: float | None = None,
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
    error : float, optional
        For what hangs on chance: a bound on the probability that luck alone decides this part
        wrongly, so that a true claim fails it or a false one passes.
    """
    return _compared(what, value, limit, "<" if strict else "≤", slack, error)


def at_least(
    what: str, value: Any, limit: Any, *, strict: bool = False, **options: float | None
) -> Finding:
    """Whether a number, or every entry of an array, stays above a limit; as `at_most`."""
    return _compared(what, value, limit, ">" if strict else "≥", **options)


def equal(what: str, value: Any, expected: Any, **options: float | None) -> Finding:
    """Whether a number, or every entry of an array, is the expected one; as `at_most`."""
    return _compared(what, value, expected, "=", **options)


def proved(what: str, report: Any, *, mechanism: str, relation: str, **size: int) -> Finding:
    """Whether an inequality was proved for every epsilon; the finding carries the certificate.

    `what` counts the cases in which it fails; `report` has ``violations``, their number, and the
    ``certificate``, as `certify_mechanism` hands out. The names of the mechanism and the relation
    are those of ``proofs/FORMAT.md``, and the size is what they need, in whole numbers.
    """
    named = {"mechanism": mechanism, "relation": relation, "size": size}
    certificate = report.certificate and {**report.certificate, **named}
    return Finding(equal(what, report.violations, 0).parts, certificate)


def follows(part: Part) -> bool:
    """Whether a part passes by its own numbers; one without a sign has none, and says so itself."""
    if not part["sign"]:
        return bool(part["passes"])
    value, limit, slack = (float(part.get(name, 0)) for name in ("value", "limit", "slack"))
    over = 0.0 if value == limit else float(_BEYOND[part["sign"]](value - limit))
    return over < slack if part["sign"] in ("<", ">") else over <= slack


def part_words(part: Part) -> str:
    """A part as a reader sees it: ``largest loss (ε) 1.11 > 1``."""
    what, passes, sign = part["what"], part["passes"], part["sign"]
    if not sign:
        return f"{what}: {'yes' if passes else 'no'}"
    value, limit = (float(x) if isinstance(x, str) else x for x in (part["value"], part["limit"]))
    if passes and abs(value - limit) <= part.get("slack", 0):
        value = limit  # they differ by what is forgiven, which is no result
    digits = 4  # and, where it fails, as many more as tell the two apart
    while not passes and value != limit and _shown(value, digits) == _shown(limit, digits):
        digits += 1
    sign = sign if passes else _FAILED[sign]
    return f"{what} {_shown(value, digits)} {sign} {_shown(limit, digits)}"


def _compared(
    what: str, value: Any, limit: Any, sign: str, slack: Any = 0.0, error: float | None = None
) -> Finding:
    """The entry that goes farthest beyond its limit, and whether that is within the slack."""
    if value is limit and np.ndim(value):
        raise ValueError(f"{what}: is compared with itself; allowed are two objects")
    both = np.broadcast_arrays(np.asarray(value), np.asarray(limit))
    if any(a.dtype.kind not in "biuf" or a.size == 0 or np.isnan(a).any() for a in both):
        raise ValueError(f"{what}: needs numbers without NaN, got {value!r} and {limit!r}")
    found, wanted = (array.ravel().astype(float) for array in both)
    with np.errstate(invalid="ignore"):
        over = np.where(found == wanted, 0.0, _BEYOND[sign](found - wanted))
    at = _farthest(over, found, wanted, sign, slack)
    if error is not None and not 0 < error < 1:
        raise ValueError(f"{what}: error is {error!r}, allowed is a chance between 0 and 1")
    part: dict[str, Any] = {"what": what, "passes": None, "sign": sign, "value": _plain(found[at])}
    part |= {"limit": _plain(wanted[at]), "slack": _plain(slack), "entries": over.size}
    part["passes"] = follows(part)
    if np.ndim(limit) == 0:
        part["stated"] = part["limit"]
    computed = any(array.dtype.kind == "f" for array in both)
    near = np.isfinite(wanted[at]) and abs(over[at]) <= _ULPS * np.spacing(abs(wanted[at]))
    counted = over[at] == 0 and float(wanted[at]).is_integer()
    if computed and near and not slack and not counted:
        part["by_rounding"] = True
    return Finding((part if error is None else part | {"error": error},))


def _farthest(over: Floats, found: Floats, wanted: Floats, sign: str, slack: float) -> int:
    """The first of the entries that go farthest beyond, those equal but for rounding included.

    Which of several equal entries has the largest last bit is a matter of the processor.
    """
    sizes = np.maximum(np.abs(found), np.abs(wanted))
    rounding = _ROUNDING * np.where(np.isfinite(sizes), sizes, 0.0)
    fails = over >= slack if sign in ("<", ">") else over > slack
    alike = (fails == fails.any()) & (over >= over.max() - np.maximum(slack, rounding))
    return int(np.flatnonzero(alike)[0])


def _shown(number: float | int, digits: int) -> str:
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:.{digits}g}" if digits < 17 else repr(number)


def _plain(number: float) -> float | int | str:
    """An integer where the number is one, which reads better; infinity in words, for JSON."""
    number = float(number)
    if math.isinf(number):
        return str(number)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
