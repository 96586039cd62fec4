"""Whether the book still says what it said: `make golden`.

``book/golden/`` keeps, line by line, every record, every number of a sentence, and what the
reproducers print.  What moved by less than the tolerance of `dpbook.book.lock` is called rounding.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dpbook.book import errata
from dpbook.book.claims import RECORD_MIME
from dpbook.book.lock import DIGITS
from dpbook.book.pages import outputs

FOLDER = "book/golden"
ROUNDING = "rounding only"
_GLUE = "application/papermill.record/text/plain"


def gathered(executed: Iterable[Path]) -> dict[str, str]:
    """What these executed pages found, quote and print, as lines of JSON by name."""
    found = {name: value for path in executed if path.is_file() for name, value in _said(path)}
    return {n: json.dumps(value, ensure_ascii=False, sort_keys=True) for n, value in found.items()}


def _said(executed: Path) -> Iterator[tuple[str, Any]]:
    """A name, and the record, the quoted number or text, or what a reproducer printed."""
    page = executed.stem
    for output, data in outputs(json.loads(executed.read_text(encoding="utf-8"))):
        if record := data.get(RECORD_MIME):
            yield f"{page} claim {record['id']}", record
        elif _GLUE in data:
            value: Any = "".join(data[_GLUE])
            with contextlib.suppress(ValueError):
                value = float(value)
            yield f"{page} says {output['metadata']['scrapbook']['name']}", value
        elif result := data.get(errata.MIME):
            yield f"{page} {result['name']}", result["output"]


def load(path: Path) -> dict[str, str]:
    """The stored lines of one profile by name; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: line for name, _, line in (text.partition("\t") for text in lines)}


def text(lines: Mapping[str, str]) -> str:
    """The lines as they are stored."""
    return "".join(f"{name}\t{lines[name]}\n" for name in sorted(lines))


def differences(stored: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """What differs, by name, in words; rounding is told apart."""
    told = {name: "is gone" for name in stored} | {name: "is new" for name in found}
    for name in stored.keys() & found.keys():
        old, new = (dict(_leaves(json.loads(side[name]))) for side in (stored, found))
        pairs = {where: (old.get(where), new.get(where)) for where in old | new}
        moved = [f"{at}: {x!r} -> {y!r}"[:300] for at, (x, y) in pairs.items() if not _close(x, y)]
        told[name] = "; ".join(moved) or ROUNDING * (stored[name] != found[name])
    return {name: told[name] for name in sorted(told) if told[name]}


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """What is no list and no mapping, each with its place."""
    if isinstance(value, list | dict):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        form = ".{}" if isinstance(value, dict) else "[{}]"
        for key, item in items:
            yield from _leaves(item, where + form.format(key))
    else:
        yield where, value


def _close(old: Any, new: Any) -> bool:
    """Whether two values are equal, or numbers as equal as the lock wants them."""
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (old, new))
    return repr(old) == repr(new) or (
        numbers and abs(old - new) <= 0.5 * 10.0 ** (1 - DIGITS) * max(abs(old), abs(new))
    )
