"""Page 18: the limit of the error for a large crowd."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbook.pages.debiased_estimation import crowd_of, local_rate, ranker_of
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
