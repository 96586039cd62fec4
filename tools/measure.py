"""What the pages are made of and how long they take: a row for each page, as Markdown.

    python tools/measure.py [FOLDER]

Words and formulas of the prose, lines of code that a reader sees, figures, tables, checked claims,
boxes, exercises, and minutes by the model of `dpbook.book.reading`, without exercises and folds.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpbook.book.reading import counts, minutes

HEAD = (
    *("page", "words", "lines shown", "cells folded", "figures", "tables", "claims", "boxes"),
    *("exercises", "inline", "display", "minutes"),
)


def row(path: Path) -> tuple[str | int, ...]:
    """The measures of one notebook, in the order of `HEAD`."""
    notebook: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    found, cells = counts(notebook), notebook["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    folded = sum("hide-input" in cell["metadata"].get("tags", []) for cell in code)
    checks = sum("".join(cell["source"]).count("check(\n") for cell in code)
    prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    boxes = len(re.findall(r"^`{3,}\{(?:claim\}|prf:(?!proof))", prose, re.MULTILINE))
    return (
        *(path.stem, found["words"], found["lines"], folded, found["figures"], found["tables"]),
        *(checks, boxes, prose.count("```{exercise}"), found["inlines"], found["displays"]),
        minutes(notebook),
    )


def lines(folder: Path) -> Iterator[str]:
    """The table, with totals and the mean of the minutes."""
    rows = [row(path) for path in sorted(folder.glob("[0-9][0-9]-*.ipynb"))]
    yield "| " + " | ".join(HEAD) + " |"
    yield "|" + " --- |" * len(HEAD)
    sums = [sum(int(each[k]) for each in rows) for k in range(1, len(HEAD))]
    total = ("all", *sums[:-1], f"{sums[-1] / len(rows):.0f} each")
    for each in (*rows, total):
        yield "| " + " | ".join(map(str, each)) + " |"


if __name__ == "__main__":
    home = Path(__file__).resolve().parents[1] / "notebooks"
    print("\n".join(lines(Path(sys.argv[1]) if sys.argv[1:] else home)))
