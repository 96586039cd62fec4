"""One process of the harness: prepare, warm up, time a few fits, hand back the last one."""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.cases import CASES, draw

MODULES = {"ours": "ours", "evalica": "peer_evalica", "scikit-learn": "peer_sklearn"}


def main() -> None:
    """Write theta and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", type=int, help="position in CASES")
    parser.add_argument("who", choices=MODULES)
    parser.add_argument("repeats", type=int)
    parser.add_argument("theta", type=Path, help="where to save the estimates")
    options = parser.parse_args()
    case = CASES[options.case]
    module = importlib.import_module(f"benchmarks.{MODULES[options.who]}")
    fit, fits = module.prepare(case, draw(case))
    seconds = []
    with warnings.catch_warnings():
        # A peer at the limit of floating point says so; the harness measures the accuracy itself.
        warnings.simplefilter("ignore")
        theta = fit()
        for _ in range(options.repeats):
            start = time.perf_counter()
            theta = fit()
            seconds.append((time.perf_counter() - start) / fits)
    np.save(options.theta, theta)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": float(np.median(seconds)), "peak_mb": peak}))


if __name__ == "__main__":
    main()
