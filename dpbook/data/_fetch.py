"""Find, fetch, convert and verify the files behind a respondent-level data set.

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
from pathlib import Path

from dpbook import _validation as check
from dpbook.data._registry import DATASETS

__all__ = ["DatasetError", "dataset_text", "has_dataset"]


class DatasetError(RuntimeError):
    """A data set cannot be had, or is not the one expected."""


def dataset_text(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    opener: Callable[[str], bytes] | None = None,
) -> str:
    """Return the verified canonical CSV of a data set; see `dpbook.data.load_comparisons`."""
    check.choice("name", name, tuple(DATASETS))
    given = path if path is not None else os.environ.get("DPBOOK_DATA") or None
    if given is not None:
        found = _in_folder(name, Path(given))
        if found == (Path(given) / f"{name}.csv",):
            return _verified(name, found[0].read_bytes(), str(found[0]))
        if found is not None:
            where = ", ".join(map(str, found))
            return _converted(name, [file.read_bytes() for file in found], where)
        if path is not None:
            dataset = DATASETS[name]
            raise DatasetError(
                f"{Path(given)} holds neither {name}.csv nor {', '.join(dataset.files)}, "
                f"to be had at {', '.join(dataset.urls)}"
            )
    cached = _cache_folder() / f"{name}.csv"
    if cached.is_file():
        return _verified(name, cached.read_bytes(), f"{cached} (delete it to fetch it again)")
    return _fetch(name, cached, opener or _download)


def has_dataset(name: str) -> bool:
    """Tell whether ``DPBOOK_DATA`` or the cache holds a data set; never touches the network.

    Raises
    ------
    ValueError
        If `name` is unknown.
    DatasetError
        If ``DPBOOK_DATA`` is not a folder.
    """
    check.choice("name", name, tuple(DATASETS))
    folder = os.environ.get("DPBOOK_DATA")
    needed = [name] + [f"{name}_titles"] * (DATASETS[name].kind == "ratings")
    return all(
        bool(folder and _in_folder(file, Path(folder)))
        or (_cache_folder() / f"{file}.csv").is_file()
        for file in needed
    )


def _in_folder(name: str, folder: Path) -> tuple[Path, ...] | None:
    """Find the canonical file or the official ones in a folder; None when it holds neither."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} (path, or DPBOOK_DATA) is not a folder")
    canonical = folder / f"{name}.csv"
    if canonical.is_file():
        return (canonical,)
    official = tuple(folder / file for file in DATASETS[name].files)
    return official if all(file.is_file() for file in official) else None


def _fetch(name: str, cached: Path, opener: Callable[[str], bytes]) -> str:
    """Download, convert, verify and cache a data set."""
    raws = []
    for url in DATASETS[name].urls:
        try:
            raws.append(opener(url))
        except (OSError, http.client.HTTPException) as error:
            raise DatasetError(
                f"cannot fetch {url} ({error}). Without a network: put "
                f"{', '.join(DATASETS[name].files)}, or {name}.csv, into a folder and name the "
                "folder in the environment variable DPBOOK_DATA"
            ) from error
    text = _converted(name, raws, ", ".join(DATASETS[name].urls))
    _store(cached, text)
    return text


def _converted(name: str, raws: list[bytes], where: str) -> str:
    """Convert the official files and verify the result."""
    try:
        text = DATASETS[name].convert(*raws)
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"reading {where} needs the package {error.name}: pip install 'dpbook[data]'"
        ) from error
    except (ValueError, LookupError) as error:
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
