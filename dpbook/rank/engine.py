"""DuckDB for large files: it splits lines, hashes people, and looks spellings up, nothing else.

What a spelling means, and which rows are answers, is for `dpbook.rank.rows` to say, as for text
that Python reads. All SQL is in ``answers.sql``.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from glob import escape
from importlib.resources import files
from itertools import chain
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from dpbook.rank.files import Opened, head_of, kind_of
from dpbook.rank.layout import Layout, Options, heading, layout_of
from dpbook.rank.names import BLANKS, BadFile, text_of
from dpbook.rank.rows import UNLISTED, Items, Winners

_BLOCK = 2**16
_LONGEST = 2**20
_SETTINGS = {
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "disabled_optimizers": "join_order,build_side_probe_side",  # the items are the small side
}
_WHOLE = "VARCHAR TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER".split()


@dataclass(frozen=True)
class Source:
    """A file that the engine may read, and how."""

    path: str
    scan: str  # a section of the SQL
    given: Mapping[str, Any]  # its values
    cells: Mapping[str, str]  # SQL: the column of each role, or a text in its place
    size: int  # about how many bytes of text
    lines: int = -1  # below line 1, if that is known


@cache
def sections() -> dict[str, list[str]]:
    """The SQL by the names of its sections."""
    text = files("dpbook.rank").joinpath("answers.sql").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for part in text.split("\n-- ")[1:]:
        head, _, query = part.partition("\n")
        found.setdefault(head.split(":")[0], []).append(query.strip())
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
        values = {"blanks": BLANKS, "salt": salt, "missing": [*missing, ""]}
        for query in sections()["begin"]:
            self.base.execute(query, {k: v for k, v in values.items() if f"${k}" in query})

    def ask(self, section: str, source: Source | None = None, **values: Any) -> Any:
        """What the engine answers; its own errors quote the data."""
        query, what = sections()[section][0], "the answers"
        if source is not None:
            scan = sections()[source.scan][0].format(**source.cells)
            query = query.format(source=scan, **source.cells)
            values |= source.given
            what = source.path
        try:
            return self.base.execute(query, values)
        except self.error:
            raise BadFile(f"{what} cannot be read: allowed is what DuckDB reads") from None

    def part(self, low: int, high: int) -> tuple[Any, ...]:
        """The columns of the answers in a range of hashes; from any thread."""
        cursor = self.base.cursor()
        found = cursor.execute(sections()["part"][0], {"low": low, "high": high})
        return tuple(found.fetchnumpy().values())

    def load(self, sources: Sequence[Source], items: Items, winners: Winners) -> None:
        """All answers into the table.

        The spellings of the list are known. If there are others, Python is asked about them, and
        all is read again.
        """
        words = [*items.all, *items.ties, "", *chain(*winners.layout.sides)]
        self._spell({name: items[name] for name in items.all}, winner=False)
        self._spell({word: winners[word] for word in words}, winner=True)
        for source in sources:
            self.ask("load", source)
        (odd,) = self.ask("odd").fetchone()
        if not odd:
            return
        self.ask("again")
        for source in sources:
            self.learn(source, items, ("first", "second"))
            self.learn(source, winners, ("winner", "winner"))
        for source in sources:
            self.ask("load", source)

    def learn(self, source: Source, numbers: Items | Winners, roles: tuple[str, str]) -> None:
        """Ask Python about the spellings in two columns that are not known yet."""
        winner = isinstance(numbers, Winners)
        pair = {"one": source.cells[roles[0]], "other": source.cells[roles[1]]}
        asked = replace(source, cells={**source.cells, **pair})
        rows = fetched(self.ask("unknown", asked, winner=winner))
        known = {raw: numbers[raw] for (raw,) in rows if numbers[raw] != UNLISTED}
        self._spell(known, winner=winner)

    def _spell(self, numbers: Mapping[str, int], *, winner: bool) -> None:
        if numbers:
            raw, number = list(numbers), list(numbers.values())
            self.ask("spell", raw=raw, number=number, winner=winner)


def fetched(found: Any) -> Iterator[tuple[Any, ...]]:
    """All rows, some at a time."""
    while part := found.fetchmany(2**12):
        yield from part


def opened_parquet(path: str) -> Opened:
    """A Parquet file, as text."""
    found = Engine().ask("rows", Source(path, "parquet", {"path": escape(path)}, {}, 0))
    rows = (list(map(text_of, row)) for row in fetched(found))
    return Opened(path, heading([[name for name, *_ in found.description]]), enumerate(rows, 1))


def source_of(path: str, options: Options) -> tuple[Source, Layout]:
    """How the engine reads a file; a ValueError where Python has to read it."""
    what = kind_of(path)
    size = os.path.getsize(path)
    if what == "parquet":
        return _parquet(path, 4 * size, options)
    file: Any = gzip.open(path) if what == "gzip" else open(path, "rb")
    with file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        head = head_of(path, text, options)
        layout = layout_of(path, head.names, options)
        text.seek(0)
        lines = _ordered_lines(file, quotes=head.quotes, end=head.end.encode())
    if head.lines > 1:
        raise ValueError(f"{path}: allowed is one line with names of columns, with the engine")
    columns = [f"c{k}" for k in range(len(head.names))]
    given = {
        "path": escape(path),
        "columns": dict.fromkeys([*columns, "more"], "VARCHAR"),
        "nothing": token_hex(16),
        "separator": head.separator,
        "packed": "gzip" if what == "gzip" else "none",
    }
    cells = _cells(layout, columns) | {"last": columns[-1]}
    return Source(path, "text", given, cells, size, lines), layout


def _parquet(path: str, size: int, options: Options) -> tuple[Source, Layout]:
    given = {"path": escape(path)}
    found = Engine().ask("rows", Source(path, "parquet", given, {}, size)).description
    layout = layout_of(path, heading([[name for name, *_ in found]]), options)
    used = {*layout.cells, layout.person} - {None}
    if any(str(found[k][1]) not in _WHOLE for k in used):
        raise ValueError(f"{path}: allowed are texts and whole numbers, with the engine")
    quoted = ['"' + name.replace('"', '""') + '"' for name, *_ in found]
    cells = _cells(layout, [f"coalesce({name}::VARCHAR, '')" for name in quoted])
    return Source(path, "parquet", given, cells, size), layout


def _cells(layout: Layout, columns: Sequence[str]) -> dict[str, str]:
    """SQL: the column of each role, or what stands for it."""
    if layout.kind != "comparisons":
        raise ValueError(f"{layout.kind}: allowed are comparisons, with the engine")
    cells = {"winner": "''", "person": "''", "anybody": "TRUE"}
    for name, k in zip(("first", "second", "winner"), layout.cells, strict=False):
        cells[name] = columns[k]
    if layout.person is not None:
        cells |= {"person": columns[layout.person], "anybody": "FALSE"}
    return cells


def _ordered_lines(file: Any, *, quotes: bool, end: bytes) -> int:
    """How many lines are below the first, if a line is a row for the engine as well.

    That is UTF-8 without quotes, with one end of lines, none of them long. What one person wrote
    may decide who reads, so that both readers have to take the same rows.
    """
    lines, last = 0, b"\n"
    while block := file.read(_BLOCK) + file.readline(_LONGEST):
        block.isascii() or block.decode()
        ends = block.count(b"\r"), block.count(b"\r\n"), block.count(b"\n")
        fine = ends[0] == 0 if end == b"\n" else ends[0] == ends[1] == ends[2]
        long = len(block) >= _LONGEST and block[-1:] != b"\n"
        if long or not fine or (quotes and b'"' in block):
            allowed = "allowed are none, and one end for all lines, with the engine"
            raise ValueError(f"quotes, ends of lines in disorder, or a long line: {allowed}")
        lines, last = lines + ends[2], block[-1:]
    return lines - (last == b"\n")
