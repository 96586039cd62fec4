"""What a build is: the version of the book, the commit of its sources, the profile it ran at."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from dpbook import __version__
from dpbook.book.output import read_json, write_whole

#: Beside ``claims.json``: at which profile the pages ran, and how that came out.
FILE = "about.json"
CHANGED = "+changes"


def note(out: Path, profile: str, outcome: str) -> None:
    """Keep with a build of the whole book at which profile it ran, and how it came out.

    The outcome is ``passed``; ``moved`` if something is only not as kept; or ``failed``.
    """
    told = {"profile": profile, "outcome": outcome, "claims": sha256_of(out / "claims.json")}
    write_whole(out / FILE, json.dumps(told) + "\n")


def outcome(out: Path) -> tuple[str | None, str | None]:
    """Profile and outcome of the build of the whole book whose claims lie in `out`."""
    with contextlib.suppress(OSError, KeyError, TypeError):
        told = read_json(out / FILE)
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
        found["profile"] = str(read_json(out / FILE)["profile"])
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
