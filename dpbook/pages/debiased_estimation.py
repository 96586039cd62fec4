"""Pages 18 and 19: the first-order law of debiased M-estimation, and limits for every estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from dpbook._typing import Array
from dpbook.lower_bounds import edge_kl, fano_error
from dpbook.models import LINKS
from dpbook.privacy import Edge
from dpbook.rankers import FlippedAnswers, LaplaceAnswers
from dpbook.simulation import response_errors
from dpbook.simulation.responses import ResponseErrors

Groups = list[tuple[int, float]]  # how many people share which epsilon


def simulated(
    theta: Array, users: int, levels: ArrayLike, mechanism: str, size: int, rng: np.random.Generator
) -> ResponseErrors:
    """Errors of the ridge fit, its weight the variance factor of the reading.

    One comparison is protected: true answers ("none"), "laplace" noise, or flips as read.
    """
    arithmetic, harmonic = variance_factors(levels)
    answer, each, people = Edge(theta.shape[-1], exchange=False), levels, np.asarray(users)
    if np.ndim(levels):
        each, people = np.unique(levels, return_counts=True)
    ranker: FlippedAnswers | LaplaceAnswers
    if mechanism == "none":
        ranker, people = FlippedAnswers(answer, 0.0), np.asarray(users)
    elif mechanism == "laplace":
        ranker = LaplaceAnswers.private(each, answer)
    else:
        ranker = FlippedAnswers.private(each, answer, reading=mechanism)
    gamma = harmonic if mechanism == "weighted" else arithmetic
    return response_errors(theta, ranker, users=people, gamma=gamma, replicates=size, rng=rng)


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


def laplacian(weights: Array) -> Array:
    """Sum over pairs i < j of weights[i, j] (e_i - e_j)(e_i - e_j)^T; shape (..., n, n)."""
    off = weights * (1 - np.eye(weights.shape[-1]))
    return np.asarray(off.sum(-1)[..., None] * np.eye(weights.shape[-1]) - off)


def first_order(theta: Array, users: int, factor: float, ridge: float) -> tuple[Array, Array]:
    """Bias and covariance of the ridge fit, to first order."""
    bend = laplacian(LINKS["logistic"].pdf(differences(theta)))
    inverse = np.linalg.inv(users * bend + ridge * np.eye(theta.shape[-1]))
    noise = users * (bend + (factor - 1) / 4 * laplacian(np.ones_like(bend)))
    bias = -ridge * (inverse @ theta[..., None])[..., 0]
    return np.asarray(bias), np.asarray(inverse @ noise @ inverse)


def drawn_errors(
    theta: Array, users: int, factor: float, draws: int, rng: np.random.Generator
) -> Array:
    """Errors that follow that distribution, with the variance factor as the ridge weight."""
    bias, spread = first_order(theta, users, factor, factor)
    n = theta.shape[-1]
    level = np.trace(spread, axis1=-2, axis2=-1)[..., None, None] / n**2
    root = np.linalg.cholesky(spread + level)  # the constant direction is taken out again
    e = (root @ rng.normal(size=(draws, *theta.shape))[..., None])[..., 0]
    return np.asarray(e - e.mean(axis=-1, keepdims=True) + bias)


def shrunk(groups: Groups, power: float) -> float:
    """Sum over people of t = tanh(epsilon / 2) to this power."""
    return float(sum(count * np.tanh(level / 2) ** power for count, level in groups))


def van_trees(n: int, information: float, half_width: float = 1.0) -> float:
    """Limit of van Trees on the mean square error per item; information is the sum of t^2."""
    prior = n * np.pi**2 / half_width**2
    return float((n - 1) ** 2 / n / (n * (n - 1) / 4 * information + prior))


def opposite_strengths(n: int, tau: float) -> Array:
    """Pairs of items at tau and -tau; an odd last item at zero."""
    return tau * np.append(np.tile([1.0, -1.0], n // 2), np.zeros(n % 2))


def assouad(n: int, information: float, half_width: float = 1.0) -> float:
    """Limit of Assouad on the mean of the l2 error over sqrt(n); information is the sum of t^2."""
    tau = min(0.75 / np.sqrt(n * information), half_width)
    near = 1 - n * information * tau**2 / 4  # no affinity of neighbours is smaller
    return float(2 * (n // 2) / n * tau * (1 - np.sqrt(1 - near**2)))


def divergence(theta: Array, groups: Groups) -> float:
    """KL divergence of all reports from those of equal strengths."""
    x, total = expit(differences(theta)), 0.0
    for count, level in groups:
        t, b = np.tanh(level / 2), 1 / (1 + np.exp(level))
        total += count * edge_kl(t * x + b, np.full_like(x, 0.5))
    return total


def fano_sup(n: int, groups: Groups) -> float:
    """Limit of Fano on the mean sup-norm error: one item raised by tau."""
    raised = (np.arange(n) == 0).astype(float)
    taus = np.geomspace(1e-3, 2, 80)
    return max(float(tau / 2 * fano_error(n, divergence(tau * raised, groups))) for tau in taus)
