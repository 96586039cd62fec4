"""Private choice of one candidate: exact laws of the exponential mechanism and permute-and-flip.

Both look at one utility per candidate, larger is better, and both are epsilon-DP when a change of
the data moves every utility by at most `sensitivity`. Permute-and-flip never has a smaller expected
utility (McKenna and Sheldon 2020). ``rng.choice(law.size, p=law)`` draws from a law.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check

Array = NDArray[np.float64]

# More nodes than this change nothing: the integrand is below exp(-expected arrivals * t).
MAX_NODES = 512


def exponential_pmf(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Law of the exponential mechanism: chances proportional to exp(epsilon u / (2 D)).

    Parameters
    ----------
    utilities : array, shape (candidates,)
        Larger is better.
    sensitivity : float
        Largest change D of one utility between neighbours, above 0.
    epsilon : float
        Privacy parameter in nats, above 0.

    Returns
    -------
    array, shape (candidates,)

    Notes
    -----
    **Privacy.** (epsilon, 0)-DP: half of epsilon pays for the weights, half for the sum they are
    divided by. Source: McSherry and Talwar 2007, Theorem 6.
    """
    weights = np.exp(_log_chances(utilities, sensitivity, epsilon))
    return np.asarray(weights / weights.sum())


def permute_and_flip_pmf(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Exact law of permute-and-flip.

    Parameters
    ----------
    utilities, sensitivity, epsilon
        As in `exponential_pmf`.

    Returns
    -------
    array, shape (candidates,)

    Notes
    -----
    Candidates arrive in random order; the first whose coin shows heads, with chance
    p_i = exp(epsilon (u_i - max u) / (2 D)), is taken. Give each an independent uniform arrival
    time: candidate i is taken at time t if no other arrived before t with heads, so

        P(i) = p_i * integral over t in (0, 1) of the product over j != i of (1 - p_j t).

    The integrand is a polynomial of degree ``candidates - 1`` and positive; Gauss-Legendre with
    half as many nodes integrates it exactly (512 nodes reach rounding error for any number).

    **Privacy.** (epsilon, 0)-DP. Source: McKenna and Sheldon 2020, Algorithm 1 and Theorem 1; the
    arrival times are ours.
    """
    from scipy.special import roots_legendre

    accept = np.exp(_log_chances(utilities, sensitivity, epsilon))
    node, weight = roots_legendre(min(accept.size // 2 + 1, MAX_NODES))
    law = np.zeros(accept.size)
    for t, w in zip((node + 1) / 2, weight / 2, strict=True):
        log_pass = np.log1p(-accept * t)
        law += w * np.exp(log_pass.sum() - log_pass)
    return np.asarray(law * accept)


def _log_chances(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Rescaled utilities with the best at 0."""
    u = check.finite_array("utilities", utilities)
    if u.ndim != 1:
        raise ValueError(f"utilities of shape {u.shape}: allowed is the shape (candidates,)")
    rate = check.epsilon(epsilon) / (2 * check.positive("sensitivity", sensitivity))
    return np.asarray(rate * (u - u.max()))
