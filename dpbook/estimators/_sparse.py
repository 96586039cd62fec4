"""Fits on a list of pairs: memory and time are linear in the pairs compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from dpbook.data import Comparisons
from dpbook.estimators._newton import (
    SAFE_SPREAD,
    Settings,
    inner_stop,
    logistic_start,
    minimise,
    newton_step,
    strong_groups,
)

Array = NDArray[np.float64]
Index = NDArray[np.int32]


@dataclass(frozen=True)
class Pairs:
    """A weighted comparison graph, one orientation of each edge, ordered by its lower item."""

    start: Index  # (n + 1,): the pairs of lower item i are those from start[i] to start[i + 1]
    high: Index  # (E,): the higher item of each pair; a pair may occur several times
    won: Array  # (E,): weight of the wins of the lower item
    total: Array  # (E,): weight of all comparisons
    least: float  # smallest positive weight of a win
    method: str = "sparse"

    @property
    def n_items(self) -> int:
        """Number of items n."""
        return self.start.size - 1

    def matrix(self, entries: Array) -> Any:
        """Upper triangular matrix with one entry for each pair."""
        n = self.n_items
        return sparse.csr_array((entries, self.high, self.start), shape=(n, n))

    def sums(self, entries: Array, matrix: Any | None = None) -> tuple[Array, Array]:
        """Add up one number for each pair at its lower and at its higher item, in ``matrix``."""
        if matrix is None:
            matrix = self.matrix(entries)
        else:
            matrix.data[:] = entries
        ones = np.ones(self.n_items)
        return matrix @ ones, matrix.T @ ones

    def ends(self, values: Array, out: Array) -> Array:
        """Values of the lower item of each pair; those of the higher item go to ``out``."""
        # "clip" lets NumPy write to `out` at once; no index is ever out of range.
        np.take(values, self.high, out=out, mode="clip")
        return np.repeat(values, np.diff(self.start))

    def gaps(self, theta: Array) -> Array:
        """Differences theta_low - theta_high."""
        gaps = np.empty(self.high.size)
        return np.subtract(self.ends(theta, gaps), gaps, out=gaps)

    def connected(self) -> bool:
        n, weight = self.n_items, self.total
        # Few pairs, spread over all, usually join everything already; weightless ones do not.
        for stride in (max(1, self.high.size // (8 * n)), 1):
            rows = -(-self.start // stride)
            # csgraph takes contiguous arrays only.
            some = np.ascontiguousarray(weight[::stride])
            high = np.ascontiguousarray(self.high[::stride])
            graph = sparse.csr_array((some, high, rows), shape=(n, n))
            if not graph.data.all():
                graph = graph.copy()
                graph.eliminate_zeros()
            if csgraph.connected_components(graph, directed=False)[0] == 1:
                return True
        return False

    def groups(self) -> int:
        """Groups of items that reach each other by wins, along edges from winner to loser."""
        n, up, down = self.n_items, self.won > 0, self.total > self.won
        low = np.repeat(np.arange(n), np.diff(self.start))
        source = np.concatenate([low[up], self.high[down]])
        target = np.concatenate([self.high[up], low[down]])
        edges = np.ones(source.size), (source, target)
        return strong_groups(sparse.coo_array(edges, shape=(n, n)))

    def fit(self, linear: Array, settings: Settings) -> tuple[Array, Array, int]:
        """Fit one row of ``linear`` after the other."""
        theta, residual, steps = np.empty_like(linear), np.empty(len(linear)), 0
        for row, noise in enumerate(linear):
            theta[row], used = fit_logistic(self, noise, settings)
            residual[row] = logistic_residual(self, noise, theta[row], settings.gamma)
            steps = max(steps, used)
        return theta, residual, steps


def pairs_from_comparisons(data: Comparisons) -> Pairs:
    """Turn each comparison into a pair of weight 1."""
    low, high = np.minimum(data.winner, data.loser), np.maximum(data.winner, data.loser)
    upward = data.winner < data.loser
    if not (low[1:] >= low[:-1]).all():
        # One integer for each comparison: sorting those is faster than sorting positions.
        shift = data.n_items.bit_length()
        codes = ((low << shift | high) << 1) | upward
        codes.sort()
        upward = (codes & 1).astype(bool)
        codes >>= 1
        low, high = codes >> shift, codes & ((1 << shift) - 1)
    return _pairs(data.n_items, low, high, upward, np.ones(low.size), least=1.0)


def pairs_from_matrix(wins: Any) -> Pairs:
    """Turn the win weights of a sparse or dense matrix into pairs (a pair may come twice)."""
    entries = sparse.coo_array(wins)
    row, column = entries.row, entries.col
    order = np.argsort(np.minimum(row, column), kind="stable")
    row, column = row[order], column[order]
    low, high = np.minimum(row, column), np.maximum(row, column)
    weight = np.asarray(entries.data, dtype=float)[order]
    least = float(weight.min(where=weight > 0, initial=np.inf))
    return _pairs(entries.shape[0], low, high, row < column, weight, least)


def _pairs(
    n: int,
    low: NDArray[Any],
    high: NDArray[Any],
    upward: NDArray[np.bool_],
    total: Array,
    least: float,
) -> Pairs:
    start = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(np.bincount(low, minlength=n), out=start[1:])
    return Pairs(start, high.astype(np.int32), upward * total, total, least)


class LogisticPairs:
    """Score and Newton steps of the logistic objective."""

    def __init__(self, pairs: Pairs, linear: Array, gamma: float) -> None:
        self.pairs, self.gamma = pairs, gamma
        self._weights = pairs.matrix(np.empty(pairs.high.size))
        self._transposed = self._weights.T  # shares the entries
        self._exp = np.empty(pairs.n_items)
        self._ratio = np.empty(pairs.high.size)
        met_higher, met_lower = pairs.sums(pairs.total, self._weights)
        won, lost = pairs.sums(pairs.won, self._weights)
        self.degree, self.wins = met_higher + met_lower, won + met_lower - lost
        self.target = self.wins - linear
        self.mean_degree = self.degree.mean()

    def _times(self, vector: Array) -> Array:
        return self._weights @ vector + self._transposed @ vector

    def score(self, theta: Array) -> Array:
        """Return sum_j total_ij F(theta_i - theta_j) - target_i + gamma theta_i."""
        pairs, low, high = self.pairs, theta.min(), theta.max()
        if high - low > SAFE_SPREAD:
            return self._safe_score(theta)
        self._exp = np.exp(theta - (low + high) / 2)
        # F_ij = e_i / (e_i + e_j): n exponentials, one division per pair.
        self._ratio += pairs.ends(self._exp, out=self._ratio)
        np.divide(1.0, self._ratio, out=self._ratio)
        np.multiply(pairs.total, self._ratio, out=self._weights.data)
        expected = self._exp * self._times(np.ones(theta.size))
        return expected - self.target + self.gamma * theta

    def _safe_score(self, theta: Array) -> Array:
        """Score for strengths whose exponentials overflow; leaves ``_exp`` = 1 to `direction`."""
        pairs = self.pairs
        self._exp = np.ones_like(theta)
        half = np.tanh(pairs.gaps(theta) / 2) / 2
        np.multiply(pairs.total, 0.5 + half, out=self._weights.data)
        np.subtract(0.5, half, out=self._ratio)
        met_lower = pairs.sums(pairs.total)[1]
        won, lost = pairs.sums(self._weights.data)
        return won + met_lower - lost - self.target + self.gamma * theta

    def direction(self, score: Array, tol: float) -> Array:
        """Newton step by conjugate gradients; the Hessian is a weighted Laplacian plus gamma."""
        self._weights.data *= self._ratio
        exp = self._exp
        diagonal = exp * self._times(exp) + self.gamma
        return newton_step(
            lambda x: diagonal * x - exp * self._times(exp * x),
            diagonal,
            score,
            stop=inner_stop(score, self.mean_degree, tol),
            centre=self.gamma == 0,
        )


def fit_logistic(pairs: Pairs, linear: Array, settings: Settings) -> tuple[Array, int]:
    """Fit one set of pairs; ``linear`` has shape (n,)."""
    problem = LogisticPairs(pairs, linear, settings.gamma)
    start = logistic_start(problem.wins, problem.degree, problem.target, settings.gamma)
    return minimise(problem, start, settings)


def logistic_residual(pairs: Pairs, linear: Array, theta: Array, gamma: float) -> float:
    """Sup-norm of the score, from the pairs and ``theta`` alone.

    Computed with tanh, as (expected - observed wins) pair by pair: another formula than the
    solver's.
    """
    surprise = pairs.gaps(theta / 2)
    np.tanh(surprise, out=surprise)
    surprise += 1
    surprise *= pairs.total
    surprise *= 0.5
    surprise -= pairs.won
    at_low, at_high = pairs.sums(surprise)
    return float(np.abs(at_low - at_high + linear + gamma * theta).max())
