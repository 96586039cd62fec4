"""Page 20: the contour integral against enumeration, convolution, and the study it stands for."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from dpbook.pages.recovering_the_ranking import (
    across,
    by_scores,
    flipped_fit,
    kendall,
    local_order_errors,
    local_order_rates,
    ranker_of,
    spaced,
)
from dpbook.simulation import pair_order_error, response_errors


def convolved(theta, i, j, users, epsilon):
    """P(wrong order) from the law of the win difference, by plain convolution."""
    reported = 0.5 + np.tanh(epsilon / 2) * (expit(theta[:, None] - theta) - 0.5)
    law, counts = np.ones(1), np.arange(users + 1)
    for other in range(len(theta)):
        if other not in (i, j):
            law = np.convolve(law, binom.pmf(counts, users, reported[i, other]))
            law = np.convolve(law, binom.pmf(counts, users, 1 - reported[j, other]))
    double = np.zeros(2 * users + 1)
    double[::2] = binom.pmf(counts, users, reported[i, j])
    law = np.convolve(law, double)
    middle = users * (len(theta) - 1)
    return law[:middle].sum() + law[middle] / 2


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


def test_enumeration_of_all_reports():
    theta = np.array([0.9, 0.0, 0.4, -0.5])
    i, j = np.triu_indices(4, 1)
    chance = 0.5 + np.tanh(0.4) * (expit(theta[i] - theta[j]) - 0.5)
    wrong = np.zeros((4, 4))
    for bits in product((0, 1), repeat=6):
        wins = np.zeros(4)
        np.add.at(wins, np.where(bits, i, j), 1)
        weight = np.prod(np.where(bits, chance, 1 - chance))
        wrong += weight * (1 - np.sign(wins[:, None] - wins)) / 2
    assert np.allclose(local_order_errors(theta, users=1, epsilon=0.8), wrong, atol=1e-12)


def test_two_items_and_mixed_levels():
    levels, users = [0.3, 2.0], [20, 30]
    found = local_order_errors([0.0, 0.4], users=users, epsilon=levels)
    exact = pair_order_error(0.4, ranker_of("classic", levels, 2), users=users)
    assert found[1, 0] == pytest.approx(exact)


def test_agrees_with_a_study_with_mixed_levels():
    rng = np.random.default_rng(15)
    theta, levels, users = np.linspace(0.8, -0.8, 8), [0.3, 2.0], [30, 50]
    study = response_errors(
        theta,
        ranker_of("classic", levels, 8),
        users=users,
        gamma=1.0,
        replicates=4000,
        rng=rng,
    ).kendall
    exact = local_order_errors(theta, users=users, epsilon=levels)[np.triu_indices(8, 1)].mean()
    assert abs(study.mean() - exact) < 4.5 * study.std() / np.sqrt(4000)


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


def test_two_items_have_the_rate_of_a_coin():
    chance = 0.5 + np.tanh(0.5) * (expit(0.7) - 0.5)
    rate = local_order_rates([0.7, 0.0], epsilon=1.0)[0, 1]
    assert rate == pytest.approx(-np.log(2 * np.sqrt(chance * (1 - chance))), rel=1e-9)


@pytest.mark.parametrize("theta", [[1.0], [[0.0, 1.0]], [0.0, np.nan]])
def test_bad_strengths(theta):
    with pytest.raises(ValueError, match="theta"):
        local_order_errors(theta, users=3, epsilon=1.0)


def test_simulated_rankings_err_as_the_exact_law_says():
    theta, size = spaced(6, 0.2), 4000
    full, top = by_scores(theta, 50, 1.0, 2, size, np.random.default_rng(20))
    assert abs(full.mean() - kendall(theta, 50, 1.0)) < 5 * full.std() / np.sqrt(size)
    wrong = across(theta, 2, 50, 1.0) / 2
    assert wrong.max() < top.mean() < wrong.sum()


@pytest.mark.parametrize(("n", "gap", "users"), [(8, 0.1, 40), (12, 1.0, 30), (40, 0.4, 100)])
def test_the_flipped_likelihood_ends_at_a_maximum_above_the_truth(n, gap, users):
    rng, truth, (i, j) = np.random.default_rng(n), spaced(n, gap), np.triu_indices(n, 1)

    def gain(theta):
        chance = 0.5 + np.tanh(0.5) * (expit(theta[i] - theta[j]) - 0.5)
        return binom.logpmf(reports[i, j], users, chance).sum() - 5e-4 * theta @ theta

    for _ in range(3):
        reports = np.zeros((n, n))
        answers = 0.5 + np.tanh(0.5) * (expit(truth[i] - truth[j]) - 0.5)
        reports[i, j] = rng.binomial(users, answers)
        reports[j, i] = users - reports[i, j]
        fit = flipped_fit(reports, users, 1.0)
        assert gain(fit) > gain(truth)
        assert all(gain(fit + 0.1 * rng.normal(size=n)) < gain(fit) for _ in range(20))
        shuffled = rng.permutation(n)
        again = flipped_fit(reports[np.ix_(shuffled, shuffled)], users, 1.0)
        assert gain(again[np.argsort(shuffled)]) == pytest.approx(gain(fit), abs=0.01)
