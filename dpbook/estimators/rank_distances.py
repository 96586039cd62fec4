"""The distance between rankings, and the average distance to a profile of rankings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check


def kendall_distance(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """Number of pairs of items that two rankings order differently.

    Parameters
    ----------
    a, b : array of int, shape (..., n)
        Positions; leading axes broadcast.

    Returns
    -------
    array of int, shape (...)

    Notes
    -----
    AGKM, Background. YLL, section 2.1, print one of the two orientations only.
    """
    first, second = check.rankings("a", a), check.rankings("b", b)
    n = first.shape[-1]
    if second.shape[-1] != n:
        raise ValueError(f"b ranks {second.shape[-1]} items: allowed are the {n} of a")
    total = np.zeros(np.broadcast_shapes(first.shape[:-1], second.shape[:-1]), dtype=np.int64)
    for i in range(n - 1):
        before = first[..., i : i + 1] < first[..., i + 1 :]
        total += (before != (second[..., i : i + 1] < second[..., i + 1 :])).sum(axis=-1)
    return np.asarray(total)


def kemeny_score(ranking: ArrayLike, fractions: ArrayLike) -> NDArray[np.float64]:
    """Average Kendall distance of a ranking to a profile of rankings.

    Parameters
    ----------
    ranking : array of int, shape (..., n)
        Positions.
    fractions : array, shape (..., n, n)
        Entry [i, j] is the fraction of users who place i before j (`pairwise_counts` divided by
        the number of users; undivided counts give the total distance), noisy ones too. The
        diagonal is not looked at; leading axes broadcast.

    Returns
    -------
    array, shape (...)

    Notes
    -----
    AGKM, Background: the sum over pairs placed i before j of the fraction who disagree.
    """
    places = check.rankings("ranking", ranking)
    shares = check.finite_array("fractions", fractions, min_ndim=2)
    n = places.shape[-1]
    check.shaped("fractions", shares, shares.shape[-2:] == (n, n), f"(..., {n}, {n})")
    total = np.zeros(np.broadcast_shapes(places.shape[:-1], shares.shape[:-2]))
    for i in range(n):
        behind = places[..., i : i + 1] < places
        total += (behind * shares[..., :, i]).sum(axis=-1)
    return np.asarray(total)
