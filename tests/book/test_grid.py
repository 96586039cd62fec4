"""The grid of all pages: what it runs, and what it finds in what they show."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.pages import Parameter, find_pages, load_profile, validate

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("grid_tool", ROOT / "tools" / "grid.py")
assert _SPEC and _SPEC.loader
grid = importlib.util.module_from_spec(_SPEC)
sys.modules["grid_tool"] = grid
_SPEC.loader.exec_module(grid)


def unmet(axes: dict[str, Sequence[Any]], rows: Sequence[dict[str, Any]]) -> set[Any]:
    """Pairs of values of two axes that stand together in no row."""
    wanted = {
        (a, x, b, y) for a, b in itertools.combinations(axes, 2) for x in axes[a] for y in axes[b]
    }
    return wanted - {
        (a, row[a], b, row[b]) for row in rows for a, b in itertools.combinations(axes, 2)
    }


@pytest.mark.parametrize("levels", [(2, 2), (2, 1, 3), (2,) * 6, (3, 2, 2, 4, 1, 2, 3)])
def test_any_two_values_of_any_two_parameters_meet(levels: tuple[int, ...]) -> None:
    axes = {f"p{k}": range(10 * k, 10 * k + size) for k, size in enumerate(levels)}
    rows = grid.covering(axes)
    assert unmet(axes, rows) == set() and rows == grid.covering(axes)
    at_least = max(levels) * sorted(levels)[-2]
    assert at_least <= len(rows) <= 2 * at_least
    ends = [{name: axis[end] for name, axis in axes.items()} for end in (0, -1)]
    assert unmet(axes, ends), "the two corners alone leave pairs out"


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
def test_the_ends_of_a_range(default: Any, allowed: str, found: list[Any]) -> None:
    ends = grid.ends(Parameter("x", default, "m", "-", allowed))
    assert ends == (found if allowed[0] in "{e" else pytest.approx(found))


def test_every_end_of_every_parameter_of_the_book_is_in_some_run() -> None:
    profiles = {name: load_profile(ROOT, name) for name in ("smoke", "paper")}
    for page in find_pages(ROOT):
        kinds = grid.runs(page, profiles)
        listed = [given for settings in kinds.values() for given in settings]
        for given in listed:
            validate(page, profiles["smoke"].get(page.name, {}) | given)
        for parameter in page.parameters.values():
            seen = [given.get(parameter.name) for given in listed]
            own = profiles["smoke"].get(page.name, {}).get(parameter.name, parameter.default)
            assert all(end in [*seen, own] for end in grid.ends(parameter)), parameter.name
        assert ("seed" in page.parameters) == (len(kinds["seeds"]) == 20)


def shown(**data: Any) -> list[tuple[str, str]]:
    """What is found in a notebook whose only output has this data."""
    kinds = {name.replace("_", "/", 1): value for name, value in data.items()}
    output = {"output_type": "display_data", "data": kinds, "metadata": {}}
    return list(grid.not_finite({"cells": [{"id": "a", "outputs": [output]}]}))


def test_a_planted_nan_is_found_and_words_are_not() -> None:
    assert shown(text_html="<td>1.0</td><td>nan</td>") == [("a", "1.0 nan")]
    assert shown(text_plain=["loss ", "-inf"]) == [("a", "loss -inf")]
    assert shown(**{"application/papermill.record/text/plain": "inf"}) == [("a", "inf")]
    printed = {"id": "b", "outputs": [{"output_type": "stream", "text": ["NaN\n"]}]}
    assert list(grid.not_finite({"cells": [printed]})) == [("b", "NaN")]
    for fine in (r"$\inf_x$", "information, financial", "<b class='nan'>1</b>", "∞", "1e308"):
        assert shown(text_html=fine) == []


def test_an_infinite_loss_may_catch_a_twin_and_may_not_pass() -> None:
    parts = [{"what": "loss", "passes": False, "sign": "≤", "value": "inf", "limit": 1}]
    for passes in (False, True):
        record = {"report": {}, "measured": [{"passes": passes, "parts": parts}]}
        data = {RECORD_MIME: record, "text/html": "loss inf > 1: caught"}
        notebook = {"cells": [{"id": "a", "outputs": [{"data": data, "metadata": {}}]}]}
        assert len(list(grid.not_finite(notebook))) == passes


def measured(subject: str, name: str, passes: bool) -> dict[str, Any]:
    part = {"what": "loss", "sign": "≤", "value": 0 if passes else 2, "limit": 1, "slack": 0}
    entry = {"subject": subject, "name": name, "passes": passes}
    return entry | {"parts": [part | {"passes": passes}]}


def result(problem: bool = False, **more: Any) -> dict[str, Any]:
    page = "34-how-much-epsilon"
    record = {
        **{"id": "BOOK-SMALLEST-EPSILON", "holds": not problem, "repaired": None, "applies": True},
        **{"why": None, "verdict": "true", "tier": "statistical", "report": {}, "control": True},
        "measured": [measured("printed", "", not problem), measured("twin", "more", problem)],
        **{"notebook": page, "parameters": {}},
    }
    return {"error": None, "records": [record], "longest": 1.0, "not_finite": []} | more


def found(*results: tuple[str, dict[str, Any], dict[str, Any] | None]) -> dict[str, Any]:
    return {"34-how-much-epsilon": grid.page_found("34-how-much-epsilon", results)}


def test_what_goes_wrong_is_told_with_its_setting() -> None:
    own = ("own", {}, result(not_finite=[["a", "loss inf"], ["b", "nan"]]))
    words = [["a", "loss inf"], ["a", "loss NaN"], ["c", "inf"]]
    more = result(not_finite=words, longest=130.2)
    failed = result(error="cell 3:\nValueError: no")
    told = found(own, ("pairs", {"k": 1}, more), ("tops", {"k": 2}, failed), ("seeds", {}, None))
    lines = "\n".join(grid.problems(told))
    assert "k=1: not finite: inf" in lines and ": not finite: nan" in lines
    assert "k=2: failed: ValueError: no" in lines and "k=1: slow: 130" in lines
    assert "k=1: not finite: loss NaN" in lines
    assert "loss inf" not in lines, "as the page says at its own setting"
    shown = grid.summary({"pages": told, "statistical": []})["pages"]["34-how-much-epsilon"]
    assert (shown["runs"], shown["planned"], shown["failed"], shown["longest"]) == (3, 4, 1, 130)


def test_alarms_are_counted_beside_what_was_to_be_expected() -> None:
    fine, wrong = found(("seeds", {"seed": 1}, result())), found(("seeds", {}, result(True)))
    assert "holds is False" in "\n".join(grid.problems(wrong))
    (row,), (alarmed,) = grid.statistical(fine), grid.statistical(wrong)
    assert row["checks"] == alarmed["checks"] == alarmed["seen"] == 1
    assert row["seen"] == 0 and row["expected"] == row["alarm"] == 1e-6
    twin = result()
    twin["records"][0]["control"] = False
    (passed,) = grid.statistical(found(("seeds", {"seed": 1}, twin)))
    assert (passed["seen"], passed["twins_passed"]) == (0, 1)


def test_every_statistical_claim_states_its_false_alarms() -> None:
    import yaml

    ledger = yaml.safe_load((ROOT / "book" / "claims.yml").read_text(encoding="utf-8"))
    stated = yaml.safe_load((ROOT / "book" / "trust" / "alarms.yml").read_text(encoding="utf-8"))
    checked = {entry["id"] for entry in ledger if entry.get("tier") == "statistical"}
    assert stated.keys() == checked
    for alarm, power in stated.values():
        assert 0 <= float(alarm) <= 0.01 and (power is True or float(alarm) > 0)
