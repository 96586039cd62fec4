"""What line 1 of a file says about its rows: decided by that line and by the options alone."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, takewhile

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
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\]$")
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

    def refuse_signs(self) -> None:
        """Items that no cell with a ranking can hold, by the list alone."""
        sign = self.between.strip()
        signs = [sign]
        if sign == ">":
            signs.append("=")
        for item in self.listed:
            if any(sign in item for sign in signs):
                allowed = f"allowed are names without {' and '.join(signs)}, or --between"
                given = f"items contains {short(item)} with a column 'ranking'"
                raise ValueError(f"{given}: {allowed} another sign")

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


def heading(lines: Sequence[Sequence[str]]) -> list[str]:
    """Names of columns: the last that is not blank, where they have several lines."""
    names = [""] * max(map(len, lines))
    for line in lines:
        for k, cell in enumerate(line):
            names[k] = " ".join(clean_name(cell).split()) or names[k]
    return names


def layout_of(name: str, header: Sequence[str], options: Options) -> Layout:
    """The one reading of line 1; refused if there is none, or more than one."""
    return _Line(name, header, options).layout()


class _Line:
    """Line 1 of a file, and what each column means: what `columns` says, or its own name.

    As "tea", "Tea" or "Rank these drinks [tea]". What two columns may mean, neither does.
    """

    def __init__(self, name: str, header: Sequence[str], options: Options) -> None:
        self.name = name
        self.header = header
        self.options = options
        asked = {}
        for role, column in options.columns.items():
            wanted = " ".join(clean_name(column).split())
            if header.count(wanted) != 1:
                allowed = f"one of {', '.join(filter(None, header)):.200}"
                fail(name, f"column {short(wanted)} is missing, or twice", allowed)
            asked[clean_name(role)] = header.index(wanted)
        claims = defaultdict(list)
        for k, column in enumerate(header):
            if k not in asked.values():
                for key in {column, column.lower(), *_IN_BRACKETS.findall(column)}:
                    claims[key.strip()].append(k)
        clear = {key: columns[0] for key, columns in claims.items() if len(columns) == 1}
        self.found = clear | asked
        self.named = set(asked) | {"person"}
        self.sides: dict[str, int] = {}
        for side, role in enumerate(("first", "second")):
            if role in self.found:
                self.sides |= {role: side, header[self.found[role]].casefold(): side}

    def layout(self) -> Layout:
        """The one that fits."""
        places = tuple(takewhile(self.found.__contains__, map(str, count(1))))
        needed = {**ROLES, "places": places, "ranks": self.options.listed}
        fits = {layout: keys for layout, keys in needed.items() if self.fits(layout, keys)}
        exact = {layout: keys for layout, keys in fits.items() if self.named == {"person", *keys}}
        fits = exact or fits  # nothing else is asked for
        if not fits:
            named = ", ".join(map(short, filter(None, self.header)))
            hint = "--columns person=NAME,winner=NAME,loser=NAME, and others are ignored"
            fail(self.name, f"line 1 has the columns {named:.300}", f"{COLUMNS}; or {hint}")
        if len(fits) > 1:
            ways = [
                f"--layout {layout}: {self.words(layout, keys)}" for layout, keys in fits.items()
            ]
            allowed = f"one of them, by {'; or '.join(ways)}"
            fail(self.name, f"line 1 can be read in {len(fits)} ways", allowed)
        ((layout, keys),) = fits.items()
        if layout == "ranking":
            self.options.refuse_signs()
        return Layout(
            name=layout,
            cells=tuple(self.found[key] for key in keys),
            person=self.found.get("person"),
            sides=self.sides,
            words=self.words(layout, keys),
        )

    def fits(self, layout: str, keys: Sequence[str]) -> bool:
        """Whether a layout has its columns here, and nothing speaks against it."""
        options = self.options
        if not keys or not self.named <= {"person", *keys} or not self.found.keys() >= {*keys}:
            return False
        if (KINDS[layout], "person" in self.found) in (("rankings", False), ("counts", True)):
            return False
        if options.layout:
            return layout == options.layout
        if layout == "sides" and not {item.casefold() for item in options.listed} & set(self.sides):
            return False  # "items" takes the names of both
        used = {self.found.get(key) for key in ("person", *keys)}
        rest = [column for k, column in enumerate(self.header) if column and k not in used]
        return not rest or bool(options.columns)

    def words(self, layout: str, keys: Sequence[str]) -> str:
        """How line 1 is read, with an example made of the list of items."""
        names = [short(self.header[self.found[key]]) for key in keys]
        some = ", ".join(names[:3])
        if len(names) > 3:
            some += ", ..."
        best, other = map(short, (*self.options.listed, "A", "B")[:2])
        sign = short(self.options.between.strip())
        words = WORDS[layout].format(*names, some=some, best=best, next=other, sign=sign)
        if "person" in self.found:
            words += f"; {short(self.header[self.found['person']])} says who answered"
        return words
