"""Errors of estimates and rankings from locally private answers (XSC, section 5).

Every user answers every pair once. Users with the same epsilon are drawn together: a study costs no
more for a larger simulated data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import expit

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.estimators import top_k_mask
from dpbook.estimators.debiased import fit_scores
from dpbook.rankers import FlippedAnswers, LaplaceAnswers

SCHEDULES = ("faster", "threshold", "slower")
_MOST_OUTCOMES = 2**22  # of one half of the groups in `pair_order_error`


@dataclass(frozen=True)
class ResponseErrors:
    """Errors of one setting of `response_errors`, one entry or row for each replicate."""

    l2: Array  # Euclidean length of estimate minus truth, over sqrt(n); log-odds
    sup: Array  # largest absolute entry of estimate minus truth; log-odds
    kendall: Array  # as `ranking_errors` has them, from the scores
    theta: Array  # estimates, (replicates, n), that sum to zero
    scores: Array  # outcomes of each item beyond half its answers, (replicates, n): sufficient
    residual: Array  # sup-norm of the score equation at theta


def response_errors(
    theta: ArrayLike,
    ranker: FlippedAnswers | LaplaceAnswers,
    *,
    users: ArrayLike,
    gamma: float,
    replicates: int,
    rng: np.random.Generator,
) -> ResponseErrors:
    """Estimation and ranking errors when every user answers every pair once, privately.

    XSC, Section 5, Scenarios I to V.

    Parameters
    ----------
    theta, gamma : array, shape (n,) or (replicates, n), and float
        True strengths, log-odds, centred here; ridge parameter of `dpbook.rankers.debiased_mle`.
    ranker : FlippedAnswers or LaplaceAnswers
        How answers are made private and read; scale 0 for true answers. From one state of ``rng``
        all readings of `FlippedAnswers` see the same reports.
    users, replicates : int, or array of int of shape (groups,); int
        Number of users m, in each group that the ranker has; of independent data sets.
    """
    replicates, n = check.integer("replicates", replicates, 1), ranker.unit.n_items
    truth = check.finite_array("theta", theta)
    if truth.shape not in ((n,), (replicates, n)):
        raise ValueError(f"theta of shape {truth.shape}: allowed is ({n},) or ({replicates}, {n})")
    truth = np.atleast_2d(truth - truth.mean(axis=-1, keepdims=True))
    dataset = _simulated(users, ranker)
    size = () if len(truth) > 1 or replicates == 1 else replicates
    probability = expit(truth[..., :, None] - truth[..., None, :])
    scores = ranker.simulate(probability, users, size, rng=rng).reshape(replicates, n)
    fit = fit_scores(scores, float(dataset.sum()), gamma=gamma)
    gap = fit.theta - truth
    l2, sup = np.sqrt((gap**2).mean(axis=-1)), np.abs(gap).max(axis=-1)
    return ResponseErrors(l2, sup, _kendall(scores, truth), fit.theta, scores, fit.residual)


def ranking_errors(scores: ArrayLike, truth: ArrayLike, k: int) -> tuple[Array, Array]:
    """Kendall and top-k errors, both (...), of the rankings that scores, (..., n), give.

    The share of the n (n - 1) / 2 pairs in the wrong order, and the symmetric difference of the two
    top-k sets, over 2 k: XSC, Sections 4.2 and 4.3. Tied scores count as broken at random, in
    expectation; the printed Kendall error counts no such pair, this one half. The true strengths
    broadcast against the scores; two equal ones have no wrong order, the k-th and the next differ.
    """
    values, target = check.finite_array("scores", scores), check.finite_array("truth", truth)
    n = values.shape[-1]
    if target.shape[-1] != n or n < 2:
        raise ValueError(f"truth of shape {target.shape}: allowed is (..., {n}) with n >= 2")
    best, ordered = top_k_mask(target, k), np.sort(target, axis=-1)
    if (ordered[..., n - k] == ordered[..., n - k - 1]).any():
        raise ValueError(f"k = {k}: allowed is a k at which the sorted truth has no tie")
    threshold = np.sort(values, axis=-1)[..., [n - k]]
    above, tied = values > threshold, values == threshold
    left = k - np.count_nonzero(above, axis=-1)
    share = np.count_nonzero(tied & best, axis=-1) / np.count_nonzero(tied, axis=-1)
    hits = np.count_nonzero(above & best, axis=-1) + left * share
    return _kendall(values, target), np.asarray(1 - hits / k)


def pair_order_error(gap: float, ranker: FlippedAnswers, *, users: ArrayLike) -> float:
    """Exact probability that the better of two items is ranked last, a tie counting one half.

    The better item is ahead by ``gap``, log-odds, at least 0; ``users`` people, of each group that
    the ranker has, compare the two once. The score is a weighted sum of independent binomials, one
    for each epsilon; for two items the estimate has its sign. Groups of too many different epsilons
    for an enumeration are refused.
    """
    probability, counts = float(expit(check.nonnegative("gap", gap))), _simulated(users, ranker)
    channel, slopes = ranker.channel().reshape(-1, 2, 2), ranker.slopes(counts)
    reported = channel[:, 0, 1] + (channel[:, 1, 1] - channel[:, 0, 1]) * probability
    each = zip(counts, reported, strict=True)
    pmfs = [scipy.stats.binom.pmf(np.arange(q + 1), q, p) for q, p in each]
    if (slopes == slopes[0]).all():
        pmfs, slopes = [reduce(np.convolve, pmfs)], slopes[:1]
    # Half of the groups against the other half: the outcomes of each are listed.
    halves = [(np.zeros(1), np.ones(1)), (np.zeros(1), np.ones(1))]
    for g in sorted(range(len(pmfs)), key=lambda g: -pmfs[g].size):
        values = slopes[g] * (np.arange(pmfs[g].size) - (pmfs[g].size - 1) / 2)
        side = int(halves[1][0].size < halves[0][0].size)
        x, p = halves[side]
        if x.size * values.size > _MOST_OUTCOMES:
            raise ValueError(
                f"epsilon has {len(pmfs)} different values, too many to list: allowed are "
                f"groups of users with at most {_MOST_OUTCOMES} joint outcomes in each half"
            )
        halves[side] = np.add.outer(x, values).ravel(), np.multiply.outer(p, pmfs[g]).ravel()
    (x, p), (y, q) = halves
    by_size = np.argsort(y, kind="stable")
    y, below = y[by_size], np.append(0.0, np.cumsum(q[by_size]))
    # Sums this close to zero are ties that rounding has pulled apart.
    blur = 1e-12 * (np.abs(x).max() + np.abs(y).max())
    less = below[np.searchsorted(y, -x - blur, side="left")]
    at_most = below[np.searchsorted(y, -x + blur, side="right")]
    return float(p @ (less + at_most) / 2)


def privacy_schedule(
    kind: str, n_items: ArrayLike, users: ArrayLike, *, start: float = 1.0, log_power: float = 0.5
) -> Array:
    """Privacy parameters that fall with the size of the data, around the threshold (m L)^(-1/2).

    XSC, Scenario II; the text has lost the formulas. The power of the logarithm and ``start`` are
    a reconstruction.

    The kinds ``"faster"``, ``"threshold"``, ``"slower"`` are XSC's schemes 1, 2, 3: epsilon, one
    for each setting, is proportional to ``x^(-1/2)`` times ``log(x)^-log_power``, 1, or
    ``log(x)^log_power``, with x = n_items * users, which broadcast; ``start``, in nats, is that of
    the smallest x.
    """
    check.choice("kind", kind, SCHEDULES)
    start, power = check.positive("start", start), check.positive("log_power", log_power)
    m, dataset = check.whole_array("n_items", n_items), check.whole_array("users", users)
    for name, sizes, least in (("n_items", m, 2), ("users", dataset, 1)):
        if not sizes.size or sizes.min() < least:
            raise ValueError(f"{name} = {sizes.tolist()!r}: allowed are integers >= {least}")
    x = (m * dataset).astype(float)
    shape = x**-0.5 * np.log(x) ** (power * (SCHEDULES.index(kind) - 1))
    return np.asarray(start * shape / shape.flat[x.argmin()])


def _kendall(values: Array, target: Array) -> Array:
    """Share of the pairs in the wrong order."""
    i, j = np.triu_indices(target.shape[-1], 1)
    true_order = np.sign(target[..., i] - target[..., j])
    agree = np.sign(values[..., i] - values[..., j]) * true_order
    return np.asarray(np.where(true_order == 0, 0.0, (1 - agree) / 2).mean(axis=-1))


def _simulated(users: ArrayLike, ranker: FlippedAnswers | LaplaceAnswers) -> Ints:
    """Numbers of users of the ranker's groups, shape (groups,)."""
    dataset, groups = np.atleast_1d(check.whole_array("users", users)), ranker.levels.size
    if dataset.shape != (groups,) or dataset.min() < 1:
        raise ValueError(f"users = {users!r}: allowed are integers >= 1, one for each of {groups}")
    return dataset
