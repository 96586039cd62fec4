"""Private answers on demand: AGKM's Algorithms 2 and 3, and one question for each person.

The users are split at random into as many groups as there are items. Every ordered pair belongs
to a random group; when it is asked, that group answers. A group that was asked too often refuses.
Calibration ``"printed"`` feeds answers 0 and 1 to a randomiser made for numbers from -1 to 1 and
wastes half of the budget; ``"tight"`` feeds it -1 and 1.

`ldp_one_question_kwiksort` has a group for every question instead, and nobody answers twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Rankings
from dpbook.estimators import kemeny_ranking, kwiksort_ranking
from dpbook.estimators.pairwise import ranking_positions
from dpbook.rankers.local_rankings.adaptive_budget import (
    CALIBRATIONS,
    adaptive_report,
    adaptive_report_pmf,
)
from dpbook.rankers.local_rankings.ldp_channels import report_pmf
from dpbook.rankers.local_rankings.one_pair import local_fractions

__all__ = [
    "AdaptiveAnswers",
    "AdaptiveRanking",
    "adaptive_answers",
    "ldp_adaptive_kwiksort",
    "ldp_one_question_kwiksort",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AdaptiveAnswers:
    """All answers that Algorithm 2 would give; only those asked for are released.

    Attributes
    ----------
    values : array, shape (n, n)
        Entry [j, i] estimates the share of users who place j before i; diagonal 0. The entries
        [j, i] and [i, j] come from different groups and need not add up to 1.
    groups : array of int, shape (n, n)
        Group that answers for an ordered pair; diagonal -1.
    limit : int
        Number of pairs that one group answers before it refuses.
    group_size : int
        Places in a group, some of which may be empty.
    """

    values: Array
    groups: Ints
    limit: int
    group_size: int

    def refused_at(self, pairs: ArrayLike, counter: str = "query") -> int | None:
        """Index of the first refused query, or None.

        Parameters
        ----------
        pairs : array of int, shape (queries, 2)
            Ordered pairs (j, i) in the order in which they are asked, none twice.
        counter : {"query", "user"}
            The counter of a group goes up by one per query, as the text says, or by one for each
            of its users, as Algorithm 2 prints.

        Returns
        -------
        int or None
        """
        check.choice("counter", counter, ("query", "user"))
        asked = check.whole_array("pairs", pairs).reshape(-1, 2)
        group = self.groups[asked[:, 0], asked[:, 1]]
        before = np.tril(group[:, None] == group[None, :]).sum(axis=1)
        count = before * (1 if counter == "query" else self.group_size)
        over = np.flatnonzero(count > self.limit)
        return int(over[0]) if over.size else None


@dataclass(frozen=True, eq=False)
class AdaptiveRanking:
    """A ranking by questions on demand.

    Attributes
    ----------
    positions : array of int, shape (n,)
        Place of every item.
    refused : bool
        Whether the groups gave out, so that the fallback made the ranking, or the rest of it.
    asked : int
        Number of pairs that a group answered.
    """

    positions: Ints
    refused: bool
    asked: int


def adaptive_answers(
    positions: Rankings | ArrayLike,
    *,
    epsilon: float,
    cap: int,
    calibration: str = "tight",
    rng: np.random.Generator,
) -> AdaptiveAnswers:
    """Algorithm 2: unbiased private answers for every ordered pair, to be asked sparingly.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, m)
        Place of every item in the ranking of each user: rows are permutations of 0..m-1.
    epsilon, cap, calibration
        As for `adaptive_report`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    AdaptiveAnswers

    Raises
    ------
    ValueError
        For arguments out of range.

    Notes
    -----
    Source: AGKM, Lemma 10 and Algorithm 2. The sum of a group's reports is drawn at once: given
    the true answers it is a sum of two binomials. If m does not divide the number of users,
    some places in the groups stay empty.

    **Privacy.** (epsilon, 0) locally if no more than ``limit`` pairs of a group are looked at
    (`AdaptiveAnswers.refused_at`), exactly for ``"tight"``; ``"printed"`` spends `adaptive_loss`,
    about epsilon / 2. Looking at all of ``values`` is not private at epsilon.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = ranking_positions(positions)
    users, m = table.shape
    limit, report, scale = adaptive_report(m, epsilon=epsilon, cap=cap, calibration=calibration)
    plus = adaptive_report_pmf(report, calibration=calibration)[:, 1]
    groups = check.generator(rng).integers(0, m, size=(m, m))
    np.fill_diagonal(groups, -1)
    slots = users + (-users) % m
    places = rng.permutation(slots).reshape(m, -1)
    values = np.zeros((m, m))
    for g, place in enumerate(places):
        member = table[place[place < users]]
        j, i = np.nonzero(groups == g)
        agree = (member[:, j] < member[:, i]).sum(axis=0)
        up = rng.binomial(agree, plus[1]) + rng.binomial(len(member) - agree, plus[0])
        values[j, i] = scale * (2 * up - len(member)) * (m / users)
    if calibration == "tight":
        values = 0.5 * (1 + values)
        np.fill_diagonal(values, 0.0)
    return AdaptiveAnswers(values, groups, limit, slots // m)


def ldp_adaptive_kwiksort(
    positions: Rankings | ArrayLike,
    *,
    epsilon: float,
    cap: int,
    calibration: str = "tight",
    fallback: Callable[[Array], ArrayLike] | None = None,
    rng: np.random.Generator,
) -> AdaptiveRanking:
    """Algorithm 3: KwikSort on answers on demand, with another ranking when a group refuses.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, m)
        Place of every item in the ranking of each user: rows are permutations of 0..m-1.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    cap : int
        Number of queries q that the protocol is set for, at least m / 2.
    calibration : {"tight", "printed"}
        Half of epsilon for the answers and half for the fallback; or the answers of the printed
        Algorithm 2 at epsilon, and closed half-spaces in the fallback at epsilon / 2.
    fallback : callable, optional
        Takes the estimated fractions, shape (m, m), and returns positions. Left out: the exact
        Kemeny ranking, in the place of the authors' approximation scheme.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    AdaptiveRanking

    Notes
    -----
    Source: AGKM, Theorem 11 and Algorithm 3. The fallback works on `local_fractions` from
    ``"hypercube"``. A cap of m (m - 1) / 2 or more does not rule out a refusal.

    **Privacy.** (epsilon, 0) locally for ``"tight"``. ``"printed"`` is not: its answers and its
    fallback add up to ``adaptive_loss(..., calibration="printed", fallback=True)``.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = ranking_positions(positions)
    tight = check.choice("calibration", calibration, CALIBRATIONS) == "tight"
    epsilon = check.epsilon(epsilon)
    budget = 0.5 * epsilon if tight else epsilon
    answers = adaptive_answers(table, epsilon=budget, cap=cap, calibration=calibration, rng=rng)
    order, asked = _sort(answers, rng)
    if order is not None:
        return AdaptiveRanking(np.argsort(order), refused=False, asked=asked)
    fractions = local_fractions(
        table, "hypercube", epsilon=0.5 * epsilon, ties="split" if tight else "closed", rng=rng
    )
    ranking = kemeny_ranking(fractions).positions if fallback is None else fallback(fractions)
    return AdaptiveRanking(np.asarray(ranking, dtype=np.int64), refused=True, asked=asked)


def ldp_one_question_kwiksort(
    positions: Rankings | ArrayLike,
    *,
    epsilon: float,
    groups: int,
    cap: int | None = None,
    rng: np.random.Generator,
) -> AdaptiveRanking:
    """KwikSort that asks a fresh group for every comparison, so that nobody answers twice.

    Parameters
    ----------
    positions : Rankings, or array of int, shape (users, n)
        Place of every item in the ranking of each user: rows are permutations of 0..n-1.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    groups : int
        The users are split at random into so many groups of equal size; some may be left over.
    cap : int, optional
        Number of groups that answer one comparison each, at most `groups`, which is the default.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    AdaptiveRanking

    Notes
    -----
    The partition is that of Bassily (2019), as AGKM describe it. The members of a group answer by
    randomised response at epsilon and their majority decides, a tie by a coin. The largest part is
    split first. When the next pivot would need more groups than the cap allows, everybody who has
    not been asked answers one pair, drawn from those without an order, and KwikSort ends on these.

    **Privacy.** (epsilon, 0) locally: every user sends one bit, chosen by what others have sent.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = ranking_positions(positions)
    users, n = table.shape
    lie = report_pmf(check.epsilon(epsilon))[0, 1]
    size = users // check.integer("groups", groups, 1, users)
    most = check.integer("cap", groups if cap is None else cap, 0, groups)
    people = check.generator(rng).permutation(users)
    places, asked, parts = np.zeros(n, dtype=np.int64), 0, [(0, np.arange(n))]
    while any(len(items) > 1 for _, items in parts):
        largest = max(range(len(parts)), key=lambda k: len(parts[k][1]))
        start, items = parts[largest]
        if asked + len(items) - 1 > most:
            break
        pivot = int(rng.choice(items))
        rest = items[items != pivot]
        member = people[asked * size : (asked + len(rest)) * size].reshape(len(rest), size)
        asked += len(rest)
        votes = table[member, rest[:, None]] < table[member, pivot]
        lead = 2 * (votes ^ (rng.random(votes.shape) < lie)).sum(axis=1) - size
        left = lead + rng.choice([-0.5, 0.5], size=len(rest)) > 0
        places[pivot] = middle = start + int(left.sum())
        parts[largest] = (start, rest[left])
        parts.append((middle + 1, rest[~left]))
    open_pairs = [pair for _, items in parts for pair in combinations(items.tolist(), 2)]
    margin = np.zeros((n, n))
    if open_pairs:
        member = people[asked * size :]
        first, second = np.array(open_pairs)[rng.integers(len(open_pairs), size=len(member))].T
        yes = (table[member, first] < table[member, second]) ^ (rng.random(len(member)) < lie)
        np.add.at(margin, (first, second), 2 * yes - 1)
    for start, items in parts:
        places[items] = start
        if len(items) > 1:
            places[items] += kwiksort_ranking(margin[np.ix_(items, items)], rng=rng)
    return AdaptiveRanking(places, refused=bool(open_pairs), asked=asked)


def _sort(answers: AdaptiveAnswers, rng: np.random.Generator) -> tuple[Ints | None, int]:
    """Quicksort by the answers; None if a group refuses. Second, the number of answers."""
    load = np.zeros(len(answers.groups), dtype=int)
    order: list[int] = []
    stack = [np.arange(len(load))]
    while stack:
        items = stack.pop()
        if items.size < 2:
            order.extend(items.tolist())
            continue
        pivot = int(rng.choice(items))
        rest = items[items != pivot]
        for g in answers.groups[rest, pivot]:
            if load[g] == answers.limit:
                return None, int(load.sum())
            load[g] += 1
        left = answers.values[rest, pivot] > 0.5
        # Last in, first out: the left part is sorted before the pivot and the right part.
        stack += [rest[~left], np.array([pivot]), rest[left]]
    return np.array(order, dtype=np.int64), int(load.sum())
