"""Choice of one candidate and Gaussian noise, against enumeration and quadrature."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dpbook.mechanisms import exponential_pmf, gaussian_profile, gaussian_scale
from tests.oracles import losses_of_a_selection

# ------------------------------------------------------------------ references


def gaussian_delta(shift: float, scale: float, epsilon: float) -> float:
    """Integral of the positive part of p - e^eps q."""

    def p(x, centre):
        return math.exp(-0.5 * ((x - centre) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))

    start = shift / 2 + epsilon * scale**2 / shift  # where p exceeds e^eps q
    end = start + 40 * scale
    f = lambda x: p(x, shift) - math.exp(epsilon) * p(x, 0.0)  # noqa: E731
    return quad(f, start, end, epsabs=0, epsrel=1e-11, limit=200, points=[start + scale])[0]


# ------------------------------------------------------------------ candidates


def test_exponential_weights():
    law = exponential_pmf([1.0, 3.0, 2.0], 2.0, 4 * math.log(2))
    assert law == pytest.approx(np.array([1, 4, 2]) / 7)
    assert exponential_pmf([0.0, 1e6], 1, 1)[0] == 0


def test_exponential_chances_lose_no_more_than_epsilon_and_nearly_that():
    worst, broken = losses_of_a_selection(exponential_pmf)
    assert 0.78 < worst <= 0.8 + 1e-12
    assert broken > 1.2  # half the sensitivity would not do


# ------------------------------------------------------------------ Gaussian noise


@pytest.mark.parametrize("shift", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_profile_is_the_integral_of_the_excess(shift, epsilon):
    expected = gaussian_delta(shift, 1.7, epsilon)
    assert gaussian_profile(shift, 1.7, epsilon) == pytest.approx(expected, rel=1e-8, abs=0)


def test_profile_at_the_ends():
    assert gaussian_profile(1.0, 2.0, [0.0, math.inf]) == pytest.approx(
        [math.erf(0.25 / math.sqrt(2)), 0.0]
    )
    assert gaussian_profile(1.0, 100.0, 50.0) == 0.0


@pytest.mark.parametrize("t", [0.3, 5.0, 20.0])
def test_gaussian_profile_of_a_short_shift_is_the_integral_of_its_loss(t):
    """The loss is r times a normal variable; u is by how much of that it exceeds epsilon = t r."""
    ratio = 0.99e-5
    excess = lambda u: -math.expm1(-ratio * u) * stats.norm.pdf(u + t - ratio / 2)  # noqa: E731
    expected = quad(excess, 0, 12, epsabs=0, epsrel=1e-12, limit=200, points=[0.1, 1])[0]
    # The first order in r misses (1 + t^2) r of it, 4e-3; twelve digits are promised, and given.
    assert gaussian_profile(ratio, 1.0, t * ratio) == pytest.approx(expected, rel=2e-12, abs=0)


@pytest.mark.parametrize("ratio", [1e-150, 1e-12, 1e-7, 1.2e-5, 3e-3, 0.0999, 0.1001, 0.7, 5.0])
@pytest.mark.parametrize("t", [1e-3, 1.0, 8.0, 25.0])
def test_gaussian_profile_has_twelve_digits(ratio, t):
    """Against the two tails in 2000 bits; the promise of `gaussian_scale`."""
    flint = pytest.importorskip("flint")
    with flint.ctx.workprec(2000):
        r, eps = flint.arb(ratio), flint.arb(ratio * t)
        tails = [((eps / r + sign * r / 2) / flint.arb(2).sqrt()).erfc() / 2 for sign in (-1, 1)]
        exact = tails[0] - eps.exp() * tails[1]
        found = flint.arb(float(gaussian_profile(ratio, 1.0, ratio * t)))
        assert abs(found / exact - 1) < 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-100, 1e-300), (1e-12, 1e-17), (1e-30, 1e-16)])
def test_gaussian_scale_is_large_enough_for_a_tiny_delta(epsilon, delta):
    """Any epsilon above 0 asks for less than none: delta <= r phi(0), r = 1 / scale."""
    scale = gaussian_scale(1.0, epsilon, delta)
    spent = (
        stats.norm.pdf(epsilon * scale) - epsilon * scale * stats.norm.sf(epsilon * scale)
    ) / scale
    assert spent == pytest.approx(delta, rel=1e-7, abs=0)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.02, 0.4, 0.95])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0, 8.0])
def test_scale_spends_delta_and_no_more(epsilon, delta):
    scale = gaussian_scale(3.0, epsilon, delta)
    assert gaussian_profile(3.0, scale, epsilon) == pytest.approx(delta, rel=1e-6, abs=0)
    assert gaussian_profile(3.0, 0.999 * scale, epsilon) > delta
    assert scale == pytest.approx(3 * gaussian_scale(1.0, epsilon, delta))


def test_scale_never_spends_more_than_delta():
    """Not by a rounding: about half of the roots that a solver finds lie on the wrong side."""
    grid = product(
        (0.3, 1.0, 7.0), (0.01, 0.3, 1.0, 4.0), (1e-12, 1e-9, 1e-6, 1e-5, 1e-3, 0.01, 0.1, 0.3)
    )
    for width, epsilon, delta in grid:
        spent = float(gaussian_profile(width, gaussian_scale(width, epsilon, delta), epsilon))
        # The solver finds log(D / s), at most 8 here, to 1e-14 of it; log delta is at most 100
        # times as steep.
        assert delta * (1 - 1e-11) < spent <= delta
