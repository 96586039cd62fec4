"""Codes, their limits, the hidden-set models, and distances between the laws they induce."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from dpbook.lower_bounds import divergences as div
from dpbook.lower_bounds.packings import (
    constant_weight_code,
    gilbert_varshamov,
    johnson_bound,
    minimum_distance,
    set_probabilities,
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


def test_hidden_set_model():
    rho = set_probabilities(5, np.array([1, 4]), 0.2)
    upper = np.isin(np.arange(5), [1, 4])
    for i, j in product(range(5), repeat=2):
        assert rho[i, j] == pytest.approx(0.5 + 0.2 * (int(upper[i]) - int(upper[j])))


def test_coupling_distance_closed_form_and_kl():
    n, k, gap, p = 9, 4, 0.15, 0.6
    for h in (1, 2, 4):
        pair = [set_probabilities(n, s, gap) for s in (np.arange(k), np.r_[: k - h, k : k + h])]
        exact = div.edge_coupling_distance(*pair, p=p)
        assert exact == pytest.approx(2 * p * gap * h * (n - h))
        kl = sum(
            a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))
            for a, b in zip(*(m[np.triu_indices(n, 1)] for m in pair), strict=True)
        )
        assert div.edge_kl(*pair, p=p) == pytest.approx(p * kl)
        tv = div.total_variation(*map(div.comparison_law, pair))
        assert tv == pytest.approx(4 * gap * h * (n - h) / (n * (n - 1)))


def test_user_total_variation_by_enumeration():
    rng = np.random.default_rng(2)
    a, b = rng.dirichlet(np.ones(4), 2)
    for draws in (1, 2, 3):
        at = np.array(list(product(range(4), repeat=draws)))
        direct = np.abs(a[at].prod(axis=1) - b[at].prod(axis=1)).sum() / 2
        assert div.user_total_variation(a, b, draws) == pytest.approx(direct)
    rho = [set_probabilities(4, np.array([i]), 0.3) for i in (0, 1)]
    first, second = map(div.comparison_law, rho)
    two = np.abs(np.outer(first, first) - np.outer(second, second)).sum() / 2
    assert div.user_total_variation(first, second, 2) == pytest.approx(two)


def test_product_law():
    law = div.product_law([0.2, 0.7])
    assert law == pytest.approx([0.8 * 0.3, 0.8 * 0.7, 0.2 * 0.3, 0.2 * 0.7])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: constant_weight_code(5, 6, 2), "weight"),
        (lambda: constant_weight_code(5, 2, 0), "distance"),
        (lambda: constant_weight_code(5, 2, 2, method="best"), "method"),
        (lambda: constant_weight_code(5, 2, 2, method="greedy"), "rng"),
        (lambda: constant_weight_code(60, 10, 4), "length"),
        (lambda: minimum_distance(np.ones((1, 3))), "code"),
        (lambda: set_probabilities(4, np.array([1, 1]), 0.1), "members"),
        (lambda: set_probabilities(4, np.array([1]), 0.7), "gap"),
        (lambda: div.edge_kl(np.eye(2), np.eye(3)), "other"),
        (lambda: div.total_variation([0.5, 0.6], [0.5, 0.5]), "law"),
        (lambda: div.user_total_variation([1.0], [1.0], 9), "per_user"),
        (lambda: div.product_law([1.5]), "probabilities"),
    ],
)
def test_errors_name_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
