"""Rank aggregation against its peers, or against a limit in seconds.

As a process, ``python -m benchmarks.aggregation KIND WHO REPEATS RESULT``, it does one task a few
times, saves what came out and prints JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import compare

LIMIT = "time limit"
MODULES = {
    "ours": "ours_aggregation",
    "prefsampling": "peer_prefsampling",
    "corankco": "peer_corankco",
    "Python loop": "peer_loop",
}
USERS, ITEMS, PHI = 5000, 45, 0.9  # of the samples and the counts
VOTERS, SPREAD = 100, 0.98  # of the exact Kemeny rankings
SAMPLING_ERROR = 5.0  # standard errors allowed between a sample and the theory
# Table 3 of YLL: its solutions, and users and items of its columns (SUSHI has 5000 x 10 as well).
SOLUTIONS = ("KwikSort", "DP-KwikSort", "LDP-KwikSort:RR", "LDP-KwikSort:Lap")
COLUMNS = ((795, 4), (793, 4), (5000, 5), (5000, 10), (5000, 15), (5000, 30), (5000, 45))
COLUMN_LIMIT = 0.1  # seconds; the shortest time printed for a local solution is longer


@dataclass(frozen=True)
class Task:
    """One line of the table.

    Attributes
    ----------
    name : str
        Words of the table.
    kind : str
        What is done, and how its result is checked: "sample", "count", "kemeny", "bound", "local",
        or a solution of Table 3 with users and items, "KwikSort 795 x 4".
    peer : str
        A key of `MODULES`, or `LIMIT`.
    target : float
        Smallest allowed ratio of the peer's time, or of the limit, to ours.
    repeats : tuple of int
        Timed runs in each process: ours, the peer's.
    limit_s : float
        The limit where there is no peer.
    rounds : int
        Processes of each side, taking turns.
    """

    name: str
    kind: str
    peer: str
    target: float
    repeats: tuple[int, int]
    limit_s: float = 0.0
    rounds: int = 5


TASKS = (
    Task("5000 Mallows rankings of 45 items", "sample", "prefsampling", 500, (40, 1), rounds=3),
    Task("pairwise counts, 5000 rankings of 45", "count", "Python loop", 200, (60, 3)),
    Task("pairwise counts, 5000 rankings of 45", "count", "corankco", 50, (60, 10)),
    Task("exact Kemeny, 4 profiles, 20 items", "kemeny", "corankco", 100, (20, 1), rounds=3),
    Task("exact Kemeny, 4 profiles, 45 items", "bound", LIMIT, 1, (5, 0), 1.0, 3),
    Task("LDP-KwikSort, 5000 agents, 45 items", "local", LIMIT, 1, (100, 0), 1e-3),
    *(
        Task(f"Table 3: {kind}", kind, LIMIT, 1, (5, 0), COLUMN_LIMIT, 1)
        for users, items in COLUMNS
        for kind in (f"{solution} {users} x {items}" for solution in SOLUTIONS)
    ),
)


def column(kind: str) -> tuple[str, int, int]:
    """Solution, users and items of a kind; whatever is not of Table 3 has the sizes of the rest."""
    solution, *sizes = kind.replace(" x ", " ").split()
    users, items = map(int, sizes) if sizes else (USERS, 20 if kind == "kemeny" else ITEMS)
    return solution, users, items


def draw(kind: str, seed: int = 20256) -> NDArray[np.int64]:
    """Rankings as positions, shape (profiles, users, items), by the harness's own insertion."""
    rng = np.random.default_rng(seed)
    _, users, items = column(kind)
    exact = kind in ("kemeny", "bound")
    profiles, users, phi = (4, VOTERS, SPREAD) if exact else (1, users, PHI)
    positions = np.empty((profiles, users, items), dtype=np.int64)
    for row in positions.reshape(-1, items):
        order: list[int] = []
        for item in range(items):
            weights = np.power(phi, np.arange(item + 1))
            steps = np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right")
            order.insert(item - min(int(steps), item), item)
        row[order] = np.arange(items)
    return positions


def measure(task: Task) -> dict[str, Any]:
    """Alternate ours and the peer, each in its own process; return a row of the table."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.npy")
        np.save(data, draw(task.kind))
        for _ in range(task.rounds):
            ours.append(work(task, "ours", task.repeats[0], data))
            if task.peer != LIMIT:
                theirs.append(work(task, task.peer, task.repeats[1], data))
    errors = [error(task.kind, result) for _, result in ours]
    apart = [0.0]
    if task.kind == "sample":
        apart = [error(task.kind, result) for _, result in theirs]
    elif theirs:
        apart = [float(np.abs(ours[0][1] - result).max()) for _, result in theirs]
    peer_s = [found["seconds"] for found, _ in theirs] or [task.limit_s] * len(ours)
    return compare(
        task.name,
        task.peer,
        ([found["seconds"] for found, _ in ours], peer_s),
        (float(np.max(errors)), float(np.max(apart))),
        target=task.target,
        tolerance=tolerance(task.kind),
        peak_mb=max(found["peak_mb"] for found, _ in ours),
    )


def tolerance(kind: str) -> float:
    """Largest allowed error; samples have a sampling error, all else is exact."""
    if kind != "sample":
        return 0.0
    mean, variance = distance_moments(ITEMS, PHI)
    return SAMPLING_ERROR * float(np.sqrt(variance / USERS)) / mean


def error(kind: str, result: NDArray[Any]) -> float:
    """What is wrong with a result, in the units of the table."""
    if kind == "sample":  # relative error of the mean distance; infinite unless all are rankings
        if (np.sort(result, axis=1) != np.arange(ITEMS)).any():
            return float("inf")
        rows = [np.triu(row[:, None] > row, 1).sum() for row in result]
        mean, _ = distance_moments(ITEMS, PHI)
        return abs(float(np.mean(rows)) / mean - 1)
    if kind == "bound":  # gap between the ranking and the certified bound, each (cost, lower)
        return float((result[:, 0] - result[:, 1]).max())
    solution, _, items = column(kind)
    if kind == "local" or solution in SOLUTIONS:
        return 0.0 if sorted(result.tolist()) == list(range(items)) else float("inf")
    return 0.0  # compared with the peer's


def distance_moments(items: int, phi: float) -> tuple[float, float]:
    """Mean and variance of a Mallows ranking's distance from its centre."""
    mean = variance = 0.0
    for item in range(items):
        steps = np.arange(item + 1)
        law = np.power(phi, steps) / np.power(phi, steps).sum()
        mean += float(law @ steps)
        variance += float(law @ steps**2 - (law @ steps) ** 2)
    return mean, variance


def work(task: Task, who: str, repeats: int, data: Path) -> tuple[dict[str, float], NDArray[Any]]:
    """Run one process; return what it printed and what it saved."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    result = data.with_name("result.npy")
    command = [sys.executable, "-m", "benchmarks.aggregation", task.kind, who, str(repeats)]
    done = subprocess.run(
        [*command, str(data), str(result)],
        env={**os.environ, **dict.fromkeys(threads, "1")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found, np.load(result)


def main() -> None:
    """Do one task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted({task.kind for task in TASKS}))
    parser.add_argument("who", choices=MODULES)
    parser.add_argument("repeats", type=int)
    parser.add_argument("data", type=Path)
    parser.add_argument("result", type=Path, help="where to save what came out")
    options = parser.parse_args()
    module = importlib.import_module(f"benchmarks.{MODULES[options.who]}")
    run = module.prepare(options.kind, np.load(options.data))
    result = run()
    seconds = []
    for _ in range(options.repeats):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    np.save(options.result, np.asarray(result))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": float(np.median(seconds)), "peak_mb": peak}))


if __name__ == "__main__":
    main()
