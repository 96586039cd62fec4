"""What DuckDB is told about a file: which of its rows are rows, and how names become numbers."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from functools import cache, partial
from glob import escape
from itertools import chain
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from dpbook.rank.answers import clean_name
from dpbook.rank.files import BadFile, header_of

SETTINGS: dict[str, Any] = {
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "disabled_optimizers": "join_order,build_side_probe_side",  # the items are the small side
}
_FOLDER = cache(lambda: TemporaryDirectory(prefix="dpbook-"))  # for this user alone
_MACROS = """; CREATE MACRO clean(x) AS CASE WHEN strlen(x) = length(x) AND x > '!'
    AND reverse(x) > '!' THEN x ELSE nullif(trim(nfc_normalize(x),
    '{blanks}'), '') END;
CREATE MACRO number(x) AS
    enum_code(coalesce(try_cast(x AS items), try_cast(clean(x) AS items)))::UINTEGER;
CREATE TABLE known AS
    SELECT unnest(enum_range(NULL::items))::VARCHAR AS item, number(item) AS k"""


def connect(items: Sequence[str], version: str) -> Any:
    """An engine with `clean`, a name without blanks around it, and `number`, that of an item."""
    import duckdb

    if duckdb.__version__ != version:  # its hash may be another
        raise ValueError(f"DuckDB {duckdb.__version__}: allowed is {version} on all machines")
    private = {"temp_directory": f"{_FOLDER().name}/{token_hex(8)}"}
    types = f"CREATE TYPE items AS ENUM ({text(*items)})"
    blanks = "".join(filter(str.isspace, map(chr, range(2**16))))
    return duckdb.connect(config=SETTINGS | private).execute(types + _MACROS.format(blanks=blanks))


def asked(engine: Any, query: str, what: str) -> Any:
    """What the engine answers; its own errors quote the data."""
    import duckdb

    try:
        return engine.execute(query)
    except duckdb.Error:
        raise BadFile(f"{what} cannot be read: allowed is what DuckDB reads") from None


def rows_of(path: str) -> tuple[list[str], Iterator[list[str]]]:
    """Names of the columns of a Parquet file, and its rows as text."""
    import duckdb

    found = asked(duckdb.connect(), f"SELECT COLUMNS(*)::VARCHAR FROM {_parquet(path)}", path)
    many = chain.from_iterable(iter(partial(found.fetchmany, 2**12), []))
    return [name for name, *_ in found.description], ([x or "" for x in row] for row in many)


def table_of(reader: Any, path: str) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """How the engine reads a file: its SQL, its roles, and about how many bytes of text it has."""
    reader.name, size = path, os.path.getsize(path)
    with open(path, "rb") as raw:
        if (magic := raw.peek(4)[:4]) == b"PAR1":
            header, table, size = rows_of(path)[0], _parquet(path), 4 * size
            cells = ['"' + name.replace('"', '""') + '"::VARCHAR' for name in header]
            at = _comparisons(reader, header)
        else:
            packed = magic[:2] == b"\x1f\x8b"
            file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            first = file.readline(2**20)
            header, separator = header_of(path, iter([first.decode("utf-8-sig")]))
            at = _comparisons(reader, header)
            _refuse_disorder(file, first.endswith(b"\r\n"))
            *cells, last, more = (f"c{k}" for k in range(len(header) + 1))
            types = ", ".join(f"{cell}: 'VARCHAR'" for cell in (*cells, last, more))
            whole = f"{last} IS NOT NULL AND {more} IS NULL"  # only what is not there is NULL
            table = (
                f"(SELECT * FROM read_csv({text(escape(path))}, columns = {{{types}}}, skip = 1, "
                f"header = false, auto_detect = false, ignore_errors = true, quote = '', "
                f"escape = '', null_padding = true, nullstr = '{token_hex(16)}', "
                f"buffer_size = {2**22}, delim = {text(separator)}, compression = "
                f"{text('gzip' if packed else 'none')}) WHERE {whole})"
            )
            cells.append(last)
            size *= 4 if packed else 1
    cell = {role: cells[k] for role, k in at.items()}
    pair = ("first", "second", "winner") if "first" in at else ("winner", "loser", "")
    sql = table, *(cell.get(role, "'first'") for role in (*pair, "person"))
    return sql, tuple(sorted(at)), size


def _comparisons(reader: Any, header: list[str]) -> dict[str, int]:
    """Where the columns are, by the first line alone."""
    layout, at = reader._layout([clean_name(cell) for cell in header])
    if not layout.startswith("comparisons"):
        raise ValueError(f"{reader.name} holds {layout}: allowed are comparisons, with the engine")
    return dict(at)


def _refuse_disorder(file: Any, crlf: bool) -> None:
    """Allow UTF-8 without quotes, with one end of lines, none of them long: then a line is a row.

    What one person wrote may decide who reads, so that both readers have to take the same rows.
    """
    while block := file.read(2**16) + file.readline(2**20):
        block.isascii() or block.decode()
        ends = block.count(b"\r"), block.count(b"\r\n")
        fine = ends == ((block.count(b"\n"),) * 2 if crlf else (0, 0))
        if b'"' in block or not fine or (len(block) >= 2**20 and block[-1:] != b"\n"):
            allowed = "allowed are none, and one end for all lines, with a scheduler"
            raise ValueError(f"quotes, ends of lines in disorder, or a long line: {allowed}")


def _parquet(path: str) -> str:
    return f"read_parquet({text(escape(path))}, binary_as_string = true)"


def text(*values: str) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)
