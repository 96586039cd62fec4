"""What KwikSort loses on rankings: exact costs, and linear programs with rational certificates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpbook._typing import Ints

Wins = NDArray[np.bool_]


def tournaments(n: int) -> Wins:
    """One of each class of tournaments on n >= 2 items up to renaming, (classes, n, n).

    Each arises from one with an item less by adding an item with most wins.
    """
    if n == 2:
        return np.array([[[False, True], [False, False]]])
    orders, (i, j) = np.array(list(permutations(range(n))), dtype=np.intp), np.triu_indices(n, 1)
    found: dict[int, Wins] = {}
    for smaller, added in product(tournaments(n - 1), product((False, True), repeat=n - 1)):
        wins = np.zeros((n, n), dtype=bool)
        wins[:-1, :-1], wins[-1, :-1], wins[:-1, -1] = smaller, added, ~np.array(added)
        if wins[-1].sum() == wins.sum(axis=1).max():
            names = wins[orders[:, i], orders[:, j]] @ (1 << np.arange(i.size))
            found.setdefault(int(names.min()), wins)
    return np.array(list(found.values()))


def reversals(wins: Wins) -> Ints:
    """n! times the probability that KwikSort puts j before i although i wins, exactly, (n, n).

    The sizes of the parts on the way to one differ, so that the probability of reaching it, over
    its size, is a whole number of times 1/n!. A pivot separates what it puts before and after it.
    """
    n = len(wins)
    beaten = [sum(1 << j for j in range(n) if row[j]) for row in wins]
    reached, turned = [0] * 2**n, np.zeros((n, n), dtype=np.int64)
    reached[-1] = factorial(n)
    for part in range(2**n - 1, 6, -1):
        each = reached[part] // part.bit_count()
        for pivot in (k for k in range(n) if each and part >> k & 1):
            after = part & beaten[pivot]
            before = part & ~after & ~(1 << pivot)
            reached[after] += each
            reached[before] += each
            late, early = ([m >> k & 1 for k in range(n)] for m in (after, before))
            turned += each * np.outer(late, early)
    return np.where(wins, turned, 0)


def two_rankings(order: Sequence[int], upsets: Sequence[tuple[int, int]]) -> tuple[Wins, Ints]:
    """Outcomes, and the smaller number of votes of each pair, of 0, 1, ... and this order.

    Of a pair on which the two people differ the smaller label wins, except in the upsets.
    """
    place = np.argsort(order)
    wins = np.triu(np.ones((place.size,) * 2, dtype=bool), 1)
    tied = wins & (place[:, None] > place)
    for winner, loser in upsets:
        wins[winner, loser], wins[loser, winner] = True, False
    return wins, (tied | tied.T).astype(np.int64)


def cost_ratio(wins: Wins, fewer: Ints, people: int = 2) -> Fraction:
    """KwikSort's expected cost over the votes of all minorities, `fewer` for a pair, exactly."""
    extra, least = (reversals(wins) * (people - 2 * fewer)).sum(), fewer[wins].sum()
    return 1 + Fraction(int(extra), factorial(len(wins)) * int(least))


def excess(wins: Wins, ratio: Fraction) -> Fraction:
    """Certified upper bound of KwikSort's cost minus `ratio` times the sum of the least costs.

    For tables of rankings with these majorities, ties decided so: least costs lie in [0, 1/2],
    those of a cycle add up to at least 1, and the one of i before k is at most those of i before j
    and j before k. Any prices of these give a bound; the solver's are added up in fractions.
    """
    n, (i, j) = len(wins), np.triu_indices(len(wins), 1)
    index = np.zeros((n, n), dtype=np.intp)
    index[i, j], turned = np.arange(i.size), reversals(wins)
    chance = [Fraction(int(t), factorial(n)) for t in (turned + turned.T)[i, j]]
    triples = np.array(list(combinations(range(n), 3)), dtype=np.intp)
    rows = -np.eye(i.size, dtype=np.int64)[index[triples[:, (0, 0, 1)], triples[:, (1, 2, 2)]]]
    inside = wins[triples[:, :, None], triples[:, None]].sum(axis=2)[:, ::-1]  # opposite the pairs
    cycle = (inside == 1).all(axis=1)
    rows = np.where(((inside == 1) & ~cycle[:, None])[..., None], -rows, rows).sum(axis=1)
    gain = [1 - ratio - 2 * c for c in chance]
    solved = linprog(-np.array(gain, dtype=float), rows, -1 * cycle, bounds=(0, 0.5))
    prices = [Fraction(max(-p, 0.0)).limit_denominator(10**5) for p in solved.ineqlin.marginals]
    paid = [sum(p * int(k) for p, k in zip(prices, column, strict=True)) for column in rows.T]
    left = [max(g - p, Fraction(0)) / 2 for g, p in zip(gain, paid, strict=True)]
    given = [-p for p, of in zip(prices, cycle, strict=True) if of]
    return sum(chance + given + left, Fraction(0))
