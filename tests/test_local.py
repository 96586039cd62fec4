"""Local privacy: counts of reports, M-estimation, replicated studies, exact limits."""

from __future__ import annotations

import math
import time
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit

from dpbook.estimators import ridge_mle
from dpbook.mechanisms import debiased_response, debiased_variance
from dpbook.privacy import audit_sampler
from dpbook.rankers import (
    debiased_mle,
    debiased_wins,
    laplace_wins,
    reported_wins,
    reported_wins_pmf,
    response_weights,
)
from dpbook.simulation import (
    local_errors,
    local_rate,
    pair_order_error,
    privacy_schedule,
    ranking_errors,
)

WINS = np.array([[0, 7, 4], [3, 0, 9], [6, 1, 0]])
MIXED = np.repeat([0.1, 3.0], 50)


def chi_square(counts: np.ndarray, law: np.ndarray) -> float:
    """P-value of Pearson's test, outcomes of small expectation pooled into one."""
    expected = law * counts.sum()
    small = expected < 10
    counts, expected = (
        np.append(counts[~small], counts[small].sum()),
        np.append(expected[~small], expected[small].sum()),
    )
    keep = expected > 0
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    return float(stats.chi2.sf(statistic, np.count_nonzero(keep) - 1))


# ------------------------------------------------------------------ counts of reports


def test_the_law_of_reports_is_that_of_the_full_enumeration():
    ahead, behind, epsilon = 3, 2, 0.8
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    law = np.zeros(ahead + behind + 1)
    for kept in product((0, 1), repeat=ahead + behind):
        says = sum(kept[:ahead]) + sum(1 - x for x in kept[ahead:])
        law[says] += math.prod(truth if x else 1 - truth for x in kept)
    assert reported_wins_pmf(ahead, behind, epsilon) == pytest.approx(law, rel=1e-12)
    assert reported_wins_pmf(0, 0, 1.0).tolist() == [1.0]


def test_reported_wins_follow_their_law_and_not_that_of_another_epsilon():
    draws = reported_wins(WINS, 0.8, size=20_000, rng=np.random.default_rng(1))
    assert draws.shape == (20_000, 3, 3) and draws.dtype == np.int64
    assert (draws + np.swapaxes(draws, 1, 2) == WINS + WINS.T).all()
    for i, j in ((0, 1), (0, 2), (2, 1)):
        law = reported_wins_pmf(WINS[i, j], WINS[j, i], 0.8)
        seen = np.bincount(draws[:, i, j], minlength=law.size)
        assert chi_square(seen, law) > 1e-3
        assert chi_square(seen, reported_wins_pmf(WINS[i, j], WINS[j, i], 1.0)) < 1e-9
    assert abs(np.corrcoef(draws[:, 0, 1], draws[:, 0, 2])[0, 1]) < 4 / math.sqrt(20_000)


def test_groups_of_users_report_with_their_own_epsilons():
    groups = np.stack([WINS, 2 * WINS.T])
    draws = reported_wins(groups, [0.3, 2.0], size=20_000, rng=np.random.default_rng(2))
    assert draws.shape == (20_000, 2, 3, 3)
    for g, epsilon in enumerate([0.3, 2.0]):
        law = reported_wins_pmf(groups[g, 0, 1], groups[g, 1, 0], epsilon)
        seen = np.bincount(draws[:, g, 0, 1], minlength=law.size)
        assert audit_sampler(seen, law).passed


def test_laplace_wins_are_the_answers_plus_a_sum_of_laplace_variables():
    rng = np.random.default_rng(3)
    groups = np.stack([WINS, WINS])
    draws = laplace_wins(groups, [0.5, 2.0], size=20_000, rng=rng)
    assert draws + np.swapaxes(draws, -1, -2) == pytest.approx(
        np.broadcast_to(WINS + WINS.T, draws.shape), abs=1e-11
    )
    for g, epsilon in enumerate([0.5, 2.0]):
        noise = draws[:, g, 0, 1] - WINS[0, 1]
        direct = rng.laplace(scale=1 / epsilon, size=(20_000, 10)).sum(axis=1)
        assert stats.ks_2samp(noise, direct).pvalue > 1e-3
        assert stats.ks_2samp(noise, 1.2 * direct).pvalue < 1e-6


def test_debiased_wins_are_the_sums_of_debiased_responses():
    # Three users answer the one pair of two items; users 0 and 2 share an epsilon.
    reports, epsilons, weights = np.array([1, 0, 1]), np.array([0.4, 2.0, 0.4]), [3.0, 1.0, 3.0]
    direct = float(weights @ debiased_response(reports, epsilons))
    counts = np.array([[[0, 2], [0, 0]], [[0, 0], [1, 0]]])
    table = debiased_wins(counts, [0.4, 2.0], weights=[3.0, 1.0])
    assert table[0, 1] == pytest.approx(direct, rel=1e-13)
    assert table[0, 1] + table[1, 0] == pytest.approx(7.0, rel=1e-13)
    alone = debiased_wins(counts[0], 0.4)
    assert alone[0, 1] == pytest.approx(debiased_response([1, 1], 0.4).sum(), rel=1e-13)


def test_debiased_wins_are_unbiased_at_every_epsilon():
    for epsilon in (0.05, 1.0, 30.0):
        law = reported_wins_pmf(7, 3, epsilon)
        tables = np.zeros((11, 2, 2), dtype=int)
        tables[:, 0, 1], tables[:, 1, 0] = np.arange(11), 10 - np.arange(11)
        assert law @ debiased_wins(tables, epsilon)[:, 0, 1] == pytest.approx(7.0, rel=1e-10)


def test_weights_are_inverse_variances_and_keep_the_order_of_reports():
    epsilons = np.array([0.1, 1.0, 3.0])
    optimal = response_weights(epsilons, "optimal")
    assert optimal * debiased_variance(0.5, epsilons) == pytest.approx(np.full(3, 0.25))
    assert (response_weights(epsilons) == 1).all()
    # Classic weights turn debiased numbers back into reports, up to a constant.
    values = response_weights(epsilons, "classic") * (debiased_response([0, 1, 1], epsilons) - 0.5)
    assert values == pytest.approx([-0.5, 0.5, 0.5])


# ------------------------------------------------------------------ M-estimation


def scipy_minimiser(outcomes: np.ndarray, gamma: float) -> np.ndarray:
    """The objective as printed, over ordered pairs i < j, by a general-purpose optimiser."""
    i, j = np.triu_indices(len(outcomes), 1)
    totals = (outcomes + outcomes.T)[i, j]

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        x = theta[i] - theta[j]
        pull = totals * expit(x) - outcomes[i, j]
        gradient = np.zeros(len(outcomes))
        np.add.at(gradient, i, pull)
        np.subtract.at(gradient, j, pull)
        value = totals @ np.logaddexp(0, x) - outcomes[i, j] @ x + gamma / 2 * theta @ theta
        return float(value), gradient + gamma * theta

    start = np.zeros(len(outcomes))
    options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 5000, "maxcor": 40}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return found.x - found.x.mean()


def random_outcomes(n: int, complete: bool, rng: np.random.Generator) -> np.ndarray:
    totals = np.full((n, n), 5.0) if complete else rng.integers(0, 8, (n, n)).astype(float)
    upper = np.triu(rng.normal(2.0, 6.0, (n, n)), 1)
    totals = np.triu(totals, 1)
    return upper + (totals - upper).T * (np.tri(n, k=-1) > 0)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("gamma", [0.2, 3.0])
def test_debiased_mle_agrees_with_a_general_optimiser(complete, gamma):
    rng = np.random.default_rng(17)
    batch = np.stack([random_outcomes(6, complete, rng) for _ in range(4)])
    assert batch.min() < 0
    fit = debiased_mle(batch, gamma=gamma)
    assert fit.method == ("complete" if complete else "dense")
    for outcomes, theta in zip(batch, fit.theta, strict=True):
        assert theta == pytest.approx(scipy_minimiser(outcomes, gamma), abs=2e-5)
        assert theta != pytest.approx(scipy_minimiser(outcomes, 1.5 * gamma), abs=2e-3)


@pytest.mark.parametrize("complete", [True, False])
def test_the_residual_certifies_the_score_equation_and_the_sum_is_zero(complete):
    outcomes = random_outcomes(8, complete, np.random.default_rng(4))
    fit = debiased_mle(outcomes, gamma=0.7)
    totals = outcomes + outcomes.T
    gap = fit.theta[:, None] - fit.theta
    score = (totals * expit(gap) - outcomes).sum(axis=1) + 0.7 * fit.theta
    scale = max(totals.sum(axis=1).max(), np.abs(outcomes - totals / 2).sum(axis=1).max())
    assert np.abs(score).max() <= 2e-12 * scale
    assert fit.residual == pytest.approx(np.abs(score).max(), abs=1e-12 * scale)
    assert abs(fit.theta.sum()) < 1e-11 * scale / 0.7


@pytest.mark.parametrize("complete", [True, False])
def test_plain_counts_give_the_ridge_estimate(complete):
    rng = np.random.default_rng(6)
    wins = rng.binomial(9, 0.5, (5, 5))
    wins = np.triu(wins, 1) + (np.tri(5, k=-1) * (9 - wins.T)).astype(int)
    if not complete:
        wins[0, 1] += 2
    for gamma in (0.0, 1.0):
        assert debiased_mle(wins, gamma=gamma).theta == pytest.approx(
            ridge_mle(wins, gamma=gamma).theta, abs=1e-8
        )


def test_without_a_ridge_a_minimiser_must_exist():
    # Item 0 scores 4.9 of 5 against each other item, or 5.1.
    good = np.array([[0, 4.9, 4.9], [0.1, 0, 2.0], [0.1, 3.0, 0]])
    bad = np.array([[0, 5.1, 5.1], [-0.1, 0, 2.0], [-0.1, 3.0, 0]])
    fit = debiased_mle(good, gamma=0)
    assert fit.theta == pytest.approx(scipy_minimiser(good, 0.0), abs=1e-4)
    with pytest.raises(ValueError, match="no minimiser in 1 of 2"):
        debiased_mle(np.stack([good, bad]), gamma=0)
    assert np.isfinite(debiased_mle(np.stack([good, bad]), gamma=1e-3).theta).all()
    bad[1, 2] += 1
    with pytest.raises(ValueError, match="gamma"):
        debiased_mle(bad, gamma=0)
    # An outcome beyond its total is no obstacle where the others make up for it.
    over = np.array([[0, 5.5, 2.0], [-0.5, 0, 4.0], [3.0, 1.0, 0]])
    assert debiased_mle(over, gamma=0).theta == pytest.approx(scipy_minimiser(over, 0.0), abs=1e-4)


def test_debiased_mle_refuses_what_is_no_set_of_outcomes():
    for outcomes in (
        [1.0, 2.0],
        np.zeros((2, 3)),
        np.eye(2),
        [[0, math.nan], [1, 0]],
        [[0, 1.0], [-2.0, 0]],
        np.zeros((3, 3)),
    ):
        with pytest.raises(ValueError, match="outcomes"):
            debiased_mle(outcomes, gamma=1.0)
    with pytest.raises(ValueError, match="gamma = "):
        debiased_mle(WINS, gamma=-1)
    with pytest.raises(ValueError, match="tol = "):
        debiased_mle(WINS, gamma=1, tol=0)
    with pytest.raises(RuntimeError, match="residual"):
        debiased_mle(np.stack([WINS * 50, WINS.T * 50]), gamma=1e-3, max_iterations=1)


# ------------------------------------------------------------------ replicated studies


def run(mechanism, seed=5, *, theta=None, users=100, epsilon=1.0, gamma=1.0, replicates=200):
    strengths = np.linspace(-0.6, 0.6, 8) if theta is None else theta
    return local_errors(
        strengths,
        users=users,
        epsilon=epsilon,
        mechanism=mechanism,
        gamma=gamma,
        replicates=replicates,
        rng=np.random.default_rng(seed),
    )


def test_with_a_common_epsilon_classic_and_debiased_rank_alike_and_estimate_differently():
    for epsilon in (0.2, 1.0, np.full(100, 1.0)):
        classic, debiased = run("classic", epsilon=epsilon), run("debiased", epsilon=epsilon)
        signs = [np.sign(s.scores[:, :, None] - s.scores[:, None]) for s in (classic, debiased)]
        assert (signs[0] == signs[1]).all() and (signs[0] == 0).sum() > 200 * 8
        assert (classic.kendall == debiased.kendall).all()
        assert (classic.top_k == debiased.top_k).all()
        assert np.abs(classic.theta - debiased.theta).max() > 0.1
    mixed = [run(m, epsilon=MIXED) for m in ("classic", "debiased")]
    assert (mixed[0].kendall != mixed[1].kendall).mean() > 0.5
    assert mixed[0].kendall.mean() < mixed[1].kendall.mean()


@pytest.mark.parametrize("mechanism", ["none", "classic", "debiased", "weighted", "laplace"])
@pytest.mark.parametrize("epsilon", [0.7, MIXED])
def test_scores_have_the_exact_mean_and_variance(mechanism, epsilon):
    theta = np.array([-1.0, 0.2, 0.8])
    study = run(mechanism, theta=theta, epsilon=epsilon, replicates=20_000)
    per_user = np.broadcast_to(epsilon, 100)
    t = np.tanh(per_user / 2)
    factor = {"classic": t, "weighted": t**2 / np.mean(t**2)}.get(mechanism, np.ones(100))
    win = expit(theta[:, None] - theta)
    if mechanism in ("none", "laplace"):
        added = (2 / per_user**2).sum() if mechanism == "laplace" else 0.0
        variance = 100 * win * win.T + added
    else:
        # Of weighted debiased responses, user by user.
        variance = sum(
            f**2 * debiased_variance(win, e) for f, e in zip(factor, per_user, strict=True)
        )
    mean = factor.sum() * (win - 0.5).sum(axis=1)
    off = ~np.eye(3, dtype=bool)
    spread = np.sqrt(np.where(off, variance, 0).sum(axis=1))
    assert np.abs(study.scores.mean(axis=0) - mean).max() < 5 * spread.max() / math.sqrt(20_000)
    # A sample variance of 20 000 numbers of kurtosis below 6 is within 5 sqrt(5 / 20 000).
    assert study.scores.std(axis=0) ** 2 == pytest.approx(spread**2, rel=0.08)


def test_users_who_all_differ_are_drawn_as_single_reports():
    # Two users and two items: the four score values and their probabilities.
    gap, epsilons = 0.9, np.array([0.5, 1.5])
    study = local_errors(
        [gap, 0.0],
        users=2,
        epsilon=epsilons,
        mechanism="debiased",
        gamma=1.0,
        replicates=20_000,
        rng=np.random.default_rng(9),
    )
    t = np.tanh(epsilons / 2)
    p = 0.5 + t * (expit(gap) - 0.5)
    values = [((2 * x - 1) / t[0] + (2 * y - 1) / t[1]) / 2 for x in (0, 1) for y in (0, 1)]
    law = np.array([(1 - p[0]) * (1 - p[1]), (1 - p[0]) * p[1], p[0] * (1 - p[1]), p[0] * p[1]])
    seen = np.array([np.isclose(study.scores[:, 0], v).sum() for v in values])
    assert seen.sum() == 20_000 and chi_square(seen, law) > 1e-3
    assert chi_square(seen, law[::-1]) < 1e-9


def test_errors_are_those_of_the_estimates():
    theta = np.array([3.0, 1.0, 1.4, 0.0])
    study = run("debiased", theta=theta, replicates=30)
    gap = study.theta - (theta - theta.mean())
    assert study.l2 == pytest.approx(np.linalg.norm(gap, axis=1) / 2)
    assert study.sup == pytest.approx(np.abs(gap).max(axis=1))
    assert (study.residual < 1e-6).all() and np.abs(study.theta.sum(axis=1)).max() < 1e-7
    rows = np.tile(theta, (30, 1)) + np.arange(30)[:, None]
    assert run("debiased", theta=rows, replicates=30).theta == pytest.approx(study.theta)


def test_the_estimate_is_that_of_the_win_matrices():
    # Two items: the win matrix is the score.
    study = run("weighted", theta=np.array([0.4, 0.0]), epsilon=MIXED, replicates=20)
    outcomes = np.zeros((20, 2, 2))
    outcomes[:, 0, 1] = 50 + study.scores[:, 0]
    outcomes[:, 1, 0] = 100 - outcomes[:, 0, 1]
    assert debiased_mle(outcomes, gamma=1.0).theta == pytest.approx(study.theta, abs=1e-8)


def test_a_large_study_takes_seconds():
    theta = np.random.default_rng(1).uniform(-1, 1, 20)
    begin = time.perf_counter()
    for epsilon in (0.1, 0.3, 1.0, 3.0, 5.0):
        study = run("debiased", theta=theta, users=1000, epsilon=epsilon, replicates=50)
        assert study.l2.shape == (50,)
    assert time.perf_counter() - begin < 10


# ------------------------------------------------------------------ ranking errors


def test_ranking_errors_average_over_broken_ties():
    truth = np.array([4.0, 3.0, 2.0, 1.0])
    kendall, top = ranking_errors(
        [[4, 3, 2, 1], [1, 2, 3, 4], [2, 2, 2, 2], [3, 1, 3, 2]], truth, 2
    )
    assert kendall == pytest.approx([0, 1, 0.5, 2.5 / 6])
    assert top == pytest.approx([0, 1, 0.5, 0.5])
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 3, 6)
    target = np.arange(6.0)
    broken = scores + rng.uniform(0, 0.5, (40_000, 6))
    exact, drawn = ranking_errors(scores, target, 2), ranking_errors(broken, target, 2)
    for value, sample in zip(exact, drawn, strict=True):
        assert sample.mean() == pytest.approx(float(value), abs=5 * 0.5 / math.sqrt(40_000))


def test_equal_truths_have_no_wrong_order():
    kendall, top = ranking_errors([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], 2)
    assert kendall == pytest.approx(2 / 3) and top == pytest.approx(0.5)
    with pytest.raises(ValueError, match="k = 1"):
        ranking_errors([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], 1)


def test_a_study_has_no_top_k_error_where_the_true_top_set_is_not_unique():
    study = run("debiased", theta=np.zeros(8), replicates=20)
    assert np.isnan(study.top_k).all()
    assert (study.kendall == 0).all() and (study.l2 > 0).all()
    # Row by row: k = 8 // 4 = 2, so only the tie of the second and the third matters.
    rows = np.tile(np.linspace(-0.6, 0.6, 8), (3, 1))
    plain = run("debiased", theta=rows, replicates=3)
    rows[0, 5], rows[1, 6] = rows[0, 6], rows[1, 7]
    mixed = run("debiased", theta=rows, replicates=3)
    assert np.isnan(mixed.top_k).tolist() == [True, False, False]
    assert not np.isnan(mixed.kendall).any() and mixed.top_k[2] == plain.top_k[2]
    expected = ranking_errors(mixed.scores[1:], rows[1:], 2)
    assert (mixed.kendall[1:] == expected[0]).all() and (mixed.top_k[1:] == expected[1]).all()
    with pytest.raises(ValueError, match="k = 3"):
        local_errors(
            np.zeros(3),
            users=5,
            epsilon=1.0,
            mechanism="none",
            gamma=1.0,
            replicates=2,
            k=3,
            rng=np.random.default_rng(1),
        )


# ------------------------------------------------------------------ limits and exact values


@pytest.mark.parametrize("mechanism", ["none", "debiased", "weighted", "laplace"])
@pytest.mark.parametrize("epsilon", [1.0, np.repeat([0.5, 4.0], 5000)])
def test_the_error_of_a_large_crowd_is_the_sandwich(mechanism, epsilon):
    theta = np.array([-0.8, -0.1, 0.3, 0.6])
    study = run(mechanism, theta=theta, users=10_000, epsilon=epsilon, replicates=4000)
    measured = math.sqrt(np.mean(study.l2**2))
    rate = local_rate(theta, users=10_000, epsilon=epsilon, mechanism=mechanism)
    # The relative error of a mean square of 4000 chi-square(3) sums is about 1.3 percent.
    assert measured == pytest.approx(rate, rel=0.04)


def test_the_sandwich_collapses_to_mean_variance_factors():
    # At equal strengths the rate is sqrt of the mean inflation, arithmetic or harmonic.
    theta, t = np.zeros(5), np.tanh(MIXED / 2)
    none = local_rate(theta, users=100, epsilon=1.0, mechanism="none")
    debiased = local_rate(theta, users=100, epsilon=MIXED, mechanism="debiased")
    weighted = local_rate(theta, users=100, epsilon=MIXED, mechanism="weighted")
    assert debiased / none == pytest.approx(math.sqrt(np.mean(1 / t**2)), rel=1e-12)
    assert weighted / none == pytest.approx(1 / math.sqrt(np.mean(t**2)), rel=1e-12)
    assert (debiased / weighted) ** 2 == pytest.approx(82.57, abs=0.01)
    with pytest.raises(ValueError, match="mechanism = 'classic'"):
        local_rate(theta, users=100, epsilon=1.0, mechanism="classic")


def test_the_sandwich_of_two_items_is_the_delta_method():
    # Far from F = 1/2 the weights are no longer the inverse variances.
    gap, t = 3.0, np.tanh(MIXED / 2)
    weight, win = t**2 / np.mean(t**2), 1 / (1 + math.exp(-gap))
    variance = sum(
        w**2 * (win * (1 - win) + math.exp(e) / (math.exp(e) - 1) ** 2)
        for w, e in zip(weight, MIXED, strict=True)
    )
    expected = math.sqrt(variance) / (100 * win * (1 - win)) / 2
    found = local_rate([gap, 0.0], users=100, epsilon=MIXED, mechanism="weighted")
    assert found == pytest.approx(expected, rel=1e-12)


def brute_order_error(gap: float, epsilons: list[float], power: int) -> float:
    """All 2^L vectors of reports; a report counts with tanh(epsilon / 2) to the power."""
    t = [math.tanh(e / 2) for e in epsilons]
    p = [0.5 + x * (1 / (1 + math.exp(-gap)) - 0.5) for x in t]
    error = 0.0
    for reports in product((0, 1), repeat=len(t)):
        chance = math.prod(q if z else 1 - q for q, z in zip(p, reports, strict=True))
        score = math.fsum((2 * z - 1) * x**power for x, z in zip(t, reports, strict=True))
        error += chance * (0.5 if abs(score) < 1e-12 else float(score < 0))
    return error


@pytest.mark.parametrize(
    ("mechanism", "power"), [("classic", 0), ("debiased", -1), ("weighted", 1)]
)
@pytest.mark.parametrize(
    "epsilons", [[1.0] * 5, [0.3] * 4 + [2.0] * 4, [0.1, 0.5, 0.5, 1.0, 1.0, 2.0, 3.0], [0.7]]
)
def test_the_order_of_two_items_is_that_of_the_full_enumeration(mechanism, power, epsilons):
    found = pair_order_error(0.4, users=len(epsilons), epsilon=epsilons, mechanism=mechanism)
    assert found == pytest.approx(brute_order_error(0.4, epsilons, power), rel=1e-12)


def test_the_study_of_two_items_has_the_exact_order_error():
    for mechanism in ("none", "classic", "debiased", "weighted"):
        study = run(
            mechanism, theta=np.array([0.3, 0.0]), users=100, epsilon=MIXED, replicates=20_000
        )
        exact = pair_order_error(0.3, users=100, epsilon=MIXED, mechanism=mechanism)
        sd = math.sqrt(exact * (1 - exact) / 20_000)
        assert study.kendall.mean() == pytest.approx(exact, abs=4 * sd)


def test_debiasing_ranks_worse_when_users_differ_and_the_same_when_they_do_not():
    error = {
        m: pair_order_error(0.2, users=100, epsilon=MIXED, mechanism=m)
        for m in ("none", "classic", "debiased", "weighted")
    }
    assert error["none"] < error["weighted"] < error["classic"] < error["debiased"] < 0.5
    assert error["debiased"] - error["classic"] > 0.1
    common = [
        pair_order_error(0.2, users=100, epsilon=0.5, mechanism=m)
        for m in ("classic", "debiased", "weighted")
    ]
    assert common[0] == common[1] == common[2]
    assert pair_order_error(0.0, users=7, epsilon=1.0, mechanism="classic") == pytest.approx(0.5)


def test_too_many_different_epsilons_for_an_enumeration_are_refused():
    many = np.linspace(0.1, 3.0, 60)
    with pytest.raises(ValueError, match="60 different"):
        pair_order_error(0.2, users=60, epsilon=many, mechanism="debiased")
    assert 0 < pair_order_error(0.2, users=60, epsilon=many, mechanism="classic") < 0.5


def test_schedules_start_together_and_straddle_the_threshold():
    users = np.array([50, 200, 800, 3200])
    level = privacy_schedule("threshold", 20, users, start=2.0)
    assert level == pytest.approx([2.0, 1.0, 0.5, 0.25], rel=1e-12)
    logs = np.log(20 * users) / np.log(1000)
    for power in (0.5, 1.0):
        faster = privacy_schedule("faster", 20, users, start=2.0, log_power=power)
        slower = privacy_schedule("slower", 20, users, start=2.0, log_power=power)
        assert faster == pytest.approx(level / logs**power, rel=1e-12)
        assert slower == pytest.approx(level * logs**power, rel=1e-12)
    grid = privacy_schedule("slower", [[10], [40]], users)
    assert grid.shape == (2, 4) and grid[0, 0] == 1.0


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, [1.0, 2.0], [1.0, 0.0, 1.0]])
def test_epsilons_that_do_not_fit_three_users_are_refused(epsilon):
    rng = np.random.default_rng(0)
    for call in (
        lambda: local_rate([0.0, 1.0], users=3, epsilon=epsilon, mechanism="debiased"),
        lambda: pair_order_error(0.1, users=3, epsilon=epsilon, mechanism="classic"),
        lambda: run("debiased", users=3, epsilon=epsilon, replicates=2),
        lambda: reported_wins(np.stack([WINS] * 3), epsilon, rng=rng),
        lambda: laplace_wins(np.stack([WINS] * 3), epsilon, rng=rng),
        lambda: debiased_wins(np.stack([WINS] * 3), epsilon),
    ):
        with pytest.raises(ValueError, match="epsilon"):
            call()


@pytest.mark.parametrize(
    "wins", [WINS[0], WINS + np.eye(3), WINS - 2, WINS + 0.5, [[0, math.inf], [1, 0]]]
)
def test_counts_that_are_none_are_refused(wins):
    for call in (
        lambda: reported_wins(wins, 1.0, rng=np.random.default_rng(0)),
        lambda: laplace_wins(wins, 1.0, rng=np.random.default_rng(0)),
        lambda: debiased_wins(wins, 1.0),
    ):
        with pytest.raises(ValueError, match="wins"):
            call()


def test_other_arguments_out_of_range_are_refused():
    with pytest.raises(ValueError, match="weights"):
        debiased_wins(np.stack([WINS, WINS]), [1.0, 2.0], weights=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="weights"):
        debiased_wins(WINS, 1.0, weights=0)
    with pytest.raises(ValueError, match="kind = "):
        response_weights(1.0, "best")
    with pytest.raises(ValueError, match="size = "):
        reported_wins(WINS, 1.0, size=0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="rng = "):
        laplace_wins(WINS, 1.0, rng=None)
    with pytest.raises(ValueError, match="mechanism = "):
        run("shuffled")
    with pytest.raises(ValueError, match="gamma = "):
        run("debiased", gamma=-1.0)
    with pytest.raises(ValueError, match="theta of shape"):
        run("debiased", theta=np.zeros((3, 4)), replicates=2)
    with pytest.raises(ValueError, match="no minimiser"):
        run("debiased", users=2, epsilon=0.1, gamma=0.0)
    with pytest.raises(ValueError, match="kind = "):
        privacy_schedule("flat", 10, [10])
    with pytest.raises(ValueError, match="users = "):
        privacy_schedule("faster", 10, [0])
    with pytest.raises(ValueError, match="gap = "):
        pair_order_error(-0.1, users=3, epsilon=1.0, mechanism="classic")
    with pytest.raises(ValueError, match="truth of shape"):
        ranking_errors([1.0, 2.0, 3.0], [1.0, 2.0], 1)
