"""Fits on win matrices: every pair is a matrix entry, replicates lie along a leading axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook.estimators._newton import (
    SAFE_SPREAD,
    Settings,
    blocks,
    inner_stop,
    logistic_start,
    minimise,
    newton_step,
    strong_groups,
)

Array = NDArray[np.float64]

# Matrix entries that one block of replicates works on: half a megabyte stays in a core's cache.
BLOCK_ENTRIES = 2**16


@dataclass(frozen=True)
class WinMatrices:
    """Win matrices of shape (n, n), shared by all replicates, or (replicates, n, n)."""

    wins: NDArray[Any]
    method: str = "dense"

    @property
    def least(self) -> float:
        if self.wins.dtype.kind in "iub":
            return 1.0
        return float(np.min(self.wins, where=self.wins > 0, initial=np.inf))

    def fit(self, linear: Array, settings: Settings) -> tuple[Array, Array, int]:
        """Fit blocks of replicates that fit into the cache."""
        theta, residual, steps = np.empty_like(linear), np.empty(len(linear)), 0
        shared = _statistics(self.wins) if self.wins.ndim == 2 else None
        for rows in blocks(len(linear), BLOCK_ENTRIES // linear.shape[1] ** 2):
            # A block of one replicate drops its axis: fewer, simpler array operations.
            index = rows.start if rows.stop - rows.start == 1 else rows
            totals, won = _statistics(self.wins[index]) if shared is None else shared
            found, used = fit_logistic(totals, won, linear[index], settings)
            residual[index] = logistic_residual(totals, won, linear[index], found, settings.gamma)
            theta[index], steps = found, max(steps, used)
        return theta, residual, steps

    def connected(self) -> bool:
        n = self.wins.shape[-1]
        met = (self.wins > 0) | (np.swapaxes(self.wins, -1, -2) > 0)
        # Two items that each met half of the others have met each other or a common opponent.
        if np.count_nonzero(met, axis=-1).min() >= (n - 1) / 2:
            return True
        return all(_joined(matrix) for matrix in met.reshape(-1, n, n))

    def groups(self) -> int:
        n = self.wins.shape[-1]
        return max(strong_groups(matrix > 0) for matrix in self.wins.reshape(-1, n, n))


def _statistics(wins: NDArray[Any]) -> tuple[Array, Array]:
    """Sufficient statistics: weight of each pair, and win counts."""
    matrix = np.asarray(wins, dtype=float)
    return matrix + np.swapaxes(matrix, -1, -2), matrix.sum(axis=-1)


class LogisticMatrices:
    """Score and Newton steps of the logistic objective; ``totals`` has shape (..., n, n)."""

    def __init__(self, totals: Array, target: Array, gamma: float) -> None:
        self.totals, self.target, self.gamma = totals, target, gamma
        self.mean_degree = totals.sum(axis=-1).mean(axis=-1, keepdims=True)
        self._ratio = np.empty(target.shape + target.shape[-1:])
        self._terms = np.empty_like(self._ratio)
        self._exp = np.empty_like(target)

    def score(self, theta: Array) -> Array:
        """Return sum_j totals_ij F(theta_i - theta_j) - target_i + gamma theta_i."""
        low, high = theta.min(axis=-1, keepdims=True), theta.max(axis=-1, keepdims=True)
        if np.max(high - low) > SAFE_SPREAD:
            return self._safe_score(theta)
        self._exp = np.exp(theta - (low + high) / 2)
        # F_ij = e_i / (e_i + e_j): n exponentials, one division per pair.
        np.add(self._exp[..., :, None], self._exp[..., None, :], out=self._ratio)
        np.divide(1.0, self._ratio, out=self._ratio)
        np.multiply(self.totals, self._ratio, out=self._terms)
        expected = self._exp * (self._terms @ np.ones(theta.shape[-1]))
        return expected - self.target + self.gamma * theta

    def _safe_score(self, theta: Array) -> Array:
        """Score for strengths whose exponentials overflow; leaves ``_exp`` = 1 to `direction`."""
        self._exp = np.ones_like(theta)
        half = np.tanh((theta[..., :, None] - theta[..., None, :]) / 2) / 2
        np.multiply(self.totals, 0.5 + half, out=self._terms)
        np.subtract(0.5, half, out=self._ratio)
        return self._terms.sum(axis=-1) - self.target + self.gamma * theta

    def direction(self, score: Array, tol: float) -> Array:
        """Newton step by conjugate gradients; the Hessian is a weighted Laplacian plus gamma."""
        weight, exp = np.multiply(self._terms, self._ratio, out=self._terms), self._exp
        diagonal = exp * _times(weight, exp) + self.gamma
        return newton_step(
            lambda x: diagonal * x - exp * _times(weight, exp * x),
            diagonal,
            score,
            stop=inner_stop(score, self.mean_degree, tol),
            centre=self.gamma == 0,
        )


def fit_logistic(
    totals: Array, wins: Array, linear: Array, settings: Settings
) -> tuple[Array, int]:
    """Fit a block of replicates; ``totals`` (..., n, n), ``wins`` (..., n) the win counts."""
    gamma, target = settings.gamma, wins - linear
    start = logistic_start(wins, totals.sum(axis=-1), target, gamma)
    return minimise(LogisticMatrices(totals, target, gamma), start, settings)


def logistic_residual(
    totals: Array, wins: Array, linear: Array, theta: Array, gamma: float
) -> Array:
    """Sup-norm of the score, from the data and ``theta`` alone, one replicate and row block a time.

    Computed with tanh, another formula than the solver's.
    """
    expected = np.empty_like(theta)
    n = theta.shape[-1]
    rows = max(1, 2**15 // n)
    for first in range(0, n, rows):
        part = slice(first, first + rows)
        half = (theta[..., part, None] - theta[..., None, :]) / 2
        np.tanh(half, out=half)
        half += 1
        half *= totals[..., part, :]
        expected[..., part] = half @ np.full(n, 0.5)
    return np.abs(expected - wins + linear + gamma * theta).max(axis=-1)


def _times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0] if vector.ndim > 1 else matrix @ vector


def _joined(met: NDArray[np.bool_]) -> bool:
    """Whether all items are reached from the first one; ``met`` is symmetric."""
    reached = np.zeros(len(met), dtype=bool)
    frontier = np.arange(1)
    while frontier.size:
        reached[frontier] = True
        frontier = np.flatnonzero(met[frontier].any(axis=0) & ~reached)
    return bool(reached.all())
