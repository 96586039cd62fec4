"""The rules that every page keeps; each takes the name and the page, and gives a line per fault."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Notebook = Mapping[str, Any]
Faults = Iterator[str]
Rule = Callable[[str, Notebook], Faults]

MAX_VISIBLE, MAX_FOLDED, MAX_COLUMNS, MAX_CAPTION = 25, 45, 80, 8
CELL_METADATA = {"tags", "mystnb"}
TAGS = {"hide-input", "hide-output", "hide-cell", "remove-input", "remove-output", "remove-cell"}
TAGS |= {"parameters", "output_scroll", "long"}
MYSTNB = {"figure", "image", "code_prompt_show", "code_prompt_hide", "number_source_lines"}
MYSTNB |= {"markdown_format", "text_lexer"}
FIGURE_KEYS = {"name", "caption", "caption_before", "classes"}
IMAGE_KEYS = {"alt", "classes", "width", "height", "scale", "align"}
BOOTSTRAPPED = {"lineplot", "barplot", "pointplot", "regplot", "lmplot", "relplot", "catplot"}
CHECKED = re.compile(r"\bcheck\(\s*['\"]([\w.-]+)")
AMSMATH = re.compile(r"^\s*\\begin\{(align|equation|gather|multline|eqnarray|alignat)\*?\}", re.M)


def text(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def tags(cell: Mapping[str, Any]) -> list[str]:
    return list(cell["metadata"].get("tags", []))


def code_cells(page: Notebook) -> list[tuple[int, dict[str, Any]]]:
    """Number and cell of all code cells."""
    return [(i, cell) for i, cell in enumerate(page["cells"]) if cell["cell_type"] == "code"]


def prose(page: Notebook) -> str:
    return "\n\n".join(text(cell) for cell in page["cells"] if cell["cell_type"] == "markdown")


def nodes_of(cell: Mapping[str, Any]) -> list[ast.AST]:
    """All nodes of a cell's code; none where it is not plain Python."""
    try:
        return [*ast.walk(ast.parse(text(cell)))]
    except SyntaxError:
        return []


def calls(cell: Mapping[str, Any]) -> list[tuple[str, ast.Call]]:
    """All calls in a cell, as (dotted name, node)."""
    return [(ast.unparse(n.func), n) for n in nodes_of(cell) if isinstance(n, ast.Call)]


RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    RULES.append(function)
    return function


@rule
def no_outputs(name: str, page: Notebook) -> Faults:
    for number, cell in code_cells(page):
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"cell {number} holds outputs or a count: nbstripout --keep-id"


@rule
def file_format(name: str, page: Notebook) -> Faults:
    if page.get("nbformat") != 4 or page.get("nbformat_minor", 0) < 5:
        yield "is not in notebook format 4.5"
    if page["metadata"].get("kernelspec", {}).get("name") != "python3":
        yield "needs the kernelspec python3"
    ids = [cell.get("id") for cell in page["cells"]]
    if None in ids or len(set(ids)) != len(ids):
        yield "needs an id for each cell, all different"
    if not re.fullmatch(r"\d\d-[a-z0-9-]+", name):
        yield "must be named NN-topic"


@rule
def opening(name: str, page: Notebook) -> Faults:
    first = page["cells"][0]
    title = re.match(r"(?:\([\w-]+\)=\n)?# \S[^\n]*\n+(.+)", text(first), re.S)
    if first["cell_type"] != "markdown" or not title:
        yield "must open with a title and two sentences"
    elif len(re.findall(r"[.!?](?=\s|$)", title[1])) < 2:
        yield "needs two plain sentences below the title"
    tagged = [number for number, cell in code_cells(page) if "parameters" in tags(cell)]
    if tagged != [number for number, _ in code_cells(page)][:1]:
        yield "the parameters cell must be the first code cell, and the only one so tagged"


@rule
def metadata(name: str, page: Notebook) -> Faults:
    for number, cell in enumerate(page["cells"]):
        mystnb = cell["metadata"].get("mystnb", {})
        for before, given, known in (
            ("", cell["metadata"], CELL_METADATA),
            ("tag ", tags(cell), TAGS),
            ("mystnb.", mystnb, MYSTNB),
            ("figure.", mystnb.get("figure", {}), FIGURE_KEYS),
            ("image.", mystnb.get("image", {}), IMAGE_KEYS),
        ):
            yield from (f"cell {number}: unknown metadata {before}{k}" for k in {*given} - known)


@rule
def figures(name: str, page: Notebook) -> Faults:
    for number, cell in code_cells(page):
        mystnb = cell["metadata"].get("mystnb", {})
        figure, image = mystnb.get("figure", {}), mystnb.get("image", {})
        drawing = {call for call, _ in calls(cell) if re.match(r"(plt|sns)\.", call)}
        draws = drawing - {"plt.close", "sns.set_theme"} or figure or image
        if not draws or "remove-output" in tags(cell):
            continue
        if not re.fullmatch(r"fig-[a-z0-9-]+", str(figure.get("name"))):
            yield f"cell {number}: the figure needs a name like fig-topic"
        if len(str(figure.get("caption", "")).split()) < 4:
            yield f"cell {number}: the figure needs a caption"
        if len(str(image.get("alt", "")).split()) < 4:
            yield f"cell {number}: the figure needs alternative text that describes it"
        if image.get("alt") and image.get("alt") == figure.get("caption"):
            yield f"cell {number}: the alternative text only repeats the caption"


@rule
def short_cells(name: str, page: Notebook) -> Faults:
    for number, cell in code_cells(page):
        if "parameters" in tags(cell):
            continue  # one line for each parameter, with all that is said of it
        folded = {"hide-input", "hide-cell", "remove-input"} & {*tags(cell)}
        limit = MAX_FOLDED if folded else MAX_VISIBLE
        lines = [line for line in text(cell).splitlines() if line.strip()]
        if len(lines) > limit:
            yield f"cell {number} has {len(lines)} lines, {limit} are allowed: make two cells"
        if max(map(len, lines), default=0) > MAX_COLUMNS:
            yield f"cell {number} has a line beyond {MAX_COLUMNS} columns"


@rule
def captions_of_folds(name: str, page: Notebook) -> Faults:
    for number, cell in code_cells(page):
        mystnb = cell["metadata"].get("mystnb", {})
        said = mystnb.get("code_prompt_show", "")
        fits = 1 <= len(said.split()) <= MAX_CAPTION and said == mystnb.get("code_prompt_hide")
        if "hide-input" in tags(cell) and not fits:
            yield f"cell {number} is folded without a caption that says what it does"


@rule
def plain_python(name: str, page: Notebook) -> Faults:
    for number, cell in code_cells(page):
        try:
            ast.parse(text(cell))
        except SyntaxError as error:
            yield f"cell {number} is not plain Python: {error.msg}"


@rule
def badges(name: str, page: Notebook) -> Faults:
    boxes = " ".join(re.findall(r"^`{3,}\{claim\} (.+)$", prose(page), re.MULTILINE))
    shown = {*re.findall(r"\{badge\}`([^`]+)`", prose(page)), *boxes.split()}
    checked = {one for _, cell in code_cells(page) for one in CHECKED.findall(text(cell))}
    yield from (f"{one} has no badge" for one in sorted(checked - shown))


@rule
def probability(name: str, page: Notebook) -> Faults:
    """What ruff does not see of it (NPY)."""
    for number, cell in code_cells(page):
        if re.search(r"^\s*(import random\b|from random import)", text(cell), re.M):
            yield f"cell {number}: imports the global random state"
        for call, node in calls(cell):
            keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            short = call.split(".")[-1]
            if short in ("default_rng", "SeedSequence") and not (node.args or keywords):
                yield f"cell {number}: {short}() without a seed"
            draws = call.startswith("sns.") and short in BOOTSTRAPPED and "seed" not in keywords
            if draws and not re.match(r"None$|\('(se|sd|pi)',", keywords.get("errorbar", "")):
                yield f"cell {number}: {call} without seed= moves from run to run"
            if short == "rvs" and "random_state" not in keywords:
                yield f"cell {number}: rvs without random_state="


@rule
def exercises(name: str, page: Notebook) -> Faults:
    source = prose(page)
    asked = re.findall(r"^:{3,}\{exercise\}|^`{3,}\{exercise\}", source, re.M)
    labels = re.findall(r"\{exercise\}[^\n]*\n(?:[^\n]+\n)*?:label: *([\w-]+)", source)
    starts = re.findall(r"\{solution-start\} *([\w-]+)\n((?::[^\n]+\n)*)", source)
    if not 2 <= len(asked) <= 4:
        yield f"has {len(asked)} exercises, two to four are wanted"
    if len(labels) != len(asked):
        yield "every exercise needs a label"
    if sorted(labels) != sorted(label for label, _ in starts):
        yield "every exercise needs one solution, between solution-start and solution-end"
    if source.count("{solution-end}") != len(starts):
        yield "solution-start and solution-end do not match"
    inside: str | None = None
    ran: set[str | None] = set()
    for cell in page["cells"]:
        if cell["cell_type"] == "code":
            ran.add(inside)
        for start in re.findall(r"\{solution-start\} *([\w-]+)|\{solution-end\}", text(cell)):
            inside = start or None
    for label, options in starts:
        if not re.search(r":class:.*\bdropdown\b", options):
            yield f"the solution of {label} is not folded (:class: dropdown)"
        if label not in ran:
            yield f"the solution of {label} runs no code"


@rule
def rerun(name: str, page: Notebook) -> Faults:
    last = [text(cell) for cell in page["cells"] if cell["cell_type"] == "markdown"][-1]
    command = re.search(rf"dpbook run {re.escape(name)} .*-p ", last)
    if not ("## Rerun this page" in last and command):
        yield f"must end with 'Rerun this page' and 'dpbook run {name} -p ...'"


@rule
def mathematics(name: str, page: Notebook) -> Faults:
    outside = re.sub(r"\$\$.*?\$\$|```\{math\}.*?```", "", prose(page), flags=re.S)
    if AMSMATH.search(outside):
        yield "a bare LaTeX environment has a random id; write $$ ... $$ (label)"


@rule
def no_machine_paths(name: str, page: Notebook) -> Faults:
    for number, cell in enumerate(page["cells"]):
        for found in re.findall(r"(?<![\w.:/])/(?:home|work|tmp|root|Users)/\w*", text(cell)):
            yield f"cell {number} names a path of one machine: {found}"


#: What makes a sentence about authors checkable: a citation, a numbered place, or a file.
SOURCE = re.compile(
    r"\{cite|`[^`]+\.(?:R|py|ipynb|csv)`|\blines? \d"
    r"|(?:[Ss]ection|Theorem|Proposition|Corollary|Remark|Appendix|Experiments?|Exp\.|Figure)"
    r" [\dA-Z]"
)


def unsourced(words: str) -> list[str]:
    """Sentences about authors that do not name where it is written."""
    return [
        " ".join(sentence.split())
        for sentence in re.split(r"(?<=[a-z)`\]][.!?])\s+(?=[A-Z*{])|\n\s*\n", words)
        if re.search(r"\bauthors\b", sentence) and not SOURCE.search(sentence)
    ]


@rule
def sources(name: str, page: Notebook) -> Faults:
    yield from (f"a sentence about authors names no source: {s}" for s in unsourced(prose(page)))
