"""Estimators against closed forms and against another optimiser."""

import numpy as np
import pytest
from scipy import optimize, special

from dpbook.data import Comparisons
from dpbook.estimators import ranks_from_scores, ridge_mle, top_k_mask, win_counts

WINS = np.array([[0, 7, 9, 4], [3, 0, 6, 5], [1, 4, 0, 2], [2, 6, 8, 0]])


def objective(theta, wins, gamma, linear):
    loss = sum(
        wins[i, j] * np.logaddexp(0, theta[j] - theta[i])
        for i in range(len(wins))
        for j in range(len(wins))
    )
    return loss + gamma / 2 * theta @ theta + linear @ theta


def score(theta, wins, gamma, linear):
    probability = special.expit(theta[:, None] - theta[None, :])
    return ((wins + wins.T) * probability).sum(axis=1) - wins.sum(axis=1) + gamma * theta + linear


def test_win_counts_of_both_kinds_of_data():
    data = Comparisons.from_win_matrix(WINS)
    assert win_counts(data).tolist() == [20, 14, 7, 16]
    assert win_counts(np.stack([WINS, WINS.T])).tolist() == [[20, 14, 7, 16], [6, 17, 23, 11]]


def test_two_items_have_a_closed_form():
    fit = ridge_mle([[0, 30], [10, 0]], gamma=0)
    np.testing.assert_allclose(fit.theta, [np.log(3) / 2, -np.log(3) / 2], atol=1e-9)


@pytest.mark.parametrize("gamma", [0.3, 5.0])
@pytest.mark.parametrize("size", [0.0, 3.0, 200.0])
def test_ridge_mle_agrees_with_another_optimiser(gamma, size):
    linear = size * np.array([1.0, -2.0, 0.5, 1.5])
    fit = ridge_mle(WINS, gamma=gamma, linear=linear)
    other = optimize.root(score, np.zeros(4), (WINS, gamma, linear), tol=1e-12)
    # Strong convexity turns score residuals r into errors of at most sqrt(n) r / gamma.
    slack = 2 * (np.abs(other.fun).max() + 1e-8) / gamma
    np.testing.assert_allclose(fit.theta, other.x, rtol=0, atol=slack)
    assert slack < 1e-6
    assert fit.residual <= 1e-8


def test_replicates_equal_single_fits():
    linear = np.random.default_rng(0).laplace(scale=8, size=(5, 4))
    batch = ridge_mle(WINS, gamma=0.5, linear=linear).theta
    for row, noise in zip(batch, linear, strict=True):
        np.testing.assert_allclose(
            row, ridge_mle(WINS, gamma=0.5, linear=noise).theta, atol=2 * 2e-8 / 0.5
        )


def test_residual_certifies_the_score_equation():
    fit = ridge_mle(WINS, gamma=1.0, linear=[1.0, 0, 0, 0], tol=1e-6)
    step = 1e-5
    for i in range(4):
        up, down = fit.theta.copy(), fit.theta.copy()
        up[i] += step
        down[i] -= step
        args = (WINS, 1.0, np.array([1.0, 0, 0, 0]))
        slope = (objective(up, *args) - objective(down, *args)) / (2 * step)
        assert abs(slope) < 1e-6 + 1e-7  # tolerance of the fit plus that of the difference


def test_ranks_and_sets():
    assert ranks_from_scores([3.0, 9.0, 3.0, 5.0]).tolist() == [2, 0, 3, 1]
    assert top_k_mask([[3.0, 9.0, 3.0, 5.0]], 2).tolist() == [[False, True, False, True]]


def test_ties_are_broken_fairly_with_a_generator():
    first = top_k_mask(np.zeros((20_000, 4)), 1, rng=np.random.default_rng(5)).mean(axis=0)
    # Four standard errors of a frequency of 1/4.
    np.testing.assert_allclose(first, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 20_000))
    assert top_k_mask(np.zeros(4), 1).tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: ridge_mle(WINS, gamma=-1), "gamma"),
        (lambda: ridge_mle([[0, 3], [0, 0]], gamma=0), "gamma = 0 with wins that split"),
        (lambda: ridge_mle(WINS, gamma=0, linear=[1.0, 0, 0, 0]), "linear"),
        (lambda: ridge_mle(WINS, gamma=1, linear=[1.0, 0]), "linear"),
        (lambda: ridge_mle(np.eye(3), gamma=1), "diagonal"),
        (lambda: ridge_mle([[0, -1], [1, 0]], gamma=1), "data"),
        (lambda: win_counts([1, 2]), "data"),
        (lambda: top_k_mask([1.0, 2.0], 2), "k = 2"),
        (lambda: ranks_from_scores([1.0, np.nan]), "scores"),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_non_convergence_says_how_far_it_came():
    with pytest.raises(RuntimeError, match=r"score residual of .* > tol"):
        ridge_mle(WINS, gamma=0.1, linear=[500.0, 0, 0, 0], max_iterations=1)
