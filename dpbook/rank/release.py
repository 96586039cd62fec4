"""What a private ranking publishes: the table, its files, and the statement that goes with them."""

from __future__ import annotations

import csv
import io
import json
import os
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any
from unicodedata import combining, east_asian_width

import dpbook
from dpbook._typing import Ints
from dpbook.rank.ledger import Spent
from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise

STATISTICS = {
    "net": "net wins: wins minus losses of each item",
    "pairs": "how often each item won against each other item",
}
SCORES = {"net": "net wins with noise", "pairs": "strength"}
_RANGES = ("rank without noise", "rank in all people")
TOGETHER = 0.95  # probability with which all ranges of ranks hold at once
Target = str | PathLike[str] | None
Paths = tuple[Path, ...]


@dataclass(frozen=True)
class Placed:
    """One item of a released ranking; None for what is not known.

    ``reversal_probability`` is, for net wins, the largest chance with which noise alone shows at
    least this lead over the next item, or the other order, if the kept answers give none; for
    "pairs", how often both change places when such noise is added once more.
    """

    place: int | None  # 1 for the best
    item: str
    noisy: float | None = None  # the noisy score; a strength in log-odds for "pairs"
    reversal_probability: float | None = None
    best: int | None = None  # the places between which all items lie together, with chance 0.95
    worst: int | None = None
    likely_best: int | None = None  # the same for all people of whom those asked are a sample
    likely_worst: int | None = None


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
        named = ("rank", "item", SCORES[self.promise.statistic], *_RANGES)
        form = ".3f" if self.promise.statistic == "pairs" else ".0f"
        rows = []
        for row in self.ranking:
            noisy = "" if row.noisy is None else f"{row.noisy:{form}}"
            ranks = _range(row.best, row.worst), _range(row.likely_best, row.likely_worst)
            rows.append((str(row.place or ""), row.item, noisy, *ranks))
        return list(zip(*(c for c in zip(named, *rows, strict=True) if any(c[1:])), strict=True))

    def csv(self) -> str:
        """The ranking as a CSV file; what a spreadsheet would take for a formula is quoted."""
        text, score = io.StringIO(), SCORES[self.promise.statistic]
        ends = (f"{end} {name}" for name in _RANGES for end in ("best", "worst"))
        named = ("rank", "item", score, "chance of reversal by noise", *ends)
        columns = zip(named, *map(astuple, self.ranking), strict=True)
        given = [map(_cell, c) for c in columns if any(cell is not None for cell in c[1:])]
        csv.writer(text, lineterminator="\n").writerows(zip(*given, strict=True))
        return text.getvalue()

    def json(self) -> str:
        """The statement and the numbers behind it, for a second file."""
        names = "kind protect epsilon delta relation max_answers repeats unranked vouched"
        facts: dict[str, Any] = {
            "statement": self.statement,
            "version": dpbook.__version__,
            "id": self.spent.id if self.spent else sha256(self.csv().encode()).hexdigest()[:16],
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
        from dpbook.rank.report import page

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


def plain(text: str) -> str:
    """What a terminal shows, and does not obey."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


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
