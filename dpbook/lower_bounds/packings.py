"""Packings: many top-k sets that are pairwise far apart.

A code is a boolean array of shape (words, length), each row a set of ``weight`` items; distances
are Hamming distances (symmetric differences).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import ceil, comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

Words = NDArray[np.bool_]

_MOST_WORDS, _DRAWS = 300_000, 2000


def constant_weight_code(
    length: int,
    weight: int,
    distance: int,
    *,
    method: str = "lexicographic",
    rng: np.random.Generator | None = None,
) -> Words:
    """Build sets of equal size that differ pairwise in at least ``distance`` places.

    Words are looked at one after the other, and kept if they are far from all that were kept.

    Parameters
    ----------
    length, weight, distance : int
        Size of the ground set, of each set, and the least Hamming distance wanted.
    method : {"lexicographic", "greedy", "random"}
        All words in lexicographic order, all words in random order, or 2000 random words.
    rng : numpy.random.Generator, optional
        Needed by ``"greedy"`` and ``"random"``.

    Returns
    -------
    array of bool, shape (words, length)

    Notes
    -----
    The first two methods, for at most 300 000 words in all, leave no word that could be added, so
    they meet the guarantee of `gilbert_varshamov`.
    """
    length, weight = _sizes(length, weight)
    distance = check.integer("distance", distance, 1)
    check.choice("method", method, ("lexicographic", "greedy", "random"))
    if method == "random":
        check.fits("length", length, _DRAWS * length, "a shorter length")
        words = np.argsort(check.generator(rng).random((_DRAWS, length)), axis=1)[:, :weight]
    else:
        if comb(length, weight) > _MOST_WORDS:
            raise ValueError(
                f"length = {length}, weight = {weight}: allowed are at most {_MOST_WORDS} words; "
                "use method='random'"
            )
        words = np.array(list(combinations(range(length), weight)))
        if method == "greedy":
            words = check.generator(rng).permutation(words)
    rows = np.zeros((len(words), length), dtype=bool)
    np.put_along_axis(rows, words, True, axis=1)
    return _keep(rows, weight - distance / 2)


def minimum_distance(code: ArrayLike) -> int:
    """Smallest Hamming distance between two rows of a code.

    Parameters
    ----------
    code : array of bool, shape (words, length)
        At least two words.

    Returns
    -------
    int
    """
    rows = check.real_array("code", code)
    if not np.isin(rows, (0, 1)).all():
        raise ValueError("code holds an entry other than 0 and 1: allowed are truth values")
    rows = rows.astype(np.int64)
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(f"code of shape {rows.shape}: allowed is (words, length), 2 words or more")
    sizes = rows.sum(axis=1)
    far = sizes[:, None] + sizes - 2 * rows @ rows.T
    return int(far[np.triu_indices(len(rows), 1)].min())


def gilbert_varshamov(length: int, weight: int, distance: int) -> int:
    """Size that a constant-weight code of this distance can always be given.

    Parameters
    ----------
    length, weight, distance : int
        As for `constant_weight_code`.

    Returns
    -------
    int
        All words, divided by the words that one kept word rules out, rounded up.

    Notes
    -----
    Two words of equal weight differ in an even number 2h of places, and ``comb(weight, h) *
    comb(length - weight, h)`` words lie at that distance from a given one.
    """
    length, weight = _sizes(length, weight)
    distance = check.integer("distance", distance, 1)
    ball = sum(
        comb(weight, h) * comb(length - weight, h) for h in range(weight + 1) if 2 * h < distance
    )
    return ceil(Fraction(comb(length, weight), ball))


def johnson_bound(length: int, weight: int, distance: int) -> int:
    """Size that no constant-weight code of this distance exceeds.

    Parameters
    ----------
    length, weight, distance : int
        As for `constant_weight_code`.

    Returns
    -------
    int

    Notes
    -----
    Johnson's recursion A(n, w) <= n/w A(n-1, w-1): count the words through each item. It ends
    where two words of the weight cannot be that far apart.
    """
    length, weight = _sizes(length, weight)
    distance = check.integer("distance", distance, 1)
    if 2 * weight < distance:
        return 1
    shortest = (distance + 1) // 2  # the smallest weight at which two words fit
    bound = 1
    for w in range(shortest, weight + 1):
        bound = (length - weight + w) * bound // w
    return bound


def _sizes(length: int, weight: int) -> tuple[int, int]:
    length = check.integer("length", length, 1)
    return length, check.integer("weight", weight, 1, length)


def _keep(rows: Words, most_shared: float) -> Words:
    """Keep each row that shares at most so many items with every row kept before."""
    kept = np.zeros((min(len(rows), 64), rows.shape[1]), dtype=np.int16)
    size = 0
    for row in rows:
        if size and (kept[:size] @ row.astype(np.int16)).max() > most_shared:
            continue
        if size == len(kept):
            kept = np.concatenate([kept, np.zeros_like(kept)])
        kept[size] = row
        size += 1
    return kept[:size].astype(bool)
