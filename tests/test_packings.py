"""Codes of sets: their distances, and the limits of their size."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from dpbook.lower_bounds import (
    constant_weight_code,
    gilbert_varshamov,
    johnson_bound,
    minimum_distance,
)


@pytest.mark.parametrize("method", ["lexicographic", "greedy", "random"])
@pytest.mark.parametrize("case", [(8, 4, 4), (12, 3, 6), (10, 3, 3), (9, 2, 4)])
def test_codes_keep_their_distance_and_the_limits(method, case):
    _, weight, distance = case
    code = constant_weight_code(*case, method=method, rng=np.random.default_rng(1))
    assert (code.sum(axis=1) == weight).all()
    far = [np.count_nonzero(a != b) for a, b in combinations(code, 2)]
    assert min(far) == minimum_distance(code) >= distance
    assert len(code) <= johnson_bound(*case)
    if method != "random":
        assert len(code) >= gilbert_varshamov(*case)
    broken = code.copy()
    broken[1] = code[0]
    assert minimum_distance(broken) == 0


def test_known_optimal_codes():
    assert johnson_bound(8, 4, 4) == 14 == len(constant_weight_code(8, 4, 4))
    assert johnson_bound(7, 3, 4) == 7 == len(constant_weight_code(7, 3, 4))
    assert johnson_bound(12, 3, 6) == 4
    assert johnson_bound(5, 2, 6) == 1
    assert johnson_bound(6, 3, 1) == comb(6, 3) == gilbert_varshamov(6, 3, 1)
    assert gilbert_varshamov(6, 3, 4) == 2  # 20 words, a ball of 1 + 9


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: constant_weight_code(5, 6, 2), "weight"),
        (lambda: constant_weight_code(5, 2, 0), "distance"),
        (lambda: constant_weight_code(5, 2, 2, method="best"), "method"),
        (lambda: constant_weight_code(5, 2, 2, method="greedy"), "rng"),
        (lambda: constant_weight_code(60, 10, 4), "length"),
        (lambda: minimum_distance(np.ones((1, 3))), "code"),
    ],
)
def test_errors_name_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
