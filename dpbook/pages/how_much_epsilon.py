"""Page 34: what an epsilon tells as odds, and the smallest one at which a ranking comes out right.

"Right" has three meanings, in this order everywhere: the first place, the top k as a set, the whole
order. Items are named by their true order, 0 for the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit

from dpbook.estimators import ranks_from_scores
from dpbook.mechanisms import randomized_response_pmf
from dpbook.models import all_rankings, btl_probabilities, mallows_rankings
from dpbook.privacy import (
    Edge,
    Person,
    WholeRanking,
    clopper_pearson,
    laplace_profile,
    permute_and_flip_law,
    ranking_law,
)
from dpbook.rankers import (
    ExponentialRanking,
    FlippedAnswers,
    LaplaceAnswers,
    NoisyCounts,
    NoisyPairs,
    PairResponses,
    PerturbedMle,
    PrivateFootrule,
    best_queries,
)

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Family = Callable[[float], Ints]  # from epsilon to positions, (runs, n), with frozen randomness

GOALS = ("first place", "top set", "whole order")
FIRST = "permute-and-flip, first place alone"
MOST_PEOPLE = 50_000  # who report at once
GRID = np.geomspace(0.01, 20, 96)  # values of epsilon that are tried, in nats


# ------------------------------------------------------------------ what an observer learns


def guesses(p: ArrayLike, q: ArrayLike) -> tuple[float, float, float]:
    """Of two laws, each as likely: largest posterior, chance of a right guess, and how often the
    largest posterior comes up."""
    both = np.array([p, q], dtype=float)
    total, best = both.sum(axis=0), both.max(axis=0)
    posterior = np.divide(best, total, out=np.zeros_like(best), where=total > 0)
    most = posterior.max()
    return float(most), float(best.sum() / 2), float(total[posterior > most - 1e-12].sum() / 2)


def shifted(moved: int, scale: float) -> Array:
    """Laws, (2, moved + 1), of a count with discrete Laplace noise: its true value is 0, or moved.

    At most 0, each value between, at least moved: within the two ends the odds do not change.
    """
    z = np.exp(-1 / scale)
    law = (1 - z) / (1 + z) * z ** np.arange(moved + 1.0)
    law[0], law[moved] = 1 / (1 + z), z**moved / (1 + z)
    return np.array([law, law[::-1]])


def joint(laws: list[Array]) -> Array:
    """Laws, (2, outcomes), of independent observations."""
    found = np.ones((2, 1))
    for law in laws:
        found = (found[:, :, None] * law[:, None, :]).reshape(2, -1)
    return found


def reports(e: float, answers: int = 1) -> Array:
    """Laws of randomised responses at e each: all true answers are no, or all are yes."""
    return joint([randomized_response_pmf(e)] * answers)


def noisy_wins(e: float, answers: int = 1) -> Array:
    """Laws of win counts with integer noise, at e for one answer: all answers are about one item,
    each with another one, and that item loses them all, or wins them all."""
    scale = NoisyCounts.private(e, Edge(2, exchange=False), discrete=True).scale
    return joint([shifted(answers, scale)] + [shifted(1, scale)[:, ::-1]] * answers)


def laplace_guess(e: float) -> float:
    """Chance of a right guess about one answer from two win counts with Laplace noise."""
    scale = NoisyCounts.private(e, Edge(2, exchange=False)).scale
    return float(0.5 + laplace_profile([1, -1], scale, 0.0) / 2)


def majority(e: float, answers: int) -> float:
    """Chance that most of so many coins, each right with chance expit(e), are right; ties half."""
    law = stats.binom.pmf(np.arange(answers + 1), answers, expit(e))
    right = np.sign(2 * np.arange(answers + 1) - answers)
    return float(law @ (1 + right) / 2)


def order_of_two(lead: int, scale: float) -> tuple[float, float, float]:
    """`guesses` from the order of two items alone, that lead apart but for one answer."""
    laws = [ranking_law([wins, 0], scale=scale) for wins in (lead + 1, lead - 1)]
    return guesses(*laws)


# ----------------------------------------------------------------- exactly, for few items


def tables(answers: Ints) -> Iterator[Ints]:
    """All tables of wins with so many answers to each pair, (n, n)."""
    n = len(answers)
    i, j = np.triu_indices(n, 1)
    for won in product(*[range(q + 1) for q in answers[i, j]]):
        table = np.zeros((n, n), dtype=np.int64)
        table[i, j], table[j, i] = won, answers[i, j] - won
        yield table


def counts_pmf(chance: Array, answers: Ints) -> dict[tuple[int, ...], float]:
    """Exact law of the win counts, with so many answers to each pair."""
    law: dict[tuple[int, ...], float] = {}
    i, j = np.triu_indices(len(answers), 1)
    asked = zip(answers[i, j], chance[i, j], strict=True)
    laws = [stats.binom.pmf(np.arange(size + 1), size, p) for size, p in asked]
    for table in tables(answers):
        p = np.prod([pmf[won] for pmf, won in zip(laws, table[i, j], strict=True)])
        wins = tuple(table.sum(axis=1).tolist())
        law[wins] = law.get(wins, 0.0) + float(p)
    return law


def goals_met(positions: Ints, k: int) -> NDArray[np.bool_]:
    """Whether first place, top k and order are right, (3, ...), of positions (..., n)."""
    right = positions == np.arange(positions.shape[-1])
    return np.array([right[..., 0], (positions[..., :k] < k).all(axis=-1), right.all(axis=-1)])


@cache
def _law(wins: tuple[int, ...], scale: float) -> Array:
    return ranking_law(wins, scale=scale, underflow="zero")


def exact_counts(chance: Array, answers: Ints, k: int) -> Callable[[float], Array]:
    """Chances (3,) that noisy counts at epsilon for one answer are right, over all tables."""
    law, met = counts_pmf(chance, answers), goals_met(all_rankings(len(chance)), k)

    def right(e: float) -> Array:
        scale = NoisyCounts.private(e, Edge(len(chance), exchange=False)).scale
        found = np.zeros(3)
        for wins, p in law.items():
            found += p * (met @ _law(wins, scale))
        return found

    return right


def exact_first(chance: Array, answers: Ints, steps: int = 2) -> Callable[[float], float]:
    """Chance that permute-and-flip on the win counts names item 0; e^(epsilon/steps) for a win."""
    laws = [
        (p, permute_and_flip_law(dict(enumerate(wins)), steps))
        for wins, p in counts_pmf(chance, answers).items()
    ]
    return lambda e: sum(p * law.at(e)[0] for p, law in laws)


def first_place(wins: Ints, moved: int, rng: np.random.Generator) -> Family:
    """Permute-and-flip on counts that move by so much: exponential noise, the largest is named.

    Of the positions only the first place may be released. Ding et al. 2021, arXiv 2105.07260.
    """
    noise = 2 * moved * rng.exponential(size=wins.shape)
    return lambda e: ranks_from_scores(wins + noise / e)


def exact_reports(theta: Array, answers: Ints, k: int) -> Callable[[float], Array]:
    """As `exact_counts`, for randomised response: the reports, counted, ties by lot."""
    places = all_rankings(len(theta))
    met = goals_met(places, k)

    def right(e: float) -> Array:
        keep, flip = randomized_response_pmf(e)[0]
        law = counts_pmf(flip + (keep - flip) * btl_probabilities(theta), answers)
        found = np.zeros(3)
        for wins, p in law.items():
            inverse = np.argsort(places, axis=1)
            falls = (np.diff(np.array(wins)[inverse], axis=1) <= 0).all(axis=1)
            found += p * (met[:, falls].mean(axis=1))
        return found

    return right


# ------------------------------------------------------------------ by simulation


def outward(value: float, way: int) -> str:
    """Two digits, rounded up for way 1 and down for way -1: an interval only gets wider."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    steps = np.ceil(value / unit - 1e-9) if way > 0 else np.floor(value / unit + 1e-9)
    return f"{steps * unit:.2g}"


def of_hundred(belief: float) -> str:
    """A belief as guesses of 100, rounded up; never 100 of them."""
    return f"{np.ceil(1000 * belief - 1e-9) / 10:.1f}" if belief <= 0.999 else "over 99.9"


@dataclass(frozen=True)
class Smallest:
    """Between which two values of epsilon the smallest one lies that is enough."""

    low: float  # too small; 0 if none of the grid is
    high: float  # enough; inf if none of the grid is
    possible: bool = True  # whether it may be enough to add no noise at all

    def __str__(self) -> str:
        if not self.possible:
            return "not at this size"
        if np.isinf(self.high):
            return f"above {outward(self.low, -1)}" if self.low else "not told by so few runs"
        high = outward(self.high, 1)
        return f"{outward(self.low, -1)} to {high}" if self.low else f"at most {high}"

    def times(self, answers: int) -> Smallest:
        """The same noise, said of so many answers together."""
        return Smallest(answers * self.low, answers * self.high, self.possible)


@dataclass
class Study:
    """Runs of one family of rankers on drawn data, remembered by epsilon."""

    family: Family
    k: int
    wanted: float
    error: float  # chance that a statement about one goal is wrong
    limit: tuple[int, ...] | None = None  # runs that are right without any noise

    def __post_init__(self) -> None:
        self.seen: dict[float, tuple[Ints, int]] = {}

    def hits(self, e: float) -> tuple[Ints, int]:
        """Right runs for each goal, (3,), and all runs."""
        if e not in self.seen:
            met = goals_met(self.family(e), self.k)
            self.seen[e] = met.sum(axis=1), met.shape[1]
        return self.seen[e]

    def interval(self, e: float) -> Array:
        """Lower and upper ends, (2, 3), that hold at all values of the grid together."""
        right, runs = self.hits(e)
        return np.array(clopper_pearson(right, runs, confidence=1 - self.error / len(GRID)))

    def smallest(self, goal: int) -> Smallest:
        """By two bisections over the grid: the last that is too small, the first that is enough."""
        ends = []
        for end in (1, 0):
            low, high = -1, len(GRID)  # low is not yet there, high is
            while high - low > 1:
                middle = (low + high) // 2
                there = self.interval(float(GRID[middle]))[end, goal] >= self.wanted
                low, high = (low, middle) if there else (middle, high)
            ends.append(low if end else high)
        low, high = ends
        return Smallest(
            float(GRID[low]) if low >= 0 else 0.0,
            float(GRID[high]) if high < len(GRID) else np.inf,
            high < len(GRID) or self._possible(goal),
        )

    def _possible(self, goal: int) -> bool:
        """Whether the data without noise may be right as often as wanted."""
        if self.limit is None:
            return True
        _, runs = self.hits(float(GRID[-1]))
        most = clopper_pearson(self.limit, runs, confidence=1 - self.error / len(GRID))[1]
        return bool(most[goal] >= self.wanted)


def comparisons(
    theta: Array, answers: int, runs: int, rng: np.random.Generator
) -> dict[str, Family]:
    """Rankers of comparisons at equal true loss for one answer; every pair is answered as often.

    Data and noise are drawn once, so that little but epsilon changes. The perturbed MLE is left
    out: `same_order` shows that here it ranks as noisy counts do.
    """
    n, chance = len(theta), btl_probabilities(theta)
    edge = Edge(n, exchange=False)
    wins = _drawn(chance, answers, runs, rng).sum(axis=2)
    curator, local = NoisyCounts.private(1.0, edge), FlippedAnswers.private(1.0, edge)
    noise = curator.noise(runs, rng=rng)
    noisy, seeds = LaplaceAnswers.private(1.0, edge), rng.integers(2**63, size=3)

    def counts(e: float) -> Ints:
        if np.isinf(e):
            return ranks_from_scores(wins, rng=np.random.default_rng(seeds[0]))
        return ranks_from_scores(curator.at_loss(e).perturb(wins, noise))

    def simulated(ranker: FlippedAnswers | LaplaceAnswers, seed: int) -> Ints:
        again = np.random.default_rng(seed)
        return ranks_from_scores(ranker.simulate(chance, answers, runs, rng=again), rng=again)

    return {
        "noisy counts": counts,
        "randomised response": lambda e: simulated(local.at_loss(e), seeds[1]),
        "Laplace on each answer": lambda e: simulated(noisy.at_loss(e), seeds[2]),
        FIRST: first_place(wins, 1, np.random.default_rng(seeds)),
    }


def _drawn(chance: Array, answers: ArrayLike, runs: int, rng: np.random.Generator) -> Ints:
    """Tables of wins, (runs, n, n), with so many answers to each pair: a number, or (n, n)."""
    i, j = np.triu_indices(len(chance), 1)
    each = np.broadcast_to(np.asarray(answers), chance.shape)[i, j]
    data = np.zeros((runs, *chance.shape), dtype=np.int64)
    data[:, i, j] = rng.binomial(each, chance[i, j], (runs, i.size))
    data[:, j, i] = each - data[:, i, j]
    return data


def same_order(
    theta: Array, answers: ArrayLike, e: float, runs: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Share of runs in which the perturbed MLE orders the items as noisy counts; its loss over e.

    Both get the same noise, which the MLE adds with the other sign.
    """
    edge = Edge(len(theta), exchange=False)
    counts, mle = NoisyCounts.private(e, edge), PerturbedMle.private(e, edge)
    data = _drawn(btl_probabilities(theta), answers, runs, rng)
    noise = counts.noise(runs, rng=rng)
    orders = [ranks_from_scores(r.release(data, w)) for r, w in ((counts, noise), (mle, -noise))]
    return float((orders[0] == orders[1]).all(axis=1).mean()), mle.loss()[1] / e


def whole_rankings(
    phi: float, n: int, people: int, runs: int, rng: np.random.Generator
) -> dict[str, Family]:
    """Rankers of whole rankings, drawn from a Mallows model, at equal true loss for a person."""
    places = mallows_rankings(people * runs, n, phi=phi, rng=rng)
    by_run = places.reshape(runs, people, n)
    unit, person = WholeRanking(n), Person(n, design="ranking", vouched=True)
    borda, leads = NoisyCounts.private(1.0, person), NoisyPairs.private(1.0, unit)
    foot, whole = PrivateFootrule.private(1.0, unit), ExponentialRanking.private(1.0, unit)
    data = np.array([(p[:, :, None] < p[:, None, :]).sum(axis=0) for p in by_run])
    reached = np.array([(p[:, :, None] <= np.arange(n - 1)).sum(axis=0) for p in by_run])
    wins, orders = data.sum(axis=2), all_rankings(n)
    # Total Kendall distance to each ranking, (runs, n!).
    behind = orders[:, :, None] > orders[:, None, :]
    costs = data.reshape(runs, -1).astype(float) @ behind.reshape(len(orders), -1).T
    of_items, of_pairs, of_places = (r.noise(runs, rng=rng) for r in (borda, leads, foot))
    uniform, seed = rng.random(runs), int(rng.integers(2**63))

    def counts(e: float) -> Ints:
        if np.isinf(e):
            return ranks_from_scores(wins, rng=np.random.default_rng(seed))
        return ranks_from_scores(borda.at_loss(e).perturb(wins, of_items))

    def kwiksort(e: float) -> Ints:
        ranker = leads.at_loss(e)
        return ranker.rank(ranker.release(data, of_pairs), rng=np.random.default_rng(seed))

    def footrule(e: float) -> Ints:
        return foot.rank(reached + foot.at_loss(e).scale * of_places, rng=rng)

    def exponential(e: float) -> Ints:  # one draw from the exact law of each run
        weights = np.exp(-(costs - costs.min(axis=1, keepdims=True)) / whole.at_loss(e).scale)
        below = np.cumsum(weights, axis=1)
        return orders[(below < uniform[:, None] * below[:, -1:]).sum(axis=1)]

    def local(e: float) -> Ints:
        again, asked = np.random.default_rng(seed), best_queries(e, most=n * (n - 1) // 2)
        ranker = PairResponses.private(e, unit, queries=asked)
        parts = np.array_split(by_run, -(-people * runs // MOST_PEOPLE))
        tally = [reported(ranker, part.reshape(-1, n), len(part), again) for part in parts]
        return ranker.rank(np.concatenate(tally), rng=again)

    return {
        "noisy counts": counts,
        "KwikSort on noisy leads": kwiksort,
        "private footrule": footrule,
        "exponential mechanism over whole rankings": exponential,
        "LDP-KwikSort": local,
        FIRST: first_place(wins, n - 1, np.random.default_rng([seed, 1])),
    }


def reported(ranker: PairResponses, places: Ints, runs: int, rng: np.random.Generator) -> Ints:
    """Tables of reports, (runs, n, n): `PairResponses.release` of many crowds at once."""
    n, people = places.shape[1], len(places) // runs
    question, uniform = ranker.noise(len(places), rng=rng)
    (i, j), law = np.triu_indices(n, 1), ranker.channel
    before = np.take_along_axis(places, i[question], 1) < np.take_along_axis(places, j[question], 1)
    says = np.where(before, uniform >= law[1, 0], uniform < law[0, 1])
    run = np.repeat(np.arange(runs), people)[:, None]
    tally = np.zeros((runs, n, n), dtype=np.int64)
    a, b = i[question], j[question]
    np.add.at(tally, (run, np.where(says, a, b), np.where(says, b, a)), 1)
    return tally


def studies(
    families: Mapping[str, Family], k: int, wanted: float, error: float
) -> dict[str, Study]:
    """One study for each family; without noise, the plain counts of the same data."""
    plain = goals_met(families["noisy counts"](np.inf), k).sum(axis=1)
    limit = tuple(plain.tolist())
    return {name: Study(f, k, wanted, error, limit) for name, f in families.items()}
