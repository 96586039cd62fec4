"""Score attacks on the logistic link: identities by enumeration, and the bounds they lead to.

An attack multiplies the error of an estimator by the score of the data. Its mean is the derivative
of the estimator's mean; privacy keeps it small, accuracy makes it large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import binom
from scipy.stats import t as student

from dpbook.estimators import ridge_mle, win_counts
from dpbook.mechanisms import discrete_laplace_pmf, randomized_response, randomized_response_pmf
from dpbook.models import btl_probabilities, edge_wins
from dpbook.privacy import Edge, edge_datasets
from dpbook.privacy.balls import Ball
from dpbook.rankers import NoisyCounts

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Others = Callable[[float, int], float]  # strength of the other items, from theta_k and n


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


def slopes(means: Array, wins: Ints, theta: Array, p: float, h: float = 0.02) -> Array:
    """Derivative of the mean of entry k in theta_k, for each k, by differences of order six."""
    steps = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    out = np.zeros(theta.size)
    for k, e in enumerate(np.eye(theta.size)):
        for m, w in steps.items():
            up, down = (data_probabilities(wins, theta + s * m * h * e, p=p) for s in (1, -1))
            out[k] += w * (up - down) @ means[:, k] / h
    return out


# Private estimators whose attack is exact.


def random_answers(wins: Ints, epsilon: float) -> Array:
    """Law of the reported data set for each true one: randomised response on each edge."""
    i, j = np.triu_indices(wins.shape[-1], 1)
    state = wins[:, i, j] - wins[:, j, i]
    a, b = state[:, None], state[None]
    truth, lie = randomized_response_pmf(epsilon)[0]
    factor = np.where(a == 0, b == 0, np.where(b == a, truth, np.where(b == -a, lie, 0)))
    return np.asarray(factor.prod(axis=2))


def one_entry(
    n: int, t: float, epsilon: float | None = None, rest: float | None = None
) -> tuple[float, float]:
    """Attack and mean absolute error of the clipped log-odds of a (noisy) count.

    The other strengths are equal; unless given, they bring the mean to zero.
    """
    reach = 0 if epsilon is None else int(np.ceil(80 / epsilon))
    noise, wins = np.arange(-reach, reach + 1), np.arange(n)
    weight = np.ones(1) if epsilon is None else discrete_laplace_pmf(noise, 2 / epsilon)
    share = np.clip((wins[:, None] + noise + 0.5) / n, 0.01, 0.99)
    error = np.clip(logit(share) * (n - 1) / n, -1, 1) - t
    chance = expit(t * n / (n - 1) if rest is None else t - rest)
    law = binom.pmf(wins, n - 1, chance)
    attack = law @ ((error @ weight) * (wins - (n - 1) * chance))
    return float(attack), float(law @ (np.abs(error) @ weight))


def one_pair(spent: float) -> float:
    """Attack on one of two equal items that are put at the ends by one random answer."""
    pair, (truth, lie) = win_tables(2, complete=True), randomized_response_pmf(spent)[0]
    ends = (truth - lie) * (pair.sum(axis=2) - pair.sum(axis=1))
    return float(expected_attacks(ends, pair, np.zeros(2))[0])


def revealing(K: float, n: int, delta: float) -> tuple[float, float]:
    """Attack and error when K times the score of equal items is released with probability delta."""
    score, law = np.arange(n) - (n - 1) / 2, binom.pmf(np.arange(n), n - 1, 0.5)
    return float(delta * K * law @ score**2), float(delta * K * law @ np.abs(score))


# Upper bounds on the attack.


def upper_bounds(
    n: int, p: float, epsilon: float, delta: float, error: float, loaded: float
) -> tuple[float, float]:
    """The printed bound, and the one with tanh; ``loaded`` is the error times the degree."""
    printed = 4 * n * p * epsilon * error + 4 * (n - 1) * delta + 2 / n
    return printed, np.tanh(epsilon / 4) * loaded + (n - 1) * p * delta / 2


def l2_bounds(n: int, p: float, epsilon: float, delta: float, square: float) -> tuple[float, float]:
    """The printed bound on the sum of all attacks, and the one with tanh."""
    q2 = n**2 * (n - 1) / 2 if p == 1 else n * ((n - 1) ** 2 * p**2 + (n - 1) * p * (1 - p))
    printed = 8 * np.sqrt(2) * n**1.5 * p * epsilon * np.sqrt(square) + 8 * n * (n - 1) * p * delta
    return printed, np.tanh(epsilon / 4) * np.sqrt(q2 * square) + p * n * (n - 1) * delta / 2


# Lower bounds on the attack.


def prior_scores(height: float = 15 / 16) -> tuple[float, float]:
    """Means of -t pi'/pi and of abs(pi'/pi) for the prior pi = height (1 - t^2)^2."""
    return (
        quad(lambda t: 4 * height * t**2 * (1 - t**2), -1, 1)[0],
        quad(lambda t: 4 * height * abs(t) * (1 - t**2), -1, 1, points=[0])[0],
    )


def prior_balls() -> dict[str, Ball]:
    """The same with proved bounds, and 1 - 15c/8 at c = 1/4, by antiderivatives on [0, 1]."""
    # 4 height t^2 (1 - t^2), and 4 height |t| (1 - t^2), twice from 0 to 1
    height = Ball(Fraction(15, 16))
    score = 8 * height * (Ball(1) / 3 - Ball(1) / 5)
    size = 8 * height * (Ball(1) / 2 - Ball(1) / 4)
    return {
        "prior_E_minus_theta_score": score,
        "prior_E_abs_score": size,
        "constant_at_c_quarter": score - size / 4,
    }


def on_the_line(
    n: int, epsilon: float | None, others: Others, height: float, share: float
) -> tuple[float, float, float]:
    """Largest mean error on the line; attack through a share of the pairs, by prior and evenly."""
    nodes, gauss = np.polynomial.legendre.leggauss(40)
    points = [(t, others(t, n)) for t in np.append(nodes, [-1, 1])]
    values = np.array([one_entry(n, t, epsilon, rest) for t, rest in points])
    weights = np.array([height * (1 - nodes**2) ** 2, np.full(40, 0.5)])
    by_prior, evenly = weights * gauss @ values[:40, 0] * share
    return values[:, 1].max(), by_prior, evenly


def least_error(n: int, others: Others) -> float:
    """No estimator has a smaller worst error at the two ends of the line (Le Cam)."""
    up, down = (binom.pmf(np.arange(n), n - 1, expit(t - others(t, n))) for t in (1, -1))
    return float(np.minimum(up, down).sum())


def centred(x: Array) -> Array:
    """The same less its mean over the items."""
    return x - x.mean(axis=-1, keepdims=True)


def l2_draws(n: int, size: int, rng: np.random.Generator) -> Array:
    """Truths drawn from the prior, the errors of an estimate without noise, and the scores."""
    rows = []
    for truth in 2 * rng.beta(3, 3, size=(size, n)) - 1:
        rho = btl_probabilities(truth)
        wins = edge_wins(rho, rng=rng)[0]
        score = wins.sum(axis=1) - rho.sum(axis=1) + 0.5
        rows.append((truth, ridge_mle(wins, gamma=0.1).theta - truth, score))
    return np.array(rows).swapaxes(0, 1)


def t_interval(values: Array, miss: float) -> Array:
    """Mean, less and plus what a t-test exceeds with probability ``miss``."""
    half = student.isf(miss, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return np.asarray(values.mean() + half * np.array([-1, 1]))


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


# Estimators of the comparison, from win tables (data sets, n, n).


def debiased(counts: Array, lie: float = 0.0) -> Array:
    """Clipped, centred log-odds of a share of wins, after undoing random answers."""
    share = (counts / (counts.shape[-1] - 1) - lie) / (1 - 2 * lie)
    return centred(logit(np.clip(share, 0.02, 0.98)))


def by_counts(wins: Ints, epsilon: float, rng: np.random.Generator) -> Array:
    """Log-odds of noisy counts."""
    ranker = NoisyCounts.private(epsilon, Edge(wins.shape[-1]))
    return debiased(ranker.release(wins, ranker.noise(len(wins), rng=rng)))


def by_answers(wins: Ints, epsilon: float, rng: np.random.Generator) -> Array:
    """Log-odds of counts of random answers."""
    i, j = np.triu_indices(wins.shape[-1], 1)
    said = randomized_response(wins[:, i, j], epsilon, rng=rng)
    out = np.zeros_like(wins)
    out[:, i, j], out[:, j, i] = said, 1 - said
    return debiased(win_counts(out), randomized_response_pmf(epsilon)[0, 1])


def risk_curve(
    bound: Callable[..., float], n: int, chain: str, levels: ArrayLike
) -> tuple[Array, Array]:
    """Levels of epsilon that the chain admits, and the bound there."""
    usable = [e for e in np.asarray(levels) if chain == "sharp" or e <= 1]
    return np.array(usable), np.array([bound(n, epsilon=e, chain=chain) for e in usable])
