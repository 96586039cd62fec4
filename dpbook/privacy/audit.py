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

    Simultaneous intervals of the probabilities, ``lower`` to ``upper``, shape (outcomes,).
    """

    passed: bool  # every exact probability lies in its interval
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    outliers: NDArray[np.int64]  # outcomes whose exact probability lies outside


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact two-sided confidence interval of a binomial probability.

    Arrays of lower and of upper ends; each side misses with probability at most
    (1 - confidence) / 2 (Clopper, Pearson 1934).
    """
    from scipy.stats import beta

    x, n = map(check.whole_array, ("successes", "trials"), (successes, trials))
    x, n = np.broadcast_arrays(x, n)
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

    A faithful sampler passes with probability ``confidence`` at least (Bonferroni over outcomes).
    Both arrays have the shape (outcomes,).
    """
    counts = check.whole_array("outcome_counts", outcome_counts)
    law = check.number_array("pmf", pmf)
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
