"""The files of a build: its folder, ours by a marker; one build at a time; what it is."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpbook import __version__
from dpbook.book.pages import PageError

MARKER = ".dpbook"
STAGING = "staging-"
OLD = "html.old"  # the book while the next one takes its place


def directory(text: str) -> Path:
    """A folder that a command was given; a ValueError if there is no name at all."""
    if not text.strip():
        raise ValueError
    return Path(text)


def claim_folder(out: Path) -> Path:
    """Make `out` a folder for builds; a `PageError` if it holds anything but their work."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        found = sorted(path.name for path in out.iterdir())
        if found and MARKER not in found:
            shown = ", ".join(found[:3]) + ", ..." * (len(found) > 3)
            made = f"{out} holds files that no build of this book made ({shown})"
            advice = "name an empty or a new folder, or move them away"
            raise PageError(f"{made}, and a build deletes what it finds; {advice}")
        words = "Made by dpbook: builds of the book replace and delete what lies in this folder.\n"
        (out / MARKER).write_text(words, encoding="utf-8")  # also proves that we may write
    except OSError as error:
        raise PageError(f"{out} cannot be written to: {error.strerror or error}") from None
    return out


@contextlib.contextmanager
def sole_build(root: Path, out: Path) -> Iterator[None]:
    """Hold the folder for one build, and clean up after a killed one; `PageError` if it is busy."""
    if root / "_build" in out.parents:
        claim_folder(root / "_build")  # which this build would otherwise make, without the marker
    with open(claim_folder(out) / ".lock", "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            busy = f"another build is at work in {out} (process {lock.read().strip() or 'unknown'})"
            raise PageError(f"{busy}; wait for it, or name another folder with --output") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        for left in out.glob(f"{STAGING}*"):
            shutil.rmtree(left, ignore_errors=True)
        if (out / OLD).exists() and not (out / "html").exists():  # killed between two renamings
            (out / OLD).rename(out / "html")
        yield


def read_json(path: Path) -> Any:
    """What a file of JSON holds; None if it is missing or torn."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def plain_entry(name: str) -> zipfile.ZipInfo:
    """A compressed file of an archive that says nothing of when and by whom it was made."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o100644 << 16
    return entry


#: Beside ``claims.json``: at which profile the pages ran, and how that came out.
ABOUT = "about.json"
CHANGED = "+changes"


def note(out: Path, profile: str, outcome: str) -> None:
    """Keep with a build of the whole book at which profile it ran, and how it came out.

    The outcome is ``passed``; ``moved`` if something is only not as kept; or ``failed``.
    """
    told = {"profile": profile, "outcome": outcome, "claims": sha256_of(out / "claims.json")}
    write_whole(out / ABOUT, json.dumps(told) + "\n")


def outcome(out: Path) -> tuple[str | None, str | None]:
    """Profile and outcome of the build of the whole book whose claims lie in `out`."""
    with contextlib.suppress(OSError, KeyError, TypeError):
        told = read_json(out / ABOUT)
        if told["claims"] == sha256_of(out / "claims.json"):
            return str(told["profile"]), str(told["outcome"])
    return None, None


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def about(root: Path, out: Path) -> dict[str, str]:
    """Version, commit and profile; the last two only where they are known."""
    found = {"version": __version__}
    if known := commit(root):
        found["commit"] = known
    with contextlib.suppress(KeyError, TypeError):  # a page alone, or an earlier version's build
        found["profile"] = str(read_json(out / ABOUT)["profile"])
    return found


def commit(root: Path) -> str | None:
    """The commit of the sources, ``DPBOOK_COMMIT`` first; `CHANGED` follows if files differ."""
    if given := os.environ.get("DPBOOK_COMMIT", "").strip():
        return given if re.fullmatch(r"[\w.+-]{1,60}", given) else None
    if not (root / ".git").exists():
        return None
    name = git(root, "rev-parse", "--short=12", "HEAD")
    changed = git(root, "status", "--porcelain", "-uno")
    return None if name is None else name + CHANGED * bool(changed)


def git(root: Path, *words: str) -> str | None:
    """What a command of git prints; None if it fails, or there is no git."""
    if shutil.which("git") is None:
        return None
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def words(found: dict[str, str]) -> str:
    """The same in a line: ``version 0.1.0, commit 0123456789ab, profile default``."""
    return ", ".join(f"{name} {value}" for name, value in found.items())


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder to this machine only, at a free port; gives the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def send_error(self, code: int, *words: Any) -> None:
            if self.path != "/favicon.ico":  # browsers ask for it by themselves
                return super().send_error(code, *words)
            self.send_response(204)
            self.end_headers()

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
