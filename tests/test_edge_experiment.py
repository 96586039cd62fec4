"""The edge simulations: metrics, samplers and baseline against independent computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from dpbook.data import reference_table
from dpbook.estimators import top_k_mask
from dpbook.models import btl_probabilities, edge_wins
from dpbook.simulation import (
    edge_experiment,
    edge_ridge,
    edge_truth,
    edge_win_counts,
    log_relative_error,
    oneshot_scale,
    spectral_scores,
    summary_rows,
    top_k_error,
)

METRICS = {
    "log_relative_l2",
    "log_relative_linf",
    "log_relative_l2_centred",
    "log_relative_linf_centred",
    "topk_error_mle",
    "topk_error_counts",
    "topk_error_half_net",
}


def rng(seed=0):
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- the published table


def test_reference_table_holds_the_published_cells():
    t = reference_table()
    assert len(t) == 195
    assert t.dtype.names == (
        *("experiment", "metric", "n", "p", "epsilon", "mean", "sd", "replicates"),
    )
    first = t[(t["experiment"] == 1) & (t["metric"] == "log_relative_l2") & (t["n"] == 100)]
    assert first["mean"].tolist() == [-0.04567, -0.32157, -0.39881, -0.39007]
    assert np.isinf(first["epsilon"][-1])
    assert set(t["metric"]) == {
        *("log_relative_l2", "log_relative_linf"),
        *("topk_error_mle", "topk_error_counts", "topk_error_one_shot"),
    }
    assert set(t["replicates"]) == {45, 120}


# Sums of the means and of the standard deviations, one row for each curve, added up from the
# table as published (it holds five decimals). The file's digest is in test_tables.py.
PUBLISHED_SUMS = {
    (1, "log_relative_l2"): (36, 14400, -19.61572, 0.35664),
    (1, "log_relative_linf"): (36, 14400, -11.75713, 1.78517),
    (1, "topk_error_counts"): (36, 14400, 1.67713, 0.62991),
    (1, "topk_error_mle"): (36, 14400, 3.71267, 0.63286),
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
        assert set(rows["replicates"]) == {120 if experiment == 1 else 45}
        assert (rows["p"] == 1).all() and (rows["sd"] > 0).all()


# ---------------------------------------------------------------- metrics


def test_log_relative_error_of_a_worked_example():
    truth = np.array([3.0, -4.0])
    estimate = np.array([[3.0, -3.0], [6.0, -8.0], [3.0, -4.0]])
    assert log_relative_error(estimate, truth) == pytest.approx([np.log(1 / 5), 0.0, -np.inf])
    assert log_relative_error(estimate[:2], truth, "linf") == pytest.approx([np.log(1 / 4), 0.0])


@pytest.mark.parametrize(
    ("estimate", "truth", "norm"),
    [([1, 2], [1, 2, 3], "l2"), ([1, 2], [0, 0], "l2"), ([1, 2], [1, 2], "l1")],
)
def test_log_relative_error_refuses(estimate, truth, norm):
    with pytest.raises(ValueError, match=r"truth|norm"):
        log_relative_error(estimate, truth, norm)


def test_top_k_error_counts_what_is_missed_and_breaks_ties_at_random():
    mask = np.array([False, False, True, True])
    assert top_k_error([[4, 3, 2, 1], [1, 4, 2, 5], [1, 2, 3, 4]], mask, 2).tolist() == [1, 0.5, 0]
    tied = np.zeros((4000, 4))
    assert top_k_error(tied, mask, 2).tolist() == [1.0] * 4000
    assert top_k_error(tied, mask, 2, rng=rng()).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("mask", [[True] * 3 + [False], [1, 0, 1, 0], [True, True]])
def test_top_k_error_refuses_a_truth_of_another_size(mask):
    with pytest.raises(ValueError, match="truth_mask"):
        top_k_error([4, 3, 2, 1], np.array(mask), 2)


# ---------------------------------------------------------------- truth, data


def test_truth_has_k_equal_best_items_and_is_centred():
    theta = edge_truth(40, 10, rng=rng())
    assert theta.sum() == pytest.approx(0, abs=1e-12)
    gaps = np.exp(theta - theta.max())
    assert (gaps[-10:] == 1).all()
    assert ((gaps[:-10] > 0.2) & (gaps[:-10] < 0.7)).all()
    assert stats.kstest((gaps[:-10] - 0.2) / 0.5, "uniform").pvalue > 1e-3


def test_win_counts_have_the_law_of_sampled_matrices():
    theta, size = np.array([0.0, 0.5, 1.0, -1.5]), 20000
    counts = edge_win_counts(theta, size=size, rng=rng(1))
    matrices = edge_wins(btl_probabilities(theta), size=size, rng=rng(2)).sum(axis=2)
    assert (counts.sum(axis=1) == 6).all()
    rows, which = np.unique(np.concatenate([counts, matrices]), axis=0, return_inverse=True)
    table = [np.bincount(part, minlength=len(rows)) for part in np.split(which.ravel(), 2)]
    assert stats.chi2_contingency(np.array(table)).pvalue > 1e-3


# ---------------------------------------------------------------- the experiment


@pytest.mark.parametrize("p", [1.0, 0.5])
def test_experiment_returns_every_metric_for_each_level_and_replicate(p):
    run = edge_experiment(20, p=p, epsilons=[1.0, np.inf], replicates=3, rng=rng())
    assert set(run) == METRICS
    assert all(x.shape == (2, 3) and np.isfinite(x).all() for x in run.values())


def test_same_generator_gives_same_data_whatever_the_noise():
    kinds = [("fresh", "printed"), ("frozen", "printed"), ("fresh", "tight")]
    runs = [
        edge_experiment(
            24,
            p=0.6,
            epsilons=[0.5, np.inf],
            replicates=4,
            noise=noise,
            calibration=calibration,
            rng=rng(3),
        )
        for noise, calibration in kinds
    ]
    for other in runs[1:]:
        np.testing.assert_allclose(other["log_relative_l2"][1], runs[0]["log_relative_l2"][1])
        assert (other["topk_error_counts"] == runs[0]["topk_error_counts"]).all()
        assert (other["log_relative_l2"][0] != runs[0]["log_relative_l2"][0]).all()
    # Without noise the estimate is centred already, and with every pair the two ways agree.
    np.testing.assert_allclose(runs[0]["log_relative_l2"][1], runs[0]["log_relative_l2_centred"][1])


def test_both_routes_agree_when_hardly_a_pair_is_missing():
    most = [
        edge_experiment(30, p=p, epsilons=[1.0], replicates=400, rng=rng(4)) for p in (1.0, 0.999)
    ]
    for metric in METRICS:
        a, b = (run[metric][0] for run in most)
        se = np.hypot(stats.sem(a), stats.sem(b))
        assert abs(a.mean() - b.mean()) < 4 * se


def test_frozen_noise_removes_the_variance_of_the_noise_only():
    runs = {
        noise: edge_experiment(60, epsilons=[0.5], replicates=200, noise=noise, rng=rng(5))
        for noise in ("fresh", "frozen")
    }
    sd = {noise: run["log_relative_l2"].std() for noise, run in runs.items()}
    assert sd["frozen"] < 0.5 * sd["fresh"]
    assert edge_ridge(60, 1.0) == pytest.approx(2 * np.sqrt(60 * np.log(60)))


def test_summary_rows_of_a_worked_example():
    runs = [{"m": np.array([[1.0, 3.0], [2.0, 2.0]])}, {"m": np.array([[5.0, 7.0], [2.0, 2.0]])}]
    rows = summary_rows(runs, ["m"], [0.5, np.inf], p=0.25, noise="fresh")
    assert rows[0] == {
        **{"p": 0.25, "noise": "fresh", "epsilon": 0.5, "metric": "m", "mean": 4.0},
        **{"sd": pytest.approx(np.sqrt(2)), "replicates": 4, "runs": 2},
        **{"sd_between": pytest.approx(np.sqrt(8))},
    }
    assert (rows[1]["epsilon"], rows[1]["mean"], rows[1]["sd"]) == ("inf", 2.0, 0.0)


@pytest.mark.parametrize(
    "bad", [{"noise": "warm"}, {"epsilons": [0.0]}, {"p": 0}, {"calibration": "loose"}]
)
def test_experiment_refuses(bad):
    with pytest.raises(ValueError, match=next(iter(bad)).removesuffix("s")):
        edge_experiment(12, **{"epsilons": [1.0], "replicates": 2, **bad}, rng=rng())


# ---------------------------------------------------------------- the one-shot baseline


def test_spectral_scores_and_ergodicity_against_the_definition():
    wins = edge_wins(btl_probabilities(np.linspace(-1, 1, 7)), rng=rng(6))[0]
    scores, rho = spectral_scores(wins)
    steps = wins.T / 7
    np.fill_diagonal(steps, 1 - steps.sum(axis=1))
    np.testing.assert_allclose(np.linalg.matrix_power(steps, 400)[0], scores, atol=1e-10)
    distances = [np.abs(a - b).sum() / 2 for a, b in itertools.combinations(steps, 2)]
    assert rho == pytest.approx(max(distances), abs=1e-12)


def test_spectral_scores_find_the_best_items_without_noise():
    theta = edge_truth(200, 50, rng=rng(7))
    scores, _ = spectral_scores(edge_wins(btl_probabilities(theta), rng=rng(8))[0])
    assert top_k_error(scores, top_k_mask(theta, 50), 50) < 0.2


def test_oneshot_scale_is_the_formula_and_refuses_rho_one():
    scale = oneshot_scale(100, 25, rho=0.9, degree=100, epsilon=2, delta=1e-4)
    assert scale == pytest.approx(8 * 2 / 10 * np.sqrt(25 * np.log(1e6)) / 2)
    with pytest.raises(ValueError, match="rho"):
        oneshot_scale(100, 25, rho=1.0, degree=100, epsilon=2, delta=1e-4)


def test_spectral_scores_refuse_a_small_degree_and_a_split_walk():
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    with pytest.raises(ValueError, match="degree"):
        spectral_scores(cycle, degree=0.5)
    with pytest.raises(ValueError, match="unique"):
        spectral_scores(np.zeros((3, 3)))
