"""The Plackett-Luce model, beside which page 01 puts Mallows and the crowd (Luce, 1959)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook.models import all_rankings


def plackett_luce_rankings(
    theta: ArrayLike, users: int, *, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Sample rankings built from the top, each next item with odds exp(theta): positions.

    The order of independent arrival times log E_i - theta_i, E_i standard exponential, has the
    Plackett-Luce law. Any two items compare as in the Bradley-Terry-Luce model.
    Idealised sampler (floating point).
    """
    strengths = np.asarray(theta, dtype=float)
    arrival = rng.standard_exponential((users, strengths.size))
    # A draw of exactly 0 has log -inf, an arrival before all others, as it should be.
    with np.errstate(divide="ignore"):
        orders = np.argsort(np.log(arrival) - strengths, axis=1)
    return np.argsort(orders, axis=1)


def plackett_luce_pmf(theta: ArrayLike) -> NDArray[np.float64]:
    """Exact law of `plackett_luce_rankings`, over `all_rankings`."""
    strengths = np.asarray(theta, dtype=float)
    listed = strengths[np.argsort(all_rankings(strengths.size), axis=1)]
    left = np.logaddexp.accumulate(listed[:, ::-1], axis=1)[:, ::-1]
    return np.exp((listed - left).sum(axis=1))
