"""The ridge maximum-likelihood estimator of strengths from paired comparisons, by Newton's method.

Sums over opponents go over matrices; over a list of pairs when these are few; or, when each pair is
compared equally often, through a low-rank representation of F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.data import Comparisons
from dpbook.estimators._complete import WinCounts
from dpbook.estimators._logistic import Graph, Matrices, Pairs

Data = WinCounts | Graph  # in the form that one solver wants

# Up to here a pass over a matrix is cheaper than the index arithmetic of a list of pairs.
DENSE_ITEMS = 100


@dataclass(frozen=True)
class RidgeFit:
    """A fit of `ridge_mle` with its certificate.

    The residual is the sup-norm of the score equation at ``theta``, computed anew from the data.
    With gamma > 0 no strength is further than sqrt(n) * residual / gamma from the minimiser.
    """

    theta: Array  # strengths, log-odds, shape (..., n)
    residual: Array  # shape (...)
    iterations: int  # Newton steps taken by the slowest replicate


def ridge_mle(
    data: Comparisons | ArrayLike,
    *,
    gamma: float,
    linear: ArrayLike | None = None,
    tol: float = 1e-8,
) -> RidgeFit:
    """Minimise a negative log-likelihood of paired comparisons plus a ridge and a linear term.

    The objective is the sum over ordered pairs of ``wins[i, j]`` times -log F(theta_i - theta_j),
    F logistic, plus gamma / 2 times the squared length of theta, plus the inner product of
    ``linear`` and theta. It is convex, with a unique minimiser when gamma > 0. CCW25, Algorithm 1
    and (3.2) without their noise.

    Parameters
    ----------
    data : Comparisons, or array, shape (..., n, n)
        Entry [i, j] of win matrices is the weight, at least 0, of the wins of i over j.
    gamma : float
        Ridge parameter, at least 0; 0 asks for the plain maximum-likelihood estimate, centred.
    linear : array, shape (..., n), optional
        Linear term (the noise of objective perturbation); broadcast against ``data``.
    tol : float
        Largest allowed sup-norm of the score residual.

    Raises
    ------
    ValueError
        Also if gamma is 0 and not every item reaches every other by wins, or the linear term is
        too large or does not sum to zero; a RuntimeError if 500 steps do not reach ``tol``.

    Examples
    --------
    >>> ridge_mle([[0, 3], [1, 0]], gamma=0).theta.round(3)  # log-odds of 3 to 1, centred
    array([ 0.549, -0.549])
    """
    if isinstance(data, Comparisons):
        return _fit(_from_comparisons(data), _linear(linear, data.n_items), gamma, tol)
    wins = check.win_tables("data", data)
    n = wins.shape[-1]
    noise = _linear(linear, n)
    if wins.ndim > 2:
        shape = np.broadcast_shapes(wins.shape[:-1], noise.shape)
        noise = np.broadcast_to(noise, shape)
        wins = np.broadcast_to(wins, (*shape, n)).reshape(-1, n, n)
    return _fit(_from_matrices(wins), noise, gamma, tol)


def ridge_mle_complete(
    wins: ArrayLike,
    *,
    per_pair: float = 1,
    gamma: float,
    linear: ArrayLike | None = None,
    tol: float = 1e-8,
) -> RidgeFit:
    """`ridge_mle` on the complete graph, from win counts alone.

    ``wins``, (..., n), is the total weight of the wins of each item, ``per_pair`` the weight of the
    comparisons of a pair, the same for all: counts add up to per_pair n (n - 1) / 2.
    """
    counts = check.finite_array("wins", wins)
    per_pair = check.positive("per_pair", per_pair)
    n = counts.shape[-1]
    total = per_pair * n * (n - 1) / 2
    if n < 2 or counts.min() < 0 or np.abs(counts.sum(axis=-1) - total).max() > 1e-9 * total:
        given = f"wins of shape {counts.shape}: allowed are at least 2 counts of at least 0"
        raise ValueError(f"{given} that add up to per_pair n (n - 1) / 2 = {total:g}")
    noise = _linear(linear, n)
    shape = np.broadcast_shapes(counts.shape, noise.shape)
    flat = np.broadcast_to(counts, shape).reshape(-1, n)
    return _fit(WinCounts(flat, per_pair), np.broadcast_to(noise, shape), gamma, tol)


def _from_comparisons(data: Comparisons) -> Data:
    n = data.n_items
    crowded = 4 * len(data) >= n * n
    if 2 * len(data) == n * (n - 1):
        met = np.zeros(n * n, dtype=bool)
        met[data.winner * n + data.loser] = True
        table = met.reshape(n, n)
        if np.count_nonzero(table ^ table.T) == n * (n - 1):  # each pair once
            return WinCounts(np.bincount(data.winner, minlength=n).astype(float), 1.0)
    if n <= DENSE_ITEMS or crowded:
        return _from_matrices(data.win_matrix())
    return _pairs_of_comparisons(data)


def _pairs_of_comparisons(data: Comparisons) -> Pairs:
    n = data.n_items
    low, high = np.minimum(data.winner, data.loser), np.maximum(data.winner, data.loser)
    upward: NDArray[Any] = data.winner < data.loser
    if not (low[1:] >= low[:-1]).all():
        # One integer for each comparison: sorting those is faster than sorting positions.
        shift = n.bit_length()
        codes = ((low << shift | high) << 1) | upward
        codes.sort()
        upward = codes & 1
        codes >>= 1
        low, high = codes >> shift, codes & ((1 << shift) - 1)
    return Pairs(n, low, high, upward.astype(float), np.ones(low.size))


def _from_matrices(wins: NDArray[Any]) -> Data:
    per_pair, n = _equal_counts(wins), wins.shape[-1]
    if per_pair is not None:
        return WinCounts(wins.sum(axis=-1, dtype=float), per_pair)
    if wins.ndim > 2 or n <= DENSE_ITEMS or 4 * np.count_nonzero(wins) >= n * n:
        return Matrices(wins)
    return _pairs_of_matrix(wins)


def _pairs_of_matrix(wins: NDArray[Any]) -> Pairs:
    totals = np.triu(np.add(wins, wins.T, dtype=float))
    low, high = np.nonzero(totals)
    return Pairs(len(wins), low, high, wins[low, high].astype(float), totals[low, high])


def _equal_counts(wins: NDArray[Any]) -> float | None:
    """Weight of the comparisons of each pair if it is the same for all, else None."""
    first = float(wins[..., 0, 1].flat[0] + wins[..., 1, 0].flat[0])
    n = wins.shape[-1]
    # The sum of one matrix settles nearly all cases.
    if first == 0 or wins.reshape(-1, n * n)[0].sum() != first * n * (n - 1) / 2:
        return None
    totals = wins + np.swapaxes(wins, -1, -2)
    return first if np.count_nonzero(totals == first) == wins.size // n * (n - 1) else None


def _linear(linear: ArrayLike | None, n: int) -> Array:
    noise = np.zeros(n) if linear is None else check.finite_array("linear", linear)
    check.shaped("linear", noise, noise.shape[-1] == n, f"(..., {n})")
    return noise


def _fit(data: Data, linear: Array, gamma: float, tol: float) -> RidgeFit:
    gamma, tol = check.nonnegative("gamma", gamma), check.positive("tol", tol)
    if gamma == 0:
        if np.abs(linear.sum(axis=-1)).max() > 1e-9 * (1 + np.abs(linear).max()):
            raise ValueError("linear does not sum to zero: allowed with gamma = 0 is a centred one")
        if (groups := data.groups()) > 1:
            raise ValueError(
                f"gamma = 0 with wins that split the items into {groups} groups, one always ahead "
                "or never compared: allowed is gamma > 0, or data in which every item reaches "
                "every other by wins"
            )
    flat = np.ascontiguousarray(linear.reshape(-1, linear.shape[-1]))
    theta, residual, steps = np.empty_like(flat), np.empty(len(flat)), 0
    for first in range(0, len(flat), data.block):
        # A single replicate drops its axis: fewer, simpler array operations.
        rows = slice(first, first + data.block)
        index = first if len(flat[rows]) == 1 else rows
        theta[index], residual[index], used = data.part(index).solve(flat[index], gamma, tol)
        steps = max(steps, used)
    if gamma == 0 and linear.any():
        # Without a minimiser some group of items has a score whose sum is at least, in absolute
        # value, the least weight of a pair times 1 - F at the spread of theta, wherever that is.
        # A smaller residual, summed over the group, proves that there is one.
        least = data.least * expit(-np.ptp(theta, axis=-1))
        if not ((residual <= tol) & (least > linear.shape[-1] * residual)).all():
            found = "linear is too large for gamma = 0: no minimiser could be certified"
            raise ValueError(f"{found}; allowed is gamma > 0, or a smaller linear term")
    if not (residual <= tol).all():
        raise RuntimeError(
            f"ridge_mle stopped at a score residual of {residual.max():.3g} > tol = {tol:g} after "
            f"{steps} steps; raise gamma = {gamma:g} or, with very heavy weights, tol"
        )
    return RidgeFit(theta.reshape(linear.shape), residual.reshape(linear.shape[:-1]), steps)
