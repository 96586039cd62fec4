"""One shape for every private ranker: frozen, calibrated, everything but the data.

>>> import numpy as np
>>> from dpbook.privacy import Edge
>>> from dpbook.rankers import NoisyCounts
>>> ranker = NoisyCounts.private(1.0, Edge(3))       # who is protected has no default
>>> ranker.loss()                                    # true epsilon of what is released
(1.0, 1.0)
>>> table = [[0, 2, 2], [0, 0, 2], [0, 0, 0]]        # [i, j]: how often i was put before j
>>> noise = ranker.noise(5, rng=np.random.default_rng(1))
>>> ranker.release(table, noise).shape               # with shared, frozen or halved noise
(5, 3)
>>> ranker.pmf(table).round(3)                       # exact distribution over all_rankings(3)
array([0.478, 0.193, 0.193, 0.053, 0.053, 0.03 ])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import comb, exp, inf, log, prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.estimators import ranks_from_scores
from dpbook.privacy.units import Unit

Size = int | tuple[int, ...]


@dataclass(frozen=True)
class Ranker(ABC):
    """A private ranker, given everything but the data.

    Attributes
    ----------
    unit : Unit
        Who is protected.
    scale : float
        Scale of the noise, in the unit of the statistic that carries it; 0 for no privacy.
    """

    unit: Unit
    scale: float
    protects: ClassVar[Any] = Unit
    statistic: ClassVar[str] = "counts"  # what carries the noise
    gaussian = False  # a field where there is a choice; else Laplace noise

    def __post_init__(self) -> None:
        if not isinstance(self.unit, self.protects):
            allowed = str(self.protects).replace("dpbook.privacy.units.", "")
            raise ValueError(f"unit = {self.unit!r}: allowed is who is protected, {allowed}")
        if self.scale != 0:
            check.noise_scale(self.scale)

    private: ClassVar[Callable[..., Any]]  # of epsilon and the unit: the least noise of its kind

    @abstractmethod
    def publish(self, data: Any, size: Size = (), *, rng: Any) -> Any:
        """Independent releases, of the shape of ``size`` before that of one."""

    def rank(self, released: Any, *, rng: np.random.Generator) -> Ints:
        """Positions read off releases, shape (..., n): a post-processing, it spends nothing."""
        return ranks_from_scores(released)

    def sample(self, data: Any, size: Size = (), *, rng: Any) -> Ints:
        """Independent rankings, positions of shape (size..., n); ties as `rank` breaks them."""
        return self.rank(self.publish(data, size, rng=rng), rng=rng)

    def _sides(self, data: Any, size: Size) -> tuple[int, ...]:
        """The shape of independent releases: of a stack of tables no two share their noise."""
        stack, sides = np.shape(data)[:-2], check.shape("size", size)
        if stack and sides[-len(stack) :] != stack:
            where = f"size = {size!r} with data of shape {np.shape(data)}"
            raise ValueError(f"{where}: allowed is (..., *{stack}), noise for each table")
        return sides

    def pmf(self, data: Any) -> Array:
        """Exact distribution of the ranking over ``all_rankings(n)``, shape (n!,)."""
        none = "has no exact distribution of the ranking here"
        raise NotImplementedError(f"{type(self).__name__} {none}")

    def loss(self, of: str = "release") -> tuple[float, float]:
        """Lower and upper end, in nats, of the true epsilon of the ``"release"`` or ``"ranking"``.

        They are equal where a closed form or the enumeration of all neighbours decides.
        """
        check.choice("of", of, ("release", "ranking"))
        return self._release_loss() if of == "release" else self._ranking_loss()

    def _release_loss(self) -> tuple[float, float]:
        """What the statistic moves, in scales."""
        finite = self.scale and not self.gaussian
        return (self.unit.l1(self.statistic) / self.scale if finite else inf,) * 2

    def _ranking_loss(self) -> tuple[float, float]:
        """A ranking is read off what is released: it loses no more."""
        return 0.0, self._release_loss()[1]

    def at_loss(self, epsilon: float, of: str = "release") -> Self:
        """The member of this family whose `loss`, its upper end, is just epsilon, in nats."""
        eps = check.epsilon(epsilon)
        check.noise_scale(self.scale)
        if self.loss(of)[1] == inf:
            raise ValueError(f"{self}: allowed is Laplace noise, where the loss is finite")

        def excess(logarithm: float) -> float:  # falls with the scale
            return float(log(replace(self, scale=exp(logarithm)).loss(of)[1] / eps))

        # Only towards the root: far beyond it the distributions behind a loss may underflow.
        low = high = log(self.scale)
        while excess(low) < 0:
            low -= log(2)
        while excess(high) > 0:
            high += log(2)
        root = brentq(excess, low, high, xtol=1e-14, rtol=1e-14) if low < high else low
        return replace(self, scale=exp(root))


@dataclass(frozen=True)
class StandardNoise(Ranker):
    """A ranker that adds its scale times standard noise to a statistic.

    The noise can be drawn beforehand: shared by rankers, kept, or halved.
    """

    @abstractmethod
    def release(self, data: Any, noise: Any) -> Any:
        """What is published, from the data and from standard noise drawn by `noise`."""

    def noise(self, size: Size = (), *, rng: np.random.Generator) -> Array:
        """Standard noise for so many releases, of the shape ``(size..., *statistic)``."""
        n, sides = self.unit.n_items, check.shape("size", size)
        one = {"counts": (n,), "margins": (comb(n, 2),), "ranks": (n, n - 1)}[self.statistic]
        many = prod(sides) * prod(one)
        check.fits("size", size, many, f"2**28 numbers, {prod(one)} for each release")
        shape = *sides, *one
        check.generator(rng)
        return rng.standard_normal(shape) if self.gaussian else rng.laplace(size=shape)

    def publish(self, data: Any, size: Size = (), *, rng: Any) -> Any:
        """Independent releases, each with noise of its own; of tables in a stack as its shape."""
        self._sides(data, size)
        return self.release(data, self.noise(size, rng=rng))


@cache
def pair_indices(n: int) -> tuple[Ints, Ints]:
    """First and second items of the pairs i < j of n items."""
    return np.triu_indices(n, 1)


def both_ways(tables: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Entries [i, j] and [j, i] of tables (..., n, n) for the pairs i < j, each (..., pairs)."""
    i, j = pair_indices(tables.shape[-1])
    return tables[..., i, j], tables[..., j, i]


def as_tables(ahead: NDArray[Any], behind: NDArray[Any], n: int) -> NDArray[Any]:
    """Tables of which `both_ways` gives these two."""
    out = np.zeros((*ahead.shape[:-1], n, n), dtype=ahead.dtype)
    i, j = pair_indices(n)
    out[..., i, j], out[..., j, i] = ahead, behind
    return out
