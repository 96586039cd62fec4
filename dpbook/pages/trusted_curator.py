"""Page 24: enumerations of small crowds, bounds with their constants, and laws of special cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement, cycle, permutations, product
from math import ceil, comb, exp, factorial, lgamma, log, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dpbook.book.figures import COLORS, MARKERS
from dpbook.estimators import (
    comparisons_pmf,
    comparisons_pmf_tournament,
    footrule_ranking,
    kemeny_ranking,
    kemeny_score,
    kendall_distance,
    pairwise_counts,
)
from dpbook.mechanisms import gaussian_scale
from dpbook.models import all_rankings
from dpbook.privacy.balls import Ball, largest
from dpbook.privacy.balls import exp as exp_of
from dpbook.privacy.balls import log as log_of
from dpbook.rankers import Ranker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Profile = tuple[int, ...]
Draw = Callable[..., Array]


Crowd = tuple[tuple[int, ...], tuple[int, ...]]


def crowds_of(n: int) -> tuple[list[Crowd], list[tuple[Crowd, Crowd]]]:
    """All pairs of rankings, and those in which one of the two people has another ranking."""
    crowds = list(combinations_with_replacement(permutations(range(n)), 2))
    both = [(x, y) for x, y in combinations(crowds, 2) if set(x) & set(y)]
    return crowds, both


def agreements_of_crowd(crowds: Sequence[Crowd]) -> dict[Crowd, dict[tuple[int, ...], int]]:
    """For each crowd the score of every ranking: answers of all its people that agree with it."""

    def before(ranking: tuple[int, ...]) -> set[tuple[int, int]]:
        return set(combinations(ranking, 2))

    orders = list(permutations(range(len(crowds[0][0]))))
    return {
        crowd: {o: sum(len(before(o) & before(person)) for person in crowd) for o in orders}
        for crowd in crowds
    }


def profiles(n: int, m: int) -> Iterator[Profile]:
    """All multisets of m rankings of n items, as indices into ``all_rankings(n)``."""
    return combinations_with_replacement(range(factorial(n)), m)


def neighbours(n: int, m: int) -> Iterator[tuple[Profile, Profile]]:
    """One ranking is replaced; renaming items lets the old one be the first."""
    for others in profiles(n, m - 1):
        for new in range(1, factorial(n)):
            yield (0, *others), (new, *others)


def counts_of(profile: Profile, n: int = 3) -> Ints:
    """Table of counts of a profile; of nobody as well."""
    if not profile:
        return np.zeros((n, n), dtype=np.int64)
    return np.asarray(pairwise_counts(all_rankings(n)[list(profile)]))


def note(
    ax: Any, text: str, x: float, y: float, dx: float = 5, dy: float = 0, **style: Any
) -> None:
    """Write a text beside a point of a figure."""
    ax.annotate(text, (x, y), (dx, dy), textcoords="offset points", **style)


def moved_by_one(n: int) -> int:
    """How many pairs one person moves at most: every ranking against every other."""
    places = all_rankings(n)
    inside = places[:, :, None] < places[:, None, :]
    entries = inside[:, *np.triu_indices(n, 1)].astype(int)
    return max(int(np.abs(entries - row).sum(axis=1).max()) for row in entries)


def described_balls() -> dict[str, Ball]:
    """Loss over epsilon of DP-KwikSort as described, three items, with proved bounds.

    Leads that all move by a step: twice the step over the scale, where the leads of neighbouring
    items end at a tie or below, and the most that 1 + 2p of the outer pair can grow. Its leads from
    -20 to 20 are tried; further out it grows by less than at the tie.
    """
    scale = 2 * log_of(Ball(3))

    def outer(lead: int) -> Ball:  # 1 + 2p
        tail = exp_of(-abs(lead) / scale)
        return 1 + tail if lead < 0 else 3 - tail

    return {
        f"worst_loss_over_eps_m3_{relation}": 2 * step / scale
        + log_of(largest([outer(at + step) / outer(at) for at in range(-20, 21)]))
        for relation, step in (("replace", 2), ("add_remove", 1))
    }


def answer_scale(queries: int, users: int, epsilon: float, delta: float = 0.0) -> float:
    """Noise on a fraction, when so many are answered: Laplace, or Gaussian for delta > 0."""
    if delta:
        return gaussian_scale(sqrt(queries) / users, epsilon, delta)
    return queries / (epsilon * users)


def largest_change(n: int) -> float:
    """Of a score, over all sign patterns of errors of size 1 and all rankings."""
    i, j = np.triu_indices(n, 1)
    signs = np.array(list(product((-1, 1), repeat=comb(n, 2))))
    places = all_rankings(n)
    sides = np.where(places[:, i] < places[:, j], -1, 1)
    return float(np.abs(signs @ sides.T).max())


def camps(n: int, forward: float, back: float) -> Array:
    """Table of people for the identity and people for its reverse, numbers or fractions."""
    ones = np.ones((n, n))
    return np.asarray(forward * np.triu(ones, 1) + back * np.tril(ones, -1))


def worst_allowed(n: int, alpha: float, error: float = 0.01) -> float:
    """Excess of the worst ranking that an alpha-approximation may return, per error of a pair."""
    x = (alpha - 1) / (alpha + 1) / 2
    tables = (camps(n, 0.5 + lead, 0.5 - lead) for lead in (x + error, x))
    true, seen = (kemeny_score(all_rankings(n), table) for table in tables)
    allowed = seen <= alpha * seen.min() + 1e-12
    return float((true[allowed].max() - alpha * true.min()) / error)


def cancelling(n: int, terms: int | None = None) -> float:
    """Bound of {eq}`eq-curator-cancel` for Laplace noise of scale 1 on so many terms."""
    t, terms = np.linspace(1e-3, 0.999, 4000), terms or comb(n, 2)
    return float(((lgamma(n + 1) - terms * np.log1p(-t * t)) / t).min())


def cancelling_gauss(n: int, terms: int | None = None) -> float:
    """Bound of {eq}`eq-curator-cancel` for Gaussian noise of deviation 1."""
    return sqrt(2 * (terms or comb(n, 2)) * lgamma(n + 1))


def three_scores(w: Array) -> Array:
    """Score of every ranking of three items, as an excess over the best."""
    scores = kemeny_score(all_rankings(3), w)
    return scores - scores.min()


def three_table(a: float, b: float, c: float) -> Array:
    """Fractions with the margins a, b, c of 0 over 1, 1 over 2, 0 over 2."""
    w = np.full((3, 3), 0.5) + np.array([[0, a, c], [-a, 0, b], [-c, -b, 0]]) / 2
    return np.asarray(w - np.diag(np.diag(w)))


def positive(noise: Array) -> Array:
    """Of each pair its two entries without the common part, none of them negative."""
    return np.asarray(np.maximum(noise, 0) - np.minimum(noise, 0).T)


def collected(draw: Draw, n: int = 10, runs: int = 40) -> float:
    """Largest sum of noise that a ranking collects, five standard errors below its mean."""
    noises = np.triu(draw(size=(runs, n, n)), 1)
    sums = [np.abs(x).sum() - 2 * kemeny_ranking(positive(x)).cost for x in noises]
    return float(np.mean(sums) - 5 * np.std(sums) / sqrt(runs))


def score_moves(n: int) -> int:
    """How far one person moves the score of any ranking, times the people."""
    places = all_rankings(n)
    distance = kendall_distance(places[:, None], places[None])
    return int((distance.max(axis=1) - distance.min(axis=1)).max())


def unsorted(m: float, epsilon: float) -> float:
    """Expected error when all agree on three items: cap 2, what is left goes in random order."""
    right, error = 1 - exp(-epsilon * m / 8) / 2, 0.0  # answers at epsilon / 2, lead 1/2
    for pivot, *sides in product(range(3), (True, False), (True, False)):
        others = [i for i in range(3) if i != pivot]
        chance = prod(
            right if (i < pivot) == s else 1 - right for i, s in zip(others, sides, strict=True)
        )
        for tie in (others, others[::-1]):  # a coin if both stand on one side of the pivot
            order = [i for i in tie if sides[others.index(i)]]
            order += [pivot] + [i for i in tie if not sides[others.index(i)]]
            error += chance / 6 * int(kendall_distance(np.argsort(order), np.arange(3)))
    return error


@cache
def quantile(n: int, miss: float) -> int:
    """Smallest q with P(more than q comparisons) <= miss, by the exact law without cycles."""
    tail = np.cumsum(comparisons_pmf(n)[::-1])[::-1]
    return int(np.argmax(np.append(tail[1:], 0) <= miss))


def caps_of_every_tournament(sizes: range) -> dict[int, int]:
    """Caps kept with probability 1 - n^-4 whatever the cycles: "Cycles save comparisons"."""
    rates = np.geomspace(0.01, 2, 40)
    logs = np.zeros((len(rates), 1))  # log E exp(s C_k) for k = 0, ..., without cycles
    for k in range(1, max(sizes) + 1):
        more = rates * (k - 1) - log(k) + logsumexp(logs + logs[:, ::-1], axis=1)
        logs = np.column_stack([logs, more])
    return {n: ceil(((logs[:, n] + 4 * log(n)) / rates).min()) for n in sizes}


def corner_holds(x: float, y: float, z: float, turned: tuple[int, ...]) -> bool:
    """Rate of the chance of giving up against the chance itself, {eq}`eq-curator-giveup`."""
    rate = [min(p, 1 - p) if on else 0 for p, on in zip((x, y, z), turned, strict=True)]
    change = rate[0] * (z - y) + rate[1] * (z - x) + rate[2] * (x + y - 1)
    return abs(change) <= 1 - x * y - z + x * z + y * z


def reached_by(positions: Ints) -> Ints:
    """For each item and each place but the last: is it there or before?"""
    return (positions[..., None] <= np.arange(positions.shape[-1] - 1)).astype(int)


def counts_moved(n: int) -> tuple[int, int]:
    """By replacing one person: largest sum, largest sum of squares."""
    tables = reached_by(all_rankings(n)).reshape(factorial(n), -1)
    moves = [np.abs(tables - row) for row in tables]
    return max(x.sum(axis=1).max() for x in moves), max((x**2).sum(axis=1).max() for x in moves)


def footrule_ratios(n: int, m: int) -> Array:
    """Disagreements of the worst nearest ranking over the fewest, for all crowds of m people."""
    rank = all_rankings(n)
    near = np.abs(rank[:, None] - rank).sum(axis=-1)  # Spearman's footrule
    pairs = kendall_distance(rank[:, None], rank)
    crowd_rows = np.array(list(profiles(n, m - 1)))
    total, cost = (x[crowd_rows].sum(axis=1) + x[0] for x in (near, pairs))
    worst = np.where(total == total.min(axis=1, keepdims=True), cost, 0).max(axis=1)
    return np.asarray(worst[cost.min(axis=1) > 0] / cost.min(axis=1)[cost.min(axis=1) > 0])


def collected_places(draw: Draw, n: int = 10, runs: int = 400) -> float:
    """Noise that an assignment of places collects, five standard errors below its mean."""
    noises = draw(size=(runs, n, n - 1))
    before = np.arange(n - 1) < footrule_ranking(noises)[..., None]
    sums = noises.sum(axis=(1, 2)) - 2 * (noises * before).sum(axis=(1, 2))
    return float(sums.mean() - 5 * sums.std() / sqrt(runs))


def errors_at_loss(
    rankers: Mapping[str, Ranker],
    data: Mapping[str, Any],
    losses: Sequence[float],
    error: Callable[[NDArray[np.int64]], ArrayLike],
    *,
    size: int,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Errors, (losses, size), of rankings by each ranker, brought to every true loss of a release.

    `error` goes from positions, (size, n), to errors, (size,).
    """

    def errors(ranker: Ranker, given: Any) -> Array:
        drawn = (ranker.at_loss(x).sample(given, size, rng=rng) for x in losses)
        return np.array([error(places) for places in drawn], dtype=float)

    return {name: errors(ranker, data[name]) for name, ranker in rankers.items()}


def slower_tournaments(n: int) -> int:
    """Tournaments with more chance of exceeding some number of comparisons than without cycles."""
    i, j = np.triu_indices(n, 1)
    tail = comparisons_pmf(n)[::-1].cumsum()
    slower = 0
    for signs in product((False, True), repeat=comb(n, 2)):
        wins = np.zeros((n, n), dtype=bool)
        wins[i, j], wins[j, i] = signs, ~np.array(signs)
        slower += int((comparisons_pmf_tournament(wins)[::-1].cumsum() > tail + 1e-12).any())
    return slower


def error_against_loss(ax: Axes, losses: Sequence[float], errors: Mapping[str, ArrayLike]) -> None:
    """Draw mean errors, by ranker of shape (losses, runs), with 95 % intervals."""
    for (name, values), color, marker in zip(
        errors.items(), cycle(COLORS.values()), cycle(MARKERS), strict=False
    ):
        runs = np.asarray(values, dtype=float)
        half = 1.96 * runs.std(axis=1) / np.sqrt(max(1, runs.shape[1] - 1))
        mean = runs.mean(axis=1)
        ax.errorbar(losses, mean, half, color=color, marker=marker, capsize=2, lw=1.2, label=name)
    ax.set(xscale="log", xlabel="true loss (nats, log scale)")
    ax.legend()
