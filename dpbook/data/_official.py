"""Converters from the files of the official sources to the canonical CSV of this package.

The canonical CSV is UTF-8 with LF line ends.  That of paired comparisons has the header
``respondent,item_a,item_b,outcome``, one line per question in the source's own order, outcomes
``a`` (item_a preferred), ``b``, ``tie`` and ``missing``; rankings and ratings have their own
columns, named at their converters.  Nothing else about a respondent is taken over: the sources also
hold sex, age, nationality or language skills, and some people are unique on these.

The converters follow the published format descriptions of the R packages BradleyTerry2 and
prefmod, of MovieLens and SUSHI.  Those of BradleyTerry2 and prefmod were run once on the official
files, taken from copies of the pinned commits, and gave the registered digests.  The tests carry no
official file: they use stand-ins with the same structure, written from the canonical CSV or made
up, and so show a round trip, no more; the digest of the result guards the rest.
"""

from __future__ import annotations

import csv
import importlib
import io
import math
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

HEADER = ("respondent", "item_a", "item_b", "outcome")
OUTCOMES = ("a", "b", "tie", "missing")

#: Largest file to be read, packed or unpacked: three times the largest official one, which is the
#: ratings.csv of MovieLens.
MAX_BYTES = 2**23


class ConversionError(ValueError):
    """The official file does not have the layout described here."""


def from_bradleyterry2(raw: bytes) -> str:
    """Convert ``data/CEMS.R`` of BradleyTerry2: R source text of a list with `preferences`.

    Columns used: student; school1, school2 (factors); win1, win2, tied (0, 1 or NA).
    """
    text = raw.decode("utf-8")
    start = text.find("preferences")
    if start < 0:
        raise ConversionError("no data frame `preferences` in the file")
    names = ("student", "school1", "school2", "win1", "win2", "tied")
    columns = [_r_vector(text, name, start) for name in names]
    if len({len(column) for column in columns}) != 1:
        raise ConversionError("the columns of `preferences` differ in length")
    rows = zip(*columns, strict=True)
    return _csv_text(HEADER, [(str(int(who)), a, b, _outcome(wins)) for who, a, b, *wins in rows])


def _outcome(wins: list[str]) -> str:
    """Name the one flag among win1, win2, tied that is 1; all three are NA when unanswered."""
    if wins == ["NA"] * 3:
        return "missing"
    if sorted(wins) != ["0", "0", "1"]:
        raise ConversionError(f"win1, win2, tied = {wins}; expected one 1 and two 0, or three NA")
    return OUTCOMES[wins.index("1")]


_PLAIN = r"c\(([^()]*)\)"
_LEVELS = r"(?:\.Label|levels)\s*=\s*c\(([^()]*)\)"


def _r_vector(text: str, name: str, start: int) -> list[str]:
    """Read the column `name` that R's ``dump`` wrote: numbers, or a factor with its levels."""
    found = re.compile(
        rf"\b{name}\s*=\s*(?:structure\(\s*{_PLAIN}\s*,\s*{_LEVELS}|{_PLAIN})"
    ).search(text, start)
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
    frame = _read_rdata(raw).get(name)
    pairs = [(a, b) for j, b in enumerate(items) for a in items[:j]]
    if frame is None or len(getattr(frame, "columns", ())) < len(pairs):
        raise ConversionError(f"no data frame `{name}` with at least {len(pairs)} columns")
    # .iloc by position: the names of the columns changed between versions of the package.
    answers = [frame.iloc[:, k].tolist() for k in range(len(pairs))]
    rows = [
        (str(row + 1), *pair, _decode(answers[k][row], codes))
        for row in range(len(frame))
        for k, pair in enumerate(pairs)
    ]
    return _csv_text(HEADER, rows)


def _decode(value: Any, codes: Mapping[int, str]) -> str:
    # An NA arrives as None, NaN or pandas.NA, whichever the type of the column.
    if value is None or type(value).__name__ == "NAType":
        return "missing"
    number = float(value)
    if math.isnan(number):
        return "missing"
    if number not in codes:
        raise ConversionError(f"answer {value!r}; expected one of {sorted(codes)} or NA")
    return codes[int(number)]


def _read_rdata(raw: bytes) -> dict[str, Any]:
    """Parse the bytes of an .RData file with the optional package rdata."""
    # Imported by name at run time: nothing else in dpbook needs it.
    rdata = importlib.import_module("rdata")
    try:
        with warnings.catch_warnings():
            # It warns of what it cannot name; the digest of the result decides.
            warnings.simplefilter("ignore")
            objects: dict[str, Any] = rdata.conversion.convert(rdata.parser.parse_data(raw))
    except Exception as error:
        # The parser raises many unrelated types on a damaged file.
        raise ConversionError(f"not a readable .RData file ({error})") from error
    return objects


def from_sushi(raw: bytes) -> str:
    """Convert ``sushi3-2016.zip``: its member ``sushi3a.5000.10.order``.

    The first line holds the number of items; every other line is the unused number 0, the length of
    the order, and the item ids, the most preferred first.
    """
    head, *lines = _member(raw, "sushi3a.5000.10.order").decode("utf-8").splitlines()
    n = int(head.split()[0])
    orders = [line.split()[2:] for line in lines if line.strip()]
    if any(len(set(order)) != n or len(order) != n for order in orders):
        raise ConversionError(f"a line of sushi3a.5000.10.order is not an order of {n} items")
    header = ("respondent", *(f"pos{k + 1}" for k in range(n)))
    return _csv_text(header, [(str(k), *order) for k, order in enumerate(orders, start=1)])


def from_movielens(raw: bytes, *, films: int = 40) -> str:
    """Convert ``ml-latest-small.zip``: the lines of ``ratings.csv`` on the most rated films."""
    columns = ("userId", "movieId", "rating")
    ratings = _table(_member(raw, "ratings.csv"), columns)
    counts = Counter(row["movieId"] for row in ratings)
    kept = set(sorted(counts, key=lambda film: (-counts[film], int(film)))[:films])
    rows = [tuple(row[c] for c in columns) for row in ratings if row["movieId"] in kept]
    return _csv_text(columns, rows)


def _member(raw: bytes, name: str) -> bytes:
    """Return a file of a zip archive, in whatever folder it lies."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for info in archive.infolist():
                folder, _, file = info.filename.rpartition("/")
                if file == name and not folder.startswith("__MACOSX"):
                    with archive.open(_harmless(info)) as stream:
                        # A size, or all would be unpacked at once, whatever the archive announces.
                        return stream.read(info.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ConversionError(f"not a readable zip archive ({error})") from error
    raise ConversionError(f"no file {name} in the archive")


def _harmless(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Refuse a file of an archive that could fill the memory, or that needs a password."""
    if info.flag_bits & 1:
        raise ConversionError(f"{info.filename} in the archive is encrypted")
    # Only these two are unpacked up to a given size; a block of the others may be of any size.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ConversionError(
            f"{info.filename} in the archive has compression type {info.compress_type}; "
            "expected stored or deflated"
        )
    if info.file_size > MAX_BYTES:
        raise ConversionError(
            f"{info.filename} in the archive has {info.file_size} bytes; allowed are {MAX_BYTES}"
        )
    return info


def _table(raw: bytes, columns: tuple[str, ...]) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    absent = [c for c in columns if not rows or rows[0].get(c) is None]
    if absent:
        raise ConversionError(f"no column `{absent[0]}` in the file")
    return rows


def _csv_text(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue()
