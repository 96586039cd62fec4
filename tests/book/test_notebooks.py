"""Every page has the anatomy that the book promises; every rule is shown to reject a bad page."""

import ast
import copy
import json
import re
from pathlib import Path

import pytest
import yaml

from dpbook.book.ledger.claims import Claim, load_ledger
from dpbook.book.pages import PageError, parse_parameters

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "notebooks").glob("*.ipynb"))

MAX_VISIBLE, MAX_FOLDED, MAX_COLUMNS, MAX_CAPTION = 25, 45, 80, 8
CELL_METADATA = {"tags", "mystnb"}
TAGS = {
    "parameters",
    "hide-input",
    "hide-output",
    "hide-cell",
    "remove-input",
    "remove-output",
    "remove-cell",
    "output_scroll",
    "long",
}
MYSTNB = {
    "figure",
    "image",
    "code_prompt_show",
    "code_prompt_hide",
    "number_source_lines",
    "markdown_format",
    "text_lexer",
}
FIGURE_KEYS = {"name", "caption", "caption_before", "classes"}
IMAGE_KEYS = {"alt", "classes", "width", "height", "scale", "align"}
SEEDED = {"default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "MT19937", "BitGenerator"}
BOOTSTRAPPED = {"lineplot", "barplot", "pointplot", "regplot", "lmplot", "relplot", "catplot"}
AMSMATH = re.compile(r"^\s*\\begin\{(align|equation|gather|multline|eqnarray|alignat)\*?\}", re.M)


# --- reading --------------------------------------------------------------------------------------


def text(cell):
    return "".join(cell["source"])


def tags(cell):
    return cell["metadata"].get("tags", [])


def code_cells(page):
    """Number and cell of all code cells."""
    return [(i, cell) for i, cell in enumerate(page["cells"]) if cell["cell_type"] == "code"]


def prose(page):
    return "\n\n".join(text(cell) for cell in page["cells"] if cell["cell_type"] == "markdown")


def calls(cell):
    """All calls in a cell, as (dotted name, node)."""
    try:
        tree = ast.parse(text(cell))
    except SyntaxError:
        return []
    return [(ast.unparse(n.func), n) for n in ast.walk(tree) if isinstance(n, ast.Call)]


def check_calls(page):
    """All calls of `check`, as (cell number, claim id or None, keywords)."""
    found = []
    for number, cell in code_cells(page):
        for name, node in calls(cell):
            if name == "check" or name.endswith(".check"):
                literal = node.args and isinstance(node.args[0], ast.Constant)
                keywords = {keyword.arg: keyword.value for keyword in node.keywords}
                keywords |= dict(zip(("test",), node.args[1:], strict=False))
                found.append((number, node.args[0].value if literal else None, keywords))
    return found


def looks_at_its_subject(page, node):
    """Whether the test of a check is a function that looks at what it is given.

    A name must be a function of this page, or be made by one: ``test = made_by(...)``.
    """
    if isinstance(node, ast.Lambda):
        functions = [node]
    elif isinstance(node, ast.Name):
        trees = [ast.parse(text(cell)) for _, cell in code_cells(page) if plain_cell(cell)]
        found = [n for tree in trees for n in ast.walk(tree)]
        functions = [n for n in found if isinstance(n, ast.FunctionDef) and n.name == node.id]
    else:
        return isinstance(node, ast.Call)  # a test made for the occasion
    for function in functions:
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        body = function.body if isinstance(function.body, list) else [function.body]
        used = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)}
        if not names or names[0] not in used:
            return False
    return bool(functions)


def plain_cell(cell):
    try:
        ast.parse(text(cell))
    except SyntaxError:
        return False
    return True


# --- the rules: each takes the name, the page and the ledger, and gives one line per fault --------


def no_outputs(name, page, ledger):
    return [
        f"cell {number} holds outputs or a count"
        for number, cell in code_cells(page)
        if cell.get("outputs") or cell.get("execution_count") is not None
    ]


def file_format(name, page, ledger):
    faults = []
    if page.get("nbformat") != 4 or page.get("nbformat_minor", 0) < 5:
        faults.append("is not in notebook format 4.5")
    if page["metadata"].get("kernelspec", {}).get("name") != "python3":
        faults.append("needs the kernelspec python3")
    ids = [cell.get("id") for cell in page["cells"]]
    if None in ids or len(set(ids)) != len(ids):
        faults.append("needs an id for each cell, all different")
    if not re.fullmatch(r"\d\d-[a-z0-9-]+", name):
        faults.append("must be named NN-topic")
    return faults


def opening(name, page, ledger):
    faults = []
    first = page["cells"][0]
    title = re.match(r"(?:\([\w-]+\)=\n)?# \S[^\n]*\n+(.+)", text(first), re.S)
    if first["cell_type"] != "markdown" or not title:
        faults.append("must open with a title and two sentences")
    elif len(re.findall(r"[.!?](?=\s|$)", title[1])) < 2:
        faults.append("needs two plain sentences below the title")
    tagged = [number for number, cell in code_cells(page) if "parameters" in tags(cell)]
    if tagged != [number for number, _ in code_cells(page)][:1]:
        faults.append("the parameters cell must be the first code cell, and the only one so tagged")
    return faults


def parameters(name, page, ledger):
    faults = []
    for _, cell in code_cells(page):
        if "parameters" in tags(cell):
            try:
                parse_parameters(text(cell))
            except PageError as error:
                faults.append(str(error))
    return faults


def metadata(name, page, ledger):
    faults = []
    for number, cell in enumerate(page["cells"]):
        given = cell["metadata"]
        mystnb = given.get("mystnb", {})
        unknown = [
            *sorted(set(given) - CELL_METADATA),
            *(f"tag {tag}" for tag in sorted(set(tags(cell)) - TAGS)),
            *(f"mystnb.{key}" for key in sorted(set(mystnb) - MYSTNB)),
            *(f"figure.{key}" for key in sorted(set(mystnb.get("figure", {})) - FIGURE_KEYS)),
            *(f"image.{key}" for key in sorted(set(mystnb.get("image", {})) - IMAGE_KEYS)),
        ]
        faults += [f"cell {number}: unknown metadata {key}" for key in unknown]
    return faults


def figures(name, page, ledger):
    faults, names = [], []
    for number, cell in code_cells(page):
        mystnb = cell["metadata"].get("mystnb", {})
        figure, image = mystnb.get("figure", {}), mystnb.get("image", {})
        draws = any(
            re.match(r"(plt|sns)\.", call) and call not in ("plt.close", "sns.set_theme")
            for call, _ in calls(cell)
        )
        if not (draws or figure or image) or "remove-output" in tags(cell):
            continue
        names.append(figure.get("name"))
        if not re.fullmatch(r"fig-[a-z0-9-]+", str(figure.get("name"))):
            faults.append(f"cell {number}: the figure needs a name like fig-topic")
        if len(str(figure.get("caption", "")).split()) < 4:
            faults.append(f"cell {number}: the figure needs a caption")
        if len(str(image.get("alt", "")).split()) < 4:
            faults.append(f"cell {number}: the figure needs alternative text that describes it")
        if image.get("alt") and image.get("alt") == figure.get("caption"):
            faults.append(f"cell {number}: the alternative text only repeats the caption")
    if len(set(names)) != len(names):
        faults.append("two figures have the same name")
    return faults


def folded(cell):
    return any(tag in ("hide-input", "hide-cell", "remove-input") for tag in tags(cell))


def short_cells(name, page, ledger):
    faults = []
    for number, cell in code_cells(page):
        if "parameters" in tags(cell):
            continue  # one line for each parameter, with all that is said of it
        limit = MAX_FOLDED if folded(cell) else MAX_VISIBLE
        given = [line for line in text(cell).splitlines() if line.strip()]
        if len(given) > limit:
            faults.append(f"cell {number} has {len(given)} lines, {limit} are allowed")
        if max(map(len, given), default=0) > MAX_COLUMNS:
            faults.append(f"cell {number} has a line beyond {MAX_COLUMNS} columns")
    return faults


def captions_of_folds(name, page, ledger):
    faults = []
    for number, cell in code_cells(page):
        if "hide-input" not in tags(cell):
            continue
        mystnb = cell["metadata"].get("mystnb", {})
        said = mystnb.get("code_prompt_show", "")
        if not 1 <= len(said.split()) <= MAX_CAPTION or said != mystnb.get("code_prompt_hide"):
            faults.append(f"cell {number} is folded without a caption that says what it does")
    return faults


def plain_python(name, page, ledger):
    faults = []
    for number, cell in code_cells(page):
        try:
            ast.parse(text(cell))
        except SyntaxError as error:
            faults.append(f"cell {number} is not plain Python: {error.msg}")
    return faults


def controls(name, page, ledger):
    faults = []
    for number, claim_id, given in check_calls(page):
        where = f"cell {number}: check of {claim_id}"
        if claim_id is None:
            faults.append(f"cell {number}: check needs a claim id written out")
            continue
        claim = ledger.get(claim_id)
        if claim is None:
            faults.append(f"{where}: no such claim")
            continue
        if not claim.checked:
            faults.append(f"{where}: the claim is pending")
        if claim.notebook != name:
            faults.append(f"{where}: the ledger says {claim.notebook}")
        if "applies" in given and ast.unparse(given["applies"]) == "False":
            faults.append(f"{where}: applies must be computed, not written down")
        if not looks_at_its_subject(page, given.get("test")):
            faults.append(f"{where}: needs a test, a function on this page that uses its argument")
        twins = given.get("twin")
        if claim.needs_control and twins is None:
            faults.append(f"{where}: needs a twin")
        if isinstance(twins, ast.Dict):
            same = {ast.unparse(given[k]) for k in ("printed", "repaired") if k in given}
            if same & {ast.unparse(value) for value in twins.values}:
                faults.append(f"{where}: the twin is the statement itself")
        if "printed" not in given:
            faults.append(f"{where}: needs printed")
        if claim.verdict == "false-repaired" and "repaired" not in given:
            faults.append(f"{where}: needs repaired")
    return faults


def completeness(name, page, ledger):
    checked = [claim_id for _, claim_id, _ in check_calls(page)]
    faults = [
        f"{claim_id} is checked twice"
        for claim_id in sorted({c for c in checked if c})
        if checked.count(claim_id) > 1
    ]
    boxes = " ".join(re.findall(r"^`{3,}\{claim\} (.+)$", prose(page), re.MULTILINE))
    badges = {*re.findall(r"\{badge\}`([^`]+)`", prose(page)), *boxes.split()}
    for claim in ledger.values():
        owed = claim.checked and claim.same_as is None
        if owed and claim.notebook == name and claim.id not in checked:
            faults.append(f"{claim.id} is not checked")
    faults += [
        f"{claim_id} has no badge" for claim_id in checked if claim_id and claim_id not in badges
    ]
    return faults


def chance(name, page, ledger):
    faults = []
    for number, cell in code_cells(page):
        source = text(cell)
        for found in re.findall(r"\b(?:np|numpy)\.random\.(\w+)", source):
            if found not in SEEDED:
                faults.append(f"cell {number}: np.random.{found} uses the global state")
        if re.search(
            r"^\s*(import random\b|from random import|from numpy.random import)", source, re.M
        ):
            faults.append(f"cell {number}: imports the global random state")
        for call, node in calls(cell):
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            short = call.split(".")[-1]
            if short in ("default_rng", "SeedSequence") and not (node.args or keywords):
                faults.append(f"cell {number}: {short}() without a seed")
            if call.startswith("sns.") and short in BOOTSTRAPPED and "seed" not in keywords:
                errorbar = keywords.get("errorbar")
                if errorbar is None or not re.match(
                    r"None$|\('(se|sd|pi)',", ast.unparse(errorbar)
                ):
                    faults.append(f"cell {number}: {call} without seed= moves from run to run")
            if short == "rvs" and "random_state" not in keywords:
                faults.append(f"cell {number}: rvs without random_state=")
    return faults


def exercises(name, page, ledger):
    source = prose(page)
    asked = re.findall(r"^:{3,}\{exercise\}|^`{3,}\{exercise\}", source, re.M)
    labels = re.findall(r"\{exercise\}[^\n]*\n(?:[^\n]+\n)*?:label: *([\w-]+)", source)
    starts = re.findall(r"\{solution-start\} *([\w-]+)\n((?::[^\n]+\n)*)", source)
    faults = []
    if not 2 <= len(asked) <= 4:
        faults.append(f"has {len(asked)} exercises, two to four are wanted")
    if len(labels) != len(asked):
        faults.append("every exercise needs a label")
    if sorted(labels) != sorted(label for label, _ in starts):
        faults.append("every exercise needs one solution, between solution-start and solution-end")
    if source.count("{solution-end}") != len(starts):
        faults.append("solution-start and solution-end do not match")
    faults += [
        f"the solution of {label} is not folded (:class: dropdown)"
        for label, options in starts
        if not re.search(r":class:.*\bdropdown\b", options)
    ]
    inside, ran = None, {}
    for cell in page["cells"]:
        if cell["cell_type"] == "code":
            ran[inside] = True
        for start, end in re.findall(
            r"\{solution-start\} *([\w-]+)|(\{solution-end\})", text(cell)
        ):
            inside = None if end else start
    faults += [f"the solution of {label} runs no code" for label, _ in starts if label not in ran]
    return faults


def rerun(name, page, ledger):
    last = [text(cell) for cell in page["cells"] if cell["cell_type"] == "markdown"][-1]
    wanted = "## Rerun this page" in last and re.search(
        rf"dpbook run {re.escape(name)} .*-p ", last
    )
    return [] if wanted else [f"must end with 'Rerun this page' and 'dpbook run {name} -p ...'"]


def mathematics(name, page, ledger):
    outside = re.sub(r"\$\$.*?\$\$", "", prose(page), flags=re.S)
    outside = re.sub(r"```\{math\}.*?```", "", outside, flags=re.S)
    return [
        "a bare LaTeX environment has a random id; write $$ ... $$ (label)"
        for _ in AMSMATH.findall(outside)
    ]


def no_machine_paths(name, page, ledger):
    return [
        f"cell {number} names a path of one machine: {found}"
        for number, cell in enumerate(page["cells"])
        for found in re.findall(r"(?<![\w.:/])/(?:home|work|tmp|root|Users)/\w*", text(cell))
    ]


#: What makes a sentence about authors checkable: a citation, a numbered place, or a file.
SOURCE = re.compile(
    r"\{cite|`[^`]+\.(?:R|py|ipynb|csv)`|\blines? \d"
    r"|(?:[Ss]ection|Theorem|Proposition|Corollary|Remark|Appendix|Experiments?|Exp\.|Figure)"
    r" [\dA-Z]"
)


def unsourced(words):
    """Sentences about authors that do not name where it is written."""
    return [
        " ".join(sentence.split())
        for sentence in re.split(r"(?<=[a-z)`\]][.!?])\s+(?=[A-Z*{])|\n\s*\n", words)
        if re.search(r"\bauthors\b", sentence) and not SOURCE.search(sentence)
    ]


def sources(name, page, ledger):
    return [
        f"a sentence about authors names no source: {found}" for found in unsourced(prose(page))
    ]


RULES = [
    no_outputs,
    file_format,
    opening,
    parameters,
    metadata,
    figures,
    short_cells,
    captions_of_folds,
    plain_python,
    controls,
    completeness,
    chance,
    exercises,
    rerun,
    mathematics,
    no_machine_paths,
    sources,
]


# --- a good page, and for every rule the ways of breaking it --------------------------------------


def claim(name, **fields):
    base = dict(
        id=name,
        paper="P",
        where="1",
        kind="privacy",
        says="s",
        notebook="01-good",
        status="checked",
        verdict="holds",
        tier="exact",
    )
    return Claim(**(base | fields))


LEDGER = {
    c.id: c
    for c in (
        claim("A"),
        claim("B", verdict="false-repaired"),
        claim("D", kind="dataset", verdict="definition"),
        claim("OTHER", notebook="02-other"),
        claim("LATER", status="pending", verdict=None, tier=None, notebook="01-good"),
    )
}


def build_page(*cells):
    made = []
    for number, (kind, source, given) in enumerate(cells):
        cell = {"cell_type": kind, "id": f"c{number}", "metadata": given, "source": source}
        made.append(cell | ({"outputs": [], "execution_count": None} if kind == "code" else {}))
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def exercise(label, options=":class: dropdown\n"):
    ask = f"```{{exercise}} One\n:label: {label}\n\nWhy?\n```\n\n"
    return ask + f"```{{solution-start}} {label}\n{options}```"


FIGURE = {
    "mystnb": {
        "figure": {"name": "fig-a", "caption": "The loss falls as n grows."},
        "image": {"alt": "A line that falls from one to zero."},
    }
}
GOOD = build_page(
    ("markdown", "# Title\n\nOne sentence. Another one, at $n = 2$.", {}),
    (
        "code",
        "n = 3  # items | items | [2, 7]\nseed = 1  # seed | - | [0, 9]",
        {"tags": ["parameters"]},
    ),
    (
        "markdown",
        "{badge}`A` {badge}`B` {badge}`D`\n\n$$\n\\begin{align}x\\end{align}\n$$ (eq-x)",
        {},
    ),
    (
        "code",
        "rng = np.random.default_rng(seed)\n"
        "def test(x):\n    return at_most('loss', loss(x), 1)\n"
        "check('A', test, printed=x, tier='exact', twin={'half the noise': y})\n"
        "check('B', test, printed=x, repaired=z, tier='exact',\n"
        "      twin={'half the noise': y})\n"
        "check('D', lambda s: equal('defined', s, 1), printed=x > 0, tier='exact')",
        {},
    ),
    ("code", "fig, ax = plt.subplots()\nsns.lineplot(d, seed=0, ax=ax)", FIGURE),
    ("markdown", exercise("ex-a"), {}),
    ("code", "1 + 1", {}),
    ("markdown", "```{solution-end}\n```", {}),
    ("markdown", exercise("ex-b"), {}),
    ("code", "1 + 2", {}),
    ("markdown", "```{solution-end}\n```\n", {}),
    ("markdown", "## Rerun this page\n\n`dpbook run 01-good -p n 4`", {}),
)


def edited(number, old, new):
    """The good page with a text replaced in one cell."""
    page = copy.deepcopy(GOOD)
    assert old in page["cells"][number]["source"]
    page["cells"][number]["source"] = page["cells"][number]["source"].replace(old, new)
    return page


def changed(number, **fields):
    page = copy.deepcopy(GOOD)
    page["cells"][number] |= fields
    return page


def figure(**parts):
    value = copy.deepcopy(FIGURE["mystnb"])
    for part, fields in parts.items():
        value[part] = {k: v for k, v in (value.get(part, {}) | fields).items() if v is not None}
    return changed(4, metadata={"mystnb": value})


def without(number):
    page = copy.deepcopy(GOOD)
    del page["cells"][number]
    return page


FOLDED = {
    "tags": ["hide-input"],
    "mystnb": {"code_prompt_show": "adds two numbers", "code_prompt_hide": "adds two numbers"},
}
LONG = {"mystnb": {f"code_prompt_{side}": "one " * 9 for side in ("show", "hide")}}


BAD = [
    (no_outputs, changed(3, outputs=[{"output_type": "stream"}]), "cell 3 holds outputs"),
    (no_outputs, changed(3, execution_count=2), "cell 3 holds outputs or a count"),
    (file_format, GOOD | {"nbformat_minor": 4}, "format 4.5"),
    (file_format, GOOD | {"metadata": {}}, "kernelspec"),
    (file_format, changed(3, id="c2"), "an id for each cell"),
    (opening, edited(0, "# Title", "## Title"), "must open with a title"),
    (opening, edited(0, "Another one, at $n = 2$.", ""), "two plain sentences"),
    (opening, changed(1, metadata={}), "first code cell"),
    (opening, changed(3, metadata={"tags": ["parameters"]}), "first code cell"),
    (parameters, edited(1, " | [2, 7]", ""), "needs a comment"),
    (parameters, edited(1, "n = 3", "n = 8"), "default 8"),
    (metadata, changed(3, metadata={"render": {}}), "unknown metadata render"),
    (metadata, changed(3, metadata={"tags": ["hide_input"]}), "unknown metadata tag hide_input"),
    (metadata, changed(4, metadata={"mystnb": {"figures": {}}}), "mystnb.figures"),
    (metadata, figure(figure={"label": "x"}), "figure.label"),
    (metadata, figure(image={"alt_text": "x"}), "image.alt_text"),
    (figures, changed(4, metadata={}), "cell 4: the figure needs a name"),
    (figures, figure(figure={"name": "a"}), "the figure needs a name"),
    (figures, figure(figure={"caption": None}), "the figure needs a caption"),
    (figures, figure(image={"alt": "A plot"}), "alternative text that describes"),
    (figures, figure(image={"alt": "The loss falls as n grows."}), "only repeats the caption"),
    (figures, changed(6, source="plt.plot()", metadata=FIGURE), "the same name"),
    (short_cells, edited(6, "1 + 1", "1\n" * 26), "cell 6 has 26 lines, 25"),
    (short_cells, changed(6, source="1\n" * 46, metadata=FOLDED), "cell 6 has 46 lines, 45"),
    (short_cells, edited(6, "1 + 1", "1 + " * 20 + "1"), "cell 6 has a line beyond 80"),
    (captions_of_folds, changed(6, metadata={"tags": ["hide-input"]}), "without a caption"),
    (captions_of_folds, changed(6, metadata=FOLDED | LONG), "without a caption"),
    (plain_python, edited(6, "1 + 1", "%matplotlib inline"), "cell 6 is not plain Python"),
    (controls, edited(3, ", twin={'half the noise': y}", ""), "check of A: needs a twin"),
    (controls, edited(3, "'half the noise': y", "'nothing': x"), "the twin is the statement"),
    (controls, edited(3, "printed=x, ", ""), "check of A: needs printed"),
    (controls, edited(3, "repaired=z, ", ""), "check of B: needs repaired"),
    (controls, edited(3, "'A', test", "'A'"), "check of A: needs a test"),
    (controls, edited(3, "'A', test", "'A', other"), "check of A: needs a test"),
    (controls, edited(3, "loss(x)", "loss(3)"), "check of A: needs a test"),
    (controls, edited(3, "'D', lambda s:", "'D', lambda t:"), "check of D: needs a test"),
    (controls, edited(3, "printed=x, ", "applies=False, printed=x, "), "applies must be computed"),
    (controls, edited(3, "check('A'", "check(name"), "a claim id written out"),
    (controls, edited(3, "'A'", "'NONE'"), "check of NONE: no such claim"),
    (controls, edited(3, "'A'", "'LATER'"), "check of LATER: the claim is pending"),
    (controls, edited(3, "'A'", "'OTHER'"), "the ledger says 02-other"),
    (completeness, edited(3, "'A'", "'B'"), "A is not checked"),
    (completeness, edited(3, "'A'", "'B'"), "B is checked twice"),
    (completeness, edited(2, "{badge}`A`", ""), "A has no badge"),
    (chance, edited(3, "default_rng(seed)", "seed(1)"), "np.random.seed uses the global state"),
    (chance, edited(3, "(seed)", "()"), "default_rng() without a seed"),
    (chance, edited(3, "rng =", "import random\nrng ="), "imports the global random state"),
    (chance, edited(3, "rng =", "from numpy.random import rand\nrng ="), "imports the global"),
    (chance, edited(4, "seed=0, ", ""), "sns.lineplot without seed="),
    (chance, edited(4, "seed=0", "errorbar=('ci', 95)"), "sns.lineplot without seed="),
    (chance, edited(6, "1 + 1", "norm.rvs(3)"), "rvs without random_state="),
    (exercises, edited(8, "{exercise} One", "{note} One"), "has 1 exercises"),
    (exercises, edited(8, ":label: ex-b", ""), "every exercise needs a label"),
    (exercises, edited(8, "{solution-start} ex-b", "{solution-start} ex-c"), "needs one solution"),
    (exercises, edited(8, ":class: dropdown\n", ""), "solution of ex-b is not folded"),
    (exercises, edited(10, "{solution-end}", "{note}"), "do not match"),
    (exercises, without(9), "the solution of ex-b runs no code"),
    (rerun, edited(11, "dpbook run 01-good", "dpbook run 02-other"), "must end with"),
    (rerun, edited(11, "Rerun", "Read"), "must end with"),
    (mathematics, edited(2, "$$\n", "").copy(), "a bare LaTeX environment"),
    (no_machine_paths, edited(6, "1 + 1", "open('/home/me/x')"), "a path of one machine"),
    (
        sources,
        edited(0, "Another one", "The authors keep it. Another one"),
        "no source: The authors",
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_good_page_keeps_every_rule(rule):
    assert rule("01-good", GOOD, LEDGER) == []


@pytest.mark.parametrize(("rule", "page", "fault"), BAD)
def test_every_rule_rejects_a_bad_page(rule, page, fault):
    faults = rule("01-good", page, LEDGER)
    assert any(fault in found for found in faults), faults


def test_every_rule_has_a_bad_page():
    assert {rule for rule, _, _ in BAD} == set(RULES)
    assert file_format("Good Page", GOOD, LEDGER) == ["must be named NN-topic"]


# --- the pages of the book ------------------------------------------------------------------------


def own_ledger():
    return load_ledger(ROOT / "book" / "claims.yml")


def test_a_source_is_a_place():
    good = "Their code (`Experiment-4.R`, line 12) draws it once. So do the authors in section 4."
    assert unsourced("The authors' code (`Experiment-4.R`, line 12) draws it once. " + good) == []
    assert unsourced("Fine. The authors draw\nit once. Fine.") == ["The authors draw it once."]


@pytest.mark.parametrize("place", ["ledger", "book"])
def test_sentences_about_authors_name_their_source(place):
    if place == "ledger":
        fields = ("says", "remark", "heading", "printed", "wrong", "repair")
        words = {
            claim.id: "\n\n".join(getattr(claim, field) or "" for field in fields)
            for claim in own_ledger().values()
        }
    else:
        words = {path.name: path.read_text("utf-8") for path in (ROOT / "book").glob("*.md")}
    assert {name: found for name, text in words.items() if (found := unsourced(text))} == {}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_page(rule, path):
    page = json.loads(path.read_text(encoding="utf-8"))
    faults = rule(path.stem, page, own_ledger())
    assert not faults, f"{path.name}: " + "; ".join(faults)


def toc_files(part):
    """All files that a table of contents names."""
    if isinstance(part, dict):
        part = [
            *([part["root"]] if "root" in part else []),
            *([part["file"]] if "file" in part else []),
            *part.get("parts", []),
            *part.get("chapters", []),
            *part.get("sections", []),
        ]
        return [name for item in part for name in toc_files(item)]
    return [part]


def toc_faults(root):
    """Pages outside the table of contents, and entries of it without a file."""
    named = toc_files(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))
    paths = [*root.glob("notebooks/*.ipynb"), *root.glob("book/**/*.md")]
    present = {path.relative_to(root).with_suffix("").as_posix() for path in paths}
    faults = [f"{name} is not in _toc.yml" for name in sorted(present - set(named))]
    faults += [f"{name} is in _toc.yml but has no file" for name in sorted(set(named) - present)]
    return faults + [f"{n} is in _toc.yml twice" for n in sorted(set(named)) if named.count(n) > 1]


def test_the_table_of_contents_is_complete():
    assert toc_faults(ROOT) == []


def test_a_wrong_table_of_contents_is_found(tmp_path):
    for name in ("book/index.md", "book/stray.md", "notebooks/01-good.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    entries = [{"file": "notebooks/01-good"}, {"file": "book/gone"}, {"file": "notebooks/01-good"}]
    toc = {"root": "book/index", "parts": [{"caption": "C", "chapters": entries}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
    assert toc_faults(tmp_path) == [
        "book/stray is not in _toc.yml",
        "book/gone is in _toc.yml but has no file",
        "notebooks/01-good is in _toc.yml twice",
    ]


def test_names_of_figures_are_unique_in_the_book():
    names = [
        cell["metadata"]["mystnb"]["figure"]["name"]
        for path in PAGES
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if "figure" in cell["metadata"].get("mystnb", {})
    ]
    assert len(set(names)) == len(names)
