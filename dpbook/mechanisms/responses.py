"""Randomised response: answers that leave the user only after a coin.

With ``a = tanh(epsilon / 2)`` and ``b = 1 / (1 + e^epsilon)``, a true answer that is 1 with
probability F is reported as 1 with probability a F + b.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints


def randomized_response(bits: ArrayLike, epsilon: ArrayLike, *, rng: np.random.Generator) -> Ints:
    """Report each bit truly with probability e^epsilon / (1 + e^epsilon), else flipped.

    The bits, 0 or 1, have any shape; the parameter of one report, in nats, above 0, broadcasts
    against them. XSC, Section 3.1. **Privacy.** (epsilon, 0) locally for each bit, exactly (Warner
    1965). A person who answers q questions spends q * epsilon: `dpbook.privacy.person_epsilon`.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    truth, lie = _bits("bits", bits), randomized_response_pmf(epsilon)[..., 0, 1]
    flip = check.generator(rng).random(_common_shape("bits", truth, lie)) < lie
    return np.where(flip, 1 - truth, truth).astype(np.int64)


def randomized_response_pmf(epsilon: ArrayLike) -> Array:
    """Channel of `randomized_response`: rows are truths, columns reports; (..., 2, 2)."""
    eps = positive_epsilon(epsilon)
    # Where e^epsilon overflows, a lie has probability 0.
    with np.errstate(over="ignore"):
        lie = 1 / (1 + np.exp(eps))
    truth = 1 / (1 + np.exp(-eps))
    return np.stack([truth, lie, lie, truth], axis=-1).reshape(*eps.shape, 2, 2)


def debiased_response(reports: ArrayLike, epsilon: ArrayLike) -> Array:
    """Unbiased numbers from randomised responses: (report - b) / a.

    Reports and epsilon have shapes as for `randomized_response`. The mean is F if the true answer
    is 1 with probability F, the variance `debiased_variance`. XSC, (1) and Lemma 2.
    **Privacy.** A post-processing of the reports: it spends nothing.
    """
    values, eps = _bits("reports", reports), positive_epsilon(epsilon)
    _common_shape("reports", values, eps)
    # (z - b) / a without cancellation: 1/2 - b = a / 2.
    return np.asarray(0.5 + (values - 0.5) / np.tanh(eps / 2))


def debiased_variance(p: ArrayLike, epsilon: ArrayLike) -> Array:
    """Variance p (1 - p) + e^epsilon / (e^epsilon - 1)^2 of one debiased response.

    Here p is the probability that the true answer is 1, and epsilon in nats; both broadcast. XSC,
    Lemma 2. The second term is 1 / (2 sinh(epsilon / 2))^2: always below the 2 / epsilon^2 of
    Laplace noise, because sinh x >= x. At p = 1/2 the sum is 1 / (4 tanh(epsilon / 2)^2).
    """
    share, eps = check.number_array("p", p), positive_epsilon(epsilon)
    if not ((share >= 0) & (share <= 1)).all():
        raise ValueError("p leaves [0, 1]: allowed are probabilities")
    _common_shape("p", share, eps)
    return np.asarray(share * (1 - share) + np.exp(-eps) / np.expm1(-eps) ** 2)


def positive_epsilon(epsilon: ArrayLike, name: str = "epsilon") -> Array:
    """Return privacy parameters as a float array, all finite and above 0."""
    values = check.real_array(name, epsilon)
    if values.ndim == 0:
        return np.asarray(check.epsilon(epsilon, name))  # type: ignore[arg-type]
    values, (low, high) = check.finite_array(name, values), check.EPSILONS
    bad = values[(values < low) | (values > high)]
    if bad.size:
        raise ValueError(f"{name} holds {bad[0]}: allowed are numbers from {low:g} to {high:g}")
    return values


def _bits(name: str, values: ArrayLike) -> NDArray[Any]:
    array = check.real_array(name, values)
    if not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} hold a value other than 0 and 1: allowed are 0 and 1")
    return array


def _common_shape(name: str, values: NDArray[Any], epsilon: Array) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(values.shape, epsilon.shape)
    except ValueError:
        fits = f"a shape that broadcasts against {name} of shape {values.shape}"
        raise ValueError(f"epsilon of shape {epsilon.shape}: allowed is {fits}") from None
