"""Large files of comparisons, by DuckDB: on all cores or, with Dask, on many machines.

Parts by person, small enough for memory one by one, are limited and counted as `Answers`; their
numbers add up, and get noise only then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import getitem
from secrets import token_urlsafe
from typing import Any

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import Answers
from dpbook.rank.engine import Engine, Source, fetched, source_of
from dpbook.rank.layout import Options
from dpbook.rank.names import public_items
from dpbook.rank.rows import NOTHING, Columns, Items, joined

LARGE = 2**22  # bytes, from which on the engine is worth it
PART = 2**25  # bytes of a part
MOST = 64  # parts, as each is a scan


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How answers are read, here or by a worker."""

    items: Items
    salt: str
    parts: int
    version: str

    def engine(self, sources: Sequence[Source]) -> Engine:
        """An engine with the answers of these files."""
        import duckdb

        if duckdb.__version__ != self.version:  # its hash may be another
            raise ValueError(f"DuckDB {duckdb.__version__}: allowed is {self.version} everywhere")
        engine = Engine(self.items.options.missing, self.salt)
        engine.load(sources, self.items)
        return engine

    def file(self, source: Source) -> list[Columns]:
        """A file in parts, by person."""
        engine = self.engine([source])
        return [engine.part(k, self.parts) for k in range(self.parts)]

    def exact(self, statistic: str, limit: int | None, pieces: Sequence[Columns]) -> Ints:
        """The exact numbers of one part, whatever files it comes from."""
        return joined(self.items, pieces).exact(statistic, limit)

    def people(self, sources: Sequence[Source]) -> dict[str, int]:
        """The hash of each person by their name."""
        engine = Engine(self.items.options.missing, self.salt)
        named = (fetched(engine.ask("people", source)) for source in sources)
        return dict(chain.from_iterable(named))


@dataclass(frozen=True, eq=False, kw_only=True)
class Shards(Answers):
    """Answers in an engine, or on a cluster: their numbers are those of `Answers`."""

    reader: Reader
    sources: Sequence[Source]
    hashed: bool  # two people may share a number, and so a limit
    engine: Any = None
    client: Any = None

    def in_parts(self) -> Iterator[Answers]:
        """The answers, some people at a time."""
        for k in range(self.reader.parts):
            yield joined(self.reader.items, [self.engine.part(k, self.reader.parts)])

    def exact(self, statistic: str, limit: int | None = None, random: Any = None) -> Ints:
        """As `Answers.exact`. What a lost worker did is done again, with new random numbers."""
        count = partial(self.reader.exact, statistic, limit)
        parts = range(self.reader.parts)
        if self.client is None:
            with ThreadPoolExecutor(4) as pool:
                found = pool.map(lambda k: count([self.engine.part(k, self.reader.parts)]), parts)
                return np.asarray(sum(found))
        submit = partial(self.client.submit, pure=False)
        files = [submit(self.reader.file, source) for source in self.sources]
        sums = [submit(count, file) for file in files]
        if self.has_persons:  # whose answers are brought together
            sums = [submit(count, [submit(getitem, file, k) for file in files]) for k in parts]
        return np.asarray(sum(part.result() for part in sums))

    @property
    def whole(self) -> bool:
        """Whether every row is an answer, so that nothing would be left out."""
        rows = sum(source.rows for source in self.sources)
        return rows == sum(part.size for part in self.in_parts())


def open_shards(
    paths: Sequence[str],
    options: Options,
    *,
    relation: str = "replace",
    scheduler: str | None = None,
) -> Shards:
    """Files of comparisons that count as one; what is left out is as in `read_answers`.

    A ValueError says where it could be otherwise: other columns, another encoding than UTF-8,
    quotes or ends of lines in disorder, ``bad="refuse"``.

    People are known by a hash: who shares one shares a limit, so that a person less may let
    another's answers in. That is a replacement, and more than "add_remove" promises to hide: for
    it a salt is found with which nobody shares a hash.
    """
    import duckdb

    if options.bad == "refuse" or options.encoding != "utf-8":
        raise ValueError("bad, encoding: allowed are 'drop' and 'utf-8', with the engine")
    sources, layouts = zip(*(source_of(path, options) for path in paths), strict=True)
    layout = layouts[0]
    if len({(one.name, one.person is None, tuple(one.sides)) for one in layouts}) > 1:
        raise ValueError("paths: the columns differ: allowed is one layout, with the engine")
    items = Items(options, layout)
    for source in sources:
        pair = replace(source, cells={**source.cells, "winner": source.cells["first"]})
        items.add(Engine().spellings(pair))
    items = Items(options, layout, options.listed or public_items(sorted(items.all)))
    reader = Reader(
        items=items,
        salt=token_urlsafe(3),
        parts=min(1 + sum(source.size for source in sources) // PART, MOST),
        version=duckdb.__version__,
    )
    about: dict[str, Any] = {**vars(joined(items, [NOTHING])), "sources": sources}
    if scheduler is not None:
        from distributed import Client

        return Shards(**about, reader=reader, hashed=True, client=Client(scheduler))
    hashed = relation != "add_remove"
    while not hashed and _shared(reader.people(sources)):
        reader = replace(reader, salt=token_urlsafe(3))
    found = Shards(**about, reader=reader, hashed=hashed, engine=reader.engine(sources))
    if not any(part.size for part in found.in_parts()):
        raise ValueError("no answers: allowed is at least one")
    return found


def _shared(people: Mapping[str, int]) -> bool:
    """Whether two people share a hash."""
    return len(set(people.values())) < len(people)


def supported(paths: Sequence[str], options: Options, relation: str = "replace") -> Shards | None:
    """The same if it is worth it; None if not, or if `read_answers` has to say what is wrong."""
    try:
        if "-" not in paths and sum(map(os.path.getsize, paths)) >= LARGE:
            return open_shards(paths, options, relation=relation)
    except (ValueError, OSError, ImportError):
        pass
    return None
