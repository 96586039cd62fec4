"""Page 37: many fits on one design, noise on sums, slopes of a difference of errors."""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import expit

from dpbook._typing import Array
from dpbook.estimators._newton import minimise, newton_step, sup
from dpbook.mechanisms.noise import discrete_laplace_noise

BLOCK = 2**20  # numbers, replicates times pairs, held at once
SHARED = 12  # steps of all fits by one Hessian


def _alike(X: Array) -> tuple[Array, Array, Array]:
    """Distinct rows up to their sign, how often each occurs, and the sum of those turned round.

    A pair that is turned round adds F(-t) (-x) = F(t) x - x to a score. Rows of entries -1, 0, 1
    are told apart by their digits, in base 3; others are left as they are.
    """
    n, d = X.shape
    if d > 33 or not np.isin(X, (-1.0, 0.0, 1.0)).all():  # 3^33 < 2^53
        return X, np.ones(n), np.zeros(d)
    digits = 3.0 ** np.arange(d)
    turned = X @ digits < 0
    rows = np.where(turned[:, None], -X, X)
    _, first, times = np.unique(rows @ digits, return_index=True, return_counts=True)
    return rows[first], times.astype(float), rows[turned].sum(axis=0)


class _Batch:
    """Score and steps of many fits on one design, for `minimise`; row i occurs ``times[i]`` times.

    ``target`` has been moved by what rows turned round add.
    """

    def __init__(self, X: Array, times: Array, target: Array, gamma: float) -> None:
        self.X, self.times, self.target, self.gamma = X, times, target, gamma
        self._weighted = times[:, None] * X
        self._theta, self._steps = np.zeros_like(target), 0

    def score(self, theta: Array) -> Array:
        self._theta = theta
        expected = expit(theta @ self.X.T) @ self._weighted
        return np.asarray(expected - self.target + self.gamma * theta)

    def direction(self, score: Array, tol: float) -> Array:
        """At first one Hessian for all fits; those that are far from the others get their own."""
        self._steps += 1
        if self._steps <= SHARED:
            F = expit(self.X @ np.median(self._theta, axis=0))
            H = (self.X.T * (F * (1 - F) * self.times)) @ self.X
            return np.asarray(-np.linalg.solve(H + self.gamma * np.eye(len(H)), score.T).T)
        F = expit(self._theta @ self.X.T)
        p = F * (1 - F) * self.times
        return newton_step(
            lambda v: ((v @ self.X.T) * p) @ self.X + self.gamma * v,
            p @ self.X**2 + self.gamma,
            score,
            stop=np.maximum(tol / 2, 0.1 * sup(score)),
            centre=False,
        )


def fit(X: Array, target: Array, gamma: float = 1.0) -> Array:
    """Weights that minimise sum log(1 + e^(x theta)) - target theta + gamma |theta|^2 / 2.

    One fit for each row of ``target``; the gradient is below 1e-6 of the number of pairs.
    """
    rows, times, turned = _alike(X)
    out, step, tol = np.empty_like(target), max(1, BLOCK // len(rows)), 1e-6 * len(X)
    for first in range(0, len(target), step):
        part = _Batch(rows, times, target[first : first + step] + turned, gamma)
        out[first : first + step], _ = minimise(part, np.zeros_like(part.target), tol)
        if np.abs(part.score(out[first : first + step])).max() > tol:
            raise RuntimeError(f"a fit stopped with a gradient above {tol:g}: raise gamma")
    return out


def added(more: Array, less: Array) -> tuple[Array, Array]:
    """Root mean square less root mean square, and what each replicate adds to it, centred."""
    with_it, without = (np.sqrt(values.mean(axis=1)) for values in (more, less))
    pulls = (
        (values - values.mean(axis=1, keepdims=True)) / (2 * np.maximum(root, 1e-300)[:, None])
        for values, root in ((more, with_it), (less, without))
    )
    return with_it - without, np.subtract(*pulls)


def slopes(
    cost: tuple[Array, Array], settings: Array, weight: Array, alarm: float
) -> tuple[Array, Array]:
    """Slopes of log cost in the columns of log ``settings``, and their half-widths.

    Student's t for the linearised logarithms; error probability ``alarm`` for all slopes together.
    """
    (value, pulls), size = cost, cost[1].shape[1]
    rows = np.column_stack([np.ones(len(weight)), np.log(settings)])
    W = (np.linalg.pinv(weight[:, None] * rows) * weight)[1:]
    # replicates of different settings may share their answers: columns are independent, rows not
    error = (W @ (pulls / value[:, None])).std(axis=1, ddof=1) / np.sqrt(size)
    return W @ np.log(value), stats.t.isf(alarm / (2 * len(W)), size - 1) * error


def noisy(target: Array, scale: float, rng: np.random.Generator) -> Array:
    """Sums with discrete Laplace noise, drawn by integer arithmetic."""
    return np.asarray(target + discrete_laplace_noise(scale, target.shape, rng=rng))
