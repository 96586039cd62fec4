"""Rank aggregation against prefsampling and corankco, or against a limit in seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import LIMIT, Task
from dpbook.data import Rankings
from dpbook.estimators import kemeny_fit, kwiksort_rankings, pairwise_counts
from dpbook.mechanisms.knorm import zonotope_level, zonotope_noise
from dpbook.mechanisms.noise import discrete_laplace_noise
from dpbook.models import mallows_expected_distance, mallows_rankings
from dpbook.privacy import WholeRanking
from dpbook.rankers import NoisyPairs, PairResponses

Ranks = NDArray[np.int64]
Work = Callable[[], Any]
USERS, ITEMS, PHI = 5000, 45, 0.9  # of the samples and the counts
VOTERS, SPREAD = 100, 0.98  # of the exact Kemeny rankings
MEAN = mallows_expected_distance(ITEMS, PHI)  # of a sample from the centre
TOLERANCE = 0.0104  # five standard errors of a sample's mean distance, relative to MEAN
# Users and items of the columns of YLL's Table 3 (SUSHI has 5000 x 10 as well).
COLUMNS = ((795, 4), (793, 4), (5000, 5), (5000, 10), (5000, 15), (5000, 30), (5000, 45))
#: Its solutions, with the randomiser of the local ones.
SOLUTIONS = {
    **dict.fromkeys(("KwikSort", "DP-KwikSort"), ""),
    **{"LDP-KwikSort:RR": "response", "LDP-KwikSort:Lap": "laplace"},
}
DRAWS = 1000  # of noise at once
COLUMN_LIMIT = 0.1  # seconds; the shortest time printed for a local solution is longer


def draw(profiles: int, users: int, items: int, phi: float, seed: int = 20256) -> Ranks:
    """Rankings as positions, shape (profiles, users, items), by the harness's own insertion."""
    rng = np.random.default_rng(seed)
    positions = np.empty((profiles, users, items), dtype=np.int64)
    for row in positions.reshape(-1, items):
        order: list[int] = []
        for item in range(items):
            weights = np.power(phi, np.arange(item + 1))
            steps = np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right")
            order.insert(item - min(int(steps), item), item)
        row[order] = np.arange(items)
    return positions


# Ours and the peers', from positions of shape (profiles, users, items).


def sample(data: Ranks) -> Work:
    rng = np.random.default_rng(1)
    return lambda: mallows_rankings(USERS, ITEMS, phi=PHI, rng=rng)


def sample_prefsampling(data: Ranks) -> Work:
    from prefsampling.ordinal import mallows

    # The distance of a list to the identity is that of its positions: no conversion is needed.
    return lambda: mallows(USERS, ITEMS, PHI, seed=1)


def count(data: Ranks) -> Work:
    rankings = Rankings(data.shape[-1], data[0])  # checked once, as the peer's data set is
    return lambda: pairwise_counts(rankings)


def count_corankco(data: Ranks) -> Work:
    from corankco.algorithms.pairwisebasedalgorithm import PairwiseBasedAlgorithm as Algorithm
    from corankco.scoringscheme import ScoringScheme

    scheme = ScoringScheme.get_pseudodistance_scoring_scheme_p(1.0)  # Kendall on full rankings
    positions = np.ascontiguousarray(data[0].T)
    # What it costs to put i after j is the number of users who put i before j; i = j is no pair.
    pairs = 1 - np.eye(len(positions), dtype=int)
    return lambda: Algorithm.pairwise_cost_matrix(positions, scheme)[:, :, 1] * pairs


def kemeny(data: Ranks) -> Work:
    def run() -> list[tuple[float, float]]:
        fits = [kemeny_fit(pairwise_counts(profile)) for profile in data]
        return [(fit.cost, fit.lower) for fit in fits]

    return run


def kemeny_corankco(data: Ranks) -> Work:
    from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp
    from corankco.dataset import Dataset
    from corankco.scoringscheme import ScoringScheme

    scheme = ScoringScheme.get_pseudodistance_scoring_scheme_p(1.0)
    orders = [[[{int(item)} for item in order] for order in np.argsort(one)] for one in data]
    profiles = [Dataset.from_raw_list(one) for one in orders]

    def run() -> list[tuple[float, float]]:
        solver = ExactAlgorithmPulp()
        fits = [solver.compute_consensus_rankings(one, scheme, True) for one in profiles]
        return [(fit.kemeny_score, fit.kemeny_score) for fit in fits]

    return run


def solution(name: str, data: Ranks) -> Work:
    """A solution of YLL's Table 3, from the people's rankings to the common one."""
    rng, unit = np.random.default_rng(1), WholeRanking(data.shape[-1])
    if name == "KwikSort":
        return lambda: kwiksort_rankings(pairwise_counts(data[0]), rng=rng)
    if name == "DP-KwikSort":
        ranker = NoisyPairs.private(1.0, unit)
        return lambda: ranker.sample(pairwise_counts(data[0]), rng=rng)
    local = PairResponses.private(1.0, unit, mechanism=SOLUTIONS[name])
    return lambda: local.sample(data[0], rng=rng)


def shaped(data: None) -> Work:
    rng = np.random.default_rng(1)
    return lambda: zonotope_noise(50, 1.0, (DRAWS,), rng=rng)


def shapeless(data: None) -> Work:
    rng = np.random.default_rng(1)
    return lambda: discrete_laplace_noise(50**2 // 2, (DRAWS, 50), rng=rng)


# What may be wrong with results: of data, ours and the peer's, the error of each.


def off_the_mean(data: Ranks, *results: NDArray[Any]) -> list[float]:
    """Relative error of the mean distance; infinite unless all are rankings."""
    means = [np.mean([np.triu(row[:, None] > row, 1).sum() for row in one]) for one in results]
    fits = [(np.sort(one, axis=1) == np.arange(ITEMS)).all() for one in results]
    return [abs(m / MEAN - 1) if fit else np.inf for m, fit in zip(means, fits, strict=True)]


def apart(data: Ranks, one: NDArray[Any], other: NDArray[Any]) -> tuple[float, float]:
    """Largest difference of the two."""
    return 0.0, float(np.abs(one - other).max())


def gap(data: Ranks, one: NDArray[Any], other: None = None) -> tuple[float, float]:
    """Between the cost of a ranking and its certified bound."""
    return float((one[:, 0] - one[:, 1]).max()), 0.0


def no_ranking(data: Ranks, one: NDArray[Any], other: None = None) -> tuple[float, float]:
    """Infinite unless it ranks the items."""
    return (0.0 if sorted(one.tolist()) == list(range(data.shape[-1])) else np.inf), 0.0


def off_the_level(data: None, *results: NDArray[Any]) -> list[float]:
    """Relative error of the mean level (a gamma variable of 49, rounded up), and of the spread."""
    spread = np.abs(results[1]).mean() / (50**2 // 2)
    return [abs(zonotope_level(results[0]).mean() / 49.5 - 1), abs(spread - 1)]


PEOPLE = partial(draw, 1, USERS, ITEMS, PHI)
TASKS = (
    Task(f"{USERS} Mallows rankings of {ITEMS} items", "prefsampling",
         {"ours": sample, "prefsampling": sample_prefsampling},
         off_the_mean, 500, TOLERANCE, PEOPLE, (40, 1), 3),
    Task(f"pairwise counts, {USERS} rankings of {ITEMS}", "corankco",
         {"ours": count, "corankco": count_corankco},
         apart, 50, 0.0, PEOPLE, (60, 10)),
    Task("exact Kemeny, 4 profiles, 20 items", "corankco",
         {"ours": kemeny, "corankco": kemeny_corankco},
         apart, 100, 0.0, partial(draw, 4, VOTERS, 20, SPREAD), (20, 1), 3),
    Task(f"exact Kemeny, 4 profiles, {ITEMS} items", LIMIT, {"ours": kemeny},
         gap, 1, 0.0, partial(draw, 4, VOTERS, ITEMS, SPREAD), (5, 0), 3, limit_s=1.0),
    Task(f"LDP-KwikSort, {USERS} agents, {ITEMS} items", LIMIT,
         {"ours": partial(solution, "LDP-KwikSort:RR")},
         no_ranking, 1, 0.0, PEOPLE, (100, 0), limit_s=1e-3),
    *(
        Task(f"Table 3: {name} {users} x {items}", LIMIT, {"ours": partial(solution, name)},
             no_ranking, 1, 0.0, partial(draw, 1, users, items, PHI), (5, 0), 1,
             limit_s=COLUMN_LIMIT)
        for users, items in COLUMNS
        for name in SOLUTIONS
    ),
    # The peer draws 50 exact Laplace numbers of the least private scale; ours takes 0.4 ms a draw.
    Task(f"K-norm noise, {DRAWS} draws for 50 items", "exact Laplace",
         {"ours": shaped, "exact Laplace": shapeless}, off_the_level, 0.03, 0.03, repeats=(3, 10)),
)  # fmt: skip
