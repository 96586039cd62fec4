"""From sign vectors to rankings and back: the reduction behind the central lower bounds.

A sign vector of length d moves d pairs of outer items across t middle items. A good ranking
of all 2d + t items therefore tells, for most coordinates, which sign most people have. Rankings
are arrays of positions, 0 best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

__all__ = [
    "image_distance",
    "nearest_ranking",
    "nearest_ranking_distance",
    "ranking_to_signs",
    "signs_to_ranking",
]

Ints = NDArray[np.int64]
CONVENTIONS = ("words", "formula")


def signs_to_ranking(signs: ArrayLike, middle: int, *, convention: str = "words") -> Ints:
    """Ranking that carries a sign vector in the order of its outer pairs.

    Parameters
    ----------
    signs : array of -1 and 1, shape (..., d)
        Sign vectors.
    middle : int
        Number t of middle items, which never move; at least 0.
    convention : {"words", "formula"}
        Which sign switches the pair: +1 as the paper says in words, which agrees with its inverse
        map, or -1 as its displayed formula says.

    Returns
    -------
    array of int, shape (..., 2d + t)
        Positions of the items 0..2d+t-1; a switched pair is (j, j + d + t).

    Notes
    -----
    AGKM, section "Lower Bounds".
    """
    values = _signs("signs", signs)
    t = check.integer("middle", middle, 0)
    check.choice("convention", convention, CONVENTIONS)
    d = values.shape[-1]
    switched = values == (1 if convention == "words" else -1)
    left = np.arange(d)
    positions = np.empty((*values.shape[:-1], 2 * d + t), dtype=np.int64)
    positions[..., :d] = np.where(switched, left + d + t, left)
    positions[..., d : d + t] = np.arange(d, d + t)
    positions[..., d + t :] = np.where(switched, left, left + d + t)
    return positions


def ranking_to_signs(positions: ArrayLike, middle: int) -> Ints:
    """Signs read from a ranking: +1 where item j + d + t stands before item j.

    Parameters
    ----------
    positions : array of int, shape (..., 2d + t)
        Position of each item.
    middle : int
        Number t of middle items.

    Returns
    -------
    array of int, shape (..., d)

    Notes
    -----
    The map rho of AGKM. It inverts `signs_to_ranking` in the convention "words".
    """
    ranks = check.real_array("positions", positions)
    t = check.integer("middle", middle, 0)
    items = ranks.shape[-1] if ranks.ndim else 0
    if items <= t or (items - t) % 2:
        raise ValueError(f"middle = {middle!r}: allowed is {items} items less an even number")
    d = (items - t) // 2
    return np.where(ranks[..., :d] < ranks[..., d + t :], -1, 1).astype(np.int64)


def image_distance(differing: ArrayLike, n_signs: int, middle: int) -> Ints:
    """Kendall distance between the rankings of two sign vectors.

    Parameters
    ----------
    differing : array of int
        Number h of coordinates in which the vectors differ, from 0 to d.
    n_signs, middle : int
        The numbers d and t.

    Returns
    -------
    array of int
        h (2 (d + t) - h), exactly.

    Notes
    -----
    A switched pair crosses every middle item twice and itself once. Two outer pairs of which at
    least one is switched invert two of their four cross pairs, whichever is switched.
    """
    h, d, t = _sizes(differing, n_signs, middle)
    return h * (2 * (d + t) - h)


def nearest_ranking_distance(differing: ArrayLike, n_signs: int, middle: int) -> Ints:
    """Least Kendall distance from the ranking of x to a ranking from which y is read.

    Parameters
    ----------
    differing : array of int
        Number h of coordinates in which x and y differ.
    n_signs, middle : int
        The numbers d and t.

    Returns
    -------
    array of int
        h (d + t) - h (h - 1) / 2, exactly; `nearest_ranking` attains it.

    Notes
    -----
    AGKM, Observation 15, prints t h. If j has passed its partner, it or its partner has passed
    each item that stood between them.
    """
    h, d, t = _sizes(differing, n_signs, middle)
    return h * (d + t) - h * (h - 1) // 2


def nearest_ranking(read: ArrayLike, signs: ArrayLike, middle: int) -> Ints:
    """A ranking closest to that of ``signs`` among all from which ``read`` is read.

    Parameters
    ----------
    read, signs : array of -1 and 1, shape (d,)
        Sign vectors.
    middle : int
        Number t of middle items.

    Returns
    -------
    array of int, shape (2d + t,)
        Positions. In each differing pair the item on the right moves in front of its partner.
    """
    values, wanted = _signs("signs", signs), _signs("read", read)
    if values.ndim != 1 or values.shape != wanted.shape:
        raise ValueError(f"read of shape {wanted.shape}: allowed is that of signs, one dimension")
    d = values.size
    order = np.argsort(signs_to_ranking(values, middle)).tolist()
    for j in np.flatnonzero(values != wanted):
        left = order.index(j if values[j] < 0 else j + d + middle)
        right = order.index(j + d + middle if values[j] < 0 else j)
        order.insert(left, order.pop(right))
    return np.argsort(order)


def _signs(name: str, value: ArrayLike) -> Ints:
    array = check.real_array(name, value)
    if array.ndim == 0 or array.size == 0 or not np.isin(array, (-1, 1)).all():
        raise ValueError(f"{name} = {value!r}: allowed is a non-empty array of -1 and 1")
    return array.astype(np.int64)


def _sizes(differing: ArrayLike, n_signs: int, middle: int) -> tuple[Ints, int, int]:
    d, t = check.integer("n_signs", n_signs, 1), check.integer("middle", middle, 0)
    h = check.real_array("differing", differing)
    if not np.issubdtype(h.dtype, np.integer) or (h.size and (h.min() < 0 or h.max() > d)):
        raise ValueError(f"differing = {differing!r}: allowed are integers from 0 to {d}")
    return h.astype(np.int64), d, t
