"""Large files of comparisons, by DuckDB: on all cores or, with Dask, on many machines.

Parts by person, small enough for memory one by one, are limited and counted as `Answers`; their
numbers add up, and get noise only then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import getitem
from secrets import token_urlsafe
from typing import Any

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import Answers, Read
from dpbook.rank.engine import Engine, Source, fetched, source_of
from dpbook.rank.layout import Layout, Options
from dpbook.rank.names import public_items
from dpbook.rank.rows import GOOD, Items, Winners, compared

LARGE = 2**22  # bytes, from which on the engine is worth it
PART = 2**25  # bytes of a part
MOST = 64  # parts, as each is a scan

Columns = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How answers are read, here or by a worker."""

    options: Options
    layout: Layout
    items: tuple[str, ...]
    salt: str
    parts: int
    version: str

    def engine(self, sources: Sequence[Source]) -> Engine:
        """An engine with the answers of these files."""
        import duckdb

        if duckdb.__version__ != self.version:  # its hash may be another
            raise ValueError(f"DuckDB {duckdb.__version__}: allowed is {self.version} everywhere")
        items = Items(self.options)
        items.settle(self.items)
        engine = Engine(self.options.missing, self.salt)
        engine.load(sources, items, Winners(items, self.layout))
        return engine

    def columns(self, engine: Engine, k: int) -> Columns:
        """All rows of some people."""
        low, high = k * 2**64 // self.parts, (k + 1) * 2**64 // self.parts - 1
        return engine.part(low, high)

    def file(self, source: Source) -> list[Columns]:
        """A file in parts."""
        engine = self.engine([source])
        return [self.columns(engine, k) for k in range(self.parts)]

    def answers(self, pieces: Sequence[Columns], kind: Any = Answers, **more: Any) -> Any:
        """One part, whatever files it comes from."""
        person, first, second, winner = map(np.concatenate, zip(*pieces, strict=True))
        found = compared(first, second, winner if len(self.layout.cells) == 3 else None)
        good = found.why == GOOD
        return kind(
            kind="comparisons",
            items=self.items,
            data=np.array([found.first[good], found.second[good]]),
            person=None if self.layout.person is None else person[good],
            tied=None if found.tied is None else found.tied[good],
            repeats=self.options.repeats,
            listed=self.options.items is not None,
            read=Read(self.layout.words, self.options.typed),
            **more,
        )

    def exact(self, statistic: str, limit: int | None, pieces: Sequence[Columns]) -> Ints:
        """The exact numbers of one part."""
        return np.asarray(self.answers(pieces).exact(statistic, limit))


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
            yield self.reader.answers([self.reader.columns(self.engine, k)])

    def exact(self, statistic: str, limit: int | None = None, random: Any = None) -> Ints:
        """As `Answers.exact`. What a lost worker did is done again, with new random numbers."""
        count = partial(self.reader.exact, statistic, limit)
        parts = range(self.reader.parts)
        if self.client is None:
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                found = pool.map(lambda k: count([self.reader.columns(self.engine, k)]), parts)
                return np.asarray(sum(found))
        submit = partial(self.client.submit, pure=False)
        files = [submit(self.reader.file, source) for source in self.sources]
        sums = [submit(count, file) for file in files]
        if self.has_persons:  # whose answers are brought together
            sums = [submit(count, [submit(getitem, file, k) for file in files]) for k in parts]
        while len(sums) > 1:
            sums = [submit(sum, sums[k : k + 16]) for k in range(0, len(sums), 16)]
        return np.asarray(sums[0].result())

    @property
    def whole(self) -> bool:
        """Whether every row is an answer, so that nothing would be left out."""
        lines = [source.lines for source in self.sources]
        rows = sum(lines) if min(lines) >= 0 else self.engine.ask("size").fetchone()[0]
        return bool(rows == sum(part.data.shape[1] for part in self.in_parts()))

    def people(self) -> list[str]:
        """Their names."""
        engine = Engine(self.reader.options.missing)
        for source in self.sources:
            engine.ask("meet", source)
        return [name for (name,) in fetched(engine.ask("everybody"))]


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
    if len({(layout.name, layout.person is None, layout.sides) for layout in layouts}) > 1:
        raise ValueError("paths: the columns differ: allowed is one layout, with the engine")
    client = None
    if scheduler:
        from distributed import Client

        client = Client(scheduler)
    items = options.listed
    if options.items is None:
        names = partial(_names, options)
        many = client.gather(client.map(names, sources)) if client else map(names, sources)
        items = public_items(sorted(set().union(*many)))
    reader = Reader(
        options=options,
        layout=layouts[0],
        items=items,
        salt=token_urlsafe(3),
        parts=min(1 + sum(source.size for source in sources) // PART, MOST),
        version=duckdb.__version__,
    )
    nothing = [tuple(np.zeros(0, dtype=np.int16) for _ in range(4))]
    more: dict[str, Any] = {"sources": sources, "reader": reader}
    if client:
        return reader.answers(nothing, Shards, hashed=True, client=client, **more)
    while relation == "add_remove" and _shared(reader, sources):
        reader = replace(reader, salt=token_urlsafe(3))
    more["engine"] = reader.engine(sources)
    found = reader.answers(nothing, Shards, hashed=relation != "add_remove", **more)
    if not any(part.data.size for part in found.in_parts()):
        raise ValueError("no answers: allowed is at least one")
    return found


def supported(paths: Sequence[str], options: Options, relation: str = "replace") -> Shards | None:
    """The same if it is worth it; None if not, or if `read_answers` has to say what is wrong."""
    try:
        large = "-" not in paths and sum(map(os.path.getsize, paths)) >= LARGE
        return open_shards(paths, options, relation=relation) if large else None
    except (ValueError, OSError, ImportError):
        return None


def _names(options: Options, source: Source) -> list[str]:
    """All items in a file."""
    items = Items(options)
    Engine().learn(source, items, ("first", "second"))
    return items.all


def _shared(reader: Reader, sources: Sequence[Source]) -> bool:
    """Whether two people share a hash."""
    engine = Engine(reader.options.missing, reader.salt)
    for source in sources:
        engine.ask("meet", source)
    (number,) = engine.ask("collisions").fetchone()
    return bool(number)
