"""What a private ranking publishes: the table, its files, and the statement that goes with them."""

from __future__ import annotations

import csv
import io
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any
from unicodedata import combining, east_asian_width

import dpbook
from dpbook._typing import Ints
from dpbook.rank.answers import Read
from dpbook.rank.ledger import Spent
from dpbook.rank.names import plain
from dpbook.rank.noise import Noise
from dpbook.rank.places import Placed
from dpbook.rank.promise import Promise
from dpbook.rank.report import page
from dpbook.rank.statement import TOGETHER

SCORES = {"net": "net wins with noise", "pairs": "strength"}
POSSIBLE = "possible rank"  # which the noise leaves open, with probability TOGETHER
LIKELY = "possible rank in all people"
Target = str | PathLike[str] | None
Paths = tuple[Path, ...]


@dataclass(frozen=True)
class Release:
    """A private ranking and what may be said about it; everything here may be published."""

    ranking: tuple[Placed, ...]
    items: tuple[str, ...]
    listed: bool  # the items were given, and not taken from the data
    released: Ints | None  # noisy numbers, (n,) or (n, n), unless only the best are named
    promise: Promise
    noise: Noise
    sampler: str  # "book", "opendp", or "repeatable", which may not be written to a file
    people: int | None  # who were asked, if their number is public
    statement: str  # all that is promised and not
    short: tuple[str, str]  # a line on either
    read: Read  # how the answers were
    spent: Spent | None = None  # what the ledger says, if there is one

    def __str__(self) -> str:
        columns = []
        for column in zip(*self.table(), strict=True):
            side = str.ljust if column[0] == "item" else str.rjust
            cells = [(plain(cell), _columns(plain(cell))) for cell in column]
            wide = max(taken for _, taken in cells)
            columns.append([side(cell, wide - taken + len(cell)) for cell, taken in cells])
        return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))

    def table(self) -> list[tuple[str, ...]]:
        """Names of columns, then a row for each item, in words."""
        score = SCORES[self.promise.statistic]
        sure = f"({TOGETHER:.0%})"
        form = ".3f" if self.promise.statistic == "pairs" else ".0f"
        columns = {
            "rank": [str(row.place or "") for row in self.ranking],
            "item": [row.item for row in self.ranking],
            score: ["" if row.noisy is None else f"{row.noisy:{form}}" for row in self.ranking],
            f"{POSSIBLE} {sure}": [_range(row.best, row.worst) for row in self.ranking],
            f"{LIKELY} {sure}": [_range(row.likely_best, row.likely_worst) for row in self.ranking],
        }
        known = [(name, *cells) for name, cells in columns.items() if any(cells)]
        return list(zip(*known, strict=True))

    def columns(self) -> dict[str, list[Any]]:
        """What is known of each item, by names of columns, in numbers."""
        names = {
            "rank": "place",
            "item": "item",
            SCORES[self.promise.statistic]: "noisy",
            "chance of reversal by noise": "reversal_probability",
            f"best {POSSIBLE}": "best",
            f"worst {POSSIBLE}": "worst",
            f"best {LIKELY}": "likely_best",
            f"worst {LIKELY}": "likely_worst",
        }
        found = {name: [getattr(row, key) for row in self.ranking] for name, key in names.items()}
        return {name: cells for name, cells in found.items() if set(cells) != {None}}

    def to_frame(self) -> Any:
        """The ranking as a data frame of pandas, for what it can do: plots, LaTeX, Excel."""
        import pandas

        return pandas.DataFrame(self.columns())

    def csv(self) -> str:
        """The ranking as a CSV file; what a spreadsheet would take for a formula is quoted."""
        text = io.StringIO()
        columns = self.columns()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([_cell(value) for value in row])
        return text.getvalue()

    @property
    def digest(self) -> str:
        """SHA-256 of the table, as the ledger has it; one of the data would tell too much."""
        return sha256(self.csv().encode()).hexdigest()

    def json(self) -> str:
        """The statement and the numbers behind it, for a second file."""
        names = "kind protect epsilon delta relation max_answers repeats unranked vouched"
        facts: dict[str, Any] = {
            "statement": self.statement,
            "version": dpbook.__version__,
            "id": self.spent.id if self.spent else self.digest[:16],
            "output_sha256": self.digest,
            "read": self.read.words,
            "options": list(self.read.typed),
            **{name: getattr(self.promise, name) for name in (*names.split(), "statistic", "only")},
            "items_from_data": not self.listed,
            "people": self.people,
            "noise": self.noise.kind,
            "noise_in_words": self.noise.words,
            "scale": self.noise.scale,
            "width": None if self.noise.kind == "flip" else self.noise.width(1 - TOGETHER),
            "sampler": self.sampler,
            "ranges_hold_together_with_probability": TOGETHER,
            "ranking": [asdict(row) for row in self.ranking],
            "items": list(self.items),
            "released": None if self.released is None else self.released.tolist(),
        }
        return json.dumps(facts, indent=1, ensure_ascii=False, default=str) + "\n"

    def write(self, path: Target, *, force: bool = False, report: Target = None) -> Paths:
        """Write the ranking as CSV, the statement beside it, a report; never over another file."""
        if self.sampler == "repeatable":
            raise ValueError("sampler = 'repeatable': allowed are 'book', 'opendp' for a release")
        targets = out_files(path, force=force, report=report)
        texts = [] if path is None else [self.csv(), self.json()]
        texts += [] if report is None else [page(self)]
        for target, text in zip(targets, texts, strict=True):
            part = _part(target)
            try:
                part.write_text(text, encoding="utf-8", newline="")
                if not force:
                    target.touch(exist_ok=False)  # fails if a file has come there meanwhile
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
        return targets


def out_files(path: Target, *, force: bool = False, report: Target = None) -> Paths:
    """Where a ranking, its statement and a report go; tried by writing."""
    targets = [] if path is None else [Path(path), Path(path).with_suffix(".privacy.json")]
    targets += [] if report is None else [Path(report)]
    for target in targets:
        if target.exists() and not (force and target.is_file()):
            raise ValueError(f"{target} exists: allowed is a new file, or force=True (--force)")
        try:
            _part(target).write_bytes(bytes(2**16))
        except OSError as error:
            what = f"{target.parent} takes no file ({error.strerror})"
            raise ValueError(f"{what}: allowed is a folder that does") from None
        finally:
            with suppress(OSError):
                _part(target).unlink(missing_ok=True)
    return tuple(targets)


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def _range(best: int | None, worst: int | None) -> str:
    return "" if best is None else str(best) if best == worst else f"{best} to {worst}"


def _cell(value: object) -> object:
    formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if formula else value  # None is an empty cell


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum((east_asian_width(c) in "WF") + (not combining(c)) for c in text)
