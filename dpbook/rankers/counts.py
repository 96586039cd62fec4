"""Ranking by noisy win counts.

Noisy counts release the win counts plus independent noise; the top-k set or the ranking is read
off the noisy counts. Every sampler has an exact twin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.estimators import win_counts
from dpbook.mechanisms import (
    discrete_laplace_noise,
    discrete_laplace_pmf,
    laplace_logpdf,
    laplace_noise,
)
from dpbook.privacy.laws import NOISES, ranking_law, top_k_law
from dpbook.privacy.sensitivity import count_sensitivity

__all__ = [
    "count_noise_scale",
    "noisy_counts",
    "noisy_counts_logpdf",
    "noisy_counts_ranking_pmf",
    "noisy_counts_top_k_pmf",
]

Array = NDArray[np.float64]

CALIBRATIONS = ("tight", "printed")


def count_noise_scale(
    n_items: int,
    *,
    epsilon: float,
    privacy: str = "edge",
    design: str = "with_replacement",
    per_user: int | None = None,
    calibration: str = "tight",
) -> float:
    """Scale of the noise that noisy counts add to each win count.

    Parameters
    ----------
    n_items : int
        Number of items n.
    epsilon : float
        Privacy parameter in nats, above 0.
    privacy : {"edge", "individual"}
        One comparison protected, or everything one person says.
    design : {"with_replacement", "each_pair_once", "each_pair_or_skip", "ranking"}
        What a person answers (see `dpbook.privacy.bundle_contributions`); ignored for edge
        privacy.
    per_user : int, optional
        Comparisons L of one person, for ``"with_replacement"`` only.
    calibration : {"tight", "printed"}
        The l1-sensitivity over epsilon, or what CCW25 prints: 2 / epsilon for edge privacy,
        L / epsilon for individual privacy (L = n (n - 1) / 2 when each pair is answered).

    Returns
    -------
    float
        In wins.

    Notes
    -----
    **Privacy.** ``"tight"`` gives (epsilon, 0)-DP and no smaller epsilon for the noisy counts.
    ``"printed"`` is the same for edge privacy (CCW25 Algorithm 2, tight). For individual privacy
    (CCW25 Algorithm 3) it is wrong: the counts are then private at ``count_sensitivity / L`` times
    epsilon, which is 2 epsilon for L comparisons with replacement.
    """
    epsilon = check.positive("epsilon", epsilon)
    check.choice("calibration", calibration, CALIBRATIONS)
    total = count_sensitivity(n_items, privacy=privacy, design=design, per_user=per_user)
    if calibration == "tight" or privacy == "edge":
        return total / epsilon
    comparisons = per_user if design == "with_replacement" else n_items * (n_items - 1) // 2
    return check.integer("per_user", comparisons, 1) / epsilon


def noisy_counts(
    data: Comparisons | ArrayLike,
    *,
    epsilon: float,
    privacy: str = "edge",
    design: str = "with_replacement",
    per_user: int | None = None,
    calibration: str = "tight",
    noise: str = "laplace",
    rng: np.random.Generator,
) -> NDArray[np.generic]:
    """Win counts plus independent noise: rank the items by the result.

    Parameters
    ----------
    data : Comparisons, or array of int, shape (..., n, n)
        Comparisons, or win matrices (one per replicate).
    epsilon, privacy, design, per_user, calibration
        As for `count_noise_scale`.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise. Discrete noise can tie; break ties at random, independently of the data
        (``ranks_from_scores(..., rng=rng)``).
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (..., n)
        Floats for Laplace noise, integers for discrete noise.

    Raises
    ------
    ValueError
        For arguments out of range, and for individual privacy if a person in ``data`` answered
        more than the design allows.

    Notes
    -----
    CCW25, Algorithms 2 and 3.

    **Privacy.** (epsilon, 0)-DP with ``calibration="tight"``: for edge privacy under flips and
    exchanges of one comparison, for individual privacy under replacement of one person's whole
    bundle by any other that the design allows. The released counts attain epsilon exactly; a
    top-k set or ranking read off them loses less on small data. ``"printed"`` as in
    `count_noise_scale`.
    Idealised sampler (floating point): for study, unsafe for a release.
    With ``noise="discrete_laplace"`` instead:
    Exact sampler (integer arithmetic): no floating-point leak, but for study too, since a seeded
    generator can be repeated.
    """
    if privacy == "individual" and isinstance(data, Comparisons):
        check_bundles(data, design, per_user)
    counts = win_counts(data)
    b = count_noise_scale(
        counts.shape[-1],
        epsilon=epsilon,
        privacy=privacy,
        design=design,
        per_user=per_user,
        calibration=calibration,
    )
    if check.choice("noise", noise, NOISES) == "laplace":
        return counts + laplace_noise(b, counts.shape, rng=rng)
    return counts + discrete_laplace_noise(b, counts.shape, rng=rng)


def noisy_counts_logpdf(
    values: ArrayLike, counts: ArrayLike, *, scale: float, noise: str = "laplace"
) -> Array:
    """Log-density (or log-probability) of noisy counts: the exact twin of `noisy_counts`.

    Parameters
    ----------
    values : array, shape (..., n)
        Released noisy counts.
    counts : array of int, shape (..., n)
        True win counts.
    scale : float
        Scale of the noise, from `count_noise_scale`.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise.

    Returns
    -------
    array, shape (...)
    """
    x = check.finite_array("values", values) - check.finite_array("counts", counts)
    if check.choice("noise", noise, NOISES) == "laplace":
        return np.asarray(laplace_logpdf(x, scale).sum(axis=-1))
    if not np.array_equal(x, np.rint(x)):
        raise ValueError("values hold a fraction: allowed are integers with discrete noise")
    return np.asarray(np.log(discrete_laplace_pmf(x, scale)).sum(axis=-1))


def noisy_counts_top_k_pmf(
    counts: ArrayLike, k: int, *, scale: float, noise: str = "laplace"
) -> Array:
    """Exact law of the top-k set of noisy counts; `dpbook.privacy.top_k_law` with its arguments.

    Parameters
    ----------
    counts : array of int, shape (n,)
        True win counts.
    k : int
        Size of the set.
    scale : float
        Scale of the noise, from `count_noise_scale`.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise.

    Returns
    -------
    array, shape (C(n, k),)
        In the order of `dpbook.privacy.sets_of`.
    """
    return top_k_law(counts, k, scale=scale, noise=noise)


def noisy_counts_ranking_pmf(counts: ArrayLike, *, scale: float, noise: str = "laplace") -> Array:
    """Exact law of the ranking of noisy counts; `dpbook.privacy.ranking_law` with its arguments.

    Parameters
    ----------
    counts : array of int, shape (n,)
        True win counts, n at most 7.
    scale : float
        Scale of the noise, from `count_noise_scale`.
    noise : {"laplace", "discrete_laplace"}
        Law of the noise.

    Returns
    -------
    array, shape (n!,)
        In the order of `dpbook.privacy.rankings_of`.
    """
    return ranking_law(counts, scale=scale, noise=noise)


def check_bundles(data: Comparisons, design: str, per_user: int | None) -> None:
    """Refuse data in which a person said more than the calibration assumes."""
    if data.user is None:
        raise ValueError(
            "data.user = None: allowed for individual privacy are labelled comparisons"
        )
    if design == "with_replacement":
        limit = check.integer("per_user", per_user, 1)
        busiest = int(np.unique(data.user, return_counts=True)[1].max())
        if busiest > limit:
            raise ValueError(f"per_user = {limit}: a person in data has {busiest} comparisons")
        return
    low, high = np.minimum(data.winner, data.loser), np.maximum(data.winner, data.loser)
    answers = np.stack([data.user, low, high], axis=1)
    if len(np.unique(answers, axis=0)) < len(answers):
        raise ValueError(f"design = {design!r}: a person in data compares one pair twice")
