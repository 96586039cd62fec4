"""What page 27 needs, against enumeration, simulation and the distribution of one pair."""

import itertools
import math

import numpy as np
import pytest

from dpbook.models import mallows_pair_probabilities
from dpbook.pages.ldp_kwiksort import (
    all_right_probability,
    switch_epsilon,
    wrong_pairs_bound,
    wrong_pairs_pmf,
    yll_mu,
)
from dpbook.privacy import WholeRanking
from dpbook.rankers import PairResponses, best_queries
from dpbook.simulation import expected_wrong_pairs

MECHANISMS = ["response", "laplace"]


def asks(n, epsilon, queries=1, mechanism="response", design="random"):
    given = {"queries": queries, "mechanism": mechanism, "design": design}
    return PairResponses.private(epsilon, WholeRanking(n), **given)


def test_switch_points():
    assert switch_epsilon(1) == pytest.approx(4 * math.atanh(math.sqrt(math.sqrt(2) - 1)))
    assert switch_epsilon(1, "laplace") == pytest.approx(4 * math.log(1 + math.sqrt(2)))
    for mechanism, k in itertools.product(MECHANISMS, [1, 2, 7]):
        epsilon = switch_epsilon(k, mechanism)
        around = [best_queries(epsilon * f, mechanism=mechanism) for f in (0.999, 1.001)]
        assert around == [k, k + 1]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mu_as_printed(mechanism):
    m, n, theta, epsilon, k = 15, 5000, 0.5, 1.0, 2
    g = epsilon**2 * k / (epsilon + 2 * k) ** 2
    if mechanism == "laplace":
        g = (1 - math.exp(-epsilon / (2 * k))) ** 2 * k
    tilt = theta / (2 - theta)
    expected = m * (m - 1) * math.exp(-g * tilt**2 * n / (m * (m - 1)))
    ranker = asks(m, epsilon, k, mechanism)
    assert yll_mu(ranker, n, theta) == pytest.approx(expected)
    sharper = yll_mu(ranker, n, theta, form="hoeffding")
    assert sharper < expected if mechanism == "response" else sharper == pytest.approx(expected)


@pytest.mark.parametrize("users", [30, 5000, 400_000])
def test_mean_of_the_law_is_the_sum_over_pairs(users):
    preference, ranker = mallows_pair_probabilities(7, 0.6), asks(7, 0.3)
    errors = expected_wrong_pairs(ranker, preference, users)
    distribution = wrong_pairs_pmf(ranker, preference, users)
    both = wrong_pairs_pmf(ranker, preference, users, ties=True)
    assert distribution.sum() == pytest.approx(1, abs=1e-10)
    assert distribution @ np.arange(22) == pytest.approx(errors.wrong, abs=1e-9)
    assert both @ np.arange(22) == pytest.approx(errors.wrong + errors.tie, abs=1e-9)
    assert all_right_probability(ranker, preference, users) == pytest.approx(both[0], abs=1e-12)


def test_bound_by_hand():
    # All agree, tanh(epsilon / 2) = 0.6: a report has the margin 0.6, and 1 - sqrt(1 - 0.36) = 0.2.
    # Two items: 0.8^10. Three items, one question of three: 3 (1 - 0.2 / 3)^10 = 3 (14 / 15)^10.
    epsilon = 2 * np.arctanh(0.6)
    two, three = np.triu(np.ones((2, 2)), 1), np.triu(np.ones((3, 3)), 1)
    assert wrong_pairs_bound(asks(2, epsilon), two, 10) == pytest.approx(0.1073741824, rel=1e-9)
    found = wrong_pairs_bound(asks(3, epsilon), three, 10)
    assert found == pytest.approx(3 * (14 / 15) ** 10, rel=1e-12)
    # Two questions of three, at half of twice that epsilon: 3 (1 - 0.4 / 3)^10.
    found = wrong_pairs_bound(asks(3, 2 * epsilon, 2), three, 10)
    assert found == pytest.approx(3 * (13 / 15) ** 10, rel=1e-12)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="preference"):
        wrong_pairs_bound(asks(3, 1.0), np.full((3, 3), 1.5), 10)
    with pytest.raises(ValueError, match="users"):
        wrong_pairs_pmf(asks(3, 1.0), mallows_pair_probabilities(3, 0.5), 0)
    with pytest.raises(ValueError, match="one question"):
        wrong_pairs_pmf(asks(3, 1.0, 2), mallows_pair_probabilities(3, 0.5), 5)
