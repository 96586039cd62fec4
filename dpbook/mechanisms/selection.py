"""Private choice of one candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array


def exponential_pmf(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Law of the exponential mechanism: chances proportional to exp(epsilon u / (2 D)).

    (epsilon, 0)-DP, epsilon in nats: half of it pays for the weights, half for the sum they are
    divided by (McSherry and Talwar 2007, Theorem 6). One of the utilities u, (candidates,), changes
    by at most D, the sensitivity, between neighbours; larger is better.
    """
    u = check.finite_array("utilities", utilities)
    if u.ndim != 1:
        raise ValueError(f"utilities of shape {u.shape}: allowed is the shape (candidates,)")
    rate = check.epsilon(epsilon) / (2 * check.positive("sensitivity", sensitivity))
    weights = np.exp(rate * (u - u.max()))
    return np.asarray(weights / weights.sum())
