"""Two surveys ranked privately, and what each method spends there (CCW25, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import privacy
from dpbook.data import PairTable
from dpbook.estimators import ranks_from_scores, ridge_mle
from dpbook.models import all_rankings
from dpbook.privacy import Edge
from dpbook.rankers import PerturbedMle

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


class People(NamedTuple):
    """Entry c: people with exactly c decided answers, or c answers when ties count."""

    decided: tuple[int, ...]
    answered: tuple[int, ...]


# Counted from the same R packages as the tables. Reversing a pair changes who wins, not whether
# there was a decision: the same for both editions.
_CEMS = People(
    (2, 0, 0, 0, 0, 2, 2, 2, 8, 10, 13, 20, 27, 34, 84, 99),
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 91, 212),
)
PEOPLE = {
    "cems": _CEMS,
    "cems_1998": _CEMS,
    "immigration": People((0, 9, 9, 32, 9, 14, 25), (0, 3, 3, 13, 5, 9, 65)),
}


class Answers(NamedTuple):
    """How many answers prefer one item, leave the pair undecided, or are not there."""

    decided: int
    tied: int
    none: int


def answers(table: PairTable) -> Answers:
    """Add up the answers of a survey."""
    return Answers(
        int(table.counts.sum()), int(table.ties.sum()) // 2, int(table.missing.sum()) // 2
    )


def tally(table: PairTable, people: People) -> dict[str, float]:
    """What was asked in a survey, and what was said: a row for the page's first table."""
    said = answers(table)
    return {
        "people m": table.users,
        "pairs L": table.n_pairs,
        "asked": table.users * table.n_pairs,
        "decided": said.decided,
        "tied": said.tied,
        "no answer": said.none,
        "decided, per person": said.decided / table.users,
        "people who answered all": people.answered[-1],
        "people who decided all": people.decided[-1],
    }


def strengths(wins: ArrayLike) -> Array:
    """Bradley-Terry strengths without noise and without ridge."""
    return ridge_mle(wins, gamma=0).theta


def keeps_the_order(wins: ArrayLike) -> bool:
    """Whether no ridge from 1 to 100,000 changes the order."""
    orders = [ranks_from_scores(ridge_mle(wins, gamma=g).theta) for g in np.geomspace(1, 1e5, 11)]
    return bool((np.array(orders) == ranks_from_scores(strengths(wins))).all())


def chance(n: int) -> float:
    """Mean rank difference between two unrelated uniform rankings."""
    return (n**2 - 1) / (3 * n)


def counts_distance(scores: Array, scale: float) -> float:
    """Expected mean rank difference of noisy scores, exactly."""
    return _counts_distance(tuple(scores.tolist()), float(scale))


@cache
def _counts_distance(scores: tuple[float, ...], scale: float) -> float:
    law = privacy.ranking_law(scores, scale=scale, underflow="zero")
    places = all_rankings(len(scores))
    return float(law @ np.abs(places - ranks_from_scores(scores)).mean(axis=1))


def mle_differences(
    wins: Counts, gamma: float, scale: float, size: int, rng: np.random.Generator
) -> Array:
    """Mean rank difference of each of many releases of the perturbed MLE."""
    ranker = PerturbedMle(Edge(len(wins)), scale, gamma)
    theta = ranker.release(wins, ranker.noise(size, rng=rng))
    return np.abs(ranks_from_scores(theta) - ranks_from_scores(strengths(wins))).mean(axis=1)


def mle_distance(
    wins: Counts,
    gamma: float,
    scale: float,
    size: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Mean rank difference of the perturbed MLE and the half-width of its interval.

    Empirical Bernstein bound (Maurer and Pontil, 2009).
    """
    d = mle_differences(wins, gamma, scale, size, rng)
    n, log = len(wins), np.log(4 / (1 - confidence))
    widest = n**2 // 2 / n  # two opposite rankings
    half = np.sqrt(2 * d.var(ddof=1) * log / size) + 7 * widest * log / (3 * (size - 1))
    return float(d.mean()), float(half)


def worst_ranking_loss(counts: Counts, changes: Iterable[Counts], scale: float) -> float:
    """Largest exact loss of the released ranking between these counts and the changed ones."""
    law, worst = privacy.ranking_law(counts, scale=scale), 0.0
    for d in sorted(changes, key=lambda d: -np.abs(d).sum()):
        if np.abs(d).sum() / scale <= worst:
            break  # no smaller change can cost more
        worst = max(worst, privacy.privacy_loss(law, privacy.ranking_law(counts + d, scale=scale)))
    return worst


def large_changes() -> Counts:
    """Changes of six win counts by one person, three items gaining: a family of the largest."""
    changes = np.zeros((40, 6), dtype=int)
    for k, gainers in enumerate(combinations(range(6), 3)):
        losers = tuple(set(range(6)) - set(gainers))
        for d, a in zip(changes[2 * k : 2 * k + 2], ((3, 4, 5), (5, 4, 3)), strict=True):
            d[list(gainers)], d[list(losers)] = a, np.negative(a[::-1])
    return changes


def win_matrices(rows: Any, n: int) -> Counts:
    """Win matrices from rows of +1 (first of the pair won), -1 (second won), 0 (tie or gap)."""
    i, j = np.triu_indices(n, 1)
    wins = np.zeros((len(rows), n, n), dtype=int)
    wins[:, i, j], wins[:, j, i] = rows == 1, rows == -1
    return wins


def mle_spends(n: int, gamma: Any, scale: Any) -> tuple[Any, Any]:
    """Lower and upper end of the loss of the perturbed MLE."""
    lower = n**2 // 2 / scale
    return lower, lower + (n - 1) * np.log1p(n / (4 * gamma))


def fair_mle(n: int, level: float, share: float = 0.95) -> tuple[float, float]:
    """Ridge and scale of the perturbed MLE whose proved loss equals the level."""
    return n / (4 * np.expm1((1 - share) * level / (n - 1))), n**2 // 2 / (share * level)


def draw_shares(ax: Any, share: Array, counts: Counts, names: Sequence[str]) -> None:
    """A cell for each ordered pair: how many preferred the row, coloured by their share.

    seaborn needs pandas, which no page loads in a browser; there matplotlib draws the same.
    """
    diagonal = np.eye(len(share), dtype=bool)
    look: dict[str, Any] = {"cmap": "RdBu", "vmin": 0.05, "vmax": 0.95}
    try:
        import seaborn
    except ModuleNotFoundError:
        ax.pcolormesh(np.ma.masked_array(share, diagonal), **look)
        for i, j in np.argwhere(~diagonal):
            ink = "white" if abs(share[i, j] - 0.5) > 0.3 else "black"
            ax.text(j + 0.5, i + 0.5, f"{counts[i, j]}", color=ink, ha="center", va="center")
        ax.set_xticks(np.arange(len(names)) + 0.5, names)
        ax.set_yticks(np.arange(len(names)) + 0.5, names)
        ax.invert_yaxis()
        return
    look |= {"cbar": False, "annot": counts, "fmt": "d", "annot_kws": {"fontsize": 13}}
    seaborn.heatmap(share, ax=ax, mask=diagonal, xticklabels=names, yticklabels=names, **look)
