"""Page 40: the best report about one ranking, exact for few items.

A message is a set A of rankings that send it ``x = e^ε`` times as often as the others do. By
symmetry all that counts are gains ``f(a, b) = -f(b, a)`` of two places, the same after a reversal,
with ``g(r) = (f(r_i, r_j))`` over pairs i < j. Summed over entries and averaged over uniform
rankings, no unbiased estimate has a mean square below ``(Σ f(a, b))² / max T_A`` over a < b, where
``T_A = ((x - 1) / (n! + (x - 1)|A|))² |Σ_A g|²``; the page has the proof. Page 29 takes one f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize, nnls

from dpbook import _validation as check
from dpbook._typing import Array, Ints

DIGITS = 10**6  # to which gains and weights are rounded, before they are certified


@dataclass(frozen=True)
class Places:
    """Pairs of places of n items; those that a reversal exchanges are one class."""

    n: int

    @cached_property
    def classes(self) -> list[tuple[int, int]]:
        """The first pair of places, from 0, of each class."""
        return [(a, b) for a, b in combinations(range(self.n), 2) if a + b < self.n]

    @cached_property
    def size(self) -> Ints:
        """Pairs of places in each class."""
        return np.array([2 - (a + b == self.n - 1) for a, b in self.classes])

    @cached_property
    def rankings(self) -> Ints:
        """Places of the items, one ranking of each two that are reverses: item 0 before item 1.

        A set that has both is worse than without them, so it is 1, -1 or 0 for each of these.
        """
        return np.array([r for r in permutations(range(self.n)) if r[0] < r[1]])

    @cached_property
    def signs(self) -> Ints:
        """The sign of pair e in ranking r at [r, e, c] if its places are of class c, else 0."""
        table = np.zeros((self.n, self.n, len(self.size)), dtype=np.int64)
        for c, (a, b) in enumerate(self.classes):
            table[a, b, c] = table[self.n - 1 - b, self.n - 1 - a, c] = 1
        ranks, (i, j) = self.rankings.astype(np.intp), np.triu_indices(self.n, 1)
        return (table - table.swapaxes(0, 1))[ranks[:, i], ranks[:, j]]

    @cached_property
    def every_set(self) -> tuple[Ints, Ints, Ints]:
        """All sets of a few items up to renaming and reversal, their sizes and sums of signs."""
        check.integer("n", self.n, 3, 4)
        half = self.rankings.tolist()
        place, powers = {tuple(r): k for k, r in enumerate(half)}, 3.0 ** np.arange(len(half))
        sets = np.array(list(product((0.0, 1.0, -1.0), repeat=len(half))))
        sets = sets[sets @ powers > 0]
        first = sets @ powers
        for name in permutations(range(self.n)):
            moved = [tuple(r[i] for i in name) for r in half]
            signs = np.array([1 if r in place else -1 for r in moved])
            moved = [r if r in place else tuple(self.n - 1 - a for a in r) for r in moved]
            first = np.minimum(first, np.abs(sets @ (signs * powers[[place[r] for r in moved]])))
        sets = sets[sets @ powers == first].astype(np.int64)
        return sets, np.abs(sets).sum(axis=1), self.sums(sets)

    def sums(self, sets: ArrayLike) -> Ints:
        """Sums of the signs over some sets, (sets, pairs, classes)."""
        return np.asarray(np.tensordot(np.asarray(sets), self.signs, 1), dtype=np.int64)

    def two_gains(self, scores: int, circles: int) -> Ints:
        """n times the gains of differences of scores, 2(b - a)/n, and of the rest."""
        gap = np.array([2 * (b - a) for a, b in self.classes])
        return np.asarray(scores * gap + circles * (self.n - gap))


def largest_sums(places: Places, *forms: tuple[int, ArrayLike]) -> list[int]:
    """The largest ``Σ weight |Σ_A g|²`` over the sets of 1, 2, ... rankings, in whole numbers."""
    _, sizes, sums = places.every_set
    total = np.zeros(len(sizes), dtype=np.int64)
    for weight, gains in forms:
        total += weight * ((sums @ np.asarray(gains, dtype=np.int64)) ** 2).sum(axis=1)
    return [int(total[sizes == k].max()) for k in range(1, len(places.rankings) + 1)]


def least(places: Places, gains: ArrayLike, sums: Sequence[int], odds: Fraction) -> Fraction:
    """What no report is below, from bounds of the largest sums at these gains."""
    y, size = Fraction(odds) - 1, factorial(places.n)
    told = max(s * (y / (size + y * k)) ** 2 for k, s in enumerate(sums, 1))
    return Fraction(int(places.size @ np.asarray(gains))) ** 2 / told


def mean_square(
    places: Places, sets: ArrayLike, weights: Sequence[Fraction | int], odds: Fraction
) -> Fraction | None:
    """The least mean square if these sets are drawn, renamed and reversed at random.

    Exact: ``s f`` with ``B f = s``, B the mean of ``T_A`` as a form and s the sizes of the classes;
    None if no estimate is unbiased.
    """
    chosen = np.asarray(sets)
    y, count = Fraction(odds) - 1, len(places.size)
    rows = [[Fraction(0)] * count + [Fraction(int(s))] for s in places.size]
    for part, k, w in zip(places.sums(chosen), np.abs(chosen).sum(axis=1), weights, strict=True):
        scale = Fraction(w) / sum(weights) * (y / (factorial(places.n) + y * int(k))) ** 2
        for c, d in product(range(count), repeat=2):
            rows[c][d] += scale * int(part[:, c] @ part[:, d])
    total = Fraction(0)
    for c, top in enumerate(rows):  # B has no negative eigenvalue: a pivot of 0 is a row of 0
        if not top[c]:
            if top[count]:
                return None
            continue
        total += top[count] ** 2 / top[c]
        for row in rows[c + 1 :]:
            row[:] = [a - row[c] / top[c] * b for a, b in zip(row, top, strict=True)]
    return total


def best_report(
    places: Places, odds: Fraction, *, rounds: int = 20, rng: np.random.Generator | None = None
) -> tuple[Ints, Ints, list[int]]:
    """Whole gains for the lower bound, and sets with whole weights: a search, without a promise.

    Cutting planes: the best gains against the sets so far, then the sets that tell most at these;
    all sets of a few items, otherwise a local search that needs ``rng``.
    """
    y, size, s = float(odds - 1), factorial(places.n), places.size.astype(float)
    f, sets = np.ones(len(s)), np.empty((0, len(places.rankings)), np.int64)
    for _ in range(rounds):
        sets = np.unique(np.concatenate([sets, _telling(places, f, y, rng)]), axis=0)
        scale = y / (size + y * np.abs(sets).sum(axis=1))
        sums = places.sums(sets) * scale[:, None, None]
        keep = _largest(((sums @ f) ** 2).sum(axis=1), 60)
        sets, forms = sets[keep], np.einsum("aec,aed->acd", sums, sums)[keep]
        f = _least_told(forms / forms.max(), s, f)
    told = f @ forms @ f
    near = told > (1 - 1e-6) * told.max()
    weights = nnls((forms[near] @ f).T / told.max(), s / s.sum())[0]
    return _whole(f), sets[near], _whole(weights).tolist()


def _whole(values: Array) -> Ints:
    return np.asarray(np.rint(DIGITS * values / np.abs(values).max()), dtype=np.int64)


def _telling(places: Places, f: Array, y: float, rng: np.random.Generator | None) -> Ints:
    """For each size the set that tells most, or what a local search finds."""
    size, sizes = factorial(places.n), np.arange(1, len(places.rankings) + 1)
    if rng is None:
        sets, count, sums = places.every_set
        total = ((sums @ f) ** 2).sum(axis=1)
        return sets[[_largest(np.where(count == k, total, -1), 1)[0] for k in sizes]]
    g, chance = places.signs @ f, 1 / (size / y + sizes)
    chosen = rng.choice(sizes, 400, p=chance / chance.sum())
    toward = rng.normal(size=(400, g.shape[1]))
    for _ in range(25):  # the rankings that point along the sum of those chosen
        along = (toward @ g.T).round(9)
        order = np.argsort(-np.abs(along), axis=1, kind="stable")
        ranks = np.argsort(order, axis=1)
        sets = (np.sign(along) * (ranks < chosen[:, None])).astype(np.int64)
        toward = sets @ g
    told = (toward**2).sum(axis=1) / (size + y * chosen) ** 2
    return np.asarray(sets[_largest(told, 20)])


def _largest(values: Array, many: int) -> Ints:
    """Places of the largest values; of those that differ by rounding alone the first."""
    shares = np.round(values / values.max(), 9)
    return np.argsort(-shares, kind="stable")[:many]


def _least_told(forms: Array, s: Array, f: Array) -> Array:
    """Gains with the sum of s at which the largest of the forms is least."""
    last, ones = np.append(0 * f, 1.0), np.ones(len(forms))
    total = {"type": "eq", "fun": lambda z: s @ z[:-1] - s.sum()}
    above = {
        "type": "ineq",
        "fun": lambda z: z[-1] - z[:-1] @ forms @ z[:-1],
        "jac": lambda z: np.column_stack([-2 * forms @ z[:-1], ones]),
    }
    how: Any = {"fun": lambda z: (z[-1], last), "jac": True, "constraints": [total, above]}
    how |= {"method": "SLSQP", "options": {"ftol": 1e-14, "maxiter": 300}}
    return np.asarray(minimize(x0=np.append(f, (f @ forms @ f).max()), **how).x[:-1])
