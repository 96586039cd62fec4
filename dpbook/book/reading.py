"""How long a page takes to read, and what it is made of: counted in the notebook, not typed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

#: Words a minute of prose; seconds for a shown line of code, a figure, a table, a formula.
WORDS_PER_MINUTE = 180
SECONDS = {"lines": 4.0, "figures": 40.0, "tables": 25.0, "displays": 20.0, "inlines": 1.5}

_EXERCISE = re.compile(r"```\{(exercise|try|hint)\}.*?^```\s*$", re.DOTALL | re.MULTILINE)
_GATED = re.compile(r"```\{solution-start\}.*?(```\{solution-end\}\s*```|\Z)", re.DOTALL)


def counts(notebook: Mapping[str, Any]) -> dict[str, int]:
    """Words, shown lines, figures, tables, formulas, without exercises, editors and folded code."""
    found, solving = dict.fromkeys(("words", *SECONDS), 0), False
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            if not solving:
                _count_code(cell, text, found)
            continue
        if solving:
            _, ended, text = text.partition("```{solution-end}")
            solving = not ended
            text = text.lstrip().removeprefix("```") if ended else ""
        solving = solving or text.count("{solution-start}") > text.count("{solution-end}")
        _count_prose(_GATED.sub("", _EXERCISE.sub("", text)), found)
    return found


def minutes(notebook: Mapping[str, Any]) -> int:
    """Minutes for one reading, rounded."""
    found = counts(notebook)
    seconds = sum(found[what] * each for what, each in SECONDS.items())
    return math.ceil(found["words"] / WORDS_PER_MINUTE + seconds / 60 - 0.5)


def _count_code(cell: Mapping[str, Any], text: str, found: dict[str, int]) -> None:
    tags = cell["metadata"].get("tags", [])
    found["figures"] += "plt.show()" in text
    found["tables"] += len(re.findall(r"^ *table\(", text, re.MULTILINE))
    if not {"hide-input", "hide-cell", "remove-cell", "remove-input", "parameters"} & {*tags}:
        found["lines"] += sum(bool(line.strip()) for line in text.splitlines())


def _count_prose(text: str, found: dict[str, int]) -> None:
    found["displays"] += text.count("$$") // 2
    text = re.sub(r"\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    text, inlines = re.subn(r"\$[^$\n]+\$", " ", text)
    found["inlines"] += inlines
    text = re.sub(r"^(```|:::|:\w+:|\(.*\)=).*$", " ", text, flags=re.MULTILINE)
    found["words"] += len(re.findall(r"[^\W\d_][\w'’-]*", text))
