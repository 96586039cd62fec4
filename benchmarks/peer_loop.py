"""Pairwise counts by three loops in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def prepare(kind: str, data: NDArray[np.int64]) -> Callable[[], Any]:
    """Return the task, from a list of lists of items, best first."""
    if kind != "count":
        raise ValueError(f"kind = {kind!r}: allowed is 'count'")
    orders = np.argsort(data[0], axis=1).tolist()
    n = data.shape[-1]

    def count() -> list[list[int]]:
        counts = [[0] * n for _ in range(n)]
        for order in orders:
            for place, item in enumerate(order):
                row = counts[item]
                for behind in order[place + 1 :]:
                    row[behind] += 1
        return counts

    return count
