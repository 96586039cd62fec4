"""LDP-KwikSort: everybody compares a few random pairs in private, KwikSort sorts the majorities.

The tables it works on come from `ldp_pair_counts`; the exact law of one entry is in
`dpbook.rankers.local_rankings.ldp_errors`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Rankings
from dpbook.estimators import kwiksort_rankings
from dpbook.estimators.pairwise import ranking_positions
from dpbook.rankers.local_rankings.ldp_channels import report_pmf
from dpbook.rankers.local_rankings.ldp_queries import best_queries

__all__ = ["DESIGNS", "ldp_kwiksort", "ldp_pair_counts"]

Counts = NDArray[np.int64]

DESIGNS = ("random", "balanced")


def ldp_pair_counts(
    positions: Rankings | ArrayLike,
    *,
    epsilon: float,
    queries: int | None = 1,
    mechanism: str = "response",
    design: str = "random",
    size: int | None = None,
    rng: np.random.Generator,
) -> Counts:
    """Reported answers per pair when each user compares ``queries`` pairs in private.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, n)
        Place of every item in the ranking of each user: rows are permutations of 0..n-1.
    epsilon : float
        Privacy parameter of a user, in nats, above 0; each answer gets epsilon / queries.
    queries : int or None
        Number K of distinct pairs per user, at most n (n - 1) / 2; None takes `best_queries`.
    mechanism : {"response", "laplace"}
        Randomised response, or the answer plus Laplace noise, cut at one half.
    design : {"random", "balanced"}
        K pairs drawn at random by each user, or dealt out so that two pairs differ by at most
        one in the number of users asked, the users in random order.
    size : int, optional
        Number of independent runs.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (n, n) or (size, n, n)
        Entry [i, j] counts the reports "i before j".

    Raises
    ------
    ValueError
        For arguments out of range.

    Notes
    -----
    Source: YLL, Algorithms 1 to 4 as described in the text. The estimate of the true difference
    is the difference of the reported counts over the margin of a report, so it has the same sign.

    **Privacy.** (epsilon, 0) locally, under replacement of a whole ranking, by composition of K
    answers, and exactly: a ranking and its reverse differ in all K of them. The questions are drawn
    without looking at the data. For ``"laplace"`` the sampler draws the bit that the curator
    reads off the noisy answer, not the answer.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = ranking_positions(positions)
    users, n = table.shape
    pairs = n * (n - 1) // 2
    k = queries
    if k is None:
        k = best_queries(epsilon, mechanism=mechanism, most=pairs)
    k = check.integer("queries", k, 1, pairs)
    lie = float(report_pmf(check.epsilon(epsilon) / k, mechanism)[0, 1])
    check.choice("design", design, DESIGNS)
    check.generator(rng)
    flat, row = table.reshape(-1), np.arange(0, users * n, n)
    runs = 1 if size is None else check.integer("size", size, 0)
    out = np.zeros((runs, n, n), dtype=np.int64)
    first, second = _pairs(n)
    for r in range(runs):
        question = _questions(users, pairs, k, design, rng)
        base = row if k == 1 else row[:, None]
        before = flat[base + first[question]] < flat[base + second[question]]
        report = before ^ (rng.random(question.shape) < lie)
        tally = np.bincount((2 * question + report).reshape(-1), minlength=2 * pairs)
        out[r, first, second] = tally[1::2]
        out[r, second, first] = tally[::2]
    return out[0] if size is None else out


def ldp_kwiksort(
    positions: Rankings | ArrayLike,
    *,
    epsilon: float,
    queries: int | None = 1,
    mechanism: str = "response",
    design: str = "random",
    size: int | None = None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Rank items from private answers: KwikSort on the majorities of `ldp_pair_counts`.

    Parameters
    ----------
    positions, epsilon, queries, mechanism, design, size, rng
        As for `ldp_pair_counts`.

    Returns
    -------
    array of int, shape (n,) or (size, n)
        Place of every item. Pairs with equal counts are ordered at random.

    Notes
    -----
    Source: YLL, Section 3.

    **Privacy.** That of `ldp_pair_counts`: the sorting sees nothing but the reports.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    counts = ldp_pair_counts(
        positions,
        epsilon=epsilon,
        queries=queries,
        mechanism=mechanism,
        design=design,
        size=1 if size is None else size,
        rng=rng,
    )
    rankings = np.asarray(kwiksort_rankings(counts, rng=rng), dtype=np.int64)
    return rankings[0] if size is None else rankings


def _questions(
    users: int, pairs: int, k: int, design: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Pair numbers asked of each user, distinct in a row: shape (users,) for k = 1."""
    if k == pairs:
        return np.tile(np.arange(pairs), (users, 1)) if k > 1 else np.zeros(users, np.int64)
    if design == "balanced":
        # Users take K cards in turn from a shuffled deck that is dealt round and round.
        deck, turn = rng.permutation(pairs), rng.permutation(users)
        if k == 1:
            return deck[turn % pairs]
        return deck[(turn[:, None] * k + np.arange(k)) % pairs]
    if k == 1:
        return rng.integers(0, pairs, size=users)
    # Floyd's sampling without replacement, one column at a time for all users together.
    rows, taken = np.arange(users), np.zeros((users, pairs), dtype=bool)
    chosen = np.empty((users, k), dtype=np.int64)
    for column, top in enumerate(range(pairs - k, pairs)):
        draw = rng.integers(0, top + 1, size=users)
        draw[taken[rows, draw]] = top
        taken[rows, draw] = True
        chosen[:, column] = draw
    return chosen


@cache
def _pairs(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, second = np.triu_indices(n, 1)
    return first.astype(np.int64), second.astype(np.int64)
