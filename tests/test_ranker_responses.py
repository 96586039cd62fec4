"""Rankers for answers made private one by one: channel, loss, readings, M-estimation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.optimize import minimize
from scipy.special import expit

from dpbook.estimators import ridge_mle
from dpbook.mechanisms import debiased_response
from dpbook.models import all_rankings
from dpbook.privacy import Edge, Person, privacy_loss
from dpbook.rankers import FlippedAnswers, LaplaceAnswers, debiased_mle, flipped_mle
from tests.oracles import chi_square, laplace_sum_logpdf, rng, scipy_minimiser, sheets, tally
from tests.oracles import law_of_reports as report_pmf

WINS = np.array([[0, 7, 4], [3, 0, 9], [6, 1, 0]])
GROUPS = np.stack([WINS, 2 * WINS.T])
ANSWER, PAIRS = Edge(3, exchange=False), ((0, 1), (0, 2), (1, 2))
PERSONS = [Person(3, design=d, vouched=True) for d in ("each_pair_once", "ranking")]


def law_of_reports(ranker, table):
    """Distribution of all reports of one person, by the distribution of each."""
    distribution = np.ones(1)
    for i, j in PAIRS:
        pmf = report_pmf(ranker, int(table[i, j]), int(table[j, i]))
        distribution = np.outer(distribution, pmf).ravel()
    return distribution


def law_of_rankings(ranker, table):
    """Distribution of the ranking over all rankings of three items, ties broken at random."""
    sizes = [table[i, j] + table[j, i] + 1 for i, j in PAIRS]
    distributions = law_of_reports(ranker, table).reshape(sizes)
    distribution, ranks = np.zeros(6), all_rankings(3)
    for reports_, probability in np.ndenumerate(distributions):
        scores = np.zeros(3)
        for (i, j), said in zip(PAIRS, reports_, strict=True):
            margin = said - (table[i, j] + table[j, i]) / 2
            scores[[i, j]] += margin, -margin
        fits = [(np.diff(scores[np.argsort(place)]) <= 0).all() for place in ranks]
        distribution += probability * np.array(fits) / np.sum(fits)
    return distribution


def test_reports_follow_their_law_and_half_the_noise_does_not():
    ranker = FlippedAnswers.private(0.8, ANSWER)
    draws = ranker.publish(WINS, 20_000, rng=rng(1))
    less = replace(ranker, scale=ranker.scale / 2).publish(WINS, 20_000, rng=rng(1))
    assert draws.shape == (20_000, 3, 3) and draws.dtype == np.int64
    assert (draws + np.swapaxes(draws, 1, 2) == WINS + WINS.T).all()
    for i, j in ((0, 1), (0, 2), (2, 1)):
        distribution = report_pmf(ranker, int(WINS[i, j]), int(WINS[j, i]))
        seen, wrong = (np.bincount(x[:, i, j], minlength=distribution.size) for x in (draws, less))
        assert chi_square(seen, distribution) > 1e-3
        assert chi_square(wrong, distribution) < 1e-9
    assert abs(np.corrcoef(draws[:, 0, 1], draws[:, 0, 2])[0, 1]) < 4 / math.sqrt(20_000)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("unit", PERSONS)
def test_a_persons_reports_lose_what_is_promised_and_half_the_noise_loses_twice(epsilon, unit):
    tables = sheets(3, unit.design, None)
    for scale, loss in ((1.0, epsilon), (0.5, 2 * epsilon)):
        ranker = FlippedAnswers.private(epsilon, unit)
        ranker = replace(ranker, scale=ranker.scale * scale)
        distributions = [law_of_reports(ranker, table) for table in tables]
        found = max(privacy_loss(p, q) for p in distributions for q in distributions)
        assert found == pytest.approx(loss, rel=1e-12)
        assert ranker.loss() == pytest.approx((loss, loss), rel=1e-12)
        assert ranker.loss("ranking")[1] == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("kind", [FlippedAnswers, LaplaceAnswers])
def test_calibration_divides_epsilon_by_the_answers_that_are_protected(kind):
    assert float(kind.private(0.7, ANSWER).levels) == pytest.approx(0.7, rel=1e-15)
    assert float(kind.private(6.0, PERSONS[0]).levels) == pytest.approx(2.0, rel=1e-15)
    mixed = kind.private([0.3, 2.0], Person(5, design="ranking"))
    assert mixed.levels == pytest.approx([0.03, 0.2], rel=1e-14)
    assert mixed.loss() == pytest.approx((2.0, 2.0))
    assert kind.private(0.7, PERSONS[0]).at_loss(2.0).levels == pytest.approx(2 / 3, rel=1e-9)
    assert kind(ANSWER, 0.0).loss() == (math.inf, math.inf)


@pytest.mark.parametrize("answers", [1, 2, 5])
def test_laplace_sums_have_their_density(answers):
    ranker = LaplaceAnswers.private(0.5, Edge(2, exchange=False))
    data = np.array([[0, answers - 1], [1, 0]])

    def density(x):
        return math.exp(laplace_sum_logpdf(0.5, x - middle, answers))

    middle = answers - 1
    halves = [integrate.quad(density, a, b)[0] for a, b in ((-90, middle), (middle, 90))]
    assert halves == pytest.approx([0.5, 0.5], abs=1e-6)
    draws = ranker.publish(data, 20_000, rng=rng(1))[:, 0, 1]
    for share in (0.2, 0.7):
        at = np.quantile(draws, share)
        below = integrate.quad(density, -90, at, points=[middle], limit=200)[0]
        assert below == pytest.approx(share, abs=0.02)
    if answers == 1:
        assert density(3.0) == pytest.approx(0.25 * math.exp(-1.5), rel=1e-9)


def test_laplace_outcomes_are_the_answers_plus_a_sum_of_laplace_variables():
    ranker = LaplaceAnswers.private([0.5, 2.0], ANSWER)
    draws = ranker.publish(np.stack([WINS, WINS]), 20_000, rng=rng(1))
    assert np.abs(draws + np.swapaxes(draws, -1, -2) - (WINS + WINS.T)).max() <= 1e-11
    for g, epsilon in enumerate([0.5, 2.0]):
        noise = draws[:, g, 0, 1] - WINS[0, 1]
        direct = rng(3).laplace(scale=1 / epsilon, size=(20_000, 10)).sum(axis=1)
        assert stats.ks_2samp(noise, direct).pvalue > 1e-3
        assert stats.ks_2samp(noise, 1.2 * direct).pvalue < 1e-6


def test_sampled_rankings_follow_their_exact_law_and_half_the_noise_does_not():
    table = np.array([[0, 2, 1], [0, 0, 2], [1, 0, 0]])
    ranker = FlippedAnswers.private(1.0, ANSWER)
    distribution = law_of_rankings(ranker, table)
    assert distribution.sum() == pytest.approx(1, abs=1e-12)
    for scale, fits in ((1.0, True), (0.5, False)):
        drawn = replace(ranker, scale=scale * ranker.scale).sample(table, 20_000, rng=rng(4))
        assert (chi_square(tally(drawn), distribution) > 1e-3) == fits


def test_simulated_scores_are_those_of_simulated_answers():
    """True answers drawn, turned round, read and added up: the law of `simulate`, in two steps."""
    probability = expit(np.subtract.outer([0.8, 0.0, -0.3], [0.8, 0.0, -0.3]))
    for kind in (FlippedAnswers, LaplaceAnswers):
        ranker, generator = kind.private([0.5, 2.0], ANSWER), rng(6)
        direct = ranker.simulate(probability, [3, 2], 20_000, rng=generator).round(9) + 0.0
        true = np.zeros((20_000, 2, 3, 3), dtype=int)
        for g, users in enumerate((3, 2)):
            for i, j in PAIRS:
                true[:, g, i, j] = generator.binomial(users, probability[i, j], 20_000)
                true[:, g, j, i] = users - true[:, g, i, j]
        scores = ranker.scores(ranker.publish(true, rng=generator)).round(9) + 0.0
        for item in range(3):
            assert stats.ks_2samp(direct[:, item], scores[:, item]).pvalue > 1e-3
        assert stats.ks_2samp(direct[:, 0], scores[:, 1]).pvalue < 1e-9


def test_debiased_outcomes_are_the_sums_of_debiased_responses():
    # Three users answer the one pair of two items; users 0 and 2 share an epsilon.
    epsilons = np.array([0.4, 2.0])
    counts = np.array([[[0, 2], [0, 0]], [[0, 0], [1, 0]]])
    values = debiased_response([1, 0, 1], epsilons[[0, 1, 0]])
    t2 = np.tanh(epsilons[[0, 1, 0]] / 2) ** 2
    answer = Edge(2, exchange=False)
    for reading, weights in (("debiased", np.ones(3)), ("weighted", 3 * t2 / t2.sum())):
        table = FlippedAnswers.private(epsilons, answer, reading=reading).debias(counts)
        assert table[0, 1] == pytest.approx(weights @ values, rel=1e-12)
        assert table[0, 1] + table[1, 0] == pytest.approx(3.0, rel=1e-12)
    classic = FlippedAnswers.private(epsilons, answer, reading="classic").debias(counts)
    assert classic.tolist() == [[0, 2], [1, 0]]


def random_outcomes(n: int, complete: bool, rng: np.random.Generator) -> np.ndarray:
    totals = np.full((n, n), 5.0) if complete else rng.integers(0, 8, (n, n)).astype(float)
    upper = np.triu(rng.normal(2.0, 6.0, (n, n)), 1)
    totals = np.triu(totals, 1)
    return upper + (totals - upper).T * (np.tri(n, k=-1) > 0)


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


def log_likelihood(theta, reports, epsilons, gamma):
    """Of flipped answers, over ordered pairs; reports of shape (groups, n, n)."""
    chance = 1 / (1 + np.exp(theta - theta[:, None])), 1 / (1 + np.exp(theta[:, None] - theta))
    each = zip(reports, np.exp(np.atleast_1d(epsilons)), strict=True)
    terms = [w * np.log((e * chance[0] + chance[1]) / (1 + e)) for w, e in each]
    return np.sum(terms) - gamma / 2 * theta @ theta


def sent(theta, users, epsilons, rng):
    """Reports of each group on all pairs, shape (groups, n, n)."""
    ranker = FlippedAnswers.private(epsilons, Edge(theta.size, exchange=False), reading="classic")
    ahead = np.triu(rng.binomial(users, expit(theta[:, None] - theta)), 1)
    below = np.tril(np.array(users) - np.swapaxes(ahead, -1, -2), -1)
    return ranker.publish(ahead + below, rng=rng)


@pytest.mark.parametrize(
    ("n", "gap", "epsilons"), [(4, 0.5, [2.0]), (6, 0.3, [0.5, 3.0]), (40, 1.0, [1.0])]
)
def test_the_likelihood_ends_where_no_other_optimiser_gets_further(n, gap, epsilons):
    """And never below the likelihood of the truth, though it is not concave."""
    theta, users = gap * np.arange(n), np.full((len(epsilons), 1, 1), 40)
    reports = np.array([sent(theta, users, epsilons, rng(k)) for k in range(8)])
    fit = flipped_mle(reports, epsilons, gamma=0.01, tol=1e-9)
    assert np.allclose(fit.theta.sum(axis=-1), 0, atol=1e-6)
    for estimate, tables in zip(fit.theta, reports, strict=True):
        given = tables, epsilons, 0.01
        end = log_likelihood(estimate, *given)
        assert end > log_likelihood(theta - theta.mean(), *given)
        if n < 10:  # from the truth, and by differences instead of the gradient
            start, minus = theta - theta.mean(), lambda x, *given: -log_likelihood(x, *given)
            found = minimize(minus, start, args=given, options={"gtol": 1e-4})
            assert end > -found.fun - 1e-6
            assert estimate == pytest.approx(found.x, abs=2e-3)


def test_without_flips_it_is_the_ridge_fit_and_groups_of_one_epsilon_are_one():
    fit = flipped_mle(WINS, 60.0, gamma=0.5, tol=1e-12).theta
    assert fit == pytest.approx(ridge_mle(WINS, gamma=0.5).theta, abs=1e-5)
    tables = np.stack([WINS, WINS.T, WINS + 2 * WINS.T])
    both, pooled = flipped_mle(tables, [0.7] * 3), flipped_mle(tables.sum(axis=0), 0.7)
    assert both.theta == pytest.approx(pooled.theta, abs=1e-10)
    # Equal scores have no order that a first guess could lend them.
    assert np.abs(flipped_mle(WINS + WINS.T, 1.0).theta).max() < 1e-9
    with pytest.raises(RuntimeError, match="flipped_mle has not ended after 500 steps"):
        flipped_mle(WINS, 1.0, tol=1e-300)


def test_weighted_outcomes_add_up_to_the_number_of_answers():
    """Groups with different epsilon: their weights differ, the total is the people's."""
    ranker = FlippedAnswers(ANSWER, 1.0, shares=(0.5, 2.0), reading="weighted")
    for groups in (GROUPS, GROUPS * [[[0]], [[1]]]):  # of the second one group has no people
        outcomes = ranker.debias(groups)
        assert (outcomes + outcomes.T).sum() / 2 == pytest.approx(groups.sum())
