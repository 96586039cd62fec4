"""Loss and calibration of the perturbed estimator against grids, limits and explicit outputs."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logit

from dpbook.data import Comparisons
from dpbook.mechanisms import laplace_noise
from dpbook.rankers import (
    mle_calibration,
    perturbed_mle,
    perturbed_mle_logpdf,
    perturbed_mle_loss,
)

EPSILONS = (0.1, 1.0, 5.0)


def _loss_on_a_grid(scale: float, gamma: float) -> float:
    u = np.linspace(0, 1, 200_001)
    return 2 / scale + float((2 * u / scale + np.log(1 + 2 * u * (1 - u) / gamma)).max())


def _shown_loss(scale: float, gamma: float, n: int) -> float:
    """Log-ratio of two densities at one output, for two edge neighbours on n items.

    Item 1 beats item 0 at u = 1 - F(t_1 - t_0) in the first data set only, item 3 beats item 2 in
    the second only. Item 0 beats all items at +T, item 1 loses to all at -T.
    """
    helpers = n - 2
    u = np.linspace(1e-3, 1 - 1e-9, 4001)
    u = u[gamma * logit(u) <= helpers - 2 * u]
    gains = 2 * u / scale + np.log1p(2 * u * (1 - u) / gamma)
    best = float(u[gains.argmax()])
    high, low = [2, *range(5, n, 2)], [3, *range(4, n, 2)]
    before = np.zeros((n, n))
    before[0, high], before[low, 1] = 1, 1
    after = before.copy()
    before[1, 0], after[3, 2] = 1, 1
    t = np.zeros(n)
    t[high], t[low] = 400 + 20 * n / gamma, -400 - 20 * n / gamma
    slack = (helpers - 2 * best - gamma * logit(best)) / 2
    t[0] = (len(high) - best - slack) / gamma
    t[1] = t[0] - logit(best)
    first, second = (
        perturbed_mle_logpdf(t, wins, gamma=gamma, scale=scale) for wins in (before, after)
    )
    return float(first - second)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 8.0, 80.0])
@pytest.mark.parametrize("gamma", [0.01, 0.5, 1.0, 4.0, 100.0])
def test_loss_is_the_maximum_over_a_fine_grid(scale, gamma):
    expected = _loss_on_a_grid(scale, gamma)
    assert perturbed_mle_loss(scale, gamma) == pytest.approx(expected, rel=1e-9)
    assert perturbed_mle_loss(scale, gamma, comparisons=7) == pytest.approx(7 * expected, rel=1e-9)
    assert perturbed_mle_loss(scale, gamma, comparisons=3, exchange=False) == 6 / scale


@pytest.mark.parametrize(("scale", "gamma", "n"), [(8, 1, 4), (8, 1, 7), (80, 10, 6), (2, 0.4, 5)])
def test_loss_is_attained_at_an_explicit_output(scale, gamma, n):
    assert _shown_loss(scale, gamma, n) == pytest.approx(perturbed_mle_loss(scale, gamma), abs=1e-6)


def test_limits_of_the_loss():
    assert perturbed_mle_loss(3.0, 3.0) == pytest.approx(4 / 3, rel=1e-14)  # gamma >= scale
    assert perturbed_mle_loss(3.0, 1e9) == pytest.approx(4 / 3, rel=1e-14)
    assert perturbed_mle_loss(3.0, 2.9) > 4 / 3 + 1e-6
    # Without noise to speak of, only the determinant is left: u = 1/2.
    assert perturbed_mle_loss(1e12, 0.2) == pytest.approx(np.log(1 + 1 / 0.4), rel=1e-9)
    # The printed calibrations for small epsilon, per epsilon: 113/128 and 41/64.
    tiny = 1e-6
    assert perturbed_mle_loss(8 / tiny, 1 / tiny) / tiny == pytest.approx(113 / 128, rel=1e-5)
    assert perturbed_mle_loss(8 / tiny, 2 / tiny) / tiny == pytest.approx(41 / 64, rel=1e-5)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tight_spends_epsilon_and_no_more(epsilon):
    plan = mle_calibration(5, privacy="edge", epsilon=epsilon)
    assert (plan.scale, plan.gamma) == (4 / epsilon, 4 / epsilon)
    assert perturbed_mle_loss(plan.scale, plan.gamma) == pytest.approx(epsilon, rel=1e-12)
    assert perturbed_mle_loss(0.99 * plan.scale, plan.gamma) > 1.005 * epsilon
    assert (
        mle_calibration(5, privacy="edge", epsilon=epsilon, gamma=9 / epsilon).scale == 4 / epsilon
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("per_user", [1, 3, 10])
def test_tight_for_one_person(epsilon, per_user):
    options = {"epsilon": epsilon, "privacy": "individual", "per_user": per_user}
    plan = mle_calibration(5, **options)
    spent = perturbed_mle_loss(plan.scale, plan.gamma, comparisons=per_user)
    assert plan.scale == pytest.approx(4 * per_user / epsilon)
    assert spent == pytest.approx(epsilon, rel=1e-12)
    small = 1.5 / (2 * np.expm1(epsilon / per_user))  # half as much again as the least ridge
    plan = mle_calibration(5, **options, gamma=small)
    spent = perturbed_mle_loss(plan.scale, small, comparisons=per_user)
    assert plan.gamma == small
    assert epsilon * (1 - 1e-9) <= spent <= epsilon
    assert perturbed_mle_loss(0.99 * plan.scale, small, comparisons=per_user) > epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("factor", [1.001, 1.3, 3.0])
def test_small_ridge_scale_is_the_root_of_the_loss(epsilon, factor):
    gamma = factor / (2 * np.expm1(epsilon))
    plan = mle_calibration(5, privacy="edge", epsilon=epsilon, gamma=gamma)
    root = brentq(lambda s: _loss_on_a_grid(s, gamma) - epsilon, 1 / epsilon, 1e5 / epsilon)
    assert plan.scale == pytest.approx(root, rel=1e-5)
    assert epsilon * (1 - 1e-9) <= perturbed_mle_loss(plan.scale, gamma) <= epsilon


def test_a_smaller_scale_is_shown_not_to_be_private():
    for gamma in (0.5, 1.0, 2.0):
        plan = mle_calibration(20, privacy="edge", epsilon=1.0, gamma=gamma)
        assert _shown_loss(plan.scale, gamma, 20) <= 1
        assert _shown_loss(0.99 * plan.scale, gamma, 20) > 1


def test_designs_in_which_each_pair_is_asked_once():
    for n, epsilon in ((3, 1.0), (4, 0.5), (7, 2.0)):
        options = {"epsilon": epsilon, "privacy": "individual"}
        once = mle_calibration(n, **options, design="each_pair_once")
        assert once.scale == n**2 // 2 / epsilon
        assert mle_calibration(n, **options, design="each_pair_once", gamma=0.01).gamma == 0.01
        skip = mle_calibration(n, **options, design="each_pair_or_skip")
        assert skip.gamma == skip.scale == (n * (n - 1) / 2 + 3 * (n**2 // 4)) / (2 * epsilon)
        public = {"design": "each_pair_or_skip", "calibration": "flips-only"}
        assert mle_calibration(n, **options, **public).scale == n**2 // 2 / epsilon


def test_skipped_pairs_spend_nearly_all_of_it():
    """Two far halves: all answers across turned round, those within a half dropped at u = 1/2."""
    n, s = 4, mle_calibration(4, epsilon=1.0, privacy="individual", design="each_pair_or_skip")
    before, t = np.triu(np.ones((n, n)), 1), np.array([300.0, 300.0, -300.0, -300.0])
    after = before.T.copy()
    after[1, 0] = after[3, 2] = 0
    densities = [
        perturbed_mle_logpdf(t, wins, gamma=s.gamma, scale=s.scale) for wins in (before, after)
    ]
    loss = densities[0] - densities[1]
    assert loss == pytest.approx(8 / s.scale + 2 * np.log1p(1 / (2 * s.gamma)), rel=1e-12)
    assert 0.99 < loss <= 1


def test_printed_and_flips_only():
    printed = mle_calibration(9, privacy="edge", epsilon=0.5, calibration="printed")
    assert (printed.scale, printed.gamma) == (16.0, 2.0)
    person = {"privacy": "individual", "per_user": 3}
    printed = mle_calibration(9, epsilon=0.5, calibration="printed", **person)
    assert (printed.scale, printed.gamma) == (48.0, 12.0)
    pairs = mle_calibration(
        4, epsilon=1.0, calibration="printed", privacy="individual", design="each_pair_once"
    )
    assert (pairs.scale, pairs.gamma) == (48.0, 12.0)
    flips = mle_calibration(9, privacy="edge", epsilon=0.5, calibration="flips-only", gamma=1e-3)
    assert (flips.scale, flips.gamma) == (4.0, 1e-3)
    assert mle_calibration(9, epsilon=0.5, calibration="flips-only", **person).scale == 12.0
    assert perturbed_mle_loss(flips.scale, flips.gamma, exchange=False) == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0.0}, "epsilon = 0.0"),
        ({"epsilon": np.nan}, "epsilon = nan"),
        ({"n_items": 1}, "n_items = 1"),
        ({"privacy": "group"}, "privacy = 'group'"),
        ({"calibration": "loose"}, "calibration = 'loose'"),
        ({"privacy": "individual", "design": "ranking"}, "design = 'ranking'"),
        ({"gamma": -1.0}, "gamma = -1.0"),
        ({"privacy": "individual"}, "per_user"),
        ({"privacy": "individual", "per_user": 0}, "per_user = 0"),
        ({"gamma": 0.29}, r"gamma = 0.29: allowed is more than 0.290"),
        ({"calibration": "printed", "gamma": 0.9}, "gamma = 0.9: allowed is at least 1"),
        (
            {"privacy": "individual", "design": "each_pair_or_skip", "gamma": 1.0},
            "gamma = 1.0: allowed is at least 9 with skipped pairs",
        ),
    ],
)
def test_bad_calibrations_are_named(change, message):
    arguments = {"n_items": 4, "epsilon": 1.0, "privacy": "edge"} | change
    with pytest.raises(ValueError, match=message):
        mle_calibration(arguments.pop("n_items"), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.0, 1.0), "scale = 0.0"), ((1.0, -2.0), "gamma = -2.0")],
)
def test_bad_losses_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        perturbed_mle_loss(*arguments)
    with pytest.raises(ValueError, match="comparisons = 0"):
        perturbed_mle_loss(1.0, 1.0, comparisons=0)


def test_the_raw_mean_is_the_mean_of_the_noise_over_gamma():
    wins = np.random.default_rng(3).integers(0, 4, (6, 6))
    np.fill_diagonal(wins, 0)
    gamma, scale = 5.0, 4.0
    raw, centred = (
        perturbed_mle(
            wins,
            epsilon=1.0,
            privacy="edge",
            gamma=gamma,
            centre=centre,
            rng=np.random.default_rng(8),
        )
        for centre in (False, True)
    )
    # The score at the release is minus the noise, and the comparisons' part of it sums to zero.
    gap = raw[:, None] - raw
    noise = wins.sum(axis=1) - ((wins + wins.T) / (1 + np.exp(-gap))).sum(axis=1) - gamma * raw
    expected = laplace_noise(scale, 6, rng=np.random.default_rng(8))
    np.testing.assert_allclose(noise, expected, atol=1e-7)
    assert raw.mean() == pytest.approx(-expected.mean() / gamma, abs=1e-8)
    np.testing.assert_allclose(centred, raw - raw.mean(), atol=1e-12)
    assert abs(centred.mean()) < 1e-14


def test_the_noise_has_the_scale_of_the_plan():
    """P(|w| > s log 2) = 1/2 for a Laplace variable of scale s; w is read off the score."""
    wins = np.zeros((4000, 3, 3), dtype=int)
    wins[:, 0, 1] = wins[:, 1, 2] = 1
    theta = perturbed_mle(
        wins, epsilon=0.5, privacy="edge", centre=False, rng=np.random.default_rng(5)
    )
    gap = theta[:, :, None] - theta[:, None]
    met = wins + np.swapaxes(wins, 1, 2)
    noise = wins.sum(axis=2) - (met / (1 + np.exp(-gap))).sum(axis=2) - 8.0 * theta
    assert np.mean(np.abs(noise) > 8.0 * np.log(2)) == pytest.approx(0.5, abs=0.02)


def test_people_who_said_too_much_are_refused():
    data = Comparisons(
        3, winner=np.array([0, 1, 0]), loser=np.array([1, 2, 2]), user=np.array([0, 0, 1])
    )
    options = {"epsilon": 1.0, "privacy": "individual", "rng": np.random.default_rng(1)}
    with pytest.raises(ValueError, match="per_user = 1: a person in data has 2 comparisons"):
        perturbed_mle(data, per_user=1, **options)
    assert perturbed_mle(data, per_user=2, **options).shape == (3,)
    twice = Comparisons(3, winner=np.array([0, 1]), loser=np.array([1, 0]), user=np.array([4, 4]))
    with pytest.raises(ValueError, match="a person in data compares one pair twice"):
        perturbed_mle(twice, design="each_pair_or_skip", **options)
    unlabelled = Comparisons(3, winner=np.array([0]), loser=np.array([1]))
    with pytest.raises(ValueError, match="labelled comparisons"):
        perturbed_mle(unlabelled, per_user=1, **options)
