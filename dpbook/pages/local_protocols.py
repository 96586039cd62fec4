"""What page 21 needs: how often an answer on demand is refused, AGKM's Lemma 10."""

from __future__ import annotations

import numpy as np
from scipy import stats

from dpbook import _validation as check


def refusal_probability(queries: int, groups: int, limit: int | None = None) -> float:
    """Exact probability that some group is asked more than ``limit`` times.

    Parameters
    ----------
    queries : int
        Number q of queries, each sent to a random group.
    groups : int
        Number of groups, that of the items n.
    limit : int, optional
        Largest number of queries that a group answers; floor(2 q / n) when left out.

    Notes
    -----
    The loads of q balls in n boxes are independent Poisson variables given their sum; the groups
    are added one at a time. All terms are positive, so that small results are exact too.
    """
    q, n = check.integer("queries", queries, 1), check.integer("groups", groups, 1)
    top = 2 * q // n if limit is None else limit
    if top >= q:
        return 0.0
    load = stats.poisson.pmf(np.arange(q + 1), q / n)
    within = np.where(np.arange(q + 1) <= top, load, 0.0)
    fine, over = np.zeros(q + 1), np.zeros(q + 1)
    fine[0] = 1.0
    for _ in range(n):
        over = np.convolve(over, load)[: q + 1] + np.convolve(fine, load - within)[: q + 1]
        fine = np.convolve(fine, within)[: q + 1]
    return float(over[q] / (over[q] + fine[q]))


def refusal_bound(queries: int, groups: int) -> float:
    """The bound ``exp(-0.1 q / n)`` that Lemma 10 prints for q > 10 n ln n."""
    return float(np.exp(-0.1 * queries / groups))
