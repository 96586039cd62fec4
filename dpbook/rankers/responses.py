"""Rankers for answers that are made private one by one, before anybody collects them (XSC)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb, inf
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.estimators import ranks_from_scores
from dpbook.mechanisms import randomized_response_pmf
from dpbook.mechanisms.responses import positive_epsilon
from dpbook.privacy.accounting import person_epsilon
from dpbook.privacy.units import COMPLETE, Edge, Person
from dpbook.rankers.base import Ranker, Size, as_tables, both_ways, pair_indices

Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Answers(Ranker):
    """Tables of answers, (..., n, n), or (..., groups, n, n) for people in groups.

    Protected is one answer, ``Edge(n, exchange=False)``, or a person who answers every pair. The
    scale is 1 / epsilon of one answer, of the people with the largest; ``shares`` has the epsilon
    of each group of people over the largest, or None if all have the same.
    """

    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _answers_of(self.unit)
        if self.shares is not None:
            positive_epsilon(self.shares, "shares")

    @classmethod
    def private(cls, epsilon: ArrayLike, unit: Edge | Person, **reading: str) -> Self:
        """The least noise that is epsilon-DP, for everybody or for each group of people, (groups,).

        The answers of a person share epsilon; ``reading`` is that of `FlippedAnswers`.
        """
        answers, level = _answers_of(unit), positive_epsilon(epsilon)
        if level.ndim > 1:
            raise ValueError(f"epsilon of shape {level.shape}: allowed is a number or (groups,)")
        most = float(level.max())
        shares = tuple((level / most).tolist()) if level.ndim else None
        return cls(unit, answers / most, shares, **reading)

    @property
    def levels(self) -> Array:
        """Epsilon of one answer, a number or one for each group; inf without privacy."""
        shares = np.asarray(1.0 if self.shares is None else self.shares)
        return np.asarray(shares / self.scale if self.scale else np.full(shares.shape, inf))

    @abstractmethod
    def debias(self, reports: ArrayLike) -> Array:
        """Real outcomes for `debiased_mle`, groups added up; shape (..., n, n)."""

    def simulate(
        self, probability: ArrayLike, users: ArrayLike, size: Size = (), *, rng: Generator
    ) -> Array:
        """`scores` when people answer by a model, (size..., ..., n): truth and noise at once.

        Entry [i, j] of ``probability``, (..., n, n), is the one that somebody prefers i to j.
        All ``users``, a number or one for each group, answer every pair; or, without groups, so
        many the pairs i < j, broadcast against (size..., ..., pairs).
        """
        table, n = check.square_tables("probability", probability), self.unit.n_items
        if table.shape[-1] != n or table.min() < 0 or table.max() > 1:
            raise ValueError(f"probability: allowed are probabilities of shape (..., {n}, {n})")
        counts = check.whole_array("users", users)
        if counts.min() < 0 or (self.shares is not None and counts.shape != (len(self.shares),)):
            raise ValueError(f"users = {users!r}: allowed are the numbers of people of each group")
        p = table[..., *pair_indices(n)]
        datasets = [counts] if self.shares is None else list(counts)
        shape = (*check.shape("size", size), *p.shape)
        return self._simulated(p, datasets, shape, check.generator(rng))

    @abstractmethod
    def _simulated(self, p: Array, datasets: list[Any], shape: Shape, rng: Generator) -> Array:
        """`simulate`, from the chances of the pairs and the answers of each group."""

    def scores(self, reports: ArrayLike) -> Array:
        """Outcomes of each item beyond half its answers, shape (..., n)."""
        outcomes = self.debias(reports)
        return np.asarray((outcomes - np.swapaxes(outcomes, -1, -2)).sum(axis=-1) / 2)

    def rank(self, released: Any, *, rng: Generator) -> Ints:
        """Positions by `scores`, ties broken at random, shape (..., n)."""
        return ranks_from_scores(self.scores(released), rng=rng)

    def publish(self, data: Any, size: Size = (), *, rng: Any) -> Any:
        """Independent tables of the reports that people send, shape (size..., ..., n, n)."""
        true = self._table("data", data)
        self.unit.check(true)
        ahead, behind = both_ways(true)
        shape = (*check.shape("size", size), *ahead.shape)
        return as_tables(*self._drawn(ahead, behind, shape, check.generator(rng)), true.shape[-1])

    @abstractmethod
    def _drawn(self, ahead: Ints, behind: Ints, shape: Shape, rng: Generator) -> tuple[Any, Any]:
        """Reports of the pairs i < j, each way, on the true answers each way."""

    def _release_loss(self) -> tuple[float, float]:
        """Opposite answers to all questions of the unit add up to the sum."""
        answers, most = _answers_of(self.unit), float(self.levels.max())
        return (person_epsilon(most, answers) if self.scale else inf,) * 2

    def _table(self, name: str, value: Any) -> Ints:
        """Whole counts with a group axis where there are groups, of the unit's items."""
        table, n = check.win_tables(name, value, unit=1), self.unit.n_items
        wanted = (n, n) if self.shares is None else (len(self.shares), n, n)
        if table.shape[-len(wanted) :] != wanted:
            raise ValueError(f"{name} of shape {table.shape}: allowed is (..., *{wanted})")
        return table


@dataclass(frozen=True)
class FlippedAnswers(_Answers):
    """Randomised response on every answer.

    Parameters
    ----------
    reading : {"debiased", "classic", "weighted"}
        How the reports are read: each made unbiased; taken for true answers; or unbiased and
        weighted by tanh(epsilon / 2)^2, the inverse variance at even odds, of mean 1 over answers.

    Notes
    -----
    XSC, sections 3.1 and 3.2, which weighs all people alike. **Privacy.** (epsilon, 0) locally for
    the unit, exactly (Warner 1965); reading spends nothing. Who is asked which pair must not depend
    on the person. Who is asked one pair only, at random, is protected by ``Edge(n,
    exchange=False)``. Idealised sampler (floating point): for study, unsafe for a release.
    """

    reading: str = "debiased"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("reading", self.reading, ("classic", "debiased", "weighted"))

    def channel(self) -> Array:
        """A report (columns) given the answer (rows), for each group: (..., 2, 2)."""
        if not self.scale:
            return np.broadcast_to(np.eye(2), (*self.levels.shape, 2, 2))
        return randomized_response_pmf(self.levels)

    def _drawn(self, ahead: Ints, behind: Ints, shape: Shape, rng: Generator) -> tuple[Ints, Ints]:
        channel = self.channel()[..., None]
        kept = rng.binomial(ahead, channel[..., 0, 0, :], shape)
        flipped = rng.binomial(behind, channel[..., 0, 1, :], shape)
        reports = kept + flipped
        return reports, ahead + behind - reports

    def slopes(self, users: ArrayLike) -> Array:
        """How much one report of each group moves a score, given people of each: (..., groups)."""
        a, m = np.atleast_1d(np.tanh(self.levels / 2)), np.atleast_1d(users)
        if self.reading != "weighted":
            return np.ones(m.shape) * (1.0 if self.reading == "classic" else 1 / a)
        m = m + (m.sum(axis=-1, keepdims=True) == 0)  # without people any weights will do
        return np.asarray(a * m.sum(axis=-1, keepdims=True) / (m @ a**2)[..., None])

    def debias(self, reports: ArrayLike) -> Array:
        """Outcomes of every pair as this ranker reads them; [i, j] and [j, i] add to their weight.

        XSC, (1) and (3): one report z counts (z - b) / a, as for `debiased_response`.
        """
        table, slope = self._groups(reports)
        opposite = np.swapaxes(table, -1, -2)
        weight = slope * (1.0 if self.reading == "classic" else np.tanh(self.levels / 2))
        # N / 2 + (C - C^T) / (2 a) loses no digits at small epsilon, as (C - b N) / a would.
        half, lean = weight[..., None, None] / 2, slope[..., None, None] / 2
        return np.asarray((half * (table + opposite) + lean * (table - opposite)).sum(axis=-3))

    def scores(self, reports: ArrayLike) -> Array:
        """Outcomes of each item beyond half its answers, shape (..., n).

        Whole numbers are added up before a slope multiplies them: ties stay ties.
        """
        table, slope = self._groups(reports)
        net = (table - np.swapaxes(table, -1, -2)).sum(axis=-1)
        first = slope[..., :1]
        excess = ((slope / first)[..., None] * net).sum(axis=-2)
        return np.asarray(first * excess / 2)

    def _groups(self, reports: ArrayLike) -> tuple[Ints, Array]:
        """Reports with an axis of groups, and the slope of each group."""
        table = self._table("reports", reports)
        table = table if self.shares is not None else table[..., None, :, :]
        return table, self.slopes(table.sum(axis=(-2, -1)))

    def _simulated(self, p: Array, datasets: list[Any], shape: Shape, rng: Generator) -> Array:
        slopes, excess = self.slopes([int(np.max(q)) for q in datasets]), np.zeros(shape)
        channel = self.channel().reshape(-1, 2, 2)
        # Equal slopes leave a sum of half-integers, free of rounding: ties stay ties.
        for distribution, q, slope in zip(channel, datasets, slopes / slopes[0], strict=True):
            reported = distribution[0, 1] + (distribution[1, 1] - distribution[0, 1]) * p
            excess += slope * (_count(q, reported, shape, rng) - q / 2)
        return np.asarray(slopes[0] * _item_scores(excess, self.unit.n_items))


@dataclass(frozen=True)
class LaplaceAnswers(_Answers):
    """Laplace noise on every answer: unbiased as it stands.

    Notes
    -----
    XSC, section 5.3 (Scenario V). **Privacy.** (epsilon, 0) locally for the unit, exactly, since
    an answer changes by at most 1.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    def _drawn(self, ahead: Ints, behind: Ints, shape: Shape, rng: Generator) -> tuple[Any, Any]:
        """Noisy sums of answers; the two ways add up to the number of answers."""
        noise = _laplace_sums(ahead + behind, shape, rng) / self.levels[..., None]
        return ahead + noise, behind - noise

    def debias(self, reports: ArrayLike) -> Array:
        """The noisy sums, groups added up."""
        table = check.square_tables("reports", reports)
        return np.asarray(table if self.shares is None else table.sum(axis=-3))

    def _simulated(self, p: Array, datasets: list[Any], shape: Shape, rng: Generator) -> Array:
        total = sum(datasets)
        excess = _count(total, p, shape, rng) - total / 2
        levels = np.atleast_1d(self.levels)
        pairs = zip(levels, datasets, strict=True)
        excess += sum(_laplace_sums(q, shape, rng) / e for e, q in pairs)
        return _item_scores(excess, self.unit.n_items)


def _answers_of(unit: Any) -> int:
    """How many answers the unit protects together; refuses units that local reports cannot keep."""
    if isinstance(unit, Edge) and not unit.exchange:
        return 1
    if isinstance(unit, Person) and unit.design in COMPLETE:
        return comb(unit.n_items, 2)
    raise ValueError(
        f"unit = {unit!r}: allowed are Edge(n, exchange=False) and Person(n, design=...) with "
        "'each_pair_once' or 'ranking', since a report shows which pair was answered"
    )


def _laplace_sums(count: Any, shape: Shape, rng: Generator) -> Array:
    """Sums of so many standard Laplace variables: differences of two Gamma variables."""
    return np.asarray(rng.gamma(count, size=shape) - rng.gamma(count, size=shape))


def _count(users: Any, probability: Array, shape: Shape, rng: Generator) -> Array:
    """Numbers of people who say 1, each with this probability."""
    if np.ndim(users) == 0 and users == 1:
        return (rng.random(shape) < probability).astype(float)
    return rng.binomial(users, probability, shape).astype(float)


def _item_scores(excess: Array, n_items: int) -> Array:
    """Sum over the pairs of each item; ``excess`` has one column for each pair i < j."""
    i, j = pair_indices(n_items)
    return np.asarray(excess @ (np.eye(n_items)[i] - np.eye(n_items)[j]))
