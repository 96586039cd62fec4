"""The one-shot algorithm against independent computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpbook.models import btl_probabilities, edge_wins
from dpbook.pages.edge_experiments import OneShotSpectral, spectral_scores
from dpbook.privacy import Edge


def rng(seed=0):
    return np.random.default_rng(seed)


def test_spectral_scores_and_ergodicity_against_the_definition():
    wins = edge_wins(btl_probabilities(np.linspace(-1, 1, 7)), rng=rng(6))[0]
    scores, rho = spectral_scores(wins)
    steps = wins.T / 7
    np.fill_diagonal(steps, 1 - steps.sum(axis=1))
    np.testing.assert_allclose(np.linalg.matrix_power(steps, 400)[0], scores, atol=1e-10)
    distances = [np.abs(a - b).sum() / 2 for a, b in itertools.combinations(steps, 2)]
    assert rho == pytest.approx(max(distances), abs=1e-12)


def test_one_shot_scale_is_the_formula_and_refuses_rho_one():
    ranker = OneShotSpectral.printed(2, Edge(100), 25, rho=0.9, delta=1e-4)
    assert ranker.scale == pytest.approx(8 * 2 / 10 * np.sqrt(25 * np.log(1e6)) / 2)
    with pytest.raises(ValueError, match="rho"):
        OneShotSpectral.printed(2, Edge(100), 25, rho=1.0, delta=1e-4)


def test_one_shot_releases_scores_and_noise():
    wins = edge_wins(btl_probabilities(np.linspace(-1, 1, 7)), rng=rng(6))[0]
    ranker, z = OneShotSpectral(Edge(7), 0.5), rng(7).laplace(size=(3, 7))
    np.testing.assert_allclose(ranker.release(wins, z), spectral_scores(wins)[0] + 0.5 * z)


def test_spectral_scores_refuse_too_many_defeats_and_a_split_walk():
    with pytest.raises(ValueError, match="defeats"):
        spectral_scores(np.array([[0, 9, 0], [0, 0, 1], [1, 0, 0]]))
    with pytest.raises(ValueError, match="unique"):
        spectral_scores(np.zeros((3, 3)))
