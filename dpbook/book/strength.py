"""How strong a test is: what it does with statements that differ a little from the true one.

A test that passes a statement with another constant, another exponent or one more item does not
tell the two apart.  `score` counts the mutants of a statement that its test notices; the ledger
says in ``spares`` why the others pass, for instance because they say less.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpbook.book.findings import Finding, Part

#: A control farther from its limit than this many times the statement itself shows little.
NEAR = 10.0
_CHANGES: Mapping[str, Callable[[Any], Any]] = {
    "a tenth more": lambda x: 1.1 * x,
    "a tenth less": lambda x: 0.9 * x,
    "power 3/2": lambda x: np.sign(x) * np.abs(x) ** 1.5,
}


def mutants(statement: Any) -> Iterator[tuple[str, Any]]:
    """Statements near one that a test takes: a number, a function, or several of them, by name."""
    if isinstance(statement, Mapping):
        for key in statement:
            for name, other in mutants(statement[key]):
                yield f"{key}: {name}", {**statement, key: other}
    elif isinstance(statement, tuple | list):
        for at, one in enumerate(statement):
            for name, other in mutants(one):
                yield (
                    f"{at + 1}: {name}",
                    type(statement)([*statement[:at], other, *statement[at + 1 :]]),
                )
    elif _number(statement):
        for name, change in _CHANGES.items():
            yield name, change(statement)
    elif callable(statement) and not isinstance(statement, type):
        for name, change in _CHANGES.items():
            yield name, _after(statement, change)
        yield "one more", _one_more(statement)


def score(test: Callable[[Any], Finding], statement: Any, parts: Sequence[Part]) -> dict[str, Any]:
    """How many mutants there are, and the names of those that the test passes.

    Parts that pass with their sign turned as well count as mutants.  The test runs in a process of
    its own, so that it takes no draw from the generators of the page.
    """
    near = list(mutants(statement))
    signed = [part for part in parts if part["sign"] not in ("", "=")]
    passed = [f"{part['what']}: sign turned" for part in signed if part.get("level")]
    outcomes = _elsewhere(test, [one for _, one in near])
    tried = [(name, out) for (name, _), out in zip(near, outcomes, strict=True) if out is not None]
    passed += [name for name, out in tried if out]
    return {"mutants": len(tried) + len(signed), "spared": passed}


def far(part: Part, others: Sequence[Part]) -> float | None:
    """How many times the statement the nearest control misses its limit; None if that is near."""
    size = max(abs(float(part["limit"])), abs(float(part["value"])))
    misses = [abs(float(one["value"]) - float(one["limit"])) for one in others if not one["passes"]]
    if not misses or size == 0 or min(misses) <= NEAR * size:
        return None
    return min(misses) / size


def _number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, int | float | np.number) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "if" and value.size > 0
    )


def _after(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    def changed(*given: Any, **named: Any) -> Any:
        found = function(*given, **named)
        return change(np.asarray(found) if isinstance(found, list) else found)

    return changed


def _one_more(function: Callable[..., Any]) -> Callable[..., Any]:
    def moved(first: Any, *given: Any, **named: Any) -> Any:
        if not isinstance(first, int | np.integer) or isinstance(first, bool):
            raise TypeError("its first argument is no whole number")
        return function(first + 1, *given, **named)

    return moved


def _elsewhere(test: Callable[[Any], Finding], near: Sequence[Any]) -> list[bool | None]:
    """Which pass, found in a process of its own; None where there is none, or no such form."""
    # In a browser the function is there and only says that it is not implemented.
    if not near or not hasattr(os, "fork") or sys.platform == "emscripten":
        return [None] * len(near)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of this process may outlive the calls
        try:
            found = [_outcome(test, one) for one in near]
            os.write(writing, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    if not told:
        raise RuntimeError("the mutants of a statement could not be tried")
    return list(json.loads(told))


def _outcome(test: Callable[[Any], Finding], statement: Any) -> bool | None:
    try:
        with np.errstate(all="ignore"):
            return test(statement).passes
    except ValueError:
        return False  # refused
    except Exception:
        return None  # no statement of the form that the test takes
