"""Private answers on demand: AGKM's Algorithm 2, and KwikSort on top of it, Algorithm 3.

The users are split at random into as many groups as there are items. Every ordered pair belongs
to a random group; when it is asked, that group answers. A group that was asked too often refuses.
Calibration ``"printed"`` feeds answers 0 and 1 to a randomiser made for numbers from -1 to 1 and
wastes half of the budget; ``"tight"`` feeds it -1 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Rankings
from dpbook.estimators import kemeny_ranking
from dpbook.estimators.pairwise import ranking_positions
from dpbook.rankers.local_rankings.adaptive_budget import (
    CALIBRATIONS,
    adaptive_report,
    adaptive_report_pmf,
)
from dpbook.rankers.local_rankings.one_pair import local_fractions

__all__ = [
    "AdaptiveAnswers",
    "AdaptiveRanking",
    "adaptive_answers",
    "ldp_adaptive_kwiksort",
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
    """A ranking from Algorithm 3.

    Attributes
    ----------
    positions : array of int, shape (n,)
        Place of every item.
    refused : bool
        Whether a group refused and the fallback made the ranking.
    asked : int
        Number of pairs answered.
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
