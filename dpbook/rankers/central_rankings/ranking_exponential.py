"""Exponential mechanism and permute-and-flip over whole rankings, with the Kemeny score.

A ranking's cost is its total Kendall distance to the rankings of the users, users times the Kemeny
score. Replacing one user's ranking moves the cost of a ranking by at most P = m (m - 1) / 2, and
costs of different rankings can move by P in opposite directions: up for the old ranking and down
for its reverse. So the chance of a ranking is proportional to exp(-epsilon cost / (2 P)), and the
factor 2 cannot be saved for many users (the loss tends to epsilon).

The chance of an order is a product over its pairs, so the items may be placed from the best down:
the sum over all orders of a set of items obeys a recursion over its subsets. That gives an exact
sampler and exact expectations far beyond the m! rankings that can be listed.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, islice
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dpbook import _validation as check
from dpbook.mechanisms.selection import exponential_pmf, permute_and_flip_pmf
from dpbook.rankers.central_rankings._kwiksort_runs import (
    MAX_ITEMS,
    all_costs,
    all_orders,
    count_table,
    positions_of,
)
from dpbook.rankers.central_rankings._subset_sums import subset_sums

__all__ = [
    "exponential_ranking",
    "exponential_ranking_chain",
    "exponential_ranking_cost",
    "exponential_ranking_loss",
    "exponential_ranking_pmf",
    "permute_and_flip_ranking",
    "permute_and_flip_ranking_pmf",
    "ranking_costs",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ITEMS_SUBSETS = 16
MAX_PROFILES = 100_000
LOGS_AT_ONCE = 2**20  # of the laws of many profiles, held together


def ranking_costs(counts: ArrayLike) -> Array:
    """Total Kendall distance of every ranking to the users' rankings.

    Parameters
    ----------
    counts : array of int, shape (m, m)
        Entry [i, j] is the number of users who place i before j; up to 7 items.

    Returns
    -------
    array, shape (m!,)
        In the order of `dpbook.models.all_rankings`.
    """
    return all_costs(count_table("counts", counts, max_items=MAX_ITEMS))


def exponential_ranking_pmf(counts: ArrayLike, epsilon: float) -> Array:
    """Exact law of the exponential mechanism over all rankings of up to 7 items.

    Parameters
    ----------
    counts : array of int, shape (m, m)
        Entry [i, j] is the number of users who place i before j.
    epsilon : float
        Privacy parameter in nats, above 0.

    Returns
    -------
    array, shape (m!,)
        In the order of `dpbook.models.all_rankings`.

    Notes
    -----
    **Privacy.** (epsilon, 0)-DP for the replacement of one ranking. Source: McSherry and Talwar
    2007; used for rankings by Hay, Elagina and Miklau 2017, and in AGKM, Table 1.
    """
    return exponential_pmf(-ranking_costs(counts), comb(len(np.asarray(counts)), 2), epsilon)


def permute_and_flip_ranking_pmf(counts: ArrayLike, epsilon: float) -> Array:
    """Exact law of permute-and-flip over all rankings of up to 7 items.

    Parameters and result as for `exponential_ranking_pmf`. (epsilon, 0)-DP as well, and its
    expected cost is never larger (McKenna and Sheldon 2020, Theorem 2).
    """
    return permute_and_flip_pmf(-ranking_costs(counts), comb(len(np.asarray(counts)), 2), epsilon)


def permute_and_flip_ranking(
    counts: ArrayLike, epsilon: float, *, size: int | None = None, rng: np.random.Generator
) -> Ints:
    """Draw rankings of up to 7 items by permute-and-flip.

    Parameters
    ----------
    counts, epsilon
        As for `permute_and_flip_ranking_pmf`, the exact twin.
    size, rng
        As for `exponential_ranking`.

    Returns
    -------
    array of int, shape (m,) or (size, m)
        Positions.

    Notes
    -----
    **Privacy.** (epsilon, 0)-DP for one draw.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    law = permute_and_flip_ranking_pmf(counts, epsilon)
    places = positions_of(all_orders(len(np.asarray(counts))))
    return places[check.generator(rng).choice(law.size, size=size, p=law / law.sum())]


def exponential_ranking(
    counts: ArrayLike, epsilon: float, *, size: int | None = None, rng: np.random.Generator
) -> Ints:
    """Draw rankings of up to 16 items by the exponential mechanism, exactly.

    Parameters
    ----------
    counts, epsilon
        As for `exponential_ranking_pmf`, the exact twin up to 7 items.
    size : int, optional
        Number of independent draws; one, and no axis for it, if omitted.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (m,) or (size, m)
        Positions.

    Raises
    ------
    ValueError
        If there are more than 16 items: time and memory grow as m 2^m.

    Notes
    -----
    **Privacy.** (epsilon, 0)-DP for one draw.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table, rate = _arguments(counts, epsilon, MAX_ITEMS_SUBSETS)
    runs = 1 if size is None else check.integer("size", size, 1)
    subsets = subset_sums(table, rate)
    n = len(table)
    left = np.full(runs, 2**n - 1)
    positions = np.empty((runs, n), dtype=np.int64)
    rows = np.arange(runs)
    for place in range(n):
        chance = subsets.first(left)
        reached = np.cumsum(chance, axis=1)
        uniform = check.generator(rng).random((runs, 1)) * reached[:, -1:]
        item = np.argmax(uniform < reached, axis=1)
        positions[rows, item] = place
        left ^= 1 << item
    return positions[0] if size is None else positions


def exponential_ranking_cost(counts: ArrayLike, epsilon: float) -> float:
    """Exact expected cost of the exponential mechanism, for up to 16 items.

    Parameters
    ----------
    counts, epsilon
        As for `exponential_ranking`.

    Returns
    -------
    float
        Expected total Kendall distance; divide by the number of users for the Kemeny score.
    """
    table, rate = _arguments(counts, epsilon, MAX_ITEMS_SUBSETS)
    subsets = subset_sums(table, rate)
    cost = np.zeros(2 ** len(table))
    bits = 1 << np.arange(len(table))
    for layer in subsets.layers[1:]:
        inside = (layer[:, None] & bits) != 0
        later = np.where(inside, cost[layer[:, None] ^ np.where(inside, bits, 0)], 0.0)
        cost[layer] = (subsets.first(layer) * (subsets.behind[layer] + later)).sum(axis=1)
    return float(cost[-1])


def exponential_ranking_chain(
    counts: ArrayLike, epsilon: float, *, steps: int, size: int, rng: np.random.Generator
) -> Ints:
    """Approximate draws of the exponential mechanism for any number of items, by a Markov chain.

    Parameters
    ----------
    counts, epsilon
        As for `exponential_ranking`, without a limit on the items.
    steps : int
        Steps of the chain, of the order of m^3 log m at least; each swaps two neighbours in the
        order, or refuses to (Metropolis).
    size : int
        Number of independent chains; each starts at a uniformly random ranking.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (size, m)
        Positions.

    Notes
    -----
    **Privacy.** None is proved. After finitely many steps the law is only close to that of the
    mechanism, and nothing here bounds how close.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table, rate = _arguments(counts, epsilon, None)
    runs, n = check.integer("size", size, 1), len(table)
    check.integer("steps", steps, 1)
    order = np.argsort(check.generator(rng).random((runs, n)), axis=1)
    rows = np.arange(runs)
    gain = -rate * (table - table.T)  # log-ratio for taking i in front of j apart
    for _ in range(steps):
        k = rng.integers(0, n - 1, size=runs)
        first, second = order[rows, k], order[rows, k + 1]
        swap = np.log(rng.random(runs)) < gain[first, second]
        order[rows, k] = np.where(swap, second, first)
        order[rows, k + 1] = np.where(swap, first, second)
    return positions_of(order)


def exponential_ranking_loss(n_items: int, users: int, epsilon: float) -> float:
    """Exact worst loss of the exponential mechanism over all neighbouring profiles.

    Parameters
    ----------
    n_items : int
        Number of items m.
    users : int
        Number of users; with m limited to at most 100000 profiles of the other users.
    epsilon : float
        What the mechanism is set to; the loss is smaller, and tends to epsilon with more users.

    Returns
    -------
    float
        In nats. With one user it is epsilon / 2: the sum of the weights does not depend on the
        ranking, and the half of epsilon set aside for it is not used.

    Raises
    ------
    ValueError
        If there are too many profiles.

    Notes
    -----
    Renaming items leaves the mechanism alone, so the old ranking of the one user who changes may
    be the first of the list; the others form a multiset of rankings.
    """
    m = check.integer("n_items", n_items, 2, MAX_ITEMS)
    others = check.integer("users", users, 1) - 1
    rate = check.epsilon(epsilon) / (2 * comb(m, 2))
    orders = all_orders(m)
    if comb(others + len(orders) - 1, others) > MAX_PROFILES:
        raise ValueError(
            f"users = {users!r}: allowed are numbers with at most {MAX_PROFILES} profiles"
        )
    places = positions_of(orders)
    ahead = places[:, :, None] < places[:, None, :]
    distance = all_costs(ahead.astype(float))
    chosen = combinations_with_replacement(range(len(orders)), others)
    block = max(1, LOGS_AT_ONCE // len(orders) ** 2)
    worst = 0.0
    while profiles := list(islice(chosen, block)):
        held = np.zeros((len(profiles), len(orders)))
        rows = np.repeat(np.arange(len(profiles)), others)
        np.add.at(held, (rows, np.array(profiles, dtype=int).ravel()), 1.0)
        # Middle axis: the ranking of the user who changes.
        logs = -rate * ((held @ distance)[:, None, :] + distance)
        logs -= logsumexp(logs, axis=-1, keepdims=True)
        worst = max(worst, float(np.abs(logs - logs[:, :1]).max()))
    return worst


def _arguments(counts: ArrayLike, epsilon: float, limit: int | None) -> tuple[Array, float]:
    table = count_table("counts", counts, max_items=limit)
    return table, check.epsilon(epsilon) / (2 * comb(len(table), 2))
