"""Noise for numbers, Laplace and discrete Laplace in integer arithmetic; a choice by weights."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints


def laplace_logpdf(x: ArrayLike, scale: float) -> Array:
    """Log-density of Laplace noise, the exact counterpart of `numpy.random.Generator.laplace`.

    At points of any shape, for a scale b > 0 in the unit of the statistic; the variance is 2 b^2.
    Right far out too, where `scipy.stats.laplace` takes the logarithm of 0. Added to a statistic
    whose l1-sensitivity is D, this noise gives (D / scale, 0)-DP, and no smaller epsilon (Dwork,
    McSherry, Nissim, Smith 2006).
    """
    b = check.noise_scale(scale)
    return np.asarray(-np.abs(check.number_array("x", x)) / b - np.log(2 * b))


def discrete_laplace_pmf(x: ArrayLike, scale: float | Rational) -> Array:
    """Probabilities ``tanh(1 / (2 scale)) exp(-|x| / scale)`` of the discrete Laplace distribution.

    At whole numbers, any shape; the scale b > 0, a float or rational, is in units of one count.
    """
    b, points = check.noise_scale(scale), check.number_array("x", x)
    bad = points[points != np.rint(points)]
    if bad.size:
        raise ValueError(f"x holds {bad[0]}: allowed are whole numbers")
    return np.asarray(np.tanh(0.5 / b) * np.exp(-np.abs(points) / b))


def exact_scale(scale: float | Rational) -> Fraction:
    """The number that a sampler in whole numbers takes for a scale.

    Such a sampler uses every digit, and draws something else if a float differs in its last bit, as
    it does between processors. So a float counts as the next number of twelve digits: two floats
    side by side are told apart with a chance of 1 in 4500 at most. Whole numbers and fractions are
    taken as they are.

    **Privacy.** The number is not below the scale, but for 1e-13 of it, and exceeds it by less than
    1e-11 of it. So a loss computed from the scale is that of the noise to eleven digits, rounded
    up. The 1e-13 are what a division, a power or a root loses: without them 1 and the float after
    it would be told apart.
    """
    if isinstance(scale, Rational):
        return Fraction(scale)
    twelve_digits = Context(prec=12, rounding=ROUND_CEILING)
    return Fraction(twelve_digits.create_decimal_from_float(float(scale) * (1 - 1e-13)))


def discrete_laplace_noise(
    scale: float | Rational, size: int | tuple[int, ...], *, rng: np.random.Generator
) -> Ints:
    """Draw discrete Laplace noise by integer arithmetic only, of the `exact_scale`.

    Canonne, Kamath, Steinke (2020), Algorithms 1 and 2, vectorised: the rejected are redrawn.
    """
    check.noise_scale(scale)
    t, s = exact_scale(scale).as_integer_ratio()
    if t >= 2**53 or s >= 2**62:  # so that no product overflows
        allowed = (
            "a fraction with terms below 2**53 and 2**62, for example fractions.Fraction(20, 3)"
        )
        raise ValueError(f"scale = {scale!r}: allowed is {allowed}")
    check.generator(rng)
    out = np.empty(check.shape("size", size), dtype=np.int64)
    flat, todo = out.reshape(-1), np.arange(out.size)
    while todo.size:
        u = rng.integers(0, t, size=todo.size)
        accepted = bernoulli_exp(u, t, rng)
        magnitude = (u + t * geometric_exp(todo.size, rng)) // s
        negative = rng.integers(0, 2, size=todo.size) == 1
        # Zero would otherwise be counted twice, once with each sign.
        accepted &= ~(negative & (magnitude == 0))
        flat[todo[accepted]] = np.where(negative, -magnitude, magnitude)[accepted]
        todo = todo[~accepted]
    return out


def discrete_gaussian_noise(
    variance: Fraction, size: int | tuple[int, ...], *, rng: np.random.Generator
) -> Ints:
    """Whole numbers x with weight exp(-x^2 / (2 variance)), by integer arithmetic only.

    For the square of a fraction p / q with p below 2^26. Canonne, Kamath, Steinke (2020), Algorithm
    3, whose Laplace noise may be of any scale: here of the deviation s = p / q. Then |x| is kept
    with chance exp(-(|x| / s - 1)^2 / 2).
    """
    p, q = (math.isqrt(term) for term in variance.as_integer_ratio())
    out = np.empty(check.shape("size", size), dtype=np.int64)
    flat, todo = out.reshape(-1), np.arange(out.size)
    while todo.size:
        x = discrete_laplace_noise(Fraction(p, q), todo.size, rng=rng)
        away = np.abs(x).astype(object) * q - p
        kept = bernoulli_exp_of(away * away, 2 * p * p, rng)
        flat[todo[kept]] = x[kept]
        todo = todo[~kept]
    return out


def discrete_gaussian_variance(
    l2_squared: int, epsilon: float, delta: float | Rational
) -> Fraction:
    """Variance of (epsilon, delta)-private discrete Gaussian noise, the square of a fraction.

    It is rho-zCDP with rho = l2^2 / (2 variance), and so has, for every a > 1, the delta
    exp((a - 1) (a rho - epsilon)) (1 - 1/a)^a / (a - 1) (Canonne, Kamath, Steinke 2020, Theorem 14
    and Proposition 12). Each a allows a rho, and the largest is taken.
    """
    a = 1 + np.geomspace(1e-4, 1e10, 20_001)
    room = math.log(delta) + np.log(a - 1) - a * np.log1p(-1 / a)
    rho = float(((epsilon + room / (a - 1)) / a).max()) * (1 - 1e-9)
    deviation = math.sqrt(l2_squared / (2 * rho)) * (1 + 1e-12)
    unit = 2 ** max(0, 12 - int(deviation).bit_length())
    return Fraction(math.ceil(deviation * unit), unit) ** 2


def exponential_pmf(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Distribution of the exponential mechanism: chances proportional to exp(epsilon u / (2 D)).

    (epsilon, 0)-DP, epsilon in nats: half of it pays for the weights, half for the sum they are
    divided by (McSherry and Talwar 2007, Theorem 6). One of the utilities u, (candidates,), changes
    by at most D, the sensitivity, between neighbours; larger is better.
    """
    u = check.finite_array("utilities", utilities)
    if u.ndim != 1:
        raise ValueError(f"utilities of shape {u.shape}: allowed is the shape (candidates,)")
    rate = check.epsilon(epsilon) / (2 * check.positive("sensitivity", sensitivity))
    weights = np.exp(rate * (u - u.max()))
    return np.asarray(weights / weights.sum())


def permute_and_flip_pmf(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Distribution of permute-and-flip, with arguments and privacy as of `exponential_pmf`.

    In random order, one is kept with chance w, its weight over the largest (McKenna and Sheldon
    2020); or utility plus exponential noise of mean 2 D / epsilon is largest (Ding et al. 2021).
    P(i) = w_i times the integral over (0, 1) of prod_{j != i} (1 - w_j t), positive throughout.
    """
    weights = exponential_pmf(utilities, sensitivity, epsilon)
    weights /= weights.max()
    nodes, parts = np.polynomial.legendre.leggauss(min(weights.size // 2 + 1, 512))  # on (-1, 1)
    passed = np.log1p(-np.outer((nodes + 1) / 2, weights))
    return np.asarray(weights * (parts / 2 @ np.exp(passed.sum(axis=1, keepdims=True) - passed)))


def bernoulli_exp(numerator: Ints, denominator: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Bernoulli(exp(-numerator / denominator)) for ratios in [0, 1], without a float."""
    result = np.zeros(numerator.size, dtype=bool)
    alive, k = np.arange(numerator.size), 1
    while alive.size:
        goes_on = rng.integers(0, denominator * k, size=alive.size) < numerator[alive]
        result[alive[~goes_on]] = k % 2 == 1
        alive, k = alive[goes_on], k + 1
    return result


def bernoulli_exp_of(
    numerator: NDArray[Any], denominator: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Bernoulli(exp(-numerator / denominator)) for whole numbers >= 0 without a limit."""
    exact = numerator.astype(object)
    whole = np.minimum(exact // denominator, 2**62).astype(np.int64)
    passed = geometric_exp(numerator.size, rng) >= whole
    return passed & bernoulli_exp((exact % denominator).astype(np.int64), denominator, rng)


def geometric_exp(size: int, rng: np.random.Generator) -> Ints:
    """Number of successes of Bernoulli(exp(-1)) before the first failure."""
    count = np.zeros(size, dtype=np.int64)
    alive = np.arange(size)
    while alive.size:
        alive = alive[bernoulli_exp(np.ones(alive.size, dtype=np.int64), 1, rng)]
        count[alive] += 1
    return count
