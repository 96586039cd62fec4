"""Page 33: the small designs, and the best private rule for them by symmetry."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from dpbook.lower_bounds import best_private_rule
from dpbook.models import btl_probabilities, mallows_pmf
from dpbook.pages import which_ranker as page


def in_full(small: page.Small, epsilon: float) -> float:
    """The optimum with a variable for every data set and outcome, and every true order."""
    size = len(small.rows)
    at = np.arange(size * 6).reshape(size, 6)
    costs = np.zeros((6, size * 6))
    number = {tuple(row): k for k, row in enumerate(small.rows.tolist())}
    for h, ranks in enumerate(page.PLACES):
        distribution = np.zeros(size)
        for k, row in enumerate(small.rows):
            # the chance of the data under the order h is that of the renamed data
            distribution[k] = small.distribution[number[tuple(row[small.before[h]])]]
        for o, other in enumerate(page.PLACES):
            pairs = combinations(range(3), 2)
            wrong = [(ranks[i] < ranks[j]) != (other[i] < other[j]) for i, j in pairs]
            costs[h, at[:, o]] = distribution * np.mean(wrong)
    near = np.argwhere(np.triu(np.abs(small.rows[:, None] - small.rows).sum(axis=-1) == 2))
    pairs = np.concatenate([at[near][..., o] for o in range(6)])
    totals = sparse.csr_array((np.ones(size * 6), (np.repeat(np.arange(size), 6), at.ravel())))
    return best_private_rule(costs, totals, pairs, epsilon).lower


@pytest.mark.parametrize("small", [page.simulated_rankings(2, 0.4), page.three_games(0.9)])
def test_the_optimum_by_symmetry_is_the_optimum_in_full(small: page.Small) -> None:
    best = small.optimum(0.8)
    assert best.lower == pytest.approx(in_full(small, 0.8), abs=1e-9)
    assert 0 <= best.risk - best.lower < 1e-8 and best.loss < 0.8
    assert best.lower > in_full(small, 0.9) + 1e-4  # the control


def test_laws_of_small_settings() -> None:
    dataset, games = page.simulated_rankings(2, 0.4), page.three_games(0.9)
    for small in (dataset, games):
        assert small.distribution.sum() == pytest.approx(1)
        assert np.sort(small.before, axis=1).tolist() == [list(range(6))] * 6
    mean = np.tensordot(dataset.distribution, dataset.rows, 1) / 2
    assert mean == pytest.approx(mallows_pmf(3, 0.4))
    rho = btl_probabilities(-0.9 * np.arange(3))
    first = np.tensordot(games.distribution, games.tables, 1)
    assert first[np.triu_indices(3, 1)] == pytest.approx(rho[np.triu_indices(3, 1)])
    assert len(dataset.rows) == 21 and len(games.rows) == 8
