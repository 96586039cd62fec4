"""Text as rows of cells, in any encoding, packed or not."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from dpbook.rank.layout import COLUMNS, Options, heading
from dpbook.rank.names import fail

_LONGEST_LINE = 2**24
_BLOCK = 2**16
ODD = re.compile("[\ud800-\udfff]")  # what stands for a byte of another encoding

Rows = Iterator[tuple[int, list[str] | str]]  # a line's cells, or what is wrong with it


@dataclass(frozen=True)
class Opened:
    """A file that is being read."""

    name: str
    header: list[str]
    rows: Rows


def magic(start: bytes) -> str:
    """What the first bytes of a file say that it is."""
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"\x1f\x8b"):
        return "gzip"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if start.startswith((b"PK", b"\xd0\xcf")):
        return "a spreadsheet or an archive"
    if start.startswith((b"{", b"[")):
        return "JSON"
    return "text"


def kind_of(path: str) -> str:
    """What a file is; the standard input is text."""
    if path == "-":
        return "text"
    with open(path, "rb") as raw:
        return magic(raw.peek(4)[:4])


@contextmanager
def opened(path: str, options: Options) -> Iterator[Opened]:
    """A text of answers, as the names of its columns and its rows with their lines."""
    name = "standard input" if path == "-" else path
    with sys.stdin.buffer if path == "-" else open(path, "rb") as raw:
        file: Any = raw
        what = magic(file.peek(4)[:4])
        unpacked = gzip.GzipFile(fileobj=file) if what == "gzip" else file
        with _text(name, unpacked, options) as text, _readable(name, options):
            head = head_of(name, text, options)
            lines = _lines(name, text, head.end)
            yield Opened(name, head.names, _rows(name, lines, head, options.line_breaks))


def _text(name: str, unpacked: Any, options: Options) -> io.TextIOWrapper:
    """The file as text; single bytes in another encoding are kept, to be found in their cell."""
    with _readable(name, options):
        what = magic(unpacked.peek(4)[:4])
    if what not in ("text", "utf-16"):
        fail(name, f"the file is {what}", "a table that is saved as CSV")
    encoding = "utf-16" if what == "utf-16" else options.encoding
    try:
        return io.TextIOWrapper(unpacked, encoding, "surrogateescape", newline="")
    except LookupError:
        allowed = "allowed is a name such as 'utf-8', 'cp1252' or 'utf-16'"
        raise ValueError(f"encoding = {encoding!r:.40}: {allowed}") from None


@contextmanager
def _readable(name: str, options: Options) -> Iterator[None]:
    """Say in one sentence that the bytes are no text, or damaged."""
    try:
        yield
    except UnicodeError:
        allowed = "that encoding, or another --encoding"
        fail(name, f"the file is not in the encoding {options.encoding}, or not whole", allowed)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        fail(name, "the file is packed by gzip and damaged", "a whole one")


@dataclass(frozen=True)
class Head:
    """What line 1 says of the text."""

    names: list[str]
    separator: str
    quotes: bool
    end: str  # of every line
    lines: int


def head_of(name: str, text: Any, options: Options) -> Head:
    """Names of columns, what separates them, whether there are quotes, and how lines end.

    A tab-separated text without quotes in line 1 has none: there they are letters.
    """
    records = [_record(name, text).removeprefix("\ufeff")]
    separator = options.separator or separator_of(records[0])
    named = re.fullmatch("sep=(.)", records[0].strip(), re.IGNORECASE)
    if named:
        separator = named[1]
        records = [_record(name, text)]
    first = records[0]
    if not first.strip():
        fail(name, "the file is empty or begins with an empty line", COLUMNS)
    if ODD.search(first):
        fail(name, "line 1 is in another encoding", "UTF-8, or --encoding, as in cp1252")
    while len(records) < options.header_lines:
        records.append(_record(name, text))
    end = re.search("\r?\n?$", first)
    quotes = separator != "\t" or '"' in first
    try:
        lines = list(csv.reader(records, **dialect(separator, quotes)))
    except csv.Error as error:
        fail(name, f"line 1: {error}", COLUMNS)
    ending = end[0] if end and end[0] else "\n"
    count = "".join(records).count(ending) + bool(named)
    return Head(heading(lines), separator, quotes, ending, count)


def separator_of(first: str) -> str:
    """What separates the cells of line 1, counted outside quotes; the comma, where nothing does."""
    outside = re.sub('"[^"]*"', "", first)
    return max(",;\t", key=outside.count)


def dialect(separator: str, quotes: bool) -> dict[str, Any]:
    """How Python's reader is told so."""
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    return {"delimiter": separator, "quoting": quoting, "strict": True}


def _record(name: str, text: Any) -> str:
    """A line of the header: it ends where its quotes end."""
    record = str(text.readline(_LONGEST_LINE))
    while record.count('"') % 2 and len(record) < _LONGEST_LINE:
        line = text.readline(_LONGEST_LINE)
        if not line:
            break
        record += line
    if len(record) >= _LONGEST_LINE:
        _too_long(name)
    return record


def _lines(name: str, text: Any, end: str) -> Iterator[str]:
    """Lines that end as line 1 does: any other sign of an end is a letter, of its row alone."""
    rest = ""
    while block := text.read(_BLOCK):
        *whole, rest = (rest + block).split(end)
        if len(rest) >= _LONGEST_LINE:
            _too_long(name)
        for line in whole:
            yield line + "\n"
    if rest:
        yield rest + "\n"


def _too_long(name: str) -> NoReturn:
    fail(name, "a line is longer than 2**24 characters", "shorter lines")


def _rows(name: str, lines: Iterator[str], head: Head, line_breaks: bool) -> Rows:
    """Cells of each line, or what is wrong with it; blank lines are left out.

    After an odd quote nobody knows where a row ends, and who wrote it. So a line is a row, and a
    row of several lines refuses the file, unless its keeper says that it may have some.
    """
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(lines, **dialect(head.separator, head.quotes))
    width = len(head.names)
    ended = False
    line = 0
    while not ended:
        try:
            for row in reader:
                line += 1
                if reader.line_num > line:
                    _refuse_lines(name, head.lines + line, line_breaks)
                    line = reader.line_num
                if len(row) == width:
                    yield head.lines + line, row
                elif "".join(row).strip():
                    yield head.lines + line, f"{len(row)} columns where line 1 has {width}"
            ended = True
        except csv.Error:
            line += 1
            if reader.line_num > line:
                _refuse_lines(name, head.lines + line, line_breaks)
                line = reader.line_num
            yield head.lines + line, "quotes or line breaks in disorder"


def _refuse_lines(name: str, line: int, line_breaks: bool) -> None:
    """Unless the keeper says that the program that wrote the file may be trusted."""
    if not line_breaks:
        what = f"line {line}: a quote is open at the end of the line"
        allowed = "a line for each row, or --line-breaks if the program that wrote FILE puts cells "
        fail(name, what, f"{allowed}with line breaks in quotes")
