"""Page 33: the rankers that fit a situation, at equal true loss; small crowds, exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import comb, inf, log
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, gammaln, xlogy

from dpbook.book.figures import COLORS, MECHANISMS
from dpbook.lower_bounds import PrivateRule, best_private_rule
from dpbook.mechanisms.selection import exponential_pmf
from dpbook.models import all_rankings, mallows_pmf
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.privacy.balls import Ball
from dpbook.privacy.balls import exp as exp_of
from dpbook.privacy.balls import log as log_of
from dpbook.rankers import (
    CappedKwikSort,
    Hypercube,
    NoisyCounts,
    NoisyPairs,
    PairResponses,
    PerturbedMle,
    Ranker,
)
from dpbook.simulation import Decision, Situation, Winner, decide
from dpbook.simulation.contest import wrong_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Answer = tuple[int, ...]


def around(
    s: Situation, epsilon: float, axis: str, **how: Any
) -> dict[tuple[int, float], Decision]:
    """Decisions for other levels and other numbers of ``"people"`` or ``"n_items"``."""
    own = getattr(s, axis)
    return {
        (size, level): decide(replace(s, **{axis: size}), level, **how)
        for size in sorted({*SIZES[axis], own})
        for level in sorted({*LEVELS, epsilon})
    }


SIZES = {"people": (30, 100, 300, 1000), "n_items": (3, 5, 8, 11)}
LEVELS = (0.1, 0.5, 1.0, 4.0)
HUES = {
    "counts": MECHANISMS["counts"],
    "MLE": MECHANISMS["mle"],
    "Kemeny": "#888888",
    "KwikSort": MECHANISMS["kwiksort"],
    "exponential": MECHANISMS["exponential"],
    "footrule": MECHANISMS["footrule"],
    "capped": COLORS["green"],
    "flipped": MECHANISMS["response"],
    "Laplace": MECHANISMS["laplace"],
    "few flipped": MECHANISMS["debiased"],
    "few KwikSort": COLORS["blue"],
    "hypercube": MECHANISMS["hypercube"],
    "one each": COLORS["orange"],
    "on demand": MECHANISMS["on-demand"],
}


def draw_decisions(
    ax: Axes, cells: Mapping[tuple[int, float], Winner], own: tuple[int, float]
) -> None:
    """One cell for each size and level: who wins, and the error; grey and hatched if undecided."""
    sizes, levels = (sorted(set(axis)) for axis in zip(*cells, strict=True))
    for (size, level), won in cells.items():
        at = (levels.index(level), sizes.index(size))
        look: dict[str, Any] = {"fc": mpl.colors.to_rgba(HUES[won.name], 0.35), "ec": "white"}
        if won.equals:
            look = {"fc": "#eeeeee", "ec": "#bbbbbb", "hatch": "//"}
        ax.add_patch(Rectangle(at, 1, 1, **look))
        words = f"{won.name}{' ?' if won.equals else ''}\n{100 * won.error:.3g} %"
        ground = {"fc": look["fc"], "ec": "none", "pad": 1} if won.equals else None
        middle = (at[0] + 0.5, at[1] + 0.5)
        ax.text(*middle, words, ha="center", va="center", bbox=ground, linespacing=1.1)
        if (size, level) == own:
            ax.add_patch(Rectangle(at, 1, 1, fc="none", ec="black", lw=3, zorder=3))
    ax.set(xlim=(0, len(levels)), ylim=(0, len(sizes)))
    ax.set_xticks(np.arange(len(levels)) + 0.5, [f"{level:g}" for level in levels])
    ax.set_yticks(np.arange(len(sizes)) + 0.5, [str(size) for size in sizes])
    ax.tick_params(length=0)
    ax.grid(visible=False)


# ------------------------------------------------------------------ three items, exactly

PLACES = all_rankings(3)
WRONG = wrong_share(PLACES)


@dataclass(frozen=True, eq=False)
class Small:
    """All data sets of a small design as counts of answers, (sets, answers), and their law.

    Neighbours differ in one answer. ``shows`` has the table of wins of each answer, ``before`` the
    number of the answer that becomes each answer when item i is renamed to item ``PLACES[k, i]``.
    """

    rows: Ints
    law: Array
    shows: Ints
    before: Ints

    @property
    def tables(self) -> Ints:
        """Tables of wins, (sets, 3, 3)."""
        return np.asarray(np.tensordot(self.rows, self.shows, 1))

    def risk(self, law_of: Callable[[Ints], Array]) -> float:
        """Expected share of wrong pairs of a ranker with this law over `all_rankings(3)`."""
        tables, which = np.unique(self.tables.reshape(-1, 9), axis=0, return_inverse=True)
        chance = np.bincount(which.ravel(), self.law, len(tables))
        errors = [law_of(table.reshape(3, 3)) @ WRONG for table in tables]
        return float(chance @ errors)

    def optimum(self, epsilon: float) -> PrivateRule:
        """The private rule with the least risk, whatever the true order: theorem of page 16."""
        number = {tuple(row): at for at, row in enumerate(self.rows.tolist())}
        costs, met = np.zeros(len(self.rows)), np.empty((len(self.rows), 6), dtype=np.intp)
        for outcome, answers in enumerate(self.before):
            # After the renaming that makes this outcome the identity.
            met[:, outcome] = [number[tuple(row)] for row in self.rows[:, answers].tolist()]
            costs += WRONG[outcome] * np.bincount(met[:, outcome], self.law, len(costs))
        rows = np.unique(np.sort(met, axis=1), axis=0)
        where = np.repeat(np.arange(len(rows)), 6)
        totals = sparse.csr_array(
            (np.ones(rows.size), (where, rows.ravel())), shape=(len(rows), len(costs))
        )
        apart = np.abs(self.rows[:, None] - self.rows).sum(axis=-1)
        return best_private_rule(costs, totals, np.argwhere(np.triu(apart == 2)), epsilon)


def _before(answers: Sequence[Answer], renamed: Callable[[Answer, list[int]], Answer]) -> Ints:
    """`Small.before`, of answers that are renamed so."""
    at = {answer: number for number, answer in enumerate(answers)}
    after = [[at[renamed(answer, names)] for answer in answers] for names in PLACES.tolist()]
    return np.argsort(after, axis=1)


def crowd_of_rankings(people: int, phi: float) -> Small:
    """All crowds of so many rankings of three items by a Mallows model."""
    chosen = combinations_with_replacement(range(6), people)
    rows = np.array([np.bincount(crowd, minlength=6) for crowd in chosen])
    ways = gammaln(people + 1) - gammaln(rows + 1).sum(axis=1)
    law = np.exp(ways + xlogy(rows, mallows_pmf(3, phi)).sum(axis=1))
    shows = (PLACES[:, :, None] < PLACES[:, None, :]).astype(np.int64)
    answers = [tuple(places) for places in PLACES.tolist()]
    # Every item keeps its place under its new name.
    before = _before(answers, lambda a, names: tuple(a[names.index(i)] for i in range(3)))
    return Small(rows, law, shows, before)


def three_games(gap: float) -> Small:
    """All ways in which the three pairs of three items end, each compared once; log-odds."""
    answers = list(permutations(range(3), 2))  # (winner, loser)
    pairs, rows, law = list(combinations(range(3), 2)), [], []
    for firsts in product((True, False), repeat=3):
        games = [pair if first else pair[::-1] for pair, first in zip(pairs, firsts, strict=True)]
        rows.append([games.count(answer) for answer in answers])
        law.append(np.prod([expit(gap * (loser - winner)) for winner, loser in games]))
    shows = np.zeros((6, 3, 3), dtype=np.int64)
    for number, (first, second) in enumerate(answers):
        shows[number, first, second] = 1
    before = _before(answers, lambda a, names: tuple(names[i] for i in a))
    return Small(np.array(rows), np.array(law), shows, before)


TURNED = np.array(list(product((0, 1), repeat=3)))  # which of three games


def flipped_reports(level: float, table: Ints) -> Array:
    """Law of the reports of three games, (8,): how many first items won, in binary order."""
    truth = table[np.triu_indices(3, 1)]
    lie = 1 / (1 + np.exp(level))
    return np.asarray(np.where(TURNED == truth, 1 - lie, lie).prod(axis=1))


def flipped_ranking(level: float, table: Ints) -> Array:
    """Law over `all_rankings(3)` of the order by reported wins, ties by lot."""
    first, second = np.triu_indices(3, 1)
    law = np.zeros(6)
    for won, chance in zip(TURNED, flipped_reports(level, table), strict=True):
        wins = np.bincount(np.where(won, first, second), minlength=3)
        fits = [(np.diff(wins[np.argsort(places)]) <= 0).all() for places in PLACES]
        law += chance * np.array(fits) / np.sum(fits)
    return law


def drawn_ranking(level: float, table: Ints) -> Array:
    """Law over `all_rankings(3)` with chances in proportion to e^(level * agreeing games)."""
    before = PLACES[:, :, None] < PLACES[:, None, :]
    return exponential_pmf((before * table).sum(axis=(1, 2)), 1.0, 2 * level)


def described_balls() -> dict[str, Ball]:
    """Wrong pairs of DP-KwikSort as described at epsilon 1, of three rankings: proved bounds.

    By all 216 crowds of a Mallows model at 1/2. A noisy lead has scale 2 log 3; the order abc comes
    out with chance p_ab p_bc (1 + 2 p_ac)/3.
    """
    orders = list(permutations(range(3)))
    pairs = list(combinations(range(3), 2))
    wrong = {o: sum(o.index(i) > o.index(j) for i, j in pairs) for o in orders}
    total = sum(Fraction(1, 2 ** wrong[o]) for o in orders)
    crowds: dict[tuple[int, ...], Fraction] = {}  # chances of the leads of 0-1, 0-2, 1-2
    for crowd in product(orders, repeat=3):
        leads = tuple(sum(1 if o.index(i) < o.index(j) else -1 for o in crowd) for i, j in pairs)
        chance = Fraction(1, 2 ** sum(wrong[o] for o in crowd)) / total**3
        crowds[leads] = crowds.get(leads, Fraction(0)) + chance
    tails = {size: exp_of(-size / (2 * log_of(Ball(3)))) / 2 for size in (1, 3)}
    risk = Ball(0)
    for leads, chance in crowds.items():
        p = {}
        for (i, j), lead in zip(pairs, leads, strict=True):
            p[i, j] = 1 - tails[abs(lead)] if lead > 0 else tails[abs(lead)]
            p[j, i] = 1 - p[i, j]
        for a, b, c in orders:
            law = p[a, b] * p[b, c] * (1 + 2 * p[a, c]) / 3
            risk += chance * Fraction(wrong[a, b, c], 3) * law
    return {"described_n3_m3_phi0p5_eps1": risk}


def flipped_balls() -> dict[str, Ball]:
    """Wrong pairs of flipped answers to three games at epsilon 1, with proved bounds.

    The better item wins with odds 2, and 4 for the outer pair; an order, or a circle, which is
    settled by lot and has half of the pairs wrong.
    """
    told = exp_of(Ball(1)) / (1 + exp_of(Ball(1)))
    right = [told * Fraction(o, o + 1) + (1 - told) * Fraction(1, o + 1) for o in (2, 4, 2)]
    risk = Ball(0)
    for reports in product((True, False), repeat=3):
        chance = Ball(1)
        for said, p in zip(reports, right, strict=True):
            chance *= p if said else 1 - p
        circle = reports[0] == reports[2] != reports[1]
        risk += chance * (Fraction(1, 2) if circle else Fraction(reports.count(False), 3))
    return {"flipped_n3_eps1": risk}


# ------------------------------------------------------------------ printed noise


@dataclass(frozen=True)
class Printed:
    """Noise of a scale that a paper prints, set to epsilon, and what is published with it."""

    paper: str
    name: str
    ranker: Ranker
    promised: float

    @property
    def ratios(self) -> tuple[float, float]:
        """Lower and upper end of the true loss of what is published, over the promise."""
        low, high = self.ranker.loss()
        return low / self.promised, high / self.promised

    @property
    def suffices(self) -> float:
        """Noise of the same kind that loses what was promised, over that printed; inf for none."""
        # Closed halves of a cube of even dimension lose log 2 with any noise.
        pairs = comb(self.ranker.unit.n_items, 2)
        closed = self.name == "hypercube" and pairs % 2 == 0
        if closed and self.promised <= log(2):
            return inf
        return self.ranker.at_loss(self.promised).scale / self.ranker.scale


def printed_noise(n: int, per_user: int, people: int, epsilon: float) -> list[Printed]:
    """Scales of noise that the papers print, for these sizes."""
    edge, person = Edge(n), Person(n, per_user, vouched=True)
    whole, crowd = WholeRanking(n), WholeRanking(n, users=people)
    # fewer than all pairs, so that there is a fallback
    capped = CappedKwikSort.printed(epsilon, crowd, min(2 * n, comb(n, 2) - 1))
    laplace = PairResponses.private(epsilon, whole, mechanism="laplace")
    made: list[tuple[str, str, Ranker]] = [
        ("CCW25, Algorithm 2", "noisy counts, a comparison", NoisyCounts.printed(epsilon, edge)),
        ("CCW25, Algorithm 3", "noisy counts, a person", NoisyCounts.printed(epsilon, person)),
        ("CCW25, Prop. 2.1", "perturbed MLE, a comparison", PerturbedMle.printed(epsilon, edge)),
        ("CCW25, Prop. 3.1", "perturbed MLE, a person", PerturbedMle.printed(epsilon, person)),
        ("AGKM, Corollary 3", "all noisy pairs", NoisyPairs.printed(epsilon, crowd)),
        ("AGKM, before Corollary 6", "all answers, and fallback", capped),
        ("Duchi et al., by AGKM, Theorem 8", "hypercube", Hypercube.printed(epsilon, whole)),
        ("Hay et al., by YLL, 5.1.1", "DP-KwikSort", NoisyPairs.described(epsilon, whole)),
        ("YLL, section 4.2.2", "Laplace answers", laplace),
    ]
    return [Printed(paper, name, ranker, epsilon) for paper, name, ranker in made]
