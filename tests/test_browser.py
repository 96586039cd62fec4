"""Pages without IPython, as in a reader's browser: what they show is what papermill shows."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import seaborn
from myst_nb.core.variables import format_plain_text

from dpbook.book.live import browser, plots
from dpbook.book.live.bundle import bundle
from dpbook.book.pages import find_page, load_profile

ROOT = Path(__file__).parents[1]
PAGE = {
    "cells": [
        "epsilon = 1.0  # privacy | nats | (0, 10]",
        "x = 2 * epsilon\nprint(x)\nx + 1",
        "from myst_nb import glue\nglue('twice', x, display=False)",
    ],
    "parameters": 0,
    "glued": [("twice", ".2f"), ("twice", "s"), ("nowhere", "s")],
}


def told_of(page, given, **more):
    """All that a run of a page tells."""
    screen, told = browser.Screen(), []
    with pytest.MonkeyPatch.context() as replaced:
        for name in ("IPython", "IPython.display", "myst_nb", "seaborn"):
            replaced.setitem(sys.modules, name, None)  # what `install` puts there is taken away
        browser.install(screen)
        browser.run_page(page, given, screen, told.append, **more)
    return told


def test_a_page_runs_at_given_values_and_shows_what_a_notebook_shows():
    told = told_of(PAGE, {"epsilon": 0.5})
    assert [one["kind"] for one in told] == ["begin", "cell"] * 3 + ["done"]
    assert told[3]["outputs"] == [{"text": "1.0\n"}, {"text": "2.0\n"}]
    assert told[-1]["glued"] == ["1.00", "1.0", "?"]


def test_cells_that_are_left_out_do_not_run_and_leave_their_numbers_to_the_published():
    told = told_of(PAGE, {}, long=[1])
    assert [one["cell"] for one in told if one["kind"] == "cell"] == [0]
    assert told[-1]["glued"] == [None, None, None]


def cells_run(*cells, long=(1,)):
    """The numbers of those that ran, after a cell of parameters, when others are long."""
    page = {"cells": ["p = 1  # a | - | [0, 1]", *cells], "parameters": 0, "glued": []}
    told = told_of(page, {}, long=[number + 1 for number in long])
    assert told[-1]["kind"] == "done", told[-1]
    return [one["cell"] - 1 for one in told if one["kind"] == "cell"][1:]


NEEDS = {
    "a name": "y = x + 1",
    "to change it": "x += 1",
    "in a branch": "if 1:\n    print(x)",
    "beside its new value": "x = x + 1",
    "what a function reads": "def f():\n    return x\n\n\nf()",
    "after a number was glued": "from myst_nb import glue\nglue('n', 1)\nx",
}
DOES_NOT = {
    "made anew": "x = 2\nprint(x)",
    "a parameter": "def f(x):\n    return x\n\n\nf(2)",
    "of a comprehension": "y = [x for x in range(3)]",
    "never called": "def f():\n    return x",
}


@pytest.mark.parametrize("cell", NEEDS.values(), ids=NEEDS)
def test_a_cell_that_reads_what_a_long_one_makes_is_left_out(cell):
    assert cells_run("x = 1", "x = 2", cell) == [0]
    assert cells_run("x = 1", "x = 2", cell, long=()) == [0, 1, 2]


@pytest.mark.parametrize("cell", DOES_NOT.values(), ids=DOES_NOT)
def test_a_cell_that_does_not_read_it_runs(cell):
    assert cells_run("x = 1", "x = 2", cell) == [0, 2]


CHANGES = ["x.append(1)", "x[0] = 1", "x[0][1] = 1", "del x[0]", "x += [1]", "x.sort()"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_long_cell_that_changes_a_list_makes_it(change):
    assert cells_run("x = [0]", change, "print(x)") == [0]


def test_one_cell_after_the_other_is_left_out_until_the_name_is_made_anew():
    cells = ("import math\nx = 1", "math.sin(1)\nx = 2", "y = x", "x = 3", "print(x)", "math, y")
    assert cells_run(*cells) == [0, 3, 4]


def test_a_cell_that_was_given_up_leaves_no_figure_and_no_number():
    plot = "import matplotlib.pyplot as plt\nfrom myst_nb import glue\nplt.figure()"
    cells = ["p = 1  # a | - | [0, 1]", "x = 1", f"{plot}\nglue('n', 1)\nx", "1"]
    told = told_of({"cells": cells, "parameters": 0, "glued": [("n", "s")]}, {}, long=[1])
    assert told[-1]["glued"] == [None]
    assert told[-2]["outputs"] == [{"text": "1\n"}]
    wrong = told_of({"cells": [*cells, "z"], "parameters": 0, "glued": []}, {}, long=[1])
    assert "name 'z' is not defined" in wrong[-1]["why"], "which no cell left out makes"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"epsilon": 11}, r"epsilon = 11 is outside the allowed values; allowed: float, (0, 10]"),
        ({"epsilon": "much"}, "allowed: float, (0, 10]"),
        ({"n": 3}, "there is no parameter 'n'"),
    ],
)
def test_a_value_out_of_range_is_refused_before_anything_runs(given, why):
    (only,) = told_of(PAGE, given)
    assert only["kind"] == "refused"
    assert why in only["why"]


def test_a_failing_cell_is_a_sentence_with_its_line():
    page = PAGE | {"cells": [PAGE["cells"][0], "y = 1\n1 / (epsilon - 1)"]}
    last = told_of(page, {})[-1]
    assert last["kind"] == "failed"
    why = "ZeroDivisionError: float division by zero (cell 2, line 2: 1 / (epsilon - 1))"
    assert last["why"] == why


def test_numbers_in_sentences_are_written_as_the_published_ones():
    strange = ("a:b", "s"), (float("inf"), "g"), (3, ""), (1500, ",")
    for value, form in ((1.5, ".3f"), (2, "d"), (7.0, "d"), (0.25, ".0%"), *strange):
        assert browser.sentence(repr(value), form) == format_plain_text(repr(value), form)


def test_the_text_of_a_reader_is_run_and_its_errors_are_sentences():
    screen, told = browser.Screen(), []
    for text in ("print(1)\n2 + 2", "print(1)\n2 +", "print(1)\nlen(3)"):
        browser.run_text(text, "", screen, told.append)
    assert told[0]["outputs"] == [{"text": "1\n"}, {"text": "4\n"}]
    assert told[1]["why"] == "SyntaxError: invalid syntax (your text, line 2: 2 +)"
    assert "(your text, line 2: len(3))" in told[2]["why"]
    assert told[2]["outputs"] == [{"text": "1\n"}]


def test_assertions_of_a_page_run_where_python_was_started_without_them():
    code = "from dpbook.book.live.browser import Screen; Screen().run('assert 0', 'cell', {})"
    run = subprocess.run([sys.executable, "-OO", "-c", code], cwd=ROOT, stderr=-1, check=False)
    assert run.stderr.endswith(b"AssertionError\n")


@pytest.mark.parametrize(
    ("solved", "said"),
    [("x == 2", True), ("x > 2", False), ("'halve it' if x > 1 else True", "halve it")],
)
def test_an_exercise_says_whether_it_is_solved(solved, said):
    screen, told = browser.Screen(), []
    browser.run_text("x = 2", solved, screen, told.append)
    assert told == [{"kind": "text", "outputs": [], "solved": said}]


def picture_by(sns, errors=1.96):
    """A table of cells, shares above, and means with intervals, as 150 000 pixels."""
    fig, axes = plt.subplots(1, 3, figsize=(10, 3.75), dpi=64)
    rng = np.random.default_rng(1)
    cells, look = rng.random((2, 3)), {"cmap": "RdBu", "vmin": 0, "vmax": 1, "cbar": False}
    look |= {"xticklabels": list("abc"), "yticklabels": list("de")}
    sns.heatmap(cells, annot=True, fmt=".2f", mask=np.eye(2, 3) > 0, ax=axes[0], **look)
    axes[0].tick_params(axis="y", rotation=0)
    sns.ecdfplot(cells.ravel(), complementary=True, color="red", ax=axes[1])
    axes[1].set(ylabel="share", ylim=(0, 1))
    at, who, _ = np.indices((3, 2, 5)).reshape(3, -1)
    look = dict.fromkeys(("hue", "style"), np.array(["one", "two"])[who])
    look |= {"x": at, "y": rng.random(at.size), "markers": ("o", "s"), "markersize": 7}
    look |= {"err_style": "bars", "palette": ["red", "blue"]}
    sns.lineplot(errorbar=("se", errors), ax=axes[2], **look)
    axes[2].get_legend().remove()
    fig.canvas.draw()
    pixels = np.asarray(fig.canvas.buffer_rgba(), dtype=float)
    plt.close(fig)
    return pixels


def test_what_stands_in_for_seaborn_draws_the_same():
    real = picture_by(seaborn)
    assert np.abs(picture_by(plots) - real).mean() < 0.2
    assert np.abs(picture_by(plots, errors=1) - real).mean() > 1  # the control


@pytest.mark.parametrize("number", ["01", "25"])
def test_a_page_of_the_book_needs_no_ipython_jinja2_yaml_or_pandas(tmp_path, number):
    """A process that refuses to import them runs a page, with its checks."""
    code = textwrap.dedent(
        """
        import json, os, sys
        refused = ("IPython", "jinja2", "yaml", "jsonschema", "pandas", "seaborn", "fcntl")
        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in refused and not hasattr(sys.modules.get(name), "display"):
                    raise ModuleNotFoundError(f"{name} is refused", name=name)
        sys.meta_path.insert(0, Refuse())
        os.environ["MPLBACKEND"] = "svg"
        from dpbook.book.live import browser
        screen = browser.Screen()
        browser.install(screen)
        page, ledger, given = json.load(sys.stdin)
        os.makedirs("book")
        json.dump(ledger, open("book/ledger.json", "w"))
        told = []
        browser.run_page(page, given, screen, told.append)
        records = [o["record"] for t in told for o in t.get("outputs", ()) if "record" in o]
        last = {k: v for k, v in told[-1].items() if k != "outputs"}
        print(json.dumps([last, [[r["id"], r["holds"], r["control"]] for r in records]]))
        """
    )
    page = find_page(ROOT, number)
    packed = bundle(page, ROOT)
    given = load_profile(ROOT, "smoke").get(page.name, {})
    words = json.dumps([packed, packed["ledger"], given])
    how = {"cwd": tmp_path, "env": {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, input=words, stdout=-1, text=True, check=True, **how)
    last, records = json.loads(run.stdout)
    assert last["kind"] == "done", last
    assert "?" not in last["glued"]
    found = [[entry["id"], entry["verdict"] == "holds", True] for entry in packed["ledger"]]
    assert sorted(records) == sorted(found)
