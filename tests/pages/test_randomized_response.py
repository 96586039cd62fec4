"""Page 17: laws by enumeration against laws by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from dpbook.pages import randomized_response as page
from dpbook.privacy import privacy_loss


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_two_rankings_lose_epsilon_for_each_pair_on_which_they_disagree(epsilon):
    laws = {r: page.report_law(r, epsilon) for r in permutations(range(3))}
    for r, law in laws.items():
        assert law.sum() == pytest.approx(1, abs=1e-12)
        for s, other in laws.items():
            apart = sum(
                np.sign(r[i] - r[j]) != np.sign(s[i] - s[j]) for i, j in ((0, 1), (0, 2), (1, 2))
            )
            assert page.disagreements(r, s) == apart
            assert privacy_loss(law, other) == pytest.approx(epsilon * apart, abs=1e-12)


def test_strengths_have_the_levels_that_are_asked_for():
    for count in (1, 2, 5):
        strengths = page.random_levels(count, np.random.default_rng(1))
        assert strengths.shape == (6,) and np.unique(strengths).size == count


def test_laplace_responses_are_the_bits_plus_noise_of_their_scale():
    bits = np.tile([0, 1], 10_000)
    noise = page.laplace_response(bits, 0.5, np.random.default_rng(2)) - bits
    assert stats.kstest(noise, stats.laplace(scale=2).cdf).pvalue > 1e-3
    assert stats.kstest(noise, stats.laplace(scale=4).cdf).pvalue < 1e-12


def test_two_people_who_agree_in_epsilon_get_two_items_right_as_one_does():
    """A tie is broken by lot, so a second person of the same epsilon changes nothing."""
    chance, best = page.right_order([1.0, 1.0], 0.2, lambda t, d: np.ones_like(t))
    assert chance == pytest.approx(0.5 + 0.2 * np.tanh(0.5), rel=1e-12)
    assert best == pytest.approx(chance, rel=1e-12)
    gap = np.log(0.7 / 0.3)
    wrong = page.misordered(np.tanh([0.5]), np.array([gap, 0.0]), lambda t, d: np.ones_like(t))
    assert expit(gap) == pytest.approx(0.7)
    assert wrong == pytest.approx(1 - chance, rel=1e-12)
