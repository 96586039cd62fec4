"""Sign vectors as rankings, unanimous data, and tracing: the reductions behind AGKM's bounds.

A sign vector of length d moves d pairs of outer items across t middle items; there are n = 2d + t
items. Rankings are arrays of positions, 0 best.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, combinations, product
from math import exp, factorial, lgamma, log, pi, prod, sinh, sqrt
from operator import sub

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import beta as beta_law
from scipy.stats import betabinom

from dpbook.estimators import (
    borda_ranking,
    kendall_distance,
    kwiksort_rankings,
    pairwise_counts,
    ranks_from_scores,
)
from dpbook.privacy import WholeRanking
from dpbook.rankers import NoisyCounts

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


# Signs and rankings.


def sign_vectors(d: int) -> Ints:
    """All vectors of d signs, shape (2^d, d)."""
    return np.array(list(product((-1, 1), repeat=d)))


def signs_to_ranking(signs: ArrayLike, middle: int, *, convention: str = "words") -> Ints:
    """Rankings (..., 2d + t) that carry sign vectors (..., d) in the order of their outer pairs.

    The pair (j, j + d + t) is switched at the sign +1, as AGKM, "Lower Bounds", says in words and
    as its inverse map has it, or at -1 as the displayed ``"formula"`` there says.
    """
    values, t = np.asarray(signs), middle
    d = values.shape[-1]
    switched = values == (1 if convention == "words" else -1)
    left = np.arange(d)
    positions = np.empty((*values.shape[:-1], 2 * d + t), dtype=np.int64)
    positions[..., :d] = np.where(switched, left + d + t, left)
    positions[..., d : d + t] = np.arange(d, d + t)
    positions[..., d + t :] = np.where(switched, left, left + d + t)
    return positions


def ranking_to_signs(positions: ArrayLike, middle: int) -> Ints:
    """Signs (..., d) read from rankings: +1 where item j + d + t stands before item j.

    The map rho of AGKM; it inverts `signs_to_ranking` in the convention "words".
    """
    ranks = np.asarray(positions)
    d = (ranks.shape[-1] - middle) // 2
    return np.where(ranks[..., :d] < ranks[..., d + middle :], -1, 1).astype(np.int64)


def image_distance(differing: ArrayLike, n_signs: int, middle: int) -> Ints:
    """Kendall distance h (2 (d + t) - h) of the rankings of vectors that differ in h signs.

    A switched pair crosses every middle item twice and itself once. Two outer pairs of which at
    least one is switched invert two of their four cross pairs, whichever is switched.
    """
    h = np.asarray(differing)
    return np.asarray(h * (2 * (n_signs + middle) - h))


def nearest_ranking_distance(differing: ArrayLike, n_signs: int, middle: int) -> Ints:
    """Least distance h (d + t) - h (h - 1) / 2 from the ranking of x to one from which y is read.

    h is the number of signs in which x and y differ. AGKM, Observation 15, prints t h. If j has
    passed its partner, it or its partner has passed each item that stood between them.
    """
    h = np.asarray(differing)
    return np.asarray(h * (n_signs + middle) - h * (h - 1) // 2)


# Unanimous data: if all m people hand in one ranking, no output may become more than
# exp(m epsilon) times as likely when they all hand in another one.


def unanimous_sample_size(n_items: int, error: float, *, epsilon: float) -> float:
    """People that a pure private algorithm needs for an expected Kendall distance of ``error``.

    (1 / epsilon) log(1 + (n (n - 1) / 4 - error) / E (error - X)_+), where X is the distance
    between two random rankings; 0 if a random ranking is good enough. Counts are exact integers.

    Averaging over all names of the items makes the law a function f of the output as seen from the
    truth, with f at most exp(m epsilon) times as large at one ranking as at another. The best such
    f has two levels, the upper one where the distance is below its own mean. So no bound that uses
    unanimous data alone can be better. The volume argument is that of Hardt and Talwar (2010).
    """
    n, wanted = n_items, Fraction(error)
    excess = Fraction(n * (n - 1), 4) - wanted
    if excess <= 0:
        return 0.0
    top, unit = wanted.as_integer_ratio()
    counts = enumerate(_inversions(n, int(wanted)))
    below = Fraction(sum((top - unit * d) * c for d, c in counts), unit)
    ratio = 1 + factorial(n) * excess / below
    return (log(ratio.numerator) - log(ratio.denominator)) / epsilon


def packing_sample_size(
    log_words: float, distance: float, error: float, *, epsilon: float
) -> float:
    """The same from exp(log_words) rankings that are pairwise at least ``distance`` apart.

    (1 / epsilon) log((M - 1) (1 - b) / b) with b = 2 error / distance, an upper bound on the
    probability of leaving the ball around the truth; 0 if that is no bound.
    """
    b = 2 * error / distance
    if b >= 1:
        return 0.0
    others = log_words + float(np.log1p(-np.exp(-log_words)))
    return max(0.0, others + log((1 - b) / b)) / epsilon


def reed_muller_code(order: int, variables: int) -> Ints:
    """Generators of the Reed-Muller code: all products of at most ``order`` of the variables.

    Rows, of length 2^variables, span words that are pairwise at least 2^(variables - order) apart.
    """
    bits = (np.arange(2**variables) >> np.arange(variables)[:, None]) & 1
    chosen = (s for size in range(order + 1) for s in combinations(range(variables), size))
    return np.array([bits[list(s)].prod(axis=0) for s in chosen], dtype=np.int64)


def _inversions(n: int, most: int) -> list[int]:
    """Number of rankings of n items with 0, 1, ..., ``most`` inversions."""
    counts = [1] + [0] * most
    for m in range(2, n + 1):
        # Inserting the m-th item creates 0..m-1 inversions: a running sum over a window.
        total = list(accumulate(counts))
        counts = total[:m] + list(map(sub, total[m:], total))
    return counts


# Tracing: signs of people are drawn with marginals p, (1 + p) / 2 from a Beta(a, a) law. For any
# answer f in [-1, 1] from m people, E f sum_u (x_u - p) = 2a E f p = 2a / (1 + 2a / m) E f mean(x):
# an answer that fits the marginals is correlated with the people themselves.


def mean_sign_size(shape: float) -> float:
    """Mean absolute marginal E abs(p), for (1 + p) / 2 from a Beta(a, a) law."""
    return exp(lgamma(shape + 0.5) - lgamma(shape + 1)) / sqrt(pi)


def tracing_scores(read: ArrayLike, signs: ArrayLike, marginals: ArrayLike) -> Array:
    """Score of each person (users,): the sum over coordinates of read * (sign - marginal).

    ``signs`` have the shape (users, d); a person who is not in the data has mean 0. The attack of
    Dwork, Smith, Steinke, Ullman and Vadhan (2015), which AGKM, Theorem 14, rests on.
    """
    return np.asarray((np.asarray(signs) - np.asarray(marginals)) @ np.asarray(read))


def noisy_majority(users: int, scale: float = 0.0) -> Array:
    """Expected sign read from a noisy sum of signs when 0, ..., m of them are positive.

    The noise is the difference of two Laplace variables of this scale; 0 for the majority itself,
    where a tie counts as 0.
    """
    sums = 2.0 * np.arange(users + 1) - users
    if scale == 0:
        return np.sign(sums)
    u = np.abs(sums) / scale
    return np.asarray(np.sign(sums) * (1 - np.exp(-u) * (2 + u) / 2))


def total_score(users: int, shape: float, answers: ArrayLike) -> float:
    """Expected score of all people together, per coordinate: 2a / (1 + 2a / m) E f mean(x).

    ``answers``, shape (m + 1,): f when 0, ..., m signs are positive, as from `noisy_majority`.
    """
    m, a, k = users, shape, np.arange(users + 1)
    mean = (betabinom.pmf(k, m, a, a) * np.asarray(answers) * (2 * k / m - 1)).sum()
    return float(2 * a / (1 + 2 * a / m) * mean)


def sample_tracing_scores(
    users: int,
    n_signs: int,
    shape: float,
    size: int,
    *,
    rng: np.random.Generator,
    scale: float = 0.0,
) -> tuple[Array, Array]:
    """Scores (size,) of one member and of one outsider; ``users`` odd, ``scale`` as above."""
    q = rng.beta(shape, shape, (size, n_signs))
    # Of the other people only the number of positive signs matters.
    member, outsider = 2.0 * (rng.random((2, *q.shape)) < q) - 1
    sums = member + 2.0 * rng.binomial(users - 1, q) - (users - 1)
    if scale > 0:
        sums += np.subtract(*rng.laplace(scale=scale, size=(2, *q.shape)))
    read, marginals = np.sign(sums), 2 * q - 1
    return (read * (member - marginals)).sum(1), (read * (outsider - marginals)).sum(1)


def tracing_moments(users: int, shape: float) -> tuple[float, float]:
    """Mean and variance of one coordinate of a member's score when majorities are read.

    A person who is not in the data has mean 0 and variance 2a / (2a + 1).
    """
    mean = total_score(users, shape, noisy_majority(users)) / users
    return mean, 2 * shape / (2 * shape + 1) - mean**2


def tracing_sample_size(
    n_signs: int,
    middle: int,
    *,
    approximation: float,
    error: float,
    epsilon: float,
    shape: float,
    expected_leaks: float = 0.0,
) -> float:
    """People that a private approximation of the best aggregate needs; 0 if nothing follows.

    The expected score is at most ``approximation`` times the best plus ``error``; neighbours
    differ in the whole ranking of one person; ``expected_leaks`` is m delta; ``shape`` is free to
    choose, small for large approximations. AGKM, Theorem 14, with all constants; it rests on
    Observation 16 as repaired, since the printed one is false.
    """
    d, t, a, alpha = n_signs, middle, shape, approximation
    lost = (2 * alpha - 1) * (1 - mean_sign_size(a)) + 2 * alpha * d / t + 2 * error / (t * d)
    signal = 2 * a * d * (1 - lost) - (1 + 2 * a) * 4 * d * expected_leaks
    noise = sinh(epsilon) * sqrt(d * 2 * a / (2 * a + 1))
    return max(0.0, signal / noise - 2 * a)


# Steps of the page.


def constants(alpha: float, epsilon: float, part: float = 0.25) -> dict[str, float]:
    """Constants of Theorem 14 for one alpha: the losses in G are ``part`` and two halves of it."""

    def excess(a: float) -> float:
        return (2 * alpha - 1) * (1 - mean_sign_size(a)) - part

    a, d, ratio = brentq(excess, 1e-7, 5), 10**6, 4 * alpha / part
    n, error = (2 + ratio) * d, ratio * d * d * part / 4
    people = tracing_sample_size(
        d, int(ratio * d), approximation=alpha, error=error, epsilon=epsilon, shape=a
    )
    found = {"α": alpha, "a": a, "t/d": int(ratio), "c": error / n**2}
    return found | {"m ε/√n": people * epsilon / sqrt(n)}


def identity_holds(m: int, a: Fraction, law: Fraction) -> bool:
    """The identity of tracing with the factor ``a`` under Beta(law, law), in exact fractions.

    For each number k of ones among m people.
    """

    def moment(k: int, rest: int) -> Fraction:  # E q^k (1 - q)^rest
        rising = [
            prod((x + i for i in range(size)), start=Fraction(1))
            for x, size in ((law, k), (law, rest), (2 * law, k + rest))
        ]
        return rising[0] * rising[1] / rising[2]

    for k in range(m + 1):
        q0, q1 = moment(k, m - k), moment(k + 1, m - k)
        if 2 * k * q0 - 2 * m * q1 != 2 * a * (2 * q1 - q0):
            return False
    return True


def borda_scale(d: int, t: int, epsilon: float) -> float:
    """Noise of noisy Borda, in units of a sum of signs."""
    return NoisyCounts.private(epsilon, WholeRanking(2 * d + t, 1)).scale / (d + t)


def noisy_borda_error(n_items: int, budget: Array, size: int, rng: np.random.Generator) -> Array:
    """Kendall distances of noisy Borda from a common ranking, shape (size, budgets).

    The budgets are people times epsilon: so many people who agree are one with all of it.
    """
    places, drawn = np.arange(n_items), []
    rankers = [NoisyCounts.private(b, WholeRanking(n_items, 1)) for b in budget]
    noise = -rankers[0].noise((size, len(rankers)), rng=rng)  # on the sums of places, as above
    for ranker, z in zip(rankers, np.moveaxis(noise, 1, 0), strict=True):
        drawn.append(ranks_from_scores(ranker.perturb(n_items - 1 - places, z)))
    return np.asarray(kendall_distance(np.stack(drawn, axis=1), places), dtype=float)


def over_limit(m: int, d: int, epsilon: float, noise: float) -> float:
    """Total score over its limit, step 3 of the proof of Theorem 14, at a = 1 and t = d."""
    answer = noisy_majority(m, noise * borda_scale(d, d, epsilon))
    return d * total_score(m, 1.0, answer) / (m * sinh(epsilon) * sqrt(d * 2 / 3))


def attack(
    d: int, t: int, people: int, shape: float, rng: np.random.Generator
) -> Iterator[tuple[str, float, float, float, float]]:
    """Three aggregates of drawn people, one data set.

    Name, share of majorities that can be read, mean score of members and of strangers in standard
    deviations of one stranger, mean distance over a lower bound on the least possible.
    """
    q = rng.beta(shape, shape, d)
    signs, strangers = (2 * (rng.random((people, d)) < q) - 1 for _ in range(2))
    profile, mean = signs_to_ranking(signs, t), signs.mean(axis=0)
    least = t * (1 - np.abs(mean)).sum()
    spread = sqrt(d * 2 * shape / (2 * shape + 1))
    for name, ranking in _aggregates(profile, rng):
        read = ranking_to_signs(ranking, t)
        inside, outside = (
            float(tracing_scores(read, s, 2 * q - 1).mean()) / spread for s in (signs, strangers)
        )
        cost = kendall_distance(ranking, profile).mean() / least
        yield name, (read == np.sign(mean)).mean(), inside, outside, cost


def _aggregates(profile: Ints, rng: np.random.Generator) -> Iterator[tuple[str, Ints]]:
    counts, (people, items) = pairwise_counts(profile), profile.shape
    noisy_borda = NoisyCounts.private(1.0, WholeRanking(items, people))
    # Sums of places are win counts reversed, and so is the noise on them.
    noise = -noisy_borda.noise(rng=rng)
    yield "Borda", borda_ranking(counts)
    yield "KwikSort", kwiksort_rankings(counts, rng=rng)
    yield "noisy Borda, ε = 1", ranks_from_scores(noisy_borda.release(counts, noise))


def hit_interval(hits: ArrayLike) -> tuple[float, float]:
    """95 % interval for a share, after Clopper and Pearson."""
    k, size = np.sum(hits), np.size(hits)
    low = beta_law.ppf(0.025, k, size - k + 1) if k else 0.0
    return low, beta_law.ppf(0.975, k + 1, size - k) if k < size else 1.0
