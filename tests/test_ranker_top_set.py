"""Sets released alone: their distribution by all orders of flips, and the least noise."""

from itertools import permutations

import numpy as np
import pytest

from dpbook.mechanisms.noise import exponential_pmf, permute_and_flip_pmf
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rankers import TopSet


def test_permute_and_flip_keeps_the_first_that_its_coin_lets_pass():
    wins = np.array([7.0, 5, 4, 4])
    keep, distribution = np.exp(0.35 * (wins - wins.max())), np.zeros(4)
    for order in permutations(range(4)):
        left = 1 / 24
        for item in order:
            distribution[item] += left * keep[item]
            left *= 1 - keep[item]
    assert permute_and_flip_pmf(wins, 2, 1.4) == pytest.approx(distribution, rel=1e-12)
    assert wins @ distribution > wins @ exponential_pmf(wins, 2, 1.4)
    assert permute_and_flip_pmf(np.zeros(3000), 1, 1) == pytest.approx(np.full(3000, 1 / 3000))


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential"])
def test_no_less_noise_will_do_in_a_large_survey(mechanism):
    """A reversed ranking: of two that are far ahead and two that are far behind, all move."""
    ranker = TopSet.private(1.0, WholeRanking(4), 2, mechanism)
    wins, move = np.array([200.0, 200, 0, 0]), np.array([-2.0, -2, 2, 2])
    log_ratio = np.log(ranker.set_pmf(wins + move)[5] / ranker.set_pmf(wins)[5])
    assert log_ratio == pytest.approx(1) and ranker.scale == 8 and ranker.loss() == (1, 1)
    flip = TopSet(Edge(3), 1.0, 1, mechanism)  # as if all scores only rose
    wins = [flip.set_pmf([40, 0, x])[2] for x in (0, 1)], flip.set_pmf([39, 0, 1])[2]
    assert flip.loss() == (2, 2) and np.log(wins[1] / wins[0][0]) == pytest.approx(2)


def test_half_wins_and_few_people_are_taken_and_too_many_sets_refused():
    unit = Person(3, design="each_pair_once", vouched=True, users=2)
    tie = [[0, 0.5, 2], [1.5, 0, 1], [0, 1, 0]]
    assert TopSet.private(1.0, unit).publish(tie, rng=np.random.default_rng(1)).sum() == 1
    assert TopSet.private(1.0, unit).at_loss(1.0).scale < TopSet.private(1.0, unit).scale
    with pytest.raises(ValueError, match="k = 10 of 40 items: allowed are at most 5000 sets"):
        TopSet.private(1.0, Edge(40), 10).set_pmf(np.arange(40))
    with pytest.raises(ValueError, match="mechanism = 'gumbel'"):
        TopSet.private(1.0, Edge(4), 1, "gumbel")
