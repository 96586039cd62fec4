"""What a row means: the one description, for text that Python reads and for what an engine reads.

A cell is a number, that of an item, or one below 0 for what is none. `compared` says which rows are
comparisons, whoever found these numbers; `ranks_of` does the same for rankings, row by row.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook._validation import MOST_COUNT
from dpbook.rank.answers import Answers, Read
from dpbook.rank.layout import Layout, Options, layout_of
from dpbook.rank.names import MOST_ITEMS, clean_name, fail, printable, short

MANY = 40_000  # spellings that are remembered
MOST_NUMBERS = 200_000_000  # four of an answer, or one of an item in a ranking
_BLOCK = 2**8  # rows at once, few for the sake of Python's garbage collector
TIES = ("tie", "tied", "draw", "equal", "both", "neither", "none", "=")
UNLISTED, BLANK, TIE, FIRST, SECOND = range(-1, -6, -1)
GOOD, SAME, NO_ITEM, NO_CELL, NO_TIE, NO_WINNER = range(6)
WHY = {
    SAME: "an item against itself",
    NO_ITEM: "an item that is not on the list",
    NO_CELL: "a blank",
    NO_TIE: "a tie that does not name both items",
    NO_WINNER: "a winner that is neither item (as they are called, or --labels left=first)",
}
NO_PERSON = "no person"
UNKNOWN_NAME = "a ranking with a name that is not on the list"
NO_RANK = "a cell that is no rank: allowed are 1, 1st, #1, 1.0, and 1.5 for two who share 1 and 2"
_RANK = re.compile(r"#?\s*([1-9]\d{0,5})(?:[.,]0+|[.,](5)0*)?\s*(st|nd|rd|th)?(\s+choice)?", re.I)
_ODD = re.compile("[\ud800-\udfff]")  # what stands for a byte of another encoding


Numbers = NDArray[Any]
Columns = tuple[Numbers, ...]  # numbers of people, and of the cells of each row
Row = tuple[int, list[str]]  # with its line
Line = tuple[int, list[str] | str]  # or what is wrong with it


class Unusable(Exception):
    """A row that is left out: why, and the cell."""


@dataclass
class Found:
    """What a file holds that cannot be used: how many rows of each kind, and the first of them."""

    number: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    unlisted: Counter[str] = field(default_factory=Counter)  # names that are not on the list

    def add(self, where: str, what: str, value: str) -> None:
        if what in (UNKNOWN_NAME, WHY[NO_ITEM]) and len(self.unlisted) < MANY:
            self.unlisted[clean_name(value)] += 1
        if _ODD.search(value):
            what = "bytes in another encoding"
        self.number[what] += 1
        self.first.setdefault(what, f"{where}: {short(value)}")

    def __str__(self) -> str:
        kinds = self.number.most_common()
        return "\n".join(f"  {count} x {what} ({self.first[what]})" for what, count in kinds)


class Items(dict[str, int]):
    """The number of an item by its spelling, which is looked up once; below 0 what is none."""

    def __init__(self, options: Options, layout: Layout, names: Sequence[str] = ()) -> None:
        self.options = options
        self.layout = layout
        self.labels = {clean_name(k): clean_name(v) for k, v in options.labels.items()}
        self.labels |= {clean_name(word): "" for word in options.missing}
        self.all = list(names or options.listed)
        self.known = {name: k for k, name in enumerate(self.all)}
        self.words = {clean_name(word).casefold(): TIE for word in (*TIES, *options.ties)}
        self.words[""] = BLANK
        self.sides: dict[int, int] = {}  # items that are called as the column that they win for
        for word, side in layout.sides.items():
            self.words[word] = FIRST - side
        if layout.name == "sides":
            for number, name in enumerate(self.all):
                if name.casefold() in layout.sides:
                    self.sides[number] = self.words[name.casefold()]

    def name(self, raw: str) -> str:
        """What a cell says, after labels and words for what is missing."""
        name = clean_name(raw)
        return self.labels.get(name, name)

    def __missing__(self, raw: str) -> int:
        name = self.name(raw)
        number = self.known.get(name, UNLISTED)
        if number == UNLISTED:
            number = self.words.get(name.casefold(), UNLISTED)
        if number != UNLISTED and len(self) < MANY:
            self[raw] = number
        return number

    def add(self, spellings: Iterable[str]) -> None:
        """What they name becomes an item, if the data say which there are."""
        if not self.options.items_from_data:
            return
        for raw in set(spellings).difference(self):
            name = self.name(raw)
            if self[raw] != UNLISTED or not printable(name):
                continue
            if len(self.all) == MOST_ITEMS:
                fail("the answers", f"{short(name)} is one item too many", f"{MOST_ITEMS} items")
            self.known[name] = len(self.all)
            self.all.append(name)


class People(dict[str, int]):
    """The number of a person by their name; -1 without one."""

    def __init__(self, options: Options) -> None:
        self.missing = {"", *map(clean_name, options.missing)}

    def __missing__(self, raw: str) -> int:
        name = clean_name(raw)
        if name in self.missing:
            return -1
        if name != raw:
            return self[name]
        self[name] = len(self)
        return self[name]


NOTHING = (np.zeros(0, dtype=np.int16),) * 4
_OF_CELL = np.array([GOOD, NO_ITEM, NO_ITEM, NO_TIE, NO_CELL, NO_ITEM], dtype=np.int8)  # 0, -5 ..


def compared(items: Items, first: Numbers, second: Numbers, winner: Numbers) -> Columns:
    """Of rows with such numbers: who is better, who is not, whether it is a tie, and what is wrong.

    It is `GOOD`, or a key of `WHY`.
    """
    for item, side in items.sides.items():
        winner = np.where(winner == item, side, winner)
    won = (winner == first) | (winner == FIRST)
    lost = (winner == second) | (winner == SECOND)
    tied = winner == TIE
    why = _OF_CELL[np.minimum(first, second).clip(max=0)]
    why[(why == GOOD) & (first == second)] = SAME
    why[(why == GOOD) & ~(won | lost | tied)] = NO_WINNER
    return np.where(lost, second, first), np.where(lost, first, second), tied, why


def ranks_of(cells: Sequence[str], items: Items) -> dict[int, int]:
    """The place of each item that a row ranks, or `Unusable`.

    A name that is not recognised leaves the whole ranking out: it votes for nobody.
    """
    pairs = list(
        _by_rank(cells, items) if items.layout.name == "ranks" else _by_place(cells, items)
    )
    ranks = dict(pairs)
    values = sorted(ranks.values())
    if not ranks:
        raise Unusable("a ranking without items", ",".join(cells))
    if len(ranks) < len(pairs):
        raise Unusable("an item ranked twice", ",".join(cells))
    if any(rank % 1 for rank in values):  # and not as 4.5 stars
        middle = [(bisect(values, rank) + bisect_left(values, rank) + 1) / 2 for rank in values]
        if values != middle:
            raise Unusable(NO_RANK, ",".join(cells))
    places = {rank: place for place, rank in enumerate(sorted(set(values)))}
    return {item: places[rank] for item, rank in pairs}


def _by_place(cells: Sequence[str], items: Items) -> Iterator[tuple[int, float]]:
    ties = 0
    if items.layout.name == "ranking":
        sign = items.options.between.strip()
        cells = cells[0].split(sign)
        ties = -(sign == ">")
    for place, cell in enumerate(cells):
        names = cell.split("=", ties)
        items.add(names)
        for name in names:
            item = items[name]
            if item >= 0:
                yield item, place
            elif item != BLANK:
                raise Unusable(UNKNOWN_NAME, name)


def _by_rank(cells: Sequence[str], items: Items) -> Iterator[tuple[int, float]]:
    for item, cell in enumerate(cells):
        name = items.name(cell)
        found = _RANK.fullmatch(name)
        if found:
            yield item, int(found[1]) + bool(found[2]) / 2
        elif name:
            raise Unusable(NO_RANK, cell)


def joined(items: Items, pieces: Iterable[Columns]) -> Answers:
    """Comparisons, from the numbers of people and of cells; what is none is left out."""
    options = items.options
    person, *numbers = map(np.concatenate, zip(*pieces, strict=True))
    first, second, tied, why = compared(items, *numbers)
    good = why == GOOD
    found = Answers(
        kind="comparisons",
        items=tuple(items.all),
        data=np.array([first, second])[:, good],
        repeats=options.repeats,
        listed=not options.items_from_data,
        unranked=options.unranked,
        read=Read(items.layout.words, options.typed),
    )
    if items.layout.person is not None:
        found = replace(found, person=person[good])
    if items.layout.name in ("items", "sides"):
        found = replace(found, tied=tied[good])
    return found


class Collector:
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

    def take(self, name: str, header: Sequence[str], lines: Iterator[Line]) -> None:
        """Add the rows of one file."""
        layout = layout_of(name, header, self.options)
        if not self.name:
            self.layout = layout
            self.items = Items(self.options, layout)
        before = self.layout
        if (layout.name, layout.sides) != (before.name, before.sides):
            fail(name, f"holds {layout.name}", f"{before.name}, as in the files before")
        self.layout = layout
        self.name = name
        turned = self._compared
        if layout.kind == "rankings":
            turned = self._ranked
        while block := list(islice(lines, _BLOCK)):
            rows = []
            people = []
            for line, row in block:
                if isinstance(row, str):
                    self._leave_out(line, "no row as line 1 describes it", row)
                elif (person := self._person(row)) < 0:
                    self._leave_out(line, NO_PERSON, ",".join(row))
                else:
                    rows.append((line, row))
                    people.append(person)
            piece = turned(rows, np.array(people, dtype=np.int64))
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

    def _compared(self, rows: list[Row], person: Numbers) -> Columns:
        """Numbers of people, of two items, and of the better one."""
        cells = [[row[k] for _, row in rows] for k in self.layout.cells]
        self.items.add(chain(*cells[:2]))
        counts = []
        if self.layout.kind == "counts":
            counts = cells.pop()
        numbers = [np.array([self.items[cell] for cell in column], np.int16) for column in cells]
        first, second, winner = [*numbers, numbers[0]][:3]
        *_, why = compared(self.items, first, second, winner)
        for k in np.flatnonzero(why):
            bad = int(first[k] >= 0)
            if why[k] == NO_WINNER:
                bad = 2
            self._leave_out(rows[k][0], WHY[why[k]], cells[bad][k])
        good = np.flatnonzero(why == GOOD)
        if counts:
            self.counts += [self._count(rows[k][0], counts[k]) for k in good]
        return person[good], first[good], second[good], winner[good]

    def _count(self, line: int, text: str) -> int:
        if not re.fullmatch(r"\s*[0-9]{1,16}\s*", text):
            fail(self.name, f"line {line}: count = {short(text)}", "a whole number up to 2**53")
        return int(text)

    def _ranked(self, rows: list[Row], person: Numbers) -> Columns:
        """Numbers of people, and the place of each item that is known yet."""
        found = {}
        for k, (line, row) in enumerate(rows):
            try:
                found[k] = ranks_of([row[k] for k in self.layout.cells], self.items)
            except Unusable as error:
                self._leave_out(line, *error.args)
        places = np.full((len(rows), len(self.items.all)), -1, dtype=np.int16)
        for k, ranks in found.items():
            places[k, list(ranks)] = list(ranks.values())
        good = list(found)
        return person[good], places[good]

    def answers(self) -> Answers:
        """All that was read; refused if there is nothing, or anything that may not be there."""
        names = self.items.all
        total = self.size
        if self.layout.kind == "counts":
            total = sum(self.counts)
        if len(names) < 2 or not total:
            what = f"no answers below the names of the columns, and {len(names)} items"
            fail(self.name, what, f"one answer, and two items\n{self.found}".strip())
        if self.options.bad == "refuse" and self.found.number:
            allowed = f"--bad drop (bad='drop'), or a file without\n{self.found}"
            fail(self.name, f"{self.found.number.total()} rows cannot be used", allowed)
        order = list(range(len(names)))
        if self.options.items_from_data:
            order.sort(key=names.__getitem__)
        items = tuple(names[k] for k in order)
        if self.layout.kind == "rankings":
            return self._rankings(replace(joined(self.items, [NOTHING]), items=items), order)
        answers = joined(self.items, self.pieces)
        data = np.argsort(order).astype(np.int32)[answers.data]
        answers = replace(answers, items=items, data=data)
        if self.layout.kind == "comparisons":
            return answers
        if total > MOST_COUNT:
            fail(self.name, f"the counts add up to {total}", "up to 2**53")
        table = np.zeros((len(names), len(names)), dtype=np.int64)
        np.add.at(table, tuple(data), self.counts)
        return replace(answers, kind="counts", data=table)

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
