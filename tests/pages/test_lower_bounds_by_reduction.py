"""Scores that trace a person: sums by an integral, noise by samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import beta, binom

from dpbook.pages.lower_bounds_by_reduction import noisy_majority, total_score


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
