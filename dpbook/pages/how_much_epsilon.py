"""Page 34: the smallest epsilon at which a ranking comes out right, by simulated surveys.

"Right" has three meanings, in this order everywhere: the first place, the top k as a set, the whole
order. Items are named by their true order, 0 for the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpbook._typing import Array, Ints
from dpbook.estimators import pairwise_counts, ranks_from_scores
from dpbook.models import all_rankings, mallows_rankings
from dpbook.privacy import Person, WholeRanking
from dpbook.privacy.units import Unit
from dpbook.rankers import (
    ExponentialRanking,
    KNormCounts,
    NoisyCounts,
    NoisyPairs,
    PairResponses,
    PrivateFootrule,
    Ranker,
    TopSet,
    best_queries,
)

Family = Callable[[float], Ints]  # from epsilon to positions, (runs, n), with frozen randomness

GOALS = ("first place", "top set", "whole order")
SHAPED, NOISY = "counts with K-norm noise", "Laplace noise, first place alone"
ALONE = {"permute-and-flip": "permute_and_flip", "exponential mechanism": "exponential"}
MOST_PEOPLE = 50_000  # who report at once


def goals_met(positions: Ints, k: int) -> NDArray[np.bool_]:
    """Whether first place, top k and order are right, (3, ...), of positions (..., n)."""
    right = positions == np.arange(positions.shape[-1])
    return np.array([right[..., 0], (positions[..., :k] < k).all(axis=-1), right.all(axis=-1)])


def outward(value: float, way: int) -> str:
    """Two digits, rounded up for way 1 and down for way -1: an interval only gets wider."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    steps = np.ceil(value / unit - 1e-9) if way > 0 else np.floor(value / unit + 1e-9)
    return f"{steps * unit:.2g}"


@dataclass(frozen=True)
class Smallest:
    """Between which two values of epsilon the smallest one lies that is enough."""

    low: float  # too small; 0 if none of the grid is
    high: float  # enough; inf if none of the grid is
    possible: bool = True  # whether it may be enough to add no noise at all

    def __str__(self) -> str:
        if not self.possible:
            return "not at this size"
        if np.isinf(self.high):
            return f"above {outward(self.low, -1)}" if self.low else "too few runs to say"
        high = outward(self.high, 1)
        return f"{outward(self.low, -1)} to {high}" if self.low else f"at most {high}"


def made(
    ranker: Callable[[float], Ranker], tables: Ints, seed: list[int], most: float = np.inf
) -> Family:
    """A ranker on tables (runs, n, n), made for each epsilon up to the most, from one stream."""

    def rankings(e: float) -> Ints:
        return ranker(min(e, most)).sample(tables, len(tables), rng=np.random.default_rng(seed))

    return rankings


def alone(tables: Ints, unit: Unit, k: int, seed: list[int]) -> dict[str, Family]:
    """Nothing else released: the first place, or the top k as a set; named as `of_goal` does."""
    families: dict[str, Family] = {}
    for goal, size in enumerate((1, k)):
        for name, how in ALONE.items():
            ranker = partial(TopSet.private, unit=unit, k=size, mechanism=how)
            families[of_goal(name, goal)] = made(ranker, tables, seed)
    first = 2 * unit.half_range()
    families[NOISY] = made(lambda e: NoisyCounts(unit, first / e), tables, seed)
    return families


def of_goal(name: str, goal: int) -> str:
    """The name of the family that serves the goal: methods of `ALONE` have one for each."""
    return f"{name}, {GOALS[goal]} alone" if name in ALONE else name


def noisy_counts(wins: Ints, ranker: NoisyCounts, noise: Array, seed: int) -> Family:
    """Counts with one noise for all epsilons; without any noise ties are broken at random."""

    def counts(e: float) -> Ints:
        if np.isinf(e):
            return ranks_from_scores(wins, rng=np.random.default_rng(seed))
        return ranks_from_scores(ranker.at_loss(e).perturb(wins, noise))

    return counts


def whole_rankings(
    phi: float, n: int, k: int, people: int, runs: int, rng: np.random.Generator
) -> dict[str, Family]:
    """Rankers of whole rankings, drawn from a Mallows model, at equal true loss for a person."""
    by_run = mallows_rankings(people * runs, n, phi=phi, rng=rng).reshape(runs, people, n)
    unit, person = WholeRanking(n), Person(n, design="ranking", vouched=True)
    borda, margins = NoisyCounts.private(1.0, person), NoisyPairs.private(1.0, unit)
    foot, whole = PrivateFootrule.private(1.0, unit), ExponentialRanking.private(1.0, unit)
    data = np.array([pairwise_counts(ranks) for ranks in by_run])
    reached = np.array([(p[:, :, None] <= np.arange(n - 1)).sum(axis=0) for p in by_run])
    wins, orders = data.sum(axis=2), all_rankings(n)
    # Total Kendall distance to each ranking, (runs, n!).
    behind = orders[:, :, None] > orders[:, None, :]
    costs = data.reshape(runs, -1).astype(float) @ behind.reshape(len(orders), -1).T
    of_items, of_pairs, of_ranks = (r.noise(runs, rng=rng) for r in (borda, margins, foot))
    uniform, seed = rng.random(runs), int(rng.integers(2**63))

    def kwiksort(e: float) -> Ints:
        ranker = margins.at_loss(e)
        return ranker.rank(ranker.release(data, of_pairs), rng=np.random.default_rng(seed))

    def footrule(e: float) -> Ints:
        return foot.rank(reached + foot.at_loss(e).scale * of_ranks, rng=rng)

    def exponential(e: float) -> Ints:  # one draw from the exact distribution of each run
        weights = np.exp(-(costs - costs.min(axis=1, keepdims=True)) / whole.at_loss(e).scale)
        below = np.cumsum(weights, axis=1)
        return orders[(below < uniform[:, None] * below[:, -1:]).sum(axis=1)]

    def local(e: float) -> Ints:
        again, asked = np.random.default_rng(seed), best_queries(e, most=n * (n - 1) // 2)
        ranker = PairResponses.private(e, unit, queries=asked)
        parts = np.array_split(by_run, -(-people * runs // MOST_PEOPLE))
        tally = [reported(ranker, part.reshape(-1, n), len(part), again) for part in parts]
        return ranker.rank(np.concatenate(tally), rng=again)

    return {
        "noisy counts": noisy_counts(wins, borda, of_items, seed),
        "KwikSort on noisy margins": kwiksort,
        "private footrule": footrule,
        "exponential mechanism over whole rankings": exponential,
        "LDP-KwikSort": local,
        # With less noise most draws are rejected, and all of them take minutes.
        SHAPED: made(partial(KNormCounts.private, unit=person), data, [seed, 2], most=3.0),
        **alone(data, unit, k, [seed, 1]),
    }


def reported(ranker: PairResponses, ranks: Ints, runs: int, rng: np.random.Generator) -> Ints:
    """Tables of reports, (runs, n, n): `PairResponses.reports` of many data sets at once."""
    n, people = ranks.shape[1], len(ranks) // runs
    question, uniform = ranker.lots(len(ranks), rng=rng)
    (i, j), distribution = np.triu_indices(n, 1), ranker.channel
    before = np.take_along_axis(ranks, i[question], 1) < np.take_along_axis(ranks, j[question], 1)
    says = np.where(before, uniform >= distribution[1, 0], uniform < distribution[0, 1])
    run = np.repeat(np.arange(runs), people)[:, None]
    tally = np.zeros((runs, n, n), dtype=np.int64)
    a, b = i[question], j[question]
    np.add.at(tally, (run, np.where(says, a, b), np.where(says, b, a)), 1)
    return tally
