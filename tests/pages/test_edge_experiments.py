"""The published means, and the one-shot algorithm against independent computations."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

from dpbook.models import btl_probabilities, edge_wins
from dpbook.pages.edge_experiments import OneShotSpectral, reference_table, spectral_scores
from dpbook.privacy import Edge, record_play


def rng(seed=0):
    return np.random.default_rng(seed)


# Sums of the means and of the standard deviations, one row for each curve, added up from the
# table as published (it holds five decimals). The file's digest is in test_tables.py.
PUBLISHED_SUMS = {
    (1, "log_relative_l2"): (36, 14400, -19.61572, 0.35664),
    (1, "log_relative_linf"): (36, 14400, -11.75713, 1.78517),
    (1, "topk_error_counts"): (36, 14400, 1.67713, 0.62991),
    (1, "topk_error_mle"): (36, 14400, 3.71267, 0.63286),
    (2, "log_relative_l2"): (52, 15600, -14.69215, 0.53717),
    (2, "log_relative_linf"): (52, 15600, -0.22078, 2.70664),
    (2, "topk_error_counts"): (52, 15600, 10.37779, 1.58349),
    (2, "topk_error_mle"): (52, 15600, 14.05345, 1.23105),
    (3, "log_relative_l2"): (40, 12000, -7.3543, 0.37202),
    (3, "log_relative_linf"): (40, 12000, 10.86401, 1.8042),
    (3, "topk_error_counts"): (40, 12000, 7.27096, 1.16585),
    (3, "topk_error_mle"): (40, 12000, 12.06878, 0.87671),
    (4, "topk_error_counts"): (17, 6550, 2.02775, 0.36617),
    (4, "topk_error_mle"): (17, 6550, 4.70636, 0.23941),
    (4, "topk_error_one_shot"): (17, 6550, 12.74017, 0.66678),
}


def test_reference_table_adds_up():
    t = reference_table()
    assert set(zip(t["experiment"].tolist(), t["metric"].tolist(), strict=True)) == set(
        PUBLISHED_SUMS
    )
    for (experiment, metric), expected in PUBLISHED_SUMS.items():
        rows = t[(t["experiment"] == experiment) & (t["metric"] == metric)]
        found = (len(rows), rows["n"].sum(), rows["mean"].sum(), rows["sd"].sum())
        assert found == pytest.approx(expected, abs=5e-6)
        assert set(rows["replicates"]) == {45 if experiment == 4 else 120}
        shares = {2: 0.1 + 0.075 * np.arange(13), 3: [0.25, 0.5, 0.75, 1.0]}.get(experiment, [1.0])
        np.testing.assert_allclose(np.unique(rows["p"]), shares)
        assert (rows["sd"] > 0).all()


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


def test_the_recorder_sees_that_the_one_shot_scale_looks_at_the_data():
    wins = edge_wins(btl_probabilities(np.linspace(-1, 1, 30)), rng=rng(1))[0]

    def as_run(matrix, rng, rho=None):
        rho = spectral_scores(matrix)[1] if rho is None else rho
        ranker = OneShotSpectral.printed(1, Edge(30), 8, rho=rho, delta=1 / 900)
        return ranker.publish(matrix, rng=rng)

    here, changed, same = spectral_scores(wins)[1], [], []
    for i, j in np.argwhere(wins):
        flipped = wins.copy()
        flipped[i, j], flipped[j, i] = 0, 1
        moves = spectral_scores(flipped)[1] != pytest.approx(here)  # a maximum: few answers enter
        (changed if moves else same).append(flipped)
    for flipped in changed[:2]:
        (found,) = record_play(as_run, wins, flipped).violations
        assert found.startswith("call 1, laplace in dpbook.rankers.base.StandardNoise.noise")
        assert "draws are multiplied by" in found
    assert not record_play(partial(as_run, rho=here), wins, changed[0]).violations
    for flipped in same[:1]:
        assert not record_play(as_run, wins, flipped).violations


def test_spectral_scores_refuse_too_many_defeats_and_a_split_walk():
    with pytest.raises(ValueError, match="defeats"):
        spectral_scores(np.array([[0, 9, 0], [0, 0, 1], [1, 0, 0]]))
    with pytest.raises(ValueError, match="unique"):
        spectral_scores(np.zeros((3, 3)))
