"""The perturbed maximum-likelihood estimator and its exact density.

The estimate solves grad R(theta) + w = 0 with Laplace noise w, so w = -grad R(theta) is a smooth
one-to-one function of the estimate, and the density follows from the change of variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.estimators import ridge_mle
from dpbook.mechanisms import laplace_logpdf, laplace_noise
from dpbook.rankers.calibration import mle_calibration
from dpbook.rankers.counts import check_people

__all__ = ["objective_perturbation", "perturbed_mle", "perturbed_mle_logpdf"]

Array = NDArray[np.float64]


def perturbed_mle(
    data: Comparisons | ArrayLike,
    *,
    epsilon: float,
    privacy: str,
    design: str | None = None,
    per_user: int | None = None,
    trust_design: bool = False,
    calibration: str = "tight",
    gamma: float | None = None,
    centre: bool = True,
    rng: np.random.Generator,
) -> Array:
    """Perturbed maximum-likelihood estimate of Bradley-Terry strengths.

    Parameters
    ----------
    data : Comparisons, or array, shape (..., n, n)
        Comparisons, or win matrices (one per replicate) of whole numbers, or of halves where a
        tie counts half a win for each side.
    epsilon, privacy, design, per_user, calibration, gamma
        As for `mle_calibration`.
    trust_design : bool
        As for `noisy_counts`: needed for individual privacy when ``data`` does not say who gave
        which answer.
    centre : bool
        Subtract the mean of the estimate, a post-processing. The raw mean is ``-mean(w) / gamma``:
        pure noise.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (..., n)
        Each row solves its score equation to a sup-norm of 1e-8, or, where the noise is so large
        that its own last digits exceed that, to the rounding of the equation.

    Raises
    ------
    ValueError
        As `noisy_counts` and `mle_calibration`.

    Notes
    -----
    CCW25, Algorithm 1 and (3.2), logistic link; objective perturbation (Chaudhuri, Monteleoni,
    Sarwate 2011).

    **Privacy.** As stated in `mle_calibration`, for an exact minimiser; the solver is iterative.
    A tie spends no more than a win, since it moves the score by less and has the same curvature.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = data if isinstance(data, Comparisons) else check.win_tables("data", data, unit=0.5)
    shape = (table.n_items,) if isinstance(table, Comparisons) else table.shape[:-1]
    plan = mle_calibration(
        shape[-1],
        epsilon=epsilon,
        privacy=privacy,
        design=design,
        per_user=per_user,
        calibration=calibration,
        gamma=gamma,
    )
    check_people(table, privacy, design, per_user, trust_design)
    noise = laplace_noise(plan.scale, shape, rng=rng)
    tol = _score_tolerance(table, noise, plan.gamma)
    theta = ridge_mle(table, gamma=plan.gamma, linear=noise, tol=tol).theta
    return theta - theta.mean(axis=-1, keepdims=True) if centre else theta


def objective_perturbation(
    data: Comparisons | ArrayLike,
    *,
    gamma: float,
    scale: float,
    size: int = 1,
    rng: np.random.Generator,
) -> Array:
    """Independent raw releases of the perturbed estimate of one data set, at a given noise.

    Parameters
    ----------
    data : Comparisons, or array, shape (n, n)
        Comparisons, or their win matrix.
    gamma : float
        Ridge parameter, above 0.
    scale : float
        Scale lambda of the Laplace noise on the score.
    size : int
        Number of independent releases.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (size, n)
        Each row solves its score equation as in `perturbed_mle`; not centred.

    Notes
    -----
    **Privacy.** The loss of one release is `perturbed_mle_loss`; `perturbed_mle` chooses the
    noise for a given epsilon.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    gamma = check.positive("gamma", gamma)
    table = data.win_matrix() if isinstance(data, Comparisons) else data
    wins = check.win_tables("data", table, unit=0.5)
    if wins.ndim != 2:
        raise ValueError(f"data of shape {wins.shape}: allowed is (n, n) with n >= 2")
    noise = laplace_noise(scale, (check.integer("size", size, 1), wins.shape[-1]), rng=rng)
    return ridge_mle(
        wins, gamma=gamma, linear=noise, tol=_score_tolerance(wins, noise, gamma)
    ).theta


def _score_tolerance(data: Comparisons | NDArray[Any], noise: Array, gamma: float) -> float:
    """Residual of the score equation that can be asked for: 1e-8, or what rounding leaves.

    The equation adds up n terms of total weight D, the largest degree, the noise w, and gamma
    theta, at most abs(w) + D. Each operation rounds its result by a unit in the last place, u,
    relatively; and the nearest float to theta, at most (abs(w) + D) / gamma, is off by u too,
    which moves the expected wins by up to D / 2 times that. The solver keeps half to itself.
    """
    if isinstance(data, Comparisons):
        n = data.n_items
        met = np.bincount(data.winner, minlength=n) + np.bincount(data.loser, minlength=n)
    else:
        n, met = data.shape[-1], data.sum(axis=-1) + data.sum(axis=-2)
    size, degree = float(np.abs(noise).max()), float(met.max())
    theta = (size + degree) / gamma
    terms = (n + 8) * degree + 8 * size + (gamma + degree / 2) * theta
    return max(1e-8, float(np.finfo(float).eps) * terms)


def perturbed_mle_logpdf(
    theta: ArrayLike, data: Comparisons | ArrayLike, *, gamma: float, scale: float
) -> NDArray[np.float64]:
    """Log-density of the perturbed maximum-likelihood estimate: twin of `objective_perturbation`.

    Parameters
    ----------
    theta : array, shape (..., n)
        Points of evaluation: strengths on the log-odds scale, not centred.
    data : Comparisons, or array of int, shape (..., n, n)
        Comparisons, or win matrices; broadcast against ``theta``.
    gamma : float
        Ridge parameter, above 0.
    scale : float
        Scale lambda of the Laplace noise on the score, above 0.

    Returns
    -------
    array, shape (...)
        ``-norm1(grad R) / lambda - n log(2 lambda) + log det Hess R`` at ``theta``.

    Raises
    ------
    ValueError
        If a parameter is not positive, or shapes do not fit.

    Notes
    -----
    CCW25, proofs A.1 and B.1, which print the determinant with the power -1. The noise is a
    function of the estimate, so its Jacobian enters with the power +1.

    **Privacy.** A difference of two values of this function, for neighbouring data, is the privacy
    loss at ``theta``.
    """
    gamma, scale = check.positive("gamma", gamma), check.positive("scale", scale)
    t = check.finite_array("theta", theta)
    table = data.win_matrix() if isinstance(data, Comparisons) else data
    wins = check.finite_array("data", table, min_ndim=2)
    n = t.shape[-1]
    if wins.shape[-2:] != (n, n):
        raise ValueError(f"data of shape {wins.shape}: allowed is (..., {n}, {n}), as theta asks")
    if wins.min() < 0 or np.diagonal(wins, axis1=-2, axis2=-1).any():
        raise ValueError("data: allowed are counts >= 0 with a zero diagonal")
    totals = wins + np.swapaxes(wins, -1, -2)
    gap = t[..., :, None] - t[..., None, :]
    gradient = (totals * expit(gap) - wins).sum(axis=-1) + gamma * t
    # expit(gap) * expit(-gap) keeps its relative accuracy where 1 - expit would cancel.
    weight = totals * expit(gap) * expit(-gap)
    diagonal = weight.sum(axis=-1) + gamma
    hessian = np.where(np.eye(n, dtype=bool), diagonal[..., None], -weight)
    density = laplace_logpdf(gradient, scale).sum(axis=-1) + np.linalg.slogdet(hessian)[1]
    return np.asarray(density)
