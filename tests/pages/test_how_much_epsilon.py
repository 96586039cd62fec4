"""Page 34: rankers against their laws, intervals against what they must hold."""

from __future__ import annotations

import numpy as np
import pytest

from dpbook.models import all_rankings
from dpbook.pages import how_much_epsilon as page
from dpbook.privacy import Edge, Person, WholeRanking, audit_sampler, ranking_pmf
from dpbook.rankers import (
    ExponentialRanking,
    FlippedAnswers,
    NoisyCounts,
    NoisyPairs,
    PairResponses,
)


def drawn(positions):
    """How often each ranking of `all_rankings` came up."""
    rows = {tuple(row): at for at, row in enumerate(all_rankings(positions.shape[1]).tolist())}
    return np.bincount([rows[tuple(row)] for row in positions.tolist()], minlength=len(rows))


def test_comparisons_are_drawn_by_the_laws_of_their_rankers():
    """With strengths far apart the data are certain, and only the noise is left."""
    theta, rng = np.array([80.0, 40.0, 0.0]), np.random.default_rng(1)
    families = page.comparisons(theta, 2, 20_000, rng)
    counted = drawn(families["noisy counts"](1.0))
    assert audit_sampler(counted, ranking_pmf([4, 2, 0], scale=2.0)).passed
    assert not audit_sampler(counted, ranking_pmf([4, 2, 0], scale=2 / 1.2)).passed
    ranker = FlippedAnswers.private(1.0, Edge(3, exchange=False))
    sample = ranker.sample(2 * np.triu(np.ones((3, 3), dtype=int), 1), 20_000, rng=rng)
    right = page.goals_met(families["randomised response"](1.0), 1).mean(axis=1)
    assert page.goals_met(sample, 1).mean(axis=1) == pytest.approx(right, abs=0.02)
    for name in ("randomised response", "Laplace on each answer"):
        assert page.goals_met(families[name](50.0), 1).all()
    assert page.goals_met(families["noisy counts"](np.inf), 1).all()


def test_rankings_are_drawn_by_the_laws_of_their_rankers():
    """Without dispersion everybody hands in the centre."""
    families = page.whole_rankings(0.0, 3, 4, 20_000, np.random.default_rng(3))
    table, unit = 4 * np.triu(np.ones((3, 3), dtype=int), 1), WholeRanking(3)
    person = Person(3, design="ranking", vouched=True)
    for name, kind, whose in (
        ("noisy counts", NoisyCounts, person),
        ("KwikSort on noisy leads", NoisyPairs, unit),
        ("exponential mechanism over whole rankings", ExponentialRanking, unit),
    ):
        counted = drawn(families[name](1.0))
        assert audit_sampler(counted, kind.private(1.0, whose).pmf(table)).passed, name
        assert not audit_sampler(counted, kind.private(1.3, whose).pmf(table)).passed, name
    for name, family in families.items():
        right = [page.goals_met(family(e), 1)[2].mean() for e in (0.5, 2.0, 40.0)]
        assert 0 < right[0] < right[1] < right[2], name


def test_permute_and_flip_names_the_first_place_by_its_law():
    wins = np.array([7, 5, 4])
    named = page.first_place(np.tile(wins, (20_000, 1)), 2, np.random.default_rng(8))(1.5)
    share = (named == 0).mean(axis=0)
    for moved, near in ((2, True), (1, False)):
        flip = page.permute_and_flip_law(dict(enumerate(wins.tolist())), 2 * moved).at(1.5)
        law = np.array(list(flip.values()))
        assert (np.abs(share - law) < 5 * np.sqrt(law / 20_000)).all() == near


def test_many_crowds_report_as_one_does():
    places = np.random.default_rng(4).permuted(np.tile(np.arange(4), (30, 1)), axis=1)
    ranker = PairResponses.private(1.0, WholeRanking(4), queries=2)
    one = ranker.publish(places, rng=np.random.default_rng(5))
    assert (page.reported(ranker, places, 1, np.random.default_rng(5))[0] == one).all()
    three = page.reported(ranker, places, 3, np.random.default_rng(5))
    assert three.shape == (3, 4, 4) and (three.sum(axis=0) == one).all()


def study(step, limit=None):
    """Right in all of 5000 runs from this epsilon on, else in none."""
    right, wrong = np.tile([0, 1, 2], (5000, 1)), np.tile([2, 1, 0], (5000, 1))
    return page.Study(lambda e: right if e >= step else wrong, 1, 0.9, 1e-3, limit)


def test_the_interval_holds_the_step_and_nothing_else():
    for step in (0.02, 0.5, 7.0):
        least = study(step).smallest(0)
        assert least.low < step <= least.high < 1.1 * least.low
    for limit, said in (((0, 0, 0), "not at this size"), ((5000,) * 3, "above 20")):
        assert str(study(99, limit).smallest(2)) == said
    assert str(study(99).smallest(2)) == "above 20"
    assert str(study(0.001).smallest(2)) == "at most 0.01"
    assert str(page.Smallest(0.1316, 0.1634)) == "0.13 to 0.17"
    assert str(page.Smallest(0.0, np.inf)) == "not told by so few runs"


def test_rounding_only_widens():
    for value in np.exp(np.random.default_rng(6).uniform(-5, 5, 200)):
        assert float(page.outward(value, -1)) <= value <= float(page.outward(value, 1))
