"""Rankers without a curator, one round: channels, losses, samplers, unbiased fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbook.estimators import pairwise_counts
from dpbook.models import all_rankings, mallows_rankings
from dpbook.pages.local_protocols import entry_variance
from dpbook.privacy import WholeRanking, privacy_loss
from dpbook.rankers import (
    Hypercube,
    PairOrParity,
    PairResponses,
    RandomOrder,
    best_queries,
    best_ratio,
    laplace_bit_loss,
)
from dpbook.rankers.local_pairs import questions, report_pmf
from tests.oracles import rng, worst_loss

MECHANISMS = ["response", "laplace"]
DESIGNS = ["random", "balanced"]
TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs
SD = float(stats.norm.isf(TINY / 2))
THREE, FOUR = WholeRanking(3), WholeRanking(4)


# A ranker, and what its maker was asked to spend.  At epsilon <= 1 a budget that is spent twice
# shows; coth(epsilon / 2) is 1 where e^epsilon is large.
CASES = {
    "one pair": (PairResponses.private(1.0, FOUR), 1.0),
    "two of three": (PairResponses.private(0.7, THREE, queries=2), 0.7),
    "all pairs": (PairResponses.private(0.7, THREE, queries=3), 0.7),
    "five of six, dealt": (PairResponses.private(1.0, FOUR, queries=5, design="balanced"), 1.0),
    "laplace": (PairResponses.private(1.0, FOUR, queries=2, mechanism="laplace"), 1.0),
    "best K": (PairResponses.private(5.0, FOUR, queries=best_queries(5.0)), 5.0),
    "hypercube, odd": (Hypercube.private(1.0, THREE), 1.0),
    "hypercube, even": (Hypercube.private(1.0, FOUR), 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_loss_is_that_of_the_channel_and_at_most_the_promise(name: str) -> None:
    ranker, epsilon = CASES[name]
    distributions = [ranker.message_pmf(ranks) for ranks in all_rankings(ranker.unit.n_items)]
    assert all(pmf.sum() == pytest.approx(1, abs=1e-12) for pmf in distributions)
    low, high = ranker.loss()
    assert low == high == pytest.approx(worst_loss(distributions), rel=1e-12)
    if name == "laplace":  # the bits spend less than the numbers
        assert epsilon / 2 < high < epsilon
    else:
        assert high == pytest.approx(epsilon, rel=1e-12)
    assert ranker.loss("ranking") == (0.0, high)


def test_what_is_printed() -> None:
    printed = PairResponses.printed(1.0, FOUR, queries=2)
    assert printed.loss() == (0.0, 0.0)
    distributions = [printed.message_pmf(ranks) for ranks in all_rankings(4)]
    assert worst_loss(distributions) == pytest.approx(0, abs=1e-15)
    with pytest.raises(ValueError, match="printed"):
        printed.fractions(np.ones((4, 4)))
    one = printed.channel[1, 1]
    reports = printed.publish(np.tile([0, 1, 2, 3], (4000, 1)), rng=rng())
    assert stats.binomtest(int(np.triu(reports).sum()), 8000, one).pvalue > TINY
    # closed half-spaces: right in odd dimension, ln(1 + e^epsilon) in even dimension
    for unit, loss in ((THREE, 1.0), (FOUR, math.log(1 + math.e))):
        closed = Hypercube.printed(1.0, unit)
        distributions = [closed.message_pmf(ranks) for ranks in all_rankings(unit.n_items)]
        low, high = closed.loss()
        assert low == high == pytest.approx(loss) == pytest.approx(worst_loss(distributions))


def seen_messages(ranker: PairResponses | Hypercube, ranks: list[int], draws: int) -> np.ndarray:
    """How often each message was sent, in the order of `message_pmf`."""
    source, n = rng(11), len(ranks)
    first, second = np.triu_indices(n, 1)
    if isinstance(ranker, Hypercube):
        sent = [ranker.publish([ranks], rng=source)[first, second] for _ in range(draws)]
        places = 2 ** np.arange(first.size)[::-1]
        return np.bincount(np.array(sent) @ places, minlength=2**first.size)
    sets = list(itertools.combinations(range(first.size), ranker.queries))
    seen = np.zeros((len(sets), 2**ranker.queries), dtype=int)
    for _ in range(draws):
        reports = ranker.publish([ranks], rng=source)
        asked = np.flatnonzero((reports + reports.T)[first, second])
        bits = reports[first, second][asked]
        seen[sets.index(tuple(asked)), bits @ 2 ** np.arange(asked.size)[::-1]] += 1
    return seen.ravel()


@pytest.mark.parametrize("name", [*CASES, "printed, even"])
def test_sampler_follows_its_channel(name: str) -> None:
    ranker = Hypercube.printed(1.0, FOUR) if name == "printed, even" else CASES[name][0]
    ranks, draws = [2, 0, 1, 3][: ranker.unit.n_items], 3000
    ranks = [sorted(ranks).index(p) for p in ranks]
    seen = seen_messages(ranker, ranks, draws)
    assert stats.chisquare(seen, draws * ranker.message_pmf(ranks)).pvalue > TINY


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_fractions_against_their_moments(name: str, epsilon: float) -> None:
    ranker = replace(CASES[name][0].at_loss(epsilon), solver="kemeny")
    n, source, runs = ranker.unit.n_items, rng(8), 1500
    positions = mallows_rankings(25, n, phi=0.5, rng=source)
    share, off = pairwise_counts(positions) / 25, ~np.eye(n, dtype=bool)
    reports = [ranker.publish(positions, rng=source) for _ in range(runs)]
    draws = ranker.fractions(np.array(reports))
    assert draws[:, off] + np.swapaxes(draws, 1, 2)[:, off] == pytest.approx(1)
    assert draws[0] == pytest.approx(ranker.fractions(reports[0]), abs=1e-12)
    if name == "five of six, dealt":  # its groups are of a fixed size
        with pytest.raises(ValueError, match="balanced"):
            entry_variance(ranker, 25)
        exact = draws[:, off].var()
    else:
        exact = entry_variance(ranker, 25)
        assert np.abs(draws[:, off].var(axis=0) / exact - 1).max() < SD * math.sqrt(2.5 / runs)
    assert np.abs(draws.mean(axis=0) - share).max() < SD * math.sqrt(1.2 * exact / runs)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_everybody_answers_k_different_pairs(design: str, k: int) -> None:
    asked = questions(500, 6, k, design, rng(3)).reshape(500, -1)
    assert asked.shape == (500, k)
    assert (np.diff(np.sort(asked, axis=1), axis=1) > 0).all()
    assert asked.min() >= 0 and asked.max() < 6
    if design == "balanced":
        assert np.ptp(np.bincount(asked.ravel(), minlength=6)) <= 1


@pytest.mark.parametrize("k", [2, 15, 16, 17, 20])
def test_questions_are_drawn_by_floyds_sampling(k: int) -> None:
    """As Bentley and Floyd (1987) print it: what is taken already makes way for the last one."""
    draw, chosen = rng(9), [list[int]() for _ in range(200)]
    for top in range(21 - k, 21):
        for row, number in zip(chosen, draw.integers(0, top + 1, size=200).tolist(), strict=True):
            row.append(top if number in row else number)
    assert questions(200, 21, k, "random", rng(9)).tolist() == chosen


def test_dealt_sets_of_pairs_are_uniform() -> None:
    """Of the random design every number is that of Floyd's sampling."""
    source, subsets = rng(4), list(itertools.combinations(range(6), 2))
    asked = [questions(12, 6, 2, "balanced", source)[source.integers(12)] for _ in range(6000)]
    seen = [subsets.index(tuple(sorted(row.tolist()))) for row in asked]
    assert stats.chisquare(np.bincount(seen, minlength=15)).pvalue > TINY


def test_hardly_any_noise_gives_the_true_counts() -> None:
    source, unit = rng(5), WholeRanking(6)
    positions = mallows_rankings(200, 6, phi=0.7, rng=source)
    true = pairwise_counts(positions)
    everything = PairResponses.private(15 * 60, unit, queries=15)
    assert np.array_equal(everything.publish(positions, rng=source), true)
    dealt = PairResponses.private(3 * 60, unit, queries=3, design="balanced")
    some = dealt.publish(positions, rng=source)
    assert some.sum() == 600 and (some <= true).all() and (np.diag(some) == 0).all()
    assert set((some + some.T)[np.triu_indices(6, 1)].tolist()) == {40}


def test_ties_are_ordered_at_random() -> None:
    # one person, three items, one answer: the other two pairs are ties
    runs = PairResponses.private(1.0, THREE).sample([[0, 1, 2]], 3000, rng=rng(8))
    assert len(np.unique(runs, axis=0)) == 6
    assert np.array_equal(np.sort(runs, axis=1), np.tile(np.arange(3), (3000, 1)))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 40.0])
def test_laplace_bit_follows_the_distribution_function_and_has_its_loss(epsilon: float) -> None:
    noise, channel = stats.laplace(scale=1 / epsilon), report_pmf(epsilon, "laplace")
    expected = [[noise.cdf(0.5), noise.sf(0.5)], [noise.cdf(-0.5), noise.sf(-0.5)]]
    assert channel == pytest.approx(np.array(expected), rel=1e-12)
    assert laplace_bit_loss(epsilon) == pytest.approx(privacy_loss(channel[0], channel[1]))
    assert epsilon / 2 < laplace_bit_loss(epsilon) < epsilon


def test_best_ratio_solves_the_stated_equations() -> None:
    x = 1 / best_ratio("response")
    assert math.sinh(x) == pytest.approx(2 * x)
    x = 1 / best_ratio("laplace")
    assert math.exp(x / 2) == pytest.approx(1 + x)
    assert best_ratio("laplace") < best_ratio("response") < 0.5


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_best_queries_against_trying_all(mechanism: str) -> None:
    for epsilon in (0.1, 1.0, 2.9, 3.2, 3.6, 10.0, 47.3):
        margins = [1 - 2 * report_pmf(epsilon / k, mechanism)[0, 1] for k in range(1, 200)]
        value = np.arange(1, 200) * np.square(margins)
        assert best_queries(epsilon, mechanism=mechanism) == 1 + int(np.argmax(value))
    assert best_queries(47.3, mechanism=mechanism, most=3) == 3


@pytest.mark.parametrize("queries", [1, 4, 6])
def test_releases_are_single_releases_in_turn(queries: int) -> None:
    people = mallows_rankings(40, 4, phi=0.5, rng=rng())
    ranker = PairResponses.private(1.0, FOUR, queries=queries)
    many, draw = ranker.publish(people, (2, 3), rng=rng(1)), rng(1)
    single = [ranker.reports(people, ranker.lots(40, rng=draw)) for _ in range(6)]
    np.testing.assert_array_equal(many, np.reshape(single, (2, 3, 4, 4)))
    assert (many[0, 0] != many[0, 1]).any()


@pytest.mark.parametrize("make", [PairResponses.private, PairResponses.printed])
def test_reports_on_all_pairs_are_those_of_each_person(make: Callable[..., PairResponses]) -> None:
    people = mallows_rankings(30, 4, phi=0.5, rng=rng())
    ranker = make(1.0, FOUR, queries=6)
    question, uniform = ranker.lots(30, rng=rng(1))
    expected, probability = np.zeros((4, 4), dtype=int), ranker.channel
    for ranks, asked, drawn in zip(people, question, uniform, strict=True):
        for pair, u in zip(asked, drawn, strict=True):
            i, j = list(itertools.combinations(range(4), 2))[pair]
            honest = ranks[i] < ranks[j]
            before = u >= probability[1, 0] if honest else u < probability[0, 1]
            expected[(i, j) if before else (j, i)] += 1
    np.testing.assert_array_equal(ranker.reports(people, (question, uniform)), expected)


def test_who_is_asked_the_same_in_the_balanced_design_is_drawn_by_lot() -> None:
    """Four people share three questions: every two of them are those who answer the same."""
    couples = {
        tuple(np.flatnonzero(asked == np.bincount(asked).argmax()).tolist())
        for asked in (questions(4, 3, 1, "balanced", rng(k))[:, 0] for k in range(200))
    }
    assert couples == set(itertools.combinations(range(4), 2))  # or chance: 6 (5/6)^200


TWO_PARTS = {
    "pair or parity": PairOrParity.private(1.0, FOUR),
    "more parities": PairOrParity.private(1.0, FOUR, share=0.3),
    "order of two": RandomOrder.private(1.0, FOUR, items=2),
    "order of three": RandomOrder.private(2.0, FOUR),
    "order of all": RandomOrder.private(3.0, FOUR, items=4),
}


def two_tables(ranker: PairOrParity | RandomOrder) -> np.ndarray:
    """What each message adds to the two tables, in the order of `message_pmf`."""
    n = ranker.unit.n_items
    if isinstance(ranker, PairOrParity):
        pairs, triples = (itertools.combinations(range(n), k) for k in (2, 3))
        asked = [(0, 3, pair[:1], pair[1:]) for pair in pairs]
        asked += [(1, 1, t, t[1:] + t[:1]) for t in triples]
        tables = np.zeros((len(asked), 2, 2, n, n), dtype=int)
        for (no, yes), (which, weight, i, j) in zip(tables, asked, strict=True):
            yes[which, i, j] = no[which, j, i] = weight
        return tables.reshape(-1, 2, n, n)
    found, k = [], ranker.items
    for chosen in itertools.combinations(range(n), k):
        for places in itertools.permutations(range(k)):
            table = np.zeros((2, n, n), dtype=int)
            for (i, p), (j, q) in itertools.permutations(zip(chosen, places, strict=True), 2):
                if p < q:
                    table[:, i, j] = 2 * (q - p), k - 2 * (q - p)
            found.append(table)
    return np.array(found)


@pytest.mark.parametrize("name", TWO_PARTS)
def test_two_parts_are_unbiased_and_as_precise_as_they_say(name: str) -> None:
    ranker, tables = TWO_PARTS[name], two_tables(TWO_PARTS[name])
    rows = np.array([ranker.message_pmf(ranks) for ranks in all_rankings(4)])
    assert rows.sum(axis=1) == pytest.approx(1)
    assert ranker.loss()[1] == pytest.approx(worst_loss(list(rows)), rel=1e-12)
    upper = np.triu_indices(4, 1)
    told = 2 * ranker.fractions(tables)[:, *upper] - 1
    true = np.array([2 * pairwise_counts([ranks])[upper] - 1 for ranks in all_rankings(4)])
    assert rows @ told == pytest.approx(true)
    squares = rows @ told**2
    assert squares.mean(axis=1) == pytest.approx(ranker.gain**2)
    if isinstance(ranker, PairOrParity):
        assert squares == pytest.approx(ranker.gain**2)
        assert TWO_PARTS["pair or parity"].gain <= ranker.gain
    ranks, draws, source = [2, 0, 1, 3], 2000, rng(3)
    sent = np.array([ranker.publish([ranks], rng=source) for _ in range(draws)])
    place = (tables[:, None] == sent).all(axis=(2, 3, 4))
    assert (place.sum(axis=0) == 1).all()  # one message each
    assert stats.chisquare(place.sum(axis=1), draws * ranker.message_pmf(ranks)).pvalue > TINY


@pytest.mark.parametrize("make", [PairOrParity.private, RandomOrder.private])
def test_two_parts_find_a_clear_order_and_refuse_what_they_cannot_do(
    make: Callable[..., PairOrParity | RandomOrder],
) -> None:
    for solver in ("kwiksort", "kemeny", "borda"):
        ranker = make(9.0, WholeRanking(5), solver=solver)
        people = np.tile([3, 0, 1, 4, 2], (3000, 1))
        assert ranker.sample(people, rng=rng(1)).tolist() == [3, 0, 1, 4, 2]
    with pytest.raises(ValueError, match="n_items"):
        make(1.0, WholeRanking(2))
    with pytest.raises(ValueError, match="released"):
        ranker.fractions(np.ones((5, 5)))
    for bad in ({"share": 0.0}, {"items": 6}):
        if (name := next(iter(bad))) in vars(ranker):
            with pytest.raises(ValueError, match=name):
                make(1.0, WholeRanking(5), **bad)
