"""Fano bounds and divergences by hand and against closed forms."""

from itertools import combinations, product
from math import log

import numpy as np
import pytest
from scipy import sparse

from dpbook import lower_bounds as fano
from dpbook.models import two_level_probabilities


def test_kl_of_edge_data_pair_by_pair():
    a, b = (two_level_probabilities(9, k, 0.15) for k in ([0, 1, 2, 3], [0, 1, 2, 7]))
    at = np.triu_indices(9, 1)
    kl = sum(
        x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y))
        for x, y in zip(a[at], b[at], strict=True)
    )
    assert fano.edge_kl(a, b, p=0.6) == pytest.approx(0.6 * kl)


def test_sharp_ratio_of_one_bit_by_hand():
    # p = 0.3, q = 0.6, s = -1, e^-1 - 1 = -0.6321205588: (1 - 0.1896362) / (1 - 0.3792723)
    found = fano.product_log_ratio([0.3], [0.6], 1.0)
    assert found == pytest.approx(log(0.8103638324 / 0.6207276647))
    assert fano.product_log_ratio([0.3, 0.5], [0.6, 0.5], 1.0) == pytest.approx(found)


def test_fano_error_by_hand():
    assert fano.fano_error(8, log(2)) == pytest.approx(1 / 3)
    assert fano.fano_error(2, 1.0) == 0


def test_product_law_by_hand():
    # Entry d has bit 0 in the last place of its binary number: 00, 01, 10, 11.
    law = fano.product_pmf([0.2, 0.7])
    assert law == pytest.approx([0.8 * 0.3, 0.2 * 0.3, 0.8 * 0.7, 0.2 * 0.7])


def test_sets_that_can_always_be_had():
    assert fano.gilbert_varshamov(6, 3, 4) == 2  # 20 sets, a ball of 1 + 9
    for length, weight, distance in product(range(1, 8), range(1, 8), range(1, 10)):
        if weight <= length:
            sets = [set(s) for s in combinations(range(length), weight)]
            near = sum(len(s ^ sets[0]) < distance for s in sets)
            assert fano.gilbert_varshamov(length, weight, distance) == -(-len(sets) // near)


def one_bit(delta, size=2):
    """Costs, sums and neighbours of a rule that names the winner of one game, or not."""
    right, wrong = 0.5 + delta, 0.5 - delta
    costs = [[wrong, right]]  # q(0) says the winner, q(1) the loser: wrong with what is left
    totals = sparse.csr_array(np.ones((1, size)))
    return costs, totals, [[0, 1]]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_best_private_rule_for_one_bit_is_randomised_response(epsilon):
    rule = fano.best_private_rule(*one_bit(0.3), epsilon)
    assert rule.lower == pytest.approx(0.5 - 0.3 * np.tanh(epsilon / 2), abs=1e-9)
    assert 0 <= rule.risk - rule.lower < 1e-8
    assert rule.loss < epsilon and rule.weights.sum() == pytest.approx(1)


def test_a_program_without_a_solution_is_refused():
    costs, _, pairs = one_bit(0.3)
    with pytest.raises(RuntimeError, match="not solved"):
        fano.best_private_rule(costs, sparse.csr_array([[1.0, 1.0], [0.0, 0.0]]), pairs, 1.0)


def test_kl_goes_from_the_first_to_the_second():
    sure, even = np.array([[0.5, 0.9], [0.1, 0.5]]), np.full((2, 2), 0.5)
    assert fano.edge_kl(sure, even) == pytest.approx(0.9 * log(1.8) + 0.1 * log(0.2))
    assert fano.edge_kl(even, sure) == pytest.approx(0.5 * log(25 / 9))
