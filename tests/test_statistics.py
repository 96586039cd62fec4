"""Errors and intervals of replicated experiments, against theory and by hand."""

import numpy as np
import pytest
from scipy import stats

from dpbook.simulation import log_relative_error, quantile_interval, top_k_error, trend


def rng(seed=0):
    return np.random.default_rng(seed)


def test_log_relative_error_of_a_worked_example():
    truth = np.array([3.0, -4.0])
    estimate = np.array([[3.0, -3.0], [6.0, -8.0], [3.0, -4.0]])
    assert log_relative_error(estimate, truth) == pytest.approx([np.log(1 / 5), 0.0, -np.inf])
    assert log_relative_error(estimate[:2], truth, "linf") == pytest.approx([np.log(1 / 4), 0.0])


def test_top_k_error_counts_what_is_missed_and_breaks_ties_at_random():
    mask = np.array([False, False, True, True])
    assert top_k_error([[4, 3, 2, 1], [1, 4, 2, 5], [1, 2, 3, 4]], mask, 2).tolist() == [1, 0.5, 0]
    tied = np.zeros((4000, 4))
    assert top_k_error(tied, mask, 2).tolist() == [1.0] * 4000
    assert top_k_error(tied, mask, 2, rng=rng()).mean() == pytest.approx(0.5, abs=0.03)


def test_quantile_interval_takes_the_ranks_of_the_tables():
    # Median of 20: P(Bin(20, 1/2) <= 5) = 21700 / 2^20 = 0.0207 and <= 6 0.0577, so that the
    # 6th and the 15th value enclose it with 95 %, as in the tables of the sign test.
    assert quantile_interval(np.arange(1, 21), 0.5) == (10, 6, 15)
    # 0.9-quantile of 50: P(Bin(50, 0.9) <= 40) = 0.0245 and <= 41 0.0579; >= 49 has the chance
    # 0.0338 and >= 50 0.0052: the 41st value and the 50th.
    assert quantile_interval(np.arange(1, 51), 0.9) == (45, 41, 50)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("size", [30, 57, 200])
def test_quantile_interval_covers_on_either_side_and_no_rank_is_given_away(size, q):
    """X_(r), the r-th of N values, exceeds the quantile if fewer than r of them lie below it."""
    _, low, high = quantile_interval(np.arange(1, size + 1), q)
    below = stats.binom(size, q)
    if np.isfinite(low):
        assert below.cdf(low - 1) <= 0.025
    assert below.cdf(max(low, 0)) > 0.025  # one rank further in
    if np.isfinite(high):
        assert below.sf(high - 1) <= 0.025
    assert below.sf(min(high, size + 1) - 2) > 0.025


def test_quantile_interval_is_open_where_the_sample_is_too_small():
    estimate, low, high = quantile_interval(np.arange(20.0), 0.99)
    assert estimate == 19 and np.isfinite(low) and np.isinf(high)


def test_trend_tells_rising_flat_and_falling_apart():
    rng = np.random.default_rng(12)
    x = [1, 2, 4, 8]
    noise = rng.normal(size=(4, 300))
    up = trend(x, np.log(x)[:, None] + 0.3 * noise)
    assert up.rises() and 0.8 < up.low < 1.1 and not up.falls()
    assert up.slope == pytest.approx(1, abs=0.1) and up.low < up.slope < up.high
    assert up.up == 3 and up.down == 0
    down = trend(x, -np.log(x)[:, None] + 0.3 * noise)
    assert down.falls() and down.high < -0.8 and not down.rises()
    flat = trend(x, 0 * noise)
    assert not flat.rises() and not flat.falls()
    dent = trend(x, np.array([0, 1, 0.5, 3])[:, None] + 0.3 * noise)
    assert dent.low > 0 and dent.down == 1 and not dent.rises()


def test_trend_by_hand():
    # Three columns (a - 1, a, a + 1) on the first step, nothing on the second. Both steps together
    # at 90 %: Student's t with 2 degrees of freedom at 1 - 0.1 / 4, 4.30265, over sqrt(3): 2.484.
    def steps(a):
        return trend([1, 2, 4], np.array([[0.0] * 3, [a - 1, a, a + 1], [a - 1, a, a + 1]]), **at)

    at = {"confidence": 0.9}
    assert (steps(2.49).up, steps(2.48).up, steps(-2.49).down, steps(-2.48).down) == (1, 0, 1, 0)
    # The slope alone at 90 %: in units of log 2, x = -1, 0, 1 and slopes a / 2 -+ 1 / 2 over
    # log 2, with the half-width 2.91999 / (2 sqrt(3)).
    found = steps(2.0)
    assert found.slope * np.log(2) == pytest.approx(1.0)
    assert (found.high - found.slope) * np.log(2) == pytest.approx(2.91999 / 12**0.5, abs=1e-5)
    assert (found.slope - found.low) * np.log(2) == pytest.approx(2.91999 / 12**0.5, abs=1e-5)
