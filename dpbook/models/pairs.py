"""Models of pairwise comparisons: winning probabilities and samplers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.models.links import LINKS


def btl_probabilities(theta: ArrayLike, *, link: str = "logistic") -> Array:
    """Winning probabilities F(theta_i - theta_j), (..., n, n) (CCW25, section 2.1).

    The strengths, (..., n), are on the scale of the link, a key of `LINKS`: log-odds for
    ``"logistic"``, the Bradley-Terry-Luce model.
    """
    strengths = check.finite_array("theta", theta)
    check.choice("link", link, tuple(LINKS))
    return np.asarray(LINKS[link].cdf(strengths[..., :, None] - strengths[..., None, :]))


def average_win_probabilities(rho: ArrayLike) -> Array:
    """Average winning probability tau_i = (1/n) sum_j rho_ij (CCW25, section 2.1), shape (..., n).

    ``rho`` are winning probabilities, (..., n, n), with 1/2 on the diagonal.
    """
    return np.asarray(probabilities("rho", rho).mean(axis=-1))


def two_level_probabilities(n_items: int, k: int | ArrayLike, gap: float) -> Array:
    """Items of an upper group beat each other item with probability 1/2 + gap; else coin tosses.

    The group is 0..k-1, or the items listed in k; neither none nor all of them. The average winning
    probabilities of the two groups then differ by exactly ``gap``, in [0, 1/2]. The hard family of
    Shah and Wainwright (2017), section 5.3.2, used by CCW25, proof A.7; shape (n_items, n_items).
    """
    n = check.integer("n_items", n_items, 2)
    gap = check.nonnegative("gap", gap)
    if gap > 0.5:
        raise ValueError(f"gap = {gap!r}: allowed is a number in [0, 1/2]")
    group = k if np.ndim(k) else np.arange(check.integer("k", k, 1, n - 1))
    members = check.whole_array("k", group)
    upper = np.isin(np.arange(n), members).astype(float)
    if not 0 < upper.sum() == members.size < n:
        raise ValueError(f"k = {k!r}: allowed are 1 to {n - 1} different items 0..{n - 1}")
    return 0.5 + gap * (upper[:, None] - upper)


def edge_wins(rho: ArrayLike, *, p: float = 1.0, size: int = 1, rng: np.random.Generator) -> Ints:
    """Sample win matrices of the edge design (CCW25, section 2.1): each pair at most once.

    A pair, of winning probabilities ``rho``, (n, n), is compared with probability p in (0, 1].
    Entry ``[r, i, j]``, of shape (size, n, n), is 1 if ``i`` beat ``j`` in replicate ``r``.
    Idealised sampler (floating point).
    """
    matrix = probabilities("rho", check.square_table("rho", rho))
    p, size = check.probability("p", p, zero=False), check.integer("size", size, 1)
    n = matrix.shape[-1]
    check.generator(rng)
    i, j = np.triu_indices(n, 1)
    first = rng.random((size, i.size)) < matrix[i, j]
    seen = rng.random((size, i.size)) < p if p < 1 else np.ones_like(first)
    wins = np.zeros((size, n, n), dtype=np.int64)
    wins[:, i, j] = first & seen
    wins[:, j, i] = ~first & seen
    return wins


def individual_wins(
    rho: ArrayLike, *, users: int, per_user: int, size: int = 1, rng: np.random.Generator
) -> Ints:
    """Sample win matrices of the individual design (CCW25, section 3.1), summed over users.

    Each of ``users`` people m makes ``per_user`` comparisons L, of pairs drawn uniformly with
    replacement and decided by the winning probabilities ``rho``, (n, n). Entry ``[r, i, j]``, of
    shape (size, n, n), counts how often ``i`` beat ``j``. All comparisons are independent, so the
    totals are multinomial over the ordered pairs. Idealised sampler (floating point).
    """
    matrix = probabilities("rho", check.square_table("rho", rho))
    total = check.integer("users", users, 1) * check.integer("per_user", per_user, 1)
    check.integer("users times per_user", total, 1, check.MOST_COUNT)
    size, n = check.integer("size", size, 1), matrix.shape[-1]
    check.generator(rng)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    wins = np.zeros((size, n, n), dtype=np.int64)
    wins[:, i, j] = rng.multinomial(total, matrix[i, j] / (n * (n - 1) / 2), size=size)
    return wins


def probabilities(name: str, rho: ArrayLike) -> Array:
    """Check a matrix of winning probabilities, or a stack of them."""
    matrix = check.square_tables(name, rho)
    if matrix.min() < 0 or matrix.max() > 1:
        raise ValueError(f"{name} leaves [0, 1]: allowed are probabilities")
    # Complementary entries that were computed in floating point may miss 1 by a few roundings.
    if not np.allclose(matrix + np.swapaxes(matrix, -1, -2), 1.0, rtol=0, atol=1e-12):
        raise ValueError(f"{name} + {name}.T differs from 1: allowed is [i, j] + [j, i] = 1")
    return matrix
