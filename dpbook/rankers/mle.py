"""The perturbed maximum-likelihood estimate, its exact density and its exact loss.

The estimate solves grad R(theta) + w = 0 with Laplace noise w, a smooth one-to-one function of the
estimate: the density follows from the change of variables.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import comb, expm1, inf, log1p
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.data import Comparisons
from dpbook.estimators.ridge import RidgeFit, ridge_mle, ridge_mle_complete
from dpbook.mechanisms import laplace_logpdf
from dpbook.privacy.units import Edge, Person, Unit, WholeRanking
from dpbook.rankers.base import StandardNoise

Data = Comparisons | ArrayLike


@dataclass(frozen=True)
class PerturbedMle(StandardNoise):
    """Bradley-Terry strengths: maximum likelihood with a ridge and a random linear term.

    Attributes
    ----------
    scale, gamma : float
        Laplace scale lambda of the noise on the score; ridge parameter, above 0.

    Notes
    -----
    CCW25, Algorithm 1 and (3.2), logistic link; objective perturbation (Chaudhuri, Monteleoni,
    Sarwate 2011). **Privacy.** At the scale of `private`, (epsilon, 0)-DP for an exact minimiser;
    the solver is iterative. `loss` allows that a pair meets more than once; where it meets at most
    once, that is a bound for few items, and exact as their number grows. A tie, half a win for each
    side, moves the score by less than a win, with the same curvature: it spends no more.
    Idealised sampler (floating point): for study, unsafe for a release.

    Examples
    --------
    >>> PerturbedMle.private(0.5, Edge(5))
    PerturbedMle(unit=Edge(n_items=5, exchange=True), scale=8.0, gamma=8.0)
    >>> round(PerturbedMle.printed(1.0, Edge(5)).loss()[1], 3)  # below what is promised
    0.792
    """

    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check.positive("gamma", self.gamma)
        _moves(self.unit)

    @classmethod
    def private(cls, epsilon: float, unit: Unit, gamma: float | None = None) -> Self:
        """The least Laplace noise proved to be epsilon-DP with a ridge, by default as large.

        Where neighbours need not compare the same pairs, a smaller ridge needs more noise; it is
        refused with skipped pairs, and if the determinant alone may lose epsilon.
        """
        eps, (moved, skips, proved) = check.epsilon(epsilon), _moves(unit)
        scale = proved / eps
        ridge = scale if gamma is None else check.positive("gamma", gamma)
        if moved and ridge < scale:
            if skips:
                allowed = f"at least {scale:g} with skipped pairs"
                raise ValueError(f"gamma = {gamma!r}: allowed is {allowed}")
            scale = _scale_for_small_ridge(eps, ridge, moved)
        return cls(unit, scale, ridge)

    @classmethod
    def printed(cls, epsilon: float, unit: Edge | Person, gamma: float | None = None) -> Self:
        """CCW25, Propositions 2.1 and 3.1: 8 L / epsilon, a ridge of 1 or 2 L / epsilon or more."""
        eps, moved = check.epsilon(epsilon), unit.comparisons
        least = (1 if isinstance(unit, Edge) else 2 * moved) / eps
        ridge = least if gamma is None else check.positive("gamma", gamma)
        if ridge < least:
            raise ValueError(f"gamma = {gamma!r}: allowed is at least {least:g} (printed)")
        return cls(unit, 8 * moved / eps, ridge)

    def release(self, data: Data, noise: ArrayLike, *, centre: bool = False) -> Array:
        """Estimated strengths, shape (..., n): one fit for each row of noise.

        Tables (..., n, n) may hold halves, ties. To ``centre`` is post-processing: the raw mean is
        pure noise. The score equation is solved to 1e-8, or to its rounding if that is larger.
        """
        if isinstance(data, Comparisons):
            met = np.bincount(data.winner).max() + np.bincount(data.loser).max()
        else:
            data = check.win_tables("data", data, unit=0.5)
            met = (data.sum(axis=-1) + data.sum(axis=-2)).max()
        self.unit.check(data)
        theta = self._solve(partial(ridge_mle, data), noise, float(met))
        return theta - theta.mean(axis=-1, keepdims=True) if centre else theta

    def perturb(self, wins: ArrayLike, noise: ArrayLike) -> Array:
        """`release` from the win counts alone, (..., n), where each pair is compared once."""
        return self._solve(partial(ridge_mle_complete, wins), noise, self.unit.n_items - 1)

    def _solve(self, fit: Callable[..., RidgeFit], noise: ArrayLike, degree: float) -> Array:
        drawn, n = check.finite_array("noise", noise), self.unit.n_items
        if drawn.shape[-1:] != (n,):
            raise ValueError(f"noise of shape {drawn.shape}: allowed is (..., {n})")
        linear = self.scale * drawn
        try:
            return fit(gamma=self.gamma, linear=linear).theta
        except RuntimeError:
            # Every operation rounds to a relative unit in the last place. The equation adds up n
            # terms of total weight D, the largest degree, the noise w and gamma theta, at most
            # abs(w) + D; theta is off itself, which moves the expected wins by D / 2 times that.
            # The solver keeps half to itself.
            size = float(np.abs(linear).max())
            terms = (n + 8) * degree + 8 * size
            terms += (self.gamma + degree / 2) * (size + degree) / self.gamma
            most, tol = float(np.finfo(float).eps) * terms, 1e-8
            if most <= tol:
                raise
        while (tol := 100 * tol) < most:  # that is for the worst theta; others need far less
            with suppress(RuntimeError):
                return fit(gamma=self.gamma, linear=linear, tol=tol).theta
        return fit(gamma=self.gamma, linear=linear, tol=most).theta

    def logpdf(self, theta: ArrayLike, data: Data) -> Array:
        """Log-density of the release at ``theta``, not centred, given the data; shape (...).

        CCW25, proofs A.1 and B.1, print its factor, the determinant, with the power -1.
        """
        t = check.finite_array("theta", theta)
        table = data.win_matrix() if isinstance(data, Comparisons) else data
        wins, n = check.win_tables("data", table), self.unit.n_items
        if t.shape[-1:] != (n,) or wins.shape[-1] != n:
            shapes = f"theta of shape {t.shape}, data of shape {wins.shape}"
            raise ValueError(f"{shapes}: allowed are (..., {n}) and (..., {n}, {n})")
        totals = wins + np.swapaxes(wins, -1, -2)
        gap = t[..., :, None] - t[..., None, :]
        gradient = (totals * expit(gap) - wins).sum(axis=-1) + self.gamma * t
        # expit(gap) * expit(-gap) keeps its relative accuracy where 1 - expit would cancel.
        weight = totals * expit(gap) * expit(-gap)
        diagonal = weight.sum(axis=-1) + self.gamma
        hessian = np.where(np.eye(n, dtype=bool), diagonal[..., None], -weight)
        density = laplace_logpdf(gradient, self.scale).sum(axis=-1)
        return np.asarray(density + np.linalg.slogdet(hessian)[1])

    def at_loss(self, epsilon: float, of: str = "release") -> Self:
        """The member with this unit and ridge whose proved loss is epsilon: `private`."""
        check.choice("of", of, ("release",))
        return type(self).private(epsilon, self.unit, self.gamma)

    def _release_loss(self) -> tuple[float, float]:
        """The supremum over all data and outputs, or bounds on it.

        A flip leaves the Hessian as it is and moves the score by 2 in l1, attained far out where
        the ridge fixes all signs. An exchange is as bad from three items on if a pair may meet more
        than once: j beat i, a little stronger, and this goes; i beats an item far above once more
        than many times. Where each pair meets at most once, what comes out is an upper bound for
        few items and the supremum over their number. L comparisons take L pairs i, j; with fewer
        items several share one, which moves the determinant less.
        """
        scale, gamma, n = self.scale, self.gamma, self.unit.n_items
        if not scale:
            return inf, inf
        moved, skips, proved = _moves(self.unit)
        flips = self.unit.l1("counts") / scale
        if not moved or (n == 2 and isinstance(self.unit, Edge)):  # two items have one pair
            return flips, flips
        most = moved * _exchange_loss(scale, gamma)
        if skips:
            # Attained: two far halves, all answers across turned round, those within dropped.
            inside = sum((h - 1) * log1p(h / (4 * gamma)) for h in (n // 2, n - n // 2))
            upper = proved / scale if gamma >= scale else most
            return min(n**2 // 2 / scale + inside, upper), upper
        if n == 2:
            return flips, most
        sharing = np.bincount(np.arange(moved) % ((n - 1) // 2))
        least = sum(_exchange_loss(scale / m, gamma / m) for m in sharing.tolist())
        return (least if least < most * (1 - 1e-12) else most), most


def _moves(unit: Unit) -> tuple[int, bool, float]:
    """Comparisons that may move to other pairs; whether pairs are skipped; scale times the loss.

    The loss is that which is proved for a ridge of at least the scale.
    """
    pairs, halves = comb(unit.n_items, 2), unit.n_items**2 // 4
    if isinstance(unit, Person) and unit.design == "each_pair_or_skip":
        return pairs, True, (pairs + 3 * halves) / 2
    if isinstance(unit, Edge):
        moved = int(unit.exchange)
    elif isinstance(unit, Person):
        moved = unit.per_user or 0
    elif isinstance(unit, WholeRanking) and unit.relation == "replace":
        moved = 0
    else:
        raise ValueError(f"unit = {unit!r}: allowed are Edge, Person, and rankings replaced")
    return moved, False, 4.0 * moved or unit.l1("counts")


def _exchange_loss(scale: float, gamma: float) -> float:
    """Loss when one comparison goes and another comes.

    With u = abs(F - y), the one that goes moves the score by at most 2 u and multiplies the
    determinant by at most 1 + 2 u (1 - u) / gamma; the other moves the score by 2, at u = 1, or
    less, where it lowers the ratio of determinants.
    """
    # Stationary points of 2u/scale + log1p(2u(1-u)/gamma): gamma + 2u - 2u^2 + scale(1 - 2u) = 0.
    linear, constant = 1 - scale, gamma + scale
    root = float(np.sqrt(linear**2 + 2 * constant))
    # The larger root; with a large scale linear + root would cancel.
    u = min((linear + root) / 2 if linear > 0 else constant / (root - linear), 1.0)
    # Concave on [0, 1], so that the stationary point, or the end before it, is the largest.
    return float(2 / scale + 2 * u / scale + np.log1p(2 * u * (1 - u) / gamma))


def _scale_for_small_ridge(epsilon: float, gamma: float, moved: int) -> float:
    """Smallest scale at which a ridge below it is private: the loss falls with the scale."""
    floor = moved * log1p(1 / (2 * gamma))
    if floor >= epsilon:
        needed = 1 / (2 * expm1(epsilon / moved))
        alone = f"else the determinant alone loses epsilon = {epsilon:g}"
        raise ValueError(f"gamma = {gamma!r}: allowed is more than {needed:g}, {alone}")

    def excess(scale: float) -> float:
        return moved * _exchange_loss(scale, gamma) - epsilon

    # The loss lies between 4 c / scale and 4 c / scale + floor.
    low, high = 4 * moved / epsilon * (1 - 1e-12), 4 * moved / (epsilon - floor) * (1 + 1e-12)
    return float(brentq(excess, low, high, xtol=1e-13, rtol=1e-14) * (1 + 1e-12))
