"""Files as rows of cells: CSV in any encoding, packed or not, and what in it cannot be used."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, NoReturn

_LONGEST_LINE, _STEP, _MANY = 2**24, 2**16, 40_000
COLUMNS = (
    "person,winner,loser; person,first,second,winner; person,ranking; person,1,2,3; person and a "
    "column for each item; or winner,loser,count"
)
ODD = re.compile("[\ud800-\udfff]")  # what stands for a byte of another encoding

Progress = Callable[[float], None]
Rows = Iterator[tuple[int, list[str]]]


class BadFile(ValueError):
    """A file that cannot be read: names the file, the lines, the values, and what is allowed.

    The message quotes the data: it is for their keeper, not for publication.
    """


@dataclass
class Found:
    """What a file holds that cannot be used: how many rows of each kind, and the first of them."""

    number: Counter[str] = field(default_factory=Counter)
    first: dict[str, list[str]] = field(default_factory=dict)
    unlisted: Counter[str] = field(default_factory=Counter)  # names that are not on the list

    def add(self, what: str, name: str, line: int, value: str) -> None:
        self.number[what] += 1
        if self.number[what] <= 3:
            self.first.setdefault(what, []).append(f"{name}, line {line}: {short(value)}")

    def add_name(self, name: str) -> None:
        if name in self.unlisted or len(self.unlisted) < _MANY:
            self.unlisted[name] += 1

    def __str__(self) -> str:
        return "\n".join(
            f"  {count} x {what}{self._lines(what)}" for what, count in self.number.most_common()
        )

    def _lines(self, what: str) -> str:
        some = "; ".join(self.first.get(what, []))
        return f" ({some}{'; ...' * (self.number[what] > 3)})" if some else ""


@contextmanager
def opened(
    path: str | PathLike[str], encoding: str, progress: Progress | None, found: Found
) -> Iterator[tuple[str, list[str], Rows]]:
    """The name of a file, the cells of its first line, and its rows with their lines."""
    given = fspath(path)
    name = "standard input" if given == "-" else given
    with sys.stdin.buffer if given == "-" else open(given, "rb") as raw:
        file: Any = raw
        if (magic := file.peek(4)[:4]) == b"PAR1":
            from dpbook.rank.engine import rows_of

            header, cells = rows_of(given)
            yield name, header, enumerate(cells, 1)
            return
        size = os.fstat(file.fileno()).st_size if progress and given != "-" else 0
        unpacked = gzip.GzipFile(fileobj=file) if magic[:2] == b"\x1f\x8b" else file
        utf16 = magic[:2] in (b"\xff\xfe", b"\xfe\xff")
        lines = _lines(name, unpacked, "utf-16" if utf16 else encoding)
        header, separator = header_of(name, lines)
        reader = csv.reader(lines, delimiter=separator, strict=True)
        yield name, header, _watched(_rows(name, reader, len(header), found), file, size, progress)


def _lines(name: str, raw: Any, encoding: str) -> Iterator[str]:
    """Lines as text; single bytes in another encoding are kept, to be found in their cell."""
    try:
        text = io.TextIOWrapper(raw, encoding, "surrogateescape", newline="")
    except LookupError:
        allowed = "allowed is a name such as 'utf-8', 'cp1252' or 'utf-16'"
        raise ValueError(f"encoding = {encoding!r:.40}: {allowed}") from None
    with text:
        try:
            while line := text.readline(_LONGEST_LINE):
                if len(line) == _LONGEST_LINE:
                    fail(name, "a line is longer than 2**24 characters", "shorter lines")
                yield line
        except UnicodeError:
            fail(name, f"the file is not in {encoding}", "that encoding, or another --encoding")
        except (EOFError, gzip.BadGzipFile, zlib.error):
            fail(name, "the file is packed by gzip and damaged", "a whole one")


def header_of(name: str, lines: Iterator[str]) -> tuple[list[str], str]:
    """Cells of the first line, and what separates them."""
    first = next(lines, "").removeprefix("\ufeff")
    separator = max(",;\t", key=first.count)  # the comma, where there is none
    if re.fullmatch("sep=.", first.strip(), re.IGNORECASE):
        separator, first = first.strip()[4], next(lines, "")
    if not first.strip():
        fail(name, "the file is empty or begins with an empty line", COLUMNS)
    if ODD.search(first):
        fail(name, "line 1 is in another encoding", "UTF-8, or --encoding, as in cp1252")
    try:
        return next(csv.reader([first], delimiter=separator, strict=True)), separator
    except csv.Error as error:
        fail(name, f"line 1: {error}", COLUMNS)


def _rows(name: str, reader: Any, width: int, found: Found) -> Rows:
    """Rows of all columns. After an odd quote nobody knows where a row ends, and who wrote it."""
    csv.field_size_limit(2**31 - 1)
    try:
        for row in reader:
            if len(row) == width:
                yield reader.line_num + 1, row
            elif "".join(row).strip():
                cells = f"{len(row)} columns where line 1 has {width}"
                found.add("another number of columns", name, reader.line_num + 1, cells)
    except csv.Error as error:
        fail(name, f"line {reader.line_num + 1}: {error}", "CSV, where quotes come in pairs")


def _watched(rows: Rows, file: Any, size: int, progress: Progress | None) -> Rows:
    for count, row in enumerate(rows):
        if progress and size and count % _STEP == 0:
            progress(file.tell() / size)
        yield row


def fail(name: str, what: str, allowed: str) -> NoReturn:
    """Refuse a file."""
    raise BadFile(f"{name}: {what}: allowed is {allowed}")


def short(value: str) -> str:
    """A value in quotes, cut where it is long."""
    return repr(value if len(value) <= 40 else f"{value[:37]}...")
