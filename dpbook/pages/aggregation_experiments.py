"""The experiments of YLL on whole rankings, and the exact error behind their points (page 31)."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpbook import _validation as check
from dpbook import rankers
from dpbook.models import mallows_pair_probabilities
from dpbook.privacy import WholeRanking
from dpbook.simulation import expected_wrong_pairs
from dpbook.simulation.errors import PairErrors

Counts = NDArray[np.int64]

NEGLIGIBLE = 1e-18


def pairs_of(values: NDArray[Any]) -> NDArray[Any]:
    """Entries above the diagonal."""
    return values[..., *np.triu_indices(values.shape[-1], 1)]


def as_table(ahead: Counts, behind: Counts) -> Counts:
    """From the pairs to square tables."""
    n = int((1 + np.sqrt(1 + 8 * ahead.shape[-1])) / 2)
    tally, (i, j) = np.zeros((*ahead.shape[:-1], n, n), dtype=int), np.triu_indices(n, 1)
    tally[..., i, j], tally[..., j, i] = ahead, behind
    return tally


def asks(n: int, epsilon: float, queries: int = 1, kind: str = "response") -> rankers.PairResponses:
    """LDP-KwikSort with so many questions a person."""
    unit = WholeRanking(n)
    return rankers.PairResponses.private(float(epsilon), unit, queries=queries, mechanism=kind)


def expected_error_rate(ranker: rankers.PairResponses, counts: ArrayLike) -> float:
    """Exact expectation of YLL's error rate, equation (5), for a fixed set of rankings.

    The share of the pairs, drawn at random, whose reports point strictly against a strict majority
    of the people. Ties, among the people or in the reports, are no error. Entry [i, j] of
    ``counts``, (n, n), counts the people who place i before j; [i, j] + [j, i] is their number.
    """
    wrong = pairs_of(np.asarray(profile_errors(ranker, counts).wrong))
    decided = pairs_of(np.asarray(counts)) != pairs_of(np.transpose(counts))
    return float(wrong[decided].sum() / decided.size)


def profile_errors(ranker: rankers.PairResponses, counts: ArrayLike) -> PairErrors:
    """Exact distribution of the sign of each pair's reports, for a fixed set of rankings.

    Symmetric arrays of shape (n, n) with zero diagonal. For a pair on which the people themselves
    are tied, ``wrong`` is the probability that item max(i, j) is ahead. Reports minus and plus are
    summed through their characteristic function; the absolute error is about 1e-16 a person.
    """
    table = check.square_table("counts", counts)
    if len(table) != ranker.unit.n_items:
        raise ValueError(f"counts of shape {table.shape}: allowed is (n, n), n as in the unit")
    upper = np.triu_indices(len(table), 1)
    ahead, behind = table[upper], table[upper[::-1]]
    users = int(ahead[0] + behind[0])
    if (ahead + behind != users).any() or (table < 0).any():
        raise ValueError("counts: allowed are tables in which every pair has the same total")
    if ranker.design != "random" and ranker.queries < ranker.pairs:
        raise ValueError(f"design = {ranker.design!r}: allowed is 'random'")
    agree, where = np.unique(np.maximum(ahead, behind).astype(int), return_inverse=True)
    rate, distribution = ranker.queries / ranker.pairs, ranker.channel
    reach = _most_asked(users, rate)
    turn = np.exp(2j * np.pi * np.arange(reach + 1) / (2 * reach + 1))  # half of a circle
    yes = np.log(1 - rate + rate * (distribution[1, 1] * turn + distribution[1, 0] / turn))
    no = np.log(1 - rate + rate * (distribution[0, 1] * turn + distribution[0, 0] / turn))
    transform = np.exp(agree[:, None] * yes + (users - agree[:, None]) * no)
    margin = np.clip(np.fft.hfft(transform, 2 * reach + 1) / (2 * reach + 1), 0.0, 1.0)
    wrong, tie = np.zeros((2, *table.shape))
    # Index s and s - (2 reach + 1) are the same point of the circle: negatives come last.
    wrong[upper], tie[upper] = margin[:, reach + 1 :].sum(axis=1)[where], margin[where, 0]
    return PairErrors(wrong + wrong.T, tie + tie.T)


def _most_asked(users: int, rate: float) -> int:
    """Number of people that is exceeded with negligible probability; binom.isf gives up there."""
    return int((stats.binom.sf(np.arange(users), users, rate) > NEGLIGIBLE).sum())


@cache
def _pair_errors(n: int, m: int, spread: float, epsilon: float, kind: str, queries: int) -> Any:
    distribution = mallows_pair_probabilities(n, spread)
    return expected_wrong_pairs(asks(n, epsilon, queries, kind), distribution, int(m))


def wrong_half(
    n: int,
    m: int,
    spread: float,
    epsilon: float,
    kind: str = "response",
    queries: int = 1,
    ties: float = 0.5,
) -> float:
    """Expected share of wrong pairs on Mallows data, a tie being half wrong."""
    errors = _pair_errors(n, m, spread, epsilon, kind, queries)
    return (errors.wrong + ties * errors.tie) / comb(n, 2)
