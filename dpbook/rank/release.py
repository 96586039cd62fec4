"""What a private ranking publishes: the table, its files, and the statement that goes with them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import dpbook
from dpbook._typing import Ints
from dpbook.rank.answers import Read
from dpbook.rank.ledger import Spent
from dpbook.rank.names import plain
from dpbook.rank.noise import Noise
from dpbook.rank.places import Placed
from dpbook.rank.promise import Promise
from dpbook.rank.report import page
from dpbook.rank.statement import TOGETHER, statement_of

Target = str | PathLike[str] | None


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
    read: Read  # how the answers were
    spent: Spent | None = None  # what the ledger says, if there is one

    @property
    def statement(self) -> str:
        """All that is promised and not."""
        return statement_of(self)[0]

    @property
    def short(self) -> tuple[str, ...]:
        """A line on either."""
        return statement_of(self)[1:]

    def __str__(self) -> str:
        rows = [(*others, item) for item, *others in self.table()]  # of any script, at the end
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        wide[-1] = 0
        lines = ["  ".join(map(str.rjust, row, wide)) for row in rows]
        return plain("\n".join(lines))

    def table(self) -> list[list[str]]:
        """Names of columns, the item first, then a row for each item, in words."""
        first = self.ranking[0]
        sure = f"({TOGETHER:.0%})"
        forms = {"item": "{item}"}
        if first.place is not None:
            forms["rank"] = "{place}"
        if first.elo is not None:
            forms |= {"strength": "{noisy:.3f}", "on the Elo scale": "{elo:+.0f}"}
        if first.best is not None:
            forms["net wins with noise"] = "{noisy}"
            forms[f"possible rank {sure}"] = "{best} to {worst}"
        if first.likely_best is not None:
            forms[f"possible rank in all people {sure}"] = "{likely_best} to {likely_worst}"
        lines = [list(forms)]
        for row in self.ranking:
            lines.append([form.format(**vars(row)) for form in forms.values()])
        return lines

    def to_frame(self) -> Any:
        """The ranking as a data frame of pandas, for what it can do: plots, LaTeX, Excel."""
        import pandas

        return pandas.DataFrame(self.ranking).dropna(axis=1, how="all")

    def csv(self) -> str:
        """The table as a CSV file; what a spreadsheet would take for a formula is quoted."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for item, *others in self.table():
            if item.startswith(("=", "+", "-", "@", "\t", "\r")):
                item = f"'{item}"
            writer.writerow([item, *others])
        return text.getvalue()

    @property
    def digest(self) -> str:
        """SHA-256 of the table; that of the data tells too much, and is in the ledger alone."""
        return sha256(self.csv().encode()).hexdigest()

    def json(self) -> str:
        """The statement and the numbers behind it, for a second file."""
        facts: dict[str, Any] = {
            "statement": self.statement,
            **vars(self.promise),
            "version": dpbook.__version__,
            "id": self.spent and self.spent.id,
            "output_sha256": self.digest,
            "items_from_data": not self.listed,
            "people": self.people,
            "noise": self.noise.kind,
            "scale": self.noise.scale,
            "sampler": self.sampler,
            "ranges_hold_together_with_probability": TOGETHER,
            "ranking": [asdict(row) for row in self.ranking],
            "items": self.items,
            "released": self.released,
        }
        return json.dumps(facts, indent=1, ensure_ascii=False, default=_plain_value) + "\n"

    def write(self, path: Target, *, force: bool = False, report: Target = None) -> list[Path]:
        """Write the ranking as CSV, the statement beside it, a report; never over another file."""
        if self.sampler == "repeatable":
            raise ValueError("sampler = 'repeatable': allowed are 'book', 'opendp' for a release")
        targets = out_files(path, force=force, report=report)
        texts = []
        if path:
            texts += [self.csv(), self.json()]
        if report:
            texts.append(page(self))
        mode = "w" if force else "x"  # which fails if a file has come there meanwhile
        for target, text in zip(targets, texts, strict=True):
            with open(target, mode, encoding="utf-8", newline="") as file:
                file.write(text)
        return targets


def out_files(path: Target, *, force: bool = False, report: Target = None) -> list[Path]:
    """Where a ranking, its statement and a report go; tried by writing beside them."""
    names = [path, path and Path(path).with_suffix(".privacy.json"), report]
    targets = [Path(name) for name in names if name]
    for target in targets:
        if target.exists() and not (force and target.is_file()):
            raise ValueError(f"{target} exists: allowed is a new file, or force=True (--force)")
        try:
            with TemporaryFile(dir=target.parent, buffering=0) as file:
                file.write(bytes(2**16))
        except OSError as error:
            what = f"{target.parent} takes no file ({error.strerror})"
            raise ValueError(f"{what}: allowed is a folder that does") from None
    return targets


def _plain_value(value: Any) -> Any:
    """Arrays as lists, fractions as text."""
    return getattr(value, "tolist", value.__str__)()
