"""What a private ranking publishes: the table, its files, and the statement that goes with them."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

import dpbook
from dpbook._typing import Ints
from dpbook.rank.ledger import Spent

if TYPE_CHECKING:
    from dpbook.rank.noise import Noise
    from dpbook.rank.promise import Promise

STATISTICS = {
    "net": "net wins: wins minus losses of each item",
    "pairs": "how often each item won against each other item",
}
TOGETHER = 0.95  # that all ranges of ranks hold at once


@dataclass(frozen=True)
class Placed:
    """One item of a released ranking."""

    place: int | None = None  # 1 for the best
    item: str = ""
    noisy: float | None = None  # the noisy score; a strength in log-odds for "pairs"
    reversal_probability: float | None = None  # to the next: see `Release`
    best: int | None = None  # the places between which all items lie together, with chance 0.95
    worst: int | None = None
    likely_best: int | None = None  # the same for the people of whom these are a sample
    likely_worst: int | None = None


@dataclass(frozen=True)
class Release:
    """A private ranking and what may be said about it; everything here may be published.

    Attributes
    ----------
    ranking : tuple of Placed
        ``reversal_probability`` is, for scores, the largest chance with
        which noise alone shows at least this lead of one named item over another if the kept
        answers give none, or the other order; for "pairs", how often both change places when noise
        of the same distribution is added once more. ``best`` and ``worst`` are places in the order
        of the kept answers without noise, for all items together; ``likely_best`` and
        ``likely_worst`` in the order of all the people of whom those who answered are a sample.
    items, listed
        All items, and whether they were given or taken from the data.
    released : array of int, shape (n,) or (n, n), optional
        The noisy numbers themselves, in the order of `items`; None if only items were chosen.
    promise, noise
        What is promised, and how it is kept.
    sampler : {"book", "opendp", "repeatable"}
        Only the first two may be written to a file.
    people : int, optional
        The number of people, if it is public.
    statement : str
        All that is promised and all that is not.
    short : (str, str)
        One line on what is promised, and one on what is not.
    spent : Spent, optional
        By the ledger: the sums of what was released of the same data.
    """

    ranking: tuple[Placed, ...]
    items: tuple[str, ...]
    listed: bool
    released: Ints | None
    promise: Promise
    noise: Noise | None
    sampler: str
    people: int | None
    statement: str
    short: tuple[str, str]
    spent: Spent | None = None
    id: str = field(default_factory=lambda: token_hex(8))

    def __str__(self) -> str:
        rows = [[_plain(cell) for cell in row] for row in self.table()]
        wide = [max(map(_columns, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(_filled, row, wide, rows[0])).rstrip() for row in rows)

    def table(self) -> list[tuple[str, ...]]:
        """What a reader sees first, in words: names of columns, then a row for each item."""
        score = "strength" if self.promise.statistic == "pairs" else "net wins, with noise"
        form = ".3f" if self.promise.statistic == "pairs" else ".0f"
        columns = {
            "rank": [_text(row.place) for row in self.ranking],
            "item": [row.item for row in self.ranking],
            score: [_text(row.noisy, form) for row in self.ranking],
            "rank without noise": [_range(row.best, row.worst) for row in self.ranking],
            "rank in all people": [
                _range(row.likely_best, row.likely_worst) for row in self.ranking
            ],
        }
        given = {name: cells for name, cells in columns.items() if any(cells)}
        return [tuple(given), *zip(*given.values(), strict=True)]

    def csv(self) -> str:
        """The ranking as a CSV file; what a spreadsheet would take for a formula is quoted."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(
            "rank,item,net wins with noise,chance of reversal by noise,best rank without noise,"
            "worst rank without noise,best rank in all people,worst rank in all people".split(",")
        )
        for row in self.ranking:
            cells = asdict(row) | {"item": _cell(row.item)}
            rows.writerow("" if cell is None else cell for cell in cells.values())
        return text.getvalue()

    def json(self) -> str:
        """The statement and the numbers behind it, for a second file."""
        promise, noise = self.promise, self.noise
        facts: dict[str, Any] = {
            "statement": self.statement,
            "id": self.spent.id if self.spent else self.id,
            "dpbook": dpbook.__version__,
            "protect": promise.protect,
            "relation": promise.relation,
            "epsilon": str(promise.epsilon),
            "delta": str(promise.delta),
            "max_answers": promise.max_answers,
            "repeats": promise.repeats,
            "vouched": promise.vouched,
            "items_from_data": not self.listed,
            "kind": promise.kind,
            "statistic": promise.statistic,
            "only": promise.only,
            "people": self.people,
            "noise": noise and noise.kind,
            "scale": noise and str(noise.scale),
            "sampler": self.sampler,
            "ranges_hold_with_probability": TOGETHER,
            "ranking": [asdict(row) for row in self.ranking],
            "items": list(self.items),
            "released": None if self.released is None else self.released.tolist(),
        }
        return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"

    def write(
        self,
        path: str | PathLike[str] | None,
        *,
        force: bool = False,
        report: str | PathLike[str] | None = None,
    ) -> tuple[Path, ...]:
        """Write the ranking as CSV, the statement beside it, a report; never over another file.

        Refused for noise that can be repeated.
        """
        if self.sampler == "repeatable":
            raise ValueError("sampler = 'repeatable': allowed are 'book', 'opendp' for a release")
        targets = out_files(path, force=force, report=report)
        texts = [] if path is None else [self.csv(), self.json()]
        if report is not None:
            from dpbook.rank.report import page

            texts.append(page(self))
        for target, text in zip(targets, texts, strict=True):
            part = _part(target)
            try:
                part.write_text(text, encoding="utf-8", newline="")
                _place(part, target, force)
            finally:
                part.unlink(missing_ok=True)
        return targets


def out_files(
    path: str | PathLike[str] | None,
    *,
    force: bool = False,
    report: str | PathLike[str] | None = None,
) -> tuple[Path, ...]:
    """Where a ranking, its statement and a report go: tried by writing, and refused if not free."""
    targets = () if path is None else (Path(path), Path(path).with_suffix(".privacy.json"))
    targets += () if report is None else (Path(report),)
    for target in targets:
        if target.exists() and not (force and target.is_file()):
            raise ValueError(f"{target} exists: allowed is a new file, or --force (force=True)")
        if not target.parent.is_dir():
            raise ValueError(f"{target.parent} is no folder: allowed is one that exists")
        try:
            _part(target).write_bytes(bytes(2**16))  # there is room for a ranking
        except OSError as error:
            why = f"{target.parent} cannot be written ({error.strerror})"
            raise ValueError(f"{why}: allowed is a folder that can") from None
        finally:
            _part(target).unlink(missing_ok=True)
    return targets


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def _place(part: Path, target: Path, force: bool) -> None:
    """Give a whole file its name."""
    if force:
        os.replace(part, target)
        return
    try:
        os.link(part, target)  # fails if a file has come there meanwhile
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        with open(target, "xb") as file:
            file.write(part.read_bytes())


def _text(value: float | None, form: str = "") -> str:
    return "" if value is None else format(value, form)


def _range(best: int | None, worst: int | None) -> str:
    if best is None:
        return ""
    return str(best) if best == worst else f"{best} to {worst}"


def _cell(name: str) -> str:
    """A text that no spreadsheet computes."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def _plain(text: str) -> str:
    """What a terminal shows and does not obey."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def _filled(text: str, width: int, column: str) -> str:
    space = " " * (width - _columns(text))
    return text + space if column == "item" else space + text
