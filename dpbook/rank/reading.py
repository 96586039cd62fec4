"""Files of answers, read as a stream: what is wrong is said with its line.

The first line names the columns, separated by commas, semicolons or tabs, and so says what the
file holds: ``person,winner,loser`` or ``winner,loser`` comparisons, ``person,ranking``
(``tea > coffee``) or ``person,1,2,3`` whole rankings, ``winner,loser,count`` counts. UTF-8, with or
without a mark.
"""

from __future__ import annotations

import csv
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from os import PathLike, fspath, urandom
from typing import NoReturn
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dpbook._typing import Ints

MOST_ITEMS = 10_000
MOST_ANSWERS = 50_000_000
MOST_COUNT = 2**53
_LONGEST_LINE = 2**20
MOST_BYTES = 2**24  # of a list of items
_COLUMNS = "person,winner,loser; winner,loser; winner,loser,count; person,ranking; or person,1,2,3"
_TIES = frozenset(("tie", "tied", "draw", "equal", "both", "neither", "none", "="))
_NO_TIES = (
    "a tie has no winner: leave the line out, or write it as two lines, one win each, which count "
    "as two answers"
)


class BadFile(ValueError):
    """A file of answers that cannot be read: names the file, the line, the value, what is allowed.

    The message quotes the data: it is for their keeper, not for publication.
    """


@dataclass(frozen=True, eq=False)
class Answers:
    """What `read_answers` found in a file: the data of real people, not for publication.

    Attributes
    ----------
    kind : {"comparisons", "rankings", "counts"}
    items : tuple of str
    listed : bool
        The items were given by the caller; otherwise they are those that the file names.
    data : array of int
        Winner and loser of each answer, shape (2, N); the items of each ranking, the first one
        first, shape (m, n); or the table of counts, shape (n, n).
    person : array of int, shape (N,) or (m,), optional
        A key for the person who answered.
    """

    kind: str
    items: tuple[str, ...]
    listed: bool
    data: NDArray[np.integer]
    person: Ints | None

    def answers_of_each(self) -> Ints:
        """How many answers each person gave, shape (people,)."""
        if self.person is None:
            raise ValueError("the file does not say who gave which answer")
        return np.unique(self.person, return_counts=True)[1].astype(np.int64)

    def keep(self, limit: int, random: NDArray[np.uint64] | None = None) -> Answers:
        """At most so many answers of each person, chosen at random, whatever others answered.

        The random numbers, one for each answer, come from the operating system by default.
        """
        if self.person is None:
            raise ValueError("the file does not say who gave which answer")
        size = self.person.size
        keys = np.frombuffer(urandom(8 * size), dtype=np.uint64) if random is None else random
        order = np.lexsort((keys, self.person))
        grouped = self.person[order]
        # An answer stays if the one `limit` places before it, in this order, is somebody else's.
        stays = np.ones(size, dtype=bool)
        stays[limit:] = grouped[limit:] != grouped[:-limit]
        kept = np.sort(order[stays])
        data = self.data[:, kept] if self.kind == "comparisons" else self.data[kept]
        return Answers(self.kind, self.items, self.listed, data, self.person[kept])


def read_answers(
    path: str | PathLike[str], *, items: Sequence[str] | None = None, repeats: str = "refuse"
) -> Answers:
    """Read comparisons, rankings or counts from a CSV file, line by line.

    Parameters
    ----------
    path : path
        UTF-8; lines end with LF or CRLF. Ten million lines take less than 1 GB.
    items : sequence of str, optional
        The items, all of them: other names are refused. Without it they are taken from the file,
        in alphabetical order, so that their list is published as it is.
    repeats : {"refuse", "keep"}
        What becomes of a person's second answer to the same pair.

    Raises
    ------
    BadFile
        With the line: columns, ties, an item against itself, a pair answered twice, fewer than two
        items, an empty file, bytes that are not UTF-8, too many items or answers.
    """
    if repeats not in ("refuse", "keep"):
        raise ValueError(f"repeats = {repeats!r}: allowed is one of 'refuse', 'keep'")
    name, known = fspath(path), _Names(fspath(path), items)
    with open(name, "rb") as file:
        rows = _Rows(name, file)
        columns = rows.header()
        if columns[0] == "person" and columns[1:] == [str(k) for k in range(1, len(columns))]:
            found = _rankings(rows, known, len(columns) - 1)
        elif columns == ["person", "ranking"]:
            found = _rankings(rows, known, 0)
        elif sorted(columns) == ["count", "loser", "winner"]:
            found = _counts(rows, known, columns)
        elif sorted(columns) in (["loser", "winner"], ["loser", "person", "winner"]):
            found = _comparisons(rows, known, columns, repeats)
        else:
            rows.refuse_columns(columns)
    return found


class _Rows:
    """The rows of a file with their lines: decoded one by one, each with all its columns."""

    def __init__(self, name: str, file: object) -> None:
        self.name, self.file, self.line, self.width = name, file, 0, 0

    def fail(self, line: int, what: str) -> NoReturn:
        raise BadFile(f"{self.name}, line {line}: {what}")

    def header(self) -> list[str]:
        first = next(self.lines(), "").removeprefix("\ufeff")
        if not first.strip():
            self.fail(1, f"the file is empty or begins with an empty line: {_allowed()}")
        if "\r" in first.rstrip("\r\n"):
            self.fail(1, "lines end with CR alone: allowed are LF and CRLF")
        self.separator = max(",;\t", key=first.count)  # the comma, where there is none
        try:
            cells = next(csv.reader([first], delimiter=self.separator, strict=True))
        except csv.Error as error:
            self.fail(1, f"{error}: {_allowed()}")
        columns = [cell.strip().lower() for cell in cells]
        self.width = len(columns)
        if len(set(columns)) < len(columns):
            twice = next(c for c in columns if columns.count(c) > 1)
            self.fail(1, f"column {twice!r} appears twice: {_allowed()}")
        return columns

    def refuse_columns(self, columns: list[str]) -> NoReturn:
        known = {"person", "winner", "loser", "count", "ranking"}
        strange = [c for c in columns if c not in known and not c.isdecimal()]
        missing = [c for c in ("winner", "loser") if c not in columns]
        if strange:
            what = f"unknown column {strange[0]!r}"
        elif missing and "ranking" not in columns and not any(c.isdecimal() for c in columns):
            what = f"column {missing[0]!r} is missing"
        else:
            what = f"columns {','.join(columns)} do not go together"
        self.fail(1, f"{what}: {_allowed()}")

    def lines(self) -> Iterator[str]:
        """Lines as text; a byte that is not UTF-8 is named."""
        read = self.file.readline  # type: ignore[attr-defined]
        while raw := read(_LONGEST_LINE):
            self.line += 1
            if len(raw) == _LONGEST_LINE:
                self.fail(self.line, f"longer than allowed, {_LONGEST_LINE} bytes")
            try:
                yield raw.decode()
            except UnicodeDecodeError as error:
                bad = raw[error.start]
                where = f"byte {error.start + 1} of the line is 0x{bad:02x}"
                self.fail(self.line, f"{where}: allowed is UTF-8; save the file in that encoding")

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        width = self.width
        reader = csv.reader(self.lines(), delimiter=self.separator, strict=True)
        try:
            for row in reader:
                if len(row) != width:
                    if not "".join(row).strip():  # an empty line
                        continue
                    self.fail(self.line, f"{len(row)} columns: allowed are {width}, as in line 1")
                yield self.line, row
        except csv.Error as error:
            self.fail(self.line, f"{error}: allowed is CSV, with quotes in pairs")


class _Names:
    """The items by their names; in the file, a name may have spaces around it."""

    def __init__(self, file: str, given: Sequence[str] | None) -> None:
        self.file, self.names, self.listed = file, list[str](), given is not None
        self.codes: dict[str, int] = {}
        for name in given or ():
            if not isinstance(name, str) or not (clean := _clean(name)):
                raise ValueError(f"items contains {name!r}: allowed are names, not empty")
            if clean in self.codes:
                raise ValueError(f"items contains {clean!r} more than once: allowed is once")
            self._add(clean)
        if given is not None and not 2 <= len(self.names) <= MOST_ITEMS:
            allowed = f"allowed are 2 to {MOST_ITEMS} items"
            raise ValueError(f"items has {len(self.names)} names: {allowed}")

    def _add(self, name: str) -> int:
        self.codes[name] = len(self.names)
        self.names.append(name)
        return self.codes[name]

    def code(self, raw: str, line: int, column: str) -> int:
        """The number of a name not met in this spelling before."""
        name = _clean(raw)
        if name in self.codes:
            if len(self.codes) < 4 * MOST_ITEMS:
                self.codes[raw] = self.codes[name]
            return self.codes[name]
        where = f"{self.file}, line {line}: {column}"
        if not name:
            raise BadFile(f"{where} is empty: allowed is the name of an item; {_NO_TIES}")
        if name.lower() in _TIES:
            raise BadFile(f"{where} = {name!r} says that there is none: {_NO_TIES}")
        if self.listed:
            few = ", ".join(self.names[:8]) + (", ..." if len(self.names) > 8 else "")
            raise BadFile(f"{where} = {_short(name)} is not in the list of items: allowed is {few}")
        if len(self.names) == MOST_ITEMS:
            more = f"{where} = {_short(name)} is one item too many"
            raise BadFile(f"{more}: allowed are {MOST_ITEMS}")
        return self._add(name)

    def done(self) -> tuple[tuple[str, ...], Ints]:
        """The items, in alphabetical order if nobody gave one, and the place of each code."""
        if len(self.names) < 2:
            few = f"{len(self.names)} item in the whole file"
            raise BadFile(f"{self.file}: {few}: allowed are 2 or more")
        if self.listed:
            return tuple(self.names), np.arange(len(self.names))
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        return tuple(self.names[k] for k in order), np.argsort(order)


def _comparisons(rows: _Rows, names: _Names, columns: list[str], repeats: str) -> Answers:
    by_person = "person" in columns
    who, won, lost, lines = array("q"), array("i"), array("i"), array("i")
    at_winner, at_loser = columns.index("winner"), columns.index("loser")
    at_person = columns.index("person") if by_person else 0
    codes, code = names.codes, names.code
    for line, row in rows:
        if (winner := codes.get(row[at_winner], -1)) < 0:
            winner = code(row[at_winner], line, "winner")
        if (loser := codes.get(row[at_loser], -1)) < 0:
            loser = code(row[at_loser], line, "loser")
        if winner == loser:
            what = f"{_short(names.names[winner])} is compared with itself"
            rows.fail(line, f"{what}: allowed are two different items")
        if by_person:
            who.append(_person(rows, line, row[at_person]))
        won.append(winner)
        lost.append(loser)
        lines.append(line)
        if len(won) > MOST_ANSWERS:
            rows.fail(line, f"one answer too many: allowed are {MOST_ANSWERS}")
    if not won:
        rows.fail(1, "no answers below the names of the columns: allowed is at least one line")
    items, place = names.done()
    data = np.empty((2, len(won)), dtype=np.int32)
    for row_of, codes_of in zip(data, (won, lost), strict=True):
        np.take(place.astype(np.int32), np.frombuffer(codes_of, dtype=np.int32), out=row_of)
    del won, lost
    if not by_person:
        return Answers("comparisons", items, names.listed, data, None)
    person = np.frombuffer(who, dtype=np.int64)
    if repeats == "refuse" and (found := _repeat(person, data)) is not None:
        first, again = found
        one, other = sorted(items[k] for k in data[:, again])
        what = f"this person answers {_short(one)} against {_short(other)} a second time"
        allowed = "allowed is once, or --repeats keep (repeats='keep'), which counts each answer"
        rows.fail(lines[again], f"{what}, first on line {lines[first]}: {allowed}")
    return Answers("comparisons", items, names.listed, data, person)


def _repeat(person: Ints, data: NDArray[np.integer]) -> tuple[int, int] | None:
    """The first answer to a pair that its person had answered, and where; None if there is none."""
    mixed = np.minimum(*data).astype(np.uint64) << np.uint64(32)
    mixed |= np.maximum(*data).astype(np.uint64)
    mixed *= np.uint64(0x9E3779B97F4A7C15)  # odd: different pairs stay different
    mixed ^= person.view(np.uint64)
    ordered = np.sort(mixed)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not twice.size:
        return None
    del ordered
    seen: dict[tuple[int, ...], int] = {}
    for k in np.flatnonzero(np.isin(mixed, twice)).tolist():
        key = (int(person[k]), *sorted(data[:, k].tolist()))
        if key in seen:
            return seen[key], k
        seen[key] = k
    return None


def _rankings(rows: _Rows, names: _Names, width: int) -> Answers:
    """Rankings in columns 1, 2, ... (so many), or in one cell (0)."""
    who, orders = array("q"), array("i")
    n = len(names.names) if names.listed else 0
    for line, row in rows:
        cells = row[1:] if width else row[1].split(">")
        if not width and "=" in row[1]:
            rows.fail(line, f"{_short(row[1])} holds a tie, '=': allowed are strict rankings")
        order = [names.code(cell, line, f"place {k}") for k, cell in enumerate(cells, 1)]
        n = n or len(order)
        if len(set(order)) < len(order):
            twice = next(names.names[k] for k in order if order.count(k) > 1)
            rows.fail(line, f"{_short(twice)} is ranked twice: allowed is each of the items once")
        if len(order) != n or len(names.names) > n:
            missing = next((x for k, x in enumerate(names.names) if k not in order), "")
            allowed = f"allowed is each of the {n} items once"
            what = f"{_short(missing)} is not ranked" if missing else "too many items"
            rows.fail(line, f"{what}: {allowed}{'' if names.listed else ', as in the first line'}")
        who.append(_person(rows, line, row[0]))
        orders.extend(order)
        if len(orders) > 2 * MOST_ANSWERS:
            rows.fail(line, f"one ranking too many: allowed are {2 * MOST_ANSWERS // n}")
    if not orders:
        rows.fail(1, "no rankings below the names of the columns: allowed is at least one line")
    items, place = names.done()
    data = place.astype(np.int32)[np.frombuffer(orders, dtype=np.int32)].reshape(-1, n)
    return Answers("rankings", items, names.listed, data, np.frombuffer(who, dtype=np.int64))


def _counts(rows: _Rows, names: _Names, columns: list[str]) -> Answers:
    counted: dict[tuple[int, int], tuple[int, int]] = {}
    total = 0
    for line, row in rows:
        cell = dict(zip(columns, row, strict=True))
        pair = tuple(names.code(cell[column], line, column) for column in ("winner", "loser"))
        winner, loser = pair
        if winner == loser:
            what = f"{_short(names.names[winner])} is compared with itself"
            rows.fail(line, f"{what}: allowed are two different items")
        if (winner, loser) in counted:
            first = counted[winner, loser][1]
            rows.fail(line, f"line {first} already has this winner and loser: allowed is once")
        text = cell["count"].strip()
        if not (text.isascii() and text.isdecimal()) or int(text) > MOST_COUNT:
            rows.fail(line, f"count = {_short(text)}: allowed are whole numbers from 0 to 2**53")
        total += int(text)
        counted[winner, loser] = int(text), line
    if not 0 < total <= MOST_COUNT:
        raise BadFile(f"{rows.name}: the counts add up to {total}: allowed are 1 to 2**53")
    items, place = names.done()
    table = np.zeros((len(items), len(items)), dtype=np.int64)
    for (winner, loser), (count, _) in counted.items():
        table[place[winner], place[loser]] = count
    return Answers("counts", items, names.listed, table, None)


def _person(rows: _Rows, line: int, raw: str) -> int:
    """A key of 64 bits; two people who shared one would share one person's limit, no more."""
    name = raw.strip()
    if not name:
        rows.fail(line, "person is empty: allowed is a name or number for each person")
    if not name.isascii():
        name = normalize("NFC", name)
    if sys.hash_info.width == 64:  # with a secret of this process
        return hash(name)
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _clean(name: str) -> str:
    return normalize("NFC", name.strip())


def _short(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:37]}...")


def _allowed() -> str:
    return f"allowed in the first line are {_COLUMNS}"
