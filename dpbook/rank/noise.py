"""The noise of a release: exact, in whole numbers, from the randomness of the operating system.

Five laws. K-norm noise with weight exp(-level / scale), on the root polytope or on the zonotope,
adds up to 0, as everything that a person can do to wins minus losses does (`dpbook.mechanisms`).
Independent discrete Laplace and discrete Gaussian noise take part where there are other numbers,
many items, or a delta. Permute-and-flip publishes the best items alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, combinations
from math import ceil, comb, exp, expm1, inf, isqrt, log, nextafter, sqrt
from os import urandom
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook._typing import Ints
from dpbook.mechanisms.knorm import root_noise, zonotope_noise
from dpbook.mechanisms.noise import bernoulli_exp_of, discrete_laplace_noise

SURE = 1 - 1e-6  # confidence in a width that is simulated
_ROWS = 200_000  # numbers of a simulation: between 1000 and 10,000 draws


class SystemBits(check.WholeNumbers):
    """Uniform whole numbers from `os.urandom`, exactly, by rejection; nothing is kept back."""

    def integers(self, low: Any, high: Any, size: Any = None, *, endpoint: bool = False) -> Any:
        """As of a NumPy generator: from low to below high, or to high; arrays are allowed."""
        first = np.asarray(low, dtype=np.int64)
        last = np.asarray(high, dtype=np.int64) - (not endpoint)
        if (last < first).any():
            raise ValueError("low >= high: allowed is a range that is not empty")
        shape = np.broadcast_shapes(first.shape, last.shape)
        shape = shape if size is None else np.broadcast_shapes(shape, check.shape("size", size))
        span = np.broadcast_to((last - first).astype(np.uint64), shape).ravel()
        mask = span.copy()  # all bits below the highest one
        for k in (1, 2, 4, 8, 16, 32):
            mask |= mask >> np.uint64(k)
        out, todo = np.empty(span.size, dtype=np.uint64), np.arange(span.size)
        while todo.size:
            drawn = np.frombuffer(urandom(8 * todo.size), dtype=np.uint64) & mask[todo]
            good = drawn <= span[todo]  # all of them equally likely
            out[todo[good]] = drawn[good]
            todo = todo[~good]
        return (out.astype(np.int64).reshape(shape) + first)[()]


@dataclass(frozen=True)
class Noise:
    """The noise that a `Promise` needs, and what it leaves open; only public things are in it.

    Attributes
    ----------
    kind : {"root", "zonotope", "laplace", "gaussian", "flip"}
    n : int
        How many numbers it is added to; for "flip" how many items there are.
    scale : Fraction
        Of level, absolute value or gap to the best; the variance of the Gaussian.
    delta : float
        What is spent of it: 0 but for the Gaussian.
    sampler : {"book", "opendp"}
    """

    kind: str
    n: int
    scale: Fraction
    delta: float = 0.0
    sampler: str = "book"

    def draw(self, rng: np.random.Generator | SystemBits) -> Ints:
        """One noise for each number, (n,), by whole numbers of ``rng`` alone; OpenDP has its own.

        Fit for a release if ``rng`` is a `SystemBits`.
        """
        if self.sampler == "opendp":
            return _opendp_noise(self.n, float(self.scale))
        return self._drawn(1, check.generator(rng))[0]

    def simulate(self, size: int, rng: np.random.Generator) -> Ints:
        """Noise of the same law, (size, n), for experiments and never for a release."""
        if self.kind not in ("laplace", "root"):
            return self._drawn(size, rng)
        if self.kind == "laplace":
            return _waits(float(self.scale), (size, self.n), rng)
        out, todo = np.empty((size, self.n), dtype=np.int64), np.arange(size)
        while todo.size:  # as `root_noise`
            x = _waits(2 * float(self.scale), (todo.size, self.n - 1), rng)
            last = -x.sum(axis=1)
            kept = rng.random(todo.size) < np.exp(-np.abs(last) / (2 * float(self.scale)))
            out[todo[kept], :-1], out[todo[kept], -1] = x[kept], last[kept]
            todo = todo[~kept]
        return out

    def choose(self, net: Ints, k: int, rng: np.random.Generator | SystemBits) -> Ints:
        """The k items, in the order of the items, that permute-and-flip takes for the best.

        Every set of k is accepted with chance exp(-gap / scale), with its gap to the largest sum,
        and one of the accepted, among them the best, is drawn. In random order the first that is
        accepted would be taken, which is the same.
        """
        bits = check.generator(rng)
        every = chain.from_iterable(combinations(range(self.n), k))
        sets = np.fromiter(every, dtype=np.int64, count=k * comb(self.n, k)).reshape(-1, k)
        sums = net[sets].sum(axis=1)
        p, q = self.scale.as_integer_ratio()
        accepted = np.flatnonzero(bernoulli_exp_of((sums.max() - sums).astype(object) * q, p, bits))
        return np.asarray(sets[accepted[bits.integers(0, accepted.size)]])

    @property
    def deviation(self) -> float:
        """Standard deviation of the difference of two noises."""
        if self.kind == "gaussian":
            return sqrt(2 * self.scale)  # at most
        if self.kind == "laplace":
            return 2 * exp(-0.5 / self.scale) / -expm1(-1 / self.scale)
        x = _sample(self, self._rows).astype(float)
        return float(sqrt(2 * (x**2).mean() * self.n / (self.n - 1)))  # each row adds up to 0

    def width(self, miss: float) -> int:
        """All differences of two noises lie within it, but with probability ``miss``.

        For independent noise by its law. Otherwise it is simulated: the order statistic that is
        too small with a probability of at most 1e-6, `SURE`.
        """
        from scipy.stats import binom

        check.probability("miss", miss, zero=False, one=False)
        if self.kind == "laplace":
            return 2 * reach(self.n, self.scale, miss)
        if self.kind == "gaussian" and self.n > 200:  # differences are subgaussian, twice as wide
            return ceil(sqrt(4 * self.scale * log(self.n * (self.n - 1) / miss)))
        rows = max(self._rows, ceil(30 / miss))
        above = int(binom.ppf(1 - SURE, rows, miss)) - 1  # so many, and no fewer, may lie above
        return int(np.sort(np.ptp(_sample(self, rows), axis=1))[rows - 1 - above])

    @property
    def resolution(self) -> float:
        """The smallest chance but 0 that `reversal` can give; 0 if it is not simulated."""
        return 1 / (2 * self._rows * (self.n - 1)) if self.kind in ("root", "zonotope") else 0.0

    def reversal(self, margin: int) -> float:
        """Chance that the difference of two noises is at least the lead, a whole number >= 0."""
        if self.kind == "laplace":
            return reversal_probability(margin, self.scale)
        if self.kind == "gaussian":
            return _gaussian_reversal(margin, float(self.scale))
        apart = np.diff(_sample(self, self._rows), axis=1)  # of any two, since all are alike
        return float(((apart >= margin).mean() + (apart <= -margin).mean()) / 2)

    @property
    def words(self) -> str:
        """What it is called."""
        if self.kind == "gaussian":
            what = f"standard deviation {sqrt(self.scale):.6g}"
            return f"independent discrete Gaussian noise of {what}"
        names = {
            "root": "K-norm noise in the shape of single comparisons",
            "zonotope": "K-norm noise in the shape of whole rankings",
            "laplace": "independent discrete Laplace noise",
            "flip": "permute-and-flip",
        }
        return f"{names[self.kind]} of scale {shown(self.scale)}"

    @property
    def _rows(self) -> int:
        return min(max(_ROWS // self.n, 1000), 10_000)

    def _drawn(self, size: int, rng: np.random.Generator) -> Ints:
        if self.kind == "root":
            return root_noise(self.n, self.scale, (size,), rng=rng)  # type: ignore[arg-type]
        if self.kind == "zonotope":
            return zonotope_noise(self.n, self.scale, (size,), rng=rng)  # type: ignore[arg-type]
        if self.kind == "laplace":
            return discrete_laplace_noise(self.scale, (size, self.n), rng=rng)
        p, q = (isqrt(k) for k in self.scale.as_integer_ratio())
        return discrete_gaussian_noise(Fraction(p, q), (size, self.n), rng=rng)


def discrete_gaussian_noise(
    deviation: Fraction, size: tuple[int, ...], *, rng: np.random.Generator
) -> Ints:
    """Whole numbers x with weight exp(-x^2 / (2 deviation^2)), by integer arithmetic only.

    Canonne, Kamath, Steinke (2020), Algorithm 3, where the scale of the Laplace noise, which may be
    any, is the deviation s = p / q: then |x| is kept with chance exp(-(|x| / s - 1)^2 / 2).
    """
    p, q = deviation.as_integer_ratio()
    out = np.empty(size, dtype=np.int64)
    flat, todo = out.reshape(-1), np.arange(out.size)
    while todo.size:
        x = discrete_laplace_noise(deviation, todo.size, rng=rng)
        away = np.abs(x).astype(object) * q - p
        kept = bernoulli_exp_of(away * away, 2 * p * p, rng)
        flat[todo[kept]] = x[kept]
        todo = todo[~kept]
    return out


def rounded_up(scale: Fraction) -> Fraction:
    """The scale, or a slightly larger one, with terms that fit the samplers: below 2^50."""
    if max(scale.as_integer_ratio()) < 2**50:
        return scale
    unit = 2**49 // ceil(scale)
    return Fraction(ceil(scale * unit), unit)


def shown(scale: Fraction) -> str:
    """A scale as a fraction, or to six digits if it has more."""
    return str(scale) if len(str(scale)) <= 12 else f"{float(scale):.6g}"


def opendp_scale(l1: int, epsilon: Fraction) -> Fraction:
    """The least float that OpenDP calls private for discrete Laplace noise."""
    scale = float(l1 / epsilon)
    for _ in range(10):
        spent = _opendp(1, scale).map(l1)
        if Fraction(spent) <= epsilon and Fraction(scale) >= l1 / epsilon:
            return Fraction(scale)
        scale = nextafter(scale, inf)
    raise ValueError(f"epsilon = {epsilon}: OpenDP finds no scale for it: allowed is 'book'")


def _opendp_noise(n: int, scale: float) -> Ints:
    """Added to zeros: OpenDP sees no data, and cannot quote any in an error."""
    return np.array(_opendp(n, scale)([0] * n), dtype=np.int64)


def _opendp(n: int, scale: float) -> Any:
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        allowed = "allowed is 'book', or pip install 'dpbook[release]'"
        raise ValueError(f"sampler = 'opendp': OpenDP is not installed: {allowed}") from None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=n), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


@cache
def _sample(noise: Noise, rows: int) -> Ints:
    """The same draws for the same noise: nothing private is in them."""
    return noise.simulate(rows, np.random.default_rng(0))


def _waits(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Discrete Laplace noise with floats: a difference of two waits."""
    first, second = rng.geometric(-expm1(-1 / scale), size=(2, *shape)).astype(np.int64)
    return np.asarray(first - second)


def reversal_probability(margin: int, scale: Fraction) -> float:
    """Chance that two discrete Laplace noises differ by at least the lead, a whole number >= 0.

    The difference is k with chance ((1-q)/(1+q))^2 q^|k| (|k| + (1+q^2)/(1-q^2)), q = e^(-1/scale).
    """
    q, rest = exp(-1 / scale), -expm1(-1 / scale)
    tail = (1 + q * q) / (1 + q) + margin * rest + q
    return exp(-margin / scale) * tail / (1 + q) ** 2


def _gaussian_reversal(margin: int, variance: float) -> float:
    """The same for discrete Gaussian noise.

    The sum of exp(-(x^2 + (x + d)^2) / (2 v)) over x is exp(-d^2 / (4 v)) times a sum that depends
    on d being even or odd alone. A large variance has the integral in the place of the sum.
    """
    if variance > 1e8:
        from scipy.special import ndtr

        return float(ndtr((0.5 - margin) / sqrt(2 * variance)))
    far = ceil(40 * sqrt(variance)) + 1
    half: NDArray[np.float64] = np.arange(-far, far + 1) / 2
    part = [np.exp(-((half[half % 1 == 0] + odd / 2) ** 2) / variance).sum() for odd in (0, 1)]
    d = np.arange(-2 * far, 2 * far + 1)
    weight = np.exp(-(d**2) / (4 * variance)) * np.where(d % 2 == 0, *part)
    return float(weight[d >= margin].sum() / weight.sum())


def reach(count: int, scale: Fraction, miss: float) -> int:
    """Smallest t with all of so many Laplace noises in -t..t, with probability at least 1 - miss."""
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
