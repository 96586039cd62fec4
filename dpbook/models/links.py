"""Link functions: from a difference of strengths to the probability of winning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """A symmetric distribution function that turns a difference of strengths into a probability.

    Attributes
    ----------
    name : str
        The field's name of the model.
    cdf, pdf : callable
        F and its derivative, elementwise on arrays.
    log_slope : callable
        (log F)' = F' / F, accurate in both tails.
    log_curvature : callable
        -(log F)'', the weight of a win in a Hessian.
    """

    name: str
    cdf: Callable[[Array], Array]
    pdf: Callable[[Array], Array]
    log_slope: Callable[[Array], Array]
    log_curvature: Callable[[Array], Array]


# scipy is imported where it is used, so that the package needs numpy alone to be imported.


def _expit(x: Array) -> Array:
    from scipy.special import expit

    return expit(x)


def _probit_cdf(x: Array) -> Array:
    from scipy.special import ndtr

    return ndtr(x)


def _probit_pdf(x: Array) -> Array:
    return np.exp(-(x**2) / 2.0) / np.sqrt(2 * np.pi)


def _cauchit_pdf(x: Array) -> Array:
    return 1.0 / np.pi / (1.0 + x * x)


# With s = F'/F, differentiating once more gives -(log F)'' = s (s - F''/F'); each F''/F' is
# elementary.


def _logistic_pdf(x: Array) -> Array:
    return _expit(x) * _expit(-x)


def _logistic_slope(x: Array) -> Array:
    return _expit(-x)


def _probit_slope(x: Array) -> Array:
    from scipy.special import erfcx

    # F(x) = erfcx(-x / sqrt 2) exp(-x^2 / 2) / 2: the exponentials cancel, no tail underflows.
    return math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))


def _probit_curvature(x: Array) -> Array:
    slope = _probit_slope(x)
    # Below -1e4 the sum cancels; the curvature is 1 there, to within 1 / x^2.
    return np.where(x < -1e4, 1.0, slope * (slope + x))


def _cauchit_cdf(x: Array) -> Array:
    return np.arctan2(1.0, -x) / np.pi


def _cauchit_slope(x: Array) -> Array:
    return 1 / ((1 + x * x) * np.arctan2(1.0, -x))


def _cauchit_curvature(x: Array) -> Array:
    slope = _cauchit_slope(x)
    return slope * (slope + 2 * x / (1 + x * x))


def _student_t3_cdf(x: Array) -> Array:
    from scipy.special import stdtr

    return stdtr(3, x)


def _student_t3_pdf(x: Array) -> Array:
    return 2 / (math.sqrt(3) * math.pi) / (1 + x * x / 3) ** 2


def _student_t3_slope(x: Array) -> Array:
    return _student_t3_pdf(x) / _student_t3_cdf(x)


def _student_t3_curvature(x: Array) -> Array:
    slope = _student_t3_slope(x)
    return slope * (slope + 4 * x / (3 + x * x))


# F(x) = logistic(g(x)) with g(x) = x + tanh(x) / 4, so F'/F = g' (1 - F) and F'/(F (1 - F)) = g',
# which is 5/4 at 0 and 1 far out: a link that meets A0 to A2 of CCW25 and is not the logistic.


def _steepening(x: Array) -> tuple[Array, Array]:
    """Return g and g'."""
    # sech(x)^2 as a product of two logistic values neither overflows nor cancels.
    return x + np.tanh(x) / 4, 1 + _logistic_pdf(2 * x)


def _logistic_tanh_cdf(x: Array) -> Array:
    return _expit(_steepening(x)[0])


def _logistic_tanh_pdf(x: Array) -> Array:
    g, slope = _steepening(x)
    return slope * _logistic_pdf(g)


def _logistic_tanh_slope(x: Array) -> Array:
    g, slope = _steepening(x)
    return slope * _expit(-g)


def _logistic_tanh_curvature(x: Array) -> Array:
    g, slope = _steepening(x)
    bend = 2 * np.tanh(x) * (slope - 1)  # -g''
    return _expit(-g) * (slope**2 * _expit(g) + bend)


LINKS: dict[str, Link] = {
    "logistic": Link("logistic", _expit, _logistic_pdf, _logistic_slope, _logistic_pdf),
    "logistic_tanh": Link(
        "logistic_tanh",
        _logistic_tanh_cdf,
        _logistic_tanh_pdf,
        _logistic_tanh_slope,
        _logistic_tanh_curvature,
    ),
    "probit": Link("probit", _probit_cdf, _probit_pdf, _probit_slope, _probit_curvature),
    "cauchit": Link("cauchit", _cauchit_cdf, _cauchit_pdf, _cauchit_slope, _cauchit_curvature),
    "student_t3": Link(
        "student_t3",
        _student_t3_cdf,
        _student_t3_pdf,
        _student_t3_slope,
        _student_t3_curvature,
    ),
}
