"""Slopes on log scales, and their intervals."""

import numpy as np
import pytest
from scipy.stats import linregress, ttest_1samp

from dpbook.pages.perturbed_mle_rates import far_end, log_slopes


def test_slopes_of_an_exact_power_distribution():
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 9, size=(8, 2))
    y = 3 * x[:, :1] ** 1.5 * x[:, 1:] ** -0.5 * np.ones(4)
    np.testing.assert_allclose(log_slopes(x, y), [[1.5] * 3, [-0.5] * 3], atol=1e-12)


def test_slopes_and_their_intervals_are_those_of_scipy():
    x, rng = np.array([1.0, 2, 5, 9]), np.random.default_rng(4)
    y = np.exp(rng.normal(size=(4, 6)))
    each = [linregress(np.log(x), np.log(column)).slope for column in y.T]
    ends = ttest_1samp(each, 0).confidence_interval(0.9)
    np.testing.assert_allclose(log_slopes(x, y, confidence=0.9), [[np.mean(each), *ends]])


@pytest.mark.parametrize(
    ("x", "y", "named"), [([1, 2], [[1, 2]], "values"), ([1, 2, 3], np.zeros((3, 2)), "positive")]
)
def test_bad_arguments_of_slopes_are_named(x, y, named):
    with pytest.raises(ValueError, match=named):
        log_slopes(x, y)


def test_far_end_is_the_worse_end():
    slopes = np.array([[1.0, 0.9, 1.3], [2.0, 1.2, 2.1]])
    assert np.allclose(far_end(slopes), [0.3, 1.1])
    assert np.allclose(far_end(slopes, (1, 2)), [0.3, 0.8])
