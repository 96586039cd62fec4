"""LDP-KwikSort: channels, the number of questions, the sampler, and the exact errors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from dpbook.estimators import pairwise_counts
from dpbook.mechanisms import laplace_noise, randomized_response_pmf
from dpbook.models import mallows_pair_probabilities, mallows_pmf, mallows_rankings
from dpbook.privacy import privacy_loss
from dpbook.rankers import (
    best_queries,
    best_ratio,
    channel_information,
    expected_error_rate,
    expected_wrong_pairs,
    laplace_bit_loss,
    laplace_bit_pmf,
    ldp_kwiksort,
    ldp_pair_counts,
    printed_response,
    printed_response_pmf,
    profile_pair_errors,
    report_pmf,
    response_exponent,
    switch_epsilon,
    wrong_pair_probability,
    yll_mu,
)
from dpbook.rankers.local_rankings import ldp_profile_errors
from dpbook.rankers.local_rankings.ldp_kwiksort import _questions

MECHANISMS = ["response", "laplace"]
DESIGNS = ["random", "balanced"]
TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs
SD = float(stats.norm.isf(TINY / 2))


# ------------------------------------------------------------------ one answer


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
def test_laplace_bit_follows_the_distribution_function(epsilon: float) -> None:
    noise = stats.laplace(scale=1 / epsilon)
    expected = [[noise.cdf(0.5), noise.sf(0.5)], [noise.cdf(-0.5), noise.sf(-0.5)]]
    assert laplace_bit_pmf(epsilon) == pytest.approx(np.array(expected), rel=1e-12)


def test_laplace_bit_against_noise_drawn_and_cut() -> None:
    rng = np.random.default_rng(1)
    ones = np.count_nonzero(1 + laplace_noise(1 / 0.7, 40_000, rng=rng) >= 0.5)
    assert stats.binomtest(ones, 40_000, laplace_bit_pmf(0.7)[1, 1]).pvalue > TINY


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 40.0])
def test_laplace_bit_loss_is_the_loss_of_its_channel(epsilon: float) -> None:
    channel = laplace_bit_pmf(epsilon)
    assert laplace_bit_loss(epsilon) == pytest.approx(privacy_loss(channel[0], channel[1]))
    assert epsilon / 2 < laplace_bit_loss(epsilon) < epsilon
    assert laplace_bit_loss(1.0) == pytest.approx(math.log(2 * math.exp(0.5) - 1))


def test_printed_response_says_nothing() -> None:
    assert channel_information(printed_response_pmf(2.0), 0.3) == pytest.approx(0, abs=1e-15)
    assert channel_information(randomized_response_pmf(2.0), 0.3) > 0.1
    rng = np.random.default_rng(2)
    reports = printed_response(np.repeat([0, 1], 20_000), 2.0, rng=rng).reshape(2, -1).sum(axis=1)
    for ones in reports.tolist():
        assert stats.binomtest(ones, 20_000, randomized_response_pmf(2.0)[1, 1]).pvalue > TINY


def test_information_is_the_drop_in_entropy() -> None:
    channel = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0]])
    prior = np.array([0.2, 0.5, 0.3])
    rest = sum(p * stats.entropy(row) for p, row in zip(prior, channel, strict=True))
    expected = stats.entropy(prior @ channel) - rest
    assert channel_information(channel, prior) == pytest.approx(expected)
    assert channel_information(np.eye(2), 0.5) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("channel", "prior"),
    [([[0.5, 0.4], [1, 0]], 0.5), ([[0.5, 0.5], [1, 0]], 2), (np.eye(3), 0.5)],
)
def test_information_refuses_what_is_no_channel(channel: object, prior: float) -> None:
    with pytest.raises(ValueError, match="allowed"):
        channel_information(channel, prior)  # type: ignore[arg-type]


# ------------------------------------------------------------------ how many questions


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_exponent_without_margin_is_k_times_the_squared_gap(mechanism: str) -> None:
    channel = report_pmf(3.0 / 2, mechanism)
    gap = channel[0, 0] - channel[0, 1]
    assert response_exponent(2, 3.0, mechanism=mechanism) == pytest.approx(2 * gap**2)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_exponent_with_margin_is_the_chernoff_rate(mechanism: str) -> None:
    epsilon, k, margin, pairs = 3.0, 2, 0.6, 10**7
    lie = report_pmf(epsilon / k, mechanism)[0, 1]
    right = 0.5 * (1 + margin * (1 - 2 * lie))

    def moment(tilt: float) -> float:  # of one user's +1, -1 or 0, times the number of pairs
        return k * (right * math.expm1(-tilt) + (1 - right) * math.expm1(tilt))

    rate = -optimize.minimize_scalar(moment, bounds=(0, 5), options={"xatol": 1e-10}).fun
    expected = -pairs * math.log1p(-rate / pairs) * 2 / margin**2
    found = response_exponent(k, epsilon, mechanism=mechanism, margin=margin)
    assert found == pytest.approx(expected, rel=1e-6)


def test_best_ratio_solves_the_stated_equations() -> None:
    x = 1 / best_ratio("response")
    assert math.sinh(x) == pytest.approx(2 * x)
    x = 1 / best_ratio("laplace")
    assert math.exp(x / 2) == pytest.approx(1 + x)
    assert best_ratio("laplace") < best_ratio("response") < 0.5


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0])
def test_best_queries_against_trying_all(mechanism: str, margin: float) -> None:
    for epsilon in (0.1, 1.0, 2.9, 3.2, 3.6, 10.0, 47.3):
        value = response_exponent(np.arange(1, 200), epsilon, mechanism=mechanism, margin=margin)
        found = best_queries(epsilon, mechanism=mechanism, margin=margin)
        assert found == 1 + int(np.argmax(value))
    assert best_queries(47.3, mechanism=mechanism, margin=margin, most=3) == 3


def test_switch_points() -> None:
    assert switch_epsilon(1) == pytest.approx(4 * math.atanh(math.sqrt(math.sqrt(2) - 1)))
    assert switch_epsilon(1, "laplace") == pytest.approx(4 * math.log(1 + math.sqrt(2)))
    for mechanism, k, margin in itertools.product(MECHANISMS, [1, 2, 7], [0.0, 0.8]):
        epsilon = switch_epsilon(k, mechanism, margin)
        below, above = (
            best_queries(epsilon * f, mechanism=mechanism, margin=margin) for f in (0.999, 1.001)
        )
        assert (below, above) == (k, k + 1)


# ------------------------------------------------------------------ the sampler


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_every_user_answers_k_different_pairs(design: str, k: int) -> None:
    asked = _questions(500, 6, k, design, np.random.default_rng(3)).reshape(500, -1)
    assert asked.shape == (500, k)
    assert (np.diff(np.sort(asked, axis=1), axis=1) > 0).all()
    assert asked.min() >= 0 and asked.max() < 6
    if design == "balanced":
        assert np.ptp(np.bincount(asked.ravel(), minlength=6)) <= 1


@pytest.mark.parametrize("design", DESIGNS)
def test_random_sets_of_pairs_are_uniform(design: str) -> None:
    rng = np.random.default_rng(4)
    subsets = list(itertools.combinations(range(6), 2))
    asked = np.concatenate(
        [_questions(12, 6, 2, design, rng)[rng.integers(12)][None] for _ in range(6000)]
        if design == "balanced"
        else [_questions(30_000, 6, 2, design, rng)]
    )
    where = {s: i for i, s in enumerate(subsets)}
    seen = np.bincount([where[tuple(sorted(row))] for row in asked.tolist()], minlength=15)
    assert stats.chisquare(seen).pvalue > TINY


def test_hardly_any_noise_gives_the_true_counts() -> None:
    rng = np.random.default_rng(5)
    positions = mallows_rankings(200, 6, phi=0.7, rng=rng)
    counts = ldp_pair_counts(positions, epsilon=15 * 60, queries=15, rng=rng)
    assert np.array_equal(counts, pairwise_counts(positions))
    some = ldp_pair_counts(positions, epsilon=3 * 60, queries=3, design="balanced", rng=rng)
    assert some.sum() == 600 and (some <= counts).all() and (np.diag(some) == 0).all()
    assert set((some + some.T)[np.triu_indices(6, 1)].tolist()) == {40}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("k", "epsilon"), [(1, 2.0), (3, 2.0), (1, 0.5), (3, 1.0)])
def test_reports_against_their_exact_law(
    mechanism: str, design: str, k: int, epsilon: float
) -> None:
    rng = np.random.default_rng(6)
    positions = mallows_rankings(40, 4, phi=0.4, rng=rng)
    true, runs = pairwise_counts(positions), 4000
    args = {"epsilon": epsilon, "queries": k, "mechanism": mechanism, "design": design}
    counts = ldp_pair_counts(positions, size=runs, rng=rng, **args)  # type: ignore[arg-type]
    lie = report_pmf(epsilon / k, mechanism)[0, 1]
    mean = (k / 6) * (true * (1 - lie) + true.T * lie)
    spread = np.sqrt(mean / runs) + 1e-12  # the variance of a count is at most its mean
    assert (np.abs(counts.mean(axis=0) - mean) < SD * spread).all()
    errors = profile_pair_errors(true, **args)  # type: ignore[arg-type]
    lead = np.sign(true - true.T) * (counts - np.swapaxes(counts, 1, 2))
    for i, j in itertools.combinations(range(4), 2):
        for seen, chance in ((lead < 0, errors.wrong), (lead == 0, errors.tie)):
            if true[i, j] != true[j, i]:
                hits = int(seen[:, i, j].sum())
                assert stats.binomtest(hits, runs, np.asarray(chance)[i, j]).pvalue > TINY


@pytest.mark.parametrize("design", DESIGNS)
def test_kwiksort_finds_a_clear_order(design: str) -> None:
    rng = np.random.default_rng(7)
    centre = np.array([2, 0, 3, 1])
    positions = np.tile(centre, (3000, 1))
    ranking = ldp_kwiksort(positions, epsilon=2.0, design=design, rng=rng)
    assert np.array_equal(ranking, centre)
    many = ldp_kwiksort(positions, epsilon=2.0, queries=None, design=design, size=5, rng=rng)
    assert np.array_equal(many, np.tile(centre, (5, 1)))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_kwiksort_of_two_items_follows_its_law(mechanism: str, epsilon: float) -> None:
    """20000 runs err by 5.33 * 0.5 / sqrt(20000) = 0.02 at most, at the level TINY; the chances of
    the right order at epsilon and at half of it lie 0.048 apart or more."""
    rng, runs = np.random.default_rng(9), 20_000
    positions = np.repeat([[0, 1], [1, 0]], [20, 10], axis=0)
    found = ldp_kwiksort(positions, epsilon=epsilon, mechanism=mechanism, size=runs, rng=rng)
    right = int((found[:, 0] == 0).sum())

    def chance(level: float) -> float:
        errors = profile_pair_errors(pairwise_counts(positions), epsilon=level, mechanism=mechanism)
        return 1 - float(errors.wrong[0, 1] + errors.tie[0, 1] / 2)  # type: ignore[index]

    assert stats.binomtest(right, runs, chance(epsilon)).pvalue > TINY
    assert stats.binomtest(right, runs, chance(epsilon / 2)).pvalue < TINY


def test_ties_are_ordered_at_random() -> None:
    rng = np.random.default_rng(8)
    # one user, three items, one answer: the other two pairs are ties
    runs = ldp_kwiksort([[0, 1, 2]], epsilon=1.0, size=3000, rng=rng)
    assert len(np.unique(runs, axis=0)) == 6
    assert np.array_equal(np.sort(runs, axis=1), np.tile(np.arange(3), (3000, 1)))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"queries": 4}, "queries"),
        ({"queries": 0}, "queries"),
        ({"epsilon": 0}, "epsilon"),
        ({"mechanism": "gauss"}, "mechanism"),
        ({"design": "latin"}, "design"),
        ({"positions": [0, 1, 2]}, "positions"),
        ({"positions": [[0.5, 1, 2]]}, "positions"),
        ({"rng": 5}, "rng"),
    ],
)
def test_arguments_out_of_range(change: dict[str, object], name: str) -> None:
    good = {"positions": [[0, 1, 2]], "epsilon": 1.0, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=name):
        ldp_pair_counts(**{**good, **change})  # type: ignore[arg-type]


# ------------------------------------------------------------------ exact errors


def enumerate_lead(right: list[float], rate: float) -> tuple[float, float]:
    """P(lead < 0) and P(lead = 0) over everything that the users can do, one by one."""
    wrong = tie = 0.0
    for steps in itertools.product((1, -1, 0), repeat=len(right)):
        chance = 1.0
        for step, p in zip(steps, right, strict=True):
            chance *= {1: rate * p, -1: rate * (1 - p), 0: 1 - rate}[step]
        wrong += chance * (sum(steps) < 0)
        tie += chance * (sum(steps) == 0)
    return wrong, tie


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("users", [1, 4, 7])
def test_wrong_pair_against_enumeration(mechanism: str, k: int, users: int) -> None:
    lie = report_pmf(1.5 / k, mechanism)[0, 1]
    agree = np.array([[0.5, 0.8], [1.0, 0.8]])
    found = wrong_pair_probability(agree, users, 3, epsilon=1.5, queries=k, mechanism=mechanism)
    for at in np.ndindex(2, 2):
        right = agree[at] * (1 - lie) + (1 - agree[at]) * lie
        expected = enumerate_lead([right] * users, k / 3)
        assert (found.wrong[at], found.tie[at]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("k", [1, 2])
def test_balanced_errors_against_all_ways_to_deal(k: int) -> None:
    users, pairs, lie, agree = 4, 3, report_pmf(1.5 / k)[0, 1], 0.8
    deals = [
        [i for i in range(users) for c in range(k) if (turn[i] * k + c) % pairs == card]
        for turn in itertools.permutations(range(users))
        for card in range(pairs)
    ]
    right = agree * (1 - lie) + (1 - agree) * lie
    expected = np.mean([enumerate_lead([right] * len(d), 1.0) for d in deals], axis=0)
    found = wrong_pair_probability(agree, users, 3, epsilon=1.5, queries=k, design="balanced")
    assert (found.wrong, found.tie) == pytest.approx(tuple(expected))
    # three users agree, one does not; who is asked matters now
    truths = [1 - lie, 1 - lie, 1 - lie, lie]
    expected = np.mean([enumerate_lead([truths[i] for i in d], 1.0) for d in deals], axis=0)
    counts = np.array([[0, 3, 1], [1, 0, 3], [3, 1, 0]])
    fixed = profile_pair_errors(counts, epsilon=1.5, queries=k, design="balanced")
    assert np.asarray(fixed.wrong)[0, 1] == pytest.approx(expected[0])
    assert np.asarray(fixed.tie)[1, 2] == pytest.approx(expected[1])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_profile_errors_against_enumeration(k: int) -> None:
    lie = report_pmf(0.8 / k)[0, 1]
    counts = np.array([[0, 5, 3], [1, 0, 6], [3, 0, 0]])
    found = profile_pair_errors(counts, epsilon=0.8, queries=k)
    for (i, j), agree in {(0, 1): 5, (1, 2): 6, (0, 2): 3}.items():
        right = [1 - lie] * agree + [lie] * (6 - agree)
        expected = enumerate_lead(right, k / 3)
        for a, b in ((i, j), (j, i)):
            pair = np.asarray(found.wrong)[a, b], np.asarray(found.tie)[a, b]
            assert pair == pytest.approx(expected, abs=1e-13)
    rate = expected_error_rate(counts, epsilon=0.8, queries=k)  # the tied pair does not count
    assert rate == pytest.approx((found.wrong[0, 1] + found.wrong[1, 2]) / 3)  # type: ignore[index]


def test_profile_errors_leave_out_only_what_has_no_mass(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    counts = pairwise_counts(mallows_rankings(3000, 8, phi=0.9, rng=rng))
    short = profile_pair_errors(counts, epsilon=0.5)
    assert ldp_profile_errors._most_asked(3000, 1 / 28) < 300
    assert ldp_profile_errors._most_asked(3000, 1.0) == 3000
    monkeypatch.setattr(ldp_profile_errors, "NEGLIGIBLE", 0.0)
    full = profile_pair_errors(counts, epsilon=0.5)
    assert np.asarray(short.wrong) == pytest.approx(np.asarray(full.wrong), abs=1e-12)
    assert np.asarray(short.tie) == pytest.approx(np.asarray(full.tie), abs=1e-12)


@pytest.mark.parametrize("design", DESIGNS)
def test_fixed_data_averaged_over_a_model_is_the_model(design: str) -> None:
    table, law = mallows_pmf(3, 0.6)
    args = {"epsilon": 1.0, "queries": 2, "design": design}
    total = 0.0
    for rows in itertools.product(range(6), repeat=3):
        counts = pairwise_counts(table[list(rows)])
        fixed = profile_pair_errors(counts, **args)  # type: ignore[arg-type]
        wrong, tie = np.asarray(fixed.wrong), np.asarray(fixed.tie)
        reverse = np.where(counts >= counts.T, wrong, 1 - wrong - tie)
        total += law[list(rows)].prod() * reverse[np.triu_indices(3, 1)].sum()
    found = expected_wrong_pairs(mallows_pair_probabilities(3, 0.6), 3, **args)  # type: ignore[arg-type]
    assert found.wrong == pytest.approx(total, rel=1e-10)


def test_tiny_probabilities_are_exact() -> None:
    # two items, one pair, everybody asked: a binomial tail in exact arithmetic
    lie = Fraction(float(report_pmf(6.0)[0, 1]))
    exact = sum(
        math.comb(80, right) * (1 - lie) ** right * lie ** (80 - right) for right in range(40)
    )
    found = wrong_pair_probability(1.0, 80, 2, epsilon=6.0).wrong
    assert float(exact) < 1e-70
    # without abs=0 any number below 1e-12 would do
    assert float(found) == pytest.approx(float(exact), rel=1e-9, abs=0)


def test_chernoff_rate_is_respected_and_nearly_attained() -> None:
    agree, pairs, users = 0.9, 10, 20_000
    found = wrong_pair_probability(agree, users, 5, epsilon=1.0)
    rate = response_exponent(1, 1.0, margin=0.8) * 0.8**2 / 2 / pairs
    assert -math.log(float(found.wrong)) / users == pytest.approx(-math.log1p(-rate), rel=0.03)
    assert float(found.wrong) < (1 - rate) ** users


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mu_as_printed(mechanism: str) -> None:
    m, n, theta, epsilon, k = 15, 5000, 0.5, 1.0, 2
    g = epsilon**2 * k / (epsilon + 2 * k) ** 2
    if mechanism == "laplace":
        g = (1 - math.exp(-epsilon / (2 * k))) ** 2 * k
    tilt = theta / (2 - theta)
    expected = m * (m - 1) * math.exp(-g * tilt**2 * n / (m * (m - 1)))
    args = {"theta": theta, "epsilon": epsilon, "queries": k, "mechanism": mechanism}
    assert yll_mu(m, n, **args) == pytest.approx(expected)  # type: ignore[arg-type]
    sharper = yll_mu(m, n, form="hoeffding", **args)  # type: ignore[arg-type]
    assert sharper < expected if mechanism == "response" else sharper == pytest.approx(expected)


def test_errors_refuse_bad_arguments() -> None:
    with pytest.raises(ValueError, match="agree"):
        wrong_pair_probability(1.2, 5, 3, epsilon=1.0)
    with pytest.raises(ValueError, match="queries"):
        wrong_pair_probability(0.7, 5, 3, epsilon=1.0, queries=4)
    with pytest.raises(ValueError, match="counts"):
        profile_pair_errors([[0, 2], [1, 0], [1, 1]], epsilon=1.0)
    with pytest.raises(ValueError, match="same total"):
        profile_pair_errors([[0, 2, 1], [1, 0, 1], [1, 1, 0]], epsilon=1.0)
