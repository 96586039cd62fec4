"""Full data sets, person by person: found, fetched, converted and verified.

pooch fetches, tries again and keeps the cache.  An official file is parsed only if its digest is
right, where the registry has one; nothing is returned whose canonical CSV has another digest.
Whatever goes wrong ends as a `DatasetError` that says what to do.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.data import _official
from dpbook.data.tables import TURK_NAMES, film_titles, load_table, turk_rankings
from dpbook.data.types import Comparisons, Rankings

Folder = str | os.PathLike[str]


class DatasetError(RuntimeError):
    """A data set cannot be had, or is not the one expected."""


@dataclass(frozen=True)
class Dataset:
    """One line of the registry."""

    url: str  # of the official file, pinned to one version where the source has versions
    sha256: str  # of the canonical CSV
    convert: Callable[[bytes], str]  # the bytes of the official file to the canonical CSV
    raw_sha256: str = ""  # of the official file; empty where we have no copy to take one from

    @property
    def file(self) -> str:
        """Name of the official file."""
        return self.url.rsplit("/", 1)[1]


_CRAN = "https://raw.githubusercontent.com/cran"
_PREFMOD = f"{_CRAN}/prefmod/33d8401d754373640426cdb04d1ca004e1989b43/data"
_CEMS = ("London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm")
_IMMIG = ("crimRate", "position", "socBurd", "culture")
_CODES, _SIGNS = {0: "a", 1: "tie", 2: "b"}, {1: "a", 0: "tie", -1: "b"}

#: Data sets that have to be fetched, by name.
DATASETS: dict[str, Dataset] = {
    "cems": Dataset(
        f"{_CRAN}/BradleyTerry2/a6ce24eeadb1eafe36c336c27567a47e9d8e2e7a/data/CEMS.R",
        "a06a8b551aafa1ed0e1841cc9b45b5ea33b1f7f5a26675f8dc4c304f990c60c8",
        _official.from_bradleyterry2,
        "8d234652c68637f5408326ccc3b6cee6da138fe00dc0a1499dcf7718d28ef8aa",
    ),
    "cems_1998": Dataset(
        f"{_PREFMOD}/cemspc.RData",
        "eaa7e85f871dc88a51ebdb8aa1fd66321a7aedb3122f1fb63f57115f858fc9e0",
        partial(_official.from_prefmod, name="cemspc", items=_CEMS, codes=_CODES),
        "38aa2b0bc569a6ac50c6fbe775d4c39fe89e7c7ac96f739b2db19e49c98f88d5",
    ),
    "immigration": Dataset(
        f"{_PREFMOD}/immig.RData",
        "8b157714bea36d88a6d3a1bff12da150e137e3dd43b3141c30515737cb081811",
        partial(_official.from_prefmod, name="immig", items=_IMMIG, codes=_SIGNS),
        "3c0d3740d0181ad26f4d799ceee88fca200c0051ffb60ebeb1990d390dbdc3d4",
    ),
    "sushi": Dataset(
        "http://www.kamishima.net/asset/sushi3-2016.zip",
        "fe112eb31e2c090e92114f033add792482b9ae5047d312bb230316f26f8b50ab",
        _official.from_sushi,
    ),
    "movielens_top40": Dataset(
        "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip",
        "2c94a834e1140df5fc97b381936a4a9e07c807c9c1597245dfeddf493302e132",
        _official.from_movielens,
    ),
    "llmfao": Dataset(
        "https://raw.githubusercontent.com/dustalov/llmfao/"
        "9e224e94a40129fd6e1e1529b962307e84af40da/crowd-comparisons.csv",
        "304a6ae49f7eb9b7d7a78a1248c11457607bf4de39472e64a2a6cf8e3e6ce866",
        _official.from_llmfao,
        "106564a4bf06f047a4662979384313c22d9b4ca901e780f9e8419f8e5581adb1",
    ),
}


def load_dataset(
    name: str, *, part: int = 1, path: Folder | None = None
) -> Comparisons | Rankings | Array:
    """Load what every person said, or raise a `DatasetError` that says what to do.

    Parameters
    ----------
    name : str
        - ``"cems"``, ``"cems_1998"``, ``"immigration"``: the decided answers of each respondent.
        - ``"sushi"``: whole rankings of 5000 people.
        - ``"turkdots"``, ``"turkpuzzle"``: rankings of four items. They come with the package,
          since they name no worker: one may stand behind several rows.
        - ``"movielens_top40"``: ratings of the 40 most rated films of MovieLens latest-small (not
          of MovieLens 100K).
        - ``"llmfao"``: the decided judgements of 124 people on the answers of 59 language models.
    part : int
        Which of the four files of ``"turkdots"`` and ``"turkpuzzle"``; 1 is the one that YLL use.
    path : path-like, optional
        The only folder to search, for the canonical ``<name>.csv`` or the official file. By default
        the folder in the environment variable ``DPBOOK_DATA``, the cache
        (``$XDG_CACHE_HOME/dpbook`` or ``~/.cache/dpbook``) and the official source are searched.

    Returns
    -------
    Comparisons, Rankings or array
        Items as in `load_table`. Ratings have the shape (610, 40), NaN where there is none.
    """
    check.choice("name", name, (*DATASETS, *TURK_NAMES))
    check.integer("part", part, 1, 4 if name in TURK_NAMES else 1)
    if name in TURK_NAMES:
        return turk_rankings(name, part)
    rows = list(csv.reader(dataset_text(name, path=path).splitlines()))[1:]
    if name == "sushi":
        orders = np.array(rows, dtype=np.int64)[:, 1:]
        return Rankings.from_orders(orders, load_table(name).items)
    if name == "llmfao":
        rows = [[who, *judged] for who, _, *judged in rows]  # without the prompt
    return _ratings(rows) if name == "movielens_top40" else _decided(rows)


def _decided(rows: list[list[str]]) -> Comparisons:
    """Keep the decided answers; items and people are numbered as they first appear."""
    items = {name: k for k, name in enumerate(dict.fromkeys(n for row in rows for n in row[1:3]))}
    people = {name: k for k, name in enumerate(dict.fromkeys(row[0] for row in rows))}
    kept = [
        (people[who], *((items[a], items[b]) if said == "a" else (items[b], items[a])))
        for who, a, b, said in rows
        if said in ("a", "b")
    ]
    user, winner, loser = np.array(kept, dtype=np.int64).T
    return Comparisons(tuple(items), winner, loser, user)


def _ratings(rows: list[list[str]]) -> Array:
    """Rows in the order of the users' numbers, those without any rating last."""
    column = {movie: k for k, movie in enumerate(film_titles())}
    line = {user: k for k, user in enumerate(sorted({int(row[0]) for row in rows}))}
    ratings = np.full((load_table("movielens_top40").users, len(column)), np.nan)
    for user, movie, rating in rows:
        ratings[line[int(user)], column[int(movie)]] = float(rating)
    return ratings


def has_dataset(name: str) -> bool:
    """Tell whether `load_dataset` would find a data set without the network."""
    check.choice("name", name, (*DATASETS, *TURK_NAMES))
    if name in TURK_NAMES:
        return True
    folder, cached = os.environ.get("DPBOOK_DATA"), _cache() / DATASETS[name].file
    return bool(folder and _in_folder(name, Path(folder))) or os.path.isfile(cached)


def dataset_text(name: str, *, path: Folder | None = None) -> str:
    """Return the verified canonical CSV of a data set; see `load_dataset`."""
    if path is not None and not isinstance(path, str | os.PathLike):
        raise ValueError(f"path must be a folder's name (str or path-like), got {path!r}")
    dataset, advice = DATASETS[name], _advice(name)
    given = os.environ.get("DPBOOK_DATA") or None if path is None else path
    found = None if given is None else _in_folder(name, Path(given))
    if found is None:
        if path is not None:
            both = f"neither {name}.csv nor {dataset.file}"
            raise DatasetError(f"{Path(path)} holds {both}, to be had at {dataset.url}")
        found, advice = _fetched(dataset, advice), f"Delete it to fetch it again, or {advice}"
    try:
        content = found.read_bytes()
    except OSError as error:
        raise _fault(f"cannot read {found}", error, advice) from error
    if found.name == dataset.file:
        if dataset.raw_sha256:
            _check_digest(content, dataset.raw_sha256, str(found), advice)
        try:
            content = dataset.convert(content).encode()
        except Exception as error:  # whatever a parser stumbles over
            raise _fault(f"{found} does not have the expected layout", error, advice) from error
    _check_digest(content, dataset.sha256, f"{name}.csv from {found}", advice)
    return content.decode()


def _in_folder(name: str, folder: Path) -> Path | None:
    """Find the canonical file or the official one in a folder; None when it holds neither."""
    if not os.path.isdir(folder):
        raise DatasetError(f"{folder} (path, or DPBOOK_DATA) is not a folder: {_advice(name)}")
    files = folder / f"{name}.csv", folder / DATASETS[name].file
    return next((file for file in files if os.path.isfile(file)), None)


def _advice(name: str) -> str:
    """Say what helps whatever went wrong: the file, from the right place, in a folder."""
    dataset = DATASETS[name]
    file = f"{dataset.file} (from {dataset.url}), or {name}.csv"
    return f"put {file}, into a folder and name the folder in the environment variable DPBOOK_DATA"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dpbook")


def _fetched(dataset: Dataset, advice: str) -> Path:
    """The official file in the cache, by pooch, of the registered digest if there is one."""
    file, url = dataset.file, dataset.url
    try:
        pooch = importlib.import_module("pooch")
        known = {file: f"sha256:{dataset.raw_sha256}" if dataset.raw_sha256 else None}
        cache = pooch.create(_cache(), "", registry=known, urls={file: url}, retry_if_failed=1)
        return Path(cache.fetch(file, downloader=pooch.HTTPDownloader(timeout=30)))
    except Exception as error:  # the network's, the server's, the disk's: there is no file
        raise _fault(f"cannot fetch {url}", error, advice) from error


def _fault(what: str, error: Exception, advice: str) -> DatasetError:
    if isinstance(error, ModuleNotFoundError):
        error = type(error)(f"{error.name} is missing: pip install '.[data]' in the sources")
    return DatasetError(f"{what}: {str(error) or type(error).__name__}. What helps: {advice}")


def _check_digest(content: bytes, expected: str, where: str, advice: str) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise DatasetError(f"SHA-256 of {where} is {got}; expected {expected}. {advice}")
