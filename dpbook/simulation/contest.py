"""Contests of private rankers: which one loses least in a situation, at equal true loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import comb, log
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import logit

from dpbook.estimators import pairwise_counts, ranks_from_scores
from dpbook.models import btl_probabilities, individual_wins, mallows_rankings
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.privacy.units import Unit
from dpbook.rankers import (
    AnswersOnDemand,
    CappedKwikSort,
    ExponentialRanking,
    FlippedAnswers,
    Hypercube,
    LaplaceAnswers,
    NoisyCounts,
    NoisyPairs,
    OneQuestion,
    PairResponses,
    PerturbedMle,
    PrivateFootrule,
    Ranker,
    best_queries,
)
from dpbook.rankers.base import Array, Ints

DATA = ("comparisons", "surveys", "rankings")
FLOOR = "no privacy"

# ------------------------------------------------------------------ situations and their data


@dataclass(frozen=True)
class Situation:
    """What people hand in, who is protected, and how many there are.

    Attributes
    ----------
    data : {"comparisons", "surveys", "rankings"}
        ``per_user`` random pairs from each person; every pair once; a whole ranking.
    protect : {"comparison", "person"}
        One comparison, or all that a person says; a ranking is always protected as a whole.
    agree : float
        Chance that a person prefers the better one of two neighbours of the true order.
    """

    data: str
    protect: str
    n_items: int
    people: int
    per_user: int
    agree: float

    @property
    def one_answer(self) -> bool:
        """Whether no more than one comparison is protected."""
        return self.protect == "comparison" and self.data != "rankings"

    @property
    def unit(self) -> Unit:
        """Who is protected, as the curator's rankers take it."""
        n = self.n_items
        if self.data == "rankings":
            return WholeRanking(n)
        if self.one_answer:
            return Edge(n, exchange=self.data == "comparisons")
        if self.data == "surveys":
            return Person(n, design="each_pair_once", vouched=True)
        return Person(n, self.per_user, vouched=True)

    def crowd(self, rng: np.random.Generator) -> dict[str, Any]:
        """What the people say: a table, and whole rankings where they give them."""
        n, m = self.n_items, self.people
        if self.data == "rankings":
            places = mallows_rankings(m, n, phi=1 / self.agree - 1, rng=rng)
            return {"places": places, "table": pairwise_counts(places)}
        rho = btl_probabilities(-logit(self.agree) * np.arange(n))
        if self.data == "comparisons":
            table = individual_wins(rho, users=m, per_user=self.per_user, rng=rng)[0]
            return {"table": table}
        first, second = np.triu_indices(n, 1)
        table = np.zeros((n, n), dtype=np.int64)
        table[first, second] = rng.binomial(m, rho[first, second])
        table[second, first] = m - table[first, second]
        return {"table": table}

    def _part(self, table: Ints, few: int, rng: np.random.Generator) -> Ints:
        """The table of so many answers of each person, drawn by lot, given that of all."""
        n, m = self.n_items, self.people
        if self.data == "comparisons":  # all are alike: those drawn are a random part
            return rng.multivariate_hypergeometric(table.ravel(), few * m).reshape(n, n)
        first, second = np.triu_indices(n, 1)
        lots = rng.random((m, first.size)).argpartition(few - 1, axis=1)[:, :few]
        asked = np.bincount(lots.ravel(), minlength=first.size)
        ahead = rng.hypergeometric(table[first, second], table[second, first], asked)
        drawn = np.zeros_like(table)
        drawn[first, second], drawn[second, first] = ahead, asked - ahead
        return drawn


@dataclass(frozen=True)
class CountedResponses(PairResponses):
    """Few answers of each person, flipped, and then counted and not sorted: post-processing."""

    def rank(self, released: Any, *, rng: np.random.Generator) -> Ints:
        """Positions by reports for an item less reports against it, ties by lot."""
        table = np.asarray(released)
        return ranks_from_scores(table.sum(axis=-1) - table.sum(axis=-2), rng=rng)


@dataclass(frozen=True)
class CountedAnswers(FlippedAnswers):
    """Every answer flipped, and all trusted alike: whole numbers in place of unbiased ones.

    The order is the same, and ties do not hang on how a machine rounds.
    """

    def scores(self, reports: ArrayLike) -> Array:
        """Reports for an item less reports against it."""
        table = np.asarray(reports, dtype=float)
        return np.asarray(table.sum(axis=-1) - table.sum(axis=-2))


@dataclass(frozen=True)
class Entry:
    """A ranker for a situation, the loss that one unit of it may have, and the data it takes."""

    ranker: Ranker
    share: float = 1.0  # of epsilon, that its own unit may lose
    takes: str = "table"
    few: int = 0  # comparisons that are used of each person; 0 for all
    local: bool = False  # nobody sees more than private reports


def ridge_as_large(epsilon: float, unit: Unit) -> PerturbedMle:
    """The perturbed MLE with a ridge as large as its noise, whose proved loss is epsilon."""
    start = PerturbedMle.private(epsilon, unit)

    def excess(logarithm: float) -> float:
        size = float(np.exp(logarithm))
        return replace(start, scale=size, gamma=size).loss()[1] - epsilon

    top = log(start.scale)
    if excess(top) > -1e-12:
        return start
    size = float(np.exp(brentq(excess, top - log(8), top, xtol=1e-13)))
    return replace(start, scale=size, gamma=size)


def of_curators(s: Situation, epsilon: float) -> dict[str, Entry]:
    """The rankers that see the data and lose epsilon."""
    unit, pairs = s.unit, comb(s.n_items, 2)
    entries = {"counts": Entry(NoisyCounts.private(epsilon, unit))}
    if s.data == "comparisons":
        return entries | {"MLE": Entry(ridge_as_large(epsilon, unit))}
    if s.one_answer:
        return entries
    # Whoever answers every pair once moves every lead by at most 2, in a circle or not.
    whole = WholeRanking(s.n_items)
    entries |= {
        "Kemeny": Entry(NoisyPairs.private(epsilon, whole, "kemeny")),
        "KwikSort": Entry(NoisyPairs.private(epsilon, whole)),
        "exponential": Entry(ExponentialRanking.private(epsilon, whole)),
    }
    if s.data == "surveys":
        return entries
    crowd, cap = WholeRanking(s.n_items, users=s.people), min(2 * s.n_items, pairs)
    return entries | {
        "footrule": Entry(PrivateFootrule.private(epsilon, whole), takes="places"),
        "capped": Entry(CappedKwikSort.private(epsilon, crowd, cap)),
    }


def of_nobody(s: Situation, epsilon: float) -> dict[str, Entry]:
    """The rankers that see private reports only; a person, or one answer, loses epsilon."""
    n, pairs = s.n_items, comb(s.n_items, 2)
    unit: Edge | Person = Edge(n, exchange=False)
    answers = 1
    if s.data == "comparisons" and not s.one_answer:
        answers = s.per_user
    elif not s.one_answer:
        unit = Person(n, design="each_pair_once", vouched=True)

    def shared(make: Any, answers: int, few: int = 0) -> Entry:
        return Entry(make.private(epsilon / answers, unit), 1 / answers, few=few, local=True)

    entries = {
        "flipped": shared(CountedAnswers, answers),
        "Laplace": shared(LaplaceAnswers, answers),
    }
    most = s.per_user if s.data == "comparisons" else pairs
    few = 1 if s.one_answer else best_queries(epsilon, most=most)
    if s.data != "rankings":
        if few < most and not s.one_answer:
            unit = Edge(n, exchange=False)
            entries["few flipped"] = shared(CountedAnswers, few, few)
        return entries
    whole = WholeRanking(n)
    rankers: dict[str, Ranker] = {
        "few flipped": CountedResponses.private(epsilon, whole, queries=few),
        "few KwikSort": PairResponses.private(epsilon, whole, queries=few),
        "hypercube": Hypercube.private(epsilon, whole),
        "one each": OneQuestion.private(epsilon, whole, groups=min(s.people, pairs)),
        "on demand": AnswersOnDemand.private(epsilon, whole, cap=max(n, min(4 * n, pairs))),
    }
    return entries | {
        name: Entry(ranker, takes="places", local=True) for name, ranker in rankers.items()
    }


def field(s: Situation, epsilon: float) -> dict[str, Entry]:
    """All rankers for a situation; a curator may also collect private reports."""
    return of_curators(s, epsilon) | of_nobody(s, epsilon)


def wrong_share(places: Ints) -> Array:
    """Share of the pairs in the wrong order; items come in their true order."""
    n = places.shape[-1]
    first, second = np.triu_indices(n, 1)
    return np.asarray((places[..., first] > places[..., second]).mean(axis=-1))


def contest(
    s: Situation, epsilon: float, *, crowds: int, draws: int, rng: np.random.Generator
) -> dict[str, Array]:
    """Mean share of wrong pairs in every crowd, (crowds,), the crowds being the same for all.

    The floor are the net wins of the crowd, without any noise.
    """
    entries, errors = field(s, epsilon), []
    for _ in range(crowds):
        data, row = s.crowd(rng), {}
        for name, entry in entries.items():
            given = data[entry.takes]
            given = s._part(given, entry.few, rng) if entry.few else given
            ranker = entry.ranker.at_loss(epsilon * entry.share)
            row[name] = float(wrong_share(ranker.sample(given, draws, rng=rng)).mean())
        net = data["table"].sum(axis=-1) - data["table"].sum(axis=-2)
        row[FLOOR] = float(wrong_share(ranks_from_scores(net, rng=rng)))
        errors.append(row)
    return {name: np.array([row[name] for row in errors]) for name in (*entries, FLOOR)}


def reports_only(errors: Mapping[str, Array], s: Situation, epsilon: float) -> dict[str, Array]:
    """The errors of the rankers that need no curator."""
    return {name: errors[name] for name, entry in field(s, epsilon).items() if entry.local}


def reach(errors: Mapping[str, Array]) -> float:
    """Half-width over standard deviation, for all pairs of rankers at once: 95 times in 100."""
    names = set(errors) - {FLOOR}
    size, tests = next(iter(errors.values())).size, max(1, comb(len(names), 2))
    return float(scipy.stats.t.isf(0.025 / tests, size - 1) / np.sqrt(size))


@dataclass(frozen=True)
class Winner:
    """Who has the smallest mean, who comes next, and whether the crowds tell them apart."""

    name: str
    error: float
    second: str  # "" if there is nobody else
    lead: float
    half: float  # of the simultaneous 95 % interval of the lead
    equals: tuple[str, ...]  # rivals that are not beaten beyond doubt


def winner(errors: Mapping[str, Array]) -> Winner:
    """Compared crowd by crowd, with Student's t; all pairs together are right 95 times in 100."""
    names = sorted(set(errors) - {FLOOR}, key=lambda name: (errors[name].mean(), name))
    best, wide = errors[names[0]], reach(errors)
    leads = {name: errors[name] - best for name in names[1:]}
    halves = {name: wide * float(lead.std(ddof=1)) for name, lead in leads.items()}
    near = tuple(name for name, lead in leads.items() if lead.mean() <= halves[name])
    second = names[1] if leads else ""
    lead = float(leads[second].mean()) if leads else 0.0
    return Winner(
        names[0], float(best.mean()), second, lead, halves[second] if leads else 0.0, near
    )


@dataclass(frozen=True)
class Decision:
    """Who wins where one may choose among all, and where nobody is trusted."""

    curator: Winner
    nobody: Winner


def decide(
    s: Situation, epsilon: float, *, crowds: int, draws: int, rng: np.random.Generator
) -> Decision:
    """One contest, read twice: private reports may be collected by a curator, too."""
    errors = contest(s, epsilon, crowds=crowds, draws=draws, rng=rng)
    return Decision(winner(errors), winner(reports_only(errors, s, epsilon)))
