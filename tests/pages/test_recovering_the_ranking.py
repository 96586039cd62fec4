"""Page 20: the contour integral against enumeration, convolution, and the study it stands for."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from dpbook.pages.recovering_the_ranking import local_order_errors, local_order_rates, ranker_of
from dpbook.simulation import pair_order_error


def convolved(theta, i, j, users, epsilon):
    """P(wrong order) from the distribution of the win difference, by plain convolution."""
    reported = 0.5 + np.tanh(epsilon / 2) * (expit(theta[:, None] - theta) - 0.5)
    distribution, counts = np.ones(1), np.arange(users + 1)
    for other in range(len(theta)):
        if other not in (i, j):
            distribution = np.convolve(distribution, binom.pmf(counts, users, reported[i, other]))
            distribution = np.convolve(
                distribution, binom.pmf(counts, users, 1 - reported[j, other])
            )
    double = np.zeros(2 * users + 1)
    double[::2] = binom.pmf(counts, users, reported[i, j])
    distribution = np.convolve(distribution, double)
    middle = users * (len(theta) - 1)
    return distribution[:middle].sum() + distribution[middle] / 2


@pytest.mark.parametrize("users", [1, 7, 60])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("spacing", [0.05, 0.7, 3.0])
def test_agrees_with_convolution(users, epsilon, spacing):
    theta = spacing * np.array([0.0, 2.0, 1.0, 3.0, 1.5])
    found = local_order_errors(theta, users=users, epsilon=epsilon)
    for i, j in ((1, 0), (3, 0), (1, 2), (3, 4), (2, 0)):
        expected = convolved(theta, i, j, users, epsilon)
        assert found[i, j] == pytest.approx(expected, rel=1e-8, abs=1e-15)
        assert found[j, i] == pytest.approx(1 - expected, abs=1e-12)


def test_two_items_and_mixed_levels():
    levels, users = [0.3, 2.0], [20, 30]
    found = local_order_errors([0.0, 0.4], users=users, epsilon=levels)
    exact = pair_order_error(0.4, ranker_of("classic", levels, 2), users=users)
    assert found[1, 0] == pytest.approx(exact)


def test_rates_bound_and_are_reached():
    theta = np.array([0.8, 0.3, 0.0, -0.6])
    rates = local_order_rates(theta, epsilon=1.0)
    assert np.allclose(rates, rates.T)
    assert not np.diag(rates).any()
    upper = np.triu_indices(4, 1)
    for users in (20, 200, 2000):
        exponent = -np.log(local_order_errors(theta, users=users, epsilon=1.0)[upper]) / users
        assert (exponent >= rates[upper]).all()
        assert (exponent <= rates[upper] + np.log(20 * users) / users).all()
