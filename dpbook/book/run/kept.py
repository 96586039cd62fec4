"""What the book found, quoted and showed, kept line by line: a build must find it again.

``book/kept/`` has a file for each profile of `PROFILES`: every record, every number of a sentence,
what the reproducers print, and a print of every figure, table, slider and printed text of a page;
and ``text.tsv``, with a hash of every paragraph, caption and alternative text and of every row of
the ledger.  `renew` writes them anew, for a reason that ``reasons.tsv`` keeps beside what moved.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.ledger.claims import raw_entries
from dpbook.book.ledger.lock import DIGITS
from dpbook.book.output import write_whole
from dpbook.book.pages import PageError, outputs
from dpbook.book.run import errata

FOLDER = "book/kept"
PROFILES = ("smoke", "default")
TEXT = "text"
REASONS = f"{FOLDER}/reasons.tsv"
#: How `differences` calls what moved by less than the tolerance of `dpbook.book.ledger.lock`.
ROUNDING = "rounding only"
_OUTCOMES = ("verdict", "tier", "applies", "holds", "repaired", "control")
_GLUE = "application/papermill.record/text/plain"
#: Without powers of ten: the names of a figure's shapes look like them, and would drown the rest.
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")
#: Odd numbers whose multiples have bits without an order, for the signs of three sums.
_MIXERS = (2654435761, 2246822519, 3266489917)
#: The texts of a row of the ledger.
_FIELDS = (
    *("says", "remark", "scope", "beyond", "spares", "heading", "quote", "printed", "wrong"),
    *("repair", "reconsider", "where", "labels", "withdrawn", "severity", "failed"),
)


def problems(root: Path, out: Path, profile: str, pages: Sequence[str] | None = None) -> list[str]:
    """One line for everything that is not as kept, at the settings of a profile.

    A book that keeps nothing, because it has no such folder, has none.
    """
    if not (root / FOLDER).is_dir():
        return []
    found = []
    for kind, now in _now(root, out, profile).items():
        for name, words in differences(load(root, kind), now).items():
            if words != ROUNDING and (pages is None or name.split()[0] in pages):
                found.append(f"{name}: {words}")
    return found


def renew(root: Path, out: Path, profile: str, because: str) -> list[str]:
    """Write what a build found, for a reason if anything moved; what moved, one line each."""
    moved = problems(root, out, profile)
    if moved and len(because.split()) < 3:
        raise PageError(
            f"{len(moved)} lines moved, such as {moved[0][:200]!r}; say why, in three words or "
            "more: dpbook lock --because '...'"
        )
    for kind, now in _now(root, out, profile).items():
        lines = (f"{name}\t{now[name]}\n" for name in sorted(now))
        write_whole(root / FOLDER / f"{kind}.tsv", "".join(lines))
    if moved:
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        names = ", ".join(sorted({line.split(": ", 1)[0] for line in moved}))
        shown = names if len(names) <= 300 else f"{names[:300]} and more, {len(moved)} in all"
        line = f"{day}\t{profile}\t{' '.join(because.split())}\t{shown}\n"
        path = root / REASONS
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        write_whole(path, before + line)
    return moved


def _now(root: Path, out: Path, profile: str) -> dict[str, dict[str, str]]:
    """What is to be kept, by its kind: the texts, and what was found if the profile is kept."""
    if profile not in PROFILES:
        return {TEXT: texts(root)}
    names = sorted(path.name for path in (root / "notebooks").glob("*.ipynb"))
    executed = [out / "executed" / "notebooks" / name for name in names]
    return {TEXT: texts(root), profile: gathered([*executed, errata.executed_copy(out)])}


def gathered(executed: Iterable[Path]) -> dict[str, str]:
    """What these executed pages found, quote, print and show, as lines of JSON by name."""
    found = {name: value for path in executed if path.is_file() for name, value in _said(path)}
    return {n: json.dumps(value, ensure_ascii=False, sort_keys=True) for n, value in found.items()}


def _said(executed: Path) -> Iterator[tuple[str, Any]]:
    """A name, and the record, the quoted number or text, what was printed, or what was shown."""
    page, notebook = executed.stem, json.loads(executed.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        shown = 0
        for output, data in outputs({"cells": [cell]}):
            if record := data.get(RECORD_MIME):
                yield f"{page} claim {record['id']}", _strength(record)
            elif _GLUE in data:
                value: Any = "".join(data[_GLUE])
                with contextlib.suppress(ValueError):
                    value = float(value)
                yield f"{page} says {output['metadata']['scrapbook']['name']}", value
            elif result := data.get(errata.MIME):
                yield f"{page} {result['name']}", result["output"]
            elif text := _seen(output, data):
                yield f"{page} shows {cell['id']} {shown}", _print(text)
                shown += 1


def _strength(record: Mapping[str, Any]) -> dict[str, Any]:
    """What was compared with what, how strictly, and how it came out, without what repeats."""
    fields = [*_OUTCOMES, "tried", "score", "certificate"]
    found = {field: record.get(field) for field in fields if record.get(field) is not None}
    parts = [
        [part.get(field) for field in ("what", "sign", "slack", "entries", "error")]
        for entry in record["measured"][:1]
        for part in entry["parts"]
    ]
    of = {
        entry["name"] or entry["subject"]: [
            [_short(part.get(field)) for field in ("value", "limit", "passes")]
            for part in entry["parts"]
        ]
        for entry in record["measured"]
    }
    return found | {"parts": parts, "of": of}


def _short(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _seen(output: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The text of what a reader sees of an output: the vector graphic, the table, the words."""
    for kind in ("image/svg+xml", "text/html", "text/plain"):
        if kind in data:
            return "".join(data[kind])
    return "".join(output.get("text", ""))


def _print(text: str) -> list[Any]:
    """Hash of a text without its numbers; how many these are, and three sums, with mixed signs.

    Mixed, so that a sum is not much larger than the change of a single number.
    """
    numbers = np.array([float(one) for one in _NUMBER.findall(text)] or [0.0])
    places = np.arange(1, numbers.size + 1, dtype=np.uint64)
    signs = [np.where(places * np.uint64(mixer) & np.uint64(1 << 20), 1, -1) for mixer in _MIXERS]
    rounding = 1e-9 * float(np.abs(numbers).sum())
    sums = [float(numbers @ sign) for sign in signs]
    sums = [0.0 if abs(one) < rounding else one for one in sums]
    return [_hash(_NUMBER.sub("#", text)), numbers.size, *map(_short, sums)]


def texts(root: Path) -> dict[str, str]:
    """Hashes of all that is written: paragraphs, captions, alternative texts, pages, the ledger."""
    found = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            words = json.dumps(cell["metadata"], sort_keys=True)
            if cell["cell_type"] == "markdown":
                words = "".join(cell["source"])
            found[f"{path.stem} {cell['id']}"] = _hash(words)
    for path in sorted((root / "book").rglob("*.md")):
        found[str(path.relative_to(root))] = _hash(path.read_text(encoding="utf-8"))
    ledger = root / "book" / "claims.yml"
    for entry in raw_entries(ledger) if ledger.is_file() else []:
        words = json.dumps([entry.get(field) for field in _FIELDS], ensure_ascii=False)
        found[f"ledger {entry['id']}"] = _hash(words)
    return {name: json.dumps(value) for name, value in found.items()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def load(root: Path, kind: str) -> dict[str, str]:
    """The kept lines of one kind by name; none if there is no file."""
    path = root / FOLDER / f"{kind}.tsv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: line for name, _, line in (text.partition("\t") for text in lines)}


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
