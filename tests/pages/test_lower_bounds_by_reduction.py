"""The map of signs to rankings; the law of the scores that trace a person."""

from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import beta, binom, norm

from dpbook.pages.lower_bounds_by_reduction import (
    noisy_majority,
    ranking_to_signs,
    sample_tracing_scores,
    signs_to_ranking,
    total_score,
    tracing_moments,
)


def kendall(a, b):
    return sum((a[i] < a[j]) != (b[i] < b[j]) for i, j in combinations(range(len(a)), 2))


# --- the map -------------------------------------------------------------------------------------


def test_the_map_switches_outer_pairs_and_is_inverted():
    assert signs_to_ranking([1, -1], 1).tolist() == [3, 1, 2, 0, 4]
    assert signs_to_ranking([1, -1], 1, convention="formula").tolist() == [0, 4, 2, 3, 1]
    signs = np.array(list(product((-1, 1), repeat=3)))
    for t in (0, 1, 4):
        images = signs_to_ranking(signs, t)
        assert_array_equal(np.sort(images), np.broadcast_to(np.arange(6 + t), images.shape))
        assert_array_equal(ranking_to_signs(images, t), signs)
        formula = signs_to_ranking(signs, t, convention="formula")
        assert_array_equal(ranking_to_signs(formula, t), -signs)


@pytest.mark.parametrize(("users", "shape"), [(1, 1.0), (4, 0.3), (5, 2.5)])
def test_total_score_against_an_integral(users, shape):
    k = np.arange(users + 1)
    f = np.sin(3.0 * k + 1)

    def integrand(q):
        return beta.pdf(q, shape, shape) * (binom.pmf(k, users, q) * f * 2) @ (k - users * q)

    halves = ((1e-12, 0.5), (0.5, 1 - 1e-12))
    value = sum(quad(integrand, *ends, limit=200)[0] for ends in halves)
    assert total_score(users, shape, f) == pytest.approx(value, abs=2e-4)


def test_noisy_majority_against_samples():
    rng = np.random.default_rng(5)
    noise = np.subtract(*rng.laplace(scale=2.0, size=(2, 200_000)))
    sampled = [np.sign(s + noise).mean() for s in (-3, -1, 1, 3)]
    assert_allclose(noisy_majority(3, 2.0), sampled, atol=0.01)
    assert noisy_majority(4).tolist() == [-1, -1, 0, 1, 1]


@pytest.mark.parametrize("shape", [0.3, 1.0, 3.0])
def test_sampled_scores_have_the_exact_moments(shape):
    """Means to 5.33 standard errors, sd(score) / sqrt(20000): a chance of 1e-7 each of a false
    alarm. Scores are sums of 30 terms, of kurtosis below 5, so that a variance has a relative
    standard error of at most sqrt(4 / 20000): 7.5 %. At shape 1 a law Beta(1, 2) in the place of
    Beta(1, 1) cannot be told from it by these scores, which do not change when all signs turn, and
    half of Beta(1, 2) and half of Beta(2, 1) is Beta(1, 1). At the others it can."""
    rng = np.random.default_rng(7)
    d, size, z = 30, 20_000, float(norm.isf(0.5e-7))
    spread = d * 2 * shape / (2 * shape + 1)  # variance of an outsider's score
    members, outsiders = sample_tracing_scores(9, d, shape, size, rng=rng)
    mean, variance = tracing_moments(9, shape)
    assert abs(members.mean() - d * mean) < z * sqrt(d * variance / size)
    assert abs(outsiders.mean()) < z * sqrt(spread / size)
    assert members.var() == pytest.approx(d * variance, rel=0.075)
    assert outsiders.var() == pytest.approx(spread, rel=0.075)
    noisy, _ = sample_tracing_scores(9, d, shape, size, rng=rng, scale=4.0)
    total = total_score(9, shape, noisy_majority(9, 4.0))
    assert abs(noisy.mean() - d * total / 9) < z * sqrt(spread / size)


def test_moments_of_one_person_by_hand():
    # One person, whose sign x is read: the score x (x - p) = 1 - x p has the mean 1 - E p^2, and
    # E p^2 = 1 / (2a + 1). An outsider's has the variance 1 - E p^2 too.
    for a, mean in ((0.5, 1 / 2), (1.0, 2 / 3), (2.0, 4 / 5)):
        assert tracing_moments(1, a) == pytest.approx((mean, mean - mean**2))
