"""Shuffled bits of page 39 against distributions by hand and lists of all messages."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from dpbook.pages.shuffler import blanket_delta, crossing, shuffled_delta
from dpbook.privacy import hockey_stick


def listed(truths, odds):
    """Numbers of ones of all answers, each listed."""
    counts = np.zeros(len(truths) + 1)
    for flips in product((0, 1), repeat=len(truths)):
        chance = np.prod([1 if flip else odds for flip in flips]) / (odds + 1) ** len(truths)
        counts[sum(a ^ b for a, b in zip(truths, flips, strict=True))] += chance
    return counts


@pytest.mark.parametrize(("people", "agree"), [(1, 0), (2, 1), (4, 0), (4, 2), (6, 5)])
@pytest.mark.parametrize("odds", [2, 3, Fraction(7, 2)])
def test_the_number_of_ones_is_that_of_all_answers(people, agree, odds):
    others = [1] * agree + [0] * (people - 1 - agree)
    p, q = (listed([own, *others], float(odds)) for own in (1, 0))
    for factor in (1, Fraction(6, 5), 2, 6):
        expected = np.maximum(p - float(factor) * q, 0).sum()
        assert float(shuffled_delta(people, agree, odds, factor)) == pytest.approx(
            expected, abs=1e-13
        )


@pytest.mark.parametrize("people", [1, 2, 5, 40])
def test_the_blanket_is_a_mixture_over_the_coins(people):
    for odds, factor in product((2, 5, Fraction(7, 2)), (1, Fraction(11, 10), Fraction(3, 2), 3)):
        flip, expected = 1 / (float(odds) + 1), 0.0
        for coins in range(people):
            some = binom.pmf(np.arange(coins + 1), coins, 0.5)
            p, q = (np.convolve(own, some) for own in ([flip, 1 - flip], [1 - flip, flip]))
            delta = hockey_stick(p, q, [np.log(float(factor))])[0]
            expected += binom.pmf(coins, people - 1, 2 * flip) * delta
        assert float(blanket_delta(people, odds, factor)) == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    # 1, 9, 27, 27 against 3, 19, 33, 9 in units of 1/64, at a factor of 2: 27 - 18
    assert shuffled_delta(3, 2, 3, 2) == Fraction(9, 64)
    assert shuffled_delta(5, 4, 3, 3) == blanket_delta(5, 3, 3) == 0  # pure privacy
    low, high = crossing(lambda x: 1 / x, Fraction(2, 7), 1, 5, 10)  # crosses at 3.5
    assert (low, high) == (Fraction(34, 10), Fraction(35, 10))
    with pytest.raises(ValueError, match="two sides"):
        crossing(lambda x: 1 / x, Fraction(2, 7), 4, 5, 10)
    with pytest.raises(ValueError, match="odds"):
        shuffled_delta(3, 2, 3.0, 2)
