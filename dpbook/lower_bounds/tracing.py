"""Tracing: a ranking that fits the data well gives away who is in them.

Signs of people are drawn with marginals p, (1 + p) / 2 from a Beta(a, a) law, and carried by
rankings as in `dpbook.lower_bounds.marginals`. For any answer f in [-1, 1] from m people,

    E f sum_u (x_u - p) = 2a E f p = 2a / (1 + 2a / m) E f mean(x),

so an answer that fits the marginals is correlated with the people themselves.
"""

from __future__ import annotations

from math import exp, lgamma, pi, sinh, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import betabinom

from dpbook import _validation as check

__all__ = [
    "mean_sign_size",
    "noisy_majority",
    "sample_tracing_scores",
    "total_score",
    "tracing_moments",
    "tracing_sample_size",
    "tracing_scores",
]

Array = NDArray[np.float64]


def mean_sign_size(shape: float, users: int | None = None) -> float:
    """Mean absolute marginal of a coordinate whose sign probability has a Beta(a, a) law.

    Parameters
    ----------
    shape : float
        The parameter a, above 0.
    users : int, optional
        Number of people; without it the marginal of the population.

    Returns
    -------
    float
        E of ``abs(p)``, or of ``abs(mean of the signs)``, which is larger.
    """
    a = check.positive("shape", shape)
    if users is None:
        return exp(lgamma(a + 0.5) - lgamma(a + 1)) / sqrt(pi)
    m = check.integer("users", users, 1)
    k = np.arange(m + 1)
    return float(betabinom.pmf(k, m, a, a) @ np.abs(2 * k / m - 1))


def tracing_scores(read: ArrayLike, signs: ArrayLike, marginals: ArrayLike) -> Array:
    """Score of each person: the sum over coordinates of read * (sign - marginal).

    Parameters
    ----------
    read : array, shape (..., d)
        Signs read from the released ranking.
    signs : array, shape (..., users, d)
        Signs of the people who are under suspicion.
    marginals : array, shape (..., d)
        Means of the signs in the population.

    Returns
    -------
    array, shape (..., users)
        Of mean zero for a person who is not in the data.

    Notes
    -----
    The attack of Dwork, Smith, Steinke, Ullman and Vadhan (2015) and of Steinke and Ullman
    (2017), which AGKM, Theorem 14, rests on.
    """
    answer, p = check.number_array("read", read), check.number_array("marginals", marginals)
    data = check.number_array("signs", signs)
    return np.asarray(np.einsum("...ud,...d->...u", data, answer) - (answer * p).sum(-1)[..., None])


def noisy_majority(users: int, scale: float = 0.0) -> Array:
    """Expected sign read from a noisy sum of signs, for each number of positive signs.

    Parameters
    ----------
    users : int
        Number m of people.
    scale : float
        Scale of each of two independent Laplace variables whose difference is added to the sum;
        0 for the majority itself, where a tie counts as 0.

    Returns
    -------
    array, shape (m + 1,)
    """
    sums = 2.0 * np.arange(check.integer("users", users, 1) + 1) - users
    if check.nonnegative("scale", scale) == 0:
        return np.sign(sums)
    u = np.abs(sums) / scale
    return np.asarray(np.sign(sums) * (1 - np.exp(-u) * (2 + u) / 2))


def total_score(users: int, shape: float, answers: ArrayLike) -> float:
    """Expected score of all people together, per coordinate, by the identity above.

    Parameters
    ----------
    users : int
        Number m of people.
    shape : float
        Parameter a of the law of the marginals.
    answers : array, shape (m + 1,)
        Expected sign read when 0, ..., m signs are positive, as from `noisy_majority`.

    Returns
    -------
    float
        2a / (1 + 2a / m) E f mean(x), exact up to rounding.
    """
    m, a = check.integer("users", users, 1), check.positive("shape", shape)
    f, k = check.finite_array("answers", answers), np.arange(m + 1)
    if f.shape != k.shape or np.abs(f).max() > 1:
        raise ValueError(f"answers of shape {f.shape}: allowed are {m + 1} numbers in [-1, 1]")
    return float(2 * a / (1 + 2 * a / m) * (betabinom.pmf(k, m, a, a) * f * (2 * k / m - 1)).sum())


def sample_tracing_scores(
    users: int,
    n_signs: int,
    shape: float,
    size: int,
    *,
    rng: np.random.Generator,
    scale: float = 0.0,
) -> tuple[Array, Array]:
    """Scores of one member and of one outsider, in each of ``size`` independent data sets.

    Parameters
    ----------
    users, n_signs : int
        Numbers m, odd, and d.
    shape : float
        Parameter a of the law of the marginals.
    size : int
        Number of data sets.
    rng : numpy.random.Generator
        Source of randomness.
    scale : float
        As for `noisy_majority`.

    Returns
    -------
    members, outsiders : array, shape (size,)
    """
    m, d = check.integer("users", users, 1), check.integer("n_signs", n_signs, 1)
    if m % 2 == 0:
        raise ValueError(f"users = {users!r}: allowed are odd numbers, which leave no tie")
    a, source = check.positive("shape", shape), check.generator(rng)
    q = source.beta(a, a, (check.integer("size", size, 1), d))
    # Of the other people only the number of positive signs matters.
    member, outsider = 2.0 * (source.random((2, *q.shape)) < q) - 1
    sums = member + 2.0 * source.binomial(m - 1, q) - (m - 1)
    if check.nonnegative("scale", scale) > 0:
        sums += np.subtract(*source.laplace(scale=scale, size=(2, *q.shape)))
    read, marginals = np.sign(sums), 2 * q - 1
    return (read * (member - marginals)).sum(1), (read * (outsider - marginals)).sum(1)


def tracing_moments(users: int, shape: float) -> tuple[float, float]:
    """Mean and variance of one coordinate of a member's score when majorities are read.

    Parameters
    ----------
    users : int
        Number m of people.
    shape : float
        The marginals p have (1 + p) / 2 distributed as Beta(a, a).

    Returns
    -------
    mean, variance : float
        2a / (m + 2a) times `mean_sign_size`, and 2a / (2a + 1) less the squared mean. A person
        who is not in the data has mean 0 and variance 2a / (2a + 1).
    """
    m, a = check.integer("users", users, 1), check.positive("shape", shape)
    mean = total_score(m, a, noisy_majority(m)) / m
    return mean, 2 * a / (2 * a + 1) - mean**2


def tracing_sample_size(
    n_signs: int,
    middle: int,
    *,
    approximation: float,
    error: float,
    epsilon: float,
    shape: float,
    expected_leaks: float = 0.0,
) -> float:
    """People that a private approximation of the best aggregate needs, by tracing.

    Parameters
    ----------
    n_signs, middle : int
        The numbers d and t; there are n = 2d + t items. t is at least 1.
    approximation, error : float
        The algorithm's expected score is at most ``approximation``, at least 1, times the best
        plus ``error``.
    epsilon : float
        Privacy parameter; neighbours differ in the whole ranking of one person.
    shape : float
        Parameter a of the law of the marginals, free to choose; small for large approximations.
    expected_leaks : float
        m delta, the people that the second privacy parameter lets a mechanism publish.

    Returns
    -------
    float
        No (epsilon, delta)-private algorithm with fewer people does it; 0 if nothing follows.

    Notes
    -----
    AGKM, Theorem 14, with all constants; it rests on Observation 16 as repaired, since the printed
    one is false.
    """
    d, t = check.integer("n_signs", n_signs, 1), check.integer("middle", middle, 1)
    alpha, beta = check.positive("approximation", approximation), check.nonnegative("error", error)
    if alpha < 1:
        raise ValueError(f"approximation = {approximation!r}: allowed are ratios of at least 1")
    a, leaks = check.positive("shape", shape), check.nonnegative("expected_leaks", expected_leaks)
    lost = (2 * alpha - 1) * (1 - mean_sign_size(a)) + 2 * alpha * d / t + 2 * beta / (t * d)
    signal = 2 * a * d * (1 - lost) - (1 + 2 * a) * 4 * d * leaks
    noise = sinh(check.epsilon(epsilon)) * sqrt(d * 2 * a / (2 * a + 1))
    return max(0.0, signal / noise - 2 * a)
