"""Sensitivity: how far a statistic can move between neighbours, by search and in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook.privacy.neighbours import DESIGNS

__all__ = ["Sensitivity", "count_sensitivity", "sensitivity"]

NORMS = {"l1": 1, "l2": 2, "linf": np.inf}


@dataclass(frozen=True)
class Sensitivity:
    """The largest change found, with the pair of data sets that attains it.

    Attributes
    ----------
    value : float
        Norm of the difference of the statistic.
    pair : tuple
        The two neighbouring data sets.
    """

    value: float
    pair: tuple[Any, Any]


def sensitivity(
    pairs: Iterable[tuple[Any, Any]],
    *,
    norm: str = "l1",
    statistic: Callable[[Any], ArrayLike] = np.asarray,
) -> Sensitivity:
    """Largest change of a statistic over all listed pairs of neighbours.

    Parameters
    ----------
    pairs : iterable of (dataset, dataset)
        All neighbouring pairs; an array of shape (pairs, 2, ...) will do.
    norm : {"l1", "l2", "linf"}
        Norm of the difference; the Laplace mechanism needs l1.
    statistic : callable
        Maps a data set to a vector; by default the data sets are vectors themselves.

    Returns
    -------
    Sensitivity

    Raises
    ------
    ValueError
        If there is no pair or the norm is unknown.
    """
    check.choice("norm", norm, tuple(NORMS))
    best: Sensitivity | None = None
    for x, y in pairs:
        difference = np.asarray(statistic(x), dtype=float) - np.asarray(statistic(y), dtype=float)
        value = float(np.linalg.norm(difference.ravel(), ord=NORMS[norm]))
        if not np.isfinite(value):
            raise ValueError("statistic returns NaN or infinity: allowed are finite vectors")
        if best is None or value > best.value:
            best = Sensitivity(value, (x, y))
    if best is None:
        raise ValueError("pairs is empty: allowed is at least one pair of neighbours")
    return best


def count_sensitivity(
    n_items: int,
    *,
    privacy: str,
    design: str | None = None,
    per_user: int | None = None,
) -> int:
    """l1-sensitivity of the win counts, in closed form.

    Parameters
    ----------
    n_items : int
        Number of items n.
    privacy : {"edge", "individual"}
        One comparison protected, or everything one person says.
    design : {"with_replacement", "each_pair_once", "each_pair_or_skip", "ranking"}, optional
        What a person answers (see `bundle_contributions`), for individual privacy only;
        ``"with_replacement"`` when left out.
    per_user : int, optional
        Comparisons L of one person, for ``"with_replacement"`` only.

    Returns
    -------
    int
        Edge: 2. L comparisons of any pairs: 2 L. Every pair once, or a ranking: floor(n^2 / 2).
        Every pair at most once: n (n - 1) / 2 + floor(n^2 / 4).

    Notes
    -----
    One comparison moves at most one win away from an item and one to another: 2 each. For every
    pair once, the counts of a person are majorised by (n-1, ..., 0) (Landau 1953), so the convex
    l1 distance is largest between two opposite rankings. With skips, fix the signs s of the
    difference: a pair of items with opposite signs adds up to 2, with equal signs up to 1 (one
    side answers, the other skips), and the split into halves is best.

    A tie that counts half a win for each side changes nothing: it lies half-way between the two
    answers to its pair, and a convex distance is largest at the ends.
    """
    n = check.integer("n_items", n_items, 2)
    design = person_design(privacy, design, per_user, DESIGNS)
    if design is None:
        return 2
    if design == "with_replacement":
        return 2 * check.integer("per_user", per_user, 1)
    if design == "each_pair_or_skip":
        return n * (n - 1) // 2 + n**2 // 4
    return n**2 // 2


def person_design(
    privacy: str, design: str | None, per_user: int | None, designs: tuple[str, ...]
) -> str | None:
    """The design of what a person answers, None for edge privacy, where there is no person."""
    if check.choice("privacy", privacy, ("edge", "individual")) == "edge":
        for name, value in (("design", design), ("per_user", per_user)):
            if value is not None:
                raise ValueError(
                    f"{name} = {value!r} with privacy = 'edge': allowed is None, since it says "
                    "what a person answers; use privacy='individual' to protect a person"
                )
        return None
    design = check.choice("design", "with_replacement" if design is None else design, designs)
    if design == "with_replacement":
        check.integer("per_user", per_user, 1)
    elif per_user is not None:
        raise ValueError(f"per_user = {per_user!r} with design = {design!r}: allowed is None")
    return design
