"""One private report about a few items, and with it an estimate for every pair.

Signs have two parts, each with its gain: differences of scores, and a rest that runs in circles.
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
from dpbook.rankers.local_pairs import LocalPairs, Ranks, questions


@dataclass(frozen=True)
class _TwoParts(LocalPairs):
    """Two tables are released, of which the first alone says something about scores."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("n_items of the unit", self.unit.n_items, 3)
        _ = self._design  # is what checks the fields of a class

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
        return np.append(1 / shown[0], 1 / squares / whole) / truth, sqrt(
            square / self.pairs
        ) / truth

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

    _table = fractions


@dataclass(frozen=True)
class PairOrParity(_TwoParts):
    """Every person sends one bit: the sign of a random pair, or the parity of a random triple.

    Attributes
    ----------
    unit, scale, solver, share : WholeRanking, float, str, float
        As for `Hypercube`; the probability of a pair. A parity, ``v_ab + v_bc - v_ac``, is 1 or -1.

    Notes
    -----
    **Privacy.** (epsilon, 0) locally, exactly: one bit by randomised response, and its question
    does not look at the ranking. Every pair of every ranking has the same mean square.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    share: float = 1.0

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, **how: Any) -> Self:
        """The share with the least mean square, unless one is given."""
        n, root = unit.n_items, sqrt(unit.n_items + 1)
        return super().private(epsilon, unit, **{"share": 3 * n / root / (n - 2 + 2 * root)} | how)

    @property
    def _design(self) -> tuple[float, Array, Array, int]:
        share = check.probability("share", self.share, zero=False)
        pair, triple = 3 * share / self.pairs, 3 * (1 - share)
        shown = np.array([pair, pair, triple / comb(self.unit.n_items - 1, 2)])
        return tanh(0.5 * self.level), shown, np.array([3.0, 1.0]), 3

    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        users, n = table.shape
        three = questions(users, n, 3, "random", rng)
        circle, side = np.roll(three, -1, axis=1), rng.integers(0, 3, (users, 1)) == np.arange(3)
        ahead = np.take_along_axis(table, three, 1) < np.take_along_axis(table, circle, 1)
        pair = rng.random((users, 1)) < self.share  # one side of three items; else all three
        bit = np.where(pair[:, 0], (ahead & side).any(axis=1), ahead.sum(axis=1) == 2)
        bit ^= rng.random(users) < randomized_response_pmf(self.level)[0, 1]
        weights = 3 * (pair & side), np.broadcast_to(~pair, side.shape)
        return np.stack([_tally(n, three, circle, bit[:, None], w) for w in weights])

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
        As for `Hypercube`; the number k of items. One table has twice the gaps between places in
        the reported order, the other what they leave of k times a sign.

    Notes
    -----
    **Privacy.** (epsilon, 0) locally, exactly: an order has one of two probabilities, with ratio
    ``exp(epsilon)``, and the items are drawn without a look at the ranking.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    items: int = 3

    @property
    def _design(self) -> tuple[float, Array, Array, int]:
        k = check.integer("items", self.items, 2, n := self.unit.n_items)
        odds = exp(min(lgamma(k + 1) - self.level, 700)) / -expm1(-self.level)  # of a random order
        parts = comb(k, 2) / self.pairs, 2 / (n - 1) / (n - 2) * (k - 1) * (1 - k / n)
        shown = k * np.array([*parts, comb(k - 1, 2) / comb(n - 1, 2)])
        return 1 / (1 + odds), shown, k * np.array([(k + 1) / 3, 1 / 3]), k * comb(k, 2)

    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        (users, n), k = table.shape, self.items
        chosen = questions(users, n, k, "random", rng)
        own = np.take_along_axis(table, chosen, axis=1)
        places = (own[:, :, None] > own[:, None]).sum(axis=2)  # of few: faster than sorting
        noise = rng.random(chosen.shape).argsort(axis=1)
        sent = np.where(rng.random((users, 1)) < self._design[0], places, noise)
        a, b = pair_indices(k)
        gap, first, second = sent[:, b] - sent[:, a], chosen[:, a], chosen[:, b]
        weights = 2 * np.abs(gap), k - 2 * np.abs(gap)
        return np.stack([_tally(n, first, second, gap > 0, w) for w in weights])

    def message_pmf(self, data: ArrayLike) -> Array:
        """Exact distribution of one person's message, (C(n, k) k!,): sets, for each its places."""
        (ranks,), k = self._ranks(np.atleast_2d(np.asarray(data))), self.items
        check.fits("items", k, comb(self.unit.n_items, k) * factorial(k), "fewer of fewer items")
        places = np.array(list(combinations(ranks, k))).argsort(axis=1).argsort(axis=1)
        true, weight = (places[:, None] == list(permutations(range(k)))).all(-1), self._design[0]
        return (weight * true.ravel() + (1 - weight) / factorial(k)) / len(places)


def _tally(n: int, first: Ints, second: Ints, ahead: Any, weight: Any) -> Ints:
    """Table (n, n) of reports "first before second", or the reverse, with these weights."""
    entry = np.where(ahead, first * n + second, second * n + first).astype(np.intp)
    return np.bincount(entry.ravel(), weight.ravel(), n * n).astype(np.int64).reshape(n, n)
