"""Whether the book still says what it said: `make golden`.

``book/golden/`` keeps, line by line, every record, every number of a sentence, and what the
reproducers print.  What moved by less than the tolerance of `dpbook.book.lock` is called rounding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dpbook.book import errata
from dpbook.book.claims import RECORD_MIME
from dpbook.book.lock import DIGITS
from dpbook.book.pages import outputs

FOLDER = "book/golden"
PROFILES = ("smoke", "default")
_GLUE = "application/papermill.record/text/plain"


def gathered(executed: Iterable[Path]) -> dict[str, str]:
    """What these executed pages found, quote and print, as lines of JSON by name."""
    said = (found for path in executed if path.is_file() for found in _said(path))
    return {
        name: json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=True)
        for name, value in said
    }


def _said(executed: Path) -> Iterator[tuple[str, Any]]:
    """A name, and the record, the quoted number or text, or what a reproducer printed."""
    page = executed.stem
    for output, data in outputs(json.loads(executed.read_text(encoding="utf-8"))):
        if record := data.get(RECORD_MIME):
            yield f"{page} claim {record['id']}", record
        elif _GLUE in data:
            text = "".join(data[_GLUE])
            yield f"{page} says {output['metadata']['scrapbook']['name']}", _number(text)
        elif result := data.get(errata.MIME):
            yield f"{page} {result['name']}", result["output"]


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


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
    elif isinstance(old, bool) is not isinstance(new, bool) or (
        old != new and not (old != old and new != new)
    ):
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (old, new))
        close = numbers and abs(old - new) <= 0.5 * 10.0 ** (1 - DIGITS) * max(abs(old), abs(new))
        yield f"{where}: {old!r} -> {new!r}"[:300], close
