"""Steps of pages on which no number that is told to a reader depends enough to betray them."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from page_cells import made_by

from dpbook.estimators import ranks_from_scores
from dpbook.privacy import Edge, top_k_pmf
from dpbook.rankers import NoisyCounts, PerturbedMle
from dpbook.simulation.replicates import LOTS, NO_RIDGE


def test_a_subsample_of_a_survey_is_part_of_the_one_before():
    """At the same fraction it is the same: wins and ties are kept or left out once."""
    tools = {"np": np, "Edge": Edge, "NoisyCounts": NoisyCounts, "PerturbedMle": PerturbedMle}
    tools |= {"ranks_from_scores": ranks_from_scores, "NO_RIDGE": NO_RIDGE, "LOTS": LOTS}
    page = made_by("12-individual-experiments", "survey-distances", **tools)
    ones = np.ones((3, 3)) - np.eye(3)
    answers = {"counts": (40 * ones).astype(int), "ties": (30 * ones).astype(int)}
    survey = SimpleNamespace(n_items=3, half_tied_counts=lambda: 55 * ones, **answers)
    seen, rng = [], np.random.default_rng(1)

    def release(counts, noise, centre):
        seen.append(counts)
        return np.zeros(counts.shape[:-1])

    fits = {"spy": lambda p, e: SimpleNamespace(release=release)}
    how = {"fractions": [0.5, 0.5, 0.1], "epsilons": [1.0], "size": 400, "rng": rng}
    page["survey_distances"](survey, fits, **how)
    first, same, less = seen
    assert np.array_equal(first, same) and (less <= same).all()
    # six pairs of items, with 40 wins and 30 half ties each: five standard errors
    for part, counts in ((0.5, first), (0.1, less)):
        assert counts.sum(axis=(1, 2)).mean() == pytest.approx(330 * part, abs=3)


def test_the_control_with_half_the_noise_loses_more_than_epsilon():
    wins = np.array([[x + y, 1 - x + z, 2 - y - z] for x, y, z in product((0, 1), repeat=3)])
    tools = {"np": np, "top_k_pmf": top_k_pmf, "tournament_wins": lambda n: wins}
    half = made_by("16-exact-optimum", "worst-risk", **tools)["half_noise"]
    rows = half(SimpleNamespace(n_items=3, k=None), 1.0)
    good = np.array([top_k_pmf(c, 1, scale=2.0) for c in wins.astype(float)])
    flips = np.argwhere(np.abs(wins[:, None] - wins).sum(axis=2) == 2)
    losses = [max(abs(np.log(law[a] / law[b])).max() for a, b in flips) for law in (rows, good)]
    assert losses[1] <= 1 + 1e-12 < losses[0] <= 2 + 1e-12
