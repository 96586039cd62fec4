"""The perturbed estimate against its score equation."""

import numpy as np
import pytest
from scipy import optimize, special

from dpbook.rankers import objective_perturbation

WINS = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])


def test_perturbed_mle_solves_its_score_equation():
    wins = np.array([[0, 5, 6], [2, 0, 4], [1, 3, 0]])
    theta = objective_perturbation(wins, gamma=2.0, scale=3.0, size=4, rng=np.random.default_rng(9))
    noise = np.random.default_rng(9).laplace(scale=3.0, size=(4, 3))
    totals = wins + wins.T

    def score(t, w):
        probability = special.expit(t[:, None] - t[None, :])
        return (totals * probability).sum(axis=1) - wins.sum(axis=1) + 2.0 * t + w

    for t, w in zip(theta, noise, strict=True):
        root = optimize.root(score, np.zeros(3), args=(w,), tol=1e-12)
        np.testing.assert_allclose(t, root.x, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda rng: objective_perturbation(WINS, gamma=0, scale=1, rng=rng), "gamma"),
        (lambda rng: objective_perturbation(WINS, gamma=1, scale=-1, rng=rng), "scale"),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call(np.random.default_rng(0))
