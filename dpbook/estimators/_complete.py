"""Fits on the complete graph with equal counts, from win counts, without touching the pairs.

F(x - y) is a smooth function of two variables: a few products of Chebyshev polynomials represent
it to rounding. Sums over opponents then cost O(n m) instead of O(n^2), and the Hessian is diagonal
plus low rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from dpbook._typing import Array
from dpbook.estimators._logistic import Matrices
from dpbook.estimators._newton import centred, logistic_start, minimise

# Strengths that spread more than this from the middle need too many polynomials.
WIDEST = 10.0
# Relative accuracy of the Hessian: it slows Newton's method down by this factor per step at most.
HESSIAN_ACCURACY = 1e-5
_FEW_ITEMS = 40  # up to so many the certificate of all replicates comes at once


class TooWideError(Exception):
    """The strengths spread beyond `WIDEST`: another route is needed."""


@dataclass(frozen=True)
class WinCounts:
    """Win counts (n,), shared by all replicates, or (replicates, n); equal counts per pair."""

    won: Array
    least: float  # the weight of each pair

    @property
    def block(self) -> int:
        """Replicates worked on at once: a cache's worth, and enough to be worth the calls."""
        return max(50, 2**12 // self.won.shape[-1])

    def part(self, index: Any) -> WinCounts:
        return self if self.won.ndim == 1 else WinCounts(self.won[index], self.least)

    def groups(self) -> int:
        """Count by Landau's criterion: the worst k items must have won something outside."""
        k = np.arange(1, self.won.shape[-1])
        least = self.least * k * (k - 1) / 2
        won = np.cumsum(np.sort(self.won, axis=-1), axis=-1)[..., :-1]
        cuts = won <= least * (1 + 1e-12)
        return 1 + int(np.max(cuts.sum(axis=-1)))

    def solve(self, linear: Array, gamma: float, tol: float) -> tuple[Array, Array, int]:
        """Theta, residuals computed afresh, and the steps; on matrices where strengths are wide."""
        n, per_pair, target = linear.shape[-1], self.least, self.won - linear
        start = logistic_start(self.won, np.full(n, per_pair * (n - 1)), linear, gamma)
        try:
            theta, steps = minimise(CompleteWins(target, per_pair, gamma, tol), start, tol)
        except (TooWideError, np.linalg.LinAlgError):
            halves = Matrices(per_pair / 2 * (1 - np.eye(n)))
            return halves.solve(halves.won - target, gamma, tol)
        # The certificate sums over all pairs, without polynomials: O(n^2) time.
        e = np.exp(theta - theta.mean(axis=-1, keepdims=True))
        score = per_pair * (e * _inverse_sums(e) - 0.5) - target + gamma * theta
        return theta, np.abs(score).max(axis=-1), steps


@lru_cache(maxsize=64)
def _coefficients(width: float, terms: int, slope: bool) -> Array:
    """Chebyshev coefficients of F(x - y), or of F'(x - y), for x and y in [-width, width]."""
    angles = (np.arange(terms) + 0.5) * np.pi / terms
    nodes = width * np.cos(angles)
    gaps = nodes[:, None] - nodes
    values = special.expit(gaps)
    if slope:
        values = values * special.expit(-gaps)
    transform = np.cos(np.outer(np.arange(terms), angles)) * (2 / terms)
    transform[0] /= 2
    return transform @ values @ transform.T


class CompleteWins:
    """Score and Newton steps; ``target``, the wins less the linear term, has shape (..., n)."""

    def __init__(self, target: Array, per_pair: float, gamma: float, tol: float) -> None:
        self.target, self.per_pair, self.gamma = target, per_pair, gamma
        self._log_digits = math.log(40 * max(1.0, per_pair * target.shape[-1]) / tol)

    def score(self, theta: Array) -> Array:
        """Return per_pair * sum over j != i of F(theta_i - theta_j) - target_i + gamma theta_i."""
        low, high = theta.min(axis=-1, keepdims=True), theta.max(axis=-1, keepdims=True)
        spread = (high - low).max()
        if not spread <= 2 * WIDEST:
            raise TooWideError
        width = max(1, math.ceil(spread)) / 2
        # F is analytic up to its pole at pi i: coefficients fall like rate^-k.
        rate = math.pi / width + math.hypot(1, math.pi / width)
        self._rank = math.ceil(-math.log(HESSIAN_ACCURACY) / math.log(rate)) + 1
        # A coarse tolerance asks for few terms of the score; the Hessian still needs its own.
        terms = max(math.ceil(self._log_digits / math.log(rate)) + 2, self._rank)
        self._slopes = _coefficients(width, terms, True)
        # T_0, ..., T_(terms - 1) at each strength, shape (..., terms, n).
        self._powers = _polynomials((theta - (low + high) / 2) / width, terms)
        self._sums = self._powers @ np.ones(theta.shape[-1])
        expected = self._expand(self._sums @ _coefficients(width, terms, False).T)
        # The sum over all j counts i itself, with F(0) = 1/2.
        return self.per_pair * (expected - 0.5) - self.target + self.gamma * theta

    def _expand(self, coefficients: Array) -> Array:
        return (coefficients[..., None, :] @ self._powers)[..., 0, :]

    def direction(self, score: Array, tol: float) -> Array:
        """Newton step, by Woodbury's formula for a diagonal minus a matrix of rank `_rank`."""
        rank = self._rank
        diagonal = self.per_pair * self._expand(self._sums @ self._slopes.T) + self.gamma
        # Constants are an eigenvector whose eigenvalue, the ridge, may drown in the error of the
        # truncated sum. Pin the mean at the scale of the others, and move it by itself.
        mean = score.mean(axis=-1, keepdims=True)
        score = score - mean
        inner = np.empty((*score.shape[:-1], rank, rank))
        inner[:] = self.per_pair * self._slopes[:rank, :rank]
        inner[..., 0, 0] -= diagonal.mean(axis=-1) / score.shape[-1]
        powers = self._powers[..., :rank, :]
        scaled = powers / diagonal[..., None, :]
        system = np.eye(rank) - inner @ (scaled @ np.swapaxes(powers, -1, -2))
        side = inner @ (scaled @ score[..., None])
        correction = np.linalg.solve(system, side)
        step = -(score + (np.swapaxes(correction, -1, -2) @ powers)[..., 0, :]) / diagonal
        return centred(step) - (mean / self.gamma if self.gamma else 0.0)


def _polynomials(x: Array, terms: int) -> Array:
    """As ``numpy.polynomial.chebyshev.chebvander``, without its copies: an eighth of a fit."""
    values = np.empty((terms, *x.shape))
    values[0], values[1] = 1.0, x
    twice = 2 * x
    for k in range(2, terms):
        np.multiply(twice, values[k - 1], out=values[k])
        values[k] -= values[k - 2]
    return np.moveaxis(values, 0, -2)


def _inverse_sums(e: Array) -> Array:
    """Sums over j of 1 / (e_i + e_j), a block of rows at a time, each unordered pair once."""
    n = e.shape[-1]
    if n <= _FEW_ITEMS:  # a loop over replicates would take longer than the sums
        flat, step = e.reshape(-1, n), 2**16 // n**2
        parts = np.split(flat, range(step, len(flat), step))
        found = [(1.0 / (part[:, :, None] + part[:, None, :])).sum(axis=-1) for part in parts]
        return np.asarray(np.concatenate(found).reshape(e.shape))
    rows = max(8, min(n // 2, 2**16 // n))
    work, ones, sums = np.empty(rows * n), np.ones(n), np.zeros_like(e)
    left, right = np.ones((n, 2)), np.ones((2, n))
    for replicate in np.ndindex(e.shape[:-1]):
        left[:, 0] = right[1] = e[replicate]
        total = sums[replicate]
        for first in range(0, n, rows):
            last = min(first + rows, n)
            block = work[: (last - first) * (n - first)].reshape(last - first, n - first)
            # e_i * 1 + 1 * e_j: as a product of matrices, faster than adding a row to a column.
            np.matmul(left[first:last], right[:, first:], out=block)
            np.divide(1.0, block, out=block)
            total[first:last] += block @ ones[first:]
            if last < n:
                total[last:] += ones[first:last] @ block[:, last - first :]
    return sums
