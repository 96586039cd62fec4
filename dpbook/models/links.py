"""Link functions: from a difference of strengths to the probability of winning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpbook._typing import Array


@dataclass(frozen=True)
class Link:
    """A symmetric distribution function that turns a difference of strengths into a probability.

    Each function works elementwise on arrays.
    """

    name: str  # the field's name of the model
    cdf: Callable[[Array], Array]  # F
    pdf: Callable[[Array], Array]  # F'
    log_slope: Callable[[Array], Array]  # (log F)' = F'/F, accurate in both tails
    log_curvature: Callable[[Array], Array]  # -(log F)'', the weight of a win in a Hessian


def _special(name: str, *arguments: Array | float) -> Array:
    from scipy import special  # here, so that the package needs numpy alone to be imported

    value: Array = getattr(special, name)(*arguments)
    return value


_expit = partial(_special, "expit")


def _logistic_pdf(x: Array) -> Array:
    return _expit(x) * _expit(-x)


def _probit_slope(x: Array) -> Array:
    # F(x) = erfcx(-x / sqrt 2) exp(-x^2 / 2) / 2: the exponentials cancel, no tail underflows.
    return math.sqrt(2 / math.pi) / _special("erfcx", -x / math.sqrt(2))


def _probit_curvature(x: Array) -> Array:
    # Below -1e4 the sum cancels; the curvature is 1 there, to within 1 / x^2.
    return np.where(x < -1e4, 1.0, _curvature(_probit_slope(x), x))


def _curvature(slope: Array, bend: Array) -> Array:
    """-(log F)'' from s = F'/F and -F''/F', which is elementary for each link."""
    return slope * (slope + bend)


def _cauchit_slope(x: Array) -> Array:
    return 1 / ((1 + x * x) * np.arctan2(1.0, -x))


def _student_t3_pdf(x: Array) -> Array:
    return 2 / (math.sqrt(3) * math.pi) / (1 + x * x / 3) ** 2


def _student_t3_slope(x: Array) -> Array:
    return _student_t3_pdf(x) / _special("stdtr", 3, x)


# F(x) = logistic(g(x)) with g(x) = x + tanh(x) / 4, so F'/F = g' (1 - F) and F'/(F (1 - F)) = g',
# which is 5/4 at 0 and 1 far out: a link that meets A0 to A2 of CCW25 and is not the logistic.


def _g(x: Array) -> Array:
    return x + np.tanh(x) / 4


def _g_slope(x: Array) -> Array:
    # sech(x)^2 as a product of two logistic values neither overflows nor cancels.
    return 1 + _logistic_pdf(2 * x)


def _logistic_tanh_curvature(x: Array) -> Array:
    g, slope = _g(x), _g_slope(x)
    bend = 2 * np.tanh(x) * (slope - 1)  # -g''
    return _expit(-g) * (slope**2 * _expit(g) + bend)


LINKS = {
    link.name: link
    for link in (
        Link("logistic", _expit, _logistic_pdf, lambda x: _expit(-x), _logistic_pdf),
        Link(
            "logistic_tanh",
            lambda x: _expit(_g(x)),
            lambda x: _g_slope(x) * _logistic_pdf(_g(x)),
            lambda x: _g_slope(x) * _expit(-_g(x)),
            _logistic_tanh_curvature,
        ),
        Link(
            "probit",
            partial(_special, "ndtr"),
            lambda x: np.exp(-(x**2) / 2.0) / np.sqrt(2 * np.pi),
            _probit_slope,
            _probit_curvature,
        ),
        Link(
            "cauchit",
            lambda x: np.arctan2(1.0, -x) / np.pi,
            lambda x: 1.0 / np.pi / (1.0 + x * x),
            _cauchit_slope,
            lambda x: _curvature(_cauchit_slope(x), 2 * x / (1 + x * x)),
        ),
        Link(
            "student_t3",
            partial(_special, "stdtr", 3),
            _student_t3_pdf,
            _student_t3_slope,
            lambda x: _curvature(_student_t3_slope(x), 4 * x / (3 + x * x)),
        ),
    )
}
