"""The loss of DP-KwikSort's ranking, against profiles and enumeration."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from dpbook.pages.private_kwiksort import least_ranking_loss
from dpbook.privacy import WholeRanking
from dpbook.rankers import NoisyPairs
from tests.oracles import neighbouring_tables, pair_table, worst_log_ratio


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
@pytest.mark.parametrize("make_one", [NoisyPairs.private, NoisyPairs.described])
def test_worst_loss_for_three_items(relation, epsilon, make_one):
    """All neighbours among up to five people reach the closed form, and none beats it."""
    ranker = make_one(epsilon, WholeRanking(3, relation=relation))
    crowds = (5,) if relation == "replace" else range(5)
    worst = max(worst_log_ratio(ranker.pmf, neighbouring_tables(3, m, relation)) for m in crowds)
    assert least_ranking_loss(ranker) == pytest.approx(worst, rel=1e-9)
    assert (worst > epsilon) == (make_one == NoisyPairs.described)


def test_worst_loss_for_three_items_in_the_limit():
    for relation, limit in (("replace", 2.5 / math.log(3)), ("add_remove", 1.25 / math.log(3))):
        ranker = NoisyPairs.described(1e-6, WholeRanking(3, relation=relation))
        assert least_ranking_loss(ranker) / 1e-6 == pytest.approx(limit, rel=1e-5)


def mcgarvey(leads) -> np.ndarray:
    """Counts with given even leads: two rankings that differ, but for the pair, in every pair
    move that pair by 2."""
    n = len(leads)
    counts = np.zeros((n, n), dtype=int)
    for i, j in combinations(range(n), 2):
        a, b = (i, j) if leads[i][j] > 0 else (j, i)
        rest = [k for k in range(n) if k not in (i, j)]
        both = np.argsort([[a, b, *rest], [*rest[::-1], a, b]], axis=1)
        counts += abs(leads[i][j]) // 2 * pair_table(both, n)
    return counts


@pytest.mark.parametrize("n", [4, 5, 6])
@pytest.mark.parametrize("make_one", [NoisyPairs.private, NoisyPairs.described])
def test_lower_end_of_the_loss_is_approached_by_profiles(n, make_one):
    """Forced pivots: items 0, 2, ... far behind all that follow but the next."""
    ranker = make_one(1.0, WholeRanking(n))
    leads = np.zeros((n, n), dtype=int)
    for i in range(0, n, 2):
        leads[i, i + 2 :] = -60 * math.ceil(ranker.scale)
    counts = mcgarvey(leads)
    assert ((counts - counts.T)[np.triu_indices(n, 1)] == leads[np.triu_indices(n, 1)]).all()
    # after the change all other leads are tied: one user had the reverse and has the identity now
    one = pair_table([range(n)], n)
    after, before = ranker.pmf(counts + one + one.T), ranker.pmf(counts + 2 * one.T)
    forced = n * n // 4 * 2 / ranker.scale
    assert math.log(after[0] / before[0]) == pytest.approx(forced, rel=1e-6)
    lower = least_ranking_loss(ranker)
    assert forced - 1e-12 <= lower <= ranker.loss("ranking")[1] == ranker.loss()[0]
    assert (lower > 1) == (make_one == NoisyPairs.described)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_lower_end_of_the_loss_is_at_least_that_of_two_users(n):
    one = pair_table([range(n)], n)
    for relation, before in (("replace", 2 * one.T), ("add_remove", one.T)):
        for make_one in (NoisyPairs.private, NoisyPairs.described):
            ranker = make_one(0.7, WholeRanking(n, relation=relation))
            shown = math.log(ranker.pmf(one + one.T)[0] / ranker.pmf(before)[0])
            lower = least_ranking_loss(ranker)
            assert lower >= shown - 1e-12
            assert n not in (2, 4) or lower == pytest.approx(shown, rel=1e-10)


def test_described_noise_is_too_small_and_more_so_for_many_items():
    lower = [least_ranking_loss(NoisyPairs.described(1.0, WholeRanking(n))) for n in range(2, 101)]
    assert min(lower) > 2 and lower[-1] > 100 / (2 * math.log(100))
    assert (np.diff(lower[8:]) > 0).all()
    for n in (3, 10, 100):
        assert 0.5 < least_ranking_loss(NoisyPairs.private(1.0, WholeRanking(n))) <= 1
