"""Density of the perturbed maximum-likelihood estimate against independent calculations."""

import numpy as np
import pytest
from scipy import integrate, stats

from dpbook.data import Comparisons
from dpbook.rankers import objective_perturbation, perturbed_mle_logpdf

WINS = np.array([[0, 3, 1], [2, 0, 4], [1, 0, 0]])


def _objective(t: np.ndarray, wins: np.ndarray, gamma: float) -> float:
    """Ridge negative log-likelihood, written out pair by pair."""
    loss = sum(
        wins[i, j] * np.log1p(np.exp(t[j] - t[i]))
        for i in range(len(t))
        for j in range(len(t))
        if i != j
    )
    return loss + gamma / 2 * float(t @ t)


def test_matches_the_change_of_variables_done_by_finite_differences():
    gamma, scale, h = 0.7, 1.3, 1e-4
    t, unit = np.array([0.4, -0.9, 0.2]), np.eye(3)
    gradient = np.array(
        [
            (_objective(t + h * e, WINS, gamma) - _objective(t - h * e, WINS, gamma)) / (2 * h)
            for e in unit
        ]
    )
    hessian = np.array(
        [
            [
                (
                    _objective(t + h * (a + b), WINS, gamma)
                    - _objective(t + h * (a - b), WINS, gamma)
                    - _objective(t - h * (a - b), WINS, gamma)
                    + _objective(t - h * (a + b), WINS, gamma)
                )
                / (4 * h * h)
                for b in unit
            ]
            for a in unit
        ]
    )
    expected = stats.laplace(scale=scale).logpdf(gradient).sum() + np.log(np.linalg.det(hessian))
    found = perturbed_mle_logpdf(t, WINS, gamma=gamma, scale=scale)
    assert found == pytest.approx(expected, abs=1e-5)


def test_integrates_to_one():
    wins, side = np.array([[0, 2], [1, 0]]), np.linspace(-9, 9, 901)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    density = np.exp(perturbed_mle_logpdf(grid, wins, gamma=1.5, scale=0.8))
    total = integrate.trapezoid(integrate.trapezoid(density, side), side)
    assert total == pytest.approx(1, abs=1e-3)


def test_the_sampler_follows_the_density():
    """E q / f(theta) = 1 for a normal density q, if theta has the density f."""
    gamma, scale = 2.0, 0.6
    theta = objective_perturbation(
        WINS, gamma=gamma, scale=scale, size=40_000, rng=np.random.default_rng(11)
    )
    q = stats.norm(theta.mean(axis=0), 0.5 * theta.std(axis=0)).logpdf(theta).sum(axis=1)
    ratio = np.exp(q - perturbed_mle_logpdf(theta, WINS, gamma=gamma, scale=scale))
    error = ratio.std() / np.sqrt(ratio.size)
    assert error < 0.02
    assert abs(ratio.mean() - 1) < 5 * error


def test_broadcasts_and_takes_comparisons():
    theta = np.array([[0.0, 0.1, 0.2], [1.0, -1.0, 0.0]])
    both = perturbed_mle_logpdf(theta, np.stack([WINS, WINS.T]), gamma=1.0, scale=1.0)
    each = [
        perturbed_mle_logpdf(theta[0], WINS, gamma=1.0, scale=1.0),
        perturbed_mle_logpdf(theta[1], WINS.T, gamma=1.0, scale=1.0),
    ]
    np.testing.assert_allclose(both, each, rtol=1e-14)
    data = Comparisons.from_win_matrix(WINS)
    assert perturbed_mle_logpdf(theta[0], data, gamma=1.0, scale=1.0) == each[0]


def test_far_away_points_stay_finite():
    assert np.isfinite(perturbed_mle_logpdf([900.0, 0.0, -900.0], WINS, gamma=1e-3, scale=1.0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 0.0}, "gamma = 0.0"),
        ({"scale": -1.0}, "scale = -1.0"),
        ({"theta": [0.0, np.nan, 0.0]}, "theta holds nan"),
        ({"theta": [0.0, 1.0]}, "data of shape"),
        ({"data": -WINS}, "data: allowed"),
        ({"data": WINS + np.eye(3)}, "data: allowed"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"theta": [0.0, 0.0, 0.0], "data": WINS, "gamma": 1.0, "scale": 1.0} | change
    theta, data = arguments.pop("theta"), arguments.pop("data")
    with pytest.raises(ValueError, match=message):
        perturbed_mle_logpdf(theta, data, **arguments)
