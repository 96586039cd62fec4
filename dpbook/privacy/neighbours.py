"""Neighbouring data sets by enumeration, and how far a statistic moves between them.

A data set of the edge design is a row with one entry per pair (i, j), i < j, in the order of
``numpy.triu_indices``: +1 if i won, -1 if j won, 0 if the pair was not compared. What one person
adds to the win counts is a *bundle*: the sum of the unit vectors of the winners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Ints

NORMS = {"l1": 1, "l2": 2, "linf": np.inf}
MOST_BUNDLES = 100_000


@dataclass(frozen=True)
class Sensitivity:
    """The largest change found, with the pair of neighbouring data sets that attains it."""

    value: float
    pair: tuple[Any, Any]


def sensitivity(
    pairs: Iterable[tuple[Any, Any]],
    *,
    norm: str = "l1",
    statistic: Callable[[Any], ArrayLike] = np.asarray,
) -> Sensitivity:
    """Largest change of a statistic over all listed pairs of neighbours.

    The norm is ``"l1"``, ``"l2"`` or ``"linf"``; Laplace noise needs l1. The pairs may be an array
    of shape (pairs, 2, ...); by default the data sets are vectors themselves.
    """
    check.choice("norm", norm, tuple(NORMS))
    best: Sensitivity | None = None
    for x, y in pairs:
        change = np.subtract(statistic(x), statistic(y), dtype=float)
        value = float(np.linalg.norm(change.ravel(), ord=NORMS[norm]))
        if not np.isfinite(value):
            raise ValueError("statistic returns NaN or infinity: allowed are finite vectors")
        if best is None or value > best.value:
            best = Sensitivity(value, (x, y))
    if best is None:
        raise ValueError("pairs is empty: allowed is at least one pair of neighbours")
    return best


def edge_datasets(n_items: int, *, complete: bool = True) -> Ints:
    """All data sets of the edge design, shape (data sets, pairs).

    With entries 1 and -1 if every pair is compared, up to 7 items, else also 0, up to 5.
    """
    pairs = comb(check.integer("n_items", n_items, 2, 7 if complete else 5), 2)
    values = np.array([1, -1] if complete else [1, -1, 0])
    digits = np.arange(len(values) ** pairs)[:, None] // len(values) ** np.arange(pairs)
    return np.asarray(values[digits % len(values)], dtype=np.int64)


def outcome_counts(datasets: ArrayLike, n_items: int) -> Ints:
    """Win counts, (..., n), of data sets of the edge design, (..., pairs)."""
    outcomes = check.real_array("datasets", datasets)
    i, j = np.triu_indices(check.integer("n_items", n_items, 2), 1)
    check.shaped("datasets", outcomes, outcomes.shape[-1:] == (i.size,), f"(..., {i.size})")
    unit = np.eye(n_items, dtype=np.int64)
    return np.asarray((outcomes == 1) @ unit[i] + (outcomes == -1) @ unit[j])


def edge_neighbours(dataset: ArrayLike, *, kind: str = "both") -> Ints:
    """All edge neighbours of one data set, shape (neighbours, pairs).

    The kind is ``"flip"``, one outcome turned round; ``"exchange"``, one compared pair dropped and
    another, not compared before, added with either outcome; or ``"both"``. CCW25, section 2.1.
    """
    row = check.real_array("dataset", dataset)
    if row.ndim != 1 or not {-1, 0, 1}.issuperset(row.tolist()):  # short rows, often
        raise ValueError("dataset: allowed is a row of entries -1, 0, 1")
    check.choice("kind", kind, ("flip", "exchange", "both"))
    row, unit = row.astype(np.int64), np.eye(row.size, dtype=np.int64)
    present, absent = np.flatnonzero(row), np.flatnonzero(row == 0)
    flips = row * (1 - 2 * unit[present])
    if kind == "flip":
        return flips
    changes = np.array(list(product(present, absent, (1, -1))), dtype=np.int64).reshape(-1, 3)
    dropped, added, won = changes.T
    exchanges = row * (1 - unit[dropped]) + won[:, None] * unit[added]
    return exchanges if kind == "exchange" else np.concatenate([flips, exchanges])


# ------------------------------------------------------------------ for the units


def count_classes(before: Ints, after: Ints) -> Ints:
    """Distinct pairs of count vectors, up to a common renaming of the items and a swap of sides."""
    different = (before != after).any(axis=1)
    before, after = before[different], after[different]
    span = int(max(before.max(initial=0), after.max(initial=0))) + 1
    ways = (before, after), (after, before)
    one, other = (np.sort(x * span + y, axis=1)[:, ::-1] for x, y in ways)
    first = (one != other).argmax(axis=1)[:, None]
    smaller = np.take_along_axis(one, first, 1) < np.take_along_axis(other, first, 1)
    code = np.unique(np.where(smaller, one, other), axis=0)
    return np.stack([code // span, code % span], axis=1)


def sumset(steps: list[Ints], n: int) -> Ints:
    """All sums with one vector from each step."""
    total = np.zeros((1, n), dtype=np.int64)
    for step in steps:
        total = np.unique((total[:, None] + step).reshape(-1, n), axis=0)
    return total


def most_sums(vectors: Ints, terms: int) -> int:
    """At least the number of different sums of so many of the vectors, as multisets or in a box."""
    sides = [terms * int(side) + 1 for side in np.ptp(vectors, axis=0)]
    if np.ptp(vectors.sum(axis=1)) == 0:  # the other coordinates then fix the widest one
        sides.remove(max(sides))
    if terms > MOST_BUNDLES:
        return prod(sides)
    return min(comb(terms + len(vectors) - 1, terms), prod(sides))
