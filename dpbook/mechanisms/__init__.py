"""Primitive mechanisms: Laplace, discrete Laplace, randomised response.

Each sampler has an exact twin (``*_logpdf`` or ``*_pmf``). Privacy is checked on the twin; the
sampler is only tied to it by tests.
"""

from dpbook.mechanisms.noise import (
    discrete_laplace_noise,
    discrete_laplace_pmf,
    laplace_logpdf,
    laplace_noise,
)
from dpbook.mechanisms.responses import (
    debiased_response,
    debiased_variance,
    laplace_response,
    randomized_response,
    randomized_response_pmf,
)

__all__ = [
    "debiased_response",
    "debiased_variance",
    "discrete_laplace_noise",
    "discrete_laplace_pmf",
    "laplace_logpdf",
    "laplace_noise",
    "laplace_response",
    "randomized_response",
    "randomized_response_pmf",
]
