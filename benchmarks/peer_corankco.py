"""corankco: its pairwise cost matrix, and its exact solver by integer programming (PuLP, CBC)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp
from corankco.algorithms.pairwisebasedalgorithm import PairwiseBasedAlgorithm
from corankco.dataset import Dataset
from corankco.scoringscheme import ScoringScheme
from numpy.typing import NDArray


def prepare(kind: str, data: NDArray[np.int64]) -> Callable[[], Any]:
    """Return the task, from the package's own inputs, which are not timed."""
    scheme = ScoringScheme.get_pseudodistance_scoring_scheme_p(1.0)  # Kendall on full rankings
    if kind == "count":
        positions = np.ascontiguousarray(data[0].T)

        def count() -> NDArray[Any]:
            # What it costs to put i after j is the number of users who put i before j.
            cost = PairwiseBasedAlgorithm.pairwise_cost_matrix(positions, scheme)[:, :, 1]
            return np.where(np.eye(len(cost), dtype=bool), 0, cost)

        return count
    if kind != "kemeny":
        raise ValueError(f"kind = {kind!r}: allowed is 'count' or 'kemeny'")
    profiles = [
        Dataset.from_raw_list([[{int(item)} for item in order] for order in np.argsort(profile)])
        for profile in data
    ]

    def solve() -> list[float]:
        solver = ExactAlgorithmPulp()
        fits = [solver.compute_consensus_rankings(profile, scheme, True) for profile in profiles]
        return [fit.kemeny_score for fit in fits]

    return solve
