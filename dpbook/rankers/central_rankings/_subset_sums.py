"""Sums over all orders of every set of items, for laws that are products over pairs.

If an order has the weight ``exp(-rate * cost)`` and its cost is a sum over pairs, the sum of the
weights over the orders of a set splits by the item that comes first. 2^m sets replace m! orders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Subsets:
    """For every set of items, coded as bits: sums over its orders."""

    rate: float
    behind: Array  # [set, i]: users who would rather see an item of the set before i
    log_sum: Array  # [set]: log of the sum of exp(-rate * cost inside the set) over its orders
    layers: list[Ints]  # the sets by size

    def first(self, sets: Ints) -> Array:
        """P(item i leads the order of the set), shape (sets, items)."""
        bits = 1 << np.arange(self.behind.shape[1])
        inside = (sets[:, None] & bits) != 0
        rest = self.log_sum[sets[:, None] ^ np.where(inside, bits, 0)]
        logs = rest - self.rate * self.behind[sets] - self.log_sum[sets][:, None]
        return np.where(inside, np.exp(np.where(inside, logs, 0.0)), 0.0)


def subset_sums(table: Array, rate: float) -> Subsets:
    """All sums for the cost ``table[j, i]`` of every pair that has i before j."""
    n = len(table)
    behind = np.zeros((1, n))
    size = np.zeros(1, dtype=np.int64)
    for j in range(n):  # sets with item j repeat those without it
        behind = np.concatenate([behind, behind + table[j]])
        size = np.concatenate([size, size + 1])
    layers = [np.flatnonzero(size == k) for k in range(n + 1)]
    bits = 1 << np.arange(n)
    log_sum = np.zeros(2**n)
    for layer in layers[1:]:
        inside = (layer[:, None] & bits) != 0
        rest = log_sum[layer[:, None] ^ np.where(inside, bits, 0)]
        logs = np.where(inside, rest - rate * behind[layer], -np.inf)
        top = logs.max(axis=1)
        log_sum[layer] = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    return Subsets(rate, behind, log_sum, layers)
