"""What a private ranking publishes: the table, its files, and the statement that goes with them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from dpbook._typing import Ints
from dpbook.rank.answers import Answers
from dpbook.rank.ledger import Totals

STATISTICS = {
    "net": "wins minus losses of each item",
    "wins": "wins of each item (for rankings: the number of items ranked below it)",
    "pairs": "how often each item won against each other item",
}


@dataclass(frozen=True)
class Placed:
    """One item of a released ranking."""

    place: int  # 1 for the best
    item: str
    noisy: float  # the noisy score; a strength in log-odds for "pairs"
    reversal_probability: float | None  # to the next: see `Release`
    best: int | None  # the places between which all items lie together, with chance 0.95
    worst: int | None


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
    released: Ints
    statistic: str
    kind: str
    protect: str
    max_answers: int | None
    epsilon: Fraction
    scale: Fraction
    l1: int
    sampler: str
    statement: str
    spent: Totals

    def __str__(self) -> str:
        head = ("rank", "item", "noisy score", "reversal by noise", "possible ranks")
        rows = [head] + [
            (
                str(row.place),
                row.item,
                f"{row.noisy:.3f}" if self.statistic == "pairs" else f"{row.noisy:.0f}",
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
            "epsilon": str(self.epsilon),
            "delta": 0,
            "protect": self.protect,
            "max_answers": self.max_answers,
            "released": f"{self.statistic}: {STATISTICS[self.statistic]}",
            "l1_sensitivity": self.l1,
            "noise": "discrete Laplace",
            "scale": str(self.scale),
            "sampler": self.sampler,
            "items": list(self.items),
            "noisy": self.released.tolist(),
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


def statement_of(
    answers: Answers,
    protect: str,
    limit: int | None,
    statistic: str,
    eps: Fraction,
    scale: Fraction,
    l1: int,
    sampler: str,
    vouched: bool,
) -> str:
    """One paragraph: who is protected against what, and what is not."""
    number = float(eps)
    guess = math.ceil(10_000 / (1 + math.exp(-number))) / 100  # "at most": never rounded down
    what = "rankings" if answers.kind == "rankings" else "answers"
    if protect == "person":
        who = "all answers of any one person"
        change = f"in the {what} of one person, which may become any others, fewer or none"
        kept = f"At most {limit} {what if limit != 1 else what[:-1]} of each person"
        if answers.person is None:
            kept += " were given; nobody checked this, but who ran the release vouches for it."
        else:
            by = (
                "from a repeatable source" if sampler == "repeatable" else "by the operating system"
            )
            kept += f" count, drawn at random {by}, whatever others answered."
            kept += " A person who appears under two names counts as two people."
    else:
        who = "any one comparison, but not all answers of a person"
        change = "in one comparison, which may become one of any two items, or none"
        kept = "A person who gave k answers has a privacy loss of up to k times epsilon."
    drawn = {
        "book": "whole numbers drawn from the randomness of the operating system",
        "opendp": "drawn by OpenDP",
        "repeatable": "drawn from a repeatable source: A DEMONSTRATION, NOT A RELEASE",
    }[sampler]
    listed = "was given beforehand" if answers.listed else "was taken from the data as it is"
    return (
        f"This ranking of {len(answers.items)} items protects {who}, by differential privacy with "
        f"epsilon = {eps} (pure, delta = 0): if two data sets differ {change}, no result is more "
        f"than e^epsilon times as probable with one as with the other. An observer who sees the "
        f"result, knows everything else, and has to guess which of the two data sets it was, is "
        f"right at most {guess:.6g} instead of 50 times in 100. {kept} The published numbers ("
        f"{STATISTICS[statistic]}) contain discrete Laplace noise of scale {scale} ({drawn}), "
        f"which fits a sensitivity of {l1}; the order and all probabilities are computed from "
        f"these noisy numbers alone. The list of items is public, and it {listed}. Not protected "
        f"are: that a person took part, if this can be seen elsewhere than in these numbers; that "
        f"the file could be read; what the answers of all people together show about people like "
        f"them; how long the computation took; and the choice of epsilon, of the limit and of the "
        f"items, if it was made after a look at the data. Every further release of the same data "
        f"adds its epsilon to this one. The ranks describe the people who were asked, so that it "
        f"is not known how others would answer."
    )
