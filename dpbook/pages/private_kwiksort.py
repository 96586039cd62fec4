"""Page 25: how much the ranking of DP-KwikSort gives away, whoever the other people are."""

from __future__ import annotations

from math import exp, log

import numpy as np
from numpy.typing import NDArray

from dpbook.rankers import NoisyPairs
from dpbook.rankers.pairs import chance_ahead

Array = NDArray[np.float64]


def least_ranking_loss(ranker: NoisyPairs) -> float:
    """What profiles of any number of people come near; exact for two and three items.

    Every table of leads of equal parity comes from some profile (McGarvey 1953). All may end in
    a tie. Or item 0 lies hopelessly far behind all but item 1: the identity needs item 1 as the
    first pivot, which makes n - 1 comparisons, at step / scale each, and leaves n - 2 items.
    The result is the best mixture. For KwikSort on leads with Laplace noise.
    """
    n, move = ranker.unit.n_items, ranker.unit.step / ranker.scale
    tied = _log_identity(n, 0.5) - _log_identity(n, 0.5 * exp(-move))
    bound = [0.0, 0.0, move]
    for k in range(3, n + 1):
        best = _three_items(ranker.scale, ranker.unit.step) if k == 3 else float(tied[k])
        bound.append(max(best, (k - 1) * move + bound[k - 2]))
    return bound[n]


def _log_identity(n: int, p: float) -> Array:
    """Log-chances of the identity on 0, ..., n items when every pair is won with chance p."""
    logs = np.zeros(n + 1)
    for k in range(2, n + 1):
        parts = np.logaddexp.reduce(logs[:k] + logs[:k][::-1])  # over the places of the pivot
        logs[k] = (k - 1) * log(p) + parts - log(k)
    return logs


def _three_items(b: float, step: int) -> float:
    """Exact worst loss of DP-KwikSort's ranking of three items, over all profiles of any size.

    The order a b c has the chance p_ab p_bc (1 + 2 p_ac) / 3, which grows in each chance to win:
    the worst change turns c b a into a b c. Of the three terms of the log-ratio, each a function of
    one lead, two are at most step / b and the third is largest near a tie; all are attained
    together, as c b a and a b c may be added to the other people without changing their leads.
    """
    lead = np.arange(-step - 1.0, 2.0)
    third = np.log1p(2 * chance_ahead((lead + step) / b)) - np.log1p(2 * chance_ahead(lead / b))
    return float(2 * step / b + third.max())
