"""Measurements: what passes, what is said about it, and what cannot be a measurement."""

import json
import math

import numpy as np
import pytest

from dpbook.book.ledger.findings import at_least, at_most, equal, part_words
from dpbook.pages.local_protocols import fact


@pytest.mark.parametrize(
    ("finding", "passes", "words"),
    [
        (at_most("loss (ε)", 0.5, 1), True, "loss (ε) 0.5 ≤ 1"),
        (at_most("loss (ε)", 1.1, 1), False, "loss (ε) 1.1 > 1"),
        (at_most("loss", 1.0, 1), True, "loss 1 ≤ 1"),
        (at_most("loss", 1.0, 1, strict=True), False, "loss 1 ≥ 1"),
        (at_most("loss", 1 + 1e-12, 1, slack=1e-9), True, "loss 1 ≤ 1"),
        (at_most("loss", 1 + 1e-12, 1), False, "loss 1.000000000001 > 1"),
        (at_most("loss", math.inf, 1), False, "loss inf > 1"),
        (at_most("loss", [0.5, 3, 2], [1, 2, 4]), False, "loss 3 > 2"),
        (at_least("gap", 0.5, 0.25), True, "gap 0.5 ≥ 0.25"),
        (at_least("gap", [0.5, 0.1], 0.25), False, "gap 0.1 < 0.25"),
        (at_least("gap", 0.25, 0.25, strict=True), False, "gap 0.25 ≤ 0.25"),
        (at_least("loss", math.inf, math.inf), True, "loss inf ≥ inf"),
        (equal("pairs", 3, 3), True, "pairs 3 = 3"),
        (equal("tables", 59049, 59050), False, "tables 59,049 ≠ 59,050"),
        (equal("pairs", [1, 3], [1, 2]), False, "pairs 3 ≠ 2"),
        (equal("distribution", 0.1 + 0.2, 0.3), False, "distribution 0.30000000000000004 ≠ 0.3"),
        (equal("distribution", 0.1 + 0.2, 0.3, slack=1e-15), True, "distribution 0.3 = 0.3"),
        (equal("mean", math.inf, 1), False, "mean inf ≠ 1"),
        (fact("every order is kept", True), True, "every order is kept: yes"),
        (fact("every order is kept", np.bool_(False)), False, "every order is kept: no"),
    ],
)
def test_a_measurement(finding, passes, words):
    assert finding.passes is passes
    (part,) = finding.parts
    assert part_words(part) == words
    assert json.loads(json.dumps(part, allow_nan=False)) == part


def test_findings_are_joined_and_keep_every_part():
    both = at_most("loss", 2, 1) & fact("order kept", True)
    assert not both.passes and [part["passes"] for part in both.parts] == [False, True]
    assert (at_most("loss", 1, 1) & fact("order kept", True)).passes
    with pytest.raises(ValueError, match="two parts of one test are called 'loss'"):
        at_most("loss", 2, 1) & at_most("loss", 1, 1)
    with pytest.raises(TypeError, match="no truth value"):
        at_most("loss", 2, 1) and fact("order kept", True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: at_most("loss", math.nan, 1), "loss: needs numbers without NaN"),
        (lambda: at_most("loss", [], 1), "loss: needs numbers"),
        (lambda: at_least("loss", None, 1), "loss: needs numbers"),
        (lambda: at_most("loss", "1", 1), "loss: needs numbers"),
    ],
)
def test_what_is_no_measurement(make, message):
    with pytest.raises(ValueError, match=message):
        make()
