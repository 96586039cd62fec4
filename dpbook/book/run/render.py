"""Stage the sources of an edition with what has run, render them, and put the HTML in place whole.

The staged tree is a book of its own: pages with what their cells showed, without the solutions in a
student's, and in its ``_build`` what the pages found.  It stays with what Sphinx read of it in
``sphinx/`` below the build, so that only what changed is read again.
"""

from __future__ import annotations

import fcntl
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.files import ABOUT, OLD, STAGING, claim_folder, write_whole
from dpbook.book.pages import read_notebook
from dpbook.book.run import errata
from dpbook.book.run.editions import EDITIONS, VARIABLE, arranged, notebook_of, place, toc_of
from dpbook.book.run.runner import plain, python_path

#: What the book is made from besides its notebooks, and what a build or a tool found.
_SOURCES = ("_config.yml", "CITATION.cff", "book")
_FOUND = ("claims.json", ABOUT, "certificates", "proofs", f"executed/{errata.NAME}.ipynb")
_RESULTS = ("live.json",)
_POINTER = "sources"
#: The tag of the cell in which papermill sets parameters.
INJECTED = "injected-parameters"
_TELLING = re.compile(r"WARNING|ERROR|CRITICAL")


def render(root: Path, out: Path, edition: str = EDITIONS[0], workers: int = 1) -> bool:
    """Render what `out` holds as the HTML of an edition; whether there was nothing to complain of.

    What Sphinx warns of is listed and does not keep the HTML from its place; a page that has not
    run, and an error of Sphinx itself, do.
    """
    here = place(out, edition)
    here.mkdir(exist_ok=True)
    cache = out / "sphinx" / edition
    with _staging(here) as name:
        problems = stage(root, [out], cache / "source", edition)
        html = Path(name, "html")
        done = _sphinx(root, cache, html, problems, [f"-j{workers}", "-a"])
        return _put(done, html, "index.html", here)


def render_page(root: Path, out: Path, page: str) -> bool:
    """Render one executed page into ``<out>/html``; whether there was nothing to complain of.

    The rest is as the last build of the book left it in ``_build``.
    """
    whole = claim_folder(root / "_build")
    cache = whole / "sphinx" / EDITIONS[0]
    if not (cache / "doctrees" / "environment.pickle").is_file():
        print("reading all pages, for titles and numbers; this is done once ...", flush=True)
    print("rendering the page ...", flush=True)
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".lock", "a", encoding="utf-8") as lock, _staging(out) as name:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stage(root, [out, whole], cache / "source", EDITIONS[0])
        html = Path(name, "html")
        file = cache / "source" / "notebooks" / f"{page}.ipynb"
        done = _sphinx(root, cache, html, [], [str(file)])
        return _put(done, html, f"notebooks/{page}.html", out, only=page)


def sphinx_build() -> None:
    """Plain Sphinx on a staged tree: cache, HTML, more; with the settings of Jupyter Book."""
    from jupyter_book.config import get_final_config
    from sphinx.cmd.build import main

    cache, html, *more = sys.argv[1:]
    source = Path(cache, "source")
    options: dict[str, Any] = {"latex_individualpages": False}
    config, _ = get_final_config(
        user_yaml=source / "_config.yml", cli_config=options, sourcedir=source
    )
    lines = [f"{name} = {value!r}\n" for name, value in config.items() if "latex" not in name]
    _write(source / "conf.py", "".join(lines))
    words = ["-b", "html", "-q", "-n", "-d", f"{cache}/doctrees", str(source), html]
    sys.exit(main([*words, *more]))


def stage(root: Path, outs: Sequence[Path], source: Path, edition: str) -> list[str]:
    """Make the tree that Sphinx reads; a line for each page that has not run as it is now.

    A page that ran in several of the builds `outs` is taken from the first.
    """
    _copy(root, source, _SOURCES)
    _copy(outs[-1], source / "_build", _FOUND)
    _copy(root / "_build", source / "_build", _RESULTS)
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    _write(source / "_toc.yml", yaml.safe_dump(toc_of(toc, edition), sort_keys=False))
    _write(source / "_build" / _POINTER, str(root))
    problems = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        page = read_notebook(path)
        copies = [out / "executed" / "notebooks" / path.name for out in outs]
        executed = next(filter(Path.is_file, copies), None)
        shown = executed and with_outputs(page, read_notebook(executed))
        if not shown:
            how = "was edited after it was executed" if executed else "has not been executed"
            problems.append(f"{path}: ERROR: {how}")
        text = json.dumps(arranged(notebook_of(shown or page, edition)))
        _write(source / "notebooks" / path.name, text)
    return problems


def with_outputs(page: Mapping[str, Any], executed: Mapping[str, Any]) -> dict[str, Any] | None:
    """A page as it is written now, with what its cells showed; None if its code ran otherwise."""
    given = [cell for cell in executed["cells"] if INJECTED in _tags(cell)]
    ran = [cell for cell in _code(executed) if cell not in given]
    sources = [["".join(cell["source"]) for cell in one] for one in (ran, _code(page))]
    if sources[0] != sources[1]:
        return None
    left = iter(ran)
    cells: list[Any] = []
    for cell in page["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        cells.append(cell | {"outputs": next(left)["outputs"]})
        if "parameters" in _tags(cell):
            cells += given
    return {**page, "cells": cells, "metadata": executed["metadata"]}


def _code(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in page["cells"] if cell["cell_type"] == "code"]


def _tags(cell: Mapping[str, Any]) -> list[str]:
    return list(cell["metadata"].get("tags", []))


def sources(staged: str | Path) -> Path:
    """The folder that a tree was staged from; the tree itself if it was not."""
    pointer = Path(staged, "_build", _POINTER)
    return Path(pointer.read_text("utf-8")) if pointer.is_file() else Path(staged)


def _copy(here: Path, there: Path, names: Sequence[str]) -> None:
    """Copy files and folders, with their times, so that Sphinx sees what changed."""
    for name in names:
        if (here / name).is_dir():
            shutil.rmtree(there / name, ignore_errors=True)
            shutil.copytree(here / name, there / name)
        elif (here / name).is_file():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(here / name, there / name)


def _write(path: Path, text: str) -> None:
    """Write a file if it says something else, so that Sphinx does not read it for nothing."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_whole(path, text)


def _staging(here: Path) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=STAGING, dir=here, ignore_cleanup_errors=True)


def _sphinx(
    root: Path, cache: Path, html: Path, problems: list[str], words: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run Sphinx on a staged tree, if nothing is wrong with it; what it says names the sources."""
    if problems:
        return subprocess.CompletedProcess("", 1, stdout="\n".join(problems))
    done = run_python(
        f"{__name__}:sphinx_build",
        [str(cache), str(html), *words],
        environment={"PYTHONPATH": python_path(root), VARIABLE: cache.name},
        cwd=root,
    )
    source = f"{cache / 'source'}{os.sep}"
    done.stdout = plain(done.stdout).replace(source, f"{root}{os.sep}")
    return done


def _put(
    done: subprocess.CompletedProcess[str], html: Path, proof: str, here: Path, only: str = ""
) -> bool:
    """Keep what was said, put the HTML in the place of the old if there is one, and tell.

    Of a page alone, `only`, what is said of the others is left out: they have not run.
    """
    write_whole(here / "html.log", done.stdout)
    log = f"all that was said is in {here / 'html.log'}"
    said = done.stdout.strip().splitlines()
    told = [line for line in complaints(here) if only in line]
    if done.returncode or not (html / proof).is_file():
        print(*(told or said[-20:]), sep="\n", file=sys.stderr)
        print(
            f"the HTML could not be rendered, the previous book is as it was; {log}",
            file=sys.stderr,
        )
        return False
    _replace(here / "html", html)
    if told:
        print(*told, sep="\n", file=sys.stderr)
        print(f"the HTML is made, with {len(told)} warnings; {log}", file=sys.stderr)
    return not told


def complaints(here: Path) -> list[str]:
    """What Sphinx complained of when it made the HTML in a folder."""
    log = here / "html.log"
    said = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return [line for line in said if _TELLING.search(line)]


def _replace(there: Path, new: Path) -> None:
    """Put a folder in the place of another, which is not lost if that fails."""
    old = there.with_name(OLD)
    shutil.rmtree(old, ignore_errors=True)
    if there.exists():
        there.rename(old)
    try:
        new.rename(there)
    except OSError:
        if old.exists():
            old.rename(there)
        raise
    shutil.rmtree(old, ignore_errors=True)


def run_python(
    call: str, arguments: Sequence[str], *, environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Call ``"module:function"`` with `arguments` in ``sys.argv``, in a Python of its own.

    It does not outlive us: its standard input is a pipe that nobody writes to, and that closes
    however this process ends.
    """
    with subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import child; child()", call, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
        cwd=cwd,
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        return subprocess.CompletedProcess(process.args, process.wait(), printed)


def child() -> None:
    """What such a Python does."""

    def end_with_the_parent() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=end_with_the_parent, daemon=True).start()
    del sys.argv[0]
    pkgutil.resolve_name(sys.argv[0])()
