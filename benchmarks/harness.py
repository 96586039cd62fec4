"""What every benchmark shares: a task, the process that does it, the ratio and the verdict.

``python -m benchmarks.harness MODULE NUMBER WHO REPEATS FOLDER`` does one task a few times.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = "time limit"
THREADS = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")]
# XLA reads no number of threads.
ONE_THREAD = dict.fromkeys(THREADS, "1") | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}


@dataclass(frozen=True)
class Task:
    """One line of the table: ours against `peer`, or against a limit in seconds.

    `sides` hold what is timed, by "ours" and peer: each prepares the data, which is not timed, and
    returns a run.  `errors` takes the data, our result and the peer's, and returns the error of
    each.  `target` is the smallest allowed ratio of the peer's time to ours, `tolerance` the
    largest allowed error.  Each process runs `repeats` times after a warm-up, or once without one;
    the two sides take turns for so many `rounds`.  Times of a `batch` are per entry of the result;
    a `size` stands in the table of large sizes.  Compared are `by` "seconds" or, of work on all
    cores, "cpu_s"; `share` is the largest allowed part of the peer's peak memory.
    """

    name: str
    peer: str
    sides: Mapping[str, Callable[[Any], Callable[[], Any]]]
    errors: Callable[[Any, Any, Any], Sequence[float]]
    target: float
    tolerance: float
    data: Callable[[], Any] = lambda: None
    repeats: tuple[int, int] = (0, 0)
    rounds: int = 5
    limit_s: float = 0.0
    limit_mb: float | None = None
    batch: bool = False
    size: bool = False
    by: str = "seconds"
    share: float | None = None


def measure(task: Task, module: str, number: int) -> dict[str, Any]:
    """Alternate ours and the peer, each in its own process; return a row of the table."""
    processes: dict[str, list[dict[str, float]]] = {"ours": [], task.peer: []}
    errors, data = [], task.data()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data").write_bytes(pickle.dumps(data))
        for _ in range(task.rounds):
            results = []
            for who, repeats in zip(processes, task.repeats, strict=True):
                found: tuple[dict[str, float], Any] = ({"seconds": task.limit_s}, None)
                if who != LIMIT:
                    words = [module, str(number), who, str(repeats), folder]
                    found = run([sys.executable, "-m", "benchmarks.harness", *words])
                processes[who].append(found[0])
                results.append(found[1])
            errors.append(task.errors(data, *results))
    return judge(task, processes["ours"], processes[task.peer], errors)


def run(command: Sequence[str]) -> tuple[dict[str, float], Any]:
    """Run one process; what it printed, and the result that it saved."""
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=-1, text=True, check=True)
    return json.loads(done.stdout), np.load(Path(command[-1], "result.npy"))


def judge(
    task: Task,
    ours: Sequence[dict[str, float]],
    theirs: Sequence[dict[str, float]],
    errors: Sequence[Sequence[float]],
) -> dict[str, Any]:
    """Compare times round by round; the ratio is the median over the rounds.

    Processor time decides if the task says so, and else tells a busy machine from slow code.
    """
    times = [[one[task.by] for one in side] for side in (ours, theirs)]
    ratio = statistics.median(b / a for a, b in zip(*times, strict=True))
    worst = [float(error) for error in np.max(errors, axis=0)]  # keeps what is not a number
    peak, limit = max(one["peak_mb"] for one in ours), task.limit_mb
    if task.share is not None:
        limit = task.share * statistics.median(one["peak_mb"] for one in theirs)
    passed = ratio >= task.target and all(error <= task.tolerance for error in worst)
    return {
        **{"case": task.name, "peer": task.peer, "size": task.size, "target": task.target},
        **{"ours_s": statistics.median(times[0]), "peer_s": statistics.median(times[1])},
        **{"ratio": ratio, "accuracy": float(np.max(worst))},
        **{"accuracy_ours": worst[0], "accuracy_peer": worst[1]},
        **{"peak_mb": peak, "peak_mb_limit": limit},
        "cpu_s": None if task.repeats[0] else statistics.median(one["cpu_s"] for one in ours),
        "passed": passed and (limit is None or peak <= limit),
    }


def line(row: dict[str, Any]) -> str:
    """One row for a terminal."""
    text = (
        f"{'pass' if row['passed'] else 'MISS'}  {row['case']:42} {row['peer']:17}"
        f"ours {1e3 * row['ours_s']:9.3f} ms   peer {1e3 * row['peer_s']:9.2f} ms   "
        f"ratio {row['ratio']:6.1f} (target {row['target']:g})   residuals "
        f"{row['accuracy_ours']:.0e}, {row['accuracy_peer']:.0e}"
    )
    if row["peak_mb_limit"] is not None:
        text += f"; peak memory {row['peak_mb']:.0f} MB (at most {row['peak_mb_limit']:.0f})"
    return text + (f"; processor time {row['cpu_s']:.2f} s" if row["cpu_s"] is not None else "")


def main(module: str, number: str, who: str, repeats: str, folder: str) -> None:
    """Do one task: save what came out, print seconds, processor time and peak memory."""
    task = importlib.import_module(f"benchmarks.{module}").TASKS[int(number)]
    work = task.sides[who](pickle.loads(Path(folder, "data").read_bytes()))
    times = []
    with warnings.catch_warnings():
        # A peer at the limit of floating point says so; the harness measures the accuracy itself.
        warnings.simplefilter("ignore")
        for _ in range(int(repeats) + 1):
            begin, processor = time.perf_counter(), sum(os.times()[:4])  # children's, too
            result = np.asarray(work())
            times.append((time.perf_counter() - begin, sum(os.times()[:4]) - processor))
    np.save(Path(folder, "result.npy"), result)
    seconds, processor = np.median(times[1:] or times, axis=0) / (len(result) if task.batch else 1)
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1024
    print(json.dumps({"seconds": seconds, "cpu_s": processor, "peak_mb": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
