"""The perturbed maximum-likelihood estimator and its exact density.

The estimate solves grad R(theta) + w = 0 with Laplace noise w, so w = -grad R(theta) is a smooth
one-to-one function of the estimate, and the density follows from the change of variables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.estimators import ridge_mle
from dpbook.mechanisms import laplace_logpdf, laplace_noise
from dpbook.rankers.calibration import mle_calibration
from dpbook.rankers.counts import check_bundles

__all__ = ["objective_perturbation", "perturbed_mle", "perturbed_mle_logpdf"]

Array = NDArray[np.float64]


def perturbed_mle(
    data: Comparisons | ArrayLike,
    *,
    epsilon: float,
    privacy: str = "edge",
    design: str = "with_replacement",
    per_user: int | None = None,
    calibration: str = "tight",
    gamma: float | None = None,
    centre: bool = True,
    rng: np.random.Generator,
) -> Array:
    """Perturbed maximum-likelihood estimate of Bradley-Terry strengths.

    Parameters
    ----------
    data : Comparisons, or array, shape (..., n, n)
        Comparisons, or win matrices (one per replicate).
    epsilon, privacy, design, per_user, calibration, gamma
        As for `mle_calibration`.
    centre : bool
        Subtract the mean of the estimate, a post-processing. The raw mean is ``-mean(w) / gamma``:
        pure noise.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (..., n)
        Each row solves its score equation to a sup-norm of 1e-8.

    Notes
    -----
    CCW25, Algorithm 1 and (3.2), logistic link; objective perturbation (Chaudhuri, Monteleoni,
    Sarwate 2011).

    **Privacy.** As stated in `mle_calibration`, for an exact minimiser; the solver is iterative.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    n = data.n_items if isinstance(data, Comparisons) else np.asarray(data).shape[-1]
    if privacy == "individual" and isinstance(data, Comparisons):
        check_bundles(data, design, per_user)
    plan = mle_calibration(
        n,
        epsilon=epsilon,
        privacy=privacy,
        design=design,
        per_user=per_user,
        calibration=calibration,
        gamma=gamma,
    )
    shape = (n,) if isinstance(data, Comparisons) else np.asarray(data).shape[:-1]
    noise = laplace_noise(plan.scale, shape, rng=rng)
    theta = ridge_mle(data, gamma=plan.gamma, linear=noise).theta
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
        Each row solves its score equation to a sup-norm of 1e-8; not centred.

    Notes
    -----
    **Privacy.** The loss of one release is `perturbed_mle_loss`; `perturbed_mle` chooses the
    noise for a given epsilon.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    gamma = check.positive("gamma", gamma)
    wins = data.win_matrix() if isinstance(data, Comparisons) else np.asarray(data)
    n = wins.shape[-1]
    noise = laplace_noise(scale, (check.integer("size", size, 1), n), rng=rng)
    return ridge_mle(wins, gamma=gamma, linear=noise).theta


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
