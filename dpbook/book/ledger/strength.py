"""How strong a test is: what it does with statements that differ a little from the true one.

A test that passes a statement with another constant, another exponent or one more item does not
tell the two apart.  `score` counts the mutants of a statement and those that its test notices or
that only say less; the ledger says in ``spares`` why the others pass.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.findings import Finding, Part

#: A control farther from its limit than this many times the statement itself shows little.
NEAR = 10.0
_CHANGES: Mapping[str, Callable[[Any], Any]] = {
    "a tenth more": lambda x: 1.1 * x,
    "a tenth less": lambda x: 0.9 * x,
    "power 3/2": lambda x: np.sign(x) * np.abs(x) ** 1.5,
}
#: The columns of `table`, and whether numbers stand in them.
HEADS = [("part", False), ("entries", True), ("slack", True), ("error", True)]
HEADS += [("nearest control beyond the limit", True)]
_NOTICED, _SAYS_LESS, _PASSED = "noticed", "says less", "passed"


def mutants(statement: Any, vary: bool | Sequence[Any] = True) -> Iterator[tuple[str, Any]]:
    """Statements near one that a test takes: a number, an array, a function, or some of these.

    Of several, in a tuple, a list or a mapping, those at the places `vary` are changed, all when
    True; what lies deeper is data.
    """
    if not isinstance(statement, Mapping | tuple | list):
        yield from _near(statement) if vary else ()
        return
    parts = dict(statement.items() if isinstance(statement, Mapping) else enumerate(statement))
    for at, one in parts.items():
        for name, other in _near(one) if vary is True or (vary and at in vary) else ():
            near: Any = parts | {at: other}
            if not isinstance(statement, Mapping):
                near = type(statement)(near.values())
            yield f"{at}: {name}", near


def _near(one: Any) -> Iterator[tuple[str, Any]]:
    number = isinstance(one, int | float | np.number | np.ndarray) and not isinstance(one, bool)
    if number and np.asarray(one).dtype.kind in "if" and np.size(one):
        changes = ((name, change(one)) for name, change in _CHANGES.items())
        yield from (new for new in changes if not np.array_equal(new[1], one))
    elif callable(one) and not isinstance(one, type):
        yield from ((name, _after(one, change)) for name, change in _CHANGES.items())
        yield "one more", _one_more(one)


def score(
    test: Callable[[Any], Finding],
    statement: Any,
    parts: Sequence[Part],
    vary: bool | Sequence[Any] = True,
) -> dict[str, Any]:
    """How many mutants a statement has, how many say less, and the names of those that pass.

    A part that would pass with its sign turned as well is one that the values attain.  The test
    runs in a process of its own, so that it takes no draw from the generators of the page.
    """
    near = list(mutants(statement, vary))
    outcomes = _elsewhere(lambda: [_outcome(test, one, parts) for _, one in near]) if near else []
    tried = [(name, out) for (name, _), out in zip(near, outcomes, strict=False) if out]
    return {
        "mutants": len(tried) + sum(part["sign"] not in ("", "=") for part in parts),
        "less": sum(out == _SAYS_LESS for _, out in tried),
        "attained": sum(bool(part.get("level")) for part in parts),
        "spared": [name for name, out in tried if out == _PASSED],
    }


def _nearest(record: Mapping[str, Any]) -> Iterator[tuple[Part, float | None]]:
    """Each part of the asserted statement, and how far beyond its limit the nearest control lies.

    None where no control fails it.
    """
    if entries := [*record["measured"]]:
        asserted = entries.pop(0 if record["repaired"] is None else 1)
        for part, *others in zip(asserted["parts"], *(e["parts"] for e in entries), strict=True):
            failing = [one for one in others if one["sign"] and not one["passes"]]
            misses = (abs(float(one["value"]) - float(one["limit"])) for one in failing)
            yield part, min(misses, default=None)


def problems(record: Mapping[str, Any], claim: Claim) -> Iterator[str]:
    """What a record shows too little of, at the parameters for which it was made."""
    for part, miss in _nearest(record):
        size = abs(float(part["limit"])) if part["sign"] else 0.0
        if miss is not None and 0 < NEAR * size < miss:
            words = f"no control is near in the part {part['what']!r}: the nearest misses by"
            yield f"{words} {miss:.3g}, allowed is {NEAR:g} times the limit, {size:.3g}"
    spared = record.get("score", {}).get("spared")
    if spared and not claim.spares:
        yield f"passes changed statements, and the ledger does not say why: {', '.join(spared)}"


def words(record: Mapping[str, Any]) -> str:
    """The score of a statement in words, ``notices 7 of 9 changes; says less: 2``, or nothing."""
    if not (found := record.get("score")):
        return ""
    counts = {"says less": found["less"], "is attained": found["attained"]}
    counts["passes"] = len(found["spared"])
    told = f"notices {found['mutants'] - sum(counts.values())} of {found['mutants']} changes"
    return "; ".join([told, *(f"{name}: {count}" for name, count in counts.items() if count)])


def table(record: Mapping[str, Any]) -> list[list[str]]:
    """How strictly each part compared: entries, slack, stated error, and the nearest control."""
    rows = []
    for part, miss in _nearest(record):
        slack = part.get("slack")
        near = "–" if miss is None else f"{miss:.3g}"
        near += f" ({miss / slack:.2g} × the slack)" if miss and slack else ""
        given = ("–" if x is None else f"{x:.3g}" for x in (slack, part.get("error")))
        rows.append([part["what"], str(part.get("entries", "–")), *given, near])
    return rows


def _after(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    def changed(*given: Any, **named: Any) -> Any:
        value = function(*given, **named)
        return change(np.asarray(value) if isinstance(value, list) else value)

    return changed


def _one_more(function: Callable[..., Any]) -> Callable[..., Any]:
    def changed(first: Any, *given: Any, **named: Any) -> Any:
        if not isinstance(first, int | np.integer) or isinstance(first, bool):
            raise TypeError("its first argument is no whole number")
        return function(first + 1, *given, **named)

    return changed


def _elsewhere(call: Callable[[], Any]) -> Any:
    """What a call finds in a process of its own; nothing where there are none."""
    if sys.platform in ("emscripten", "win32"):
        return []
    import multiprocessing  # a browser may be without

    forked = multiprocessing.get_context("fork")
    reading, writing = forked.Pipe(duplex=False)
    child = forked.Process(target=lambda: writing.send(call()))
    with warnings.catch_warnings():  # of threads, which the child does not use
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    writing.close()
    told = reading.recv()
    child.join()
    return told


def _outcome(test: Callable[[Any], Finding], statement: Any, parts: Sequence[Part]) -> str | None:
    try:
        with np.errstate(all="ignore"):
            found = test(statement)
    except ValueError:
        return _NOTICED  # refused
    except Exception:
        return None  # no statement of the form that the test takes
    if not found.passes:
        return _NOTICED
    rooms = [_room(old, new) for old, new in zip(parts, found.parts, strict=True)]
    return _SAYS_LESS if min(rooms) >= 0 < max(rooms) else _PASSED


def _room(old: Part, new: Part) -> float:
    """How much farther a limit lies from the same value, 0 if unseen; below 0 at another value."""
    if not old["sign"] or old["sign"] == "=":
        return -1.0 + ({**old, "entries": 0} == {**new, "entries": 0})
    room = float(new["limit"]) - float(old["limit"])
    return -1.0 if old["value"] != new["value"] else room if old["sign"] in "≤<" else -room
