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
    rankers, data : mapping of str to Ranker, mapping of str to data
        Each ranker is brought to every loss by `Ranker.at_loss`; the data that it takes.
    losses, of : sequence of float, {"release", "ranking"}
        True losses, in nats, of what is published or of the ranking read off it.
    error : callable
        From positions, shape (size, n), to errors, shape (size,).
    size : int
        Rankings drawn for each ranker and loss.

    Returns
    -------
    dict of str to array, shape (losses, size)

    Examples
    --------
    >>> from dpbook.privacy import Edge
    >>> from dpbook.rankers import NoisyCounts
    >>> field, tables = {"counts": NoisyCounts.private(1, Edge(2))}, {"counts": [[0, 1], [0, 0]]}
    >>> generator = np.random.default_rng(1)
    >>> errors_at_loss(field, tables, [0.5, 9], lambda p: p[:, 0], size=4, rng=generator)["counts"]
    array([[1., 1., 1., 0.],
           [0., 0., 0., 0.]])
    """
    if missing := sorted(set(rankers) - set(data)):
        raise ValueError(f"data = {sorted(data)!r}: allowed are data for {missing[0]!r} too")
    levels, size = [check.epsilon(x, "losses") for x in losses], check.integer("size", size, 1)

    def errors(ranker: Ranker, given: Any) -> Array:
        drawn = (ranker.at_loss(x, of).sample(given, size, rng=rng) for x in levels)
        return np.array([error(places) for places in drawn], dtype=float)

    return {name: errors(ranker, data[name]) for name, ranker in rankers.items()}
