"""Respondent-level surveys: find, fetch, verify, read.

Nothing respondent-level is part of this project.  `load_comparisons` looks for a survey in the
folder named by the environment variable ``DPBOOK_DATA``, then in the user's cache, and else fetches
it from its official source.  Whatever the way, the SHA-256 of the canonical CSV is checked.

What could be tested only with a local stand-in of the official servers: the download itself, and
the conversion of the official files (see `dpbook.data._official`).  Reading a folder of canonical
CSVs is tested on the real answers, digests included.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpbook._validation import choice
from dpbook.data import _official
from dpbook.data.answers import SurveyAnswers

__all__ = ["DATASETS", "Dataset", "DatasetError", "dataset_text", "load_comparisons"]


class DatasetError(RuntimeError):
    """A data set cannot be had, or is not the one expected."""


@dataclass(frozen=True)
class Dataset:
    """One line of the registry.

    Parameters
    ----------
    url : str
        The official file, pinned to one version.
    sha256 : str
        Digest of the canonical CSV (not of the official file).
    convert : callable
        From the bytes of the official file to the canonical CSV.
    source, licence : str
        Citation, and terms.
    """

    url: str
    sha256: str
    convert: Callable[[bytes], str]
    source: str
    licence: str


_GITHUB = "https://raw.githubusercontent.com/cran"
_BRADLEYTERRY2 = f"{_GITHUB}/BradleyTerry2/a6ce24eeadb1eafe36c336c27567a47e9d8e2e7a/data"
_PREFMOD = f"{_GITHUB}/prefmod/33d8401d754373640426cdb04d1ca004e1989b43/data"
_UNIVERSITIES = ("London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm")
_STATEMENTS = ("crimRate", "position", "socBurd", "culture")

DATASETS: dict[str, Dataset] = {
    "cems": Dataset(
        url=f"{_BRADLEYTERRY2}/CEMS.R",
        sha256="a06a8b551aafa1ed0e1841cc9b45b5ea33b1f7f5a26675f8dc4c304f990c60c8",
        convert=_official.from_bradleyterry2,
        source="Dittrich, Hatzinger and Katzenbeisser (1998, 2001), R package BradleyTerry2 1.1.3",
        licence="GPL (>= 2)",
    ),
    "cems_1998": Dataset(
        url=f"{_PREFMOD}/cemspc.RData",
        sha256="eaa7e85f871dc88a51ebdb8aa1fd66321a7aedb3122f1fb63f57115f858fc9e0",
        convert=partial(
            _official.from_prefmod,
            name="cemspc",
            items=_UNIVERSITIES,
            codes={0: "a", 1: "tie", 2: "b"},
        ),
        source="Dittrich, Hatzinger and Katzenbeisser (1998), R package prefmod 0.8-36",
        licence="GPL (>= 2)",
    ),
    "immigration": Dataset(
        url=f"{_PREFMOD}/immig.RData",
        sha256="8b157714bea36d88a6d3a1bff12da150e137e3dd43b3141c30515737cb081811",
        convert=partial(
            _official.from_prefmod,
            name="immig",
            items=_STATEMENTS,
            codes={1: "a", 0: "tie", -1: "b"},
        ),
        source="Weber and Hatzinger (2011), R package prefmod 0.8-36",
        licence="GPL (>= 2)",
    ),
}
"""Known respondent-level data sets by name."""


def load_comparisons(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    opener: Callable[[str], bytes] | None = None,
) -> SurveyAnswers:
    """Load the answers of every respondent of a survey.

    Parameters
    ----------
    name : {"cems", "cems_1998", "immigration"}
        Name of the survey.
    path : path-like, optional
        Folder to use instead of the one in ``DPBOOK_DATA``.
    opener : callable, optional
        From a URL to the bytes behind it; the standard library's HTTP client by default.

    Returns
    -------
    SurveyAnswers
        `comparisons` holds the decided answers, `table()` the aggregate.

    Raises
    ------
    ValueError
        If `name` is unknown.
    DatasetError
        If the data cannot be fetched, cannot be converted, or have another digest.

    Notes
    -----
    Places searched: the folder, the cache (``$XDG_CACHE_HOME/dpbook`` or ``~/.cache/dpbook``), the
    official source.  A folder may hold the canonical ``<name>.csv`` or the official file under its
    own name; with `path` no other place is searched.  Sources: Dittrich, Hatzinger and
    Katzenbeisser (1998, 2001); Weber and Hatzinger (2011).
    """
    text = dataset_text(name, path=path, opener=opener)
    dataset = DATASETS[name]
    return SurveyAnswers.from_csv(text, source=dataset.source, licence=dataset.licence)


def dataset_text(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    opener: Callable[[str], bytes] | None = None,
) -> str:
    """Return the verified canonical CSV of a data set; see `load_comparisons`."""
    choice("name", name, tuple(DATASETS))
    given = path if path is not None else os.environ.get("DPBOOK_DATA") or None
    if given is not None:
        text = _from_folder(name, Path(given))
        if text is not None:
            return text
        if path is not None:
            raise DatasetError(
                f"{Path(given)} holds neither {name}.csv nor {_official_name(name)}, "
                f"which is at {DATASETS[name].url}"
            )
    cached = _cache_folder() / f"{name}.csv"
    if cached.is_file():
        return _verified(name, cached.read_bytes(), f"{cached} (delete it to fetch it again)")
    return _fetch(name, cached, opener or _download)


def _official_name(name: str) -> str:
    return DATASETS[name].url.rsplit("/", 1)[1]


def _from_folder(name: str, folder: Path) -> str | None:
    """Read a data set from a folder; None when the folder does not hold it."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} (path, or DPBOOK_DATA) is not a folder")
    canonical, official = folder / f"{name}.csv", folder / _official_name(name)
    if canonical.is_file():
        return _verified(name, canonical.read_bytes(), str(canonical))
    if official.is_file():
        return _converted(name, official.read_bytes(), str(official))
    return None


def _fetch(name: str, cached: Path, opener: Callable[[str], bytes]) -> str:
    """Download, convert, verify and cache a data set."""
    url = DATASETS[name].url
    try:
        raw = opener(url)
    except (OSError, http.client.HTTPException) as error:
        raise DatasetError(
            f"cannot fetch {url} ({error}). Without a network: put that file, or {name}.csv, "
            "into a folder and name the folder in the environment variable DPBOOK_DATA"
        ) from error
    text = _converted(name, raw, url)
    _store(cached, text)
    return text


def _converted(name: str, raw: bytes, where: str) -> str:
    """Convert an official file and verify the result."""
    try:
        text = DATASETS[name].convert(raw)
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"reading {where} needs the package {error.name}: pip install 'dpbook[data]'"
        ) from error
    except (ValueError, IndexError) as error:
        raise DatasetError(f"{where} does not have the expected layout: {error}") from error
    return _verified(name, text.encode(), f"{name}.csv converted from {where}")


def _verified(name: str, content: bytes, where: str) -> str:
    """Return the text of a canonical CSV whose digest is the registered one."""
    expected, got = DATASETS[name].sha256, hashlib.sha256(content).hexdigest()
    if got != expected:
        raise DatasetError(f"SHA-256 of {where} is {got}; expected {expected}")
    return content.decode("utf-8")


def _cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say to ignore a relative path.
    return (base if base.is_absolute() else Path.home() / ".cache") / "dpbook"


def _store(target: Path, text: str) -> None:
    """Write a file in one step, so that an interruption never leaves half of it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise DatasetError(
            f"cannot write the cache file {target} ({error}); XDG_CACHE_HOME can name another place"
        ) from error


def _download(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as response:
        content: bytes = response.read()
    return content
