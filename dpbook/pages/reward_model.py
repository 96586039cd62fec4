"""Page 37: designs with public features, sums of answers, their private versions, and fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit

from dpbook._typing import Array
from dpbook.estimators._newton import minimise, newton_step, sup
from dpbook.mechanisms import (
    debiased_response,
    discrete_laplace_pmf,
    laplace_logpdf,
    randomized_response,
    randomized_response_pmf,
)
from dpbook.mechanisms.noise import discrete_laplace_noise

Generator = np.random.Generator

BLOCK = 2**20  # numbers, replicates times pairs, held at once
SHARED = 12  # steps of all fits by one Hessian


# ------------------------------------------------------------------ the model


def design(n: int, d: int, differ: int, rng: Generator) -> Array:
    """Differences of features, (n, d): each pair differs in so many properties, one way or back."""
    which = np.tile(np.arange(d) < differ, (n, 1))
    return np.asarray(rng.permuted(which, axis=1) * rng.choice([-1.0, 1.0], (n, d)))


def weights(d: int, differ: int) -> Array:
    """Evenly spaced weights, such that the log-odds of the pairs have variance 1."""
    theta = np.linspace(-1, 1, d)
    return np.asarray(theta * np.sqrt(d / differ / (theta @ theta)))


def curvature(X: Array, theta: Array, times: Array | float = 1.0) -> Array:
    """Hessian of the negative log-likelihood: the same whatever the answers are.

    Row i of the design occurs ``times[i]`` times.
    """
    F = expit(X @ theta)
    return np.asarray((X.T * (F * (1 - F) * times)) @ X)


def answers(X: Array, theta: Array, size: int, rng: Generator) -> NDArray[np.bool_]:
    """Whether the first of each pair is preferred, (size, n)."""
    return np.asarray(rng.random((size, len(X))) < expit(X @ theta))


def flipped(bits: NDArray[np.bool_], e: float, rng: Generator) -> NDArray[np.bool_]:
    """Reports: answers through randomised response."""
    return randomized_response(bits, e, rng=rng).astype(bool)


def debiased_sums(reports: NDArray[np.bool_], X: Array, e: float) -> Array:
    """Unbiased sums of y x from reports, (size, d)."""
    values = debiased_response([0, 1], e)
    return np.asarray(values[0] * X.sum(axis=0) + (values[1] - values[0]) * (reports @ X))


def sums(X: Array, theta: Array, levels: Sequence[float], size: int, rng: Generator) -> Array:
    """Sums of y x, then those debiased from reports at each level: (1 + levels, size, d)."""
    found, step = [], max(1, BLOCK // len(X))
    for first in range(0, size, step):
        y = answers(X, theta, min(step, size - first), rng)
        private = [debiased_sums(flipped(y, e, rng), X, e) for e in levels]
        found.append(np.stack([y @ X, *private]))
    return np.concatenate(found, axis=1)


# ------------------------------------------------------------------ fits


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
            H = curvature(self.X, np.median(self._theta, axis=0), self.times)
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


def squares(X: Array, fitted: Array, theta: Array) -> Array:
    """Mean over the pairs of the squared error of the log-odds, one for each fit."""
    gram = X.T @ X / len(X)
    return np.asarray(np.einsum("ri,ij,rj->r", fitted - theta, gram, fitted - theta))


def first_order(X: Array, theta: Array, flips: float | None = None, scale: float = 0.0) -> float:
    """Mean square error of the log-odds to first order: curvature, noise, curvature.

    ``flips`` is the epsilon of randomised response, ``scale`` that of discrete Laplace noise.
    """
    F = expit(X @ theta)
    p = F * (1 - F)
    added = 0.0 if flips is None else float(np.exp(-flips) / np.expm1(-flips) ** 2)
    noise = (X.T * (p + added)) @ X
    if scale:
        noise = noise + np.eye(X.shape[1]) / (2 * np.sinh(0.5 / scale) ** 2)
    inverse = np.linalg.inv((X.T * p) @ X)
    return float(np.trace(inverse @ (X.T @ X / len(X)) @ inverse @ noise))


# ------------------------------------------------------------------ rates


Rule = Callable[[Array, float], float]  # the scale of central noise, from design and epsilon


@dataclass(frozen=True)
class Rates:
    """Square errors of the log-odds, (settings, replicates); settings are rows (n, d, epsilon)."""

    settings: Array
    laws: Array  # first-order mean squares: without privacy, and what privacy adds
    none: Array  # of fits to the answers; 0 for central noise
    private: Array  # of fits to debiased reports; square distance of the fits for central noise
    biased: Array  # of fits to reports that are read as if they were answers


def at_home(
    grid: Sequence[tuple[int, int]], levels: Sequence[float], size: int, rng: Generator
) -> Rates:
    """Errors of randomised response; every pair differs in 4 properties."""
    columns: list[list[Any]] = [[] for _ in range(5)]
    for n, d in grid:
        X, theta, few = design(n, d, 4, rng), weights(d, 4), max(10, size // 4)
        target = sums(X, theta, levels, size, rng)
        plain, law = squares(X, fit(X, target[0]), theta), first_order(X, theta)
        for e, reports in zip(levels, target[1:], strict=True):
            zero, one = debiased_response([0, 1], e)
            raw = fit(X, (reports[:few] - zero * X.sum(axis=0)) / (one - zero))
            errors = squares(X, fit(X, reports), theta)
            biased = np.resize(squares(X, raw, theta), size)
            row = ((n, d, e), (law, first_order(X, theta, e) - law), plain, errors, biased)
            for column, value in zip(columns, row, strict=True):
                column.append(value)
    return Rates(*map(np.array, columns))


def at_curator(
    grid: Sequence[tuple[int, int]],
    levels: Sequence[float],
    size: int,
    rng: Generator,
    rule: Rule = lambda X, e: longest(X) / e,
    differ: Callable[[int], int] = lambda d: 4,
) -> Rates:
    """How far noise on the sum moves the fit, with this rule for its scale."""
    columns: list[list[Any]] = [[] for _ in range(4)]
    for n, d in grid:
        X, theta = design(n, d, differ(d), rng), weights(d, differ(d))
        (target,) = sums(X, theta, (), size, rng)
        plain, law = fit(X, target), first_order(X, theta)
        for e in levels:
            moved = fit(X, noisy(target, rule(X, e), rng)) - plain
            extra = first_order(X, theta, scale=rule(X, e)) - law
            row = ((n, d, e), (law, extra), np.zeros(size), squares(X, moved, np.zeros(d)))
            for column, value in zip(columns, row, strict=True):
                column.append(value)
    settings, laws, none, moved_by = map(np.array, columns)
    return Rates(settings, laws, none, moved_by, moved_by)


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


# ------------------------------------------------------------------ privacy of the sum


def longest(X: Array) -> float:
    """How far one answer moves the sum, in l1."""
    return float(np.abs(X).sum(axis=1).max())


def bundle(X: Array, answers_each: int) -> float:
    """How far all answers of one person move the sum, in l1; people are consecutive rows."""
    people = X.reshape(-1, answers_each, X.shape[1])
    signs = np.array([(1, *rest) for rest in product((-1, 1), repeat=answers_each - 1)])
    return float(max(np.abs(np.einsum("r,urd->ud", s, people)).sum(axis=1).max() for s in signs))


def noisy(target: Array, scale: float, rng: Generator) -> Array:
    """Sums with discrete Laplace noise, drawn by integer arithmetic."""
    return np.asarray(target + discrete_laplace_noise(scale, target.shape, rng=rng))


def sum_loss(moves: Array, scale: float) -> float:
    """Exact loss of noisy sums between neighbours that move the sum by each of ``moves``.

    By the law, point by point: beyond both sums, which a grid reaches, the ratio stays the same.
    """
    found = []
    for move in moves:
        total = 0.0
        for step in move:  # the coordinates are independent
            grid = np.arange(-abs(step) - 2, abs(step) + 3)
            near, far = (discrete_laplace_pmf(x, scale) for x in (grid, grid - step))
            total += np.abs(np.log(near / far)).max()
        found.append(total)
    return float(max(found))


def fit_loss(X: Array, before: ArrayLike, after: ArrayLike, scale: float, gamma: float) -> float:
    """Largest log-ratio of the densities of the perturbed fit, at far points in all directions."""
    n, d = X.shape
    far = (1 + n * np.abs(X).sum()) / gamma
    worst = 0.0
    for corner in product((-far, 0.0, far), repeat=d):
        at = np.array(corner)
        densities = []
        for y in (np.asarray(before, float), np.asarray(after, float)):
            w = y @ X - expit(X @ at) @ X - gamma * at
            determinant = np.linalg.slogdet(curvature(X, at) + gamma * np.eye(d))[1]
            densities.append(determinant + laplace_logpdf(w, scale).sum())
        worst = max(worst, abs(densities[0] - densities[1]))
    return worst


# ------------------------------------------------------------------ corruption


def corrupted(law: Array, kind: str, share: float) -> Array:
    """Law of an answer or a report after a share of them was corrupted, in favour of 1."""
    if kind == "blind":
        return (1 - share) * law + share * law[::-1]
    if kind == "set":
        return (1 - share) * law + share * np.array([0.0, 1.0])
    return law + share * np.array([-1.0, 1.0])


def shift(p: float, e: float, kind: str, share: float, *, after: bool) -> float:
    """How far the debiased mean is moved, per corrupted share, before or after the flips."""
    law, channel = np.array([1 - p, p]), randomized_response_pmf(e)
    end = corrupted(law @ channel, kind, share) if after else corrupted(law, kind, share) @ channel
    return float((end @ debiased_response([0, 1], e) - p) / share)


def turned(bits: NDArray[np.bool_], feature: Array, share: float) -> NDArray[np.bool_]:
    """Answers, or reports, with a share of all of them turned in favour of one property."""
    against = (feature != 0) & (bits != (feature > 0))
    chosen = against & (np.cumsum(against, axis=1) <= share * bits.shape[1])
    return np.asarray(bits ^ chosen)
