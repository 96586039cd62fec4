"""Replicated experiments: one replicate by a general optimiser, shared numbers, scales, lots."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit

from dpbook.privacy import Edge, Person
from dpbook.rankers import PerturbedMle
from dpbook.simulation import (
    complete_counts,
    crowd_tables,
    edge_experiment,
    estimates_at,
    log_relative_error,
    paired_errors,
    planted_strengths,
    rankers_at,
    release_errors,
    top_k_error,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def crowd_errors(truth, users, epsilons, source, per_user=5, kind="printed"):
    rankers = rankers_at(Person(truth.shape[1], per_user, vouched=True), epsilons, kind)
    return paired_errors(
        truth, crowd_tables(truth, users, per_user, rng=source), rankers, rng=source
    )


def edge_rankers(n, epsilons, p=1.0, kind="printed"):
    return rankers_at(Edge(n), epsilons, kind, gamma=2 * np.sqrt(n * p * np.log(n)), lots=0)


def fresh(n, epsilons, p=1.0, levels=None, **options):
    return edge_experiment(edge_rankers(n, epsilons, p), p=p, levels=levels, **options)


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
    flat = paired_errors(level, complete_counts(level, rng=source), rankers, rng=source)
    for name in ("mle top-k", "counts top-k"):
        assert flat[name].mean() == pytest.approx(0.75, abs=0.02)


def test_a_larger_crowd_contains_the_smaller_one():
    small, large = crowd_tables(planted_strengths(6, 3, rng=rng()), [4, 9], 2, rng=rng(1))
    assert (small.sum(axis=(1, 2)) == 8).all() and (large.sum(axis=(1, 2)) == 18).all()
    assert (large >= small).all()


@pytest.mark.parametrize(
    ("unit", "kind", "gamma", "expected"),
    [
        (Edge(12), "printed", 3.0, (16.0, 3.0, 4.0)),
        (Person(12, 3, vouched=True), "printed", None, (48.0, 12.0, 6.0)),
        (Person(12, 3, vouched=True), "private", None, (24.0, 24.0, 12.0)),
    ],
)
def test_levels_have_the_scales_of_the_paper(unit, kind, gamma, expected):
    (fit, count), (plain, lots) = rankers_at(unit, [0.5, np.inf], kind, gamma=gamma)
    assert (fit.scale, fit.gamma, count.scale) == pytest.approx(expected)
    assert (plain.scale, plain.gamma, lots.scale) == (0, gamma or 1e-6, 1e-9)


def test_same_generator_gives_same_data_whatever_the_noise():
    both = {"fresh": [0, 1], "frozen": [0, 1]}
    one = fresh(24, [0.5, np.inf], 0.6, both, replicates=4, rng=rng(3))
    rankers = edge_rankers(24, [0.5, np.inf], 0.6, "private")
    two = edge_experiment(rankers, p=0.6, replicates=4, rng=rng(3))
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
    for name, places in both.items():
        here = [levels[at] for at in places]
        alone = fresh(40, here, p, {name: range(len(here))}, replicates=3, rng=rng(5))[name]
        for metric, x in alone.items():
            np.testing.assert_allclose(at_once[name][metric], x, atol=1e-6, err_msg=metric)


def test_both_routes_agree_when_hardly_a_pair_is_missing():
    most = [fresh(30, [1.0], p, replicates=400, rng=rng(4))["fresh"] for p in (1.0, 0.999)]
    for metric in most[0]:
        a, b = (run[metric][0] for run in most)
        assert abs(a.mean() - b.mean()) < 4 * np.hypot(stats.sem(a), stats.sem(b)), metric


def test_frozen_noise_removes_the_variance_of_the_noise_only():
    both = {"fresh": [0], "frozen": [0]}
    runs = fresh(60, [0.5], 1.0, both, replicates=200, rng=rng(5))
    sd = {noise: run["log_relative_l2"].std() for noise, run in runs.items()}
    assert sd["frozen"] < 0.5 * sd["fresh"]


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
    errors = release_errors(truth + 3, truth, truth, np.zeros((2, 8)))
    assert (errors["mle top-k"] == 0).all() and (errors["counts top-k"] == 0).all()
    assert errors["mle l2"].max() < -30
