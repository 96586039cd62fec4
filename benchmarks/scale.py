"""Large sizes: seconds and peak memory, once each, in a process of its own.

    python -m benchmarks.scale NAME

runs one of them and prints what it found as JSON.  Data are drawn before the clock starts, and
count for the memory.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.aggregation import LIMIT
from benchmarks.table import compare
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
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Order = NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """One line of the table: how it is made and run, and its limits."""

    name: str
    work: Callable[[np.random.Generator], Callable[[], Order]]
    truth: int  # the right order is 0, 1, ..., so many items
    limit_s: float
    limit_mb: float = 1000.0
    tolerance: float = 0.1  # share of pairs that may come out the wrong way


def votes(rng: np.random.Generator, count: int = VOTES) -> tuple[Order, Order]:
    """Winners and losers of a Bradley-Terry model of models 0, the best, to 349."""
    first = rng.integers(0, MODELS, count)
    second = (first + rng.integers(1, MODELS, count)) % MODELS
    ahead = 6 / MODELS * (second - first)  # logits from 3 to -3
    wins = rng.random(count) < 1 / (1 + np.exp(-ahead))
    return np.where(wins, first, second), np.where(wins, second, first)


def leaderboard(kind: str, unit: str) -> Callable[[np.random.Generator], Callable[[], Order]]:
    """From the votes to the ranking, at epsilon = 1 for a vote or for a person of twenty votes."""

    def work(rng: np.random.Generator) -> Callable[[], Order]:
        winner, loser = votes(rng)
        user = np.repeat(np.arange(VOTES // PER_PERSON), PER_PERSON) if unit == "person" else None
        who = Person(MODELS, PER_PERSON) if unit == "person" else Edge(MODELS)

        def run() -> Order:
            data = Comparisons(MODELS, winner, loser, user)
            if kind == "counts":
                return NoisyCounts.private(1.0, who).sample(data, rng=rng)
            if kind == "mle":
                return PerturbedMle.private(1.0, who).sample(data, rng=rng)
            local = FlippedAnswers.private(1.0, Edge(MODELS, exchange=False))
            table = data.win_matrix()
            reports = local.publish(table, rng=rng)
            fit = debiased_mle(local.debias(reports), gamma=1.0)
            return ranks_from_scores(fit.theta, rng=None)

        return run

    return work


def rankings(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Noisy copies of one order, places in bytes: (people, items)."""
    table = np.empty((PEOPLE, ITEMS), dtype=np.uint8)
    places = np.arange(ITEMS, dtype=np.uint8)[None]
    for part in np.array_split(table, 200):
        seen = np.arange(ITEMS) + 15 * rng.standard_normal(part.shape, dtype=np.float32)
        np.put_along_axis(part, seen.argsort(axis=1), places, axis=1)
    return table


def local(kind: str) -> Callable[[np.random.Generator], Callable[[], Order]]:
    """From everybody's ranking to the common one, without a curator, at epsilon = 4."""

    def work(rng: np.random.Generator) -> Callable[[], Order]:
        table, unit = rankings(rng), WholeRanking(ITEMS)
        if kind == "KwikSort":
            ranker = PairResponses.private(4.0, unit, queries=best_queries(4.0))
            return lambda: ranker.sample(table, rng=rng)
        asker = OneQuestion.private(4.0, unit, groups=2000)
        return lambda: asker.sample(table, rng=rng)

    return work


def ranked_file(rng: np.random.Generator) -> Callable[[], Order]:
    """The command `dpbook rank` on ten million lines: person, winner, loser."""
    folder = tempfile.TemporaryDirectory(prefix="dpbook-scale-")  # goes with what is returned
    answers, out = Path(folder.name, "answers.csv"), Path(folder.name, "ranking.csv")
    with answers.open("w", encoding="utf-8") as file:
        file.write("person,winner,loser\n")
        for block in range(LINES // 100_000):
            winner, loser = votes(rng, 100_000)
            people = np.arange(block * 100_000, (block + 1) * 100_000) // PER_PERSON
            rows = zip(people.tolist(), winner.tolist(), loser.tolist(), strict=True)
            file.write("".join(f"p{p},m{w:03d},m{one:03d}\n" for p, w, one in rows))

    def run() -> Order:
        how = ["--protect", "person", "--epsilon", "1", "--max-answers", str(PER_PERSON)]
        how += ["--repeats", "keep"]
        command = [sys.executable, "-m", "dpbook", "rank", str(answers), *how, "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder.name)
        lines = out.read_text(encoding="utf-8").splitlines()
        names = [cell for line in lines for cell in line.split(",") if cell[:1] == "m"]
        listed = [int(name[1:]) for name in names if name[1:].isdecimal()]
        return np.argsort(listed)

    return run


SIZES = (
    Size(f"noisy counts, {MODELS} models, 1.5e6 votes, one vote protected",
         leaderboard("counts", "vote"), MODELS, 5),
    Size(f"noisy counts, {MODELS} models, 1.5e6 votes, a person protected",
         leaderboard("counts", "person"), MODELS, 5),
    Size(f"perturbed MLE, {MODELS} models, 1.5e6 votes, one vote protected",
         leaderboard("mle", "vote"), MODELS, 5),
    Size(f"perturbed MLE, {MODELS} models, 1.5e6 votes, a person protected",
         leaderboard("mle", "person"), MODELS, 5),
    Size(f"debiased MLE, {MODELS} models, 1.5e6 votes randomised one by one",
         leaderboard("debiased", "vote"), MODELS, 5),
    Size(f"LDP-KwikSort, 1e6 people, {ITEMS} items", local("KwikSort"), ITEMS, 60),
    Size(f"one question each, 1e6 people, {ITEMS} items", local("asked"), ITEMS, 60),
)  # fmt: skip
FILE = Size("ranking a file of 1e7 lines", ranked_file, MODELS, 600)


def sizes() -> Iterator[Size]:
    """All sizes; that of the file where there is a command to rank one."""
    yield from SIZES
    command = [sys.executable, "-m", "dpbook", "rank", "--help"]
    if subprocess.run(command, capture_output=True, check=False).returncode == 0:
        yield FILE


def measure(size: Size) -> dict[str, Any]:
    """Run it in a process of its own; a row of the table."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    command = [sys.executable, "-m", "benchmarks.scale", size.name]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    row = compare(
        size.name,
        LIMIT,
        ([found["seconds"]], [size.limit_s]),
        (found["error"], 0.0),
        target=1,
        tolerance=size.tolerance,
        peak_mb=found["peak_mb"],
        peak_mb_limit=size.limit_mb,
        cpu_s=found["cpu_s"],
    )
    return row | {"size": True}


def once(size: Size) -> dict[str, float]:
    """Seconds, processor time, peak memory in MB, and the share of pairs in the wrong order."""
    run = size.work(np.random.default_rng(20261))
    begin, processor = time.perf_counter(), time.process_time()
    order = run()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - processor
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1024
    wrong = int(kendall_distance(order, np.arange(size.truth)))
    error = wrong / (size.truth * (size.truth - 1) / 2)
    return {"seconds": seconds, "cpu_s": cpu, "peak_mb": peak, "error": error}


if __name__ == "__main__":
    (chosen,) = [size for size in (*SIZES, FILE) if size.name == sys.argv[1]]
    print(json.dumps(once(chosen)))
