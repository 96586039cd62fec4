"""What the book found, quoted and showed, one place for each number: a build must find it again.

``book/numbers/`` has a file for each page: a line for every claim, reported number, number of a
sentence and figure, with its value at the profile ``default``, and at ``smoke`` where that is
another; and a hash of the page's texts.  Numbers keep one digit more than the six that a card
shows, and may move by half a unit in the sixth, so that no reader sees another number unnoticed.
A reported table is one line.  Simulated means keep their standard errors: at other parameters the
two means are compared by Welch's test, with an error probability of `FALSE_ALARM` a table.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import itertools
import json
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpbook.book.files import write_whole
from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.ledger.claims import raw_entries
from dpbook.book.pages import (
    PageError,
    executed_pages,
    find_pages,
    outputs,
    read_notebook,
    validate,
)
from dpbook.book.run import errata
from dpbook.book.run.keys import stamp_of

FOLDER = "book/numbers"
#: In the order of the columns of a file.
PROFILES = ("default", "smoke")
REASONS = f"{FOLDER}/reasons.tsv"
DIGITS = 6
FALSE_ALARM = 1e-9
#: A report with more numbers is kept as one line.
_FEW = 8
_SPREAD = ("mean", "sd", "sd_between", "runs", "replicates")
GLUE = "application/papermill.record/text/plain"
#: Without powers of ten: the names of a figure's shapes look like them, and would drown the rest.
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")
#: Odd numbers whose multiples have bits without an order, for the signs of three sums.
_MIXERS = (2654435761, 2246822519, 3266489917)
#: The texts of a row of the ledger.
_FIELDS = (
    *("says", "remark", "scope", "beyond", "spares", "heading", "quote", "printed", "wrong"),
    *("repair", "reconsider", "where", "labels", "withdrawn", "severity", "failed"),
)

Record = Mapping[str, Any]
#: Value of a line by page and name: JSON, of the first column or the second.
Lines = dict[tuple[str, str], Any]


def problems(root: Path, out: Path, profile: str | None, pages: Sequence[str] | None) -> list[str]:
    """One line for everything that is not as kept; at a reader's own parameters, for the reports.

    A book that keeps nothing, because it has no such folder, has none.
    """
    if not (root / FOLDER).is_dir():
        return []
    kept, now = load(root), _found(root, out, profile)
    own = {page.name: validate(page, {}) for page in find_pages(root)}
    ran = {path.stem: stamp_of(path).get("parameters") for path in executed_pages(root, out)}
    lines = []
    for at in sorted(kept[0].keys() | kept[1].keys() | now.keys()):
        page, name = at
        report = name.startswith("reports ")
        if (pages is None or page in pages) and (report or profile in PROFILES):
            old = kept[profile == "smoke" and not report].get(at)
            other = report and ran.get(page) != own.get(page)
            if words := difference(old, now.get(at), welch=other):
                lines.append(f"{page}: {name}{words}")
    return lines


def renew(root: Path, out: Path, profile: str, because: str, write: bool = True) -> list[str]:
    """Write what a build found, for a reason if anything moved; what moved, one line each."""
    (root / FOLDER).mkdir(exist_ok=True)
    moved = problems(root, out, profile, None)
    if not write:
        return moved
    if moved and len(because.split()) < 3:
        raise PageError(
            f"{len(moved)} lines moved, such as {moved[0][:200]!r}; say why, in three words or "
            "more: dpbook lock --because '...'"
        )
    now, kept = _found(root, out, profile), load(root)
    if profile == "smoke":  # of a report only the default is kept
        now |= {at: value for at, value in kept[0].items() if at[1].startswith("reports ")}
    kept[PROFILES.index(profile)] = now
    reasons = root / REASONS
    before = reasons.read_text(encoding="utf-8") if reasons.is_file() else ""
    for path in reasons.parent.glob("*.tsv"):
        path.unlink()
    every = sorted(kept[0].keys() | kept[1].keys())
    for page, places in itertools.groupby(every, key=operator.itemgetter(0)):
        lines = (_line(at[1], *(side.get(at) for side in kept)) for at in places)
        write_whole(root / FOLDER / f"{page}.tsv", "".join(lines))
    if moved:
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        shown = ", ".join(line[:60] for line in moved[:4]) + f" ({len(moved)} in all)"
        before += f"{day}\t{profile}\t{' '.join(because.split())}\t{shown}\n"
    write_whole(reasons, before)
    return moved


def _line(name: str, default: Any, smoke: Any) -> str:
    """Name and value; the second value only where it is another."""
    texts = [json.dumps(value, ensure_ascii=False) for value in (default, smoke)]
    return "\t".join([name, texts[0], *texts[1:][texts[0] == texts[1] :]]) + "\n"


def load(root: Path) -> list[Lines]:
    """What is kept at each profile; empty where nothing is."""
    return parse({path.stem: path.read_text("utf-8") for path in (root / FOLDER).glob("*.tsv")})


def parse(texts: Mapping[str, str]) -> list[Lines]:
    """The same from the text of each page's file."""
    kept: list[Lines] = [{}, {}]
    rows = [(page, line) for page, text in texts.items() for line in text.splitlines()]
    for page, line in rows:
        if page == Path(REASONS).stem:
            continue
        name, *values = line.split("\t")
        for side, text in zip(kept, (values * 2)[:2], strict=True):
            try:
                value = json.loads(text)
            except ValueError:
                why = f"{FOLDER}/{page}.tsv: {name}: {text!r} is no value"
                raise PageError(why) from None
            if value is not None:
                side[page, name] = value
    return kept


def _found(root: Path, out: Path, profile: str | None) -> Lines:
    """All lines of a build."""
    found = gathered([*executed_pages(root, out), errata.executed_copy(out)])
    return found | texts(root) if profile in PROFILES else found


def gathered(executed: Iterable[Path]) -> Lines:
    """What these executed pages found, quote, print and show."""
    return {
        (path.stem, name): value
        for path in executed
        if path.is_file()
        for name, value in _of_page(read_notebook(path))
    }


def _of_page(notebook: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name and value: records and their reports, quoted numbers and texts, prints of the rest."""
    for cell in notebook["cells"]:
        shown = 0
        for output, data in outputs({"cells": [cell]}):
            if record := data.get(RECORD_MIME):
                yield f"claim {record['id']}", _tested(record)
                yield from (
                    (f"reports {record['id']} {name}", value) for name, value in reported(record)
                )
            elif GLUE in data:
                value: Any = "".join(data[GLUE])
                with contextlib.suppress(ValueError):
                    value = short(float(value))
                yield f"says {output['metadata']['scrapbook']['name']}", value
            elif result := data.get(errata.MIME):
                yield result["name"], _print(result["output"])
            elif text := _seen(output, data):
                yield f"shows {cell['id']} {shown}", _print(text)
                shown += 1


def _tested(record: Record) -> list[Any]:
    """A hash of how a claim was tested; how it came out; what the statements measured; a print of
    what the controls did, and of the settings."""
    measured = record["measured"]
    parts = [entry["parts"] for entry in measured]
    what = ("what", "sign", "slack", "entries", "error")
    tests = [
        [[[part.get(k) for k in what] for part in one] for one in parts[:1]],
        [record.get(k) for k in ("applies", "holds", "repaired", "control", "certificate")],
        [[part["passes"] for part in one] for one in parts],
        [[entry["subject"], entry["name"]] for entry in measured],
        record.get("score"),
        sorted(record.get("tried", {})),
    ]
    values = [short(p["value"]) for e in measured if e["subject"] != "control" for p in e["parts"]]
    rest = [[p[k] for one in parts for p in one for k in ("value", "limit")], record.get("tried")]
    return [_hash(json.dumps(tests)), values, _print(json.dumps(rest), compressed=True)[1:]]


def reported(record: Record) -> Iterator[tuple[str, Any]]:
    """Every number that a record reports, a table as one line: a hash of names, and values."""
    for name, value in record["report"].items():
        numbers = dict(entries(value))
        rows = [
            list(map(short, one)) if len(one) > 1 else short(one[0]) for one in numbers.values()
        ]
        if not isinstance(value, list | Mapping):
            yield name, rows[0]
        elif len(rows) > _FEW:
            yield name, [_hash(json.dumps([*numbers])), rows]
        else:
            yield from ((f"{name}{at}", row) for at, row in zip(numbers, rows, strict=True))


def entries(value: Any, name: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Every number of a report, by name; of a simulated mean also its standard error and runs."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from entries(item, f"{name}[{_label(item, number)}]")
    elif isinstance(value, Mapping) and {"mean", "sd_between", "runs"} <= value.keys():
        runs = int(value["runs"])
        yield name, [value["mean"], value["sd_between"] / math.sqrt(runs), runs]
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from entries(item, f"{name}.{key}".removeprefix("."))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, [value]


def _label(item: Any, number: int) -> str:
    """Which row this is: the settings of a simulated mean, the place of anything else."""
    if not isinstance(item, Mapping) or "sd_between" not in item:
        return str(number)
    return ", ".join(f"{k}={item[k]}" for k in sorted(item) if k not in _SPREAD)


def short(value: Any) -> Any:
    """A number with one digit more than is compared; anything else as it is."""
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value) if isinstance(value, float) else value
    value = float(f"{value:.{DIGITS + 1}g}")
    return int(value) if value.is_integer() and abs(value) < 10.0**DIGITS else value


def _seen(output: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The text of what a reader sees of an output: the vector graphic, the table, the words."""
    for kind in ("image/svg+xml", "text/html", "text/plain"):
        if kind in data:
            return "".join(data[kind])
    return "".join(output.get("text", ""))


def _print(text: str, compressed: bool = False) -> list[Any]:
    """Hash of a text without its numbers; how many these are, and three sums, with mixed signs.

    Mixed, so that a sum is not much larger than the change of a single number; `compressed`, by
    their logarithms, where they are of all sizes.
    """
    pattern = _ANY if compressed else _NUMBER
    numbers = np.array([float(one) for one in pattern.findall(text)] or [0.0])
    if compressed:
        numbers = np.sign(numbers) * np.log1p(1e9 * np.minimum(np.abs(numbers), 1e290))
    places = np.arange(1, numbers.size + 1, dtype=np.uint64)
    signs = [np.where(places * np.uint64(mixer) & np.uint64(1 << 20), 1, -1) for mixer in _MIXERS]
    rounding = 1e-9 * float(np.abs(numbers).sum())
    sums = [float(numbers @ sign) for sign in signs]
    sums = [0.0 if abs(one) < rounding else one for one in sums]
    return [_hash(pattern.sub("#", text)), numbers.size, *map(short, sums)]


#: A number of a record, infinities included.
_ANY = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-?Infinity|-?\binf\b")


def texts(root: Path) -> Lines:
    """A hash of the prose, captions and alternative texts of every page, and of the ledger's."""
    found = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        cells = read_notebook(path)["cells"]
        words = [
            "".join(cell["source"]) if cell["cell_type"] == "markdown" else cell["metadata"]
            for cell in cells
        ]
        found[path.stem, "texts"] = _hash(json.dumps(words, sort_keys=True))
    for path in sorted((root / "book").rglob("*.md")):
        found["book", str(path.relative_to(root))] = _hash(path.read_text(encoding="utf-8"))
    ledger = root / "book" / "claims.yml"
    for entry in raw_entries(ledger) if ledger.is_file() else []:
        words = [entry.get(field) for field in _FIELDS]
        words += [entry["formal"]] if "formal" in entry else []
        found["ledger", entry["id"]] = _hash(json.dumps(words, ensure_ascii=False))
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def difference(old: Any, new: Any, welch: bool = False) -> str:
    """What differs between two values of a line, in words; empty if only rounding does.

    With `welch` simulated means, triples of mean, standard error and runs, may differ by chance.
    """
    if old is None or new is None:
        return (
            "" if old == new else (f": new, {new!r}" if old is None else f": gone, {old!r}")[:300]
        )
    means = _means(old) if welch else set()
    sides = [dict(_leaves(value, means)) for value in (old, new)]
    moved = []
    for at in sides[0] | sides[1]:
        x, y = (side.get(at) for side in sides)
        room = 0.0
        if x and at in means and isinstance(y, list) and len(y) == 3:
            room, x, y = _room(x, y, len(means)), x[0], y[0]
        if not close(x, y, room):
            place = "".join(f"[{step}]" for step in at)
            moved.append(f"{place}: {x!r} -> {y!r}"[:300])
    return "; ".join(moved)


def _means(value: Any) -> set[tuple[int, ...]]:
    """The places of the triples of a line."""
    rows = value[1] if isinstance(value, list) and len(value) == 2 else None
    rows = {(1, i): row for i, row in enumerate(rows)} if isinstance(rows, list) else {(): value}
    return {at for at, row in rows.items() if isinstance(row, list) and len(row) == 3}


def _room(old: Sequence[Any], new: Sequence[Any], count: int) -> float:
    """How far two means may lie apart by chance, one of so many."""
    from scipy.stats import t  # a second, for other parameters than the kept ones

    quantile = float(t.isf(FALSE_ALARM / (2 * count), min(old[2], new[2]) - 1))
    return quantile * math.hypot(old[1], new[1])


def _leaves(value: Any, means: Any, at: tuple[int, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """What is no list, or one of the `means`, each with its place."""
    if isinstance(value, list) and at not in means:
        for number, item in enumerate(value):
            yield from _leaves(item, means, (*at, number))
    else:
        yield at, value


def close(old: Any, new: Any, room: float = 0.0) -> bool:
    """Whether two values are equal, or equal to half a unit in the sixth digit; whole ones are."""
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in (old, new)):
        return repr(old) == repr(new)
    if old == new or (isinstance(old, int) and isinstance(new, int) and not room):
        return bool(old == new)
    largest = max(abs(old), abs(new))
    return bool(
        abs(old - new) <= room + 0.5 * 10.0 ** (math.floor(math.log10(largest)) - DIGITS + 1)
    )
