"""Files and tables of answers, read row by row: what cannot be used is counted, with its line.

The first line names the columns, which say what the file holds: ``person,winner,loser`` or
``winner,loser``; ``person,first,second,winner``, where the winner may be a tie; ``person,ranking``
(``tea > coffee = mate``); ``person,1,2,3``, the best item first; ``person`` and one column for each
item with its rank; or ``winner,loser,count``.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook._typing import Ints
from dpbook.rank.answers import MOST_COUNT, Answers, Read
from dpbook.rank.engine import opened_parquet
from dpbook.rank.files import ODD, Opened, Rows, kind_of, opened
from dpbook.rank.layout import Layout, Options, heading, layout_of
from dpbook.rank.names import BadFile, alike, clean_name, fail, short, text_of
from dpbook.rank.rows import (
    FIRST,
    NO_ITEM,
    NO_PERSON,
    NO_WINNER,
    SECOND,
    TIE,
    UNKNOWN_NAME,
    WHY,
    Found,
    Items,
    People,
    Rankings,
    Winners,
    compared,
)
from dpbook.rank.shards import open_shards, supported

MOST_ANSWERS = 50_000_000

Checked = Iterator[tuple[int, list[str]]]
Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


def read_answers(paths: Paths, **how: Any) -> Answers:
    """Read comparisons, rankings or counts from one or more files, which count as one.

    Parameters
    ----------
    paths : path or sequence of paths
        CSV with commas, semicolons or tabs, also packed by gzip; ``"-"`` is the standard input; or
        Parquet, with the extra ``release``. Ten million lines take less than 1 GB.
    items : sequence of str
        All items, which are public.
    items_from_data : bool
        Take the items from the data instead, so that their list is published unprotected.
    columns : mapping, optional
        From a column of this function, or an item, to the column of the file; others are ignored.
    layout : {"comparisons", "items", "sides", "ranking", "places", "ranks", "counts"}, optional
        Which reading of line 1 holds, where there are two.
    labels : mapping, optional
        From a code in a cell to what it stands for.
    ties, missing : collection of str
        Words for a tie beside the English ones, and for a blank.
    between : str
        What stands between the items of a ranking in one cell.
    unranked : {"below", "unknown"}
        Items that a ranking leaves out are behind those it holds, or are not compared.
    bad : {"drop", "refuse"}
        What becomes of a row that cannot be used: an item that is not on the list, a blank, a tie
        without its items. What is dropped depends on the row alone, and is dropped whole.
    repeats : {"one", "keep"}
        Of a person's answers to a pair, one counts, drawn at random at the release, or each.
    encoding, separator, header_lines, line_breaks
        Of text: its encoding, such as "cp1252" ("utf-16" is recognised); what separates cells, if
        not what line 1 has most of; how many lines name the columns; and whether cells may hold
        line breaks, in quotes. Otherwise an open quote at the end of a line refuses the file.

    Raises
    ------
    BadFile
        With the lines: columns, fewer than two items, an empty file, a row of several lines, a
        count that is no number, too many items or answers; with ``bad="refuse"`` all bad rows.
    """
    return _collected(paths, Options(**how)).answers()


def from_frame(frame: Any, **how: Any) -> Answers:
    """Answers from a table with named columns, as those of a file; arguments of `read_answers`.

    Parameters
    ----------
    frame : DataFrame, or mapping from names to columns
        What is missing (None, NaN, NA) counts as blank.

    Examples
    --------
    >>> votes = {"person": [1, 2], "winner": ["tea", "mate"], "loser": ["mate", "tea"]}
    >>> from_frame(votes, items=["mate", "tea"]).data.tolist()
    [[1, 0], [0, 1]]
    """
    if len({len(frame[name]) for name in frame}) != 1:
        raise ValueError("frame has columns of different lengths, or none: allowed is one length")
    columns = [map(text_of, frame[name]) for name in frame]
    rows = ((k, list(row)) for k, row in enumerate(zip(*columns, strict=True)))
    collector = _Collector(Options(**how))
    collector.take(Opened("the table", heading([[str(name) for name in frame]]), rows))
    return collector.answers()


def from_arrays(winner: Any, loser: Any, *, person: Any = None, **how: Any) -> Answers:
    """Comparisons from names, one entry for each answer; arguments of `read_answers`."""
    frame = {"winner": winner, "loser": loser}
    if person is not None:
        frame["person"] = person
    return from_frame(frame, **how)


@dataclass(frozen=True)
class Look:
    """What the keeper of the data wants to know before a release, and nobody else may."""

    answers: Any
    found: Found  # what a release would leave out
    alike: list[str]  # names, and a number of people, that differ only in case or blanks


def look(paths: Paths, **how: Any) -> Look:
    """Read as `read_answers` does, and say what would be left out."""
    options = Options(**how | {"bad": "drop"})
    shards = supported(names_of(paths), options)
    if shards and shards.whole:
        return Look(shards, Found(), _alike(shards.items, shards.people()))
    collector = _collected(paths, options)
    answers, found = collector.answers(), collector.found
    return Look(answers, found, _alike([*answers.items, *found.unlisted], collector.people))


def answers_of(
    source: Any,
    *,
    relation: str = "replace",
    scheduler: str | None = None,
    **how: Any,
) -> Any:
    """Of a path or paths as `read_answers`, large files by an engine; of a table as `from_frame`.

    What are answers already, with all that `dpbook.rank.rank_privately` asks of them, stay.
    """
    if hasattr(source, "exact"):
        if how:
            given = f"{next(iter(how))} is given with answers that were read"
            raise ValueError(f"{given}: allowed is a path or a table with it")
        return source
    if not isinstance(source, str | PathLike | list | tuple):
        return from_frame(source, **how)
    files, options = names_of(source), Options(**how)
    if scheduler:
        if relation == "add_remove":
            raise ValueError(
                "scheduler is given with relation = 'add_remove': allowed is 'replace'"
            )
        if kind_of(files[0]) != "parquet":
            with opened(files[0], options) as file:
                layout = layout_of(file.name, file.header, options)
            if layout.kind == "counts":
                return _counted(files, options, scheduler)
        return open_shards(files, options, scheduler=scheduler)
    shards = supported(files, options, relation)
    return shards or read_answers(files, **how)


def _counted(files: Sequence[str], options: Options, scheduler: str) -> Answers:
    """Counts, a file for each worker; they add up."""
    from distributed import Client

    if options.items is None:
        raise ValueError("items_from_data with counts and a scheduler: allowed is a list of items")
    client = Client(scheduler)
    read = partial(read_answers, **vars(options))
    parts = client.gather(client.map(read, files))
    return replace(parts[0], data=np.sum([part.data for part in parts], axis=0))


def names_of(paths: Paths) -> list[str]:
    """The names of one file or of several."""
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not given:
        raise ValueError("paths is empty: allowed is one file or more")
    return [fspath(path) for path in given]


def _alike(names: Iterable[str], people: Iterable[str]) -> list[str]:
    """Names that may be meant to be one, and how many of people."""
    same = [" and ".join(map(short, group)) for group in alike(names)]
    if number := sum(map(len, alike(people))):
        same.append(f"{number} names of people")
    return same


def _collected(paths: Paths, options: Options) -> _Collector:
    collector = _Collector(options)
    for path in names_of(paths):
        if kind_of(path) == "parquet":
            collector.take(opened_parquet(path))
            continue
        with opened(path, options) as file:
            collector.take(file)
    return collector


class _Collector:
    """The rows of all files, turned into numbers."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.items = Items(options)
        self.people = People(options)
        self.found = Found()
        self.layout: Layout | None = None
        self.name = ""
        self.who = array("q")  # of each comparison or ranking
        self.first, self.second, self.winner = array("h"), array("h"), array("h")
        # of ranked items: the ranking, the item, its place
        self.ranking, self.item, self.place = array("q"), array("i"), array("i")
        self.counted = Counter[tuple[int, int]]()

    def take(self, file: Opened) -> None:
        """Add the rows of one file."""
        self.name = self.items.file = file.name
        layout = layout_of(file.name, file.header, self.options)
        if self.layout and self.layout.name != layout.name:
            fail(file.name, f"holds {layout.name}", f"{self.layout.name}, as in the files before")
        self.layout = layout
        if layout.kind == "comparisons":
            self._comparisons(layout, self._rows(file.rows))
        elif layout.kind == "rankings":
            self._rankings(layout, self._rows(file.rows))
        else:
            self._counts(layout, self._rows(file.rows))

    def _comparisons(self, layout: Layout, rows: Checked) -> None:
        """Numbers of cells; those that are no plain comparison are looked at one by one."""
        items, people, winners = self.items, self.people, Winners(self.items, layout)
        one, other, *more = layout.cells
        who, third = layout.person, more[0] if more else None
        person = winner = 0
        for line, row in rows:
            first, second = items[row[one]], items[row[other]]
            if who is not None:
                person = people[row[who]]
            if third is None:
                winner = first
            else:
                winner = winners[row[third]]
            plain = winner in (first, second, FIRST, SECOND, TIE) and person >= 0
            if first < 0 or second < 0 or first == second or not plain:
                cells = [np.array([number]) for number in (first, second, winner)]
                found = compared(*cells, nobody=np.array([person < 0]))
                self._no_pair(layout, line, row, int(found.why[0]))
                continue
            self.who.append(person)
            self.first.append(first)
            self.second.append(second)
            self.winner.append(winner)
            if len(self.first) > MOST_ANSWERS:
                fail(self.name, "one answer too many", f"{MOST_ANSWERS}, or the extra 'release'")

    def _no_pair(self, layout: Layout, line: int, row: list[str], why: int) -> None:
        """Say why these cells are no comparison."""
        cells = [row[k] for k in layout.cells]
        bad = next((cell for cell in cells[:2] if self.items[cell] < 0), cells[0])
        what = WHY[why]
        if why == NO_WINNER:
            bad = cells[2]
        elif why == NO_PERSON:
            bad = ""
        elif ODD.search(bad):
            what = "bytes in another encoding"
        if why == NO_ITEM:
            self.found.add_name(clean_name(bad))
        self.found.add(what, self.name, line, bad)

    def _rankings(self, layout: Layout, rows: Checked) -> None:
        meaning = Rankings(self.options, layout, self.items)
        for line, row in rows:
            levels = meaning.levels(row)
            person = self.people[row[layout.person]] if layout.person is not None else -1
            if levels == UNKNOWN_NAME:
                for name in meaning.unlisted(row):
                    self.found.add_name(clean_name(name))
            if isinstance(levels, str) or person < 0:
                what = levels if isinstance(levels, str) else WHY[NO_PERSON]
                self.found.add(what, self.name, line, ",".join(row))
            else:
                self._keep_ranking(person, levels)

    def _keep_ranking(self, person: int, levels: list[list[int]]) -> None:
        for place, level in enumerate(levels):
            self.ranking.extend([len(self.who)] * len(level))
            self.item.extend(level)
            self.place.extend([place] * len(level))
        self.who.append(person)
        most = 2 * MOST_ANSWERS // max(len(self.items.all), 1)
        if len(self.who) > most:
            fail(self.name, "one ranking too many", f"{most}")

    def _counts(self, layout: Layout, rows: Checked) -> None:
        for line, row in rows:
            winner, loser, count = (row[k] for k in layout.cells)
            text = count.strip()
            if not (text.isascii() and text.isdecimal()) or int(text) > MOST_COUNT:
                fail(self.name, f"line {line}: count = {short(text)}", "a whole number up to 2**53")
            pair = self.items[winner], self.items[loser]
            why = int(compared(*(np.array([number]) for number in pair)).why[0])
            if why:
                self._no_pair(layout, line, row, why)
            else:
                self.counted[pair] += int(text)

    def _rows(self, rows: Rows) -> Iterator[tuple[int, list[str]]]:
        """Rows that have all columns."""
        for line, row in rows:
            if isinstance(row, str):
                self.found.add("no row as line 1 describes it", self.name, line, row)
            else:
                yield line, row

    def answers(self) -> Answers:
        """All that was read; refused if there is nothing, or anything that may not be there."""
        names = self.items.all
        layout = self.layout
        assert layout is not None
        if len(names) < 2:
            self._nothing(f"{len(names)} item in all", "2 or more")
        order = sorted(range(len(names)), key=names.__getitem__)
        if self.items.listed:
            order = list(range(len(names)))
        at = np.argsort(order)
        person, tied = None, None
        if layout.kind == "counts":
            data = self._table(at)
        elif layout.kind == "rankings":
            data = self._ranks(at)
            person = _array(self.who)
        else:
            found = compared(*map(_array, (self.first, self.second, self.winner)))
            data = at.astype(np.int32)[np.array([found.first, found.second])]
            if layout.person is not None:
                person = _array(self.who)
            if len(layout.cells) == 3:
                tied = found.tied
        if not data.size:
            self._nothing("no answers below the names of the columns", "at least one")
        answers = Answers(
            kind=layout.kind,
            items=tuple(names[k] for k in order),
            data=data,
            person=person,
            tied=tied,
            repeats=self.options.repeats,
            listed=self.items.listed,
            unranked=self.options.unranked,
            read=Read(layout.words, self.options.typed),
        )
        if self.options.bad == "refuse":
            self._refuse(answers)
        return answers

    def _table(self, at: Ints) -> Ints:
        """How often each item won against each other."""
        data = np.zeros((len(at), len(at)), dtype=np.int64)
        total = self.counted.total()
        if not total:
            self._nothing("no answers below the names of the columns", "at least one")
        if total > MOST_COUNT:
            fail(self.name, f"the counts add up to {total}", "up to 2**53")
        for pair, count in self.counted.items():
            data[tuple(at[list(pair)])] = count
        return data

    def _ranks(self, at: Ints) -> Ints:
        """The place of each item in each ranking."""
        data = np.full((len(self.who), len(at)), -1, dtype=np.int64)
        data[_array(self.ranking), at[_array(self.item)]] = _array(self.place)
        if self.options.unranked == "below":
            last = data.max(axis=1, keepdims=True, initial=0) + 1
            data = np.where(data < 0, last.clip(max=len(at) - 1), data)
        return data

    def _nothing(self, what: str, allowed: str) -> None:
        """Nothing can be used: why, as `--check` would say it."""
        why = f"\n{self.found}" if self.found.number else ""
        raise BadFile(f"{self.name}: {what}: allowed is {allowed}{why}")

    def _refuse(self, found: Answers) -> None:
        """All that is wrong, at once."""
        if found.kind == "comparisons" and found.person is not None and found.repeats == "one":
            kept = found.keep(found.person.size).data
            again = found.person.size - kept.shape[1]
            if again:
                self.found.number["a pair that its person had answered"] = again
        if total := self.found.number.total():
            head = f"{self.name}: {total} rows cannot be used: allowed is --bad drop (bad='drop')"
            raise BadFile(f"{head}, or a file without\n{self.found}")


def _array(values: array[int]) -> NDArray[Any]:
    return np.frombuffer(values, dtype=values.typecode) if values else np.zeros(0, dtype=np.int16)
