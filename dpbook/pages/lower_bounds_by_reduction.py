"""Sign vectors as rankings, and tracing: the reductions behind AGKM's bounds.

A sign vector of length d moves d pairs of outer items across t middle items; there are n = 2d + t
items. Rankings are arrays of positions, 0 best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import betabinom

from dpbook._typing import Array, Ints


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


# Tracing: signs of people are drawn with marginals p, (1 + p) / 2 from a Beta(a, a) distribution.
# For any answer f in [-1, 1] from m people, E f sum_u (x_u - p) = 2a E f p = 2a / (1 + 2a / m) E f
# mean(x): an answer that fits the marginals is correlated with the people themselves.


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
