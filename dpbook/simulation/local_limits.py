"""What `local_errors` must come to: limits in closed form, and two items exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit

from dpbook import _validation as check
from dpbook.mechanisms import debiased_variance, randomized_response_pmf
from dpbook.simulation.local import epsilon_groups, response_slopes

__all__ = ["local_rate", "pair_order_error", "privacy_schedule"]

Array = NDArray[np.float64]

SCHEDULES = ("faster", "threshold", "slower")
CONSISTENT = ("none", "debiased", "weighted", "laplace")
RANKED = ("none", "classic", "debiased", "weighted")
# Outcomes that one half of the groups may have in `pair_order_error`.
_MOST_OUTCOMES = 2**22


def local_rate(theta: ArrayLike, *, users: int, epsilon: ArrayLike, mechanism: str) -> float:
    """Root mean squared error of an estimate for many users, per item.

    Parameters
    ----------
    theta : array, shape (n,)
        True strengths, log-odds.
    users : int
        Number of users m, who answer every pair once.
    epsilon : float or array, shape (users,)
        Privacy parameter of one answer, in nats, for all users or for each.
    mechanism : {"none", "debiased", "weighted", "laplace"}
        As for `local_errors`; ``"classic"`` has no such limit, it is inconsistent.

    Returns
    -------
    float
        ``sqrt(trace(H^+ V H^+) / n)``, with the Hessian H of the expected objective without its
        ridge and the covariance V of its gradient: the limit of ``sqrt(mean(l2 ** 2))`` of
        `local_errors`, relative to it, when the users grow in number and gamma stays.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    The sandwich formula of M-estimation. XSC, Theorem 2, has the same rate without the constant.
    """
    strengths = check.item_vector("theta", theta)
    users, eps, counts = epsilon_groups(epsilon, users)
    check.choice("mechanism", mechanism, CONSISTENT)
    win = expit(strengths[:, None] - strengths)
    curvature = win * win.T
    if mechanism in ("none", "laplace"):
        noise = 2 * float(counts @ (1 / eps**2)) if mechanism == "laplace" else 0.0
        variance = users * curvature + noise
    else:
        weight = response_slopes(eps, counts, mechanism) * np.tanh(eps / 2)
        each = debiased_variance(win, eps[:, None, None])
        variance = np.tensordot(counts * weight**2, each, axes=1)
    inverse = np.linalg.pinv(_laplacian(users * curvature), hermitian=True)
    return float(np.sqrt(np.trace(inverse @ _laplacian(variance) @ inverse) / strengths.size))


def pair_order_error(gap: float, *, users: int, epsilon: ArrayLike, mechanism: str) -> float:
    """Exact probability that the better of two items is ranked last, a tie counting one half.

    Parameters
    ----------
    gap : float
        True strength of the better item minus that of the other, log-odds, at least 0.
    users : int
        Number of users m; each compares the two items once.
    epsilon : float or array, shape (users,)
        Privacy parameter of one answer, in nats, for all users or for each.
    mechanism : {"none", "classic", "debiased", "weighted"}
        As for `local_errors`. For two items the estimate has the sign of the score.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If an argument is out of range, or the users form too many groups of different epsilon for
        an enumeration.

    Notes
    -----
    The score is a weighted sum of independent binomials, one for each epsilon. With equal weights
    their laws are convolved; else the groups are split into two halves, each enumerated, and the
    halves are compared by one sorted search. The signal-to-noise ratio at a small gap is
    proportional to ``mean(t)`` (classic), ``1 / sqrt(mean(1 / t^2))`` (debiased) and
    ``sqrt(mean(t^2))`` (weighted), with ``t = tanh(epsilon / 2)`` over the users: by the
    Cauchy-Schwarz inequality debiasing never ranks better than the bare reports, in this sense.
    """
    gap = check.nonnegative("gap", gap)
    users, eps, counts = epsilon_groups(epsilon, users)
    chance = float(expit(gap))
    if check.choice("mechanism", mechanism, RANKED) == "none":
        return _half_sum(stats.binom.pmf(np.arange(users + 1), users, chance))
    slopes = response_slopes(eps, counts, mechanism)
    channel = randomized_response_pmf(eps)
    reported = channel[:, 0, 1] + (channel[:, 1, 1] - channel[:, 0, 1]) * chance
    laws = [stats.binom.pmf(np.arange(q + 1), q, p) for q, p in zip(counts, reported, strict=True)]
    if (slopes == slopes[0]).all():
        total = laws[0]
        for law in laws[1:]:
            total = np.convolve(total, law)
        return _half_sum(total)
    values = [slope * (np.arange(q + 1) - q / 2) for slope, q in zip(slopes, counts, strict=True)]
    return _compare_halves(values, laws)


def privacy_schedule(
    kind: str,
    n_items: ArrayLike,
    users: ArrayLike,
    *,
    start: float = 1.0,
    log_power: float = 0.5,
) -> Array:
    """Privacy parameters that fall with the size of the data, around the threshold (m L)^(-1/2).

    Parameters
    ----------
    kind : {"faster", "threshold", "slower"}
        XSC's schemes 1, 2, 3: epsilon proportional to ``x^(-1/2)`` times ``log(x)^-log_power``, 1,
        or ``log(x)^log_power``, with x = n_items * users.
    n_items, users : int or array of int
        Numbers of items, at least 2, and of users, at least 1; broadcast against each other.
    start : float
        Epsilon of the smallest x, in nats: it fixes the constant.
    log_power : float
        Power of the logarithm, above 0.

    Returns
    -------
    array
        One epsilon for each setting.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    XSC, Scenario II; the text has lost the formulas. The power of the logarithm and ``start`` are
    a reconstruction.
    """
    check.choice("kind", kind, SCHEDULES)
    start, power = check.positive("start", start), check.positive("log_power", log_power)
    m, crowd = check.real_array("n_items", n_items), check.real_array("users", users)
    for name, sizes, least in (("n_items", m, 2), ("users", crowd, 1)):
        if sizes.dtype.kind not in "iu" or not sizes.size or sizes.min() < least:
            raise ValueError(f"{name} = {sizes.tolist()!r}: allowed are integers >= {least}")
    x = (m * crowd).astype(float)
    exponent = power * (SCHEDULES.index(kind) - 1)
    shape = x**-0.5 * np.log(x) ** exponent
    return np.asarray(start * shape / shape.flat[x.argmin()])


def _laplacian(weight: Array) -> Array:
    """Sum over pairs i < j of weight[i, j] (e_i - e_j)(e_i - e_j)^T."""
    off = weight * (1 - np.eye(len(weight)))
    return np.asarray(np.diag(off.sum(axis=1)) - off)


def _half_sum(law: Array) -> float:
    """P(X < q / 2) + P(X = q / 2) / 2 for a law on 0, ..., q."""
    q = law.size - 1
    tie = law[q // 2] / 2 if q % 2 == 0 else 0.0
    return float(law[: (q + 1) // 2].sum() + tie)


def _compare_halves(values: list[Array], laws: list[Array]) -> float:
    """P(sum < 0) + P(sum = 0) / 2 for a sum of independent variables."""
    order = sorted(range(len(values)), key=lambda g: -values[g].size)
    halves: list[list[int]] = [[], []]
    sizes = [1, 1]
    for g in order:
        side = int(sizes[1] < sizes[0])
        halves[side].append(g)
        sizes[side] *= values[g].size
    if max(sizes) > _MOST_OUTCOMES:
        raise ValueError(
            f"epsilon has {len(values)} different values, too many to enumerate: allowed are "
            f"groups of users with at most {_MOST_OUTCOMES} joint outcomes in each half"
        )
    (x, p), (y, q) = (_joint([values[g] for g in h], [laws[g] for g in h]) for h in halves)
    by_size = np.argsort(y)
    y, below = y[by_size], np.append(0.0, np.cumsum(q[by_size]))
    # Sums this close to zero are ties that rounding has pulled apart.
    blur = 1e-12 * (np.abs(x).max() + np.abs(y).max())
    less = below[np.searchsorted(y, -x - blur, side="left")]
    at_most = below[np.searchsorted(y, -x + blur, side="right")]
    return float(p @ (less + at_most) / 2)


def _joint(values: list[Array], laws: list[Array]) -> tuple[Array, Array]:
    total, chance = np.zeros(1), np.ones(1)
    for value, law in zip(values, laws, strict=True):
        total = np.add.outer(total, value).ravel()
        chance = np.multiply.outer(chance, law).ravel()
    return total, chance
