"""What the reproducers on the errata page print, computed when the page is built.

All of them run in one subprocess, each in a namespace of its own.  The result is kept in
``<out>/reproducers.json``, so that a build in which nothing changed runs nothing.  The subprocess
calls `main`, which reads the snippets from its standard input.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dpbook.book.children import run_python
from dpbook.book.keys import code_digest

CACHE = "reproducers.json"
TIMEOUT = 300.0  # seconds for all snippets together
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Result:
    """What one snippet did.

    Attributes
    ----------
    output : str
        What it printed.
    error : str or None
        Why this cannot be shown, None if it can.
    """

    output: str
    error: str | None = None


def is_python(code: str) -> bool:
    """Whether a reproducer is Python; otherwise it is a command of the shell."""
    try:
        compile(code, "reproducer", "exec")
    except SyntaxError:
        return False
    return True


def results(snippets: Mapping[str, str], root: Path, out: Path) -> dict[str, Result]:
    """The result of every snippet, from ``<out>/reproducers.json`` if that is up to date.

    Parameters
    ----------
    snippets : mapping of str to str
        Python code by name.
    root : Path
        Root of the book; the snippets run there and see its ``dpbook``.
    out : Path
        Output directory of the build.
    """
    if (kept := cached(snippets, root, out)) is not None:
        return kept
    key = _key(snippets, root)
    found = run(snippets, root)
    if not any(result.error for result in found.values()):
        from dpbook.book.runner import write_whole

        plain = {"key": key, "results": {name: asdict(result) for name, result in found.items()}}
        write_whole(out / CACHE, json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
    return found


def cached(snippets: Mapping[str, str], root: Path, out: Path) -> dict[str, Result] | None:
    """The kept results, None if there are none or anything that they depend on has changed."""
    try:
        kept = json.loads((out / CACHE).read_text(encoding="utf-8"))
        if kept["key"] == _key(snippets, root):
            return {name: Result(**fields) for name, fields in kept["results"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _key(snippets: Mapping[str, str], root: Path) -> str:
    """Hash of the snippets, of what every page depends on too, and of this module."""
    parts = [
        list(snippets.items()),
        code_digest(snippets.values(), root),
        Path(__file__).read_text("utf-8"),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def run(snippets: Mapping[str, str], root: Path, timeout: float = TIMEOUT) -> dict[str, Result]:
    """Run all snippets in one subprocess: warnings are errors, and it computes on one core.

    Parameters
    ----------
    snippets : mapping of str to str
        Python code by name.
    root : Path
        Working directory, and the first place to import from.
    timeout : float
        Seconds for all of them.
    """
    from dpbook.book.runner import FIXED_ENVIRONMENT  # heavy, and not for the subprocess

    if not snippets:
        return {}
    paths = [str(root), str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONWARNINGS": "error",
        **FIXED_ENVIRONMENT,
    }
    try:
        done = run_python(
            "dpbook.book.reproducers:main",
            environment=environment,
            input=json.dumps(dict(snippets)),
            cwd=root,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
        )
        found = {name: Result(**fields) for name, fields in json.loads(done.stdout).items()}
    except subprocess.TimeoutExpired:
        return dict.fromkeys(snippets, Result("", f"no result after {timeout:g} s"))
    except ValueError:  # the process itself came to an end
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        error = f"the process of all reproducers ended with status {done.returncode}: {said}"
        return dict.fromkeys(snippets, Result("", error))
    return found


def _run_one(name: str, code: str) -> Result:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except (Exception, SystemExit) as error:
        inside = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == name]
        place = f"line {inside[-1]}: " if inside else ""
        return Result(printed.getvalue(), f"{place}{type(error).__name__}: {error}")
    output = printed.getvalue()
    if not output.strip():
        return Result(output, "prints nothing")
    if _ADDRESS.search(output):
        return Result(output, "prints an address, which differs from run to run")
    return Result(output)


def main() -> None:
    """Run the snippets that standard input holds, in the subprocess."""
    snippets: dict[str, str] = json.load(sys.stdin)
    found = {name: asdict(_run_one(name, code)) for name, code in snippets.items()}
    json.dump(found, sys.stdout)
