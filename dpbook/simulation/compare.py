"""Any collection of rankers at equal true privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.rankers import Ranker

Array = NDArray[np.float64]


def errors_at_loss(
    rankers: Mapping[str, Ranker],
    data: Mapping[str, Any],
    losses: Sequence[float],
    error: Callable[[NDArray[np.int64]], ArrayLike],
    *,
    of: str = "release",
    size: int,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Errors of rankers that all lose the same, whatever their epsilon is called.

    Parameters
    ----------
    rankers : mapping of str to Ranker
        Each is brought to every loss by `Ranker.at_loss`.
    data : mapping of str to data
        What each ranker takes.
    losses : sequence of float
        True losses, in nats.
    error : callable
        From positions, shape (size, n), to errors, shape (size,).
    of : {"release", "ranking"}
        Whether the loss is that of what is published or that of the ranking read off it.
    size : int
        Rankings drawn for each ranker and loss.
    rng : numpy.random.Generator

    Returns
    -------
    dict of str to array, shape (losses, size)

    Examples
    --------
    >>> from dpbook.privacy import WholeRanking
    >>> from dpbook.rankers import NoisyCounts, NoisyPairs
    >>> crowd, table = WholeRanking(3, users=2), [[0, 2, 2], [0, 0, 2], [0, 0, 0]]
    >>> field = {"counts": NoisyCounts.private(1, crowd), "pairs": NoisyPairs.private(1, crowd)}
    >>> found = errors_at_loss(
    ...     field, dict.fromkeys(field, table), [0.5, 1.0], lambda p: p[:, 0],
    ...     size=4, rng=np.random.default_rng(1),
    ... )
    >>> {name: errors.shape for name, errors in found.items()}
    {'counts': (2, 4), 'pairs': (2, 4)}
    """
    if missing := sorted(set(rankers) - set(data)):
        raise ValueError(f"data = {sorted(data)!r}: allowed are data for {missing[0]!r} too")
    levels, size = [check.epsilon(x, "losses") for x in losses], check.integer("size", size, 1)

    def errors(ranker: Ranker, given: Any) -> Array:
        drawn = (ranker.at_loss(x, of).sample(given, size, rng=rng) for x in levels)
        return np.array([error(places) for places in drawn], dtype=float)

    return {name: errors(ranker, data[name]) for name, ranker in rankers.items()}
