"""What a page, and the whole HTML, depend on, as a hash; a page with the same key need not run.

A page depends on its own module and on all of the science: a build takes minutes.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from dpbook.book.files import about, read_json, words
from dpbook.book.ledger.claims import entries_of, raw_entries
from dpbook.book.pages import Page, PageError
from dpbook.book.run.editions import EDITIONS, place

# What a cell can see of its claims; the other fields are only shown.
_CLAIM_FIELDS = tuple("id kind status verdict tier scope report severity rebuilt".split())
_PINS = ("requirements.txt", "requirements.lock")
#: What the HTML is made from, and the package in its downloads; last what may lie in `_build`.
_FOLDERS = ("book", "dpbook", "notebooks", "LICENSES")
_FILES = ("_config.yml", "_toc.yml", "CITATION.cff", "README.md", "pyproject.toml", *_PINS)
_RESULTS = ("_build/bench.json", "_build/live.json")


def page_keys(page: Page, settings: Iterable[Any], root: Path) -> list[str]:
    """For each of several settings a hash of all that a page at it depends on."""
    cells = [(c["cell_type"], "".join(c["source"]), c["metadata"]) for c in page.notebook["cells"]]
    files = inputs(page.code_cells, root)
    below = _digest(root, [*files, *(root / name for name in _PINS)])
    ledger = root / "book" / "claims.yml"
    entries = raw_entries(ledger) if ledger.is_file() else []  # the check of the ledger reports it
    mine = entries_of(page.name, "\n".join(page.code_cells), entries)
    claims = [[str(entry.get(field)) for field in _CLAIM_FIELDS] for entry in mine]
    here = environment(root)
    parts = ([cells, dict(parameters), claims, below, here] for parameters in settings)
    return [hashlib.sha256(json.dumps(p, sort_keys=True).encode()).hexdigest() for p in parts]


def inputs(sources: Iterable[str], root: Path) -> list[Path]:
    """The files of the package that code may use, its data too: all but machinery that runs around
    it and other pages' modules.  A `PageError` if the code, or one of these, is no Python."""
    found, cells = [], list(sources)
    for cell in cells:
        _refuse_no_python(re.sub(r"(?m)^\s*[%!].*$", "", cell), "a cell")  # no magic of IPython
    for path in _kept(root / "dpbook"):
        match path.relative_to(root / "dpbook").parts:
            case ("book", "run" | "sphinx" | "live" | "cli.py", *_):
                continue
            case ("pages", _) if not re.search(rf"\b{path.stem}\b", "\n".join(cells)):
                continue
        found.append(path)
        if path.suffix == ".py":
            _refuse_no_python(path.read_text(encoding="utf-8"), str(path))
    return found


@lru_cache(maxsize=1024)
def _refuse_no_python(source: str, where: str) -> None:
    try:
        ast.parse(source)
    except SyntaxError as error:
        line = f"line {error.lineno}: {(error.text or '').strip()!r}"
        raise PageError(f"{where} is not valid Python: {error.msg} in {line}") from None


def _kept(folder: Path) -> list[Path]:
    """The files below a folder without caches."""
    paths = [(path, path.relative_to(folder).parts) for path in folder.rglob("*")]
    return [p for p, names in paths if not any(n.startswith((".", "__pyc")) for n in names)]


def html_key(root: Path, out: Path, edition: str = EDITIONS[0]) -> str:
    """Hash of all that the HTML of an edition depends on, what lies in `out` included."""
    below = [*(root / name for name in _FOLDERS), out / "executed", out / "certificates"]
    paths = [path for folder in below for path in _kept(folder)]
    paths += [root / name for name in (*_FILES, *_RESULTS)] + [*root.glob("LICENSE*")]
    paths.append(out / "claims.json")
    text = f"{edition} {words(about(root, out))} {environment(root)} {_digest(root, paths)}"
    return hashlib.sha256(text.encode()).hexdigest()


def stored_key(here: Path) -> str | None:
    """The key of the HTML that lies in a folder; None if there is none."""
    key = here / "html.key"
    return key.read_text(encoding="utf-8") if key.is_file() else None


def refuse_stale(root: Path, out: Path, edition: str = EDITIONS[0]) -> None:
    """A `PageError` if the HTML of an edition was made from other sources than those in `root`."""
    if stored_key(place(out, edition)) != html_key(root, out, edition):
        raise PageError(
            f"the book in {out} is missing or is older than its sources: `make book` first"
        )


def environment(root: Path) -> dict[str, str]:
    """What runs here: the Python, and the installed versions of all that the pins of a book name.

    What a page reaches is pinned, so that another version of it makes the page run again.
    """
    texts = [path.read_text("utf-8") for name in _PINS if (path := root / name).is_file()]
    names = {_plain(name) for text in texts for name in re.findall(r"(?m)^([\w.-]+)==", text)}
    python = f"{platform.python_implementation()} {platform.python_version()}"
    installed = _installed(tuple(sys.path))
    return {"python": python} | {name: installed[name] for name in sorted(names & {*installed})}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@lru_cache(maxsize=8)
def _installed(path: tuple[str, ...]) -> dict[str, str]:
    found = reversed([*metadata.distributions(path=list(path))])  # the first of a name is imported
    return {_plain(one.name): one.version for one in found}


def environment_of(out: Path) -> dict[str, str]:
    """What the pages of a build ran with, as their copies say; else, or if not one, `PageError`."""
    copies = sorted((out / "executed").rglob("*.ipynb"))
    found = [stamp_of(path).get("environment") for path in copies]
    if not found or not found[0] or any(one != found[0] for one in found):
        raise PageError(f"the pages in {out} do not say one environment that they ran in")
    return dict(found[0])


def stamp_of(executed: Path) -> dict[str, Any]:
    """What the runner wrote into an executed copy; empty if there is none."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return dict(read_json(executed)["metadata"]["dpbook"])
    return {}


def _digest(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, set(paths))):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{os.path.relpath(path, root)}\0{content}\n".encode())
    return digest.hexdigest()
