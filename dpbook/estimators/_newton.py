"""Damped inexact Newton for smooth convex problems, many at once along leading axes.

Arrays have shape (..., n); whatever is computed per problem keeps a last axis of length 1, so that
one code serves a single fit and a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from dpbook._typing import Array

TINY = np.finfo(float).tiny
STEP_LIMIT = 500
# Inner iterations of one Newton step; more would be wasted far from the minimiser.
INNER_LIMIT = 500
# A trial point is taken unless the slope along the step has turned up by more than this share.
OVERSHOOT = 0.5
LINE_LIMIT = 40


class Problem(Protocol):
    """What `minimise` needs to know of a problem."""

    def score(self, theta: Array) -> Array:
        """Gradient at ``theta``, which `direction` then refers to."""

    def direction(self, score: Array, tol: float) -> Array:
        """Approximate Newton step from the last point scored: always a descent direction."""


def dot(a: Array, b: Array) -> Any:
    """Inner products along the last axis."""
    return a @ b if a.ndim == 1 else np.einsum("...i,...i->...", a, b)[..., None]


def sup(a: Array) -> Any:
    """Sup-norms along the last axis."""
    return np.abs(a).max() if a.ndim == 1 else np.abs(a).max(axis=-1, keepdims=True)


def centred(a: Array) -> Array:
    """Subtract the means along the last axis."""
    return np.asarray(a - a.sum(axis=-1, keepdims=True) / a.shape[-1])


def minimise(problem: Problem, theta: Array, tol: float) -> tuple[Array, int]:
    """Lower the sup-norm of the gradient to ``tol / 2``, in at most `STEP_LIMIT` steps.

    Returns the last point and the number of steps. The caller certifies the point by another
    formula; the other half of the tolerance is left to the rounding between the two.
    """
    score, tol = problem.score(theta), tol / 2
    for iteration in range(STEP_LIMIT):
        residual = sup(score)
        if (residual <= tol).all():
            return theta, iteration
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            step = problem.direction(score, tol)
        if not np.isfinite(step).all():
            # No minimiser: the strengths run away until the Hessian vanishes.
            return theta, iteration
        if step.ndim > 1:  # a finished replicate of the batch stays where it is
            step = np.where(residual <= tol, 0.0, step)
        theta, score = _advance(problem, theta, step, score, tol)
    return theta, STEP_LIMIT


def _advance(
    problem: Problem, theta: Array, step: Array, score: Array, tol: float
) -> tuple[Array, Array]:
    """Take the step, shortened where it overshoots.

    The slope along a step rises from its negative start, by convexity. Where it is still negative
    at the trial point, the objective fell all the way; where it has turned up too far, the secant
    through the two slopes says how much shorter the step should be. No objective is computed.
    """
    start = -dot(score, step)
    length: Any = np.ones_like(start)
    for _ in range(LINE_LIMIT):
        trial = theta + length * step
        new = problem.score(trial)
        slope = dot(new, step)
        good = (slope <= OVERSHOOT * start) | (sup(new) <= tol)
        if good.all():
            break
        shorter = length * np.clip(start / np.maximum(start + slope, TINY), 0.1, 0.6)
        length = np.where(good, length, shorter)
    return trial, new


def newton_step(
    apply: Callable[[Array], Array], diagonal: Array, score: Array, *, stop: Any, centre: bool
) -> Array:
    """Solve H x = -score to a sup-norm of ``stop`` by CG, preconditioned by the diagonal of H.

    With ``centre``, H is blind to constants, and the solution is centred.
    """
    residual = centred(-score) if centre else -score
    diagonal = np.maximum(diagonal, TINY)
    direction = residual / diagonal
    solution = np.zeros_like(score)
    decrease = dot(residual, direction)
    for _ in range(INNER_LIMIT):
        image = apply(direction)
        length = decrease / np.maximum(dot(direction, image), TINY)
        if score.ndim > 1:
            # A replicate that is done waits: driven further, it would divide rounding by rounding.
            length = np.where(sup(residual) > stop, length, 0.0)
        solution += length * direction
        residual -= length * image
        if (sup(residual) <= stop).all():
            break
        scaled = residual / diagonal
        before, decrease = decrease, dot(residual, scaled)
        direction *= decrease / np.maximum(before, TINY)
        direction += scaled
    return centred(solution) if centre else solution


def logistic_start(wins: Array, degree: Array, linear: Array, gamma: float) -> Array:
    """First guess: log-odds of the share of wins, shrunk, inside the known bounds.

    Every minimiser solves gamma theta = wins - linear - (expected wins), and 0 <= expected wins <=
    degree: with a large linear term, these bounds are nearly the solution.
    """
    share = np.clip(wins / np.maximum(degree, TINY), 0.02, 0.98)
    theta = np.log(share / (1 - share)) * (degree / np.maximum(degree + 4 * gamma, TINY))
    if gamma == 0:
        return centred(np.broadcast_to(theta, linear.shape))
    return np.clip(theta, (wins - linear - degree) / gamma, (wins - linear) / gamma)
