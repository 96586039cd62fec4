"""Replicated studies of rankings from locally private answers (XSC, Section 5).

Every user answers every pair once. Users with the same epsilon are drawn together: the number of
their reported wins of a pair is binomial, so a study costs no more for a larger crowd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook.estimators import top_k_mask
from dpbook.mechanisms import randomized_response_pmf
from dpbook.mechanisms.responses import positive_epsilon
from dpbook.rankers.debiased import fit_scores

__all__ = ["LocalErrors", "local_errors", "ranking_errors"]

Array = NDArray[np.float64]

MECHANISMS = ("none", "classic", "debiased", "weighted", "laplace")


@dataclass(frozen=True)
class LocalErrors:
    """Errors of one setting of `local_errors`, one entry for each replicate.

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


def local_errors(
    theta: ArrayLike,
    *,
    users: int,
    epsilon: ArrayLike,
    mechanism: str,
    gamma: float,
    replicates: int,
    k: int | None = None,
    rng: np.random.Generator,
) -> LocalErrors:
    """Estimation and ranking errors when every user answers every pair once, privately.

    Parameters
    ----------
    theta : array, shape (n,) or (replicates, n)
        True strengths, log-odds; centred here.
    users : int
        Number of users m.
    epsilon : float or array, shape (users,)
        Privacy parameter of one answer, in nats, for all users or for each.
    mechanism : {"none", "classic", "debiased", "weighted", "laplace"}
        True answers; randomised responses taken for true answers; debiased; debiased and weighted
        by `dpbook.rankers.response_weights` ``"optimal"``, scaled to mean 1; answers plus Laplace
        noise of scale 1 / epsilon. From one state of ``rng`` the second, third and fourth draw the
        same reports.
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
    LocalErrors

    Raises
    ------
    ValueError
        If an argument is out of range, or gamma is 0 and a replicate has no minimiser.

    Notes
    -----
    XSC, Section 5, Scenarios I to V.

    **Privacy.** (epsilon, 0) locally for each answer; a user spends n (n - 1) / 2 times as much.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    replicates = check.integer("replicates", replicates, 1)
    truth = _truth(theta, replicates)
    n = truth.shape[-1]
    k = max(1, n // 4) if k is None else check.integer("k", k, 1, n - 1)
    users, eps, counts = epsilon_groups(epsilon, users)
    gamma = check.nonnegative("gamma", gamma)
    check.choice("mechanism", mechanism, MECHANISMS)
    check.generator(rng)
    i, j = np.triu_indices(n, 1)
    chance = np.broadcast_to(expit(truth[:, i] - truth[:, j]), (replicates, i.size))
    if mechanism in ("none", "laplace"):
        excess = _reports(users, chance, rng) - users / 2
        if mechanism == "laplace":
            excess += sum(
                (rng.gamma(q, size=chance.shape) - rng.gamma(q, size=chance.shape)) / e
                for e, q in zip(eps, counts, strict=True)
            )
        scores = _item_scores(excess, n)
    else:
        slopes = response_slopes(eps, counts, mechanism)
        # Equal slopes leave a sum of half-integers, free of rounding: ties stay ties.
        excess = _response_excess(chance, eps, counts, slopes / slopes[0], rng)
        scores = slopes[0] * _item_scores(excess, n)
    fit = fit_scores(scores, float(users), gamma=gamma)
    gap = fit.theta - truth
    l2 = np.sqrt((gap**2).mean(axis=-1))
    top_k = np.full(replicates, np.nan)
    unique = np.broadcast_to(_has_top_set(truth, k), replicates)
    if unique.any():
        top_k[unique] = _top_k_error(scores, np.broadcast_to(truth, scores.shape), k)[unique]
    sup = np.abs(gap).max(axis=-1)
    kendall = _kendall_error(scores, truth)
    return LocalErrors(l2, sup, kendall, top_k, fit.theta, scores, fit.residual)


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


def epsilon_groups(epsilon: ArrayLike, users: int) -> tuple[int, Array, NDArray[np.int64]]:
    """Number of users, their different privacy parameters, and how many users have each."""
    users = check.integer("users", users, 1)
    eps = positive_epsilon(epsilon)
    if eps.ndim == 0:
        return users, eps[None], np.array([users])
    if eps.shape != (users,):
        raise ValueError(f"epsilon of shape {eps.shape}: allowed is a number or shape ({users},)")
    values, counts = np.unique(eps, return_counts=True)
    return users, values, counts


def response_slopes(eps: Array, counts: NDArray[np.int64], mechanism: str) -> Array:
    """How much one report of each group moves a score: weight over tanh(epsilon / 2)."""
    a = np.tanh(eps / 2)
    if mechanism == "classic":
        return np.ones_like(a)
    return 1 / a if mechanism == "debiased" else a * counts.sum() / (a**2 @ counts)


def _truth(theta: ArrayLike, replicates: int) -> Array:
    truth = check.finite_array("theta", theta)
    if truth.ndim > 2 or truth.shape[-1] < 2 or (truth.ndim == 2 and len(truth) != replicates):
        raise ValueError(
            f"theta of shape {truth.shape}: allowed is (n,) or ({replicates}, n) with n >= 2"
        )
    return np.atleast_2d(truth - truth.mean(axis=-1, keepdims=True))


def _reports(users: int, chance: Array, rng: np.random.Generator) -> Array:
    """Numbers of users who say 1, each with probability ``chance``."""
    if users == 1:
        return (rng.random(chance.shape) < chance).astype(float)
    return rng.binomial(users, chance).astype(float)


def _response_excess(
    chance: Array, eps: Array, counts: NDArray[np.int64], slopes: Array, rng: np.random.Generator
) -> Array:
    """Reported wins of each pair beyond half its answers, groups weighted by their slopes."""
    total = np.zeros(chance.shape)
    for law, users, slope in zip(randomized_response_pmf(eps), counts, slopes, strict=True):
        reported = law[0, 1] + (law[1, 1] - law[0, 1]) * chance
        total += slope * (_reports(int(users), reported, rng) - users / 2)
    return total


def _item_scores(excess: Array, n_items: int) -> Array:
    """Sum over the pairs of each item; ``excess`` has one column for each pair i < j."""
    i, j = np.triu_indices(n_items, 1)
    signs = np.zeros((i.size, n_items))
    signs[np.arange(i.size), i], signs[np.arange(i.size), j] = 1, -1
    return np.asarray(excess @ signs)
