"""Weights of page 39 against water-filling by bisection, a convex program and surveys by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpbook.pages.uneven_people import best_cap, excess_variance, least_worst, worst_factor


def test_the_best_cap_fills_up_to_the_price():
    # 1/C - 1/4 + 1/C - 1/16 = 1/2 gives C = 2 / (13/16); the person with one is below.
    assert best_cap([1, 4, 16], 0.5) == pytest.approx(32 / 13, rel=1e-14)
    assert best_cap([5], 0.3) == pytest.approx(2, rel=1e-14)  # 1/C = 0.3 + 0.2
    rng = np.random.default_rng(3)
    for size, price in ((1, 0.1), (4, 2.0), (50, 0.7), (50, 40.0)):
        lengths = rng.integers(1, 60, size)
        low, high = 1e-6, 60.0
        for _ in range(80):
            cap = (low + high) / 2
            above = np.maximum(1 / cap - 1 / lengths, 0).sum() > price
            low, high = (cap, high) if above else (low, cap)
        assert best_cap(lengths, price) == pytest.approx(cap, rel=1e-9)


def test_no_weights_do_better_by_a_solver():
    lengths, price = np.array([1.0, 2.0, 5.0, 30.0]), 0.4
    shares = minimize(
        lambda x: excess_variance(lengths, price, np.exp(x - x.max())),
        np.zeros(4),
        method="Nelder-Mead",
        options={"xatol": 1e-11, "fatol": 1e-15, "maxiter": 20_000, "maxfev": 20_000},
    )
    kept = np.minimum(lengths, best_cap(lengths, price)).sum()
    assert shares.fun == pytest.approx(1 / kept, rel=1e-6)


def test_variances_by_hand():
    # (1 + 9/9 + 2 * 9) / 16; with noise for 4: (1 + 1 + 2 * 16) / 16
    assert excess_variance([1, 9], 2.0, [1, 3]) == pytest.approx(20 / 16)
    assert excess_variance([1, 9], 2.0, [1, 3], hidden=4) == pytest.approx(34 / 16)
    assert excess_variance([1, 9], 2.0, [2, 6]) == excess_variance([1, 9], 2.0, [1, 3])
    for bad in ([1, -3], [0, 0], [1, 3, 1]):
        with pytest.raises(ValueError, match="weighted"):
            excess_variance([1, 9], 2.0, bad)


def test_worst_factors_are_those_of_a_search():
    assert worst_factor(0.5) == pytest.approx(9 / 8)
    assert worst_factor(1) == 1
    rng = np.random.default_rng(8)
    for ratio in (0.4, 0.8, 1.3, 3.0):
        found = []
        for _ in range(4000):  # two kinds of people, of any share; the best cap is 1
            lengths = np.exp(rng.uniform(-1.5, 1.5, 2))
            share = np.array([1, np.exp(rng.normal(0, 1.5))])
            kept, best = np.minimum(lengths, ratio), np.minimum(lengths, 1)
            price = share @ np.maximum(1 - 1 / lengths, 0)
            spread = share @ (kept**2 / lengths) + price * ratio**2
            found.append(spread * (share @ best) / (share @ kept) ** 2)
        assert 0.999 * worst_factor(ratio) < max(found) < worst_factor(ratio) * (1 + 1e-9)


def test_the_best_guess_is_as_bad_at_both_ends():
    assert least_worst(1) == (1, 1)
    for spread in (1.5, 2.0, 8.0):
        place, worst = least_worst(spread)
        assert worst == pytest.approx(worst_factor(place / spread), rel=1e-9)
        for other in np.linspace(1, spread, 50):
            assert max(map(worst_factor, (other, other / spread))) > worst * (1 - 1e-9)
