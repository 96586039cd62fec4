"""Page 18: the limit of the error for a large crowd."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbook.pages.debiased_estimation import (
    affinity,
    assouad,
    crowd_of,
    drawn_errors,
    fano_sup,
    first_order,
    local_rate,
    opposite_strengths,
    ranker_of,
    shrunk,
    van_trees,
    variance_factors,
)
from dpbook.simulation import response_errors

MIXED = np.repeat([0.1, 3.0], 50)


@pytest.mark.parametrize("mechanism", ["none", "debiased", "weighted", "laplace"])
@pytest.mark.parametrize("epsilon", [1.0, np.repeat([0.5, 4.0], 5000)])
def test_the_error_of_a_large_crowd_is_the_sandwich(mechanism, epsilon):
    theta = np.array([-0.8, -0.1, 0.3, 0.6])
    levels, users = (epsilon, 10_000) if mechanism == "none" else crowd_of(epsilon, 10_000)
    study = response_errors(
        theta,
        ranker_of(mechanism, levels, 4),
        users=users,
        gamma=1.0,
        replicates=4000,
        rng=np.random.default_rng(5),
    )
    measured = math.sqrt(np.mean(study.l2**2))
    rate = local_rate(theta, users=10_000, epsilon=epsilon, mechanism=mechanism)
    # The relative error of a mean square of 4000 chi-square(3) sums is about 1.3 percent.
    assert measured == pytest.approx(rate, rel=0.04)


def test_the_sandwich_collapses_to_mean_variance_factors():
    # At equal strengths the rate is sqrt of the mean inflation, arithmetic or harmonic.
    theta, t = np.zeros(5), np.tanh(MIXED / 2)
    none = local_rate(theta, users=100, epsilon=1.0, mechanism="none")
    debiased = local_rate(theta, users=100, epsilon=MIXED, mechanism="debiased")
    weighted = local_rate(theta, users=100, epsilon=MIXED, mechanism="weighted")
    assert debiased / none == pytest.approx(math.sqrt(np.mean(1 / t**2)), rel=1e-12)
    assert weighted / none == pytest.approx(1 / math.sqrt(np.mean(t**2)), rel=1e-12)
    assert (debiased / weighted) ** 2 == pytest.approx(82.57, abs=0.01)


def test_the_sandwich_of_two_items_is_the_delta_method():
    # Far from F = 1/2 the weights are no longer the inverse variances.
    gap, t = 3.0, np.tanh(MIXED / 2)
    weight, win = t**2 / np.mean(t**2), 1 / (1 + math.exp(-gap))
    variance = sum(
        w**2 * (win * (1 - win) + math.exp(e) / (math.exp(e) - 1) ** 2)
        for w, e in zip(weight, MIXED, strict=True)
    )
    expected = math.sqrt(variance) / (100 * win * (1 - win)) / 2
    found = local_rate([gap, 0.0], users=100, epsilon=MIXED, mechanism="weighted")
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_law_with_a_weak_ridge_is_the_sandwich_and_the_draws_follow_it():
    theta, factor = np.array([-0.8, -0.1, 0.3, 0.6]), variance_factors(MIXED)[0]
    bias, spread = first_order(theta, 100, factor, 0.01)
    rate = local_rate(theta, users=100, epsilon=MIXED, mechanism="debiased")
    assert np.trace(spread) / 4 == pytest.approx(rate**2, rel=2e-3)
    assert np.abs(bias).max() < 1e-3
    bias, spread = first_order(theta, 100, factor, factor)
    draws = drawn_errors(theta, 100, factor, 20_000, np.random.default_rng(3))
    assert np.mean(draws**2) == pytest.approx((np.trace(spread) + bias @ bias) / 4, rel=0.05)


@pytest.mark.parametrize("groups", [[(500, 1.0)], [(250, 0.1), (250, 3.0)]])
def test_no_limit_is_above_what_the_best_weights_reach(groups):
    n, information = 20, shrunk(groups, 2)
    reached = 4 / information / n * (1 - 1 / n)
    assert 0.9 * reached < van_trees(n, information, 10.0) < reached
    assert 0 < assouad(n, information) < np.sqrt(van_trees(n, information))
    assert 0 < fano_sup(n, groups) < np.sqrt(2 * np.log(2 * n) * reached)


@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("groups", [[(3, 0.2)], [(2, 0.5), (1, 3.0)]])
def test_neighbours_keep_the_affinity_of_the_proof(n, groups):
    information, one = shrunk(groups, 2), opposite_strengths(n, 0.3)
    other = one * np.where(np.arange(n) < 2, -1, 1)
    assert one.sum() == 0 and np.abs(one - other).sum() == pytest.approx(1.2)
    kept = affinity(one, other, groups)
    assert 1 - n * information * 0.3**2 / 4 <= kept < 1 - 0.7 * n * information * 0.3**2 / 4
    # The roots of the two laws of all reports on a pair, listed, for one person.
    p = 0.5 + np.tanh(0.25) * np.array([0.2, -0.2])
    listed = np.sqrt(p[0] * p[1]) + np.sqrt((1 - p[0]) * (1 - p[1]))
    gap = math.log(0.7 / 0.3) / 2
    pair = affinity(np.array([gap, -gap]), np.array([-gap, gap]), [(1, 0.5)])
    assert pair == pytest.approx(listed, rel=1e-12)


def test_the_limit_for_the_mean_error_is_bounded_by_the_range():
    assert assouad(20, 1e-9, 0.5) == pytest.approx(0.5, rel=1e-3)  # no information: as 0 errs
    assert assouad(20, 100.0, 9.0) == assouad(20, 100.0, 1.0) > 0.24 / np.sqrt(2000)
    assert assouad(3, 100.0) > 0.24 / np.sqrt(300)
