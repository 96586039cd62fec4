"""The published simulation results of CCW25 that the book compares its own runs with.

Cited facts: means and standard deviations over replicates of Experiments 1 and 4 (Figures 1 and 4)
of Cai, Chakraborty and Wang, "Optimal Differentially Private Ranking from Pairwise Comparisons"
(2025), as released by the authors in their public repository abhinavc3/DP-Ranking.
"""

from __future__ import annotations

import csv
from importlib import resources

import numpy as np
from numpy.typing import NDArray

__all__ = ["reference_table"]

_COLUMNS = {
    "experiment": np.int64,
    "metric": "U24",
    "n": np.int64,
    "p": np.float64,
    "epsilon": np.float64,
    "mean": np.float64,
    "sd": np.float64,
    "replicates": np.int64,
}


def reference_table() -> NDArray[np.void]:
    """Published means of the edge-private Experiments 1 and 4 of CCW25.

    Returns
    -------
    structured array, shape (rows,)
        Fields ``experiment`` (1 or 4), ``metric``, ``n`` (items), ``p`` (probability that a pair
        is compared), ``epsilon`` (nats; inf for the run without privacy), ``mean`` and ``sd``
        over ``replicates``. The metrics are ``log_relative_l2`` and ``log_relative_linf``
        (natural logarithms of relative errors), ``topk_error_mle``, ``topk_error_counts`` and
        ``topk_error_one_shot`` (shares of the true top-k set that are missed, with k = n / 4
        rounded). Experiment 4 lists n = 350 twice for some epsilon: once along n, once along
        epsilon.

    Notes
    -----
    Source: the authors' public code release, repository abhinavc3/DP-Ranking, for CCW25.
    """
    source = resources.files("dpbook.data").joinpath("ccw25_reference.csv")
    lines = source.read_text(encoding="utf-8").splitlines()
    rows = [tuple(row[name] for name in _COLUMNS) for row in csv.DictReader(lines)]
    return np.array(rows, dtype=list(_COLUMNS.items()))
