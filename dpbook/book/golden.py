"""Whether the book still says what it said: `make golden`.

``book/golden/`` keeps, for two profiles, every record of every claim and every number that a
sentence quotes, and what the reproducers of the errata print: one line for each, so that a change
is one line too.  `compare` runs the pages and says, line by line, what moved.  A number that moved
by less than half a unit in the sixth digit is called rounding, as in `dpbook.book.lock`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat

from dpbook.book.claims import RECORD_MIME
from dpbook.book.lock import DIGITS

FOLDER = "book/golden"
PROFILES = ("smoke", "default")
_GLUE = "application/papermill.record/text/plain"


def said(executed: Path) -> Iterator[tuple[str, Any]]:
    """What an executed page found and quotes: a name, and its record or its text."""
    page = executed.stem
    for cell in nbformat.read(executed, as_version=4).cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if RECORD_MIME in data:
                yield f"{page} claim {data[RECORD_MIME]['id']}", data[RECORD_MIME]
            elif _GLUE in data:
                name = output["metadata"]["scrapbook"]["name"]
                yield f"{page} says {name}", _number(data[_GLUE])


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def gathered(out: Path, pages: set[str]) -> dict[str, str]:
    """What the pages of a build found, as lines of JSON by name."""
    found = {}
    for executed in sorted((out / "executed" / "notebooks").glob("*.ipynb")):
        if executed.stem in pages:
            found.update({name: _line(value) for name, value in said(executed)})
    return found


def printed(outputs: Mapping[str, str]) -> dict[str, str]:
    """What the reproducers print, as lines of JSON by name."""
    return {f"errata {name}": _line(text) for name, text in outputs.items()}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=True)


def load(path: Path) -> dict[str, str]:
    """The stored lines of one profile by name; none if there is no file."""
    if not path.is_file():
        return {}
    rows = (line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines())
    return {name: line for name, line in rows}


def text(lines: Mapping[str, str]) -> str:
    """The lines as they are stored."""
    return "".join(f"{name}\t{lines[name]}\n" for name in sorted(lines))


def differences(stored: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """What differs, by name, in words; rounding is told apart."""
    told = {}
    for name in sorted(stored.keys() | found.keys()):
        if name not in found:
            told[name] = "is gone"
        elif name not in stored:
            told[name] = "is new"
        elif stored[name] != found[name]:
            pieces = list(_moved(json.loads(stored[name]), json.loads(found[name]), ""))
            moved = [piece for piece, rounding in pieces if not rounding]
            told[name] = "; ".join(moved) if moved else "rounding only"
    return told


def _moved(old: Any, new: Any, where: str) -> Iterator[tuple[str, bool]]:
    """Every place where two records differ, and whether that is rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _moved(old.get(key), new.get(key), f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (x, y) in enumerate(zip(old, new, strict=True)):
            yield from _moved(x, y, f"{where}[{number}]")
    elif old != new and not (old != old and new != new):
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (old, new))
        close = numbers and abs(old - new) <= 0.5 * 10.0 ** (1 - DIGITS) * max(abs(old), abs(new))
        yield f"{where}: {old!r} -> {new!r}"[:300], close
