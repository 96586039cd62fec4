"""The reproducers of the errata as one page: its notebook is made here, and run like any other.

Each snippet is a cell with a namespace of its own; one that cannot be shown fails the page, after
all have run.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbformat.v4 import new_code_cell, new_notebook

from dpbook.book.ledger.claims import Claim
from dpbook.book.pages import Page, outputs
from dpbook.book.run.keys import page_keys

if TYPE_CHECKING:
    from dpbook.book.run.runner import Job

NAME = "errata"
#: The type under which what a snippet did lies in the outputs of its cell.
MIME = "application/vnd.dpbook.reproducer+json"


def snippets(ledger: Iterable[Claim]) -> dict[str, str]:
    """The reproducers of all errata, by the id of the claim."""
    return {claim.id: claim.reproducer or "" for claim in ledger if claim.is_erratum}


def executed_copy(out: Path) -> Path:
    """Where the executed page lies: beside those that the book shows."""
    return out / "executed" / f"{NAME}.ipynb"


def job(codes: Mapping[str, str], root: Path, out: Path) -> Job:
    """The page of these snippets; beside itself it depends on what they import."""
    from dpbook.book.run.runner import Job  # heavy, and not for Sphinx

    cells = [new_code_cell(inspect.getsource(show), id="show")]
    for name, code in codes.items():  # a cell has no dots in its id
        place = re.sub(r"[^a-zA-Z0-9-]", "-", name)
        cells.append(new_code_cell(f"show({name!r}, {code!r})", id=place))
    page = Page(NAME, "Errata", {}, new_notebook(cells=cells))
    (key,) = page_keys(page, [{}], root, sources=codes.values())
    return Job(page, {}, key, executed_copy(out), complaint)


def show(name: str, code: str) -> None:
    """Run a snippet and display what it did; this text is the first cell of the notebook."""
    import contextlib
    import io
    import re
    import traceback
    import warnings

    from IPython.display import display

    printed, error = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(action="error"):
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except (Exception, SystemExit) as raised:
        trace = traceback.extract_tb(raised.__traceback__)
        lines = [frame.lineno for frame in trace if frame.filename == name]
        place = f"line {lines[-1]}: " if lines else ""
        error = f"{place}{type(raised).__name__}: {raised}"
    output = printed.getvalue()
    if not error and not output.strip():
        error = "prints nothing"
    if not error and re.search(r"\b0x[0-9a-f]{6,}", output):
        error = "prints an address, which differs from run to run"
    result = {"name": name, "code": code, "output": output, "error": error}
    display(
        {"application/vnd.dpbook.reproducer+json": result, "text/plain": error or output}, raw=True
    )


def results(notebook: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What each snippet of an executed page did, by its name: ``code``, ``output``, ``error``."""
    return {data[MIME]["name"]: data[MIME] for _, data in outputs(notebook) if MIME in data}


def complaint(notebook: Mapping[str, Any]) -> str | None:
    """What is wrong with the snippets of an executed page, one line each."""
    errors = {name: result["error"] for name, result in results(notebook).items()}
    lines = (f"the reproducer of {name} fails: {why}" for name, why in errors.items() if why)
    return "\n".join(lines) or None
