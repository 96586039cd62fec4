"""Measuring rates: an error split into its sources, slopes with intervals, leave-one-out paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit

from dpbook import _validation as check
from dpbook.estimators import ridge_mle

__all__ = ["ErrorParts", "LeaveOneOutPath", "error_parts", "leave_one_out_path", "log_slopes"]

Array = NDArray[np.float64]

# Pairs of items, over several twins, that one pass works on: a megabyte stays in the cache.
TWIN_ENTRIES = 2**17


@dataclass(frozen=True)
class ErrorParts:
    """Error of a perturbed ridge estimate, split into three parts that add up to it exactly.

    Attributes
    ----------
    bias : array, shape (n,)
        Minimiser of the expected ridge objective minus the true strengths: what the ridge costs.
    sampling : array, shape (..., n)
        Fit without noise minus that minimiser: what finite data cost.
    noise : array, shape (..., n)
        Fit with noise minus fit without: what privacy costs.
    """

    bias: Array
    sampling: Array
    noise: Array

    @property
    def total(self) -> Array:
        """Estimate minus truth, shape (..., n)."""
        return np.asarray(self.bias + self.sampling + self.noise)


def error_parts(
    theta: ArrayLike, wins: ArrayLike, expected: ArrayLike, *, gamma: float, linear: ArrayLike
) -> ErrorParts:
    """Split the error of the perturbed maximum-likelihood estimate (logistic link).

    Parameters
    ----------
    theta : array, shape (n,)
        True strengths, centred.
    wins : array, shape (..., n, n)
        Win matrices, one per replicate.
    expected : array, shape (n, n)
        Expectation of ``wins``; its fit is the minimiser of the expected objective.
    gamma : float
        Ridge parameter, above 0.
    linear : array, shape (..., n)
        Laplace noise of each replicate.

    Returns
    -------
    ErrorParts

    Raises
    ------
    ValueError
        If gamma is not positive or the shapes do not fit.

    Notes
    -----
    CCW25, Algorithm 1 and (3.2), without centring. Each of the three fits solves its score
    equation to a sup-norm of 1e-8.
    """
    truth = check.finite_array("theta", theta)
    gamma = check.positive("gamma", gamma)
    table = check.real_array("wins", wins)
    if table.shape[-1:] != truth.shape or np.shape(expected) != truth.shape * 2:
        raise ValueError(
            f"wins of shape {table.shape}, expected of shape {np.shape(expected)}: allowed are "
            f"(..., n, n) and (n, n) with n = {truth.size}"
        )
    population = ridge_mle(expected, gamma=gamma).theta
    public = ridge_mle(table, gamma=gamma).theta
    private = ridge_mle(table, gamma=gamma, linear=linear).theta
    return ErrorParts(population - truth, public - population, private - public)


def log_slopes(predictors: ArrayLike, values: ArrayLike, *, confidence: float = 0.95) -> Array:
    """Slopes of a log-log regression, with intervals over independent replicates.

    A line is fitted to each replicate by least squares; the slopes of the replicates are
    independent and alike, so Student's t gives an interval for their mean.

    Parameters
    ----------
    predictors : array, shape (settings,) or (settings, k)
        Positive predictors; their logarithms are taken.
    values : array, shape (settings, replicates)
        Positive values, the replicates of all settings independent of each other.
    confidence : float
        In (0, 1).

    Returns
    -------
    array, shape (k, 3)
        Mean slope, lower and upper end of the interval for each predictor.

    Raises
    ------
    ValueError
        If something is not positive, or there are too few settings or replicates.
    """
    x, y = check.finite_array("predictors", predictors), check.finite_array("values", values)
    x = x.reshape(len(x), -1)
    if y.ndim != 2 or len(y) != len(x) or len(x) < x.shape[1] + 1 or y.shape[1] < 2:
        raise ValueError(
            f"values of shape {y.shape}: allowed is (settings, replicates) with {len(x)} settings, "
            f"at least {x.shape[1] + 1}, and at least 2 replicates"
        )
    if x.min() <= 0 or y.min() <= 0:
        raise ValueError("predictors and values: allowed are positive numbers")
    design = np.column_stack([np.ones(len(x)), np.log(x)])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise ValueError("predictors: allowed are columns that vary, none determined by the others")
    slopes = (np.linalg.pinv(design) @ np.log(y))[1:]
    level = check.probability("confidence", confidence, zero=False, one=False)
    replicates = y.shape[1]
    half = stats.t.ppf((1 + level) / 2, replicates - 1) * slopes.std(axis=1, ddof=1)
    centre, half = slopes.mean(axis=1), half / np.sqrt(replicates)
    return np.column_stack([centre, centre - half, centre + half])


@dataclass(frozen=True)
class LeaveOneOutPath:
    """Distances along gradient descent and its leave-one-out twins, one entry per iterate.

    Attributes
    ----------
    l2, linf : array, shape (steps + 1,)
        Distance of the iterate from the truth.
    left_out : array, shape (steps + 1,)
        Largest error of a left-out item's strength in its own leave-one-out iterate.
    twin_distance : array, shape (steps + 1,)
        Largest l2 distance between the iterate and a leave-one-out iterate.
    sums : array, shape (steps + 1,)
        Sum of the strengths of the iterate.
    sum_gap : array, shape (steps + 1,)
        Largest difference between that sum and the sum of a leave-one-out iterate.
    """

    l2: Array
    linf: Array
    left_out: Array
    twin_distance: Array
    sums: Array
    sum_gap: Array


def leave_one_out_path(
    theta: ArrayLike,
    wins: ArrayLike,
    *,
    weight: float,
    gamma: float,
    linear: ArrayLike,
    step: float,
    steps: int,
    twin_linear: ArrayLike | None = None,
) -> LeaveOneOutPath:
    """Run gradient descent and its n leave-one-out twins from the truth (logistic link).

    Twin m replaces all comparisons of item m by their expectations.

    Parameters
    ----------
    theta : array, shape (n,)
        True strengths; every sequence starts there.
    wins : array, shape (n, n)
        Win matrix.
    weight : float
        Expected number of comparisons of one pair: p in the edge design.
    gamma : float
        Ridge parameter, above 0.
    linear : array, shape (n,)
        Laplace noise.
    step : float
        Step size, above 0.
    steps : int
        Number of steps.
    twin_linear : array, shape (n,), optional
        Noise that the twins see instead, for experiments; by default the same.

    Returns
    -------
    LeaveOneOutPath

    Notes
    -----
    CCW25, (A.4)-(A.7) with the gradient of twin m taken at its current iterate. The cost of one
    step is of order n^3.
    """
    truth = check.finite_array("theta", theta)
    table = check.finite_array("wins", wins)
    n = truth.size
    if table.shape != (n, n):
        raise ValueError(f"wins of shape {table.shape}: allowed is ({n}, {n}), as theta asks")
    weight, gamma = check.positive("weight", weight), check.positive("gamma", gamma)
    step, steps = check.positive("step", step), check.integer("steps", steps, 1)
    noise = check.number_array("linear", linear)
    twin_noise = noise if twin_linear is None else check.number_array("twin_linear", twin_linear)
    off = ~np.eye(n, dtype=bool)
    totals = table + table.T
    expected = weight * expit(truth[:, None] - truth) * off
    won = table.sum(axis=1)
    # Row m of this matrix: the wins of all items once the comparisons of m are averaged.
    twin_won = won - table.T + expected.T
    np.fill_diagonal(twin_won, expected.sum(axis=1))
    x, twins = truth.copy(), np.tile(truth, (n, 1))
    rows = [_distances(x, twins, truth)]
    for _ in range(steps):
        pull = (totals * expit(x[:, None] - x)).sum(axis=1) - won
        twin_pull = _twin_wins(twins, totals, weight) - twin_won
        x = x - step * (pull + gamma * x + noise)
        twins = twins - step * (twin_pull + gamma * twins + twin_noise)
        rows.append(_distances(x, twins, truth))
    return LeaveOneOutPath(*np.array(rows).T)


def _twin_wins(twins: Array, totals: Array, weight: float) -> Array:
    """Expected wins of every item in every twin, at the twin's strengths."""
    n = len(twins)
    out = np.empty_like(twins)
    # F(v_i - v_j) = e_i / (e_i + e_j); centred, e underflows only for differences beyond 1400.
    middle = (twins.max(axis=1, keepdims=True) + twins.min(axis=1, keepdims=True)) / 2
    strength = np.exp(twins - middle)
    block = max(1, TWIN_ENTRIES // n**2)
    for first in range(0, n, block):
        m = np.arange(first, min(first + block, n))
        e = strength[m]
        own = e / (e + e[np.arange(m.size), m][:, None])  # every item against the one left out
        out[m] = e * (totals / (e[:, :, None] + e[:, None, :])).sum(axis=2)
        out[m] += (weight - totals[m]) * own
        out[m, m] = weight * (n - own.sum(axis=1) - 0.5)
    return out


def _distances(x: Array, twins: Array, truth: Array) -> tuple[float, ...]:
    error = x - truth
    return (
        float(np.linalg.norm(error)),
        float(np.abs(error).max()),
        float(np.abs(np.diagonal(twins) - truth).max()),
        float(np.linalg.norm(twins - x, axis=1).max()),
        float(x.sum()),
        float(np.abs(twins.sum(axis=1) - x.sum()).max()),
    )
