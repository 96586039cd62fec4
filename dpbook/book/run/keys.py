"""What a page, and the whole HTML, depend on, as a hash; a page with the same key need not run.

A page depends on the modules that its imports reach and on no others.
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
from collections.abc import Iterable, Iterator, Mapping
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
# How the statements of a package begin that only hands out what its modules hold.
_ONLY_IMPORTS = ("import ", "from ", "__all__ = ", '"', "'")
_PINS = ("requirements.txt", "requirements.lock")
#: What the HTML is made from, and the package in its downloads; last what may lie in `_build`.
_FOLDERS = ("book", "dpbook", "notebooks", "LICENSES")
_FILES = ("_config.yml", "_toc.yml", "CITATION.cff", "README.md", "pyproject.toml", *_PINS)
_RESULTS = ("_build/bench.json", "_build/live.json")


def page_key(
    page: Page, parameters: Mapping[str, Any], root: Path, sources: Iterable[str] | None = None
) -> str:
    """Hash of all that a page depends on; its imports are those of its cells, or of `sources`."""
    return page_keys(page, [parameters], root, sources)[0]


def page_keys(
    page: Page,
    settings: Iterable[Mapping[str, Any]],
    root: Path,
    sources: Iterable[str] | None = None,
) -> list[str]:
    """The same for several settings; what does not depend on them is read once."""
    cells = [(c["cell_type"], "".join(c["source"]), c["metadata"]) for c in page.notebook["cells"]]
    modules = reached(page.code_cells if sources is None else sources, root)
    folders = {module.parent for module in modules}
    data = [p for folder in folders for p in folder.glob("*") if p.suffix != ".py"]
    below = _digest(root, [*modules, *data, *(root / name for name in _PINS)])
    ledger = root / "book" / "claims.yml"
    entries = raw_entries(ledger) if ledger.is_file() else []  # the check of the ledger reports it
    mine = entries_of(page.name, "\n".join(page.code_cells), entries)
    claims = [{field: str(entry.get(field)) for field in _CLAIM_FIELDS} for entry in mine]
    here = environment(root)
    parts = ([cells, dict(parameters), claims, below, here] for parameters in settings)
    return [hashlib.sha256(json.dumps(p, sort_keys=True).encode()).hexdigest() for p in parts]


def html_key(root: Path, out: Path, edition: str = EDITIONS[0]) -> str:
    """Hash of all that the HTML of an edition depends on, what lies in `out` included."""
    paths = [path for name in _FOLDERS for path in _below(root / name)]
    paths += [root / name for name in (*_FILES, *_RESULTS)] + [*root.glob("LICENSE*")]
    paths += [*_below(out / "executed"), *_below(out / "certificates"), out / "claims.json"]
    told = f"{edition} {words(about(root, out))} {environment(root)} {_digest(root, paths)}"
    return hashlib.sha256(told.encode()).hexdigest()


def refuse_stale(root: Path, out: Path, edition: str = EDITIONS[0]) -> None:
    """A `PageError` if the HTML of an edition was made from other sources than those in `root`."""
    key = place(out, edition) / "html.key"
    if not key.is_file() or key.read_text(encoding="utf-8") != html_key(root, out, edition):
        raise PageError(f"the book in {out} is older than its sources: `make book` first")


def environment(root: Path) -> dict[str, str]:
    """What runs here: the Python, and the installed versions of all that the pins of a book name.

    What a page reaches is pinned, so that another version of it makes the page run again.
    """
    texts = [path.read_text("utf-8") for name in _PINS if (path := root / name).is_file()]
    pinned = {_plain(name) for text in texts for name in re.findall(r"(?m)^([\w.-]+)==", text)}
    found = {name: version for name, version in _installed(tuple(sys.path)) if name in pinned}
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"python": python} | dict(sorted(found.items()))


@lru_cache(maxsize=4)
def _installed(path: tuple[str, ...]) -> list[tuple[str, str]]:
    found = [(_plain(str(one.metadata["Name"])), one.version) for one in metadata.distributions()]
    return found[::-1]  # what comes first on the path is what is imported


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def environment_of(out: Path) -> dict[str, str]:
    """What the pages of a build ran with, as their executed copies say.

    Raises
    ------
    PageError
        If a copy does not say it, or two say different things.
    """
    copies = sorted((out / "executed").rglob("*.ipynb"))
    found = [stamp_of(path).get("environment") for path in copies]
    if not found or not found[0] or any(one != found[0] for one in found):
        raise PageError(f"the pages in {out} do not say one environment that they ran in")
    return dict(found[0])


def stamp_of(executed: Path) -> dict[str, Any]:
    """What the runner wrote into an executed copy; empty if there is none."""
    with contextlib.suppress(KeyError, TypeError):
        stamp = read_json(executed)["metadata"]["dpbook"]
        return stamp if isinstance(stamp, dict) else {}
    return {}


def _below(folder: Path) -> list[Path]:
    """What lies below a folder, but for caches and what is hidden."""
    found = ((path, path.relative_to(folder).as_posix()) for path in folder.rglob("*"))
    return [path for path, name in found if not re.search(r"(^|/)(\.|__pycache__)", name)]


def _digest(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(set(paths)):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{os.path.relpath(path, root)}\0{content}\n".encode())
    return digest.hexdigest()


def reached(sources: Iterable[str], root: Path) -> set[Path]:
    """The files of ``dpbook`` that some sources import, directly or through each other."""
    found: set[Path] = set()
    # Without the lines that are commands of IPython.
    plain = (re.sub(r"(?m)^\s*[%!].*$", "", source) for source in sources)
    todo = [p for s in plain for name in _names(_tree(s, "a cell")) for p in _files(name, root)]
    while todo:
        if (path := todo.pop()) not in found:
            found.add(path)
            names = _names_in(path, path.stat().st_mtime_ns)
            todo += [file for name in names for file in _files(name, root)]
    return found


@lru_cache(maxsize=512)
def _parsed(path: Path, changed: int) -> ast.Module:
    return _tree(path.read_text(encoding="utf-8"), str(path))


def _tree(source: str, where: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = f"line {error.lineno}: {(error.text or '').strip()!r}"
        raise PageError(f"{where} is not valid Python: {error.msg} in {line}") from None


@lru_cache(maxsize=512)
def _names_in(path: Path, changed: int) -> tuple[str, ...]:
    return tuple(_names(_parsed(path, changed)))


def _names(tree: ast.Module) -> Iterator[str]:
    """The dotted names of this package that a source imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            names = (package + alias.name for alias in node.names)
            yield from (name for name in names if name.startswith("dpbook."))


def _files(name: str, root: Path) -> Iterator[Path]:
    """The files behind the dotted name of a module, or of something in a module or package."""
    stem = root.joinpath(*name.split("."))
    path = next(filter(Path.is_file, (stem.with_suffix(".py"), stem / "__init__.py")), None)
    if path or "." not in name:
        yield from [path] if path else []
        return
    module, _, last = name.rpartition(".")
    for path in _files(module, root):
        body = _parsed(path, path.stat().st_mtime_ns).body if path.name == "__init__.py" else []
        taken = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        if last in taken:
            yield from _files(taken[last], root)
        if last not in taken or not all(ast.unparse(n).startswith(_ONLY_IMPORTS) for n in body):
            yield path
