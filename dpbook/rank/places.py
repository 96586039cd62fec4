"""Places in a private ranking, and what the noise leaves open: from public numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook._typing import Array, Ints
from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise
from dpbook.rank.statement import TOGETHER


@dataclass(frozen=True)
class Placed:
    """One item of a released ranking; None for what is not known."""

    place: int | None  # 1 for the best
    item: str
    noisy: float | None = None  # net wins; or, for "pairs", a strength in log-odds
    best: int | None = None  # the places between which all items lie together, with chance 0.95
    worst: int | None = None
    likely_best: int | None = None  # the same for all people of whom those asked are a sample
    likely_worst: int | None = None
    elo: float | None = None  # a strength on the Elo scale, where the mean is 0


def ranked(
    items: Sequence[str], released: Ints, promise: Promise, noise: Noise, *, sample: int | None
) -> tuple[Placed, ...]:
    """The items in their order, with what noise and sample leave open."""
    if promise.only is not None:
        place = None  # a set has no order
        if promise.only == 1:
            place = 1
        return tuple(Placed(place, items[k]) for k in released.tolist())
    scores: NDArray[Any] = released
    if promise.statistic == "pairs":
        scores = fitted_strengths(released)
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    known: dict[str, Sequence[Any]] = {
        "place": range(1, len(items) + 1),
        "item": [items[k] for k in order],
        "noisy": scores.tolist(),
    }
    if promise.statistic == "net":
        known["best"], known["worst"] = possible_places(scores, noise.width(1 - TOGETHER))
    else:
        known["elo"] = (400 / log(10) * scores).tolist()
    if sample is not None:
        width = noise.width((1 - TOGETHER) / 2) + sample
        known["likely_best"], known["likely_worst"] = possible_places(scores, width)
    rows = []
    for k in range(len(items)):
        row = {name: column[k] for name, column in known.items()}
        rows.append(Placed(**row))
    return tuple(rows)


def possible_places(scores: Ints, width: int) -> tuple[list[int], list[int]]:
    """Best and worst places: whoever leads by more than the width is ahead in truth as well."""
    rising = np.sort(scores)
    best = 1 + scores.size - np.searchsorted(rising, scores + width, side="right")
    worst = scores.size - np.searchsorted(rising, scores - width, side="left")
    return best.tolist(), worst.tolist()


def fitted_strengths(tables: Ints) -> Array:
    """Strengths fitted to noisy tables (..., n, n), whose negative entries count as none.

    The score of an item is a sum of 2 n terms, each rounded to a relative 2^-53: a residual below
    that much of all comparisons says nothing. It can shift all strengths alike, whose sum is 0.
    """
    from dpbook.estimators import ridge_mle

    wins = np.maximum(tables, 0)
    all_wins = wins.sum(axis=(-2, -1)).max(initial=0)
    rounding = np.finfo(float).eps * all_wins
    tol = max(1e-8, 2 * wins.shape[-1] * rounding)
    theta = ridge_mle(wins, gamma=1.0, tol=tol).theta
    return np.asarray(theta - theta.mean(axis=-1, keepdims=True))
