"""Gaussian noise: its exact privacy profile, and the smallest scale that a budget allows.

The classical scale D sqrt(2 log(1.25 / delta)) / epsilon comes from a tail bound, needs
epsilon < 1 and wastes noise. Here delta(epsilon) is computed exactly and solved for the scale
(Balle and Wang 2018, the analytic Gaussian mechanism).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array

_NARROW = 0.1  # ratio of sensitivity to scale below which differences lose their digits
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)  # of the integral that stands for them


def gaussian_profile(sensitivity: float, scale: float, epsilons: ArrayLike) -> Array:
    """Smallest delta for each epsilon when Gaussian noise is added to a statistic.

    Phi(r/2 - eps/r) - exp(eps) Phi(-r/2 - eps/r) with r = D / s (Balle and Wang 2018, Theorem 8),
    of the shape of ``epsilons``, in nats, at least 0. Between neighbours the statistic moves by D,
    the ``sensitivity``, in l2; s is the ``scale``, the standard deviation in every coordinate.
    """
    ratio = check.positive("sensitivity", sensitivity) / check.noise_scale(scale)
    return _delta(ratio, check.levels("epsilons", epsilons))


def gaussian_scale(sensitivity: float, epsilon: float, delta: float) -> float:
    """Smallest standard deviation that makes Gaussian noise (epsilon, delta)-private.

    Balle and Wang 2018, Algorithm 1, with a bracketed root instead of their bisection. In the unit
    of the statistic, of l2-sensitivity ``sensitivity``, and rounded up: the delta spent, as it is
    computed here, to twelve digits, never exceeds the one asked for. Epsilon is in nats, above 0;
    delta strictly between 0 and 1, and no smaller than the least normal float, 2.2e-308.
    """
    from scipy.optimize import brentq

    width, eps = check.positive("sensitivity", sensitivity), np.asarray(check.epsilon(epsilon))
    target = check.probability("delta", delta, zero=False, one=False)
    # Below the normal floats a computed delta has few digits, and at last none to solve for.
    least = float(np.finfo(float).tiny)
    if target < least:
        raise ValueError(f"delta = {delta!r}: allowed is a number from {least:g} to below 1")

    def excess(log_ratio: float) -> float:
        """Increasing in the ratio D / s; logarithms keep tiny deltas in sight."""
        return math.log(max(float(_delta(math.exp(log_ratio), eps)), 1e-320)) - math.log(target)

    low = high = 0.0
    while excess(low) > 0:
        low -= 1.0
    while excess(high) < 0:
        high += 1.0
    scale = width / math.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))
    # The root is right to a few roundings, on either side. Those that overspend are raised here,
    # by the delta itself and not by logarithms, which would hide the last digits.
    while float(_delta(width / scale, eps)) > target:
        scale *= 1 + 1e-15
    return scale


def _delta(ratio: float, eps: Array) -> Array:
    """Delta for ratio = sensitivity / scale."""
    from scipy.special import erfcx, ndtr

    root = math.sqrt(2)
    if ratio < _NARROW:
        # The two Mills ratios agree in their first digits: the integral of what erfcx falls by.
        with np.errstate(over="ignore"):  # far out, where the density is 0 all the same
            centre = np.minimum(eps / ratio, 1e3)
        x = (centre[..., None] + ratio / 2 * _NODES) / root
        slope = (2 / math.sqrt(math.pi) - 2 * x * erfcx(x)).clip(min=0.0) @ _WEIGHTS / 2
        return np.asarray(np.exp(-0.5 * (ratio / 2 - centre) ** 2) / 2 * slope * ratio / root)
    upper, lower = ratio / 2 - eps / ratio, -ratio / 2 - eps / ratio
    # exp(eps) phi(lower) = phi(upper), so both terms are phi(upper) times a Mills ratio.
    density = np.exp(-0.5 * np.minimum(upper, 0.0) ** 2) / 2
    far = density * (erfcx(np.maximum(-upper, 0.0) / root) - erfcx(-lower / root))
    near = ndtr(upper) - np.exp(-0.5 * upper**2) / 2 * erfcx(-lower / root)
    return np.asarray(np.where(upper > 0, near, np.maximum(far, 0.0)))
