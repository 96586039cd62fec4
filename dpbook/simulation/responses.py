"""Errors of estimates and rankings from locally private answers (XSC, section 5).

Every user answers every pair once. Users with the same epsilon are drawn together: a study costs no
more for a larger crowd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit

from dpbook import _validation as check
from dpbook.estimators import top_k_mask
from dpbook.rankers.responses import FlippedAnswers, LaplaceAnswers, fit_scores

Array = NDArray[np.float64]

SCHEDULES = ("faster", "threshold", "slower")
# Outcomes that one half of the groups may have in `pair_order_error`.
_MOST_OUTCOMES = 2**22


@dataclass(frozen=True)
class ResponseErrors:
    """Errors of one setting of `response_errors`, one entry for each replicate.

    Attributes
    ----------
    l2 : array, shape (replicates,)
        Euclidean length of estimate minus truth, over sqrt(n); log-odds.
    sup : array, shape (replicates,)
        Largest absolute entry of estimate minus truth; log-odds.
    kendall, top_k : array, shape (replicates,)
        As `ranking_errors` has them, from the scores; top_k is NaN where the true top set is not
        unique, that is where the k-th largest strength and the next are equal.
    theta : array, shape (replicates, n)
        Estimates, summing to zero.
    scores : array, shape (replicates, n)
        Sums of the real outcomes of each item, minus half its answers: sufficient for the estimate
        and in the same order, with ties as in the reports.
    residual : array, shape (replicates,)
        Sup-norm of the score equation at ``theta``.
    """

    l2: Array
    sup: Array
    kendall: Array
    top_k: Array
    theta: Array
    scores: Array
    residual: Array


def response_errors(
    theta: ArrayLike,
    ranker: FlippedAnswers | LaplaceAnswers,
    *,
    users: ArrayLike,
    gamma: float,
    replicates: int,
    k: int | None = None,
    rng: np.random.Generator,
) -> ResponseErrors:
    """Estimation and ranking errors when every user answers every pair once, privately.

    Parameters
    ----------
    theta : array, shape (n,) or (replicates, n)
        True strengths, log-odds; centred here.
    ranker : FlippedAnswers or LaplaceAnswers
        How answers are made private and read; scale 0 for true answers. From one state of ``rng``
        all readings of `FlippedAnswers` see the same reports.
    users : int, or array of int, shape (groups,)
        Number of users m, in each group that the ranker has.
    gamma : float
        Ridge parameter of `dpbook.rankers.debiased_mle`, at least 0.
    replicates : int
        Number of independent data sets.
    k : int, optional
        Size of the top set, from 1 to n - 1; n // 4, at least 1, by default.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ResponseErrors

    Raises
    ------
    ValueError
        If an argument is out of range, or gamma is 0 and a replicate has no minimiser.

    Notes
    -----
    XSC, Section 5, Scenarios I to V.
    """
    replicates = check.integer("replicates", replicates, 1)
    truth = _truth(theta, replicates, ranker.unit.n_items)
    k = max(1, truth.shape[-1] // 4) if k is None else check.integer("k", k, 1, truth.shape[-1] - 1)
    crowd, gamma = _crowd(users, ranker), check.nonnegative("gamma", gamma)
    size = () if len(truth) > 1 or replicates == 1 else replicates
    chance = expit(truth[..., :, None] - truth[..., None, :])
    drawn = ranker.simulate(chance, users, size, rng=rng)
    scores = drawn.reshape(replicates, -1)
    fit = fit_scores(scores, float(crowd.sum()), gamma=gamma)
    gap = fit.theta - truth
    top_k = np.full(replicates, np.nan)
    unique = np.broadcast_to(_has_top_set(truth, k), replicates)
    if unique.any():
        top_k[unique] = _top_k_error(scores, np.broadcast_to(truth, scores.shape), k)[unique]
    return ResponseErrors(
        l2=np.sqrt((gap**2).mean(axis=-1)),
        sup=np.abs(gap).max(axis=-1),
        kendall=_kendall_error(scores, truth),
        top_k=top_k,
        theta=fit.theta,
        scores=scores,
        residual=fit.residual,
    )


def ranking_errors(scores: ArrayLike, truth: ArrayLike, k: int) -> tuple[Array, Array]:
    """Kendall and top-k errors of the rankings that scores give.

    Parameters
    ----------
    scores : array, shape (..., n)
        Larger is better. Ties count as broken at random: in expectation.
    truth : array, shape (n,), or of a shape that broadcasts against ``scores``
        True strengths. Two equal ones have no wrong order; the k-th and the next must differ.
    k : int
        Size of the top set, from 1 to n - 1.

    Returns
    -------
    kendall : array, shape (...)
        Share of the n (n - 1) / 2 pairs in the wrong order.
    top_k : array, shape (...)
        Symmetric difference of the two top-k sets, over 2 k.

    Raises
    ------
    ValueError
        If the shapes do not fit, k is out of range, or the true top-k set is not unique.

    Notes
    -----
    XSC, Sections 4.2 and 4.3; with ties the printed Kendall error counts no pair, this one half.
    """
    values, target = check.finite_array("scores", scores), check.finite_array("truth", truth)
    n = values.shape[-1]
    if target.shape[-1] != n or n < 2:
        raise ValueError(f"truth of shape {target.shape}: allowed is (..., {n}) with n >= 2")
    k = check.integer("k", k, 1, n - 1)
    if not _has_top_set(target, k).all():
        raise ValueError(f"k = {k}: allowed is a k at which the sorted truth has no tie")
    return _kendall_error(values, target), _top_k_error(values, target, k)


def pair_order_error(gap: float, ranker: FlippedAnswers, *, users: ArrayLike) -> float:
    """Exact probability that the better of two items is ranked last, a tie counting one half.

    Parameters
    ----------
    gap : float
        True strength of the better item minus that of the other, log-odds, at least 0.
    ranker : FlippedAnswers
        For two items the estimate has the sign of the score.
    users : int, or array of int, shape (groups,)
        Number of users m, in each group that the ranker has; each compares the two items once.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If an argument is out of range, or the users form too many groups of different epsilon for
        an enumeration.

    Notes
    -----
    The score is a weighted sum of independent binomials, one for each epsilon. With equal weights
    their laws are convolved; else the groups are split into two halves, each enumerated, and the
    halves are compared by one sorted search. The signal-to-noise ratio at a small gap is
    proportional to ``mean(t)`` (classic), ``1 / sqrt(mean(1 / t^2))`` (debiased) and
    ``sqrt(mean(t^2))`` (weighted), with ``t = tanh(epsilon / 2)`` over the users: by the
    Cauchy-Schwarz inequality debiasing never ranks better than the bare reports, in this sense.
    """
    chance, counts = float(expit(check.nonnegative("gap", gap))), _crowd(users, ranker)
    channel, slopes = ranker.channel().reshape(-1, 2, 2), ranker.slopes(counts)
    reported = channel[:, 0, 1] + (channel[:, 1, 1] - channel[:, 0, 1]) * chance
    laws = [stats.binom.pmf(np.arange(q + 1), q, p) for q, p in zip(counts, reported, strict=True)]
    if (slopes == slopes[0]).all():
        total = laws[0]
        for law in laws[1:]:
            total = np.convolve(total, law)
        return _half_sum(total)
    values = [slope * (np.arange(q + 1) - q / 2) for slope, q in zip(slopes, counts, strict=True)]
    return _compare_halves(values, laws)


def privacy_schedule(
    kind: str,
    n_items: ArrayLike,
    users: ArrayLike,
    *,
    start: float = 1.0,
    log_power: float = 0.5,
) -> Array:
    """Privacy parameters that fall with the size of the data, around the threshold (m L)^(-1/2).

    Parameters
    ----------
    kind : {"faster", "threshold", "slower"}
        XSC's schemes 1, 2, 3: epsilon proportional to ``x^(-1/2)`` times ``log(x)^-log_power``, 1,
        or ``log(x)^log_power``, with x = n_items * users.
    n_items, users : int or array of int
        Numbers of items, at least 2, and of users, at least 1; broadcast against each other.
    start : float
        Epsilon of the smallest x, in nats: it fixes the constant.
    log_power : float
        Power of the logarithm, above 0.

    Returns
    -------
    array
        One epsilon for each setting.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    XSC, Scenario II; the text has lost the formulas. The power of the logarithm and ``start`` are
    a reconstruction.
    """
    check.choice("kind", kind, SCHEDULES)
    start, power = check.positive("start", start), check.positive("log_power", log_power)
    m, crowd = check.real_array("n_items", n_items), check.real_array("users", users)
    for name, sizes, least in (("n_items", m, 2), ("users", crowd, 1)):
        if sizes.dtype.kind not in "iu" or not sizes.size or sizes.min() < least:
            raise ValueError(f"{name} = {sizes.tolist()!r}: allowed are integers >= {least}")
    x = (m * crowd).astype(float)
    exponent = power * (SCHEDULES.index(kind) - 1)
    shape = x**-0.5 * np.log(x) ** exponent
    return np.asarray(start * shape / shape.flat[x.argmin()])


def _has_top_set(target: Array, k: int) -> NDArray[np.bool_]:
    """Whether the k largest entries are one set."""
    ordered, n = np.sort(target, axis=-1), target.shape[-1]
    return np.asarray(ordered[..., n - k] > ordered[..., n - k - 1])


def _kendall_error(values: Array, target: Array) -> Array:
    i, j = np.triu_indices(target.shape[-1], 1)
    agree = np.sign(values[..., i] - values[..., j]) * np.sign(target[..., i] - target[..., j])
    tied_truth = target[..., i] == target[..., j]
    return np.asarray(np.where(tied_truth, 0.0, (1 - agree) / 2).mean(axis=-1))


def _top_k_error(values: Array, target: Array, k: int) -> Array:
    best = top_k_mask(target, k)
    threshold = np.sort(values, axis=-1)[..., [values.shape[-1] - k]]
    above, tied = values > threshold, values == threshold
    left = k - np.count_nonzero(above, axis=-1)
    share = np.count_nonzero(tied & best, axis=-1) / np.count_nonzero(tied, axis=-1)
    hits = np.count_nonzero(above & best, axis=-1) + left * share
    return np.asarray(1 - hits / k)


def _crowd(users: ArrayLike, ranker: FlippedAnswers | LaplaceAnswers) -> NDArray[np.int64]:
    """Numbers of users of the ranker's groups, shape (groups,)."""
    crowd, groups = np.atleast_1d(check.whole_array("users", users)), ranker.levels.size
    if crowd.shape != (groups,) or crowd.min() < 1:
        raise ValueError(f"users = {users!r}: allowed are integers >= 1, one for each of {groups}")
    return crowd


def _truth(theta: ArrayLike, replicates: int, n_items: int) -> Array:
    truth = check.finite_array("theta", theta)
    if truth.shape not in ((n_items,), (replicates, n_items)):
        raise ValueError(
            f"theta of shape {truth.shape}: allowed is ({n_items},) or ({replicates}, {n_items})"
        )
    return np.atleast_2d(truth - truth.mean(axis=-1, keepdims=True))


def _half_sum(law: Array) -> float:
    """P(X < q / 2) + P(X = q / 2) / 2 for a law on 0, ..., q."""
    q = law.size - 1
    tie = law[q // 2] / 2 if q % 2 == 0 else 0.0
    return float(law[: (q + 1) // 2].sum() + tie)


def _compare_halves(values: list[Array], laws: list[Array]) -> float:
    """P(sum < 0) + P(sum = 0) / 2 for a sum of independent variables."""
    order = sorted(range(len(values)), key=lambda g: -values[g].size)
    halves: list[list[int]] = [[], []]
    sizes = [1, 1]
    for g in order:
        side = int(sizes[1] < sizes[0])
        halves[side].append(g)
        sizes[side] *= values[g].size
    if max(sizes) > _MOST_OUTCOMES:
        raise ValueError(
            f"epsilon has {len(values)} different values, too many to enumerate: allowed are "
            f"groups of users with at most {_MOST_OUTCOMES} joint outcomes in each half"
        )
    (x, p), (y, q) = (_joint([values[g] for g in h], [laws[g] for g in h]) for h in halves)
    by_size = np.argsort(y)
    y, below = y[by_size], np.append(0.0, np.cumsum(q[by_size]))
    # Sums this close to zero are ties that rounding has pulled apart.
    blur = 1e-12 * (np.abs(x).max() + np.abs(y).max())
    less = below[np.searchsorted(y, -x - blur, side="left")]
    at_most = below[np.searchsorted(y, -x + blur, side="right")]
    return float(p @ (less + at_most) / 2)


def _joint(values: list[Array], laws: list[Array]) -> tuple[Array, Array]:
    total, chance = np.zeros(1), np.ones(1)
    for value, law in zip(values, laws, strict=True):
        total = np.add.outer(total, value).ravel()
        chance = np.multiply.outer(chance, law).ravel()
    return total, chance
