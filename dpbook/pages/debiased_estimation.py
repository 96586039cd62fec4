"""Pages 18 and 19: the error of debiased M-estimation, and limits for every estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook.lower_bounds import edge_kl, fano_error
from dpbook.mechanisms import debiased_variance
from dpbook.privacy import Edge
from dpbook.rankers import FlippedAnswers, LaplaceAnswers
from dpbook.simulation import response_errors
from dpbook.simulation.responses import ResponseErrors

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


# ------------------------------------------------------------------ the first-order law


def variance_factors(levels: ArrayLike) -> tuple[float, float]:
    """The arithmetic and the harmonic mean of coth^2(epsilon / 2) over people."""
    t2 = np.tanh(np.asarray(levels, dtype=float) / 2) ** 2
    return float(np.mean(1 / t2)), float(1 / np.mean(t2))


def factor_of(levels: ArrayLike) -> float:
    """A, the first of `variance_factors`."""
    return variance_factors(levels)[0]


def differences(theta: Array) -> Array:
    """All differences of strengths."""
    return np.asarray(theta[..., :, None] - theta[..., None, :])


def pair_weights(theta: Array) -> Array:
    """Variances F(1 - F) of the true answers."""
    x = differences(theta)
    return np.asarray(expit(x) * expit(-x))


def simulated(
    theta: Array, users: int, levels: ArrayLike, mechanism: str, size: int, rng: np.random.Generator
) -> ResponseErrors:
    """Errors of the ridge fit, its weight the variance factor of the reading."""
    arithmetic, harmonic = variance_factors(levels)
    each, people = crowd_of(levels, users)
    ranker = ranker_of(mechanism, each, theta.shape[-1])
    crowd = users if mechanism == "none" else people
    gamma = harmonic if mechanism == "weighted" else arithmetic
    return response_errors(theta, ranker, users=crowd, gamma=gamma, replicates=size, rng=rng)


def first_order(theta: Array, users: int, factor: float, ridge: float) -> tuple[Array, Array]:
    """Bias and covariance of the ridge fit, to first order."""
    bend = laplacian(pair_weights(theta))
    inverse = np.linalg.inv(users * bend + ridge * np.eye(theta.shape[-1]))
    noise = users * (bend + (factor - 1) / 4 * laplacian(np.ones_like(bend)))
    bias = -ridge * (inverse @ theta[..., None])[..., 0]
    return np.asarray(bias), np.asarray(inverse @ noise @ inverse)


def drawn_errors(
    theta: Array, users: int, factor: float, draws: int, rng: np.random.Generator
) -> Array:
    """Errors that follow that law, with the variance factor as the ridge weight."""
    bias, spread = first_order(theta, users, factor, factor)
    n = theta.shape[-1]
    level = np.trace(spread, axis1=-2, axis2=-1)[..., None, None] / n**2
    root = np.linalg.cholesky(spread + level)  # the constant direction is taken out again
    e = (root @ rng.normal(size=(draws, *theta.shape))[..., None])[..., 0]
    return np.asarray(e - e.mean(axis=-1, keepdims=True) + bias)


# ------------------------------------------------------------------ limits for every estimator


Groups = list[tuple[int, float]]  # how many people share which epsilon


def shrunk(groups: Groups, power: float) -> float:
    """Sum over people of t = tanh(epsilon / 2) to this power."""
    return float(sum(count * np.tanh(level / 2) ** power for count, level in groups))


def van_trees(n: int, information: float, half_width: float = 1.0) -> float:
    """Limit of van Trees on the mean square error per item; information is the sum of t^2."""
    prior = n * np.pi**2 / half_width**2
    return float((n - 1) ** 2 / n / (n * (n - 1) / 4 * information + prior))


def divergence(theta: Array, groups: Groups) -> float:
    """KL divergence of all reports from those of equal strengths."""
    x, total = expit(differences(theta)), 0.0
    for count, level in groups:
        t, b = np.tanh(level / 2), 1 / (1 + np.exp(level))
        total += count * edge_kl(t * x + b, np.full_like(x, 0.5))
    return total


def opposite_strengths(n: int, tau: float) -> Array:
    """Pairs of items at tau and -tau; an odd last item at zero."""
    return tau * np.append(np.tile([1.0, -1.0], n // 2), np.zeros(n % 2))


def affinity(theta: Array, other: Array, groups: Groups) -> float:
    """Sum over all sets of reports of the root of their two chances."""
    i, j = np.triu_indices(theta.size, 1)
    p, q = (expit(x[i] - x[j]) for x in (theta, other))
    total = 0.0
    for count, level in groups:
        t, b = np.tanh(level / 2), 1 / (1 + np.exp(level))
        one, two = t * p + b, t * q + b
        total += count * np.log(np.sqrt(one * two) + np.sqrt((1 - one) * (1 - two))).sum()
    return float(np.exp(total))


def assouad(n: int, information: float, half_width: float = 1.0) -> float:
    """Limit of Assouad on the mean of the l2 error over sqrt(n); information is the sum of t^2."""
    tau = min(0.75 / np.sqrt(n * information), half_width)
    near = 1 - n * information * tau**2 / 4  # no affinity of neighbours is smaller
    return float(2 * (n // 2) / n * tau * (1 - np.sqrt(1 - near**2)))


def fano_sup(n: int, groups: Groups) -> float:
    """Limit of Fano on the mean sup-norm error: one item raised by tau."""
    raised = (np.arange(n) == 0).astype(float)
    taus = np.geomspace(1e-3, 2, 80)
    return max(float(tau / 2 * fano_error(n, divergence(tau * raised, groups))) for tau in taus)
