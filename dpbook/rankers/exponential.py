"""Exponential mechanism over whole rankings, with the Kemeny score.

The chance of an order is a product over its pairs, so the sum over all orders of a set of items
obeys a recursion over its subsets: an exact sampler and expectations without n! rankings.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.estimators.kemeny import MAX_LISTED, ranking_costs
from dpbook.mechanisms import exponential_pmf
from dpbook.models.rankings import all_rankings
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.base import Size
from dpbook.rankers.pairs import OfRankings

MAX_ITEMS = 16  # time and memory grow as n 2^n
MAX_PROFILES = 100_000


@dataclass(frozen=True)
class ExponentialRanking(OfRankings):
    """One draw among all rankings: chances proportional to exp(-total Kendall distance / scale).

    Notes
    -----
    McSherry and Talwar 2007; for rankings Hay, Elagina and Miklau 2017, and AGKM, Table 1.
    **Privacy.** At the scale of `private`, (epsilon, 0)-DP. One ranking replaced moves a cost by
    at most n (n - 1) / 2, up for the old ranking and down for its reverse: the factor 2 in the
    exponent is needed for many people. One ranking more moves all costs the same way.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> ExponentialRanking.private(1.5, WholeRanking(3)).loss()
    (1.5, 1.5)
    >>> alone = ExponentialRanking.private(1.5, WholeRanking(3, users=1))
    >>> round(alone.loss()[1], 9)  # half is not used
    0.75
    """

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking) -> ExponentialRanking:
        """The least scale that is epsilon-DP for any number of people."""
        return cls(unit, unit.l1("margins") / check.epsilon(epsilon))

    def publish(self, data: ArrayLike, size: Size = (), *, rng: np.random.Generator) -> Ints:
        """The rankings drawn from one table (n, n), positions (size..., n), for up to 16 items."""
        first, _, _ = self._sets(self._counts(data, whole=True))
        shape = *self._sides(data, size), self.unit.n_items
        uniform = check.generator(rng).random(shape).reshape(-1, shape[-1])
        left = np.full(len(uniform), len(first) - 1)
        positions = np.empty(uniform.shape, dtype=np.int64)
        for place, drawn in enumerate(uniform.T):
            reached = np.cumsum(first[left], axis=1)
            item = np.argmax(drawn[:, None] * reached[:, -1:] < reached, axis=1)
            positions[np.arange(len(left)), item] = place
            left ^= 1 << item
        return positions.reshape(shape)

    def rank(self, released: Ints, *, rng: np.random.Generator) -> Ints:
        """What is released is a ranking."""
        return released

    def pmf(self, data: ArrayLike) -> Array:
        """Exact law over ``all_rankings(n)`` of up to 7 items; counts need not be whole."""
        check.integer("n_items", self.unit.n_items, 2, MAX_LISTED)
        return exponential_pmf(-ranking_costs(self._counts(data)), 1.0, 2 / self.scale)

    def expected_cost(self, data: ArrayLike) -> float:
        """Exact expectation of the total Kendall distance, for up to 16 items."""
        first, behind, layers = self._sets(self._counts(data))
        cost = np.zeros(len(first))
        for layer, rest in layers:
            cost[layer] = (first[layer] * (behind[layer] + cost[rest])).sum(axis=1)
        return float(cost[-1])

    def _sets(self, table: Array) -> tuple[Array, Array, list[tuple[Ints, Ints]]]:
        """For sets coded as bits, [set, i]: P(item i leads the set); people who put others of it
        before i; and the sets by size, with the sets without item i.

        The sum of the weights over the orders of a set splits by the item that comes first.
        """
        n = check.integer("n_items", self.unit.n_items, 2, MAX_ITEMS)
        if table.ndim > 2:
            raise ValueError(f"data of shape {table.shape}: allowed is one table (n, n)")
        bits, rate = 1 << np.arange(n), 1 / self.scale
        inside = (np.arange(2**n)[:, None] & bits) != 0
        behind, size = inside.astype(float) @ table, inside.sum(axis=1)
        by_size = [np.flatnonzero(size == k) for k in range(1, n + 1)]
        layers = [(layer, layer[:, None] ^ bits) for layer in by_size]
        log_sum, first = np.zeros(2**n), np.zeros((2**n, n))
        for layer, rest in layers:
            logs = np.where(inside[layer], log_sum[rest] - rate * behind[layer], -np.inf)
            top = logs.max(axis=1, keepdims=True)
            weights = np.exp(logs - top)
            total = weights.sum(axis=1, keepdims=True)
            log_sum[layer], first[layer] = (top + np.log(total))[:, 0], weights / total
        return first, behind, layers

    def _release_loss(self) -> tuple[float, float]:
        """By enumeration for a number of people; many who agree come near the upper end.

        The old ranking of the one who changes may be the first: renaming items changes nothing.
        """
        n, users = self.unit.n_items, self.unit.users
        if users is None:
            return super()._release_loss()
        size = factorial(check.integer("n_items", n, 2, MAX_LISTED))
        if self.unit.relation != "replace" or comb(users + size - 2, users - 1) > MAX_PROFILES:
            raise ValueError(
                f"users = {users!r}, relation = {self.unit.relation!r}: allowed are None, for any "
                f"number of people, or 'replace' and at most {MAX_PROFILES} profiles"
            )
        ranks = all_rankings(n)
        distance = ranking_costs((ranks[:, :, None] < ranks[:, None, :]).astype(float))
        chosen = combinations_with_replacement(range(size), users - 1)
        worst = 0.0
        while profiles := list(islice(chosen, max(1, 2**20 // size**2))):
            others = distance[np.array(profiles, dtype=int)].sum(axis=1)
            logs = -(others[:, None, :] + distance) / self.scale  # [profile, who changes, ranking]
            logs -= logsumexp(logs, axis=-1, keepdims=True)
            worst = max(worst, float(np.abs(logs - logs[:, :1]).max()))
        return worst, worst

    _ranking_loss = _release_loss
