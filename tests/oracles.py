"""Slow, independent references that several test files share."""

from __future__ import annotations

import math
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np


def all_places(n: int) -> np.ndarray:
    """Every ranking of n items as positions, in lexicographic order."""
    return np.array(list(permutations(range(n))))


def pair_table(places, n: int) -> np.ndarray:
    """How many of the rankings have i before j, by a loop."""
    table = np.zeros((n, n), dtype=int)
    for ranking in places:
        for i, j in permutations(range(n), 2):
            table[i, j] += ranking[i] < ranking[j]
    return table


def frequencies(positions) -> np.ndarray:
    """Shares of the rankings drawn, in lexicographic order of positions."""
    rows = np.asarray(positions)
    index = {tuple(row): r for r, row in enumerate(all_places(rows.shape[1]).tolist())}
    found = np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))
    return found / len(rows)


def close(drawn, law, size: int, deviations: float = 4.5) -> bool:
    """Whether every share is within so many standard deviations of its chance."""
    law = np.asarray(law)
    room = deviations * np.sqrt(law * (1 - law) / size) + 1e-9
    return bool((np.abs(np.asarray(drawn) - law) <= room).all())


def neighbouring_tables(n: int, users: int, relation: str = "replace"):
    """All pairs of tables that differ in one ranking replaced, or in one ranking more."""
    ahead = [pair_table([ranking], n) for ranking in all_places(n)]
    kept = users - 1 if relation == "replace" else users
    for others in combinations_with_replacement(ahead, kept):
        base = sum(others, np.zeros((n, n), dtype=int))
        if relation == "replace":
            yield from ((base + a, base + b) for a, b in permutations(ahead, 2))
        else:
            yield from ((base, base + a) for a in ahead)


def worst_log_ratio(law, pairs) -> float:
    """Largest log-ratio, in either direction, of a law on pairs of tables."""
    known: dict[bytes, np.ndarray] = {}

    def logs(table):
        key = np.asarray(table).tobytes()
        if key not in known:
            known[key] = np.log(law(table))
        return known[key]

    return max(float(np.abs(logs(a) - logs(b)).max()) for a, b in pairs)


def quicksort(items, ahead, pivots):
    """Order and comparisons, the pivot of a part being its first member in `pivots`."""
    if not items:
        return (), 0
    pivot = next(i for i in pivots if i in items)
    left = [i for i in items if i != pivot and ahead[i][pivot]]
    right = [i for i in items if i != pivot and not ahead[i][pivot]]
    (a, x), (b, y) = quicksort(left, ahead, pivots), quicksort(right, ahead, pivots)
    return (*a, pivot, *b), x + y + len(items) - 1


def kwiksort_law(preference) -> np.ndarray:
    """Joint law of KwikSort's ranking and comparisons: all tournaments times all pivots."""
    n = len(preference)
    pairs = list(combinations(range(n), 2))
    index = {tuple(row): r for r, row in enumerate(all_places(n).tolist())}
    law = np.zeros((len(index), len(pairs) + 1))
    for outcome in product((True, False), repeat=len(pairs)):
        ahead = np.zeros((n, n), dtype=bool)
        chance = 1.0
        for (i, j), first in zip(pairs, outcome, strict=True):
            ahead[i, j], ahead[j, i] = first, not first
            chance *= preference[i][j] if first else preference[j][i]
        for pivots in permutations(range(n)):
            order, made = quicksort(list(range(n)), ahead, pivots)
            law[index[tuple(np.argsort(order).tolist())], made] += chance / math.factorial(n)
    return law


def laplace_above(lead, scale: float) -> np.ndarray:
    """P(lead + Laplace noise > 0)."""
    x = np.asarray(lead) / scale
    return np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))
