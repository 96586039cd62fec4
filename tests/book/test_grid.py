"""The grid of all pages: what it runs, and what it finds in what they show."""

import importlib
import itertools
import json

import pytest
import yaml

from dpbook.book.ledger.check import RECORD_MIME
from dpbook.book.pages import Parameter, find_pages, load_profile, validate
from tests.book.browsing import ROOT

grid = importlib.import_module("grid")
PAGE = "34-how-much-epsilon"


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


def test_any_two_ends_of_any_two_parameters_meet_in_some_run():
    profiles = {name: load_profile(ROOT, name) for name in ("smoke", "paper")}
    for page in find_pages(ROOT):
        listed = grid.settings(page, profiles)
        assert listed[0] == {} and ("seed" in page.parameters) == ({"seed": 20} in listed)
        smoke = profiles["smoke"].get(page.name, {})
        own = {p.name: p.default for p in page.parameters.values()} | smoke
        for setting in listed:
            validate(page, smoke | setting)
        for one, two in itertools.combinations(page.parameters.values(), 2):
            low, *_, high = one.ends
            for x in (low, high):
                if {one.name: x} not in listed and x != own[one.name]:  # no upper end of a size
                    partners = [
                        s[two.name] for s in listed if two.name in s and s.get(one.name) == x
                    ]
                    assert two.ends[0] in partners, (page.name, one.name, two.name)


def shown(tmp_path, **data):
    """What is found in a notebook whose only output has this data."""
    kinds = {name.replace("_", "/", 1): value for name, value in data.items()}
    output = {"output_type": "display_data", "data": kinds, "metadata": {}}
    path = tmp_path / "executed.ipynb"
    path.write_text(json.dumps({"cells": [{"id": "a", "outputs": [output]}]}), encoding="utf-8")
    return grid.look(path)["not_finite"]


def test_a_planted_nan_is_found_and_words_are_not(tmp_path):
    assert shown(tmp_path, text_html="<td>1.0</td><td>nan</td>") == [("a", "1.0 nan")]
    assert shown(tmp_path, text_plain=["loss ", "-inf"]) == [("a", "loss -inf")]
    glue = {"application/papermill.record/text/plain": "inf"}
    assert shown(tmp_path, **glue) == [("a", "inf")]
    for fine in (r"$\inf_x$", "information, financial", "<b class='nan'>1</b>", "∞", "1e308"):
        assert shown(tmp_path, text_html=fine) == []
    # an infinite loss may catch a control and may not pass
    parts = [{"what": "loss", "passes": False, "sign": "≤", "value": "inf", "limit": 1}]
    for passes in (False, True):
        record = {"report": {}, "measured": [{"passes": passes, "parts": parts}]}
        data = {RECORD_MIME: record, "text/html": "loss inf > 1: caught"}
        assert len(shown(tmp_path, **data)) == passes


def measured(subject, name, passes):
    part = {"what": "loss", "sign": "≤", "value": 0 if passes else 2, "limit": 1, "slack": 0}
    entry = {"subject": subject, "name": name, "passes": passes}
    return entry | {"parts": [part | {"passes": passes}]}


def result(problem=False, **more):
    record = {
        **{"id": "BOOK-SMALLEST-EPSILON", "holds": not problem, "repaired": None, "applies": True},
        **{"why": None, "verdict": "true", "evidence": "statistical"},
        **{"report": {}, "control": True, "notebook": PAGE, "parameters": {}},
        "measured": [measured("printed", "", not problem), measured("control", "more", problem)],
    }
    return {"error": None, "records": [record], "not_finite": []} | more


def test_what_goes_wrong_is_told_with_its_setting():
    own = result(not_finite=[["a", "loss inf"], ["b", "nan"]])
    more = result(not_finite=[["a", "loss inf"], ["a", "loss NaN"], ["c", "inf"]])
    failed = result(error="cell 3:\nValueError: no")
    runs = [({}, own), ({"k": 1}, more), ({"k": 2}, failed), ({"seed": 3}, None)]
    row, lines, _ = grid.judge(PAGE, runs)
    assert [line for line in lines if "has no record" not in line] == [
        f"{PAGE}: not finite: nan",
        f"{PAGE} k=1: not finite: loss NaN",
        f"{PAGE} k=1: not finite: inf",
        f"{PAGE} k=2: failed: ValueError: no",
    ], "an infinity in cell a is the page's own"
    assert (row["runs"], row["planned"], row["failed"]) == (3, 4, 1)
    assert grid.runs_told([row, row]).startswith("6 of 8 planned runs")


def test_alarms_are_counted_beside_what_was_to_be_expected():
    control = result()
    control["records"][0]["control"] = False
    for one, wrong, seen in ((result(), False, 0), (result(True), True, 1), (control, True, 0)):
        _, lines, checks = grid.judge(PAGE, [({"seed": 1}, one)])
        assert any("has no record" not in line for line in lines) == wrong
        told = "In 2 statistical checks at most 2e-06 false alarms were to be expected from the "
        told += f"stated probabilities; the grid saw {2 * seen}."
        assert grid.alarms_told([*checks, *checks]) == told


def test_every_statistical_claim_states_its_false_alarms():
    ledger = yaml.safe_load((ROOT / "book" / "claims.yml").read_text(encoding="utf-8"))
    stated = yaml.safe_load((ROOT / "book" / "trust" / "alarms.yml").read_text(encoding="utf-8"))
    checked = {entry["id"] for entry in ledger if entry.get("evidence") == "statistical"}
    assert stated.keys() == checked
    for alarm, power in stated.values():
        assert 0 <= float(alarm) <= 0.01 and (power is True or float(alarm) > 0)
