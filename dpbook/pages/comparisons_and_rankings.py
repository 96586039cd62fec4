"""Page 03: the lists that Borda, Copeland and Kemeny allow, for all profiles of a few people."""

from __future__ import annotations

from itertools import chain, combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook.models import all_rankings

Places = NDArray[Any]


def flat(stack: NDArray[Any]) -> NDArray[np.float32]:
    """Return one row for each matrix; floats multiply faster."""
    return stack.reshape(len(stack), -1).astype(np.float32)


def allowed_lists(n: int, m: int) -> tuple[Places, Places, dict[str, NDArray[np.bool_]]]:
    """Profiles of m people, the first with list 0: all lists, the others' lists, allowed lists.

    For each rule, entry [profile, list] says whether some way to break ties gives the list.
    """
    lists = all_rankings(n)
    before = lists[:, :, None] < lists[:, None, :]
    one, size = flat(before), comb(len(lists) + m - 2, m - 1)
    chosen = combinations_with_replacement(range(len(lists)), m - 1)
    others = np.fromiter(chain.from_iterable(chosen), np.intp, size * (m - 1)).reshape(size, m - 1)
    # A rule sees how many put i before j: one number for each profile, and ruled on once.
    i, j = np.triu_indices(n, 1)
    place = np.int64(m + 1) ** np.arange(i.size, dtype=np.int64)
    code = before[:, i, j] @ place
    seen, which = np.unique(code[0] + code[others].sum(axis=1), return_inverse=True)
    square = np.zeros((len(seen), n, n), dtype=np.float32)
    square[:, i, j] = seen[:, None] // place % (m + 1)
    square[:, j, i] = m - square[:, i, j]
    cost = flat(square) @ flat(before.swapaxes(1, 2)).T
    majority = np.sign(square - np.swapaxes(square, 1, 2))

    def by(scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Lists that never put a smaller score before a larger one."""
        return flat(scores[:, :, None] < scores[:, None, :]) @ one.T == 0

    sets = {"Borda": by(square.sum(2)), "Copeland": by(majority.sum(2))}
    sets["Kemeny"] = cost == cost.min(axis=1, keepdims=True)
    return lists, others, {rule: allowed[which] for rule, allowed in sets.items()}


def apart(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Profiles for which no list, or no winner, is allowed by both."""
    return np.logical_not((first & second).any(axis=1))


def first_places(lists: Places, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Items that the allowed lists of each profile put first."""
    weight: NDArray[np.float32] = allowed.astype(np.float32) @ (lists == 0)
    return np.asarray(weight > 0)
