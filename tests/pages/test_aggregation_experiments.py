"""Page 31: reports by pair, the printed rule for the questions, leads of runs, steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbook.estimators import pairwise_counts
from dpbook.models import (
    mallows_rankings,
)
from dpbook.pages import aggregation_experiments
from dpbook.pages.aggregation_experiments import (
    as_table,
    asks,
    capped_kwiksort,
    expected_error_rate,
    fresh_reports,
    leads,
    needed,
    pair_by_pair,
    pairs_of,
    printed_choice,
    profile_errors,
    share_of_pairs,
    work,
    wrong_half,
)
from dpbook.rankers import report_pmf
from tests.oracles import lead_by_enumeration

MECHANISMS = ["response", "laplace"]
TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs
COUNTS = np.array([[0, 30, 25], [10, 0, 8], [15, 32, 0]])


def test_pairs_and_tables_are_inverse() -> None:
    assert pairs_of(COUNTS).tolist() == [30, 25, 8]
    assert as_table(pairs_of(COUNTS), pairs_of(COUNTS.T)).tolist() == COUNTS.tolist()


def test_the_distance_to_people_is_a_share_of_their_pairs() -> None:
    # Positions (0, 2, 1): 10, 15 and 8 of 40 people put the three pairs the other way.
    assert share_of_pairs(np.array([0, 2, 1]), COUNTS) == pytest.approx(33 / 40 / 3)


def test_reports_have_the_mean_of_their_law() -> None:
    runs, queries = 20_000, 2
    tally = pair_by_pair(COUNTS, 3.0, queries, "response", runs, np.random.default_rng(1))
    truth = report_pmf(1.5, "response")[1, 1]
    right = COUNTS * truth + COUNTS.T * (1 - truth)
    # Each of 40 answers counts with probability 2/3 times; a variance of at most 10 for an entry.
    assert np.abs(tally.mean(axis=0) - right * queries / 3).max() < 6 * np.sqrt(10 / runs)
    law = COUNTS / 40 + np.eye(3) / 2
    fresh = fresh_reports(law, 90, 1.5, "response", runs, np.random.default_rng(2))
    assert (fresh.sum(axis=(1, 2)) == 90).all()
    right = 30 * (law * truth + law.T * (1 - truth)) * (1 - np.eye(3))
    assert np.abs(fresh.mean(axis=0) - right).max() < 6 * np.sqrt(22.5 / runs)


def test_the_printed_rule_takes_two_questions_from_twice_root_two() -> None:
    edge = 2 * np.sqrt(2)
    assert [printed_choice(edge + d, "response", 15) for d in (-0.01, 0.01)] == [1, 2]
    assert printed_choice(0.1, "laplace", 4) == 1


def test_leads_are_those_over_the_best_run_near_the_rule() -> None:
    mean = {1: 0.4, 2: 0.3, 3: 0.35}
    runs = {
        ("x", 1.0, "response", q): (None, np.array([m - 0.01, m + 0.01])) for q, m in mean.items()
    }
    found = list(leads(runs, lambda epsilon, pairs: 1, 0, {"x": 4}))
    assert [lead for lead, _ in found] == pytest.approx([0.1, 0.05])
    assert all(bound > 100 for _, bound in found)  # two runs decide nothing at one in a million


def test_the_epsilon_needed_reaches_the_goal() -> None:
    epsilon, queries = needed(5, 0.5, m=2000)
    rates = [wrong_half(5, 2000, 0.5, epsilon, queries=q) for q in (queries, queries + 1)]
    assert rates[0] == pytest.approx(0.05, rel=1e-3) and rates[1] > rates[0]


def test_a_cap_leaves_the_unsorted_at_random() -> None:
    rng, items = np.random.default_rng(4), np.arange(4.0)
    right = np.tile(items - items[:, None], (900, 1, 1))  # leads of 0 over 1 over 2 over 3
    assert (capped_kwiksort(right, 6, rng) == np.arange(4)).all()
    hits = int((capped_kwiksort(right, 2, rng) == np.arange(4)).all(axis=1).sum())
    assert stats.binomtest(hits, 900, 1 / 24).pvalue > TINY  # 3 comparisons come first
    # Four are enough if the first pivot is in the middle; else three items stay at random.
    hits = int((capped_kwiksort(right, 4, rng) == np.arange(4)).all(axis=1).sum())
    assert stats.binomtest(hits, 900, 1 / 2 + 1 / 2 / 6).pvalue > TINY


def test_steps_of_two_items() -> None:
    # One comparison sorts them: m pairs counted, one noise, three steps of each local person.
    assert work(10, 2).tolist() == [11, 12, 31, 31]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_errors_of_fixed_rankings_against_enumeration(k: int, mechanism: str) -> None:
    ranker, counts = asks(3, 0.8, k, mechanism), np.array([[0, 5, 3], [1, 0, 6], [3, 0, 0]])
    lie, found = ranker.channel[0, 1], profile_errors(ranker, counts)
    for (i, j), agree in {(0, 1): 5, (1, 2): 6, (0, 2): 3}.items():
        expected = lead_by_enumeration([1 - lie] * agree + [lie] * (6 - agree), k / 3)
        for a, b in ((i, j), (j, i)):
            assert (found.wrong[a, b], found.tie[a, b]) == pytest.approx(expected, abs=1e-13)
    rate = expected_error_rate(ranker, counts)  # the tied pair does not count
    assert rate == pytest.approx((found.wrong[0, 1] + found.wrong[1, 2]) / 3)


def test_only_what_has_no_mass_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, ranker = np.random.default_rng(5), asks(8, 0.5)
    counts = pairwise_counts(mallows_rankings(3000, 8, phi=0.9, rng=rng))
    short = profile_errors(ranker, counts)
    assert aggregation_experiments._most_asked(3000, 1 / 28) < 300
    assert aggregation_experiments._most_asked(3000, 1.0) == 3000
    monkeypatch.setattr(aggregation_experiments, "NEGLIGIBLE", 0.0)
    full = profile_errors(ranker, counts)
    assert short.wrong == pytest.approx(full.wrong, abs=1e-12)
    assert short.tie == pytest.approx(full.tie, abs=1e-12)


@pytest.mark.parametrize(
    ("design", "counts", "named"),
    [
        ("random", [[0, 2], [1, 0], [1, 1]], "counts"),
        ("random", [[0, 2, 1], [1, 0, 1], [1, 1, 0]], "same total"),
        ("balanced", np.zeros((3, 3)), "design"),
    ],
)
def test_bad_tables_of_counts_are_named(design, counts, named) -> None:
    with pytest.raises(ValueError, match=named):
        expected_error_rate(replace(asks(3, 1.0), design=design), counts)
