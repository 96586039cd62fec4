"""Distances between rankings, and the average distance to a profile of rankings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

Ints = NDArray[np.int64]


def kendall_distance(a: ArrayLike, b: ArrayLike) -> Ints:
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
    first, second = _two_rankings(a, b)
    total = np.zeros(np.broadcast_shapes(first.shape[:-1], second.shape[:-1]), dtype=np.int64)
    for i in range(first.shape[-1] - 1):
        before = first[..., i : i + 1] < first[..., i + 1 :]
        total += (before != (second[..., i : i + 1] < second[..., i + 1 :])).sum(axis=-1)
    return np.asarray(total)


def footrule_distance(a: ArrayLike, b: ArrayLike) -> Ints:
    """Sum over items of the distance between their two places.

    Parameters
    ----------
    a, b : array of int, shape (..., n)
        Positions; leading axes broadcast.

    Returns
    -------
    array of int, shape (...)

    Notes
    -----
    Diaconis and Graham (1977): between one and two times the Kendall distance.
    """
    first, second = _two_rankings(a, b)
    return np.asarray(np.abs(first - second).sum(axis=-1))


def kemeny_score(ranking: ArrayLike, fractions: ArrayLike) -> NDArray[np.float64]:
    """Average Kendall distance of a ranking to a profile of rankings.

    Parameters
    ----------
    ranking : array of int, shape (..., n)
        Positions.
    fractions : array, shape (..., n, n)
        Entry [i, j] is the fraction of users who place i before j (`pairwise_counts` divided by
        the number of users; undivided counts give the total distance). Leading axes broadcast.

    Returns
    -------
    array, shape (...)

    Notes
    -----
    AGKM, Background. The sum over pairs placed i before j of the fraction who disagree; the
    diagonal is not looked at, and noisy fractions are allowed.
    """
    places = check.rankings("ranking", ranking)
    shares = check.finite_array("fractions", fractions, min_ndim=2)
    if shares.shape[-2:] != (places.shape[-1],) * 2:
        raise ValueError(
            f"fractions of shape {shares.shape}: allowed is (..., n, n) with n = "
            f"{places.shape[-1]}, the items of the ranking"
        )
    total = np.zeros(np.broadcast_shapes(places.shape[:-1], shares.shape[:-2]))
    for i in range(places.shape[-1]):
        behind = places[..., i : i + 1] < places
        total += (behind * shares[..., :, i]).sum(axis=-1)
    return np.asarray(total)


def _two_rankings(a: ArrayLike, b: ArrayLike) -> tuple[Ints, Ints]:
    first, second = check.rankings("a", a), check.rankings("b", b)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(
            f"b ranks {second.shape[-1]} items: allowed are the {first.shape[-1]} of a"
        )
    return first, second
