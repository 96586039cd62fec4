"""Every page has the anatomy that the book promises; every rule is shown to reject a bad page."""

import ast
import copy
import functools
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from dpbook.book.ledger.claims import Claim, load_ledger
from dpbook.book.pages import PageError, parse_parameters

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "notebooks").glob("*.ipynb"))

MAX_VISIBLE, MAX_FOLDED, MAX_COLUMNS, MAX_CAPTION = 25, 45, 80, 8
CELL_METADATA = {"tags", "mystnb"}
TAGS = {"hide-input", "hide-output", "hide-cell", "remove-input", "remove-output", "remove-cell"}
TAGS |= {"parameters", "output_scroll", "long"}
MYSTNB = {"figure", "image", "code_prompt_show", "code_prompt_hide", "number_source_lines"}
MYSTNB |= {"markdown_format", "text_lexer"}
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


def nodes_of(cell):
    """All nodes of a cell's code; none where it is not plain Python."""
    try:
        return [*ast.walk(ast.parse(text(cell)))]
    except SyntaxError:
        return []


def calls(cell):
    """All calls in a cell, as (dotted name, node)."""
    return [(ast.unparse(n.func), n) for n in nodes_of(cell) if isinstance(n, ast.Call)]


def check_calls(page):
    """All calls of `check`, as (cell number, claim id or None, keywords)."""
    for number, cell in code_cells(page):
        for name, node in calls(cell):
            if name == "check" or name.endswith(".check"):
                literal = node.args and isinstance(node.args[0], ast.Constant)
                keywords = {keyword.arg: keyword.value for keyword in node.keywords}
                keywords |= dict(zip(("test",), node.args[1:], strict=False))
                yield number, node.args[0].value if literal else None, keywords


def looks_at_its_subject(page, node):
    """Whether the test of a check is a function that looks at what it is given.

    A name must be a function of this page, or be made by one: ``test = made_by(...)``.
    """
    if isinstance(node, ast.Lambda):
        functions = [node]
    elif isinstance(node, ast.Name):
        nodes = [n for _, cell in code_cells(page) for n in nodes_of(cell)]
        functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == node.id]
    else:
        return isinstance(node, ast.Call)  # a test made for the occasion

    def looks(function):
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        body = function.body if isinstance(function.body, list) else [function.body]
        used = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)}
        return bool(names) and names[0] in used

    return bool(functions) and all(map(looks, functions))


# --- the rules: each takes the name, the page and the ledger, and gives one line per fault --------
RULES = []


def rule(function):
    """A rule that yields its faults, as one that lists them."""

    @functools.wraps(function)
    def faults(name, page, ledger):
        return [*function(name, page, ledger)]

    RULES.append(faults)
    return faults


@rule
def no_outputs(name, page, ledger):
    for number, cell in code_cells(page):
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"cell {number} holds outputs or a count"


@rule
def file_format(name, page, ledger):
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
def opening(name, page, ledger):
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
def parameters(name, page, ledger):
    for _, cell in code_cells(page):
        if "parameters" in tags(cell):
            try:
                parse_parameters(text(cell))
            except PageError as error:
                yield str(error)


@rule
def metadata(name, page, ledger):
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
def figures(name, page, ledger):
    names = []
    for number, cell in code_cells(page):
        mystnb = cell["metadata"].get("mystnb", {})
        figure, image = mystnb.get("figure", {}), mystnb.get("image", {})
        drawing = {call for call, _ in calls(cell) if re.match(r"(plt|sns)\.", call)}
        draws = drawing - {"plt.close", "sns.set_theme"} or figure or image
        if not draws or "remove-output" in tags(cell):
            continue
        names.append(figure.get("name"))
        if not re.fullmatch(r"fig-[a-z0-9-]+", str(figure.get("name"))):
            yield f"cell {number}: the figure needs a name like fig-topic"
        if len(str(figure.get("caption", "")).split()) < 4:
            yield f"cell {number}: the figure needs a caption"
        if len(str(image.get("alt", "")).split()) < 4:
            yield f"cell {number}: the figure needs alternative text that describes it"
        if image.get("alt") and image.get("alt") == figure.get("caption"):
            yield f"cell {number}: the alternative text only repeats the caption"
    if len(set(names)) != len(names):
        yield "two figures have the same name"


@rule
def short_cells(name, page, ledger):
    for number, cell in code_cells(page):
        if "parameters" in tags(cell):
            continue  # one line for each parameter, with all that is said of it
        folded = {"hide-input", "hide-cell", "remove-input"} & {*tags(cell)}
        limit = MAX_FOLDED if folded else MAX_VISIBLE
        lines = [line for line in text(cell).splitlines() if line.strip()]
        if len(lines) > limit:
            yield f"cell {number} has {len(lines)} lines, {limit} are allowed"
        if max(map(len, lines), default=0) > MAX_COLUMNS:
            yield f"cell {number} has a line beyond {MAX_COLUMNS} columns"


@rule
def captions_of_folds(name, page, ledger):
    for number, cell in code_cells(page):
        mystnb = cell["metadata"].get("mystnb", {})
        said = mystnb.get("code_prompt_show", "")
        fits = 1 <= len(said.split()) <= MAX_CAPTION and said == mystnb.get("code_prompt_hide")
        if "hide-input" in tags(cell) and not fits:
            yield f"cell {number} is folded without a caption that says what it does"


@rule
def plain_python(name, page, ledger):
    for number, cell in code_cells(page):
        try:
            ast.parse(text(cell))
        except SyntaxError as error:
            yield f"cell {number} is not plain Python: {error.msg}"


@rule
def controls(name, page, ledger):
    for number, claim_id, given in check_calls(page):
        where = f"cell {number}: check of {claim_id}"
        if claim_id is None or claim_id not in ledger:
            yield (
                f"{where}: no such claim" if claim_id else f"{where}: needs a claim id written out"
            )
            continue
        claim, twins = ledger[claim_id], given.get("twin")
        if not claim.checked:
            yield f"{where}: the claim is pending"
        if claim.notebook != name:
            yield f"{where}: the ledger says {claim.notebook}"
        if "applies" in given and ast.unparse(given["applies"]) == "False":
            yield f"{where}: applies must be computed, not written down"
        if not looks_at_its_subject(page, given.get("test")):
            yield f"{where}: needs a test, a function on this page that uses its argument"
        if claim.needs_control and twins is None:
            yield f"{where}: needs a twin"
        if isinstance(twins, ast.Dict):
            same = {ast.unparse(given[k]) for k in ("printed", "repaired") if k in given}
            if same & {ast.unparse(value) for value in twins.values}:
                yield f"{where}: the twin is the statement itself"
        if "printed" not in given:
            yield f"{where}: needs printed"
        if claim.verdict == "false-repaired" and "repaired" not in given:
            yield f"{where}: needs repaired"


@rule
def completeness(name, page, ledger):
    checked = [claim_id for _, claim_id, _ in check_calls(page) if claim_id]
    boxes = " ".join(re.findall(r"^`{3,}\{claim\} (.+)$", prose(page), re.MULTILINE))
    badges = {*re.findall(r"\{badge\}`([^`]+)`", prose(page)), *boxes.split()}
    yield from (f"{one} is checked twice" for one, times in Counter(checked).items() if times > 1)
    yield from (f"{one} has no badge" for one in checked if one not in badges)
    for claim in ledger.values():
        owed = claim.checked and claim.same_as is None and claim.notebook == name
        if owed and claim.id not in checked:
            yield f"{claim.id} is not checked"


@rule
def chance(name, page, ledger):
    imports = r"^\s*(import random\b|from random import|from numpy.random import)"
    for number, cell in code_cells(page):
        for found in re.findall(r"\b(?:np|numpy)\.random\.(\w+)", text(cell)):
            if found not in SEEDED:
                yield f"cell {number}: np.random.{found} uses the global state"
        if re.search(imports, text(cell), re.M):
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
def exercises(name, page, ledger):
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
    inside, ran = None, set()
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
def rerun(name, page, ledger):
    last = [text(cell) for cell in page["cells"] if cell["cell_type"] == "markdown"][-1]
    command = re.search(rf"dpbook run {re.escape(name)} .*-p ", last)
    if not ("## Rerun this page" in last and command):
        yield f"must end with 'Rerun this page' and 'dpbook run {name} -p ...'"


@rule
def mathematics(name, page, ledger):
    outside = re.sub(r"\$\$.*?\$\$|```\{math\}.*?```", "", prose(page), flags=re.S)
    if AMSMATH.search(outside):
        yield "a bare LaTeX environment has a random id; write $$ ... $$ (label)"


@rule
def no_machine_paths(name, page, ledger):
    for number, cell in enumerate(page["cells"]):
        for found in re.findall(r"(?<![\w.:/])/(?:home|work|tmp|root|Users)/\w*", text(cell)):
            yield f"cell {number} names a path of one machine: {found}"


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


@rule
def sources(name, page, ledger):
    yield from (f"a sentence about authors names no source: {s}" for s in unsourced(prose(page)))


# --- a good page, and for every rule the ways of breaking it --------------------------------------


def claim(name, **fields):
    base = {"paper": "P", "where": "1", "kind": "privacy", "says": "s", "notebook": "01-good"}
    return Claim(name, **(base | {"status": "checked", "verdict": "holds"} | fields))


CLAIMS = (
    claim("A"),
    claim("B", verdict="false-repaired"),
    claim("D", kind="dataset", verdict="definition"),
    claim("OTHER", notebook="02-other"),
    claim("LATER", status="pending", verdict=None),
)
LEDGER = {c.id: c for c in CLAIMS}


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


def changed(number, **fields):
    page = copy.deepcopy(GOOD)
    page["cells"][number] |= fields
    return page


def edited(number, old, new):
    """The good page with a text replaced in one cell."""
    source = GOOD["cells"][number]["source"]
    assert old in source
    return changed(number, source=source.replace(old, new))


def figure(**parts):
    value = copy.deepcopy(FIGURE["mystnb"])
    for part, fields in parts.items():
        value[part] = {k: v for k, v in (value.get(part, {}) | fields).items() if v is not None}
    return changed(4, metadata={"mystnb": value})


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
    (
        exercises,
        GOOD | {"cells": [*GOOD["cells"][:9], *GOOD["cells"][10:]]},
        "the solution of ex-b runs no code",
    ),
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
    if isinstance(part, str):
        return [part]
    kinds = ("root", "file", "parts", "chapters", "sections")
    items = part if isinstance(part, list) else [part[kind] for kind in kinds if kind in part]
    return [name for item in items for name in toc_files(item)]


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
