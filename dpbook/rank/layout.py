"""What line 1 of a file says about its rows: decided by that line and by the options alone."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, takewhile
from typing import Any

from dpbook import _validation as check
from dpbook.rank.names import clean_name, fail, public_items, short

ROLES = {
    "comparisons": ("winner", "loser"),
    "items": ("first", "second", "winner"),
    "sides": ("first", "second", "winner"),
    "ranking": ("ranking",),
    "counts": ("winner", "loser", "count"),
}
KINDS = {
    **dict.fromkeys(ROLES, "comparisons"),
    **dict.fromkeys(("ranking", "places", "ranks"), "rankings"),
    "counts": "counts",
}
COLUMNS = (
    "person,winner,loser; person,first,second,winner; person,ranking; person,1,2,3; person and a "
    "column for each item; or winner,loser,count"
)
WORDS = {
    "comparisons": "column {0} names the winner and {1} the loser: {best} and {next} say that "
    "{best} is better",
    "items": "columns {0} and {1} name two items, and {2} the better one, by its name: with "
    "{best}, {next}, {best} the first is better",
    "sides": "columns {0} and {1} name two items, and {2} the column of the better one: with "
    "{best}, {next}, {0} the first is better",
    "ranking": "column {0} names the items, the best first: with {sign} between {best} and {next} "
    "{best} is better",
    "places": "columns {some} hold items, the best in {0}: {best}, {next} say that {best} is "
    "better",
    "ranks": "columns {some} hold ranks, 1 for the best: 1, 2 say that {best} is better",
    "counts": "column {2} says how often the item in {0} won against the one in {1}",
}
CHOICES = {
    "layout": tuple(KINDS),
    "unranked": ("below", "unknown"),
    "bad": ("drop", "refuse"),
    "repeats": ("one", "keep"),
    "separator": (",", ";", "\t", "|"),
}
Rows = Iterator[tuple[int, list[str] | str]]  # a line's cells, or what is wrong with it
TYPED = "columns labels ties missing layout between bad encoding separator header_lines line_breaks"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How files are read: the arguments of `read_answers`, checked."""

    items: Sequence[str] | None = None
    items_from_data: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    layout: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    ties: Collection[str] = ()
    missing: Collection[str] = ()
    between: str = ">"
    unranked: str = "below"
    bad: str = "drop"
    repeats: str = "one"
    encoding: str = "utf-8"
    separator: str | None = None
    header_lines: int = 1
    line_breaks: bool = False

    def __post_init__(self) -> None:
        if (self.items is None) != bool(self.items_from_data):
            allowed = "allowed is items (--items, --items-file), or items_from_data "
            raise ValueError(f"items: {allowed}(--items-from-data), which publishes their list")
        if self.items is not None:
            public_items(self.items)
        for name, choices in CHOICES.items():
            if getattr(self, name) != getattr(Options, name):
                check.choice(name, getattr(self, name), choices)
        check.integer("header_lines", self.header_lines, 1, 9)
        if not self.between.strip():
            raise ValueError(f"between = {self.between!r}: allowed is a sign, as '>' or ';'")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            allowed = "allowed is a name such as 'utf-8', 'cp1252' or 'utf-16'"
            raise ValueError(f"encoding = {self.encoding!r:.40}: {allowed}") from None

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The items, if they were given."""
        if self.items is None:
            return ()
        return public_items(self.items)

    @property
    def typed(self) -> tuple[str, ...]:
        """What to type to read a file in the same way, beside what the promise says."""
        words: list[str] = []
        for name in TYPED.split():
            value = getattr(self, name)
            option = "--" + name.replace("ties", "tie").replace("_", "-")
            if value == getattr(Options, name, {}):
                continue
            if value is True:
                words.append(option)
                continue
            if isinstance(value, Mapping):
                value = [f"{role}={column}" for role, column in value.items()]
            if isinstance(value, str | int):
                value = [value]
            words += [f'{option} "{one}"'.replace("\t", "tab") for one in value]
        return tuple(words)


@dataclass(frozen=True)
class Layout:
    """What a file holds, and in which columns."""

    name: str
    cells: tuple[int, ...]  # the columns of the roles, of the places, or of the items
    person: int | None
    sides: Mapping[str, int]  # what names the first, or the second, of two columns
    words: str  # how line 1 was read: for the keeper, and for the statement

    @property
    def kind(self) -> str:
        return KINDS[self.name]


@dataclass(frozen=True)
class Head:
    """What line 1 says of the text."""

    separator: str
    quotes: bool
    end: str  # of every line
    lines: int

    @property
    def dialect(self) -> dict[str, Any]:
        """How Python's reader is told so."""
        quoting = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        return {"delimiter": self.separator, "quoting": quoting, "strict": True}


@dataclass(frozen=True)
class Opened:
    """A file that is being read."""

    name: str
    header: list[str]
    rows: Rows
    head: Head | None = None


def heading(lines: Sequence[Sequence[str]]) -> list[str]:
    """Names of columns: the last that is not blank, where they have several lines."""
    names = [""] * max(map(len, lines))
    for line in lines:
        for k, cell in enumerate(line):
            names[k] = " ".join(clean_name(cell).split()) or names[k]
    return names


def layout_of(name: str, header: Sequence[str], options: Options) -> Layout:
    """The one reading of line 1; refused if there is none, or more than one."""
    found = _columns(name, header, options)
    fits = _fitting(found, header, options)
    if not fits:
        named = ", ".join(map(short, filter(None, header)))
        hint = "--columns person=NAME,winner=NAME,loser=NAME, and others are ignored"
        fail(name, f"line 1 has the columns {named:.300}", f"{COLUMNS}; or {hint}")
    readings = {layout: _words(layout, fits[layout], header, options) for layout in fits}
    if len(readings) > 1:
        ways = "; or ".join(f"--layout {layout}: {words}" for layout, words in readings.items())
        fail(name, f"line 1 can be read in {len(readings)} ways", f"one of them, by {ways}")
    ((layout, words),) = readings.items()
    person = found.get("person", [])
    for key, columns in [("person", person), *fits[layout].items()]:
        if len(columns) > 1:
            twice = " and ".join(short(header[k]) for k in columns)
            fail(name, f"columns {twice} both mean {key}", f"one, by --columns {key}=NAME")
    if layout == "ranking":
        _refuse_signs(options)
    if person:
        words += f"; {short(header[person[0]])} says who answered"
    return Layout(
        name=layout,
        cells=tuple(columns[0] for columns in fits[layout].values()),
        person=next(iter(person), None),
        sides=_sides(found, header),
        words=words,
    )


def _refuse_signs(options: Options) -> None:
    """Items that no cell with a ranking can hold, by the list alone."""
    sign = options.between.strip()
    signs = (sign, "=") if sign == ">" else (sign,)
    for item in options.listed:
        if any(sign in item for sign in signs):
            allowed = f"allowed are names without {' and '.join(signs)}, or --between another sign"
            raise ValueError(f"items contains {short(item)} with a column 'ranking': {allowed}")


def _columns(name: str, header: Sequence[str], options: Options) -> dict[str, list[int]]:
    """Columns that may be meant by a role, a place or an item: `columns` says, or their name.

    As "tea", "Tea" or "Rank these drinks [tea]".
    """
    found: dict[str, list[int]] = {}
    for role, column in options.columns.items():
        wanted = " ".join(clean_name(column).split())
        if header.count(wanted) != 1:
            named = ", ".join(filter(None, header))
            fail(name, f"column {short(wanted)} is missing, or twice", f"one of {named:.200}")
        found[clean_name(role)] = [header.index(wanted)]
    decided = set(found)
    taken = [k for (k,) in found.values()]
    for k, column in enumerate(header):
        keys = {column, column.lower(), *re.findall(r"\[([^\[\]]+)\]$", column)}
        if k not in taken:
            for key in keys - decided:
                found.setdefault(key.strip(), []).append(k)
    return found


def _fitting(
    found: Mapping[str, list[int]], header: Sequence[str], options: Options
) -> dict[str, dict[str, list[int]]]:
    """All layouts whose columns are there."""
    places = tuple(takewhile(found.__contains__, map(str, count(1))))
    named = {clean_name(role) for role in options.columns} - {"person"}
    called = {item.casefold() for item in options.listed}
    fits = {}
    for layout, keys in {**ROLES, "places": places, "ranks": options.listed}.items():
        if options.layout not in (None, layout):
            continue
        if not keys or not named <= set(keys) <= set(found):
            continue
        if (KINDS[layout], "person" in found) in (("rankings", False), ("counts", True)):
            continue
        if options.layout is None:
            if layout == "sides" and not called & set(_sides(found, header)):
                continue  # "items" takes the names of both
            used = {k for key in ("person", *keys) for k in found.get(key, [])}
            rest = [column for k, column in enumerate(header) if column and k not in used]
            if rest and not options.columns:
                continue
        fits[layout] = {key: found[key] for key in keys}
    exact = {layout: columns for layout, columns in fits.items() if set(columns) == named}
    return exact or fits  # nothing else is asked for


def _sides(found: Mapping[str, list[int]], header: Sequence[str]) -> dict[str, int]:
    """What the cell of the winner may say for either of the two columns."""
    words: dict[str, int] = {}
    for side, role in enumerate(("first", "second")):
        for k in found.get(role, []):
            words |= {role: side, header[k].casefold(): side}
    return words


def _words(
    layout: str, columns: Mapping[str, list[int]], header: Sequence[str], options: Options
) -> str:
    """How line 1 is read, with an example made of the list of items."""
    names = [short(header[k]) for k, *_ in columns.values()]
    some = ", ".join(names[:3])
    if len(names) > 3:
        some += ", ..."
    best, other = [short(item) for item in (*options.listed, "A", "B")[:2]]
    sign = short(options.between.strip())
    return WORDS[layout].format(*names, some=some, best=best, next=other, sign=sign)
