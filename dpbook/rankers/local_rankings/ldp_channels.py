"""Channels of one local answer: what is reported, given the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.mechanisms import randomized_response_pmf

__all__ = [
    "channel_information",
    "laplace_bit_loss",
    "laplace_bit_pmf",
    "printed_response",
    "printed_response_pmf",
    "report_pmf",
]

Array = NDArray[np.float64]

MECHANISMS = ("response", "laplace")


def laplace_bit_pmf(epsilon: float) -> Array:
    """Channel of a 0/1 answer with Laplace(1 / epsilon) noise, cut at one half.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of the noisy answer, in nats, above 0.

    Returns
    -------
    array, shape (2, 2)
        Rows are truths, columns the bit read off. The bit is right with probability
        ``1 - exp(-epsilon / 2) / 2``.

    Notes
    -----
    Source: YLL, Algorithms 3 and 4, Section 4.2.2. The printed matrix gives both reports of a
    true 1 the probabilities of a true 0; this is the matrix its text uses.

    **Privacy.** The noisy number is (epsilon, 0)-private, exactly. Of the bit, which is all that
    is used, only `laplace_bit_loss` is spent; the rest is given away for nothing.
    """
    lie = 0.5 * np.exp(-0.5 * check.epsilon(epsilon))
    return np.array([[1 - lie, lie], [lie, 1 - lie]])


def laplace_bit_loss(epsilon: float) -> float:
    """Exact privacy loss ``ln(2 exp(epsilon / 2) - 1)`` of the thresholded Laplace answer.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of the noisy answer, in nats, above 0.

    Returns
    -------
    float
        In nats; between epsilon / 2 and epsilon.
    """
    half = 0.5 * check.epsilon(epsilon)
    return float(half + np.log(2 - np.exp(-half)))


def report_pmf(epsilon: float, mechanism: str = "response") -> Array:
    """Channel of one answer at ``epsilon``: rows are truths, columns reports.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of one answer, in nats, above 0.
    mechanism : {"response", "laplace"}
        Randomised response, or a Laplace answer cut at one half.

    Returns
    -------
    array, shape (2, 2)
    """
    if check.choice("mechanism", mechanism, MECHANISMS) == "response":
        return randomized_response_pmf(epsilon)
    return laplace_bit_pmf(epsilon)


def printed_response(bits: ArrayLike, epsilon: float, *, rng: np.random.Generator) -> NDArray:
    """Reports of YLL's Algorithm 1 as printed: the answers do not enter.

    Parameters
    ----------
    bits : array of 0 and 1
        True answers, any shape; only the shape is used, as in the printed pseudocode.
    epsilon : float
        Privacy parameter of one report, in nats, above 0.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, the shape of ``bits``

    Notes
    -----
    Source: YLL, Algorithm 1, lines 3 to 8. The protocol meant is
    `dpbook.mechanisms.randomized_response`.

    **Privacy.** (0, 0) locally: the report is independent of the answer, and useless.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    one = randomized_response_pmf(epsilon)[1, 1]
    return (check.generator(rng).random(np.shape(bits)) < one).astype(np.int64)


def printed_response_pmf(epsilon: float) -> Array:
    """Channel matrix of `printed_response`: two equal rows.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of one report, in nats, above 0.

    Returns
    -------
    array, shape (2, 2)
    """
    return np.tile(randomized_response_pmf(epsilon)[1], (2, 1))


def channel_information(channel: ArrayLike, prior: float | ArrayLike = 0.5) -> float:
    """Mutual information between the input and the output of a finite channel.

    Parameters
    ----------
    channel : array, shape (inputs, outputs)
        Rows are laws of the output.
    prior : float or array, shape (inputs,)
        Law of the input; a number p stands for (1 - p, p).

    Returns
    -------
    float
        In nats, at least 0.

    Raises
    ------
    ValueError
        If a row of the channel or the prior is not a law, or the shapes disagree.
    """
    rows = check.finite_array("channel", channel, min_ndim=2)
    weights = check.number_array("prior", prior)
    if weights.ndim == 0:
        p = check.probability("prior", float(weights))
        weights = np.array([1 - p, p])
    for name, law in (("channel", rows), ("prior", weights)):
        if (law < 0).any() or not np.allclose(law.sum(axis=-1), 1, atol=1e-9):
            raise ValueError(f"{name} = {law!r}: allowed are probabilities that add up to 1")
    if weights.shape != rows.shape[:1]:
        raise ValueError(f"prior of shape {weights.shape}: allowed is {rows.shape[:1]}")
    output = weights @ rows
    ratio = np.divide(rows, output, out=np.ones_like(rows), where=rows > 0)
    return float(max(weights @ (rows * np.log(ratio)).sum(axis=1), 0.0))
