"""Page 33: three items, all data sets of a small design, and the best private rule for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
from scipy.special import expit, gammaln, xlogy

from dpbook._typing import Array, Ints
from dpbook.lower_bounds import PrivateRule
from dpbook.models import all_rankings, mallows_pmf
from dpbook.optimum import equivariant_rule
from dpbook.privacy.balls import Ball
from dpbook.privacy.balls import exp as exp_of
from dpbook.privacy.balls import log as log_of

Answer = tuple[int, ...]

PLACES = all_rankings(3)
PAIRS = list(combinations(range(3), 2))
WRONG = np.mean([PLACES[:, i] > PLACES[:, j] for i, j in PAIRS], axis=0)  # share of wrong pairs


@dataclass(frozen=True, eq=False)
class Small:
    """All data sets of a small design, counts of answers, (sets, answers), and their distribution.

    Neighbours differ in one answer. ``shows`` has the table of wins of each answer, ``before`` the
    number of the answer that becomes each answer when item i is renamed to item ``PLACES[k, i]``.
    """

    rows: Ints
    distribution: Array
    shows: Ints
    before: Ints

    @property
    def tables(self) -> Ints:
        """Tables of wins, (sets, 3, 3)."""
        return np.asarray(np.tensordot(self.rows, self.shows, 1))

    def optimum(self, epsilon: float) -> PrivateRule:
        """The private rule with the least risk, whatever the true order: theorem of page 16."""
        number = {tuple(row): at for at, row in enumerate(self.rows.tolist())}
        images = [[number[tuple(row)] for row in self.rows[:, a].tolist()] for a in self.before]
        apart = np.abs(self.rows[:, None] - self.rows).sum(axis=-1)
        pairs = np.argwhere(np.triu(apart == 2))
        return equivariant_rule(images, self.distribution, WRONG, pairs, epsilon)


def _before(answers: Sequence[Answer], renamed: Callable[[Answer, list[int]], Answer]) -> Ints:
    """`Small.before`, of answers that are renamed so."""
    at = {answer: number for number, answer in enumerate(answers)}
    after = [[at[renamed(answer, names)] for answer in answers] for names in PLACES.tolist()]
    return np.argsort(after, axis=1)


def simulated_rankings(people: int, phi: float) -> Small:
    """All simulated data sets of so many rankings of three items by a Mallows model."""
    chosen = combinations_with_replacement(range(6), people)
    rows = np.array([np.bincount(dataset, minlength=6) for dataset in chosen])
    ways = gammaln(people + 1) - gammaln(rows + 1).sum(axis=1)
    distribution = np.exp(ways + xlogy(rows, mallows_pmf(3, phi)).sum(axis=1))
    shows = (PLACES[:, :, None] < PLACES[:, None, :]).astype(np.int64)
    answers = [tuple(ranks) for ranks in PLACES.tolist()]
    # Every item keeps its place under its new name.
    before = _before(answers, lambda a, names: tuple(a[names.index(i)] for i in range(3)))
    return Small(rows, distribution, shows, before)


def three_games(gap: float) -> Small:
    """All ways in which the three pairs of three items end, each compared once; log-odds."""
    answers, rows, distribution = list(permutations(range(3), 2)), [], []  # (winner, loser)
    for firsts in product((True, False), repeat=3):
        games = [pair if first else pair[::-1] for pair, first in zip(PAIRS, firsts, strict=True)]
        rows.append([games.count(answer) for answer in answers])
        distribution.append(np.prod([expit(gap * (loser - winner)) for winner, loser in games]))
    shows = np.zeros((6, 3, 3), dtype=np.int64)
    shows[np.arange(6), *np.transpose(answers)] = 1
    before = _before(answers, lambda a, names: tuple(names[i] for i in a))
    return Small(np.array(rows), np.array(distribution), shows, before)


def described_balls() -> dict[str, Ball]:
    """Wrong pairs of DP-KwikSort as described at epsilon 1, of three rankings: proved bounds.

    By all 216 data sets of a Mallows model at 1/2. A noisy lead has scale 2 log 3; the order abc
    comes out with chance p_ab p_bc (1 + 2 p_ac)/3.
    """
    orders = list(permutations(range(3)))
    wrong = {o: sum(o.index(i) > o.index(j) for i, j in PAIRS) for o in orders}
    total = sum(Fraction(1, 2 ** wrong[o]) for o in orders)
    datasets: dict[tuple[int, ...], Fraction] = {}  # chances of the leads of 0-1, 0-2, 1-2
    for dataset in product(orders, repeat=3):
        ahead = [sum(o.index(i) < o.index(j) for o in dataset) for i, j in PAIRS]
        margins = tuple(2 * won - len(dataset) for won in ahead)
        probability = Fraction(1, 2 ** sum(wrong[o] for o in dataset)) / total**3
        datasets[margins] = datasets.get(margins, Fraction(0)) + probability
    tails = {size: exp_of(-size / (2 * log_of(Ball(3)))) / 2 for size in (1, 3)}
    risk = Ball(0)
    for margins, probability in datasets.items():
        p = {}
        for (i, j), margin in zip(PAIRS, margins, strict=True):
            p[i, j] = 1 - tails[abs(margin)] if margin > 0 else tails[abs(margin)]
            p[j, i] = 1 - p[i, j]
        for a, b, c in orders:
            chance = p[a, b] * p[b, c] * (1 + 2 * p[a, c]) / 3
            risk += probability * Fraction(wrong[a, b, c], 3) * chance
    return {"described_n3_m3_phi0p5_eps1": risk}


def flipped_balls() -> dict[str, Ball]:
    """Wrong pairs of flipped answers to three games at epsilon 1, with proved bounds.

    The better item wins with odds 2, and 4 for the outer pair; an order, or a circle, which is
    settled at random and has half of the pairs wrong.
    """
    kept = exp_of(Ball(1)) / (1 + exp_of(Ball(1)))
    right = [kept * Fraction(o, o + 1) + (1 - kept) * Fraction(1, o + 1) for o in (2, 4, 2)]
    risk = Ball(0)
    for reports in product((True, False), repeat=3):
        probability = Ball(1)
        for said, p in zip(reports, right, strict=True):
            probability *= p if said else 1 - p
        circle = reports[0] == reports[2] != reports[1]
        risk += probability * (Fraction(1, 2) if circle else Fraction(reports.count(False), 3))
    return {"flipped_n3_eps1": risk}
