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
from typing import Any

from dpbook.rank.layout import COLUMNS, Head, Opened, Options, Rows, heading
from dpbook.rank.names import fail

_LONGEST_LINE = 2**24
_BLOCK = 2**16
_ODD = re.compile("[\ud800-\udfff]")  # what stands for a byte of another encoding
_MAGIC = {
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"PK": "a spreadsheet or an archive",
    b"\xd0\xcf": "a spreadsheet or an archive",
    b"{": "JSON",
    b"[": "JSON",
}


def magic(file: Any) -> str:
    """What the first bytes of a file say that it is."""
    start = file.peek(4)[:4]
    return next((kind for sign, kind in _MAGIC.items() if start.startswith(sign)), "text")


def kind_of(path: str) -> str:
    """What a file is; the standard input is text."""
    if path == "-":
        return "text"
    with open(path, "rb") as raw:
        return magic(raw)


@contextmanager
def opened(path: str, options: Options) -> Iterator[Opened]:
    """A text of answers: its columns, and its rows with their lines.

    Single bytes in another encoding are kept, to be found in their cell.
    """
    name = path
    raw: Any = None
    if path == "-":
        name = "standard input"
        raw = sys.stdin.buffer
    try:
        with raw or open(path, "rb") as file:
            if magic(file) == "gzip":
                file = gzip.GzipFile(fileobj=file)
            encoding = options.encoding
            what = magic(file)
            if what == "utf-16":
                encoding = what
            elif what != "text":
                fail(name, f"the file is {what}", "a table that is saved as CSV")
            with io.TextIOWrapper(file, encoding, "surrogateescape", newline="") as text:
                header, head = _head(name, text, options)
                rows = _rows(name, text, len(header), head, options)
                yield Opened(name, header, rows, head)
    except UnicodeError:
        allowed = "that encoding, or another --encoding"
        fail(name, f"the file is not in the encoding {options.encoding}, or not whole", allowed)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        fail(name, "the file is packed by gzip and damaged", "a whole one")


def _head(name: str, text: Any, options: Options) -> tuple[list[str], Head]:
    """Names of columns, what separates them, whether there are quotes, and how lines end.

    A tab-separated text without quotes in line 1 has none: there they are letters.
    """
    first = _record(name, text).removeprefix("\ufeff")
    records = [first]
    separator = options.separator
    if named := re.fullmatch("sep=(.)", first.strip(), re.IGNORECASE):
        separator = named[1]
        first = _record(name, text)
        records.append(first)
    if not first.strip():
        fail(name, "the file is empty or begins with an empty line", COLUMNS)
    if _ODD.search(first):
        fail(name, "line 1 is in another encoding", "UTF-8, or --encoding, as in cp1252")
    if separator is None:
        outside = re.sub('"[^"]*"', "", first)
        separator = max(",;\t", key=outside.count)
    above = len(records) - 1
    while len(records) < above + options.header_lines:
        records.append(_record(name, text))
    quotes = separator != "\t" or '"' in first
    end = first[len(first.rstrip("\r\n")) :] or "\n"
    head = Head(separator, quotes, end, "".join(records).count(end))
    try:
        return heading(list(csv.reader(records[above:], **head.dialect))), head
    except csv.Error as error:
        fail(name, f"line 1: {error}", COLUMNS)


def _record(name: str, text: Any) -> str:
    """A line of the header: it ends where its quotes end."""
    record = line = str(text.readline(_LONGEST_LINE))
    while line and record.count('"') % 2:
        _short_enough(name, record)
        line = text.readline(_LONGEST_LINE)
        record += line
    _short_enough(name, record)
    return record


def _short_enough(name: str, line: str) -> None:
    if len(line) >= _LONGEST_LINE:
        fail(name, "a line is longer than 2**24 characters", "shorter lines")


def _lines(name: str, text: Any, end: str) -> Iterator[str]:
    """Lines that end as line 1 does: any other sign of an end is a letter, of its row alone."""
    rest = ""
    while block := text.read(_BLOCK):
        *whole, rest = (rest + block).split(end)
        _short_enough(name, rest)
        for line in whole:
            yield line + "\n"
    yield rest + "\n"


def _rows(name: str, text: Any, width: int, head: Head, options: Options) -> Rows:
    """Cells of each line, or what is wrong with it; blank lines are left out.

    After an odd quote nobody knows where a row ends, and who wrote it. So a line is a row, and a
    row of several lines refuses the file, unless its keeper says that it may have some.
    """
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(_lines(name, text, head.end), **head.dialect)
    row: list[str] | str | None = []
    while row is not None:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error:
            row = "quotes or line breaks in disorder"
        if reader.line_num > line and not options.line_breaks:
            what = f"line {head.lines + line}: a quote is open at the end of the line"
            allowed = "a line for each row, or --line-breaks if the program that wrote FILE puts "
            fail(name, what, f"{allowed}cells with line breaks in quotes")
        if isinstance(row, list) and len(row) != width:
            if not "".join(row).strip():
                continue
            row = f"{len(row)} columns where line 1 has {width}"
        if row is not None:
            yield head.lines + line, row
