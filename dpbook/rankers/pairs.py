"""Rankings aggregated by a trusted curator, with noise on pairs, all or asked for, or on places.

But for places the data are tables of counts: entry [i, j] says how many people rank i before j.
What carries the noise is the *lead* of i over j, entry [i, j] less entry [j, i].
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb, inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.data import Rankings
from dpbook.estimators.kemeny import kemeny_rankings
from dpbook.estimators.kwiksort import counted_kwiksorts, kwiksort_cost_pmf
from dpbook.estimators.orders import footrule_ranking
from dpbook.estimators.pairwise import ranking_positions
from dpbook.mechanisms.gaussian import gaussian_scale
from dpbook.privacy.loss import check_mechanism
from dpbook.privacy.units import WholeRanking
from dpbook.rankers.base import Ranker, Size, StandardNoise, as_tables, both_ways, pair_indices

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)  # of a cell, for three items


@dataclass(frozen=True)
class OfRankings(Ranker):
    """A ranker that protects whole rankings: by noise on the leads, if it says nothing else."""

    unit: WholeRanking
    protects = WholeRanking
    statistic = "margins"

    def _ranking_loss(self) -> tuple[float, float]:
        """By enumeration: `pmf` on all neighbours that the unit lists."""
        loss = check_mechanism(self.pmf, self.unit.neighbours("margins")).loss
        most = self._release_loss()[1]
        return (0.0, most) if loss == inf > most else (loss, loss)  # a chance has come out as 0

    def _counts(self, data: ArrayLike, *, whole: bool = False) -> Array:
        """Tables of counts, shape (..., n, n): of one data set, as the unit says."""
        tables = check.win_tables("data", data, unit=1 if whole else None).astype(float)
        self.unit.check(tables)
        return tables


def private_scale(l1: float, l2: float, epsilon: float, delta: float) -> float:
    """Laplace scale, or deviation of Gaussian noise for delta > 0, that spends the budget."""
    eps, chance = check.epsilon(epsilon), check.probability("delta", delta, one=False)
    return gaussian_scale(l2, eps, chance) if chance else l1 / eps


@dataclass(frozen=True)
class NoisyPairs(OfRankings, StandardNoise):
    """Noise on the lead of every item over every other, then a ranking of the noisy leads.

    Attributes
    ----------
    scale : float
        Laplace scale, or standard deviation, of the noise on each lead, in people; in fractions
        of the people it is ``scale / (2 * users)``.
    solver : {"kwiksort", "kemeny"}
        DP-KwikSort (YLL, section 5.1.1), or Reduction I of AGKM with an exact Kemeny ranking.
    gaussian, clip : bool
        Gaussian noise; noisy leads cut to what `unit.users` people can say, at the same loss.

    Notes
    -----
    **Privacy.** At the scale of `private`, (epsilon, delta)-DP and no less for the noisy leads:
    opposite rankings attain the sensitivity. A ranking made of them may lose less (`loss`).
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> NoisyPairs.private(1.0, WholeRanking(3)).scale
    6.0
    >>> described = NoisyPairs.described(1.0, WholeRanking(100))
    >>> [round(end, 2) for end in described.loss("ranking")]  # of a 1-private ranking, it is said
    [10.97, 21.71]
    """

    solver: str = "kwiksort"
    gaussian: bool = False
    clip: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("solver", self.solver, ("kwiksort", "kemeny"))
        if self.clip and self.unit.users is None:
            raise ValueError("users = None with clip = True: allowed is the number of people")

    @classmethod
    def private(
        cls,
        epsilon: float,
        unit: WholeRanking,
        solver: str = "kwiksort",
        *,
        delta: float = 0.0,
        clip: bool = False,
    ) -> NoisyPairs:
        """The least independent (epsilon, delta)-DP noise: Laplace for delta = 0, else Gaussian."""
        l2 = unit.step * sqrt(comb(unit.n_items, 2))
        scale = private_scale(unit.l1("margins"), l2, epsilon, delta)
        return cls(unit, scale, solver, delta > 0, clip)

    @classmethod
    def printed(cls, epsilon: float, unit: WholeRanking) -> NoisyPairs:
        """Reduction I as AGKM print it, Corollary 3: n^2 / (epsilon m) in fractions, too much."""
        return cls(unit, 2 * unit.n_items**2 / check.epsilon(epsilon), "kemeny", clip=True)

    @classmethod
    def described(cls, epsilon: float, unit: WholeRanking) -> NoisyPairs:
        """DP-KwikSort as YLL describe it: (n - 1) log(n) / epsilon, too little."""
        return cls(unit, (unit.n_items - 1) * log(unit.n_items) / check.epsilon(epsilon))

    def release(self, data: ArrayLike, noise: ArrayLike) -> Array:
        """Noisy leads, shape (..., n, n), with noise of shape (..., n (n - 1) / 2) for i < j."""
        ahead, behind = both_ways(self._counts(data, whole=True))
        noisy = (ahead - behind) + self.scale * np.asarray(noise)
        if self.clip:
            noisy = noisy.clip(-(most := float(self.unit.users or 0)), most)
        return as_tables(noisy, -noisy, self.unit.n_items)

    def rank(self, released: Array, *, rng: np.random.Generator) -> Ints:
        """Positions made by the solver, shape (..., n); tied ones at random."""
        if self.solver == "kwiksort":
            return _sorted(released, rng)[0]
        stack = released.reshape(-1, *released.shape[-2:])
        positions = kemeny_rankings((1 + stack / (self.unit.users or 1)) / 2, rng=rng)
        return positions.reshape(released.shape[:-1])

    def pmf(self, data: ArrayLike) -> Array:
        """Exact law over ``all_rankings(n)`` of up to 8 items; of 3 for Kemeny, Laplace noise."""
        if self.solver == "kwiksort":
            return np.asarray(self.cost_pmf(data).sum(axis=-1))
        table = self._counts(data)
        if table.shape != (3, 3) or self.gaussian:
            raise ValueError(
                f"data of shape {table.shape}, gaussian = {self.gaussian}: allowed are exactly 3 "
                "items and Laplace noise, for a Kemeny ranking"
            )
        margin = (table - table.T)[[0, 1, 2], [1, 2, 0]] / self.scale
        most = (self.unit.users or 0) / self.scale if self.clip else inf
        pmf = np.concatenate([_all_but_one(margin, most), _all_but_one(-margin, most)])
        return pmf[[2, 3, 4, 1, 0, 5]]  # 0 1 2, 0 2 1, 1 0 2, 2 0 1, 1 2 0, 2 1 0

    def cost_pmf(self, data: ArrayLike) -> Array:
        """Exact joint law of KwikSort's ranking and comparisons, (n!, n (n - 1) / 2 + 1)."""
        table = self._counts(data)
        margin = (table - np.swapaxes(table, -1, -2)) / self.scale
        return kwiksort_cost_pmf(ndtr(margin) if self.gaussian else probability_ahead(margin))

    def _ranking_loss(self) -> tuple[float, float]:
        """By enumeration for a number of people; for any number, what profiles come near.

        Every table of leads of equal parity comes from some profile (McGarvey 1953). All may end in
        a tie. Or item 0 lies hopelessly far behind all but item 1: the identity needs item 1 as the
        first pivot, which makes n - 1 comparisons, at step / scale each, and leaves n - 2 items.
        The lower end is the best mixture, exact for two and three items.
        """
        if self.gaussian:
            return inf, inf
        if self.unit.users is not None or self.solver == "kemeny":
            return super()._ranking_loss()
        n, move = self.unit.n_items, self.unit.step / self.scale
        tied = _log_identity(n, -log(2)) - _log_identity(n, -log(2) - move)
        bound = [0.0, 0.0, move]
        for k in range(3, n + 1):
            best = _three_items(self.scale, self.unit.step) if k == 3 else float(tied[k])
            bound.append(max(best, (k - 1) * move + bound[k - 2]))
        return bound[n], bound[n] if n < 4 else self._release_loss()[1]


@dataclass(frozen=True)
class CappedKwikSort(OfRankings, StandardNoise):
    """Reduction II of AGKM: KwikSort on at most `cap` noisy leads, else Reduction I.

    Attributes
    ----------
    scale, gaussian
        As for `NoisyPairs`, on the leads that KwikSort asks for.
    cap, ratio : int, float
        Largest number q of comparisons; scale of the fallback's Laplace noise over `scale`.

    Notes
    -----
    AGKM, Theorem 5 and Algorithm 1. A run is stopped when it asks for answer q + 1.
    **Privacy.** What is released is taken to be the transcript: the answers that KwikSort sees,
    then the noisy leads of the fallback. At the scales of `private` it is (epsilon, delta)-DP; at
    those that are `printed` it loses epsilon (1 + (n - 1) / (4 n)), and the ranking alone at most
    epsilon for three items and a cap of 2; for more this is open.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> CappedKwikSort.printed(1.0, WholeRanking(10, users=50), 30).loss()
    (1.225, 1.225)
    """

    cap: int
    ratio: float = 1.0
    gaussian: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("cap", self.cap, self.unit.n_items - 1)
        check.positive("ratio", self.ratio)
        if self.unit.users is None:
            raise ValueError("users = None: allowed is the number of people")

    @classmethod
    def private(
        cls, epsilon: float, unit: WholeRanking, cap: int, *, share: float = 0.5, delta: float = 0.0
    ) -> CappedKwikSort:
        """Answers at (epsilon (1 - share), delta), and the fallback, if any, at epsilon * share."""
        check.probability("share", share, zero=False, one=False)
        pairs = comb(unit.n_items, 2)
        q = min(check.integer("cap", cap, unit.n_items - 1), pairs)
        kept = share if q < pairs else 0.0
        budget = check.epsilon(epsilon) * (1 - kept)
        scale = private_scale(unit.step * q, unit.step * sqrt(q), budget, delta)
        fallback = unit.l1("margins") / (epsilon * kept) if kept else scale
        return cls(unit, scale, cap, fallback / scale, delta > 0)

    @classmethod
    def printed(cls, epsilon: float, unit: WholeRanking, cap: int) -> CappedKwikSort:
        """As AGKM print it: q / (epsilon m) in fractions, where Theorem 5 asks for epsilon / 2."""
        scale = 2 * check.integer("cap", cap, 1) / check.epsilon(epsilon)
        return cls(unit, scale, cap, NoisyPairs.printed(epsilon / 2, unit).scale / scale)

    @property
    def answers(self) -> NoisyPairs:
        """The noisy leads that KwikSort may ask for."""
        return NoisyPairs(self.unit, self.scale, gaussian=self.gaussian)

    @property
    def fallback(self) -> NoisyPairs:
        """What answers in the place of a run that asks for more."""
        return NoisyPairs(self.unit, self.scale * self.ratio, "kemeny", clip=True)

    def release(self, data: ArrayLike, noise: ArrayLike) -> Array:
        """Noisy leads, as by `NoisyPairs.release`, of which a run sees at most `cap`."""
        return self.answers.release(data, noise)

    def sample(self, data: Any, size: Size = (), *, rng: Any) -> Ints:
        """Independent rankings, positions of shape (size..., n)."""
        return self.runs(data, size, rng=rng)[0]

    def runs(
        self, data: ArrayLike, size: Size = (), *, rng: np.random.Generator
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """As `sample`; and which rankings the fallback made, not to be published beside them."""
        positions, made = _sorted(self.publish(data, size, rng=rng), rng)
        over = made > self.cap
        if over.any():
            positions[over] = self.fallback.sample(data, int(over.sum()), rng=rng)
        return positions, over

    def pmf(self, data: ArrayLike) -> Array:
        """Exact distribution over ``all_rankings(n)``, for three items or a cap of all pairs."""
        joint = self.answers.cost_pmf(data)
        finished, over = joint[..., : self.cap + 1].sum(axis=-1), joint[..., self.cap + 1 :]
        return finished + over.sum() * self.fallback.pmf(data) if over.size else finished

    def _release_loss(self) -> tuple[float, float]:
        """Of the answers and of the fallback together, attained by opposite rankings."""
        if self.gaussian:
            return inf, inf
        pairs = comb(self.unit.n_items, 2)
        rest = self.fallback.loss()[0] if self.cap < pairs else 0.0
        return (self.unit.step * min(self.cap, pairs) / self.scale + rest,) * 2


@dataclass(frozen=True)
class PrivateFootrule(OfRankings, StandardNoise):
    """Noise on how many people place each item at each place or before it, the last left out.

    Attributes
    ----------
    scale, gaussian : float, bool
        Laplace scale, or standard deviation of Gaussian noise, in people.

    Notes
    -----
    Two rankings differ in as many of these zeros and ones as their footrule distance, at most
    floor(n^2 / 2), that of opposite ones; one person more moves n (n - 1) / 2 counts by 1.
    **Privacy.** At the scale of `private`, (epsilon, delta)-DP and no less for the noisy counts.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> PrivateFootrule.private(0.5, WholeRanking(5)).scale
    24.0
    """

    statistic = "ranks"
    gaussian: bool = False

    @classmethod
    def private(cls, epsilon: float, unit: WholeRanking, *, delta: float = 0.0) -> PrivateFootrule:
        """The least independent (epsilon, delta)-DP noise: Laplace for delta = 0, else Gaussian."""
        moved = unit.l1("ranks")
        return cls(unit, private_scale(moved, sqrt(moved), epsilon, delta), delta > 0)

    def release(self, data: Rankings | ArrayLike, noise: ArrayLike) -> Array:
        """Noisy counts, (..., n, n - 1), as the noise, of rankings: rows of places, (users, n)."""
        table = ranking_positions(data)
        n, users = self.unit.n_items, self.unit.users
        if table.shape != (users or len(table), n):
            allowed = f"({users or 'users'}, {n}), as unit says"
            raise ValueError(f"data of shape {table.shape}: allowed is {allowed}")
        return ranks_reached(table) + self.scale * np.asarray(noise)

    def rank(self, released: Array, *, rng: np.random.Generator) -> Ints:
        """The ranking nearest in footrule, positions of shape (..., n)."""
        return footrule_ranking(released)


def ranks_reached(positions: NDArray[np.integer]) -> Ints:
    """People who place item i at place k or before it, shape (n, n - 1)."""
    n = positions.shape[1]
    held = np.array([np.bincount(column.astype(np.intp), minlength=n) for column in positions.T])
    return held.cumsum(axis=1)[:, :-1].astype(np.int64)


def _sorted(margins: Array, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """KwikSort on leads of shape (..., n, n): positions (..., n), and comparisons made (...)."""
    ahead = margins.reshape(-1, *margins.shape[-2:]) > 0
    i, j = pair_indices(margins.shape[-1])
    ahead[:, j, i] = ~ahead[:, i, j]
    positions, made = counted_kwiksorts(ahead, rng=rng)
    return positions.reshape(margins.shape[:-1]), made.reshape(margins.shape[:-2])


def probability_ahead(margin: Array) -> Array:
    """P(lead + standard Laplace noise > 0), entry by entry, with full relative accuracy."""
    tail = np.exp(-np.abs(margin)) / 2
    return np.where(margin < 0, tail, 1 - tail)


def _all_but_one(margin: Array, most: float) -> Array:
    """P(a Kemeny ranking obeys all but the e-th of three noisy leads round a cycle), for each e.

    In units of the scale. Either the e-th alone is negative; or all are positive and the least is
    given up: an integral over its value, by a Gaussian rule on cells of at most 1. Leads cut to the
    most tie. Every term is positive, so small chances keep their relative accuracy.
    """
    first, second = [1, 0, 0], [2, 2, 1]  # the others
    ahead = probability_ahead(margin)
    chance = probability_ahead(-margin) * ahead[first] * ahead[second]
    end = min(most, max(0.0, float(margin.max())) + 1)
    cells = pairwise(np.unique(np.clip([0.0, end, *margin], 0.0, end)))
    cut = [np.linspace(low, high, int(np.ceil(high - low)) + 1)[:-1] for low, high in cells]
    edges = np.concatenate([*cut, [end]])
    half = np.diff(edges)[:, None] / 2
    t = ((edges[:-1, None] + half) + half * NODES).ravel()
    gap = margin[:, None] - t
    density, above = np.exp(-np.abs(gap)) / 2, probability_ahead(gap)
    chance += (density * above[first] * above[second]) @ (half * WEIGHTS).ravel()
    # Beyond the end: one third each, by the tie, or because all three leads decay alike.
    return np.asarray(chance + probability_ahead(margin - end).prod() / 3)


def _log_identity(n: int, log_p: float) -> Array:
    """Log-chances of the identity on 0, ..., n items when every pair is won with chance p.

    Of p itself the logarithm: p may underflow.
    """
    logs = np.zeros(n + 1)
    for k in range(2, n + 1):
        parts = np.logaddexp.reduce(logs[:k] + logs[:k][::-1])  # over the places of the pivot
        logs[k] = (k - 1) * log_p + parts - log(k)
    return logs


def _three_items(b: float, step: int) -> float:
    """Exact worst loss of DP-KwikSort's ranking of three items, over all profiles of any size.

    The order a b c has the chance p_ab p_bc (1 + 2 p_ac) / 3, which grows in each chance to win:
    the worst change turns c b a into a b c. Of the three terms of the log-ratio, each a function of
    one lead, two are at most step / b and the third is largest near a tie; all are attained
    together, as c b a and a b c may be added to the other people without changing their leads.
    """
    margin = np.arange(-step - 1.0, 2.0)
    after, before = (probability_ahead(lead / b) for lead in (margin + step, margin))
    third = np.log1p(2 * after) - np.log1p(2 * before)
    return float(2 * step / b + third.max())
