"""How often the private majority of a pair points the wrong way, for a fixed set of rankings.

Only the questions and the answers are random. Exact, without simulation, like `ldp_errors`.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpbook import _validation as check
from dpbook.rankers.local_rankings.ldp_errors import (
    PairErrors,
    report_lie,
    users_asked,
)
from dpbook.rankers.local_rankings.ldp_kwiksort import DESIGNS

__all__ = ["expected_error_rate", "profile_pair_errors"]

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-18


def profile_pair_errors(
    counts: ArrayLike,
    *,
    epsilon: float,
    queries: int = 1,
    mechanism: str = "response",
    design: str = "random",
) -> PairErrors:
    """Exact law of the sign of each pair's reports, for a fixed set of complete rankings.

    Parameters
    ----------
    counts : array of int, shape (n, n)
        Entry [i, j] counts the users who place i before j; [i, j] + [j, i] is the number of users.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    queries, mechanism, design
        As for `dpbook.rankers.ldp_pair_counts`.

    Returns
    -------
    PairErrors
        Symmetric arrays of shape (n, n) with zero diagonal. For a pair on which the users
        themselves are tied, ``wrong`` is the probability that item max(i, j) is ahead.

    Notes
    -----
    Reports minus and plus are summed through their characteristic function; the absolute error is
    of the order of 1e-16 times the number of users.
    """
    table = check.square_table("counts", counts)
    n = len(table)
    upper = np.triu_indices(n, 1)
    ahead, behind = table[upper], table[upper[::-1]]
    users = int(ahead[0] + behind[0])
    if (ahead + behind != users).any() or (table < 0).any():
        raise ValueError("counts: allowed are tables in which every pair has the same total")
    lie = report_lie(n, epsilon, queries, mechanism)
    check.choice("design", design, DESIGNS)
    values, where = np.unique(np.maximum(ahead, behind).astype(int), return_inverse=True)
    if design == "random" or queries == comb(n, 2):
        law = _random_law(values, users, queries / comb(n, 2), lie)
    else:
        law = _balanced_law(values, users, comb(n, 2), queries, lie)
    wrong, tie = np.zeros((n, n)), np.zeros((n, n))
    wrong[upper], tie[upper] = law[0][where], law[1][where]
    return PairErrors(wrong + wrong.T, tie + tie.T)


def expected_error_rate(
    counts: ArrayLike,
    *,
    epsilon: float,
    queries: int = 1,
    mechanism: str = "response",
    design: str = "random",
) -> float:
    """Exact expectation of YLL's error rate for a fixed set of complete rankings.

    Parameters
    ----------
    counts, epsilon, queries, mechanism, design
        As for `profile_pair_errors`.

    Returns
    -------
    float
        Share of the pairs whose reports point strictly against a strict majority of the users.

    Notes
    -----
    Source: YLL, equation (5). Ties, among the users or in the reports, are no error there.
    """
    table = check.square_table("counts", counts)
    errors = profile_pair_errors(
        counts, epsilon=epsilon, queries=queries, mechanism=mechanism, design=design
    )
    upper = np.triu_indices(len(table), 1)
    decided = table[upper] != table.T[upper]
    return float(np.asarray(errors.wrong)[upper][decided].sum() / decided.size)


def _random_law(agree: NDArray[np.int64], users: int, rate: float, lie: float) -> Array:
    """P(wrong) and P(tie), shape (2, values), when everybody is asked with probability rate."""
    reach = _most_asked(users, rate)
    turn = np.exp(2j * np.pi * np.arange(2 * reach + 1) / (2 * reach + 1))
    right = np.log(1 - rate + rate * ((1 - lie) * turn + lie / turn))
    wrong = np.log(1 - rate + rate * (lie * turn + (1 - lie) / turn))
    law = _invert(np.exp(agree[:, None] * right + (users - agree[:, None]) * wrong))
    # Index s and s - (2 reach + 1) are the same point of the circle: negatives come last.
    return np.stack([law[:, reach + 1 :].sum(axis=1), law[:, 0]])


def _most_asked(users: int, rate: float) -> int:
    """Number of users that is exceeded with negligible probability; binom.isf gives up there."""
    return int((stats.binom.sf(np.arange(users), users, rate) > NEGLIGIBLE).sum())


def _balanced_law(
    agree: NDArray[np.int64], users: int, pairs: int, queries: int, lie: float
) -> Array:
    """The same when a fixed number of users, a random subset, is asked about a pair."""
    out = np.zeros((2, agree.size))
    for asked, weight in zip(*users_asked(users, pairs, queries, "balanced"), strict=True):
        if weight == 0:
            continue
        turn = np.exp(2j * np.pi * np.arange(asked + 1) / (asked + 1))
        right, wrong = np.log(1 - lie + lie * turn), np.log(lie + (1 - lie) * turn)
        half = (asked + 1) // 2
        for column, total in enumerate(agree):
            h = np.arange(max(0, asked - (users - total)), min(asked, total) + 1)
            chance = stats.hypergeom.pmf(h, users, total, asked)
            h, chance = h[chance > NEGLIGIBLE], chance[chance > NEGLIGIBLE]
            lies = _invert(chance @ np.exp(h[:, None] * right + (asked - h)[:, None] * wrong))
            out[0, column] += weight * lies[half + 1 - asked % 2 :].sum()
            out[1, column] += weight * (lies[half] if asked % 2 == 0 else 0.0)
    return out


def _invert(transform: NDArray[np.complex128]) -> Array:
    """Probabilities from the values of a generating function on the circle."""
    return np.clip(np.fft.fft(transform).real / transform.shape[-1], 0.0, 1.0)
