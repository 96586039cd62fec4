"""Slow, independent references that several test files share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, kve

from dpbook.privacy import Edge, WholeRanking


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def law_of_reports(ranker, ahead: int, behind: int, group: int = 0) -> np.ndarray:
    """The number of flipped answers "i over j", given so many true answers each way."""
    keep, lie = ranker.channel().reshape(-1, 2, 2)[group][0]
    kept = stats.binom.pmf(np.arange(ahead + 1), ahead, keep)
    return np.convolve(kept, stats.binom.pmf(np.arange(behind + 1), behind, lie))


class NoFloats(np.random.Generator):
    """A generator that gives nothing but whole numbers."""

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("_") and name not in ("integers", "bit_generator", "spawn"):
            raise AssertionError(f"rng.{name} was called by a sampler that is said to be exact")
        return super().__getattribute__(name)


def clipped_tally(draws: np.ndarray, reach: int) -> np.ndarray:
    """How often -reach, ..., reach were drawn; everything beyond counts as the last outcome."""
    inside = draws[np.abs(draws) <= reach]
    return np.append(np.bincount(inside + reach, minlength=2 * reach + 1), len(draws) - len(inside))


def clipped_distribution(scale: Any, reach: int) -> np.ndarray:
    """The law of those outcomes, from weights that are normalised here and not by the package."""
    weights = np.exp(-np.abs(np.arange(-4000, 4001)) / float(scale))
    distribution = weights[4000 - reach : 4001 + reach] / weights.sum()
    return np.append(distribution, max(0.0, 1 - distribution.sum()))


def laplace_sum_logpdf(level: float, x: float, answers: int) -> float:
    """Log-density at x of the sum of so many Laplace variables of scale 1 / level.

    With a modified Bessel function K: (|x| / 2)^(N - 1/2) K_(N - 1/2)(|x|) / (sqrt(pi) Gamma(N))
    for the scale 1.
    """
    y, order = max(abs(x) * level, 1e-12), answers - 0.5
    density = order * math.log(y / 2) + math.log(kve(order, y)) - y
    return density + math.log(level) - math.log(math.pi) / 2 - math.lgamma(answers)


def all_places(n: int) -> np.ndarray:
    """Every ranking of n items as positions, in lexicographic order."""
    return np.array(list(permutations(range(n))))


def pair_table(ranks, n: int) -> np.ndarray:
    """How many of the rankings have i before j, by a loop."""
    table = np.zeros((n, n), dtype=int)
    for ranking in ranks:
        for i, j in permutations(range(n), 2):
            table[i, j] += ranking[i] < ranking[j]
    return table


def tally(positions) -> np.ndarray:
    """How often each ranking was drawn, in lexicographic order of positions."""
    rows = np.asarray(positions)
    index = {tuple(row): r for r, row in enumerate(all_places(rows.shape[1]).tolist())}
    return np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))


def frequencies(positions) -> np.ndarray:
    """Shares of the rankings drawn."""
    return tally(positions) / len(positions)


def close(drawn, distribution, size: int, deviations: float = 4.5) -> bool:
    """Whether every share is within so many standard deviations of its chance."""
    distribution = np.asarray(distribution)
    room = deviations * np.sqrt(distribution * (1 - distribution) / size) + 1e-9
    return bool((np.abs(np.asarray(drawn) - distribution) <= room).all())


def sheets(n: int, design: str, per_user: int | None) -> list[np.ndarray]:
    """The table of every set of answers that one person may give."""
    pairs = list(combinations(range(n), 2))
    if design == "ranking":
        return [(r[:, None] < r).astype(int) for r in map(np.array, permutations(range(n)))]
    single = [[(i, j), (j, i)] for i, j in pairs]
    if design == "with_replacement":
        choices = [[winner for both in single for winner in both]] * int(per_user or 0)
    else:
        skip = [None] if design == "each_pair_or_skip" else []
        choices = [[*both, *skip] for both in single]
    found = []
    for answers in product(*choices):
        table = np.zeros((n, n), dtype=int)
        for answer in answers:
            if answer is not None:
                table[answer] += 1
        found.append(table)
    return [np.array(t).reshape(n, n) for t in {tuple(table.ravel()) for table in found}]


def tables(unit: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All neighbouring tables of the design, one by one."""
    n = unit.n_items
    if isinstance(unit, Edge):
        every = sheets(n, "each_pair_or_skip" if unit.exchange else "each_pair_once", None)
        for x, y in combinations(every, 2):
            # One answer turned round, or one gone and another come: two entries differ by one.
            if (x != y).sum() == 2 and x.sum() == y.sum():
                yield x, y
        return
    whole = isinstance(unit, WholeRanking)
    one = sheets(n, "ranking", None) if whole else sheets(n, unit.design, unit.per_user)
    for others in product(one, repeat=unit.users - 1):
        base = sum(others, np.zeros((n, n), dtype=int))
        if whole and unit.relation == "add_remove":
            yield from ((base, base + new) for new in one)
        else:
            yield from ((base + old, base + new) for old, new in combinations(one, 2))


def worst_log_ratio(distribution, pairs) -> float:
    """Largest log-ratio, in either direction, of a distribution on pairs of tables."""
    known: dict[bytes, np.ndarray] = {}

    def logs(table):
        key = np.asarray(table).tobytes()
        if key not in known:
            known[key] = np.log(distribution(table))
        return known[key]

    return max(float(np.abs(logs(a) - logs(b)).max()) for a, b in pairs)


def quicksort(items, ahead, pivots):
    """Order and comparisons, the pivot of a part being its first member in `pivots`."""
    if not items:
        return (), 0
    pivot = next(i for i in pivots if i in items)
    left = [i for i in items if i != pivot and ahead[i][pivot]]
    right = [i for i in items if i != pivot and not ahead[i][pivot]]
    (a, x), (b, y) = quicksort(left, ahead, pivots), quicksort(right, ahead, pivots)
    return (*a, pivot, *b), x + y + len(items) - 1


def kwiksort_distribution(preference) -> np.ndarray:
    """Joint law of KwikSort's ranking and comparisons: all tournaments times all pivots."""
    n = len(preference)
    pairs = list(combinations(range(n), 2))
    index = {tuple(row): r for r, row in enumerate(all_places(n).tolist())}
    distribution = np.zeros((len(index), len(pairs) + 1))
    for outcome in product((True, False), repeat=len(pairs)):
        ahead = np.zeros((n, n), dtype=bool)
        chance = 1.0
        for (i, j), first in zip(pairs, outcome, strict=True):
            ahead[i, j], ahead[j, i] = first, not first
            chance *= preference[i][j] if first else preference[j][i]
        for pivots in permutations(range(n)):
            order, made = quicksort(list(range(n)), ahead, pivots)
            place = index[tuple(np.argsort(order).tolist())]
            distribution[place, made] += chance / math.factorial(n)
    return distribution


def laplace_above(margin, scale: float) -> np.ndarray:
    """P(lead + Laplace noise > 0)."""
    x = np.asarray(margin) / scale
    return np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))


def lead_by_enumeration(right: list[float], rate: float) -> tuple[float, float]:
    """P(lead < 0), P(lead = 0): person k is asked with probability rate, and right[k] is right."""
    wrong = tie = 0.0
    for steps in itertools.product((1, -1, 0), repeat=len(right)):
        chance = 1.0
        for step, p in zip(steps, right, strict=True):
            chance *= {1: rate * p, -1: rate * (1 - p), 0: 1 - rate}[step]
        wrong += chance * (sum(steps) < 0)
        tie += chance * (sum(steps) == 0)
    return wrong, tie


def worst_loss(distributions: list[np.ndarray]) -> float:
    """Largest log-ratio of one outcome's probabilities under two of the distributions."""
    table = np.array(distributions)
    return float(np.log(table.max(axis=0) / table.min(axis=0)).max())


def one_question_runs(
    dataset: list[tuple[int, ...]], epsilon: float, cap: int
) -> dict[tuple, tuple[float, tuple[int, ...]]]:
    """Every run of one question each on three items, groups of one: chance, and positions.

    What all people say is the key. Three groups, so that whoever comes fourth is left over; with a
    cap of 2 the third and the fourth person answer the pair that two answers have left open, and a
    coin decides a tie.
    """
    honest, runs = 1 / (1 + math.exp(-epsilon)), {}
    orders = list(itertools.permutations(range(len(dataset))))
    for order, pivot in itertools.product(orders, range(3)):
        one, two = (i for i in range(3) if i != pivot)
        last = order[2:] if cap == 2 else order[2:3]
        questions = [(order[0], one, pivot), (order[1], two, pivot)]
        questions += [(person, one, two) for person in last]
        for bits in itertools.product((True, False), repeat=len(questions)):
            asked = questions if bits[0] == bits[1] else questions[:2]
            if len(asked) == 2 and any(bits[2:]):
                continue  # nobody was asked for these
            says = [
                honest if bit == (dataset[k][i] < dataset[k][j]) else 1 - honest
                for (k, i, j), bit in zip(asked, bits, strict=False)
            ]
            votes = sum(2 * bit - 1 for bit in bits[2:])
            for coin in (1, -1) if len(asked) > 2 and votes == 0 else (0,):
                ahead = [] if len(asked) == 2 else [one, two] if votes + coin > 0 else [two, one]
                left = [i for i, bit in zip((one, two), bits, strict=False) if bit]
                right = [i for i in (one, two) if i not in left]
                ranked = (ahead or left) if left else []
                ranked = [*ranked, pivot, *((ahead or right) if right else [])]
                chance = math.prod(says) / len(orders) / 3 * (0.5 if coin else 1)
                key = (order, pivot, bits[: len(asked)], coin)
                runs[key] = (chance, tuple(np.argsort(ranked).tolist()))
    return runs


def chi_square(counts: np.ndarray, distribution: np.ndarray) -> float:
    """P-value of Pearson's test, outcomes of small expectation pooled into one."""
    expected = distribution * counts.sum()
    small = expected < 10
    counts, expected = (np.append(x[~small], x[small].sum()) for x in (counts, expected))
    keep = expected > 0
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    return float(stats.chi2.sf(statistic, np.count_nonzero(keep) - 1))


def scipy_minimiser(outcomes: np.ndarray, gamma: float) -> np.ndarray:
    """The objective as printed, over ordered pairs i < j, by a general-purpose optimiser."""
    i, j = np.triu_indices(len(outcomes), 1)
    totals = (outcomes + outcomes.T)[i, j]

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        x = theta[i] - theta[j]
        pull = totals * expit(x) - outcomes[i, j]
        gradient = np.zeros(len(outcomes))
        np.add.at(gradient, i, pull)
        np.subtract.at(gradient, j, pull)
        value = totals @ np.logaddexp(0, x) - outcomes[i, j] @ x + gamma / 2 * theta @ theta
        return float(value), gradient + gamma * theta

    start = np.zeros(len(outcomes))
    options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 5000, "maxcor": 40}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return found.x - found.x.mean()


def brute_order_error(gap: float, epsilons: list[float], power: int) -> float:
    """All 2^L vectors of reports; a report counts with tanh(epsilon / 2) to the power."""
    t = [math.tanh(e / 2) for e in epsilons]
    p = [0.5 + x * (1 / (1 + math.exp(-gap)) - 0.5) for x in t]
    error = 0.0
    for reports in product((0, 1), repeat=len(t)):
        chance = math.prod(q if z else 1 - q for q, z in zip(p, reports, strict=True))
        score = math.fsum((2 * z - 1) * x**power for x, z in zip(t, reports, strict=True))
        error += chance * (0.5 if abs(score) < 1e-12 else float(score < 0))
    return error


def enumerated_edge_distribution(rho, p):
    """Probability of each (win counts) outcome, pair by pair, in plain Python."""
    n = len(rho)
    distribution = {}
    pairs = list(itertools.combinations(range(n), 2))
    for outcome in itertools.product((0, 1, -1), repeat=len(pairs)):
        probability, counts = 1.0, [0] * n
        for (i, j), result in zip(pairs, outcome, strict=True):
            if result == 0:
                probability *= 1 - p
            else:
                winner, loser = (i, j) if result == 1 else (j, i)
                probability *= p * rho[winner][loser]
                counts[winner] += 1
        distribution[tuple(counts)] = distribution.get(tuple(counts), 0.0) + probability
    return distribution


def losses_of_a_selection(pmf) -> tuple[float, float]:
    """Largest loss at 0.8 over small steps of three utilities; one with half the sensitivity."""

    def loss(first, second, sensitivity):
        distributions = (np.log(pmf(np.array(u), sensitivity, 0.8)) for u in (first, second))
        return np.abs(np.subtract(*distributions)).max()

    worst = max(
        loss(u, np.array(u) + step, 1)
        for u in product(range(0, 13, 6), repeat=3)
        for step in product((-1, 0, 1), repeat=3)
    )
    return worst, loss([12.0, 0, 0], [11.0, 1, 1], 0.5)


def luminance(color: str) -> float:
    """Relative luminance of a colour, ``"#rrggbb"``, as WCAG 2 defines it."""
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
