"""Mechanisms: each sampler against its exact twin, each twin against an independent reference."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dpbook.mechanisms import (
    debiased_response,
    debiased_variance,
    discrete_laplace_pmf,
    laplace_logpdf,
    randomized_response,
    randomized_response_pmf,
)
from dpbook.mechanisms.noise import discrete_laplace_noise
from dpbook.privacy import audit_sampler

DRAWS = 40_000


class IntegersOnly(np.random.Generator):
    """A generator that refuses to hand out anything but uniform integers."""

    def _refuse(self, *args: object, **kwargs: object) -> None:
        raise AssertionError("a floating-point draw in an integer sampler")

    random = uniform = laplace = geometric = exponential = standard_exponential = normal = _refuse


def frequencies(draws: np.ndarray, reach: int) -> np.ndarray:
    """How often -reach, ..., reach were drawn; everything beyond counts as the last outcome."""
    inside = np.abs(draws) <= reach
    return np.append(
        np.bincount(draws[inside] + reach, minlength=2 * reach + 1), np.count_nonzero(~inside)
    )


def clipped_law(scale: float | Fraction, reach: int) -> np.ndarray:
    """The law of those outcomes, from weights that are normalised here and not by the package."""
    weights = np.exp(-np.abs(np.arange(-4000, 4001)) / float(scale))
    law = weights[4000 - reach : 4001 + reach] / weights.sum()
    return np.append(law, max(0.0, 1 - law.sum()))


# ------------------------------------------------------------------ Laplace


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_laplace_density_has_mass_one_and_the_stated_scale(scale):
    def density(x):
        return math.exp(laplace_logpdf(x, scale))

    mass = 2 * quad(density, 0, 60 * scale, epsabs=1e-13)[0]
    spread = 2 * quad(lambda x: x * density(x), 0, 60 * scale, epsabs=1e-13)[0]
    assert mass == pytest.approx(1, rel=1e-10)
    assert spread == pytest.approx(scale, rel=1e-10)  # E|x| = b
    grid = np.linspace(-9, 9, 31)
    assert laplace_logpdf(grid, scale) == pytest.approx(stats.laplace(scale=scale).logpdf(grid))


# ------------------------------------------------------------------ discrete Laplace


@pytest.mark.parametrize("scale", [0.25, 1.0, Fraction(20, 3), 40.0])
def test_discrete_laplace_pmf_sums_to_one_and_decays_by_one_scale(scale):
    pmf = discrete_laplace_pmf(np.arange(-2000, 2001), scale)
    assert pmf.sum() == pytest.approx(1, rel=1e-12)
    assert pmf == pytest.approx(pmf[::-1])
    assert np.log(pmf[2000] / pmf[2001]) == pytest.approx(1 / float(scale), rel=1e-12)


@pytest.mark.parametrize(
    "scale", [0.1, Fraction(1, 3), 2 / 5, Fraction(1, 2), 1, 2.0, Fraction(20, 3), 1 / 0.3, 25]
)
def test_discrete_laplace_sampler_follows_its_pmf_and_half_the_scale_does_not(scale):
    rng = IntegersOnly(np.random.PCG64(7))
    draws = discrete_laplace_noise(scale, DRAWS, rng=rng)
    assert draws.dtype == np.int64
    reach = max(2, math.ceil(3 * float(scale)))
    seen, law = frequencies(draws, reach), clipped_law(scale, reach)
    twin = discrete_laplace_pmf(np.arange(-reach, reach + 1), scale)
    assert twin == pytest.approx(law[:-1], rel=1e-12)
    assert audit_sampler(seen, law).passed
    assert not audit_sampler(seen, clipped_law(Fraction(scale) / 2, reach)).passed


def test_discrete_laplace_sampler_takes_large_terms_and_any_shape():
    rng = np.random.default_rng(3)
    assert discrete_laplace_noise(2**53 - 1, (2, 3), rng=rng).shape == (2, 3)
    assert discrete_laplace_noise(Fraction(1, 2**53 - 1), 5, rng=rng).tolist() == [0] * 5
    assert discrete_laplace_noise(1.5, 0, rng=rng).shape == (0,)


# ------------------------------------------------------------------ randomised response


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, math.log(3), 8.0, 50.0])
def test_randomized_response_channel_loses_epsilon_exactly(epsilon):
    channel = randomized_response_pmf(epsilon)
    assert channel.sum(axis=1) == pytest.approx([1, 1], rel=1e-15)
    assert (channel == channel.T).all() and channel[0, 0] == channel[1, 1]
    assert np.log(channel[0] / channel[1]) == pytest.approx([epsilon, -epsilon], rel=1e-9)


@pytest.mark.parametrize("truth", [0, 1])
def test_randomized_response_sampler_follows_its_channel(truth):
    rng = np.random.default_rng(5)
    reports = randomized_response(np.full((DRAWS // 2, 2), truth), 1.0, rng=rng)
    assert reports.shape == (DRAWS // 2, 2)
    seen = np.bincount(reports.ravel(), minlength=2)
    assert audit_sampler(seen, randomized_response_pmf(1.0)[truth]).passed
    assert not audit_sampler(seen, randomized_response_pmf(2.0)[truth]).passed


def test_users_with_their_own_epsilons_each_follow_their_own_channel():
    epsilons = np.array([0.1, 1.0, 4.0])
    truths = np.tile([0, 1], DRAWS // 4)
    reports = randomized_response(truths, epsilons[:, None], rng=np.random.default_rng(11))
    assert reports.shape == (3, truths.size) and reports.dtype == np.int64
    channels = randomized_response_pmf(epsilons)
    assert channels.shape == (3, 2, 2)
    for user, epsilon in enumerate(epsilons):
        assert (channels[user] == randomized_response_pmf(epsilon)).all()
        for truth in (0, 1):
            seen = np.bincount(reports[user, truths == truth], minlength=2)
            assert audit_sampler(seen, channels[user, truth]).passed
            assert not audit_sampler(seen, channels[(user + 1) % 3, truth]).passed


# ------------------------------------------------------------------ debiased responses


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.93, 1.0])
def test_debiased_response_has_the_stated_mean_and_variance(epsilon, p):
    # Both moments by summing over the two outcomes, with a and b as the paper has them.
    reported = np.array([1 - p, p]) @ randomized_response_pmf(epsilon)
    values = debiased_response([0, 1], epsilon)
    a = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    b = 1 / (1 + math.exp(epsilon))
    assert values == pytest.approx([-b / a, (1 - b) / a], rel=1e-9, abs=2.0**-52)
    assert reported @ values == pytest.approx(p, abs=1e-12 / a)
    variance = reported @ (values - p) ** 2
    assert debiased_variance(p, epsilon) == pytest.approx(variance, rel=1e-9, abs=1e-15)
