"""DuckDB for large files: it splits lines, hashes people, and looks spellings up, nothing else.

What a spelling means, and which rows are answers, is for `dpbook.rank.rows` to say, as for text
that Python reads. All SQL is in ``answers.sql``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from glob import escape
from importlib.resources import files
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from dpbook.rank.files import kind_of, opened
from dpbook.rank.layout import Layout, Options, heading, layout_of
from dpbook.rank.names import BLANKS, BadFile, text_of
from dpbook.rank.rows import UNLISTED, Items

_BLOCK = 2**16
_LONGEST = 2**20
_SETTINGS = {
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "disabled_optimizers": "join_order,build_side_probe_side",  # the items are the small side
}
_WHOLE = "VARCHAR TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER".split()


class NoComparisons(ValueError):
    """Files of rankings or counts, which are not for the engine."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that the engine may read, and how."""

    path: str
    scan: str  # a section of the SQL
    given: Mapping[str, Any]  # its values
    cells: Mapping[str, str]  # SQL: the column of each role, or a text in its place
    size: int  # about how many bytes of text
    rows: int = 0


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
        self.ask("known", blanks=BLANKS, salt=salt, missing=["", *missing])

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

    def number(self, section: str, source: Source | None = None) -> int:
        """The one number that it answers."""
        return int(self.ask(section, source).fetchone()[0])

    def part(self, k: int, parts: int) -> tuple[Any, ...]:
        """Numbers of some people, and of their cells; from any thread."""
        low = k * 2**64 // parts
        high = (k + 1) * 2**64 // parts - 1
        cursor = self.base.cursor()
        found = cursor.execute(sections()["part"], {"low": low, "high": high})
        return tuple(found.fetchnumpy().values())

    def load(self, sources: Sequence[Source], items: Items) -> None:
        """All answers into the table.

        The spellings of the list are known. If there are others, Python is asked about them, and
        all is read again.
        """
        self._spell(items, [*items.all, *items.words])
        for source in sources:
            self.ask("load", source)
        if self.number("odd") == 0:
            return
        self.ask("again")
        for source in sources:
            self._spell(items, self.spellings(source))
        for source in sources:
            self.ask("load", source)

    def spellings(self, source: Source) -> Iterator[str]:
        """What its cells hold that is not known."""
        for (raw,) in fetched(self.ask("unknown", source)):
            yield raw

    def _spell(self, items: Items, spellings: Iterable[str]) -> None:
        known = {raw: items[raw] for raw in spellings if items[raw] != UNLISTED}
        if known:
            self.ask("spell", raw=list(known), number=list(known.values()))


def fetched(found: Any) -> Iterator[tuple[Any, ...]]:
    """All rows, some at a time."""
    while part := found.fetchmany(2**12):
        yield from part


def opened_parquet(path: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns of a Parquet file, and its rows, as text."""
    found = Engine().ask("rows", _parquet(path))
    rows = (list(map(text_of, row)) for row in fetched(found))
    return heading([[name for name, *_ in found.description]]), enumerate(rows, 1)


def _parquet(path: str) -> Source:
    given = {"path": escape(path)}
    return Source(path=path, scan="parquet", given=given, cells={}, size=4 * os.path.getsize(path))


def source_of(path: str, options: Options) -> tuple[Source, Layout]:
    """How the engine reads a file; a ValueError where Python has to read it."""
    if kind_of(path) == "parquet":
        source = _parquet(path)
        engine = Engine()
        found = engine.ask("rows", source).description
        layout = layout_of(path, heading([[name for name, *_ in found]]), options)
        if any(str(found[k][1]) not in _WHOLE for k in {*layout.cells, layout.person} - {None}):
            raise ValueError(f"{path}: allowed are texts and whole numbers, with the engine")
        quoted = [name.replace('"', '""') for name, *_ in found]
        cells = _cells(layout, [f"coalesce(\"{name}\"::VARCHAR, '')" for name in quoted])
        return replace(source, cells=cells, rows=engine.number("count", source)), layout
    with opened(path, options) as text:
        layout = layout_of(path, text.header, options)
    if text.lines > 1 or text.end == "\r":
        raise ValueError(f"{path}: allowed is one line with names of columns, with the engine")
    packed = kind_of(path) == "gzip"
    unpack: Any = (open, gzip.open)[packed]
    with unpack(path, "rb") as raw:
        lines = _ordered_lines(raw, quotes=text.quotes, end=text.end.encode())
    columns = [f"c{k}" for k in range(len(text.header))]
    given = {
        "path": escape(path),
        "columns": dict.fromkeys([*columns, "more"], "VARCHAR"),
        "nothing": token_hex(16),
        "separator": text.separator,
        "packed": ("none", "gzip")[packed],
    }
    cells = {**_cells(layout, columns), "last": columns[-1]}
    size = os.path.getsize(path)
    return Source(path=path, scan="text", given=given, cells=cells, size=size, rows=lines), layout


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


def _ordered_lines(file: Any, *, quotes: bool, end: bytes) -> int:
    """How many lines are below the first, if a line is a row for the engine as well.

    That is UTF-8 without quotes, with one end of lines, none of them long. What one person wrote
    may decide who reads, so that both readers have to take the same rows.
    """
    lines = -1
    block = b"\n"
    while more := file.read(_BLOCK) + file.readline(_LONGEST):
        block = more
        block.decode()
        ends = block.count(end)
        returns = block.count(b"\r")
        ordered = block.count(b"\n") == ends and returns == ends * end.count(b"\r")
        long = len(block) >= _LONGEST and block[-1:] != b"\n"
        if long or not ordered or (quotes and b'"' in block):
            allowed = "allowed are none, and one end for all lines, with the engine"
            raise ValueError(f"quotes, ends of lines in disorder, or a long line: {allowed}")
        lines += ends
    return lines + (block[-1:] != b"\n")
