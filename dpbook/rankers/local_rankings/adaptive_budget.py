"""What one private answer on demand costs, and how often it is refused: AGKM's Lemma 10.

Calibration ``"printed"`` feeds answers 0 and 1 to a randomiser made for numbers from -1 to 1 and
wastes half of the budget; ``"tight"`` feeds it -1 and 1.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpbook import _validation as check
from dpbook.rankers.local_rankings.hypercube import hypercube_loss

__all__ = [
    "CALIBRATIONS",
    "adaptive_loss",
    "adaptive_report",
    "adaptive_report_pmf",
    "refusal_bound",
    "refusal_probability",
]

Array = NDArray[np.float64]

CALIBRATIONS = ("tight", "printed")


def adaptive_report(
    n_items: int, *, epsilon: float, cap: int | None, calibration: str = "tight"
) -> tuple[int, float, float]:
    """Settings of one report of Algorithm 2.

    Parameters
    ----------
    n_items : int
        Number m of items, and of groups.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    cap : int
        Number of queries q that the protocol is set for, at least m / 2.
    calibration : {"tight", "printed"}
        ``epsilon / limit`` or ``0.5 epsilon m / q`` for one report.

    Returns
    -------
    limit : int
        Reports per user, floor(2 q / m).
    report_epsilon : float
        Privacy parameter of one report.
    scale : float
        The reports are -scale and scale, ``coth(report_epsilon / 2)``. Algorithm 2 prints it with
        the base epsilon in place of e.
    """
    m = check.integer("n_items", n_items, 2)
    q = check.integer("cap", cap, (m + 1) // 2)
    limit, total = 2 * q // m, check.epsilon(epsilon)
    tight = check.choice("calibration", calibration, CALIBRATIONS) == "tight"
    report = total / limit if tight else 0.5 * total * m / q
    return limit, report, float(1 / np.tanh(0.5 * report))


def adaptive_report_pmf(report_epsilon: float, *, calibration: str = "tight") -> Array:
    """Channel of one report: rows are the answers 0 and 1, columns -scale and scale.

    Parameters
    ----------
    report_epsilon : float
        Privacy parameter e of the report, in nats, above 0.
    calibration : {"tight", "printed"}
        The number put into the randomiser: -1 or 1, or the answer 0 or 1 itself.

    Returns
    -------
    array, shape (2, 2)

    Notes
    -----
    Source: AGKM, Algorithm 2: +scale with probability (1 + w / scale) / 2.

    **Privacy.** ``"tight"``: (e, 0), exactly (it is randomised response). ``"printed"``: only
    ``ln((1 + exp(e)) / 2)``, about e / 2, since a 0 is answered by a fair coin.
    """
    gain = np.tanh(0.5 * check.epsilon(report_epsilon, "report_epsilon"))
    tight = check.choice("calibration", calibration, CALIBRATIONS) == "tight"
    plus = 0.5 * (1 + gain * np.array([-1.0 if tight else 0.0, 1.0]))
    return np.stack([1 - plus, plus], axis=1)


def adaptive_loss(
    n_items: int,
    *,
    epsilon: float,
    cap: int,
    calibration: str = "tight",
    fallback: bool = False,
) -> float:
    """Privacy parameter that Algorithm 2, or Algorithm 3 with its fallback, really spends.

    Parameters
    ----------
    n_items, epsilon, cap, calibration
        As for `adaptive_report`.
    fallback : bool
        Count the fallback of `ldp_adaptive_kwiksort` too.

    Returns
    -------
    float
        In nats. Without fallback it is ``limit`` times the exact loss of a report. With it, the
        sum of that and of the fallback's loss.
    """
    printed = check.choice("calibration", calibration, CALIBRATIONS) == "printed"
    share = 1.0 if printed or not fallback else 0.5
    limit, report, _ = adaptive_report(
        n_items, epsilon=share * epsilon, cap=cap, calibration=calibration
    )
    one = float(np.logaddexp(0, report) - np.log(2)) if printed else report
    ties = "closed" if printed else "split"
    extra = hypercube_loss(comb(n_items, 2), 0.5 * epsilon, ties) if fallback else 0.0
    return limit * one + extra


def refusal_probability(queries: int, groups: int, limit: int | None = None) -> float:
    """Exact probability that some group is asked more than ``limit`` times.

    Parameters
    ----------
    queries : int
        Number q of queries, each sent to a random group.
    groups : int
        Number m of groups.
    limit : int, optional
        Largest number of queries that a group answers; floor(2 q / m) when left out.

    Returns
    -------
    float

    Notes
    -----
    The loads of q balls in m boxes are independent Poisson variables given their sum; the groups
    are added one at a time. All terms are positive, so that small results are exact too.
    """
    q, m = check.integer("queries", queries, 1), check.integer("groups", groups, 1)
    top = check.integer("limit", 2 * q // m if limit is None else limit, 0)
    if top >= q:
        return 0.0
    load = stats.poisson.pmf(np.arange(q + 1), q / m)
    within = np.where(np.arange(q + 1) <= top, load, 0.0)
    fine, over = np.zeros(q + 1), np.zeros(q + 1)
    fine[0] = 1.0
    for _ in range(m):
        over = np.convolve(over, load)[: q + 1] + np.convolve(fine, load - within)[: q + 1]
        fine = np.convolve(fine, within)[: q + 1]
    return float(over[q] / (over[q] + fine[q]))


def refusal_bound(queries: int, groups: int) -> float:
    """The bound ``exp(-0.1 q / m)`` that Lemma 10 prints for q > 10 m ln m.

    Parameters
    ----------
    queries, groups : int
        Numbers q of queries and m of groups.

    Returns
    -------
    float
    """
    q = check.integer("queries", queries, 1)
    return float(np.exp(-0.1 * q / check.integer("groups", groups, 1)))
