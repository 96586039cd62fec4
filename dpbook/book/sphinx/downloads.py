"""Sphinx extension: what a reader takes along: each notebook, all of them as a zip, the package.

A notebook in the built book begins with a cell that says how to install what it needs.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbook import __version__
from dpbook.book.files import ABOUT, plain_entry
from dpbook.book.run.editions import notebook_of, this_edition
from dpbook.book.run.render import sources
from dpbook.book.sphinx.exercises import checks
from dpbook.book.sphinx.nodes import output_dir

FOLDER, ARCHIVE = "downloads", "notebooks.zip"
WHEEL = f"dpbook-{__version__}-py3-none-any.whl"  # as pip calls it
_log = logging.getLogger(__name__)


#: What only this book has, and what JupyterLab shows in its place.
_OURS = (
    (r"```\{page-opens\}", "```{admonition} On this page"),
    (r"```\{remember\}", "```{admonition} To remember"),
    (r"```\{claim\} ([^\n]+)\n:title: ([^\n]+)", r"```{admonition} \2 (\1)"),
    (r"```\{claim\} ([^\n]+)", r"```{admonition} \1"),
    (r"```\{(?:try|answer)\} [^\n]+\n(?::[^\n]+\n)*", "```python\n"),
    (r":level: (\w+)\n:minutes: (\d+)\n", r"\n*\1, \2 minutes*\n\n"),
    (r"\{(?:page|badge|claim-ref)\}`!?(?:([^`<]+) <[^`>]+>|([^`]+))`", r"\1\2"),
)


def readable(text: str) -> str:
    """The Markdown of a cell without the directives and roles that only this book knows."""
    for ours, theirs in _OURS:
        text = re.sub(ours, theirs, text)
    return text


def with_advice(notebook: dict[str, Any], wheel: str) -> dict[str, Any]:
    """The same notebook, which begins with how to run it."""
    words = (
        f'*To run this page: take `{ARCHIVE}` and `{wheel}` from the page "How to read and rerun '
        f'this book", unpack the archive (checks look for its `book/claims.yml`), then '
        f"`pip install '{wheel}[book,lab]'` and `jupyter lab`, which shows boxes and links, too.*"
    )
    cell = {"cell_type": "markdown", "id": "how-to-run", "metadata": {}, "source": [words]}
    cells = [part for one in notebook["cells"] for part in parts(one)]
    return notebook | {"cells": [cell, *cells]}


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
        source += f"grade({check.solved})"
        made: dict[str, Any] = {"cell_type": "code", "id": f"check-{check.name}", "outputs": []}
        made |= {"execution_count": None, "source": source}
        yield made | {"metadata": {"tags": ["exercise-check"]}}
        begin = check.end
        cell = cell | {"id": f"after-{check.name}"}
    if (rest := readable(text[begin:])).strip():
        yield cell | {"source": rest}


def serve(app: Sphinx, exception: Exception | None) -> None:
    """On ``build-finished``: advice in the sources, the zip and the wheel under ``downloads``."""
    whole = (output_dir(app.srcdir) / ABOUT).is_file()
    if exception or app.builder.format != "html" or not whole:
        return
    out, root, name = Path(app.outdir), sources(app.srcdir), WHEEL
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in sorted((out / "_sources" / "notebooks").glob("*.ipynb")):
            committed = (root / "notebooks" / path.name).read_text(encoding="utf-8")
            shown = notebook_of(json.loads(committed), this_edition())
            text = json.dumps(with_advice(shown, name), indent=1) + "\n"
            path.write_text(text, encoding="utf-8")
            zipped.writestr(plain_entry(f"notebooks/{path.name}"), text)
        ledger = (root / "book" / "claims.yml").read_text(encoding="utf-8")
        zipped.writestr(plain_entry("book/claims.yml"), ledger)
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / ARCHIVE).write_bytes(archive.getvalue())
    if not (root / "pyproject.toml").is_file():
        return  # pages without the package's source
    with tempfile.TemporaryDirectory() as made:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
        build += ["--no-build-isolation", "--disable-pip-version-check", "-w", made]
        build += [str(root)]
        past = os.environ | {"SOURCE_DATE_EPOCH": "315532800"}
        done = subprocess.run(build, capture_output=True, text=True, env=past, check=False)
        if done.returncode or not Path(made, name).is_file():
            _log.warning("the wheel was not built: %s", done.stderr.strip()[-300:])
            return
        (folder / name).write_bytes(plain_archive(Path(made, name)))


def plain_archive(path: Path) -> bytes:
    """The same archive, its files readable by all: their modes depend on who builds."""
    made = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for one in old.infolist():
            new.writestr(plain_entry(one.filename), old.read(one))
    return made.getvalue()


class DownloadsDirective(SphinxDirective):
    """``{downloads}``: links to the package and to all notebooks."""

    def run(self) -> list[nodes.Node]:
        here = self.env.app.builder.get_relative_uri(self.env.docname, "index")
        items = nodes.bullet_list()
        held = {WHEEL: "the package", ARCHIVE: "all notebooks, with the ledger"}
        for name, words in held.items():
            html = f'<a href="{here.removesuffix("index.html")}{FOLDER}/{name}" download>{name}</a>'
            line = (nodes.raw("", html, format="html"), nodes.Text(f": {words}"))
            items += nodes.list_item("", nodes.paragraph("", "", *line))
        return [items]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", serve)
    app.add_directive("downloads", DownloadsDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
