"""Rankings without a curator, pair by pair on demand, from groups of people split at random.

For `AnswersOnDemand` there are as many groups as items. Every ordered pair belongs to a random one,
which answers when it is asked; asked too often, it refuses. `OneQuestion` has one for a question.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.data import Rankings
from dpbook.estimators import kwiksort_rankings
from dpbook.mechanisms.responses import randomized_response_pmf
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.local_pairs import Hypercube, LocalRanker, Ranks


@dataclass(frozen=True, eq=False)
class GroupAnswers:
    """All answers that Algorithm 2 would give; only those asked for are released."""

    values: Array  # [j, i]: share of people who place j before i, not one minus [i, j]
    groups: Ints  # the group that answers for an ordered pair, (n, n); diagonal -1
    limit: int  # pairs that one group answers before it refuses
    group_size: int  # places in a group, some of which may be empty


class _OnDemand(LocalRanker):
    """What is released is a ranking."""

    def rank(self, released: Ints, *, rng: np.random.Generator) -> Ints:
        return released

    def _once(self, table: Ranks, rng: np.random.Generator) -> Ints:
        return self._run(table, rng)[0]

    @abstractmethod
    def _run(self, table: Ranks, rng: np.random.Generator) -> tuple[Ints, int, bool]:
        """Positions; answers of groups; whether these gave out, so that not all is theirs."""


@dataclass(frozen=True)
class AnswersOnDemand(_OnDemand):
    """KwikSort on private answers on demand, with another ranking when a group refuses.

    Attributes
    ----------
    unit, scale
        As for `PairResponses`; ``scale`` is one over the epsilon of one answer.
    cap : int
        Number of queries q that the protocol is set for, at least n / 2; a group may refuse anyway.
    calibration : {"tight", "printed"}
        The randomiser, made for numbers from -1 to 1, is fed with the answers -1 and 1; or with 0
        and 1, as printed, which wastes half of the budget.
    fallback : bool
        Whether a refusal is followed by Kemeny's ranking of `Hypercube` reports, at a budget of
        their own: Algorithm 3. Without it the ranker is Algorithm 2, and a refusal is an error.

    Notes
    -----
    AGKM, Lemma 10, Theorem 11, Algorithms 2 and 3, with the exact Kemeny ranking in the place of
    the authors' approximation scheme.
    **Privacy.** `private`: (epsilon, 0) locally if no more than `limit` pairs of a group are looked
    at; looking at all of `answers` is not private at epsilon. `printed`: the answers spend about
    epsilon / 2, answers and fallback together what `loss` says.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    cap: int
    calibration: str = "tight"
    fallback: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("cap", self.cap, (self.unit.n_items + 1) // 2)
        check.choice("calibration", self.calibration, ("tight", "printed"))

    @classmethod
    def private(
        cls, epsilon: float, unit: WholeRanking, *, cap: int, fallback: bool = True
    ) -> Self:
        """An equal share for each of `limit` answers, of half of epsilon if there is a fallback."""
        share, made = check.epsilon(epsilon) / (2 if fallback else 1), cls(unit, 1.0, cap)
        return replace(made, scale=made.limit / share, fallback=fallback)

    @classmethod
    def printed(
        cls, epsilon: float, unit: WholeRanking, *, cap: int, fallback: bool = True
    ) -> Self:
        """Answers as in Algorithm 2, 0.5 epsilon n / q each; a fallback at epsilon / 2 on top."""
        made, eps = cls(unit, 1.0, cap, "printed", fallback), check.epsilon(epsilon)
        return replace(made, scale=1 / (0.5 * eps * unit.n_items / cap))

    @property
    def limit(self) -> int:
        """Answers of one person, floor(2 q / n)."""
        return 2 * self.cap // self.unit.n_items

    @property
    def means(self) -> Array:
        """Expected reports of the answers 0 and 1: what the randomiser is fed with."""
        return np.array([-1.0 if self.calibration == "tight" else 0.0, 1.0])

    @property
    def gain(self) -> float:
        """Size ``coth(level / 2)`` of a report; AGKM print epsilon in the place of e."""
        return float(1 / np.tanh(0.5 * self.level))

    @property
    def channel(self) -> Array:
        """Distribution of one report: rows are the answers 0 and 1, columns minus and plus `gain`.

        Fed with 0 and 1 it spends only ``ln((1 + exp(level)) / 2)``: a coin answers for a 0.
        """
        plus = 0.5 * (1 + self.means / self.gain)
        return np.stack([1 - plus, plus], axis=1)

    @property
    def second(self) -> Hypercube:
        """The ranker that takes over when a group refuses."""
        if self.calibration == "tight":
            return Hypercube.private(self.limit * self.level, self.unit, solver="kemeny")
        nominal = self.level * self.cap / self.unit.n_items
        return Hypercube.printed(nominal, self.unit, solver="kemeny")

    def answers(self, data: Rankings | ArrayLike, *, rng: np.random.Generator) -> GroupAnswers:
        """Algorithm 2: unbiased private answers for every ordered pair, to be asked sparingly."""
        return self._answers(self._ranks(data), check.generator(rng))

    def _answers(self, table: Ranks, rng: np.random.Generator) -> GroupAnswers:
        users, n = table.shape
        plus = self.channel[:, 1]
        groups = rng.integers(0, n, size=(n, n))
        np.fill_diagonal(groups, -1)
        slots = users + (-users) % n
        ranks = rng.permutation(slots).reshape(n, -1)
        values = np.zeros((n, n))
        small = table.astype(np.uint8 if n <= 256 else np.int64)
        for g, place in enumerate(ranks):
            member = np.ascontiguousarray(small[place[place < users]].T)
            j, i = np.nonzero(groups == g)
            agree = (member[j] < member[i]).sum(axis=1)  # the sum of reports: two binomials
            up = rng.binomial(agree, plus[1]) + rng.binomial(member.shape[1] - agree, plus[0])
            values[j, i] = self.gain * (2 * up - member.shape[1]) * (n / users)
        if self.calibration == "tight":
            values = 0.5 * (1 + values)
            np.fill_diagonal(values, 0.0)
        return GroupAnswers(values, groups, self.limit, slots // n)

    def _run(self, table: Ranks, rng: np.random.Generator) -> tuple[Ints, int, bool]:
        """Algorithm 3: one run of KwikSort on the answers."""
        answers, n = self._answers(table, rng), self.unit.n_items
        load, order, stack = np.zeros(n, dtype=int), np.zeros(0, dtype=int), [np.arange(n)]
        while stack:
            items = stack.pop()
            if items.size < 2:
                order = np.append(order, items)
                continue
            pivot = int(rng.choice(items))
            rest = items[items != pivot]
            np.add.at(load, answers.groups[rest, pivot], 1)
            if load.max() > answers.limit:
                break
            left = answers.values[rest, pivot] > 0.5
            # Last in, first out: the left part is sorted before the pivot and the right part.
            stack += [rest[~left], np.array([pivot]), rest[left]]
        else:
            return np.argsort(order), int(load.sum()), False
        if not self.fallback:
            raise ValueError(f"cap = {self.cap}, fallback = False: a group was asked too often")
        return self.second.sample(table, rng=rng), int(load.clip(max=answers.limit).sum()), True

    def _release_loss(self) -> tuple[float, float]:
        """`limit` reports and the fallback, on a ranking and its reverse all at their worst."""
        one = self.level
        if self.calibration == "printed":
            one = float(np.logaddexp(0, one) - np.log(2))
        return (self.limit * one + (self.second.loss()[1] if self.fallback else 0.0),) * 2


@dataclass(frozen=True)
class OneQuestion(_OnDemand):
    """KwikSort that asks a fresh group for every comparison, so that nobody answers twice.

    Attributes
    ----------
    unit, scale
        As for `PairResponses`; ``scale`` is 1 / epsilon.
    groups, cap : int
        The people are split at random into so many groups of equal size, and some are left over; so
        many of the groups answer one comparison each.

    Notes
    -----
    Groups as in Bassily (2019), described by AGKM; by randomised response the majority of a group
    decides, a tie by a coin. The largest part is split first. Where a pivot would need more groups
    than the cap allows, everybody who has not been asked answers one pair, drawn from those without
    an order, and KwikSort ends on these.
    **Privacy.** (epsilon, 0) locally: every person sends one bit, chosen by what others have sent.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    groups: int
    cap: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("groups", self.groups, 1)
        check.integer("cap", self.cap, 0, self.groups)

    @classmethod
    def private(
        cls, epsilon: float, unit: WholeRanking, *, groups: int, cap: int | None = None
    ) -> Self:
        """Every answer at epsilon; without a cap each group may answer."""
        return cls(unit, 1 / check.epsilon(epsilon), groups, groups if cap is None else cap)

    def _run(self, table: Ranks, rng: np.random.Generator) -> tuple[Ints, int, bool]:
        """One run, with one person at least for each group."""
        users, n = table.shape
        size, lie = self.size(users), randomized_response_pmf(self.level)[0, 1]
        people = rng.permutation(users)
        ranks, asked, parts = np.zeros(n, dtype=np.int64), 0, [(0, np.arange(n))]
        while any(len(items) > 1 for _, items in parts):
            largest = max(range(len(parts)), key=lambda k: len(parts[k][1]))
            start, items = parts[largest]
            if asked + len(items) - 1 > self.cap:
                break
            pivot = int(rng.choice(items))
            rest = items[items != pivot]
            member = people[asked * size : (asked + len(rest)) * size].reshape(len(rest), size)
            asked += len(rest)
            votes = table[member, rest[:, None]] < table[member, pivot]
            lead = 2 * (votes ^ (rng.random(votes.shape) < lie)).sum(axis=1) - size
            left = lead + rng.choice([-0.5, 0.5], size=len(rest)) > 0
            ranks[pivot] = middle = start + int(left.sum())
            parts[largest] = (start, rest[left])
            parts.append((middle + 1, rest[~left]))
        open_pairs = [pair for _, items in parts for pair in combinations(items.tolist(), 2)]
        margin = np.zeros((n, n))
        if open_pairs:
            member = people[asked * size :]
            first, second = np.array(open_pairs)[rng.integers(len(open_pairs), size=len(member))].T
            yes = (table[member, first] < table[member, second]) ^ (rng.random(len(member)) < lie)
            pair = (first * n + second).astype(np.intp)
            margin += np.bincount(pair, 2 * yes - 1, n * n).reshape(n, n)
        for start, items in parts:
            ranks[items] = start
            if len(items) > 1:
                ranks[items] += kwiksort_rankings(margin[np.ix_(items, items)], rng=rng)
        return ranks, asked, bool(open_pairs)

    def size(self, users: int) -> int:
        """People in a group."""
        if check.integer("users", users, 1) < self.groups:
            raise ValueError(f"groups = {self.groups}: allowed is an integer from 1 to {users}")
        return users // self.groups
