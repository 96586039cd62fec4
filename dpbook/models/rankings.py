"""Whole rankings: all of them, and the Mallows model."""

from __future__ import annotations

import itertools

import numpy as np

from dpbook import _validation as check
from dpbook._typing import Array, Ints

_BLOCK = 2048  # users sampled together: their places stay in the cache
_ENUMERATED = 8  # most items whose rankings are listed


def all_rankings(n_items: int) -> Ints:
    """All rankings, the outcomes of every distribution over rankings: positions, lexicographic.

    Entry [r, i], of shape (n_items!, n_items), is the place of item i in ranking r; 1 to 8 items.

    Examples
    --------
    >>> all_rankings(3)[3]  # item 0 comes second, item 1 third, item 2 first
    array([1, 2, 0])
    """
    n = check.integer("n_items", n_items, 1, _ENUMERATED)
    return np.array(list(itertools.permutations(range(n))), dtype=np.int64)


def mallows_rankings(users: int, n_items: int, *, phi: float, rng: np.random.Generator) -> Ints:
    """Sample rankings with probability proportional to phi^(Kendall distance to the identity).

    Positions, (users, n_items), at least 2 items; item 0 comes first in the centre. The spread phi
    is in [0, 1]: 0 puts all mass on the identity, 1 is uniform. YLL, section 4.2.1, write theta =
    1 - phi. Mallows (1957). Repeated insertion: item j enters the list of its j predecessors v
    places before the end with probability proportional to phi^v, v = 0..j.
    Idealised sampler (floating point).
    """
    users, n = check.integer("users", users, 1), check.integer("n_items", n_items, 2)
    phi = check.probability("phi", phi)
    check.generator(rng)
    # One row for an item: all users move at once, and places fit into one or two bytes.
    small = np.uint8 if n <= 255 else np.uint16 if n <= 65535 else np.uint32
    positions = np.empty((users, n), dtype=np.int64)
    for begin in range(0, users, _BLOCK):
        block = min(_BLOCK, users - begin)
        ranks = _inversions(n, block, phi, rng).astype(small)
        np.subtract(np.arange(n, dtype=small)[:, None], ranks, out=ranks)
        behind = np.empty(ranks.shape, dtype=bool)
        for j in range(1, n):
            before = np.greater_equal(ranks[:j], ranks[j], out=behind[:j])
            np.add(ranks[:j], before.view(np.uint8), out=ranks[:j])
        positions[begin : begin + block] = ranks.T
    return positions


def _inversions(n: int, users: int, phi: float, rng: np.random.Generator) -> Array:
    """Row j: whole numbers v = 0..j with probability proportional to phi^v, one per user."""
    choices = np.arange(1.0, n + 1)[:, None]
    if phi == 0:
        return np.zeros((n, users))
    draws = rng.random((n, users))
    if phi == 1:
        draws *= choices
    else:  # invert the distribution function (1 - phi^v)/(1 - phi^(j+1))
        draws *= np.expm1(choices * np.log(phi))
        if phi < 0.999:  # nothing is lost by a plain logarithm, which is faster
            draws += 1
            np.log(draws, out=draws)
        else:
            np.log1p(draws, out=draws)
        draws /= np.log(phi)
    # Rounding may reach the open end of the range.
    return np.asarray(np.minimum(draws, choices - 0.5, out=draws))


def mallows_pmf(n_items: int, phi: float) -> Array:
    """Exact distribution of `mallows_rankings` over ``all_rankings(n_items)``, 2 to 8 items."""
    rankings = all_rankings(check.integer("n_items", n_items, 2, _ENUMERATED))
    phi = check.probability("phi", phi)
    i, j = np.triu_indices(n_items, 1)
    weights = np.power(phi, (rankings[:, i] > rankings[:, j]).sum(axis=1), dtype=float)
    return np.asarray(weights / weights.sum())


def mallows_pair_probabilities(n_items: int, phi: float) -> Array:
    """Probability that `mallows_rankings` place item i before item j, (n_items, n_items).

    A matrix of winning probabilities, 1/2 on the diagonal. For d = j - i > 0 it is
    sum_{s<d} (s+1) phi^s / (Z_d Z_{d+1}), Z_k = 1 + phi + ... + phi^(k-1): of d + 1 neighbours in
    the centre the first stands at q among the first d, with probability phi^q/Z_d, and the last is
    inserted v from the end; they keep their order when q + v < d. YLL, section 4.2.1, put
    1/(1+phi) for every pair.
    """
    n = check.integer("n_items", n_items, 2)
    phi = check.probability("phi", phi)
    terms = np.power(phi, np.arange(n), dtype=float)
    totals = np.cumsum(terms)
    ordered = np.cumsum(np.arange(1, n + 1) * terms)
    # Entry d, the diagonal first; rounding may lift a sure order above 1.
    keep = np.minimum(np.r_[0.5, ordered[:-1] / (totals[:-1] * totals[1:])], 1.0)
    gap = np.subtract.outer(np.arange(n), np.arange(n))
    return np.where(gap <= 0, keep[np.abs(gap)], 1 - keep[np.abs(gap)])


def mallows_expected_distance(n_items: int, phi: float) -> float:
    """Expected Kendall distance of `mallows_rankings` from their centre."""
    # Item j adds the mean of v = 0..j with weights phi^v.
    steps = np.arange(check.integer("n_items", n_items, 2))
    weights = np.power(check.probability("phi", phi), steps, dtype=float)
    return float((np.cumsum(steps * weights) / np.cumsum(weights)).sum())
