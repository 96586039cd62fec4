"""One private report about three items or so, and with it an estimate for every pair.

A sign vector has two parts: differences of scores of the items, of dimension n - 1, and a rest of
dimension (n - 1)(n - 2) / 2 that runs in circles. Each has a gain of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb, exp, expm1, factorial, lgamma, sqrt, tanh
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.mechanisms.responses import randomized_response_pmf
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.base import pair_indices
from dpbook.rankers.local_pairs import LocalPairs, Ranks, _questions


@dataclass(frozen=True)
class _TwoParts(LocalPairs):
    """Two tables are released, of which the first alone says something about scores."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("n_items of the unit", self.unit.n_items, 3)

    @property
    @abstractmethod
    def _design(self) -> tuple[float, Array, Array, int]:
        """Weight of the truth; what the first table shows of scores and circles, and the second of
        circles; their mean squares over it; what a message adds to them."""

    @property
    def _gains(self) -> tuple[Array, float]:
        """Factors of these three with the least mean square, and its root, the mean over pairs."""
        (truth, shown, squares, _), n = self._design, self.unit.n_items
        whole = (shown[1:] / squares).sum()
        square = (n - 1) * squares[0] / shown[0] + comb(n - 1, 2) / whole
        gains = np.append(1 / shown[0], 1 / (squares * whole)) / truth
        return gains, sqrt(square / self.pairs) / truth

    gain = property(lambda self: self._gains[1], doc="Root mean square of the estimate of a sign.")

    def fractions(self, released: ArrayLike) -> Array:
        """Unbiased shares of people who place i before j, not clipped, of tables (..., 2, n, n)."""
        tables, (scores, rest, second) = check.square_tables("released", released), self._gains[0]
        check.shaped("released", tables, tables.shape[-3:-2] == (2,), "(..., 2, n, n)")
        first, other = np.moveaxis(tables - np.swapaxes(tables, -2, -1), -3, 0)
        score = (scores - rest) * first.mean(axis=-1, keepdims=True)
        margin = score - np.swapaxes(score, -2, -1) + rest * first + second * other
        users = tables.sum(axis=(-3, -2, -1))[..., None, None] / self._design[3]
        out = 0.5 + 0.5 * margin / users
        out[..., *np.diag_indices(self.unit.n_items)] = 0.0
        return np.asarray(out)

    def _table(self, released: Any) -> Array:
        return self.fractions(released)


@dataclass(frozen=True)
class PairOrParity(_TwoParts):
    """Every person sends one bit: the sign of a random pair, or the parity of a random triple.

    Attributes
    ----------
    unit, scale, solver, share : WholeRanking, float, str, float
        As for `Hypercube`; the probability of a pair. A parity, ``v_ab + v_bc - v_ac``, is 1 for
        an even permutation and -1 for an odd one, and never 3.

    Notes
    -----
    **Privacy.** (epsilon, 0) locally, exactly: one bit by randomised response, and its question
    does not look at the ranking. `private` takes the share with the least mean square, which is
    the same for every pair and every ranking.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    share: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check.probability("share", self.share, zero=False)

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, **how: Any) -> Self:
        """The best share, ``3 n / (sqrt(n + 1) (n - 2 + 2 sqrt(n + 1)))``, unless one is given."""
        n, root = unit.n_items, sqrt(unit.n_items + 1)
        return super().private(epsilon, unit, **{"share": 3 * n / root / (n - 2 + 2 * root)} | how)

    @property
    def _design(self) -> tuple[float, Array, Array, int]:
        pair, triple = 3 * self.share / self.pairs, 3 * (1 - self.share)
        shown = np.array([pair, pair, triple / comb(self.unit.n_items - 1, 2)])
        return tanh(0.5 * self.level), shown, np.array([3.0, 1.0]), 3

    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        (users, n), lie = table.shape, randomized_response_pmf(self.level)[0, 1]
        pair, lies = rng.random(users) < self.share, rng.random((users, 1)) < lie
        two = np.stack(pair_indices(n), axis=1)[rng.integers(0, self.pairs, np.count_nonzero(pair))]
        three = _questions(users - len(two), n, 3, "random", rng)
        before = np.diff(np.take_along_axis(table[pair], two, axis=1)) > 0
        places, circle = np.take_along_axis(table[~pair], three, axis=1), np.roll(three, -1, axis=1)
        even = (places < np.roll(places, -1, axis=1)).sum(axis=1, keepdims=True) == 2
        of_pairs = _tally(n, two[:, :1], two[:, 1:], before ^ lies[pair], 3)
        return np.stack([of_pairs, _tally(n, three, circle, even ^ lies[~pair])])

    def message_pmf(self, data: ArrayLike) -> Array:
        """Exact distribution of one person's message: no and yes to each pair, then each triple."""
        signs, n = self._one(data), self.unit.n_items
        at = dict(zip(combinations(range(n), 2), signs, strict=True))
        even = [at[a, b] * at[b, c] * at[a, c] for a, b, c in combinations(range(n), 3)]
        rows = randomized_response_pmf(self.level)[(np.append(signs, even) + 1) // 2]
        asked = self.share / self.pairs, (1 - self.share) / len(even)
        return (rows * np.repeat(asked, [self.pairs, len(even)])[:, None]).ravel()


@dataclass(frozen=True)
class RandomOrder(_TwoParts):
    """Every person sends the order of k random items, by randomised response on all k! orders.

    Attributes
    ----------
    unit, scale, solver, items : WholeRanking, float, str, int
        As for `Hypercube`; the number k of items, 2 for one random pair. One table has twice the
        gaps between the places in the reported order, the other what they leave of k times a sign.

    Notes
    -----
    AGKM, Theorem 8, at any epsilon up to a logarithm. **Privacy.** (epsilon, 0) locally, exactly:
    an order has one of two probabilities, with ratio ``exp(epsilon)``, and the items are drawn
    without a look at the ranking.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    items: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("items", self.items, 2, self.unit.n_items)

    @property
    def margin(self) -> float:
        """Weight of the truth, ``(e^eps - 1) / (e^eps - 1 + k!)``; else the order is random."""
        return 1 / (1 + exp(min(lgamma(self.items + 1) - self.level, 700)) / -expm1(-self.level))

    @property
    def _design(self) -> tuple[float, Array, Array, int]:
        n, k = self.unit.n_items, self.items
        parts = comb(k, 2) / self.pairs, 2 / (n - 1) / (n - 2) * (k - 1) * (1 - k / n)
        shown = k * np.array([*parts, comb(k - 1, 2) / comb(n - 1, 2)])
        return self.margin, shown, k * np.array([(k + 1) / 3, 1 / 3]), k * comb(k, 2)

    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        (users, n), k = table.shape, self.items
        chosen = _questions(users, n, k, "random", rng)
        places = np.take_along_axis(table, chosen, axis=1).argsort(axis=1).argsort(axis=1)
        noise = rng.random(chosen.shape).argsort(axis=1)
        sent = np.where(rng.random((users, 1)) < self.margin, places, noise)
        a, b = pair_indices(k)
        gap, (first, second) = sent[:, b] - sent[:, a], (chosen[:, a], chosen[:, b])
        weights = 2 * np.abs(gap), k - 2 * np.abs(gap)
        return np.stack([_tally(n, first, second, gap > 0, w) for w in weights])

    def message_pmf(self, data: ArrayLike) -> Array:
        """Exact distribution of one person's message, (C(n, k) k!,): sets, for each its places."""
        (ranks,), k = self._ranks(np.atleast_2d(np.asarray(data))), self.items
        sets, orders = comb(self.unit.n_items, k), factorial(k)
        check.fits("items", k, sets * orders, "fewer of fewer items")
        places = np.array(list(combinations(ranks, k))).argsort(axis=1).argsort(axis=1)
        true = (places[:, None] == list(permutations(range(k)))).all(axis=-1)
        return (true * self.margin + (1 - self.margin) / orders).ravel() / sets


def _tally(n: int, first: Ints, second: Ints, ahead: Any, weight: Any = 1) -> Ints:
    """Table (n, n) of reports "first before second", or the reverse, with these weights."""
    entry = np.where(ahead, first * n + second, second * n + first).astype(np.intp)
    found = np.bincount(entry.ravel(), np.broadcast_to(weight, entry.shape).ravel(), n * n)
    return found.astype(np.int64).reshape(n, n)
