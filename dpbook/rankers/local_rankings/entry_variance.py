"""Exact variance of one estimated majority, for every local protocol of this package."""

from __future__ import annotations

from math import comb

import numpy as np

from dpbook import _validation as check
from dpbook.rankers.local_rankings.adaptive_budget import adaptive_report, adaptive_report_pmf
from dpbook.rankers.local_rankings.hypercube import hypercube_scale
from dpbook.rankers.local_rankings.ldp_queries import best_queries
from dpbook.rankers.local_rankings.one_pair import PROTOCOLS

__all__ = ["entry_variance"]


def entry_variance(
    protocol: str,
    n_items: int,
    users: int,
    epsilon: float,
    *,
    fraction: float = 0.5,
    queries: int | None = None,
    cap: int | None = None,
    calibration: str = "tight",
    ties: str = "split",
) -> float:
    """Exact variance of one estimated fraction, given the users' rankings.

    Parameters
    ----------
    protocol : {"one_pair", "pairs", "hypercube", "split", "adaptive", "one_question"}
        As for `local_fractions`, or AGKM's Algorithm 2 (`adaptive_answers`), or one answer of a
        group of `ldp_one_question_kwiksort`.
    n_items : int
        Number of items n, at least 2.
    users : int
        Number of users N.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    fraction : float
        True share of users who place the first item before the second; it matters for
        ``"adaptive"`` and ``"one_question"`` only.
    queries : int or None
        As for `pairs_response`, for ``"pairs"`` only.
    cap : int, optional
        Number of queries q that Algorithm 2 is set for, or of groups; needed for ``"adaptive"`` and
        ``"one_question"`` only.
    calibration : {"tight", "printed"}
        As for `adaptive_answers`.
    ties : {"split", "closed"}
        As for `hypercube_response`.

    Returns
    -------
    float
        With c(e) = coth(e / 2) and C = n (n - 1) / 2: ``(C c(epsilon / K)^2 / K - 1) / (4 N)``
        for K random pairs (one pair: K = 1, split: K = C), ``(B^2 - 1) / (4 N)`` for the
        hypercube of scale B. For a group of s users drawn from N without replacement, with the
        share w: ``(c(epsilon)^2 - 1 + 4 w (1 - w) (N - s)/(N - 1)) / (4 s)``.

    Raises
    ------
    ValueError
        For arguments out of range.
    """
    check.choice("protocol", protocol, (*PROTOCOLS, "adaptive", "one_question"))
    pairs = comb(check.integer("n_items", n_items, 2), 2)
    n = check.integer("users", users, 1)
    check.epsilon(epsilon)
    if protocol == "adaptive":
        share = check.probability("fraction", fraction)
        return _adaptive_variance(n_items, n, epsilon, share, cap, calibration)
    if protocol == "one_question":
        share = check.probability("fraction", fraction)
        size = n // check.integer("cap", cap, 1, n)
        sampled = 4 * share * (1 - share) * (n - size) / max(n - 1, 1)
        return float((1 / np.tanh(0.5 * epsilon) ** 2 - 1 + sampled) / (4 * size))
    if protocol == "hypercube":
        square = hypercube_scale(pairs, epsilon, ties) ** 2
    else:
        k = {"one_pair": 1, "pairs": queries, "split": pairs}[protocol]
        k = (
            best_queries(epsilon, most=pairs)
            if k is None
            else check.integer("queries", k, 1, pairs)
        )
        square = pairs / (k * np.tanh(0.5 * epsilon / k) ** 2)
    return float((square - 1) / (4 * n))


def _adaptive_variance(
    m: int, users: int, epsilon: float, share: float, cap: int | None, calibration: str
) -> float:
    """Noise of the answers plus that of a random group, drawn without replacement."""
    _, report, scale = adaptive_report(m, epsilon=epsilon, cap=cap, calibration=calibration)
    truth = adaptive_report_pmf(report, calibration=calibration)
    value = scale * (truth[:, 1] - truth[:, 0])  # expected report of a 0 and of a 1
    answer_noise = users * (scale**2 - (1 - share) * value[0] ** 2 - share * value[1] ** 2)
    if calibration == "tight":  # the estimate is 1/2 plus half the mean report
        value, answer_noise = value / 2, answer_noise / 4
    slots = users + (-users) % m
    mean = users * ((1 - share) * value[0] + share * value[1]) / slots
    square = users * ((1 - share) * value[0] ** 2 + share * value[1] ** 2) / slots
    group_noise = 0.0
    if slots > 1:
        group_noise = slots * (slots - slots / m) / (slots - 1) / m * (square - mean**2)
    return float((m / users) ** 2 * (answer_noise / m + group_noise))
