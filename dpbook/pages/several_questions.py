"""Wrong majorities of people who answer several pairs: moments of sets of pairs, exact laws."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, special

from dpbook._typing import Array, Ints
from dpbook.models import all_rankings


def kept_orders(n: int) -> Ints:
    """Of all rankings, 1 where a pair i < j keeps its order and -1 elsewhere, (n!, pairs)."""
    rankings, (i, j) = all_rankings(n), np.triu_indices(n, 1)
    return np.where(rankings[:, i] < rankings[:, j], 1, -1)


def set_moments(pmf: ArrayLike, n: int, questions: int, margin: float, tilt: float) -> Array:
    """E exp(-tilt * (right minus wrong reports of one person on a set)), of all sets of pairs.

    A person with a ranking from this distribution over ``all_rankings(n)`` answers so many pairs,
    drawn at random without repetition; a report says the order of the ranking with probability
    (1 + margin) / 2. Entry b is for the set of the bits of b. Its power m bounds the probability
    that m people leave all pairs of the set wrong or tied.
    """
    factor = np.cosh(tilt) - margin * kept_orders(n).T * np.sinh(tilt)
    pairs = len(factor)
    sums = np.ones((1, 1, factor.shape[1]))  # of the products of 0, 1, ... factors of the set
    for row in factor:
        without = np.pad(sums, ((0, 0), (0, 1), (0, 0)))
        sums = np.concatenate([without, without + row * np.roll(without, 1, axis=1)])
    rest = pairs - np.array([[b.bit_count()] for b in range(2**pairs)])
    drawn = special.comb(rest, questions - np.arange(pairs + 1)) / comb(pairs, questions)
    return np.asarray(((sums @ np.asarray(pmf)) * drawn).sum(axis=1))


def wrong_law(pmf: ArrayLike, n: int, margin: float, people: int) -> Array:
    """Exact distribution of the number of pairs that are wrong or tied if all answer all pairs.

    By a Fourier transform over the numbers of wrong reports, (people + 1)^pairs of them.
    """
    kept = kept_orders(n)
    pairs = kept.shape[1]
    bits = np.indices((2,) * pairs).reshape(pairs, -1).T  # 1 for a wrong report
    agree = (1 - 2 * bits)[:, None] * kept
    law = np.zeros((people + 1,) * pairs)
    law[tuple(bits.T)] = ((1 + margin * agree) / 2).prod(axis=2) @ np.asarray(pmf)
    law = fft.irfftn(fft.rfftn(law) ** people, law.shape)
    wrong = (2 * np.indices(law.shape).reshape(pairs, -1) >= people).sum(axis=0)
    return np.bincount(wrong, law.ravel(), minlength=pairs + 1).astype(float)
