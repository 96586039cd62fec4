"""Exercises: level, time, hint; what their checks accept and refuse; no two alike."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from difflib import SequenceMatcher
from pathlib import Path
from textwrap import indent

import pytest
from myst_parser.parsers.options import TokenizeError, options_to_items

from dpbook.book import grade
from dpbook.book.live import browser
from dpbook.book.sphinx.exercises import LEVELS, Check, answers, checks

ROOT = Path(__file__).parents[2]
CHANGE = "# change me"
_EXERCISE = re.compile(
    r"^(?P<fence>[`:]{3,})\{exercise\} *(?P<title>[^\n]*)\n(?P<options>(?::[^\n]*\n)*)(?P<body>.*?)"
    r"^(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
_HINT = re.compile(r"\s*```\{hint\}\n:class: dropdown\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def markdown(path):
    """All Markdown of a notebook, with a line for every code cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(c["source"]) if c["cell_type"] == "markdown" else "(code)" for c in cells]
    return "\n\n".join(texts)


PAGES = {
    int(path.name[:2]): markdown(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
CHECKS = [(n, check) for n, text in PAGES.items() for check in checks(text)]


def faults(text):
    """What is missing in the exercises of some Markdown."""
    found, asked = [], [*_EXERCISE.finditer(text)]
    for exercise in asked:
        options = dict(re.findall(r"^:(\w+): *(.*)$", exercise["options"], re.MULTILINE))
        name, hint = options.get("label", "?"), _HINT.match(text, exercise.end())
        if options.get("level") not in LEVELS:
            found.append(f"{name}: the level is one of {', '.join(LEVELS)}")
        if not options.get("minutes", "").isdigit():
            found.append(f"{name}: no minutes")
        if hint is None:
            found.append(f"{name}: no hint after the question")
        elif len(re.findall(r"[.?!](?=\s)", hint[1])) > 2:
            found.append(f"{name}: a hint has at most two sentences")
    if asked and not checks(text):
        found.append("no exercise has a check")
    return found + [
        f"{check.name}: no answer with a wrong one beside it"
        for check in checks(text)
        if not all(answers(text).get(check.name, ("", "")))
    ]


GOOD = """```{exercise} Title
:label: ex-good
:level: apply
:minutes: 5

What is one and one?
```

```{hint}
:class: dropdown

Count.
```

```{try} sum
:solved: True if x == 2 else "too small" if x < 2 else "too large"
x = 0  # change me
```

````{solution-start} ex-good
````
```{answer} sum
:wrong: x = 3
x = 2
```
````{solution-end}
````
"""


@pytest.mark.parametrize("number", sorted(PAGES))
def test_every_exercise_has_level_time_hint_and_every_page_a_check(number):
    assert not faults(PAGES[number])


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (":level: apply\n", "", "level"),
        (":level: apply", ":level: hard", "level"),
        (":minutes: 5", ":minutes: some", "minutes"),
        ("```{hint}\n:class: dropdown\n\nCount.\n```\n", "", "hint"),
        ("Count.", "Count. Then count. And again.", "two sentences"),
        (":solved: True if", ":asked: True if", "no exercise has a check"),
        ("```{answer} sum", "```{answer} other", "no answer"),
        (":wrong: x = 3\n", "", "no answer"),
    ],
)
def test_what_lacks_the_form_is_noticed(old, new, fault):
    assert not faults(GOOD)
    assert any(fault in one for one in faults(GOOD.replace(old, new)))


def answered(check, answer):
    """The template with an answer in the place of its line to change."""
    ((space, line),) = re.findall(rf"(?m)^( *)(.*{CHANGE})$", check.template)
    return check.template.replace(space + line, indent(answer.strip("\n"), space))


def outcome(check, text):
    """What the check says of a text, as in the browser; the error if it does not run."""
    told = []
    browser.run_text(text, check.solved, browser.Screen(), told.append)
    return told[0].get("solved", told[0].get("why"))


@pytest.mark.parametrize(("number", "check"), CHECKS, ids=[check.name for _, check in CHECKS])
def test_a_check_takes_the_answer_and_refuses_the_template_and_a_wrong_answer(number, check):
    right, wrong = answers(PAGES[number])[check.name]
    assert outcome(check, answered(check, right)) is True
    for text in (check.template, answered(check, wrong)):
        said = outcome(check, text)
        assert said is not True, "a wrong answer is accepted"
        assert "Error" not in str(said), said  # it runs, and is refused for what it is


def read_as_option(text):
    """The value of an option as the parser of the book reads it; None if it cannot."""
    try:
        (((_, value),), _) = options_to_items(f"option: {text}")
    except (TokenizeError, ValueError):
        return None
    return value


@pytest.mark.parametrize(("number", "check"), CHECKS, ids=[check.name for _, check in CHECKS])
def test_what_decides_is_read_as_it_is_written(number, check):
    for text in (check.solved, answers(PAGES[number])[check.name][1]):
        assert read_as_option(text) == text


def test_an_option_that_begins_with_a_quotation_is_noticed():
    assert read_as_option('"too few" if x else True') is None
    assert read_as_option("x # y") == "x"


ALONE = """
import contextlib, importlib.machinery, io, json, sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        found = importlib.machinery.PathFinder.find_spec(name) if path is None else None
        installed = found is not None and "-packages" in str(found.origin)
        if installed and name not in ("numpy", "scipy", "dpbook"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Absent())
for name, code in json.load(sys.stdin):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, {"__name__": "__main__"})
    except ImportError as error:
        print(f"{name} misses {error}")
"""


def missed(templates):
    """What editors miss where there is nothing but NumPy, SciPy and this package."""
    given = json.dumps(templates)
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        input=given,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
    )
    return done.stdout


def test_an_editor_runs_in_the_browser_which_loads_numpy_and_scipy_for_it():
    found = [(check.name, check.template) for text in PAGES.values() for check in checks(text)]
    assert len(found) > 20
    assert missed(found) == ""
    assert missed([["drawing", "import matplotlib"]]) == "drawing misses matplotlib\n"


def test_a_template_has_one_line_to_change():
    (check,) = checks(GOOD)
    assert answered(check, "x = 1\ny = 2") == "x = 1\ny = 2\n"
    inside = Check("f", f"def f():\n    return 0  {CHANGE}\n", "f()", 0, 0)
    assert answered(inside, "x = 1\nreturn x") == "def f():\n    x = 1\n    return x\n"


def test_a_grade_is_a_sentence():
    assert grade(True) == "Solved."
    assert grade(False) == "Not yet."
    assert grade("too small") == "Not yet: too small."


def question(exercise):
    """The words of an exercise, without mathematics, code and marks."""
    text = re.sub(r"\{[\w:]+\}`[^`]*`|`[^`]*`|\$[^$]*\$", " ", exercise["body"])
    return re.findall(r"[a-zé]{3,}", f"{exercise['title']} {text}".lower())


def alike(one, other):
    """Two questions share more than half of their words, in their order."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio() > 0.5


def test_no_two_exercises_are_the_same():
    asked = [
        (f"page {number}: {exercise['title']}", question(exercise))
        for number, text in PAGES.items()
        for exercise in _EXERCISE.finditer(text)
    ]
    pairs = [(a, b) for i, a in enumerate(asked) for b in asked[:i]]
    assert not [(a[0], b[0]) for a, b in pairs if alike(a[1], b[1])]
    # A question in slightly other words is noticed, another question is not.
    first = asked[0][1]
    assert alike(first, ["now", *first[1:-3], "other", "words"])
    assert not alike(first, asked[1][1])


#: Names that a reader finds on the page of the interface.
_PARTS = "data models mechanisms estimators privacy rankers optimum simulation book"
_PUBLIC = {
    name for part in _PARTS.split() for name in importlib.import_module(f"dpbook.{part}").__all__
} | {"privacy", "mechanisms", "np", "scipy", "dpbook"}


def hidden_names(notebook):
    """By exercise, names in its question and hint that only folded cells of the page define."""
    folded, shown, found = set(), set(), {}
    texts = ["".join(cell["source"]) for cell in notebook["cells"]]
    for check in checks("\n\n".join(texts)):
        shown |= {*defined(check.template)}
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            hides = {"hide-input", "hide-cell", "remove-cell"} & {*cell["metadata"].get("tags", ())}
            (folded if hides else shown).update(defined(text))
    for text in texts:
        for exercise in _EXERCISE.finditer(text):
            hint = _HINT.match(text, exercise.end())
            asked = exercise["body"] + (hint[1] if hint else "")
            used = {*re.findall(r"(?<!\})`([A-Za-z_]\w*)", asked)} - _PUBLIC - shown
            if used & folded and "dpbook.pages." not in asked:
                found[exercise["title"]] = sorted(used & folded)
    return found


def defined(code):
    """Names that some code defines or imports."""
    tree = ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", code))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


@pytest.mark.parametrize("number", sorted(PAGES))
def test_no_exercise_needs_a_name_that_only_folded_code_has(number):
    (path,) = (ROOT / "notebooks").glob(f"{number:02d}-*.ipynb")
    assert not hidden_names(json.loads(path.read_text(encoding="utf-8")))


def test_a_name_of_folded_code_is_noticed():
    def page(tags, words):
        code = {"cell_type": "code", "metadata": {"tags": tags}, "source": "def study():\n    ..."}
        text = GOOD.replace("What is one and one?", words)
        return {"cells": [code, {"cell_type": "markdown", "metadata": {}, "source": text}]}

    assert hidden_names(page(["hide-input"], "Use `study(3)`.")) == {"Title": ["study"]}
    assert not hidden_names(page([], "Use `study(3)`."))
    assert not hidden_names(page(["hide-input"], "Use `study(3)` of `dpbook.pages.one`."))
    assert not hidden_names(page(["hide-input"], "Use `check_mechanism`."))
