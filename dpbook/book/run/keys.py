"""What a page, and the whole HTML, depend on, as a hash; a page with the same key need not run.

A page depends on its code and on the modules that its imports reach; not on its prose.
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
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from dpbook.book.files import about, read_json, words
from dpbook.book.ledger.claims import entries_of, raw_entries
from dpbook.book.pages import Page, PageError
from dpbook.book.run.editions import EDITIONS, place
from dpbook.book.run.surroundings import FIXED

# What a cell can see of its claims; the other fields are only shown.
_CLAIM_FIELDS = tuple("id kind status verdict evidence scope report severity rebuilt".split())
# How the statements of a package begin that only hands out what its modules hold.
_ONLY_IMPORTS = ("import ", "from ", "__all__ = ", '"', "'")
_PINS = ("requirements.txt", "requirements.lock")
#: What the HTML is made from, and the package in its downloads; last what may lie in `_build`.
_FOLDERS = ("book", "dpbook", "notebooks", "LICENSES", "proofs")
_FILES = ("_config.yml", "_toc.yml", "CITATION.cff", "README.md", "pyproject.toml", *_PINS)
_RESULTS = ("_build/live.json",)
#: What lies beside the certificates in the HTML to check them again.
CHECKERS = ("tools/verify_certificate.*", "tools/derive_laws.py", "tools/export_certificates.py")


def page_keys(
    page: Page, settings: Iterable[Any], root: Path, sources: Iterable[str] | None = None
) -> list[str]:
    """For each of several settings a hash of all that a page at it depends on.

    Its imports are those of its cells, or of `sources`; what all settings share is read once.
    """
    modules = reached(page.code_cells if sources is None else sources, root)
    folders = {module.parent for module in modules}
    data = [p for folder in folders for p in folder.glob("*") if p.suffix != ".py"]
    below = digest(root, [*modules, *data, *(root / name for name in _PINS)])
    ledger = root / "book" / "claims.yml"
    entries = raw_entries(ledger) if ledger.is_file() else []  # the check of the ledger reports it
    mine = entries_of(page.name, "\n".join(page.code_cells), entries)
    claims = [[str(entry.get(field)) for field in _CLAIM_FIELDS] for entry in mine]
    claims += [[entry["id"], entry["formal"]["scope"]] for entry in mine if "formal" in entry]
    here = environment(root)
    parts = ([page.code_cells, dict(one), claims, below, here, FIXED] for one in settings)
    return [hashlib.sha256(json.dumps(p, sort_keys=True).encode()).hexdigest() for p in parts]


def _kept(folder: Path) -> list[Path]:
    """The files below a folder without caches."""
    paths = [(path, path.relative_to(folder).parts) for path in folder.rglob("*")]
    return [p for p, names in paths if not any(n.startswith((".", "__pyc")) for n in names)]


def html_key(root: Path, out: Path, edition: str = EDITIONS[0]) -> str:
    """Hash of all that the HTML of an edition depends on, what lies in `out` included."""
    below = [*(root / name for name in _FOLDERS), out / "executed", out / "certificates"]
    paths = [path for folder in (*below, out / "proofs") for path in _kept(folder)]
    paths += [root / name for name in (*_FILES, *_RESULTS)] + [*root.glob("LICENSE*")]
    paths += [path for name in CHECKERS for path in root.glob(name)]
    paths.append(out / "claims.json")
    text = f"{edition} {words(about(root, out))} {environment(root)} {digest(root, paths)}"
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


def stamp_of(executed: Path) -> dict[str, Any]:
    """What the runner wrote into an executed copy; empty if there is none."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return dict(read_json(executed)["metadata"]["dpbook"])
    return {}


def digest(root: Path, paths: Iterable[Path]) -> str:
    """A hash of the names and contents of files."""
    found = hashlib.sha256()
    for path in sorted(filter(Path.is_file, set(paths))):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{os.path.relpath(path, root)}\0{content}\n".encode())
    return found.hexdigest()


def reached(sources: Iterable[str], root: Path) -> set[Path]:
    """The files of ``dpbook`` that some sources import, directly or through each other."""
    files: set[Path] = set()
    plain = (re.sub(r"(?m)^\s*[%!].*$", "", source) for source in sources)  # no magic of IPython
    todo = [p for s in plain for name in _imports(s, "a cell")[0] for p in _files(name, root)]
    while todo:
        if (path := todo.pop()) not in files:
            files.add(path)
            names, *_ = _imports(path.read_text(encoding="utf-8"), str(path))
            todo += [p for name in names for p in _files(name, root)]
    return files


@lru_cache(maxsize=1024)
def _imports(source: str, where: str) -> tuple[list[str], dict[str, str], bool]:
    """The names of ours that a source imports; those that a package hands out, and if only them."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        line = f"line {error.lineno}: {(error.text or '').strip()!r}"
        raise PageError(f"{where} is not valid Python: {error.msg} in {line}") from None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    pairs = [
        (f"{getattr(n, 'module', '')}.{a.name}".lstrip("."), a) for n in nodes for a in n.names
    ]
    names = [name for name, _ in pairs if name.startswith("dpbook.")]
    if not where.endswith("__init__.py"):
        return names, {}, False
    alone = all(ast.unparse(node).startswith(_ONLY_IMPORTS) for node in tree.body)
    return names, {alias.asname or alias.name: name for name, alias in pairs}, alone


def _files(name: str, root: Path) -> Iterator[Path]:
    """The files behind the dotted name of a module, or of something in a module or package."""
    stem = root.joinpath(*name.split("."))
    path = next(filter(Path.is_file, (stem.with_suffix(".py"), stem / "__init__.py")), None)
    if path:
        yield path
    elif "." in name:
        package, _, last = name.rpartition(".")
        for path in _files(package, root):
            _, handed, alone = _imports(path.read_text(encoding="utf-8"), str(path))
            if last in handed:
                yield from _files(handed[last], root)
            if last not in handed or not alone:
                yield path
