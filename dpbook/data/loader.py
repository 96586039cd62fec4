"""Respondent-level data: answers, rankings and ratings, person by person.

Nothing respondent-level is part of this project.  The loader looks for a data set in the folder
named by the environment variable ``DPBOOK_DATA``, then in the user's cache, and else fetches it
from its official source.  Whatever the way, the SHA-256 of the canonical CSV is checked, and where
the registry pins it also that of the official file, before it is parsed (see `dpbook.data._fetch`).
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable

import numpy as np

from dpbook import _validation as check
from dpbook.data._fetch import DatasetError, dataset_text, has_dataset
from dpbook.data._registry import DATASETS, Dataset
from dpbook.data.answers import SurveyAnswers
from dpbook.data.rankings import Rankings
from dpbook.data.ratings import RatingTable
from dpbook.data.tables import SUSHI_ITEMS

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetError",
    "dataset_text",
    "has_dataset",
    "load_comparisons",
    "load_rankings",
    "load_ratings",
]


def load_comparisons(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    opener: Callable[[str], bytes] | None = None,
) -> SurveyAnswers:
    """Load the answers of every respondent of a paired-comparison survey.

    Parameters
    ----------
    name : {"cems", "cems_1998", "immigration", "llmfao"}
        Name of the survey.
    path : path-like, optional
        Folder to use instead of the one in ``DPBOOK_DATA``.
    opener : callable, optional
        From a URL to the bytes behind it; the standard library's HTTP client, with a limit of size
        and of time, by default.

    Returns
    -------
    SurveyAnswers
        `comparisons` holds the decided answers, `table()` the aggregate.  In "llmfao" nobody was
        asked about every pair, so that it has no `table()`; the prompts are left out.

    Raises
    ------
    ValueError
        If `name` is unknown.
    DatasetError
        If the data cannot be fetched, cannot be converted, or have another digest, for whatever
        reason; the message says what to do.

    Notes
    -----
    Places searched: the folder, the cache (``$XDG_CACHE_HOME/dpbook`` or ``~/.cache/dpbook``), the
    official source.  A folder may hold the canonical ``<name>.csv`` or the official files under
    their own names; with `path` no other place is searched.  Sources: Dittrich, Hatzinger and
    Katzenbeisser (1998, 2001); Weber and Hatzinger (2011); Ustalov (2023).
    """
    check.choice("name", name, _names("comparisons"))
    text = dataset_text(name, path=path, opener=opener)
    dataset = DATASETS[name]
    if name == "llmfao":
        text = _without(text, "prompt")
    return SurveyAnswers.from_csv(text, source=dataset.source, licence=dataset.licence)


def load_rankings(
    name: str,
    *,
    part: int = 1,
    path: str | os.PathLike[str] | None = None,
    opener: Callable[[str], bytes] | None = None,
) -> Rankings:
    """Load whole rankings, one row for one person.

    Parameters
    ----------
    name : {"sushi", "turkdots", "turkpuzzle"}
        "sushi": 5000 people, 10 kinds of sushi.  The other two: about 795 rankings of 4 items.
    part : int
        Which of the four files of "turkdots" and "turkpuzzle"; 1 is the one that YLL use (795 and
        793 rankings).  "sushi" has part 1 only.
    path, opener : optional
        As in `load_comparisons`.

    Returns
    -------
    Rankings
        The items of "sushi" carry the names of the original source, in the order of its ids; those
        of the other two are the numbers of dots, or of moves to the solution, in the true order.

    Raises
    ------
    ValueError
        If `name` or `part` is unknown.
    DatasetError
        If the data cannot be fetched, cannot be converted, or have another digest.

    Notes
    -----
    Sources: Kamishima (2003); Mao, Procaccia and Chen (2013), through PrefLib.  The Turk files
    count rankings and name no worker: one worker may stand behind several rows.
    """
    check.choice("name", name, _names("rankings"))
    part = check.integer("part", part, 1, len(DATASETS[name].urls))
    rows = list(csv.reader(dataset_text(name, path=path, opener=opener).splitlines()))[1:]
    if name == "sushi":
        return Rankings.from_orders(np.array(rows, dtype=np.int64)[:, 1:], SUSHI_ITEMS)
    kept = [row for row in rows if row[0].endswith(f"-{part:08d}")]
    values = np.array([row[3:] for row in kept], dtype=np.int64)
    items = np.unique(values)
    counts = [int(row[2]) for row in kept]
    orders = np.repeat(np.searchsorted(items, values), counts, axis=0)
    return Rankings.from_orders(orders, items.tolist())


def load_ratings(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    opener: Callable[[str], bytes] | None = None,
) -> RatingTable:
    """Load ratings, one row for one person.

    Parameters
    ----------
    name : {"movielens_top40"}
        The 40 most rated films of MovieLens latest-small (not of MovieLens 100K).
    path, opener : optional
        As in `load_comparisons`.

    Returns
    -------
    RatingTable
        580 rows: 30 of the 610 users of the full data rated none of the 40 films.

    Raises
    ------
    ValueError
        If `name` is unknown.
    DatasetError
        If the data cannot be fetched, cannot be converted, or have another digest.

    Notes
    -----
    Source: Harper and Konstan (2015); XSC, Section 5.4.
    """
    check.choice("name", name, _names("ratings"))
    films = dataset_text(f"{name}_titles", path=path, opener=opener)
    text = dataset_text(name, path=path, opener=opener)
    dataset = DATASETS[name]
    return RatingTable.from_csv(text, films, source=dataset.source, licence=dataset.licence)


def _names(kind: str) -> tuple[str, ...]:
    return tuple(name for name, dataset in DATASETS.items() if dataset.kind == kind)


def _without(text: str, column: str) -> str:
    """Drop a column of a CSV text in which nothing is quoted."""
    lines = [line.split(",") for line in text.splitlines()]
    gone = lines[0].index(column)
    return "".join(",".join(line[:gone] + line[gone + 1 :]) + "\n" for line in lines)
