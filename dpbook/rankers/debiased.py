"""M-estimation from debiased responses: real-valued outcomes in place of wins.

A *debiased win matrix* Y holds in entry [i, j] the sum of unbiased real outcomes of "i over j"; the
two outcomes of one answer add up to its weight, so ``Y + Y.T`` holds the weights of the answers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators import RidgeFit, ridge_mle, ridge_mle_complete
from dpbook.mechanisms.responses import positive_epsilon
from dpbook.rankers.local import check_wins, group_epsilon

__all__ = ["debiased_mle", "debiased_wins", "response_weights"]

Array = NDArray[np.float64]

WEIGHTS = ("equal", "classic", "optimal")


def response_weights(epsilon: ArrayLike, kind: str = "equal") -> Array:
    """Weights of the users' debiased responses.

    Parameters
    ----------
    epsilon : float or array
        Privacy parameter of each user, in nats, above 0.
    kind : {"equal", "classic", "optimal"}
        1; or tanh(epsilon / 2), which gives every report the same say and so ranks as the reports
        themselves do; or tanh(epsilon / 2)^2, the inverse variance of a debiased response at
        F = 1/2, up to the factor 1/4.

    Returns
    -------
    array, the shape of ``epsilon``

    Notes
    -----
    XSC weighs all users alike (`"equal"`), in (3).
    """
    eps = positive_epsilon(epsilon)
    power = WEIGHTS.index(check.choice("kind", kind, WEIGHTS))
    return np.asarray(np.tanh(eps / 2) ** power)


def debiased_wins(
    wins: ArrayLike, epsilon: ArrayLike, *, weights: ArrayLike | None = None
) -> Array:
    """Turn counts of randomised responses into a debiased win matrix.

    Parameters
    ----------
    wins : array of int, shape (..., n, n) or (..., groups, n, n)
        Entry [i, j] counts the reports that prefer i to j; with a group axis, one matrix for each
        group of users with the same epsilon.
    epsilon : float or array, shape (groups,)
        Privacy parameter of each answer; a number goes without a group axis.
    weights : float or array, shape (groups,), optional
        Weight of each answer of the group, above 0, for example `response_weights`; 1 by default.

    Returns
    -------
    array, shape (..., n, n)
        Sum over groups of weight * (reports - b answers) / a, for `debiased_mle`.

    Raises
    ------
    ValueError
        If the counts are not whole numbers of at least 0 with a zero diagonal, epsilon or a weight
        is not positive, or the shapes do not fit.

    Notes
    -----
    XSC, (1) and (3). **Privacy.** A post-processing of the reports: it spends nothing.
    """
    reports, eps = check_wins(wins), group_epsilon(epsilon, np.shape(wins))
    share = np.ones_like(eps) if weights is None else positive_epsilon(weights, "weights")
    if share.shape != eps.shape:
        raise ValueError(f"weights of shape {share.shape}: allowed is {eps.shape}, as epsilon has")
    opposite = np.swapaxes(reports, -1, -2)
    # (C - b N) / a = N / 2 + (C - C^T) / (2 a), which loses no digits at small epsilon.
    slope = (share / np.tanh(eps / 2) / 2)[..., None, None]
    result = share[..., None, None] / 2 * (reports + opposite) + slope * (reports - opposite)
    return np.asarray(result.sum(axis=-3) if eps.ndim else result)


def debiased_mle(
    outcomes: ArrayLike,
    *,
    gamma: float,
    tol: float = 1e-12,
    max_iterations: int = 500,
) -> RidgeFit:
    """Ridge M-estimate of Bradley-Terry strengths from real-valued outcomes.

    Minimised is the sum over pairs i < j of ``N_ij log(1 + e^x) - outcomes[i, j] x`` with
    ``x = theta_i - theta_j`` and N = ``outcomes + outcomes.T``, the total weight of the answers,
    plus gamma / 2 times the squared length of theta. The outcomes enter linearly only: the
    objective is convex whatever real numbers they are.

    Parameters
    ----------
    outcomes : array, shape (..., n, n)
        Debiased win matrices (`debiased_wins`, `laplace_wins`, or plain counts), one per replicate.
    gamma : float
        Ridge parameter, at least 0; 0 asks for the plain M-estimate, which need not exist. XSC's
        lambda, for the mean over N answers, is gamma / (2 N).
    tol : float
        Largest allowed score residual, as a share of the largest total weight or score of an item.
    max_iterations : int
        Limit on Newton steps.

    Returns
    -------
    RidgeFit
        The estimates sum to zero; ``residual`` is the sup-norm of the score equation.

    Raises
    ------
    ValueError
        If the two outcomes of a pair add up to less than 0, gamma is negative, or gamma is 0 and
        some replicate has no minimiser.
    RuntimeError
        If the residual is still too large after ``max_iterations`` steps.

    Notes
    -----
    XSC, (3) and Lemma 3. The fit is that of `ridge_mle` to drawn comparisons, half a win each, with
    the linear term ``-sum_j (outcomes[i, j] - N_ij / 2)``.

    **Privacy.** A post-processing of the reports: it spends nothing.
    """
    gamma = check.nonnegative("gamma", gamma)
    values, weight = _outcomes(outcomes)
    score = (values - np.swapaxes(values, -1, -2)).sum(axis=-1) / 2
    n, per_pair = values.shape[-1], float(weight.flat[1])
    if np.count_nonzero(weight == per_pair) == weight.size // n * (n - 1):
        return fit_scores(score, per_pair, gamma=gamma, tol=tol, max_iterations=max_iterations)
    score -= score.mean(axis=-1, keepdims=True)
    limit = _limit(tol, score, float(weight.sum(axis=-1).max()))
    return ridge_mle(
        weight / 2, gamma=gamma, linear=-score, tol=limit, max_iterations=max_iterations
    )


def fit_scores(
    score: Array, per_pair: float, *, gamma: float, tol: float = 1e-12, max_iterations: int = 500
) -> RidgeFit:
    """`debiased_mle` when all pairs have the same weight: the scores of the items are sufficient.

    The score of item i is the sum of ``outcomes[i, j] - per_pair / 2`` over j; shape (..., n).
    """
    # The mean is zero in theory; what rounding leaves would otherwise be blamed on the data.
    score = score - score.mean(axis=-1, keepdims=True)
    n = score.shape[-1]
    if gamma == 0:
        _require_scores(score, per_pair)
    return ridge_mle_complete(
        np.full(n, per_pair * (n - 1) / 2),
        per_pair=per_pair,
        gamma=gamma,
        linear=-score,
        tol=_limit(tol, score, per_pair * (n - 1)),
        max_iterations=max_iterations,
    )


def _limit(tol: float, score: Array, degree: float) -> float:
    if degree <= 0:
        raise ValueError("outcomes hold no answer: allowed is at least one pair of weight above 0")
    return check.positive("tol", tol) * max(degree, float(np.abs(score).max()))


def _require_scores(score: Array, per_pair: float) -> None:
    """Complete graph: a minimiser exists if and only if no k items score as k sure winners."""
    n = score.shape[-1]
    k = np.arange(1, n)
    best = np.cumsum(np.sort(score, axis=-1)[..., ::-1], axis=-1)[..., :-1]
    missing = (best >= per_pair * k * (n - k) / 2 * (1 - 1e-12)).any(axis=-1)
    if missing.any():
        raise ValueError(
            f"gamma = 0 with outcomes that have no minimiser in {np.count_nonzero(missing)} of "
            f"{missing.size} replicates: allowed is gamma > 0, or outcomes in which every group of "
            "items loses something to the others"
        )


def _outcomes(outcomes: ArrayLike) -> tuple[Array, Array]:
    """Outcomes, and the total weight of the answers of each pair."""
    values = check.square_tables("outcomes", outcomes)
    n = values.shape[-1]
    if np.diagonal(values, axis1=-2, axis2=-1).any():
        raise ValueError("outcomes has a non-zero diagonal: an item is never compared with itself")
    weight = values + np.swapaxes(values, -1, -2)
    rounding = 1e-12 * float(np.abs(values).max())
    if weight.min() < -rounding:
        raise ValueError("outcomes of a pair add up to less than 0: allowed is a weight >= 0")
    first, off = float(weight.flat[1]), ~np.eye(n, dtype=bool)
    # Weights that differ by rounding alone are made equal: the complete graph is then recognised.
    if first > rounding and np.abs(weight[..., off] - first).max() <= rounding:
        return values, np.broadcast_to(np.where(off, first, 0.0), values.shape)
    return values, np.where(weight > rounding, weight, 0.0)
