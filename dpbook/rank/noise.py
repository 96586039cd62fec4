"""Discrete Laplace noise for a release: exact, in whole numbers, from the operating system's bits.

Canonne, Kamath, Steinke (2020), Algorithms 1 and 2. A source of bits is a function ``below(k)``
that returns a uniform whole number from 0 to k - 1. Integers of Python have no limit, so that the
scale may be any positive fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import exp, expm1, inf, nextafter
from os import urandom

import numpy as np

from dpbook._typing import Ints

Below = Callable[[int], int]


def system_bits() -> Below:
    """Uniform whole numbers from the randomness of the operating system, fetched in blocks.

    One for each release: two processes must not go on from one block.
    """
    block, at = b"", 0

    def below(k: int) -> int:
        nonlocal block, at
        bits = (k - 1).bit_length()
        size = (bits + 7) // 8
        while True:
            if at + size > len(block):
                block, at = urandom(max(4096, size)), 0
            value = int.from_bytes(block[at : at + size], "little") >> (8 * size - bits)
            at += size
            if value < k:  # all values below k are equally likely
                return value

    return below


def exact_noise(scale: Fraction, below: Below) -> int:
    """One draw with probability proportional to exp(-|x| / scale) at every whole number x."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = below(t)
        if not _bernoulli_exp(u, t, below):
            continue
        v = 0
        while _bernoulli_exp(1, 1, below):
            v += 1
        size, negative = (u + t * v) // s, below(2)
        if size or not negative:  # zero would otherwise be counted twice
            return -size if negative else size


def _bernoulli_exp(p: int, q: int, below: Below) -> bool:
    """True with probability exp(-p / q), for 0 <= p <= q."""
    k = 1
    while below(q * k) < p:
        k += 1
    return k % 2 == 1


def opendp_noisy(values: Sequence[int], l1: int, epsilon: Fraction) -> tuple[list[int], Fraction]:
    """The values with noise drawn by OpenDP, and the scale: the least float it calls private."""
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        allowed = "allowed is 'book', or pip install 'dpbook[release]'"
        raise ValueError(f"sampler = 'opendp': OpenDP is not installed: {allowed}") from None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    scale = float(l1 / epsilon)
    for _ in range(10):
        measurement = dp.m.make_laplace(*space, scale=scale)
        if Fraction(measurement.map(l1)) <= epsilon and Fraction(scale) >= l1 / epsilon:
            return [int(x) for x in measurement(list(values))], Fraction(scale)
        scale = nextafter(scale, inf)
    raise ValueError(f"epsilon = {epsilon}: OpenDP finds no scale for it: allowed is 'book'")


def redrawn_noise(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Noise of the same law for experiments, never for a release: a difference of two waits."""
    first, second = rng.geometric(-expm1(-1 / scale), size=(2, *shape)).astype(np.int64)
    return np.asarray(first - second)


def reversal_probability(margin: int, scale: Fraction) -> float:
    """Chance that the difference of two such noises is at least the lead, a whole number >= 0.

    The difference is k with chance ((1-q)/(1+q))^2 q^|k| (|k| + (1+q^2)/(1-q^2)), q = e^(-1/scale).
    """
    q, rest = exp(-1 / scale), -expm1(-1 / scale)
    tail = (1 + q * q) / (1 + q) + margin * rest + q
    return exp(-margin / scale) * tail / (1 + q) ** 2


def reach(count: int, scale: Fraction, miss: float) -> int:
    """Smallest t with all of so many noises within -t..t, with probability at least 1 - miss."""
    q, high = exp(-1 / scale), 1

    def covered(t: int) -> bool:
        return bool((1 - 2 * exp(-(t + 1) / scale) / (1 + q)) ** count >= 1 - miss)

    while not covered(high):
        high *= 2
    low = -1  # never covered
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if covered(middle) else (middle, high)
    return high
