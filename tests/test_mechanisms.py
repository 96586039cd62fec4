"""Mechanisms: each sampler against its exact counterpart, each against an independent reference."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dpbook.mechanisms import debiased_response, debiased_variance, exponential_pmf, hypercube
from dpbook.mechanisms import noise as noises
from dpbook.mechanisms.gaussian import gaussian_profile, gaussian_scale
from dpbook.mechanisms.hypercube import hypercube_response, hypercube_response_pmf, hypercube_scale
from dpbook.mechanisms.noise import (
    bernoulli_exp_of,
    discrete_gaussian_noise,
    discrete_gaussian_variance,
    discrete_laplace_noise,
    discrete_laplace_pmf,
    exact_scale,
    laplace_logpdf,
)
from dpbook.mechanisms.responses import randomized_response, randomized_response_pmf
from dpbook.privacy import audit_sampler, privacy_loss
from tests.oracles import NoFloats, clipped_distribution, clipped_tally, losses_of_a_selection

DRAWS = 40_000


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


@pytest.mark.parametrize("scale", [0.25, 1.0, Fraction(20, 3), 40.0])
def test_discrete_laplace_pmf_sums_to_one_and_decays_by_one_scale(scale):
    pmf = discrete_laplace_pmf(np.arange(-2000, 2001), scale)
    assert pmf.sum() == pytest.approx(1, rel=1e-12)
    assert pmf == pytest.approx(pmf[::-1])
    assert np.log(pmf[2000] / pmf[2001]) == pytest.approx(1 / float(scale), rel=1e-12)


SCALES = [0.1, Fraction(1, 3), 2 / 5, Fraction(1, 2), 1, 2.0, Fraction(20, 3), 1 / 0.3, 25]


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_sampler_follows_its_pmf_and_half_the_scale_does_not(scale):
    rng = NoFloats(np.random.PCG64(7))
    draws = discrete_laplace_noise(scale, DRAWS, rng=rng)
    assert draws.dtype == np.int64
    reach = max(2, math.ceil(3 * float(scale)))
    seen, distribution = clipped_tally(draws, reach), clipped_distribution(scale, reach)
    control = discrete_laplace_pmf(np.arange(-reach, reach + 1), scale)
    assert control == pytest.approx(distribution[:-1], rel=1e-12)
    assert audit_sampler(seen, distribution).passed
    assert not audit_sampler(seen, clipped_distribution(Fraction(scale) / 2, reach)).passed


def test_discrete_laplace_sampler_takes_large_terms_and_any_shape():
    rng = np.random.default_rng(3)
    assert discrete_laplace_noise(2**53 - 1, (2, 3), rng=rng).shape == (2, 3)
    assert discrete_laplace_noise(Fraction(1, 2**53 - 1), 5, rng=rng).tolist() == [0] * 5
    assert discrete_laplace_noise(1.5, 0, rng=rng).shape == (0,)


def test_a_scale_of_twelve_digits_is_not_below_the_float_but_for_its_roundings():
    powers = np.geomspace(1e-3, 1e9, 997).tolist()
    for scale in (*powers, *(1 / x for x in powers), 0.1, 20 / 3):
        ratio = exact_scale(scale) / Fraction(scale)
        assert -Fraction(101, 10**15) < ratio - 1 < Fraction(1, 10**11)
        # The float next to that number stands for it again.
        assert exact_scale(float(exact_scale(scale))) == exact_scale(scale)
    assert exact_scale(0.1) == exact_scale(math.nextafter(0.1, 1)) == Fraction(1, 10)
    assert exact_scale(0.1 * (1 + 1e-12)) == Fraction(1, 10) + Fraction(1, 10**12)
    assert exact_scale(Fraction(1, 3)) == Fraction(1, 3)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, math.log(3), 8.0, 50.0])
def test_randomized_response_channel_loses_epsilon_exactly(epsilon):
    channel = randomized_response_pmf(epsilon)
    assert channel.sum(axis=1) == pytest.approx([1, 1], rel=1e-15)
    assert (channel == channel.T).all() and channel[0, 0] == channel[1, 1]
    assert np.log(channel[0] / channel[1]) == pytest.approx([epsilon, -epsilon], rel=1e-9)


def test_randomized_response_sampler_follows_the_channel_of_each_user():
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


TIES = ["split", "closed"]
TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs


VALUES = [np.resize([1, -1, -1, 1, 1], d) for d in range(1, 9)] + [np.array([0.3, -1, 0, 0.75])]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("value", VALUES)
def test_hypercube_is_unbiased_by_enumeration(value: np.ndarray, ties: str) -> None:
    distribution = hypercube_response_pmf(value, 0.8, ties)
    size = hypercube_scale(len(value), 0.8, ties)
    corners = size * hypercube.sign_vectors(len(value))
    assert distribution.sum() == pytest.approx(1, abs=1e-13)
    assert distribution @ corners == pytest.approx(value, abs=1e-12)
    assert distribution @ corners**2 - value**2 == pytest.approx(size**2 - value**2)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("d", range(1, 7))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_hypercube_loss_over_all_pairs_of_vectors(d: int, ties: str, epsilon: float) -> None:
    distributions = [hypercube_response_pmf(v, epsilon, ties) for v in hypercube.sign_vectors(d)]
    worst = max(privacy_loss(a, b) for a, b in itertools.permutations(distributions, 2))
    exact = math.log1p(math.exp(epsilon)) if ties == "closed" and d % 2 == 0 else epsilon
    assert worst == pytest.approx(exact, rel=1e-12)


def test_hypercube_scale_grows_like_the_root_of_the_dimension() -> None:
    for d in (1000, 1001):
        limit = math.sqrt(math.pi * d / 2) / math.tanh(0.5)
        assert hypercube_scale(d, 1.0) == pytest.approx(limit, rel=2e-3)
    exact = Fraction(4**700, math.comb(1400, 700))
    assert hypercube_scale(1400, 1.0) * math.tanh(0.5) == pytest.approx(float(exact), rel=1e-12)
    assert hypercube_scale(1, 1.0) == pytest.approx(1 / math.tanh(0.5))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("value", [[1, -1, 1, 1], [1, 1, -1], [0.5, -1, 0.0, 1], [1] * 9])
def test_hypercube_sampler_follows_its_distribution(ties: str, value: list[float]) -> None:
    d, draws = len(value), 60_000
    rng = np.random.default_rng(1)
    out = hypercube_response(np.tile(value, (draws, 1)), 0.7, ties=ties, rng=rng)
    assert np.unique(np.abs(out)) == pytest.approx([hypercube_scale(d, 0.7, ties)])
    seen = np.bincount((out > 0) @ (2 ** np.arange(d - 1, -1, -1)), minlength=2**d)
    expected = draws * hypercube_response_pmf(value, 0.7, ties)
    assert stats.chisquare(seen, expected).pvalue > TINY


def test_a_law_over_all_pairs_of_many_corners_is_refused() -> None:
    """Sixteen entries of 0 round to every corner: 2^16 truths beside 2^16 answers."""
    assert hypercube_response_pmf(np.ones(16), 1.0).sum() == pytest.approx(1, abs=1e-9)
    with pytest.raises(ValueError, match="values"):
        hypercube_response_pmf(np.zeros(16), 1.0)


def gaussian_delta(shift: float, scale: float, epsilon: float) -> float:
    """Integral of the positive part of p - e^eps q."""

    def p(x, centre):
        return math.exp(-0.5 * ((x - centre) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))

    start = shift / 2 + epsilon * scale**2 / shift  # where p exceeds e^eps q
    f = lambda x: p(x, shift) - math.exp(epsilon) * p(x, 0.0)  # noqa: E731
    end = start + 40 * scale
    return quad(f, start, end, epsabs=0, epsrel=1e-11, limit=200, points=[start + scale])[0]


def test_exponential_weights():
    distribution = exponential_pmf([1.0, 3.0, 2.0], 2.0, 4 * math.log(2))
    assert distribution == pytest.approx(np.array([1, 4, 2]) / 7)
    assert exponential_pmf([0.0, 1e6], 1, 1)[0] == 0


def test_exponential_chances_lose_no_more_than_epsilon_and_nearly_that():
    worst, broken = losses_of_a_selection(exponential_pmf)
    assert 0.78 < worst <= 0.8 + 1e-12
    assert broken > 1.2  # half the sensitivity would not do


@pytest.mark.parametrize("shift", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_profile_is_the_integral_of_the_excess(shift, epsilon):
    expected = gaussian_delta(shift, 1.7, epsilon)
    assert gaussian_profile(shift, 1.7, epsilon) == pytest.approx(expected, rel=1e-8, abs=0)


def test_profile_at_the_ends():
    ends = [math.erf(0.25 / math.sqrt(2)), 0.0]
    assert gaussian_profile(1.0, 2.0, [0.0, math.inf]) == pytest.approx(ends)
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
    x = epsilon * scale
    spent = (stats.norm.pdf(x) - x * stats.norm.sf(x)) / scale
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
    deltas = (1e-12, 1e-9, 1e-6, 1e-5, 1e-3, 0.01, 0.1, 0.3)
    for width, epsilon, delta in product((0.3, 1.0, 7.0), (0.01, 0.3, 1.0, 4.0), deltas):
        spent = float(gaussian_profile(width, gaussian_scale(width, epsilon, delta), epsilon))
        # The solver finds log(D / s), at most 8 here, to 1e-14 of it; log delta is at most 100
        # times as steep.
        assert delta * (1 - 1e-11) < spent <= delta


class Coins(np.random.Generator):
    """A generator that gives the whole numbers it is told, and says which one is missing."""

    def __init__(self, coins):
        super().__init__(np.random.PCG64(0))
        self.coins = list(coins)

    def integers(self, low, high, size):
        if not self.coins:
            raise LookupError(high)
        return np.full(size, self.coins.pop(0))


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_a_coin_of_any_rate_is_exact(rate):
    """All sequences of coins with exact chances; of the long ones, left out, the sum is known."""
    heads, lost, todo = Fraction(), Fraction(), [((), Fraction(1))]
    while todo:
        given, probability = todo.pop()
        try:
            up = np.array([rate.numerator], dtype=object)
            heads += probability * int(bernoulli_exp_of(up, rate.denominator, Coins(given))[0])
        except LookupError as missing:
            sides = int(missing.args[0])
            if probability < Fraction(1, 10**4):
                lost += probability
            else:
                todo += [((*given, coin), probability / sides) for coin in range(sides)]
    assert lost < Fraction(1, 25) and float(heads) <= math.exp(-rate) <= float(heads + lost)


@pytest.mark.parametrize("deviation", [Fraction(1), Fraction(3, 2), Fraction(2, 7)])
def test_the_gaussian_is_kept_by_exact_chances(deviation, monkeypatch):
    """The weights of the Laplace noise times the chances to be kept are those of the Gaussian."""
    x, chances, scales = np.arange(-40, 41), [], []

    def kept(up, down, rng):
        chances[:] = [Fraction(int(one), down) for one in up]
        return np.ones(len(up), dtype=bool)

    monkeypatch.setattr(noises, "bernoulli_exp_of", kept)
    laplace = lambda scale, size, *, rng: scales.append(scale) or x  # noqa: E731
    monkeypatch.setattr(noises, "discrete_laplace_noise", laplace)
    discrete_gaussian_noise(deviation**2, x.size, rng=None)
    rates = [abs(k) / deviation - k * k / (2 * deviation**2) for k in x.tolist()]
    assert scales == [deviation] and min(chances) >= 0
    assert {rate + chance for rate, chance in zip(rates, chances, strict=True)} == {Fraction(1, 2)}


def delta_of(shift, variance, epsilon):
    """Of discrete Gaussian noise that moves so far, exactly but for far tails."""
    far = math.ceil(12 * math.sqrt(variance)) + max(map(abs, shift))
    x, still, moved = np.arange(-far, far + 1), np.ones(1), np.ones(1)
    for move in shift:
        one, other = (np.exp(-((x - k) ** 2) / (2 * variance)) for k in (0, move))
        still = np.outer(still, one / one.sum()).ravel()
        moved = np.outer(moved, other / one.sum()).ravel()
    return float((moved - math.exp(epsilon) * still).clip(min=0).sum())


@pytest.mark.parametrize(("shift", "epsilon", "delta"), [
    ((1,), 1, 1e-6), ((4,), 0.5, 1e-9), ((20,), 3, 1e-4), ((2, -2), 1, 1e-3),
    ((2, -1, -1), 2, 1e-2), ((50,), 0.1, 1e-5), ((7,), 8, 1e-12)])  # fmt: skip
def test_the_discrete_gaussian_spends_no_more_than_delta(shift, epsilon, delta):
    l2_squared = sum(x * x for x in shift)
    variance = discrete_gaussian_variance(l2_squared, epsilon, delta)
    assert delta_of(shift, float(variance), epsilon) <= delta
    assert delta_of(shift, 0.7 * float(variance), epsilon) > delta  # the control
    best = gaussian_scale(math.sqrt(l2_squared), epsilon, delta)  # of noise that is not discrete
    assert 0.99 * best < math.sqrt(variance) < 1.2 * best
