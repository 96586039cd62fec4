"""Page 39: weights for people with different numbers of comparisons, and what a wrong cap costs.

A person with L comparisons adds s = u L weighted ones. The variance of the difference of two noisy
counts, over the square of its mean, is ``(sum s^2 / L + price max s^2) / (sum s)^2`` times the
variance of one comparison over its squared mean, where ``price`` is 16 / (epsilon^2 variance).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook._typing import Array


def best_cap(lengths: ArrayLike, price: float) -> float:
    """The cap C at which the weights min(1, C / L) are best: sum (1/C - 1/L)_+ = price.

    Parameters
    ----------
    lengths : array of shape (people,)
        Comparisons L of each person, above 0.
    price : float
        Noise over sampling, above 0.

    Examples
    --------
    >>> best_cap([1, 2, 2], price=1.0)  # 1/C - 1 + 2 (1/C - 1/2) = 1
    1.0
    """
    longest = -np.sort(-_lengths(lengths))
    check.positive("price", price)
    many = np.arange(1, longest.size + 1)
    caps = many / (price + np.cumsum(1 / longest))  # if so many are above the cap
    return float(caps.max())  # any set of people gives a lower bound, the right one attains it


def excess_variance(
    lengths: ArrayLike, price: float, weighted: ArrayLike, hidden: float | None = None
) -> float:
    """Relative variance where people add so many weighted comparisons.

    ``weighted`` is s, of the shape of ``lengths``: L without weights, min(L, C) at a cap. The noise
    is for the largest of these, or for ``hidden``: the cap, if nobody knows who reaches it.
    """
    L, s = _lengths(lengths), np.asarray(weighted, dtype=float)
    check.positive("price", price)
    check.shaped("weighted", s, s.shape == L.shape and s.min() >= 0 < s.max(), f"{L.shape}, >= 0")
    most = s.max() if hidden is None else check.positive("hidden", hidden)
    return float(((s**2 / L).sum() + price * most**2) / s.sum() ** 2)


def worst_factor(ratio: float) -> float:
    """Largest variance at ratio times the best cap, over that at the best one: page 39, theorem.

    (1 + r)^2 / (4 r) below 1; above 1 the largest x + r^2 x^2 (1 - x). The noise is for the cap.
    """
    r = check.positive("ratio", ratio)
    if r <= 1:
        return (1 + r) ** 2 / (4 * r)
    x = (1 + np.sqrt(1 + 3 / r**2)) / 3
    return float(x + r**2 * x**2 * (1 - x))


def least_worst(spread: float) -> tuple[float, float]:
    """The best guess of a cap that is known up to a factor, and its worst factor.

    If the best cap is between c and ``spread`` times c, take ``place`` times c.

    Examples
    --------
    >>> [round(number, 4) for number in least_worst(2.0)]
    [1.3246, 1.0431]
    """
    high = check.positive("spread", spread)
    if high == 1:
        return 1.0, 1.0
    place = float(
        brentq(lambda at: worst_factor(at / high) - worst_factor(at), 1, high, xtol=1e-14)
    )
    return place, worst_factor(place)


def _lengths(lengths: ArrayLike) -> Array:
    L = check.finite_array("lengths", lengths)
    check.shaped("lengths", L, L.ndim == 1 and L.size > 0 and L.min() > 0, "(people,), above 0")
    return L
