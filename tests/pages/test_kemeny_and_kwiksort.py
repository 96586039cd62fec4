"""KwikSort's worst cases against enumeration of the ranking's law."""

import itertools

import numpy as np
import pytest

from dpbook.estimators import kemeny_score, kwiksort_pmf, pairwise_counts
from dpbook.models import all_rankings
from dpbook.pages.kemeny_and_kwiksort import (
    chain_ratio,
    kwiksort_pair_probabilities,
    random_tournament,
    tournaments,
    worst_ratio,
)

CYCLE = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)


def test_three_items_in_a_cycle():
    placed = kwiksort_pair_probabilities(CYCLE)
    assert np.isclose(worst_ratio(placed, wins=CYCLE)[0], 4 / 3)
    assert np.isclose(worst_ratio(placed, wins=CYCLE, triangle=False)[0], 7 / 3)


@pytest.mark.parametrize("triangle", [True, False])
def test_the_fractions_attain_the_ratio(triangle):
    rng = np.random.default_rng(2)
    for _ in range(20):
        wins = random_tournament(4, 0.5, rng)
        placed = kwiksort_pair_probabilities(wins.astype(float))
        ratio, best = worst_ratio(placed, wins=wins, triangle=triangle)
        assert (best[wins] >= 0.5 - 1e-9).all()
        assert is_table_of_rankings(best) or not triangle
        assert np.isclose((placed * best.T).sum(), ratio * kemeny_score(np.arange(4), best))


def is_table_of_rankings(table):
    triples = itertools.permutations(range(len(table)), 3)
    return all(table[a, b] + table[b, c] >= table[a, c] - 1e-9 for a, b, c in triples)


def test_chain_against_enumeration():
    for signs in itertools.product([False, True], repeat=5):
        before = np.array(signs)
        orders = [[5, *range(5)], [*range(5), 5]]
        orders.append([*np.flatnonzero(~before), 5, *np.flatnonzero(before)])
        counts = pairwise_counts(np.argsort(orders, axis=1), weights=[10**7, 10**7, 1])
        rankings, law = all_rankings(6), kwiksort_pmf((counts > counts.T).astype(float))
        cost = kemeny_score(rankings, counts)
        assert np.isclose(law @ cost / cost.min(), chain_ratio(before), rtol=1e-6)


def test_tournaments_are_all_ways_to_win_or_lose_each_pair():
    wins = tournaments(4)
    assert (wins + np.swapaxes(wins, 1, 2) == 1 - np.eye(4)).all()
    assert len(np.unique(wins.reshape(len(wins), -1), axis=0)) == len(wins) == 2**6


@pytest.mark.parametrize("triangle", [True, False])
def test_the_worst_case_is_among_tournaments_in_which_each_item_beats_the_next(triangle):
    def worst(wins):
        pairs = zip(kwiksort_pair_probabilities(wins), wins, strict=True)
        return max(worst_ratio(p, wins=w, triangle=triangle)[0] for p, w in pairs)

    assert len(tournaments(5, chain=True)) == 2**6
    for n in (3, 4):
        assert np.isclose(worst(tournaments(n, chain=True)), worst(tournaments(n)))
