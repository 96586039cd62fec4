"""The perturbed maximum-likelihood estimate, its exact density and its exact loss.

The estimate solves grad R(theta) + w = 0 with Laplace noise w, so w = -grad R(theta) is a smooth
one-to-one function of the estimate, and the density follows from the change of variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import expm1, inf, log1p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.estimators.ridge import RidgeFit, ridge_mle, ridge_mle_complete
from dpbook.mechanisms import laplace_logpdf
from dpbook.privacy.units import Edge, Person, Unit, WholeRanking
from dpbook.rankers.base import Array, Ranker


@dataclass(frozen=True)
class PerturbedMle(Ranker):
    """Bradley-Terry strengths: maximum likelihood with a ridge and a random linear term.

    Attributes
    ----------
    unit, scale
        As for `Ranker`; a whole ranking is replaced; Laplace scale lambda of the noise on the
        score.
    gamma : float
        Ridge parameter, above 0.

    Notes
    -----
    CCW25, Algorithm 1 and (3.2), logistic link; objective perturbation (Chaudhuri, Monteleoni,
    Sarwate 2011). **Privacy.** At the scale of `private`, (epsilon, 0)-DP for an exact minimiser;
    the solver is iterative. A tie that counts half a win for each side spends no more than a win:
    it moves the score by less and has the same curvature.
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
        _largest_exchange(self.unit)

    @classmethod
    def private(cls, epsilon: float, unit: Unit, gamma: float | None = None) -> PerturbedMle:
        """The least noise that is proved to be epsilon-DP with a ridge, by default as large.

        The change of the win counts over epsilon where neighbours compare the same pairs, whatever
        the ridge; 4 L / epsilon for L comparisons when gamma is at least that, and the root of the
        loss for a smaller ridge; (n (n - 1) / 2 + 3 floor(n^2 / 4)) / (2 epsilon), and no smaller
        ridge, where a person may skip pairs. A ridge whose determinant alone may lose epsilon is
        refused.
        """
        eps = check.epsilon(epsilon)
        ridge = None if gamma is None else check.positive("gamma", gamma)
        moved = _largest_exchange(unit)
        if not moved:
            scale = unit.l1("counts") / eps
        elif _may_skip(unit):
            scale = _skipped(unit) / eps
            if ridge is not None and ridge < scale:
                raise ValueError(
                    f"gamma = {gamma!r}: allowed is at least {scale:g} with skipped pairs"
                )
        else:
            scale = 4 * moved / eps
            if ridge is not None and ridge < scale:
                scale = _scale_for_small_ridge(eps, ridge, moved)
        return cls(unit, scale, ridge or scale)

    @classmethod
    def printed(
        cls, epsilon: float, unit: Edge | Person, gamma: float | None = None
    ) -> PerturbedMle:
        """As CCW25 prints it: 8 L / epsilon and a ridge of 1 / epsilon, 2 L / epsilon, or more.

        Propositions 2.1 (one comparison) and 3.1 (L of a person): private, `loss` below epsilon.
        """
        eps, moved = check.epsilon(epsilon), unit.comparisons
        least = (1 if isinstance(unit, Edge) else 2 * moved) / eps
        ridge = least if gamma is None else check.positive("gamma", gamma)
        if ridge < least:
            raise ValueError(f"gamma = {gamma!r}: allowed is at least {least:g} (printed)")
        return cls(unit, 8 * moved / eps, ridge)

    def release(
        self, data: Comparisons | ArrayLike, noise: ArrayLike, *, centre: bool = False
    ) -> Array:
        """Estimated strengths, shape (..., n): one fit for each row of noise.

        Of comparisons, or of tables of wins, (..., n, n), which may hold halves (ties). To
        ``centre`` is post-processing: the raw mean is ``-scale mean(noise) / gamma``, pure noise.
        Each row solves its score equation to a sup-norm of 1e-8, or, where the noise is so large
        that its own last digits exceed that, to the rounding of the equation.
        """
        if isinstance(data, Comparisons):
            table: Comparisons | NDArray[Any] = data
            met = np.bincount(data.winner).max() + np.bincount(data.loser).max()
        else:
            table = check.win_tables("data", data, unit=0.5)
            met = (table.sum(axis=-1) + table.sum(axis=-2)).max()
        self.unit.check(table)
        return self._solve(partial(ridge_mle, table), noise, float(met), centre)

    def perturb(
        self, wins: ArrayLike, noise: ArrayLike, *, per_pair: float = 1, centre: bool = False
    ) -> Array:
        """`release` from the win counts alone, where each pair is compared ``per_pair`` times."""
        fit = partial(ridge_mle_complete, wins, per_pair=per_pair)
        return self._solve(fit, noise, per_pair * (self.unit.n_items - 1), centre)

    def _solve(
        self, fit: Callable[..., RidgeFit], noise: ArrayLike, degree: float, centre: bool
    ) -> Array:
        drawn, n = check.finite_array("noise", noise), self.unit.n_items
        if drawn.shape[-1:] != (n,):
            raise ValueError(f"noise of shape {drawn.shape}: allowed is (..., {n})")
        linear = self.scale * drawn
        try:
            theta = fit(gamma=self.gamma, linear=linear).theta
        except RuntimeError:
            tol = self._rounding(float(np.abs(linear).max()), degree)
            if tol <= 1e-8:
                raise
            theta = fit(gamma=self.gamma, linear=linear, tol=tol).theta
        return theta - theta.mean(axis=-1, keepdims=True) if centre else theta

    def _rounding(self, size: float, degree: float) -> float:
        """Residual of the score equation that rounding may leave.

        The equation adds up n terms of total weight D, the largest degree, the noise w, and gamma
        theta, at most abs(w) + D. Each operation rounds its result by a unit in the last place,
        u, relatively; and the nearest float to theta, at most (abs(w) + D) / gamma, is off by u
        too, which moves the expected wins by up to D / 2 times that. The solver keeps half to
        itself.
        """
        theta = (size + degree) / self.gamma
        terms = (self.unit.n_items + 8) * degree + 8 * size
        terms += (self.gamma + degree / 2) * theta
        return float(np.finfo(float).eps) * terms

    def logpdf(self, theta: ArrayLike, data: Comparisons | ArrayLike) -> Array:
        """Log-density of the release at ``theta``, not centred, given the data; shape (...).

        ``-norm1(grad R) / lambda - n log(2 lambda) + log det Hess R``; CCW25, proofs A.1 and B.1,
        print the determinant with the power -1. A difference of two values, for neighbouring data,
        is the privacy loss at ``theta``.
        """
        t = check.finite_array("theta", theta)
        table = data.win_matrix() if isinstance(data, Comparisons) else data
        wins, n = check.win_tables("data", table), self.unit.n_items
        if t.shape[-1:] != (n,) or wins.shape[-1] != n:
            raise ValueError(
                f"theta of shape {t.shape}, data of shape {wins.shape}: allowed are (..., {n}) "
                f"and (..., {n}, {n})"
            )
        totals = wins + np.swapaxes(wins, -1, -2)
        gap = t[..., :, None] - t[..., None, :]
        gradient = (totals * expit(gap) - wins).sum(axis=-1) + self.gamma * t
        # expit(gap) * expit(-gap) keeps its relative accuracy where 1 - expit would cancel.
        weight = totals * expit(gap) * expit(-gap)
        diagonal = weight.sum(axis=-1) + self.gamma
        hessian = np.where(np.eye(n, dtype=bool), diagonal[..., None], -weight)
        density = laplace_logpdf(gradient, self.scale).sum(axis=-1)
        return np.asarray(density + np.linalg.slogdet(hessian)[1])

    def at_loss(self, epsilon: float, of: str = "release") -> PerturbedMle:
        """The member with this unit and ridge whose proved loss is epsilon: `private`."""
        check.choice("of", of, ("release",))
        return type(self).private(epsilon, self.unit, self.gamma)

    def _release_loss(self) -> tuple[float, float]:
        """The supremum over all data and outputs, or bounds on it.

        A flip leaves the Hessian as it is and moves the score by 2 in l1, attained far out where
        the ridge fixes all signs. A removed comparison with u = abs(F - y) has curvature
        u (1 - u): it moves the score by at most 2 u and multiplies the determinant by at most
        1 + 2 u (1 - u) / gamma. An added comparison moves the score by at most 2, at u = 1, where
        it adds no curvature; elsewhere it only lowers the ratio of determinants.
        That is attained, or approached, from three items on: j beat i, a little stronger, and this
        goes; i beats an item far above once more than the many times before. L comparisons take L
        pairs i, j; with fewer items several share a pair, which moves the determinant less.
        """
        if not self.scale:
            return inf, inf
        scale, gamma, n = self.scale, self.gamma, self.unit.n_items
        moved = _largest_exchange(self.unit)
        if not moved or (n == 2 and isinstance(self.unit, Edge)):  # two items have one pair
            return (self.unit.l1("counts") / scale,) * 2
        most = moved * _exchange_loss(scale, gamma)
        if _may_skip(self.unit):
            # Attained: two far halves, all answers across turned round, those within dropped.
            inside = sum((h - 1) * log1p(h / (4 * gamma)) for h in (n // 2, n - n // 2))
            upper = _skipped(self.unit) / scale if gamma >= scale else most
            return min(n**2 // 2 / scale + inside, upper), upper
        if n == 2:
            return self.unit.l1("counts") / scale, most
        share, more = divmod(moved, (n - 1) // 2)
        sizes = [share + 1] * more + [share] * ((n - 1) // 2 - more)
        least = sum(_exchange_loss(scale / size, gamma / size) for size in sizes if size)
        return (least if least < most * (1 - 1e-12) else most), most


def _largest_exchange(unit: Unit) -> int:
    """Comparisons that may become comparisons of other pairs; 0 if neighbours compare the same."""
    if isinstance(unit, Edge):
        return int(unit.exchange)
    if isinstance(unit, Person):
        return 0 if unit.design in ("each_pair_once", "ranking") else unit.comparisons
    if not isinstance(unit, WholeRanking) or unit.relation != "replace":
        raise ValueError(f"unit = {unit!r}: allowed are Edge, Person, and rankings replaced")
    return 0


def _may_skip(unit: Unit) -> bool:
    return isinstance(unit, Person) and unit.design == "each_pair_or_skip"


def _skipped(unit: Unit) -> float:
    """Scale times the loss where pairs may be skipped, for a ridge of at least the scale."""
    n = unit.n_items
    return (n * (n - 1) // 2 + 3 * (n**2 // 4)) / 2


def _exchange_loss(scale: float, gamma: float) -> float:
    """Loss when one comparison goes and another comes."""
    # Stationary points of 2u/scale + log1p(2u(1-u)/gamma): gamma + 2u - 2u^2 + scale(1 - 2u) = 0.
    linear, constant = 1 - scale, gamma + scale
    u = float(np.clip((linear + np.sqrt(linear**2 + 2 * constant)) / 2, 0, 1))
    removed = max(2 * x / scale + np.log1p(2 * x * (1 - x) / gamma) for x in (1.0, u))
    return float(2 / scale + removed)


def _scale_for_small_ridge(epsilon: float, gamma: float, comparisons: int) -> float:
    """Smallest scale at which a ridge below it is private: the loss falls with the scale."""
    floor = comparisons * log1p(1 / (2 * gamma))
    if floor >= epsilon:
        needed = 1 / (2 * expm1(epsilon / comparisons))
        raise ValueError(
            f"gamma = {gamma!r}: allowed is more than {needed:g}, else the determinant alone "
            f"loses epsilon = {epsilon:g}"
        )

    def excess(scale: float) -> float:
        return comparisons * _exchange_loss(scale, gamma) - epsilon

    # The loss lies between 4 c / scale and 4 c / scale + floor.
    low, high = 4 * comparisons / epsilon, 4 * comparisons / (epsilon - floor)
    root = brentq(excess, low * (1 - 1e-12), high * (1 + 1e-12), xtol=1e-13, rtol=1e-14)
    return float(root * (1 + 1e-12))
