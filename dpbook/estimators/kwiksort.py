"""KwikSort: quicksort by majority votes, its comparisons, and the exact distributions of both.

These are sums of products of positive terms: small probabilities are relatively accurate too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.models.pairs import probabilities
from dpbook.models.rankings import all_rankings

_FEW = 8  # up to this many runs, one after the other is faster
_ENUMERATED = 8  # most items whose rankings are listed
_SUBSETS = 16  # most items whose subsets are listed


def kwiksort_rankings(
    counts: ArrayLike, size: int | None = None, *, rng: np.random.Generator
) -> Ints:
    """Rank by quicksort: a random pivot, on its left the items that a majority puts before it.

    `size` independent runs on each of the tables ``counts``, (..., n, n), whose entry [i, j] says
    how many users place i before j; fractions and noisy counts will do. Pivots are uniform, and a
    fair coin decides each compared pair that is tied. Positions, (..., size, n); without a size one
    run, and no axis for it. Ailon, Charikar and Newman (2008), as used by AGKM (Concrete bounds)
    and YLL (section 2.1).
    """
    table = check.square_tables("counts", counts)
    margin = table - np.swapaxes(table, -1, -2)
    runs = 1 if size is None else check.integer("size", size, 1)
    check.generator(rng)
    n = margin.shape[-1]
    stack = margin.reshape(-1, n, n)
    total = len(stack) * runs
    shape = (*margin.shape[:-2], *(() if size is None else (runs,)), n)
    if total <= _FEW:
        few = [_sorted(lead, rng) for lead in stack for _ in range(runs)]
        return np.array(few).reshape(shape)
    data = np.repeat(np.arange(len(stack)), runs)
    # One random order of the items serves a run: a part's pivot is its first member, a uniform one.
    pivots = np.argsort(rng.random((total, n)), axis=1)
    tied = (stack[:, ~np.eye(n, dtype=bool)] == 0).any()

    def before(pivot: Ints, part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        lead = stack[data, pivot]  # by how much the pivot is ahead
        left = lead < 0
        if tied:
            left |= (lead == 0) & (rng.random((total, n)) < 0.5)
        return left & part

    return partition_runs(pivots, before).reshape(shape)


def counted_kwiksorts(ahead: NDArray[np.bool_], *, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """KwikSort on tournaments, shape (runs, n, n): positions, and the comparisons made."""
    runs, n = ahead.shape[:2]
    rows = np.arange(runs)
    made = np.zeros(runs, dtype=np.int64)

    def before(pivot: Ints, part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        np.add(made, part.sum(axis=1), out=made)
        return part & ~ahead[rows, pivot]

    return partition_runs(np.argsort(rng.random((runs, n)), axis=1), before), made


def partition_runs(
    pivots: Ints, before: Callable[[Ints, NDArray[np.bool_]], NDArray[np.bool_]]
) -> Ints:
    """Positions of many runs, each with its order of pivots, that split the parts they are in.

    ``before(pivot, part)``, with one pivot for each run and the others of its part marked, says
    which of these go before the pivot.
    """
    total, n = pivots.shape
    start = np.zeros((total, n), dtype=np.int64)  # first place of the part an item is in
    rows = np.arange(total)
    for pivot in pivots.T:
        begin = start[rows, pivot][:, None]
        part = start == begin
        part[rows, pivot] = False
        left = before(pivot, part)
        place = begin + left.sum(axis=1, keepdims=True)
        np.copyto(start, place + 1, where=part & ~left)
        start[rows, pivot] = place[:, 0]
    return start


def _sorted(margin: NDArray[Any], rng: np.random.Generator) -> Ints:
    """The positions of one run, part by part."""
    n = len(margin)
    ahead = margin > 0
    tied = np.triu(margin == 0, 1)
    if tied.any():
        coin = tied & (rng.random((n, n)) < 0.5)
        ahead |= coin | (tied & ~coin).T
    wins = ahead.tolist()
    placed: list[int] = []
    # A part of a shuffled list is a shuffled list, so its first member is a uniform pivot.
    parts = [rng.permutation(n).tolist()]
    while parts:
        part = parts.pop()
        if len(part) < 2:
            placed += part
            continue
        pivot, *others = part
        loses = wins[pivot]
        parts.append([item for item in others if loses[item]])
        parts.append([pivot])
        parts.append([item for item in others if not loses[item]])
    positions = np.empty(n, dtype=np.int64)
    positions[placed] = np.arange(n)
    return positions


def kwiksort_pmf(preference: ArrayLike) -> Array:
    """Exact distribution of the ranking when each comparison is decided at random, independently.

    Entry [i, j] of ``preference``, (..., n, n), is the probability that i is placed before j when
    the two are compared, off the diagonal; n is from 2 to 8. No pair is compared twice: so are
    majority votes, a tie being 1/2, with fresh noise or none. The distribution is one over
    ``all_rankings(n)``, (..., n!).
    """
    return _distribution(_preference(preference), counted=False)[..., 0]


def kwiksort_cost_pmf(preference: ArrayLike) -> Array:
    """Joint law of `kwiksort_pmf` and the number of comparisons, (..., n!, n (n - 1)/2 + 1)."""
    return _distribution(_preference(preference), counted=True)


def _distribution(table: Array, counted: bool) -> Array:
    """Distribution of every ranking, as polynomials in a variable that counts comparisons, or at 1.

    A stretch of the order of the result comes about with the average, over its pivots, of the
    probability that all others fall on their sides, times those of the two stretches left.
    """
    n = table.shape[-1]
    orders = np.argsort(all_rankings(n), axis=1)
    keeps = table[..., orders[:, :, None], orders[:, None, :]]
    pmf: dict[tuple[int, int], Array] = {}
    for width in range(n + 1):
        made, terms = (width - 1, comb(width, 2) + 1) if counted else (0, 1)
        for a in range(n + 1 - width):
            b = a + width
            total = np.zeros((*keeps.shape[:-2], terms))
            for k in range(a, b) if width > 1 else ():
                sides = keeps[..., a:k, k].prod(axis=-1) * keeps[..., k, k + 1 : b].prod(axis=-1)
                left, right = pmf[a, k], pmf[k + 1, b]
                for c in range(left.shape[-1]):
                    part = total[..., made + c : made + c + right.shape[-1]]
                    part += (sides * left[..., c])[..., None] * right
            pmf[a, b] = total / width if width > 1 else np.ones_like(total)
    return pmf[0, n]


def comparisons_pmf(n_items: int) -> Array:
    """Exact distribution of the comparisons made, for 1 to 120 items whose majority has no cycle.

    Entry c, up to n (n - 1) / 2, is the probability of c comparisons. C_n = n - 1 + C_k +
    C'_{n-1-k} with k uniform on 0..n-1.
    """
    return _comparisons(check.integer("n_items", n_items, 1, 120)).copy()


def comparisons_pmf_tournament(wins: ArrayLike) -> Array:
    """`comparisons_pmf` for any outcome of the majority votes on 1 to 16 items.

    Entry [i, j] of ``wins``, booleans (n, n), says that i is placed before j when compared; exactly
    one of [i, j] and [j, i] is true.
    """
    beats = check.real_array("wins", wins)
    n = len(beats) if beats.ndim else 0
    fit = beats.shape == (n, n) and 1 <= n <= _SUBSETS
    check.shaped("wins", beats, fit, f"(n, n), n from 1 to {_SUBSETS}")
    mirrored = (beats == beats.T) != np.eye(n, dtype=bool)
    if beats.dtype != bool or mirrored.any() or np.diagonal(beats).any():
        raise ValueError("wins is no tournament: allowed is one of [i, j] and [j, i] true, i != j")
    losers = [sum(1 << j for j in range(n) if beats[i, j]) for i in range(n)]
    known: dict[int, Array] = {0: np.ones(1)}  # by the sets that can arise

    def pmf(members: int) -> Array:
        if members not in known:
            size = members.bit_count()
            total = np.zeros(comb(size, 2) + 1)
            for pivot in range(n):
                if members >> pivot & 1:
                    after = members & losers[pivot]
                    part = np.convolve(pmf(after), pmf(members & ~after & ~(1 << pivot)))
                    total[size - 1 : size - 1 + part.size] += part
            known[members] = total / size
        return known[members]

    return pmf(2**n - 1).copy()


@cache
def _comparisons(n: int) -> Array:
    if n < 2:
        return np.ones(1)
    total = np.zeros(comb(n, 2) + 1)
    for k in range((n + 1) // 2):  # k and n - 1 - k alike
        part = np.convolve(_comparisons(n - 1 - k), _comparisons(k))
        total[n - 1 : n - 1 + part.size] += part * (1 if 2 * k == n - 1 else 2)
    return total / n


def _preference(preference: ArrayLike) -> Array:
    table = check.square_tables("preference", preference)
    n = table.shape[-1]
    check.shaped("preference", table, n <= _ENUMERATED, f"(..., n, n), n from 2 to {_ENUMERATED}")
    return probabilities("preference", np.where(np.eye(n, dtype=bool), 0.5, table))
