"""What page 41 needs of KwikSort, against the package's law of rankings and plain runs."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from dpbook.estimators import kemeny_score, kwiksort_pmf, pairwise_counts
from dpbook.models import all_rankings
from dpbook.pages.kwiksort_constant import (
    cost_ratio,
    excess,
    reversals,
    tournaments,
    two_rankings,
)


def every_tournament(n):
    i, j = np.triu_indices(n, 1)
    for votes in product((False, True), repeat=i.size):
        wins = np.zeros((n, n), dtype=bool)
        wins[i, j], wins[j, i] = votes, ~np.array(votes)
        yield wins


@pytest.mark.parametrize(("n", "classes"), [(2, 1), (3, 2), (4, 4), (5, 12), (6, 56)])
def test_one_tournament_of_each_kind(n, classes):  # numbers: Davis, 1954
    assert len(tournaments(n)) == classes


def test_the_kinds_are_all_that_there_are():
    def name(wins):
        orders = (np.ix_(order, order) for order in permutations(range(4)))
        return min(wins[order].tobytes() for order in orders)

    assert {*map(name, tournaments(4))} == {*map(name, every_tournament(4))}


def test_reversals_are_those_of_the_law_of_rankings():
    before = all_rankings(5)[:, :, None] > all_rankings(5)[:, None]  # i after j
    for wins in tournaments(5):
        after = np.tensordot(kwiksort_pmf(wins.astype(float)), before.astype(float), axes=1)
        assert reversals(wins) / 120 == pytest.approx(np.where(wins, after, 0))


def test_the_cost_of_two_people_is_that_of_their_counts():
    wins, fewer = two_rankings([1, 3, 5, 0, 2, 4], [(3, 0), (5, 0), (5, 2)])
    counts = pairwise_counts(np.argsort([range(6), [1, 3, 5, 0, 2, 4]], axis=1))
    assert (fewer == np.minimum(counts, counts.T)).all()
    assert (wins[counts == 2]).all()
    costs = kemeny_score(all_rankings(6), counts)
    found = kwiksort_pmf(wins.astype(float)) @ costs / costs.min()
    assert float(cost_ratio(wins, fewer)) == pytest.approx(found) == pytest.approx(77 / 54)


def test_more_people_count_by_their_number():
    wins, fewer = two_rankings([1, 2, 0], [(2, 0)])
    assert cost_ratio(wins, 3 * fewer, 6) == cost_ratio(wins, fewer) == Fraction(4, 3)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_no_table_of_people_exceeds_the_certified_bound(n):
    rng, ratio = np.random.default_rng(n), Fraction(6, 5)
    for wins in tournaments(n):
        bound, chance = excess(wins, ratio), reversals(wins) / np.prod(np.arange(1, n + 1))
        for _ in range(200):
            counts = pairwise_counts(np.argsort(rng.random((3, n)), axis=1))
            if (counts[wins] > counts.T[wins]).all():
                least = counts.T[wins] / 3
                cost = least + chance[wins] * (1 - 2 * least)
                assert cost.sum() - 1.2 * least.sum() <= float(bound) + 1e-12
    assert excess(np.roll(np.eye(3), 1, axis=1) > 0, ratio) == Fraction(2, 15)  # 4/3 - 6/5
