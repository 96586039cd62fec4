"""The house in numbers: lines of each package, its public names, and which pages use each name.

`make house` prints it.  A name counts as used by a page if the page, or the module of that page,
imports it or takes it as an attribute of a package.  Names that the API story carries without two
pages are listed in `STORY`, each with its reason.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGES = (
    "data",
    "models",
    "estimators",
    "mechanisms",
    "privacy",
    "rankers",
    "errors",
    "lower_bounds",
    "simulation",
    "release",
    "book",
)


def cells(page: Path) -> str:
    """The code of a notebook, without the commands of IPython."""
    lines = []
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            text = "".join(cell["source"]).splitlines()
            lines += ["" if line.lstrip()[:1] in ("%", "!") else line for line in text]
    return "\n".join(lines)


def taken(source: str) -> Iterator[tuple[str, str]]:
    """Pairs of package and name that a source takes from ``dpbook``."""
    tree, packages = ast.parse(source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpbook"):
            parts = str(node.module).split(".")
            for alias in node.names:
                if len(parts) == 1:
                    packages[alias.asname or alias.name] = alias.name
                yield (parts[1] if len(parts) > 1 else alias.name), alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "dpbook" and len(parts) > 1 and alias.asname:
                    packages[alias.asname] = parts[1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in packages:
                yield packages[node.value.id], node.attr


def users(root: Path) -> dict[tuple[str, str], set[str]]:
    """Pages by package and name."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for page in sorted((root / "notebooks").glob("*.ipynb")):
        number, _, slug = page.stem.partition("-")
        sources = [cells(page)]
        own = root / "dpbook" / "pages" / f"{slug.replace('-', '_')}.py"
        if own.is_file():
            sources.append(own.read_text(encoding="utf-8"))
        for source in sources:
            for key in taken(source):
                found[key].add(number)
    return found


def lines_of(paths: Iterator[Path]) -> int:
    """Lines of some modules together."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def main(root: Path) -> int:
    """Print the house; return 1 if a public name has no reader at all."""
    found, total, names, idle = users(root), 0, 0, []
    for package in PACKAGES:
        folder, single = root / "dpbook" / package, root / "dpbook" / f"{package}.py"
        if not folder.is_dir() and not single.is_file():
            continue
        module = importlib.import_module(f"dpbook.{package}")
        public = list(getattr(module, "__all__", ()))
        count = lines_of(folder.rglob("*.py")) if folder.is_dir() else lines_of(iter([single]))
        total, names = total + count, names + len(public)
        print(f"\n{package}: {count} lines, {len(public)} public names")
        for name in sorted(public, key=str.lower):
            pages = sorted(found[package, name])
            if not pages:
                idle.append(f"{package}.{name}")
            print(f"    {name:34} {len(pages):2}  {' '.join(pages)}")
    root_lines = lines_of((root / "dpbook").glob("*.py"))
    own = lines_of((root / "dpbook" / "pages").glob("*.py"))
    used = [len(pages) for pages in found.values()]
    print(f"\nwithout dpbook/pages: {total + root_lines} lines, {names} public names")
    modules = len(list((root / "dpbook" / "pages").glob("*.py"))) - 1
    print(f"dpbook/pages: {own} lines in {modules} modules")
    print(f"names that one page alone takes: {used.count(1)}")
    print(f"public names that no page takes: {len(idle)}  {' '.join(idle)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1]))
