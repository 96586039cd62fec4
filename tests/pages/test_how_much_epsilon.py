"""Page 34: rankers against their distributions, intervals against what they must hold."""

from __future__ import annotations

import numpy as np

from dpbook.models import all_rankings
from dpbook.pages import how_much_epsilon as page
from dpbook.privacy import Edge, Person, WholeRanking, audit_sampler, top_k_pmf
from dpbook.rankers import (
    ExponentialRanking,
    NoisyCounts,
    NoisyPairs,
    PairResponses,
    TopSet,
)


def drawn(positions):
    """How often each ranking of `all_rankings` came up."""
    rows = {tuple(row): at for at, row in enumerate(all_rankings(positions.shape[1]).tolist())}
    return np.bincount([rows[tuple(row)] for row in positions.tolist()], minlength=len(rows))


def test_rankings_are_drawn_by_the_laws_of_their_rankers():
    """Without dispersion everybody hands in the centre."""
    families = page.whole_rankings(0.0, 3, 1, 4, 20_000, np.random.default_rng(3))
    table, unit = 4 * np.triu(np.ones((3, 3), dtype=int), 1), WholeRanking(3)
    person = Person(3, design="ranking", vouched=True)
    for name, kind, whose in (
        ("noisy counts", NoisyCounts, person),
        ("KwikSort on noisy margins", NoisyPairs, unit),
        ("exponential mechanism over whole rankings", ExponentialRanking, unit),
    ):
        counted = drawn(families[name](1.0))
        assert audit_sampler(counted, kind.private(1.0, whose).pmf(table)).passed, name
        assert not audit_sampler(counted, kind.private(1.3, whose).pmf(table)).passed, name
    for name, family in families.items():
        goal = 0 if "alone" in name else 2
        right = [page.goals_met(family(e), 1)[goal].mean() for e in (0.5, 2.0, 40.0)]
        assert 0 < right[0] < right[1] < right[2], name


def test_what_is_released_alone_is_drawn_by_its_ranker():
    table, unit = np.array([[0, 5, 2], [1, 0, 4], [3, 2, 0]]), Edge(3, exchange=False)
    families = page.alone(np.tile(table, (20_000, 1, 1)), unit, 2, [8])
    for goal, size in enumerate((1, 2)):
        for name, how in page.ALONE.items():
            counted = drawn(families[page.of_goal(name, goal)](1.5))
            for e, near in ((1.5, True), (2.5, False)):
                law = TopSet.private(e, unit, size, how).pmf(table)
                assert audit_sampler(counted, law).passed == near, (name, goal)
    first = (families[page.NOISY](1.5)[:, 0] == 0).mean()
    assert abs(first - top_k_pmf(table.sum(axis=1), 1, scale=2 / 1.5)[0]) < 0.018


def test_many_crowds_report_as_one_does():
    ranks = np.random.default_rng(4).permuted(np.tile(np.arange(4), (30, 1)), axis=1)
    ranker = PairResponses.private(1.0, WholeRanking(4), queries=2)
    one = ranker.publish(ranks, rng=np.random.default_rng(5))
    assert (page.reported(ranker, ranks, 1, np.random.default_rng(5))[0] == one).all()
    three = page.reported(ranker, ranks, 3, np.random.default_rng(5))
    assert three.shape == (3, 4, 4) and (three.sum(axis=0) == one).all()


def test_an_interval_says_which_end_is_known():
    for least, said in (
        (page.Smallest(0.1316, 0.1634), "0.13 to 0.17"),
        (page.Smallest(0.0, 0.01), "at most 0.01"),
        (page.Smallest(20.0, np.inf), "above 20"),
        (page.Smallest(20.0, np.inf, possible=False), "not at this size"),
        (page.Smallest(0.0, np.inf), "too few runs to say"),
    ):
        assert str(least) == said


def test_rounding_only_widens():
    for value in np.exp(np.random.default_rng(6).uniform(-5, 5, 200)):
        assert float(page.outward(value, -1)) <= value <= float(page.outward(value, 1))
