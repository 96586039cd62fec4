"""Rules to compare with the exact optimum.

The rules are for the planted set: items of a k-set beat the others with probability 1/2 + delta,
all else is a coin toss, and all sets are hypotheses. Every rule treats the items alike, so its risk
P(wrong set) is the same at every hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, permutations
from math import comb, exp, factorial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, roots_legendre

from dpbook.lower_bounds import fano_error, product_log_ratio
from dpbook.models import all_rankings, two_level_probabilities
from dpbook.optimum import OptimalMechanism, optimal_mechanism, relabel, tournament_law
from dpbook.privacy import ranking_law, sets_of, top_k_law

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def flips(n_items: int) -> list[tuple[int, int]]:
    """All pairs of neighbouring tournaments."""
    edges = range(comb(n_items, 2))
    return [(d, d | 1 << e) for d in range(2 ** comb(n_items, 2)) for e in edges if not d >> e & 1]


def tournament_wins(n_items: int) -> Ints:
    """Wins of every item in every tournament, shape (2^(n(n-1)/2), n)."""
    codes = np.arange(2 ** comb(n_items, 2))
    wins = np.zeros((codes.size, n_items), dtype=np.int64)
    for e, (i, j) in enumerate(combinations(range(n_items), 2)):
        won = codes >> e & 1
        wins[:, i] += won
        wins[:, j] += 1 - won
    return wins


def set_wins(wins: ArrayLike, k: int) -> Array:
    """Wins of every k-set, in the order of `sets_of`: a flip moves one of them by at most 1."""
    counts = np.asarray(wins, dtype=float)
    return np.asarray(counts[sets_of(counts.size, k)].sum(axis=1))


def rule_risk(rule: Callable[[Array], ArrayLike], n_items: int, k: int, delta: float) -> float:
    """Exact risk of a rule from win counts (n,) to the chances of all k-sets, as in `sets_of`."""
    law = tournament_law(two_level_probabilities(n_items, k, delta))
    wins = tournament_wins(n_items)
    # Renaming inside the set, or outside, changes nothing: sort the counts on either side.
    sorted_wins = np.concatenate([np.sort(wins[:, :k], axis=1), np.sort(wins[:, k:], axis=1)], 1)
    kinds, which = np.unique(sorted_wins, axis=0, return_inverse=True)
    chance = np.bincount(which.ravel(), law, len(kinds))
    right = np.array([np.asarray(rule(row.astype(float)))[0] for row in kinds])
    return float(1 - chance @ right)


def permute_and_flip_pmf(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Exact law of permute-and-flip, which is epsilon-DP (McKenna and Sheldon 2020, Theorem 1).

    Candidates arrive in random order; the first whose coin shows heads, with chance
    p_i = exp(epsilon (u_i - max u) / (2 D)), is taken. Give each an independent uniform arrival
    time: candidate i is taken at time t if no other arrived before t with heads, so

        P(i) = p_i * integral over t in (0, 1) of the product over j != i of (1 - p_j t).

    The integrand is a polynomial of degree ``candidates - 1`` and positive; Gauss-Legendre with
    half as many nodes integrates it exactly (512 nodes reach rounding error for any number).
    """
    u = np.asarray(utilities)
    accept = np.exp(epsilon / (2 * sensitivity) * (u - u.max()))
    node, weight = roots_legendre(min(accept.size // 2 + 1, 512))
    law = np.zeros(accept.size)
    for t, w in zip((node + 1) / 2, weight / 2, strict=True):
        log_pass = np.log1p(-accept * t)
        law += w * np.exp(log_pass.sum() - log_pass)
    return np.asarray(law * accept)


def noisy_counts_risk(
    n_items: int, k: int, delta: float, scale: float, noise: str = "laplace"
) -> float:
    """Risk of the top k by noisy win counts."""
    rule = partial(top_k_law, k=k, scale=scale, noise=noise, underflow="zero")
    return rule_risk(rule, n_items, k, delta)


def free_optimum_risk(n_items: int, k: int, delta: float) -> float:
    """Smallest risk without any privacy: the Bayes rule under the uniform prior.

    The best set is one with the most wins over the rest; which of several does not matter.
    """

    def best(wins: Array) -> Array:
        score = set_wins(wins, k)
        highest = (score == score.max()).astype(float)
        return np.asarray(highest / highest.sum())

    return rule_risk(best, n_items, k, delta)


def randomised_response_risk(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """Risk of flipping every answer with chance 1 / (1 + e^epsilon) and then deciding best.

    The noisy answers follow the same family with advantage delta * tanh(epsilon / 2).
    """
    return free_optimum_risk(n_items, k, delta * float(np.tanh(epsilon / 2)))


def sharp_packing_bound(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """Packing bound: 1 - 1 / sum over S' of exp(-D(S', S)), with D from `product_log_ratio`."""
    hypotheses = _all_hypotheses(n_items, k, delta)
    return 1 - 1 / sum(exp(-product_log_ratio(q, hypotheses[0], epsilon)) for q in hypotheses)


def fano_bound(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """DP Fano bound: 1 - (epsilon * mean coupling distance + log 2) / log(number of sets).

    Zero where it says nothing. The distance of two hypotheses is the expected number of answers
    that differ under the best coupling; privacy bounds the divergence of two outputs by epsilon
    times it.
    """
    hypotheses = _all_hypotheses(n_items, k, delta)
    distance = np.abs(hypotheses - hypotheses[0]).sum(axis=1).mean()
    return fano_error(len(hypotheses), epsilon * float(distance))


def _all_hypotheses(n_items: int, k: int, delta: float) -> Array:
    """Chances of the upper triangle for every true set, shape (sets, n(n-1)/2)."""
    at = np.triu_indices(n_items, 1)
    sets = sets_of(n_items, k)
    return np.array([two_level_probabilities(n_items, s, delta)[at] for s in sets])


def worst_risk(mechanism: OptimalMechanism, table: Array, delta: float) -> float:
    """Over all hypotheses, computed from a table of the same shape as the mechanism's."""
    law = tournament_law(two_level_probabilities(mechanism.n_items, mechanism.k or 1, delta))
    laws = [law[relabel(np.argsort(pi))] for pi in mechanism.outcomes]
    return max(float(1 - one @ chances) for one, chances in zip(laws, table.T, strict=True))


def blurred(mechanism: OptimalMechanism) -> Array:
    """Table of the mechanism when the data are renamed at random and the outcome is not."""
    names = permutations(range(mechanism.n_items))
    return np.asarray(np.mean([mechanism.table()[relabel(pi)] for pi in names], axis=0))


def half_noise_table(mechanism: OptimalMechanism, epsilon: float) -> Array:
    """Table of noisy counts with half of the noise that epsilon asks for."""
    wins = tournament_wins(mechanism.n_items).astype(float)
    k = mechanism.k or 1
    return np.array([top_k_law(row, k, scale=1 / epsilon, underflow="zero") for row in wins])


def ranking_row(n_items: int, epsilon: float) -> list[float]:
    """Sizes and risks for full rankings of items one unit of log-odds apart."""
    n = n_items
    rho = expit(np.arange(n) - np.arange(n)[:, None])
    law, wins = tournament_law(rho), tournament_wins(n)
    best = optimal_mechanism(rho, epsilon=epsilon)
    noisy = [ranking_law(row, scale=2 / epsilon)[0] for row in wins.astype(float)]
    laws = [law[relabel(np.argsort(pi))] for pi in all_rankings(n)]
    free = 1 - np.max(laws, axis=0).sum() / factorial(n)
    gap = best.risk - best.lower
    return [n, epsilon, best.weights.size, free, best.lower, gap, 1 - law @ noisy]


# The cube of tournaments on three items.

_KINDS = ("A first", "A in the middle", "in a cycle", "A last")


def draw_cube(ax: Axes, mechanism: OptimalMechanism) -> None:
    """Eight corners, one for each tournament; edges are flips, colours the chance of item A."""
    if (mechanism.n_items, mechanism.k) != (3, 1):
        raise ValueError("mechanism: allowed is one for the best of three items")
    chance, wins = mechanism.weights[mechanism.orbit], tournament_wins(3)
    cycles = (wins == 1).all(axis=1)
    bits = np.arange(8)[:, None] >> np.arange(3) & 1  # A beats B, A beats C, B beats C
    step = np.array([[1.5, 0.75], [1.5, -0.75], [0.75, 2.35]])
    x, y = (bits @ step + [0.5, 1.1]).T
    for d, other in flips(3):
        used_up = abs(np.log(chance[d] / chance[other])) > mechanism.loss - 1e-6
        ends = [x[d], x[other]], [y[d], y[other]]
        ax.plot(*ends, "-", color="black" if used_up else "#999999", lw=4 if used_up else 1.4)
    colours = mpl.colormaps["Blues"](0.05 + 0.6 * chance / chance.max())
    kinds = np.where(cycles, 2, np.array([3, 1, 0])[wins[:, 0]])
    for d, kind in enumerate(kinds.tolist()):
        _corner(ax, x[d], y[d], 38, colours[d], kind)
        name = "cycle" if cycles[d] else "".join("ABC"[i] for i in np.argsort(-wins[d]))
        ax.text(x[d], y[d], name, ha="center", va="center", zorder=4)
    ax.text(4.95, 4.5, "chance q of item A", va="center")
    for kind, words in enumerate(_KINDS):
        some, level = int((kinds == kind).argmax()), 3.85 - 0.75 * kind
        _corner(ax, 5.15, level, 24, colours[some], kind)
        ax.text(5.5, level, f"{words}:\n{chance[some]:.3f}", va="center")
    ax.plot([4.95, 5.35], [0.75, 0.75], "-", color="black", lw=4)
    ax.text(5.5, 0.75, "privacy\nused up", va="center")


def _corner(ax: Axes, x: float, y: float, size: float, color: Any, kind: int) -> None:
    size *= 0.8 if "oshD"[kind] == "D" else 1.0  # a diamond stands on its corner
    edge: dict[str, Any] = {"markeredgecolor": "black", "zorder": 3}
    ax.plot(x, y, "oshD"[kind], ms=size, color=color, **edge)
