"""Numbers in sentences and tables for readers."""

import math
import re

import numpy as np
import pytest

from dpbook.book import say, table

ROWS = [
    {"method": "a < b & π", "items": 4, "loss (nats)": 0.123456},
    {"method": "c", "items": np.int64(12), "loss (nats)": 2},
]


def cells(html, tag):
    return re.findall(rf"<{tag}[^>]*>(.*?)</{tag.split()[0]}>", html)


def test_numpy_numbers_become_plain_numbers(monkeypatch):
    seen = {}
    monkeypatch.setattr("myst_nb.glue", lambda n, v, display: seen.update({n: v}))
    for name, value in (("a", np.float64(0.5)), ("b", np.int64(3)), ("c", "word"), ("d", 2)):
        say(name, value)
    assert seen == {"a": 0.5, "b": 3, "c": "word", "d": 2}
    assert [type(seen[k]) for k in "abcd"] == [float, int, str, int]


def test_a_table_names_its_columns_and_rows_and_never_changes():
    first, second = (table(ROWS, "losses", caption="All <of> it")._repr_html_() for _ in range(2))
    assert first == second
    assert re.findall(r'id="([^"]*)"', first) == ["t-losses"]
    assert "<caption>All &lt;of&gt; it</caption>" in first
    assert cells(first, 'th scope="col"') == ["method", "items", "loss (nats)"]
    assert cells(first, "td") == ["4", "0.123456", "12", "2.000000"]
    assert cells(first, 'th scope="row"') == ["a &lt; b &amp; π", "c"]
    assert first.count('class="number"') == 2 * 3, "columns of numbers, with their heads"


@pytest.mark.parametrize("header", [0, 1, 2])
def test_the_first_columns_name_the_row(header):
    html = table(ROWS, "losses", header=header)._repr_html_()
    assert html.count('scope="row"') == 2 * header and len(cells(html, "td")) == 2 * (3 - header)
    assert "<caption>" not in html


def test_formats_are_patterns_or_functions():
    formats = {"loss (nats)": "{:.2f}", "items": lambda n: f"{n} items"}
    assert cells(table(ROWS, "t", formats)._repr_html_(), "td") == [
        *("4 items", "0.12"),
        *("12 items", "2.00"),
    ]


def test_a_missing_number_is_not_a_number():
    html = table([{"n": "x", "a": 1}, {"n": "y"}, {"n": "z", "a": None}], "t")._repr_html_()
    assert cells(html, "td") == ["1.000000", "nan", "nan"]
    assert cells(table([{"a": math.inf}], "t", header=0)._repr_html_(), "td") == ["inf"]
    assert "<tbody>\n</tbody>" in table([], "none")._repr_html_()
