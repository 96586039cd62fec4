"""The edge simulations: samplers and baseline against independent computations."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from scipy import stats

from dpbook.models import btl_probabilities, edge_wins
from dpbook.pages.edge_experiments import (
    FRESH,
    OneShotSpectral,
    complete_run,
    edge_counts,
    edge_experiment,
    edge_fits,
    edge_ridge,
    edge_truth,
    frozen_and_fresh,
    one_shot_run,
    reference_table,
    script_noise,
    sets_only,
    spectral_scores,
    streams,
    summary_rows,
)
from dpbook.privacy import Edge, record_play
from dpbook.simulation import edge_win_counts, top_k_error

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


def experiment(n, epsilons, calibration="printed", p=1.0, **options):
    fits = edge_fits(n, epsilons, p=p, calibration=calibration)
    return edge_experiment(fits, edge_counts(n, epsilons), p=p, **options)


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


def test_truth_has_k_equal_best_items_and_is_centred():
    theta = edge_truth(40, 10, rng=rng())
    assert theta.sum() == pytest.approx(0, abs=1e-12)
    gaps = np.exp(theta - theta.max())
    assert (gaps[-10:] == 1).all()
    assert ((gaps[:-10] > 0.2) & (gaps[:-10] < 0.7)).all()
    assert stats.kstest((gaps[:-10] - 0.2) / 0.5, "uniform").pvalue > 1e-3


def test_same_generator_gives_same_data_whatever_the_noise():
    kinds = [(False, "printed"), (True, "printed"), (False, "private")]
    runs = [
        experiment(24, [0.5, np.inf], kind, p=0.6, replicates=4, frozen=frozen, rng=rng(3))
        for frozen, kind in kinds
    ]
    for other in runs[1:]:
        np.testing.assert_allclose(other["log_relative_l2"][1], runs[0]["log_relative_l2"][1])
        assert (other["topk_error_counts"] == runs[0]["topk_error_counts"]).all()
        assert (other["log_relative_l2"][0] != runs[0]["log_relative_l2"][0]).all()
    # Without noise the estimate is centred already, and with every pair the two ways agree.
    np.testing.assert_allclose(runs[0]["log_relative_l2"][1], runs[0]["log_relative_l2_centred"][1])


def test_both_routes_agree_when_hardly_a_pair_is_missing():
    most = [experiment(30, [1.0], p=p, replicates=400, rng=rng(4)) for p in (1.0, 0.999)]
    for metric in METRICS:
        a, b = (run[metric][0] for run in most)
        se = np.hypot(stats.sem(a), stats.sem(b))
        assert abs(a.mean() - b.mean()) < 4 * se


def test_frozen_noise_removes_the_variance_of_the_noise_only():
    runs = {
        noise: experiment(60, [0.5], replicates=200, frozen=noise == "frozen", rng=rng(5))
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
    ("call", "named"),
    [
        (lambda: edge_fits(12, [0.0]), "epsilon"),
        (lambda: edge_fits(12, [1.0], p=0), "p = 0"),
        (lambda: edge_fits(12, [1.0], calibration="loose"), "calibration"),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_levels_have_the_scales_of_the_paper():
    gamma = 2 * np.sqrt(12 * 0.5 * np.log(12))
    fits, counts = edge_fits(12, [0.5, np.inf], p=0.5), edge_counts(12, [0.5, np.inf])
    assert [(r.scale, r.gamma) for r in fits] == [(16.0, gamma), (0, gamma)]
    assert [r.scale for r in counts] == [4.0, 0]
    (tight,) = edge_fits(12, [0.5], p=0.5, calibration="private")
    assert tight.scale > 8 and tight.loss()[1] == pytest.approx(0.5)


def test_sets_of_experiment_4_are_those_of_the_estimates():
    vectors = {"frozen": rng(9).laplace(size=40)}
    found = sets_only(40, [1.0, 5.0], 6, vectors, rng(10))
    source = rng(10)
    wins = edge_win_counts(edge_truth(40, 10, rng=source), size=6, rng=source)
    edge_counts(40, [1.0])[0].noise(6, rng=source)
    fresh = edge_fits(40, [1.0])[0].noise(6, rng=source)
    for name, z in (("frozen", np.broadcast_to(vectors["frozen"], fresh.shape)), (FRESH, fresh)):
        estimates = np.stack([fit.perturb(wins, z) for fit in edge_fits(40, [1.0, 5.0])])
        missed = top_k_error(estimates, np.arange(40) >= 30, 10)
        np.testing.assert_array_equal(found[name]["topk_error_mle"], missed)


def test_complete_runs_hold_the_same_data_under_each_convention():
    vectors = {"frozen": rng(9).laplace(size=40)}
    found = complete_run(40, [1.0, np.inf], 5, vectors, rng(11))
    frozen, fresh = found["frozen"], found[FRESH]
    assert set(frozen) == METRICS - {"topk_error_half_net"}
    np.testing.assert_allclose(frozen["log_relative_l2"][1], fresh["log_relative_l2"][1])
    assert (frozen["log_relative_l2"][0] != fresh["log_relative_l2"][0]).all()


@pytest.mark.parametrize("p", [0.6, 1.0])
def test_both_conventions_at_once_are_each_by_itself(p):
    both = frozen_and_fresh(40, 2, 3, seed=5, epsilons=[1.0, np.inf], p=p)
    for noise, frozen in (("frozen", True), ("fresh", False)):
        for found, g in zip(both[noise], streams(5, 40, 2), strict=True):
            alone = experiment(40, [1.0, np.inf], p=p, replicates=3, frozen=frozen, rng=g)
            for name, x in alone.items():
                np.testing.assert_allclose(found[name], x, atol=1e-6, err_msg=name)
    assert (both["frozen"][0]["log_relative_l2"] != both["fresh"][0]["log_relative_l2"]).any()


def test_the_scripts_noise_is_that_of_r():
    # set.seed(13); runif(3) in R gives 0.71032245, 0.24613730, 0.38963444.
    z = script_noise(13, 3)
    np.testing.assert_array_equal(np.sign(z), [-1, 1, 1])
    off = (1 - np.exp(-np.abs(z))) / 2
    np.testing.assert_allclose(off, [0.21032245, 0.2538627, 0.11036556], atol=1e-7)


def test_the_one_shot_algorithm_guesses_unless_epsilon_is_huge():
    errors, spread, bare = one_shot_run(40, [1.0, 1e9], 20, rng(8))
    assert errors[0] > 0.5 and errors[1] == pytest.approx(bare) and spread < 0.1


def test_the_one_shot_run_releases_at_each_level():
    levels, source = [1e3, 1e5], rng(8)
    wins = edge_wins(btl_probabilities(edge_truth(40, 10, rng=source)), rng=source)[0]
    made = [
        OneShotSpectral.printed(e, Edge(40), 10, rho=spectral_scores(wins)[1], delta=40**-2)
        for e in levels
    ]
    z, best = made[0].noise(20, rng=source), np.arange(40) >= 30
    alone = [top_k_error(one.release(wins, z), best, 10).mean() for one in made]
    assert alone[0] != alone[1]
    np.testing.assert_allclose(one_shot_run(40, levels, 20, rng(8))[0], alone, rtol=1e-12)


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
