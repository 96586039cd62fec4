"""Statistical audit: does a sampler follow its exact counterpart?

An audit never shows privacy. It ties the code that draws to what was checked exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.privacy.loss import check_probabilities


@dataclass(frozen=True)
class SamplerAudit:
    """Outcome of `audit_sampler`."""

    passed: bool  # every exact probability lies in its simultaneous interval
    outliers: Ints  # outcomes whose exact probability lies outside


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[Array, Array]:
    """Exact two-sided confidence interval of a binomial probability.

    Arrays of lower and of upper ends; each side misses with probability at most
    (1 - confidence) / 2 (Clopper, Pearson 1934).
    """
    from scipy.special import betaincinv  # the quantile; beta.ppf is NaN in some WebAssembly builds

    x, n = map(check.whole_array, ("successes", "trials"), (successes, trials))
    x, n = np.broadcast_arrays(x, n)
    if (n < 1).any() or (x < 0).any() or (x > n).any():
        raise ValueError("successes, trials: allowed is 0 <= successes <= trials, trials >= 1")
    tail = (1 - check.probability("confidence", confidence, zero=False, one=False)) / 2
    # The beta quantile is NaN where its parameter is 0; there the end of the interval is 0 or 1.
    lower = np.where(x == 0, 0.0, betaincinv(np.maximum(x, 1), n - x + 1, tail))
    upper = np.where(x == n, 1.0, betaincinv(x + 1, np.maximum(n - x, 1), 1 - tail))
    return lower, upper


def audit_sampler(
    outcome_counts: ArrayLike, pmf: ArrayLike, *, confidence: float = 0.999
) -> SamplerAudit:
    """Compare drawn frequencies with exact probabilities, all outcomes at once.

    A faithful sampler passes with probability ``confidence`` at least (Bonferroni over outcomes).
    Both arrays have the shape (outcomes,).
    """
    counts = check.whole_array("outcome_counts", outcome_counts)
    distribution = check.real_array("pmf", pmf).astype(float)
    fit = counts.shape == distribution.shape and counts.ndim == 1 and counts.sum() > 0
    allowed = f"that of pmf, {distribution.shape}, for a list, with at least one draw"
    check.shaped("outcome_counts, pmf", counts, fit, allowed)
    check_probabilities("pmf", distribution)
    missed = 1 - check.probability("confidence", confidence, zero=False, one=False)
    lower, upper = clopper_pearson(counts, counts.sum(), confidence=1 - missed / distribution.size)
    outliers = np.flatnonzero((distribution < lower) | (distribution > upper))
    return SamplerAudit(not outliers.size, outliers)
