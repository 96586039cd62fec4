"""One shape for every private ranker: frozen, calibrated, everything but the data.

>>> import numpy as np
>>> from dpbook.privacy import Edge
>>> from dpbook.rankers import NoisyCounts
>>> ranker = NoisyCounts.private(1.0, Edge(3))       # who is protected has no default
>>> ranker.loss()                                    # true epsilon of what is released
(1.0, 1.0)
>>> table = [[0, 2, 2], [0, 0, 2], [0, 0, 0]]        # [i, j]: how often i was put before j
>>> noise = ranker.noise(5, rng=np.random.default_rng(1))
>>> ranker.release(table, noise).shape               # shared, frozen or halved noise: your choice
(5, 3)
>>> ranker.pmf(table).round(3)                       # exact law over all_rankings(3)
array([0.478, 0.193, 0.193, 0.053, 0.053, 0.03 ])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook.estimators import ranks_from_scores
from dpbook.privacy.loss import check_mechanism
from dpbook.privacy.units import Unit

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

WHAT = ("release", "ranking")
_FACTOR = 40.0  # `at_loss` looks for a scale within so many times the present one


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

    def __post_init__(self) -> None:
        if self.scale:
            check.noise_scale(self.scale)

    @abstractmethod
    def release(self, data: Any, noise: Any) -> Any:
        """What is published, from the data and from standard noise drawn by `noise`."""

    def noise(self, size: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Any:
        """Standard noise for so many releases, shape (*size, n): the scale is not in it."""
        shape = (*check.shape("size", size), self.unit.n_items)
        return check.generator(rng).laplace(size=shape)

    def sample(self, data: Any, size: int | tuple[int, ...] = (), *, rng: Any) -> Ints:
        """Independent rankings, positions of shape (*size, n)."""
        return ranks_from_scores(self.release(data, self.noise(size, rng=rng)))

    def pmf(self, data: Any) -> Array:
        """Exact law of the ranking over ``all_rankings(n)``, shape (n!,)."""
        raise NotImplementedError(f"{type(self).__name__} has no exact law of the ranking here")

    def loss(self, of: str = "release") -> tuple[float, float]:
        """True epsilon of what is published, or of the ranking read off it.

        Parameters
        ----------
        of : {"release", "ranking"}

        Returns
        -------
        lower, upper : float
            In nats; equal where a closed form or the enumeration of all neighbours decides.
        """
        check.choice("of", of, WHAT)
        return self._release_loss() if of == "release" else self._ranking_loss()

    def _release_loss(self) -> tuple[float, float]:
        raise NotImplementedError(f"{type(self).__name__} has no exact loss here")

    def _ranking_loss(self) -> tuple[float, float]:
        """By enumeration: `pmf` on all neighbours that the unit lists."""
        exact = check_mechanism(self.pmf, self.unit.neighbours("leads")).loss
        return exact, exact

    def at_loss(self, epsilon: float, of: str = "release") -> Self:
        """The member of this family that loses just epsilon: rankers at equal true privacy.

        Parameters
        ----------
        epsilon : float
            In nats, above 0; the upper end of `loss` is made equal to it.
        of : {"release", "ranking"}
        """
        from scipy.optimize import brentq

        eps, middle = check.epsilon(epsilon), log(self.scale)

        def excess(logarithm: float) -> float:
            return float(log(replace(self, scale=exp(logarithm)).loss(of)[1] / eps))

        reach = log(_FACTOR)
        while excess(middle - reach) < 0 or excess(middle + reach) > 0:
            reach *= 2
        root = brentq(excess, middle - reach, middle + reach, xtol=1e-14, rtol=1e-14)
        return replace(self, scale=exp(root))
