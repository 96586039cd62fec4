"""What a person who answers many questions by randomised response spends in total.

Neighbouring data differ in every answer of one person. The privacy loss of one report is +epsilon
with probability 1 / (1 + e^-epsilon), else -epsilon, and the losses of a person's reports are
independent and add up. For answers at unequal parameters use a library such as dp-accounting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.privacy.loss import profile_of_loss


def person_epsilon(epsilon_each: float, count: int) -> float:
    """Pure privacy parameter of a person who gives ``count`` answers: their sum, in nats.

    No smaller number will do: the losses between opposite answers to all questions add up to it.
    """
    return check.epsilon(epsilon_each, "epsilon_each") * check.integer("count", count, 1)


def composed_response_delta(epsilon_each: float, count: int, epsilon_total: ArrayLike) -> Array:
    """Smallest delta for which all answers together are (epsilon_total, delta)-private.

    The hockey-stick divergence between opposite answers to all questions, of the shape of
    ``epsilon_total``; fewer changed answers give less, by post-processing. Kairouz, Oh, Viswanath
    (2015), Theorem 3.3, with delta = 0 for each answer: no mechanism composes worse.
    """
    eps, q = check.epsilon(epsilon_each, "epsilon_each"), check.integer("count", count, 1)
    total = check.levels("epsilon_total", epsilon_total)
    return profile_of_loss(*_loss(eps, q, total.size), total)


def composed_response_epsilon(epsilon_each: float, count: int, delta: float) -> tuple[float, float]:
    """Bounds on the smallest epsilon for which all answers are (epsilon, delta)-private together.

    The smallest epsilon lies between them, rounding errors of the sums included; both are
    `person_epsilon` for delta = 0.
    """
    eps, q = check.epsilon(epsilon_each, "epsilon_each"), check.integer("count", count, 1)
    delta, most = check.probability("delta", delta, one=False), float(eps * q)
    if delta == 0:
        return most, most
    value, weight = _loss(eps, q, 1)
    slack = 1e-12 + 1e-14 * (1 + eps) * q  # of the probabilities, relatively

    def bracket(factor: float) -> tuple[float, float]:
        """Around the smallest epsilon of at least 0 whose delta, times this, is small enough."""
        low, high = 0.0, most
        if profile_of_loss(value, weight, np.asarray(low)) * factor <= delta:
            return 0.0, 0.0
        for _ in range(80):
            middle = (low + high) / 2
            above = profile_of_loss(value, weight, np.asarray(middle)) * factor > delta
            low, high = (middle, high) if above else (low, middle)
        return low, high

    low, high = bracket(1 - slack)[0], bracket(1 + slack)[1]
    rounding = 1e-14 * most  # of the values of the loss
    return max(0.0, low - rounding), min(high + rounding, most) if high > 0 else 0.0


def _loss(eps: float, q: int, totals: int) -> tuple[Array, Array]:
    """Values of the total loss of q answers, and their probabilities."""
    from scipy.special import gammaln

    # Half a gigabyte for each of the few arrays.
    allowed = "so few answers, and values of epsilon_total, that all losses can be listed"
    check.fits("count", q, 4 * q * max(totals, 1), allowed)
    k = np.arange(q + 1)
    choose = gammaln(q + 1) - gammaln(k + 1) - gammaln(q - k + 1)
    log_weight = choose - (q - k) * eps - q * np.log1p(np.exp(-eps))
    return np.asarray(eps * (2 * k - q), dtype=float), np.asarray(np.exp(log_weight), dtype=float)
