"""Places in a private ranking, and what the noise leaves open: from public numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook._typing import Array, Ints
from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise
from dpbook.rank.statement import TOGETHER

REDRAWS = 200  # of a table of pairs
MOST_REDRAWN = 2_000_000  # of their entries


@dataclass(frozen=True)
class Placed:
    """One item of a released ranking; None for what is not known.

    ``reversal_probability`` is, for net wins, the largest chance with which noise alone shows at
    least this lead over the next item, or the other order, if the kept answers give none; for
    "pairs", how often both change places when such noise is added once more.
    """

    place: int | None  # 1 for the best
    item: str
    noisy: float | None = None  # the noisy score; a strength in log-odds for "pairs"
    reversal_probability: float | None = None
    best: int | None = None  # the places between which all items lie together, with chance 0.95
    worst: int | None = None
    likely_best: int | None = None  # the same for all people of whom those asked are a sample
    likely_worst: int | None = None


def ranked(
    items: Sequence[str], released: Ints, promise: Promise, noise: Noise, *, sample: int | None
) -> tuple[Placed, ...]:
    """The items in their order, with what noise and sample leave open."""
    if promise.only is not None:
        place = 1 if promise.only == 1 else None  # a set has no order
        return tuple(Placed(place, items[k]) for k in released.tolist())
    n = len(items)
    net = promise.statistic == "net"
    scores: NDArray[Any] = released if net else fitted_strengths(released)
    order = np.lexsort((np.arange(n), -scores))
    unknown = [(None, None)] * n
    by_noise: Sequence[tuple[int | None, int | None]] = unknown
    by_sample: Sequence[tuple[int | None, int | None]] = unknown
    if net:
        leads = -np.diff(scores[order])
        swaps: Sequence[float | None] = [noise.reversal(lead) for lead in leads.tolist()]
        by_noise = possible_places(scores, noise.width(1 - TOGETHER))
    else:
        swaps = redrawn(released, noise, order)
    if sample is not None:
        by_sample = possible_places(scores, noise.width((1 - TOGETHER) / 2) + sample)
    return tuple(
        Placed(
            place=k + 1,
            item=items[i],
            noisy=scores[i].item(),
            reversal_probability=swap,
            best=by_noise[i][0],
            worst=by_noise[i][1],
            likely_best=by_sample[i][0],
            likely_worst=by_sample[i][1],
        )
        for k, (i, swap) in enumerate(zip(order.tolist(), [*swaps, None], strict=True))
    )


def possible_places(scores: Ints, width: int) -> list[tuple[int, int]]:
    """Best and worst places: whoever leads by more than the width is ahead in truth as well."""
    rising, n = np.sort(scores), scores.size
    ahead = n - np.searchsorted(rising, scores + width, side="right")
    behind = np.searchsorted(rising, scores - width, side="left")
    return list(zip((1 + ahead).tolist(), (n - behind).tolist(), strict=True))


def fitted_strengths(tables: Ints) -> Array:
    """Strengths fitted to noisy tables (..., n, n), whose negative entries count as none.

    The score of an item is a sum of 2 n terms, each rounded to a relative 2^-53: a residual below
    that much of all its comparisons says nothing. It can shift all strengths alike, whose sum is 0.
    """
    from dpbook.estimators import ridge_mle

    wins = np.maximum(tables, 0)
    met = (wins.sum(axis=-1, dtype=float) + wins.sum(axis=-2, dtype=float)).max(initial=0)
    tol = max(1e-8, 2 * wins.shape[-1] * np.finfo(float).eps * met)
    theta = ridge_mle(wins, gamma=1.0, tol=tol).theta
    return np.asarray(theta - theta.mean(axis=-1, keepdims=True))


def redrawn(table: Ints, noise: Noise, order: NDArray[np.intp]) -> Sequence[float | None]:
    """How often neighbours change places when noise is added again to what is public, never 0."""
    n = len(table)
    if REDRAWS * n * n > MOST_REDRAWN:
        return [None] * (n - 1)
    again = np.tile(table, (REDRAWS, 1, 1))
    again[:, ~np.eye(n, dtype=bool)] += noise.simulate(REDRAWS, np.random.default_rng(0))
    strengths = fitted_strengths(again)[:, order]
    seen = (strengths[:, :-1] < strengths[:, 1:]).sum(axis=0)
    return list((np.maximum(seen, 1) / REDRAWS).tolist())
