"""The optimal mechanism by the reduced program, against the unreduced one or a time limit.

As a process, ``python -m benchmarks.optimum N K WHO``, it solves one program and prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.table import compare

ACCURACY = 1e-8  # largest gap between mechanism and dual bound, and between the two programs
DELTA, EPSILON = 0.3, 1.0
PEER, LIMIT = "unreduced program", "time limit"


@dataclass(frozen=True)
class Program:
    """One line of the table: a target ratio to the unreduced program, or a limit in seconds."""

    n_items: int
    k: int
    peer: str
    target: float
    limit_s: float
    rounds: int

    @property
    def name(self) -> str:
        """Words of the table."""
        return f"optimal mechanism, n = {self.n_items}, k = {self.k}"


PROGRAMS = (
    Program(5, 2, PEER, 100, 0.0, 5),
    Program(6, 3, LIMIT, 1, 5.0, 3),
    Program(7, 3, LIMIT, 1, 180.0, 1),
)


def measure(program: Program) -> dict[str, Any]:
    """Time ours in separate processes, the unreduced program once; return a row of the table."""
    ours = [work(program, "ours") for _ in range(program.rounds)]
    peer_s, apart = program.limit_s, 0.0
    if program.peer == PEER:
        peer = work(program, "peer")
        peer_s = peer["seconds"]
        apart = max(abs(found["value"] - peer["value"]) for found in ours)
    return compare(
        program.name,
        program.peer,
        ([found["seconds"] for found in ours], [peer_s] * len(ours)),
        (max(found["gap"] for found in ours), apart),
        target=program.target,
        tolerance=ACCURACY,
        peak_mb=max(found["peak_mb"] for found in ours),
        cpu_s=statistics.median(found["cpu"] for found in ours),
    )


def work(program: Program, who: str) -> dict[str, float]:
    """Run one process; return what it printed."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    command = [sys.executable, "-m", "benchmarks.optimum", str(program.n_items), str(program.k)]
    done = subprocess.run(
        [*command, who],
        env={**os.environ, **dict.fromkeys(threads, "1")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Solve one program."""
    from dpbook.models import two_level_probabilities
    from dpbook.optimum import optimal_mechanism, unreduced_risk

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_items", type=int)
    parser.add_argument("k", type=int)
    parser.add_argument("who", choices=("ours", "peer"))
    options = parser.parse_args()
    rho = two_level_probabilities(options.n_items, options.k, DELTA)
    optimal_mechanism(two_level_probabilities(3, 1, DELTA), 1, epsilon=EPSILON)  # warm-up
    start, busy = time.perf_counter(), time.process_time()
    if options.who == "ours":
        best = optimal_mechanism(rho, options.k, epsilon=EPSILON)
        value, gap = best.lower, best.risk - best.lower
    else:
        value, gap = unreduced_risk(rho, options.k, epsilon=EPSILON, tol=ACCURACY), 0.0
    seconds, cpu = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"seconds": seconds, "cpu": cpu, "value": value, "gap": gap, "peak_mb": peak}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
