"""Pages without IPython, as in a reader's browser: what they show is what papermill shows."""

import json
import py_compile
import shutil
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

TIMESTAMP = py_compile.PycInvalidationMode.TIMESTAMP
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
    names = ("IPython", "IPython.display", "myst_nb", "seaborn")
    saved = {name: sys.modules.get(name) for name in names}
    browser.install(screen)
    try:
        browser.run_page(page, given, screen, told.append, **more)
    finally:
        for name, module in saved.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    return told


def test_a_page_runs_at_given_values_and_shows_what_a_notebook_shows():
    told = told_of(PAGE, {"epsilon": 0.5})
    assert [one["kind"] for one in told] == ["begin", "cell"] * 3 + ["done"]
    assert told[3]["outputs"] == [{"text": "1.0\n"}, {"text": "2.0\n"}]
    assert told[-1]["glued"] == ["1.00", "1.0", "?"]


def test_cells_that_are_left_out_do_not_run_and_leave_their_numbers_to_the_published():
    told = told_of(PAGE, {}, left_out=[1, 2])
    assert [one["kind"] for one in told] == ["begin", "cell", "done"]
    assert told[-1]["glued"] == [None, None, None]


def test_imports_are_made_ahead_and_nothing_else(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    browser.import_all(
        ["x = 1 / 0", "import no_such_module\nfrom math import no_such_name\nimport colorsys"]
    )
    assert "colorsys" in sys.modules


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
    assert (
        last["why"]
        == "ZeroDivisionError: float division by zero (cell 2, line 2: 1 / (epsilon - 1))"
    )


@pytest.mark.parametrize(
    ("value", "form"),
    [
        *((1.5, ".3f"), (2, "d"), (7.0, "d"), ("a:b", "s"), (float("inf"), "g"), (0.25, ".0%")),
        *((3, ""), (1500, ",")),
    ],
)
def test_numbers_in_sentences_are_written_as_the_published_ones(value, form):
    assert browser.sentence(repr(value), form) == format_plain_text(repr(value), form)


def test_the_text_of_a_reader_is_run_and_its_errors_are_sentences():
    screen, told = browser.Screen(), []
    for text in ("print(1)\n2 + 2", "print(1)\n2 +", "print(1)\nlen(3)"):
        browser.run_text(text, "", screen, told.append)
    assert told[0]["outputs"] == [{"text": "1\n"}, {"text": "4\n"}]
    assert told[1]["why"] == "SyntaxError: invalid syntax (your text, line 2: 2 +)"
    assert "(your text, line 2: len(3))" in told[2]["why"]
    assert told[2]["outputs"] == [{"text": "1\n"}]


@pytest.mark.parametrize(
    ("solved", "said"),
    [("x == 2", True), ("x > 2", False), ("'halve it' if x > 1 else True", "halve it")],
)
def test_an_exercise_says_whether_it_is_solved(solved, said):
    screen, told = browser.Screen(), []
    browser.run_text("x = 2", solved, screen, told.append)
    assert told == [{"kind": "text", "outputs": [], "solved": said}]


DRAWING = """
import hashlib, io, sys
from dpbook.book.live import browser, lighter
screen = browser.Screen()
browser.install(screen)
if sys.argv[1] == "light":
    browser.lighten()
elif sys.argv[1] == "forgetful":  # ticks are where they were first
    browser.lighten()
    lighter._state = lambda axis: ()
import matplotlib.artist, matplotlib.axis
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from dpbook.book import figures
figures.use_style()
looks = 0
count = matplotlib.axis.Axis.get_majorticklocs
def counted(self):
    global looks
    looks += 1
    return count(self)
matplotlib.axis.Axis.get_majorticklocs = counted
fig, axes = plt.subplots(2, 2, figsize=(7, 6), sharex="col")
axes[0, 0].loglog([1, 1e5], [1e-3, 1e4], label=r"$\\sqrt{\\varepsilon}$")
axes[0, 0].legend(loc="best")
image = axes[0, 1].imshow(np.arange(6).reshape(2, 3))
fig.colorbar(image, ax=axes[0, 1]).set_label("a bar")
axes[1, 0].plot([1, 3e4], [1, 2e6])
axes[1, 0].set(title="a title", xlabel="x", ylabel="y")
axes[1, 0].twinx().plot([0.001, 0.002], [1, 2])
figures.draw_table(axes[1, 1], [["1", "2"]], rows=["a"], columns=["b", "c"])
screen.show()
fig, ax = figures.canvas(5, 2)
figures.label_line(ax, ax.plot([0, 3], [0, 1])[0], "end")
screen.show()
law = stats.betabinom(5, 2.0, 3.0).pmf(range(6)), stats.norm.isf(0.01), stats.t(3).ppf(0.9)
text = "".join(one["svg"] for one in screen.outputs) + repr(law)
print(hashlib.sha256(text.encode()).hexdigest(), looks, bool(plt.plot.__doc__))
"""


def test_figures_and_laws_made_with_less_work_are_the_same_to_the_byte():
    made = {}
    for how in ("plain", "light", "forgetful"):
        call = [sys.executable, "-c", DRAWING, how]
        run = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
        made[how] = run.stdout.split()
    assert made["light"][0] == made["plain"][0]
    assert made["forgetful"][0] != made["plain"][0]
    assert int(made["light"][1]) < int(made["plain"][1]) / 2


def test_bytecode_is_kept_and_not_compared_with_its_source(tmp_path):
    (tmp_path / "one.py").write_text("x = 1\n")
    py_compile.compile(tmp_path / "one.py", invalidation_mode=TIMESTAMP)
    packed = browser.packed_bytecode([str(tmp_path)])
    (tmp_path / "one.py").write_text("x = 2\n")
    shutil.rmtree(tmp_path / "__pycache__")
    (tmp_path / "kept.zip").write_bytes(packed)
    shutil.unpack_archive(tmp_path / "kept.zip", "/")  # as the runtime does: no absolute names
    code = "import one; print(one.x)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == "1\n"
    assert browser.packed_bytecode([str(tmp_path)]) is None, "nothing new"


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
    from dpbook.book.live.bundle import bundle
    from dpbook.book.pages import find_page, load_profile

    page = find_page(ROOT, number)
    packed = bundle(page, ROOT)
    given = load_profile(ROOT, "smoke").get(page.name, {})
    words = json.dumps([packed, packed["ledger"], given])
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=words,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        check=True,
    )
    last, records = json.loads(run.stdout)
    assert last["kind"] == "done", last
    assert "?" not in last["glued"]
    found = [[entry["id"], entry["verdict"] == "holds", True] for entry in packed["ledger"]]
    assert sorted(records) == sorted(found)


def test_a_light_process_names_no_fortran_tools_and_computes_the_same() -> None:
    program = """
import sys
from dpbook.book.live import browser
if len(sys.argv) > 1: browser.lighten()
from numpy import *
print(*sorted({"numpy.f2py", "numpy.testing"} & sys.modules.keys()))
import scipy.stats, scipy.optimize, scipy.sparse.csgraph
print(scipy.stats.binom.pmf(1, 2, 0.5))
"""
    told = [
        subprocess.run(
            [sys.executable, "-c", program, *word], capture_output=True, text=True, check=True
        ).stdout.split()
        for word in ([], ["light"])
    ]
    assert told[0][:2] == ["numpy.f2py", "numpy.testing"]  # the control
    assert told[1] == told[0][2:]
