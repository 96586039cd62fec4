"""Win counts of complete data; critical gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.models import LINKS
from dpbook.privacy import Edge
from dpbook.rankers import NoisyCounts

_BISECTIONS = 24


_ENTRIES = 1 << 20  # outcomes of pairs that are kept at once
_ROWS = 64  # items whose probabilities are made at once


def edge_win_counts(theta: Array, *, size: int, rng: np.random.Generator) -> Ints:
    """Win counts when each pair is compared once, (size, n), without keeping the outcomes.

    The strengths ``theta``, (n,), are log-odds; probabilities and uniform numbers have 24 bits.
    """
    theta = check.finite_array("theta", theta)
    n, size = len(theta), check.integer("size", size, 1)
    wins, draw = np.zeros((size, n), dtype=np.int64), check.generator(rng).random
    block = max(1, _ENTRIES // (size * n))
    for top in range(0, n - 1, block):
        rows = np.arange(top, min(top + block, n - 1))
        lost = np.zeros((size, rows.size, n), dtype=bool)  # by the items of the rows
        for i in rows:
            if i % _ROWS == 0:  # probabilities on one side of the diagonal only
                gaps = theta[i : i + _ROWS, None] - theta[i + 1 :]
                rho = LINKS["logistic"].cdf(gaps).astype(np.float32)
            np.greater_equal(
                draw((size, n - 1 - i), dtype=np.float32),
                rho[i % _ROWS, i % _ROWS :],
                out=lost[:, i - top, i + 1 :],
            )
        wins[:, rows] += n - 1 - rows - lost.sum(axis=2)
        wins += lost.sum(axis=1)
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
        Number of gaps, in [0, 1/2] to within 2^-25, or infinite where even a gap of 1/2 fails.
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
    # defeats of upper items by lower ones into wins: recovery is monotone, bisection finds where.
    u = rng.random(pair.size)
    noise = ranker.noise(size, rng=rng)

    def wins(of: Ints, pair: Ints, first: NDArray[np.bool_]) -> Array:
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
