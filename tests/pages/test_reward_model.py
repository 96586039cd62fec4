"""Page 37: fits against the book's own estimator, laws against enumeration and samples."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from dpbook.mechanisms import randomized_response_pmf
from dpbook.pages import reward_model as page
from dpbook.privacy import Edge
from dpbook.rankers import FlippedAnswers, debiased_mle


@pytest.fixture
def rng():
    return np.random.default_rng(37)


def one_hot(n_items, each):
    i, j = np.triu_indices(n_items, 1)
    return np.repeat(np.eye(n_items)[i] - np.eye(n_items)[j], each, axis=0), i, j


def test_with_items_as_features_the_fit_is_the_debiased_one_of_the_book(rng):
    epsilon, each = 1.2, 400
    X, i, j = one_hot(5, each)
    bits = page.answers(X, np.linspace(-0.7, 0.7, 5), 1, rng)
    reports = page.flipped(bits, epsilon, rng)
    wins = np.zeros((5, 5), dtype=int)
    wins[i, j] = reports.reshape(-1, each).sum(axis=1)
    wins[j, i] = each - wins[i, j]
    outcomes = FlippedAnswers.private(epsilon, Edge(5, exchange=False)).debias(wins)
    expected = debiased_mle(outcomes, gamma=2.0).theta
    found = page.fit(X, page.debiased_sums(reports, X, epsilon), gamma=2.0)[0]
    assert found == pytest.approx(expected, abs=1e-4)
    raw = debiased_mle(wins, gamma=2.0).theta
    assert np.abs(raw - expected).max() > 0.1  # the control: read as they are


def test_a_fit_solves_its_equation_in_every_block(rng, monkeypatch):
    X, theta = page.design(300, 4, 2, rng), page.weights(4, 2)
    monkeypatch.setattr(page, "BLOCK", 1000)  # three replicates at a time
    target = page.sums(X, theta, (1.0,), 8, rng)
    assert target.shape == (2, 8, 4)
    for part in target:
        fitted = page.fit(X, part, gamma=0.5)
        residual = expit(fitted @ X.T) @ X + 0.5 * fitted - part
        assert np.abs(residual).max() <= 1e-6 * 300
    assert np.abs(residual - 0.1 * fitted).max() > 1e-3


@pytest.mark.parametrize("shared", [0, 12])
def test_fits_that_are_far_apart_are_found_as_well(rng, monkeypatch, shared):
    monkeypatch.setattr(page, "SHARED", shared)
    X, theta = page.design(400, 4, 4, rng), page.weights(4, 4)
    target = page.sums(X, theta, (0.1,), 40, rng).reshape(-1, 4)  # many beyond every answer
    fitted = page.fit(X, target)
    assert np.abs(fitted).max() > 50
    residual = expit(fitted @ X.T) @ X + fitted - target
    assert np.abs(residual).max() <= 1e-6 * 400


def test_a_fit_that_stopped_early_is_refused(monkeypatch):
    monkeypatch.setattr(page, "minimise", lambda problem, theta, tol: (theta, 0))
    with pytest.raises(RuntimeError, match="gradient above"):
        page.fit(np.ones((10, 1)), np.array([[9.0]]))


def test_every_pair_differs_in_as_many_properties_and_weights_have_variance_1(rng):
    X, theta = page.design(20_000, 9, 3, rng), page.weights(9, 3)
    assert (np.abs(X).sum(axis=1) == 3).all()
    assert np.var(X @ theta) == pytest.approx(1, abs=0.05)
    assert np.var(X @ page.weights(9, 4)) < 0.8


def test_debiased_sums_have_the_mean_of_the_sum(rng):
    X, e = page.design(6, 3, 2, rng), 0.8
    y = rng.random(6) < 0.5
    law, channel = np.zeros(3), randomized_response_pmf(e)
    for report in product((False, True), repeat=6):
        chance = np.prod([channel[int(a), int(b)] for a, b in zip(y, report, strict=True)])
        law += chance * page.debiased_sums(np.array([report]), X, e)[0]
    assert law == pytest.approx(y @ X, abs=1e-12)
    assert np.abs(y @ X - (~y) @ X).max() > 0


@pytest.mark.parametrize(("flips", "scale"), [(None, 0.0), (1.0, 0.0), (None, 6.0)])
def test_measured_errors_follow_the_first_order_law(rng, flips, scale):
    X, theta, size = page.design(6000, 5, 2, rng), page.weights(5, 2), 300
    drawn = page.sums(X, theta, () if flips is None else (flips,), size, rng)[-1]
    target = page.noisy(drawn, scale, rng) if scale else drawn
    law = page.first_order(X, theta, flips, scale)
    found = page.squares(X, page.fit(X, target), theta).mean() / law
    # a mean of 300 squares of 5 normals: five standard deviations, and the next order
    assert found == pytest.approx(1, abs=5 * np.sqrt(2 / (5 * size)) + 2 * law)
    assert page.first_order(X, theta, 0.5) > 1.3 * law or flips is None


def test_with_even_pairs_flips_add_the_printed_rate_with_constant_4(rng):
    X, zero = page.design(500, 6, 3, rng), np.zeros(6)
    for e in (0.1, 1.0, 6.0):
        price = np.sqrt(page.first_order(X, zero, e)) - np.sqrt(page.first_order(X, zero))
        assert price * np.expm1(e) / np.sqrt(6 / 500) == pytest.approx(4, rel=1e-9)


def test_losses_of_sum_and_fit_by_hand(rng):
    X = np.array([[1.0, 2.0], [0.0, 1.0]])
    assert page.longest(X) == 3
    assert page.sum_loss(X, 1.5) == pytest.approx(2)
    assert page.fit_loss(X, [1, 0], [0, 0], 1.5, 0.7) == pytest.approx(2, abs=1e-9)
    assert page.fit_loss(X, [1, 0], [1, 1], 1.5, 0.7) == pytest.approx(1 / 1.5, abs=1e-9)


def test_the_bundle_is_the_longest_of_all_moves(rng):
    X = rng.integers(-2, 3, (6, 3)).astype(float)
    moves = [t @ person for person in X.reshape(2, 3, 3) for t in product((-1, 0, 1), repeat=3)]
    assert page.bundle(X, 3) == max(np.abs(move).sum() for move in moves)
    assert page.bundle(X, 1) == page.longest(X)
    assert page.bundle(np.eye(3), 3) == 3 and page.bundle(np.ones((2, 2)), 2) == 4


def test_corruption_moves_the_debiased_mean_as_derived():
    p, e = 0.3, 1.0
    cases = {("blind", False): 0.4, ("blind", True): 0.4, ("set", False): 0.7}
    cases |= {("set", True): 0.7 + 1 / np.expm1(e)}
    cases |= {("seen", False): 1.0, ("seen", True): 1 / np.tanh(e / 2)}
    for (kind, after), expected in cases.items():
        assert page.shift(p, e, kind, 0.05, after=after) == pytest.approx(expected, abs=1e-9)


def test_a_share_is_turned_in_favour_of_one_property(rng):
    X = page.design(1000, 6, 3, rng)
    bits = page.answers(X, np.zeros(6), 5, rng)
    after = page.turned(bits, X[:, 0], 0.05)
    assert ((after != bits).sum(axis=1) == 50).all()
    gain = (after.astype(int) - bits) @ X
    assert (gain[:, 0] == 50).all() and (np.abs(gain[:, 1:]) < 50).all()


def test_slopes_of_a_power_law_are_found_with_their_room(rng):
    settings = np.array(list(product((1.0, 4.0), (2.0, 8.0))))
    truth = 3 * settings[:, 0] ** -0.5 * settings[:, 1]
    errors = truth[:, None] ** 2 * rng.chisquare(8, (4, 400)) / 8
    cost = page.added(errors, 0 * errors)
    found, half = page.slopes(cost, settings, np.ones(4), 1e-6)
    assert (np.abs(found - [-0.5, 1]) <= half).all() and (half < 0.2).all()
    assert np.abs(found[0] - 0.5) > half[0]


def test_rates_hold_one_row_for_each_setting(rng):
    runs = page.at_home([(400, 4), (800, 4)], (1.0, 2.0), 12, rng)
    assert runs.settings.shape == (4, 3) and runs.private.shape == runs.biased.shape == (4, 12)
    noise = page.at_curator([(400, 4)], (1.0, 2.0), 12, rng)
    half = page.at_curator([(400, 4)], (1.0, 2.0), 12, rng, lambda X, e: page.longest(X) / e / 2)
    assert (noise.none == 0).all() and noise.laws.shape == (2, 2)
    assert (half.laws[:, 1] < 0.3 * noise.laws[:, 1]).all()
