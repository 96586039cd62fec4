"""Pages 06 and 07: neighbours that reveal most, and searches for loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import logit

from dpbook.privacy import Edge
from dpbook.rankers import PerturbedMle

Array = NDArray[np.float64]
Generator = np.random.Generator
Case = tuple[Array, Array, Array]  # an output, and the win tables before and after


def log_ratio(t: Array, before: Array, after: Array, gamma: float, scale: float) -> Any:
    """Privacy loss at the output t."""
    sides = np.stack(np.broadcast_arrays(before, after))
    return np.subtract(*PerturbedMle(Edge(len(t)), scale, gamma).logpdf(t, sides))


def _best_surprise(gamma: float, scale: float, room: float) -> tuple[float, float]:
    """Of the game that goes, and the gap that belongs to it."""
    u = (1 - scale + np.sqrt((1 - scale) ** 2 + 2 * (gamma + scale))) / 2  # unless above 1

    def excess(v: float) -> float:
        return float(gamma * logit(v) + 2 * v - room)

    limit = 1 - 1e-13
    u = min(u, limit if excess(limit) < 0 else brentq(excess, 1e-13, limit))
    return u, logit(u)


def revealing(
    n: int,
    gamma: float,
    scale: float,
    moved: int = 1,
    weight: float = 1,
    best: tuple[float, float] | None = None,
) -> Case:
    """Neighbours (`moved` comparisons exchanged) and an output of almost the largest loss."""
    room = weight * (n - 2 * moved)  # helpers of each pair
    u, gap = best or _best_surprise(gamma, scale, room)
    top, low = 2 * moved, 2 * moved + 1  # the pair that comes
    up, down = [top, *range(low + 2, n, 2)], [low, *range(low + 1, n, 2)]
    shared, before, after = np.zeros((3, n, n))
    t, slack = np.zeros(n), (room - 2 * u - gamma * gap) / 2
    for i in range(0, 2 * moved, 2):
        shared[i, up] = shared[down, i + 1] = weight
        before[i + 1, i], after[low, top] = 1, after[low, top] + 1
        t[i] = (weight * len(up) - u - slack) / gamma
        t[i + 1] = t[i] - gap
    t[up], t[down] = (s * (500 + 50 * weight * n / gamma) for s in (1, -1))
    return t, shared + before, shared + after


def drawn(n: int, kind: str, points: int, rng: Generator) -> Array:
    """Random neighbours with at most one comparison of each pair, shape (2, points, n, n)."""
    i, j = np.triu_indices(n, 1)
    sides = np.zeros((2, points, n, n))
    for r in range(points):
        x = rng.integers(-1, 2, i.size)
        a, b = (*rng.permutation(i.size), 0)[:2]  # two items have one pair, and no exchange
        said, other = rng.choice([-1, 1], 2)
        x[a] = said
        y = x.copy()
        if kind == "flip":
            y[a] = -said
        else:
            x[b], y[b], y[a] = 0, other, 0
        for side, row in zip(sides[:, r], (x, y), strict=True):
            side[i, j], side[j, i] = row == 1, row == -1
    return sides


def _climb(start: Array, before: Array, after: Array, gamma: float, scale: float) -> float:
    options: Any = {"maxfev": 1200, "xatol": 1e-7, "fatol": 1e-10, "adaptive": True}

    def minus(t: Array) -> float:
        return -float(log_ratio(t, before, after, gamma, scale))

    return -minimize(minus, start, method="Nelder-Mead", options=options).fun


def search(
    neighbours: Array,
    gamma: float,
    scale: float,
    starts: Sequence[Case],
    points: int,
    rng: Generator,
) -> float:
    """Largest log-ratio found: random outputs, then Nelder-Mead from the best and from `starts`."""
    before, after = neighbours
    n = before.shape[-1]
    spread = np.array([1, 3, 10, 200])[rng.integers(0, 4, (points, 1))]
    t = spread * rng.standard_t(2, (points, n))
    values = np.array([log_ratio(at, before, after, gamma, scale) for at in t])
    best = np.argsort(values, axis=None, kind="stable")[-2:]
    random = [(t[a], before[b], after[b]) for a, b in (divmod(k, len(before)) for k in best)]
    return max(values.max(), *(_climb(*start, gamma, scale) for start in (*starts, *random)))
