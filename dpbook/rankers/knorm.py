"""Rankers whose noise has the shape of what one participant can change: K-norm noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.mechanisms import knorm
from dpbook.models.rankings import all_rankings
from dpbook.privacy.units import COMPLETE, Edge, Person, Unit, WholeRanking
from dpbook.rankers.base import Size, as_tables, both_ways
from dpbook.rankers.counts import CountRanker, Data, DiscreteCounts
from dpbook.rankers.pairs import NoisyPairs, OfRankings

_FAR = 32  # scales beyond which no mass is left that a float could see


@dataclass(frozen=True)
class KNormCounts(CountRanker):
    """Win counts plus whole numbers of weight exp(-gauge / scale); ties are broken at random.

    The gauge is that of the convex hull of all moves of the counts between neighbours, rounded up.
    For one ranking more or less the noise is added to wins minus losses.

    Attributes
    ----------
    scale : float
        One over epsilon; the noise of a count is as large as `unit` requires.

    Notes
    -----
    Hardt and Talwar (2010), Awan and Slavkovic (2021); the bodies and samplers are of this book.
    **Privacy.** (1 / scale, 0)-DP and no less for the noisy counts. A tie as half a win each moves
    them by halves, and would show: such data are refused.
    Exact sampler (integer arithmetic): no floating-point leak, but for study too, since a seeded
    generator can be repeated. The scale is rounded up to twelve digits.

    Examples
    --------
    >>> ranker = KNormCounts.private(0.5, WholeRanking(5))
    >>> ranker.loss(), int(ranker.gauge([4, 2, 0, -2, -4]))
    ((0.5, 0.5), 1)
    """

    step, rank = 1.0, DiscreteCounts.rank

    @classmethod
    def private(cls, epsilon: float, unit: Unit) -> KNormCounts:
        """Noise for exactly so much epsilon, in nats."""
        return cls(unit, 1 / check.epsilon(epsilon))

    @property
    def _body(self) -> tuple[Callable[..., Ints], Callable[..., Ints], bool, int]:
        """Gauge and sampler, whether the noise has a sum of its own, and answers that add up."""
        unit, n = self.unit, self.unit.n_items
        if isinstance(unit, Person) and unit.per_user:  # at most L: the number of answers is secret
            return knorm.root_level, knorm.root_noise, True, unit.per_user
        skips = isinstance(unit, Person) and unit.design not in COMPLETE
        if isinstance(unit, Edge) or (n == 2 and not skips):
            return knorm.root_level, knorm.root_noise, False, 1
        return knorm.zonotope_level, knorm.zonotope_noise, skips, 1

    @property
    def _net(self) -> bool:
        return isinstance(self.unit, WholeRanking) and self.unit.relation == "add_remove"

    def gauge(self, x: ArrayLike) -> Ints:
        """Of noise or moves, whole numbers (..., n): the noise has weight exp(-gauge / scale).

        With L answers of a person it is in units of 1 / L, and the weight exp(-gauge / (L scale)).
        """
        level, _, free, _ = self._body
        rows = check.whole_array("x", x)
        if not free and rows.sum(axis=-1).any():
            raise ValueError("x has another sum than 0: allowed is 0, that of this noise")
        return np.asarray(level(rows, free=free))

    def publish(self, data: Data, size: Size = (), *, rng: np.random.Generator) -> Ints:
        """Noisy counts, or wins minus losses, of a table, or of a stack as its shape."""
        wins, sides, n = self._counts(data), self._sides(data, size), self.unit.n_items
        _, draw, free, answers = self._body
        noise = draw(n, self.scale * answers, sides, rng=check.generator(rng), free=free)
        return np.asarray(self._centred(wins) + noise)

    def _centred(self, wins: NDArray[Any]) -> Ints:
        """What gets the noise: the counts, or wins minus losses of rankings."""
        twice = 2 * wins
        return twice - twice.sum(axis=-1, keepdims=True) // wins.shape[-1] if self._net else wins

    def _pmf(self, counts: ArrayLike) -> Array:
        """Of up to 3 items, or few more with little noise: by listing the noise."""
        wins, n = np.asarray(counts) * (2 if self._net else 1), self.unit.n_items
        level, _, free, answers = self._body
        scale, side = self.scale * answers, 1 if level is knorm.root_level else n - 1
        reach = int(_FAR * scale) + int(level(wins - wins.min(), free=True))
        reach = 16 * (1 + reach // 16)  # so that lists are found again
        work = (2 * reach * side + 1) ** (n - 1 + free) * factorial(n)
        check.fits("scale", self.scale, work, "less noise, or 3 items")
        noise, weights = _weighted(level, n, reach, side, free, scale)
        near = (noise[:, :-1] - noise[:, 1:] <= np.ptp(wins)).any(axis=1)  # else noise decides
        orders = all_rankings(n)
        some = np.concatenate([noise[near][:, order] for order in orders])
        decided = np.tile(weights[near], len(orders)) @ _shares(wins + some, n - 1 - orders)
        return np.asarray((decided + weights[~near].sum()) / (weights.sum() * len(orders)))

    def _release_loss(self) -> tuple[float, float]:
        return (1 / self.scale,) * 2


@dataclass(frozen=True)
class CubePairs(OfRankings):
    """The margin of every pair plus whole numbers drawn from one cube, then a ranking of them.

    Attributes
    ----------
    scale : float
        In people, as the margins: 2 / epsilon if one ranking becomes another, 1 / epsilon if there
        is one more or less.
    solver : {"kemeny", "kwiksort"}
        As for `NoisyPairs`.

    Notes
    -----
    K-norm noise for the largest change of a margin: a radius, and every margin uniformly within it.
    **Privacy.** (epsilon, 0)-DP and no less for the noisy margins, where every participant ranks
    all items, or answers every pair, without ties: all margins move by 0 or 2, and so are even.
    Exact sampler (integer arithmetic): no floating-point leak, but for study too, since a seeded
    generator can be repeated. The scale is rounded up to twelve digits.

    Examples
    --------
    >>> CubePairs.private(0.5, WholeRanking(4)).loss()
    (0.5, 0.5)
    """

    solver: str = "kemeny"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("solver", self.solver, ("kwiksort", "kemeny"))
        check.integer("n_items of the unit", self.unit.n_items, 2, 50)  # beyond, it takes minutes

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, solver: str = "kemeny") -> CubePairs:
        """Noise for exactly so much epsilon, in nats."""
        return cls(unit, unit.step / check.epsilon(epsilon), solver)

    rank = NoisyPairs.rank

    def publish(self, data: ArrayLike, size: Size = (), *, rng: np.random.Generator) -> Ints:
        """Noisy margins, shape (size..., n, n)."""
        ahead, behind = both_ways(self._counts(data, whole=True))
        pairs, step, sides = ahead.shape[-1], self.unit.step, self._sides(data, size)
        noise = knorm.cube_noise(pairs, self.scale / step, sides, rng=check.generator(rng))
        noisy = (ahead - behind).astype(np.int64) + step * noise
        return as_tables(noisy, -noisy, self.unit.n_items)

    def pmf(self, data: ArrayLike) -> Array:
        """Exact distribution of a Kemeny ranking of 3 items over ``all_rankings(3)``."""
        table, step = self._counts(data, whole=True), self.unit.step
        if table.shape != (3, 3) or self.solver != "kemeny":
            given = f"data of shape {table.shape}, solver = {self.solver!r}"
            raise ValueError(f"{given}: allowed are 3 items and a Kemeny ranking")
        margins = (table - table.T)[[0, 1, 2], [1, 2, 0]].astype(np.int64)
        radii = np.arange(16 * (1 + int(2 * _FAR * self.scale / step) // 16))  # found again
        check.fits("scale", self.scale, 400 * radii.size**2, "less noise")
        weights, points = np.exp(-radii * step / self.scale), (2 * radii + 1.0) ** 3
        both = tuple(margins.tolist()), tuple((-margins).tolist())
        ways = np.concatenate([_all_but_one(x, radii.size, step) for x in both])
        return np.asarray(ways @ weights / (points @ weights))[[2, 3, 4, 1, 0, 5]]

    def _release_loss(self) -> tuple[float, float]:
        return (self.unit.step / self.scale,) * 2


def _box(dimension: int, reach: int) -> Ints:
    """All whole points of a cube, (points, dimension)."""
    sides = np.meshgrid(*[np.arange(-reach, reach + 1)] * dimension)
    return np.stack([side.ravel() for side in sides], axis=1)


@lru_cache(maxsize=4)
def _listed(
    level: Callable[..., Ints], n: int, reach: int, side: int, free: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    """All descending noise of a gauge up to ``reach``: its rows in a list, the list, the gauges.

    The list has the differences from the last entry; then comes how many orders of each are alike.
    """
    x = _box(n - 1 + free, reach * side)
    if not free:
        x = np.column_stack([x, -x.sum(axis=1)])
    x = x[(x[:, :-1] >= x[:, 1:]).all(axis=1)]
    levels = level(x, free=free)
    x, levels = x[levels <= reach], levels[levels <= reach]
    x = x - x[:, -1:]
    key = x @ ((2 * int(x.max()) + 2) ** np.arange(n, dtype=np.int64))
    _, first, at = np.unique(key, return_index=True, return_inverse=True)
    alike = sum(
        (x[first][:, order] == x[first]).all(axis=1).astype(int) for order in all_rankings(n)
    )
    return at, x[first], levels, np.asarray(alike)


@lru_cache(maxsize=4)
def _weighted(
    level: Callable[..., Ints], n: int, reach: int, side: int, free: bool, scale: float
) -> tuple[Ints, Array]:
    """The same noise, with the weight of each of its orders."""
    at, noise, levels, alike = _listed(level, n, reach, side, free)
    return noise, np.asarray(np.bincount(at, np.exp(-levels / scale)) / alike)


@lru_cache(maxsize=256)
def _all_but_one(leads: tuple[int, ...], radii: int, step: int) -> Array:
    """Points of a cube for which a Kemeny ranking gives up one margin round a cycle, (3, radii).

    If the middle one of the noisy margins is above 0, it gives up the least; at 0, the least of the
    three or, the other way round, the largest. Of equal ones each counts in part.
    """
    margins, sizes = np.array(leads, dtype=np.int64), np.arange(radii)
    far = int(step * sizes[-1] + np.abs(margins).max())
    y = np.arange(-far, far + 1)
    apart = np.abs(y - margins[:, None, None])
    at = ((apart <= step * sizes[:, None]) & (apart % step == 0)).astype(float)
    above = at[..., ::-1].cumsum(axis=-1)[..., ::-1] - at
    up, f, g = np.maximum(y, 0) + far, [1, 2, 0], [2, 0, 1]  # the others
    two, pair = above[f] * above[g], at[f] * above[g] + above[f] * at[g]
    ways = at * two[..., up] + (y > 0) * at * (pair / 2 + at[f] * at[g] / 3)
    below, level, over = at[..., :far].sum(axis=-1), at[..., far], above[..., far]
    one, both = level[f] * over[g] + over[f] * level[g], level[f] * level[g]
    middle = below * (one / 2 + both / 3) + level * (one / 3 + both / 6)
    return np.asarray(ways.sum(axis=-1) + middle)


def _shares(released: Ints, gains: Ints) -> Array:
    """Chances (points, rankings) of the rankings of the largest gain; ties at random.

    The gain is linear in what is released, (points, entries), gains of the entries.
    """
    score = released.astype(float) @ gains.T.astype(float)  # whole numbers, exact and fast
    best = score == score.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))
