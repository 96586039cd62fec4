"""The lemma of the proof with constants: by hand, by brute force, and where it does not close."""

import numpy as np
import pytest
from scipy.special import expit

from dpbook.estimators import ridge_mle
from dpbook.models import btl_probabilities, individual_wins
from dpbook.pages.proof_with_constants import (
    Slopes,
    closing_constant,
    continued,
    fit,
    largest_error,
)


def test_slopes_are_those_of_the_continued_link():
    slopes, step = Slopes.logistic(0.5), 1e-6
    x = np.linspace(-9, 9, 1801)
    rise = (continued(x + step, 0.5) - continued(x - step, 0.5)) / (2 * step)
    assert rise.min() == pytest.approx(slopes.least, rel=1e-6)
    assert rise.max() == pytest.approx(slopes.most, rel=1e-6)
    start, gap = np.meshgrid(np.linspace(-2, 2, 81), np.linspace(0.01, 1, 100))
    chord = (continued(start + gap, 0.5) - continued(start, 0.5)) / gap
    assert chord.min() == pytest.approx(slopes.mean, rel=1e-9)


def test_fit_is_the_estimate_while_the_gaps_are_small():
    rng = np.random.default_rng(2)
    truth = np.linspace(-1, 1, 5)
    wins = individual_wins(btl_probabilities(truth), users=900, per_user=2, rng=rng)[0] * 1.0
    noise = rng.laplace(scale=9, size=5)
    other = ridge_mle(wins, gamma=3, linear=noise).theta
    found = fit(wins + wins.T, wins, 3.0, noise, 2.0)
    np.testing.assert_allclose(found, other - other.mean(), atol=1e-8)


def test_two_items_by_hand():
    # games F(x) + γ x/2 + w = wins, x the gap: the largest error of the lemma is exact for γ = 0
    games, error = 1000.0, 0.3
    wins = games * expit(2 + 2 * error) * np.array([[0, 1.0], [0, 0]])
    wins += games * expit(-2 - 2 * error) * np.array([[0, 0], [1.0, 0]])
    found = fit(games * (1 - np.eye(2)), wins, 1e-9, np.zeros(2), error)
    np.testing.assert_allclose(found, [1 + error, -1 - error], rtol=1e-6)
    push = games * (expit(2 + 2 * error) - expit(2))
    alone = dict.fromkeys(("spread", "norm", "own", "drift"), 0.0)
    bound = largest_error(Slopes.logistic(error), push=push, degree=2 * games, gap=1, **alone)
    assert bound == pytest.approx(error)


def test_the_bound_by_hand_and_where_it_does_not_close():
    slopes = Slopes(0.5, 0.8, 2.0)
    terms = {"push": 4, "degree": 30, "spread": 2, "norm": 1.5, "own": 3, "gap": 4, "drift": 5}
    # q = (2 + 2)/(0.5 * 4) = 2: (5 + 5 + 6)/(30 - 2 - 12)
    assert largest_error(slopes, **terms, part=2) == pytest.approx(1)
    assert largest_error(slopes, **terms | {"degree": 14}, part=2) == np.inf
    assert largest_error(slopes, **terms | {"gap": 0}) == np.inf


def test_the_constant_with_ever_more_data_is_one_over_the_mean_slope():
    slopes = Slopes.logistic(0.625)
    assert closing_constant(25, 1e-14, slopes) == pytest.approx(1 / slopes.mean, rel=1e-4)
    grid = np.array([[closing_constant(n, s, slopes) for n in (400, 25)] for s in (1e-5, 1e-4)])
    assert (np.diff(grid, axis=0) > 0).all() and (np.diff(grid, axis=1) > 0).all()
    # by hand: σ = 1/1200, n - 1 = 9, κ = c = τ = 1
    many, spread = 1.1 + 1 / 600, (6**0.5 + np.log(10) ** -0.5) * ((1.1 + 1 / 600) / 1200) ** 0.5
    own, gap, q = (7 / 6 * many) ** 0.5, 1 - (28 / 1200) ** 0.5, spread + 1 / 600
    top = many**0.5 + 0.1 * many**0.5 * (many**0.5 + own / 3) / gap + q * own / gap
    room = 0.9 - 1 / 600 - 2 * q / gap * (spread + many / 3)
    assert closing_constant(10, 1 / 1200, Slopes(1, 1, 1)) == pytest.approx(top / room)
