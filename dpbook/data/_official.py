"""Converters from the files of the official sources to the canonical CSV of this package.

The canonical CSV is UTF-8 with LF line ends, header ``respondent,item_a,item_b,outcome``, one line
per question in the source's own order, outcomes ``a`` (item_a preferred), ``b``, ``tie`` and
``missing``.  Nothing else about a respondent is taken over: the sources also hold sex, age,
nationality or language skills, and some people are unique on these.

The converters follow the published format descriptions of the R packages BradleyTerry2 and prefmod.
They could be tested only on stand-ins with the structure of the official files: files that R itself
wrote from the real answers, and smaller ones in the tests.  The digest of the result
guards the rest.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

HEADER = "respondent,item_a,item_b,outcome"
OUTCOMES = ("a", "b", "tie", "missing")


class ConversionError(ValueError):
    """The official file does not have the layout described here."""


def canonical_csv(rows: Iterable[tuple[int, str, str, str]]) -> str:
    """Write rows (respondent, item_a, item_b, outcome) in the canonical form."""
    return HEADER + "\n" + "".join(f"{r},{a},{b},{outcome}\n" for r, a, b, outcome in rows)


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
    return canonical_csv(
        (int(student), first, second, _outcome(wins))
        for student, first, second, *wins in zip(*columns, strict=True)
    )


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
    """Convert an ``.RData`` file of prefmod: a data frame, one row per respondent.

    Parameters
    ----------
    raw : bytes
        The file.
    name : str
        Name of the data frame in it.
    items : tuple of str, length n
        The items.  The first n (n - 1) / 2 columns are the pairs 1:2, 1:3, 2:3, 1:4, ...
    codes : mapping of int to str
        Meaning of the numbers; NA is a missing answer.
    """
    frame = _read_rdata(raw).get(name)
    pairs = [(a, b) for j, b in enumerate(items) for a in items[:j]]
    if frame is None or len(getattr(frame, "columns", ())) < len(pairs):
        raise ConversionError(f"no data frame `{name}` with at least {len(pairs)} columns")
    # .iloc by position: the names of the columns changed between versions of the package.
    answers = [frame.iloc[:, k].tolist() for k in range(len(pairs))]
    return canonical_csv(
        (row + 1, *pair, _decode(answers[k][row], codes))
        for row in range(len(frame))
        for k, pair in enumerate(pairs)
    )


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
        objects: dict[str, Any] = rdata.conversion.convert(rdata.parser.parse_data(raw))
    except Exception as error:
        # The parser raises many unrelated types on a damaged file.
        raise ConversionError(f"not a readable .RData file ({error})") from error
    return objects
