"""What the experiments of two pages share: win counts of complete data, critical gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook.models import btl_probabilities
from dpbook.privacy import Edge
from dpbook.rankers import NoisyCounts

Array = NDArray[np.float64]

_BISECTIONS = 24


def edge_win_counts(theta: Array, *, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Win counts when each pair is compared once, without keeping the outcomes.

    Parameters
    ----------
    theta : array, shape (n,)
        Strengths, logistic link.
    size : int
        Number of replicates.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (size, n)

    Notes
    -----
    Probabilities and uniform numbers have 24 bits.
    """
    rho = btl_probabilities(theta).astype(np.float32)
    n, size = len(rho), check.integer("size", size, 1)
    wins = np.zeros((size, n), dtype=np.int64)
    for i in range(n - 1):
        first = check.generator(rng).random((size, n - 1 - i), dtype=np.float32) < rho[i, i + 1 :]
        wins[:, i] += np.count_nonzero(first, axis=1)
        wins[:, i + 1 :] += ~first
    return wins


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
