r"""The planted set: rho = 1/2 + Delta between a k-set and the rest, 1/2 within each.

Exact risks P(wrong set) of familiar rules, and two simple lower bounds, to stand beside the optimum
of `dpbook.lower_bounds.optimum`. All sets are hypotheses, every pair is compared once, neighbours
are flips. Every rule here treats the items alike, so its risk is the same at every hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb, exp

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.lower_bounds._reduction import tournament_law
from dpbook.lower_bounds.fano import fano_error, product_log_ratio
from dpbook.privacy import sets_of

__all__ = [
    "exponential_law",
    "fano_bound",
    "free_optimum_risk",
    "permute_and_flip_law",
    "planted_set",
    "randomised_response_risk",
    "rule_risk",
    "sharp_packing_bound",
    "tournament_wins",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_ITEMS = 7


def planted_set(n_items: int, k: int, delta: float) -> Array:
    """Win probabilities of the hypothesis that the items 0..k-1 are the top set.

    Parameters
    ----------
    n_items, k : int
        1 <= k < n_items <= 7.
    delta : float
        Advantage over 1/2 of an item of the set against one outside, in [0, 1/2].

    Returns
    -------
    array, shape (n_items, n_items)
    """
    n = check.integer("n_items", n_items, 2, MAX_ITEMS)
    inside = np.arange(n) < check.integer("k", k, 1, n - 1)
    if check.nonnegative("delta", delta) > 0.5:
        raise ValueError(f"delta = {delta!r}: allowed is a number in [0, 1/2]")
    return np.asarray(0.5 + delta * (inside[:, None].astype(float) - inside[None, :]))


def tournament_wins(n_items: int) -> Ints:
    """Wins of every item in every tournament, shape (2^(n(n-1)/2), n), coded as in `relabel`."""
    n = check.integer("n_items", n_items, 2, MAX_ITEMS)
    codes = np.arange(2 ** comb(n, 2))
    wins = np.zeros((codes.size, n), dtype=np.int64)
    for e, (i, j) in enumerate(combinations(range(n), 2)):
        won = codes >> e & 1
        wins[:, i] += won
        wins[:, j] += 1 - won
    return wins


def rule_risk(rule: Callable[[Array], ArrayLike], n_items: int, k: int, delta: float) -> float:
    """Exact risk of a rule that looks at the win counts only and treats the items alike.

    Parameters
    ----------
    rule : callable
        Maps win counts, shape (n,), to the chances of all k-sets, in the order of `sets_of`.
    n_items, k, delta : int, int, float
        As in `planted_set`.

    Returns
    -------
    float
        P(released set != true set), the same for every true set.
    """
    law = tournament_law(planted_set(n_items, k, delta))
    wins = tournament_wins(n_items)
    # Renaming inside the set, or outside, changes nothing: sort the counts on either side.
    sorted_wins = np.concatenate([np.sort(wins[:, :k], axis=1), np.sort(wins[:, k:], axis=1)], 1)
    kinds, which = np.unique(sorted_wins, axis=0, return_inverse=True)
    chance = np.bincount(which.ravel(), law, len(kinds))
    right = np.array([np.asarray(rule(row.astype(float)))[0] for row in kinds])
    return float(1 - chance @ right)


def exponential_law(wins: ArrayLike, k: int, rate: float) -> Array:
    """Exponential mechanism over sets: chances proportional to exp(rate * wins of the set).

    Parameters
    ----------
    wins : array, shape (n,)
        Win counts.
    k : int
        Size of the set.
    rate : float
        Nats per win; a flip moves the score by at most 1, so epsilon / 2 is private.

    Returns
    -------
    array, shape (C(n, k),)
        Prior art: McSherry and Talwar 2007.
    """
    score = _scores(wins, k)
    weights = np.exp(check.nonnegative("rate", rate) * (score - score.max()))
    return np.asarray(weights / weights.sum())


def permute_and_flip_law(wins: ArrayLike, k: int, rate: float) -> Array:
    """Permute-and-flip over sets; parameters and result as in `exponential_law`.

    Sets arrive in random order, and each is taken with chance exp(rate * (score - best score)).
    With independent uniform arrival times the law is an integral of a polynomial, which the
    quadrature below integrates exactly. Prior art: McKenna and Sheldon 2020.
    """
    score = _scores(wins, k)
    accept = np.exp(check.nonnegative("rate", rate) * (score - score.max()))
    node, weight = np.polynomial.legendre.leggauss(score.size // 2 + 1)
    passed = 1 - np.outer((node + 1) / 2, accept)
    law = []
    for r in range(score.size):
        others = np.delete(passed, r, axis=1).prod(axis=1)
        law.append(accept[r] * (weight @ others) / 2)
    return np.array(law)


def _scores(wins: ArrayLike, k: int) -> Array:
    counts = check.finite_array("wins", wins)
    return np.asarray(counts[sets_of(counts.size, k)].sum(axis=1))


def free_optimum_risk(n_items: int, k: int, delta: float) -> float:
    """Smallest risk without any privacy: the Bayes rule under the uniform prior.

    Parameters and result as in `rule_risk`. The best set is one with the most wins over the rest,
    and which of several does not matter.
    """
    return rule_risk(lambda wins: _best(wins, k), n_items, k, delta)


def _best(wins: ArrayLike, k: int) -> Array:
    score = _scores(wins, k)
    best = (score == score.max()).astype(float)
    return np.asarray(best / best.sum())


def randomised_response_risk(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """Risk of flipping every answer with chance 1 / (1 + e^epsilon) and then deciding best.

    The noisy answers follow the same family with advantage delta * tanh(epsilon / 2).
    Parameters and result as in `rule_risk`.
    """
    keep = float(np.tanh(check.epsilon(epsilon) / 2))
    return free_optimum_risk(n_items, k, delta * keep)


def sharp_packing_bound(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """Packing bound: 1 - 1 / sum over S' of exp(-D(S', S)), with D from `product_log_ratio`.

    Parameters and result as in `rule_risk`.
    """
    hypotheses = _all_hypotheses(n_items, k, delta)
    return 1 - 1 / sum(exp(-product_log_ratio(q, hypotheses[0], epsilon)) for q in hypotheses)


def fano_bound(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """DP Fano bound: 1 - (epsilon * mean coupling distance + log 2) / log(number of sets).

    The distance of two hypotheses is the expected number of answers that differ under the best
    coupling, the sum of the total variations of the pairs. Parameters and result as in `rule_risk`;
    zero where the bound says nothing.
    """
    eps = check.epsilon(epsilon)
    hypotheses = _all_hypotheses(n_items, k, delta)
    distance = np.abs(hypotheses - hypotheses[0]).sum(axis=1).mean()
    # Privacy bounds the divergence of two outputs by epsilon times that distance.
    return fano_error(len(hypotheses), eps * float(distance))


def _all_hypotheses(n_items: int, k: int, delta: float) -> Array:
    """Chances of the upper triangle for every true set, shape (sets, n(n-1)/2)."""
    planted_set(n_items, k, delta)
    inside = np.zeros((comb(n_items, k), n_items))
    np.put_along_axis(inside, sets_of(n_items, k), 1.0, axis=1)
    i, j = np.triu_indices(n_items, 1)
    return np.asarray(0.5 + delta * (inside[:, i] - inside[:, j]))
