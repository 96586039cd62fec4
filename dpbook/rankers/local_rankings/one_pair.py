"""Estimates of all majorities from one round of private messages.

`one_pair_response`
    every user answers one pair, drawn at random, at the full epsilon.
`pairs_response`
    K random pairs at epsilon / K each.
`local_fractions`
    the same table from other protocols, for comparison at the same epsilon.

The variances are in `dpbook.rankers.local_rankings.entry_variance`.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Rankings
from dpbook.estimators.pairwise import ranking_positions
from dpbook.rankers.local_rankings.hypercube import hypercube_response
from dpbook.rankers.local_rankings.ldp_kwiksort import ldp_pair_counts
from dpbook.rankers.local_rankings.ldp_queries import best_queries

__all__ = ["PROTOCOLS", "local_fractions", "one_pair_response", "pairs_response"]

Array = NDArray[np.float64]

PROTOCOLS = ("one_pair", "pairs", "hypercube", "split")

CHUNK = 2**22


def one_pair_response(
    positions: Rankings | ArrayLike, *, epsilon: float, rng: np.random.Generator
) -> Array:
    """Unbiased estimate of all fractions from one private answer per user.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, n)
        Place of every item in the ranking of each user: rows are permutations of 0..n-1.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (n, n)
        Entry [i, j] estimates the share of users who place i before j; it is not clipped to
        [0, 1]. Entries [i, j] and [j, i] add up to 1; the diagonal is 0.

    Notes
    -----
    Each user draws one pair at random and answers it by randomised response at epsilon; the
    answer +1 or -1 is multiplied by the number of pairs and by coth(epsilon / 2). The variance of
    an entry is `entry_variance`.

    **Privacy.** (epsilon, 0) locally, exactly.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    return pairs_response(positions, epsilon=epsilon, queries=1, rng=rng)


def pairs_response(
    positions: Rankings | ArrayLike,
    *,
    epsilon: float,
    queries: int | None,
    rng: np.random.Generator,
) -> Array:
    """Unbiased estimate of all fractions from K private answers per user.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, n)
        Place of every item in the ranking of each user: rows are permutations of 0..n-1.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    queries : int or None
        Number K of distinct random pairs per user, each answered at epsilon / K; None takes
        `best_queries`, which makes the variance least.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (n, n)
        As for `one_pair_response`, which is K = 1.

    Notes
    -----
    **Privacy.** (epsilon, 0) locally, by composition of the K answers.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = ranking_positions(positions)
    users, n = table.shape
    pairs = comb(n, 2)
    k = best_queries(epsilon, most=pairs) if queries is None else queries
    counts = ldp_pair_counts(table, epsilon=epsilon, queries=k, rng=rng)
    weight = pairs / (k * np.tanh(0.5 * epsilon / k))
    return _fractions(0.5 * weight * (counts - counts.T) / users)


def local_fractions(
    positions: Rankings | ArrayLike,
    protocol: str,
    *,
    epsilon: float,
    queries: int | None = None,
    ties: str = "split",
    rng: np.random.Generator,
) -> Array:
    """Unbiased estimate of all fractions by one of four protocols without interaction.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, n)
        Place of every item in the ranking of each user: rows are permutations of 0..n-1.
    protocol : {"one_pair", "pairs", "hypercube", "split"}
        One random pair at epsilon; K random pairs at epsilon / K; the whole sign vector by
        `hypercube_response`; or every pair by randomised response at epsilon / C(n, 2).
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    queries : int or None
        As for `pairs_response`, for ``"pairs"`` only.
    ties : {"split", "closed"}
        As for `hypercube_response`, for ``"hypercube"`` only.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (n, n)
        As for `one_pair_response`.

    Notes
    -----
    Source: AGKM, Theorem 8 (``"hypercube"``) and the text after it (``"split"``).

    **Privacy.** (epsilon, 0) locally; for ``"hypercube"`` with ``ties="closed"`` only if C(n, 2)
    is odd, otherwise ``ln(1 + exp(epsilon))``.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = ranking_positions(positions)
    users, n = table.shape
    pairs = comb(n, 2)
    if check.choice("protocol", protocol, PROTOCOLS) != "hypercube":
        asked = {"one_pair": 1, "pairs": queries, "split": pairs}[protocol]
        return pairs_response(table, epsilon=epsilon, queries=asked, rng=rng)
    first, second = np.triu_indices(n, 1)
    total, step = np.zeros(pairs), max(1, CHUNK // pairs)
    for start in range(0, users, step):
        block = table[start : start + step]
        signs = np.where(block[:, first] < block[:, second], 1, -1)
        total += hypercube_response(signs, epsilon, ties=ties, rng=rng).sum(axis=0)
    out = np.zeros((n, n))
    out[first, second], out[second, first] = total, -total
    return _fractions(0.5 * out / users)


def _fractions(half_difference: Array) -> Array:
    out = 0.5 + half_difference
    np.fill_diagonal(out, 0.0)
    return out
