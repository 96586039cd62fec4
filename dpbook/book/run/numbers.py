"""The numbers that a reader is told, kept in ``book/numbers``: a build must find them again.

A file for each page, at the page's own parameters, with a line for

* ``claim ID``: how the claim came out;
* ``test ID``: how it was tested: of each part name, sign, limit, entries, slack, stated error;
* ``reports ID NAME``: a number that others may quote;
* ``says NAME``: a number of a sentence;
* ``draws CELL SERIES``: what a figure draws, or a column of a table.

How near a number must come back follows from what a reader sees: a tenth of the last digit that a
sentence shows, a tenth of a simulated mean's standard error, a millionth of the largest number of a
series, and never less than `NOTHING`.  So no line hangs on the last bits of a processor.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbook.book.files import write_whole
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.pages import (
    SERIES_MIME,
    PageError,
    executed_pages,
    find_page,
    outputs,
    read_notebook,
    validate,
)
from dpbook.book.run.keys import page_keys, stamp_of

FOLDER = "book/numbers"
#: The profile whose numbers are kept: the pages' own parameters.
PROFILE = "default"
GLUE = "application/papermill.record/text/plain"
#: A number below is a residue, and no result.
NOTHING = 1e-9
#: The share of a number that a reader sees no difference in: six digits.
SHOWN = 1e-6
#: Digits that are kept, one more than are compared.
DIGITS = 7
#: The lines of claims and sentences, which every build must share.
TOLD = ("claim ", "test ", "reports ", "says ")
_ROLE = re.compile(r"\{glue:text\}`(\w+)(?::([^`]*))?`")
_FORMAT = re.compile(r"\.(\d+)([fFeEgG%])$")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

#: The value of a line, as JSON, by its name.
Lines = dict[str, Any]


def found_on(executed: Path) -> Lines:
    """All lines of an executed page."""
    lines: Lines = {}
    for cell in read_notebook(executed)["cells"]:
        for output, data in outputs({"cells": [cell]}):
            if record := data.get(RECORD_MIME):
                lines |= _of_record(record)
            elif GLUE in data:
                name = output["metadata"]["scrapbook"]["name"]
                lines[f"says {name}"] = _said("".join(data[GLUE]))
            for name, series in data.get(SERIES_MIME, {}).items():
                lines[f"draws {cell['id']} {name}"] = series
    return {name: _short(value) for name, value in lines.items()}


def _of_record(record: Mapping[str, Any]) -> Lines:
    """How a claim came out, how it was tested, and what it reports."""
    name = record["id"]
    lines: Lines = {f"claim {name}": outcome(record)}
    for entry in record["measured"][:1]:
        lines[f"test {name}"] = [_tested(part) for part in entry["parts"]]
    return lines | {f"reports {name} {place}": value for place, value in reported(record)}


def _tested(part: Mapping[str, Any]) -> str:
    """How a part was tested: ``loss / ε ≤ 1, slack 1e-12``; the limit where it is one number."""
    words = f"{part['what']} {part['sign']}"
    if "stated" in part:
        words += f" {float(part['stated']):.3g}"
    if part.get("entries", 1) > 1:
        words += f", {part['entries']} entries"
    if part.get("slack"):
        words += f", slack {part['slack']:.3g}"
    if part.get("error"):
        words += f", error {part['error']:.3g}"
    return words


def outcome(record: Mapping[str, Any]) -> str:
    """How the test of a claim came out, in words."""
    if not record["applies"]:
        return "not tested at these parameters"
    came_out = {"as printed": record["holds"], "repaired": record["repaired"]}
    words = {True: "passes", False: "fails"}
    told = [f"{subject} it {words[out]}" for subject, out in came_out.items() if out is not None]
    if record["control"] is not None:
        told.append("controls caught" if record["control"] else "a control passes")
    return ", ".join(told)


def reported(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The numbers that a record reports by name; of a table one line for each column."""
    for name, value in record["report"].items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            rows = [_mean(row) for row in value]
            for column in rows[0]:
                yield f"{name}.{column}", [row.get(column) for row in rows]
        else:
            yield name, _mean(value)


def _mean(value: Any) -> Any:
    """A simulated mean with its standard error; anything else as it is."""
    if not isinstance(value, Mapping):
        return value
    if not {"mean", "sd_between", "runs"} <= value.keys():
        return {key: _mean(one) for key, one in value.items()}
    error = value["sd_between"] / math.sqrt(value["runs"])
    apart = ("mean", "sd", "sd_between")
    rest = {key: one for key, one in value.items() if key not in apart}
    return rest | {"mean": {"mean": value["mean"], "error": error}}


def _said(text: str) -> Any:
    """What a sentence quotes: a number, or words."""
    with contextlib.suppress(ValueError):
        return float(text)
    return text


def _short(value: Any) -> Any:
    """Numbers with as many digits as are kept; what is not finite as text."""
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_short(one) for one in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return str(value)
    value = float(f"{value:.{DIGITS}g}")
    return int(value) if value.is_integer() and abs(value) < 10**DIGITS else value


def moved(
    old: Lines, new: Lines, units: Mapping[str, str], only: Sequence[str] = ("",)
) -> list[str]:
    """What differs between two sets of lines, in words: name, from what to what, what is allowed.

    `units` are the formats in which sentences show their numbers, by name.
    """
    told = []
    for name in sorted(old.keys() | new.keys()):
        if not name.startswith(tuple(only)):
            continue
        if name not in new:
            told.append(f"{name}: is gone")
        elif name not in old:
            told.append(f"{name}: is new")
        else:
            room = _unit(old[name], units.get(name.removeprefix("says "), ""))
            told += [f"{name}{place}" for place in _differences(old[name], new[name], room)]
    return told


def _differences(old: Any, new: Any, room: float, place: str = "") -> Iterator[str]:
    """The places at which two values differ by more than `room`."""
    if isinstance(old, dict) and isinstance(new, dict) and {"mean", "error"} <= old.keys():
        errors = [abs(one) for one in _floats(old["error"])]
        room = max(room, 0.1 * max(errors, default=0.0))
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key in old:
            yield from _differences(old[key], new[key], room, f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        largest = max(map(abs, _floats(old)), default=0.0)
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, max(room, SHOWN * largest), f"{place}[{number}]")
    elif _is_number(old) and _is_number(new):
        room = max(room, SHOWN * abs(old), NOTHING)
        if abs(old - new) > room:
            yield f"{place}: {old} -> {new}, allowed {room:.1g}"
    elif not _same_words(old, new):
        yield f"{place}: {old} -> {new}"[:300]


def _floats(value: Any) -> list[float]:
    """The numbers of a list."""
    several = value if isinstance(value, list) else [value]
    return [float(one) for one in several if _is_number(one)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_words(old: Any, new: Any) -> bool:
    """Whether two texts are the same, their numbers up to one unit of the last digit."""
    if not (isinstance(old, str) and isinstance(new, str)):
        return bool(old == new)
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return False
    for one, other in zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True):
        digits = len(one.partition(".")[2])
        if digits != len(other.partition(".")[2]):
            return False
        if digits == 0 and one != other:
            return False
        if abs(float(one) - float(other)) > 1.01 * 10.0**-digits:
            return False
    return True


def _unit(value: Any, form: str) -> float:
    """A tenth of the last digit that a format shows of a number; 0 without one."""
    found = _FORMAT.search(form)
    if not found or not _is_number(value):
        return 0.0
    digits = int(found[1])
    if found[2] == "%":
        return 0.1 * 10.0 ** -(digits + 2)
    if found[2] in "fF":
        return 0.1 * 10.0**-digits
    if found[2] in "gG":  # counts the digit before the point, too
        digits -= 1
    return float(0.1 * abs(value) * 10.0**-digits)


def units_of(root: Path, page: str) -> dict[str, str]:
    """In which format the sentences of a page show each number: of several, the one with most."""
    cells = read_notebook(root / "notebooks" / f"{page}.ipynb")["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return dict(sorted(_ROLE.findall("\n".join(texts))))


def kept(root: Path, page: str) -> Lines:
    """The lines that are kept of a page; a `PageError` names a line that cannot be read."""
    path = root / FOLDER / f"{page}.tsv"
    lines: Lines = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        name, _, text = line.partition("\t")
        try:
            lines[name] = json.loads(text)
        except ValueError:
            raise PageError(f"{FOLDER}/{page}.tsv: {name}: {text!r} is no value") from None
    return lines


def not_as_kept(root: Path, out: Path) -> list[str]:
    """One line for everything that a build at the pages' own parameters did not find again."""
    told = []
    for path in executed_pages(root, out):
        page = path.stem
        lines = moved(kept(root, page), found_on(path), units_of(root, page))
        told += [f"{page}: {line}" for line in lines]
    return told


def accept(root: Path, out: Path, name: str) -> list[str]:
    """Keep what a build found on one page, and on no other; what moved, a line each.

    A `PageError` if the page has been changed since, or did not run at its own parameters.
    """
    page = find_page(root, name)
    executed = out / "executed" / "notebooks" / f"{page.name}.ipynb"
    own = validate(page, {})
    if stamp_of(executed).get("key") not in page_keys(page, [own], root):
        raise PageError(f"{page.name} did not run as it is now, at its own values: `make book`")
    lines = found_on(executed)
    told = moved(kept(root, page.name), lines, units_of(root, page.name))
    texts = (f"{key}\t{json.dumps(lines[key], ensure_ascii=False)}\n" for key in sorted(lines))
    write_whole(root / FOLDER / f"{page.name}.tsv", "".join(texts))
    return told


def compared(old: Path, new: Path, root: Path) -> list[str]:
    """What two builds of one book tell a reader differently: outcomes, tests, quoted numbers."""
    told = []
    for path in executed_pages(root, old):
        other = new / "executed" / "notebooks" / path.name
        if not other.is_file():
            told.append(f"{path.stem}: has not run in {new}")
            continue
        units = units_of(root, path.stem)
        lines = moved(found_on(path), found_on(other), units, TOLD)
        told += [f"{path.stem}: {line}" for line in lines]
    return told
