"""Converters from the files of the official sources to the canonical CSV of this package.

The canonical CSV is UTF-8 with LF line ends.  That of paired comparisons has the header
``respondent,item_a,item_b,outcome``, one line per question in the source's own order, outcomes
``a`` (item_a preferred), ``b``, ``tie`` and ``missing``.  Nothing else about a respondent is taken
over: the sources also hold sex, age, nationality or language skills.  The tests carry no official
file and show a round trip through stand-ins; the digests guard the rest.
"""

from __future__ import annotations

import csv
import importlib
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

HEADER = ("respondent", "item_a", "item_b", "outcome")


class ConversionError(ValueError):
    """The official file does not have the layout described here."""


def from_bradleyterry2(raw: bytes) -> str:
    """Convert ``data/CEMS.R`` of BradleyTerry2: R source text of a list with `preferences`.

    Columns used: student; school1, school2 (factors); win1, win2, tied (0, 1 or NA).
    """
    text = raw.decode("utf-8")
    if (start := text.find("preferences")) < 0:
        raise ConversionError("no data frame `preferences` in the file")
    names = ("student", "school1", "school2", "win1", "win2", "tied")
    rows = zip(*(_r_vector(text, name, start) for name in names), strict=True)
    return _csv_text(HEADER, [(str(int(who)), a, b, _outcome(wins)) for who, a, b, *wins in rows])


def _outcome(wins: list[str]) -> str:
    """Name the one flag among win1, win2, tied that is 1; all three are NA when unanswered."""
    if wins == ["NA"] * 3:
        return "missing"
    if sorted(wins) != ["0", "0", "1"]:
        raise ConversionError(f"win1, win2, tied = {wins}; expected one 1 and two 0, or three NA")
    return ("a", "b", "tie")[wins.index("1")]


_PLAIN = r"c\(([^()]*)\)"
_LEVELS = r"(?:\.Label|levels)\s*=\s*c\(([^()]*)\)"


def _r_vector(text: str, name: str, start: int) -> list[str]:
    """Read the column `name` that R's ``dump`` wrote: numbers, or a factor with its levels."""
    column = rf"\b{name}\s*=\s*(?:structure\(\s*{_PLAIN}\s*,\s*{_LEVELS}|{_PLAIN})"
    found = re.compile(column).search(text, start)
    if found is None:
        raise ConversionError(f"no column `{name}` in `preferences`")
    codes, labels, plain = found.groups()
    values = [value.strip().removesuffix("L") for value in (codes or plain).split(",")]
    if codes is None:
        return values
    level = [part.strip().strip('"') for part in labels.split(",")]
    return [level[int(code) - 1] for code in values]


def from_prefmod(raw: bytes, *, name: str, items: tuple[str, ...], codes: Mapping[int, str]) -> str:
    """Convert an ``.RData`` file of prefmod: the data frame `name`, one row per respondent.

    Its first columns are the pairs 1:2, 1:3, 2:3, 1:4, ... of the items; `codes` says what the
    numbers mean, NA is a missing answer.
    """
    rdata = importlib.import_module("rdata")  # nothing else in dpbook needs it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it cannot name; the digest of the result decides
        frame = rdata.conversion.convert(rdata.parser.parse_data(raw)).get(name)
    pairs = [(a, b) for j, b in enumerate(items) for a in items[:j]]
    if frame is None or len(getattr(frame, "columns", ())) < len(pairs):
        raise ConversionError(f"no data frame `{name}` with at least {len(pairs)} columns")
    # By position: the names of the columns changed between versions of the package.
    given = frame.iloc[:, : len(pairs)].astype(object)
    # An NA arrives as None, NaN or pandas.NA, whichever the type of the column.
    answers = given.where(given.notna(), np.nan).to_numpy(dtype=float)
    if odd := set(answers[~np.isnan(answers)].tolist()) - set(codes):
        raise ConversionError(f"answers {sorted(odd)}; expected one of {sorted(codes)} or NA")
    rows = [
        (str(row + 1), *pair, codes.get(value, "missing"))
        for row, said in enumerate(answers.tolist())
        for pair, value in zip(pairs, said, strict=True)
    ]
    return _csv_text(HEADER, rows)


def from_sushi(raw: bytes) -> str:
    """Convert ``sushi3-2016.zip``: its member ``sushi3a.5000.10.order``.

    The first line holds the number of items; every other line is the unused number 0, the length of
    the order, and the item ids, the most preferred first.
    """
    head, *lines = _member(raw, "sushi3a.5000.10.order").decode("utf-8").splitlines()
    n, orders = int(head.split()[0]), [line.split()[2:] for line in lines if line.strip()]
    if any(len(set(order)) != n or len(order) != n for order in orders):
        raise ConversionError(f"a line of sushi3a.5000.10.order is not an order of {n} items")
    header = (HEADER[0], *(f"pos{k + 1}" for k in range(n)))
    return _csv_text(header, [(str(k), *order) for k, order in enumerate(orders, start=1)])


def from_movielens(raw: bytes, *, films: int = 40) -> str:
    """Convert ``ml-latest-small.zip``: the lines of ``ratings.csv`` on the most rated films."""
    columns = ("userId", "movieId", "rating")
    text = _member(raw, "ratings.csv").decode("utf-8-sig")
    ratings = list(csv.DictReader(io.StringIO(text, newline="")))
    counts = Counter(row["movieId"] for row in ratings)
    kept = set(sorted(counts, key=lambda film: (-counts[film], int(film)))[:films])
    rows = [tuple(row[c] for c in columns) for row in ratings if row["movieId"] in kept]
    return _csv_text(columns, rows)


def from_llmfao(raw: bytes) -> str:
    """Convert ``crowd-comparisons.csv`` of LLMFAO: winner is left, right or tie."""
    names = {"left": "a", "right": "b", "tie": "tie"}
    rows = [
        (row["worker"], row["prompt"], row["left"], row["right"], names[row["winner"]])
        for row in csv.DictReader(io.StringIO(raw.decode("utf-8"), newline=""))
    ]
    return _csv_text((HEADER[0], "prompt", *HEADER[1:]), rows)


def _member(raw: bytes, name: str) -> bytes:
    """Return a file of a zip archive, in whatever folder it lies."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        for path in archive.namelist():
            if path.rpartition("/")[2] == name and not path.startswith("__MACOSX"):
                return archive.read(path)
    raise ConversionError(f"no file {name} in the archive")


def _csv_text(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue()
