"""What a row means: the one description, whoever split the file into cells.

The cells of a row become numbers: the better item, the other one, and whether they are tied; or
the place of each item in a ranking. A row that is no answer is left out, for what it alone holds.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dpbook._validation import MOST_COUNT
from dpbook.rank.answers import Answers, Read
from dpbook.rank.layout import Layout, Options, layout_of
from dpbook.rank.names import MOST_ITEMS, ODD, clean_name, fail, printable, short

MANY = 40_000  # rows of cells, and unlisted names, that are remembered
MOST_NUMBERS = 200_000_000  # three of an answer, or one of an item in a ranking
TIES = ("tie", "tied", "draw", "equal", "both", "neither", "none", "=")
UNLISTED, BLANK, TIE, FIRST, SECOND = range(-1, -6, -1)
NO_ROW = "no row as line 1 describes it"
NO_PERSON = "no person"
NO_ITEM = "an item that is not on the list"
NO_NAME = {BLANK: "a blank", TIE: "a tie that does not name both items"}
NO_WINNER = "a winner that is neither item (as they are called, or --labels left=first)"
SAME = "an item against itself"
UNKNOWN_NAME = "a ranking with a name that is not on the list"
NO_RANK = "a cell that is no rank: allowed are 1, 1st, #1, 1.0, and 1.5 for two who share 1 and 2"
_RANK = re.compile(r"#?\s*([1-9]\d{0,5})(?:[.,]0+|[.,](5)0*)?\s*(st|nd|rd|th)?(\s+choice)?", re.I)

Line = tuple[int, list[str] | str]  # its cells, or what is wrong with it


class Unusable(Exception):
    """A row that is left out: why, and the cell."""


@dataclass
class Found:
    """What a file holds that cannot be used: how many rows of each kind, and the first of them."""

    number: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    unlisted: Counter[str] = field(default_factory=Counter)  # names that are not on the list

    def add(self, where: str, what: str, value: str) -> None:
        if what in (UNKNOWN_NAME, NO_ITEM) and len(self.unlisted) < MANY:
            self.unlisted[clean_name(value)] += 1
        if ODD.search(value):
            what = "bytes in another encoding"
        self.number[what] += 1
        self.first.setdefault(what, f"{where}: {short(value)}")

    def __str__(self) -> str:
        kinds = self.number.most_common()
        return "\n".join(f"  {count} x {what} ({self.first[what]})" for what, count in kinds)


class Meaning(dict[tuple[str, ...], bytes]):
    """What the cells of a row say, as bytes of 16-bit numbers; many rows have the same cells."""

    def __init__(self, options: Options, layout: Layout, names: Sequence[str] = ()) -> None:
        self.options = options
        self.layout = layout
        self.labels = {clean_name(k): clean_name(v) for k, v in options.labels.items()}
        self.labels |= {clean_name(word): "" for word in options.missing}
        self.known: dict[str, int] = {name: k for k, name in enumerate(names or options.listed)}
        self.words = {clean_name(word).casefold(): TIE for word in (*TIES, *options.ties)}
        self.words[""] = BLANK
        for word, side in layout.sides.items():
            self.words[word] = FIRST - side

    def __missing__(self, cells: tuple[str, ...]) -> bytes:
        read = self.compared
        if self.layout.kind == "rankings":
            read = self.ranks
        numbers = array("h", read(cells)).tobytes()
        if len(self) < MANY:
            self[cells] = numbers
        return numbers

    def name(self, cell: str) -> str:
        """What a cell says, after labels and words for what is missing."""
        name = clean_name(cell)
        return self.labels.get(name, name)

    def number(self, cell: str) -> int:
        """Of an item; below 0 for what is none."""
        name = self.name(cell)
        if name in self.known:
            return self.known[name]
        return self.words.get(name.casefold(), UNLISTED)

    def item(self, cell: str) -> int:
        """The same; a new name becomes an item, if the data say which there are."""
        number = self.number(cell)
        name = self.name(cell)
        if number == UNLISTED and self.options.items_from_data and printable(name):
            number = len(self.known)
            if number == MOST_ITEMS:
                fail("the answers", f"{short(name)} is one item too many", f"{MOST_ITEMS} items")
            self.known[name] = number
        return number

    def compared(self, cells: Sequence[str]) -> list[int]:
        """The better item, the other one, and 1 for a tie; or `Unusable`."""
        pair = [self.item(cell) for cell in cells[:2]]
        for number, cell in zip(pair, cells, strict=False):
            if number < 0:
                raise Unusable(NO_NAME.get(number, NO_ITEM), cell)
        first, second = pair
        if first == second:
            raise Unusable(SAME, cells[0])
        winner = first
        if len(cells) > 2:
            winner = self.number(cells[2])
        if winner in (first, FIRST):
            return [first, second, 0]
        if winner in (second, SECOND):
            return [second, first, 0]
        if winner == TIE:
            return [first, second, 1]
        raise Unusable(NO_WINNER, cells[2])

    def ranks(self, cells: Sequence[str]) -> list[int]:
        """The place of each item that is known yet, or -1; or `Unusable`.

        A name that is not recognised leaves the whole ranking out: it votes for nobody.
        """
        read = self._by_place
        if self.layout.name == "ranks":
            read = self._by_rank
        ranks: dict[int, float] = {}
        for item, rank in read(cells):
            if item in ranks:
                raise Unusable("an item ranked twice", ",".join(cells))
            ranks[item] = rank
        if not ranks:
            raise Unusable("a ranking without items", ",".join(cells))
        values = list(ranks.values())
        if any(rank % 1 for rank in values):  # and not as 4.5 stars
            from scipy.stats import rankdata

            if values != rankdata(values).tolist():
                raise Unusable(NO_RANK, ",".join(cells))
        places = [-1] * len(self.known)
        order = sorted(set(values))
        for item, rank in ranks.items():
            places[item] = order.index(rank)
        return places

    def _by_place(self, cells: Sequence[str]) -> Iterator[tuple[int, float]]:
        tie = None  # the sign between items in one place
        if self.layout.name == "ranking":
            sign = self.options.between.strip()
            cells = cells[0].split(sign)
            if sign == ">":
                tie = "="
        for place, cell in enumerate(cells):
            names = [cell]
            if tie:
                names = cell.split(tie)
            for name in names:
                item = self.item(name)
                if item >= 0:
                    yield item, place
                elif item != BLANK:
                    raise Unusable(UNKNOWN_NAME, name)

    def _by_rank(self, cells: Sequence[str]) -> Iterator[tuple[int, float]]:
        for item, cell in enumerate(cells):
            name = self.name(cell)
            found = _RANK.fullmatch(name)
            if found:
                yield item, int(found[1]) + bool(found[2]) / 2
            elif name:
                raise Unusable(NO_RANK, cell)

    def answers(self, data: Any, person: Any = None, tied: Any = None) -> Answers:
        """Such answers, by numbers of items; items from the data are sorted by their names."""
        if self.layout.person is None:
            person = None
        if self.layout.name != "items":
            tied = None
        names = list(self.known)
        if self.options.items_from_data:
            names.sort()
            order = [self.known[name] for name in names]
            if self.layout.kind == "comparisons":
                data = np.argsort(order)[data]
            else:
                data = data[:, order]
            if self.layout.kind == "counts":
                data = data[order]
        return Answers(
            kind=self.layout.kind,
            items=tuple(names),
            data=data,
            person=person,
            tied=tied,
            repeats=self.options.repeats,
            listed=not self.options.items_from_data,
            unranked=self.options.unranked,
            read=Read(self.layout.words, self.options.typed),
        )


class People(dict[str, int]):
    """The number of a person by their name."""

    def __init__(self, options: Options) -> None:
        self.missing = {"", *map(clean_name, options.missing)}

    def __missing__(self, cell: str) -> int:
        name = clean_name(cell)
        if name in self.missing:
            raise Unusable(NO_PERSON, cell)
        if name != cell:
            return self[name]
        self[name] = len(self)
        return self[name]


class Collector:
    """The rows of all files, turned into numbers."""

    meaning: Meaning

    def __init__(self, options: Options) -> None:
        self.options = options
        self.people = People(options)
        self.found = Found()
        self.name = ""
        self.rows: list[bytes] = []
        self.person = array("q")
        self.counts: list[int] = []

    def take(self, name: str, header: Sequence[str], lines: Iterable[Line]) -> None:
        """Add the rows of one file."""
        layout = layout_of(name, header, self.options)
        if not self.name:
            self.meaning = Meaning(self.options, layout)
        before = self.meaning.layout
        if (layout.name, layout.sides) != (before.name, before.sides):
            fail(name, f"holds {layout.name}", f"{before.name}, as in the files before")
        self.name = name
        numbers = 0
        columns = layout.cells
        for line, row in lines:
            try:
                if isinstance(row, str):
                    raise Unusable(NO_ROW, row)
                person = 0
                if layout.person is not None:
                    person = self.people[row[layout.person]]
                answer = self.meaning[tuple([row[k] for k in columns])]
            except Unusable as error:
                self.found.add(f"{name}, line {line}", *error.args)
                continue
            if layout.kind == "counts":
                self.counts.append(self._count(line, row[layout.columns["count"]]))
            self.rows.append(answer)
            self.person.append(person)
            numbers += len(answer) // 2
            if numbers > MOST_NUMBERS:
                allowed = f"{MOST_NUMBERS} numbers, or the extra 'release' and a large file"
                fail(name, "too many answers", allowed)

    def _count(self, line: int, text: str) -> int:
        if not re.fullmatch(r"\s*[0-9]{1,16}\s*", text):
            fail(self.name, f"line {line}: count = {short(text)}", "a whole number up to 2**53")
        return int(text)

    @cached_property
    def answers(self) -> Answers:
        """All that was read; refused if there is nothing."""
        meaning = self.meaning
        layout = meaning.layout
        n = len(meaning.known)
        total = sum(self.counts)
        if layout.kind != "counts":
            total = len(self.rows)
        if n < 2 or not total:
            what = f"no answers below the names of the columns, and {n} items"
            fail(self.name, what, f"one answer, and two items\n{self.found}".strip())
        if total > MOST_COUNT:
            fail(self.name, f"the counts add up to {total}", "up to 2**53")
        person = np.array(self.person)
        width = 2 * n
        if layout.kind != "rankings":
            width = len(self.rows[0])
        whole = bytearray()
        for row in self.rows:
            whole += row.ljust(width, b"\xff")  # -1, in a ranking
        numbers = np.frombuffer(whole, dtype=np.int16).reshape(-1, width // 2)
        if layout.kind == "rankings":
            if self.options.unranked == "below":
                last = numbers.max(axis=1, keepdims=True) + 1
                numbers = np.where(numbers < 0, last, numbers)
            return meaning.answers(numbers, person)
        if layout.kind == "counts":
            table = np.zeros((n, n), dtype=np.int64)
            np.add.at(table, tuple(numbers[:, :2].T), self.counts)
            return meaning.answers(table)
        return meaning.answers(numbers[:, :2].T, person, numbers[:, 2] == 1)
