"""evalica: Bradley-Terry scores by minorisation-maximisation, in Rust; no ridge."""

from __future__ import annotations

from collections.abc import Callable

import evalica
import numpy as np
import pandas as pd

from benchmarks.cases import ACCURACY, Array, Case, Data

REPLICATES = 3  # of a batch: there is no batched fit, time per fit is what counts


def prepare(case: Case, data: Data) -> tuple[Callable[[], Array], int]:
    """Return a fit of a few replicates from lists and a ready index, and how many they are."""
    first, second = data.first.tolist(), data.second.tolist()
    sides = [evalica.Winner.Y, evalica.Winner.X]
    outcomes = [[sides[int(won)] for won in row] for row in data.won[:REPLICATES]]
    index = pd.Index(range(data.n_items))

    def fit() -> Array:
        rows = []
        for winners in outcomes:
            found = evalica.bradley_terry(
                first, second, winners, index=index, tolerance=ACCURACY, limit=10_000
            )
            theta = np.log(found.scores.reindex(index).to_numpy())
            rows.append(theta - theta.mean())
        return np.array(rows)

    return fit, len(outcomes)
