"""Files and tables of answers, read row by row: what cannot be used is counted, with its line.

The first line names the columns, which say what the file holds: ``person,winner,loser`` or
``winner,loser``; ``person,first,second,winner``, where the winner may be a tie; ``person,ranking``
(``tea > coffee = mate``); ``person,1,2,3``, the best item first; ``person`` and one column for each
item with its rank; or ``winner,loser,count``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from os import PathLike, fspath
from os.path import getsize
from typing import Any

from dpbook.rank.answers import Answers
from dpbook.rank.engine import NoComparisons, opened_parquet
from dpbook.rank.files import kind_of, opened
from dpbook.rank.layout import Options, heading
from dpbook.rank.names import text_of
from dpbook.rank.rows import Collector
from dpbook.rank.shards import open_shards

LARGE = 2**22  # bytes, from which on the engine is worth it
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
    layout : {"comparisons", "items", "ranking", "places", "ranks", "counts"}, optional
        Which reading of line 1 holds, where there are two.
    labels : mapping, optional
        From a code in a cell to what it stands for.
    ties, missing : collection of str
        Words for a tie beside the English ones, and for a blank.
    between : str
        What stands between the items of a ranking in one cell.
    unranked : {"below", "unknown"}
        Items that a ranking leaves out are behind those it holds, or are not compared.
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
        count that is no number, too many items or answers.

    Notes
    -----
    A row that cannot be used (an item that is not on the list, a blank, a tie without its items) is
    left out whole, for what it alone holds.
    """
    return look(paths, **how).answers


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
    rows = enumerate(map(list, zip(*columns, strict=True)))
    collector = Collector(Options(**how))
    collector.take("the table", heading([[str(name) for name in frame]]), rows)
    return collector.answers


def look(paths: Paths, **how: Any) -> Collector:
    """What the keeper of the data wants to know before a release, and nobody else may."""
    collector = Collector(Options(**how))
    for path in names_of(paths):
        if kind_of(path) == "parquet":
            collector.take(path, *opened_parquet(path))
            continue
        with opened(path, collector.options) as text:
            collector.take(text.name, text.header, text.rows())
    return collector


def answers_of(
    source: Any, *, relation: str = "replace", scheduler: str | None = None, **how: Any
) -> Answers:
    """Of a path or paths as `read_answers`, large files by an engine; of a table as `from_frame`.

    What are answers already stay. An engine is not for "add_remove": see `Shards`.
    """
    if isinstance(source, Answers):
        if how:
            given = f"{next(iter(how))} is given with answers that were read"
            raise ValueError(f"{given}: allowed is a path or a table with it")
        return source
    if not isinstance(source, str | PathLike | list | tuple):
        return from_frame(source, **how)
    files = names_of(source)
    options = Options(**how)
    found = None
    if scheduler is not None:
        with suppress(NoComparisons):  # rankings and counts are read here, and add up all the same
            found = open_shards(files, options, scheduler)
    elif relation == "replace" and "-" not in files and sum(map(getsize, files)) >= LARGE:
        with suppress(ValueError, OSError, ImportError):  # of which `read_answers` says more
            found = open_shards(files, options)
    return found or read_answers(files, **how)


def names_of(paths: Paths) -> list[str]:
    """The names of one file or of several."""
    if isinstance(paths, str | PathLike):
        paths = [paths]
    if not paths:
        raise ValueError("paths is empty: allowed is one file or more")
    return [fspath(path) for path in paths]
