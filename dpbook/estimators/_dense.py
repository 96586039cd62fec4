"""Fits on win matrices: every pair is a matrix entry, replicates lie along a leading axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbook.estimators._newton import Settings, inner_stop, logistic_start, minimise, newton_step
from dpbook.models.links import Link

Array = NDArray[np.float64]

# exp(theta) is used while squares of its entries stay finite: strengths within +-300 of the middle.
SAFE_SPREAD = 600.0


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


class LinkMatrices:
    """Score and Newton steps for any link; ``wins`` has shape (..., n, n)."""

    def __init__(self, wins: Array, linear: Array, gamma: float, link: Link) -> None:
        self.wins, self.linear, self.gamma, self.link = wins, linear, gamma, link
        totals = wins.sum(axis=-1) + wins.sum(axis=-2)
        self.mean_degree = totals.mean(axis=-1, keepdims=True)

    def score(self, theta: Array) -> Array:
        """Return the gradient of the negative log-likelihood, ridge and linear term."""
        self._gaps = theta[..., :, None] - theta[..., None, :]
        pull = self.wins * self.link.log_slope(self._gaps)
        return pull.sum(axis=-2) - pull.sum(axis=-1) + self.linear + self.gamma * theta

    def direction(self, score: Array, tol: float) -> Array:
        """Newton step by conjugate gradients."""
        weight = self.wins * self.link.log_curvature(self._gaps)
        weight = weight + np.swapaxes(weight, -1, -2)
        diagonal = weight.sum(axis=-1) + self.gamma
        return newton_step(
            lambda x: diagonal * x - _times(weight, x),
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


def fit_link(wins: Array, linear: Array, settings: Settings) -> tuple[Array, int]:
    """Fit a block of replicates of win matrices (..., n, n) by the general route."""
    shape = np.broadcast_shapes(wins.shape[:-1], linear.shape)
    problem = LinkMatrices(wins, linear, settings.gamma, settings.link)
    return minimise(problem, np.zeros(shape), settings)


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


def link_residual(wins: Array, linear: Array, theta: Array, gamma: float, link: Link) -> Array:
    """Sup-norm of the score for any link, item by item, from the data and ``theta`` alone."""
    score = linear + gamma * theta
    for i in range(theta.shape[-1]):
        gaps = theta[..., i, None] - theta
        lost = wins[..., :, i] * link.log_slope(-gaps)
        score[..., i] += (lost - wins[..., i, :] * link.log_slope(gaps)).sum(axis=-1)
    return np.abs(score).max(axis=-1)


def _times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0] if vector.ndim > 1 else matrix @ vector
