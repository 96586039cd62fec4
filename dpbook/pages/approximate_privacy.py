"""Page 39: the best (epsilon, delta)-private release from one tournament, enclosed from both sides.

As in `dpbook.optimum`, neighbours differ in one bit, and an average over all renamings keeps
epsilon, delta and risk. So there is one unknown q for each orbit of tournaments under the renamings
that fix the first outcome, its probability, and one for each orbit of *flips* (tournament and bit),
its excess s >= q - e^epsilon q', s >= 0. The excesses of all outcomes add up to at most delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.lower_bounds import solve_program
from dpbook.models import all_rankings
from dpbook.optimum import relabel
from dpbook.privacy import sets_of
from dpbook.privacy.balls import Ball, exp

UNIT = 2**60


@dataclass(frozen=True, eq=False)
class Tournaments:
    """A problem: number of outcomes; probability of each orbit if the first outcome is right.

    Then the sums over outcomes of probabilities, (kinds, orbits), and of excesses, (flips, orbits
    of flips); and the orbits before and after a flip, (orbits of flips, 2).
    """

    outcomes: int
    hits: tuple[Fraction, ...]
    totals: sparse.csc_array
    sums: sparse.csc_array
    ends: Ints


def tournaments(n_items: int, k: int | None = None, *, advantage: float) -> Tournaments:
    """The first k of up to 6 items, or (k is None) the ranking of up to 5, from one tournament.

    An item of the right set beats one outside, or an item any behind it in the right ranking, with
    probability 1/2 + advantage; the other comparisons are fair. A wrong outcome is a loss of 1.
    """
    n = check.integer("n_items", n_items, 2, 5 if k is None else 6)
    chance = Fraction(check.probability("advantage", advantage)) + Fraction(1, 2)
    pairs = list(combinations(range(n), 2))
    if k is None:
        outcomes, fixing, told = all_rankings(n), [tuple(range(n))], pairs
    else:
        outcomes = np.array([[*s, *np.setdiff1d(np.arange(n), s)] for s in sets_of(n, k)])
        parts = product(permutations(range(k)), permutations(range(k, n)))
        fixing, told = [a + b for a, b in parts], [(i, j) for i, j in pairs if i < k <= j]

    def renamed(names: ArrayLike) -> tuple[Ints, Ints]:  # every tournament, and every flip
        image, ends = relabel(names).astype(np.intp), np.sort(np.asarray(names)[pairs], axis=1)
        bits = [pairs.index((i, j)) for i, j in ends.tolist()]
        return image, (image[:, None] * len(pairs) + bits).ravel()

    least = (np.min(x, axis=0) for x in zip(*map(renamed, fixing), strict=True))
    (first, orbit), (lead, flip) = (np.unique(x, return_inverse=True) for x in least)
    back = [renamed(np.argsort(names)) for names in outcomes]
    totals = _added([orbit[image[first]] for image, _ in back], first.size)
    sums = _added([flip[image[lead]] for _, image in back], lead.size)
    right = np.sum([np.arange(orbit.size) >> pairs.index(x) & 1 for x in told], axis=0)
    count = np.zeros((first.size, len(told) + 1), dtype=np.int64)
    np.add.at(count, (orbit, right), 1)
    law = [chance**w * (1 - chance) ** (len(told) - w) for w in range(len(told) + 1)]
    hits = count.astype(object) @ np.array(law, dtype=object) / 2 ** (len(pairs) - len(told))
    at, bit = np.divmod(lead, len(pairs))
    ends = orbit[np.stack([at, at ^ (1 << bit)], axis=1)]
    return Tournaments(len(outcomes), tuple(hits), totals, sums, ends)


def _added(members: list[Ints], size: int) -> sparse.csc_array:
    """One row for each family of unknowns that are added up: how often each is a member."""
    rows = np.unique(np.sort(np.stack(members, axis=1), axis=1), axis=0)
    where = np.repeat(np.arange(len(rows)), rows.shape[1])
    return sparse.csc_array((np.ones(rows.size), (where, rows.ravel())), shape=(len(rows), size))


def enclosed(problem: Tournaments, epsilon: float, delta: float) -> tuple[Fraction, ...]:
    """Risk, base, price: of the best release, and of a line that no release comes below.

    Some (epsilon, delta)-private release has at most this risk, and every (epsilon, d)-private one,
    at *every* d, at least base - price d: in whole numbers, whatever the solver's accuracy.
    """
    eps, allowed = check.epsilon(epsilon), Fraction(check.probability("delta", delta, zero=False))
    (kinds, size), (every, flips) = problem.totals.shape, problem.sums.shape
    values, where = np.tile([1.0, -np.exp(eps)], flips), np.arange(flips).repeat(2)
    less = sparse.csr_array((values, (where, problem.ends.ravel())), shape=(flips, size))
    # Excesses in units of delta; last, what is left of it.
    blocks = [less, sparse.eye_array(flips) * -delta, sparse.csr_array((flips, every))]
    parts: Any = [[problem.totals, None, None], [None, problem.sums, sparse.eye_array(every)]]
    upper, equal = sparse.hstack(blocks), sparse.block_array(parts)
    cost = np.append([-float(hit) for hit in problem.hits], np.zeros(flips + every))
    found = solve_program(cost, sparse.csr_array(upper), sparse.csr_array(equal))
    y, w = np.split(-np.asarray(found.eqlin.marginals), [kinds])
    growth, multipliers = exp(Ball(Fraction(eps))), (y, -found.ineqlin.marginals, w / delta)
    risk = _repaired(problem, found.x[:size], floor(Fraction(growth.low) * UNIT), allowed)
    return risk, *_line(problem, *multipliers, growth=ceil(Fraction(growth.high) * UNIT))


def _whole(values: Array) -> Any:
    """In units of 1 / UNIT, rounded, as whole numbers of any size."""
    return np.array([int(x) for x in np.rint(values * float(UNIT))], dtype=object)


def _line(problem: Tournaments, *found: Array, growth: int) -> tuple[Fraction, ...]:
    """Base and price from multipliers y of the totals, z of the excesses, w of delta.

    For q <= 1 and 0 <= z <= sums' w, the probability of the right outcome is at most
    sum y + delta sum w + sum of max(0, hits - z (q - e^epsilon q') - totals' y).
    """
    y, z, w = map(_whole, found)
    z, w = np.maximum(z, 0), np.maximum(w, 0)
    z = np.minimum(z, w[problem.sums.indices] * problem.sums.data.astype(int))
    reduced = y[problem.totals.indices] * problem.totals.data.astype(int) * -UNIT
    np.add.at(reduced, problem.ends[:, 0], z * -UNIT)
    np.add.at(reduced, problem.ends[:, 1], z * growth)
    reduced += np.array([ceil(hit * UNIT**2) for hit in problem.hits], dtype=object)
    most = sum(y) * UNIT + np.maximum(reduced, 0).sum()
    return 1 - Fraction(most, UNIT**2), Fraction(sum(w), UNIT)


def _repaired(problem: Tournaments, found: Array, growth: int, delta: Fraction) -> Fraction:
    """Risk of the release that was found, made a private one by a share of the uniform one."""
    kind = problem.totals.indices
    for mixed in [0.0, *10.0 ** np.arange(-13, -2)]:  # the share
        q = _whole((1 - mixed) * np.maximum(found, 0) + mixed / problem.outcomes)
        total = np.zeros(problem.totals.shape[0], dtype=object)
        np.add.at(total, kind, q * problem.totals.data.astype(int))
        one, other = total[kind[problem.ends.T]]  # alike for all outcomes of a flip
        near, far = q[problem.ends.T]
        excess = np.maximum(near * other * UNIT - far * one * growth, 0)
        every, most = np.zeros((2, problem.sums.shape[0]), dtype=object)
        np.add.at(every, problem.sums.indices, excess * problem.sums.data.astype(int))
        most[problem.sums.indices] = one * other * UNIT
        if (every * delta.denominator <= most * delta.numerator).all():
            parts = zip(problem.hits, q, total[kind], strict=True)
            return 1 - sum((hit * Fraction(x, t) for hit, x, t in parts), Fraction())
    raise RuntimeError("the solution of the linear program is too far from private to be repaired")
