"""What line 1 of a file says about its rows: decided by that line and by the options alone."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, takewhile
from typing import Any

from dpbook import _validation as check
from dpbook.rank.names import clean_name, fail, public_items, short

ROLES = {
    "comparisons": ("winner", "loser"),
    "items": ("first", "second", "winner"),
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
    "items": "columns {0} and {1} name two items, and {2} the better one, by its name or its "
    "column: with {best}, {next}, {best} or {0} the first is better",
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
    "repeats": ("one", "keep"),
    "separator": (",", ";", "\t", "|"),
}
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\]$")
TYPED = "columns labels ties missing layout between encoding separator header_lines line_breaks"


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


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A reading of line 1: what a file holds, and in which columns."""

    name: str
    roles: Sequence[str]
    header: Sequence[str]
    columns: Mapping[str, int]  # of roles and items
    options: Options

    @cached_property
    def kind(self) -> str:
        return KINDS[self.name]

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """The columns of the two items and the winner, of places, or of the items."""
        return tuple(self.columns[role] for role in self.roles if role != "count")

    @cached_property
    def person(self) -> int | None:
        return self.columns.get("person")

    @cached_property
    def sides(self) -> dict[str, int]:
        """What names the first, or the second, of two columns of items."""
        sides: dict[str, int] = {}
        if self.name == "items":
            for side, role in enumerate(("first", "second")):
                column = self.header[self.columns[role]].casefold()
                sides |= {role: side, column: side}
        return sides

    @cached_property
    def words(self) -> str:
        """How line 1 was read, with an example made of the list of items."""
        names = [short(self.header[self.columns[role]]) for role in self.roles]
        some = ", ".join(names[:3])
        if len(names) > 3:
            some += ", ..."
        best, other = map(short, (*self.options.listed, "A", "B")[:2])
        sign = short(self.options.between.strip())
        names_of = {"some": some, "best": best, "next": other, "sign": sign}
        words = WORDS[self.name].format(*names, **names_of)
        if self.person is not None:
            words += f"; {short(self.header[self.person])} says who answered"
        return words

    def fits(self, asked: Collection[str]) -> bool:
        """Whether it has its columns here, and nothing speaks against it."""
        known = {"person", *self.roles}
        if not self.roles or not known.issuperset(asked):
            return False
        if not self.columns.keys() >= {*self.roles}:
            return False
        if self.kind == "rankings" and self.person is None:
            return False
        if self.kind == "counts" and self.person is not None:
            return False
        if self.options.layout:
            return self.name == self.options.layout
        used = {self.columns.get(role) for role in known}
        rest = [column for k, column in enumerate(self.header) if column and k not in used]
        return not rest or bool(asked)

    def check_items(self) -> None:
        """Refuse items that a cell could not tell from something else, by the list alone."""
        signs = []
        if self.name == "ranking":
            signs = [self.options.between.strip(), "="]
        for item in self.options.listed:
            if item.casefold() in self.sides or any(sign in item for sign in signs):
                allowed = "names that are no column of items, without the signs between them"
                given = f"items contains {short(item)} with {self.words}"
                raise ValueError(f"{given}: allowed are {allowed} (--between)")


def heading(lines: Sequence[Sequence[str]]) -> list[str]:
    """Names of columns: the last that is not blank, where they have several lines."""
    names = [""] * max(map(len, lines))
    for line in lines:
        for k, cell in enumerate(line):
            names[k] = " ".join(clean_name(cell).split()) or names[k]
    return names


def layout_of(name: str, header: Sequence[str], options: Options) -> Layout:
    """The one reading of line 1; refused if there is none, or more than one."""
    asked = _asked(name, header, options)
    columns = _clear(header, asked) | asked
    places = tuple(takewhile(columns.__contains__, map(str, count(1))))
    needed = {**ROLES, "places": places, "ranks": options.listed}
    about: dict[str, Any] = {"header": header, "columns": columns, "options": options}
    fits = []
    for layout, roles in needed.items():
        one = Layout(name=layout, roles=roles, **about)
        if one.fits(asked):
            fits.append(one)
    exact = [one for one in fits if {*asked, "person"} == {"person", *one.roles}]
    fits = exact or fits  # nothing else is asked for
    if not fits:
        named = ", ".join(map(short, filter(None, header)))
        hint = "--columns person=NAME,winner=NAME,loser=NAME, and others are ignored"
        fail(name, f"line 1 has the columns {named:.300}", f"{COLUMNS}; or {hint}")
    if len(fits) > 1:
        ways = "; or ".join(f"--layout {one.name}: {one.words}" for one in fits)
        fail(name, f"line 1 can be read in {len(fits)} ways", f"one of them, by {ways}")
    fits[0].check_items()
    return fits[0]


def _asked(name: str, header: Sequence[str], options: Options) -> dict[str, int]:
    """The columns that `columns` names."""
    asked = {}
    for role, column in options.columns.items():
        wanted = " ".join(clean_name(column).split())
        if header.count(wanted) != 1:
            allowed = f"one of {', '.join(filter(None, header)):.200}"
            fail(name, f"column {short(wanted)} is missing, or twice", allowed)
        asked[clean_name(role)] = header.index(wanted)
    return asked


def _clear(header: Sequence[str], asked: Mapping[str, int]) -> dict[str, int]:
    """The others by their names, as "tea", "Tea" or "Rank these drinks [tea]".

    What two columns may mean, neither does.
    """
    claims = defaultdict(list)
    for k, column in enumerate(header):
        if k not in asked.values():
            for key in {column, column.lower(), *_IN_BRACKETS.findall(column)}:
                claims[key.strip()].append(k)
    return {key: columns[0] for key, columns in claims.items() if len(columns) == 1}
