"""Pages 06 and 07: derivatives by differences, other solvers, neighbours, searches for loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

from dpbook.models import LINKS
from dpbook.models.links import Link
from dpbook.privacy import Edge, Person
from dpbook.privacy.balls import Ball, exp, sqrt
from dpbook.privacy.balls import log as log_of
from dpbook.rankers import PerturbedMle

Array = NDArray[np.float64]
Generator = np.random.Generator
Case = tuple[Array, Array, Array]  # an output, and the win tables before and after


# Derivatives of the likelihood, in extended precision, from formulas that no link shares.

wide = np.longdouble
_ROOT3, _PI = np.sqrt(wide(3)), wide(4) * np.arctan(wide(1))
_ODD = np.cumprod(np.arange(1, 161, 2, dtype=wide))  # 1, 3, 15, 105, ...


def _probit(x: Any) -> Any:
    """Power series of the normal distribution function, good for moderate x."""
    series = sum(x ** (2 * k + 1) / _ODD[k] for k in range(80))
    return wide(0.5) + np.exp(-x * x / 2) / np.sqrt(2 * _PI) * series


INDEPENDENT: dict[str, Callable[[Any], Any]] = {
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "logistic_tanh": lambda x: 1 / (1 + np.exp(-x - np.tanh(x) / 4)),
    "probit": _probit,
    "cauchit": lambda x: wide(0.5) + np.arctan(x) / _PI,
    "student_t3": lambda x: (
        wide(0.5) + (np.arctan(x / _ROOT3) + x / _ROOT3 / (1 + x * x / 3)) / _PI
    ),
}


def _derivative(f: Callable[[Any], Any], t: Any, a: int, h: Any) -> Any:
    """Central difference of order six."""
    step = np.eye(len(t), dtype=wide)[a]
    weights = {1: wide(45) / 60, 2: -wide(9) / 60, 3: wide(1) / 60}
    return sum(w * (f(t + k * h * step) - f(t - k * h * step)) for k, w in weights.items()) / h


def by_differences(link: str, wins: NDArray[Any], t: Array, h: float) -> tuple[Any, Any]:
    """Gradient and Hessian of the negative log-likelihood at t."""
    i, j = np.nonzero(wins)
    F, at, step, items = INDEPENDENT[link], t.astype(wide), wide(h), range(len(t))

    def loss(s: Any) -> Any:
        return -np.log(F(s[i] - s[j])).sum()

    def slope(a: int) -> Callable[[Any], Any]:
        return lambda s: _derivative(loss, s, a, step)

    rows = [_derivative(slope(a), at, b, step) for b in items for a in items]
    return np.array([slope(a)(at) for a in items]), np.array(rows).reshape(len(t), -1)


# Other solvers of the score equation, two of them wrong.


def score(theta: Array, wins: Array, noise: Array, gamma: float) -> Array:
    """The score equation, written out; zero at the release."""
    gap = theta[:, None] - theta
    return np.asarray(((wins + wins.T) * expit(gap) - wins).sum(axis=1) + gamma * theta + noise)


def aliased(wins: Array, noise: Array, gamma: float) -> Array:
    """Gradient descent that stops at once: previous and theta are the same array."""
    theta = np.zeros(len(noise))
    for _ in range(10_000):
        previous = theta
        theta -= 0.01 * score(theta, wins, noise, gamma)
        if np.abs(theta - previous).max() < 1e-8:
            break
    return theta


def elsewhere(wins: Array, noise: Array, gamma: float) -> Array:
    """A quasi-Newton minimiser that starts far away."""

    def objective(t: Array) -> tuple[float, Array]:
        value = (wins * np.logaddexp(0, t - t[:, None])).sum() + gamma / 2 * t @ t + noise @ t
        return value, score(t, wins, noise, gamma)

    options: Any = {"gtol": 1e-9, "ftol": 0}
    start = 20 * np.sign(noise)
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)


# Exact loss, and neighbours with an output that reach it.


def exact_loss(scale: float, gamma: float, *, comparisons: int = 1, exchange: bool = True) -> float:
    """Supremum over all data of enough items: one comparison, or one person's comparisons."""
    unit = Edge(3, exchange) if comparisons == 1 else Person(2 * comparisons + 2, comparisons)
    return PerturbedMle(unit, scale, gamma).loss()[1]


def exchange_balls() -> dict[str, Ball]:
    """Loss of one comparison at the printed noise, over epsilon, with proved bounds.

    2/scale and the largest 2s/scale + log(1 + 2s(1 - s)/gamma), which is concave in s: it is where
    the derivative is 0, the larger root of 2s^2 + 2(scale - 1)s = gamma + scale.
    """
    found = {"flip_loss_over_eps": 2 / Ball(8)}
    for name, inverse in (("1", 1), ("0p1", 10)):  # scale 8/epsilon, gamma 1/epsilon
        scale, gamma = Ball(8 * inverse), Ball(inverse)
        s = (1 - scale + sqrt((scale - 1) ** 2 + 2 * (gamma + scale))) / 2
        most = 2 * s / scale + log_of(1 + 2 * s * (1 - s) / gamma)
        found[f"swap_sup_loss_over_eps_at_eps_{name}"] = (2 / scale + most) * inverse
    return found


def curvature_balls() -> dict[str, Ball]:
    """Curvature F(1 - F) of the logistic link at 4, and its inverse, with proved bounds."""
    F = exp(Ball(4)) / (1 + exp(Ball(4)))
    curvature = F * (1 - F)
    return {"logistic_min_curvature_at_4": curvature, "logistic_kappa2_forced_by_A2": 1 / curvature}


def tenth_less(*plan: float, **options: Any) -> float:
    """A twin: a tenth less than `exact_loss`."""
    return 0.9 * exact_loss(*plan, **options)


def log_ratio(t: Array, before: Array, after: Array, gamma: float, scale: float) -> Any:
    """Privacy loss at the output t."""
    return _loss_at(before, after, gamma, scale)(t)


def _loss_at(before: Array, after: Array, gamma: float, scale: float) -> Callable[[Array], Any]:
    """`log_ratio` as a function of t, (n,), as `PerturbedMle.logpdf` has it, unchecked."""
    wins = np.stack(np.broadcast_arrays(before, after))
    totals, same = wins + np.swapaxes(wins, -1, -2), np.eye(wins.shape[-1], dtype=bool)

    def loss(t: Array) -> Any:
        expected = expit(t[:, None] - t)
        gradient = (totals * expected - wins).sum(axis=-1) + gamma * t
        weight = totals * expected * expected.T
        hessian = np.where(same, (weight.sum(axis=-1) + gamma)[..., None], -weight)
        density = (-np.abs(gradient) / scale - log(2 * scale)).sum(axis=-1)
        here, there = density + np.linalg.slogdet(hessian)[1]
        return here - there

    return loss


# The same for any link.

_GRID = np.linspace(-40, 40, 80_001)


def constants(link: str) -> tuple[float, float]:
    """The smallest kappa_1 and kappa_2 on a grid; the second is only the upper half of A2."""
    F, x = LINKS[link], np.linspace(-40, 40, 8001)
    slope, near = F.log_slope(x) + F.log_slope(-x), x[abs(x) < 37]
    return float(slope.max()), float(F.log_curvature(near).max())


def link_loss(link: str, scale: float, ridge: float, comparisons: int = 1) -> Any:
    """The exact loss of one comparison, times their number."""
    F = LINKS[link]
    s, c = F.log_slope(_GRID), F.log_curvature(_GRID)
    return comparisons * (2 * s.max() / scale + (2 * s / scale + np.log1p(2 * c / ridge)).max())


def link_ratio(link: str, t: Array, before: Array, after: Array, ridge: float, scale: float) -> Any:
    """Privacy loss at the output t."""
    F, x = LINKS[link], t[..., :, None] - t[..., None, :]

    def logpdf(wins: Array) -> Any:  # up to a constant
        lost = np.swapaxes(wins, -1, -2)
        pull = (lost * F.log_slope(-x) - wins * F.log_slope(x)).sum(axis=-1) + ridge * t
        c = wins * F.log_curvature(x) + lost * F.log_curvature(-x)
        H = (c.sum(axis=-1) + ridge)[..., None] * np.eye(t.shape[-1]) - c
        return np.linalg.slogdet(H)[1] - np.abs(pull).sum(axis=-1) / scale

    return logpdf(before) - logpdf(after)


def _best_surprise(gamma: float, scale: float, room: float) -> tuple[float, float]:
    """Of the game that goes, and the gap that belongs to it."""
    u = (1 - scale + np.sqrt((1 - scale) ** 2 + 2 * (gamma + scale))) / 2  # unless above 1

    def excess(v: float) -> float:
        return float(gamma * logit(v) + 2 * v - room)

    limit = 1 - 1e-13
    u = min(u, limit if excess(limit) < 0 else brentq(excess, 1e-13, limit))
    return u, logit(u)


def revealing(
    n: int,
    gamma: float,
    scale: float,
    moved: int = 1,
    weight: float = 1,
    best: tuple[float, float] | None = None,
) -> Case:
    """Neighbours (`moved` comparisons exchanged) and an output of almost the largest loss."""
    room = weight * (n - 2 * moved)  # helpers of each pair
    u, gap = best or _best_surprise(gamma, scale, room)
    top, low = 2 * moved, 2 * moved + 1  # the pair that comes
    up, down = [top, *range(low + 2, n, 2)], [low, *range(low + 1, n, 2)]
    shared, before, after = np.zeros((3, n, n))
    t, slack = np.zeros(n), (room - 2 * u - gamma * gap) / 2
    for i in range(0, 2 * moved, 2):
        shared[i, up] = shared[down, i + 1] = weight
        before[i + 1, i], after[low, top] = 1, after[low, top] + 1
        t[i] = (weight * len(up) - u - slack) / gamma
        t[i + 1] = t[i] - gap
    t[up], t[down] = (s * (500 + 50 * weight * n / gamma) for s in (1, -1))
    return t, shared + before, shared + after


# Searches without hints.


def drawn(n: int, kind: str, points: int, rng: Generator) -> Array:
    """Random neighbours with at most one comparison of each pair, shape (2, points, n, n)."""
    i, j = np.triu_indices(n, 1)
    sides = np.zeros((2, points, n, n))
    for r in range(points):
        x = rng.integers(-1, 2, i.size)
        a, b = (*rng.permutation(i.size), 0)[:2]  # two items have one pair, and no exchange
        said, other = rng.choice([-1, 1], 2)
        x[a] = said
        y = x.copy()
        if kind == "flip":
            y[a] = -said
        else:
            x[b], y[b], y[a] = 0, other, 0
        for side, row in zip(sides[:, r], (x, y), strict=True):
            side[i, j], side[j, i] = row == 1, row == -1
    return sides


def _climb(start: Array, before: Array, after: Array, gamma: float, scale: float) -> float:
    options: Any = {"maxfev": 1200, "xatol": 1e-7, "fatol": 1e-10, "adaptive": True}

    loss = _loss_at(before, after, gamma, scale)

    def minus(t: Array) -> float:
        return -float(loss(t))

    return -minimize(minus, start, method="Nelder-Mead", options=options).fun


def search(
    neighbours: Array,
    gamma: float,
    scale: float,
    starts: Sequence[Case],
    points: int,
    rng: Generator,
) -> float:
    """Largest log-ratio found: random outputs, then Nelder-Mead from the best and from `starts`."""
    before, after = neighbours
    n = before.shape[-1]
    spread = np.array([1, 3, 10, 200])[rng.integers(0, 4, (points, 1))]
    t = spread * rng.standard_t(2, (points, n))
    values = np.array([*map(_loss_at(before, after, gamma, scale), t)])
    best = np.argsort(values, axis=None)[-2:]
    random = [(t[a], before[b], after[b]) for a, b in (divmod(k, len(before)) for k in best)]
    return max(values.max(), *(_climb(*start, gamma, scale) for start in (*starts, *random)))


def blind(L: int, n: int, epsilon: float, points: int, rng: Generator) -> float:
    """Loss over epsilon, as printed: random data of others, L random old and new comparisons."""
    sides = np.zeros((2, points, n, n))
    for r in range(points):
        others = rng.integers(0, 4, (n, n)) * (1 - np.eye(n))
        for side in sides[:, r]:
            side += others
            for _ in range(L):
                i, j = rng.choice(n, 2, replace=False)
                side[i, j] += 1
    return search(sides, 2 * L / epsilon, 8 * L / epsilon, (), points, rng) / epsilon


# Steps of the proofs.


def hessian(t: Array, wins: Array, gamma: float) -> Array:
    """Hessian of the ridge objective."""
    c = (wins + wins.T) * expit(t[:, None] - t) * expit(t - t[:, None])
    return np.asarray(gamma * np.eye(len(t)) + np.diag(c.sum(axis=1)) - c)


def update_errors(
    t: Array, before: Array, after: Array, gamma: float, twin: bool = False
) -> tuple[float, bool]:
    """Error of the two-factor formula; whether both factors keep their bounds."""
    H, new = hessian(t, before, gamma), hessian(t, after, gamma)
    kept = hessian(t, np.minimum(before, after), gamma)
    first = np.linalg.det(kept) / np.linalg.det(H)  # 1 - c v' H^-1 v
    added, size = new - kept, np.trace(new - kept)
    second = 1 + np.trace(np.linalg.solve(H if twin else kept, added))
    exact = np.linalg.det(new) / np.linalg.det(H)
    bounded = first <= 1 + 1e-12 and second <= 1 + size / gamma + 1e-12
    return abs(first * second / exact - 1), bool(bounded)


# Pairs that may be skipped.


def skip_pairs(n: int, points: int, rng: Generator) -> Array:
    """Random answers of one person, before and after, on top of random answers of others."""
    i, j = np.triu_indices(n, 1)
    others = rng.integers(0, 3, (points, n, n)) * (1 - np.eye(n))
    sides = np.stack([others, others])
    for side in sides:
        x = rng.integers(-1, 2, (points, i.size))
        side[:, i, j] += x == 1
        side[:, j, i] += x == -1
    return sides


def two_halves(n: int) -> Case:
    """Two far halves: all answers across turned round, those within a half dropped."""
    upper = np.arange(n) < (n + 1) // 2
    cross, inside = np.outer(upper, ~upper), np.triu(np.equal.outer(upper, upper), 1)
    before = (cross + inside).astype(float)
    return np.where(upper, 500.0, -500.0), before, cross.T.astype(float)


def skip_bound(n: int) -> float:
    """Bound on the loss times the scale."""
    return (comb(n, 2) + 3 * (n**2 // 4)) / 2


# A flip under links that miss the conditions.

GAPS = np.linspace(-12, 12, 241)
_MIDDLE = np.linspace(-60, 60, 1201)[:, None]


def flip_loss(F: Link, lam: float = 8.0, ridge: float = 1.0) -> Array:
    """Largest log-ratio of a flip at each of `GAPS`, over the mean of the two strengths."""
    force = {1: -F.log_slope(GAPS), 0: F.log_slope(-GAPS)}
    weight = {1: F.log_curvature(GAPS), 0: F.log_curvature(-GAPS)}
    log_f = {}
    for y in (0, 1):
        first = force[y] + ridge * (_MIDDLE + GAPS / 2)
        second = ridge * (_MIDDLE - GAPS / 2) - force[y]
        log_f[y] = np.log(ridge + 2 * weight[y]) - (abs(first) + abs(second)) / lam
    return np.asarray(np.abs(log_f[1] - log_f[0]).max(axis=0))
