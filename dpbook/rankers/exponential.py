"""Exponential mechanism over whole rankings, with the Kemeny score.

The chance of an order is a product over its pairs, so the items may be placed from the best down:
the sum over all orders of a set of items obeys a recursion over its subsets. That gives an exact
sampler and exact expectations far beyond the n! rankings that can be listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dpbook import _validation as check
from dpbook.estimators.kemeny import MAX_LISTED, ranking_costs
from dpbook.mechanisms.selection import exponential_pmf
from dpbook.models.rankings import all_rankings
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.base import Array, Ints, Size
from dpbook.rankers.pairs import OfRankings

MAX_ITEMS = 16  # time and memory grow as n 2^n
MAX_PROFILES = 100_000
LOGS_AT_ONCE = 2**20  # of the laws of many profiles, held together


@dataclass(frozen=True)
class ExponentialRanking(OfRankings):
    """One draw among all rankings: chances proportional to exp(-cost / scale).

    The cost of a ranking is its total Kendall distance to the rankings of the people.

    Notes
    -----
    McSherry and Talwar 2007; for rankings Hay, Elagina and Miklau 2017, and AGKM, Table 1.
    **Privacy.** At the scale of `private`, (epsilon, 0)-DP. One ranking replaced moves a cost by
    at most n (n - 1) / 2, up for the old ranking and down for its reverse, so that the factor 2 in
    the exponent cannot be saved for many people; one ranking more moves all costs the same way.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> ExponentialRanking.private(1.5, WholeRanking(3)).loss()
    (1.5, 1.5)
    >>> ExponentialRanking.private(1.5, WholeRanking(3, users=1)).loss()[1]  # half is not used
    0.75
    """

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking) -> ExponentialRanking:
        """The least scale that is epsilon-DP for any number of people."""
        return cls(unit, unit.l1("leads") / check.epsilon(epsilon))

    def noise(self, size: Size = (), *, rng: np.random.Generator) -> Array:
        """Uniform numbers, one for each place of each draw, shape (size..., n)."""
        return check.generator(rng).random(self._noise_shape(size))

    def release(self, data: ArrayLike, noise: ArrayLike) -> Ints:
        """The rankings drawn from one table (n, n), positions (..., n), for up to 16 items."""
        subsets = self._subsets(self._counts(data, whole=True))
        uniform = np.asarray(noise, dtype=float).reshape(-1, self.unit.n_items)
        left = np.full(len(uniform), 2**self.unit.n_items - 1)
        positions = np.empty(uniform.shape, dtype=np.int64)
        rows = np.arange(len(uniform))
        for place, drawn in enumerate(uniform.T):
            reached = np.cumsum(subsets.first(left), axis=1)
            item = np.argmax(drawn[:, None] * reached[:, -1:] < reached, axis=1)
            positions[rows, item] = place
            left ^= 1 << item
        return positions.reshape(np.shape(noise))

    def sample(self, data: Any, size: Size = (), *, rng: Any) -> Ints:
        """Independent rankings, positions of shape (size..., n)."""
        return self.release(data, self.noise(size, rng=rng))

    def pmf(self, data: ArrayLike) -> Array:
        """Exact law over ``all_rankings(n)`` of up to 7 items; counts need not be whole."""
        check.integer("n_items", self.unit.n_items, 2, MAX_LISTED)
        return exponential_pmf(-ranking_costs(self._counts(data)), 1.0, 2 / self.scale)

    def expected_cost(self, data: ArrayLike) -> float:
        """Exact expectation of the total Kendall distance, for up to 16 items."""
        subsets = self._subsets(self._counts(data))
        cost = np.zeros(2**self.unit.n_items)
        for layer in subsets.layers[1:]:
            inside, rest = _without(layer, self.unit.n_items)
            later = np.where(inside, cost[rest], 0.0)
            cost[layer] = (subsets.first(layer) * (subsets.behind[layer] + later)).sum(axis=1)
        return float(cost[-1])

    def _subsets(self, table: Array) -> Subsets:
        check.integer("n_items", self.unit.n_items, 2, MAX_ITEMS)
        if table.ndim > 2:
            raise ValueError(f"data of shape {table.shape}: allowed is one table (n, n)")
        return subset_sums(table, 1 / self.scale)

    def _release_loss(self) -> tuple[float, float]:
        return self._ranking_loss()

    def _ranking_loss(self) -> tuple[float, float]:
        """By enumeration for a number of people; many who agree come near the upper end.

        Renaming items leaves the mechanism alone, so the old ranking of the one person who changes
        may be the first of the list; the others form a multiset of rankings.
        """
        n, users = self.unit.n_items, self.unit.users
        if users is None:
            return (self.unit.l1("leads") / self.scale,) * 2
        size = factorial(check.integer("n_items", n, 2, MAX_LISTED))
        if self.unit.relation != "replace" or comb(users + size - 2, users - 1) > MAX_PROFILES:
            raise ValueError(
                f"users = {users!r}, relation = {self.unit.relation!r}: allowed are None, for any "
                f"number of people, or 'replace' and at most {MAX_PROFILES} profiles"
            )
        places = all_rankings(n)
        distance = ranking_costs((places[:, :, None] < places[:, None, :]).astype(float))
        chosen = combinations_with_replacement(range(size), users - 1)
        worst = 0.0
        while profiles := list(islice(chosen, max(1, LOGS_AT_ONCE // size**2))):
            held = np.zeros((len(profiles), size))
            rows = np.repeat(np.arange(len(profiles)), users - 1)
            np.add.at(held, (rows, np.array(profiles, dtype=int).ravel()), 1.0)
            # Middle axis: the ranking of the person who changes.
            logs = -((held @ distance)[:, None, :] + distance) / self.scale
            logs -= logsumexp(logs, axis=-1, keepdims=True)
            worst = max(worst, float(np.abs(logs - logs[:, :1]).max()))
        return worst, worst


@dataclass(frozen=True)
class Subsets:
    """For every set of items, coded as bits: sums over its orders."""

    rate: float
    behind: Array  # [set, i]: people who would rather see an item of the set before i
    log_sum: Array  # [set]: log of the sum of exp(-rate * cost inside the set) over its orders
    layers: list[Ints]  # the sets by size

    def first(self, sets: Ints) -> Array:
        """P(item i leads the order of the set), shape (sets, items)."""
        inside, rest = _without(sets, self.behind.shape[1])
        logs = self.log_sum[rest] - self.rate * self.behind[sets] - self.log_sum[sets][:, None]
        return np.where(inside, np.exp(np.where(inside, logs, 0.0)), 0.0)


def _without(sets: Ints, n: int) -> tuple[NDArray[np.bool_], Ints]:
    """Whether each set holds each item, and the set without it, shape (sets, items)."""
    bits = 1 << np.arange(n)
    inside = (sets[:, None] & bits) != 0
    return inside, sets[:, None] ^ np.where(inside, bits, 0)


def subset_sums(table: Array, rate: float) -> Subsets:
    """All sums for the cost ``table[j, i]`` of every pair that has i before j.

    The sum of the weights over the orders of a set splits by the item that comes first: 2^n sets
    replace n! orders.
    """
    n = len(table)
    behind = np.zeros((1, n))
    size = np.zeros(1, dtype=np.int64)
    for j in range(n):  # sets with item j repeat those without it
        behind = np.concatenate([behind, behind + table[j]])
        size = np.concatenate([size, size + 1])
    layers = [np.flatnonzero(size == k) for k in range(n + 1)]
    log_sum = np.zeros(2**n)
    for layer in layers[1:]:
        inside, rest = _without(layer, n)
        logs = np.where(inside, log_sum[rest] - rate * behind[layer], -np.inf)
        top = logs.max(axis=1)
        log_sum[layer] = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    return Subsets(rate, behind, log_sum, layers)
