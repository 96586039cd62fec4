"""Ranking by noisy win counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.data import Comparisons
from dpbook.estimators import ranks_from_scores, win_counts
from dpbook.mechanisms import discrete_laplace_pmf, laplace_logpdf
from dpbook.mechanisms.noise import discrete_laplace_noise
from dpbook.privacy.laws import ranking_pmf
from dpbook.privacy.loss import check_mechanism
from dpbook.privacy.units import Edge, Person, Unit
from dpbook.rankers.base import Ranker, Size

Data = Comparisons | ArrayLike


@dataclass(frozen=True)
class NoisyCounts(Ranker):
    """Win counts plus independent noise; the items are ranked by the result.

    Attributes
    ----------
    scale : float
        Of the noise on each count, in wins.
    discrete : bool
        Discrete Laplace noise, on whole counts; ties are then broken uniformly at random.

    Notes
    -----
    CCW25, Algorithms 2 and 3. **Privacy.** At the scale of `private`, (epsilon, 0)-DP and no less
    for the noisy counts; a ranking or a top-k set read off them loses less (`loss`).
    Idealised sampler (floating point): for study, unsafe for a release. With discrete noise:
    Exact sampler (integer arithmetic): no floating-point leak, but for study too, since a seeded
    generator can be repeated.

    Examples
    --------
    >>> NoisyCounts.private(0.5, Edge(4)).scale, NoisyCounts.private(0.5, Person(4, 3)).scale
    (4.0, 12.0)
    >>> NoisyCounts.printed(0.5, Person(4, 3)).loss()  # twice what is promised
    (1.0, 1.0)
    """

    discrete: bool = False

    @classmethod
    def private(cls, epsilon: float, unit: Unit, *, discrete: bool = False) -> Self:
        """The least noise that is epsilon-DP: the l1-sensitivity over epsilon."""
        return cls(unit, unit.l1("counts") / check.epsilon(epsilon), discrete)

    @classmethod
    def printed(cls, epsilon: float, unit: Edge | Person) -> Self:
        """As CCW25 prints it: 2 / epsilon (Algorithm 2), L / epsilon (Algorithm 3, too small)."""
        if not isinstance(unit, Edge | Person):
            raise ValueError(f"unit = {unit!r}: allowed is Edge(...) or Person(...)")
        moved = 2 if isinstance(unit, Edge) else unit.comparisons
        return cls(unit, moved / check.epsilon(epsilon))

    def noise(self, size: Size = (), *, rng: np.random.Generator) -> Any:
        """Noise for `release`, shape (size..., n): standard, or at this scale if discrete."""
        if not self.discrete:
            return super().noise(size, rng=rng)
        return discrete_laplace_noise(self.scale, self._noise_shape(size), rng=rng)

    def release(self, data: Data, noise: ArrayLike) -> NDArray[Any]:
        """Noisy counts, (..., n), of comparisons or tables (..., n, n); with ties as halves."""
        if not isinstance(data, Comparisons):
            data = check.win_tables("data", data, unit=1 if self.discrete else 0.5)
        self.unit.check(data)
        return self.perturb(win_counts(data), noise)

    def perturb(self, counts: ArrayLike, noise: ArrayLike) -> NDArray[Any]:
        """The release from the win counts alone, shape (..., n); the caller checks the data."""
        wins, drawn, n = np.asarray(counts), np.asarray(noise), self.unit.n_items
        for name, array in (("counts", wins), ("noise", drawn)):
            if array.shape[-1:] != (n,):
                raise ValueError(f"{name} of shape {array.shape}: allowed is (..., {n})")
        return wins + (drawn if self.discrete else self.scale * drawn)

    def rank(self, released: ArrayLike, *, rng: np.random.Generator) -> Ints:
        """Positions, shape (..., n); only integers tie."""
        return ranks_from_scores(released, rng=rng if self.discrete else None)

    def pmf(self, data: Data) -> Array:
        """Exact law of the ranking of up to 7 items, over ``all_rankings(n)``."""
        return self._law(win_counts(data))

    def logpdf(self, released: ArrayLike, counts: ArrayLike) -> Array:
        """Log-density, or log-probability, of noisy counts given the counts; shape (...)."""
        x = check.finite_array("released", released) - check.finite_array("counts", counts)
        if not self.discrete:
            return np.asarray(laplace_logpdf(x, self.scale).sum(axis=-1))
        if not np.array_equal(x, np.rint(x)):
            raise ValueError("released holds a fraction: allowed are integers with discrete noise")
        at_zero = np.log(discrete_laplace_pmf(0, self.scale))  # elsewhere it may underflow
        return np.asarray((at_zero - np.abs(x) / self.scale).sum(axis=-1))

    def _law(self, counts: ArrayLike) -> Array:
        noise = "discrete_laplace" if self.discrete else "laplace"
        return ranking_pmf(counts, scale=self.scale, noise=noise)

    def _ranking_loss(self) -> tuple[float, float]:
        return (check_mechanism(self._law, self.unit.neighbours("counts")).loss,) * 2
