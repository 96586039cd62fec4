"""The noise of a release: exact, in whole numbers, from the randomness of the operating system.

K-norm noise adds up to 0, as does everything that people can do to wins minus losses. Discrete
Laplace noise is for tables, for many items and for OpenDP, discrete Gaussian noise for a delta.
Permute-and-flip publishes the best items alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil, exp, expm1, log, log1p, sqrt
from os import urandom
from typing import Any

import numpy as np

from dpbook import _validation as check
from dpbook._typing import Ints
from dpbook.mechanisms.knorm import root_noise, zonotope_noise
from dpbook.mechanisms.noise import (
    bernoulli_exp_of,
    discrete_gaussian_noise,
    discrete_laplace_noise,
)


class SystemBits(check.WholeNumbers):
    """Uniform whole numbers from `os.urandom`, exactly, by rejection."""

    def integers(self, low: Any, high: Any, size: Any = None, *, endpoint: bool = False) -> Any:
        """As of a NumPy generator: from low to below high, or to high; arrays are allowed."""
        number = np.subtract(high, low, dtype=np.int64) + endpoint
        if np.any(number < 1):
            raise ValueError("low >= high: allowed is a range that is not empty")
        if size is not None:
            number = np.broadcast_to(number, check.shape("size", size))
        # 63 bits; below a multiple of the number all remainders are equally likely
        fair = 2**63 - 1 - (2**63 - 1) % number
        drawn = np.full(np.shape(number), fair)
        while (late := drawn >= fair).any():
            words = np.frombuffer(urandom(8 * late.sum()), dtype=np.int64)
            drawn[late] = words & (2**63 - 1)
        return drawn % number + low


@dataclass(frozen=True)
class Noise:
    """Noise for n numbers, and what it leaves open; only public things are in it.

    Its kind is "root", "zonotope", "laplace", "gaussian" or, for a choice among n items, "flip". A
    level (`dpbook.mechanisms.knorm`), an absolute value or a gap x has weight exp(-x / scale); the
    scale of the Gaussian is its variance, and `delta` what it spends.
    """

    kind: str
    n: int
    scale: Fraction
    delta: float = 0.0
    sampler: str = "book"

    def draw(self, rng: np.random.Generator | SystemBits, size: tuple[int, ...] = ()) -> Ints:
        """The noise, (*size, n), by whole numbers of ``rng`` alone; by OpenDP once."""
        if self.sampler == "opendp":  # which sees no data, and can quote none in an error
            measure = _opendp(self.n, float(self.scale))
            return np.array(measure([0] * self.n), dtype=np.int64)
        sampler = _SAMPLERS[self.kind]
        if self.kind in ("root", "zonotope"):
            return np.asarray(sampler(self.n, self.scale, size, rng=rng))
        return np.asarray(sampler(self.scale, (*size, self.n), rng=rng))

    def simulate(self, size: int, rng: np.random.Generator) -> Ints:
        """Noise of the same law, (size, n), for experiments and never for a release."""
        book = replace(self, scale=rounded_up(self.scale), sampler="book")
        return book.draw(rng, (size,))

    def choose(self, net: Ints, k: int, rng: np.random.Generator | SystemBits) -> Ints:
        """The k best items by permute-and-flip, in the order of the items.

        Every set of k is accepted with chance exp(-gap / scale), by its gap to the largest sum. One
        of the accepted is drawn: the first of them, if all sets were tried in random order.
        """
        bits = check.generator(rng)
        sets = np.array(list(combinations(range(self.n), k)))
        sums = net[sets].sum(axis=1)
        p, q = self.scale.as_integer_ratio()
        gaps = (sums.max() - sums).astype(object) * q
        accepted = np.flatnonzero(bernoulli_exp_of(gaps, p, bits))
        return np.asarray(sets[accepted[bits.integers(0, accepted.size)]])

    @property
    def deviation(self) -> float:
        """Standard deviation of the difference of two noises."""
        if self.kind == "gaussian":
            return sqrt(2 * self.scale)  # at most
        if self.kind == "laplace":
            return 2 * exp(-0.5 / self.scale) / -expm1(-1 / self.scale)
        each = _sample(self, self._rows // 4).std()  # a row adds up to 0
        return float(each * sqrt(2 * self.n / (self.n - 1)))

    def width(self, miss: float) -> int:
        """All differences of two noises lie within it, but with probability ``miss``.

        For independent Laplace noise by its law. Otherwise it is simulated: an order statistic that
        is too small with a probability of at most 1e-6.
        """
        from scipy.special import bdtrik

        if self.kind == "laplace":
            q = exp(-1 / self.scale)
            each = -expm1(log1p(-miss) / self.n)
            least = ceil(self.scale * log(2 / ((1 + q) * each))) - 1
            return 2 * max(0, least)
        rows = max(self._rows, ceil(30 / miss))
        spread = np.sort(np.ptp(_sample(self, rows), axis=1))
        above = int(bdtrik(1e-6, spread.size, miss))  # at least so many, with chance 1 - 1e-6
        return int(spread[-1 - above])

    @property
    def words(self) -> str:
        """What it is called."""
        name = {
            "root": "K-norm noise in the shape of single comparisons, of scale",
            "zonotope": "K-norm noise in the shape of whole rankings, of scale",
            "flip": "permute-and-flip of scale",
            "laplace": "independent discrete Laplace noise of scale",
            "gaussian": "independent discrete Gaussian noise of variance",
        }[self.kind]
        return f"{name} {float(self.scale):.6g}"

    @property
    def _rows(self) -> int:
        """How many are simulated."""
        return min(max(100_000 // self.n, 1000), 10_000)


_SAMPLERS: dict[str, Any] = {
    "root": root_noise,
    "zonotope": zonotope_noise,
    "laplace": discrete_laplace_noise,
    "gaussian": discrete_gaussian_noise,
}


def rounded_up(scale: Fraction) -> Fraction:
    """The scale, or a slightly larger one whose terms fit the samplers: below 2^50."""
    if max(scale.as_integer_ratio()) < 2**50:
        return scale
    unit = 2**49 // ceil(scale)
    return Fraction(ceil(scale * unit), unit)


def opendp_scale(l1: int, epsilon: Fraction) -> Fraction:
    """A scale that OpenDP calls private for discrete Laplace noise: hardly above the least."""
    scale = float(l1 / epsilon) * (1 + 2.0**-48)
    if Fraction(_opendp(1, scale).map(l1)) > epsilon:
        raise ValueError(f"epsilon = {epsilon}: OpenDP finds no scale for it: allowed is 'book'")
    return Fraction(scale)


def _opendp(n: int, scale: float) -> Any:
    import opendp.prelude as dp  # of the extra `release`

    dp.enable_features("contrib")
    numbers = dp.vector_domain(dp.atom_domain(T="i64"), size=n)
    return dp.m.make_laplace(numbers, dp.l1_distance(T="i64"), scale=scale)


@cache
def _sample(noise: Noise, rows: int) -> Ints:
    """The same draws for the same noise: nothing private is in them."""
    return noise.simulate(rows, np.random.default_rng(0))
