"""Large files of comparisons, by DuckDB: on all cores or, with Dask, on many machines.

Parts by person, small enough for memory one by one, are limited and counted as `Answers`; their
numbers add up, and get noise only then.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import getitem
from secrets import token_urlsafe
from typing import Any

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import Answers
from dpbook.rank.engine import Engine, Source, fetched, source_of
from dpbook.rank.layout import Options
from dpbook.rank.rows import Meaning

PART = 2**25  # bytes of a part
MOST = 64  # parts, as each is a scan
Columns = tuple[Any, ...]  # who, the better item, the other one, and whether they are tied


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How answers are read, here or by a worker."""

    meaning: Meaning
    salt: str
    parts: int
    version: str

    def engine(self, sources: Sequence[Source]) -> Engine:
        """An engine with the answers of these files."""
        import duckdb

        if duckdb.__version__ != self.version:  # its hash may be another
            raise ValueError(f"DuckDB {duckdb.__version__}: allowed is {self.version} everywhere")
        engine = Engine(self.meaning.options.missing, self.salt)
        engine.load(sources, self.meaning)
        return engine

    def file(self, source: Source) -> list[Columns]:
        """A file in parts, by person."""
        engine = self.engine([source])
        return [engine.part(k, self.parts) for k in range(self.parts)]

    def answers(self, pieces: Sequence[Columns]) -> Answers:
        """Those of some people, whatever files they come from."""
        person, first, second, tied = map(np.concatenate, zip(*pieces, strict=True))
        return self.meaning.answers(np.array([first, second]), person, tied == 1)

    def exact(self, statistic: str, limit: int | None, pieces: Sequence[Columns]) -> Ints:
        """The exact numbers of such answers."""
        return self.answers(pieces).exact(statistic, limit)


@dataclass(frozen=True, eq=False, kw_only=True)
class Shards(Answers):
    """Answers in an engine, or on a cluster: their numbers are those of `Answers`.

    People are known by a hash: who shares one shares a limit, so that a person less may let
    another's answers in. That is a replacement, and more than "add_remove" promises to hide.
    """

    reader: Reader
    sources: Sequence[Source]
    engine: Any = None
    client: Any = None

    def exact(self, statistic: str, limit: int | None = None, random: Any = None) -> Ints:
        """As `Answers.exact`. What a lost worker did is done again, with new random numbers."""
        count = partial(self.reader.exact, statistic, limit)
        parts = range(self.reader.parts)
        if self.client is None:
            with ThreadPoolExecutor(4) as pool:
                found = pool.map(lambda k: count([self.part(k)]), parts)
                return np.asarray(sum(found))
        submit = partial(self.client.submit, pure=False)
        files = [submit(self.reader.file, source) for source in self.sources]
        sums = []
        for k in parts:
            pieces = [submit(getitem, file, k) for file in files]
            sums.append(submit(count, pieces))
        return np.asarray(sum(part.result() for part in sums))

    def part(self, k: int) -> Columns:
        """The answers of some people."""
        return self.engine.part(k, self.reader.parts)


def open_shards(paths: Sequence[str], options: Options, scheduler: str | None = None) -> Shards:
    """Files of comparisons that count as one; what is left out is as in `read_answers`.

    A ValueError says where it could be otherwise: other columns, another encoding than UTF-8,
    quotes or ends of lines in disorder.
    """
    import duckdb

    if options.encoding != "utf-8":
        raise ValueError("encoding: allowed is 'utf-8', with the engine")
    sources, layouts = zip(*(source_of(path, options) for path in paths), strict=True)
    layout = layouts[0]
    kinds = {(one.name, one.person is None, tuple(one.sides)) for one in layouts}
    if len(kinds) > 1:
        raise ValueError("paths: the columns differ: allowed is one layout, with the engine")
    meaning = Meaning(options, layout)
    if options.items_from_data:
        for source in sources:
            for (name,) in fetched(Engine().ask("names", source)):
                meaning.item(name)
    reader = Reader(
        meaning=meaning,
        salt=token_urlsafe(3),
        parts=min(1 + sum(source.size for source in sources) // PART, MOST),
        version=duckdb.__version__,
    )
    none = np.zeros(0, dtype=np.int16)
    nothing = reader.answers([(none, none, none, none)])
    about: dict[str, Any] = {**vars(nothing), "reader": reader, "sources": sources}
    if scheduler is not None:
        from distributed import Client

        return Shards(**about, client=Client(scheduler))
    found = Shards(**about, engine=reader.engine(sources))
    if not any(len(found.part(k)[0]) for k in range(reader.parts)):
        raise ValueError("no answers: allowed is at least one")
    return found
