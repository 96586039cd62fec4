"""The ridge maximum-likelihood estimator of strengths from paired comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.estimators import _select
from dpbook.estimators._newton import Settings
from dpbook.estimators._routes import CompleteRoute, Route
from dpbook.estimators.orders import win_matrices
from dpbook.models.links import LINKS

__all__ = ["RidgeFit", "ridge_mle", "ridge_mle_complete"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RidgeFit:
    """A fit of `ridge_mle` with its certificate.

    Attributes
    ----------
    theta : array, shape (..., n)
        Strengths on the scale of the link (log-odds for the logistic).
    residual : array, shape (...)
        Sup-norm of the score equation at ``theta``, computed anew from the data after the fit:
        zero exactly at the minimiser. With gamma > 0 and a log-concave link, no entry of
        ``theta`` is further than sqrt(n) * residual / gamma from the minimiser.
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
    link: str = "logistic",
    method: str = "auto",
    tol: float = 1e-8,
    max_iterations: int = 500,
) -> RidgeFit:
    """Minimise a negative log-likelihood of paired comparisons plus a ridge and a linear term.

    The objective is the sum over ordered pairs of ``wins[i, j]`` times -log F(theta_i - theta_j),
    plus gamma / 2 times the squared length of theta, plus the inner product of ``linear`` and
    theta. For a log-concave F it is convex, with a unique minimiser when gamma > 0.

    Parameters
    ----------
    data : Comparisons, or array, shape (..., n, n), or sparse matrix, shape (n, n)
        Comparisons, or win matrices with entry [i, j] the weight of the wins of i over j. Weights
        are finite, at least 0, and need not be integers.
    gamma : float
        Ridge parameter, at least 0; 0 asks for the plain maximum-likelihood estimate, centred.
    linear : array, shape (..., n), optional
        Linear term (the noise of objective perturbation); broadcast against ``data``.
    link : str
        A key of `dpbook.models.LINKS`.
    method : {"auto", "dense", "sparse", "complete"}
        How sums over opponents are computed: over matrices, over lists of pairs (time and memory
        linear in the comparisons), or, when each pair is compared equally often and the link is
        logistic, by a low-rank representation of F. ``"auto"`` takes the fastest.
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
        reached from each other by wins, or the linear term is too large or does not sum to zero;
        or the link is not log-concave and gamma is too small to make the objective convex.
    RuntimeError
        If the residual is still above ``tol`` after ``max_iterations`` steps.

    Notes
    -----
    CCW25, Algorithm 1 and (3.2) without their noise. Newton's method with conjugate gradients
    inside; a step is shortened only where the slope along it turns up. The certificate is the
    residual of the score equation, never the length of a step.
    """
    settings = _settings(gamma, link, tol, max_iterations)
    check.choice("method", method, _select.METHODS)
    if isinstance(data, Comparisons):
        noise = _linear(linear, data.n_items)
        return _fit(_select.comparisons_route(data, method, link), noise, settings)
    if sparse.issparse(data):
        matrix: Any = data
        noise = _linear(linear, matrix.shape[-1])
        return _fit(_select.sparse_route(matrix, method, link), noise, settings)
    wins = win_matrices(data)
    n = wins.shape[-1]
    noise = _linear(linear, n)
    if wins.ndim > 2:
        shape = np.broadcast_shapes(wins.shape[:-1], noise.shape)
        noise = np.broadcast_to(noise, shape)
        wins = np.broadcast_to(wins, (*shape, n)).reshape(-1, n, n)
    return _fit(_select.matrix_route(wins, method, link), noise, settings)


def ridge_mle_complete(
    wins: ArrayLike,
    *,
    per_pair: float = 1,
    gamma: float,
    linear: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iterations: int = 500,
) -> RidgeFit:
    """`ridge_mle` on the complete graph, logistic link, from win counts alone.

    Parameters
    ----------
    wins : array, shape (..., n)
        Total weight of the wins of each item; these are sufficient here.
    per_pair : float
        Weight of the comparisons of each pair, the same for all.
    gamma, linear, tol, max_iterations
        As for `ridge_mle`.

    Returns
    -------
    RidgeFit

    Raises
    ------
    ValueError
        If the win counts do not add up to ``per_pair`` times n (n - 1) / 2; or as for `ridge_mle`.
    RuntimeError
        As for `ridge_mle`.
    """
    settings = _settings(gamma, "logistic", tol, max_iterations)
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
    return _fit(CompleteRoute(flat, per_pair), np.broadcast_to(noise, shape), settings)


def _settings(gamma: float, link: str, tol: float, limit: int) -> Settings:
    return Settings(
        check.nonnegative("gamma", gamma),
        LINKS[check.choice("link", link, tuple(LINKS))],
        check.positive("tol", tol),
        check.integer("max_iterations", limit, 1),
    )


def _linear(linear: ArrayLike | None, n: int) -> Array:
    noise = np.zeros(n) if linear is None else check.finite_array("linear", linear)
    if noise.shape[-1] != n:
        raise ValueError(f"linear of shape {noise.shape}: allowed is (..., {n})")
    return noise


def _fit(route: Route, linear: Array, settings: Settings) -> RidgeFit:
    _require_convex(route, settings)
    if settings.gamma == 0:
        _require_connected(route, linear)
    flat = np.ascontiguousarray(linear.reshape(-1, linear.shape[-1]))
    theta, residual, steps = route.fit(flat, settings)
    if settings.gamma == 0:
        _require_minimiser(route, flat, theta, residual, settings)
    if not (residual <= settings.tol).all():
        raise RuntimeError(
            f"ridge_mle stopped at a score residual of {residual.max():.3g} > tol = "
            f"{settings.tol:g} after {steps} steps (limit {settings.limit}); raise "
            f"max_iterations, gamma = {settings.gamma:g}, or, with very heavy weights, tol"
        )
    shape = linear.shape[:-1]
    return RidgeFit(theta.reshape(linear.shape), residual.reshape(shape), steps, route.name)


def _require_convex(route: Route, settings: Settings) -> None:
    link = settings.link
    if link.least_curvature >= 0:
        return
    # The Hessian is gamma plus a Laplacian whose weights are at least least_curvature times those
    # of the comparison graph, and a Laplacian's eigenvalues are at most twice its largest degree.
    needed = -2 * link.least_curvature * route.largest_degree()
    if settings.gamma <= needed:
        raise ValueError(
            f"gamma = {settings.gamma:g} with link = {link.name!r}, which is not log-concave: "
            f"allowed is gamma > {needed:.4g}, which makes the objective convex, or a log-concave "
            "link"
        )


def _require_connected(route: Route, linear: Array) -> None:
    if np.abs(linear.sum(axis=-1)).max() > 1e-9 * (1 + np.abs(linear).max()):
        raise ValueError("linear does not sum to zero: allowed with gamma = 0 is a centred term")
    if not route.connected():
        raise ValueError(_split(route.groups()))


def _require_minimiser(
    route: Route, linear: Array, theta: Array, residual: Array, settings: Settings
) -> None:
    """Refuse a plain estimate that does not exist, whose strengths would run off to infinity.

    Then some group of items has a score whose sum is at least, in absolute value, the least
    weight of a win times F'/F at the spread of theta, wherever theta lies. A residual below
    that, summed over the group, proves that the minimiser exists; only in doubt is the graph of
    wins searched.
    """
    least = route.least * settings.link.log_slope(np.ptp(theta, axis=-1))
    if (residual <= settings.tol).all() and (least > theta.shape[-1] * residual).all():
        return
    if linear.any():
        raise ValueError(
            "linear is too large for gamma = 0: no minimiser could be certified; allowed is "
            "gamma > 0, or a smaller linear term"
        )
    groups = route.groups()
    if groups > 1:
        raise ValueError(_split(groups))


def _split(groups: int) -> str:
    return (
        f"gamma = 0 with wins that split the items into {groups} groups, one always ahead or "
        "never compared: allowed is gamma > 0, or data in which every item reaches every other "
        "by wins"
    )
