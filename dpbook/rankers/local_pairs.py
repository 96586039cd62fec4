"""Rankings without a curator: every person sends private reports about pairs, once.

Of `PairResponses` K random pairs, each answered by itself: one, several, or all (the naive split);
with KwikSort on top it is LDP-KwikSort. Of `Hypercube` all pairs in one report, a corner of the
cube. Both release a table of reports, with unbiased fractions of the people (`fractions`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook.data import Rankings
from dpbook.estimators import kemeny_ranking, kwiksort_rankings
from dpbook.estimators.pairwise import ranking_positions
from dpbook.mechanisms.hypercube import (
    TIES,
    hypercube_response,
    hypercube_response_pmf,
    hypercube_scale,
)
from dpbook.mechanisms.responses import randomized_response_pmf
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.base import Array, Ints, Ranker, Size

Places = NDArray[np.integer[Any]]  # rows of places, (users, n)

MECHANISMS = ("response", "laplace")
DESIGNS = ("random", "balanced")
SOLVERS = ("kwiksort", "kemeny")

_CHUNK = 2**22  # most signs held at once


def report_pmf(epsilon: float, mechanism: str = "response") -> Array:
    """Channel of one answer at ``epsilon``, (2, 2): rows are truths, columns reports.

    Randomised response, or ``"laplace"``: a 0/1 answer with Laplace(1 / epsilon) noise, cut at one
    half, right with probability ``1 - exp(-epsilon / 2) / 2``. YLL, Algorithms 1 to 4, Section
    4.2.2; the printed matrix gives both reports of a true 1 the probabilities of a true 0, and this
    is the matrix its text uses.
    **Privacy.** (epsilon, 0) for the response and for the noisy number; of the bit that is cut
    from the number, only `laplace_bit_loss` is spent.
    """
    if check.choice("mechanism", mechanism, MECHANISMS) == "response":
        return randomized_response_pmf(epsilon)
    lie = 0.5 * np.exp(-0.5 * check.epsilon(epsilon))
    return np.array([[1 - lie, lie], [lie, 1 - lie]])


def laplace_bit_loss(epsilon: float) -> float:
    """Exact loss ``ln(2 exp(epsilon / 2) - 1)``, in nats, of a Laplace answer cut at one half."""
    half = 0.5 * check.epsilon(epsilon)
    return float(half + np.log(2 - np.exp(-half)))


def response_exponent(
    queries: ArrayLike, epsilon: float, *, mechanism: str = "response", margin: float = 0.0
) -> Array:
    """Rate at which a majority over people errs less, as a function of K, up to a constant.

    Parameters
    ----------
    queries : array of positive numbers
        Questions K per person, any shape; fractions are allowed, to find the continuous optimum.
    epsilon : float
        Privacy parameter of a person, in nats; each answer gets epsilon / K.
    mechanism : {"response", "laplace"}
        As for `report_pmf`.
    margin : float
        P(a person agrees with the truth) - P(disagrees), in [0, 1]; 0 means the limit.

    Notes
    -----
    ``K (p - q)^2`` for margin 0, where p - q is the margin of one report; for a margin t,
    ``2 K (1 - sqrt(1 - t^2 (p - q)^2)) / t^2``. With r = K / C(n, 2) the chance that a person is
    asked about a given pair, the probability that m people give the wrong sign is at most
    (1 - r + 2 r sqrt(ab))^m, where a - b = t (p - q): this is the exact exponential rate in m. To
    first order in r it is -r (1 - sqrt(1 - t^2 (p - q)^2)). YLL, Section 4.2, whose Hoeffding
    bound keeps the first term in t.
    """
    k = check.finite_array("queries", queries, min_ndim=0)
    if (k <= 0).any():
        raise ValueError(f"queries = {queries!r}: allowed are numbers above 0")
    t = check.probability("margin", margin)
    return np.asarray(k * _gain(_margin(check.epsilon(epsilon) / k, mechanism), t))


def best_ratio(mechanism: str = "response", margin: float = 0.0) -> float:
    """Real number K / epsilon that maximises `response_exponent`, the same for every epsilon.

    With x = epsilon / K and margin 0, randomised response maximises tanh^2(x / 2) / x, that is
    sinh(x) = 2 x; Laplace maximises (1 - exp(-x / 2))^2 / x, that is exp(x / 2) = 1 + x.
    """
    check.choice("mechanism", mechanism, MECHANISMS)
    t = check.probability("margin", margin)

    def slope(x: float) -> float:
        gap, half = _margin(x, mechanism), 0.5 * x
        change = 0.5 / np.cosh(half) ** 2 if mechanism == "response" else 0.5 * np.exp(-half)
        return float(2 * gap * change * x / np.sqrt(1 - (t * gap) ** 2) - _gain(gap, t))

    return 1 / brentq(slope, 1.0, 10.0, xtol=1e-14)


def best_queries(
    epsilon: float, *, mechanism: str = "response", margin: float = 0.0, most: int | None = None
) -> int:
    """Whole number of questions, at ``most`` so many, with the largest `response_exponent`.

    The smaller one if two are equally good.
    """
    start = check.epsilon(epsilon) * best_ratio(mechanism, margin)
    # K -> exponent rises and then falls, so only the neighbours of the real optimum compete.
    candidates = np.maximum([np.floor(start), np.floor(start) + 1], 1)
    if most is not None:
        candidates = np.minimum(candidates, check.integer("most", most, 1))
    value = response_exponent(candidates, epsilon, mechanism=mechanism, margin=margin)
    return int(candidates[np.argmax(value)])


@dataclass(frozen=True)
class LocalRanker(Ranker):
    """A ranker whose curator sees nothing but private reports.

    One person's ranking is replaced; each person is a data set of their own, so that the unit says
    nothing about how many there are. The scale is one over the epsilon of one report (`level`).
    """

    unit: WholeRanking

    def __post_init__(self) -> None:
        check.noise_scale(self.scale)
        if not (isinstance(self.unit, WholeRanking) and self.unit.relation == "replace"):
            raise ValueError(f"unit = {self.unit!r}: allowed is WholeRanking(n) under replacement")

    @property
    def pairs(self) -> int:
        """Number N = n (n - 1) / 2 of pairs."""
        return comb(self.unit.n_items, 2)

    @property
    def level(self) -> float:
        """Privacy parameter of one report."""
        return 1 / self.scale

    def noise(self, size: Size = (), *, rng: np.random.Generator) -> Any:
        """The generator itself: how much is drawn depends on what has been drawn and said."""
        return check.generator(rng)

    def release(self, data: Rankings | ArrayLike, noise: Any) -> Any:
        """What the curator sees of rankings: rows of places, (users, n).

        A table of the reports "i before j", (n, n), or the outcome of one run on demand.
        """
        return self._release(self._places(data), noise)

    @abstractmethod
    def _release(self, table: Places, noise: Any) -> Any:
        """`release`, of places that have been checked."""

    def sample(self, data: Any, size: Size = (), *, rng: Any) -> Ints:
        """Independent rankings of the same people, positions of shape (size..., n)."""
        shape, table = check.shape("size", size), self._places(data)
        check.generator(rng)
        runs = [self._release(table, self.noise(len(table), rng=rng)) for _ in range(prod(shape))]
        return self._ranked(runs, rng).reshape(*shape, self.unit.n_items)

    def rank(self, released: Any, *, rng: np.random.Generator) -> Ints:
        """Positions read off one release, shape (n,); it spends nothing."""
        return self._ranked([released], rng)[0]

    @abstractmethod
    def variance(self, users: int, fraction: float = 0.5) -> float:
        """Exact variance of one estimated share of the people, given their rankings.

        The true share of those who place one item before the other matters where groups are drawn.
        """

    def _ranked(self, runs: list[Any], rng: np.random.Generator) -> Ints:
        """Positions of several releases, shape (runs, n)."""
        return np.array([run.positions for run in runs], dtype=np.int64)

    def _places(self, rankings: Rankings | ArrayLike) -> Places:
        table = ranking_positions(rankings)
        if table.ndim != 2 or table.shape[1] != self.unit.n_items:
            raise ValueError(
                f"positions of shape {table.shape}: allowed is (users, {self.unit.n_items})"
            )
        return table

    def _signs(self, ranking: ArrayLike) -> Ints:
        """One person's answers to all pairs: 1 for "i before j", i < j, else -1."""
        place = self._places(np.atleast_2d(np.asarray(ranking)))
        if len(place) != 1:
            raise ValueError(f"data holds {len(place)} rankings: allowed is one person's")
        first, second = _pairs(self.unit.n_items)
        return np.where(place[0, first] < place[0, second], 1, -1)


@dataclass(frozen=True)
class LocalPairs(LocalRanker):
    """One round of reports about pairs, and a ranking made from the table of them.

    The ``solver`` is KwikSort, which breaks ties at random, or the exact Kemeny ranking.
    """

    solver: str = "kwiksort"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("solver", self.solver, SOLVERS)

    @property
    @abstractmethod
    def answers(self) -> int:
        """Pairs that one person reports on."""

    @property
    @abstractmethod
    def gain(self) -> float:
        """Length of a person's unbiased estimate of each sign, where there is a report."""

    def fractions(self, released: ArrayLike) -> Array:
        """Unbiased estimates of the shares of people who place i before j; shape (..., n, n).

        They are not clipped; [i, j] and [j, i] add up to 1; the diagonal is 0.
        """
        tally = check.square_tables("released", released)
        users = tally.sum(axis=(-2, -1), keepdims=True) / self.answers
        out = 0.5 + 0.5 * self.gain * (tally - np.swapaxes(tally, -2, -1)) / users
        out[..., *np.diag_indices(self.unit.n_items)] = 0.0
        return np.asarray(out)

    def _ranked(self, runs: list[Any], rng: np.random.Generator) -> Ints:
        if self.solver == "kwiksort":
            return np.asarray(kwiksort_rankings(np.array(runs), rng=rng), dtype=np.int64)
        return np.array([kemeny_ranking(self.fractions(tally)).positions for tally in runs])

    def _table(self, before: ArrayLike, after: ArrayLike) -> Ints:
        out = np.zeros((self.unit.n_items,) * 2, dtype=np.int64)
        first, second = _pairs(self.unit.n_items)
        out[first, second], out[second, first] = before, after
        return out


@dataclass(frozen=True)
class PairResponses(LocalPairs):
    """Every person compares K random pairs, and makes each answer private by itself.

    Attributes
    ----------
    unit, scale
        Who is protected, a ranking that is replaced; ``scale`` is K / epsilon.
    solver : {"kwiksort", "kemeny"}
        What makes the ranking: KwikSort, which breaks ties at random, or the exact Kemeny ranking.
    queries : int
        Number K of distinct pairs per person.
    mechanism : {"response", "laplace", "printed"}
        As for `report_pmf`; or YLL's Algorithm 1 as printed, where the answers do not enter.
    design : {"random", "balanced"}
        K pairs drawn at random by each person, or dealt out so that two pairs differ by at most
        one in the number of people asked, the people in random order.

    Notes
    -----
    YLL, Algorithms 1 to 4 as described in the text, and Section 3 for LDP-KwikSort.
    ``queries=1`` is one random pair at the full epsilon, ``queries=n (n - 1) / 2`` AGKM's naive
    split (the text after Theorem 8).
    **Privacy.** (epsilon, 0) locally, by composition of K answers, and exactly: a ranking and its
    reverse differ in all of them. The questions do not look at the data. With ``"laplace"`` the
    bit that the curator reads off the noisy answer is drawn, and `loss` is that of the bits.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> ranker = PairResponses.private(1.0, WholeRanking(4))
    >>> ranker.loss()
    (1.0, 1.0)
    >>> rng = np.random.default_rng(1)
    >>> reports = ranker.release([[0, 1, 2, 3]] * 600, ranker.noise(600, rng=rng))
    >>> int(reports.sum())  # one from each person
    600
    """

    queries: int = 1
    mechanism: str = "response"
    design: str = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("queries", self.queries, 1, self.pairs)
        check.choice("mechanism", self.mechanism, (*MECHANISMS, "printed"))
        check.choice("design", self.design, DESIGNS)

    @classmethod
    def private(
        cls,
        epsilon: float,
        unit: WholeRanking,
        *,
        queries: int | None = 1,
        mechanism: str = "response",
        design: str = "random",
        solver: str = "kwiksort",
    ) -> PairResponses:
        """Each of the K answers at epsilon / K; ``queries=None`` takes `best_queries`."""
        eps, pairs = check.epsilon(epsilon), comb(unit.n_items, 2)
        k = best_queries(eps, mechanism=mechanism, most=pairs) if queries is None else queries
        k = check.integer("queries", k, 1, pairs)
        return cls(unit, k / eps, solver, k, mechanism, design)

    @classmethod
    def printed(cls, epsilon: float, unit: WholeRanking, *, queries: int = 1) -> PairResponses:
        """YLL's Algorithm 1 as printed: private at any epsilon, and useless."""
        return replace(cls.private(epsilon, unit, queries=queries), mechanism="printed")

    @property
    def answers(self) -> int:
        """Pairs that one person reports on."""
        return self.queries

    @property
    def channel(self) -> Array:
        """Law of one report: rows are the truths "after" and "before", columns the reports."""
        if self.mechanism == "printed":
            return np.tile(randomized_response_pmf(self.level)[1], (2, 1))
        return report_pmf(self.level, self.mechanism)

    @property
    def margin(self) -> float:
        """P(true report) - P(false report)."""
        return 0.0 if self.mechanism == "printed" else float(_margin(self.level, self.mechanism))

    @property
    def gain(self) -> float:
        """N / K over the margin of a report."""
        if not self.margin:
            raise ValueError("mechanism = 'printed': its reports say nothing about the people")
        return self.pairs / (self.queries * self.margin)

    def noise(self, size: Size = (), *, rng: np.random.Generator) -> Any:
        """Questions and uniform numbers of ``size`` people, two arrays (size, K), or (size,)."""
        users = check.integer("size", size, 1)
        question = _questions(users, self.pairs, self.queries, self.design, check.generator(rng))
        return question, rng.random(question.shape)

    def _release(self, table: Places, noise: Any) -> Ints:
        (question, uniform), (users, n) = noise, table.shape
        if len(question) != users:
            raise ValueError(f"noise is for {len(question)} people: allowed is for {users}")
        flat, base = table.reshape(-1), np.arange(0, users * n, n)
        base = base if question.ndim == 1 else base[:, None]
        first, second = _pairs(n)
        before = flat[base + first[question]] < flat[base + second[question]]
        law = self.channel
        report = np.where(before, uniform >= law[1, 0], uniform < law[0, 1])
        tally = np.bincount((2 * question + report).reshape(-1), minlength=2 * self.pairs)
        return self._table(tally[1::2], tally[::2])

    def pmf(self, data: ArrayLike) -> Array:
        """Exact law of the message of one person with this ranking, shape (C(N, K) 2^K,).

        Sets of pairs in the order of `itertools.combinations`, for each the reports as binary
        numbers.
        """
        sets = comb(self.pairs, self.queries)
        check.fits("queries", self.queries, sets * 2**self.queries, "fewer of fewer pairs")
        rows = self.channel[(self._signs(data) + 1) // 2]
        laws = [
            reduce(np.kron, rows[list(s)]) for s in combinations(range(self.pairs), self.queries)
        ]
        return np.concatenate(laws) / sets

    def variance(self, users: int, fraction: float = 0.5) -> float:
        """``(N / (K margin^2) - 1) / (4 m)`` for pairs drawn at random."""
        if self.design != "random":
            raise ValueError(f"design = {self.design!r}: allowed is 'random'")
        square = self.pairs / (self.queries * self.margin**2) if self.margin else np.inf
        return float((square - 1) / (4 * check.integer("users", users, 1)))

    def _release_loss(self) -> tuple[float, float]:
        each = {"response": self.level, "laplace": laplace_bit_loss(self.level), "printed": 0.0}
        return (self.queries * each[self.mechanism],) * 2


@dataclass(frozen=True)
class Hypercube(LocalPairs):
    """Every person sends a whole sign vector in one report, a corner of the cube.

    Attributes
    ----------
    unit, scale, solver
        As for `PairResponses`; ``scale`` is 1 / epsilon.
    ties : {"split", "closed"}
        As for `dpbook.mechanisms.hypercube.hypercube_response`.

    Notes
    -----
    Duchi, Jordan, Wainwright (2014), whose half-spaces are closed; AGKM, Theorem 8.
    **Privacy.** (epsilon, 0) locally with split ties, exactly. Closed halves (`printed`) spend
    ``ln(1 + exp(epsilon))`` where the number of pairs is even: with H corners in a half, a tie has
    probability 1 / H and a corner of the wrong half 1 / (H (1 + e^epsilon)), and one corner can be
    the first for a ranking and the second for its neighbour that differs in one pair.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    ties: str = "split"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("ties", self.ties, TIES)

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, *, solver: str = "kwiksort") -> Hypercube:
        """Ties are split between the halves."""
        return cls(unit, 1 / check.epsilon(epsilon), solver)

    @classmethod
    def printed(cls, epsilon: float, unit: WholeRanking, *, solver: str = "kwiksort") -> Hypercube:
        """Closed half-spaces: too much is spent where the number of pairs is even."""
        return cls(unit, 1 / check.epsilon(epsilon), solver, "closed")

    @property
    def answers(self) -> int:
        """Pairs that one person reports on: all."""
        return self.pairs

    @property
    def gain(self) -> float:
        """Half the side B of the cube."""
        return hypercube_scale(self.pairs, self.level, self.ties)

    def _release(self, table: Places, noise: Any) -> Ints:
        first, second = _pairs(self.unit.n_items)
        yes, step = np.zeros(self.pairs, dtype=np.int64), max(1, _CHUNK // self.pairs)
        for start in range(0, len(table), step):
            block = table[start : start + step]
            signs = np.where(block[:, first] < block[:, second], 1, -1)
            corners = hypercube_response(signs, self.level, ties=self.ties, rng=noise)
            yes += (corners > 0).sum(axis=0)
        return self._table(yes, len(table) - yes)

    def pmf(self, data: ArrayLike) -> Array:
        """Exact law of the corner of one person with this ranking, (2^N,), as `sign_vectors`."""
        return hypercube_response_pmf(self._signs(data), self.level, self.ties)

    def variance(self, users: int, fraction: float = 0.5) -> float:
        """``(B^2 - 1) / (4 m)``."""
        return float((self.gain**2 - 1) / (4 * check.integer("users", users, 1)))

    def _release_loss(self) -> tuple[float, float]:
        closed = self.ties == "closed" and self.pairs % 2 == 0
        return (float(np.logaddexp(0, self.level)) if closed else self.level,) * 2


def _margin(epsilon: ArrayLike, mechanism: str) -> Array:
    """P(true report) - P(false report) of one answer."""
    half = 0.5 * np.asarray(epsilon, dtype=float)
    if check.choice("mechanism", mechanism, MECHANISMS) == "response":
        return np.asarray(np.tanh(half))
    return np.asarray(-np.expm1(-half))


def _gain(gap: ArrayLike, t: float) -> Array:
    """2 (1 - sqrt(1 - t^2 gap^2)) / t^2 without cancellation; gap^2 for t = 0."""
    square = np.asarray(gap, dtype=float) ** 2
    return np.asarray(2 * square / (1 + np.sqrt(1 - t**2 * square)))


def _questions(users: int, pairs: int, k: int, design: str, rng: np.random.Generator) -> Ints:
    """Pair numbers asked of each person, distinct in a row: shape (users,) for k = 1."""
    if k == pairs:
        return np.tile(np.arange(pairs), (users, 1)) if k > 1 else np.zeros(users, np.int64)
    if design == "balanced":
        # People take K cards in turn from a shuffled deck that is dealt round and round.
        deck, turn = rng.permutation(pairs), rng.permutation(users)
        if k == 1:
            return deck[turn % pairs]
        return deck[(turn[:, None] * k + np.arange(k)) % pairs]
    if k == 1:
        return rng.integers(0, pairs, size=users)
    # Floyd's sampling without replacement, one column at a time for all people together.
    rows, taken = np.arange(users), np.zeros((users, pairs), dtype=bool)
    chosen = np.empty((users, k), dtype=np.int64)
    for column, top in enumerate(range(pairs - k, pairs)):
        draw = rng.integers(0, top + 1, size=users)
        draw[taken[rows, draw]] = top
        taken[rows, draw] = True
        chosen[:, column] = draw
    return chosen


@cache
def _pairs(n: int) -> tuple[Ints, Ints]:
    return np.triu_indices(n, 1)
