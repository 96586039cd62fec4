"""Codes of rankings: distances by counting inversions, sizes by brute force."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from dpbook.lower_bounds import (
    kendall_ball,
    kendall_code,
    kendall_size_limits,
    minimum_distance,
    pair_orders,
)


def inversions(a, b):
    place = {item: k for k, item in enumerate(b)}
    return sum(place[x] > place[y] for x, y in combinations(a, 2))


def test_pair_orders_turn_kendall_into_hamming():
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.permutation(6), rng.permutation(6)
        distance = np.count_nonzero(pair_orders(a) != pair_orders(b))
        assert distance == inversions(a, b)
        tau = kendalltau(np.argsort(a), np.argsort(b)).statistic
        assert distance == pytest.approx(15 * (1 - tau) / 2)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_balls_are_counted(n):
    found = [inversions(p, range(n)) for p in permutations(range(n))]
    for radius in range(n * (n - 1) // 2 + 2):
        assert kendall_ball(n, radius) == sum(d <= radius for d in found)


@pytest.mark.parametrize("method", ["lexicographic", "greedy", "random"])
@pytest.mark.parametrize(("n", "distance"), [(4, 2), (5, 3), (5, 6), (6, 7)])
def test_codes_keep_their_distance_and_the_limits(method, n, distance):
    code = kendall_code(n, distance, method=method, rng=np.random.default_rng(2))
    assert min(inversions(a, b) for a, b in combinations(code.tolist(), 2)) >= distance
    assert minimum_distance(pair_orders(code)) >= distance
    guaranteed, limit = kendall_size_limits(n, distance)
    assert len(code) <= limit
    if method != "random":
        assert len(code) >= guaranteed
    broken = code.copy()
    broken[1] = code[0]
    assert minimum_distance(pair_orders(broken)) < distance


def test_limits_by_hand():
    # Four items: 1, 3, 5, 6, 5, 3, 1 rankings with 0 to 6 inversions. Distance 3: a ball of radius
    # 2 holds 9, one of radius 1 holds 4: between 24 / 9, rounded up, and 24 / 4.
    assert kendall_size_limits(4, 3) == (3, 6)
    # Distance 4: radii 3 and 1: 24 / 15, rounded up, and 24 / 4. Distance 5: 24 / 20 and 24 / 9.
    assert kendall_size_limits(4, 4) == (2, 6)
    assert kendall_size_limits(4, 5) == (2, 2)
    assert kendall_size_limits(4, 1) == (24, 24)


def test_distance_two_splits_the_rankings_by_parity():
    assert len(kendall_code(4, 2)) == 12


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: kendall_code(9, 3), "n_items = 9"),
        (lambda: kendall_code(4, 7), "distance = 7"),
        (lambda: kendall_code(4, 2, method="best"), "method"),
        (lambda: kendall_code(4, 2, method="greedy"), "rng"),
        (lambda: pair_orders([0, 0, 1]), "rankings"),
        (lambda: kendall_ball(3, -1), "radius"),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
