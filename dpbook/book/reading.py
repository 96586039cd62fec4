"""How long a page takes to read, and what it is made of: counted in the notebook, not typed."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

#: Words a minute of prose; seconds for a shown line of code, a figure, a table, a formula.
WORDS_PER_MINUTE = 180
SECONDS = {"lines": 4.0, "figures": 40.0, "tables": 25.0, "displays": 20.0, "inlines": 1.5}

_EXERCISE = re.compile(r"```\{(exercise|try|hint)\}.*?^```\s*$", re.DOTALL | re.MULTILINE)
_GATED = re.compile(r"```\{solution-start\}.*?(```\{solution-end\}\s*```|\Z)", re.DOTALL)

_HIDDEN = {
    "injected-parameters",
    "hide-input",
    "hide-cell",
    "remove-cell",
    "remove-input",
    "parameters",
}
_SERVICE = {"check", "say", "table", "slider", "plt.show"}


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
    if not _HIDDEN & {*tags}:
        found["lines"] += sum(bool(line.strip()) for line in text.splitlines())


def _count_prose(text: str, found: dict[str, int]) -> None:
    found["displays"] += text.count("$$") // 2
    text = re.sub(r"\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    text, inlines = re.subn(r"\$[^$\n]+\$", " ", text)
    found["inlines"] += inlines
    text = re.sub(r"^(```|:::|:\w+:|\(.*\)=).*$", " ", text, flags=re.MULTILINE)
    found["words"] += len(re.findall(r"[^\W\d_][\w'’-]*", text))


def argument(notebook: Mapping[str, Any]) -> int:
    """Shown lines of code that carry the argument.

    Left out are folded cells, parameters and solutions; of what is shown, statements that import,
    that call ``check``, and that draw, print a table or quote numbers; blank lines and comments
    between statements.
    """
    lines, solving = 0, False
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            starts, ends = text.rfind("{solution-start}"), text.rfind("{solution-end}")
            solving = starts > ends or (solving and ends < 0)
        elif not solving and not _HIDDEN & {*cell["metadata"].get("tags", [])}:
            for statement in ast.parse(text).body:
                part = text.splitlines()[statement.lineno - 1 : statement.end_lineno]
                lines += 0 if _serves(statement) else sum(bool(line.strip()) for line in part)
    return lines


def _serves(statement: ast.stmt) -> bool:
    """Whether a statement imports, checks, draws, prints a table or quotes numbers."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
    names = {ast.unparse(call) for call in calls}
    return bool(names & _SERVICE) or any(re.match(r"(plt|sns|ax\w*|figures)\.", n) for n in names)
