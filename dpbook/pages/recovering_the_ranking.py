"""Page 20: exact chance that a ranking from randomised responses puts two items in the wrong order.

When every user answers every pair, the ridge fit ranks the items by their reported wins (with a
common epsilon, debiased or not). The difference of two items' wins is a sum of independent bits:
its law is a contour integral of its moment generating function, taken through the saddle point,
where the trapezoidal rule converges exponentially fast.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook.mechanisms.responses import positive_epsilon
from dpbook.privacy import Edge
from dpbook.rankers import FlippedAnswers, LaplaceAnswers
from dpbook.simulation import pair_order_error

Array = NDArray[np.float64]

# Nodes on half of the contour, and their distance in standard deviations: the rule errs by about
# exp(-2 pi / STEP) of the answer.
NODES, STEP = 96, 0.2


def ranker_of(kind: str, epsilon: ArrayLike, n_items: int) -> FlippedAnswers | LaplaceAnswers:
    """One comparison is protected, by "laplace" noise or by flips, read as ``kind`` says."""
    answer = Edge(n_items, exchange=False)
    if kind == "laplace":
        return LaplaceAnswers.private(epsilon, answer)
    return FlippedAnswers.private(epsilon, answer, reading=kind)


class _Row:
    """Win differences of one item against some worse ones: sums of independent bits."""

    def __init__(self, reported: Array, counts: NDArray[np.int64], i: int, worse: range) -> None:
        n = reported.shape[-1]
        others = np.array([[x for x in range(n) if x not in (i, j)] for j in worse], dtype=int)
        j = np.array(worse)
        # Axes: pair, group of users, factor. The third item loses to i, or to j.
        self.up = np.swapaxes(reported[:, i, others], 0, 1)
        self.down = np.swapaxes(reported[:, j[:, None], others], 0, 1)
        self.direct = reported[:, i, j].T
        self.counts = counts

    def log_moment(self, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Cumulant generating function at complex z, shape (pair, node)."""
        x = z[..., None, None]
        rise, fall = np.exp(x), np.exp(-x)
        factors = 1 + self.up[:, None] * (rise - 1)
        factors *= 1 + self.down[:, None] * (fall - 1)
        direct = self.direct[:, None] * rise[..., 0] + (1 - self.direct[:, None]) * fall[..., 0]
        # Products are as good as sums of logarithms: the counts are whole, so no branch shows.
        return np.asarray(np.log(factors.prod(axis=-1) * direct) @ self.counts)

    def slope_and_bend(self, s: Array) -> tuple[Array, Array]:
        """First two derivatives of the cumulant generating function at real s, shape (pair,)."""
        up, down = (_tilt(p, s[:, None, None]) for p in (self.up, 1 - self.down))
        direct = _tilt(self.direct, 2 * s[:, None])
        slope = (up + down - 1).sum(axis=-1) + 2 * direct - 1
        bend = (up * (1 - up) + down * (1 - down)).sum(axis=-1) + 4 * direct * (1 - direct)
        return slope @ self.counts, bend @ self.counts

    def saddle(self) -> Array:
        """Where the tilted mean is zero: at most 0, since the first item is the better one."""
        low, high = np.full(len(self.direct), -60.0), np.zeros(len(self.direct))
        s = high
        for _ in range(100):
            slope, bend = self.slope_and_bend(s)
            low, high = np.where(slope > 0, low, s), np.where(slope > 0, s, high)
            if (np.abs(slope) <= 1e-10 * bend).all():
                break
            newton = s - slope / bend
            s = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        return s


def local_order_errors(theta: ArrayLike, *, users: ArrayLike, epsilon: ArrayLike) -> Array:
    """Exact probabilities that pairs of items come out in the wrong order.

    Parameters
    ----------
    theta : array, shape (n,)
        True strengths, log-odds.
    users : int, or array of int, shape (groups,)
        Number of users, who answer every pair once through randomised response.
    epsilon : float or array, shape (groups,)
        Privacy parameter of one answer, in nats, of all users or of each group. Debiased numbers
        give the same ranking only if it is the same for all.

    Returns
    -------
    array, shape (n, n)
        Entry [i, j] is the probability that i has fewer reported wins than j, plus half of that of
        a tie; 1/2 on the diagonal. Relative error below 1e-9.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    XSC, Section 4.3: the mean over pairs, better item first, is the expected Kendall error (9).
    """
    strengths = check.item_vector("theta", theta)
    if strengths.size == 2:
        gap = float(abs(strengths[0] - strengths[1]))
        answer = Edge(2, exchange=False)
        ranker = FlippedAnswers.private(epsilon, answer, reading="classic")
        return _unsorted(strengths, [np.array([pair_order_error(gap, ranker, users=users)])])
    levels, counts = np.broadcast_arrays(
        np.atleast_1d(positive_epsilon(epsilon)), np.atleast_1d(users)
    )
    return _unsorted(strengths, [_tails(row) for row in _rows(strengths, levels, counts)])


def local_order_rates(theta: ArrayLike, *, epsilon: float) -> Array:
    """Exponential rates, per user, at which the probabilities of wrong orders vanish.

    Parameters
    ----------
    theta : array, shape (n,)
        True strengths, log-odds.
    epsilon : float
        Privacy parameter of one answer, in nats.

    Returns
    -------
    array, shape (n, n)
        Symmetric: the limit of ``-log(local_order_errors) / users``, better item first; nats per
        user. ``exp(-users * rate)`` bounds the probability at every number of users (Chernoff).

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    XSC, Theorems 5 and 6, have a rate with an unnamed constant.
    """
    strengths = check.item_vector("theta", theta)
    level = np.array([check.epsilon(epsilon)])
    rates = []
    for row in _rows(strengths, level, np.array([1])):
        s = row.saddle()
        rates.append(-row.log_moment(s[:, None].astype(complex)).real[:, 0])
    result = _unsorted(strengths, rates, mirrored=True)
    np.fill_diagonal(result, 0.0)
    return result


def _tails(row: _Row) -> Array:
    """P(difference < 0) + P(difference = 0) / 2."""
    s = row.saddle()
    spread = np.sqrt(row.slope_and_bend(s)[1])
    # The kernel has a pole at zero: stay one standard deviation away from it.
    s = np.minimum(s, -1 / spread)
    half = np.maximum(np.ceil(np.pi * spread / STEP), 16).astype(int)
    # Almost all of the law may sit on the even or on the odd numbers: then it has a second peak.
    with np.errstate(divide="ignore", invalid="ignore"):  # it may vanish there
        ends = row.log_moment(s[:, None] + np.array([0, 1j * np.pi])).real
    short = (ends[:, 1] - ends[:, 0]).max() < np.log(1e-14)
    k = np.arange(min(NODES, half.max()) if short else half.max())
    z = s[:, None] + 1j * np.pi * (k + 0.5) / half[:, None]
    values = np.exp(row.log_moment(z)) * (-0.5 / np.tanh(z / 2))
    return np.asarray(np.where(k < half[:, None], values.real, 0.0).sum(axis=1) / half)


def _rows(strengths: Array, eps: Array, counts: NDArray[np.int64]) -> Iterator[_Row]:
    """One row for each item but the last, items sorted from the best."""
    best = np.sort(strengths)[::-1]
    shrink = np.tanh(eps / 2)[:, None, None]
    reported = 0.5 + shrink * (expit(best[:, None] - best) - 0.5)
    for i in range(best.size - 1):
        yield _Row(reported, counts, i, range(i + 1, best.size))


def _tilt(p: Array, s: Array) -> Array:
    """Success probability of a bit after exponential tilting."""
    grown = p * np.exp(s)
    return np.asarray(grown / (grown + 1 - p))


def _unsorted(strengths: Array, rows: list[Array], *, mirrored: bool = False) -> Array:
    """Matrix in the order of the items from rows above the diagonal in the order of strength."""
    n = strengths.size
    result = np.full((n, n), 0.5)
    upper = np.triu_indices(n, 1)
    result[upper] = np.concatenate(rows)
    result.T[upper] = result[upper] if mirrored else 1 - result[upper]
    place = np.empty(n, dtype=int)
    place[np.argsort(-strengths, kind="stable")] = np.arange(n)
    return result[np.ix_(place, place)]
