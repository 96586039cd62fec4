"""Our fits, from a `Comparisons` object or from win counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.cases import Array, Case, Data
from dpbook.data import Comparisons
from dpbook.estimators import ridge_mle, ridge_mle_complete


def prepare(case: Case, data: Data) -> tuple[Callable[[], Array], int]:
    """Return a fit of all replicates, and how many there are."""
    if case.kind == "counts":
        wins = np.stack(
            [
                np.bincount(np.where(won, data.first, data.second), minlength=data.n_items)
                for won in data.won
            ]
        )
        return lambda: ridge_mle_complete(wins, gamma=case.gamma).theta, len(wins)
    won = data.won[0]
    comparisons = Comparisons(
        data.n_items,
        winner=np.where(won, data.first, data.second),
        loser=np.where(won, data.second, data.first),
    )
    return lambda: ridge_mle(comparisons, gamma=case.gamma).theta[None], 1
