"""Large files of comparisons, by DuckDB: on all cores or, with Dask, on many machines.

The engine turns names into numbers, nothing else: an item into its place in the list, a person into
a hash of 64 bits, whose salt nobody keeps. Parts by person, small enough for memory one by one, are
limited and counted as `Answers`; their numbers add up, and get noise only then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from operator import getitem
from secrets import token_urlsafe
from typing import Any

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import MOST_ITEMS, Answers, public_items
from dpbook.rank.engine import asked, connect, table_of, text
from dpbook.rank.reading import _Reader

LARGE, PART, MOST = 2**22, 2**25, 64  # bytes: the engine's, of a part; parts, as each is a scan


@dataclass(frozen=True, eq=False)
class Shards:
    """Answers in files: their exact numbers, as those of `Answers`, and not for publication."""

    items: tuple[str, ...]
    listed: bool
    repeats: str
    person: bool | None  # None if the files do not say who answered
    halves: bool
    tables: Sequence[tuple[str, ...]]  # SQL: what to read; first and second item, winner, person
    words: Sequence[str]  # SQL: what else the winner may be called, first or second; or a tie
    parts: int
    version: str
    client: Any = field(default=None, repr=False)
    salt: str = field(default_factory=partial(token_urlsafe, 3), repr=False)
    kind: str = "comparisons"
    hashed = True  # two people may share a number, and so a limit

    def exact(self, statistic: str, limit: int | None = None) -> Ints:
        """As `Answers.exact`. What a lost worker did is done again, with new random numbers."""
        here, parts = replace(self, client=None), range(self.parts)
        numbers = partial(here._numbers, statistic, limit)
        if self.client is None:
            read = self._load(range(len(self.tables)))
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                return np.asarray(sum(pool.map(lambda k: numbers([read(k)]), parts)))
        submit = partial(self.client.submit, pure=False)
        files = [submit(here._pieces, k) for k in range(len(self.tables))]
        found = [submit(numbers, [submit(getitem, file, k) for file in files]) for k in parts]
        if not self.person:  # nothing to bring together, and no hash that would be the same again
            found = [submit(numbers, file) for file in files]
        while len(found) > 1:
            found = [submit(sum, found[k : k + 16]) for k in range(0, len(found), 16)]
        return np.asarray(found[0].result())

    def _names(self, k: int) -> list[str]:
        """All spellings of items in a file, or more than are allowed."""
        table, first, second, *_ = self.tables[k]
        query = f"SELECT DISTINCT unnest([{first}, {second}]) FROM {table} LIMIT {8 * MOST_ITEMS}"
        found = asked(connect(self.items, self.version), query, table)
        return [name for (name,) in found.fetchall() if name]

    def _query(self, k: int) -> str:
        """Person and pair of each row of a file; NULL where it does not count."""
        (table, first, second, winner, person), n = self.tables[k], len(self.items)
        who = f"hash('{self.salt}' || p)" if self.person else "hash(random())"
        pair = f"2 * (f * {n} + s)"
        if self.halves:
            one, other, ties = self.words
            pair = (
                f"CASE WHEN w IN ({one}) OR number(w) = f THEN {pair} WHEN w IN ({other}) OR number"
                f"(w) = s THEN 2 * (s * {n} + f) WHEN w IN ({ties}) THEN {pair} + 1 END"
            )
        return (
            f"SELECT {who} AS person, (CASE WHEN f <> s AND p IS NOT NULL THEN {pair} END)"
            f"::UINTEGER AS pair FROM (SELECT clean({person}) AS p, clean({winner}) AS w, "
            f"coalesce(one.k, number({first})) AS f, coalesce(two.k, number({second})) AS s FROM "
            f"{table} LEFT JOIN known AS one ON one.item = {first} LEFT JOIN known AS two ON "
            f"two.item = {second})"
        )

    def _load(self, files: Sequence[int]) -> Callable[[int], tuple[Any, ...]]:
        """Files in a table, on the disk where it must be; what reads a part of it."""
        engine = connect(self.items, self.version)
        engine.execute(f"CREATE TABLE answers AS {' UNION ALL '.join(map(self._query, files))}")

        def part(k: int) -> tuple[Any, ...]:
            ends = [k * 2**64 // self.parts, (k + 1) * 2**64 // self.parts - 1]
            rows = "SELECT * FROM answers WHERE pair IS NOT NULL AND person BETWEEN ? AND ?"
            return tuple(engine.cursor().execute(rows, ends).fetchnumpy().values())

        return part

    def _pieces(self, k: int) -> list[tuple[Any, ...]]:
        return list(map(self._load([k]), range(self.parts)))

    def _numbers(self, statistic: str, limit: int | None, pieces: Sequence[Sequence[Any]]) -> Ints:
        """The exact numbers of one part, whatever files it comes from."""
        person, pair = map(np.concatenate, zip(*pieces, strict=True))
        data = np.array(np.divmod(pair >> 1, len(self.items)), dtype=np.int16)
        tied = (pair & 1).astype(bool) if self.halves else None
        who = person if self.person else None
        part = Answers("comparisons", self.items, data, who, tied, self.repeats)
        return part.exact(statistic, limit)


def open_shards(paths: Sequence[str], *, scheduler: str | None = None, **how: Any) -> Shards:
    """Files of comparisons that count as one; what is left out is as in `read_answers`.

    A ValueError says where it could be otherwise: other columns, another encoding than UTF-8,
    quotes or ends of lines in disorder, ``bad="refuse"``.
    """
    import duckdb

    reader, client = _Reader(**how), None
    if reader.bad == "refuse":
        raise ValueError("bad = 'refuse': allowed is 'drop', with the engine")
    tables, roles, sizes = zip(*(table_of(reader, path) for path in paths), strict=True)
    if len({*roles}) > 1:
        raise ValueError("paths: the columns differ: allowed is one layout, with the engine")
    if scheduler:
        from distributed import Client

        client = Client(scheduler)
    words = *(text(x, reader.roles.get(x, x)) for x in ("first", "second")), text(*reader.words)
    how = {
        "tables": tables,
        "words": words,
        "parts": min(1 + sum(sizes) // PART, MOST),
        "client": client,
    }
    about = reader.repeats, "person" in roles[0] or None, "first" in roles[0]
    found = Shards(tuple(reader.names), reader.listed, *about, version=duckdb.__version__, **how)
    if not found.listed:
        names, files = replace(found, client=None)._names, range(len(tables))
        many = client.gather(client.map(names, files)) if client else map(names, files)
        for name in chain.from_iterable(many):
            reader.code(name)
        found = replace(found, items=public_items(sorted(reader.names)))
    return found


def supported(paths: Sequence[str], *, encoding: str = "utf-8", **how: Any) -> Shards | None:
    """The same if it is worth it; None if not, or if `read_answers` has to say what is wrong."""
    if "-" in paths or encoding != "utf-8":
        return None
    try:
        large = sum(map(os.path.getsize, paths)) >= LARGE and find_spec("duckdb")
        return open_shards(paths, **how) if large else None
    except (ValueError, OSError, ImportError):
        return None
