"""Neighbouring data sets by enumeration, for every privacy notion of the book.

A data set of the edge design is a row with one entry per pair (i, j), i < j, in the order of
``numpy.triu_indices``: +1 if i won, -1 if j won, 0 if the pair was not compared. What one person
contributes to the win counts is a *bundle*: the sum of the unit vectors of the winners.
"""

from __future__ import annotations

from itertools import permutations, product
from math import comb, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

__all__ = [
    "DESIGNS",
    "bundle_contributions",
    "count_neighbours_edge",
    "count_neighbours_individual",
    "edge_datasets",
    "edge_neighbours",
    "outcome_counts",
]

Ints = NDArray[np.int64]

EDGE_KINDS = ("flip", "exchange", "both")
MOST_BUNDLES = 100_000
# The largest numbers of items with fewer vectors than that.
LARGEST = {"each_pair_once": 7, "each_pair_or_skip": 6, "ranking": 8}
DESIGNS = ("with_replacement", "each_pair_once", "each_pair_or_skip", "ranking")


def edge_datasets(n_items: int, *, complete: bool = True) -> Ints:
    """All data sets of the edge design.

    Parameters
    ----------
    n_items : int
        From 2 to 7 if complete, to 5 otherwise (the number of data sets is 2 or 3 to the number
        of pairs).
    complete : bool
        Whether every pair is compared (p = 1) or some may be missing (p < 1).

    Returns
    -------
    array of int, shape (data sets, pairs)
        Entries +1 (first item won), -1 (second won), 0 (not compared).
    """
    n = check.integer("n_items", n_items, 2, 7 if complete else 5)
    values = np.array([1, -1] if complete else [1, -1, 0])
    pairs = n * (n - 1) // 2
    digits = np.arange(len(values) ** pairs)[:, None] // len(values) ** np.arange(pairs)
    return np.asarray(values[digits % len(values)], dtype=np.int64)


def outcome_counts(datasets: ArrayLike, n_items: int) -> Ints:
    """Win counts of data sets of the edge design.

    Parameters
    ----------
    datasets : array of int, shape (..., pairs)
        As returned by `edge_datasets`.
    n_items : int
        Number of items.

    Returns
    -------
    array of int, shape (..., n_items)
    """
    outcomes = check.real_array("datasets", datasets)
    i, j = np.triu_indices(check.integer("n_items", n_items, 2), 1)
    if outcomes.shape[-1] != i.size:
        raise ValueError(f"datasets of shape {outcomes.shape}: allowed is (..., {i.size})")
    unit = np.eye(n_items, dtype=np.int64)
    return np.asarray((outcomes == 1) @ unit[i] + (outcomes == -1) @ unit[j])


def edge_neighbours(dataset: ArrayLike, *, kind: str = "both") -> Ints:
    """All edge neighbours of one data set.

    Parameters
    ----------
    dataset : array of int, shape (pairs,)
        Entries +1, -1, 0.
    kind : {"flip", "exchange", "both"}
        One outcome turned round; or one compared pair dropped and another, not compared before,
        added with either outcome.

    Returns
    -------
    array of int, shape (neighbours, pairs)

    Notes
    -----
    CCW25, section 2.1. The number of comparisons is the same on both sides, so this notion does
    not protect it.
    """
    row = check.real_array("dataset", dataset)
    if row.ndim != 1 or not np.isin(row, (-1, 0, 1)).all():
        raise ValueError("dataset: allowed is a row of entries -1, 0, 1")
    row = row.astype(np.int64)
    check.choice("kind", kind, EDGE_KINDS)
    present, absent = np.flatnonzero(row), np.flatnonzero(row == 0)
    found = []
    if kind != "exchange":
        for e in present:
            found.append(_replace(row, {int(e): -int(row[e])}))
    if kind != "flip":
        for e, f, outcome in product(present, absent, (1, -1)):
            found.append(_replace(row, {int(e): 0, int(f): outcome}))
    return np.array(found, dtype=np.int64).reshape(-1, row.size)


def count_neighbours_edge(n_items: int, *, complete: bool = True, kind: str = "both") -> Ints:
    """Every pair of neighbouring win-count vectors in the edge design, one per symmetry class.

    Parameters
    ----------
    n_items : int
        As for `edge_datasets`.
    complete : bool
        Whether every pair is compared; an exchange then does not exist.
    kind : {"flip", "exchange", "both"}
        Kind of neighbour.

    Returns
    -------
    array of int, shape (classes, 2, n_items)
        Win counts of the two sides. Pairs that differ by a renaming of the items are listed once,
        which is enough for mechanisms that treat all items alike, and for no others.
    """
    data = edge_datasets(n_items, complete=complete)
    check.choice("kind", kind, EDGE_KINDS)
    counts = outcome_counts(data, n_items)
    i, j = np.triu_indices(n_items, 1)
    unit = np.eye(n_items, dtype=np.int64)
    before, after = [], []
    for e in range(i.size):
        present = data[:, e] != 0
        # The winner of pair e loses a win; who gains one depends on the kind of neighbour.
        winner = np.where(data[present, e] == 1, i[e], j[e])
        reduced = counts[present] - unit[winner]
        if kind != "exchange":
            before.append(counts[present])
            after.append(reduced + unit[i[e] + j[e] - winner])
        if kind != "flip":
            for f in range(i.size):
                free = data[present, f] == 0
                for gainer in (i[f], j[f]):
                    before.append(counts[present][free])
                    after.append(reduced[free] + unit[gainer])
    return _classes(np.concatenate(before), np.concatenate(after))


def bundle_contributions(
    n_items: int, *, design: str = "with_replacement", per_user: int | None = None
) -> Ints:
    """All win-count vectors that one person can contribute.

    Parameters
    ----------
    n_items : int
        Number of items n, so few that there are at most 100000 vectors.
    design : {"with_replacement", "each_pair_once", "each_pair_or_skip", "ranking"}
        ``per_user`` comparisons of any pairs; every pair answered once; every pair answered once
        or not at all (ties and missing answers dropped); one ranking of all items.
    per_user : int, optional
        Comparisons L of one person, for ``"with_replacement"`` only.

    Returns
    -------
    array of int, shape (vectors, n_items)
        Distinct vectors in lexicographic order.
    """
    n = check.integer("n_items", n_items, 2)
    check.choice("design", design, DESIGNS)
    unit = np.eye(n, dtype=np.int64)
    if (design == "with_replacement") != (per_user is not None):
        raise ValueError(
            f"per_user = {per_user!r} with design {design!r}: allowed is a number of comparisons "
            "for 'with_replacement', None for the other designs"
        )
    if design == "with_replacement":
        wins = check.integer("per_user", per_user, 1)
        if comb(min(wins, MOST_BUNDLES) + n - 1, n - 1) > MOST_BUNDLES:
            raise ValueError(
                f"per_user = {per_user!r} with n_items = {n}: allowed are at most {MOST_BUNDLES} "
                "vectors, the number of ways to share out so many wins"
            )
    elif n > LARGEST[design]:
        raise ValueError(
            f"n_items = {n_items!r} with design = {design!r}: allowed are 2 to {LARGEST[design]}, "
            "since the vectors are listed"
        )
    if design == "ranking":
        return np.array(sorted(permutations(range(n))), dtype=np.int64)
    if design == "with_replacement":
        steps = [unit] * check.integer("per_user", per_user, 1)
    else:
        nothing = [np.zeros(n, dtype=np.int64)] if design == "each_pair_or_skip" else []
        i, j = np.triu_indices(n, 1)
        steps = [np.array([unit[a], unit[b], *nothing]) for a, b in zip(i, j, strict=True)]
    return _sumset(steps, n)


def count_neighbours_individual(bundles: ArrayLike, users: int) -> Ints:
    """Every pair of neighbouring win-count vectors when one person's bundle is replaced.

    Parameters
    ----------
    bundles : array of int, shape (vectors, n_items)
        What one person can contribute, see `bundle_contributions`.
    users : int
        Number of people m >= 1.

    Returns
    -------
    array of int, shape (classes, 2, n_items)
        Win counts of the two sides, pairs that differ by a renaming of the items listed once.

    Notes
    -----
    CCW25, section 3.1, with the replacement ranging over everything the person could have said.
    """
    given = check.finite_array("bundles", bundles, min_ndim=2)
    if given.ndim != 2 or given.min() < 0 or not np.array_equal(given, np.rint(given)):
        raise ValueError("bundles: allowed are counts >= 0 of shape (vectors, n_items)")
    contributions = np.unique(given.astype(np.int64), axis=0)
    users = check.integer("users", users, 1)
    sums = _most_sums(contributions, users - 1)
    allowed = "so few people, with so few bundles, that all sums can be listed"
    check.fits("users", users, (users - 1) * sums * contributions.size, allowed)
    others = _sumset([contributions] * (users - 1), contributions.shape[1])
    if _closed_under_renaming(contributions):
        # Then renaming the items so that the others' counts descend loses nothing.
        others = np.unique(-np.sort(-others, axis=1), axis=0)
    a, b = np.triu_indices(len(contributions), 1)
    check.fits("users", users, 4 * len(others) * a.size * contributions.shape[1], allowed)
    before = (others[:, None, :] + contributions[None, a, :]).reshape(-1, contributions.shape[1])
    after = (others[:, None, :] + contributions[None, b, :]).reshape(-1, contributions.shape[1])
    return _classes(before, after)


def _replace(row: Ints, changes: dict[int, int]) -> Ints:
    copy = row.copy()
    for index, value in changes.items():
        copy[index] = value
    return copy


def _sumset(steps: list[Ints], n: int) -> Ints:
    """All sums with one vector from each step."""
    total = np.zeros((1, n), dtype=np.int64)
    for step in steps:
        total = np.unique((total[:, None, :] + step[None, :, :]).reshape(-1, n), axis=0)
    return total


def _most_sums(vectors: Ints, terms: int) -> int:
    """At least the number of different sums of so many of the vectors, as multisets or in a box."""
    sides = [terms * int(side) + 1 for side in np.ptp(vectors, axis=0)]
    if np.ptp(vectors.sum(axis=1)) == 0:  # the other coordinates then fix the widest one
        sides.remove(max(sides))
    if terms > MOST_BUNDLES:
        return prod(sides)
    return min(comb(terms + len(vectors) - 1, terms), prod(sides))


def _closed_under_renaming(vectors: Ints) -> bool:
    """Whether exchanging any two neighbouring items maps the distinct rows onto themselves."""
    for i in range(vectors.shape[1] - 1):
        order = np.arange(vectors.shape[1])
        order[[i, i + 1]] = i + 1, i
        if not np.array_equal(np.unique(vectors[:, order], axis=0), vectors):
            return False
    return True


def _classes(before: Ints, after: Ints) -> Ints:
    """Distinct pairs of count vectors, up to a common renaming of the items and a swap of sides."""
    different = (before != after).any(axis=1)
    before, after = before[different], after[different]
    span = int(max(before.max(initial=0), after.max(initial=0))) + 1
    codes = [
        np.sort(x.astype(np.int64) * span + y, axis=1)[:, ::-1]
        for x, y in ((before, after), (after, before))
    ]
    first_smaller = _lexicographic_less(codes[0], codes[1])
    code = np.unique(np.where(first_smaller[:, None], codes[0], codes[1]), axis=0)
    return np.stack([code // span, code % span], axis=1)


def _lexicographic_less(x: Ints, y: Ints) -> NDArray[np.bool_]:
    differ = x != y
    first = differ.argmax(axis=1)
    rows = np.arange(len(x))
    return np.asarray(x[rows, first] < y[rows, first])
