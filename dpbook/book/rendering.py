"""Render the HTML of the book with Jupyter Book, and put it in place whole."""

from __future__ import annotations

import fcntl
import re
import shutil
import sys
import tempfile
from pathlib import Path

from dpbook.book.children import run_python
from dpbook.book.output import STAGING, write_whole
from dpbook.book.runner import plain, python_path


def render(root: Path, out: Path, *, strict: bool) -> bool:
    """Render ``<out>/executed`` in place of ``<out>/html``; False, no change, if it fails."""
    environment = {"DPBOOK_OUT": str(out), "PYTHONPATH": python_path(root)}
    if not strict:
        environment["DPBOOK_PARTIAL"] = "1"  # pages that have not run may be shown as they are
    temporary = tempfile.TemporaryDirectory(prefix=STAGING, dir=out, ignore_cleanup_errors=True)
    with temporary as staging:
        arguments = ["build", str(root), "--all", "-q", "--path-output", staging]
        arguments += ["-n", "-W", "--keep-going"] if strict else []
        main = "jupyter_book.cli.main:main"
        done = run_python(main, arguments, environment=environment, cwd=root)
        log = plain(done.stdout)
        write_whole(out / "html.log", log)
        built = Path(staging, "_build", "html")
        if done.returncode != 0 or not (built / "index.html").is_file():
            lines = log.strip().splitlines()
            telling = [line for line in lines if re.search(r"WARNING|ERROR|CRITICAL", line)]
            print(*(telling or lines[-20:]), sep="\n", file=sys.stderr)
            print(
                f"the HTML could not be rendered; all output: {out / 'html.log'}", file=sys.stderr
            )
            return False
        _swap_in(built, out / "html")
        return True


def render_page(root: Path, out: Path, page: str) -> bool:
    """Render one executed page into ``<out>/html``; False, no change, if that fails.

    What Sphinx knows of the other pages stays in ``_build/run/.doctrees``; one at a time uses it.
    """
    cache = root / "_build" / "run" / ".doctrees"
    if not (cache / "environment.pickle").is_file():
        print("reading all pages, for titles and numbers; this is done once ...", flush=True)
    print("rendering the page ...", flush=True)
    environment = {"DPBOOK_OUT": str(out), "DPBOOK_PARTIAL": "1", "PYTHONPATH": python_path(root)}
    cache.mkdir(parents=True, exist_ok=True)
    temporary = tempfile.TemporaryDirectory(prefix=STAGING, dir=out, ignore_cleanup_errors=True)
    with temporary as staging, open(cache / ".lock", "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = [str(root), staging, str(cache), f"notebooks/{page}.ipynb"]
        main = "dpbook.book.one_page:main"
        done = run_python(main, words, environment=environment, cwd=root)
        write_whole(out / "html.log", plain(done.stdout))
        if done.returncode != 0 or not Path(staging, "notebooks", f"{page}.html").is_file():
            print(*plain(done.stdout).strip().splitlines()[-20:], sep="\n", file=sys.stderr)
            print(
                f"the page could not be rendered; all output: {out / 'html.log'}", file=sys.stderr
            )
            return False
        _swap_in(Path(staging), out / "html")
        Path(staging).mkdir()  # what is to be removed
        return True


def _swap_in(new: Path, place: Path) -> None:
    old = place.with_name(place.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)
