"""The logistic objective on a graph of comparisons: win matrices, or a list of pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dpbook._typing import Array
from dpbook.estimators._newton import logistic_start, minimise, newton_step, sup

# exp(theta) is used while squares of its entries stay finite: strengths within +-300 of the middle.
SAFE_SPREAD = 600.0
# Matrix entries that one block of replicates works on: half a megabyte stays in a core's cache.
BLOCK_ENTRIES = 2**16
# Up to here a batch is faster with its replicates innermost: twice at 6 items, no more at 24.
FEW_ITEMS = 16
_STEPS = 3  # of wins from the first item, before all groups are counted


class Graph(ABC):
    """Comparisons of some pairs; an array "of pairs" is laid out like ``total``.

    ``total`` is the weight of the comparisons of each pair, ``won`` and ``degree`` the weight of
    the wins and of the comparisons of each item, shape (..., n).
    """

    total: Array
    won: Array
    degree: Array
    block: int  # most replicates worked on at once

    @abstractmethod
    def part(self, index: Any) -> Graph:
        """Some of the replicates."""

    @property
    def least(self) -> float:
        """The smallest weight of the comparisons of a pair."""
        return float(self.total[self.total > 0].min())

    @abstractmethod
    def groups(self) -> int:
        """The most groups, in any replicate, of items that reach each other by wins."""

    @abstractmethod
    def join(self, values: Array, ufunc: np.ufunc, out: Array | None = None) -> Array:
        """Apply ``ufunc`` to the values of the two items of each pair."""

    def room(self, values: Array) -> Array:
        """An array of pairs, to be filled by `join` of such values."""
        return self.join(values, np.add)

    @abstractmethod
    def times(self, weights: Array, vector: Array) -> Array:
        """Sum over the opponents of each item: weight times entry of ``vector``."""

    @abstractmethod
    def surprise(self, theta: Array) -> Array:
        """Expected less observed wins, by tanh: another formula than that of the solver."""

    def solve(self, linear: Array, gamma: float, tol: float) -> tuple[Array, Array, int]:
        """Theta, residuals computed afresh, and the steps, for ``linear`` of shape (..., n)."""
        problem = Logistic(self, linear, gamma)
        start = logistic_start(self.won, self.degree, linear, gamma)
        theta, steps = minimise(problem, start, tol)
        return theta, np.abs(problem.score_by_tanh(theta)).max(axis=-1), steps


class Logistic:
    """Score and Newton steps: sum_j total_ij F(theta_i - theta_j) - won + linear + gamma theta."""

    def __init__(self, graph: Graph, linear: Array, gamma: float) -> None:
        self.graph, self.linear, self.gamma = graph, linear, gamma
        self._target = graph.won - linear
        self._mean_degree = graph.degree.mean(axis=-1, keepdims=True)
        self._ones, self._exp = np.ones(linear.shape[-1]), np.ones_like(linear)
        self._ratio = graph.room(self._exp)
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
    """Win matrices: (n, n), shared by all replicates, or (replicates, n, n).

    With few items the replicates of a batch lie next to each other in memory (Fortran's order):
    NumPy's innermost loop then runs over them, and not over a handful of items.
    """

    def __init__(self, wins: NDArray[Any]) -> None:
        self.few = wins.ndim > 2 and wins.shape[-1] <= FEW_ITEMS
        if self.few:
            wins = np.asfortranarray(wins)
        self.wins, self.block = wins, max(1, BLOCK_ENTRIES // wins.shape[-1] ** 2)
        self.total = np.add(wins, np.swapaxes(wins, -1, -2), dtype=float)
        self.won, self.degree = wins.sum(axis=-1, dtype=float), self.total.sum(axis=-1)

    def part(self, index: Any) -> Matrices:
        if self.wins.ndim == 2:
            return self
        some = copy(self)
        some.wins, some.total, some.won = self.wins[index], self.total[index], self.won[index]
        some.degree = self.degree[index]
        return some

    def groups(self) -> int:
        edges, n = self.wins > 0, self.wins.shape[-1]
        # An item that beat half of the others, and one that lost to half, have met or share one.
        if min(edges.sum(axis=-1).min(), edges.sum(axis=-2).min()) >= (n - 1) / 2:
            return 1
        graphs = edges.reshape(-1, n, n)
        return max(connected_components(graph, connection="strong")[0] for graph in graphs)

    def join(self, values: Array, ufunc: np.ufunc, out: Array | None = None) -> Array:
        return np.asarray(ufunc(values[..., :, None], values[..., None, :], out=out))

    def times(self, weights: Array, vector: Array) -> Array:
        if self.few:
            return np.einsum("...ij,...j->...i", weights, vector)
        if vector.ndim == 1:
            return weights @ vector
        return (weights @ vector[..., None])[..., 0]

    def surprise(self, theta: Array) -> Array:
        terms = self.join(theta / 2, np.subtract)
        np.tanh(terms, out=terms)
        terms += 1
        terms *= self.total
        return self.times(terms, np.full(theta.shape[-1], 0.5)) - self.won

    def solve(self, linear: Array, gamma: float, tol: float) -> tuple[Array, Array, int]:
        return super().solve(np.asfortranarray(linear) if self.few else linear, gamma, tol)


class Pairs(Graph):
    """Pairs ordered by their lower items; a pair may occur several times, never without weight.

    Time and memory are linear in the pairs.
    """

    block = 1

    def __init__(
        self, n: int, low: NDArray[Any], high: NDArray[Any], won: Array, total: Array
    ) -> None:
        self.total, self._won_low, self._high = total, won, high.astype(np.int32)
        self._count = np.bincount(low.astype(np.intp), minlength=n)
        self._start = np.r_[0, self._count.cumsum()].astype(np.int32)
        self._upper = sparse.csr_array((total, self._high, self._start), shape=(n, n))
        self._lower: Any = self._upper.T
        at_low, at_high = self._sums(won)
        met_higher, met_lower = self._sums(total)
        self.won, self.degree = at_low + met_lower - at_high, met_higher + met_lower

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

    def room(self, values: Array) -> Array:
        return np.empty_like(self.total)

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

    def groups(self) -> int:
        n, up, down = self._count.size, self._won_low > 0, self.total > self._won_low
        ways = up.astype(float), down.astype(float)
        if self._reached(*ways) and self._reached(*ways[::-1]):
            return 1
        low = np.repeat(np.arange(n), self._count)
        ends = np.r_[low[up], self._high[down]], np.r_[self._high[up], low[down]]
        start, stop = (end.astype(np.int32) for end in ends)  # others csgraph cannot read
        edges = sparse.coo_array((np.ones(start.size), (start, stop)), shape=(n, n))
        return int(connected_components(edges, connection="strong")[0])

    def _reached(self, up: Array, down: Array) -> bool:
        """Whether a few steps lead from the first item to all: in crowded data they do."""
        found, first = np.zeros(self._count.size), slice(self._count[0])
        found[0] = 1.0
        found[self._high[first][up[first] > 0]] = 1.0  # it is the lower one in all its pairs
        for _ in range(_STEPS - 1):
            self._upper.data, self._lower.data = down, up
            found = np.minimum(found + self._upper @ found + self._lower @ found, 1.0)
            if found.all():
                return True
        return False
