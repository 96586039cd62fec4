"""Page 18: limits of debiased M-estimation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook.mechanisms import debiased_variance
from dpbook.privacy import Edge
from dpbook.rankers import FlippedAnswers, LaplaceAnswers

Array = NDArray[np.float64]


def ranker_of(kind: str, epsilon: ArrayLike, n_items: int) -> FlippedAnswers | LaplaceAnswers:
    """One comparison is protected: true answers ("none"), "laplace" noise, or flips as read."""
    answer = Edge(n_items, exchange=False)
    if kind == "none":
        return FlippedAnswers(answer, 0.0)
    if kind == "laplace":
        return LaplaceAnswers.private(epsilon, answer)
    return FlippedAnswers.private(epsilon, answer, reading=kind)


def crowd_of(levels: ArrayLike, users: int) -> tuple[Array, NDArray[np.int64]]:
    """Different levels of epsilon, and how many users have each."""
    if np.ndim(levels):
        return np.unique(levels, return_counts=True)
    return np.asarray(levels), np.asarray(users)


def local_rate(theta: ArrayLike, *, users: int, epsilon: ArrayLike, mechanism: str) -> float:
    """Root mean squared error of an estimate for many users, per item.

    Parameters
    ----------
    theta : array, shape (n,)
        True strengths, log-odds.
    users : int
        Number of users m, who answer every pair once.
    epsilon : float or array, shape (users,)
        Privacy parameter of one answer, in nats, for all users or for each.
    mechanism : {"none", "debiased", "weighted", "laplace"}
        As for `ranker_of`; ``"classic"`` has no such limit, it is inconsistent.

    Returns
    -------
    float
        ``sqrt(trace(H^+ V H^+) / n)``, with the Hessian H of the expected objective without its
        ridge and the covariance V of its gradient: the limit of ``sqrt(mean(l2 ** 2))`` of
        `response_errors`, relative to it, when the users grow in number and gamma stays.

    Notes
    -----
    The sandwich formula of M-estimation. XSC, Theorem 2, has the same rate without the constant.
    """
    strengths = np.asarray(theta, dtype=float)
    eps, counts = (np.atleast_1d(part) for part in crowd_of(epsilon, users))
    ranker = ranker_of(mechanism, eps, strengths.size)
    win = expit(strengths[:, None] - strengths)
    curvature = win * win.T
    if mechanism == "none":
        variance = users * curvature
    elif isinstance(ranker, LaplaceAnswers):
        variance = users * curvature + 2 * float(counts @ (1 / eps**2))
    else:
        weight = ranker.slopes(counts) * np.tanh(eps / 2)
        each = debiased_variance(win, eps[:, None, None])
        variance = np.tensordot(counts * weight**2, each, axes=1)
    inverse = np.linalg.pinv(laplacian(users * curvature), hermitian=True)
    return float(np.sqrt(np.trace(inverse @ laplacian(variance) @ inverse) / strengths.size))


def laplacian(weights: Array) -> Array:
    """Sum over pairs i < j of weights[i, j] (e_i - e_j)(e_i - e_j)^T; shape (..., n, n)."""
    off = weights * (1 - np.eye(weights.shape[-1]))
    return np.asarray(off.sum(-1)[..., None] * np.eye(weights.shape[-1]) - off)
