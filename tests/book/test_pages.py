"""The parameters cell: its grammar, the values it lets through, and what is said to the others."""

import csv
import math
import re
from pathlib import Path

import papermill
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papermill.exceptions import PapermillExecutionError

from dpbook.book.pages import (
    PageError,
    Parameter,
    ParameterError,
    find_pages,
    load_profile,
    parse_parameters,
    validate,
)

ROOT = Path(__file__).resolve().parents[2]
ALL_KINDS = """\
# what the reader may change
epsilon = 1.0  # privacy parameter | nats | (0, 10]
n_items = 4  # number of items | items | [3, 7]
epsilons = [0.5, 1.0, 2]  # grid of privacy levels | nats | each in (0, 10]
edition = "corrected"  # edition of the survey # 1 | - | {"corrected", "1998"}
private = True  # whether noise is added | - | {True, False}
names = ["a", "b"]  # items to show | - | each in {"a", "b", "c"}
shift = -1.5  # shift of the scores | - | (-inf, inf)
"""


def one(line):
    (parameter,) = parse_parameters(line).values()
    return parameter


def allows(parameter, value):
    try:
        parameter.coerce(value)
    except ValueError:
        return False
    return True


def test_every_kind_of_parameter_is_read():
    parameters = parse_parameters(ALL_KINDS)
    names = "epsilon n_items epsilons edition private names shift"
    assert list(parameters) == names.split()
    assert parameters["epsilon"] == Parameter(
        "epsilon", 1.0, "privacy parameter", "nats", "(0, 10]"
    )
    assert parameters["edition"].meaning == "edition of the survey # 1"
    kinds = ["float", "int", "list of float", "str", "bool", "list of str", "float"]
    assert [p.kind for p in parameters.values()] == kinds


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [
        ("epsilon = 1.0", "needs a comment"),
        ("epsilon = 1.0  # privacy | nats", "needs a comment"),
        ("epsilon = 1.0  # privacy | | (0, 1]", "needs a comment"),
        ("epsilon = x  # privacy | nats | (0, 1]", "not a literal"),
        ("epsilon = 0.0  # privacy | nats | (0, 1]", "default 0.0 is outside"),
        ("epsilon = 1.0  # privacy | nats | (0 to 1]", "unreadable range '(0 to 1]'"),
        ("epsilon = 1.0  # privacy | nats | (1, 0]", "unreadable range"),
        ("epsilon = 1.0  # privacy | nats | {1.0: 2}", "unreadable range"),
        ("epsilon = [1.0]  # privacy | nats | (0, 1]", "'each in'"),
        ("epsilon = 1.0  # privacy | nats | each in (0, 1]", "'each in'"),
        ("epsilon = []  # privacy | nats | each in (0, 1]", "non-empty list"),
        ("epsilon = None  # privacy | nats | (0, 1]", "is not a bool"),
        ("a = b = 1  # privacy | nats | [0, 1]", "not of the form"),
        ("import numpy", "not of the form"),
        ("epsilon = ", "not valid Python"),
        ("a = 1  # x | - | [0, 1]\na = 1  # x | - | [0, 1]", "assigned twice"),
    ],
)
def test_malformed_cells_are_refused(cell, complaint):
    with pytest.raises(PageError) as caught:
        parse_parameters(cell)
    assert complaint in str(caught.value)


@given(
    low=st.integers(-50, 50),
    width=st.integers(0, 50),
    value=st.floats(allow_nan=True, allow_infinity=True) | st.integers(-120, 120).map(float),
    left=st.sampled_from("(["),
    right=st.sampled_from(")]"),
)
def test_intervals_mean_what_they_say(low, width, value, left, right):
    high = low + width
    parameter = Parameter("x", 0.0, "x", "-", f"{left}{low}, {high}{right}")
    expected = (low < value or (left == "[" and value == low)) and (
        value < high or (right == "]" and value == high)
    )
    assert allows(parameter, value) is expected
    assert not allows(parameter, math.nan)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("epsilon", "2", 2.0),
        ("epsilon", "1e-3", 0.001),
        ("epsilons", "[1, 0.5]", [1.0, 0.5]),
        ("epsilons", "1, 0.5", [1.0, 0.5]),
        ("edition", "1998", "1998"),
        ("edition", "'1998'", "1998"),
        ("private", "false", False),
        ("names", "[a, c]", ["a", "c"]),
        ("shift", "-2", -2.0),
    ],
)
def test_values_from_the_command_line(name, text, value):
    parameter = parse_parameters(ALL_KINDS)[name]
    read = parameter.coerce(parameter.parse(text))
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("epsilon", 0, "epsilon = 0 is outside the allowed values; allowed: float, (0, 10]"),
        ("epsilon", 10.5, "epsilon = 10.5 is outside"),
        ("epsilon", math.nan, "epsilon = nan is outside"),
        ("epsilon", math.inf, "epsilon = inf is outside"),
        ("epsilon", True, "epsilon = True has the wrong type, bool; allowed: float, (0, 10]"),
        ("epsilon", "1", "epsilon = '1' has the wrong type, str"),
        ("epsilon", 10**400, "too large to convert to float"),
        ("n_items", 4.5, "n_items = 4.5 has the wrong type, float; allowed: int, [3, 7]"),
        ("n_items", 8, "n_items = 8 is outside"),
        ("n_items", None, "has the wrong type, NoneType"),
        ("epsilons", 1.0, "epsilons = 1.0 is not a list"),
        ("epsilons", [], "epsilons = [] is not a list with at least one element"),
        ("epsilons", [1.0, 0.0], "is outside the allowed values; allowed: list of float, each in"),
        ("edition", "1999", "edition = '1999' is outside"),
        (
            "eps",
            1.0,
            "no parameter 'eps'; there are epsilon, n_items",
        ),
    ],
)
def test_refusals_name_page_parameter_value_and_what_is_allowed(
    tmp_path, page_writer, name, value, complaint
):
    page_writer(tmp_path / "notebooks" / "03-x.ipynb", parameters=ALL_KINDS)
    (page,) = find_pages(tmp_path)
    with pytest.raises(ParameterError) as caught:
        validate(page, {name: value})
    assert str(caught.value).startswith("page 03-x: ")
    assert complaint in str(caught.value)


def test_plain_papermill_is_refused_a_name_that_the_page_does_not_have(
    tmp_path, page_writer, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    code = "from dpbook.book.pages import refuse_out_of_range\n\nrefuse_out_of_range(globals())"
    path, out = page_writer(tmp_path / "01-one.ipynb", code), tmp_path / "out.ipynb"
    how = {"kernel_name": "python3", "language": "python"}
    papermill.execute_notebook(path, out, {"epsilon": 0.25}, **how)
    words = "no parameter 'epsilom'; there are epsilon, n_items"
    with pytest.raises(PapermillExecutionError, match=words):
        papermill.execute_notebook(path, out, {"epsilom": 0.25}, **how)


def test_a_page_has_its_defaults_and_one_parameters_cell(tiny_book):
    page = find_pages(tiny_book)[0]
    assert validate(page, {}) == {"epsilon": 1.0, "n_items": 4}
    effective = validate(page, {"epsilon": 2})
    assert effective == {"epsilon": 2.0, "n_items": 4} and type(effective["epsilon"]) is float
    assert page.title == "One" and page.code_cells[1:] == ["print(epsilon)"]
    path = tiny_book / "notebooks" / "01-one.ipynb"
    path.write_text(path.read_text().replace('["parameters"]', "[]"))
    with pytest.raises(PageError, match="page 01-one: 0 cells are tagged 'parameters'"):
        find_pages(tiny_book)
    assert load_profile(tiny_book, "default") == {}
    assert load_profile(tiny_book, "smoke") == {"01-one": {"n_items": 3}}


# What the papers print: repetitions of each point. CCW25's are those of the published table.
PRINTED = {
    "18-debiased-estimation": 50,  # XSC, Scenario I
    "19-privacy-schedules": 50,  # Scenario II
    "20-recovering-the-ranking": 100,  # Scenarios III to V
    "22-movielens": 200,  # section 5.4
    "31-aggregation-experiments": 30,  # YLL, section 5.1.2
}


def test_the_paper_profile_is_as_large_as_the_papers():
    """And no size of it is below that of the pages, or a small part of what a page allows."""
    paper, pages = load_profile(ROOT, "paper"), {page.name: page for page in find_pages(ROOT)}
    published = (ROOT / "dpbook" / "data" / "ccw25_reference.csv").read_text(encoding="utf-8")
    most = max(int(row["replicates"]) for row in csv.DictReader(published.splitlines()))
    assert paper["10-edge-experiments"]["replicates"] == most
    assert all(paper[name]["replicates"] >= least for name, least in PRINTED.items())
    assert paper["31-aggregation-experiments"]["fresh_runs"] >= 30  # YLL, section 5.1.2
    for name, values in paper.items():
        for key, value in values.items():
            known = pages[name].parameters[key]
            largest = float(re.findall(r"\d+", known.allowed)[-1])
            assert value >= known.default, (name, key)
            few = (name, key) == ("23-kemeny-and-kwiksort", "users")  # an odd few, for ties
            assert few or 5 * value >= largest, (name, key)


@pytest.mark.parametrize(
    ("default", "allowed", "found"),
    [
        (1, "[0, 5]", [0, 5]),
        (0.5, "(0, 1]", [1e-6, 1.0]),
        (0.5, "[0, 2)", [0.0, 2 - 2e-6]),
        (3, "{3, 4, 5}", [3, 5]),
        ("b", '{"b", "a", "c"}', ["a", "b", "c"]),
        ([1.0], "each in [0.1, 8]", [[0.1], [8.0]]),
    ],
)
def test_the_ends_of_a_range(default, allowed, found):
    ends = Parameter("x", default, "m", "-", allowed).ends
    assert ends == (found if allowed[0] in "{e" else pytest.approx(found))
