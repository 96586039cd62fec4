"""Rankers at equal true privacy; win counts of complete data; critical gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.models import btl_probabilities
from dpbook.privacy import Edge
from dpbook.rankers import NoisyCounts, Ranker

Array = NDArray[np.float64]

_BISECTIONS = 24


def errors_at_loss(
    rankers: Mapping[str, Ranker],
    data: Mapping[str, Any],
    losses: Sequence[float],
    error: Callable[[NDArray[np.int64]], ArrayLike],
    *,
    of: str = "release",
    size: int,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Errors of rankers that all lose the same, whatever their epsilon is called.

    Parameters
    ----------
    rankers, data : mapping of str to Ranker, mapping of str to data
        Each ranker is brought to every loss by `Ranker.at_loss`; the data that it takes.
    losses, of : sequence of float, {"release", "ranking"}
        True losses, in nats, of what is published or of the ranking read off it.
    error : callable
        From positions, shape (size, n), to errors, shape (size,).
    size : int
        Rankings drawn for each ranker and loss.

    Returns
    -------
    dict of str to array, shape (losses, size)

    Examples
    --------
    >>> from dpbook.privacy import Edge
    >>> from dpbook.rankers import NoisyCounts
    >>> field, tables = {"counts": NoisyCounts.private(1, Edge(2))}, {"counts": [[0, 1], [0, 0]]}
    >>> generator = np.random.default_rng(1)
    >>> errors_at_loss(field, tables, [0.5, 9], lambda p: p[:, 0], size=4, rng=generator)["counts"]
    array([[1., 1., 1., 0.],
           [0., 0., 0., 0.]])
    """
    if missing := sorted(set(rankers) - set(data)):
        raise ValueError(f"data = {sorted(data)!r}: allowed are data for {missing[0]!r} too")
    levels, size = [check.epsilon(x, "losses") for x in losses], check.integer("size", size, 1)

    def errors(ranker: Ranker, given: Any) -> Array:
        drawn = (ranker.at_loss(x, of).sample(given, size, rng=rng) for x in levels)
        return np.array([error(places) for places in drawn], dtype=float)

    return {name: errors(ranker, data[name]) for name, ranker in rankers.items()}


def edge_win_counts(theta: Array, *, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Win counts when each pair is compared once, (size, n), without keeping the outcomes.

    The strengths ``theta``, (n,), are log-odds; probabilities and uniform numbers have 24 bits.
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
    """Smallest gap of `two_level_probabilities` at which noisy counts find the top-k set.

    The failure probability at gap g is the probability that the critical gap exceeds g.

    Parameters
    ----------
    n_items, k : int
        Number of items, and of items in the upper group, 1 <= k <= n_items - 1.
    scale : float
        Scale of the Laplace noise on the counts, in wins; 0 for no noise.
    p, comparisons : float, int, optional
        Exactly one of them. Edge design: probability that a pair is compared. Individual design:
        number of comparisons of uniform pairs in all (users times per user).
    size : int
        Number of replicates.

    Returns
    -------
    array, shape (size,)
        Gaps in [0, 1/2] to within 2^-25; infinite where even a gap of 1/2 fails.
    """
    n, size = check.integer("n_items", n_items, 2), check.integer("size", size, 1)
    k = check.integer("k", k, 1, n - 1)
    ranker = NoisyCounts(Edge(n), scale)  # whom the scale protects makes no difference here
    i, j = np.triu_indices(n, 1)
    if (p is None) == (comparisons is None):
        raise ValueError(f"p = {p}, comparisons = {comparisons}: allowed is exactly one of them")
    if p is not None:
        p = check.probability("p", p, zero=False)
        replicate, pair = np.nonzero(check.generator(rng).random((size, i.size)) < p)
    else:
        total = check.integer("comparisons", comparisons, 1)
        replicate = np.repeat(np.arange(size), total)
        pair = check.generator(rng).integers(0, i.size, size=size * total)
    # One uniform number per comparison, and the noise, stay fixed. A larger gap then only turns
    # defeats of upper items by lower items into wins: recovery is monotone, and bisection finds
    # where it starts.
    u = rng.random(pair.size)
    noise = ranker.noise(size, rng=rng)

    def wins(of: NDArray[np.int64], pair: NDArray[np.int64], first: NDArray[np.bool_]) -> Array:
        winner = np.where(first, i[pair], j[pair])
        at = (of * n + winner).astype(np.intp)
        return np.bincount(at, minlength=size * n).reshape(size, n).astype(float)

    crosses = (i[pair] < k) & (j[pair] >= k)
    within = wins(replicate[~crosses], pair[~crosses], u[~crosses] < 0.5)
    base = ranker.perturb(np.zeros(n), noise) + within
    replicate, pair, u = replicate[crosses], pair[crosses], u[crosses]

    settled = np.zeros_like(base)

    def recovers(gap: Array) -> NDArray[np.bool_]:
        counts = base + (settled + wins(replicate, pair, u < 0.5 + gap[replicate]))
        return np.asarray(counts[:, :k].min(axis=1) > counts[:, k:].max(axis=1))

    low, high = np.zeros(size), np.full(size, 0.5)
    possible = recovers(high)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        done = recovers(middle)
        low, high = np.where(done, low, middle), np.where(done, middle, high)
        # A comparison that no gap left to try can turn is counted once and for all.
        won = u < 0.5 + low[replicate]
        open_ = ~won & (u < 0.5 + high[replicate])
        settled += wins(replicate[~open_], pair[~open_], won[~open_])
        replicate, pair, u = replicate[open_], pair[open_], u[open_]
    return np.where(possible, high, np.inf)
