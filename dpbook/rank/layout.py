"""What line 1 of a file says about its rows: decided by that line and by the options alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from dpbook import _validation as check
from dpbook.rank.names import clean_name, fail, public_items, short

TIES = ("tie", "tied", "draw", "equal", "both", "neither", "none", "=")
ROLES = {
    "comparisons": ("winner", "loser"),
    "items": ("first", "second", "winner"),
    "sides": ("first", "second", "winner"),
    "ranking": ("ranking",),
    "counts": ("winner", "loser", "count"),
}
LAYOUTS = (*ROLES, "places", "ranks")
KINDS = {"ranking": "rankings", "places": "rankings", "ranks": "rankings", "counts": "counts"}
COLUMNS = (
    "person,winner,loser; person,first,second,winner; person,ranking; person,1,2,3; person and a "
    "column for each item; or winner,loser,count"
)


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
        if self.layout is not None:
            check.choice("layout", self.layout, LAYOUTS)
        check.choice("unranked", self.unranked, ("below", "unknown"))
        check.choice("bad", self.bad, ("drop", "refuse"))
        check.choice("repeats", self.repeats, ("one", "keep"))
        if self.separator is not None:
            check.choice("separator", self.separator, (",", ";", "\t", "|"))
        check.integer("header_lines", self.header_lines, 1, 9)
        if not self.between.strip():
            raise ValueError(f"between = {self.between!r}: allowed is a sign, as '>' or ';'")

    @property
    def listed(self) -> tuple[str, ...]:
        """The items, if they were given."""
        return () if self.items is None else public_items(self.items)

    @property
    def typed(self) -> tuple[str, ...]:
        """What to type to read a file in the same way, beside what the promise says."""
        words = []
        for option, pairs in (("columns", self.columns), ("labels", self.labels)):
            words += [f'--{option} "{role}={name}"' for role, name in pairs.items()]
        words += [f'--tie "{word}"' for word in self.ties]
        words += [f'--missing "{word}"' for word in self.missing]
        normal = Options(items_from_data=True)
        for name in ("layout", "between", "bad", "encoding", "separator"):
            if (value := getattr(self, name)) != getattr(normal, name):
                value = "tab" if value == "\t" else value
                words.append(f'--{name} "{value}"')
        if self.header_lines > 1:
            words.append(f"--header-lines {self.header_lines}")
        if self.line_breaks:
            words.append("--line-breaks")
        return tuple(words)


@dataclass(frozen=True)
class Layout:
    """What a file holds, and in which columns."""

    name: str
    cells: tuple[int, ...]  # the columns of the roles, of the places, or of the items
    person: int | None
    sides: tuple[frozenset[str], ...]  # what names the first, or the second, of two columns
    item_first: bool  # where a winner is called as an item and as a column
    words: str  # how line 1 was read: for the keeper, and for the statement

    @property
    def kind(self) -> str:
        return KINDS.get(self.name, "comparisons")


def heading(lines: Sequence[Sequence[str]]) -> list[str]:
    """Names of columns: the last that is not blank, where they have several lines."""
    names = [""] * max(map(len, lines))
    for line in lines:
        for k, cell in enumerate(line):
            names[k] = " ".join(clean_name(cell).split()) or names[k]
    return names


def layout_of(name: str, header: Sequence[str], options: Options) -> Layout:
    """The one reading of line 1; refused if there is none, or more than one."""
    at, twice = _columns(name, header, options)
    found = dict(_fitting(at, header, options))
    if not found:
        _no_layout(name, at, header, options)
    readings = {layout: _words(layout, keys, at, header, options) for layout, keys in found.items()}
    if len(readings) > 1:
        ways = "; or ".join(f"--layout {layout}: {words}" for layout, words in readings.items())
        fail(name, f"line 1 can be read in {len(readings)} ways", f"one of them, by {ways}")
    ((layout, keys),) = found.items()
    for key in ("person", *keys):
        if key in twice:
            fail(name, f"columns {twice[key]} both mean {key}", f"one, by --columns {key}=NAME")
    kind = KINDS.get(layout)
    if kind == "rankings" and "person" not in at:
        fail(name, "column 'person' is missing", "rankings with the person who gave them")
    if kind == "counts" and "person" in at:
        fail(name, "counts with a column 'person'", COLUMNS)
    if layout == "ranking":
        _refuse_signs(options)
    sides = [frozenset(words) for words in side_words(at, header)]
    cells = tuple(at[key] for key in keys)
    return Layout(
        name=layout,
        cells=cells,
        person=at.get("person"),
        sides=tuple(sides),
        item_first=layout == "items" and options.items is not None,
        words=readings[layout],
    )


def _refuse_signs(options: Options) -> None:
    """Items that no cell with a ranking can hold, by the list alone."""
    signs = (">", "=") if options.between.strip() == ">" else (options.between.strip(),)
    for item in options.listed:
        if any(sign in item for sign in signs):
            allowed = f"allowed are names without {' and '.join(signs)}, or --between another sign"
            raise ValueError(f"items contains {short(item)} with a column 'ranking': {allowed}")


def _columns(
    name: str, header: Sequence[str], options: Options
) -> tuple[dict[str, int], dict[str, str]]:
    """Where the roles, places and items are, as `columns` says or by their own names.

    And which of them two columns claim: that is refused where it counts.
    """
    at: dict[str, int] = {}
    twice: dict[str, str] = {}
    for role, column in options.columns.items():
        wanted = " ".join(clean_name(column).split())
        if header.count(wanted) != 1:
            named = ", ".join(filter(None, header))
            what = "appears twice" if wanted in header else "is missing"
            fail(name, f"column {short(wanted)} {what}", f"one of {named:.200}")
        at[clean_name(role)] = header.index(wanted)
    named_columns = set(at.values())
    roles = {"person"}.union(options.listed, *ROLES.values())
    for k, column in enumerate(header):
        for key in _keys_of(column):
            if k in named_columns or not (key in roles or key.isdecimal()):
                continue
            if key not in at:
                at[key] = k
            elif at[key] != k and at[key] not in named_columns:
                twice[key] = f"{short(header[at[key]])} and {short(column)}"
    return at, twice


def _keys_of(column: str) -> Iterator[str]:
    """What the name of a column may mean; as "Rank these drinks [tea]"."""
    yield column
    if column.lower() != column:
        yield column.lower()
    if inside := re.search(r"\[([^\[\]]+)\]$", column):
        yield inside[1].strip()


def _fitting(
    at: Mapping[str, int], header: Sequence[str], options: Options
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """All layouts whose columns are there, with the names of these columns."""
    needed = dict(ROLES)
    places = sorted(filter(str.isdecimal, at), key=int)
    if places and places == [str(k + 1) for k in range(len(places))]:
        needed["places"] = tuple(places)
    if options.listed:
        needed["ranks"] = options.listed
    named = {clean_name(role) for role in options.columns} - {"person"}
    fits = {layout: keys for layout, keys in needed.items() if named <= set(keys) <= set(at)}
    if exact := {layout: keys for layout, keys in fits.items() if set(keys) == named}:
        fits = exact  # nothing else is asked for
    for layout, keys in fits.items():
        if options.layout not in (None, layout):
            continue
        used = {at[key] for key in (*keys, "person") if key in at}
        rest = [column for k, column in enumerate(header) if column and k not in used]
        if rest and not options.columns and not options.layout:
            continue
        sides = {side for words in side_words(at, header) for side in words}
        if layout == "sides" and not options.layout and not sides & set(options.listed):
            continue  # no item is called as a column is: "items" takes the names of both
        yield layout, keys


def side_words(at: Mapping[str, int], header: Sequence[str]) -> list[set[str]]:
    """What the cell of the winner may say for either of the two columns."""
    return [{side, header[at[side]]} for side in ("first", "second") if side in at]


def _no_layout(
    name: str, at: Mapping[str, int], header: Sequence[str], options: Options
) -> NoReturn:
    """Say which columns are too many, or too few, and what to type."""
    unknown = [column for k, column in enumerate(header) if column and k not in at.values()]
    if not unknown or options.columns:
        columns = ", ".join(at) or "of the file"
        fail(name, f"the columns {columns} do not go together", COLUMNS)
    known = [f"{key}={header[k]}" for key, k in at.items()]
    hint = ",".join(known) or "person=NAME,winner=NAME,loser=NAME"
    named = ", ".join(map(short, filter(None, header)))
    allowed = f"{COLUMNS}; or --columns {hint} with names out of {named:.300}, and no others count"
    fail(name, f"unknown column {short(unknown[0])}", allowed)


def _words(
    layout: str, keys: Sequence[str], at: Mapping[str, int], header: Sequence[str], options: Options
) -> str:
    """How line 1 is read, with an example made of the list of items."""
    columns = [short(header[at[key]]) for key in keys]
    one, other, *_ = (*options.listed, "A", "B")
    best, next_ = short(one), short(other)
    some = ", ".join(columns[:3]) + (", ..." if len(columns) > 3 else "")
    text = {
        "comparisons": "column {0} names the winner and {1} the loser: {best} and {next_} say that "
        "{best} is better",
        "items": "columns {0} and {1} name two items, and {2} the better one, by its name: with "
        "{best}, {next_}, {best} the first is better",
        "sides": "columns {0} and {1} name two items, and {2} the column of the better one: with "
        "{best}, {next_}, {0} the first is better",
        "ranking": "column {0} names the items, the best first: '{one} {sign} {other}' says that "
        "{best} is better",
        "places": "columns {some} hold items, the best in {0}: {best}, {next_} say that {best} is "
        "better",
        "ranks": "columns {some} hold ranks, 1 for the best: 1, 2 say that {best} is better",
        "counts": "column {2} says how often the item in {0} won against the one in {1}",
    }[layout]
    said = {"best": best, "next_": next_, "one": one, "other": other, "some": some}
    text = text.format(*columns, sign=options.between.strip(), **said)
    if "person" in at:
        text += f"; {short(header[at['person']])} says who answered"
    return text
