"""Noise for numbers: Laplace, and discrete Laplace in integer arithmetic."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

Size = int | tuple[int, ...]


def laplace_noise(scale: float, size: Size, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw Laplace noise with density ``exp(-|x| / scale) / (2 scale)``.

    Parameters
    ----------
    scale : float
        Scale b > 0, in the unit of the statistic; the variance is 2 b^2.
    size : int or tuple of int
        Shape of the result.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of shape ``size``

    Notes
    -----
    **Privacy.** Added to a statistic whose l1-sensitivity is D, the noise gives (D / b, 0)-DP, and
    no smaller epsilon (Dwork, McSherry, Nissim, Smith 2006).
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    return check.generator(rng).laplace(
        scale=check.noise_scale(scale), size=check.shape("size", size)
    )


def laplace_logpdf(x: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Log-density of the Laplace law, the exact twin of `laplace_noise`.

    Parameters
    ----------
    x : array
        Points of evaluation, any shape.
    scale : float
        Scale b > 0.

    Returns
    -------
    array of the shape of ``x``
        Right far out too, where `scipy.stats.laplace` takes the logarithm of 0.
    """
    b = check.noise_scale(scale)
    return np.asarray(-np.abs(check.number_array("x", x)) / b - np.log(2 * b))


def discrete_laplace_pmf(x: ArrayLike, scale: float | Rational) -> NDArray[np.float64]:
    """Probabilities ``tanh(1 / (2 scale)) exp(-|x| / scale)`` of the discrete Laplace law.

    Parameters
    ----------
    x : array of int
        Points of evaluation, any shape.
    scale : float or rational
        Scale b > 0 in units of one count.

    Returns
    -------
    array of the shape of ``x``
    """
    b, points = check.noise_scale(scale), check.number_array("x", x)
    if (points != np.rint(points)).any():
        bad = points[points != np.rint(points)][0]
        raise ValueError(f"x holds {bad}: allowed are whole numbers")
    return np.asarray(np.tanh(0.5 / b) * np.exp(-np.abs(points) / b))


def discrete_laplace_noise(
    scale: float | Rational, size: Size, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw discrete Laplace (two-sided geometric) noise by integer arithmetic only.

    Parameters
    ----------
    scale : float or rational
        Scale b > 0; a float stands for the dyadic fraction it holds. Numerator and denominator
        must lie below 2**53 and 2**62, so that no product in the sampler overflows.
    size : int or tuple of int
        Shape of the result.
    rng : numpy.random.Generator
        Source of uniform integers.

    Returns
    -------
    array of int, shape ``size``
        P(X = x) is proportional to ``exp(-|x| / scale)``.

    Notes
    -----
    Canonne, Kamath, Steinke (2020), Algorithms 1 and 2, vectorised by drawing again for the
    rejected entries only.

    **Privacy.** As for `laplace_noise`, for integer statistics.
    Exact sampler (integer arithmetic): no floating-point leak, but for study too, since a seeded
    generator can be repeated.
    """
    check.noise_scale(scale)
    fraction = Fraction(scale)
    t, s = fraction.numerator, fraction.denominator
    if t >= 2**53 or s >= 2**62:
        raise ValueError(
            f"scale = {scale!r}: allowed is a fraction with terms below 2**53 and 2**62, "
            "for example fractions.Fraction(20, 3)"
        )
    check.generator(rng)
    out = np.empty(check.shape("size", size), dtype=np.int64)
    flat, todo = out.reshape(-1), np.arange(out.size)
    while todo.size:
        draw, accepted = _discrete_laplace_attempt(t, s, todo.size, rng)
        flat[todo[accepted]] = draw[accepted]
        todo = todo[~accepted]
    return out


def _bernoulli_exp(
    numerator: NDArray[np.int64], denominator: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Bernoulli(exp(-numerator / denominator)) for ratios in [0, 1], without a float."""
    result = np.zeros(numerator.size, dtype=bool)
    alive, k = np.arange(numerator.size), 1
    while alive.size:
        goes_on = rng.integers(0, denominator * k, size=alive.size) < numerator[alive]
        result[alive[~goes_on]] = k % 2 == 1
        alive, k = alive[goes_on], k + 1
    return result


def _geometric_exp(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Number of successes of Bernoulli(exp(-1)) before the first failure."""
    count = np.zeros(size, dtype=np.int64)
    alive = np.arange(size)
    while alive.size:
        alive = alive[_bernoulli_exp(np.ones(alive.size, dtype=np.int64), 1, rng)]
        count[alive] += 1
    return count


def _discrete_laplace_attempt(
    t: int, s: int, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """One round of proposals for scale t/s, and which of them are accepted."""
    u = rng.integers(0, t, size=size)
    accepted = _bernoulli_exp(u, t, rng)
    magnitude = (u + t * _geometric_exp(size, rng)) // s
    negative = rng.integers(0, 2, size=size) == 1
    # Zero would otherwise be counted twice, once with each sign.
    accepted &= ~(negative & (magnitude == 0))
    return np.where(negative, -magnitude, magnitude), accepted
