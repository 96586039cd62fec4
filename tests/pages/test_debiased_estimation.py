"""Pages 18 and 19: draws from the distribution of the error, and limits."""

from __future__ import annotations

import numpy as np
import pytest

from dpbook.pages.debiased_estimation import (
    assouad,
    drawn_errors,
    fano_sup,
    first_order,
    shrunk,
    van_trees,
    variance_factors,
)


def test_the_draws_follow_the_distribution():
    theta, factor = np.array([-0.8, -0.1, 0.3, 0.6]), variance_factors(np.repeat([0.1, 3.0], 50))[0]
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


def test_the_limit_for_the_mean_error_is_bounded_by_the_range():
    assert assouad(20, 1e-9, 0.5) == pytest.approx(0.5, rel=1e-3)  # no information: as 0 errs
    assert assouad(20, 100.0, 9.0) == assouad(20, 100.0, 1.0) > 0.24 / np.sqrt(2000)
    assert assouad(3, 100.0) > 0.24 / np.sqrt(300)
