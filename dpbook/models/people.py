"""Wins minus losses of many people's answers, without a loop over the people."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints

_MOST = 40_000_000  # binomial numbers, before normal ones take their place


def net_wins(
    strengths: ArrayLike,
    people: int,
    each: int,
    size: int,
    *,
    rankings: bool = False,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Draw wins minus losses, and bound by how much the share of wrong pairs may err on average.

    Each of the people answers so many random pairs, a pair at most once, by the Bradley-Terry-Luce
    model; or hands in so many rankings by that of Plackett and Luce.

    Parameters
    ----------
    strengths : array, shape (settings, n)
        Log-odds; for all settings the same pairs are asked.
    people, each, size : int
        How many people, how many answers (at most all pairs) or rankings each, how many data sets.

    Returns
    -------
    net : array, shape (settings, size, n)
        Answers to each pair are exact, and whole numbers. Where this would take long, and for
        rankings, a normal distribution of the same mean and covariance takes their place.
    error : float
        0 if exact. Otherwise, for each pair of items and also after noise, Berry and Esseen's bound
        with the constant 0.4748 (Shevtsova 2011), averaged; for the worst setting.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> net, error = net_wins([[1, 0, -1]], people=100_000, each=2, size=1, rng=rng)
    >>> net.sum().item(), error
    (0.0, 0.0)
    """
    theta = check.finite_array("strengths", strengths, min_ndim=2)
    n, (one, other) = theta.shape[-1], np.triu_indices(theta.shape[-1], 1)
    people, size = check.integer("people", people, 1, 10**9), check.integer("size", size, 1)
    each = check.integer("each", each, 1, 10**6 if rankings else one.size)
    check.generator(rng)
    nets, errors, asked = [], [0.0], None
    if not rankings and size * one.size * min(each + 1, one.size - each + 1, 60) <= _MOST:
        asked = _times_asked(one.size, people, each, size, rng)
    for own in theta:
        if asked is not None:
            table, better = np.zeros((size, n, n)), (1 + np.tanh((own[one] - own[other]) / 2)) / 2
            table[:, one, other] = 2 * rng.binomial(asked, better) - asked
            nets.append(table.sum(axis=2) - table.sum(axis=1))
            continue
        mean, cov = _of_ranking(own) if rankings else _of_answers(own, each)
        m, far = (people * each, 2 * n - 2) if rankings else (people, min(each + 1, 2 * n - 2))
        nets.append(rng.multivariate_normal(m * mean, m * cov, size, "ignore", method="eigh"))
        variance = m * (cov[one, one] + cov[other, other] - 2 * cov[one, other])
        error = 0.4748 * (far + np.abs(mean[one] - mean[other])) / np.sqrt(variance.clip(min=1e-9))
        errors.append(float(error.clip(max=1).mean()))
    return np.array(nets), max(errors)


def _times_asked(pairs: int, people: int, each: int, size: int, rng: np.random.Generator) -> Ints:
    """How often each pair is asked, (size, pairs), exactly.

    Pair after pair: among all people with as many answers left, a binomial number.
    """
    few = min(each, pairs - each)  # pairs that a person answers, or leaves out
    asked = np.empty((size, pairs), dtype=np.int64)
    left = np.zeros((few + 1, size), dtype=np.int64)
    left[few] = people
    for pair in range(pairs):
        some = np.flatnonzero(left.any(axis=1))
        low, high = max(some[0], 1), some[-1] + 1
        now = rng.binomial(left[low:high], np.arange(low, high)[:, None] / (pairs - pair))
        left[low:high] -= now
        left[low - 1 : high - 1] += now
        asked[:, pair] = now.sum(axis=0)
    return asked if few == each else people - asked


def _of_answers(theta: Array, each: int) -> tuple[Array, Array]:
    """Mean and covariance of what one person adds by so many random pairs."""
    lead = np.tanh((theta[:, None] - theta) / 2)
    n, mean = len(lead), lead.sum(axis=1)
    one = each / comb(n, 2)  # chance that a pair is answered, and that two are
    two = one * (each - 1) / max(comb(n, 2) - 1, 1)
    cov = (two * lead**2 - one) * (1 - np.eye(n))
    np.fill_diagonal(cov, -cov.sum(axis=1))
    return one * mean, cov + (two - one**2) * np.outer(mean, mean)


def _of_ranking(theta: Array) -> tuple[Array, Array]:
    """Of one ranking: the order of strengths plus Gumbel noise (Luce 1959; Plackett 1975).

    Pairs without a common item are independent, and three items are ranked as if alone.
    """
    w, lead = np.exp(theta - theta.max()), np.tanh((theta[:, None] - theta) / 2)
    cov = lead**2 - 1
    for i, own in enumerate(w):  # against two others both results are 1, or i is between them
        ahead = own / (own + w)
        between = (w[:, None] * ahead + w * ahead[:, None]) / (own + w[:, None] + w)
        both = 1 - 2 * between - np.outer(lead[i], lead[i])
        both[i] = both[:, i] = 0
        np.fill_diagonal(both, 0)
        cov += both
        cov[i] -= both.sum(axis=0)
        cov[:, i] -= both.sum(axis=0)
    np.fill_diagonal(cov, 0)
    np.fill_diagonal(cov, -cov.sum(axis=1))
    return lead.sum(axis=1), cov
