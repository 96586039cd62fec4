"""Primitive mechanisms: Laplace, discrete Laplace, Gaussian, randomised response, selection.

A distribution here is the exact counterpart of a sampler: one here, one of a ranker, or
``rng.choice(distribution.size, p=distribution)``. Privacy is checked on the distribution; the
sampler is only tied to it by tests.

Nothing drawn here is a release. An idealised sampler computes in floating point, and the last bits
of its draws can give away what the noise should hide; an exact sampler computes in integers and has
no such leak. Both take their bits from a seeded NumPy generator, and whoever can repeat that can
take the noise away again. Results on real people need `dpbook.rank`, or a library made for them.
"""

from dpbook.mechanisms.gaussian import gaussian_profile, gaussian_scale
from dpbook.mechanisms.noise import (
    discrete_laplace_pmf,
    exponential_pmf,
    laplace_logpdf,
    permute_and_flip_pmf,
)
from dpbook.mechanisms.responses import (
    debiased_response,
    debiased_variance,
    randomized_response,
    randomized_response_pmf,
)

__all__ = [
    "debiased_response",
    "debiased_variance",
    "discrete_laplace_pmf",
    "exponential_pmf",
    "gaussian_profile",
    "gaussian_scale",
    "laplace_logpdf",
    "permute_and_flip_pmf",
    "randomized_response",
    "randomized_response_pmf",
]
