"""Tests of exchanged items, and Kemeny's constant, against listings of all reports and orders."""

from itertools import combinations, permutations, product
from math import comb, exp, log

import numpy as np
import pytest

from dpbook.pages.flipped_neighbours import (
    order_constant,
    report_probability,
    swap_bound,
    swap_error,
)


def right(gap, epsilon):
    """Probability of a report for the better of two items, by the flips themselves."""
    win = 1 / (1 + exp(-gap))
    return (exp(epsilon) * win + 1 - win) / (1 + exp(epsilon))


def listed(theta, i, j, people, epsilon):
    """Half the sum of the smaller probability over all reports."""
    other = list(theta)
    other[i], other[j] = theta[j], theta[i]
    total, pairs = 0.0, list(combinations(range(len(theta)), 2))
    for wins in product(range(people + 1), repeat=len(pairs)):
        both = [1.0, 1.0]
        for (a, b), x in zip(pairs, wins, strict=True):
            for side, at in enumerate((theta, other)):
                q = right(at[a] - at[b], epsilon)
                both[side] *= comb(people, x) * q**x * (1 - q) ** (people - x)
        total += min(both) / 2
    return total


def test_report_is_the_answer_or_its_opposite():
    assert report_probability(0.7, 1.3) == pytest.approx(right(0.7, 1.3))


@pytest.mark.parametrize(
    ("theta", "people", "epsilon"),
    [((0.4, 0.0), 6, 1.0), ((1.0, 0.2, -0.5), 4, 0.5), ((2.0, 0.5, 0.0), 5, 3.0)],
)
@pytest.mark.parametrize("extra", [0.3, 0.15, 0.03])
def test_bracket_holds_the_error_of_the_listed_reports(theta, people, epsilon, extra):
    for i, j in combinations(range(len(theta)), 2):
        lower, upper = swap_error(theta, i, j, people, epsilon, extra=extra)
        assert lower - 1e-12 <= listed(theta, i, j, people, epsilon) <= upper + 1e-12
        assert upper / lower < 1 + 0.6 * extra


def test_bound_is_the_mean_over_pairs():
    theta, people, epsilon = (0.9, 0.4, 0.0), 5, 1.0
    tests = [listed(theta, i, j, people, epsilon) for i, j in combinations(range(3), 2)]
    found = swap_bound(theta, people, epsilon)
    assert 0.98 * np.mean(tests) < found <= np.mean(tests)
    far = found - swap_bound(theta, people, epsilon, reach=1)
    assert far == pytest.approx(swap_error(theta, 0, 2, people, epsilon)[0] / 3)


def test_far_items_cost_the_same_at_every_distance():
    """All reports are right with probability e^eps / (1 + e^eps): Z is a geometric series."""
    people, epsilon = 30, 1.0
    z = (2 * exp(epsilon / 2) / (1 + exp(epsilon))) ** people
    least = min(-log(1 - exp(a) * z) / a for a in np.linspace(0.01, -log(z) - 0.01, 9999))
    for options in ({}, {"most": 3}, {"known": True}):
        assert order_constant(60.0, people, epsilon, **options) == pytest.approx(least, rel=1e-6)
    assert 0 < order_constant(1.0, 2500, 1.0) < 1e-20, "no sum with 1, which would swallow it"


@pytest.mark.parametrize(("spacing", "people"), [(0.5, 1), (1.0, 3)])
def test_constant_bounds_both_orders_of_four_items(spacing, people):
    orders, pairs = list(permutations(range(4))), list(combinations(range(4), 2))
    behind = np.array([[order[i] > order[j] for i, j in pairs] for order in orders])
    gaps = np.array([[order[j] - order[i] for i, j in pairs] for order in orders])
    sent, worst = np.vectorize(right)(spacing * gaps, 1.0), np.zeros(2)
    for wins in product(range(people + 1), repeat=6):
        losses, ways = people - np.array(wins), np.prod([comb(people, x) for x in wins])
        likely = np.prod(sent**wins * (1 - sent) ** losses, axis=1)
        cost = behind @ wins + ~behind @ losses
        for one, chosen in enumerate((cost == cost.min(), likely > likely.max() * (1 - 1e-9))):
            worst[one] += ways * likely[0] * behind[chosen].mean(axis=1).max()
    for one, known in enumerate((False, True)):
        assert worst[one] <= 2 * order_constant(spacing, people, 1.0, known=known) / 4
