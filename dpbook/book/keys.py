"""What a page, and the whole HTML, depend on, as a hash.

The runner writes the key of a page into its executed copy; a page whose key is still the same need
not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.pages import Page

# Modules that move pages about but cannot change what a page computes.
_MACHINERY = {
    f"dpbook/book/{name}.py"
    for name in (
        "build",
        "children",
        "cli",
        "keys",
        "linkcheck",
        "lock",
        "output",
        "pages",
        "parameters",
        "rendering",
        "report",
        "reproducers",
        "runner",
        "sphinx_ext",
        "performance",
    )
} | {"dpbook/__main__.py"}
# What a cell can see of its claims; the other fields are only shown.
_CLAIM_FIELDS = ("id", "kind", "status", "verdict", "tier", "report")
_PINS = ("requirements.txt", "constraints.txt")


def surroundings_digest(root: Path) -> str:
    """Hash of what every page depends on: the modules, the data tables, the pins, the Python."""
    digest = hashlib.sha256(platform.python_version().encode())
    package = root / "dpbook"
    inputs = [p for p in package.rglob("*.py") if p.relative_to(root).as_posix() not in _MACHINERY]
    inputs += [p for p in (package / "data").rglob("*") if p.is_file() and p.suffix != ".py"]
    _add_files(digest, root, [*inputs, *(root / name for name in _PINS)])
    return digest.hexdigest()


def page_key(page: Page, parameters: Mapping[str, Any], surroundings: str, root: Path) -> str:
    """Hash of all that the outputs of a page depend on.

    Parameters
    ----------
    page : Page
    parameters : mapping
        Effective value of every parameter.
    surroundings : str
        From `surroundings_digest`.
    root : Path
        Root of the book; the ledger's entries for this page are read from it.
    """
    notebook = json.loads(page.path.read_text(encoding="utf-8"))
    cells = [(c["cell_type"], "".join(c["source"]), c["metadata"]) for c in notebook["cells"]]
    parts = [cells, dict(parameters), _claims_of(page, root), surroundings]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _claims_of(page: Page, root: Path) -> list[dict[str, Any]]:
    path = root / "book" / "claims.yml"
    if not path.is_file():
        return []
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    except yaml.YAMLError:
        return []  # the ledger check reports it
    mine = [e for e in entries if isinstance(e, dict) and e.get("notebook") == page.name]
    return [{field: str(entry.get(field)) for field in _CLAIM_FIELDS} for entry in mine]


def _add_files(digest: hashlib._Hash, root: Path, paths: Iterable[Path]) -> None:
    for path in sorted(set(paths)):
        if path.is_file() and "__pycache__" not in path.parts:
            name = os.path.relpath(path, root)
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{name}\0{content}\n".encode())


def stamp_of(executed: Path) -> dict[str, Any]:
    """What the runner wrote into an executed copy; empty if there is none."""
    try:
        stamp = json.loads(executed.read_text(encoding="utf-8"))["metadata"]["dpbook"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def html_key(root: Path, out: Path) -> str:
    """Hash of all that the HTML of the book depends on, what lies in `out` included."""
    digest = hashlib.sha256(platform.python_version().encode())
    folders = [(root / "book", "*"), (root / "notebooks", "*.ipynb"), (root / "dpbook", "*.py")]
    paths = [path for folder, glob in folders for path in folder.rglob(glob)]
    paths += [root / name for name in ("_config.yml", "_toc.yml", "_build/bench.json", *_PINS)]
    paths += [*(out / "executed").rglob("*.ipynb"), out / "claims.json"]
    _add_files(digest, root, paths)
    return digest.hexdigest()
