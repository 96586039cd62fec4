"""How long a page takes to read, and what it is made of: counted in the notebook, not typed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from dpbook.book.run.editions import notebook_of

#: Words a minute, read aloud; seconds for a shown line of code, a figure, a table, a formula.
WORDS_PER_MINUTE = 150
SECONDS = {"lines": 5.0, "figures": 45.0, "tables": 30.0, "displays": 30.0, "inlines": 2.0}

_EXERCISE = re.compile(r"```\{(exercise|try|hint)\}.*?^```\s*$", re.DOTALL | re.MULTILINE)
_HIDDEN = {*"injected-parameters parameters hide-input hide-cell remove-input remove-cell".split()}


def counts(notebook: Mapping[str, Any]) -> dict[str, int]:
    """Words, shown lines, figures, tables, formulas, without exercises, editors and folded code."""
    found = dict.fromkeys(("words", *SECONDS), 0)
    for kind, text, tags in _cells(notebook):
        if kind == "markdown":
            _count_prose(_EXERCISE.sub("", text), found)
        else:
            found["figures"] += "plt.show()" in text
            found["tables"] += len(re.findall(r"^ *table\(", text, re.MULTILINE))
            found["lines"] += 0 if tags & _HIDDEN else _filled(text.splitlines())
    return found


def _cells(notebook: Mapping[str, Any]) -> list[tuple[str, str, set[str]]]:
    """Kind, text and tags of the cells that are in no solution."""
    cells = notebook_of(notebook, "student")["cells"]
    return [(c["cell_type"], "".join(c["source"]), {*c["metadata"].get("tags", [])}) for c in cells]


def _filled(lines: list[str]) -> int:
    return sum(bool(line.strip()) for line in lines)


def minutes(notebook: Mapping[str, Any]) -> int:
    """Minutes for one reading, rounded."""
    found = counts(notebook)
    seconds = sum(found[what] * each for what, each in SECONDS.items())
    return math.ceil(found["words"] / WORDS_PER_MINUTE + seconds / 60 - 0.5)


def details(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """What may be skipped at first: from the heading "Details" to what to remember."""
    kept, inside = [], False
    for cell in notebook["cells"]:
        blocks = re.split(r"(?m)^(?=## |```\{remember\})", "".join(cell["source"]))
        for block in blocks if cell["cell_type"] == "markdown" else ():
            if block.startswith(("## ", "```{remember}")):
                inside = block.startswith("## Details")
            kept += [cell | {"source": block}] * inside
        kept += [cell] * (inside and cell["cell_type"] != "markdown")
    return dict(notebook) | {"cells": kept}


def _count_prose(text: str, found: dict[str, int]) -> None:
    found["displays"] += text.count("$$") // 2
    text = re.sub(r"\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    text, inlines = re.subn(r"\$[^$\n]+\$", " ", text)
    found["inlines"] += inlines
    text = re.sub(r"^(```|:::|:\w+:|\(.*\)=).*$", " ", text, flags=re.MULTILINE)
    found["words"] += len(re.findall(r"[^\W\d_][\w'’-]*", text))
