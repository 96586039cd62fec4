"""How much noise and ridge make the perturbed maximum-likelihood estimate private, and its loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook.privacy.sensitivity import person_design

__all__ = ["MleCalibration", "mle_calibration", "perturbed_mle_loss"]

CALIBRATIONS = ("tight", "printed", "flips-only")
DESIGNS = ("with_replacement", "each_pair_once", "each_pair_or_skip")


@dataclass(frozen=True)
class MleCalibration:
    """Noise and ridge of a perturbed maximum-likelihood estimate.

    Attributes
    ----------
    scale : float
        Scale lambda of the Laplace noise on the score.
    gamma : float
        Ridge parameter.
    """

    scale: float
    gamma: float


def perturbed_mle_loss(
    scale: float, gamma: float, *, comparisons: int = 1, exchange: bool = True
) -> float:
    """Exact privacy loss of the perturbed maximum-likelihood estimate, logistic link.

    Parameters
    ----------
    scale : float
        Scale lambda of the Laplace noise on the score.
    gamma : float
        Ridge parameter, above 0.
    comparisons : int
        Number of comparisons that may change: 1 for edge privacy, L for individual privacy.
    exchange : bool
        Whether the pairs compared may change too; if not, only the outcomes may.

    Returns
    -------
    float
        ``comparisons * (2 / scale + max over u in [0, 1] of (2 u / scale + log(1 + 2 u (1 - u) /
        gamma)))`` with exchanges, ``2 * comparisons / scale`` without.

    Notes
    -----
    A flip leaves the Hessian as it is and moves the score by 2 in l1, attained far out where the
    ridge fixes all signs. A removed comparison with u = abs(F - y) has curvature u (1 - u): it
    moves the score by at most 2 u and multiplies the determinant by at most 1 + 2 u (1 - u) /
    gamma. An added comparison moves the score by at most 2, at u = 1, where it adds no curvature;
    elsewhere it only lowers the ratio of determinants. The value is the supremum over all
    data and outputs: reached with finitely many items (2 comparisons + 2, or more if the ridge is
    large) when u < 1, approached as n grows when u = 1; for smaller n it is an upper bound. When
    gamma >= scale the maximum is at u = 1, and the loss is 4 * comparisons / scale.
    """
    scale, gamma = check.positive("scale", scale), check.positive("gamma", gamma)
    comparisons = check.integer("comparisons", comparisons, 1)
    if not exchange:
        return 2 * comparisons / scale
    # Stationary points of 2u/scale + log1p(2u(1-u)/gamma): gamma + 2u - 2u^2 + scale(1 - 2u) = 0.
    linear, constant = 1 - scale, gamma + scale
    u = (linear + np.sqrt(linear**2 + 2 * constant)) / 2
    removed = max(
        2 * x / scale + np.log1p(2 * x * (1 - x) / gamma) for x in (1.0, float(np.clip(u, 0, 1)))
    )
    return float(comparisons * (2 / scale + removed))


def mle_calibration(
    n_items: int,
    *,
    epsilon: float,
    privacy: str,
    design: str | None = None,
    per_user: int | None = None,
    calibration: str = "tight",
    gamma: float | None = None,
) -> MleCalibration:
    """Noise and ridge that make the perturbed maximum-likelihood estimate private.

    Parameters
    ----------
    n_items : int
        Number of items n.
    epsilon : float
        Privacy parameter in nats, above 0.
    privacy : {"edge", "individual"}
        One comparison protected, or everything one person says.
    design : {"with_replacement", "each_pair_once", "each_pair_or_skip"}, optional
        What a person answers (see `dpbook.privacy.bundle_contributions`), for individual privacy
        only; ``"with_replacement"`` when left out.
    per_user : int, optional
        Comparisons L of one person, for ``"with_replacement"`` only.
    calibration : {"tight", "printed", "flips-only"}
        The smallest scale that is proved in this book for the given ridge; the paper's, 8 L /
        epsilon with a ridge of at least 1 / epsilon (edge) or 2 L / epsilon (individual); or the
        smallest scale if the pairs compared are public and only outcomes are protected.
    gamma : float, optional
        Ridge parameter. Left out, it is the smallest one for which the tight scale has its
        simplest form (gamma = scale), or the printed minimum.

    Returns
    -------
    MleCalibration

    Raises
    ------
    ValueError
        If an argument is out of range, or no scale makes this ridge private (the determinant
        alone may lose epsilon).

    Notes
    -----
    **Privacy** (logistic link). ``"tight"``: (epsilon, 0)-DP; 4 L / epsilon when gamma >= scale
    (`perturbed_mle_loss`), floor(n^2 / 2) / epsilon when each pair is answered once (exact), and
    (n (n - 1) / 2 + 3 floor(n^2 / 4)) / (2 epsilon) with gamma >= scale when pairs may be
    skipped. ``"printed"`` (CCW25, Propositions 2.1 and 3.1): private, with a true loss of
    `perturbed_mle_loss`, below epsilon. ``"flips-only"``: (epsilon, 0)-DP for neighbours with the
    same pairs, and for no others.
    """
    epsilon = check.epsilon(epsilon)
    n = check.integer("n_items", n_items, 2)
    check.choice("calibration", calibration, CALIBRATIONS)
    design = person_design(privacy, design, per_user, DESIGNS) or "with_replacement"
    pairs = n * (n - 1) // 2
    if privacy == "edge":
        moved = 1
    elif design == "with_replacement":
        moved = check.integer("per_user", per_user, 1)
    else:
        moved = pairs
    ridge = None if gamma is None else check.positive("gamma", gamma)
    if calibration == "printed":
        minimum = (1 if privacy == "edge" else 2 * moved) / epsilon
        if ridge is not None and ridge < minimum:
            raise ValueError(f"gamma = {gamma!r}: allowed is at least {minimum:g} (printed)")
        return MleCalibration(8 * moved / epsilon, ridge or minimum)
    if design == "each_pair_once" or calibration == "flips-only":
        moves = n**2 // 2 if design != "with_replacement" else 2 * moved
        return MleCalibration(moves / epsilon, ridge or moves / epsilon)
    if design == "each_pair_or_skip":
        scale = (pairs + 3 * (n**2 // 4)) / (2 * epsilon)
        if ridge is not None and ridge < scale:
            raise ValueError(f"gamma = {gamma!r}: allowed is at least {scale:g} with skipped pairs")
        return MleCalibration(scale, ridge or scale)
    simplest = 4 * moved / epsilon
    if ridge is None or ridge >= simplest:
        return MleCalibration(simplest, ridge or simplest)
    return MleCalibration(_scale_for_small_ridge(epsilon, ridge, moved), ridge)


def _scale_for_small_ridge(epsilon: float, gamma: float, comparisons: int) -> float:
    """Smallest scale at which a ridge below it is private: the loss falls with the scale."""
    floor = comparisons * float(np.log1p(1 / (2 * gamma)))
    if floor >= epsilon:
        needed = 1 / (2 * np.expm1(epsilon / comparisons))
        raise ValueError(
            f"gamma = {gamma!r}: allowed is more than {needed:g}, else the determinant alone "
            f"loses epsilon = {epsilon:g}"
        )

    def excess(scale: float) -> float:
        return perturbed_mle_loss(scale, gamma, comparisons=comparisons) - epsilon

    # The loss lies between 4 c / scale and 4 c / scale + floor.
    low, high = 4 * comparisons / epsilon, 4 * comparisons / (epsilon - floor)
    root = brentq(excess, low * (1 - 1e-12), high * (1 + 1e-12), xtol=1e-13, rtol=1e-14)
    return float(root * (1 + 1e-12))
