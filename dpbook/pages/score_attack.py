"""Page 14: attacks by enumeration, as errata use them, and lower bounds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import binom

from dpbook.privacy import edge_datasets

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def win_tables(n_items: int, *, complete: bool) -> Ints:
    """Every data set of the edge design as a win table, shape (data sets, n, n)."""
    outcome = edge_datasets(n_items, complete=complete)
    i, j = np.triu_indices(n_items, 1)
    wins = np.zeros((len(outcome), n_items, n_items), dtype=np.int64)
    wins[:, i, j], wins[:, j, i] = outcome == 1, outcome == -1
    return wins


def data_probabilities(wins: ArrayLike, theta: ArrayLike, *, p: float = 1.0) -> Array:
    """Probability of win tables (..., n, n) of 0 and 1 under strengths (n,): CCW25, section 2.1."""
    table, gaps = np.asarray(wins), np.subtract.outer(theta, theta)
    i, j = np.triu_indices(len(gaps), 1)
    won, lost = table[..., i, j], table[..., j, i]
    up, down = p * expit(gaps[i, j]), p * expit(gaps[j, i])
    return np.where(won == 1, up, np.where(lost == 1, down, 1 - p)).prod(axis=-1)


def pair_scores(wins: ArrayLike, theta: ArrayLike) -> Array:
    """Contribution of each pair to the score of its first item, shape (..., n, n).

    Entry ``[k, j]`` is the derivative in theta_k of the log-likelihood of the pair {k, j}, 0 where
    it was not compared. CCW25, section 2.2.2, with the sign that makes it the derivative.
    """
    table, gaps = np.asarray(wins), np.subtract.outer(theta, theta)
    return np.asarray(table * expit(-gaps) - np.swapaxes(table, -1, -2) * expit(gaps))


def expected_attacks(
    means: ArrayLike, wins: ArrayLike, theta: ArrayLike, *, p: float = 1.0, signs: str = "corrected"
) -> Array:
    """Expected entry-wise attack on each item (n,), summed over pairs, by enumeration.

    ``wins`` are all data sets, ``means`` (data sets, n) the mean output of the estimator on each
    (the attack is linear in it). ``signs="printed"`` takes the score of the first item of a pair
    also when the attacked item is the second. CCW25, section 2.2.2; the sum over items is the
    attack of CCW23, section 2.2.1.
    """
    weight, score = data_probabilities(wins, theta, p=p), pair_scores(wins, theta)
    if signs == "printed":
        score = np.triu(score) - np.tril(score)
    error = np.asarray(means) - np.asarray(theta)
    return np.asarray(weight @ (error * score.sum(axis=-1)))


# Lower bounds on the risk of (epsilon, delta)-DP estimators; flips of one outcome as neighbours.


def sup_norm_risk_bound(
    n_items: int, *, epsilon: float, p: float = 1.0, delta: float = 0.0, chain: str = "sharp"
) -> float:
    """Lower bound on the worst expected sup-norm error, over truths in [-1, 1] with mean 0.

    ``"printed"``, for epsilon at most 1 and p > 6 log n / n: CCW25, Propositions 2.3 and 2.4 with
    kappa_1 = 1, moved to centred truths; the risk itself takes the place of the constant c.
    ``"sharp"``: along the line on which theta_k runs from -1 to 1, the mean attack is at least
    (1 - R) (n - 1) / n, and at most tanh(epsilon / 4) (t R + 2 E(d - t)^+) + (n - 1) p delta / 2
    for every t, with d the degree of an item. 0 where the bound is empty.
    """
    n, inflate = n_items, n_items / (n_items - 1)
    if chain == "printed":
        rest = 1 - inflate * (2 / n + 4 * (n - 1) * delta)
        return max(0.0, rest / (15 / 8 + inflate * 4 * n * p * epsilon))
    weight, t = math.tanh(epsilon / 4), np.arange(n)
    tail = np.cumsum(binom.sf(t, n - 1, p)[::-1])[::-1]  # E (d - t)^+
    room = 1 - inflate * (2 * weight * tail + (n - 1) * p * delta / 2)
    return max(0.0, float((room / (1 + inflate * weight * t)).max()))


def l2_risk_bound(
    n_items: int, *, epsilon: float, p: float = 1.0, delta: float = 0.0, chain: str = "sharp"
) -> float:
    """Lower bound on the worst expected squared l2 error up to a shift, over truths in [-1, 1].

    ``"printed"``, for epsilon at most 1 and p > 1 / (2 n): CCW23, Propositions 2.4 and 2.5 with
    kappa_1 = 1. ``"sharp"``: the mean attack is at least n - 1 - sqrt(10 (n - 1) R) under the
    prior, and at most tanh(epsilon / 4) Q sqrt(R) plus p n (n - 1) delta / 2. Here Q^2 is n times
    the mean square degree, or at p = 1 the smaller n^2 (n - 1) / 2. 0 where the bound is empty.
    """
    n = n_items
    if chain == "printed":
        slope = 8 * math.sqrt(2) * n**1.5 * p * epsilon
        rest = n - 1 - 8 * n * (n - 1) * p * delta
    else:
        degrees = n * ((n - 1) ** 2 * p**2 + (n - 1) * p * (1 - p))
        q2 = n**2 * (n - 1) / 2 if p == 1 else degrees
        slope = math.tanh(epsilon / 4) * math.sqrt(q2)
        rest = n - 1 - p * n * (n - 1) * delta / 2
    return max(0.0, rest / (math.sqrt(10 * (n - 1)) + slope)) ** 2
