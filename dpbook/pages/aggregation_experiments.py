"""The experiments of YLL on whole rankings, and the exact error behind their points (page 31)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import comb, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook import estimators as est
from dpbook import rankers
from dpbook.models import mallows_pair_probabilities
from dpbook.privacy import WholeRanking
from dpbook.simulation import expected_wrong_pairs
from dpbook.simulation.errors import PairErrors

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Key = tuple[str, float, str, int]  # data, epsilon, mechanism, questions
Runs = Mapping[Key, tuple[Any, Array]]  # error rates and distances of the runs

NEGLIGIBLE = 1e-18
#: Chance that luck alone contradicts a claim of these pages, all comparisons of its test together.
ALARM = 1e-6


def pairs_of(values: NDArray[Any]) -> NDArray[Any]:
    """Entries above the diagonal."""
    return values[..., *np.triu_indices(values.shape[-1], 1)]


def as_table(ahead: Counts, behind: Counts) -> Counts:
    """From the pairs to square tables."""
    n = int((1 + np.sqrt(1 + 8 * ahead.shape[-1])) / 2)
    tally, (i, j) = np.zeros((*ahead.shape[:-1], n, n), dtype=int), np.triu_indices(n, 1)
    tally[..., i, j], tally[..., j, i] = ahead, behind
    return tally


def share_of_pairs(places: ArrayLike, counts: Counts) -> Any:
    """Average Kendall distance to the people behind pair counts, as a share of the pairs."""
    number = counts[0, 1] + counts[1, 0]
    return est.kemeny_score(places, counts / number) / comb(len(counts), 2)


def asks(n: int, epsilon: float, queries: int = 1, kind: str = "response") -> rankers.PairResponses:
    """LDP-KwikSort with so many questions a person."""
    unit = WholeRanking(n)
    return rankers.PairResponses.private(float(epsilon), unit, queries=queries, mechanism=kind)


def pair_by_pair(
    counts: Counts, epsilon: float, queries: int, kind: str, runs: int, rng: np.random.Generator
) -> Counts:
    """Reports of people known by their pair counts: exact laws of the pairs, drawn independently.

    What one person's answers to several pairs have in common is left out.
    """
    first, second = pairs_of(counts), pairs_of(counts.T)
    channel = rankers.report_pmf(epsilon / queries, kind)
    asked = rng.binomial(first + second, queries / first.size, (runs, first.size))
    held = rng.hypergeometric(first, second, asked)
    ahead = rng.binomial(held, channel[1, 1]) + rng.binomial(asked - held, channel[0, 1])
    return as_table(ahead, asked - ahead)


def fresh_reports(
    law: Array, m: int, epsilon: float, kind: str, runs: int, rng: np.random.Generator
) -> Counts:
    """Reports of people drawn afresh from a law of the pairs, one question for each."""
    share, channel = pairs_of(law), rankers.report_pmf(epsilon, kind)
    asked = rng.multinomial(m, np.full(share.size, 1 / share.size), runs)
    ahead = rng.binomial(asked, share * channel[1, 1] + (1 - share) * channel[0, 1])
    return as_table(ahead, asked - ahead)


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
    """Exact law of the sign of each pair's reports, for a fixed set of rankings.

    Symmetric arrays of shape (n, n) with zero diagonal. For a pair on which the people themselves
    are tied, ``wrong`` is the probability that item max(i, j) is ahead. Reports minus and plus are
    summed through their characteristic function; the absolute error is of the order of 1e-16 times
    the number of people.
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
    rate, law = ranker.queries / ranker.pairs, ranker.channel
    reach = _most_asked(users, rate)
    turn = np.exp(2j * np.pi * np.arange(reach + 1) / (2 * reach + 1))  # half of a circle
    yes = np.log(1 - rate + rate * (law[1, 1] * turn + law[1, 0] / turn))
    no = np.log(1 - rate + rate * (law[0, 1] * turn + law[0, 0] / turn))
    transform = np.exp(agree[:, None] * yes + (users - agree[:, None]) * no)
    lead = np.clip(np.fft.hfft(transform, 2 * reach + 1) / (2 * reach + 1), 0.0, 1.0)
    wrong, tie = np.zeros((2, *table.shape))
    # Index s and s - (2 reach + 1) are the same point of the circle: negatives come last.
    wrong[upper], tie[upper] = lead[:, reach + 1 :].sum(axis=1)[where], lead[where, 0]
    return PairErrors(wrong + wrong.T, tie + tie.T)


def _most_asked(users: int, rate: float) -> int:
    """Number of people that is exceeded with negligible probability; binom.isf gives up there."""
    return int((stats.binom.sf(np.arange(users), users, rate) > NEGLIGIBLE).sum())


def leads(
    runs: Runs, rule: Callable[[float, int], float], room: float, items: Mapping[str, int]
) -> Iterator[tuple[float, float]]:
    """Lead of each L elsewhere over the best L near the rule, and its bound.

    The bound is Student's, for an error probability of `ALARM` for all leads together.
    """
    tail = ALARM / len(runs)
    for key in dict.fromkeys(k[:3] for k in runs):
        same = {k[3]: runs[k][1] for k in runs if k[:3] == key}
        away = {q: abs(q - rule(key[1], comb(items[key[0]], 2))) for q in same}
        reach = max(room * (key[1] > 2), min(away.values()))
        best_near = min((same[q] for q in same if away[q] <= reach), key=np.mean)
        for found in (same[q] for q in same if away[q] > reach):
            noise = np.hypot(found.std(), best_near.std()) / np.sqrt(found.size - 1)
            bound = stats.t.isf(tail, found.size - 1) * noise
            yield best_near.mean() - found.mean(), bound + 1e-12  # all runs may be alike


def printed_choice(epsilon: float, kind: str, n: int) -> int:
    """The number of questions that YLL choose: of the neighbours of epsilon / 2."""

    def g(q: int) -> float:
        x = epsilon / q
        return float(q * (x / (x + 2) if kind == "response" else 1 - np.exp(-x / 2)) ** 2)

    low = max(1, int(epsilon / 2))
    return max((low, min(low + 1, comb(n, 2))), key=g)


def capped_kwiksort(leads: Array, cap: int, rng: np.random.Generator) -> Counts:
    """KwikSort, one run for each table; after `cap` comparisons what is unsorted stays at random.

    The parts are sorted from left to right. A part that the cap interrupts is in random order.
    """
    ranked = np.empty(leads.shape[:2], dtype=np.int64)
    for lead, places in zip(leads, ranked, strict=True):
        order, todo, left = [], [rng.permutation(len(lead))], cap
        while todo:
            part = todo.pop()
            left -= max(0, len(part) - 1)
            if len(part) < 2 or left < 0:
                order += part.tolist()
                continue
            ahead = lead[part[0], part[1:]] < 0
            todo += [part[1:][~ahead], part[:1], part[1:][ahead]]
        places[order] = np.arange(len(lead))
    return ranked


def least_loss(n: int, epsilon: float) -> float:
    """Loss that DP-KwikSort as described comes near, one ranking replaced."""
    return rankers.NoisyPairs.described(epsilon, WholeRanking(n)).loss("ranking")[0]


@cache
def nominal(n: int, loss: float) -> float:
    """Parameter at which the lower bound on the loss of DP-KwikSort is `loss`."""
    return float(brentq(lambda e: least_loss(n, e) - loss, loss / 20, loss))


@cache
def _pair_errors(n: int, m: int, spread: float, epsilon: float, kind: str, queries: int) -> Any:
    law = mallows_pair_probabilities(n, spread)
    return expected_wrong_pairs(asks(n, epsilon, queries, kind), law, int(m))


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


def needed(n: int, spread: float, m: int = 5000, goal: float = 0.05) -> tuple[float, int]:
    """Smallest epsilon with at most this share of wrong pairs, and its number of questions."""

    def solve(queries: int) -> float:
        def gap(x: float) -> float:
            return wrong_half(n, m, spread, np.exp(x), "response", queries) - goal

        ends = log(0.1), log(12)
        return float(np.exp(brentq(gap, *ends, xtol=1e-5)) if gap(ends[1]) < 0 else np.inf)

    found = [(solve(1), 1)]
    while not found[1:] or found[-1] < found[-2]:  # too few questions, then too many
        found.append((solve(len(found) + 1), len(found) + 1))
    return min(found)


# YLL, sections 5.4 and 5.5: gaps of the two randomisers by m, n and spread, in per cent.
PRINTED_GAPS = {
    (2500, 15, 0.5): 2.4,
    (2500, 30, 0.5): 11,
    (2500, 45, 0.5): 32.5,
    (5000, 45, 0.75): 13.5,
    (5000, 45, 0.5): 33.4,
    (5000, 45, 0.25): 46.5,
}

# YLL, Table 3: people and items, and the seconds of four solutions.
SOLUTIONS = ("KwikSort", "DP-KwikSort", "LDP, response", "LDP, Laplace")
SETS = ((795, 4), (793, 4), (5000, 10), (5000, 5), (5000, 10), (5000, 15), (5000, 30), (5000, 45))
SECONDS = np.array(
    [
        (0.0001, 0.0001, 0.0002, 0.0001, 0.0001, 0.0002, 0.0005, 0.0007),
        (0.0006, 0.0006, 0.0030, 0.0008, 0.0030, 0.0076, 0.0285, 0.0626),
        (0.1255, 0.1244, 2.7076, 2.5783, 2.6125, 2.8551, 3.3530, 4.4113),
        (0.1751, 0.1732, 2.9088, 2.9015, 2.9026, 2.9294, 2.9812, 3.1288),
    ]
)


def work(m: int, n: int, queries: int = 1) -> Array:
    """Steps of the four solutions, from rankings to a ranking."""
    sort = est.comparisons_pmf(n) @ np.arange(comb(n, 2) + 1)
    count, local = m * comb(n, 2), 3 * m * queries
    return np.array([count + sort, count + comb(n, 2) + sort, local + sort, local + sort])
