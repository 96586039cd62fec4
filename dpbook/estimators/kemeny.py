"""Kemeny rankings, of smallest total distance: exact, with a certificate; and by local search."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, sparse
from scipy.sparse import csgraph

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.estimators.orders import borda_ranking
from dpbook.estimators.pairwise import kemeny_score
from dpbook.models.rankings import all_rankings

MAX_LISTED = 7  # most items whose rankings are all compared
_SUBSETS = 12  # most items of a component whose subsets are listed
_BLOCK = 512  # tables compared with all rankings at once
_VIOLATED = 1e-6  # a row counts as violated, or a variable as fractional, beyond this


@dataclass(frozen=True, eq=False)
class KemenyFit:
    """A ranking of small total distance and what is known about the smallest one."""

    positions: Ints  # the best ranking found, shape (n,)
    cost: float  # its total distance, in the units of the counts
    lower: float  # a lower bound on that of any ranking
    optimal: bool  # whether cost and lower agree


def kemeny_fit(counts: ArrayLike, *, time_limit: float | None = None) -> KemenyFit:
    """Find the ranking with the fewest disagreements, by linear programs and branching.

    The variable x_ab, a < b, says that a comes before b; 0 <= x_ab + x_bc - x_ac <= 1 excludes
    cycles. Only rows that a solution violates are added; then variables are fixed one by one.
    Rankings come by local search from rounded solutions. No bound is taken from the solver: each is
    computed from dual variables, which may be any; for whole counts in whole numbers, so that it is
    exact. It takes the place of AGKM's approximation scheme, which has no practical form.

    Entry [i, j] of ``counts``, (n, n), says how many users place i before j; noisy counts will do.
    After ``time_limit`` seconds the best ranking and bound so far are returned.

    Examples
    --------
    >>> fit = kemeny_fit([[0, 5, 4], [2, 0, 6], [3, 1, 0]])
    >>> fit.positions, fit.cost == fit.lower  # places of the items; the bound proves them best
    (array([0, 1, 2]), True)
    """
    table = check.square_table("counts", counts)
    if np.abs(table).sum() > check.MOST_COUNT and (table == np.rint(table)).all():
        raise ValueError("counts adds up to more than 2**53: allowed is less, or no bound is exact")
    seconds = np.inf if time_limit is None else check.positive("time_limit", time_limit)
    end = time.monotonic() + seconds
    search = _Search(table)
    x = np.where(search.price > 0, 0.0, 1.0)
    search.offer(x)
    search.bound_components()
    while not search.optimal and search.add_violated(x):
        found = search.solve(end)
        if found is None:
            break
        x = found[0]
        search.lower = max(search.lower, found[1])
        search.offer(x)
    else:
        search.branch(x, end)
    # Rounding of sums may put the bound a hair above the cost.
    return KemenyFit(search.positions, search.cost, min(search.lower, search.cost), search.optimal)


def ranking_costs(tables: Array) -> Array:
    """Total weight of the pairs that each of ``all_rankings(n)`` contradicts, shape (..., n!)."""
    n = tables.shape[-1]
    ranks = all_rankings(n)
    behind = (ranks[:, :, None] > ranks[:, None, :]).reshape(len(ranks), -1)
    return np.asarray(tables.reshape(*tables.shape[:-2], n * n) @ behind.T.astype(float))


def kemeny_rankings(tables: Array, *, rng: np.random.Generator) -> Ints:
    """Kemeny rankings of a stack of noisy tables, shape (runs, n); ties at random up to 7 items."""
    n = tables.shape[-1]
    if n > MAX_LISTED:
        return np.array([kemeny_fit(table).positions for table in tables], dtype=np.int64)
    ranks, found = all_rankings(n), []
    for part in np.split(tables, range(_BLOCK, len(tables), _BLOCK)):
        cost = ranking_costs(part)
        # Costs of tied rankings may differ by rounding.
        tied = cost <= cost.min(axis=1, keepdims=True) + 1e-9
        found.append(ranks[np.argmax(tied * (1 + rng.random(cost.shape)), axis=1)])
    return np.concatenate(found)


def local_search_ranking(counts: ArrayLike, start: ArrayLike) -> Ints:
    """Move one item at a time to a better place, the best such move first, until none helps.

    Counts, (n, n), as for `kemeny_fit`; ``start`` and the result are positions, (n,).
    """
    table = check.square_table("counts", counts)
    ranks = check.rankings("start", start)
    check.shaped("start", ranks, ranks.shape == table.shape[:1], f"({len(table)},)")
    order, n = np.argsort(ranks), len(table)
    # A float table may promise a gain that is only rounding.
    least = 1e-12 * n * np.abs(table).max()
    gains, rows = np.zeros((n, n + 1)), np.arange(n)
    while True:
        listed = table[order][:, order]
        # Entry [p, k]: the sum over places r < k of what is won when the item of place p passes
        # from behind r to before it; a move to the gap k wins entry [p, p] less entry [p, k].
        np.cumsum(listed - listed.T, axis=1, out=gains[:, 1:])
        won = gains[rows, rows][:, None] - gains
        p, gap = np.unravel_index(np.argmax(won), won.shape)
        if won[p, gap] <= least:
            break
        moved = order.tolist()
        moved.insert(int(gap if gap <= p else gap - 1), moved.pop(int(p)))
        order = np.array(moved)
    return np.argsort(order)


class _Search:
    """The program with the rows so far, the best ranking, and the best bound."""

    def __init__(self, table: Array) -> None:
        n = len(table)
        self.table = table
        self.first, self.second = np.triu_indices(n, 1)
        above, below = table[self.first, self.second], table[self.second, self.first]
        self.base = float(above.sum())  # the cost of x is base + price @ x
        self.price = below - above
        whole = bool((table == np.rint(table)).all()) and np.abs(table).sum() < 2.0**30
        self.step = 1.0 if whole else 0.0
        self.slack = 1e-9 * max(float(np.abs(self.price).sum()), np.finfo(float).tiny)
        self.triangles = _triangles(n)
        self.rows = np.empty((0, 3), dtype=np.int64)
        self.used = np.zeros((2, len(self.triangles)), dtype=bool)
        self.signs = np.empty(0)  # +1: x_ab + x_bc - x_ac <= 1; -1: its negative <= 0
        self.lower = self.base + float(np.minimum(self.price, 0).sum())
        self.positions, self.cost = borda_ranking(table), np.inf

    @property
    def optimal(self) -> bool:
        return self.cost - self.lower <= self.slack

    def offer(self, x: Array) -> None:
        """Turn a solution, perhaps fractional, into a ranking, and improve that."""
        if self.optimal:
            return
        ahead = np.zeros_like(self.table)
        ahead[self.first, self.second] = x
        ahead[self.second, self.first] = 1 - x
        better = local_search_ranking(self.table, borda_ranking(ahead))
        cost = float(kemeny_score(better, self.table))
        if cost < self.cost:
            self.positions, self.cost = better, cost

    def bound_components(self) -> None:
        """Raise the bound to the least cost, where a few items are tied up in cycles of majorities.

        And where one ranking only has that cost: which of several is found depends on the program.
        """
        parts = [] if self.optimal else _components(self.table)
        if max(map(len, parts), default=0) > _SUBSETS:
            return
        extra = 0.0
        for part in (part for part in parts if len(part) > 1):
            table = self.table[np.ix_(part, part)]
            cost, alone = _least_cost(table, self.slack)
            if not alone:
                return
            extra += cost - float(np.triu(np.minimum(table, table.T), 1).sum())
        self.lower = max(self.lower, self.base + float(np.minimum(self.price, 0).sum()) + extra)

    def add_violated(self, x: Array) -> bool:
        """Add the rows that x violates; False if there are none, or none that are new."""
        values = x[self.triangles]
        sums = values[:, 0] + values[:, 1] - values[:, 2]
        high, low = sums > 1 + _VIOLATED, sums < -_VIOLATED
        high &= ~self.used[0]  # a solver that violates what it was given gets it but once
        low &= ~self.used[1]
        self.used |= [high, low]
        if not (high.any() or low.any()):
            return False
        self.rows = np.concatenate([self.rows, self.triangles[high], self.triangles[low]])
        self.signs = np.concatenate([self.signs, np.ones(high.sum()), -np.ones(low.sum())])
        return True

    def branch(self, x: Array, end: float) -> None:
        """Fix variables to 0 or 1, the part with the lowest bound first, until no part is better.

        Every ranking is in one of the open parts, or costs no less than the best one found, so the
        lowest of their bounds is one for all.
        """
        low, high = np.zeros(self.price.size), np.ones(self.price.size)
        parts = [(self.lower, 0, low, high, x)]
        for number in itertools.count(1):
            if self.optimal or not parts:
                break
            _, _, low, high, x = heapq.heappop(parts)
            if (low == high).all():  # one ranking, and the solver did not say so
                break
            # The first of those that are as near to 1/2 but for what the solver leaves.
            apart = np.abs(x - 0.5).round(6) + 2.0 * (low == high)
            middle = int(np.argmin(apart))
            for side in (0.0, 1.0):
                ends = low.copy(), high.copy()
                ends[0][middle] = ends[1][middle] = side
                if self._cyclic(*ends):  # no ranking has these variables so
                    continue
                found = self.solve(end, *ends)
                while found is not None and self.add_violated(found[0]):
                    found = self.solve(end, *ends)
                if found is None:
                    return
                self.offer(found[0])
                heapq.heappush(parts, (found[1], 2 * number + int(side), *ends, found[0]))
            least = parts[0][0] if parts else np.inf
            self.lower = max(self.lower, min(least, self.cost))

    def _cyclic(self, low: Array, high: Array) -> bool:
        """Whether the fixed variables place an item before itself."""
        n, ahead, behind = len(self.table), low == 1, high == 0
        start = np.concatenate([self.first[ahead], self.second[behind]])
        stop = np.concatenate([self.second[ahead], self.first[behind]])
        ends = start.astype(np.int32), stop.astype(np.int32)  # others csgraph cannot read
        edges = sparse.csr_array((np.ones(len(start)), ends), shape=(n, n))
        return bool(csgraph.connected_components(edges, connection="strong")[0] < n)

    def solve(
        self, end: float, low: Array | float = 0.0, high: Array | float = 1.0
    ) -> tuple[Array, float] | None:
        """Solve the program with the rows so far; and a bound, whatever the solver did."""
        seconds = end - time.monotonic()
        if seconds <= 0:
            return None
        count = len(self.rows)
        entries = (self.signs[:, None] * np.array([1.0, 1.0, -1.0])).ravel()
        # Older SciPy hands the indices to HiGHS as they are, and HiGHS reads 32 bits.
        row = np.repeat(np.arange(count, dtype=np.int32), 3)
        ranks = row, self.rows.ravel().astype(np.int32)
        matrix = sparse.csr_array((entries, ranks), shape=(count, self.price.size))
        right = (self.signs > 0).astype(float)
        # A plain dict: the stubs know neither the sparse matrix nor these options by name.
        options: dict[str, Any] = {"time_limit": max(seconds, 1e-3)} if seconds < np.inf else {}
        bounds = np.stack(np.broadcast_arrays(low, high, self.price)[:2], axis=1)
        program: dict[str, Any] = {"A_ub": matrix, "b_ub": right, "bounds": bounds}
        program |= {"method": "highs-ds", "options": options}
        found = optimize.linprog(self.price, **program)
        if found.status != 0:
            return None
        return np.asarray(found.x), self._bound(matrix, right, bounds, found.ineqlin.marginals)

    def _bound(self, matrix: Any, right: Array, bounds: Array, marginals: Array) -> float:
        """A bound by any dual <= 0: rows priced by it, each x at its better end.

        With whole counts the dual is rounded to multiples of a power of two, and all that follows
        is computed in whole numbers; where these may exceed 2^53 there is no bound.
        """
        unit = 2.0**20 if self.step else 1.0
        dual = np.minimum(marginals, 0)
        dual = np.rint(unit * dual) if self.step else dual
        # A row is in three columns and has one right side: so large is what is added up below.
        if self.step and not unit * np.abs(self.price).sum() + 4 * np.abs(dual).sum() < 2.0**53:
            return -np.inf
        reduced = unit * self.price - matrix.T @ dual
        total = dual @ right + np.minimum(reduced * bounds[:, 0], reduced * bounds[:, 1]).sum()
        bound = self.base + float(total) / unit
        return float(np.ceil(bound)) if self.step else bound


def _components(table: Array) -> list[Ints]:
    """Items with a cycle of majorities through them, or alone; no cycle, so no cost, is between."""
    n = len(table)
    reach = (table >= table.T).astype(float)  # ties go both ways
    for _ in range(int(n).bit_length()):
        reach = np.minimum(reach @ reach, 1.0)
    label = np.argmax(reach * reach.T > 0, axis=1)
    return [np.flatnonzero(label == first) for first in np.unique(label)]


@lru_cache(maxsize=16)
def _subsets(n: int) -> tuple[tuple[Ints, Ints], ...]:
    """For each size, the sets of that many of n items, and those with an item less, by item."""
    sets = np.arange(2**n)
    bits = (sets[:, None] >> np.arange(n)) & 1
    # Without an item that is not in the set it is the set itself, which has no cost yet.
    less, size = sets[:, None] - bits * 2 ** np.arange(n), bits.sum(axis=1)
    return tuple((sets[size == k], less[size == k]) for k in range(1, n + 1))


def _least_cost(table: Array, slack: float) -> tuple[float, bool]:
    """The cost of the best ranking, by the sets of items that can come first; if it is alone."""
    n = len(table)
    behind = np.zeros((1, n))  # entry [set, i]: cost of item i after the items of the set
    for j in range(n):
        behind = np.concatenate([behind, behind + table[:, j]])
    cost, ways = np.full(2**n, np.inf), np.ones(2**n)
    cost[0] = 0.0
    for members, less in _subsets(n):
        ends = cost[less] + behind[less, np.arange(n)]
        cost[members] = ends.min(axis=1)
        near = ends <= cost[members, None] + slack
        ways[members] = (ways[less] * near).sum(axis=1)
    return float(cost[-1]), bool(ways[-1] == 1)


@lru_cache(maxsize=8)
def _triangles(n: int) -> Ints:
    """Variables x_ab, x_bc and x_ac of every triple a < b < c, shape (triples, 3)."""
    index = np.zeros((n, n), dtype=np.int64)
    index[np.triu_indices(n, 1)] = np.arange(n * (n - 1) // 2)
    triples = np.array(list(itertools.combinations(range(n), 3)), dtype=np.int64).reshape(-1, 3)
    a, b, c = triples.T
    return np.stack([index[a, b], index[b, c], index[a, c]], axis=1)
