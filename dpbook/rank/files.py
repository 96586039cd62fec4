"""Text as rows of cells, in any encoding, packed or not."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dpbook.rank.layout import COLUMNS, Options, heading
from dpbook.rank.names import ODD, fail

_BLOCK = 2**16
Rows = Iterator[tuple[int, list[str] | str]]  # a line's cells, or what is wrong with it
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
    for sign, kind in _MAGIC.items():
        if start.startswith(sign):
            return kind
    return "text"


def kind_of(path: str) -> str:
    """What a file is; the standard input is text."""
    if path == "-":
        return "text"
    with open(path, "rb") as raw:
        return magic(raw)


@contextmanager
def opened(path: str, options: Options) -> Iterator[Text]:
    """A text of answers; single bytes in another encoding are kept, to be found in their cell."""
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
                yield Text(name, text, options)
    except UnicodeError:
        allowed = "that encoding, or another --encoding"
        fail(name, f"the file is not in the encoding {options.encoding}, or not whole", allowed)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        fail(name, "the file is packed by gzip and damaged", "a whole one")


class Text:
    """A text of answers, of which the names of the columns are read.

    A tab-separated text without quotes in line 1 has none: there they are letters.
    """

    def __init__(self, name: str, text: Any, options: Options) -> None:
        self.name = name
        self.text = text
        self.options = options
        first = self._record().removeprefix("\ufeff")
        separator = options.separator
        if named := re.fullmatch("sep=(.)", first.strip(), re.IGNORECASE):
            separator = named[1]
            first = self._record()
        if not first.strip():
            fail(name, "the file is empty or begins with an empty line", COLUMNS)
        if ODD.search(first):
            fail(name, "line 1 is in another encoding", "UTF-8, or --encoding, as in cp1252")
        outside = re.sub('"[^"]*"', "", first)
        self.separator = separator or max(",;\t", key=outside.count)
        self.quotes = self.separator != "\t" or '"' in first
        self.end = first[len(first.rstrip("\r\n")) :] or "\n"
        records = [first]
        while len(records) < options.header_lines:
            records.append(self._record())
        self.lines = "".join(records).count(self.end) + bool(named)
        try:
            self.header = heading(list(self._reader(records)))
        except csv.Error as error:
            fail(name, f"line 1: {error}", COLUMNS)

    def _reader(self, lines: Iterable[str]) -> Any:
        how: dict[str, Any] = {"delimiter": self.separator, "strict": True}
        if not self.quotes:
            how["quoting"] = csv.QUOTE_NONE
        return csv.reader(lines, **how)

    def _record(self) -> str:
        """A line of the header: it ends where its quotes end."""
        pieces = [str(self.text.readline())]
        quotes = pieces[0].count('"')
        while quotes % 2 and pieces[-1]:
            pieces.append(self.text.readline())
            quotes += pieces[-1].count('"')
        return "".join(pieces)

    def _lines(self) -> Iterator[str]:
        """Lines that end as line 1 does: any other sign of an end is a letter, of its row alone."""
        pieces: list[str] = []  # of a line; joined once, however long it is
        half = ""  # of an end that the block cuts in two
        while block := self.text.read(_BLOCK):
            block = half + block
            half = ""
            if self.end == "\r\n" and block.endswith("\r"):
                half = "\r"
                block = block[:-1]
            first, *more = block.split(self.end)
            pieces.append(first)
            for piece in more:
                yield "".join(pieces) + "\n"
                pieces = [piece]
        yield "".join(pieces) + half + "\n"

    def rows(self) -> Rows:
        """Cells of each line, or what is wrong with it; blank lines are left out.

        After an odd quote nobody knows where a row ends, and who wrote it. So a line is a row, and
        a row of several lines refuses the file, unless its keeper says that it may have some.
        """
        csv.field_size_limit(2**31 - 1)
        reader = self._reader(self._lines())
        width = len(self.header)
        row: list[str] | str | None = []
        while row is not None:
            line = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error:
                row = "quotes or line breaks in disorder"
            if reader.line_num > line and not self.options.line_breaks:
                what = f"line {self.lines + line}: a quote is open at the end of the line"
                allowed = "a line for each row, or --line-breaks if the program that wrote FILE "
                fail(self.name, what, f"{allowed}puts cells with line breaks in quotes")
            if isinstance(row, list) and len(row) != width:
                if not "".join(row).strip():
                    continue
                row = f"{len(row)} columns where line 1 has {width}"
            if row is not None:
                yield self.lines + line, row
