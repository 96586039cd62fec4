"""Exact errors of private majorities, against enumeration and against the sampler."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpbook import errors
from dpbook.errors import expected_error_rate, expected_wrong_pairs, pair_errors
from dpbook.estimators import pairwise_counts
from dpbook.models import mallows_pair_probabilities, mallows_pmf, mallows_rankings
from dpbook.pages.ldp_kwiksort import response_exponent
from dpbook.privacy import WholeRanking
from dpbook.rankers import PairResponses
from tests.oracles import lead_by_enumeration

MECHANISMS = ["response", "laplace"]
TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs


def asks(n: int, epsilon: float, queries: int = 1, mechanism: str = "response", **given: str):
    unit = WholeRanking(n)
    return PairResponses.private(epsilon, unit, queries=queries, mechanism=mechanism, **given)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("users", [1, 4, 7])
def test_wrong_pair_against_enumeration(mechanism: str, k: int, users: int) -> None:
    ranker, agree = asks(3, 1.5, k, mechanism), np.array([[0.5, 0.8], [1.0, 0.8]])
    lie, found = ranker.channel[0, 1], pair_errors(ranker, agree, users)
    for at in np.ndindex(2, 2):
        right = agree[at] * (1 - lie) + (1 - agree[at]) * lie
        expected = lead_by_enumeration([right] * users, k / 3)
        assert (found.wrong[at], found.tie[at]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("k", [1, 2])
def test_balanced_errors_against_all_ways_to_deal(k: int) -> None:
    users, pairs, agree, ranker = 4, 3, 0.8, asks(3, 1.5, k, design="balanced")
    deals = [
        [i for i in range(users) for c in range(k) if (turn[i] * k + c) % pairs == card]
        for turn in itertools.permutations(range(users))
        for card in range(pairs)
    ]
    lie = ranker.channel[0, 1]
    right = agree * (1 - lie) + (1 - agree) * lie
    expected = np.mean([lead_by_enumeration([right] * len(d), 1.0) for d in deals], axis=0)
    found = pair_errors(ranker, agree, users)
    assert (found.wrong, found.tie) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_errors_of_fixed_rankings_against_enumeration(k: int, mechanism: str) -> None:
    ranker, counts = asks(3, 0.8, k, mechanism), np.array([[0, 5, 3], [1, 0, 6], [3, 0, 0]])
    lie, found = ranker.channel[0, 1], errors.profile_errors(ranker, counts)
    for (i, j), agree in {(0, 1): 5, (1, 2): 6, (0, 2): 3}.items():
        expected = lead_by_enumeration([1 - lie] * agree + [lie] * (6 - agree), k / 3)
        for a, b in ((i, j), (j, i)):
            assert (found.wrong[a, b], found.tie[a, b]) == pytest.approx(expected, abs=1e-13)
    rate = expected_error_rate(ranker, counts)  # the tied pair does not count
    assert rate == pytest.approx((found.wrong[0, 1] + found.wrong[1, 2]) / 3)


def test_only_what_has_no_mass_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, ranker = np.random.default_rng(5), asks(8, 0.5)
    counts = pairwise_counts(mallows_rankings(3000, 8, phi=0.9, rng=rng))
    short = errors.profile_errors(ranker, counts)
    assert errors._most_asked(3000, 1 / 28) < 300
    assert errors._most_asked(3000, 1.0) == 3000
    monkeypatch.setattr(errors, "NEGLIGIBLE", 0.0)
    full = errors.profile_errors(ranker, counts)
    assert short.wrong == pytest.approx(full.wrong, abs=1e-12)
    assert short.tie == pytest.approx(full.tie, abs=1e-12)


def test_fixed_rankings_averaged_over_a_model_are_the_model() -> None:
    table, law = mallows_pmf(3, 0.6)
    ranker, total = asks(3, 1.0, 2), 0.0
    for rows in itertools.product(range(6), repeat=3):
        counts = pairwise_counts(table[list(rows)])
        fixed = errors.profile_errors(ranker, counts)
        reverse = np.where(counts >= counts.T, fixed.wrong, 1 - fixed.wrong - fixed.tie)
        total += law[list(rows)].prod() * reverse[np.triu_indices(3, 1)].sum()
    found = expected_wrong_pairs(ranker, mallows_pair_probabilities(3, 0.6), 3)
    assert found.wrong == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(("k", "mechanism"), [(1, "response"), (3, "response"), (3, "laplace")])
def test_reports_of_the_sampler_have_these_errors(k: int, mechanism: str) -> None:
    rng, runs, ranker = np.random.default_rng(6), 4000, asks(4, 1.0, k, mechanism)
    positions = mallows_rankings(40, 4, phi=0.4, rng=rng)
    true = pairwise_counts(positions)
    counts = [ranker.release(positions, ranker.noise(40, rng=rng)) for _ in range(runs)]
    lead = np.sign(true - true.T) * np.array([c - c.T for c in counts])
    exact = errors.profile_errors(ranker, true)
    half = errors.profile_errors(asks(4, 0.5, k, mechanism), true)
    caught = 0
    for i, j in itertools.combinations(range(4), 2):
        if true[i, j] != true[j, i]:
            for seen, chance in ((lead < 0, exact.wrong), (lead == 0, exact.tie)):
                hits = int(seen[:, i, j].sum())
                assert stats.binomtest(hits, runs, chance[i, j]).pvalue > TINY
            hits = int((lead < 0)[:, i, j].sum())
            caught += stats.binomtest(hits, runs, half.wrong[i, j]).pvalue < TINY
    assert caught


def test_tiny_probabilities_are_exact() -> None:
    # two items, one pair, everybody asked: a binomial tail in exact arithmetic
    ranker = asks(2, 6.0)
    lie = Fraction(float(ranker.channel[0, 1]))
    exact = sum(
        math.comb(80, right) * (1 - lie) ** right * lie ** (80 - right) for right in range(40)
    )
    assert float(exact) < 1e-70
    # without abs=0 any number below 1e-12 would do
    found = float(pair_errors(ranker, 1.0, 80).wrong)
    assert found == pytest.approx(float(exact), rel=1e-9, abs=0)


def test_chernoff_rate_is_respected_and_nearly_attained() -> None:
    agree, pairs, users = 0.9, 10, 20_000
    found = float(pair_errors(asks(5, 1.0), agree, users).wrong)
    rate = response_exponent(1, 1.0, margin=0.8) * 0.8**2 / 2 / pairs
    assert -math.log(found) / users == pytest.approx(-math.log1p(-rate), rel=0.03)
    assert found < (1 - rate) ** users


def test_bad_arguments() -> None:
    ranker = asks(3, 1.0)
    for call, named in (
        (lambda: pair_errors(ranker, 1.2, 5), "agree"),
        (lambda: pair_errors(ranker, 0.7, 0), "users = 0"),
        (lambda: expected_wrong_pairs(ranker, np.full((4, 4), 0.5), 5), "preference of shape"),
        (lambda: expected_error_rate(ranker, [[0, 2], [1, 0], [1, 1]]), "counts"),
        (lambda: expected_error_rate(ranker, [[0, 2, 1], [1, 0, 1], [1, 1, 0]]), "same total"),
        (lambda: expected_error_rate(asks(3, 1.0, design="balanced"), np.zeros((3, 3))), "design"),
    ):
        with pytest.raises(ValueError, match=named):
            call()
