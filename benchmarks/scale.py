"""Large sizes, once each, whose data, drawn before, count for the memory; the optimal mechanism."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import LIMIT, Task
from dpbook.data import Comparisons
from dpbook.estimators import kendall_distance, ranks_from_scores
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rankers import (
    FlippedAnswers,
    NoisyCounts,
    OneQuestion,
    PairResponses,
    PerturbedMle,
    best_queries,
    debiased_mle,
)

MODELS, VOTES, PER_PERSON = 350, 1_500_000, 20
PEOPLE, ITEMS = 1_000_000, 100
LINES = 10_000_000
ACCURACY, DELTA, EPSILON = 1e-8, 0.3, 1.0  # of the optimal mechanism
SEED = 20261
Order = NDArray[np.int64]


def votes(rng: np.random.Generator, count: int) -> tuple[Order, Order]:
    """Winners and losers of a Bradley-Terry model of models 0, the best, to 349."""
    first = rng.integers(0, MODELS, count)
    second = (first + rng.integers(1, MODELS, count)) % MODELS
    ahead = 6 / MODELS * (second - first)  # logits from 3 to -3
    wins = rng.random(count) < 1 / (1 + np.exp(-ahead))
    return np.where(wins, first, second), np.where(wins, second, first)


def leaderboard(ranker: str, unit: Person | Edge, data: None) -> Callable[[], Order]:
    """From the votes to the ranking, at epsilon = 1 for a vote or for a person of twenty votes."""
    rng = np.random.default_rng(SEED)
    winner, loser = votes(rng, VOTES)
    person = isinstance(unit, Person)
    user = np.repeat(np.arange(VOTES // PER_PERSON), PER_PERSON) if person else None

    def run() -> Order:
        data = Comparisons(MODELS, winner, loser, user)
        if ranker == "noisy counts":
            return NoisyCounts.private(1.0, unit).sample(data, rng=rng)
        if ranker == "perturbed MLE":
            return PerturbedMle.private(1.0, unit).sample(data, rng=rng)
        local = FlippedAnswers.private(1.0, Edge(MODELS, exchange=False))
        table = data.win_matrix()
        reports = local.publish(table, rng=rng)
        fit = debiased_mle(local.debias(reports), gamma=1.0)
        return ranks_from_scores(fit.theta, rng=None)

    return run


def local(ranker: str, data: None) -> Callable[[], Order]:
    """From everybody's ranking to the common one, without a curator, at epsilon = 4."""
    rng, unit = np.random.default_rng(SEED), WholeRanking(ITEMS)
    # noisy copies of one order, places in bytes: (people, items)
    table = np.empty((PEOPLE, ITEMS), dtype=np.uint8)
    for part in np.array_split(table, 200):
        seen = np.arange(ITEMS) + 15 * rng.standard_normal(part.shape, dtype=np.float32)
        ranks = np.arange(ITEMS, dtype=np.uint8)[None]
        np.put_along_axis(part, seen.argsort(axis=1), ranks, axis=1)
    if ranker == "LDP-KwikSort":
        pairs = PairResponses.private(4.0, unit, queries=best_queries(4.0))
        return lambda: pairs.sample(table, rng=rng)
    asker = OneQuestion.private(4.0, unit, groups=2000)
    return lambda: asker.sample(table, rng=rng)


@cache
def lines() -> str:
    """A file of ten million lines, person, winner and loser, until the benchmarks end."""
    rng, folder = np.random.default_rng(SEED), tempfile.mkdtemp(prefix="dpbook-scale-")
    atexit.register(shutil.rmtree, folder)
    answers = Path(folder, "answers.csv")
    with answers.open("w", encoding="utf-8") as file:
        file.write("person,winner,loser\n")
        for block in range(LINES // 100_000):
            winner, loser = votes(rng, 100_000)
            people = np.arange(block * 100_000, (block + 1) * 100_000) // PER_PERSON
            rows = zip(people.tolist(), winner.tolist(), loser.tolist(), strict=True)
            file.write("".join(f"p{p},m{w:03d},m{one:03d}\n" for p, w, one in rows))
    return str(answers)


def ranked_file(who: str, answers: str) -> Callable[[], Order]:
    """The command `dpbook rank` on a file, with the engine or as "plain"; or another program."""
    names = [f"m{k:03d}" for k in range(MODELS)]
    command = ["benchmarks.plain", who, str(PER_PERSON), answers]
    if who in ("ours", "plain"):
        command = ["dpbook", "rank", answers, "--items", ",".join(names), "--repeats", "keep"]
        command += ["--protect", "person", "--epsilon", "1", "--max-answers", str(PER_PERSON)]
        command += ["--encoding", "ascii" if who == "plain" else "utf-8"]  # the engine reads UTF-8

    def run() -> Order:
        done = subprocess.run([sys.executable, "-m", *command], check=True, stdout=-1, text=True)
        found = dict.fromkeys(word for word in done.stdout.split() if word in names)
        return np.array([int(name[1:]) for name in found])

    return run


def wrong(data: Any, *orders: Order | None) -> list[float]:
    """Share of pairs in another order than that of the data, which is 0, 1, ..., for each side."""
    return [
        0.0 if order is None else int(kendall_distance(order, np.arange(n))) / comb(n, 2)
        for order in orders
        for n in [0 if order is None else len(order)]
    ]


def optimal(n: int, k: int, who: str, data: None) -> Callable[[], tuple[float, float]]:
    """Value and gap of the optimal mechanism: by the reduced program, or with every variable."""
    from dpbook.models import two_level_probabilities
    from dpbook.optimum import optimal_mechanism, unreduced_risk

    rho = two_level_probabilities(n, k, DELTA)
    optimal_mechanism(two_level_probabilities(3, 1, DELTA), 1, epsilon=EPSILON)  # warm-up

    def run() -> tuple[float, float]:
        if who != "ours":
            return unreduced_risk(rho, k, epsilon=EPSILON, tol=ACCURACY), 0.0
        best = optimal_mechanism(rho, k, epsilon=EPSILON)
        return best.lower, best.risk - best.lower

    return run


def gap(data: None, one: Order, other: Order | None) -> tuple[float, float]:
    """Between mechanism and dual bound, and between the optima of the two programs."""
    return float(one[1]), 0.0 if other is None else abs(float(one[0] - other[0]))


def large(name: str, work: Any, seconds: float, **how: Any) -> Task:
    """A line of the table of large sizes; a tenth of the pairs may come out the wrong way."""
    return Task(name, LIMIT, {"ours": work}, wrong, 1, 0.1, rounds=1, limit_s=seconds,
                limit_mb=1000.0, size=True, **how)  # fmt: skip


def program(n: int, k: int, peer: str, target: float, **how: Any) -> Task:
    """The optimal mechanism against its peer, which is solved once, or a limit."""
    sides = {who: partial(optimal, n, k, who) for who in ("ours", peer)}
    name = f"optimal mechanism, n = {n}, k = {k}"
    return Task(name, peer, sides, gap, target, ACCURACY, **how)


VOTE, PERSON = ("one vote protected", Edge(MODELS)), ("a person protected", Person(MODELS, 20))
BOARDS = [
    (ranker, *unit) for ranker in ("noisy counts", "perturbed MLE") for unit in (VOTE, PERSON)
]
BOARDS += [("debiased MLE", "votes randomised one by one", Edge(MODELS))]
BOARD = f"{MODELS} models, 1.5e6 votes"
TASKS = (
    program(5, 2, "unreduced program", 100, repeats=(5, 0), rounds=1),
    program(6, 3, LIMIT, 1, rounds=3, limit_s=5.0),
    program(7, 3, LIMIT, 1, rounds=1, limit_s=180.0),
    *(large(f"{who}, {BOARD}, {words}", partial(leaderboard, who, unit), 5)
      for who, words, unit in BOARDS),
    large(f"LDP-KwikSort, 1e6 people, {ITEMS} items", partial(local, "LDP-KwikSort"), 60),
    large(f"one question each, 1e6 people, {ITEMS} items", partial(local, "one question"), 60),
    large("ranking a file of 1e7 lines, no engine", partial(ranked_file, "plain"), 600, data=lines),
    *(Task("ranking a file of 1e7 lines", engine, {who: partial(ranked_file, who)
      for who in ("ours", engine)}, wrong, 1 / 1.2, 0.1, data=lines, rounds=3, by="cpu_s",
      share=0.5, size=True) for engine in ("polars", "duckdb")),
)  # fmt: skip
