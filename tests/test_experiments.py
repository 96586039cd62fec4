"""Replicated experiments: by a general optimiser, by independent simulation, against theory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit

from dpbook.estimators import top_k_mask
from dpbook.models import btl_probabilities, edge_wins, individual_wins, two_level_probabilities
from dpbook.pages import individual_experiments as page
from dpbook.pages.individual_experiments import paired_errors
from dpbook.privacy import Edge, Person
from dpbook.rankers import PerturbedMle
from dpbook.simulation import critical_gaps, edge_win_counts, replicates
from dpbook.simulation.replicates import estimates_at, planted_strengths, rankers_at
from dpbook.simulation.statistics import log_relative_error, quantile_interval, top_k_error, trend
from tests.oracles import rng

SIZE = 4000


def failure_rate(wins, k, scale, rng):
    counts = wins.sum(axis=2) + scale * rng.laplace(size=wins.shape[:2])
    chosen = top_k_mask(counts, k, rng=rng)
    return np.sum(~chosen[:, :k].all(axis=1))


@pytest.mark.parametrize("design", ["edge", "individual"])
def test_critical_gaps_reproduce_the_failure_rate_of_fresh_data(design):
    n, k, gap, scale = 8, 3, 0.3, 1.5
    rho, how = two_level_probabilities(n, k, gap), {"size": SIZE, "rng": rng(11)}
    if design == "edge":
        gaps = critical_gaps(n, k, scale=scale, p=0.7, **how)
        fresh = edge_wins(rho, p=0.7, **how)
    else:
        gaps = critical_gaps(n, k, scale=scale, comparisons=60, **how)
        fresh = individual_wins(rho, users=20, per_user=3, **how)
    ours = np.sum(gaps > gap)
    theirs = failure_rate(fresh, k, scale, how["rng"])
    table = [[ours, SIZE - ours], [theirs, SIZE - theirs]]
    assert stats.fisher_exact(table).pvalue > 1e-3
    # A scale twice as large is told apart, so agreement means something.
    wrong = failure_rate(fresh, k, 2 * scale, how["rng"])
    assert stats.fisher_exact([[ours, SIZE - ours], [wrong, SIZE - wrong]]).pvalue < 1e-3


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_critical_gaps_of_two_items_follow_their_distribution(scale):
    """One comparison, won with chance 1/2 + g: the noisy lead is 1 or -1 plus D, the difference of
    two Laplace variables, P(D > x) = (2 + x / b) exp(-x / b) / 4. So the chance to fail at g is
    (1/2 + g) t + (1/2 - g) (1 - t) with t = P(D > 1), and t for no gap at all.

    40000 runs, at a level of 1e-7: an error of 5.33 * 0.5 / 200 = 0.013 of the chance shows. A
    scale 10 % off moves t by 0.019, 0.020 and 0.012 at the three scales."""
    runs = 40_000
    gaps = critical_gaps(2, 1, scale=scale, p=1.0, size=runs, rng=rng(21))
    t = (2 + 1 / scale) * np.exp(-1 / scale) / 4
    for gap in (0.1, 0.3, 0.5):
        probability = (0.5 + gap) * t + (0.5 - gap) * (1 - t)
        failed = int((gaps > gap).sum())
        assert stats.binomtest(failed, runs, probability).pvalue > 1e-7
    assert int(np.isinf(gaps).sum()) == failed


def test_without_noise_and_with_every_pair_a_gap_of_one_half_always_recovers():
    gaps = critical_gaps(3, 1, scale=0.0, p=1, size=500, rng=rng(1))
    assert np.isfinite(gaps).all()


def test_win_counts_have_the_law_of_sampled_matrices():
    theta, size = np.array([0.0, 0.5, 1.0, -1.5]), 20000
    counts = edge_win_counts(theta, size=size, rng=rng(1))
    matrices = edge_wins(btl_probabilities(theta), size=size, rng=rng(2)).sum(axis=2)
    assert (counts.sum(axis=1) == 6).all()
    rows, which = np.unique(np.concatenate([counts, matrices]), axis=0, return_inverse=True)
    table = [np.bincount(part, minlength=len(rows)) for part in np.split(which.ravel(), 2)]
    assert stats.chi2_contingency(np.array(table)).pvalue > 1e-3


def crowd_errors(truth, users, epsilons, source, per_user=5, kind="printed"):
    rankers = rankers_at(Person(truth.shape[1], per_user, vouched=True), epsilons, kind)
    tables = page.simulated_tables(truth, users, per_user, rng=source)
    return paired_errors(truth, tables, rankers, rng=source)


def edge_rankers(n, epsilons, p=1.0, kind="printed"):
    return rankers_at(Edge(n), epsilons, kind, gamma=2 * np.sqrt(n * p * np.log(n)), lots=0)


def fresh(n, epsilons, p=1.0, levels=None, **options):
    return replicates.edge_experiment(edge_rankers(n, epsilons, p), p=p, levels=levels, **options)


def test_strengths_have_k_zeros_first_and_the_range_of_the_paper():
    theta = planted_strengths(14, 500, rng=rng())
    assert (theta[:, :4] == 0).all()
    rest = np.exp(theta[:, 4:])
    assert stats.kstest((rest.ravel() - 0.2) / 0.5, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_replicate_against_direct_computation(seed):
    n, m, L, epsilon, source = 9, 60, 3, 1.5, rng(seed)
    found = crowd_errors(planted_strengths(n, rng=source), [m], [epsilon], source, L)
    source = rng(seed)
    theta = planted_strengths(n, rng=source)[0]
    noise, count_noise, _ = source.laplace(size=(3, 1, n))[:, 0]
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    wins = np.zeros((n, n))
    wins[i, j] = source.multinomial(m * L, expit(theta[i] - theta[j]) / (n * (n - 1) / 2))

    def objective(t):
        gap = t[:, None] - t
        linear = 8 * L / epsilon * noise @ t
        return (wins * np.logaddexp(0, -gap)).sum() + L / epsilon * t @ t + linear

    raw = optimize.minimize(objective, np.zeros(n), tol=1e-12).x
    top, truth, estimate = np.arange(n) < 2, theta - theta.mean(), raw - raw.mean()
    direct = {
        "mle l2": log_relative_error(estimate, truth),
        "mle linf": log_relative_error(estimate, truth, "linf"),
        "mle top-k": top_k_error(raw, top, 2),
        "counts top-k": top_k_error(wins.sum(axis=1) + L / epsilon * count_noise, top, 2),
    }
    assert set(found) == set(direct)
    for name, value in direct.items():
        assert found[name][0, 0, 0] == pytest.approx(float(value), abs=2e-4), name


def test_ties_between_counts_are_not_broken_in_favour_of_the_truth():
    """One comparison, twelve items: the top set is all but a guess."""
    source = rng(8)
    truth = planted_strengths(12, 4000, rng=source)
    found = crowd_errors(truth, [1], [np.inf], source, per_user=1)
    assert found["counts top-k"].mean() > 0.68  # a guess misses 0.75; by position it is 0.05
    level = np.where(np.arange(12) < 3, 0, -1e-9) * np.ones((2000, 1))
    rankers = rankers_at(Edge(12), [np.inf], gamma=10.0)
    flat = paired_errors(level, page.complete_counts(level, rng=source), rankers, rng=source)
    for name in ("mle top-k", "counts top-k"):
        assert flat[name].mean() == pytest.approx(0.75, abs=0.02)


def test_a_larger_crowd_contains_the_smaller_one():
    truth = planted_strengths(6, 3, rng=rng())
    small, large = page.simulated_tables(truth, [4, 9], 2, rng=rng(1))
    assert (small.sum(axis=(1, 2)) == 8).all() and (large.sum(axis=(1, 2)) == 18).all()
    assert (large >= small).all()


def test_levels_have_the_scales_of_the_paper():
    person = Person(12, 3, vouched=True)
    for unit, kind, gamma, expected in (
        (Edge(12), "printed", 3.0, (16.0, 3.0, 4.0)),
        (person, "printed", None, (48.0, 12.0, 6.0)),
        (person, "private", None, (24.0, 24.0, 12.0)),
    ):
        (fit, count), (plain, lots) = rankers_at(unit, [0.5, np.inf], kind, gamma=gamma)
        assert (fit.scale, fit.gamma, count.scale) == pytest.approx(expected)
        assert (plain.scale, plain.gamma, lots.scale) == (0, gamma or 1e-6, 1e-9)


def test_same_generator_gives_same_data_whatever_the_noise():
    both = {"fresh": [0, 1], "frozen": [0, 1]}
    one = fresh(24, [0.5, np.inf], 0.6, both, replicates=4, rng=rng(3))
    rankers = edge_rankers(24, [0.5, np.inf], 0.6, "private")
    two = replicates.edge_experiment(rankers, p=0.6, replicates=4, rng=rng(3))
    for other in (one["frozen"], two["fresh"]):
        name, counts = "log_relative_l2", "topk_error_counts"
        np.testing.assert_allclose(other[name][1], one["fresh"][name][1])
        assert (other[counts] == one["fresh"][counts]).all()
        assert (other[name][0] != one["fresh"][name][0]).all()


@pytest.mark.parametrize("p", [0.6, 1.0])
def test_both_conventions_at_once_are_each_by_itself(p):
    levels = [1.0, np.inf, 2.0]
    both = {"frozen": [0, 1], "fresh": [0, 1, 2]}
    at_once = fresh(40, levels, p, both, replicates=3, rng=rng(5))
    for name, ranks in both.items():
        here = [levels[at] for at in ranks]
        alone = fresh(40, here, p, {name: range(len(here))}, replicates=3, rng=rng(5))[name]
        for metric, x in alone.items():
            np.testing.assert_allclose(at_once[name][metric], x, atol=1e-6, err_msg=metric)


def test_estimates_at_all_levels_are_those_of_each():
    fits, wins = [PerturbedMle(Edge(5), scale, 2.0) for scale in (3.0, 0, 1.0)], np.arange(5)
    noise = rng(6).laplace(size=(2, 5))
    mask = np.array([[True, True, False], [True, True, True]])
    found = estimates_at(fits, wins, noise, mask, complete=True)
    assert np.isnan(found[0, 2]).all()
    for (a, b), asked in np.ndenumerate(mask):
        if asked:
            alone = fits[b].perturb(wins, noise[a])
            np.testing.assert_allclose(found[a, b], alone, atol=1e-7)
    with pytest.raises(ValueError, match="one ridge"):
        estimates_at([fits[0], PerturbedMle(Edge(5), 1.0, 3.0)], wins, noise, complete=True)


def test_a_perfect_release_has_no_error():
    truth = planted_strengths(8, 2, rng=rng())
    errors = page.release_errors(truth + 3, truth, truth, np.zeros((2, 8)))
    assert (errors["mle top-k"] == 0).all() and (errors["counts top-k"] == 0).all()
    assert errors["mle l2"].max() < -30


def test_log_relative_error_of_a_worked_example():
    truth = np.array([3.0, -4.0])
    estimate = np.array([[3.0, -3.0], [6.0, -8.0], [3.0, -4.0]])
    assert log_relative_error(estimate, truth) == pytest.approx([np.log(1 / 5), 0.0, -np.inf])
    assert log_relative_error(estimate[:2], truth, "linf") == pytest.approx([np.log(1 / 4), 0.0])


def test_top_k_error_counts_what_is_missed_and_breaks_ties_at_random():
    mask = np.array([False, False, True, True])
    assert top_k_error([[4, 3, 2, 1], [1, 4, 2, 5], [1, 2, 3, 4]], mask, 2).tolist() == [1, 0.5, 0]
    tied = np.zeros((4000, 4))
    assert top_k_error(tied, mask, 2).tolist() == [1.0] * 4000
    assert top_k_error(tied, mask, 2, rng=rng()).mean() == pytest.approx(0.5, abs=0.03)


def test_quantile_interval_takes_the_ranks_of_the_tables():
    # Median of 20: P(Bin(20, 1/2) <= 5) = 21700 / 2^20 = 0.0207 and <= 6 0.0577, so that the
    # 6th and the 15th value enclose it with 95 %, as in the tables of the sign test.
    assert quantile_interval(np.arange(1, 21), 0.5) == (10, 6, 15)
    # 0.9-quantile of 50: P(Bin(50, 0.9) <= 40) = 0.0245 and <= 41 0.0579; >= 49 has the chance
    # 0.0338 and >= 50 0.0052: the 41st value and the 50th.
    assert quantile_interval(np.arange(1, 51), 0.9) == (45, 41, 50)
    # open where the sample is too small
    estimate, low, high = quantile_interval(np.arange(20.0), 0.99)
    assert estimate == 19 and np.isfinite(low) and np.isinf(high)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("size", [30, 57, 200])
def test_quantile_interval_covers_on_either_side_and_no_rank_is_given_away(size, q):
    """X_(r), the r-th of N values, exceeds the quantile if fewer than r of them lie below it."""
    _, low, high = quantile_interval(np.arange(1, size + 1), q)
    below = stats.binom(size, q)
    if np.isfinite(low):
        assert below.cdf(low - 1) <= 0.025
    assert below.cdf(max(low, 0)) > 0.025  # one rank further in
    if np.isfinite(high):
        assert below.sf(high - 1) <= 0.025
    assert below.sf(min(high, size + 1) - 2) > 0.025


def test_trend_tells_rising_flat_and_falling_apart():
    x = [1, 2, 4, 8]
    noise = rng(12).normal(size=(4, 300))
    up = trend(x, np.log(x)[:, None] + 0.3 * noise)
    assert up.rises() and 0.8 < up.low < 1.1 and not up.falls()
    assert up.slope == pytest.approx(1, abs=0.1) and up.low < up.slope < up.high
    assert up.up == 3 and up.down == 0
    down = trend(x, -np.log(x)[:, None] + 0.3 * noise)
    assert down.falls() and down.high < -0.8 and not down.rises()
    flat = trend(x, 0 * noise)
    assert not flat.rises() and not flat.falls()
    dent = trend(x, np.array([0, 1, 0.5, 3])[:, None] + 0.3 * noise)
    assert dent.low > 0 and dent.down == 1 and not dent.rises()


def test_trend_by_hand():
    # Three columns (a - 1, a, a + 1) on the first step, nothing on the second. Both steps together
    # at 90 %: Student's t with 2 degrees of freedom at 1 - 0.1 / 4, 4.30265, over sqrt(3): 2.484.
    def steps(a):
        return trend([1, 2, 4], np.array([[0.0] * 3, [a - 1, a, a + 1], [a - 1, a, a + 1]]), **at)

    at = {"confidence": 0.9}
    assert (steps(2.49).up, steps(2.48).up, steps(-2.49).down, steps(-2.48).down) == (1, 0, 1, 0)
    # The slope alone at 90 %: in units of log 2, x = -1, 0, 1 and slopes a / 2 -+ 1 / 2 over
    # log 2, with the half-width 2.91999 / (2 sqrt(3)).
    found = steps(2.0)
    assert found.slope * np.log(2) == pytest.approx(1.0)
    assert (found.high - found.slope) * np.log(2) == pytest.approx(2.91999 / 12**0.5, abs=1e-5)
    assert (found.slope - found.low) * np.log(2) == pytest.approx(2.91999 / 12**0.5, abs=1e-5)
