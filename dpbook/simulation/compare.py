"""Contests of private rankers: which one loses least in a situation, at equal true loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import comb, exp, log
from typing import Any

import numpy as np
import scipy
from scipy.special import logit

from dpbook import _validation as check
from dpbook import rankers
from dpbook._typing import Array, Ints
from dpbook.estimators import kendall_distance, pairwise_counts, ranks_from_scores
from dpbook.models import btl_probabilities, individual_wins, mallows_rankings
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.privacy.units import Unit
from dpbook.rankers.counts import CountRanker
from dpbook.rankers.local_pairs import questions

FLOOR = "no privacy"
MOST_SEARCHED = 13  # items, up to which rankings are searched for the best
OFTEN = 16  # times as many draws of noisy counts, which cost next to nothing


@dataclass(frozen=True)
class Situation:
    """What people hand in, who is protected, and how many there are; else a ``ValueError``.

    Parameters
    ----------
    data : {"comparisons", "surveys", "rankings"}
        ``per_user`` random pairs from each person; every pair once; a whole ranking.
    protect : {"comparison", "person"}
        One comparison, or all that a person says; a ranking is always protected as a whole.
    n_items, people, per_user : int
        Items, at least 3; people; pairs that each of them compares.
    agree : float
        Chance, above 1/2 and below 1, that a person prefers the better one of two neighbours of the
        true order: answers follow the Bradley-Terry-Luce model, rankings that of Mallows.
    """

    data: str
    protect: str
    n_items: int
    people: int
    per_user: int
    agree: float

    def __post_init__(self) -> None:
        check.choice("data", self.data, ("comparisons", "surveys", "rankings"))
        check.choice("protect", self.protect, ("comparison", "person"))
        for name in ("n_items", "people", "per_user"):
            check.integer(name, getattr(self, name), 3 if name == "n_items" else 1)
        if not 0.5 < self.agree < 1:
            raise ValueError(f"agree = {self.agree!r}: allowed is a number above 1/2 and below 1")

    @property
    def one_answer(self) -> bool:
        """Whether no more than one comparison is protected."""
        return self.protect == "comparison" and self.data != "rankings"

    @property
    def unit(self) -> Unit:
        """Who is protected, as the curator's rankers take it."""
        if self.data == "rankings":
            return WholeRanking(self.n_items)
        if self.one_answer:
            return Edge(self.n_items, exchange=self.data == "comparisons")
        if self.data == "surveys":
            return Person(self.n_items, design="each_pair_once", vouched=True)
        return Person(self.n_items, self.per_user, vouched=True)

    def dataset(self, rng: np.random.Generator) -> dict[str, Any]:
        """What people say: a "table" of wins, (n, n), and "ranks", (people, n), of rankings."""
        n, m = self.n_items, self.people
        if self.data == "rankings":
            ranks = mallows_rankings(m, n, phi=1 / self.agree - 1, rng=rng)
            return {"ranks": ranks, "table": pairwise_counts(ranks)}
        rho = btl_probabilities(-logit(self.agree) * np.arange(n))
        if self.data == "comparisons":
            return {"table": individual_wins(rho, users=m, per_user=self.per_user, rng=rng)[0]}
        table = np.zeros((n, n), dtype=np.int64)
        first, second = np.triu_indices(n, 1)
        table[first, second] = rng.binomial(m, rho[first, second])
        return {"table": table + np.tril(m - table.T, -1)}

    def _part(self, table: Ints, few: int, rng: np.random.Generator) -> Ints:
        """The table of so many answers of each person, drawn at random, given that of all."""
        n, m = self.n_items, self.people
        if self.data == "comparisons":  # all are alike: those drawn are a random part
            return rng.multivariate_hypergeometric(table.ravel(), few * m).reshape(n, n)
        first, second = np.triu_indices(n, 1)
        lots = questions(m, first.size, few, "random", rng)
        asked = np.bincount(lots.ravel().astype(np.intp), minlength=first.size)
        ahead = rng.hypergeometric(table[first, second], table[second, first], asked)
        drawn = np.zeros_like(table)
        drawn[first, second], drawn[second, first] = ahead, asked - ahead
        return drawn


@dataclass(frozen=True)
class Entry:
    """A ranker for a situation, the loss that one unit of it may have, and the data it takes."""

    ranker: rankers.Ranker
    share: float = 1.0  # of epsilon, that its own unit may lose
    takes: str = "table"  # of what `Situation.dataset` gives
    few: int = 0  # comparisons that are used of each person; 0 for all
    local: bool = False  # nobody sees more than private reports


def field(situation: Situation, epsilon: float) -> dict[str, Entry]:
    """All rankers of CCW25, AGKM, YLL and XSC for a situation that lose at most ``epsilon``.

    Examples
    --------
    >>> here = Situation("surveys", "person", 5, 100, 10, 0.6)
    >>> [name for name, entry in field(here, 1.0).items() if entry.local]
    ['flipped', 'Laplace', 'few flipped']
    """
    return _of_curators(situation, epsilon) | _of_nobody(situation, epsilon)


def compare_rankers(
    situation: Situation, epsilon: float, *, datasets: int, draws: int, rng: np.random.Generator
) -> dict[str, Array]:
    """Mean share of wrong pairs of every ranker in every data set, each ranker losing ``epsilon``.

    Parameters
    ----------
    datasets, draws : int
        Simulated, the same for all rankers; rankings that each draws of them, counts OFTEN more.

    Returns
    -------
    dict of array, shape (datasets,)
        By the names of `field`, and "no privacy": the net wins without any noise.

    Raises
    ------
    ValueError
        If there is no data set or no draw, or no ranker of a kind can lose as little as epsilon.
    """
    check.integer("datasets", datasets, 1)
    check.integer("draws", draws, 1)
    true = np.arange(situation.n_items)

    def share(ranks: Ints) -> Array:  # of wrong pairs, the mean over the draws
        return np.asarray(kendall_distance(ranks, true).mean(axis=0) / comb(true.size, 2))

    data = [situation.dataset(rng) for _ in range(datasets)]
    shares: dict[str, Array] = {}
    for name, entry in field(situation, epsilon).items():
        ranker = entry.ranker.at_loss(epsilon * entry.share)
        answers = [one[entry.takes] for one in data]
        if entry.few:
            answers = [situation._part(table, entry.few, rng) for table in answers]
        if isinstance(ranker, CountRanker):  # of all data sets at once
            size = OFTEN * draws, datasets
            shares[name] = share(ranker.sample(np.array(answers), size, rng=rng))
        else:
            drawn = [ranker.sample(one, draws, rng=rng) for one in answers]
            shares[name] = share(np.stack(drawn, axis=1))
    net = np.array([one["table"].sum(axis=1) - one["table"].sum(axis=0) for one in data])
    return shares | {FLOOR: share(ranks_from_scores(net, rng=rng)[None])}


@dataclass(frozen=True)
class Winner:
    """Who has the smallest mean error, and who is not told apart from it."""

    name: str
    error: float
    equals: tuple[str, ...]  # rivals that are not beaten beyond doubt


def simultaneous_width(errors: Mapping[str, Array]) -> float:
    """Half-width of the intervals for differences of two rankers, over the standard deviation.

    Student's t over the data sets of a `compare_rankers`, two at least, with Bonferroni's
    correction: the intervals of all pairs of rankers hold together in 95 comparisons of 100.
    """
    size, tests = next(iter(errors.values())).size, max(1, comb(len({*errors} - {FLOOR}), 2))
    check.integer("datasets", size, 2)
    return float(scipy.stats.t.isf(0.025 / tests, size - 1) / np.sqrt(size))


def winner(errors: Mapping[str, Array]) -> Winner:
    """Who wins a `compare_rankers`: compared data set by data set, by `simultaneous_width`."""
    names = sorted({*errors} - {FLOOR}, key=lambda name: (errors[name].mean(), name))
    best, width = errors[names[0]], simultaneous_width(errors)
    margins = {name: errors[name] - best for name in names[1:]}
    near = [name for name, margin in margins.items() if margin.mean() <= width * margin.std(ddof=1)]
    return Winner(names[0], float(best.mean()), tuple(near))


def _ridge_as_large(epsilon: float, unit: Unit) -> rankers.PerturbedMle:
    """The perturbed MLE with a ridge as large as its noise, whose proved loss is epsilon."""
    start = rankers.PerturbedMle.private(epsilon, unit)
    top = log(start.scale)

    def sized(x: float) -> rankers.PerturbedMle:
        return replace(start, scale=exp(x), gamma=exp(x))

    if sized(top).loss()[1] > epsilon - 1e-12:
        return start
    ends = top - log(8), top
    return sized(scipy.optimize.brentq(lambda x: sized(x).loss()[1] - epsilon, *ends, xtol=1e-13))


def _of_curators(s: Situation, epsilon: float) -> dict[str, Entry]:
    """The rankers that see the data and lose epsilon; for many items those that need no search."""
    entries = {
        "K-norm": Entry(rankers.KNormCounts.private(epsilon, s.unit)),
        "counts": Entry(rankers.NoisyCounts.private(epsilon, s.unit)),
    }
    if s.data == "comparisons":
        return entries | {"MLE": Entry(_ridge_as_large(epsilon, s.unit))}
    if s.one_answer:
        return entries
    # Whoever answers every pair once moves every lead by at most 2, in a circle or not.
    n, whole = s.n_items, WholeRanking(s.n_items)
    entries["KwikSort"] = Entry(rankers.NoisyPairs.private(epsilon, whole))
    if n > MOST_SEARCHED:
        return entries
    entries["Kemeny"] = Entry(rankers.NoisyPairs.private(epsilon, whole, "kemeny"))
    entries["cube"] = Entry(rankers.CubePairs.private(epsilon, whole))
    entries["exponential"] = Entry(rankers.ExponentialRanking.private(epsilon, whole))
    if s.data == "surveys":
        return entries
    dataset, cap = WholeRanking(n, users=s.people), min(2 * n, comb(n, 2))
    entries["footrule"] = Entry(rankers.PrivateFootrule.private(epsilon, whole), takes="ranks")
    return entries | {"capped": Entry(rankers.CappedKwikSort.private(epsilon, dataset, cap))}


def _of_nobody(s: Situation, epsilon: float) -> dict[str, Entry]:
    """The rankers that see private reports only; a person, or one answer, loses epsilon."""
    n, pairs, comparisons = s.n_items, comb(s.n_items, 2), s.data == "comparisons"
    answers = s.per_user if comparisons and not s.one_answer else 1
    unit: Unit = Edge(n, exchange=False)
    if not (comparisons or s.one_answer):
        unit = Person(n, design="each_pair_once", vouched=True)
    flipped = partial(rankers.FlippedAnswers.private, reading="classic")  # in whole numbers

    def shared(private: Any, unit: Unit, answers: int, few: int = 0) -> Entry:
        return Entry(private(epsilon / answers, unit), 1 / answers, few=few, local=True)

    entries = {"flipped": shared(flipped, unit, answers)}
    entries["Laplace"] = shared(rankers.LaplaceAnswers.private, unit, answers)
    most = s.per_user if comparisons else pairs
    few = 1 if s.one_answer else rankers.best_queries(epsilon, most=most)
    if s.data != "rankings":
        if few < most and not s.one_answer:
            entries["few flipped"] = shared(flipped, Edge(n, exchange=False), few, few)
        return entries
    whole = WholeRanking(n)
    few_pairs = partial(rankers.PairResponses.private, epsilon, whole, queries=few)
    of_ranks: dict[str, rankers.Ranker] = {
        "few flipped": few_pairs(solver="borda"),
        "few KwikSort": few_pairs(),
        "triple": rankers.RandomOrder.private(epsilon, whole, solver="borda"),
        "one each": rankers.OneQuestion.private(epsilon, whole, groups=min(s.people, pairs)),
    }
    if n <= MOST_SEARCHED:
        cap = max(n, min(4 * n, pairs))
        of_ranks["hypercube"] = rankers.Hypercube.private(epsilon, whole)
        of_ranks["on demand"] = rankers.AnswersOnDemand.private(epsilon, whole, cap=cap)
    return entries | {k: Entry(r, takes="ranks", local=True) for k, r in of_ranks.items()}
