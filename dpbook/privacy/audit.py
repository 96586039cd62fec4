"""Statistical audit: does a sampler follow its exact twin?

An audit never shows privacy. It ties the code that draws to the law that was checked exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check


@dataclass(frozen=True)
class SamplerAudit:
    """Outcome of `audit_sampler`.

    Attributes
    ----------
    passed : bool
        Whether every exact probability lies in its simultaneous interval.
    lower, upper : array, shape (outcomes,)
        The intervals.
    outliers : array of int
        Outcomes whose exact probability lies outside.
    """

    passed: bool
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    outliers: NDArray[np.int64]


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact two-sided confidence interval of a binomial probability.

    Parameters
    ----------
    successes, trials : array of int, broadcastable
        0 <= successes <= trials, trials >= 1.
    confidence : float
        In (0, 1).

    Returns
    -------
    lower, upper : array
        Each side misses with probability at most (1 - confidence) / 2 (Clopper, Pearson 1934).
    """
    from scipy.stats import beta

    x, n = np.broadcast_arrays(_whole("successes", successes), _whole("trials", trials))
    if (n < 1).any() or (x < 0).any() or (x > n).any():
        raise ValueError("successes, trials: allowed is 0 <= successes <= trials, trials >= 1")
    tail = (1 - check.probability("confidence", confidence, zero=False, one=False)) / 2
    # The beta quantile is NaN where its parameter is 0; there the end of the interval is 0 or 1.
    lower = np.where(x == 0, 0.0, beta.ppf(tail, np.maximum(x, 1), n - x + 1))
    upper = np.where(x == n, 1.0, beta.ppf(1 - tail, x + 1, np.maximum(n - x, 1)))
    return lower, upper


def audit_sampler(
    outcome_counts: ArrayLike, pmf: ArrayLike, *, confidence: float = 0.999
) -> SamplerAudit:
    """Compare drawn frequencies with exact probabilities, all outcomes at once.

    Parameters
    ----------
    outcome_counts : array of int, shape (outcomes,)
        How often each outcome was drawn.
    pmf : array, shape (outcomes,)
        Exact probabilities.
    confidence : float
        Probability that a faithful sampler passes, at least (Bonferroni over outcomes).

    Returns
    -------
    SamplerAudit
    """
    counts, law = _whole("outcome_counts", outcome_counts), check.number_array("pmf", pmf)
    if counts.shape != law.shape or counts.ndim != 1 or counts.sum() < 1:
        raise ValueError(
            f"outcome_counts, pmf of shapes {counts.shape}, {law.shape}: allowed are equal shapes "
            "(outcomes,) with at least one draw"
        )
    if not np.isfinite(law).all() or law.min() < 0 or abs(law.sum() - 1) > 1e-9:
        raise ValueError(f"pmf sums to {law.sum():.12g}: allowed are probabilities with total 1")
    check.probability("confidence", confidence, zero=False, one=False)
    level = 1 - (1 - confidence) / law.size
    lower, upper = clopper_pearson(counts, counts.sum(), confidence=level)
    outliers = np.flatnonzero((law < lower) | (law > upper))
    return SamplerAudit(not outliers.size, lower, upper, outliers)


def _whole(name: str, value: ArrayLike) -> NDArray[np.int64]:
    array = check.real_array(name, value).astype(float)
    if not np.isfinite(array).all() or not np.array_equal(array, np.rint(array)):
        raise ValueError(f"{name}: allowed are whole numbers")
    return array.astype(np.int64)
