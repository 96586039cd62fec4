"""The planted set: exact risks P(wrong set) of familiar rules, and two simple lower bounds.

Items of a k-set beat the others with probability 1/2 + delta; all else is a coin toss. All sets are
hypotheses, every pair is compared once, neighbours are flips, and tournaments are coded as in
`dpbook.lower_bounds.relabel`. Every rule here treats the items alike, so its risk is the same at
every hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from math import comb, exp, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, roots_legendre

from dpbook.lower_bounds import (
    OptimalMechanism,
    fano_error,
    optimal_mechanism,
    product_law,
    product_log_ratio,
    relabel,
)
from dpbook.models import all_rankings, two_level_probabilities
from dpbook.privacy import ranking_law, sets_of, top_k_law

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def flips(n_items: int) -> list[tuple[int, int]]:
    """All pairs of neighbouring tournaments."""
    edges = range(comb(n_items, 2))
    return [(d, d | 1 << e) for d in range(2 ** comb(n_items, 2)) for e in edges if not d >> e & 1]


def tournament_law(rho: Array) -> Array:
    """Law of the tournament under win probabilities (n, n)."""
    return product_law(rho[np.triu_indices(len(rho), 1)])


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
    return rule_risk(
        lambda wins: top_k_law(wins, k, scale=scale, noise=noise, underflow="zero"),
        n_items,
        k,
        delta,
    )


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
