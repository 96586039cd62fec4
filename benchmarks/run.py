"""Time ours and the peers alternately, check that all are equally accurate, report the ratios.

    python -m benchmarks.run --output _build/bench.json

Exit status 1 says that a target was missed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import aggregation, optimum
from benchmarks.cases import ACCURACY, CASES, LEFT_OUT, Case, draw, residual

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "evalica", "scikit-learn", "corankco", "prefsampling")


def main() -> int:
    """Run all cases; return the exit status."""
    parser = argparse.ArgumentParser(description="time the estimators against their peers")
    parser.add_argument("--output", type=Path, default=Path("_build/bench.json"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    begin = time.perf_counter()
    print(machine())
    rows = []
    for position, case in enumerate(CASES):
        rows.append(measure(position, case, options.rounds))
        print(line(rows[-1]), flush=True)
    for program in optimum.PROGRAMS:
        rows.append(optimum.measure(program))
        print(line(rows[-1]), flush=True)
    for task in aggregation.TASKS:
        rows.append(aggregation.measure(task))
        print(line(rows[-1]), flush=True)
    print("\nleft out:")
    for name, reason in LEFT_OUT.items():
        print(f"  {name}: {reason}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    missed = [row for row in rows if not row["passed"]]
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} targets met; {options.output} written, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    return 1 if missed else 0


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
            worst[who] = max(worst[who], residual(data, theta, case.gamma))
            peak = max(peak, found["peak_mb"]) if who == "ours" else peak
    ratio = statistics.median(
        theirs / mine for mine, theirs in zip(seconds["ours"], seconds[case.peer], strict=True)
    )
    accurate = max(worst.values()) <= ACCURACY
    fits = case.memory_mb is None or peak <= case.memory_mb
    return {
        "case": case.name,
        "peer": case.peer,
        "ours_s": statistics.median(seconds["ours"]),
        "peer_s": statistics.median(seconds[case.peer]),
        "ratio": ratio,
        "accuracy": max(worst.values()),
        "accuracy_ours": worst["ours"],
        "accuracy_peer": worst[case.peer],
        "target": case.target,
        "peak_mb": peak,
        "peak_mb_limit": case.memory_mb,
        "passed": bool(ratio >= case.target and accurate and fits),
    }


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


def line(row: dict[str, Any]) -> str:
    """One line of the table."""
    memory = (
        ""
        if row["peak_mb_limit"] is None
        else (f"; peak memory {row['peak_mb']:.0f} MB (at most {row['peak_mb_limit']:.0f})")
    )
    return (
        f"{'pass' if row['passed'] else 'MISS'}  {row['case']:42} {row['peer']:13}"
        f"ours {1e3 * row['ours_s']:9.3f} ms   peer {1e3 * row['peer_s']:9.2f} ms   "
        f"ratio {row['ratio']:6.1f} (target {row['target']:g})   residuals "
        f"{row['accuracy_ours']:.0e}, {row['accuracy_peer']:.0e}{memory}"
    )


if __name__ == "__main__":
    sys.exit(main())
