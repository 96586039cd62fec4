"""Editions of the book: the teacher's, with folded solutions, and the student's, with none.

Both come from one source.  What a student does not get is taken out of the notebooks before
anything is made of them: pages, sources, search, downloads, and what runs in the browser.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbook.book.pages import Page, PageError

#: The first is built when none is named.
EDITIONS = ("teacher", "student")
ALL = "all"  # of them, where a build is asked for
#: Pages that only the teacher gets, as the table of contents names them.
FOR_TEACHERS = ("book/teaching",)
#: Names the edition to the extensions of Sphinx.
VARIABLE = "DPBOOK_EDITION"

_START = re.compile(r"^(`{3,}|:{3,})\{solution-start\}", re.MULTILINE)
_END = re.compile(r"^(`{3,}|:{3,})\{solution-end\}[^\n]*\n\1[^\n]*(\n|\Z)", re.MULTILINE)
_ANSWER = re.compile(r"^(`{3,}|:{3,})\{answer\}", re.MULTILINE)
_UNGATED = re.compile(r"^(`{3,}|:{3,})\{solution\}", re.MULTILINE)


def this_edition() -> str:
    """The edition that is being rendered."""
    return os.environ.get(VARIABLE) or EDITIONS[0]


def place(out: Path, edition: str) -> Path:
    """The folder for the HTML of an edition; what was executed is the same for all."""
    return out if edition == EDITIONS[0] else out / edition


def page_of(page: Page, edition: str) -> Page:
    """The page as an edition has it."""
    return replace(page, notebook=notebook_of(page.notebook, edition))


def notebook_of(notebook: Mapping[str, Any], edition: str) -> dict[str, Any]:
    """The notebook as an edition has it: the student's lacks all between the marks of a solution.

    A `PageError` if one has no end, or holds no code by its form; or for an answer outside of one.
    """
    if edition == EDITIONS[0]:
        return dict(notebook)
    cells, solving = [], False
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            cells += [cell] * (not solving)
            continue
        kept, solving = _question(text := "".join(cell["source"]), solving)
        if kept == text:
            cells.append(cell)
        elif kept.strip():
            cells.append(cell | {"source": kept.strip("\n").splitlines(keepends=True)})
    if solving:
        raise PageError("a {solution-start} has no {solution-end}: nothing would be left out")
    return dict(notebook) | {"cells": cells}


def arranged(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """The notebook as a reader sees it: the first figure, and then how the page prepares it.

    Folded cells without output, and the parameters, follow the first figure; every cell of code
    gets its number as a tag, so that a run in the browser finds it.
    """
    cells, moved, seen, figure = [], [], 0, False
    for cell in notebook["cells"]:
        shown = cell
        if cell["cell_type"] == "code":
            tags = cell["metadata"].get("tags", [])
            shown = cell | {"metadata": cell["metadata"] | {"tags": [*tags, f"code-{seen}"]}}
            seen += 1
            if not figure and {"hide-input", "parameters"} & {*tags} and not _shows(cell):
                moved.append(shown)
                continue
        cells += _apart(shown)
        if not figure and "figure" in cell["metadata"].get("mystnb", {}):
            figure, cells, moved = True, cells + moved, []
    at = next((k for k, cell in enumerate(cells) if cell["cell_type"] == "code"), len(cells))
    cells[at:at] = moved  # of a page without a figure
    return dict(notebook) | {"cells": cells}


def toc_of(toc: Any, edition: str) -> Any:
    """The table of contents, as read from its file, without the pages for teachers."""
    if edition == EDITIONS[0]:
        return toc
    if isinstance(toc, dict):
        return {key: toc_of(value, edition) for key, value in toc.items()}
    if isinstance(toc, list):
        return [toc_of(one, edition) for one in toc if one.get("file") not in FOR_TEACHERS]
    return toc


def _apart(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """A cell, and what moves its figure in a second one: every output of the first is captioned."""
    if "figure" not in cell["metadata"].get("mystnb", {}):
        return [cell]
    moves = [one for one in cell["outputs"] if "data-moving" in str(one.get("data", {}))]
    rest = [one for one in cell["outputs"] if one not in moves]
    control = cell | {"source": "#", "outputs": moves, "metadata": {"tags": ["remove-input"]}}
    control["id"] = f"{cell.get('id', '')}-control"
    return [cell | {"outputs": rest}, *[control] * bool(moves)]


def _shows(cell: Mapping[str, Any]) -> bool:
    """Whether a cell of code has an output besides numbers for sentences."""
    kinds = (kind for output in cell["outputs"] for kind in output.get("data", {"text": ""}))
    return any(not kind.startswith("application/papermill.record") for kind in kinds)


def _question(text: str, solving: bool) -> tuple[str, bool]:
    """What of a Markdown cell is not in a solution, and whether one is open at its end."""
    if _UNGATED.search(text):
        raise PageError("{solution} cannot be left out; use {solution-start} and {solution-end}")
    kept = ""
    while text:
        found = (_END if solving else _START).search(text)
        if not solving:
            kept += text[: found.start()] if found else text
        text = text[found.end() :] if found else ""
        solving ^= found is not None
    if _ANSWER.search(kept):
        raise PageError("an {answer} stands outside of its solution: it would not be left out")
    return kept, solving
