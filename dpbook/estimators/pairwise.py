"""Pairwise counts, and the distances between rankings, which count pairs in disagreement."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.data import Rankings

_WORDS = 255  # most words whose bytes, each 0 or 1, can be added without a carry
_CHECKED = 1024  # users checked together: their bits stay in the cache
_BLOCK = 16 * 8 * _WORDS  # users counted together


def pairwise_counts(
    positions: Rankings | ArrayLike, *, weights: ArrayLike | None = None
) -> NDArray[Any]:
    """Number (or weight) of users who place item i before item j, shape (n, n).

    Every row of the ``positions``, (users, n), is a permutation of 0..n-1, entry i the place of
    item i. A row may have a weight, (users,), say how many people gave it. Entry [i, j] + entry
    [j, i] is the number of users; AGKM, Background: m w_ij, m users.

    Examples
    --------
    >>> pairwise_counts([[0, 1, 2], [0, 2, 1]])  # two people; both put item 0 first
    array([[0, 2, 2],
           [0, 0, 1],
           [0, 1, 0]])
    """
    columns = _ranks(positions)[1]
    n, users = columns.shape
    if weights is not None:
        masses = _weights(weights, users)
        # Both orientations are summed: a difference from the total could end below zero.
        return np.array([(ranks < columns) @ masses for ranks in columns])
    first, second = np.triu_indices(n, 1)
    total = np.zeros(first.size, dtype=np.int64)
    for begin in range(0, users, _BLOCK):
        total += _count_block(columns[:, begin : begin + _BLOCK])
    ahead = np.zeros((n, n), dtype=np.int64)
    ahead[first, second] = total
    ahead[second, first] = users - total
    return ahead


def kendall_distance(a: ArrayLike, b: ArrayLike) -> Ints:
    """Number of pairs of items that two rankings order differently.

    Both are positions, (..., n), integers; leading axes broadcast. AGKM, Background; YLL, section
    2.1, print one of the two orientations only.
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


def kemeny_score(ranking: ArrayLike, fractions: ArrayLike) -> Array:
    """Average Kendall distance of a ranking, positions (..., n), to a profile of rankings.

    Entry [i, j] of ``fractions``, (..., n, n), is the fraction of users who place i before j, noisy
    or not; counts give the total distance. Leading axes broadcast. AGKM, Background: the sum over
    pairs placed i before j of the fraction who disagree.
    """
    ranks = check.rankings("ranking", ranking)
    shares = check.finite_array("fractions", fractions, min_ndim=2)
    n = ranks.shape[-1]
    check.shaped("fractions", shares, shares.shape[-2:] == (n, n), f"(..., {n}, {n})")
    total = np.zeros(np.broadcast_shapes(ranks.shape[:-1], shares.shape[:-2]))
    for i in range(n):
        behind = ranks[..., i : i + 1] < ranks
        total += (behind * shares[..., :, i]).sum(axis=-1)
    return np.asarray(total)


def ranking_positions(positions: Rankings | ArrayLike) -> NDArray[np.integer[Any]]:
    """Places of the items, shape (users, n)."""
    return positions.positions if isinstance(positions, Rankings) else _ranks(positions, False)[0]


def _count_block(columns: NDArray[Any]) -> Ints:
    """Counts of some users for the pairs i < j, in lexicographic order.

    The comparisons of eight users are one 64-bit word, a byte for each user, so that up to 255
    words can be added at once.
    """
    n, users = columns.shape
    groups = -(-users // (8 * _WORDS))
    width = 8 * -(-users // (8 * groups))
    padded = np.zeros((n, groups * width), dtype=columns.dtype)  # equal places count for nobody
    padded[:, :users] = columns
    buffer = np.empty((n - 1, groups * width), dtype=bool)
    words = buffer.view(np.uint64).reshape(n - 1, groups, width // 8)
    sums = np.empty((n * (n - 1) // 2, groups), dtype=np.uint64)
    end = 0
    for i in range(n - 1):
        begin, end = end, end + n - 1 - i
        np.less(padded[i], padded[i + 1 :], out=buffer[i:])
        np.add.reduce(words[i:], axis=2, out=sums[begin:end])
    return sums.view(np.uint8).sum(axis=1, dtype=np.int64)


def _ranks(
    positions: Rankings | ArrayLike, by_item: bool = True
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Places by user, and if wanted by item, shape (n, users), in the smallest type."""
    if isinstance(positions, Rankings):
        table, known = positions.positions, True
    else:
        table, known = check.real_array("positions", positions), False
    if table.ndim != 2 or table.dtype.kind not in "iu" or not len(table) or table.shape[1] < 2:
        check.rankings("positions", table, 2)  # says what is wrong
    n = table.shape[1]
    small = np.uint8 if n <= 256 else np.uint16 if n <= 65536 else np.uint32
    columns = table.T
    if by_item or n <= 64:  # up to there the check below wants them
        columns = np.ascontiguousarray(table.astype(small).T)
    if not known and not _are_permutations(table, columns):
        check.rankings("positions", table, 2)  # names the first row that is none
    return table, columns


def _are_permutations(table: NDArray[Any], columns: NDArray[Any]) -> bool:
    """Places in 0..n-1 and no two alike; one bit of a word for each place, up to 64 of them."""
    n = len(columns)
    # A negative number, read without its sign, is a large one.
    if not table.view(table.dtype.str.replace("i", "u")).max() < n:
        return False
    if n > 64:  # a cell for each user and place
        first = n * np.arange(min(len(table), _CHECKED))[:, None]
        for begin in range(0, len(table), _CHECKED):
            part = table[begin : begin + _CHECKED]
            seen = np.zeros(part.size, dtype=bool)
            seen[first[: len(part)] + part] = True
            if not seen.all():
                return False
        return True
    word = np.uint32 if n <= 32 else np.uint64
    good, space = True, np.empty((n, min(len(table), _CHECKED)), dtype=word)
    for begin in range(0, len(table), _CHECKED):
        part = columns[:, begin : begin + _CHECKED]
        bits = space[:, : part.shape[1]]
        bits[:] = part
        np.left_shift(word(1), bits, out=bits)
        good &= bool((np.bitwise_or.reduce(bits, axis=0) == word(2**n - 1)).all())
    return good


def _weights(weights: ArrayLike, users: int) -> NDArray[Any]:
    masses = check.real_array("weights", weights)
    check.shaped("weights", masses, masses.shape == (users,), f"({users},)")
    if check.finite_array("weights", masses).min() < 0:
        raise ValueError(f"weights holds {masses.min()}: allowed are weights >= 0")
    return masses.astype(float if masses.dtype.kind == "f" else np.int64)
