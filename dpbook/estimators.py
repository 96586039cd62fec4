"""Non-private estimators: win counts, orders, and the ridge maximum-likelihood estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csgraph

from dpbook import _validation as check
from dpbook.data import Comparisons

__all__ = ["RidgeFit", "ranks_from_scores", "ridge_mle", "top_k_mask", "win_counts"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RidgeFit:
    """A fit of `ridge_mle` with its certificate.

    Attributes
    ----------
    theta : array, shape (..., n)
        Strengths on the log-odds scale.
    residual : array, shape (...)
        Sup-norm of the score equation at ``theta``: zero exactly at the minimiser.
    iterations : int
        Newton steps taken by the slowest replicate.
    """

    theta: Array
    residual: Array
    iterations: int


def win_counts(data: Comparisons | ArrayLike) -> NDArray[np.int64]:
    """Number of comparisons won by each item (the Copeland score when each pair meets once).

    Parameters
    ----------
    data : Comparisons, or array of int, shape (..., n, n)
        Comparisons, or win matrices with entry [i, j] the number of times i beat j.

    Returns
    -------
    array of int, shape (..., n)
    """
    return np.asarray(_win_matrix(data).sum(axis=-1), dtype=np.int64)


def ranks_from_scores(
    scores: ArrayLike, *, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Rank of each item, 0 for the largest score.

    Parameters
    ----------
    scores : array, shape (..., n)
        Larger is better.
    rng : numpy.random.Generator, optional
        Breaks ties uniformly at random; without it the smaller index comes first.

    Returns
    -------
    array of int, shape (..., n)
    """
    values = check.finite_array("scores", scores)
    keys = np.zeros(values.shape) if rng is None else check.generator(rng).random(values.shape)
    order = np.lexsort((keys, -values), axis=-1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(values.shape[-1]), order.shape), -1)
    return ranks


def top_k_mask(
    scores: ArrayLike, k: int, *, rng: np.random.Generator | None = None
) -> NDArray[np.bool_]:
    """Which items are among the k largest scores.

    Parameters
    ----------
    scores : array, shape (..., n)
        Larger is better.
    k : int
        From 1 to n - 1.
    rng : numpy.random.Generator, optional
        Breaks ties uniformly at random; without it the smaller index comes first.

    Returns
    -------
    array of bool, shape (..., n)
        Exactly k entries of each row are true.
    """
    ranks = ranks_from_scores(scores, rng=rng)
    return ranks < check.integer("k", k, 1, ranks.shape[-1] - 1)


def ridge_mle(
    data: Comparisons | ArrayLike,
    *,
    gamma: float,
    linear: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iterations: int = 500,
) -> RidgeFit:
    """Minimise the Bradley-Terry negative log-likelihood plus a ridge and a linear term.

    The objective is the sum over pairs of ``wins[i, j] log(1 + exp(theta[j] - theta[i]))``, plus
    gamma / 2 times the squared length of theta, plus the inner product of ``linear`` and theta. It
    is convex, with a unique minimiser when gamma > 0.

    Parameters
    ----------
    data : Comparisons, or array of int, shape (..., n, n)
        Comparisons, or win matrices.
    gamma : float
        Ridge parameter, at least 0; 0 asks for the plain maximum-likelihood estimate, centred.
    linear : array, shape (..., n), optional
        Linear term (the noise of objective perturbation); broadcast against ``data``.
    tol : float
        Largest allowed sup-norm of the score residual.
    max_iterations : int
        Limit on Newton steps.

    Returns
    -------
    RidgeFit

    Raises
    ------
    ValueError
        If gamma is negative, or gamma is 0 and no minimiser exists: the items cannot all be
        reached from each other by wins, or the linear term does not sum to zero.
    RuntimeError
        If the residual is still above ``tol`` after ``max_iterations`` steps.

    Notes
    -----
    CCW25, Algorithm 1 without its noise. Newton's method; a step whose entries spread by r > 1 is
    shortened to log(1 + r) / r, which keeps the method convergent from anywhere because the third
    derivative of the logistic loss is bounded by its second. The certificate is the residual of
    the score equation, never the length of a step.
    """
    wins = np.asarray(_win_matrix(data), dtype=float)
    gamma = check.nonnegative("gamma", gamma)
    tol = check.positive("tol", tol)
    n = wins.shape[-1]
    noise = np.zeros(n) if linear is None else check.finite_array("linear", linear)
    if noise.shape[-1] != n:
        raise ValueError(f"linear of shape {noise.shape}: allowed is (..., {n})")
    if gamma == 0:
        _require_minimiser(wins, noise)
    shape = np.broadcast_shapes(wins.shape[:-1], noise.shape)
    theta = np.zeros(shape)
    target = wins.sum(axis=-1) - noise
    totals = wins + np.swapaxes(wins, -1, -2)
    for iteration in range(max_iterations + 1):
        probability = 1 / (
            1 + np.exp(np.clip(theta[..., None, :] - theta[..., :, None], -700, 700))
        )
        score = (totals * probability).sum(axis=-1) - target + gamma * theta
        residual = np.abs(score).max(axis=-1)
        if (residual <= tol).all():
            return RidgeFit(theta, residual, iteration)
        theta = theta + _newton_step(totals, probability, score, gamma)
    raise RuntimeError(
        f"ridge_mle stopped at a score residual of {residual.max():.3g} > tol = {tol:g} after "
        f"{max_iterations} steps; raise max_iterations, or gamma = {gamma:g}"
    )


def _newton_step(totals: Array, probability: Array, score: Array, gamma: float) -> Array:
    """Damped Newton step; arrays of shape (..., n, n) and (..., n)."""
    n = score.shape[-1]
    weight = totals * probability * np.swapaxes(probability, -1, -2)
    diagonal = weight.sum(axis=-1)
    hessian = np.where(np.eye(n, dtype=bool), (diagonal + gamma)[..., None], -weight)
    if gamma == 0:
        # The constant direction is free: pin the mean, at the scale of the other eigenvalues.
        hessian = hessian + diagonal.mean(axis=-1)[..., None, None] / n
        score = score - score.mean(axis=-1, keepdims=True)
    step = -np.linalg.solve(hessian, score[..., None])[..., 0]
    spread = np.ptp(step, axis=-1)[..., None]
    return np.asarray(step * np.where(spread > 1, np.log1p(spread) / np.maximum(spread, 1), 1.0))


def _require_minimiser(wins: Array, noise: Array) -> None:
    if np.abs(noise.sum(axis=-1)).max() > 1e-9 * (1 + np.abs(noise).max()):
        raise ValueError("linear does not sum to zero: allowed with gamma = 0 is a centred term")
    for matrix in wins.reshape(-1, *wins.shape[-2:]):
        parts, _ = csgraph.connected_components(matrix > 0, connection="strong")
        if parts > 1:
            raise ValueError(
                f"gamma = 0 with wins that split the items into {parts} groups, one always ahead "
                "or never compared: allowed is gamma > 0, or data in which every item reaches "
                "every other by wins"
            )


def _win_matrix(data: Comparisons | ArrayLike) -> NDArray[np.generic]:
    if isinstance(data, Comparisons):
        return data.win_matrix()
    wins = np.asarray(data)
    if wins.ndim < 2 or wins.shape[-1] != wins.shape[-2] or wins.shape[-1] < 2:
        raise ValueError(f"data of shape {wins.shape}: allowed is (..., n, n) with n >= 2")
    if not np.isfinite(wins).all() or wins.min() < 0:
        raise ValueError("data holds a negative or non-finite count: allowed are counts >= 0")
    if np.diagonal(wins, axis1=-2, axis2=-1).any():
        raise ValueError("data has a non-zero diagonal: an item is never compared with itself")
    return wins
