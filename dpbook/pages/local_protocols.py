"""Pages 29 and 30: protocols, variances, and the runs of four people with three items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from math import comb, exp, tanh

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.book.ledger.findings import Finding
from dpbook.estimators import comparisons_pmf
from dpbook.privacy import WholeRanking
from dpbook.rankers import AnswersOnDemand, Hypercube, OneQuestion, PairResponses
from dpbook.rankers.on_demand import GroupAnswers

Ranking = tuple[int, ...]


def fact(what: str, truth: object) -> Finding:
    """A part of a test that is so or not so, when there is no number to show."""
    part = {"what": what, "passes": bool(truth), "sign": "", "value": None, "limit": None}
    return Finding((part,))


def coth(x: float) -> float:
    """Hyperbolic cotangent."""
    return 1 / tanh(x)


def spread(channel: Array) -> float:
    """Worst loss between any two rows: one output, two inputs."""
    return float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())


def quantile_cap(n: int) -> int:
    """Comparisons that KwikSort stays within, with probability 1 - n^-4."""
    return int((np.cumsum(comparisons_pmf(n)) < 1 - n**-4.0).sum())


def mean_cap(n: int) -> dict[str, int]:
    """Comparisons that KwikSort makes on average, and a tenth more groups."""
    cap = round(float(comparisons_pmf(n) @ np.arange(comb(n, 2) + 1)))
    return {"cap": cap, "groups": cap + cap // 10 + 1}


def one_pair(n: int, level: float) -> PairResponses:
    """One random pair from each person."""
    return PairResponses.private(level, WholeRanking(n), solver="kemeny")


def split(n: int, level: float) -> PairResponses:
    """All pairs from each person, each at an equal share of the budget."""
    pairs = comb(n, 2)
    return replace(one_pair(n, level), queries=pairs, scale=pairs / level)


def hypercube(n: int, level: float) -> Hypercube:
    """All pairs from each person in one report."""
    return Hypercube.private(level, WholeRanking(n), solver="kemeny")


def on_demand(n: int, level: float) -> AnswersOnDemand:
    """Algorithm 3, mended: half of the budget for the answers, half for the fallback."""
    return AnswersOnDemand.private(level, WholeRanking(n), cap=quantile_cap(n))


def one_question(n: int, level: float) -> OneQuestion:
    """One question to each person, as many groups as KwikSort needs on average and a tenth more."""
    return OneQuestion.private(level, WholeRanking(n), **mean_cap(n))


def hard_data(n: int, people: int, margin: float) -> Ints:
    """A share 1/2 + margin hold one ranking, the others its reverse."""
    first = np.arange(people) < round(people * (0.5 + margin))
    return np.where(first[:, None], np.arange(n), np.arange(n)[::-1])


def entry_variance(
    ranker: PairResponses | Hypercube | OneQuestion | AnswersOnDemand,
    users: int,
    fraction: float = 0.5,
) -> float:
    """Variance of the estimated share of people who place i before j, where ``fraction`` do.

    With one round of reports, ``(d^2 K / N - 1) / (4 m)`` for K of N pairs at random and a gain d.
    Those of a group are drawn too: with c = coth(epsilon / 2) and s people for each question,
    ``(c^2 - 1 + 4 w (1 - w) (m - s) / (m - 1)) / (4 s)``.
    """
    m, share = check.integer("users", users, 1), check.probability("fraction", fraction)
    if isinstance(ranker, AnswersOnDemand):
        return _on_demand_variance(ranker, m, share)
    if isinstance(ranker, OneQuestion):
        size = ranker.size(m)
        sampled = 4 * share * (1 - share) * (m - size) / max(m - 1, 1)
        return (coth(ranker.level / 2) ** 2 - 1 + sampled) / (4 * size)
    if isinstance(ranker, PairResponses) and ranker.design != "random":
        raise ValueError(f"design = {ranker.design!r}: allowed is 'random'")
    return (ranker.gain**2 * ranker.answers / ranker.pairs - 1) / (4 * m)


def _on_demand_variance(ranker: AnswersOnDemand, m: int, share: float) -> float:
    """The noise of the reports, and a group drawn at random."""
    n, distribution = ranker.unit.n_items, np.array([1 - share, share])
    slots = m + (-m) % n
    mean, square = distribution @ ranker.means, distribution @ ranker.means**2
    # Places of a group are drawn without replacement, some of them empty.
    spread = m * square / slots - (m * mean / slots) ** 2
    groups = spread * slots**2 * (n - 1) / (slots - 1) / n**2
    half = 0.5 if ranker.calibration == "tight" else 1.0  # 1/2 plus half the mean report
    return float((half * n / m) ** 2 * (m * (ranker.gain**2 - square) / n + groups))


def first_refused(dataset: GroupAnswers, pairs: ArrayLike, counter: str = "query") -> int | None:
    """Index of the first refused one of the ordered pairs (j, i), asked as listed; or None.

    The counter of a group goes up by one per query, as AGKM's text says, or by one for each of its
    people (``"user"``), as Algorithm 2 prints.
    """
    asked = np.asarray(pairs, dtype=int).reshape(-1, 2)
    group = dataset.groups[asked[:, 0], asked[:, 1]]
    before = np.tril(group[:, None] == group).sum(axis=1)
    step = 1 if counter == "query" else dataset.group_size
    over = np.flatnonzero(before * step > dataset.limit)
    return int(over[0]) if over.size else None


def runs_of_four(
    dataset: Sequence[Ranking], level: float, twice: bool
) -> Iterator[tuple[float, Ranking]]:
    """One question each, groups of one: chance of a run, and where the three items go."""
    honest = 1 / (1 + exp(-level))
    for order, pivot in product(permutations(range(4)), range(3)):
        i, j = (item for item in range(3) if item != pivot)
        third = order[0] if twice else order[2]
        asked = ((order[0], i, pivot), (order[1], j, pivot), (third, i, j))
        for said in (*product((True, False), repeat=3), (True, False), (False, True)):
            if len(said) == 3 and said[0] != said[1]:
                continue  # two answers have placed the pair i, j as well
            chance = 1 / 72
            for (person, a, b), yes in zip(asked, said, strict=False):
                right = yes == (dataset[person][a] < dataset[person][b])
                chance *= honest if right else 1 - honest
            ranked = [i, j] if said[2 * len(said) - 4] else [j, i]
            ranked.insert(2 * said[0] if len(said) == 3 else 1, pivot)
            yield chance, (ranked.index(0), ranked.index(1), ranked.index(2))
