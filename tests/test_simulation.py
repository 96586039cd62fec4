"""Replicated experiments: the coupling against independent simulation, intervals against theory."""

import numpy as np
import pytest
from scipy import stats

from dpbook.estimators import top_k_mask
from dpbook.models import edge_wins, individual_wins, two_level_probabilities
from dpbook.privacy import clopper_pearson
from dpbook.simulation import critical_gaps, quantile_interval

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


def test_critical_gaps_end_at_one_half():
    gaps = critical_gaps(4, 2, scale=100.0, p=1, size=200, rng=np.random.default_rng(1))
    assert np.isinf(gaps).any()
    assert (gaps[np.isfinite(gaps)] <= 0.5).all()


def test_without_noise_and_with_every_pair_a_gap_of_one_half_always_recovers():
    gaps = critical_gaps(3, 1, scale=0.0, p=1, size=500, rng=np.random.default_rng(1))
    assert np.isfinite(gaps).all()


def test_quantile_interval_covers_at_the_stated_rate():
    rng = np.random.default_rng(12)
    covered = 0
    for _ in range(2000):
        _, low, high = quantile_interval(rng.exponential(size=150), 0.9)
        covered += low <= -np.log(0.1) <= high
    assert clopper_pearson(covered, 2000, confidence=0.999)[1] >= 0.95


def test_quantile_interval_is_open_where_the_sample_is_too_small():
    estimate, low, high = quantile_interval(np.arange(20.0), 0.99)
    assert estimate == 19 and np.isfinite(low) and np.isinf(high)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"p": 1.0, "comparisons": 5}, "exactly one"),
        ({}, "exactly one"),
        ({"p": 1.5}, "p = 1.5"),
        ({"p": 1.0, "scale": -1.0}, "scale"),
        ({"p": 1.0, "k": 4}, "k = 4"),
        ({"p": 1.0, "size": 0}, "size"),
    ],
)
def test_bad_arguments_are_named(options, named):
    options = {"k": 2, "scale": 1.0, "size": 2, "rng": np.random.default_rng(0), **options}
    with pytest.raises(ValueError, match=named):
        critical_gaps(4, options.pop("k"), **options)


@pytest.mark.parametrize(
    ("values", "q", "named"), [([], 0.5, "values"), ([1, np.nan], 0.5, "values"), ([1], 1, "q = 1")]
)
def test_quantile_interval_names_bad_arguments(values, q, named):
    with pytest.raises(ValueError, match=named):
        quantile_interval(values, q)
