"""Rankings without a curator: every person sends private reports about pairs, once.

Of `PairResponses` K random pairs, each answered by itself; with KwikSort on top it is LDP-KwikSort.
Of `Hypercube` all pairs in one report. Both release a table of reports.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from math import comb, prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.data import Rankings
from dpbook.estimators import kemeny_fit, kwiksort_rankings, ranks_from_scores
from dpbook.estimators.pairwise import ranking_positions
from dpbook.mechanisms.hypercube import (
    TIES,
    hypercube_response,
    hypercube_response_pmf,
    hypercube_scale,
)
from dpbook.mechanisms.responses import randomized_response_pmf
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.base import Ranker, Size, as_tables, pair_indices

Ranks = NDArray[np.integer[Any]]  # rows of places, (users, n)

MECHANISMS = ("response", "laplace")

_CHUNK = 2**22  # most signs held at once
_FEW_QUESTIONS = 16  # up to this many for a person, the table of all pairs is not made


def report_pmf(epsilon: float, mechanism: str = "response") -> Array:
    """Channel of one answer at ``epsilon``, (2, 2): rows are truths, columns reports.

    Randomised response, or ``"laplace"``: a 0/1 answer with Laplace(1 / epsilon) noise, cut at one
    half. YLL, Algorithms 1 to 4, Section 4.2.2; the printed matrix gives both reports of a true 1
    the probabilities of a true 0, and this is the matrix its text uses.
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


def report_margin(epsilon: ArrayLike, mechanism: str) -> Array:
    """P(true report) - P(false report) of one answer."""
    half = 0.5 * np.asarray(epsilon, dtype=float)
    return np.asarray(np.tanh(half) if mechanism == "response" else -np.expm1(-half))


def best_ratio(mechanism: str = "response") -> float:
    """Real number K / epsilon at which K reports at epsilon / K each are best, for every epsilon.

    Best is the largest ``K s^2``, s the margin of a report: in the limit of a weak majority, the
    rate at which more people make its sign safer (YLL, Section 4.2). With x = epsilon / K it is at
    sinh(x) = 2 x for randomised response, at exp(x / 2) = 1 + x for Laplace.
    """
    check.choice("mechanism", mechanism, MECHANISMS)

    def excess(x: float) -> float:
        return float(np.sinh(x) - 2 * x if mechanism == "response" else np.expm1(x / 2) - x)

    return 1 / brentq(excess, 1.0, 10.0, xtol=1e-14)


def best_queries(epsilon: float, *, mechanism: str = "response", most: int | None = None) -> int:
    """Whole number of questions K, at ``most`` so many, that is best as for `best_ratio`.

    The smaller one if two are equally good.
    """
    # K s^2 rises and then falls, so only the neighbours of the real optimum compete.
    low = np.floor(check.epsilon(epsilon) * best_ratio(mechanism))
    k = np.maximum([low, low + 1], 1)
    if most is not None:
        k = np.minimum(k, check.integer("most", most, 1))
    return int(k[np.argmax(k * report_margin(epsilon / k, mechanism) ** 2)])


@dataclass(frozen=True)
class LocalRanker(Ranker):
    """A ranker whose curator sees nothing but private reports: one person's ranking is replaced.

    Each person is a data set: the unit need not say how many there are.
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
        """Privacy parameter of one report, one over the scale."""
        return 1 / self.scale

    def publish(self, data: Any, size: Size = (), *, rng: np.random.Generator) -> Ints:
        """Independent releases of the same people, places (users, n): tables of reports "i before
        j", (size..., n, n); on demand the rankings, (size..., n).
        """
        sides, table = check.shape("size", size), self._ranks(data)
        check.generator(rng)
        runs = [self._once(table, rng) for _ in range(prod(sides))]
        return np.array(runs).reshape(*sides, *np.shape(runs)[1:])

    @abstractmethod
    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        """One release, of places that have been checked."""

    def _ranks(self, rankings: Rankings | ArrayLike) -> Ranks:
        table = ranking_positions(rankings)
        if table.ndim != 2 or table.shape[1] != (n := self.unit.n_items):
            raise ValueError(f"positions of shape {table.shape}: allowed is (users, {n})")
        return table

    def _release_loss(self) -> tuple[float, float]:
        return (self.level,) * 2


@dataclass(frozen=True)
class LocalPairs(LocalRanker):
    """One round of reports about pairs, and a ranking made by a solver from the table of them."""

    solver: str = "kwiksort"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("solver", self.solver, ("kwiksort", "kemeny", "borda"))

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, **how: Any) -> Self:
        """One report at epsilon; ``how`` is the solver, and what else the class has."""
        return cls(unit, 1 / check.epsilon(epsilon), **how)

    @property
    def answers(self) -> int:
        """Pairs that one person reports on."""
        return self.pairs

    @property
    @abstractmethod
    def gain(self) -> float:
        """Length of a person's unbiased estimate of a sign, where there is a report."""

    def fractions(self, released: ArrayLike) -> Array:
        """Unbiased shares of people who place i before j, not clipped, shape (..., n, n)."""
        tally = check.square_tables("released", released)
        users = tally.sum(axis=(-2, -1), keepdims=True) / self.answers
        out = 0.5 + 0.5 * self.gain * (tally - np.swapaxes(tally, -2, -1)) / users
        out[..., *np.diag_indices(self.unit.n_items)] = 0.0
        return np.asarray(out)

    def rank(self, released: Any, *, rng: np.random.Generator) -> Ints:
        """Positions made by the solver from tables of reports, shape (..., n)."""
        if self.solver == "kwiksort":
            return kwiksort_rankings(self._table(released), rng=rng)
        if self.solver == "borda":
            net = (table := self._table(released)).sum(axis=-1) - table.sum(axis=-2)
            return ranks_from_scores(net.round(9), rng=rng)  # what is tied stays so
        shares = self.fractions(released)
        tables = shares.reshape(-1, *shares.shape[-2:])
        best = [kemeny_fit(table).positions for table in tables]
        return np.array(best).reshape(shares.shape[:-1])

    def _table(self, released: Any) -> Any:
        """Reports or shares, one table for a release, of which a ranking is made."""
        return released

    def _signs(self, table: Ranks) -> Ints:
        """Everybody's answers to all pairs: 1 for "i before j", i < j, else -1."""
        first, second = pair_indices(self.unit.n_items)
        return np.where(table[:, first] < table[:, second], 1, -1)

    def _one(self, ranking: ArrayLike) -> Ints:
        """The answers of one person."""
        table = self._ranks(np.atleast_2d(np.asarray(ranking)))
        if len(table) != 1:
            raise ValueError(f"data holds {len(table)} rankings: allowed is one person's")
        return self._signs(table)[0]


@dataclass(frozen=True)
class PairResponses(LocalPairs):
    """Every person compares K random pairs, and makes each answer private by itself.

    Attributes
    ----------
    unit, scale
        Who is protected, a ranking that is replaced; ``scale`` is K / epsilon.
    solver, queries : {"kwiksort", "kemeny", "borda"}, int
        What makes the ranking: a sort, the exact Kemeny ranking, or reports for an item less those
        against it, the first and the last with ties at random; number K of distinct pairs a person.
    mechanism : {"response", "laplace", "printed"}
        As for `report_pmf`; or YLL's Algorithm 1 as printed, where the answers do not enter.
    design : {"random", "balanced"}
        K pairs drawn at random by each person; or all dealt out in turn to people in random order,
        so that the numbers of people asked differ by at most one.

    Notes
    -----
    YLL, Algorithms 1 to 4 as described in the text, and Section 3 for LDP-KwikSort. With all pairs
    as ``queries`` it is AGKM's naive split (the text after Theorem 8).
    **Privacy.** (epsilon, 0) locally, by composition of K answers, and exactly: a ranking and its
    reverse differ in all of them. The questions do not look at the data. With ``"laplace"`` the
    bit that the curator reads off the noisy answer is drawn, and `loss` is that of the bits.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> ranker, people = PairResponses.private(1.0, WholeRanking(4)), [[0, 1, 2, 3]] * 600
    >>> ranker.sample(people, rng=np.random.default_rng(1))
    array([0, 1, 2, 3])
    """

    queries: int = 1
    mechanism: str = "response"
    design: str = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("queries", self.queries, 1, self.pairs)
        check.choice("mechanism", self.mechanism, (*MECHANISMS, "printed"))
        check.choice("design", self.design, ("random", "balanced"))

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, *, queries: int = 1, **how: Any) -> Self:
        """Each of the K answers at epsilon / K; ``how`` is the solver, mechanism or design."""
        k = check.integer("queries", queries, 1, comb(unit.n_items, 2))
        return cls(unit, k / check.epsilon(epsilon), queries=k, **how)

    @classmethod
    def printed(cls, epsilon: float, unit: WholeRanking, *, queries: int = 1) -> Self:
        """YLL's Algorithm 1 as printed: private at any epsilon, and useless."""
        return replace(cls.private(epsilon, unit, queries=queries), mechanism="printed")

    @property
    def answers(self) -> int:
        """Pairs that one person reports on."""
        return self.queries

    @cached_property
    def channel(self) -> Array:
        """One report: rows are the truths "after" and "before", columns the reports."""
        if self.mechanism == "printed":
            return randomized_response_pmf(self.level)[[1, 1]]
        return report_pmf(self.level, self.mechanism)

    @property
    def gain(self) -> float:
        """N / K over the margin of a report."""
        if self.mechanism == "printed":
            raise ValueError("mechanism = 'printed': its reports say nothing about the people")
        return self.pairs / (self.queries * float(report_margin(self.level, self.mechanism)))

    def lots(self, users: int, *, rng: np.random.Generator) -> tuple[Ints, Array]:
        """Questions and uniform numbers of so many people, two arrays (users, K)."""
        people = check.integer("users", users, 1)
        question = questions(people, self.pairs, self.queries, self.design, check.generator(rng))
        return question, rng.random(question.shape)

    def reports(self, data: Rankings | ArrayLike, lots: tuple[Ints, Array]) -> Ints:
        """The table of reports, (n, n), of people who have drawn these `lots`."""
        return self._reports(self._ranks(data), lots)

    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        return self._reports(table, self.lots(len(table), rng=rng))

    def _reports(self, table: Ranks, lots: tuple[Ints, Array]) -> Ints:
        (question, uniform), (users, n) = lots, table.shape
        if len(question) != users:
            raise ValueError(f"lots are for {len(question)} people: allowed is for {users}")
        (first, second), distribution = pair_indices(n), self.channel
        if everything := self.queries == self.pairs:  # in order: nothing to look up
            small = table.astype(np.min_scalar_type(n))
            before = small[:, first] < small[:, second]
        else:
            flat, base = table.reshape(-1), np.arange(0, users * n, n)[:, None]
            before = flat[base + first[question]] < flat[base + second[question]]
        report = before & (uniform >= distribution[1, 0]) | ~before & (uniform < distribution[0, 1])
        if everything:
            yes = report.sum(axis=0)
            return as_tables(yes, users - yes, n)
        answer = (2 * question + report).reshape(-1).astype(np.intp)
        tally = np.bincount(answer, minlength=2 * self.pairs)
        return as_tables(tally[1::2], tally[::2], n)

    def message_pmf(self, data: ArrayLike) -> Array:
        """Exact distribution of the message of one person with this ranking, (C(N, K) 2^K,).

        Sets of pairs as `itertools.combinations` lists them, for each the reports in binary order.
        """
        sets = comb(self.pairs, self.queries)
        check.fits("queries", self.queries, sets * 2**self.queries, "fewer of fewer pairs")
        rows = self.channel[(self._one(data) + 1) // 2]
        asked = combinations(range(self.pairs), self.queries)
        return np.concatenate([reduce(np.kron, rows[list(pairs)]) for pairs in asked]) / sets

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
    ``ln(1 + exp(epsilon))`` where the number of pairs is even: with H corners in a half a tie has
    probability 1 / H, a corner of the wrong half 1 / (H (1 + e^epsilon)), and one corner can be the
    first for a ranking and the second for its neighbour that differs in one pair.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    ties: str = "split"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("ties", self.ties, TIES)

    @classmethod
    def printed(cls, epsilon: float, unit: WholeRanking, **how: Any) -> Self:
        """Closed half-spaces: too much is spent where the number of pairs is even."""
        return cls.private(epsilon, unit, ties="closed", **how)

    @property
    def gain(self) -> float:
        """Half the side B of the cube."""
        return hypercube_scale(self.pairs, self.level, self.ties)

    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        yes, step = np.zeros(self.pairs, dtype=np.int64), max(1, _CHUNK // self.pairs)
        for start in range(0, len(table), step):
            signs = self._signs(table[start : start + step])
            corners = hypercube_response(signs, self.level, ties=self.ties, rng=rng)
            yes += (corners > 0).sum(axis=0)
        return as_tables(yes, len(table) - yes, self.unit.n_items)

    def message_pmf(self, data: ArrayLike) -> Array:
        """Exact law of the corner of one person with this ranking, (2^N,), as `sign_vectors`."""
        return hypercube_response_pmf(self._one(data), self.level, self.ties)

    def _release_loss(self) -> tuple[float, float]:
        closed = self.ties == "closed" and self.pairs % 2 == 0
        return (float(np.logaddexp(0, self.level)),) * 2 if closed else super()._release_loss()


def questions(users: int, pairs: int, k: int, design: str, rng: np.random.Generator) -> Ints:
    """Pair numbers asked of each person, distinct in a row: shape (users, k)."""
    if k == pairs:
        return np.broadcast_to(np.arange(pairs), (users, pairs))
    if design == "balanced":
        # People take K cards in turn from a shuffled deck that is dealt round and round.
        deck, turn = rng.permutation(pairs), rng.permutation(users)
        return deck[(turn[:, None] * k + np.arange(k)) % pairs]
    if k == 1:
        return rng.integers(0, pairs, size=(users, 1))
    # Floyd's sampling without replacement, one column at a time for all people together. A few
    # pairs are compared with each other; of many, a table of all pairs remembers which are taken.
    rows = np.arange(users)
    taken = np.zeros((users, pairs if k > _FEW_QUESTIONS else 0), dtype=bool)
    chosen = np.empty((k, users), dtype=np.int64)
    for column, top in enumerate(range(pairs - k, pairs)):
        draw = rng.integers(0, top + 1, size=users)
        if k > _FEW_QUESTIONS:
            draw[taken[rows, draw]] = top
            taken[rows, draw] = True
        else:
            draw[(chosen[:column] == draw).any(axis=0)] = top
        chosen[column] = draw
    return np.ascontiguousarray(chosen.T)
