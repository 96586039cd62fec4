"""Noisy counts and the perturbed maximum-likelihood estimate: density, loss and calibration."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import optimize, special, stats
from scipy.special import logit

from dpbook.estimators import win_counts
from dpbook.mechanisms import gaussian_profile
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rankers import DiscreteCounts, NoisyCounts, PerturbedMle
from tests.oracles import rng

WINS = np.array([[0, 3, 1], [2, 0, 4], [1, 0, 0]])
EPSILONS = (0.1, 1.0, 5.0)
PUBLIC = Edge(3, exchange=False)


def _objective(t: np.ndarray, wins: np.ndarray, gamma: float) -> float:
    """Ridge negative log-likelihood, written out pair by pair."""
    pairs = itertools.permutations(range(len(t)), 2)
    return sum(wins[i, j] * np.log1p(np.exp(t[j] - t[i])) for i, j in pairs) + gamma / 2 * t @ t


def test_density_is_the_change_of_variables_done_by_finite_differences():
    gamma, scale, h = 0.7, 1.3, 1e-4
    t, unit = np.array([0.4, -0.9, 0.2]), np.eye(3)

    def slope(t, a):
        return (_objective(t + h * a, WINS, gamma) - _objective(t - h * a, WINS, gamma)) / (2 * h)

    gradient = [slope(t, a) for a in unit]
    hessian = [[(slope(t + h * b, a) - slope(t - h * b, a)) / (2 * h) for b in unit] for a in unit]
    expected = stats.laplace(scale=scale).logpdf(gradient).sum() + np.log(np.linalg.det(hessian))
    assert PerturbedMle(Edge(3), scale, gamma).logpdf(t, WINS) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("error", [1.0, 1.15])
def test_the_sampler_follows_the_density(error):
    """E q / f(theta) = 1 for a normal density q, if theta has the density f."""
    ranker, size = PerturbedMle(Edge(3), 0.6, 2.0), 40_000
    theta = ranker.release(WINS, error * ranker.noise(size, rng=rng(11)))
    q = stats.norm(theta.mean(axis=0), 0.5 * theta.std(axis=0)).logpdf(theta).sum(axis=1)
    ratio = np.exp(q - ranker.logpdf(theta, WINS))
    doubt = ratio.std() / np.sqrt(size)
    assert doubt < 0.02
    assert (abs(ratio.mean() - 1) < 5 * doubt) == (error == 1)


def test_the_release_solves_its_score_equation():
    wins, ranker = np.array([[0, 5, 6], [2, 0, 4], [1, 3, 0]]), PerturbedMle(Edge(3), 3.0, 2.0)
    noise = ranker.noise(4, rng=rng(9))
    np.testing.assert_array_equal(3.0 * noise, rng(9).laplace(scale=3.0, size=(4, 3)))

    def score(t, w):
        expected = ((wins + wins.T) * special.expit(t[:, None] - t)).sum(axis=1)
        return expected - wins.sum(axis=1) + 2.0 * t + 3.0 * w

    raw = ranker.release(wins, noise)
    for t, w in zip(raw, noise, strict=True):
        np.testing.assert_allclose(t, optimize.root(score, np.zeros(3), (w,)).x, atol=1e-7)
    np.testing.assert_allclose(raw.mean(axis=1), -3 * noise.mean(axis=1) / 2, atol=1e-8)
    centred = ranker.release(wins, noise, centre=True)
    np.testing.assert_allclose(centred, raw - raw.mean(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-15])
def test_the_estimate_is_found_however_loud_the_noise(epsilon):
    """The noise has last digits beyond the solver's 1e-8; the equation holds up to those."""
    wins = np.array([[0, 5, 6], [2, 0, 4], [1, 3, 0]])
    ranker = PerturbedMle.private(epsilon, Edge(3))
    noise = ranker.noise(20, rng=rng())
    theta = ranker.release(wins, noise)
    np.testing.assert_allclose(theta * ranker.gamma, -ranker.scale * noise, rtol=1e-12, atol=20)


def largest_residual(ranker, wins, games, theta, noise):
    """Of the score equation, each item's terms added exactly."""
    sides = []
    for i in range(len(theta)):
        terms = games * special.expit(theta[i] - np.delete(theta, i))
        sides.append(math.fsum([*terms, *-wins[i], ranker.gamma * theta[i], noise[i]]))
    return np.abs(sides).max()


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_the_estimate_is_found_however_heavy_the_counts(seed, near):
    """The counts have last digits beyond the solver's 1e-8: n sums of n terms, each rounded.

    The tolerance is for the worst theta, about counts / ridge; with a small ridge this one stays
    near 0, and 100 times the last digits of 3 n terms are allowed.
    """
    n, games = 20, 10**12
    low, high = (games // 3, games // 2) if near else (0, games)
    ridge, room = (1.0, 300) if near else (19_000 * games, 1)
    wins = np.triu(rng(seed).integers(low, high, (n, n)), 1)
    wins += np.tril(games - wins.T, -1)
    ranker = PerturbedMle(Edge(n), 1.0, ridge)
    noise = ranker.noise(rng=rng(seed))
    theta = ranker.release(wins, noise)
    assert np.abs(theta).max() < 1
    residual = largest_residual(ranker, wins, games, theta, noise)
    assert residual < room * n * (n - 1) * games * np.finfo(float).eps


def _loss_on_a_grid(scale: float, gamma: float) -> float:
    u = np.linspace(0, 1, 200_001)
    return 2 / scale + float((2 * u / scale + np.log(1 + 2 * u * (1 - u) / gamma)).max())


@pytest.mark.parametrize("scale", [1.5, 1e3, 1e10, 1e14])
def test_the_loss_keeps_its_digits_at_any_scale(scale):
    """The stationary point of what one exchange loses, in fifty digits."""
    gamma = 0.2 * scale
    with localcontext(prec=50):
        s, g = Decimal(scale), Decimal(gamma)
        u = min(1, (1 - s + ((1 - s) ** 2 + 2 * (g + s)).sqrt()) / 2)
        removed = max(2 * x / s + (1 + 2 * x * (1 - x) / g).ln() for x in (Decimal(1), u))
        exact = float(2 / s + removed)
    assert PerturbedMle(Edge(5), scale, gamma).loss()[1] == pytest.approx(exact, rel=1e-14, abs=0)


def _shown_loss(ranker: PerturbedMle) -> float:
    """Log-ratio of two densities at one output, for neighbours with each pair at most once.

    Item 1 beats item 0 at u = 1 - F(t_1 - t_0) in the first data set only, item 3 beats item 2 in
    the second only. Item 0 beats all items at +T, item 1 loses to all at -T.
    """
    n, scale, gamma = ranker.unit.n_items, ranker.scale, ranker.gamma
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
    return float(ranker.logpdf(t, before) - ranker.logpdf(t, after))


def _shown_by_one_person(ranker: PerturbedMle) -> float:
    """As many pairs i, j as fit beside one item at +T: j's wins go, i beats the item at +T."""
    n, moved = ranker.unit.n_items, ranker.unit.comparisons
    pairs, top = (n - 1) // 2, n - 1
    before, after = np.zeros((2, n, n))
    t = np.zeros(n)
    for a in range(pairs):
        share = moved // pairs + (a < moved % pairs)
        scale, gamma = ranker.scale / max(share, 1), ranker.gamma / max(share, 1)
        u = np.linspace(1e-3, 1 - 1e-7, 40_001)
        best = float(u[(2 * u / scale + np.log1p(2 * u * (1 - u) / gamma)).argmax()])
        i, j = 2 * a, 2 * a + 1
        t[j] = (share + 1) / ranker.gamma
        t[i] = t[j] + logit(best)
        helpers = np.ceil(ranker.gamma * t[i] + share + 1)
        before[i, top] = after[i, top] = helpers
        before[j, i] += share
        after[i, top] += share
    t[top] = 2 * np.abs(t).max() + 500
    return float(ranker.logpdf(t, before) - ranker.logpdf(t, after))


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 8.0, 80.0])
@pytest.mark.parametrize("gamma", [0.01, 0.5, 1.0, 4.0, 100.0])
def test_loss_is_the_maximum_over_a_fine_grid(scale, gamma):
    expected = _loss_on_a_grid(scale, gamma)
    assert PerturbedMle(Edge(5), scale, gamma).loss() == pytest.approx([expected] * 2, rel=1e-9)
    seven = PerturbedMle(Person(15, per_user=7), scale, gamma).loss()
    assert seven == pytest.approx([7 * expected] * 2, rel=1e-9)
    assert PerturbedMle(PUBLIC, scale, gamma).loss() == (2 / scale, 2 / scale)


@pytest.mark.parametrize(("scale", "gamma", "n"), [(8, 1, 4), (8, 1, 7), (80, 10, 6), (2, 0.4, 5)])
def test_loss_is_attained_by_data_in_which_no_pair_meets_twice(scale, gamma, n):
    ranker = PerturbedMle(Edge(n), scale, gamma)
    assert _shown_loss(ranker) == pytest.approx(ranker.loss()[0], abs=1e-6)


@pytest.mark.parametrize(("n", "per_user"), [(3, 1), (3, 2), (5, 2), (6, 5), (9, 4)])
@pytest.mark.parametrize("gamma", [0.3, 2.0])
def test_the_lower_end_of_the_loss_is_attained_by_one_person(n, per_user, gamma):
    ranker = PerturbedMle(Person(n, per_user=per_user), 4.0, gamma)
    lower, upper = ranker.loss()
    assert _shown_by_one_person(ranker) == pytest.approx(lower, abs=1e-5)
    assert (lower == upper) == (per_user <= (n - 1) // 2)


def test_limits_of_the_loss():
    def loss(*noise):
        return PerturbedMle(Edge(4), *noise).loss()[1]

    assert loss(3.0, 3.0) == pytest.approx(4 / 3, rel=1e-14)  # gamma >= scale
    assert loss(3.0, 1e9) == pytest.approx(4 / 3, rel=1e-14)
    assert loss(3.0, 2.9) > 4 / 3 + 1e-6
    # Without noise to speak of, only the determinant is left: u = 1/2.
    assert loss(1e12, 0.2) == pytest.approx(np.log(1 + 1 / 0.4), rel=1e-9)
    # The printed calibrations for small epsilon, per epsilon: 113/128 and 41/64.
    tiny = 1e-6
    assert loss(8 / tiny, 1 / tiny) / tiny == pytest.approx(113 / 128, rel=1e-5)
    assert loss(8 / tiny, 2 / tiny) / tiny == pytest.approx(41 / 64, rel=1e-5)


def _pairs_moved(n: int, unit: Edge):
    """Tables that differ in one comparison, some pairs met before."""
    base, games = np.triu(rng(7).integers(0, 3, (n, n)), 1), [*itertools.permutations(range(n), 2)]
    for here, there in itertools.product(games, repeat=2):
        if unit.exchange or there == here[::-1]:
            one, other = base.copy(), base.copy()
            one[here] += 1
            other[there] += 1
            yield one, other


@pytest.mark.parametrize("unit", [Edge(3), PUBLIC])
def test_neighbours_lose_no_more_than_is_promised_and_half_the_scale_fails(unit):
    ranker = PerturbedMle.private(1.0, unit)
    far = np.array(list(itertools.product([-60.0, -3.0, 0.0, 3.0, 60.0], repeat=3)))
    points = np.vstack([far, rng(8).normal(scale=10, size=(200, 3))])
    for factor in (1, 0.5):
        tried = PerturbedMle(unit, factor * ranker.scale, ranker.gamma)
        worst = max(
            np.abs(tried.logpdf(points, a) - tried.logpdf(points, b)).max()
            for a, b in _pairs_moved(3, unit)
        )
        assert worst <= tried.loss()[1] * (1 + 1e-12)
        assert (worst <= 1 + 1e-12) == (factor == 1)


def test_a_tie_costs_no_more_than_a_win():
    ranker, source, worst = PerturbedMle.private(1.0, Edge(4)), rng(), 0.0
    for _ in range(40):
        base = np.triu(source.integers(0, 3, (4, 4)), 1).astype(float)
        theta = source.normal(scale=source.choice([1, 10, 60]), size=(500, 4))
        changed = []
        for i, j in itertools.permutations(range(4), 2):
            changed += [base.copy(), base.copy()]
            changed[-1][i, j] += 1
            changed[-2][[i, j], [j, i]] += 0.5
        logs = np.array([ranker.logpdf(theta, w) for w in changed])
        worst = max(worst, float(np.abs(logs[::2, None] - logs).max()))
    # Sharp enough to notice noise that is too small by two fifths.
    assert 0.6 < worst <= 1.0


def test_skipped_pairs_spend_nearly_all_of_it():
    """Two far halves: all answers across turned round, those within a half dropped at u = 1/2."""
    s = PerturbedMle.private(1.0, Person(4, design="each_pair_or_skip"))
    before, t = np.triu(np.ones((4, 4)), 1), np.array([300.0, 300.0, -300.0, -300.0])
    after = before.T.copy()
    after[1, 0] = after[3, 2] = 0
    shown = s.logpdf(t, before) - s.logpdf(t, after)
    assert shown == pytest.approx(8 / s.scale + 2 * np.log1p(1 / (2 * s.gamma)), rel=1e-12)
    assert shown == pytest.approx(s.loss()[0], rel=1e-12)
    assert 0.99 < shown <= s.loss()[1] == pytest.approx(1)
    for n in (2, 3, 7, 20):  # the proof for a large ridge loses little: both ends are close
        low, high = PerturbedMle.private(0.1, Person(n, design="each_pair_or_skip")).loss()
        assert 0.95 * high < low <= high


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("per_user", [1, 3, 10])
def test_private_spends_epsilon_and_no_more(epsilon, per_user):
    unit = Person(21, per_user=per_user)
    ranker = PerturbedMle.private(epsilon, unit)
    assert ranker.scale == ranker.gamma == pytest.approx(4 * per_user / epsilon, rel=1e-15)
    assert ranker.loss() == pytest.approx([epsilon] * 2, rel=1e-12)
    assert PerturbedMle(unit, 0.99 * ranker.scale, ranker.gamma).loss()[0] > 1.005 * epsilon
    wide = PerturbedMle.private(epsilon, unit, gamma=9 * per_user / epsilon)
    assert (wide.scale, wide.gamma) == (ranker.scale, 9 * per_user / epsilon)
    small = 1.5 / (2 * np.expm1(epsilon / per_user))  # half as much again as the least ridge
    tight = PerturbedMle.private(epsilon, unit, gamma=small)
    assert tight.gamma == small
    assert epsilon * (1 - 1e-9) <= tight.loss()[0] <= tight.loss()[1] <= epsilon
    assert PerturbedMle(unit, 0.99 * tight.scale, small).loss()[0] > epsilon
    assert PerturbedMle(unit, 77.0, small).at_loss(epsilon) == tight


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("factor", [1.001, 1.3, 3.0])
def test_small_ridge_scale_is_the_root_of_the_loss(epsilon, factor):
    gamma = factor / (2 * np.expm1(epsilon))
    ranker = PerturbedMle.private(epsilon, Edge(5), gamma=gamma)
    excess = lambda s: _loss_on_a_grid(s, gamma) - epsilon  # noqa: E731
    root = optimize.brentq(excess, 1 / epsilon, 1e5 / epsilon)
    assert ranker.scale == pytest.approx(root, rel=1e-5)


def test_units_in_which_the_pairs_do_not_change():
    for n, epsilon in ((3, 1.0), (4, 0.5), (7, 2.0)):
        persons = [Person(n, design=design) for design in ("each_pair_once", "ranking")]
        for unit in (*persons, WholeRanking(n)):
            ranker = PerturbedMle.private(epsilon, unit, gamma=0.01)
            assert (ranker.scale, ranker.gamma) == (n**2 // 2 / epsilon, 0.01)
            assert ranker.loss() == pytest.approx([epsilon] * 2)
        flips = PerturbedMle.private(epsilon, Edge(n, exchange=False), gamma=1e-3)
        assert (flips.scale, flips.gamma) == (2 / epsilon, 1e-3)
        skip = PerturbedMle.private(epsilon, Person(n, design="each_pair_or_skip"))
        assert skip.gamma == skip.scale == (n * (n - 1) / 2 + 3 * (n**2 // 4)) / (2 * epsilon)
    assert PerturbedMle.private(1.0, Edge(2)).loss() == (0.5, 0.5)  # two items have one pair
    # One person's opposite rankings, far out: the loss of whole rankings is attained.
    ranker, t = PerturbedMle.private(1.0, WholeRanking(4)), np.array([9.0, 3, -3, -9]) * 100
    table = np.triu(np.ones((4, 4)), 1)
    assert ranker.logpdf(t, table) - ranker.logpdf(t, table.T) == pytest.approx(1, rel=1e-12)


EACH = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
EDGE = NoisyCounts.private(1.0, Edge(3))


PRINTED = {Edge(3): 2, Person(4, 3): 3}
PRINTED |= {Person(6, design=f"each_pair_{how}"): 15 for how in ("once", "or_skip")}


def test_printed():
    for unit, numerator in PRINTED.items():
        printed = NoisyCounts.printed(0.5, unit)
        assert printed.scale == pytest.approx(numerator / 0.5, rel=1e-15)
        assert printed.loss()[0] == pytest.approx(unit.l1() / numerator * 0.5)
    for unit, epsilon, noise in (
        (Edge(9), 0.5, (16.0, 2.0)),
        (Person(9, per_user=3), 0.5, (48.0, 12.0)),
        (Person(4, design="each_pair_once"), 1.0, (48.0, 12.0)),
    ):
        fit = PerturbedMle.printed(epsilon, unit)
        assert (fit.scale, fit.gamma) == noise
    assert PerturbedMle.printed(1.0, Edge(9), gamma=5.0).gamma == 5.0


def test_the_printed_individual_scale_breaks_its_promise_and_the_tight_one_keeps_it():
    unit = Person(2, 1, users=10)
    printed, private = NoisyCounts.printed(1, unit), NoisyCounts.private(1, unit)
    # Closed form for two items: the margin drops from 10 to 8.
    assert printed.loss("ranking")[0] == pytest.approx(2 - np.log(6 / 5), rel=1e-12)
    assert private.loss("ranking")[1] < 1


def test_a_skipped_pair_would_lose_a_quarter_more_than_promised():
    """The exact loss of the released vector is the supremum of the log-ratio of two densities."""
    ranker = NoisyCounts.private(1.0, Person(3, design="each_pair_once"))
    x, y = np.array([2, 0, 0]), np.array([0, 1, 2])  # two of the pairs; all, the other way round
    far = np.where(x > y, 100, -100)
    assert ranker.logpdf(far, x) - ranker.logpdf(far, y) == pytest.approx(1.25, rel=1e-12)
    # The ratio of the two sensitivities grows from there.
    for n, ratio in ((3, 5 / 4), (5, 16 / 12), (10, 70 / 50), (40, 1180 / 800)):
        skip, once = (Person(n, design=f"each_pair_{w}").l1() for w in ("or_skip", "once"))
        assert skip / once == ratio


def test_densities():
    ranker = NoisyCounts.private(0.5, Edge(3))
    x = np.array([3.5, 1.0, -2.0])
    expected = stats.laplace(scale=4).logpdf(x - [2, 1, 0]).sum()
    assert ranker.logpdf(x, [2, 1, 0]) == pytest.approx(expected, rel=1e-14)
    gauss = NoisyCounts.private(0.5, Edge(3), delta=1e-4)
    assert gaussian_profile(math.sqrt(2), gauss.scale, 0.5) == pytest.approx(1e-4, rel=1e-6)
    expected = stats.norm(scale=gauss.scale).logpdf(x - [2, 1, 0]).sum()
    assert gauss.logpdf(x, [2, 1, 0]) == pytest.approx(expected, rel=1e-12)
    assert gauss.loss() == (math.inf, math.inf) and gauss.loss("ranking") == (0.0, math.inf)
    with pytest.raises(ValueError, match="allowed is Laplace noise"):
        gauss.pmf(EACH)
    whole = DiscreteCounts(Edge(3), ranker.scale)
    expected = stats.dlaplace(1 / 4).logpmf([1, 0, -2]).sum()
    assert whole.logpdf([3, 1, -2], [2, 1, 0]) == pytest.approx(expected, rel=1e-14)
    # So far out that the probability itself is 0 to a float.
    slope = whole.logpdf([4000, 0, 0], [0, 0, 0]) - whole.logpdf([8000, 0, 0], [0, 0, 0])
    assert slope == pytest.approx(1000, rel=1e-12)


def test_noise_is_standard_and_comes_with_its_bits():
    """An experiment may stretch one draw over many scales: b z is what a scale of b draws."""
    drawn = rng(3).laplace(scale=2.0, size=(5, 3))
    released = EDGE.release(EACH, EDGE.noise(5, rng=rng(3)))
    assert np.array_equal(released, np.array([2, 1, 0]) + drawn)
    assert np.array_equal(released, EDGE.perturb([2, 1, 0], EDGE.noise(5, rng=rng(3))))
    assert np.array_equal(replace(EDGE, scale=0).release(EACH, drawn), np.tile([2, 1, 0], (5, 1)))


def test_halves_are_kept_and_other_fractions_refused():
    halves = [[0, 1.5, 2], [0.5, 0, 0], [3, 0, 0]]
    assert win_counts(halves).tolist() == [3.5, 0.5, 3]
    assert EDGE.release(halves, np.zeros(3)).tolist() == [3.5, 0.5, 3]
    for bad in (0.9, 0.25, 1e300):
        table = [[0, bad, 0], [1, 0, 0], [0, 0, 0]]
        for call in (win_counts, lambda w: EDGE.release(w, np.zeros(3))):
            with pytest.raises(ValueError, match=r"data holds (0\.9|0\.25|1e\+300)"):
                call(table)
    with pytest.raises(ValueError, match=r"data holds 1\.5.*whole numbers"):
        DiscreteCounts(Edge(3), 1.0).publish(halves, rng=rng())
