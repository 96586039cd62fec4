"""Numbers in sentences and tables for readers."""

import numpy as np

from dpbook.book import say, table


def test_numpy_numbers_become_plain_numbers(monkeypatch):
    seen = {}
    monkeypatch.setattr("dpbook.book.prose.glue", lambda n, v, display: seen.update({n: v}))
    for name, value in (("a", np.float64(0.5)), ("b", np.int64(3)), ("c", "word"), ("d", 2)):
        say(name, value)
    assert seen == {"a": 0.5, "b": 3, "c": "word", "d": 2}
    assert [type(seen[k]) for k in "abcd"] == [float, int, str, int]


def test_a_table_has_no_index_and_a_fixed_name():
    rows = [{"items": 4, "loss (nats)": 0.123456}]
    first, second = (table(rows, "losses", {"loss (nats)": "{:.2f}"}).to_html() for _ in range(2))
    assert first == second
    assert 'id="T_t-losses"' in first
    assert "0.12" in first and "0.1234" not in first
    assert "row_heading" not in first
