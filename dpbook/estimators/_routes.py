"""Three ways to the same minimiser: pairs, win matrices, win counts of the complete graph.

Each route fits, certifies by a score residual computed afresh, and knows when a plain
maximum-likelihood estimate exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

from dpbook.estimators import _complete, _dense, _sparse
from dpbook.estimators._newton import Settings

Array = NDArray[np.float64]

# Matrix entries that one block of replicates works on: half a megabyte stays in a core's cache.
BLOCK_ENTRIES = 2**16
COMPLETE_BLOCK = 50


class Route(Protocol):
    """Data in the form one solver wants; ``linear`` has shape (replicates, n)."""

    @property
    def name(self) -> str:
        """The word for `RidgeFit.method`."""
        ...

    @property
    def least(self) -> float:
        """Smallest positive weight of a win."""
        ...

    def fit(self, linear: Array, settings: Settings) -> tuple[Array, Array, int]:
        """Return theta (replicates, n), residuals (replicates,) and the most steps taken."""
        ...

    def largest_degree(self) -> float:
        """Largest total weight of the comparisons of one item."""
        ...

    def connected(self) -> bool:
        """Whether comparisons join all items, in every replicate."""
        ...

    def groups(self) -> int:
        """Most groups of items, in any replicate, that reach each other by wins."""
        ...


@dataclass(frozen=True)
class PairsRoute:
    """One data set as a list of pairs."""

    pairs: _sparse.Pairs
    name: str = "sparse"

    @property
    def least(self) -> float:
        return self.pairs.least

    def fit(self, linear: Array, settings: Settings) -> tuple[Array, Array, int]:
        """Fit one row of ``linear`` after the other."""
        theta, residual, steps = np.empty_like(linear), np.empty(len(linear)), 0
        gamma, link = settings.gamma, settings.link
        for row, noise in enumerate(linear):
            if link.name == "logistic":
                found, used = _sparse.fit_logistic(self.pairs, noise, settings)
                residual[row] = _sparse.logistic_residual(self.pairs, noise, found, gamma)
            else:
                found, used = _sparse.fit_link(self.pairs, noise, settings)
                residual[row] = _sparse.link_residual(self.pairs, noise, found, gamma, link)
            theta[row], steps = found, max(steps, used)
        return theta, residual, steps

    def largest_degree(self) -> float:
        return float(self.pairs.degree_and_wins()[0].max())

    def connected(self) -> bool:
        return self.pairs.connected()

    def groups(self) -> int:
        return _groups(self.pairs.wins_graph())


@dataclass(frozen=True)
class MatrixRoute:
    """Win matrices of shape (n, n), shared by all replicates, or (replicates, n, n)."""

    wins: NDArray[Any]
    name: str = "dense"

    @property
    def least(self) -> float:
        if self.wins.dtype.kind in "iub":
            return 1.0
        return float(np.min(self.wins, where=self.wins > 0, initial=np.inf))

    def fit(self, linear: Array, settings: Settings) -> tuple[Array, Array, int]:
        """Fit blocks of replicates that fit into the cache."""
        theta, residual, steps = np.empty_like(linear), np.empty(len(linear)), 0
        shared = self._logistic_data(self.wins) if self.wins.ndim == 2 else None
        for rows in _blocks(len(linear), BLOCK_ENTRIES // linear.shape[1] ** 2):
            # A block of one replicate drops its axis: fewer, simpler array operations.
            index = rows.start if rows.stop - rows.start == 1 else rows
            wins = self.wins if self.wins.ndim == 2 else self.wins[index]
            found, residual[index], used = self._fit_block(wins, shared, linear[index], settings)
            theta[index], steps = found, max(steps, used)
        return theta, residual, steps

    @staticmethod
    def _logistic_data(wins: NDArray[Any]) -> tuple[Array, Array]:
        """Sufficient statistics: weight of each pair, and win counts."""
        matrix = np.asarray(wins, dtype=float)
        return matrix + np.swapaxes(matrix, -1, -2), matrix.sum(axis=-1)

    def _fit_block(
        self,
        wins: NDArray[Any],
        shared: tuple[Array, Array] | None,
        linear: Array,
        settings: Settings,
    ) -> tuple[Array, Array, int]:
        gamma, link = settings.gamma, settings.link
        if link.name == "logistic":
            totals, won = self._logistic_data(wins) if shared is None else shared
            theta, used = _dense.fit_logistic(totals, won, linear, settings)
            return theta, _dense.logistic_residual(totals, won, linear, theta, gamma), used
        matrix = np.asarray(wins, dtype=float)
        theta, used = _dense.fit_link(matrix, linear, settings)
        return theta, _dense.link_residual(matrix, linear, theta, gamma, link), used

    def largest_degree(self) -> float:
        return float(np.max(self.wins.sum(axis=-1) + self.wins.sum(axis=-2)))

    def connected(self) -> bool:
        n = self.wins.shape[-1]
        met = (self.wins > 0) | (np.swapaxes(self.wins, -1, -2) > 0)
        # Two items that each met half of the others have met each other or a common opponent.
        if np.count_nonzero(met, axis=-1).min() >= (n - 1) / 2:
            return True
        return all(_joined(matrix) for matrix in met.reshape(-1, n, n))

    def groups(self) -> int:
        n = self.wins.shape[-1]
        return max(_groups(matrix > 0) for matrix in self.wins.reshape(-1, n, n))


@dataclass(frozen=True)
class CompleteRoute:
    """Win counts (n,), shared by all replicates, or (replicates, n); equal counts per pair."""

    wins: Array
    per_pair: float
    name: str = "complete"

    @property
    def least(self) -> float:
        return self.per_pair

    def fit(self, linear: Array, settings: Settings) -> tuple[Array, Array, int]:
        """Fit blocks of replicates; a block that spreads too far is handed to the dense route."""
        theta, residual, steps = np.empty_like(linear), np.empty(len(linear)), 0
        wins = np.broadcast_to(self.wins, linear.shape)
        for rows in _blocks(len(linear), COMPLETE_BLOCK):
            data, per_pair, gamma = (wins[rows], linear[rows]), self.per_pair, settings.gamma
            try:
                found, used = _complete.fit_complete(*data, per_pair, settings)
                residual[rows] = _complete.complete_residual(*data, found, per_pair, gamma)
            except (_complete.TooWideError, np.linalg.LinAlgError):
                totals = per_pair * (1 - np.eye(linear.shape[1]))
                found, used = _dense.fit_logistic(totals, *data, settings)
                residual[rows] = _dense.logistic_residual(totals, *data, found, gamma)
            theta[rows] = found
            steps = max(steps, used)
        return theta, residual, steps

    def largest_degree(self) -> float:
        return self.per_pair * (self.wins.shape[-1] - 1)

    def connected(self) -> bool:
        return True

    def groups(self) -> int:
        """Count by Landau's criterion: the worst k items must have won something outside."""
        n = self.wins.shape[-1]
        k = np.arange(1, n)
        least = self.per_pair * k * (k - 1) / 2
        won = np.cumsum(np.sort(self.wins, axis=-1), axis=-1)[..., :-1]
        cuts = won <= least * (1 + 1e-12)
        return 1 + int(np.max(cuts.sum(axis=-1)))


def _blocks(count: int, size: int) -> Iterator[slice]:
    for first in range(0, count, max(1, size)):
        yield slice(first, min(count, first + max(1, size)))


def _joined(met: NDArray[np.bool_]) -> bool:
    """Whether all items are reached from the first one; ``met`` is symmetric."""
    reached = np.zeros(len(met), dtype=bool)
    frontier = np.arange(1)
    while frontier.size:
        reached[frontier] = True
        frontier = np.flatnonzero(met[frontier].any(axis=0) & ~reached)
    return bool(reached.all())


def _groups(graph: Any) -> int:
    return int(csgraph.connected_components(graph, connection="strong")[0])
