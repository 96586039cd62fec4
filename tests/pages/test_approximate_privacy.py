"""The least risk with a delta: against programs without symmetry, closed forms and pure optima."""

from fractions import Fraction
from math import exp, expm1, tanh

import numpy as np
import pytest

from dpbook.models import all_rankings, two_level_probabilities
from dpbook.optimum import optimal_mechanism, relabel, tournament_distribution
from dpbook.pages.approximate_privacy import enclosed, tournaments
from dpbook.pages.packings_and_fano import optimal_private_risk
from dpbook.privacy import sets_of

GAP = 0.25


def matrix(n, k):
    order = np.sign(np.arange(n) - np.arange(n)[:, None])
    return two_level_probabilities(n, k, GAP) if k else 0.5 + GAP * order


def in_full(n, k, epsilon, delta):
    """The program with one unknown for every tournament and outcome, no renaming used."""
    if k is None:
        names = all_rankings(n)
    else:
        names = [[*s, *(x for x in range(n) if x not in s)] for s in sets_of(n, k).tolist()]
    law = tournament_distribution(matrix(n, k))
    laws = [law[relabel(np.argsort(pi))] for pi in names]
    return optimal_private_risk(laws, 1 - np.eye(len(laws)), epsilon=epsilon, delta=delta)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (3, 2), (3, None)])
@pytest.mark.parametrize("delta", [1e-3, 0.2, 0.6])
@pytest.mark.parametrize("epsilon", [0.3, 1.5])
def test_bounds_enclose_the_program_without_symmetry(n, k, epsilon, delta):
    risk, base, price = enclosed(tournaments(n, k, advantage=GAP), epsilon, delta)
    low, full = float(base - price * Fraction(delta)), in_full(n, k, epsilon, delta)
    assert low - 1e-8 <= full <= risk + 1e-8
    assert 0 <= risk - low < 1e-8


@pytest.mark.parametrize("delta", [1e-6, 0.1, 0.9])
def test_two_items_by_hand(delta):
    # the winner is named with probability (e^ε + δ) / (1 + e^ε)
    named = (exp(0.7) + delta) / (1 + exp(0.7))
    risk, *_ = enclosed(tournaments(2, 1, advantage=GAP), 0.7, delta)
    assert float(risk) == pytest.approx(1 - (0.75 * named + 0.25 * (1 - named)), abs=1e-9)
    assert 0.5 - GAP * tanh(0.35) > risk


@pytest.mark.parametrize(("n", "k"), [(4, 1), (4, 2), (4, None), (5, 1)])
def test_one_line_is_below_the_risks_at_every_delta(n, k):
    problem = tournaments(n, k, advantage=GAP)
    _, base, price = enclosed(problem, 1.0, 1e-3)
    least, most = optimal_mechanism(matrix(n, k), k, epsilon=1.0).bounds
    assert base <= most and base > least - Fraction(1, 10**6)
    for delta in (1e-5, 0.01, 0.1, 0.5):
        assert base - price * Fraction(delta) <= enclosed(problem, 1.0, delta)[0]
    # a release without a delta, from one with it: a share of the uniform one
    worst = problem.outcomes * 1e-3 / expm1(1.0) * (1 - 1 / problem.outcomes - float(least))
    assert float(least) - float(base - price * Fraction(1e-3)) <= worst + 1e-9


def test_probabilities_add_up_over_orbits():
    problem = tournaments(4, 2, advantage=Fraction(1, 10))
    assert sum(problem.hits) == 1
    assert set(np.asarray(problem.totals.sum(axis=1)).ravel()) == {6}
    assert set(np.asarray(problem.sums.sum(axis=1)).ravel()) == {6}


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.5])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(ValueError, match="delta"):
        enclosed(tournaments(2, 1, advantage=GAP), 1.0, delta)
