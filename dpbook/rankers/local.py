"""Counts of answers that each user has made private before sending them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpbook import _validation as check
from dpbook.mechanisms import randomized_response_pmf
from dpbook.mechanisms.responses import positive_epsilon

__all__ = ["laplace_wins", "reported_wins", "reported_wins_pmf"]

Array = NDArray[np.float64]


def reported_wins(
    wins: ArrayLike, epsilon: ArrayLike, *, size: int = 1, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Count the wins that are reported when every answer passes randomised response.

    Parameters
    ----------
    wins : array of int, shape (..., n, n)
        True answers: entry [i, j] counts those that prefer i to j.
    epsilon : float or array, shape (groups,)
        Privacy parameter of one answer, in nats; an array has one entry for each group of users,
        and ``wins`` then has the shape (..., groups, n, n).
    size : int
        Number of independent repetitions.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (size, ..., n, n)
        Each pair keeps its number of answers.

    Raises
    ------
    ValueError
        If the counts are not whole numbers of at least 0 with a zero diagonal, epsilon is not
        positive, or the shapes do not fit.

    Notes
    -----
    XSC, Section 3.1. The number of reports "i over j" is the sum of two binomials, truths kept and
    lies told: two draws for a pair, however many users there are.

    **Privacy.** (epsilon, 0) locally for each answer, exactly; what one user spends on all pairs is
    `dpbook.privacy.person_epsilon`.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    true, eps = check_wins(wins), group_epsilon(epsilon, np.shape(wins))
    shape = (check.integer("size", size, 1), *true.shape)
    keep, lie = _channel(eps)
    i, j = np.triu_indices(true.shape[-1], 1)
    ahead, behind = true[..., i, j], true[..., j, i]
    check.generator(rng)
    reports = rng.binomial(ahead, keep, (shape[0], *ahead.shape))
    reports += rng.binomial(behind, lie, reports.shape)
    out = np.zeros(shape, dtype=np.int64)
    out[..., i, j] = reports
    out[..., j, i] = ahead + behind - reports
    return out


def reported_wins_pmf(ahead: int, behind: int, epsilon: float) -> Array:
    """Exact law of the reports "i over j" of one pair: the twin of `reported_wins`.

    Parameters
    ----------
    ahead, behind : int
        Numbers of true answers that prefer i to j, and j to i.
    epsilon : float
        Privacy parameter of one answer, in nats, above 0.

    Returns
    -------
    array, shape (ahead + behind + 1,)
    """
    ahead, behind = check.integer("ahead", ahead, 0), check.integer("behind", behind, 0)
    keep, lie = randomized_response_pmf(check.epsilon(epsilon))[0]
    kept = stats.binom.pmf(np.arange(ahead + 1), ahead, keep)
    return np.convolve(kept, stats.binom.pmf(np.arange(behind + 1), behind, lie))


def laplace_wins(
    wins: ArrayLike, epsilon: ArrayLike, *, size: int = 1, rng: np.random.Generator
) -> Array:
    """Sum the answers of each pair when every answer carries its own Laplace noise.

    Parameters
    ----------
    wins, epsilon, size, rng
        As for `reported_wins`; the noise of one answer has scale 1 / epsilon.

    Returns
    -------
    array, shape (size, ..., n, n)
        Real outcomes, unbiased as they stand; entries [i, j] and [j, i] add up to the number of
        answers.

    Raises
    ------
    ValueError
        As for `reported_wins`.

    Notes
    -----
    XSC, Section 5.3 (Scenario V). A sum of N Laplace variables is the difference of two Gamma(N)
    variables: two draws for a pair.

    **Privacy.** (epsilon, 0) locally for each answer, exactly.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    true, eps = check_wins(wins), group_epsilon(epsilon, np.shape(wins))
    i, j = np.triu_indices(true.shape[-1], 1)
    answers = true[..., i, j] + true[..., j, i]
    shape = (check.integer("size", size, 1), *answers.shape)
    check.generator(rng)
    noise = (rng.gamma(answers, size=shape) - rng.gamma(answers, size=shape)) / eps[..., None]
    out = np.zeros((shape[0], *true.shape))
    out[..., i, j] = true[..., i, j] + noise
    out[..., j, i] = true[..., j, i] - noise
    return out


def check_wins(wins: ArrayLike) -> NDArray[np.int64]:
    """Return counts of shape (..., n, n) as integers, after checking them."""
    return check.win_tables("wins", wins, unit=1)


def group_epsilon(epsilon: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return epsilon, a number or one for each group, after checking it against ``wins``."""
    eps = positive_epsilon(epsilon)
    if eps.ndim > 1 or (eps.ndim == 1 and (len(shape) < 3 or shape[-3] != eps.size)):
        raise ValueError(
            f"epsilon of shape {eps.shape} with wins of shape {shape}: allowed is a number, or "
            "(groups,) with wins of shape (..., groups, n, n)"
        )
    return eps


def _channel(eps: Array) -> tuple[Array, Array]:
    """Probabilities of truth and lie, shaped to broadcast against pairs."""
    law = randomized_response_pmf(eps)
    return law[..., 0, 0][..., None], law[..., 0, 1][..., None]
