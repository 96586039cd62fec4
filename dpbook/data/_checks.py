"""Checks of the arrays and names inside the data types.

Every failure is a `ValueError` that names the argument, the value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Item = str | int
IntArray = npt.NDArray[np.int64]

# Numbers stand for names one by one, about a hundred bytes each.
MOST_ITEMS = 10**7


def item_names(items: int | Sequence[Item]) -> tuple[Item, ...]:
    """Turn a number of items, or their names, into a tuple of at least two different names."""
    if isinstance(items, int | np.integer) and not isinstance(items, bool):
        if not 2 <= items <= MOST_ITEMS:
            raise ValueError(f"items = {items}: allowed is at least 2 items, at most {MOST_ITEMS}")
        return tuple(range(int(items)))
    if isinstance(items, str | bool) or not isinstance(items, Sequence | range | np.ndarray):
        raise ValueError(f"items = {items!r}: allowed is a number of items or a sequence of names")
    names = tuple(n.item() if isinstance(n, np.generic) else n for n in items)
    for name in names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(f"items contains {name!r}: allowed is strings or integers")
    if len(names) < 2:
        raise ValueError(f"items = {names}: allowed is at least 2 items")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"items contains {twice!r} more than once: allowed is different items")
    return names


def integers(name: str, values: npt.ArrayLike, ndim: int = 1) -> IntArray:
    """Return a read-only int64 copy of a non-empty integer array with `ndim` axes."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} = {values!r}: allowed is an array of integers, all its rows of one length"
        ) from None
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}: allowed is {ndim} dimension(s)")
    if array.size == 0:
        raise ValueError(f"{name} is empty: allowed is at least 1 entry")
    if array.dtype.kind == "f":
        bad = array[array != np.floor(array)]  # NaN differs from itself, so it is found too
        if bad.size:
            raise ValueError(f"{name} contains {bad[0]}: allowed is integers")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has type {array.dtype}: allowed is integers")
    copy = array.astype(np.int64)
    copy.flags.writeable = False
    return copy


def within(name: str, array: IntArray, stop: int | None) -> None:
    """Check that all entries are in 0..stop-1, or non-negative when `stop` is None."""
    bad = np.argwhere((array < 0) | (array >= stop) if stop is not None else array < 0)
    if bad.size:
        where = tuple(int(k) for k in bad[0])
        allowed = "0 or more" if stop is None else f"0..{stop - 1}"
        label = ", ".join(map(str, where))
        raise ValueError(f"{name}[{label}] = {array[where]}: allowed is {allowed}")


def positions(name: str, values: npt.ArrayLike, n_items: int) -> IntArray:
    array = integers(name, values)
    within(name, array, n_items)
    return array


def same_length(name: str, array: IntArray, winner: IntArray) -> None:
    if array.size != winner.size:
        raise ValueError(f"{name} has {array.size} entries: allowed is {winner.size}, as in winner")


def counts(name: str, values: npt.ArrayLike) -> IntArray:
    """Return a read-only square table of counts with zero diagonal."""
    table = integers(name, values, ndim=2)
    if table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"{name} has shape {table.shape}: allowed is (n, n) with n >= 2")
    within(name, table, None)
    diagonal = np.flatnonzero(np.diagonal(table))
    if diagonal.size:
        k = int(diagonal[0])
        raise ValueError(f"{name}[{k}, {k}] = {table[k, k]}: allowed is 0 on the diagonal")
    return table
