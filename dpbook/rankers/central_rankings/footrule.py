"""A private ranking in polynomial time: noisy counts of places, then the nearest in footrule.

Neighbours differ in one ranking, replaced by another. For every item and every place but the last
count the users who place the item there or before. Two rankings differ in as many of these zeros
and ones as their footrule distance, which is at most floor(n^2 / 2) and is that for a ranking and
its reverse. One user added or taken away moves n (n - 1) / 2 entries by 1, never more.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Rankings
from dpbook.estimators.footrule import footrule_ranking
from dpbook.estimators.pairwise import ranking_positions
from dpbook.mechanisms.gaussian import gaussian_noise, gaussian_scale
from dpbook.mechanisms.noise import laplace_noise

__all__ = ["private_footrule"]


def private_footrule(
    positions: Rankings | ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    size: int | None = None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Ranking nearest in footrule to noisy counts of the users' places.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, n)
        Every row is a permutation of 0..n-1, entry i the place of item i.
    epsilon, delta : float
        Budget; delta = 0 means Laplace noise, else Gaussian.
    size : int, optional
        Number of independent releases; one, and no axis for it, if omitted.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (n,) or (size, n)
        Positions.

    Raises
    ------
    ValueError
        If a row is not a permutation or an argument lies outside its range.

    Notes
    -----
    **Privacy.** (epsilon, delta)-DP for one ranking replaced by another: the counts are released at
    exactly that, what follows only looks at them. The exact twins are `laplace_logpdf` and
    `gaussian_logpdf` at scale D / epsilon and ``gaussian_scale(sqrt(D), epsilon, delta)``, with
    D = floor(n^2 / 2), of the differences in the counts. One ranking more or less is covered as
    well, since it moves only n (n - 1) / 2 <= D entries.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = ranking_positions(positions)
    n = table.shape[1]
    scale = footrule_scale(n, epsilon=epsilon, delta=delta)
    runs = 1 if size is None else check.integer("size", size, 1)
    check.fits("size", runs, runs * n * n, f"2**28 counts at once, {n * n} for each release")
    reached = places_reached(table)
    draw = gaussian_noise if delta else laplace_noise
    noise = draw(scale, (runs, *reached.shape), rng=rng)
    found = footrule_ranking(reached + noise)
    return found[0] if size is None else found


def footrule_scale(n_items: int, *, epsilon: float, delta: float = 0.0) -> float:
    """Laplace scale, or standard deviation, of the noise on each count, in users."""
    most = check.integer("n_items", n_items, 2) ** 2 // 2
    eps, chance = check.epsilon(epsilon), check.probability("delta", delta, one=False)
    return gaussian_scale(sqrt(most), eps, chance) if chance else most / eps


def places_reached(positions: NDArray[np.integer]) -> NDArray[np.int64]:
    """Users who place item i at place k or before it, shape (n, n - 1)."""
    n = positions.shape[1]
    held = np.array([np.bincount(column, minlength=n) for column in positions.T])
    return held.cumsum(axis=1)[:, :-1].astype(np.int64)
