"""Fano inequalities under differential privacy, and linear programs as their referees."""

from __future__ import annotations

from math import exp, expm1, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, linprog, minimize_scalar
from scipy.sparse import coo_array

from dpbook import _validation as check

# More laws than a float can count.
MOST_HYPOTHESES = 10**300

__all__ = [
    "dp_fano_error",
    "dp_fano_risk",
    "dp_fano_risk_printed",
    "fano_error",
    "largest_log_ratio",
    "optimal_private_risk",
    "product_log_ratio",
    "record_log_ratio",
]

Array = NDArray[np.float64]


def fano_error(hypotheses: int, kl: float) -> float:
    """Error probability that no test avoids, private or not.

    Parameters
    ----------
    hypotheses : int
        Number M of laws, at least 2.
    kl : float
        Bound on the pairwise Kullback-Leibler divergences, in nats.

    Returns
    -------
    float
        max(0, 1 - (kl + log 2) / log M): a lower bound on the mean error over the M laws.
    """
    number = check.integer("hypotheses", hypotheses, 2, MOST_HYPOTHESES)
    return max(0.0, 1 - (check.nonnegative("kl", kl) + log(2)) / log(number))


def dp_fano_risk_printed(
    hypotheses: int, distance: float, *, epsilon: float, delta: float = 0.0
) -> float:
    """Private part of the Fano inequality as printed, for loss distance 1.

    Parameters
    ----------
    hypotheses : int
        Number M of laws.
    distance : float
        Bound D on the expected Hamming distance of the couplings, in records.
    epsilon, delta : float
        Privacy parameters.

    Returns
    -------
    float
        0.45 (min(1, (M - 1) exp(-10 epsilon D)) - 10 (M - 1) D delta).

    Notes
    -----
    CCW25, Theorem A.1.
    """
    m, d, eps, delta = _arguments(hypotheses, distance, epsilon, delta)
    return 0.45 * (min(1.0, m * exp(-10 * eps * d)) - 10 * m * d * delta)


def dp_fano_risk(hypotheses: int, distance: float, *, epsilon: float, delta: float = 0.0) -> float:
    """Risk that no private estimator avoids, for a metric loss and loss distance 1.

    Parameters
    ----------
    hypotheses, distance, epsilon, delta
        As for `dp_fano_risk_printed`.

    Returns
    -------
    float
        The minimum over h in [0, 1] of 1/2 (1 - h + max(0, (M-1) (h e^(-eps D/h) - D delta))).

    Notes
    -----
    h is the mean weight that the estimator puts nearer to the truth than half the loss distance.
    Never below `dp_fano_risk_printed`.
    """
    m, d, eps, delta = _arguments(hypotheses, distance, epsilon, delta)

    def half(h: float) -> float:
        return (1 - h + max(0.0, m * (h * exp(-eps * d / h) - d * delta * exp(-eps)))) / 2

    found = minimize_scalar(half, bounds=(1e-9, 1.0), method="bounded", options={"xatol": 1e-12})
    return float(min(found.fun, half(1.0)))  # convex in h, so the local minimum is global


def dp_fano_error(
    alternatives: float, exponent: float, *, random: bool = True, delta_term: float = 0.0
) -> float:
    """Error probability that no private test avoids.

    Parameters
    ----------
    alternatives : float
        Number of laws besides the first: M - 1 for a packing, or the number of neighbours of one
        law in a star.
    exponent : float
        Privacy cost of moving from one law to the other: epsilon times the expected coupling
        distance, or a (mean) largest log-ratio such as `product_log_ratio`.
    random : bool
        False if the exponent bounds the log-ratio itself and not only the mean of a random cost.
    delta_term : float
        exp(-epsilon) D delta, the part of an acceptance probability that delta gives away.

    Returns
    -------
    float
        The smallest b with b >= alternatives ((1-b) e^(-exponent/(1-b)) - delta_term); with
        ``random=False`` the exponent is not divided by 1 - b.
    """
    number = check.positive("alternatives", alternatives)
    cost = check.nonnegative("exponent", exponent)
    lost = check.nonnegative("delta_term", delta_term)

    def excess(b: float) -> float:
        scale = 1 - b if random else 1.0
        return b - number * ((1 - b) * exp(-cost / scale) - lost)

    if excess(0.0) >= 0:
        return 0.0
    return float(brentq(excess, 0.0, 1 - 1e-12, xtol=1e-15))


def product_log_ratio(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Largest log-ratio of acceptance probabilities of a private test, independent bits.

    Parameters
    ----------
    p, q : array, shape (bits,)
        Probabilities of a one under the two laws.
    epsilon : float
        Privacy parameter; neighbours differ in one bit.

    Returns
    -------
    float
        Sum of log((1 + p (e^(s epsilon) - 1)) / (1 + q (e^(s epsilon) - 1))), s the sign of p - q.
    """
    a, b = check.finite_array("p", p).ravel(), check.finite_array("q", q).ravel()
    eps = check.nonnegative("epsilon", epsilon)
    for name, value in (("p", a), ("q", b)):
        if value.min() < 0 or value.max() > 1:
            raise ValueError(f"{name} leaves [0, 1]: allowed are probabilities")
    if a.shape != b.shape:
        raise ValueError(f"q has {b.size} entries: allowed are as many as p, {a.size}")
    factor = np.expm1(np.sign(a - b) * eps)
    return float((np.log1p(a * factor) - np.log1p(b * factor)).sum())


def record_log_ratio(law: ArrayLike, other: ArrayLike, epsilon: float) -> float:
    """The same for one record with any finite law, all of whose values are neighbours.

    Parameters
    ----------
    law, other : array, shape (values,)
        Laws of the record.
    epsilon : float
        Privacy parameter.

    Returns
    -------
    float
        The maximum over events A of log((1 + law(A) (e^eps - 1)) / (1 + other(A) (e^eps - 1))).
        Independent records add up.
    """
    a, b = check.finite_array("law", law), check.finite_array("other", other)
    _require_laws("law", a)
    _require_laws("other", b)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"other of shape {b.shape}: allowed is the shape of law, one dimension")
    factor = expm1(check.nonnegative("epsilon", epsilon))
    order = np.argsort(-a / np.where(a + b > 0, a + b, 1), kind="stable")
    sums = np.cumsum(a[order]), np.cumsum(b[order])  # the best event is a likelihood-ratio set
    return float(max(0.0, (np.log1p(factor * sums[0]) - np.log1p(factor * sums[1])).max()))


def largest_log_ratio(law: ArrayLike, other: ArrayLike, epsilon: float) -> float:
    """`product_log_ratio` by linear programming, over all tests of a few bits.

    Parameters
    ----------
    law, other : array, shape (2^d,)
        Laws of the data, as from `product_law`.
    epsilon : float
        Privacy parameter.

    Returns
    -------
    float
    """
    a, b = check.finite_array("law", law), check.finite_array("other", other)
    _require_laws("law", a)
    _require_laws("other", b)
    x, y = _flips(len(a))
    eps, rows = check.nonnegative("epsilon", epsilon), np.arange(len(x))
    weights = np.concatenate([np.ones(len(x)), np.full(len(x), -exp(eps))])
    at = (np.tile(rows, 2), np.concatenate([x, y]))
    ratio = coo_array((weights, at), shape=(len(x), len(a)))
    found = linprog(-a, A_ub=ratio.toarray(), b_ub=np.zeros(len(x)), A_eq=b[None], b_eq=[1.0])
    if found.status != 0:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    return log(-float(found.fun or 0.0))


def optimal_private_risk(
    laws: ArrayLike, loss: ArrayLike, *, epsilon: float, delta: float = 0.0
) -> float:
    """Smallest worst-case risk of all private mechanisms on a few bits, by linear programming.

    Parameters
    ----------
    laws : array, shape (M, 2^d)
        Laws of the data; neighbours differ in one bit.
    loss : array, shape (M, outputs)
        Loss of each output under each law.
    epsilon, delta : float
        Privacy parameters.

    Returns
    -------
    float
        A lower bound of the optimum that the dual solution proves, up to rounding; it is within
        1e-6 of the risk that the solver attains.

    Raises
    ------
    ValueError
        If a loss is negative or the shapes do not fit.
    RuntimeError
        If the solver fails or its dual solution does not certify the value.
    """
    p = check.finite_array("laws", laws, min_ndim=2)
    if p.ndim != 2:
        raise ValueError(f"laws of shape {p.shape}: allowed is (M, 2^d)")
    _require_laws("laws", p)
    cost = check.finite_array("loss", loss, min_ndim=2)
    if len(p) != len(cost):
        raise ValueError(f"loss has {len(cost)} rows: allowed is one for each law, {len(p)}")
    if cost.min() < 0:
        raise ValueError(f"loss holds {cost.min()}: allowed are numbers of at least 0")
    growth = exp(check.nonnegative("epsilon", epsilon))
    delta = check.probability("delta", delta)
    (laws_n, data), out = p.shape, cost.shape[1]
    x, y = _flips(data)
    # Variables: mechanism (data x out), excess over e^eps (neighbours x out), worst risk.
    k, e = data * out, len(x) * out
    s = np.tile(np.arange(out), len(x))
    here, there = np.repeat(x, out) * out + s, np.repeat(y, out) * out + s
    row = np.arange(e)
    upper = np.zeros((laws_n + e + len(x), k + e + 1))
    upper[:laws_n, :k] = (p[:, :, None] * cost[:, None, :]).reshape(laws_n, -1)
    upper[:laws_n, -1] = -1
    upper[laws_n + row, here], upper[laws_n + row, there] = 1, -growth
    upper[laws_n + row, k + row] = -1
    upper[laws_n + e + row // out, k + row] = 1
    right = np.concatenate([np.zeros(laws_n + e), np.full(len(x), delta)])
    equal = np.zeros((data, k + e + 1))
    equal[np.repeat(np.arange(data), out), np.arange(k)] = 1
    goal = np.zeros(k + e + 1)
    goal[-1] = 1
    # The default of 1e-7 is too coarse for rows with coefficients of e^epsilon.
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    program: dict[str, Any] = {"A_ub": upper, "b_ub": right, "A_eq": equal, "options": tight}
    found = linprog(goal, b_eq=np.ones(data), **program)
    if found.status != 0:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    # Weak duality: whatever the multipliers, no mechanism has a risk below this value. All
    # variables lie in [0, 1], except the risk, which the largest loss bounds.
    less, same = np.minimum(found.ineqlin.marginals, 0), found.eqlin.marginals
    reduced = goal - upper.T @ less - equal.T @ same
    reduced[-1] *= max(1.0, float(cost.max()))
    proved = float(right @ less + same.sum() + np.minimum(reduced, 0).sum())
    if abs(proved - float(found.fun or 0.0)) > 1e-6:
        raise RuntimeError("the dual solution does not certify the optimum to 1e-6")
    return proved


def _require_laws(name: str, laws: Array) -> None:
    """Refuse what does not sum to one, the rounding of a few thousand additions apart."""
    totals = laws.sum(axis=-1)
    if laws.min() < 0 or np.abs(totals - 1).max() > 1e-9:
        raise ValueError(
            f"{name} sums to {totals.flat[np.abs(totals - 1).argmax()]:.12g}, with a least entry "
            f"of {laws.min():g}: allowed are probabilities with total 1"
        )


def _flips(data: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All ordered pairs of data sets that differ in one bit."""
    bits = data.bit_length() - 1
    if data != 2**bits or not 1 <= bits <= 6:
        raise ValueError(f"law over {data} data sets: allowed is a power of two from 2 to 64")
    x = np.repeat(np.arange(data), bits)
    return x, x ^ np.tile(2 ** np.arange(bits), data)


def _arguments(
    hypotheses: int, distance: float, epsilon: float, delta: float
) -> tuple[int, float, float, float]:
    return (
        check.integer("hypotheses", hypotheses, 2, MOST_HYPOTHESES) - 1,
        check.nonnegative("distance", distance),
        check.nonnegative("epsilon", epsilon),
        check.probability("delta", delta),
    )
