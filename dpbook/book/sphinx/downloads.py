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
from collections.abc import Iterator, Mapping
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


def with_advice(notebook: dict[str, Any], wheel: str) -> dict[str, Any]:
    """The same notebook, which begins with how to run it."""
    words = (
        f'*To run this page: take `{ARCHIVE}` and `{wheel}` from the page "How to read and rerun '
        f'this book", unpack the archive (checks look for its `book/claims.yml`), then '
        f"`pip install '{wheel}[book,lab]'` and `jupyter lab`, which shows boxes and links, too.*"
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
    """On ``build-finished``: advice in the sources, the zip and the wheel under ``downloads``."""
    whole = (output_dir(app.srcdir) / ABOUT).is_file()
    if exception or app.builder.format != "html" or not whole:
        return
    out, root = Path(app.outdir), sources(app.srcdir)
    files = {}
    for path in sorted((out / "_sources" / "notebooks").glob("*.ipynb")):
        committed = (root / "notebooks" / path.name).read_text(encoding="utf-8")
        shown = notebook_of(json.loads(committed), this_edition())
        files[f"notebooks/{path.name}"] = json.dumps(with_advice(shown, WHEEL), indent=1) + "\n"
        path.write_text(files[f"notebooks/{path.name}"], encoding="utf-8")
    files["book/claims.yml"] = (root / "book" / "claims.yml").read_text(encoding="utf-8")
    (out / FOLDER).mkdir(exist_ok=True)
    (out / FOLDER / ARCHIVE).write_bytes(archive(files))
    if (root / "pyproject.toml").is_file():  # else pages without the package's source
        with tempfile.TemporaryDirectory() as folder:
            build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "-w"]
            build += [folder, "--no-build-isolation", "--disable-pip-version-check", str(root)]
            past = os.environ | {"SOURCE_DATE_EPOCH": "315532800"}
            done = subprocess.run(build, capture_output=True, text=True, env=past, check=False)
            if done.returncode:
                words = f"the wheel was not built: {done.stderr.strip()[-300:]}"
                logging.getLogger(__name__).warning("%s", words)
            else:
                (out / FOLDER / WHEEL).write_bytes(plain_archive(Path(folder, WHEEL)))


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A zip of these files."""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(plain_entry(name), content)
    return zipped.getvalue()


def plain_archive(path: Path) -> bytes:
    """The same archive, its files readable by all: their modes depend on who builds."""
    with zipfile.ZipFile(path) as wheel:
        return archive({name: wheel.read(name) for name in wheel.namelist()})


class DownloadsDirective(SphinxDirective):
    """``{downloads}``: links to the package and to all notebooks."""

    def run(self) -> list[nodes.Node]:
        top = self.env.app.builder.get_relative_uri(self.env.docname, "index")
        items = nodes.bullet_list()
        for name, words in ((WHEEL, "the package"), (ARCHIVE, "all notebooks, with the ledger")):
            uri = f"{top.removesuffix('index.html')}{FOLDER}/{name}"
            link = nodes.raw("", f'<a href="{uri}" download>{name}</a>', format="html")
            items += nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(f": {words}")))
        return [items]
