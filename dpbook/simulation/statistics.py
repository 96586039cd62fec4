"""Errors of estimates and rankings, and the intervals of replicated experiments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.estimators import top_k_mask


def log_relative_error(estimate: ArrayLike, truth: ArrayLike, norm: str = "l2") -> Array:
    """Natural logarithm of the relative error of an estimate, shape (...): CCW25, section 4.1.1.

    ``log(norm(estimate - truth) / norm(truth))`` of strengths, (..., n), in the Euclidean norm
    ``"l2"`` or the largest absolute entry ``"linf"``; -inf for an exact one. Strengths are taken as
    they are: centre both or neither. True ones are not all zero.
    """
    order = 2 if check.choice("norm", norm, ("l2", "linf")) == "l2" else np.inf
    values, target = check.finite_array("estimate", estimate), check.finite_array("truth", truth)
    if values.shape[-1] != target.shape[-1]:
        raise ValueError(f"truth of shape {target.shape}: allowed is (..., {values.shape[-1]})")
    size = np.linalg.norm(target, order, axis=-1)
    if not np.all(size):
        raise ValueError("truth is zero: allowed are strengths that are not all zero")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.linalg.norm(values - target, order, axis=-1) / size))


def top_k_error(
    scores: ArrayLike, truth_mask: ArrayLike, k: int, *, rng: np.random.Generator | None = None
) -> Array:
    """Share of the true top-k set that the k largest scores, (..., n), miss: shape (...).

    The true set, exactly k items, is a mask, (n,). 1 minus (size of the intersection) / k: the
    relative Hamming error of CCW25, section 4.1.1. A k-set drawn at random has mean 1 - k / n. Ties
    as for `dpbook.estimators.top_k_mask`.
    """
    mask = np.asarray(truth_mask)
    n = np.asarray(scores).shape[-1]
    if mask.dtype != np.bool_ or mask.shape != (n,) or np.count_nonzero(mask) != k:
        given = f"truth_mask of shape {mask.shape} and type {mask.dtype}"
        raise ValueError(f"{given}: allowed is a mask of shape ({n},) with k = {k} items")
    chosen = top_k_mask(scores, k, rng=rng)
    return np.asarray(1 - np.count_nonzero(chosen & mask, axis=-1) / k)


def quantile_interval(values: ArrayLike, q: float) -> tuple[float, float, float]:
    """Sample quantile, lower and upper end of a distribution-free interval from order statistics.

    The interval of independent ``values``, (N,), of which some may be infinite, covers the true
    quantile of level q with probability at least 0.95, whatever the distribution; an end is -inf or
    inf if N is too small to bound that side.
    """
    x = np.sort(check.number_array("values", values))
    if x.ndim != 1 or not x.size:
        raise ValueError(f"values of shape {x.shape}: allowed is a non-empty (N,)")
    q, tail = check.probability("q", q, zero=False, one=False), (1 - 0.95) / 2
    # The number of observations below the quantile is binomial(N, q).
    below = scipy.special.bdtr(np.arange(x.size + 1), x.size, q)
    low, high = np.searchsorted(below, [tail, 1 - tail])
    ends = np.concatenate([[-np.inf], x, [np.inf]])  # entry r is the r-th smallest value
    return float(ends[int(np.ceil(q * x.size))]), float(ends[low]), float(ends[high + 1])


@dataclass(frozen=True)
class Trend:
    """How a curve runs: mean slope against log(setting), its interval, and the steps."""

    slope: float
    low: float
    high: float
    up: int  # steps between neighbouring settings that rise beyond doubt
    down: int  # ... that fall

    def rises(self) -> bool:
        """Whether the slope is above 0 beyond doubt and no step falls beyond doubt."""
        return self.low > 0 and self.down == 0

    def falls(self) -> bool:
        """Whether the slope is below 0 beyond doubt and no step rises beyond doubt."""
        return self.high < 0 and self.up == 0


def trend(settings: ArrayLike, curve: ArrayLike, *, confidence: float = 0.9999) -> Trend:
    """Slope and steps of a curve, with intervals by Student's t over the replicates.

    ``settings``, (S,), are positive and increasing; each column of ``curve``, (S, size), is one run
    of the whole experiment, with one slope and S - 1 steps. The confidence is that of the slope's
    interval, and of all steps together (Bonferroni).
    """
    x = check.finite_array("settings", settings)
    if x.ndim != 1 or x[0] <= 0 or (np.diff(x) <= 0).any():
        raise ValueError(f"settings = {settings!r}: allowed are positive and increasing numbers")
    x = np.log(x)
    y = check.finite_array("curve", curve, min_ndim=2)
    if x.size < 2 or y.ndim != 2 or len(y) != x.size or y.shape[1] < 2:
        raise ValueError(f"curve of shape {y.shape}: allowed is ({x.size}, size), both at least 2")
    tail = (1 - check.probability("confidence", confidence, zero=False, one=False)) / 2
    x = x - x.mean()
    slope, half = _mean((x @ y)[None] / (x @ x), tail)
    step, reach = _mean(np.diff(y, axis=0), tail / (x.size - 1))
    ends = float(slope[0] - half[0]), float(slope[0] + half[0])
    return Trend(float(slope[0]), *ends, int((step > reach).sum()), int((step < -reach).sum()))


def _mean(values: Array, tail: float) -> tuple[Array, Array]:
    """Means along the last axis and the half-widths of their intervals."""
    size = values.shape[-1]
    half = values.std(axis=-1, ddof=1) * scipy.stats.t.isf(tail, size - 1) / np.sqrt(size)
    return values.mean(axis=-1), half
