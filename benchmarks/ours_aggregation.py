"""Our rank aggregation, from arrays of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.aggregation import ITEMS, PHI, USERS, column
from dpbook.data import Rankings
from dpbook.estimators import kemeny_fit, kwiksort_rankings, pairwise_counts
from dpbook.models import mallows_rankings
from dpbook.privacy import WholeRanking
from dpbook.rankers import NoisyPairs, PairResponses


def prepare(kind: str, data: NDArray[np.int64]) -> Callable[[], Any]:
    """Return the task; data has shape (profiles, users, items)."""
    rng = np.random.default_rng(1)
    if kind == "sample":
        return lambda: mallows_rankings(USERS, ITEMS, phi=PHI, rng=rng)
    if kind == "count":
        rankings = Rankings(data.shape[-1], data[0])  # checked once, as the peer's data set is
        return lambda: pairwise_counts(rankings)
    if kind == "local":
        local = PairResponses.private(1.0, WholeRanking(data.shape[-1]))
        return lambda: local.sample(data[0], rng=rng)
    solution, _, _ = column(kind)
    if solution == "KwikSort":
        return lambda: kwiksort_rankings(pairwise_counts(data[0]), rng=rng)
    if solution == "DP-KwikSort":
        ranker = NoisyPairs.private(1.0, WholeRanking(data.shape[-1]))
        return lambda: ranker.sample(pairwise_counts(data[0]), rng=rng)
    if solution.startswith("LDP-KwikSort"):
        mechanism = "response" if solution.endswith("RR") else "laplace"
        local = PairResponses.private(1.0, WholeRanking(data.shape[-1]), mechanism=mechanism)
        return lambda: local.sample(data[0], rng=rng)
    if kind == "kemeny":
        return lambda: [kemeny_fit(pairwise_counts(profile)).cost for profile in data]

    def certified() -> list[tuple[float, float]]:
        fits = [kemeny_fit(pairwise_counts(profile)) for profile in data]
        return [(fit.cost, fit.lower) for fit in fits]

    return certified
