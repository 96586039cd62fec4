"""Files of answers, read row by row: what cannot be used is counted, and named with its line.

The first line names the columns, which say what the file holds: ``person,winner,loser`` or
``winner,loser``; ``person,first,second,winner``, where the winner may be a tie; ``person,ranking``
(``tea > coffee = mate``); ``person,1,2,3``, the best item first; ``person`` and one column for each
item with its rank; or ``winner,loser,count``.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Ints
from dpbook.rank.answers import MOST_COUNT, MOST_ITEMS, Answers, clean_name, printable, public_items
from dpbook.rank.files import COLUMNS, ODD, BadFile, Found, Progress, Rows, fail, opened, short

MOST_ANSWERS = 50_000_000
_MANY = 40_000  # spellings that are remembered
TIES = frozenset(("tie", "tied", "draw", "equal", "both", "neither", "none", "="))
_LAYOUTS: tuple[tuple[str, set[str]], ...] = (
    ("comparisons", {"winner", "loser"}),
    ("comparisons with ties", {"first", "second", "winner"}),
    ("counts", {"winner", "loser", "count"}),
    ("rankings", {"ranking"}),
)
_ROLES = {"person"}.union(*(needed for _, needed in _LAYOUTS))
_WHY = {0: "an item against itself", -1: "an item that is not on the list", -2: "a blank"}
_WHY |= {-3: "a tie that does not name both items"}

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


@dataclass(frozen=True)
class Look:
    """What the keeper of the data wants to know before a release, and nobody else may."""

    answers: Answers
    found: Found  # what a release would leave out
    persons: Ints | None  # how many people name each item, (n,)
    alike: list[str]  # names, and a number of people, that differ only in case or blanks


def read_answers(
    paths: Paths, *, encoding: str = "utf-8", progress: Progress | None = None, **how: Any
) -> Answers:
    """Read comparisons, rankings or counts from one or more files, which count as one.

    Parameters
    ----------
    paths : path or sequence of paths
        CSV with commas, semicolons or tabs, also packed by gzip; ``"-"`` is the standard input; or
        Parquet, with the extra ``release``. Ten million lines take less than 1 GB.
    encoding : str
        Of the text, such as "cp1252"; "utf-16" is recognised.
    progress : callable, optional
        Gets the share of the bytes that are read, from time to time.
    items : sequence of str
        All items, which are public.
    items_from_data : bool
        Take the items from the data instead, so that their list is published unprotected.
    columns : mapping, optional
        From a column of this function, or an item, to the column of the file; others are ignored.
    ties : collection of str
        Words for a tie beside the English ones.
    unranked : {"below", "unknown"}
        Items that a ranking leaves out are behind those it holds, or are not compared.
    bad : {"drop", "refuse"}
        What becomes of a row that cannot be used: an item that is not on the list, a blank, a tie
        without its items. What is dropped depends on the row alone (in a ranking, only the name).
    repeats : {"one", "keep"}
        Of a person's answers to a pair, one counts, drawn at random at the release, or each.

    Raises
    ------
    BadFile
        With the lines: columns, fewer than two items, an empty file, quotes without an end, a
        count that is no number, too many items or answers; with ``bad="refuse"`` all bad rows.
    """
    return _Reader(**how).files(paths, encoding, progress).answers()


def answers_of(paths: Paths, relation: str, *, scheduler: str | None = None, **how: Any) -> Any:
    """As `read_answers`, or with the engine of `dpbook.rank.shards`: large files, or on a cluster.

    The engine knows people by a hash: who shares one shares a limit, so that a person less may let
    another's answers in. That is a replacement, and more than "add_remove" promises to hide.
    """
    from dpbook.rank import shards

    files = names_of(paths)
    if scheduler and relation == "add_remove":
        raise ValueError("scheduler is given with relation = 'add_remove': allowed is 'replace'")
    asked = {name: value for name, value in how.items() if name != "progress"}
    if scheduler:
        check.choice("encoding with a scheduler", asked.pop("encoding", "utf-8"), ("utf-8",))
        return shards.open_shards(files, scheduler=scheduler, **asked)
    engine = shards.supported(files, **asked) if relation == "replace" else None
    return engine or read_answers(files, **how)


def look(
    paths: Paths, *, encoding: str = "utf-8", progress: Progress | None = None, **how: Any
) -> Look:
    """Read as `read_answers` does, and say what would be left out."""
    reader = _Reader(**how | {"bad": "drop"}).files(paths, encoding, progress)
    answers, found = reader.answers(), reader.found
    alike = [" and ".join(map(short, names)) for names in _alike([*reader.names, *found.unlisted])]
    if people := sum(map(len, _alike(reader.people))):
        alike.append(f"{people} names of people")
    if answers.person is None:
        return Look(answers, found, None, alike)
    n, person, data = len(answers.items), answers.person, answers.data
    if answers.kind == "comparisons":
        named = np.concatenate([person * n + row for row in data])
    else:
        placed = (data >= 0) & (data < data.max(axis=1, keepdims=True))
        named = (person[:, None] * n + np.arange(n))[placed]
    items = (np.unique(named) % n).astype(np.intp)  # as bincount wants it on 32 bits
    return Look(answers, found, np.bincount(items, minlength=n), alike)


def from_frame(frame: Any, **how: Any) -> Answers:
    """Answers from a table with named columns, as those of a file; arguments of `read_answers`.

    Parameters
    ----------
    frame : DataFrame, or mapping from names to columns
        What is missing (None, NaN) counts as blank.

    Examples
    --------
    >>> votes = {"person": [1, 2], "winner": ["tea", "mate"], "loser": ["mate", "tea"]}
    >>> from_frame(votes, items=["mate", "tea"]).data.tolist()
    [[1, 0], [0, 1]]
    """
    if len({len(frame[name]) for name in frame}) != 1:
        raise ValueError("frame has columns of different lengths, or none: allowed is one length")
    cells = zip(*(map(_text, frame[name]) for name in frame), strict=True)
    rows = ((k, list(row)) for k, row in enumerate(cells))
    return _Reader(**how).take("the table", [str(name) for name in frame], rows).answers()


def from_arrays(winner: Any, loser: Any, *, person: Any = None, **how: Any) -> Answers:
    """Comparisons from names, one entry for each answer; arguments of `read_answers`."""
    frame = {"winner": winner, "loser": loser} | ({} if person is None else {"person": person})
    return from_frame(frame, **how)


@dataclass
class _Reader:
    """The rows of all files, turned into numbers one by one."""

    items: Sequence[str] | None = None
    items_from_data: bool = False
    columns: Mapping[str, str] | None = None
    ties: Collection[str] = ()
    unranked: str = "below"
    bad: str = "drop"
    repeats: str = "one"

    def __post_init__(self) -> None:
        if (self.items is None) != bool(self.items_from_data):
            allowed = "allowed is items (--items, --items-file), or items_from_data "
            raise ValueError(f"items: {allowed}(--items-from-data), which publishes their list")
        check.choice("unranked", self.unranked, ("below", "unknown"))
        check.choice("bad", self.bad, ("drop", "refuse"))
        check.choice("repeats", self.repeats, ("one", "keep"))
        self.names = [] if self.items is None else list(public_items(self.items))
        self.codes = {name: k for k, name in enumerate(self.names)}
        self.listed, self.roles = self.items is not None, dict(self.columns or {})
        ties = [*TIES, *map(clean_name, self.ties)]
        self.words = {
            form(word) for word in ties for form in (str, str.lower, str.upper, str.title)
        }
        self.found, self.people = Found(), dict[str, int]()
        # of answers: the person, both items, a tie; of ranked items: the ranking, item, place
        self.who, self.first, self.second = array("q"), array("i"), array("i")
        self.tied, self.ranking = array("b"), array("q")
        self.counted = Counter[tuple[int, int]]()
        self.name = self.layout = ""

    def files(self, paths: Paths, encoding: str, progress: Progress | None) -> _Reader:
        """Add the rows of all files; itself."""
        for path in names_of(paths):
            with opened(path, encoding, progress, self.found) as rows:
                self.take(*rows)
        return self

    def fail(self, what: str, allowed: str) -> NoReturn:
        fail(self.name, what, allowed)

    def problem(self, line: int, what: str, value: str) -> None:
        self.found.add(what, self.name, line, value)

    def take(self, name: str, header: list[str], rows: Rows) -> _Reader:
        """Add the rows of one file; itself."""
        self.name = name
        layout, at = self._layout([clean_name(cell) for cell in header])
        if self.layout not in ("", layout):
            self.fail(f"holds {layout}", f"{self.layout}, as in the files before")
        self.layout = layout
        {"counts": self._counts, "rankings": self._rankings}.get(layout, self._pairs)(at, rows)
        return self

    def _layout(self, header: list[str]) -> tuple[str, dict[str, int]]:
        """What the file holds, and where its columns are.

        All columns that `columns` names are in it; without `columns`, all that there are.
        """
        if len(set(header)) < len(header):
            twice = next(c for c in header if header.count(c) > 1)
            self.fail(f"column {twice!r} appears twice", COLUMNS)
        at: dict[str, int] = {}
        for role, name in self.roles.items():
            if clean_name(name) not in header:
                self.fail(f"column {short(name)} is missing", f"one of {', '.join(header):.200}")
            at[clean_name(role)] = header.index(clean_name(name))
        named = frozenset(at) - {"person"}
        for k, name in enumerate(header):
            inside = re.search(r"\[(.+)\]$", name)  # as "Rank these drinks [tea]"
            for key in (name, name.lower(), inside[1].strip() if inside else ""):
                known = key in _ROLES or key.isdecimal() or (self.listed and key in self.codes)
                if known and key not in at and k not in at.values():
                    at[key] = k
            if k not in at.values() and not self.roles:
                others = f"--columns winner={name},... which leaves out the others"
                self.fail(f"unknown column {short(name)}", f"{COLUMNS}; or {others}")
        wide = set(self.names) if self.listed else {"ranking"}
        places = set(map(str, range(1, 1 + sum(k.isdecimal() for k in at)))) or wide
        fits = {
            frozenset(needed): layout
            for layout, needed in (*_LAYOUTS, ("rankings", wide), ("rankings", places))
            if named <= needed <= set(at) and (self.roles or set(at) - {"person"} == needed)
        }
        if named in fits:  # nothing else is asked for
            fits = {named: fits[named]}
        if len(fits) != 1:
            self.fail(f"the columns {', '.join(at) or 'of the file'} do not go together", COLUMNS)
        ((needed, layout),) = fits.items()
        if layout == "rankings" and "person" not in at:
            self.fail("column 'person' is missing", "rankings with the person who gave them")
        if layout == "counts" and "person" in at:
            self.fail("counts with a column 'person'", COLUMNS)
        return layout, {role: k for role, k in at.items() if role in {*needed, "person"}}

    def _wide(self, at: Mapping[str, int]) -> list[int]:
        """The column of each item, if each has one."""
        wide = self.listed and set(self.names) <= set(at)
        return [at[name] for name in self.names] if wide else []

    def code(self, raw: str) -> int:
        """The number of an item; below 0 for what is none: unlisted, blank, a tie."""
        name = clean_name(raw)
        if name not in self.codes:
            if not name:
                return -2
            if name in self.words:
                return -3
            if self.listed or not printable(name):
                return -1
            if len(self.names) == MOST_ITEMS:
                self.fail(f"{short(name)} is one item too many", f"{MOST_ITEMS} items")
            self.codes[name] = len(self.names)
            self.names.append(name)
        if len(self.codes) < _MANY:
            self.codes[raw] = self.codes[name]
        return self.codes[name]

    def person(self, raw: str) -> int:
        """The number of a person; -1 without a name."""
        name = clean_name(raw)
        return self.people.setdefault(name, len(self.people)) if name else -1

    def _pairs(self, at: Mapping[str, int], rows: Rows) -> None:
        """Comparisons; with a column for the winner of the first and the second, also ties."""
        three = self.layout == "comparisons with ties"
        won, lost = (at["first"], at["second"]) if three else (at["winner"], at["loser"])
        who, codes, people = at.get("person", -1), self.codes, self.people
        for line, row in rows:
            if (first := codes.get(row[won], -1)) < 0:
                first = self.code(row[won])
            if (second := codes.get(row[lost], -1)) < 0:
                second = self.code(row[lost])
            if first < 0 or second < 0 or first == second:
                self._no_pair(line, row[won], row[lost])
                continue
            tie = False
            if three:
                side = self._side(row[at["winner"]], first, second)
                if not side:
                    self.problem(line, "a winner that is neither item", row[at["winner"]])
                    continue
                first, second = (second, first) if side == "second" else (first, second)
                tie = side == "tie"
            if who >= 0:
                if (key := people.get(row[who], -1)) < 0 and (key := self.person(row[who])) < 0:
                    self.problem(line, "no person", row[who])
                    continue
                self.who.append(key)
            self.first.append(first)
            self.second.append(second)
            if three:
                self.tied.append(tie)
            if len(self.first) > MOST_ANSWERS:
                self.fail("one answer too many", f"{MOST_ANSWERS}, or the extra 'release'")

    def _side(self, cell: str, first: int, second: int) -> str:
        """Who won: the item, or the column, that the cell names."""
        name = clean_name(cell)
        for side, item in (("first", first), ("second", second)):
            if name in (side, self.roles.get(side)) or self.codes.get(name) == item:
                return side
        return "tie" if name in self.words else ""

    def _no_pair(self, line: int, *cells: str) -> None:
        """Say why these two cells are no comparison."""
        bad = next(((k, cell) for cell in cells if (k := self.code(cell)) < 0), (0, cells[0]))
        odd = "bytes in another encoding" if ODD.search(bad[1]) else ""
        if bad[0] == -1:
            self.found.add_name(clean_name(bad[1]))
        self.problem(line, odd or _WHY[bad[0]], bad[1])

    def _rankings(self, at: Mapping[str, int], rows: Rows) -> None:
        wide, cells = self._wide(at), [at[k] for k in _numbers(at)]
        for line, row in rows:
            what, levels = "", list[list[int]]()
            if wide:
                found = [re.match(r"#?\s*([1-9]\d{0,5})(?!\d)", row[k].strip()) for k in wide]
                ranks = [int(x[1]) if x else -1 for x in found]
                given = sorted({*ranks} - {-1})
                levels = [[i for i, k in enumerate(ranks) if k == rank] for rank in given]
                if any(row[k].strip() and not x for k, x in zip(wide, found, strict=True)):
                    what = "a rank that is no number from 1"
            else:
                one = row[at["ranking"]].split(">") if "ranking" in at else [row[k] for k in cells]
                split = (cell.split("=") if "ranking" in at else [cell] for cell in one)
                coded = [[(self.code(name), name) for name in level] for level in split]
                for name in (x for level in coded for k, x in level if k < 0 and x.strip()):
                    self.problem(line, "a name in a ranking, left out: not on the list", name)
                    self.found.add_name(clean_name(name))
                levels = [[k for k, _ in level if k >= 0] for level in coded]
                levels = [level for level in levels if level]
            ranked = [item for level in levels for item in level]
            if len(set(ranked)) < len(ranked) or not ranked:
                what = what or ("an item ranked twice" if ranked else "a ranking without items")
            if what or (key := self.person(row[at["person"]])) < 0:
                self.problem(line, what or "no person", ",".join(row))
                continue
            for place, level in enumerate(levels):
                self.ranking.extend([len(self.who)] * len(level))
                self.first.extend(level)
                self.second.extend([place] * len(level))
            self.who.append(key)
            if len(self.who) * len(self.names) > 2 * MOST_ANSWERS:
                self.fail("one ranking too many", f"{2 * MOST_ANSWERS // len(self.names)}")

    def _counts(self, at: Mapping[str, int], rows: Rows) -> None:
        for line, row in rows:
            text = row[at["count"]].strip()
            if not (text.isascii() and text.isdecimal()) or int(text) > MOST_COUNT:
                self.fail(f"line {line}: count = {short(text)}", "a whole number up to 2**53")
            pair = self.code(row[at["winner"]]), self.code(row[at["loser"]])
            if min(pair) < 0 or pair[0] == pair[1]:
                self._no_pair(line, row[at["winner"]], row[at["loser"]])
            else:
                self.counted[pair] += int(text)

    def answers(self) -> Answers:
        """All that was read; refused if there is nothing, or anything that may not be there."""
        names, order = self.names, list(range(len(self.names)))
        if len(names) < 2:
            self.fail(f"{len(names)} item in all", "2 or more")
        if not self.listed:
            order.sort(key=names.__getitem__)
        place = np.argsort(order).astype(np.int32)
        first, second = (_array(x, np.int32) for x in (self.first, self.second))
        person: Any = _array(self.who, np.int64) if self.who else None
        kind = self.layout.split()[0]
        data: Any = np.zeros((len(names),) * 2, dtype=np.int64)
        if kind == "counts":
            for pair, count in self.counted.items():
                data[tuple(place[list(pair)])] = count
        elif kind == "rankings":
            data = np.full((len(self.who), len(names)), -1, dtype=np.int64)
            data[_array(self.ranking, np.int64), place[first]] = second
            last = data.max(axis=1, keepdims=True, initial=0) + 1
            if self.unranked == "below":
                data = np.where(data < 0, last.clip(max=len(names) - 1), data)
        else:
            data = np.array([place[first], place[second]])
        if not (data.size and (kind != "counts" or 0 < self.counted.total() <= MOST_COUNT)):
            self.fail("no answers below the names of the columns", "one to 2**53")
        tied = _array(self.tied, np.bool_) if len(self.layout.split()) > 1 else None
        items = tuple(names[k] for k in order)
        found = Answers(kind, items, data, person, tied, self.repeats, self.listed, self.unranked)
        if self.bad == "refuse":
            self._refuse(found)
        return found

    def _refuse(self, found: Answers) -> None:
        """All that is wrong, at once."""
        if found.kind == "comparisons" and found.person is not None and self.repeats == "one":
            kept = found.keep(found.person.size).data
            again = found.person.size - kept.shape[1]
            self.found.number["a pair that its person had answered"] += again
            self.found.number += Counter()  # no zeros
        if total := self.found.number.total():
            head = f"{self.name}: {total} rows cannot be used: allowed is --bad drop (bad='drop')"
            raise BadFile(f"{head}, or a file without\n{self.found}")


def names_of(paths: Paths) -> list[str]:
    """The names of one file or of several."""
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not given:
        raise ValueError("paths is empty: allowed is one file or more")
    return [fspath(path) for path in given]


def _numbers(at: Mapping[str, int]) -> list[str]:
    return sorted((k for k in at if k.isdecimal()), key=int)


def _array(values: array[int], kind: Any) -> NDArray[Any]:
    return np.frombuffer(values, dtype=kind) if values else np.zeros(0, dtype=kind)


def _alike(names: Iterable[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault("".join(name.casefold().split()), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))  # a column with something missing has floats
    return str(value)
