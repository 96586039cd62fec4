"""Ranking by noisy win counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, pi, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.data import Comparisons
from dpbook.estimators import ranks_from_scores, win_counts
from dpbook.mechanisms import discrete_laplace_pmf, laplace_logpdf
from dpbook.mechanisms.noise import discrete_laplace_noise
from dpbook.privacy.distributions import ranking_pmf
from dpbook.privacy.loss import check_mechanism
from dpbook.privacy.units import Edge, Person, Unit
from dpbook.rankers.base import Ranker, Size, StandardNoise
from dpbook.rankers.pairs import private_scale

Data = Comparisons | ArrayLike


@dataclass(frozen=True)
class CountRanker(Ranker):
    """Items ranked by their win counts with independent noise."""

    distribution: ClassVar[str]  # of the noise
    step: ClassVar[float]  # what counts are multiples of

    @classmethod
    def private(cls, epsilon: float, unit: Unit) -> Self:
        """The least independent noise that is epsilon-DP: the l1-sensitivity over epsilon."""
        return cls(unit, unit.l1("counts") / check.epsilon(epsilon))

    def pmf(self, data: Data) -> Array:
        """Exact distribution of the ranking of up to 7 items, over ``all_rankings(n)``."""
        return self._pmf(self._counts(data))

    def _counts(self, data: Data) -> NDArray[Any]:
        """Win counts of data that keep what the unit promises."""
        if not isinstance(data, Comparisons):
            data = check.win_tables("data", data, unit=self.step)
        self.unit.check(data)
        return win_counts(data)

    def _pmf(self, counts: ArrayLike) -> Array:
        return ranking_pmf(counts, scale=self.scale, noise=self.distribution)

    def _ranking_loss(self) -> tuple[float, float]:
        return (check_mechanism(self._pmf, self.unit.neighbours("counts")).loss,) * 2


@dataclass(frozen=True)
class NoisyCounts(CountRanker, StandardNoise):
    """Win counts plus independent Laplace or Gaussian noise; the items are ranked by the result.

    Attributes
    ----------
    scale, gaussian : float, bool
        Laplace scale, or standard deviation of Gaussian noise, on each count, in wins.

    Notes
    -----
    CCW25, Algorithms 2 and 3. **Privacy.** At the scale of `private`, (epsilon, delta)-DP and no
    less for the noisy counts; a ranking or a top-k set read off them loses less (`loss`). Gaussian
    noise has no finite loss: its delta at every epsilon is that of
    `~dpbook.mechanisms.gaussian_profile` with the sensitivity ``unit.l2("counts")``.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> NoisyCounts.private(0.5, Edge(4)).scale, NoisyCounts.private(0.5, Person(4, 3)).scale
    (4.0, 12.0)
    >>> NoisyCounts.printed(0.5, Person(4, 3)).loss()  # twice what is promised
    (1.0, 1.0)
    """

    distribution, step = "laplace", 0.5
    gaussian: bool = False

    @classmethod
    def private(cls, epsilon: float, unit: Unit, *, delta: float = 0.0) -> Self:
        """The least noise that is (epsilon, delta)-DP: Laplace for delta = 0, else Gaussian."""
        scale = private_scale(unit.l1("counts"), unit.l2("counts"), epsilon, delta)
        return cls(unit, scale, delta > 0)

    @classmethod
    def printed(cls, epsilon: float, unit: Edge | Person) -> Self:
        """As CCW25 prints it: 2 / epsilon (Algorithm 2), L / epsilon (Algorithm 3, too small)."""
        if not isinstance(unit, Edge | Person):
            raise ValueError(f"unit = {unit!r}: allowed is Edge(...) or Person(...)")
        moved = 2 if isinstance(unit, Edge) else unit.comparisons
        return cls(unit, moved / check.epsilon(epsilon))

    def release(self, data: Data, noise: ArrayLike) -> Array:
        """Noisy counts, (..., n), of comparisons or tables (..., n, n); with ties as halves."""
        return self.perturb(self._counts(data), noise)

    def perturb(self, counts: ArrayLike, noise: ArrayLike) -> Array:
        """The release from the win counts alone, shape (..., n); the caller checks the data."""
        wins, drawn, n = np.asarray(counts), np.asarray(noise), self.unit.n_items
        for name, array in (("counts", wins), ("noise", drawn)):
            if array.shape[-1:] != (n,):
                raise ValueError(f"{name} of shape {array.shape}: allowed is (..., {n})")
        return np.asarray(wins + self.scale * drawn)

    def logpdf(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Log-density of noisy counts given the counts; shape (...)."""
        x = check.finite_array("released", released) - check.finite_array("counts", counts)
        if self.gaussian:
            z = x / self.scale
            return np.asarray((-(z**2) / 2 - log(sqrt(2 * pi) * self.scale)).sum(axis=-1))
        return np.asarray(laplace_logpdf(x, self.scale).sum(axis=-1))

    def _pmf(self, counts: ArrayLike) -> Array:
        if self.gaussian:
            raise ValueError(f"{self}: allowed is Laplace noise, for a distribution of rankings")
        return super()._pmf(counts)

    def _ranking_loss(self) -> tuple[float, float]:
        return (0.0, inf) if self.gaussian else super()._ranking_loss()


@dataclass(frozen=True)
class DiscreteCounts(CountRanker):
    """Win counts plus discrete Laplace noise, whole numbers; ties are broken at random.

    Its noise is no multiple of a standard one: only `publish` draws it.

    Notes
    -----
    **Privacy.** As for `NoisyCounts`.
    Exact sampler (integer arithmetic): no floating-point leak, but for study too, since a seeded
    generator can be repeated. The scale is rounded up to twelve digits.
    """

    distribution, step = "discrete_laplace", 1.0

    def publish(self, data: Data, size: Size = (), *, rng: np.random.Generator) -> Ints:
        """Noisy counts of a table, or of a stack as its shape: whole numbers, (size..., n)."""
        wins, shape = self._counts(data), (*self._sides(data, size), self.unit.n_items)
        return np.asarray(wins + discrete_laplace_noise(self.scale, shape, rng=rng))

    def rank(self, released: ArrayLike, *, rng: np.random.Generator) -> Ints:
        """Positions, shape (..., n)."""
        return ranks_from_scores(released, rng=rng)

    def logpdf(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Log-probability of noisy counts given the counts; shape (...)."""
        x = check.finite_array("released", released) - check.finite_array("counts", counts)
        if not np.array_equal(x, np.rint(x)):
            raise ValueError("released holds a fraction: allowed are integers")
        at_zero = np.log(discrete_laplace_pmf(0, self.scale))  # elsewhere it may underflow
        return np.asarray((at_zero - np.abs(x) / self.scale).sum(axis=-1))
