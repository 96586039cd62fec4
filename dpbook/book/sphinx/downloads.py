"""Sphinx extension: what a reader takes along: each notebook, all of them with the package.

A notebook in the built book begins with a cell that says how to install what it needs.  All that
is needed to check the proofs again lies in a folder, where the pages find it too, and in a zip.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from dpbook.book.files import ABOUT, plain_entry
from dpbook.book.live.bundle import package_files
from dpbook.book.run.editions import notebook_of, this_edition
from dpbook.book.run.keys import CHECKERS
from dpbook.book.run.render import sources
from dpbook.book.sphinx import nodes as own
from dpbook.book.sphinx.exercises import checks

ARCHIVE = Path("downloads", "notebooks.zip")
PROOFS = Path("downloads", "proofs")
#: What pip needs of the project besides the package.
_PROJECT = ("pyproject.toml", "README.md", "LICENSE", "LICENSES/*")

#: What only this book has, and what JupyterLab shows in its place.
_OURS = (
    (r"```\{page-opens\}", "```{admonition} On this page"),
    (r"```\{remember\}", "```{admonition} To remember"),
    (r"```\{claim\} ([^\n]+)\n:title: ([^\n]+)", r"```{admonition} \2 (\1)"),
    (r"```\{claim\}", "```{admonition}"),
    (r"```\{(?:try|answer)\} [^\n]+\n(?::[^\n]+\n)*", "```python\n"),
    (r":level: (\w+)\n:minutes: (\d+)\n", r"\n*\1, \2 minutes*\n\n"),
    (r"\{(?:page|badge|claim-ref)\}`!?(?:([^`<]+) <[^`>]+>|([^`]+))`", r"\1\2"),
)


def readable(text: str) -> str:
    """The Markdown of a cell without the directives and roles that only this book knows."""
    for ours, theirs in _OURS:
        text = re.sub(ours, theirs, text)
    return text


def with_advice(notebook: dict[str, Any]) -> dict[str, Any]:
    """The same notebook, which begins with how to run it."""
    words = (
        f'*To run this page: take `{ARCHIVE.name}` from the page "How to read and rerun this '
        f"book\", unpack it, then there `pip install '.[book,lab]'` and `jupyter lab`, which shows "
        f"boxes and links, too.*"
    )
    cell = {"cell_type": "markdown", "id": "how-to-run", "metadata": {}, "source": [words]}
    return notebook | {"cells": [cell, *(p for one in notebook["cells"] for p in parts(one))]}


def parts(cell: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A cell as a notebook server shows it: an editor with a check becomes a cell to run."""
    if cell["cell_type"] != "markdown":
        yield cell
        return
    text, begin = "".join(cell["source"]), 0
    for check in checks(text):
        if before := readable(text[begin : check.begin]).strip("\n"):
            yield cell | {"source": before}
        source = f"{check.template}\n# the check\nfrom dpbook.book import grade\n\n"
        yield {
            **{"cell_type": "code", "id": f"check-{check.name}", "outputs": []},
            **{"metadata": {"tags": ["exercise-check"]}, "execution_count": None},
            "source": f"{source}grade({check.solved})",
        }
        begin, cell = check.end, cell | {"id": f"after-{check.name}"}
    if (rest := readable(text[begin:])).strip():
        yield cell | {"source": rest}


def serve(app: Sphinx, exception: Exception | None) -> None:
    """On ``build-finished``: advice in the sources; they, the ledger and the package as a zip."""
    if exception or app.builder.format != "html":
        return
    out, root, found = Path(app.outdir), sources(app.srcdir), own.output_dir(app.srcdir)
    serve_proofs(root, found, out / PROOFS)
    if not (found / ABOUT).is_file():
        return
    files: dict[str, str | bytes] = {}
    for path in sorted((out / "_sources" / "notebooks").glob("*.ipynb")):
        committed = (root / "notebooks" / path.name).read_text(encoding="utf-8")
        shown = notebook_of(json.loads(committed), this_edition())
        files[f"notebooks/{path.name}"] = text = json.dumps(with_advice(shown), indent=1) + "\n"
        path.write_text(text, encoding="utf-8")
    files["book/claims.yml"] = (root / "book" / "claims.yml").read_text(encoding="utf-8")
    project = (path for name in _PROJECT for path in sorted(root.glob(name)))
    ours = [*((path.relative_to(root).as_posix(), path) for path in project), *package_files(root)]
    files |= {name: path.read_bytes() for name, path in ours}
    write_zip(out / ARCHIVE, files)


def serve_proofs(root: Path, found: Path, there: Path) -> None:
    """A folder with all that a proof in whole numbers needs to be checked again, and as a zip."""
    names = (*CHECKERS, "proofs/*.md", "proofs/*.v")
    paths = [path for name in names for path in sorted(root.glob(name))]
    paths += [found / "claims.json", *sorted(found.glob("proofs/*.v"))]
    files = {path.name: path.read_bytes() for path in paths if path.is_file()}
    for path in sorted(found.glob("certificates/*.json")):
        files[f"certificates/{path.name}"] = path.read_bytes()
    for name, content in files.items():
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes(content)
    write_zip(there.with_suffix(".zip"), files)


def write_zip(path: Path, files: Mapping[str, str | bytes]) -> None:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as target:
        for name, content in files.items():
            target.writestr(plain_entry(name), content)
