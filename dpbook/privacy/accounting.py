"""What a person who answers many questions by randomised response spends in total.

A person is protected if all answers together are: neighbouring data differ in every answer of one
person. The privacy loss of one report is +epsilon with probability 1 / (1 + e^-epsilon), else
-epsilon, and the losses of a person's reports are independent and add up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dpbook import _validation as check

__all__ = [
    "advanced_composition_epsilon",
    "composed_response_bounds",
    "composed_response_delta",
    "composed_response_epsilon",
    "person_epsilon",
]

Array = NDArray[np.float64]

KINDS = ("refined", "classic")

# Half a gigabyte for each of the few arrays, and about a minute of additions.
_MOST_LOSSES = 2**26
_MOST_STEPS = 2**36


def person_epsilon(epsilon_each: ArrayLike, count: ArrayLike = 1) -> float:
    """Pure privacy parameter of a person: the sum over all answers.

    Parameters
    ----------
    epsilon_each : float or array, shape (groups,)
        Privacy parameter of one answer, in nats, above 0.
    count : int or array of int, shape (groups,)
        How many answers are given at each parameter, at least 1.

    Returns
    -------
    float
        The smallest epsilon for which all answers together are (epsilon, 0)-private.

    Raises
    ------
    ValueError
        If a parameter is not positive, a count is no whole number, or the shapes do not fit.

    Notes
    -----
    XSC, Section 3.1, states the protection of one comparison. No smaller number will do: the
    reports are independent, so the loss between opposite answers to all questions, as opposite
    rankings give them, adds up to the sum.
    """
    eps, counts = _groups(epsilon_each, count)
    return float(eps @ counts)


def composed_response_delta(epsilon_each: float, count: int, epsilon_total: ArrayLike) -> Array:
    """Smallest delta for which all answers together are (epsilon_total, delta)-private.

    Parameters
    ----------
    epsilon_each : float
        Privacy parameter of one answer, in nats, above 0.
    count : int
        Number of answers q of the person, at least 1.
    epsilon_total : float or array
        At least 0, in nats.

    Returns
    -------
    array, the shape of ``epsilon_total``
        The hockey-stick divergence between opposite answers to all questions: a sum over the
        number of true reports, of positive terms only. Fewer changed answers give less, by
        post-processing.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Kairouz, Oh and Viswanath (2015), Theorem 3.3, with delta = 0 for each answer: randomised
    response is the worst mechanism for composition.
    """
    eps, q = check.epsilon(epsilon_each, "epsilon_each"), check.integer("count", count, 1)
    total = _total(epsilon_total)
    _require_listable(q, total.size)
    value, weight = _binomial_loss(eps, q)
    return _hockey_stick(value, weight, total)


def composed_response_bounds(
    epsilon_each: ArrayLike, count: ArrayLike, epsilon_total: ArrayLike, *, points: int = 2**16
) -> tuple[Array, Array]:
    """Bounds on the delta of `composed_response_delta` when the answers' parameters differ.

    Parameters
    ----------
    epsilon_each : array, shape (groups,)
        Privacy parameter of one answer of each group, in nats, above 0.
    count : int or array of int, shape (groups,)
        Number of answers of each group, at least 1.
    epsilon_total : float or array
        At least 0, in nats.
    points : int
        Number of grid points for the total loss, at least 2; more points, closer bounds.

    Returns
    -------
    lower, upper : array, the shape of ``epsilon_total``
        Delta lies between them, rounding errors of the sums included.

    Raises
    ------
    ValueError
        If a parameter is out of range or the shapes do not fit.

    Notes
    -----
    The loss of each group is rounded to the grid, up for the upper bound and down for the lower
    one; delta grows with the loss. All terms are positive.
    """
    eps, counts = _groups(epsilon_each, count)
    total, points = _total(epsilon_total), check.integer("points", points, 2, _MOST_LOSSES)
    check.fits("epsilon_total", epsilon_total, total.size * points, "fewer values, or points")
    return _bound(eps, counts, points, False)(total), _bound(eps, counts, points, True)(total)


def composed_response_epsilon(
    epsilon_each: ArrayLike, count: ArrayLike, delta: float, *, points: int = 2**16
) -> tuple[float, float]:
    """Bounds on the smallest epsilon for which all answers are (epsilon, delta)-private together.

    Parameters
    ----------
    epsilon_each : float or array, shape (groups,)
        Privacy parameter of one answer, in nats, above 0.
    count : int or array of int, shape (groups,)
        Number of answers at each parameter, at least 1.
    delta : float
        In [0, 1).
    points : int
        As for `composed_response_bounds`; without effect when all parameters are equal.

    Returns
    -------
    lower, upper : float
        The smallest epsilon lies between them; both are `person_epsilon` for delta = 0.

    Raises
    ------
    ValueError
        If a parameter is out of range or the shapes do not fit.
    """
    eps, counts = _groups(epsilon_each, count)
    delta = check.probability("delta", delta, one=False)
    points = check.integer("points", points, 2, _MOST_LOSSES)
    most = float(eps @ counts)
    if delta == 0:
        return most, most
    _require_listable(counts.sum(dtype=float), 1)
    if (eps == eps[0]).all():
        value, weight = _binomial_loss(float(eps[0]), int(counts.sum()))
        slack = _slack(eps, counts)
        low = _crossing(lambda e: _hockey_stick(value, weight, e) * (1 - slack), delta, most)[0]
        high = _crossing(lambda e: _hockey_stick(value, weight, e) * (1 + slack), delta, most)[1]
    else:
        low = _crossing(_bound(eps, counts, points, False), delta, most)[0]
        high = _crossing(_bound(eps, counts, points, True), delta, most)[1]
    # The values of the loss are rounded too.
    rounding = 1e-14 * most
    return max(0.0, low - rounding), min(high + rounding, most) if high > 0 else 0.0


def advanced_composition_epsilon(
    epsilon_each: ArrayLike, count: ArrayLike, delta: float, *, kind: str = "refined"
) -> float:
    """Total epsilon by advanced composition, a bound to compare the exact value with.

    Parameters
    ----------
    epsilon_each : float or array, shape (groups,)
        Privacy parameter of one answer, in nats, above 0.
    count : int or array of int, shape (groups,)
        Number of answers at each parameter, at least 1.
    delta : float
        In (0, 1).
    kind : {"refined", "classic"}
        The expected loss of one answer enters as epsilon tanh(epsilon / 2), its exact value, or as
        epsilon (e^epsilon - 1).

    Returns
    -------
    float
        Expected loss plus ``sqrt(2 log(1 / delta) sum of epsilon^2)``, or `person_epsilon` if that
        is smaller.

    Raises
    ------
    ValueError
        If a parameter is out of range or the shapes do not fit.

    Notes
    -----
    Dwork, Rothblum and Vadhan (2010), Theorem III.3 (``"classic"``); Hoeffding's inequality for
    the sum of the losses, each in an interval of length 2 epsilon (``"refined"``).
    """
    eps, counts = _groups(epsilon_each, count)
    delta = check.probability("delta", delta, zero=False, one=False)
    with np.errstate(over="ignore"):
        exact = check.choice("kind", kind, KINDS) == "refined"
        mean = np.tanh(eps / 2) if exact else np.expm1(eps)
    spread = np.sqrt(-2 * np.log(delta) * (eps**2 @ counts))
    return float(min((eps * mean) @ counts + spread, eps @ counts))


def _require_listable(answers: float, totals: int) -> None:
    """The losses are listed, one for each number of true reports and each total asked about."""
    if not answers * max(totals, 1) <= _MOST_LOSSES:
        raise ValueError(
            f"count = {answers:g} answers, {totals} value(s) of epsilon_total: allowed is a "
            f"product of at most {_MOST_LOSSES}"
        )


def _binomial_loss(eps: float, q: int) -> tuple[Array, Array]:
    """Values of the total loss of q answers, and their probabilities."""
    k = np.arange(q + 1)
    choose = gammaln(q + 1) - gammaln(k + 1) - gammaln(q - k + 1)
    log_weight = choose - (q - k) * eps - q * np.log1p(np.exp(-eps))
    return np.asarray(eps * (2 * k - q), dtype=float), np.asarray(np.exp(log_weight), dtype=float)


def _hockey_stick(value: Array, weight: Array, total: Array) -> Array:
    """Sum of weight (1 - e^(total - value)) over the values above the total."""
    with np.errstate(over="ignore"):
        gain = np.maximum(-np.expm1(total[..., None] - value), 0.0)
    return np.asarray(gain @ weight)


def _slack(eps: Array, counts: NDArray[np.int64]) -> float:
    """Bound on the relative rounding error of the probabilities of the losses."""
    return float(1e-12 + 1e-14 * (1 + eps) @ counts)


def _bound(
    eps: Array, counts: NDArray[np.int64], points: int, up: bool
) -> Callable[[Array], Array]:
    """Delta as a function of epsilon, with all losses rounded up or all rounded down."""
    if not counts.sum(dtype=float) * points <= _MOST_STEPS:
        raise ValueError(
            f"count = {counts.sum(dtype=float):g} answers on {points} points: allowed is a product "
            f"of at most {_MOST_STEPS}"
        )
    # Losses from -sum to sum of epsilon; two steps to spare for the rounding of each group.
    span = 2 * float(eps @ counts)
    step = span / (points - 1)
    size = points + 2 * eps.size
    law = np.zeros(size)
    law[0] = 1.0
    for e, q in zip(eps, counts, strict=True):
        loss, weight = _binomial_loss(float(e), int(q))
        # Relative to the smallest loss -e q, so that all shifts are at least 0.
        exact = (loss + e * q) / step
        shift = (np.ceil(exact - 1e-9) if up else np.floor(exact + 1e-9)).astype(np.int64)
        mixed = np.zeros(size)
        for by, share in zip(shift, weight, strict=True):
            mixed[by:] += share * law[: size - by]
        law = mixed
    # The tolerance of 1e-9 steps above is paid for here, with the rounding of the grid itself.
    margin = (1e-8 * eps.size + 1e-12 * points) * step * (1 if up else -1)
    value = np.asarray(np.arange(size) * step - span / 2 + margin, dtype=float)
    factor = 1 + (1 if up else -1) * _slack(eps, counts)
    return lambda total: np.clip(_hockey_stick(value, law, total) * factor, 0.0, 1.0)


def _crossing(delta_of: Callable[[Array], Array], delta: float, most: float) -> tuple[float, float]:
    """Bracket the smallest epsilon of at least 0 whose delta is at most ``delta``."""
    low, high = 0.0, most
    if float(delta_of(np.asarray(low))) <= delta:
        return 0.0, 0.0
    for _ in range(80):
        middle = (low + high) / 2
        if float(delta_of(np.asarray(middle))) > delta:
            low = middle
        else:
            high = middle
    return low, high


def _total(epsilon_total: ArrayLike) -> Array:
    total = check.real_array("epsilon_total", epsilon_total).astype(float)
    if np.isnan(total).any() or (total < 0).any():
        raise ValueError(
            "epsilon_total holds a negative number or NaN: allowed are numbers of at least 0"
        )
    return total


def _groups(epsilon_each: ArrayLike, count: ArrayLike) -> tuple[Array, NDArray[np.int64]]:
    eps = np.atleast_1d(check.real_array("epsilon_each", epsilon_each).astype(float))
    counts = np.atleast_1d(check.real_array("count", count))
    if eps.ndim != 1 or not eps.size or not np.isfinite(eps).all() or eps.min() <= 0:
        raise ValueError(
            f"epsilon_each = {epsilon_each!r}: allowed are finite numbers above 0, shape (groups,)"
        )
    if counts.dtype.kind not in "iu" or counts.min() < 1 or counts.shape not in ((1,), eps.shape):
        raise ValueError(
            f"count = {count!r}: allowed are integers >= 1, one or of shape {eps.shape}"
        )
    return eps, np.broadcast_to(counts, eps.shape).astype(np.int64)
