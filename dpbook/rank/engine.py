"""DuckDB for large files: it splits lines, hashes people, and looks up what cells mean.

What they mean is for `dpbook.rank.rows` to say, once for all rows with the same cells. All SQL is
in ``answers.sql``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from glob import escape
from importlib.resources import files
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from dpbook.rank.files import kind_of, opened
from dpbook.rank.layout import Layout, Options, heading, layout_of
from dpbook.rank.names import BLANKS, BadFile, text_of
from dpbook.rank.rows import Meaning, Unusable

_BLOCK = 2**16
_LONGEST = 2**20
MOST_KNOWN = 10**6  # different cells of rows
KNOWN = ("f", "s", "w", "first", "second", "tied")  # columns of the table of what they mean
_SETTINGS = {
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "disabled_optimizers": "join_order,build_side_probe_side",  # the items are the small side
}
_WHOLE = set("VARCHAR TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER".split())


class NoComparisons(ValueError):
    """Files of rankings or counts, which are not for the engine."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that the engine may read, and how."""

    path: str
    scan: str  # a section of the SQL
    given: Mapping[str, Any]  # its values
    size: int  # about how many bytes of text
    cells: Mapping[str, str]  # SQL: the column of each role, or a text in its place


@cache
def sections() -> dict[str, str]:
    """The SQL by the names of its sections."""
    text = files("dpbook.rank").joinpath("answers.sql").read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n-- ")[1:]:
        head, _, query = part.partition("\n")
        found[head.split(":")[0]] = query.strip()
    return found


@cache
def _folder() -> TemporaryDirectory[str]:
    """For what does not fit into memory; of this user alone."""
    return TemporaryDirectory(prefix="dpbook-")


class Engine:
    """A database in memory, with the answers of some files."""

    def __init__(self, missing: Collection[str] = (), salt: str = "") -> None:
        import duckdb

        self.error = duckdb.Error
        private: dict[str, Any] = {"temp_directory": f"{_folder().name}/{token_hex(8)}"}
        self.base = duckdb.connect(config=private | _SETTINGS)
        self.base.execute(sections()["begin"])
        self.ask("people", blanks=BLANKS, salt=salt, missing=["", *missing])

    def ask(self, section: str, source: Source | None = None, **values: Any) -> Any:
        """What the engine answers; its own errors quote the data."""
        query = sections()[section]
        path = "the file"
        if source is not None:
            path = source.path
            scan = sections()[source.scan].format(**source.cells)
            query = query.format(source=scan, **source.cells)
            values |= source.given
        try:
            return self.base.execute(query, values)
        except self.error:
            raise BadFile(f"{path} cannot be read: allowed is what DuckDB reads") from None

    def part(self, k: int, parts: int) -> tuple[Any, ...]:
        """Numbers of some people, and of their cells; from any thread."""
        low = k * 2**64 // parts
        high = (k + 1) * 2**64 // parts - 1
        cursor = self.base.cursor()
        found = cursor.execute(sections()["part"], {"low": low, "high": high})
        return tuple(found.fetchnumpy().values())

    def load(self, sources: Sequence[Source], meaning: Meaning) -> None:
        """All rows that are answers into the table; Python is asked about different cells alone."""
        known: dict[Sequence[str], Sequence[int]] = {}
        for source in sources:
            for cells in fetched(self.ask("cells", source)):
                with suppress(Unusable):
                    known[cells] = meaning.compared(cells)
            if len(known) > MOST_KNOWN:
                raise ValueError(f"allowed are {MOST_KNOWN} different answers, with the engine")
        rows = [(*cells, *numbers) for cells, numbers in known.items()]
        if rows:
            columns = map(list, zip(*rows, strict=True))
            values: dict[str, Any] = dict(zip(KNOWN, columns, strict=True))
            self.ask("known", **values)
        for source in sources:
            self.ask("load", source)


def fetched(found: Any) -> Iterator[tuple[Any, ...]]:
    """All rows, some at a time."""
    while part := found.fetchmany(2**12):
        yield from part


def opened_parquet(path: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns of a Parquet file, and its rows, as text."""
    found = Engine().ask("rows", _source(path, "parquet"))
    rows = (list(map(text_of, row)) for row in fetched(found))
    return heading([[name for name, *_ in found.description]]), enumerate(rows, 1)


def _source(path: str, scan: str, cells: Mapping[str, str] | None = None, **given: Any) -> Source:
    size = os.path.getsize(path)
    given["path"] = escape(path)
    return Source(path=path, scan=scan, given=given, size=size, cells=cells or {})


def source_of(path: str, options: Options) -> tuple[Source, Layout]:
    """How the engine reads a file; a ValueError where Python has to read it."""
    if kind_of(path) == "parquet":
        found = Engine().ask("rows", _source(path, "parquet")).description
        layout = layout_of(path, heading([[name for name, *_ in found]]), options)
        columns = [*layout.cells, layout.columns.get("person", 0)]
        if not {str(found[k][1]) for k in columns} <= _WHOLE:
            raise ValueError(f"{path}: allowed are texts and whole numbers, with the engine")
        quoted = [name.replace('"', '""') for name, *_ in found]
        texts = [f"coalesce(\"{name}\"::VARCHAR, '')" for name in quoted]
        return _source(path, "parquet", _cells(layout, texts)), layout
    with opened(path, options) as text:
        layout = layout_of(path, text.header, options)
    if text.lines > 1 or text.end == "\r":
        raise ValueError(f"{path}: allowed is one line with names of columns, with the engine")
    names = [f"c{k}" for k in range(len(text.header))]
    cells = _cells(layout, names)
    packed = "none"
    unpack: Any = open
    if kind_of(path) == "gzip":
        packed = "gzip"
        unpack = gzip.open
    with unpack(path, "rb") as raw:
        _check_lines(raw, quotes=text.quotes, end=text.end.encode())
    source = _source(
        path,
        "text",
        {**cells, "last": names[-1]},
        columns=dict.fromkeys([*names, "more"], "VARCHAR"),
        nothing=token_hex(16),
        separator=text.separator,
        packed=packed,
    )
    return source, layout


def _cells(layout: Layout, columns: Sequence[str]) -> dict[str, str]:
    """SQL: the column of each role, or what stands for it."""
    if layout.kind != "comparisons":
        raise NoComparisons(f"{layout.kind}: allowed are comparisons, with the engine")
    first, second, *winner = [columns[k] for k in layout.cells]
    cells = {"first": first, "second": second, "winner": first, "person": "''", "anybody": "TRUE"}
    if winner:
        cells["winner"] = winner[0]
    if layout.person is not None:
        cells |= {"person": columns[layout.person], "anybody": "FALSE"}
    return cells


def _check_lines(file: Any, *, quotes: bool, end: bytes) -> None:
    """Refuse a file where a line may be no row for the engine.

    Allowed is UTF-8 without quotes, with one end of lines, none of them long. What one person wrote
    may decide who reads, so that both readers have to take the same rows.
    """
    while block := file.read(_BLOCK) + file.readline(_LONGEST):
        block.decode()
        ends = block.count(end)
        returns = block.count(b"\r")
        ordered = block.count(b"\n") == ends and returns == ends * end.count(b"\r")
        long = len(block) >= _LONGEST and not block.endswith(b"\n")
        if long or not ordered or (quotes and b'"' in block):
            allowed = "allowed are none, and one end for all lines, with the engine"
            raise ValueError(f"quotes, ends of lines in disorder, or a long line: {allowed}")
