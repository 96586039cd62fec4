"""Stage the sources of an edition with what has run, render them, and put the HTML in place whole.

The staged tree is a book of its own: executed copies in the place of the notebooks, without the
solutions in a student's, and in its ``_build`` what the pages found.  Jupyter Book builds the whole
of it; for one page it gives Sphinx the settings.
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
_TELLING = re.compile(r"WARNING|ERROR|CRITICAL")


def render(root: Path, out: Path, edition: str = EDITIONS[0]) -> bool:
    """Render what `out` holds as the HTML of an edition; False, no change, if it fails."""
    here = place(out, edition)
    here.mkdir(exist_ok=True)
    with _staging(here) as name:
        folder, source = Path(name), Path(name, "source")
        problems = stage(root, out, source, edition)
        words = ["build", str(source), "--all", "-q", "-n", "-W", "--keep-going"]
        words += ["--path-output", str(folder)]
        done = _sphinx("jupyter_book.cli.main:main", words, root, source, edition, problems)
        if _put(done, folder / "_build" / "html", "index.html", here):
            return True
        lines = done.stdout.strip().splitlines()
        return _refuse("HTML", [x for x in lines if _TELLING.search(x)] or lines[-20:], here)


def render_page(root: Path, out: Path, page: str) -> bool:
    """Render one executed page into ``<out>/html``; False, no change, if that fails.

    What Sphinx knows of the other pages stays in ``_build/run``; one at a time uses it.
    """
    cache = claim_folder(root / "_build") / "run"
    doctrees, source = cache / ".doctrees", cache / ".source"
    if not (doctrees / "environment.pickle").is_file():
        print("reading all pages, for titles and numbers; this is done once ...", flush=True)
    print("rendering the page ...", flush=True)
    cache.mkdir(exist_ok=True)
    with open(cache / ".lock", "a", encoding="utf-8") as lock, _staging(out) as name:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stage(root, out, source, EDITIONS[0])
        words = [str(source), f"{name}/html", str(doctrees), f"notebooks/{page}.ipynb"]
        done = _sphinx(f"{__name__}:sphinx_build", words, root, source, EDITIONS[0], [])
        if _put(done, Path(name, "html"), f"notebooks/{page}.html", out):
            return True
    # warnings about other pages, which have not run, would hide the reason
    return _refuse("page", done.stdout.strip().splitlines()[-20:], out)


def sphinx_build() -> None:
    """Plain Sphinx on a staged tree: source, HTML, cache, file; with Jupyter Book's settings."""
    from jupyter_book.config import get_final_config
    from sphinx.cmd.build import main

    source, html, cache, file = sys.argv[1:]
    options: dict[str, Any] = {"latex_individualpages": False}
    here = Path(source)
    config, _ = get_final_config(user_yaml=here / "_config.yml", cli_config=options, sourcedir=here)
    lines = [f"{name} = {value!r}\n" for name, value in config.items() if "latex" not in name]
    write_whole(here / "conf.py", "".join(lines))
    sys.exit(main(["-b", "html", "-d", cache, source, html, str(here / file)]))


def stage(root: Path, out: Path, source: Path, edition: str) -> list[str]:
    """Make the tree that Sphinx reads; a warning for each page that has not run as it is now."""
    _copy(root, source, _SOURCES)
    _copy(out, source / "_build", _FOUND)
    _copy(root / "_build", source / "_build", _RESULTS)
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    _write(source / "_toc.yml", yaml.safe_dump(toc_of(toc, edition), sort_keys=False))
    _write(source / "_build" / _POINTER, str(root))
    problems = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        committed, executed = read_notebook(path), out / "executed" / "notebooks" / path.name
        shown = read_notebook(executed) if executed.is_file() else committed
        if not executed.is_file():
            problems.append(f"{path}: WARNING: has not been executed")
        if _cells(shown) != _cells(committed):
            problems.append(f"{path}: WARNING: was edited after it was executed; execute it again")
        _write(source / "notebooks" / path.name, json.dumps(arranged(notebook_of(shown, edition))))
    return problems


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


def _cells(notebook: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Kind and text of the cells, without the cell that papermill injects."""
    return [
        (cell["cell_type"], "".join(cell["source"]))
        for cell in notebook["cells"]
        if "injected-parameters" not in cell["metadata"].get("tags", [])
    ]


def _staging(here: Path) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=STAGING, dir=here, ignore_cleanup_errors=True)


def _sphinx(
    call: str, words: Sequence[str], root: Path, source: Path, edition: str, problems: list[str]
) -> subprocess.CompletedProcess[str]:
    """Run Sphinx on a staged tree, if nothing is wrong with it; what it says names the sources."""
    if problems:
        return subprocess.CompletedProcess(call, 1, stdout="\n".join(problems))
    surroundings = {"PYTHONPATH": python_path(root), VARIABLE: edition}
    done = run_python(call, words, environment=surroundings, cwd=root)
    done.stdout = plain(done.stdout).replace(f"{source}{os.sep}", f"{root}{os.sep}")
    return done


def _put(done: subprocess.CompletedProcess[str], html: Path, proof: str, here: Path) -> bool:
    """Keep what was said; put the HTML in the place of the old if there is one."""
    write_whole(here / "html.log", done.stdout)
    if done.returncode or not (html / proof).is_file():
        return False
    there, old = here / "html", here / OLD
    shutil.rmtree(old, ignore_errors=True)
    if there.exists():
        there.rename(old)
    try:
        html.rename(there)
    except OSError:
        if old.exists():
            old.rename(there)
        raise
    shutil.rmtree(old, ignore_errors=True)
    return True


def _refuse(what: str, lines: Sequence[str], out: Path) -> bool:
    print(*lines, sep="\n", file=sys.stderr)
    print(f"the {what} could not be rendered; all output: {out / 'html.log'}", file=sys.stderr)
    return False


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
