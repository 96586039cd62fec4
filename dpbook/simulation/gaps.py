"""Replicated experiments on noisy counts, with intervals that need no distributional assumption."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpbook import _validation as check
from dpbook.privacy import Edge
from dpbook.rankers import NoisyCounts

Array = NDArray[np.float64]

_BISECTIONS = 24


def critical_gaps(
    n_items: int,
    k: int,
    *,
    scale: float,
    p: float | None = None,
    comparisons: int | None = None,
    size: int,
    rng: np.random.Generator,
) -> Array:
    """Smallest gap at which noisy counts find the top-k set, one value per replicate.

    The truth is `dpbook.models.two_level_probabilities`. Each replicate fixes one uniform number
    per comparison and its noise; a larger gap then only turns defeats of upper items by lower
    items into wins, so recovery is monotone in the gap and bisection finds where it starts. The
    failure probability at gap g is the probability that the critical gap exceeds g.

    Parameters
    ----------
    n_items, k : int
        Number of items, and of items in the upper group, 1 <= k <= n_items - 1.
    scale : float
        Scale of the Laplace noise on the counts, in wins; 0 for no noise.
    p : float, optional
        Edge design: probability that a pair is compared.
    comparisons : int, optional
        Individual design: number of comparisons of uniform pairs in all (users times per user).
        Exactly one of ``p`` and ``comparisons`` is given.
    size : int
        Number of replicates.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (size,)
        Gaps in [0, 1/2] to within 2^-25; infinite where even a gap of 1/2 fails.
    """
    n = check.integer("n_items", n_items, 2)
    k = check.integer("k", k, 1, n - 1)
    scale = check.nonnegative("scale", scale)
    size = check.integer("size", size, 1)
    check.generator(rng)
    if (p is None) == (comparisons is None):
        raise ValueError(
            f"p = {p!r}, comparisons = {comparisons!r}: allowed is exactly one of them"
        )
    i, j = np.triu_indices(n, 1)
    if p is not None:
        p = check.probability("p", p, zero=False)
        replicate, pair = np.nonzero(rng.random((size, i.size)) < p)
    else:
        total = check.integer("comparisons", comparisons, 1)
        replicate = np.repeat(np.arange(size), total)
        pair = rng.integers(0, i.size, size=size * total)
    u = rng.random(pair.size)
    crosses = (i[pair] < k) & (j[pair] >= k)
    ranker = NoisyCounts(Edge(n), scale)  # whom the scale protects makes no difference here
    base = ranker.perturb(np.zeros(n), ranker.noise(size, rng=rng))
    base += _wins(replicate[~crosses], i[pair], j[pair], ~crosses, u[~crosses] < 0.5, (size, n))
    replicate, u, first, second = replicate[crosses], u[crosses], i[pair][crosses], j[pair][crosses]
    everything = np.ones(u.size, dtype=bool)

    def recovers(gap: Array) -> NDArray[np.bool_]:
        upper_wins = u < 0.5 + gap[replicate]
        counts = base + _wins(replicate, first, second, everything, upper_wins, (size, n))
        return np.asarray(counts[:, :k].min(axis=1) > counts[:, k:].max(axis=1))

    low, high = np.zeros(size), np.full(size, 0.5)
    possible = recovers(high)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        done = recovers(middle)
        low, high = np.where(done, low, middle), np.where(done, middle, high)
    return np.where(possible, high, np.inf)


def quantile_interval(
    values: ArrayLike, q: float, *, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Sample quantile with a distribution-free confidence interval from order statistics.

    Parameters
    ----------
    values : array, shape (N,)
        Independent observations; infinities are allowed.
    q : float
        Level of the quantile, in (0, 1).
    confidence : float
        In (0, 1).

    Returns
    -------
    estimate, lower, upper : float
        The interval covers the true quantile with probability at least ``confidence``, whatever
        the law; an end is -inf or inf if N is too small to bound that side.
    """
    x = np.sort(check.real_array("values", values).astype(float))
    if x.ndim != 1 or not x.size or np.isnan(x).any():
        raise ValueError(f"values of shape {x.shape}: allowed is a non-empty (N,) without NaN")
    q = check.probability("q", q, zero=False, one=False)
    tail = (1 - check.probability("confidence", confidence, zero=False, one=False)) / 2
    # The number of observations below the quantile is binomial(N, q).
    below = stats.binom(x.size, q)
    rank_low = int(below.ppf(tail)) - 1
    rank_high = int(below.ppf(1 - tail))
    estimate = x[min(int(np.ceil(q * x.size)), x.size) - 1]
    lower = x[rank_low] if rank_low >= 0 else -np.inf
    upper = x[rank_high] if rank_high < x.size else np.inf
    return float(estimate), float(lower), float(upper)


def _wins(
    replicate: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    first_wins: NDArray[np.bool_],
    shape: tuple[int, int],
) -> Array:
    """Win counts per replicate and item, from the chosen comparisons."""
    winner = np.where(first_wins, first[chosen], second[chosen])
    counts = np.bincount(replicate * shape[1] + winner, minlength=shape[0] * shape[1])
    return counts.reshape(shape).astype(float)
