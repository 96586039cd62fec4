"""A private ranking in polynomial time: noisy counts of places, then the nearest in footrule."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook._typing import Array, Ints
from dpbook.data import Rankings
from dpbook.estimators.orders import footrule_ranking
from dpbook.estimators.pairwise import ranking_positions
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.base import StandardNoise
from dpbook.rankers.pairs import OfRankings, private_scale


@dataclass(frozen=True)
class PrivateFootrule(OfRankings, StandardNoise):
    """Noise on how many people place each item at each place or before it, the last left out.

    Attributes
    ----------
    scale, gaussian : float, bool
        Laplace scale, or standard deviation of Gaussian noise, in people.

    Notes
    -----
    Two rankings differ in as many of these zeros and ones as their footrule distance, at most
    floor(n^2 / 2), that of opposite ones; one person more moves n (n - 1) / 2 counts by 1.
    **Privacy.** At the scale of `private`, (epsilon, delta)-DP and no less for the noisy counts.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> PrivateFootrule.private(0.5, WholeRanking(5)).scale
    24.0
    """

    statistic = "places"
    gaussian: bool = False

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, *, delta: float = 0.0) -> PrivateFootrule:
        """The least noise that is (epsilon, delta)-DP: Laplace for delta = 0, else Gaussian."""
        moved = unit.l1("places")
        return cls(unit, private_scale(moved, sqrt(moved), epsilon, delta), delta > 0)

    def release(self, data: Rankings | ArrayLike, noise: ArrayLike) -> Array:
        """Noisy counts, (..., n, n - 1), as the noise, of rankings: rows of places, (users, n)."""
        table = ranking_positions(data)
        n, users = self.unit.n_items, self.unit.users
        if table.shape != (users or len(table), n):
            raise ValueError(
                f"data of shape {table.shape}: allowed is ({users or 'users'}, {n}), as unit says"
            )
        return places_reached(table) + self.scale * np.asarray(noise)

    def rank(self, released: Array, *, rng: np.random.Generator) -> Ints:
        """The ranking nearest in footrule, positions of shape (..., n)."""
        return footrule_ranking(released)


def places_reached(positions: NDArray[np.integer]) -> Ints:
    """People who place item i at place k or before it, shape (n, n - 1)."""
    n = positions.shape[1]
    held = np.array([np.bincount(column.astype(np.intp), minlength=n) for column in positions.T])
    return held.cumsum(axis=1)[:, :-1].astype(np.int64)
