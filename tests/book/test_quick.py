"""Which cells a quick run leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbook.book.live.quick import left_out
from dpbook.book.pages import Page, find_pages


def page(*cells, long=(1,)):
    """A page of these cells, some of them tagged."""
    made = [
        {"cell_type": "code", "source": source, "metadata": {"tags": ["long"] * (k in long)}}
        for k, source in enumerate(cells)
    ]
    return Page("01-one", "One", {}, {"cells": made})


NEEDS = {
    "a name": "y = x + 1",
    "in a comprehension": "y = [x for _ in range(3)]",
    "in a lambda": "y = lambda: x",
    "to change it": "x += 1",
    "in the head of a loop": "for x in x:\n    pass",
    "in a branch": "if 1:\n    print(x)",
    "in a loop": "for i in range(3):\n    print(i, x)",
    "beside its new value": "x = x + 1",
    "in the text of an f-string": 'print(f"{x:.2f}")',
    "as a part": "print(x.mean[0])",
}
DOES_NOT = {
    "another name": "y = z + 1",
    "made anew": "x = 2\nprint(x)",
    "its own loop": "for x in range(3):\n    print(x)",
    "a parameter": "def f(x):\n    return x\n\n\nf(2)",
    "of a comprehension": "y = [x for x in range(3)]",
    "never called": "def f():\n    return x",
    "a keyword": "print(1, x=2)",
    "a local name": "def f():\n    x = 1\n    return x\n\n\nf()",
}


@pytest.mark.parametrize("cell", NEEDS.values(), ids=NEEDS)
def test_a_cell_that_reads_what_a_long_one_makes_is_left_out(cell):
    assert left_out(page("x = z = 1", "x = 2", cell)) == [1, 2]
    assert left_out(page("x = z = 1", "x = 2", cell, long=())) == []


@pytest.mark.parametrize("cell", DOES_NOT.values(), ids=DOES_NOT)
def test_a_cell_that_does_not_read_it_runs(cell):
    assert left_out(page("x = z = 1", "x = 2", cell)) == [1]


@pytest.mark.parametrize(
    "change", ["x.append(1)", "x[0] = 1", "x.part = 1", "x[0].part[1] = 1", "del x[0]", "x += [1]"]
)
def test_a_long_cell_that_changes_an_object_makes_it(change):
    assert left_out(page("x = [0]", change, "print(x)")) == [1, 2]


def test_a_function_with_the_name_of_a_method_changes_nothing():
    assert left_out(page("import numpy as x", "y = x.append([], 1)", "print(x)")) == [1]


def test_one_cell_after_the_other_is_left_out_until_the_name_is_made_anew():
    cells = ("x = 1", "x = 2", "y = x", "x = 3", "print(x)", "print(y)")
    assert left_out(page(*cells)) == [1, 2, 5]


def test_a_function_needs_what_it_reads_when_it_is_called():
    cells = (
        "def f():\n    return g()",
        "x = 2",
        "def g():\n    return x",
        "f()",
        "def f(): 1",
        "f()",
    )
    assert left_out(page(*cells)) == [1, 3]


def test_no_page_leaves_out_its_parameters_or_imports():
    for one in find_pages(Path(__file__).resolve().parents[2]):
        first = next(k for k, tags in enumerate(one.code_tags) if "parameters" in tags)
        assert not {*range(first + 3)} & {*left_out(one)}
