"""Replicated experiments: the coupling against independent simulation, intervals against theory."""

import numpy as np
import pytest
from scipy import stats

from dpbook.estimators import top_k_mask
from dpbook.models import btl_probabilities, edge_wins, individual_wins, two_level_probabilities
from dpbook.simulation import critical_gaps, edge_win_counts

SIZE = 4000


def failure_rate(wins, k, scale, rng):
    counts = wins.sum(axis=2) + scale * rng.laplace(size=wins.shape[:2])
    chosen = top_k_mask(counts, k, rng=rng)
    return np.sum(~chosen[:, :k].all(axis=1))


@pytest.mark.parametrize("design", ["edge", "individual"])
def test_critical_gaps_reproduce_the_failure_rate_of_fresh_data(design):
    n, k, gap, scale = 8, 3, 0.3, 1.5
    rng = np.random.default_rng(11)
    rho = two_level_probabilities(n, k, gap)
    if design == "edge":
        gaps = critical_gaps(n, k, scale=scale, p=0.7, size=SIZE, rng=rng)
        fresh = edge_wins(rho, p=0.7, size=SIZE, rng=rng)
    else:
        gaps = critical_gaps(n, k, scale=scale, comparisons=60, size=SIZE, rng=rng)
        fresh = individual_wins(rho, users=20, per_user=3, size=SIZE, rng=rng)
    ours = np.sum(gaps > gap)
    theirs = failure_rate(fresh, k, scale, rng)
    table = [[ours, SIZE - ours], [theirs, SIZE - theirs]]
    assert stats.fisher_exact(table).pvalue > 1e-3
    # A scale twice as large is told apart, so agreement means something.
    wrong = failure_rate(fresh, k, 2 * scale, rng)
    assert stats.fisher_exact([[ours, SIZE - ours], [wrong, SIZE - wrong]]).pvalue < 1e-3


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_critical_gaps_of_two_items_follow_their_law(scale):
    """One comparison, won with chance 1/2 + g: the noisy lead is 1 or -1 plus D, the difference of
    two Laplace variables, P(D > x) = (2 + x / b) exp(-x / b) / 4. So the chance to fail at g is
    (1/2 + g) t + (1/2 - g) (1 - t) with t = P(D > 1), and t for no gap at all.

    40000 runs, at a level of 1e-7: an error of 5.33 * 0.5 / 200 = 0.013 of the chance shows. A
    scale 10 % off moves t by 0.019, 0.020 and 0.012 at the three scales."""
    runs = 40_000
    gaps = critical_gaps(2, 1, scale=scale, p=1.0, size=runs, rng=np.random.default_rng(21))
    t = (2 + 1 / scale) * np.exp(-1 / scale) / 4
    for gap in (0.1, 0.3, 0.5):
        chance = (0.5 + gap) * t + (0.5 - gap) * (1 - t)
        failed = int((gaps > gap).sum())
        assert stats.binomtest(failed, runs, chance).pvalue > 1e-7
    assert int(np.isinf(gaps).sum()) == failed


def test_without_noise_and_with_every_pair_a_gap_of_one_half_always_recovers():
    gaps = critical_gaps(3, 1, scale=0.0, p=1, size=500, rng=np.random.default_rng(1))
    assert np.isfinite(gaps).all()


def test_win_counts_have_the_law_of_sampled_matrices():
    theta, size = np.array([0.0, 0.5, 1.0, -1.5]), 20000
    counts = edge_win_counts(theta, size=size, rng=np.random.default_rng(1))
    matrices = edge_wins(btl_probabilities(theta), size=size, rng=np.random.default_rng(2)).sum(
        axis=2
    )
    assert (counts.sum(axis=1) == 6).all()
    rows, which = np.unique(np.concatenate([counts, matrices]), axis=0, return_inverse=True)
    table = [np.bincount(part, minlength=len(rows)) for part in np.split(which.ravel(), 2)]
    assert stats.chi2_contingency(np.array(table)).pvalue > 1e-3
