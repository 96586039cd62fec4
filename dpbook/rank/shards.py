"""Large files of answers, and Parquet, by DuckDB: on all cores or, with Dask, on many machines.

The engine turns names into numbers, nothing else: an item into its place in the list, a person into
a hash of 64 bits, whose salt nobody keeps. Parts by person, small enough for memory one by one, are
limited and counted as `Answers`; their numbers add up, and get noise only then.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from glob import escape
from importlib.util import find_spec
from itertools import chain
from operator import getitem
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import MOST_ITEMS, Answers, clean_name, public_items
from dpbook.rank.files import header_of
from dpbook.rank.reading import _Reader

LARGE, PART, MANY = 2**24, 2**25, 16  # bytes of text, of a part; parts that are worth a sort
SETTINGS: dict[str, Any] = {
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",
}
_Rows = tuple[Any, ...]  # keys of persons, numbers of pairs
_MACROS = f"""CREATE MACRO clean(x) AS
    CASE WHEN strlen(x) = length(x) AND x > '!' AND reverse(x) > '!' THEN x ELSE nullif(trim(
    nfc_normalize(x), '{"".join(filter(str.isspace, map(chr, range(2**16))))}'), '') END;
CREATE MACRO number(x) AS
    enum_code(coalesce(try_cast(x AS items), try_cast(clean(x) AS items)))::UINTEGER"""


@dataclass(frozen=True, eq=False)
class Shards:
    """Answers in files: their exact numbers, as those of `Answers`, and not for publication."""

    items: tuple[str, ...]
    listed: bool
    repeats: str
    person: bool | None  # None if the files do not say who answered
    halves: bool
    parts: int
    tables: Sequence[_Rows]  # SQL: what to read; first and second item, winner, person
    words: Sequence[str]  # SQL: what else the winner may be called, first or second; or a tie
    version: str
    client: Any = field(default=None, repr=False)
    salt: str = field(default_factory=lambda: token_hex(8), repr=False)
    kind: str = "comparisons"
    hashed = True  # two people may share a number, and so a limit

    def exact(self, statistic: str, limit: int | None = None) -> Ints:
        """As `Answers.exact`. What a lost worker did is done again, with new random numbers."""
        here, parts = replace(self, client=None), range(self.parts)
        numbers = partial(here._numbers, statistic, limit)
        if self.client is None:
            read = self._load(range(len(self.tables)))
            with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
                return np.asarray(sum(pool.map(lambda k: numbers([read(k)]), parts)))
        submit = partial(self.client.submit, pure=False)
        files = [submit(here._pieces, k) for k in range(len(self.tables))]
        found = [submit(numbers, [submit(getitem, file, k) for file in files]) for k in parts]
        if not self.person:  # nothing to bring together, and nothing that would be the same again
            found = [submit(numbers, file) for file in files]
        while len(found) > 1:
            found = [submit(sum, found[k : k + 16]) for k in range(0, len(found), 16)]
        return np.asarray(found[0].result())

    def _connect(self) -> Any:
        import duckdb

        if duckdb.__version__ != self.version:  # its hash may be another
            raise ValueError(f"DuckDB {duckdb.__version__}: allowed is {self.version} everywhere")
        private = {"temp_directory": f"{_folder().name}/{token_hex(8)}"}
        kind = f"CREATE TYPE items AS ENUM ({_text(*self.items)});"
        return duckdb.connect(config=SETTINGS | private).execute(kind + _MACROS)

    def _names(self, k: int) -> list[str]:
        """All spellings of items in a file, or more than are allowed."""
        table, first, second, *_ = self.tables[k]
        query = f"SELECT DISTINCT unnest([{first}, {second}]) FROM {table} LIMIT {8 * MOST_ITEMS}"
        return [name for (name,) in self._connect().execute(query).fetchall() if name]

    def _query(self, k: int) -> str:
        """Person and pair of each row of a file; NULL where it does not count."""
        (table, first, second, winner, person), n = self.tables[k], len(self.items)
        who = f"hash('{self.salt}' || p)" if self.person else "hash(random())"
        return (
            f"SELECT {who} AS person, (CASE WHEN f = s OR p IS NULL THEN NULL WHEN w IN "
            f"({self.words[0]}) OR number(w) = f THEN 2 * (f * {n} + s) WHEN w IN ({self.words[1]})"
            f" OR number(w) = s THEN 2 * (s * {n} + f) WHEN lower(w) IN ({self.words[2]}) THEN "
            f"2 * (f * {n} + s) + 1 END)::UINTEGER AS pair FROM (SELECT clean({person}) AS p, "
            f"number({first}) AS f, number({second}) AS s, clean({winner}) AS w FROM {table})"
        )

    def _load(self, files: Sequence[int]) -> Callable[[int], _Rows]:
        """Files in a table, on the disk where it must be; what reads a part of it."""
        engine, query = self._connect(), " UNION ALL ".join(map(self._query, files))
        order = " ORDER BY person" if self.parts > MANY else ""
        engine.execute(f"CREATE TABLE answers AS {query}{order}")

        def part(k: int) -> _Rows:
            ends = [k * 2**64 // self.parts, (k + 1) * 2**64 // self.parts - 1]
            rows = "SELECT * FROM answers WHERE pair IS NOT NULL AND person BETWEEN ? AND ?"
            return tuple(engine.cursor().execute(rows, ends).fetchnumpy().values())

        return part

    def _pieces(self, k: int) -> list[_Rows]:
        return list(map(self._load([k]), range(self.parts)))

    def _numbers(self, statistic: str, limit: int | None, pieces: Sequence[_Rows]) -> Ints:
        """The exact numbers of one part, whatever files it comes from."""
        person, pair = map(np.concatenate, zip(*pieces, strict=True))
        data = np.array(np.divmod(pair >> 1, len(self.items)), dtype=np.int16)
        tied = (pair & 1).astype(bool) if self.halves else None
        who = person if self.person else None
        part = Answers("comparisons", self.items, data, who, tied, self.repeats)
        return part.exact(statistic, limit)


def open_shards(paths: Sequence[str], *, scheduler: str | None = None, **how: Any) -> Shards:
    """Files of comparisons that count as one; what is left out is as in `read_answers`.

    Raises
    ------
    ValueError
        Where the engine could differ from it: other columns, not UTF-8, quotes or ends of lines in
        disorder, ``bad="refuse"``.
    """
    import duckdb

    reader, client = _Reader(**how), None
    found = [_table(reader, path) for path in paths]
    if reader.bad == "refuse" or len({roles for _, roles, _ in found}) > 1:
        raise ValueError("bad = 'refuse', or different columns: allowed is 'drop', and one layout")
    if scheduler:
        from distributed import Client

        client = Client(scheduler)
    sides = [_text(side, reader.roles.get(side, side)) for side in ("first", "second")]
    shards = Shards(
        items=tuple(reader.names),
        listed=reader.listed,
        repeats=reader.repeats,
        person="person" in found[0][1] or None,
        halves="first" in found[0][1],
        parts=1 + sum(size for *_, size in found) // PART,
        tables=[table for table, *_ in found],
        words=[*sides, _text(*reader.words, *(clean_name(word).lower() for word in reader.ties))],
        version=duckdb.__version__,
        client=client,
    )
    if not shards.listed:
        names, files = replace(shards, client=None)._names, range(len(found))
        many = client.gather(client.map(names, files)) if client else map(names, files)
        for name in chain.from_iterable(many):
            reader.code(name)
        shards = replace(shards, items=public_items(sorted(reader.names)))
    return shards


def supported(paths: Sequence[str], *, encoding: str = "utf-8", **how: Any) -> bool:
    """Whether these files are worth the engine, and it reads them as `read_answers` does."""
    if encoding != "utf-8" or "-" in paths:
        return False
    try:
        if not find_spec("duckdb"):
            return False
        found = [_table(_Reader(**how), path) for path in paths]
    except (ValueError, OSError, ImportError):  # the other reader says what is wrong
        return False
    large = sum(size for *_, size in found) >= LARGE
    return len({roles for _, roles, _ in found}) == 1 and (large or "parquet" in str(found[0][0]))


def rows_of(path: str) -> tuple[list[str], Iterator[list[str]]]:
    """Names of the columns of a Parquet file, and its rows as text."""
    import duckdb

    found = duckdb.connect().execute(f"SELECT COLUMNS(*)::VARCHAR FROM {_parquet(path)}")
    many = chain.from_iterable(iter(partial(found.fetchmany, 2**12), []))
    return [name for name, *_ in found.description], ([x or "" for x in row] for row in many)


def _table(reader: _Reader, path: str) -> tuple[_Rows, tuple[str, ...], int]:
    """How the engine reads a file: its SQL, its roles, and about how many bytes of text it has."""
    reader.name, size = path, os.path.getsize(path)
    with open(path, "rb") as raw:
        if (magic := raw.peek(4)[:4]) == b"PAR1":
            header, table, size = rows_of(path)[0], _parquet(path), 4 * size
            cells = ['"' + name.replace('"', '""') + '"::VARCHAR' for name in header]
        else:
            packed = magic[:2] == b"\x1f\x8b"
            file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            first = file.readline(2**20)
            header, separator = header_of(path, iter([first.decode("utf-8-sig")]))
            _refuse_disorder(file, separator, first.endswith(b"\r\n"))
            cells = [f"c{k}" for k in range(len(header))]
            types = ", ".join(f"{cell}: 'VARCHAR'" for cell in cells)
            table = (
                f"read_csv({_text(escape(path))}, columns = {{{types}}}, skip = 1, header = false, "
                f"""auto_detect = false, ignore_errors = true, quote = '"', escape = '"', """
                f"delim = {_text(separator)}, compression = {_text('gzip' if packed else 'none')})"
            )
            size *= 4 if packed else 1
    at = reader._places([clean_name(cell) for cell in header])
    if not reader._layout(at).startswith("comparisons"):
        raise ValueError(f"{path} holds no comparisons: allowed are they, with the engine")
    cell = {role: cells[k] for role, k in at.items()}
    pair = ("first", "second", "winner") if "first" in at else ("winner", "loser", "")
    sql = table, *(cell.get(role, "'first'") for role in (*pair, "person"))
    return sql, tuple(sorted(at)), size


def _refuse_disorder(file: Any, separator: str, crlf: bool) -> None:
    """Allow UTF-8, one end of lines, and quotes in pairs around cells: then a row is a row."""
    quotes, fine = 0, True
    beside = np.isin(np.arange(256), [*b'"\r\n', ord(separator)])
    while block := file.read(2**16) + file.readline(2**20):
        block.isascii() or block.decode()
        lines = block.count(b"\n") if crlf else 0
        fine &= block.count(b"\r") == block.count(b"\r\n") == lines
        if b'"' in block:
            data = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
            here = np.flatnonzero(data == ord('"'))
            side = 2 * ((np.arange(here.size) + quotes) % 2) - 1  # before what opens a cell
            quotes, fine = quotes + here.size, fine and beside[data[here + side]].all()
    if not fine or quotes % 2:
        raise ValueError("quotes or ends of lines in disorder: allowed is the reader of the book")


def _parquet(path: str) -> str:
    return f"read_parquet({_text(escape(path))}, binary_as_string = true)"


def _text(*values: str) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="dpbook-")  # for this user alone
