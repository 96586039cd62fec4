"""Render the HTML of the book with Jupyter Book, and put it in place whole."""

from __future__ import annotations

import fcntl
import re
import shutil
import sys
import tempfile
from pathlib import Path

import yaml

from dpbook.book.output import OLD, STAGING, claim_folder, write_whole
from dpbook.book.run.children import run_python
from dpbook.book.run.editions import EDITIONS, VARIABLE, place, toc_of
from dpbook.book.run.runner import plain, python_path

STAGE = "{stage}"  # in a command: the folder that is made for it


def render(root: Path, out: Path, edition: str = EDITIONS[0]) -> bool:
    """Render ``<out>/executed`` in place of an edition's HTML; False, no change, if it fails."""
    words = ["build", str(root), "--all", "-q", "-n", "-W", "--keep-going", "--path-output", STAGE]
    if edition != EDITIONS[0]:
        toc = place(out, edition) / "toc.yml"
        toc.parent.mkdir(exist_ok=True)
        whole = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
        write_whole(toc, yaml.safe_dump(toc_of(whole, edition), sort_keys=False))
        words += ["--toc", str(toc)]
    call = "jupyter_book.cli.main:main"
    log = _staged(root, out, call, words, built="_build/html", proof="index.html", edition=edition)
    if log is not None:
        telling = [line for line in log if re.search(r"WARNING|ERROR|CRITICAL", line)]
        _refuse("HTML", telling or log[-20:], place(out, edition))
    return log is None


def render_page(root: Path, out: Path, page: str) -> bool:
    """Render one executed page into ``<out>/html``; False, no change, if that fails.

    What Sphinx knows of the other pages stays in ``_build/run/.doctrees``; one at a time uses it.
    """
    cache = claim_folder(root / "_build") / "run" / ".doctrees"
    if not (cache / "environment.pickle").is_file():
        print("reading all pages, for titles and numbers; this is done once ...", flush=True)
    print("rendering the page ...", flush=True)
    cache.mkdir(parents=True, exist_ok=True)
    words = [str(root), f"{STAGE}/html", str(cache), f"notebooks/{page}.ipynb"]
    partial = {"DPBOOK_PARTIAL": "1"}  # pages that have not run may be shown as they are
    with open(cache / ".lock", "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call = "dpbook.book.run.one_page:main"
        proof = f"notebooks/{page}.html"
        log = _staged(root, out, call, words, built="html", proof=proof, **partial)
    if log is not None:
        _refuse("page", log[-20:], out)  # warnings about other pages would hide the reason
    return log is None


def _staged(
    root: Path,
    out: Path,
    call: str,
    words: list[str],
    *,
    built: str,
    proof: str,
    edition: str = EDITIONS[0],
    **more: str,
) -> list[str] | None:
    """Render in a folder of its own, for `STAGE` in the words, and swap it in; else the log."""
    environment = {"DPBOOK_OUT": str(out), "PYTHONPATH": python_path(root)} | more
    environment[VARIABLE], here = edition, place(out, edition)
    temporary = tempfile.TemporaryDirectory(prefix=STAGING, dir=here, ignore_cleanup_errors=True)
    with temporary as staging:
        arguments = [word.replace(STAGE, staging) for word in words]
        done = run_python(call, arguments, environment=environment, cwd=root)
        log = plain(done.stdout)
        write_whole(here / "html.log", log)
        made = Path(staging, built)
        if done.returncode == 0 and (made / proof).is_file():
            _swap_in(made, here / "html")
            return None
    return log.strip().splitlines()


def _refuse(what: str, lines: list[str], out: Path) -> None:
    print(*lines, sep="\n", file=sys.stderr)
    print(f"the {what} could not be rendered; all output: {out / 'html.log'}", file=sys.stderr)


def _swap_in(new: Path, place: Path) -> None:
    old = place.with_name(OLD)
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
