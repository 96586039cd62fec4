"""What a private ranking publishes: the table, its files, and the statement that goes with them."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from dpbook._typing import Ints
from dpbook.rank.ledger import Totals
from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise

STATISTICS = {
    "net": "wins minus losses of each item",
    "pairs": "how often each item won against each other item",
}


@dataclass(frozen=True)
class Placed:
    """One item of a released ranking."""

    place: int | None  # 1 for the best
    item: str
    noisy: float | None  # the noisy score; a strength in log-odds for "pairs"
    reversal_probability: float | None  # to the next: see `Release`
    best: int | None  # the places between which all items lie together, with chance 0.95
    worst: int | None
    likely_best: int | None  # the same for all people of whom those asked are a sample
    likely_worst: int | None


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
        of the kept answers without noise, for all items together. Neither says what other people
        would have answered.
    released : array of int, shape (n,) or (n, n)
        The noisy numbers themselves, in the order of `items`.
    epsilon, scale : Fraction
        The loss is at most epsilon; the noise has P(x) proportional to exp(-abs(x) / scale).
    l1 : int
        How far the numbers move between neighbours.
    sampler : {"book", "opendp", "repeatable"}
        Only the first two may be written to a file.
    spent : dict
        By the ledger: how many releases protected whom, and the sum of their epsilons.
    """

    ranking: tuple[Placed, ...]
    items: tuple[str, ...]
    listed: bool
    released: Ints | None
    promise: Promise
    noise: Noise
    sampler: str
    people: int | None
    statement: str
    short: tuple[str, str]
    spent: Totals

    def __str__(self) -> str:
        head = ("rank", "item", "noisy score", "reversal by noise", "possible ranks")
        rows = [head] + [
            (
                str(row.place),
                row.item,
                f"{row.noisy:.3f}" if self.promise.statistic == "pairs" else f"{row.noisy:.0f}",
                "" if row.reversal_probability is None else f"{row.reversal_probability:.2g}",
                "" if row.best is None else f"{row.best} to {row.worst}",
            )
            for row in self.ranking
        ]
        wide = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = (
            "  ".join(
                cell.ljust(w) if k == 1 else cell.rjust(w)
                for k, (cell, w) in enumerate(zip(row, wide, strict=True))
            ).rstrip()
            for row in rows
        )
        return "\n".join(lines)

    def csv(self) -> str:
        """The ranking as a CSV file."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("place", "item", "noisy_score", "reversal_probability", "best", "worst"))
        for row in self.ranking:
            cells = (row.place, row.item, row.noisy, row.reversal_probability, row.best, row.worst)
            rows.writerow("" if cell is None else cell for cell in cells)
        return text.getvalue()

    def json(self) -> str:
        """The statement and the numbers behind it, for a second file."""
        facts: dict[str, Any] = {
            "statement": self.statement,
            "epsilon": str(self.promise.epsilon),
            "noisy": None if self.released is None else self.released.tolist(),
        }
        return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"

    def write(self, path: str | PathLike[str], *, force: bool = False) -> tuple[Path, Path]:
        """Write the ranking as CSV and, beside it, the statement; never over another file.

        Refused for noise that can be repeated.
        """
        if self.sampler == "repeatable":
            raise ValueError("sampler = 'repeatable': allowed are 'book', 'opendp' for a release")
        pair = out_files(path, force=force)
        for target, text in zip(pair, (self.csv(), self.json()), strict=True):
            part = target.with_name(f".{target.name}.{os.getpid()}.part")
            try:
                part.write_text(text, encoding="utf-8", newline="")
                if force:
                    os.replace(part, target)
                else:
                    os.link(part, target)  # fails if a file has come there meanwhile
            finally:
                part.unlink(missing_ok=True)
        return pair


def out_files(path: str | PathLike[str], *, force: bool = False) -> tuple[Path, Path]:
    """Where a ranking and its statement go; refused if a file is there."""
    table = Path(path)
    pair = table, table.with_name(f"{table.stem}.privacy.json")
    for target in pair:
        if target.exists() and not force:
            raise ValueError(f"{target} exists: allowed is a new file, or --force (force=True)")
        if not target.parent.is_dir():
            raise ValueError(f"{target.parent} is no folder: allowed is one that exists")
    return pair
