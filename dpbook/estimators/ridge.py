"""The ridge maximum-likelihood estimator of strengths from paired comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.estimators._complete import WinCounts
from dpbook.estimators._dense import WinMatrices
from dpbook.estimators._newton import Settings
from dpbook.estimators._sparse import Pairs, pairs_from_comparisons, pairs_from_matrix

Array = NDArray[np.float64]

# The data in the form one solver wants. ``fit(linear, settings)`` takes (replicates, n) and gives
# theta, residuals computed afresh, and the most steps; ``connected()``: comparisons join all items
# in every replicate; ``groups()``: the most groups of items that reach each other by wins;
# ``least``: the smallest positive weight of a win.
Data = WinCounts | WinMatrices | Pairs

METHODS = ("auto", "dense", "sparse", "complete")
# Up to here a pass over a matrix is cheaper than the index arithmetic of a list of pairs.
DENSE_ITEMS = 100


@dataclass(frozen=True)
class RidgeFit:
    """A fit of `ridge_mle` with its certificate.

    Attributes
    ----------
    theta : array, shape (..., n)
        Strengths, log-odds.
    residual : array, shape (...)
        Sup-norm of the score equation at ``theta``, computed anew from the data after the fit:
        zero exactly at the minimiser. With gamma > 0 no entry of ``theta`` is further than
        sqrt(n) * residual / gamma from the minimiser.
    iterations : int
        Newton steps taken by the slowest replicate.
    method : str
        The route taken: ``"dense"``, ``"sparse"`` or ``"complete"``.
    """

    theta: Array
    residual: Array
    iterations: int
    method: str


def ridge_mle(
    data: Comparisons | ArrayLike | Any,
    *,
    gamma: float,
    linear: ArrayLike | None = None,
    method: str = "auto",
    tol: float = 1e-8,
    max_iterations: int = 500,
) -> RidgeFit:
    """Minimise a negative log-likelihood of paired comparisons plus a ridge and a linear term.

    The objective is the sum over ordered pairs of ``wins[i, j]`` times -log F(theta_i - theta_j),
    F logistic, plus gamma / 2 times the squared length of theta, plus the inner product of
    ``linear`` and theta. It is convex, with a unique minimiser when gamma > 0.

    Parameters
    ----------
    data : Comparisons, or array, shape (..., n, n), or sparse matrix, shape (n, n)
        Comparisons, or win matrices with entry [i, j] the weight of the wins of i over j. Weights
        are finite, at least 0, and need not be integers.
    gamma : float
        Ridge parameter, at least 0; 0 asks for the plain maximum-likelihood estimate, centred.
    linear : array, shape (..., n), optional
        Linear term (the noise of objective perturbation); broadcast against ``data``.
    method : {"auto", "dense", "sparse", "complete"}
        How sums over opponents are computed: over matrices, over lists of pairs (time and memory
        linear in the comparisons), or, when each pair is compared equally often, by a low-rank
        representation of F. ``"auto"`` takes the fastest.
    tol : float
        Largest allowed sup-norm of the score residual.
    max_iterations : int
        Limit on Newton steps.

    Returns
    -------
    RidgeFit

    Raises
    ------
    ValueError
        If gamma is negative; or gamma is 0 and no minimiser exists: the items cannot all be
        reached from each other by wins, or the linear term is too large or does not sum to zero.
    RuntimeError
        If the residual is still above ``tol`` after ``max_iterations`` steps.

    Notes
    -----
    CCW25, Algorithm 1 and (3.2) without their noise. Newton's method with conjugate gradients
    inside; a step is shortened only where the slope along it turns up. The certificate is the
    residual of the score equation, never the length of a step.

    Examples
    --------
    >>> ridge_mle([[0, 3], [1, 0]], gamma=0).theta.round(3)  # log-odds of 3 to 1, centred
    array([ 0.549, -0.549])
    """
    settings = _settings(gamma, tol, max_iterations)
    check.choice("method", method, METHODS)
    if isinstance(data, Comparisons):
        noise = _linear(linear, data.n_items)
        return _fit(_from_comparisons(data, method), noise, settings)
    if sparse.issparse(data):
        matrix: Any = data
        noise = _linear(linear, matrix.shape[-1])
        return _fit(_from_sparse(matrix, method), noise, settings)
    wins = check.win_tables("data", data)
    n = wins.shape[-1]
    noise = _linear(linear, n)
    if wins.ndim > 2:
        shape = np.broadcast_shapes(wins.shape[:-1], noise.shape)
        noise = np.broadcast_to(noise, shape)
        wins = np.broadcast_to(wins, (*shape, n)).reshape(-1, n, n)
    return _fit(_from_matrices(wins, method), noise, settings)


def ridge_mle_complete(
    wins: ArrayLike,
    *,
    per_pair: float = 1,
    gamma: float,
    linear: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iterations: int = 500,
) -> RidgeFit:
    """`ridge_mle` on the complete graph, from win counts alone.

    Parameters
    ----------
    wins : array, shape (..., n)
        Total weight of the wins of each item, in all per_pair n (n - 1) / 2.
    per_pair : float
        Weight of the comparisons of each pair, the same for all.
    gamma, linear, tol, max_iterations
        As for `ridge_mle`.

    Returns
    -------
    RidgeFit
    """
    settings = _settings(gamma, tol, max_iterations)
    counts = check.finite_array("wins", wins)
    per_pair = check.positive("per_pair", per_pair)
    n = counts.shape[-1]
    total = per_pair * n * (n - 1) / 2
    if n < 2 or counts.min() < 0 or np.abs(counts.sum(axis=-1) - total).max() > 1e-9 * total:
        raise ValueError(
            f"wins of shape {counts.shape}: allowed are at least 2 counts of at least 0 that add "
            f"up to per_pair n (n - 1) / 2 = {total:g}"
        )
    noise = _linear(linear, n)
    shape = np.broadcast_shapes(counts.shape, noise.shape)
    flat = np.broadcast_to(counts, shape).reshape(-1, n)
    return _fit(WinCounts(flat, per_pair), np.broadcast_to(noise, shape), settings)


def _from_comparisons(data: Comparisons, method: str) -> Data:
    n = data.n_items
    crowded = 4 * len(data) >= n * n
    if method == "auto" and crowded and _each_pair_once(data):
        return WinCounts(np.bincount(data.winner, minlength=n).astype(float), 1.0)
    if method in ("dense", "complete") or (method == "auto" and (n <= DENSE_ITEMS or crowded)):
        return _from_matrices(data.win_matrix(), method)
    return pairs_from_comparisons(data)


def _each_pair_once(data: Comparisons) -> bool:
    n = data.n_items
    if 2 * len(data) != n * (n - 1):
        return False
    met = np.zeros(n * n, dtype=bool)
    met[np.minimum(data.winner, data.loser) * n + np.maximum(data.winner, data.loser)] = True
    return np.count_nonzero(met) == len(data)


def _from_sparse(data: Any, method: str) -> Data:
    if method not in ("auto", "sparse"):
        return _from_matrices(check.win_tables("data", data.toarray()), method)
    if data.ndim != 2 or data.shape[0] != data.shape[1] or data.shape[0] < 2:
        raise ValueError(f"data of shape {data.shape}: allowed is (n, n) with n >= 2")
    entries = sparse.coo_array(data)
    if not np.isfinite(entries.data).all() or (entries.data < 0).any():
        raise ValueError("data holds a negative or non-finite weight: allowed are weights >= 0")
    if entries.diagonal().any():
        raise ValueError("data has a non-zero diagonal: an item is never compared with itself")
    return pairs_from_matrix(entries)


def _from_matrices(wins: NDArray[Any], method: str) -> Data:
    if method in ("auto", "complete"):
        per_pair = _equal_counts(wins)
        if per_pair is not None:
            return WinCounts(np.asarray(wins.sum(axis=-1), dtype=float), per_pair)
        if method == "complete":
            raise ValueError(
                "method = 'complete': allowed for data in which every pair is compared equally "
                "often"
            )
        thin = 4 * np.count_nonzero(wins) < wins.size and wins.shape[-1] > DENSE_ITEMS
        method = "sparse" if wins.ndim == 2 and thin else "dense"
    if method == "sparse":
        if wins.ndim > 2 and len(wins) > 1:
            raise ValueError(f"method = 'sparse' with {len(wins)} win matrices: allowed is one")
        return pairs_from_matrix(wins.reshape(wins.shape[-2:]))
    return WinMatrices(wins)


def _equal_counts(wins: NDArray[Any]) -> float | None:
    """Weight of the comparisons of each pair if it is the same for all, else None."""
    first = float(wins[..., 0, 1].flat[0] + wins[..., 1, 0].flat[0])
    n = wins.shape[-1]
    # The sum of one matrix settles nearly all cases.
    if first == 0 or wins.reshape(-1, n * n)[0].sum() != first * n * (n - 1) / 2:
        return None
    totals = wins + np.swapaxes(wins, -1, -2)
    return first if np.count_nonzero(totals == first) == wins.size // n * (n - 1) else None


def _settings(gamma: float, tol: float, limit: int) -> Settings:
    return Settings(
        check.nonnegative("gamma", gamma),
        check.positive("tol", tol),
        check.integer("max_iterations", limit, 1),
    )


def _linear(linear: ArrayLike | None, n: int) -> Array:
    noise = np.zeros(n) if linear is None else check.finite_array("linear", linear)
    if noise.shape[-1] != n:
        raise ValueError(f"linear of shape {noise.shape}: allowed is (..., {n})")
    return noise


def _fit(data: Data, linear: Array, settings: Settings) -> RidgeFit:
    if settings.gamma == 0:
        _require_connected(data, linear)
    flat = np.ascontiguousarray(linear.reshape(-1, linear.shape[-1]))
    theta, residual, steps = data.fit(flat, settings)
    if settings.gamma == 0:
        _require_minimiser(data, flat, theta, residual, settings)
    if not (residual <= settings.tol).all():
        raise RuntimeError(
            f"ridge_mle stopped at a score residual of {residual.max():.3g} > tol = "
            f"{settings.tol:g} after {steps} steps (limit {settings.limit}); raise "
            f"max_iterations, gamma = {settings.gamma:g}, or, with very heavy weights, tol"
        )
    shape = linear.shape[:-1]
    return RidgeFit(theta.reshape(linear.shape), residual.reshape(shape), steps, data.method)


def _require_connected(data: Data, linear: Array) -> None:
    if np.abs(linear.sum(axis=-1)).max() > 1e-9 * (1 + np.abs(linear).max()):
        raise ValueError("linear does not sum to zero: allowed with gamma = 0 is a centred term")
    if not data.connected():
        raise ValueError(_split(data.groups()))


def _require_minimiser(
    data: Data, linear: Array, theta: Array, residual: Array, settings: Settings
) -> None:
    """Refuse a plain estimate that does not exist, whose strengths would run off to infinity.

    Then some group of items has a score whose sum is at least, in absolute value, the least
    weight of a win times F'/F at the spread of theta, wherever theta lies. A residual below
    that, summed over the group, proves that the minimiser exists; only in doubt is the graph of
    wins searched.
    """
    least = data.least * expit(-np.ptp(theta, axis=-1))
    if (residual <= settings.tol).all() and (least > theta.shape[-1] * residual).all():
        return
    if linear.any():
        raise ValueError(
            "linear is too large for gamma = 0: no minimiser could be certified; allowed is "
            "gamma > 0, or a smaller linear term"
        )
    groups = data.groups()
    if groups > 1:
        raise ValueError(_split(groups))


def _split(groups: int) -> str:
    return (
        f"gamma = 0 with wins that split the items into {groups} groups, one always ahead or "
        "never compared: allowed is gamma > 0, or data in which every item reaches every other "
        "by wins"
    )
