"""What a row means: the one description, for text that Python reads and for what an engine reads.

A cell is a number, that of an item, or one below 0 for what is none. `compared` says which rows are
comparisons, whoever found these numbers; `Rankings` does the same for rankings, row by row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook.rank.layout import TIES, Layout, Options
from dpbook.rank.names import MOST_ITEMS, clean_name, fail, printable, short

MANY = 40_000  # spellings that are remembered
UNLISTED, BLANK, TIE, FIRST, SECOND = -1, -2, -3, -4, -5
GOOD, SAME, NO_ITEM, NO_CELL, NO_TIE, NO_WINNER, NO_PERSON = range(7)
WHY = {
    SAME: "an item against itself",
    NO_ITEM: "an item that is not on the list",
    NO_CELL: "a blank",
    NO_TIE: "a tie that does not name both items",
    NO_WINNER: "a winner that is neither item (as they are called, or --labels left=first)",
    NO_PERSON: "no person",
}
UNKNOWN_NAME = "a ranking with a name that is not on the list"
NO_RANK = "a cell that is no rank: allowed are 1, 1st, #1, 1.0, and 1.5 for two who share 1 and 2"
_RANK = re.compile(r"#?\s*([1-9]\d{0,5})([.,]0+|[.,]50*)?\s*(st|nd|rd|th)?(\s+choice)?", re.I)


@dataclass
class Found:
    """What a file holds that cannot be used: how many rows of each kind, and the first of them."""

    number: Counter[str] = field(default_factory=Counter)
    first: dict[str, list[str]] = field(default_factory=dict)
    unlisted: Counter[str] = field(default_factory=Counter)  # names that are not on the list

    def add(self, what: str, name: str, line: int, value: str) -> None:
        self.number[what] += 1
        if self.number[what] <= 3:
            self.first.setdefault(what, []).append(f"{name}, line {line}: {short(value)}")

    def add_name(self, name: str) -> None:
        if name in self.unlisted or len(self.unlisted) < MANY:
            self.unlisted[name] += 1

    def __str__(self) -> str:
        lines = []
        for what, count in self.number.most_common():
            some = "; ".join(self.first.get(what, []))
            if count > 3 and some:
                some += "; ..."
            lines.append(f"  {count} x {what}{f' ({some})' if some else ''}")
        return "\n".join(lines)


class Names:
    """What a cell says, after labels and words for what is missing."""

    def __init__(self, options: Options) -> None:
        self.labels = {clean_name(k): clean_name(v) for k, v in options.labels.items()}
        self.missing = {clean_name(word) for word in options.missing}

    def of(self, raw: str) -> str:
        name = clean_name(raw)
        if name in self.missing:
            return ""
        return self.labels.get(name, name)


class Spelled(dict[str, int]):
    """What `number` says of a spelling, which is asked once."""

    def __missing__(self, raw: str) -> int:
        number = self.number(raw)
        if len(self) < MANY and number != UNLISTED:
            self[raw] = number
        return number

    def number(self, raw: str) -> int:
        raise NotImplementedError


class Items(Spelled):
    """The number of an item by its spelling; below 0 what is none."""

    def __init__(self, options: Options) -> None:
        self.names = Names(options)
        self.listed = options.items is not None
        self.all = list(options.listed)
        self.known = {name: k for k, name in enumerate(self.all)}
        self.file = ""
        self.ties = set()
        for word in (*TIES, *map(clean_name, options.ties)):
            self.ties |= {word, word.lower(), word.upper(), word.title()}

    def settle(self, names: Sequence[str]) -> None:
        """These are all; nothing else becomes one."""
        self.clear()
        self.all, self.listed = list(names), True
        self.known = {name: k for k, name in enumerate(names)}

    def number(self, raw: str) -> int:
        name = self.names.of(raw)
        if name in self.known:
            return self.known[name]
        if not name:
            return BLANK
        if name in self.ties:
            return TIE
        if self.listed or not printable(name):
            return UNLISTED
        if len(self.all) == MOST_ITEMS:
            fail(self.file, f"{short(name)} is one item too many", f"{MOST_ITEMS} items")
        self.known[name] = len(self.all)
        self.all.append(name)
        return self.known[name]


class Winners(Spelled):
    """The same for a cell that says which of two is better: an item, a column, or a tie."""

    def __init__(self, items: Items, layout: Layout) -> None:
        self.all, self.layout = items, layout

    def number(self, raw: str) -> int:
        name = self.all.names.of(raw)
        item = self.all.known.get(name, UNLISTED)
        if item >= 0 and self.layout.item_first:
            return item
        for words, side in zip(self.layout.sides, (FIRST, SECOND), strict=False):
            if name in words:
                return side
        if item == UNLISTED and name in self.all.ties:
            return TIE
        return item


class People(dict[str, int]):
    """The number of a person by their name; -1 without one."""

    def __init__(self, options: Options) -> None:
        self.missing = {clean_name(word) for word in options.missing}

    def __missing__(self, raw: str) -> int:
        name = clean_name(raw)
        if not name or name in self.missing:
            return -1
        if name != raw:
            return self[name]
        self[name] = len(self)
        return self[name]


@dataclass(frozen=True)
class Compared:
    """Comparisons, the winner first, and why a row is none."""

    first: NDArray[Any]
    second: NDArray[Any]
    tied: NDArray[np.bool_] | None
    why: NDArray[np.int8]


def compared(
    first: NDArray[Any],
    second: NDArray[Any],
    winner: NDArray[Any] | None = None,
    *,
    nobody: NDArray[np.bool_] | None = None,
) -> Compared:
    """Which rows are comparisons, from the numbers of their cells."""
    why = np.zeros(first.size, dtype=np.int8)
    if nobody is not None:
        why[nobody] = NO_PERSON
    tied = None
    if winner is not None:
        won = (winner == first) | (winner == FIRST)
        lost = (winner == second) | (winner == SECOND)
        tied = winner == TIE
        why[~(won | lost | tied)] = NO_WINNER
        first, second = np.where(lost, second, first), np.where(lost, first, second)
    why[first == second] = SAME
    bad = np.where(first < 0, first, second)
    for code, reason in ((UNLISTED, NO_ITEM), (BLANK, NO_CELL), (TIE, NO_TIE)):
        why[bad == code] = reason
    return Compared(first, second, tied, why)


class Rankings:
    """Whose cells are a ranking: the items of each place, or a text that says why not."""

    def __init__(self, options: Options, layout: Layout, items: Items) -> None:
        self.layout, self.items = layout, items
        self.between = options.between.strip()

    def levels(self, row: Sequence[str]) -> list[list[int]] | str:
        """A name that is not recognised leaves the whole ranking out: it votes for nobody."""
        cells = [row[k] for k in self.layout.cells]
        levels = self._by_rank(cells) if self.layout.name == "ranks" else self._by_place(cells)
        if isinstance(levels, str):
            return levels
        ranked = [item for level in levels for item in level]
        if not ranked:
            return "a ranking without items"
        if len(set(ranked)) < len(ranked):
            return "an item ranked twice"
        return levels

    def parts(self, cells: Sequence[str]) -> list[list[str]]:
        """The names in each place."""
        if self.layout.name == "places":
            return [[cell] for cell in cells]
        places = cells[0].split(self.between)
        if self.between == ">":
            return [place.split("=") for place in places]
        return [[place] for place in places]

    def unlisted(self, row: Sequence[str]) -> list[str]:
        """Names of a row that are not on the list."""
        if self.layout.name == "ranks":
            return []
        places = self.parts([row[k] for k in self.layout.cells])
        return [name for place in places for name in place if self.items[name] in (UNLISTED, TIE)]

    def _by_place(self, cells: Sequence[str]) -> list[list[int]] | str:
        levels = []
        for place in self.parts(cells):
            level = [code for code in map(self.items.__getitem__, place) if code != BLANK]
            if level and min(level) < 0:
                return UNKNOWN_NAME
            if level:
                levels.append(level)
        return levels

    def _by_rank(self, cells: Sequence[str]) -> list[list[int]] | str:
        ranks = [rank_of(self.items.names.of(cell)) for cell in cells]
        given = sorted({*ranks} - {0.0})
        if given and given[0] < 0:
            return NO_RANK
        levels = [[item for item, rank in enumerate(ranks) if rank == one] for one in given]
        ahead = 0
        halves = any(rank % 1 for rank in given)
        for rank, level in zip(given, levels, strict=True):
            if halves and rank != ahead + (len(level) + 1) / 2:
                return NO_RANK  # as 4.5 stars
            ahead += len(level)
        return levels


def rank_of(name: str) -> float:
    """The rank that a whole cell says; 0 for a blank, -1 for what is none."""
    if not name:
        return 0.0
    found = _RANK.fullmatch(name)
    if found is None:
        return -1.0
    half = 0.5 if found[2] and "5" in found[2] else 0.0
    return int(found[1]) + half
