"""The laws by which page 42 judges the libraries, by brute force, and the record run again."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks import libraries as bench
from dpbook.pages import libraries

RECORD = libraries.record()
PRESENT = [*bench.LIBRARIES]


def by_flips(chances):  # permute-and-flip, every order and every toss
    found = np.zeros(3)
    for order in permutations(range(3)):
        rest = 1 / 6
        for item in order:
            found[item] += rest * chances[item]
            rest *= 1 - chances[item]
    return found


def test_selections_are_those_of_all_orders_and_tosses():
    chances = np.exp([0.0, -1, -2])
    flip = libraries.law({"law": "flip", "scale": 1})
    assert flip == pytest.approx(by_flips(chances))
    weights = libraries.law({"law": "weights", "scale": 1})
    assert weights == pytest.approx(chances / chances.sum())
    top = libraries.law({"law": "top2", "scale": 1}, (3, 1, 0)).reshape(3, 2)
    flip = by_flips(np.exp([0.0, -2, -3]))
    assert top.sum(axis=1) == pytest.approx(flip)
    assert top[0] == pytest.approx(flip[0] * np.array([1 - math.exp(-1) / 2, math.exp(-1) / 2]))


def test_two_items_lose_what_is_promised_and_weights_are_cheaper_in_renyi_divergence():
    row = {"law": "flip", "scale": 1, "unit": "answer", "says": [2.0, 0.0]}
    assert 1.99 < libraries.exact(row) <= 2
    assert libraries.rho("weights", 1) <= 0.5 < 0.9 < libraries.rho("flip", 1)


def test_delta_of_answers_normal_and_whole_noise():
    keep = 0.75
    brute = 0.0
    for told in product((0, 1), repeat=3):
        right = sum(told)
        p, q = (keep**k * (1 - keep) ** (3 - k) for k in (right, 3 - right))
        brute += max(p - math.exp(0.7) * q, 0)
    row = {"law": "answer", "each": math.log(3), "count": 3}
    assert libraries.delta_at(row, 0.7) == pytest.approx(brute)
    plain = norm.cdf(0.25 - 2) - math.e * norm.cdf(-0.25 - 2)
    assert libraries.delta_at({"law": "normal", "sd": 2.0}, 1.0) == pytest.approx(plain)
    x = np.arange(-99, 100)
    p, q = (np.exp(-((x - s) ** 2) / 8) for s in (0, 1))
    whole = np.maximum(p - math.exp(0.5) * q, 0).sum() / p.sum()
    row = {"law": "gauss", "sd": 2.0, "shift": [1]}
    assert libraries.delta_at(row, 0.5) == pytest.approx(whole)


def test_draws_of_another_law_are_noticed():
    row = next(row for row in RECORD if row["kind"] == "draws" and row["law"] == "flip")
    (near, limit), (far, _) = (libraries.apart(row | {"law": name}) for name in ("flip", "weights"))
    assert near < limit and far > 2 * limit
    assert limit == pytest.approx(math.sqrt(2 * math.log(6e9) / bench.DRAWS))


@pytest.mark.parametrize("name", PRESENT)
def test_the_record_says_what_the_library_says(name, monkeypatch):
    pytest.importorskip(name.replace("-", "_"))
    monkeypatch.setattr(bench, "DRAWS", 50)
    monkeypatch.setattr(bench, "LIBRARIES", {name: bench.LIBRARIES[name]})
    found = [row for row in bench.rows() if row["kind"] != "draws"]
    kept = {(row["kind"], row["call"], row["version"]): row for row in RECORD}
    for row in found:
        same = kept.get((row["kind"], row["call"], row["version"]), row)  # or a version not run
        np.testing.assert_allclose(same["says"], row["says"], rtol=1e-9, err_msg=row["call"])
    assert {row["call"] for row in found} <= {row["call"] for row in RECORD}
