"""Which way a curve runs, judged from replicated experiments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpbook import _validation as check

__all__ = ["Trend", "trend"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trend:
    """How a curve runs, from replicated experiments.

    Attributes
    ----------
    slope, low, high : float
        Mean slope against the logarithm of the setting, and its interval.
    up, down : int
        Steps between neighbouring settings that rise or fall beyond doubt.
    """

    slope: float
    low: float
    high: float
    up: int
    down: int

    def rises(self, least: float = 0.0) -> bool:
        """Whether the slope exceeds ``least`` beyond doubt and no step falls beyond doubt."""
        return self.low > least and self.down == 0

    def falls(self, least: float = 0.0) -> bool:
        """Whether the slope is below ``-least`` beyond doubt and no step rises beyond doubt."""
        return self.high < -least and self.up == 0


def trend(settings: ArrayLike, curve: ArrayLike, *, confidence: float = 0.9999) -> Trend:
    """Slope and steps of a curve, with intervals from the replicates.

    Parameters
    ----------
    settings : array, shape (S,)
        Positive and increasing.
    curve : array, shape (S, size)
        One run of the whole experiment in each column.
    confidence : float
        Of the slope's interval, and of all steps together (Bonferroni).

    Returns
    -------
    Trend

    Notes
    -----
    Student's t over columns: one slope, and S - 1 steps, from each.
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
    half = values.std(axis=-1, ddof=1) * stats.t.isf(tail, size - 1) / np.sqrt(size)
    return values.mean(axis=-1), half
