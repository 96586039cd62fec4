"""prefsampling: Mallows rankings, one user after the other; lists of items, best first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prefsampling.ordinal import mallows

from benchmarks.aggregation import ITEMS, PHI, USERS


def prepare(kind: str, data: NDArray[np.int64]) -> Callable[[], Any]:
    """Return the task."""
    if kind != "sample":
        raise ValueError(f"kind = {kind!r}: allowed is 'sample'")
    # The distance of a list to the identity is that of its positions: no conversion is needed.
    return lambda: mallows(USERS, ITEMS, PHI, seed=1)
