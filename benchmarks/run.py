"""Time ours and the peers alternately, check that all are equally accurate, report the ratios.

    python -m benchmarks.run --output _build/bench.json [--only WORDS]

With --only, the rows whose name holds the words are measured anew, and the others are kept, if the
file has them.
Exit status 1 says that a target was missed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import aggregation, optimum, scale
from benchmarks.cases import ACCURACY, CASES, LEFT_OUT, Case, draw, residual
from benchmarks.table import compare, line
from dpbook.book.output import claim_folder

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "evalica", "scikit-learn", "corankco", "prefsampling")


def main() -> int:
    """Run all cases; return the exit status."""
    parser = argparse.ArgumentParser(description="time the estimators against their peers")
    parser.add_argument("--output", type=Path, default=Path("_build/bench.json"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="WORDS", help="rows to measure anew")
    options = parser.parse_args()
    begin = time.perf_counter()
    print(machine())
    known = []
    if options.only and options.output.is_file():
        known = json.loads(options.output.read_text(encoding="utf-8"))
    rows = []
    for name, peer, job in jobs(options.rounds):
        kept = [row for row in known if (row["case"], row["peer"]) == (name, peer)]
        if kept and options.only not in name:
            rows += kept
            continue
        rows.append(job())
        print(line(rows[-1]), flush=True)
    print("\nleft out:")
    for name, reason in LEFT_OUT.items():
        print(f"  {name}: {reason}")
    if not options.output.parent.exists():
        claim_folder(options.output.parent)  # so that a later build of the book may use it
    options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    missed = [row for row in rows if not row["passed"]]
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} targets met; {options.output} written, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    return 1 if missed else 0


def jobs(rounds: int) -> Iterator[tuple[str, str, Callable[[], dict[str, Any]]]]:
    """Name, peer and measurement of every row, in the order of the table."""
    for position, case in enumerate(CASES):
        yield case.name, case.peer, partial(measure, position, case, rounds)
    for program in optimum.PROGRAMS:
        yield program.name, program.peer, partial(optimum.measure, program)
    for task in aggregation.TASKS:
        yield task.name, task.peer, partial(aggregation.measure, task)
    for size in scale.sizes():
        yield size.name, aggregation.LIMIT, partial(scale.measure, size)


def machine() -> str:
    """What the numbers depend on."""
    model = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        names = [row for row in facts.read_text().splitlines() if row.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return (
        f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, one thread each; "
        f"Python {platform.python_version()}, {versions}\n"
        f"score residual of every fit at most {ACCURACY:g}; ratio = time of the peer / ours\n"
    )


def measure(position: int, case: Case, rounds: int) -> dict[str, Any]:
    """Alternate ours and the peer, each in its own process, and compare."""
    data = draw(case)
    seconds: dict[str, list[float]] = {"ours": [], case.peer: []}
    worst = {"ours": 0.0, case.peer: 0.0}
    peak = 0.0
    for _ in range(rounds):
        for who, repeats in zip(seconds, case.repeats, strict=True):
            found, theta = work(position, who, repeats)
            seconds[who].append(found["seconds"])
            # np.maximum keeps what is not a number; max may lose it.
            worst[who] = float(np.maximum(worst[who], residual(data, theta, case.gamma)))
            peak = max(peak, found["peak_mb"]) if who == "ours" else peak
    return compare(
        case.name,
        case.peer,
        (seconds["ours"], seconds[case.peer]),
        (worst["ours"], worst[case.peer]),
        target=case.target,
        tolerance=ACCURACY,
        peak_mb=peak,
        peak_mb_limit=case.memory_mb,
    )


def work(position: int, who: str, repeats: int) -> tuple[dict[str, float], np.ndarray]:
    """Run one worker process; return what it printed and the estimates."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "theta.npy"
        command = [sys.executable, "-m", "benchmarks.worker", str(position), who, str(repeats)]
        done = subprocess.run(
            [*command, str(target)], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return json.loads(done.stdout), np.load(target)


if __name__ == "__main__":
    sys.exit(main())
