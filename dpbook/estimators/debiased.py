"""Ridge M-estimation of strengths from real-valued outcomes, which may be negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.estimators.ridge import RidgeFit, ridge_mle, ridge_mle_complete


def debiased_mle(outcomes: ArrayLike, *, gamma: float) -> RidgeFit:
    """Ridge M-estimate of Bradley-Terry strengths from real-valued outcomes: XSC, (3) and Lemma 3.

    Minimised is the sum over pairs i < j of ``N_ij log(1 + e^x) - outcomes[i, j] x`` with
    ``x = theta_i - theta_j`` and N = ``outcomes + outcomes.T``, the total weight of the answers,
    plus gamma / 2 times the squared length of theta. It is convex, outcomes below 0 included.
    **Privacy.** A post-processing of the reports: it spends nothing.

    The outcomes, (..., n, n), are debiased (`FlippedAnswers.debias`, `LaplaceAnswers.debias`) or
    plain counts; those of a pair add up to 0 or more. With gamma = 0 it is the plain M-estimate,
    refused where there is none; XSC's lambda, for the mean over N answers, is gamma / (2 N). The
    estimates sum to zero; the residual is at most 1e-12 of the largest weight or score of an item.
    """
    values = check.square_tables("outcomes", outcomes)
    if np.diagonal(values, axis1=-2, axis2=-1).any():
        raise ValueError("outcomes has a non-zero diagonal: an item is never compared with itself")
    opposite = np.swapaxes(values, -1, -2)
    weight, score = values + opposite, (values - opposite).sum(axis=-1) / 2
    rounding = 1e-12 * float(np.abs(values).max())
    if weight.min() < -rounding:
        raise ValueError("outcomes of a pair add up to less than 0: allowed is a weight >= 0")
    off = weight[..., ~np.eye(values.shape[-1], dtype=bool)]
    per_pair = float(off.flat[0])
    # Weights that differ by rounding alone are one weight: the complete graph is recognised.
    if per_pair > rounding and np.abs(off - per_pair).max() <= rounding:
        return fit_scores(score, per_pair, gamma=gamma)
    weight = np.where(weight > rounding, weight, 0.0)
    score -= score.mean(axis=-1, keepdims=True)
    limit = _limit(score, float(weight.sum(axis=-1).max()))
    # Half a win each of all the weight; what is beyond it goes into the linear term.
    return ridge_mle(weight / 2, gamma=gamma, linear=-score, tol=limit)


def fit_scores(score: Array, per_pair: float, *, gamma: float) -> RidgeFit:
    """`debiased_mle` when all pairs have the same weight: the scores of the items are sufficient.

    The score of item i is the sum of ``outcomes[i, j] - per_pair / 2`` over j; shape (..., n).
    """
    # The mean is zero in theory; what rounding leaves would otherwise be blamed on the data.
    score = score - score.mean(axis=-1, keepdims=True)
    n = score.shape[-1]
    if gamma == 0:
        # A minimiser exists if and only if no k items score as k sure winners.
        k, best = np.arange(1, n), np.cumsum(np.sort(score, axis=-1)[..., ::-1], axis=-1)[..., :-1]
        missing = (best >= per_pair * k * (n - k) / 2 * (1 - 1e-12)).any(axis=-1)
        if missing.any():
            raise ValueError(
                f"gamma = 0 with outcomes that have no minimiser in {np.count_nonzero(missing)} of "
                f"{missing.size} replicates: allowed is gamma > 0, or outcomes in which every "
                "group of items loses something to the others"
            )
    wins, limit = np.full(n, per_pair * (n - 1) / 2), _limit(score, per_pair * (n - 1))
    return ridge_mle_complete(wins, per_pair=per_pair, gamma=gamma, linear=-score, tol=limit)


def _limit(score: Array, degree: float) -> float:
    """Largest allowed residual."""
    if degree <= 0:
        raise ValueError("outcomes hold no answer: allowed is at least one pair of weight above 0")
    return 1e-12 * max(degree, float(np.abs(score).max()))
