"""Pages 08 and 09: exponents of rates, by regression on log scales."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

Array = NDArray[np.float64]

#: Confidence of every interval that decides.
SURE = 1 - 1e-6
#: Rates come in half powers: within this the claimed exponent is the nearest.
NEAREST = 0.25


def far_end(slopes: Array, aims: ArrayLike = 1.0) -> Array:
    """Of each interval of `log_slopes`, the end that is further from the claimed exponent."""
    return np.asarray(np.abs(slopes[:, 1:] - np.reshape(aims, (-1, 1))).max(axis=1))


def log_slopes(predictors: ArrayLike, values: ArrayLike, *, confidence: float = 0.95) -> Array:
    """Slopes of log values (settings, replicates) in log predictors (settings, k), with intervals.

    A line is fitted to each replicate by least squares; the slopes of the replicates are
    independent and alike, so Student's t gives an interval for their mean. Returned are rows of
    mean, lower and upper end, one for each predictor.
    """
    x, y = check.finite_array("predictors", predictors), check.finite_array("values", values)
    x = x.reshape(len(x), -1)
    if y.ndim != 2 or len(y) != len(x) or len(x) < x.shape[1] + 1 or y.shape[1] < 2:
        raise ValueError(
            f"values of shape {y.shape}: allowed is (settings, replicates) with {len(x)} settings, "
            f"at least {x.shape[1] + 1}, and at least 2 replicates"
        )
    if x.min() <= 0 or y.min() <= 0:
        raise ValueError("predictors and values: allowed are positive numbers")
    design = np.column_stack([np.ones(len(x)), np.log(x)])
    slopes = (np.linalg.pinv(design) @ np.log(y))[1:]
    level = check.probability("confidence", confidence, zero=False, one=False)
    replicates = y.shape[1]
    half = scipy.stats.t.ppf((1 + level) / 2, replicates - 1) * slopes.std(axis=1, ddof=1)
    centre, half = slopes.mean(axis=1), half / np.sqrt(replicates)
    return np.column_stack([centre, centre - half, centre + half])
