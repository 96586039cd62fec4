"""Slopes on log scales, and their intervals."""

import numpy as np
import pytest

from dpbook.pages.perturbed_mle_rates import far_end, log_slopes


def test_slopes_of_an_exact_power_law():
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 9, size=(8, 2))
    y = 3 * x[:, :1] ** 1.5 * x[:, 1:] ** -0.5 * np.ones(4)
    np.testing.assert_allclose(log_slopes(x, y), [[1.5] * 3, [-0.5] * 3], atol=1e-12)


def test_slope_interval_by_hand():
    # Slopes 1 and 3: mean 2, standard deviation sqrt(2), and Student's t with 1 degree of freedom
    # has the 97.5 % point 12.7062: 2 -+ 12.7062 sqrt(2) / sqrt(2).
    x = np.array([1.0, np.e])
    slopes = log_slopes(x, [[1.0, 1.0], [np.e, np.e**3]])
    np.testing.assert_allclose(slopes, [[2, 2 - 12.7062, 2 + 12.7062]], atol=5e-5)
    # Slopes 1, 2, 6 at 90 %: mean 3, standard deviation sqrt(14 / 2), t 2.91999 with 2 degrees.
    slopes = log_slopes(x, [[1, 1, 1], [np.e, np.e**2, np.e**6]], confidence=0.9)
    half = 2.91999 * np.sqrt(7 / 3)
    np.testing.assert_allclose(slopes, [[3, 3 - half, 3 + half]], atol=2e-5)


@pytest.mark.parametrize(
    ("x", "y", "named"),
    [([1, 2], [[1, 2]], "values"), ([1, 2, 3], np.zeros((3, 2)), "positive")],
)
def test_bad_arguments_of_slopes_are_named(x, y, named):
    with pytest.raises(ValueError, match=named):
        log_slopes(x, y)


def test_far_end_is_the_worse_end():
    slopes = np.array([[1.0, 0.9, 1.3], [2.0, 1.2, 2.1]])
    assert np.allclose(far_end(slopes), [0.3, 1.1])
    assert np.allclose(far_end(slopes, (1, 2)), [0.3, 0.8])
