"""The logistic objective on a graph of comparisons: win matrices, or a list of pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dpbook.estimators._newton import (
    Settings,
    logistic_start,
    minimise,
    newton_step,
    sup,
)

Array = NDArray[np.float64]

# exp(theta) is used while squares of its entries stay finite: strengths within +-300 of the middle.
SAFE_SPREAD = 600.0
# Matrix entries that one block of replicates works on: half a megabyte stays in a core's cache.
BLOCK_ENTRIES = 2**16


class Graph(ABC):
    """Comparisons of some pairs; an array "of pairs" is laid out like ``total``.

    ``total`` is the weight of the comparisons of each pair, ``won`` and ``degree`` the weight of
    the wins and of the comparisons of each item, shape (..., n).
    """

    total: Array
    won: Array
    degree: Array

    @abstractmethod
    def join(self, values: Array, ufunc: np.ufunc, out: Array | None = None) -> Array:
        """Apply ``ufunc`` to the values of the two items of each pair."""

    @abstractmethod
    def times(self, weights: Array, vector: Array) -> Array:
        """Sum over the opponents of each item: weight times entry of ``vector``."""

    @abstractmethod
    def surprise(self, theta: Array) -> Array:
        """Expected less observed wins, by tanh: another formula than that of the solver."""

    def solve(self, linear: Array, settings: Settings) -> tuple[Array, Array, int]:
        """Theta, residuals computed afresh, and the steps, for ``linear`` of shape (..., n)."""
        problem = Logistic(self, linear, settings.gamma)
        start = logistic_start(self.won, self.degree, linear, settings.gamma)
        theta, steps = minimise(problem, start, settings)
        return theta, np.abs(problem.score_by_tanh(theta)).max(axis=-1), steps


class Logistic:
    """Score and Newton steps: sum_j total_ij F(theta_i - theta_j) - won + linear + gamma theta."""

    def __init__(self, graph: Graph, linear: Array, gamma: float) -> None:
        self.graph, self.linear, self.gamma = graph, linear, gamma
        self._target = graph.won - linear
        self._mean_degree = graph.degree.mean(axis=-1, keepdims=True)
        self._ones, self._exp = np.ones(linear.shape[-1]), np.ones_like(linear)
        self._ratio = graph.join(self._exp, np.add)
        self._terms = np.empty_like(self._ratio)

    def score(self, theta: Array) -> Array:
        low, high = theta.min(axis=-1, keepdims=True), theta.max(axis=-1, keepdims=True)
        if np.max(high - low) > SAFE_SPREAD:
            # exp would overflow.
            self._exp = np.ones_like(theta)
            half = np.tanh(self.graph.join(theta / 2, np.subtract)) / 2
            np.multiply(self.graph.total, 0.5 + half, out=self._terms)
            np.subtract(0.5, half, out=self._ratio)
            return self.score_by_tanh(theta)
        self._exp = np.exp(theta - (low + high) / 2)
        # F_ij = e_i / (e_i + e_j): n exponentials, one division per pair.
        self.graph.join(self._exp, np.add, out=self._ratio)
        np.divide(1.0, self._ratio, out=self._ratio)
        np.multiply(self.graph.total, self._ratio, out=self._terms)
        expected = self._exp * self.graph.times(self._terms, self._ones)
        return expected - self._target + self.gamma * theta

    def score_by_tanh(self, theta: Array) -> Array:
        return self.graph.surprise(theta) + self.linear + self.gamma * theta

    def direction(self, score: Array, tol: float) -> Array:
        """Newton step by conjugate gradients; the Hessian is a weighted Laplacian plus gamma."""
        weight, exp = np.multiply(self._terms, self._ratio, out=self._terms), self._exp
        times, size = self.graph.times, sup(score)
        diagonal = exp * times(weight, exp) + self.gamma
        return newton_step(
            lambda x: diagonal * x - exp * times(weight, exp * x),
            diagonal,
            score,
            # A system deserves to be solved the better, the smaller the gradient.
            stop=np.maximum(tol / 2, size * np.minimum(0.1, size / self._mean_degree)),
            centre=self.gamma == 0,
        )


class Matrices(Graph):
    """Win matrices of shape (..., n, n), worked on all at once."""

    def __init__(self, wins: NDArray[Any]) -> None:
        self.total = np.add(wins, np.swapaxes(wins, -1, -2), dtype=float)
        self.won, self.degree = wins.sum(axis=-1, dtype=float), self.total.sum(axis=-1)

    def join(self, values: Array, ufunc: np.ufunc, out: Array | None = None) -> Array:
        return np.asarray(ufunc(values[..., :, None], values[..., None, :], out=out))

    def times(self, weights: Array, vector: Array) -> Array:
        if vector.ndim == 1:
            return weights @ vector
        return (weights @ vector[..., None])[..., 0]

    def surprise(self, theta: Array) -> Array:
        terms = self.join(theta / 2, np.subtract)
        np.tanh(terms, out=terms)
        terms += 1
        terms *= self.total
        return terms @ np.full(theta.shape[-1], 0.5) - self.won


class WinMatrices:
    """Win matrices of shape (n, n), shared by all replicates, or (replicates, n, n)."""

    def __init__(self, wins: NDArray[Any]) -> None:
        self.wins = wins
        self.block = max(1, BLOCK_ENTRIES // wins.shape[-1] ** 2)
        self._shared = Matrices(wins) if wins.ndim == 2 else None

    def part(self, index: Any) -> Matrices:
        """Some of the replicates."""
        return self._shared or Matrices(self.wins[index])

    @property
    def least(self) -> float:
        """The smallest positive weight of a win."""
        return float(self.wins[self.wins > 0].min())

    def connected(self) -> bool:
        """Whether comparisons join all items, in every replicate."""
        n = self.wins.shape[-1]
        met = (self.wins > 0) | (np.swapaxes(self.wins, -1, -2) > 0)
        # Two items that each met half of the others have met each other or a common opponent.
        return bool(met.sum(axis=-1).min() >= (n - 1) / 2) or _most_groups(met) == 1

    def groups(self) -> int:
        """The most groups of items that reach each other by wins."""
        return _most_groups(self.wins > 0)


def _most_groups(edges: NDArray[np.bool_]) -> int:
    n = edges.shape[-1]
    graphs = edges.reshape(-1, n, n)
    return max(connected_components(graph, connection="strong")[0] for graph in graphs)


class Pairs(Graph):
    """Pairs ordered by their lower items; a pair may occur several times, never without weight.

    Time and memory are linear in the pairs.
    """

    block = 1

    def __init__(
        self, n: int, low: NDArray[Any], high: NDArray[Any], won: Array, total: Array
    ) -> None:
        self.total, self._won_low, self._high = total, won, high.astype(np.int32)
        self._count = np.bincount(low, minlength=n)
        self._start = np.r_[0, self._count.cumsum()].astype(np.int32)
        self._upper = sparse.csr_array((total, self._high, self._start), shape=(n, n))
        self._lower: Any = self._upper.T
        at_low, at_high = self._sums(won)
        met_higher, met_lower = self._sums(total)
        self.won, self.degree = at_low + met_lower - at_high, met_higher + met_lower

    @property
    def least(self) -> float:
        """No win that decides a pair has a smaller weight."""
        return float(self.total.min())

    def part(self, index: Any) -> Pairs:
        return self

    def _sums(self, entries: Array) -> tuple[Array, Array]:
        """Add up a number for each pair at its lower and at its higher item."""
        self._upper.data = self._lower.data = entries
        ones = np.ones(self._count.size)
        return self._upper @ ones, self._lower @ ones

    def join(self, values: Array, ufunc: np.ufunc, out: Array | None = None) -> Array:
        # "clip" lets NumPy write to `out` at once; no index is ever out of range.
        higher = np.take(values, self._high, out=out, mode="clip")
        return np.asarray(ufunc(np.repeat(values, self._count), higher, out=higher))

    def times(self, weights: Array, vector: Array) -> Array:
        self._upper.data = self._lower.data = weights
        return np.asarray(self._upper @ vector + self._lower @ vector)

    def surprise(self, theta: Array) -> Array:
        terms = self.join(theta / 2, np.subtract)
        np.tanh(terms, out=terms)
        terms += 1
        terms *= self.total
        terms *= 0.5
        terms -= self._won_low
        at_low, at_high = self._sums(terms)
        return at_low - at_high

    def connected(self) -> bool:
        """Whether comparisons join all items."""
        n = self._count.size
        # Few pairs, spread over all, usually join everything already.
        for stride in (max(1, self._high.size // (8 * n)), 1):
            some = self._high[::stride].copy(), -(-self._start // stride)
            graph = sparse.csr_array((np.ones(some[0].size), *some), shape=(n, n))
            if connected_components(graph, directed=False)[0] == 1:
                return True
        return False

    def groups(self) -> int:
        """Groups of items that reach each other by wins, along edges from winner to loser."""
        n, up, down = self._count.size, self._won_low > 0, self.total > self._won_low
        low = np.repeat(np.arange(n), self._count)
        ends = np.r_[low[up], self._high[down]], np.r_[self._high[up], low[down]]
        edges = sparse.coo_array((np.ones(ends[0].size), ends), shape=(n, n))
        return int(connected_components(edges, connection="strong")[0])
