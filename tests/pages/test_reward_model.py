"""Page 37: fits against the book's own estimator, and slopes of a power law."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from dpbook.mechanisms import debiased_response, randomized_response
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
    bits = rng.random(len(X)) < expit(X @ np.linspace(-0.7, 0.7, 5))
    reports = randomized_response(bits, epsilon, rng=rng)
    wins = np.zeros((5, 5), dtype=int)
    wins[i, j] = reports.reshape(-1, each).sum(axis=1)
    wins[j, i] = each - wins[i, j]
    outcomes = FlippedAnswers.private(epsilon, Edge(5, exchange=False)).debias(wins)
    expected = debiased_mle(outcomes, gamma=2.0).theta
    target = debiased_response([0, 1], epsilon)[reports] @ X
    found = page.fit(X, target[None], gamma=2.0)[0]
    assert found == pytest.approx(expected, abs=1e-4)
    raw = debiased_mle(wins, gamma=2.0).theta
    assert np.abs(raw - expected).max() > 0.1  # the control: read as they are


def test_a_fit_solves_its_equation_in_every_block(rng, monkeypatch):
    X = rng.integers(-1, 2, (300, 4)).astype(float)
    monkeypatch.setattr(page, "BLOCK", 400)  # some replicates at a time
    target = (rng.random((8, 300)) < expit(X @ [0.5, 0.0, -1.0, 1.0])) @ X
    fitted = page.fit(X, target, gamma=0.5)
    residual = expit(fitted @ X.T) @ X + 0.5 * fitted - target
    assert np.abs(residual).max() <= 1e-6 * 300
    assert np.abs(residual - 0.1 * fitted).max() > 1e-3


@pytest.mark.parametrize("shared", [0, 12])
def test_fits_that_are_far_apart_are_found_as_well(rng, monkeypatch, shared):
    monkeypatch.setattr(page, "SHARED", shared)
    X = rng.choice([-1.0, 1.0], (400, 4))
    target = rng.normal(scale=400, size=(40, 4))  # many beyond every answer
    fitted = page.fit(X, target)
    assert np.abs(fitted).max() > 50
    residual = expit(fitted @ X.T) @ X + fitted - target
    assert np.abs(residual).max() <= 1e-6 * 400


def test_a_fit_that_stopped_early_is_refused(monkeypatch):
    monkeypatch.setattr(page, "minimise", lambda problem, theta, tol: (theta, 0))
    with pytest.raises(RuntimeError, match="gradient above"):
        page.fit(np.ones((10, 1)), np.array([[9.0]]))


def test_slopes_of_a_power_law_are_found_with_their_room(rng):
    settings = np.array(list(product((1.0, 4.0), (2.0, 8.0))))
    truth = 3 * settings[:, 0] ** -0.5 * settings[:, 1]
    errors = truth[:, None] ** 2 * rng.chisquare(8, (4, 400)) / 8
    cost = page.added(errors, 0 * errors)
    found, half = page.slopes(cost, settings, np.ones(4), 1e-6)
    assert (np.abs(found - [-0.5, 1]) <= half).all() and (half < 0.2).all()
    assert np.abs(found[0] - 0.5) > half[0]
