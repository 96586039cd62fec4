"""DP-KwikSort: KwikSort on comparisons with Laplace noise, as described and repaired.

A comparison is ``counts[i, j] - counts[j, i]``, the lead of i over j in users. The replacement of
one ranking moves it by 0 or 2, one ranking more or less by 1. No pair is compared twice, but
nothing keeps a run from comparing all m (m - 1) / 2 pairs.
"""

from __future__ import annotations

from math import comb, exp, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.mechanisms import laplace_noise
from dpbook.rankers.central_rankings._kwiksort_runs import (
    count_table,
    counted_kwiksorts,
    kwiksort_cost_pmf,
    laplace_preference,
)

__all__ = [
    "dp_kwiksort",
    "dp_kwiksort_loss_bound",
    "dp_kwiksort_loss_three",
    "dp_kwiksort_pmf",
    "dp_kwiksort_scale",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

CALIBRATIONS = ("tight", "described")
# How far a user's change moves the lead of one item over another.
STEPS = {"replace": 2, "add_remove": 1}


def dp_kwiksort_scale(
    n_items: int, epsilon: float, *, relation: str = "replace", calibration: str = "tight"
) -> float:
    """Scale of the noise on every comparison, in users.

    Parameters
    ----------
    n_items : int
        Number of items m.
    epsilon : float
        Privacy parameter in nats, above 0.
    relation : {"replace", "add_remove"}
        Neighbours: one ranking replaced, or one ranking more or less.
    calibration : {"tight", "described"}
        ``"described"`` is (m - 1) log(m) / epsilon with the natural logarithm, for either relation.

    Returns
    -------
    float

    Notes
    -----
    **Privacy.** ``"tight"``: all leads together move by m (m - 1) in l1 under replacement and by
    half of it under addition, which over epsilon is the scale; the noisy leads are then
    epsilon-DP exactly, and so is whatever KwikSort makes of them. ``"described"`` is not
    epsilon-DP; the ranking itself loses what `dp_kwiksort_loss_three` and
    `dp_kwiksort_loss_bound` say: for three items and small epsilon 2.5 / log 3 = 2.28 times
    epsilon (replacement) or 1.14 times (addition); for many items at least
    m / (2 log m) times (replacement), so that no constant factor repairs it. Source: YLL, section
    5.1.1, after Hay, Elagina and Miklau 2017.
    """
    m, eps = check.integer("n_items", n_items, 2), check.epsilon(epsilon)
    step = STEPS[check.choice("relation", relation, tuple(STEPS))]
    if check.choice("calibration", calibration, CALIBRATIONS) == "tight":
        return step * comb(m, 2) / eps
    return (m - 1) * log(m) / eps


def dp_kwiksort(
    counts: ArrayLike,
    *,
    epsilon: float,
    relation: str = "replace",
    calibration: str = "tight",
    size: int | None = None,
    rng: np.random.Generator,
) -> Ints:
    """Rank by KwikSort on noisy comparisons.

    Parameters
    ----------
    counts : array of int, shape (m, m)
        Entry [i, j] is the number of users who place i before j.
    epsilon, relation, calibration
        As for `dp_kwiksort_scale`.
    size : int, optional
        Number of independent releases; one, and no axis for it, if omitted.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (m,) or (size, m)
        Positions.

    Notes
    -----
    **Privacy.** As `dp_kwiksort_scale`; `dp_kwiksort_pmf` is the exact twin.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    lead = _leads(counts, None)
    scale = dp_kwiksort_scale(len(lead), epsilon, relation=relation, calibration=calibration)
    runs = 1 if size is None else check.integer("size", size, 1)
    upper = np.triu_indices(len(lead), 1)
    first = lead[upper] + laplace_noise(scale, (runs, upper[0].size), rng=rng) > 0
    ahead = np.zeros((runs, *lead.shape), dtype=bool)
    ahead[:, upper[0], upper[1]] = first
    ahead[:, upper[1], upper[0]] = ~first
    positions, _ = counted_kwiksorts(ahead, rng=rng)
    return positions[0] if size is None else positions


def dp_kwiksort_pmf(
    counts: ArrayLike, *, epsilon: float, relation: str = "replace", calibration: str = "tight"
) -> Array:
    """Exact law of `dp_kwiksort`, for up to 7 items.

    Parameters
    ----------
    counts, epsilon, relation, calibration
        As for `dp_kwiksort`.

    Returns
    -------
    array, shape (m!,)
        In the order of `dpbook.models.all_rankings`; full relative accuracy.
    """
    lead = _leads(counts, 7)
    scale = dp_kwiksort_scale(len(lead), epsilon, relation=relation, calibration=calibration)
    return np.asarray(kwiksort_cost_pmf(laplace_preference(lead, scale)).sum(axis=1))


def dp_kwiksort_loss_three(
    epsilon: float, *, relation: str = "replace", calibration: str = "described"
) -> float:
    """Exact worst loss of the released ranking of three items, over all profiles of any size.

    Parameters
    ----------
    epsilon, relation, calibration
        As for `dp_kwiksort_scale`.

    Returns
    -------
    float
        In nats.

    Notes
    -----
    With p_ab the chance that a wins against b, the order a b c has the chance
    p_ab p_bc (1 + 2 p_ac) / 3: pivot b asks for two comparisons, the pivots a and c for all three.
    It grows in each p, so the worst change turns the ranking c b a into a b c and moves all three
    leads by the step s. The log-ratio is then a sum of three terms, each a function of one lead.
    The first two are largest, s / scale, when the lead ends at or below 0; the third is largest
    near a tie, and is maximised below over whole leads x, the number of users being even or odd.
    All three are attained together: leads of equal parity come from some profile (McGarvey 1953),
    to which c b a and a b c may be added without changing them.
    """
    b = dp_kwiksort_scale(3, epsilon, relation=relation, calibration=calibration)
    return _three(b, STEPS[relation])


def dp_kwiksort_loss_bound(
    n_items: int, epsilon: float, *, relation: str = "replace", calibration: str = "described"
) -> float:
    """Loss of the released ranking that neighbouring profiles come arbitrarily near.

    Parameters
    ----------
    n_items : int
        Number of items m, at most 400.
    epsilon, relation, calibration
        As for `dp_kwiksort_scale`.

    Returns
    -------
    float
        Lower bound on the worst loss, in nats; exact for two and three items.

    Notes
    -----
    Every matrix of leads of equal parity comes from some profile (McGarvey 1953), and one user with
    the reverse of the identity who changes to it moves all leads by the step s. Two families:

    * All leads end in a tie. If every pair is won with the same chance p, the chance f of the
      identity obeys f(m) = p^(m-1) (1/m) sum over k of f(k) f(m-1-k), with f(0) = f(1) = 1. Two
      users are enough: one keeps the reverse, the other changes to the identity.
    * Item 0 lies hopelessly far behind all items but item 1. Then the identity needs item 1 as the
      first pivot, which makes m - 1 comparisons and parts item 0 from the m - 2 others, to which
      the same may be done. With all other leads at or below a tie at the end, each comparison
      contributes s / scale: together floor(m^2 / 4) of them, so that no scale below
      s floor(m^2 / 4) / epsilon is enough.

    The bound is the best mixture: force pivots first, then leave the rest tied.
    """
    m = check.integer("n_items", n_items, 2, 400)
    b = dp_kwiksort_scale(m, epsilon, relation=relation, calibration=calibration)
    step = STEPS[relation]
    tied = _log_identity(m, 0.5) - _log_identity(m, 0.5 * exp(-step / b))
    bound = np.zeros(m + 1)
    bound[2] = step / b
    for n in range(3, m + 1):
        best = _three(b, step) if n == 3 else tied[n]
        bound[n] = max(best, (n - 1) * step / b + bound[n - 2])
    return float(bound[m])


def _log_identity(m: int, p: float) -> Array:
    """Log-chances of the identity on 0, ..., m items when every pair is won with chance p."""
    logs = np.zeros(m + 1)
    for n in range(2, m + 1):
        terms = logs[:n] + logs[:n][::-1]
        top = terms.max()
        logs[n] = (n - 1) * log(p) + top + log(np.exp(terms - top).sum() / n)
    return logs


def _three(b: float, step: int) -> float:
    # The ratio falls with the distance from a tie, below -step and above 0.
    lead = np.arange(-step - 1.0, 2.0)
    third = np.log1p(2 * laplace_preference(lead + step, b))
    third -= np.log1p(2 * laplace_preference(lead, b))
    return float(2 * step / b + third.max())


def _leads(counts: ArrayLike, limit: int | None) -> Array:
    table = count_table("counts", counts, max_items=limit)
    return np.asarray(table - table.T)
