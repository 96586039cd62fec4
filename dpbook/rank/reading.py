"""Files and tables of answers, read row by row: what cannot be used is counted, with its line.

The first line names the columns, which say what the file holds: ``person,winner,loser`` or
``winner,loser``; ``person,first,second,winner``, where the winner may be a tie; ``person,ranking``
(``tea > coffee = mate``); ``person,1,2,3``, the best item first; ``person`` and one column for each
item with its rank; or ``winner,loser,count``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np

from dpbook._validation import MOST_COUNT
from dpbook.rank.answers import Answers
from dpbook.rank.engine import NoComparisons, opened_parquet
from dpbook.rank.files import Opened, kind_of, opened
from dpbook.rank.layout import Layout, Options, heading, layout_of
from dpbook.rank.names import BadFile, alike, fail, short, text_of
from dpbook.rank.rows import (
    GOOD,
    NO_PERSON,
    NO_WINNER,
    WHY,
    Columns,
    Found,
    Items,
    People,
    Unusable,
    compared,
    joined,
    no_answers,
    ranks_of,
)
from dpbook.rank.shards import open_shards, supported

MOST_NUMBERS = 200_000_000  # four of an answer, or one of an item in a ranking
_BLOCK = 2**10  # rows at once

Row = tuple[int, list[str]]  # with its line
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
        return Look(shards, Found(), _alike(shards.items, shards.reader.people(shards.sources)))
    collector = _collected(paths, options)
    answers, found = collector.answers(), collector.found
    return Look(answers, found, _alike([*answers.items, *found.unlisted], collector.people))


def answers_of(
    source: Any, *, relation: str = "replace", scheduler: str | None = None, **how: Any
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
    files = names_of(source)
    options = Options(**how)
    if scheduler is None:
        return supported(files, options, relation) or read_answers(files, **how)
    try:
        return open_shards(files, options, scheduler=scheduler)
    except NoComparisons:
        return _counted(files, how, scheduler)


def _counted(files: Sequence[str], how: dict[str, Any], scheduler: str) -> Answers:
    """Counts, a file for each worker; they add up."""
    from distributed import Client

    client = Client(scheduler)
    parts = client.gather(client.map(partial(read_answers, **how), files))
    if {part.kind for part in parts} != {"counts"} or len({part.items for part in parts}) > 1:
        raise ValueError("scheduler: allowed are comparisons, or counts with one list of items")
    return replace(parts[0], data=np.sum([part.data for part in parts], axis=0))


def names_of(paths: Paths) -> list[str]:
    """The names of one file or of several."""
    if isinstance(paths, str | PathLike):
        paths = [paths]
    if not paths:
        raise ValueError("paths is empty: allowed is one file or more")
    return [fspath(path) for path in paths]


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

    layout: Layout
    items: Items

    def __init__(self, options: Options) -> None:
        self.options = options
        self.people = People(options)
        self.found = Found()
        self.name = ""
        self.size = 0
        self.pieces: list[Columns] = []
        self.counts: list[int] = []

    def take(self, file: Opened) -> None:
        """Add the rows of one file."""
        layout = layout_of(file.name, file.header, self.options)
        if not self.name:
            self.layout = layout
            self.items = Items(self.options, layout)
        before = self.layout
        if (layout.name, layout.sides) != (before.name, before.sides):
            fail(file.name, f"holds {layout.name}", f"{before.name}, as in the files before")
        self.layout = layout
        self.name = file.name
        while block := list(islice(file.rows, _BLOCK)):
            rows = []
            for line, row in block:
                if isinstance(row, str):
                    self._leave_out(line, "no row as line 1 describes it", row)
                else:
                    rows.append((line, row))
            if layout.kind == "rankings":
                piece = self._ranked(rows)
            else:
                piece = self._compared(rows)
            self.pieces.append(piece)
            self.size += sum(numbers.size for numbers in piece)
            if self.size > MOST_NUMBERS:
                allowed = f"{MOST_NUMBERS} numbers, or the extra 'release' and a large file"
                fail(self.name, "too many answers", allowed)

    def _leave_out(self, line: int, what: str, value: str) -> None:
        self.found.add(f"{self.name}, line {line}", what, value)

    def _person(self, row: list[str]) -> int:
        if self.layout.person is None:
            return 0
        return self.people[row[self.layout.person]]

    def _compared(self, rows: list[Row]) -> Columns:
        """Numbers of people, of two items, and of what is better."""
        layout = self.layout
        cells = [[row[k] for _, row in rows] for k in layout.cells]
        for column in cells[:2]:
            self.items.add(column)
        first = np.array([self.items[cell] for cell in cells[0]], dtype=np.int16)
        second = np.array([self.items[cell] for cell in cells[1]], dtype=np.int16)
        winner = first
        if len(cells) == 3 and layout.kind == "comparisons":
            winner = np.array([self.items[cell] for cell in cells[2]], dtype=np.int16)
        person = np.array([self._person(row) for _, row in rows], dtype=np.int64)
        why = compared(first, second, winner, self.items.sides).why
        why[person < 0] = NO_PERSON
        for k in np.flatnonzero(why):
            bad = 2 if why[k] == NO_WINNER else int(first[k] >= 0)
            self._leave_out(rows[k][0], WHY[why[k]], cells[bad][k])
        good = why == GOOD
        if layout.kind == "counts":
            self._count([rows[k] for k in np.flatnonzero(good)])
        return person[good], first[good], second[good], winner[good]

    def _count(self, rows: list[Row]) -> None:
        for line, row in rows:
            text = row[self.layout.cells[2]].strip()
            if not re.fullmatch("[0-9]{1,16}", text):
                fail(self.name, f"line {line}: count = {short(text)}", "a whole number up to 2**53")
            self.counts.append(int(text))

    def _ranked(self, rows: list[Row]) -> Columns:
        """Numbers of people, and the place of each item that is known yet."""
        people = []
        found = []
        for line, row in rows:
            person = self._person(row)
            try:
                if person < 0:
                    raise Unusable(WHY[NO_PERSON], "")
                found.append(ranks_of([row[k] for k in self.layout.cells], self.items))
                people.append(person)
            except Unusable as error:
                self._leave_out(line, *error.args)
        places = np.full((len(found), len(self.items.all)), -1, dtype=np.int16)
        for k, ranks in enumerate(found):
            places[k, list(ranks)] = list(ranks.values())
        return np.array(people, dtype=np.int64), places

    def answers(self) -> Answers:
        """All that was read; refused if there is nothing, or anything that may not be there."""
        names = self.items.all
        if len(names) < 2:
            self._nothing(f"{len(names)} item in all")
        order = list(range(len(names)))
        if self.options.items_from_data:
            order.sort(key=names.__getitem__)
        like = no_answers(self.options, self.layout, [names[k] for k in order])
        if not self.size or (self.layout.kind == "counts" and not any(self.counts)):
            self._nothing("no answers below the names of the columns")
        if self.layout.kind == "rankings":
            answers = self._rankings(like, order)
        else:
            answers = joined(like, self.pieces, self.items.sides)
            at = np.argsort(order).astype(np.int32)
            answers = replace(answers, data=at[answers.data])
        if self.layout.kind == "counts":
            if sum(self.counts) > MOST_COUNT:
                fail(self.name, f"the counts add up to {sum(self.counts)}", "up to 2**53")
            data = np.zeros((len(names), len(names)), dtype=np.int64)
            np.add.at(data, tuple(answers.data), self.counts)
            answers = replace(answers, kind="counts", data=data)
        if self.options.bad == "refuse":
            self._refuse(answers)
        return answers

    def _rankings(self, like: Answers, order: list[int]) -> Answers:
        """The place of each item in each ranking."""
        blocks = []
        for _, places in self.pieces:
            later = len(order) - places.shape[1]  # items that nobody had named then
            blocks.append(np.pad(places, ((0, 0), (0, later)), constant_values=-1))
        data = np.concatenate(blocks)[:, order]
        if self.options.unranked == "below":
            last = data.max(axis=1, keepdims=True) + 1
            data = np.where(data < 0, last, data)
        person = np.concatenate([who for who, _ in self.pieces])
        return replace(like, kind="rankings", data=data, person=person)

    def _nothing(self, what: str) -> NoReturn:
        """Nothing can be used: why, as `--check` would say it."""
        fail(self.name, what, f"2 items or more, and one answer\n{self.found}".strip())

    def _refuse(self, answers: Answers) -> None:
        """All that is wrong, at once."""
        if answers.kind == "comparisons" and answers.has_persons and answers.repeats == "one":
            size = answers.data.shape[1]
            again = size - answers.keep(size).data.shape[1]
            if again:
                self.found.number["a pair that its person had answered"] = again
        if total := self.found.number.total():
            head = f"{self.name}: {total} rows cannot be used: allowed is --bad drop (bad='drop')"
            raise BadFile(f"{head}, or a file without\n{self.found}")
