"""A whole sign vector in one private report: the mechanism of Duchi, Jordan and Wainwright (2014).

The report is a corner of a cube, from the half of the corners that agrees with the vector on most
coordinates, or else from the other. In even dimension a corner may agree on just half of them: such
ties are ``"split"`` between the halves, or, ``"closed"`` as printed, belong to both at full weight.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook._typing import Array

TIES = ("split", "closed")


def hypercube_scale(dimension: int, epsilon: float, ties: str = "split") -> float:
    """Length B of the coordinates that makes the report unbiased, with variance B^2 - value^2.

    ``coth(epsilon / 2) 4^k / C(2 k, k)`` with k = floor(d / 2), about
    ``coth(epsilon / 2) sqrt(pi d / 2)``; larger for closed ties in even dimension d.
    """
    d = check.integer("dimension", dimension, 1)
    scale = _inverse_central(d // 2)
    if check.choice("ties", ties, TIES) == "closed" and d % 2 == 0:
        scale += 1  # the corners of a half include all the ties instead of half of them
    return float(1 / np.tanh(0.5 * check.epsilon(epsilon)) * scale)


def hypercube_response(
    values: ArrayLike, epsilon: float, *, ties: str = "split", rng: np.random.Generator
) -> Array:
    """One private report of each vector with entries in [-1, 1]: corners of [-B, B]^d, (..., d).

    The expectation is ``values``, of which entries other than -1 and 1 are first rounded to one of
    these at random, and B is `hypercube_scale`. AGKM, Theorem 8.

    **Privacy.** (epsilon, 0) locally for split ties, exactly, and in odd dimension. Closed ties
    spend ``ln(1 + exp(epsilon))`` in even dimension.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    x = _vectors(values)
    d = x.shape[-1]
    scale = hypercube_scale(d, epsilon, ties)
    check.generator(rng)
    truth = np.where(rng.random(x.shape) < 0.5 * (1 + x), 1, -1).astype(np.int8).reshape(-1, d)
    signs = _balanced_corners(truth, closed=ties == "closed" and d % 2 == 0, rng=rng)
    lies = rng.random(len(truth)) < expit(-epsilon)
    np.negative(signs, out=signs, where=lies[:, None])
    return scale * signs.reshape(x.shape).astype(float)


def hypercube_response_pmf(values: ArrayLike, epsilon: float, ties: str = "split") -> Array:
    """Exact distribution of `hypercube_response` for one vector, (d,): (2^d,), as `sign_vectors`.

    The dimension is at most 16 for signs, less with entries other than -1 and 1.
    """
    x = _vectors(values, ndim=1)
    lie = expit(-check.epsilon(epsilon))
    tie = 1.0 if check.choice("ties", ties, TIES) == "closed" else 0.5
    corners = sign_vectors(check.integer("dimension", x.size, 1, 16)).astype(int)
    rounding = (0.5 * (1 + corners * x)).prod(axis=1)
    truths = corners[rounding > 0].T
    check.fits("values", values, corners.size * truths.size, "a shorter vector, or of signs")
    agreement = corners @ truths
    weight = np.where(agreement > 0, 1 - lie, np.where(agreement < 0, lie, tie))
    size = (agreement > 0).sum(axis=0) + tie * (agreement == 0).sum(axis=0)
    return np.asarray((weight / size) @ rounding[rounding > 0])


def sign_vectors(dimension: int) -> NDArray[np.int8]:
    """All vectors of d <= 20 signs, (2^d, d), in the order of the binary numbers, -1 for a 0."""
    d = check.integer("dimension", dimension, 1, 20)
    bits = (np.arange(2**d)[:, None] >> np.arange(d - 1, -1, -1)) & 1
    return (2 * bits - 1).astype(np.int8)


def _vectors(values: ArrayLike, ndim: int | None = None) -> Array:
    x = check.finite_array("values", values)
    if ndim not in (None, x.ndim) or (np.abs(x) > 1).any():
        kind = "vectors" if ndim is None else "one vector"
        raise ValueError(f"values of shape {x.shape}: allowed are {kind} of numbers in [-1, 1]")
    return x


def _balanced_corners(
    truth: NDArray[np.int8], *, closed: bool, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Corners drawn uniformly from the half that agrees with each row of ``truth``."""
    users, d = truth.shape
    out = np.empty((users, d), dtype=np.int8)
    todo = np.arange(users)
    while todo.size:
        bits = np.frombuffer(rng.bytes(todo.size * ((d + 7) // 8)), dtype=np.uint8)
        bits = np.unpackbits(bits.reshape(todo.size, -1), axis=1, count=d)
        signs = 2 * bits.view(np.int8) - 1
        agreement = np.einsum("ij,ij->i", signs, truth[todo], dtype=np.int64)
        # Turning a corner round when it disagrees gives every corner of the open half the weight
        # of two, a tie the weight of one: right for "split".
        np.negative(signs, out=signs, where=(agreement < 0)[:, None])
        keep = np.ones(todo.size, dtype=bool)
        if closed:
            keep = (agreement == 0) | (rng.random(todo.size) < 0.5)
        out[todo[keep]] = signs[keep]
        todo = todo[~keep]
    return out


def _inverse_central(k: int) -> float:
    """4^k / C(2k, k); by Stirling's series when the integers get long."""
    if k < 500:
        return 4**k / comb(2 * k, k)
    x = 1 / k
    return float(np.sqrt(np.pi * k) * (1 + x / 8 + x**2 / 128 - 5 * x**3 / 1024))
