"""Time ours and the peers alternately, check that all are equally accurate, report the ratios.

    python -m benchmarks.run --output _build/bench.json [--only WORDS]

With --only, other rows than those whose name holds the words are kept, if the file has them.
Exit status 1 says that a target was missed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import sys
import time
from pathlib import Path

from benchmarks import aggregation, fit, scale
from benchmarks.harness import line, measure
from dpbook.book.files import claim_folder

PEERS = ("evalica", "arena-rank", "scikit-learn", "corankco", "prefsampling")
ENGINES = ("polars", "duckdb", "opendp")
MODULES = {"fit": fit, "scale": scale, "aggregation": aggregation}


def main() -> int:
    """Run all tasks; return the exit status."""
    parser = argparse.ArgumentParser(description="time the estimators against their peers")
    parser.add_argument("--output", type=Path, default=Path("_build/bench.json"))
    parser.add_argument("--only", default="", metavar="WORDS", help="rows to measure anew")
    options = parser.parse_args()
    begin = time.perf_counter()
    print(machine())
    known = {}
    if options.only and options.output.is_file():
        stored = json.loads(options.output.read_text(encoding="utf-8"))
        known = {(row["case"], row["peer"]): row for row in stored}
    rows = []
    for module, tasks in ((name, module.TASKS) for name, module in MODULES.items()):
        for number, task in enumerate(tasks):
            if (task.name, task.peer) in known and options.only not in task.name:
                rows.append(known[task.name, task.peer])
                continue
            rows.append(measure(task, module, number))
            print(line(rows[-1]), flush=True)
    if not options.output.parent.exists():
        claim_folder(options.output.parent)  # so that a later build of the book may use it
    options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    met = sum(row["passed"] for row in rows)
    seconds = time.perf_counter() - begin
    print(f"\n{met} of {len(rows)} targets met; {options.output} written, {seconds:.0f} s")
    return int(met < len(rows))


def machine() -> str:
    """What the numbers depend on."""
    facts = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    named = re.search(r"model name\s*: (.*)", facts)
    model = named[1] if named else platform.processor()
    packages = ("numpy", "scipy", *PEERS, *ENGINES)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return (
        f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, one thread each; "
        f"Python {platform.python_version()}, {versions}\n"
        f"score residual of every fit at most {fit.ACCURACY:g}; ratio = time of the peer / ours\n"
    )


if __name__ == "__main__":
    sys.exit(main())
