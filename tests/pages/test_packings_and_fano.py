"""Bounds against linear programs and by hand."""

from itertools import product
from math import exp

import numpy as np
import pytest

from dpbook.lower_bounds import product_pmf
from dpbook.models import two_level_probabilities
from dpbook.pages import packings_and_fano
from dpbook.pages.packings_and_fano import (
    dp_fano_error,
    dp_fano_risk,
    dp_fano_risk_printed,
    optimal_private_risk,
    user_total_variation,
)

METRIC = np.column_stack([1 - np.eye(3), np.full(3, 0.5)])


def winner_distributions(gap):
    """Laws of the tournament of three items, each of them the best one."""
    at = np.triu_indices(3, 1)
    return np.array([product_pmf(two_level_probabilities(3, [i], gap)[at]) for i in range(3)])


@pytest.mark.parametrize("gap", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
def test_no_bound_exceeds_the_optimum(gap, epsilon, delta):
    distributions, distance = winner_distributions(gap), 4 * gap
    best = optimal_private_risk(distributions, METRIC, epsilon=epsilon, delta=delta)
    ours = dp_fano_risk(3, distance, epsilon=epsilon, delta=delta)
    printed = dp_fano_risk_printed(3, distance, epsilon=epsilon, delta=delta)
    assert printed - 1e-9 <= ours <= best + 1e-7
    error = optimal_private_risk(distributions, 1 - np.eye(3), epsilon=epsilon, delta=delta)
    lost = exp(-epsilon) * distance * delta
    assert dp_fano_error(2, epsilon * distance, delta_term=lost) <= error + 1e-7


def test_private_error_solves_its_equation():
    b = dp_fano_error(50, 2.0)
    assert b == pytest.approx(50 * (1 - b) * exp(-2.0 / (1 - b)))
    x = 50 * exp(-2.0)
    assert dp_fano_error(50, 2.0, random=False) == pytest.approx(x / (1 + x))
    # b (1 + x) = x - 50 * 0.1 with x = 50 exp(-2) = 6.7667641618: 1.7667641618 / 7.7667641618
    by_hand = dp_fano_error(50, 2.0, random=False, delta_term=0.1)
    assert by_hand == pytest.approx(0.2274775087, abs=1e-9)
    assert dp_fano_error(50, 2.0, delta_term=1.0) == 0


def test_certified_risk_is_never_above_the_optimum(monkeypatch):
    """Multipliers that are 1e-7 too large must not raise the certified value: one bit, two laws,
    where the optimum is 1/2 - gap tanh(epsilon / 2) by randomised response."""
    exact = packings_and_fano.linprog

    def risk(shift):
        def careless(*args, **kwargs):
            found = exact(*args, **kwargs)
            found.eqlin.marginals = found.eqlin.marginals + shift
            return found

        monkeypatch.setattr(packings_and_fano, "linprog", careless)
        distributions = np.array([[0.2, 0.8], [0.8, 0.2]])
        return optimal_private_risk(distributions, 1 - np.eye(2), epsilon=1.0)

    optimum = 0.5 - 0.3 * np.tanh(0.5)
    for shift in (-1e-7, 0.0, 1e-7):
        assert optimum - 1e-6 < risk(shift) < optimum + 1e-9
    with pytest.raises(RuntimeError, match="does not certify"):
        risk(1e-5)


def test_without_privacy_the_program_gives_the_bayes_risk():
    distributions = winner_distributions(0.3)
    free = optimal_private_risk(distributions, 1 - np.eye(3), epsilon=12.0)
    assert free == pytest.approx(1 - distributions.max(axis=0).sum() / 3, abs=1e-3)
    blind = optimal_private_risk(distributions, 1 - np.eye(3), epsilon=0.0)
    assert blind == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: dp_fano_risk(3, -1, epsilon=1), "distance"),
        (lambda: dp_fano_risk(1, 1, epsilon=1), "hypotheses"),
        (lambda: dp_fano_risk(10**400, 1.0, epsilon=1.0), "hypotheses = 10.*: allowed is"),
        (lambda: dp_fano_error(0, 1), "alternatives"),
    ],
)
def test_arguments_out_of_range_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()


def test_user_total_variation_by_enumeration():
    a, b = np.random.default_rng(2).dirichlet(np.ones(4), 2)
    for draws in (1, 2, 3):
        at = np.array(list(product(range(4), repeat=draws)))
        direct = np.abs(a[at].prod(axis=1) - b[at].prod(axis=1)).sum() / 2
        assert user_total_variation(a, b, draws) == pytest.approx(direct)
