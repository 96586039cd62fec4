"""Maximum likelihood in the model of flipped answers: the reports are read as what they are."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import expit

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.estimators._logistic import BLOCK_ENTRIES
from dpbook.estimators._newton import LINE_LIMIT, STEP_LIMIT
from dpbook.estimators.ridge import RidgeFit
from dpbook.mechanisms.responses import positive_epsilon

# Distances of neighbours that a first guess may have, and the longest step, in log-odds.
_STARTS, _LONGEST = np.geomspace(0.02, 3, 25), 2.0


def flipped_mle(
    reports: ArrayLike, epsilon: ArrayLike, *, gamma: float = 1e-3, tol: float = 1e-6
) -> RidgeFit:
    """Maximum-likelihood estimate of Bradley-Terry strengths from answers flipped at random.

    A report "i over j" has the probability ``q = b + tanh(epsilon / 2) F(theta_i - theta_j)``,
    b = 1 / (1 + e^epsilon). Maximised is the sum over i, j of ``reports[i, j] log q``, minus
    gamma / 2 times the squared length of theta. `debiased_mle` gives an answer the same weight
    for all pairs; here it counts less, the surer its outcome. **Privacy.** A post-processing of
    the reports: it spends nothing.

    Parameters
    ----------
    reports : array, shape (..., n, n), or (..., groups, n, n) if epsilon has shape (groups,)
        Entry [i, j] counts the reports, as sent, that prefer i to j.
    epsilon : float, or array, shape (groups,)
        Privacy parameter of one answer, of all people or of each group.
    gamma : float
        Ridge parameter, above 0: without one, an item that wins always has no estimate.
    tol : float
        The climb ends where the next step promises less, in nats.

    Notes
    -----
    Newton's method with absolute eigenvalues and step halving, from equally spaced strengths in
    the order of the scores (ties share a place), the spacing by the likelihood. As that is not
    concave, the residual (sup-norm of the score equation) bounds no distance from the maximiser.
    """
    levels, gamma = positive_epsilon(epsilon), check.positive("gamma", gamma)
    wins, tol = check.win_tables("reports", reports).astype(float), check.positive("tol", tol)
    groups, n = levels.shape, wins.shape[-1]
    if levels.ndim > 1 or wins.shape[wins.ndim - 2 - levels.ndim : -2] != groups:
        raise ValueError(
            f"reports of shape {wins.shape} with epsilon of shape {groups}: allowed are "
            "(..., n, n) with one number, (..., groups, n, n) with one for each group"
        )
    lead = wins.shape[: wins.ndim - 2 - levels.ndim]
    wins, levels = wins.reshape(-1, levels.size, n, n), levels.reshape(-1, 1, 1)
    theta, residual, steps = np.empty((len(wins), n)), np.empty(len(wins)), 0
    for first in range(0, len(wins), size := max(1, BLOCK_ENTRIES // wins[0].size)):
        rows = slice(first, first + size)
        theta[rows], residual[rows], used = _climb(wins[rows], levels, gamma, tol)
        steps = max(steps, used)
    return RidgeFit(theta.reshape(*lead, n), residual.reshape(lead), steps)


def _climb(wins: Array, levels: Array, gamma: float, tol: float) -> tuple[Array, Array, int]:
    """Theta and residual of each replicate, (replicates, groups, n, n), and the most steps."""
    flip, keep, n = expit(-levels), np.tanh(levels / 2), wins.shape[-1]

    def value(theta: Array, wins: Array) -> Array:
        q = flip + keep * expit(_gaps(theta))
        return np.asarray((wins * np.log(q)).sum((1, 2, 3)) - gamma / 2 * (theta**2).sum(1))

    score = (keep * (wins - np.swapaxes(wins, -1, -2))).sum((1, 3))
    place = scipy.stats.rankdata(score, axis=-1) - (n + 1) / 2
    best = np.argmax([value(gap * place, wins) for gap in _STARTS], axis=0)
    theta, residual, rows = _STARTS[best, None] * place, np.empty(len(wins)), np.arange(len(wins))
    for iteration in range(STEP_LIMIT):
        now, sent = theta[rows], wins[rows]
        win, opposite = expit(_gaps(now)), np.swapaxes(sent, -1, -2)
        q = flip + keep * win
        slope, other = keep * win * np.swapaxes(win, -1, -2), np.swapaxes(q, -1, -2)
        ratio, squares = sent / q - opposite / other, sent / q**2 + opposite / other**2
        pull = (slope * ratio).sum((1, 3)) - gamma * now
        bend = (slope**2 * squares + slope * (win - np.swapaxes(win, -1, -2)) * ratio).sum(1)
        size, axes = np.linalg.eigh(np.eye(n) * (bend.sum(-1, keepdims=True) + gamma) - bend)
        part = np.swapaxes(axes, -1, -2) @ pull[..., None] / np.maximum(abs(size), gamma)[..., None]
        step = (axes @ part)[..., 0]
        residual[rows] = np.abs(pull).max(-1)
        left = (pull * step).sum(-1) / 2 > tol
        rows, now, step, sent = rows[left], now[left], step[left], sent[left]
        if not rows.size:
            return theta, residual, iteration
        step *= np.minimum(1, _LONGEST / np.abs(step).max(-1, keepdims=True))
        before = value(now, sent)
        for _ in range(LINE_LIMIT):
            if not (falls := value(now + step, sent) < before).any():
                break
            step[falls] /= 2
        theta[rows] = now + step
    raise RuntimeError(f"flipped_mle has not ended after {STEP_LIMIT} steps: raise gamma or tol")


def _gaps(theta: Array) -> Array:
    """Differences of the strengths, with an axis of length 1 for the groups."""
    return np.asarray(theta[:, None, :, None] - theta[:, None, None, :])
