"""Find, fetch, convert and verify the files behind a respondent-level data set.

Files and servers are not trusted.  Nothing larger than `MAX_BYTES` is read, and where the registry
pins the digest of an official file, nothing of it is parsed before that digest is right.  Of the
other official files only the result is pinned, so that their converters read bytes that nobody has
vouched for; whatever goes wrong on the way ends as a `DatasetError` that says what to do.

The download itself is tested only with a local stand-in of the official servers.  Reading a folder
of canonical CSVs is tested on the real answers, digests included.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import queue
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from dpbook import _validation as check
from dpbook.data._official import MAX_BYTES
from dpbook.data._registry import DATASETS

__all__ = ["DatasetError", "dataset_text", "has_dataset"]

#: Seconds without a byte, and seconds for a whole file, after which a server is given up.
SILENCE, DEADLINE = 30.0, 300.0


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
    # An integer is a file descriptor to the operating system, and nobody means one.
    if path is not None and not isinstance(path, str | os.PathLike):
        raise ValueError(f"path must be a folder's name (str or path-like), got {path!r}")
    given = path if path is not None else os.environ.get("DPBOOK_DATA") or None
    if given is not None:
        found = _in_folder(name, Path(given))
        if found == (Path(given) / f"{name}.csv",):
            return _verified(name, found[0], _advice(name))
        if found is not None:
            raws = [_read(file, _advice(name)) for file in found]
            return _converted(name, raws, [*map(str, found)])
        if path is not None:
            dataset = DATASETS[name]
            raise DatasetError(
                f"{Path(given)} holds neither {name}.csv nor {', '.join(dataset.files)}, "
                f"to be had at {', '.join(dataset.urls)}"
            )
    cached = _cache_folder() / f"{name}.csv"
    if os.path.isfile(cached):
        return _verified(name, cached, "Delete it to fetch it again")
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
        or os.path.isfile(_cache_folder() / f"{file}.csv")
        for file in needed
    )


def _in_folder(name: str, folder: Path) -> tuple[Path, ...] | None:
    """Find the canonical file or the official ones in a folder; None when it holds neither."""
    # os.path, not pathlib: a folder that may not be entered holds nothing, and is no error.
    if not os.path.isdir(folder):
        raise DatasetError(f"{folder} (path, or DPBOOK_DATA) is not a folder: {_advice(name)}")
    canonical = folder / f"{name}.csv"
    if os.path.isfile(canonical):
        return (canonical,)
    official = tuple(folder / file for file in DATASETS[name].files)
    return official if all(map(os.path.isfile, official)) else None


def _advice(name: str) -> str:
    """Say what helps whatever went wrong: the file, from the right place, in a folder."""
    dataset = DATASETS[name]
    return (
        f"put {', '.join(dataset.files)} (from {', '.join(dataset.urls)}), or {name}.csv, into a "
        "folder and name the folder in the environment variable DPBOOK_DATA"
    )


def _read(file: Path, advice: str) -> bytes:
    """Return the bytes of a file of allowed size."""
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise DatasetError(f"cannot read {file} ({error}). {advice}") from error
    if len(content) > MAX_BYTES:
        raise DatasetError(f"{file} has more than {MAX_BYTES} bytes: a wrong file. {advice}")
    return content


def _fetch(name: str, cached: Path, opener: Callable[[str], bytes]) -> str:
    """Download, convert, verify and cache a data set."""
    raws = []
    for url in DATASETS[name].urls:
        try:
            raws.append(_allowed(opener(url)))
        except Exception as error:
            # An opener is the caller's, and the network's: whatever it raises, there is no file.
            raise DatasetError(
                f"cannot fetch {url} ({error}). Without a network: {_advice(name)}"
            ) from error
    text = _converted(name, raws, list(DATASETS[name].urls))
    _store(cached, text)
    return text


def _allowed(content: object) -> bytes:
    """Return what an opener gave if it is a file of allowed size."""
    if not isinstance(content, bytes):
        raise TypeError(f"the opener returned {type(content).__name__}; expected bytes")
    if len(content) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes; no official file is as large")
    return content


def _converted(name: str, raws: list[bytes], places: list[str]) -> str:
    """Convert the official files, each of the registered digest if there is one."""
    dataset, where = DATASETS[name], ", ".join(places)
    if dataset.raw_sha256:
        for raw, digest, place in zip(raws, dataset.raw_sha256, places, strict=True):
            _same_digest(raw, digest, place, f"It is damaged, or another version; {_advice(name)}")
    try:
        text = dataset.convert(*raws)
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"reading {where} needs the package {error.name}: pip install 'dpbook[data]'"
        ) from error
    except Exception as error:
        # The bytes may be anything; every way in which a parser can stumble over them is one fault.
        raise DatasetError(
            f"{where} does not have the expected layout: {error or type(error).__name__}. "
            f"It is damaged, or another version; {_advice(name)}"
        ) from error
    made = f"{name}.csv converted from {where}"
    _same_digest(text.encode(), dataset.sha256, made, _advice(name))
    return text


def _verified(name: str, file: Path, advice: str) -> str:
    """Return the text of a canonical CSV whose digest is the registered one."""
    content = _read(file, advice)
    _same_digest(content, DATASETS[name].sha256, str(file), advice)
    return content.decode("utf-8")


def _same_digest(content: bytes, expected: str, where: str, advice: str) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise DatasetError(f"SHA-256 of {where} is {got}; expected {expected}. {advice}")


def _cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say to ignore a relative path.
    if base.is_absolute():
        return base / "dpbook"
    try:
        return Path.home() / ".cache" / "dpbook"
    except RuntimeError as error:
        raise DatasetError(f"{error}; XDG_CACHE_HOME can name the folder of the cache") from error


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
    """Return what stands at an address, or raise before `DEADLINE` is over.

    A time limit of a socket is one for each read: a server that drips may keep a reader for ever,
    in the name look-up, the head or the body. So the reading is left to a thread, which is
    abandoned when time is up.
    """
    until, answer = time.monotonic() + DEADLINE, queue.SimpleQueue[bytes | Exception]()

    def read() -> None:
        try:
            answer.put(_body(url, until))
        except Exception as error:
            answer.put(error)

    threading.Thread(target=read, name="dpbook-download", daemon=True).start()
    try:
        content = answer.get(timeout=DEADLINE)
    except queue.Empty:
        content = _too_slow()
    if isinstance(content, Exception):
        raise content
    return content


def _body(url: str, until: float) -> bytes:
    """Read an answer as long as there is time and it is not above the limit."""
    content = bytearray()
    with urllib.request.urlopen(url, timeout=SILENCE) as response:
        promised = response.length  # None when the server does not say
        end = MAX_BYTES + 1 if promised is None else min(promised, MAX_BYTES + 1)
        while len(content) < end:
            # One read of the socket at most; read() would wait for all that was asked for.
            part = response.read1(min(end - len(content), 2**16))
            if time.monotonic() >= until:
                raise _too_slow()
            if not part:
                break
            content += part
    if promised is not None and len(content) < end:
        raise http.client.IncompleteRead(bytes(content), promised - len(content))
    return bytes(content)


def _too_slow() -> TimeoutError:
    return TimeoutError(f"no complete answer within {DEADLINE:g} seconds")
