"""The best report: brute force over all channels of a few sets, and closed forms."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import sqrt

import numpy as np
import pytest

from dpbook.pages.best_report import Places, best_report, largest_sums, least, mean_square


def sign_vectors(n):
    pairs = list(combinations(range(n), 2))
    return np.array([[np.sign(r[j] - r[i]) for i, j in pairs] for r in permutations(range(n))])


def by_least_squares(n, sets, weights, odds):
    """The same mean square from the whole channel, every renaming and reversal listed."""
    every = list(permutations(range(n)))
    place, columns = {r: k for k, r in enumerate(every)}, []
    half = [r for r in every if r[0] < r[1]]
    for chosen, weight in zip(sets, weights, strict=True):
        back_of = {1: tuple, -1: lambda r: tuple(n - 1 - a for a in r)}
        members = [back_of[s](r) for r, s in zip(half, chosen.tolist(), strict=True) if s]
        for name, back in product(every, (False, True)):
            column = np.ones(len(every))
            for r in members:
                moved = tuple(n - 1 - r[i] if back else r[i] for i in name)
                column[place[moved]] = odds
            columns.append(weight * column / column.sum())
    channel = np.array(columns).T
    channel /= channel.sum(axis=1, keepdims=True)
    told, signs = (channel / channel.mean(axis=0)) @ channel.T, sign_vectors(n)
    inverse = np.linalg.pinv(told, 1e-10)
    return np.trace(signs.T @ inverse @ signs)


@pytest.mark.parametrize(("n", "odds", "seed"), [(3, 3, 0), (3, 9, 1), (4, 5, 2), (4, 40, 3)])
def test_mean_square_is_that_of_the_best_estimate(n, odds, seed):
    rng = np.random.default_rng(seed)
    places = Places(n)
    sets = rng.integers(-1, 2, size=(2, len(places.rankings)))
    sets[:, 0] = 1
    found = mean_square(places, sets, [2, 3], Fraction(odds))
    assert float(found) == pytest.approx(by_least_squares(n, sets, [2, 3], odds), rel=1e-8)


def test_circles_alone_tell_no_order():
    assert mean_square(Places(3), [[1, -1, 1]], [1], Fraction(5)) is None  # the even rankings


def test_largest_sums_over_all_subsets():
    places, gains = Places(3), np.array([3, 2])
    f = {1: 3, 2: 2}
    pairs = list(combinations(range(3), 2))
    gaps = [[r[j] - r[i] for i, j in pairs] for r in permutations(range(3))]
    vectors = np.array([[f[abs(d)] * np.sign(d) for d in row] for row in gaps])
    sizes = [[vectors[list(a)].sum(0) for a in combinations(range(6), k)] for k in (1, 2, 3)]
    best = [max(int(v @ v) for v in sums) for sums in sizes]
    assert largest_sums(places, (1, gains)) == best
    assert len(places.every_set[0]) == 5


@pytest.mark.parametrize("odds", [7, 9, 11])
def test_three_items_between_two_answers_and_all_orders(odds):
    y = odds - 1
    a, b = (3 + y) / (sqrt(2) * y), sqrt(3 * (6 + y) ** 2 - 4 * (3 + y) ** 2) / y
    places = Places(3)
    gains, sets, weights = best_report(places, Fraction(odds))
    low = least(places, gains, largest_sums(places, (1, gains)), Fraction(odds))
    high = mean_square(places, sets, weights, Fraction(odds))
    assert float(low) == pytest.approx(((8 * a + b) / 3) ** 2, rel=1e-5)
    assert float(high) == pytest.approx(float(low), rel=1e-5)


def test_all_orders_of_four_items():
    gains = Places(4).two_gains(1, 1)
    sums = largest_sums(Places(4), (1, gains))
    assert least(Places(4), gains, sums, Fraction(120)) == 6 * Fraction(143, 119) ** 2
