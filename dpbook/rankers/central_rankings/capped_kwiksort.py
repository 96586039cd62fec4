"""Reduction II of AGKM: KwikSort on noisy answers, at most a given number of them.

Noise is added only to the pairs that KwikSort asks for; a run that asks for more than its cap is
given up and Reduction I answers instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.rankers.central_rankings._kwiksort_runs import (
    counted_kwiksorts,
    kwiksort_cost_pmf,
    laplace_preference,
)
from dpbook.rankers.central_rankings.pair_noise import (
    CALIBRATIONS,
    fraction_table,
    number_of_runs,
    pair_noise_scale,
    perturbed_fractions,
    private_kemeny,
    private_kemeny_pmf,
)

__all__ = [
    "CappedRun",
    "ReductionBudget",
    "capped_kwiksort",
    "capped_kwiksort_pmf",
    "reduction_budget",
]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ReductionBudget:
    """What Reduction II spends, in nats.

    Attributes
    ----------
    queries : float
        Exact loss of the noisy answers that KwikSort sees, at most the cap of them.
    fallback : float
        Exact loss of the noisy fractions of the fallback; 0 when it can never run.
    total : float
        Exact loss of the whole transcript, the sum of the two: opposite rankings attain both.
    """

    queries: float
    fallback: float

    @property
    def total(self) -> float:
        return self.queries + self.fallback


def reduction_budget(
    n_items: int, epsilon: float, *, cap: int, share: float = 0.5, calibration: str = "tight"
) -> ReductionBudget:
    """Budget of `capped_kwiksort` with Laplace noise.

    Parameters
    ----------
    n_items : int
        Number of items m.
    epsilon, cap, share, calibration
        As for `capped_kwiksort`.

    Returns
    -------
    ReductionBudget

    Notes
    -----
    ``"tight"`` adds up to epsilon. ``"printed"`` spends epsilon on the answers (scale
    q / (epsilon n), where Theorem 5 asks for epsilon / 2) and hands epsilon / 2 to the fallback:
    3 epsilon / 2 by the paper's own count. The generous m^2 in the fallback's scale brings the
    true total down to epsilon (1 + (m - 1) / (4 m)), which still exceeds epsilon. That is the
    transcript; the ranking alone hides part of it, see `capped_kwiksort`.
    """
    m, eps = check.integer("n_items", n_items, 2), check.epsilon(epsilon)
    _, cap, share = _plan(m, cap, share, calibration)
    pairs = comb(m, 2)
    if calibration == "tight":
        return ReductionBudget((1 - share) * eps, share * eps)
    return ReductionBudget(
        min(cap, pairs) / cap * eps, share * eps * pairs / m**2 if cap < pairs else 0.0
    )


@dataclass(frozen=True)
class CappedRun:
    """Result of `capped_kwiksort`.

    Attributes
    ----------
    positions : array of int, shape (m,) or (size, m)
        The rankings released.
    comparisons : array of int, shape () or (size,)
        Comparisons a run without a cap would have made. Not for release.
    fell_back : array of bool, shape () or (size,)
        Whether the ranking comes from the fallback. Not for release.
    """

    positions: Ints
    comparisons: Ints
    fell_back: NDArray[np.bool_]


def capped_kwiksort(
    fractions: ArrayLike,
    users: int,
    *,
    epsilon: float,
    cap: int,
    delta: float = 0.0,
    calibration: str = "tight",
    share: float = 0.5,
    size: int | None = None,
    rng: np.random.Generator,
) -> CappedRun:
    """Reduction II: KwikSort on at most `cap` noisy answers, else Reduction I.

    Parameters
    ----------
    fractions, users : array and int
        As for `noisy_fractions`.
    epsilon, delta : float
        Budget of the whole; with delta > 0 the answers get Gaussian noise, the fallback Laplace.
    cap : int
        Largest number q of comparisons, at least m - 1.
    calibration : {"tight", "printed"}
        Budgets that add up to epsilon, or the scales of Corollaries 6 and 7 and of Algorithm 1.
    share : float
        Fraction of epsilon kept for the fallback, strictly between 0 and 1; AGKM take 1/2, the
        only value allowed for ``"printed"``. The fallback is rare, so less may be better.
    size : int, optional
        Number of independent releases; one, and no axis for it, if omitted.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    CappedRun

    Raises
    ------
    ValueError
        If an argument lies outside its range.

    Notes
    -----
    All noisy answers are drawn at once and only those asked for are used; no pair is asked for
    twice. A run is stopped when it asks for answer q + 1, which is known from the first q.

    **Privacy.** ``"tight"``: (epsilon, delta)-DP; answers at (epsilon (1 - share), delta), fallback
    at epsilon * share. A cap of all m (m - 1) / 2 pairs never falls back and keeps no share.
    ``"printed"``: the transcript is not epsilon-DP, see `reduction_budget` for what it spends. The
    ranking alone is, for three items and a cap of 2, and comes arbitrarily near epsilon: a run
    that finishes spends at most epsilon, and the chance of falling back moves by a factor of at
    most exp(epsilon / 2), its many directions partly cancelling. For more items this is open. The
    exact twin for three items is `capped_kwiksort_pmf`. Source: AGKM, Theorem 5, Algorithm 1.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = fraction_table(fractions, users)
    m, runs = len(table), number_of_runs(size)
    answers, q, kept = _plan(m, cap, share, calibration)
    scale = pair_noise_scale(
        m,
        users,
        epsilon=check.epsilon(epsilon) * answers,
        delta=delta,
        queries=q,
        calibration=calibration,
    )
    noisy = perturbed_fractions(table, scale, delta > 0, runs, rng)
    positions, made = counted_kwiksorts(noisy > 0.5, rng=rng)
    over = made > q
    if over.any():
        positions[over] = private_kemeny(
            table,
            users,
            epsilon=epsilon * kept,
            calibration=calibration,
            size=int(over.sum()),
            rng=rng,
        )
    if size is None:
        return CappedRun(positions[0], made[0], over[0])
    return CappedRun(positions, made, over)


def capped_kwiksort_pmf(
    fractions: ArrayLike,
    users: int,
    *,
    epsilon: float,
    cap: int,
    calibration: str = "tight",
    share: float = 0.5,
) -> Array:
    """Exact law of `capped_kwiksort` with Laplace noise, for three items.

    Parameters
    ----------
    fractions : array, shape (3, 3)
        As for `private_kemeny_pmf`.
    users, epsilon, cap, calibration, share
        As for `capped_kwiksort`; only a cap of 2 can make the fallback run.

    Returns
    -------
    array, shape (6,)
        In the order of `dpbook.models.all_rankings`.
    """
    table = fraction_table(fractions)
    eps = check.epsilon(epsilon)
    answers, q, kept = _plan(len(table), cap, share, calibration)
    fallback = private_kemeny_pmf(
        table, users, epsilon=eps * (kept or 1.0), calibration=calibration
    )
    scale = pair_noise_scale(3, users, epsilon=eps * answers, queries=q, calibration=calibration)
    law = kwiksort_cost_pmf(laplace_preference(table - 0.5, scale))
    return np.asarray(law[:, : q + 1].sum(axis=1) + law[:, q + 1 :].sum() * fallback)


def _plan(m: int, cap: int, share: float, calibration: str) -> tuple[float, int, float]:
    """Share of epsilon for the answers, the cap, and the share kept for the fallback."""
    check.choice("calibration", calibration, CALIBRATIONS)
    check.probability("share", share, zero=False, one=False)
    cap = check.integer("cap", cap, m - 1)
    if calibration == "printed":
        if share != 0.5:
            raise ValueError(f"share = {share!r}: allowed is 0.5 for the printed calibration")
        return 1.0, cap, share
    cap = min(cap, comb(m, 2))
    share = share if cap < comb(m, 2) else 0.0
    return 1 - share, cap, share
