"""Cells of the line of scores, for the top-k set and the ranking: see `distributions`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from math import ceil, exp, factorial

import numpy as np
from numpy.typing import NDArray

from dpbook._typing import Array, Ints

Steps = tuple[Array, Iterator[Array], Array]  # left tail, one step for each cell, right tail

# Gauss-Legendre nodes per cell of width at most one scale: tests/test_laws.py bounds the error.
NODES = 20
# Beyond this many scales the tails of the discrete distribution weigh less than a rounding unit.
TAIL_SCALES = 45
TAYLOR_TERMS = 60


def geometric_pmf(m: Array, b: float) -> Array:
    """Discrete Laplace distribution, unchecked."""
    return np.asarray(np.tanh(0.5 / b) * np.exp(-np.abs(m) / b))


def _geometric_cdf(m: Array, b: float) -> Array:
    """P(W <= m) for integer m."""
    tail = np.exp(-np.abs(np.where(m < 0, m, m + 1)) / b) / (1 + exp(-1 / b))
    return np.asarray(np.where(m < 0, tail, 1 - tail))


def _edges(z: Array) -> Array:
    """Edges at the scores, cut further so that no cell is wider than 1."""
    corners = np.unique(z)
    pieces = [np.linspace(a, c, ceil(c - a) + 1)[:-1] for a, c in pairwise(corners)]
    return np.concatenate([*pieces, corners[-1:]])


# ------------------------------------------------------------------ nodes for the top-k set


@lru_cache(maxsize=32)
def _gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on (0, 1)."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, w / 2


def laplace_nodes(values: Array, b: float) -> tuple[Array, Array, Array, Array]:
    """Distribution functions, survival functions, densities, (nodes, n), and weights, (nodes,)."""
    z = values / b
    tail, tail_weight = _gauss_legendre(z.size // 2 + 1)
    u, w = _gauss_legendre(NODES)
    edges = _edges(z)
    width = np.diff(edges)[:, None]
    # In the tails v = exp(-distance to the outermost score) reverses the integrand into a
    # polynomial of degree n - 1 in v, and dt = dv / v: exact with n/2 + 1 nodes.
    low, high = z.min() + np.log(tail), z.max() - np.log(tail)
    points = np.concatenate([low, (edges[:-1, None] + width * u).ravel(), high])
    weights = np.concatenate([tail_weight / tail, (width * w).ravel(), tail_weight / tail])
    x = points[:, None] - z
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, half, 1 - half), np.where(x < 0, 1 - half, half), half, weights


def geometric_nodes(values: Array, b: float) -> tuple[Array, Array, Array, Array]:
    """As `laplace_nodes`, for discrete noise and a uniform tie-breaker: linear on unit cells."""
    n, reach = values.size, ceil(TAIL_SCALES * b)
    u, w = _gauss_legendre(n // 2 + 1)
    cells = np.arange(values.min() - reach, values.max() + reach + 1)
    m, part = cells[:, None, None] - values, u[:, None]
    pmf = geometric_pmf(m, b)
    cdf = _geometric_cdf(m - 1, b) + pmf * part
    survival = _geometric_cdf(-m - 1, b) + pmf * (1 - part)
    density = np.repeat(pmf, u.size, axis=1)
    cdf, survival, density = (array.reshape(-1, n) for array in (cdf, survival, density))
    return cdf, survival, density, np.tile(w, cells.size)


# ------------------------------------------------------------------ steps of the ranking
# Arrays here have the orders of the items, lowest first, as their last axis.


def laplace_steps(values: Array, b: float, orders: Ints) -> Steps:
    """Left tail, steps through the cells and right tail of the ranking law, Laplace noise."""
    z = values / b
    n, low, high = z.size, z.min(), z.max()
    fractions = _inverse_factorials(n)
    # In a tail all densities are proportional to the same exponential: the items there are
    # exchangeable once each has paid its own factor.
    left = _run_products(0.5 * np.exp(low - z)[orders])[0] * fractions[0, :, None]
    right = _run_products(0.5 * np.exp(z - high)[orders])[:, n] * fractions[:, n, None]

    def step(a: float, c: float) -> Array:
        rising = z > (a + c) / 2  # density grows towards the item's own score
        height = 0.5 * np.exp(np.where(rising, c - z, z - a))
        return _run_products(height[orders]) * _ordered_exponentials(rising[orders], c - a)

    return left, (step(float(a), float(c)) for a, c in pairwise(_edges(z))), right


def geometric_steps(values: Array, b: float, orders: Ints) -> Steps:
    """As `laplace_steps`, for discrete Laplace noise."""
    low, high = values.min(), values.max()
    fractions = _inverse_factorials(values.size)
    left = _geometric_tail(geometric_pmf(low - 1 - values, b)[orders], b)
    right = _geometric_tail(geometric_pmf(high + 1 - values, b)[orders][::-1], b)[::-1]
    pmfs = (geometric_pmf(t - values, b)[orders] for t in np.arange(low, high + 1))
    return left, (_run_products(pmf) * fractions[:, :, None] for pmf in pmfs), right


def _run_products(factors: Array) -> Array:
    """Products over runs of items: entry [j, l] = prod of factors[j:l] (1 if j = l)."""
    n, count = factors.shape
    runs = np.zeros((n + 1, n + 1, count))
    for j in range(n + 1):
        runs[j, j] = 1.0
        np.cumprod(factors[j:], axis=0, out=runs[j, j + 1 :])
    return runs


def _inverse_factorials(n: int) -> Array:
    """Entry [j, l] = 1 / (l - j)!, the chance that l - j exchangeable items come in one order."""
    return np.array([[1 / factorial(max(m - j, 0)) for m in range(n + 1)] for j in range(n + 1)])


def _ordered_exponentials(rising: NDArray[np.bool_], width: float) -> Array:
    """Ordered integrals of exponentials over a cell, for every run of items in every order.

    Entry [j, l] integrates prod_{j <= i < l} g_i(t_i) over 0 < t_j < ... < t_{l-1} < width,
    with g = exp(t - width) for a rising item and exp(-t) for a falling one.
    """
    n, count = rising.shape
    table = _exponential_table(n, width)
    codes = np.cumsum(rising << np.arange(n)[:, None], axis=0)  # of the items up to each
    result = np.zeros((n + 1, n + 1, count))
    for j in range(n + 1):
        result[j, j] = 1.0
        result[j, j + 1 :] = table[codes[j:] >> j, np.arange(1, n - j + 1)[:, None]]
    return result


@lru_cache(maxsize=256)
def _exponential_table(n: int, width: float) -> Array:
    """Ordered integrals for all 2^n patterns of signs; bit i of the row is item i's sign.

    Column l depends on the first l bits only. The integrals solve dA_l/dt = exp(s_l t) A_{l-1}.
    With B_l = exp(-sigma_l t) A_l and sigma_l = s_1 + ... + s_l this is a linear system with
    constant bidiagonal matrix; shifted by n it has no negative entry, so its exponential series
    has positive terms only and loses nothing to cancellation.
    """
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    nothing = np.zeros((2**n, 1))
    rises = np.hstack([nothing, np.cumsum(bits, axis=1)])
    sigma = 2 * rises - np.arange(n + 1)
    term = np.eye(1, n + 1).repeat(2**n, axis=0)
    total = term.copy()
    for order in range(1, TAYLOR_TERMS + int(6 * n * width)):
        carried = np.hstack([nothing, term[:, :-1]])
        term = ((n - sigma) * term + carried) * (width / order)
        total += term
    return np.asarray(total * np.exp((sigma - n - rises) * width))


def _geometric_tail(outermost: Array, b: float) -> Array:
    """P(the first l items lie in the tail, in order), for every l.

    ``outermost`` holds the probabilities of the tail's nearest cell. One cell further out each
    item weighs exp(-1/b) times as much, so the tail T_l solves T_l = sum_j z^j T_j C_{j,l} with
    C the nearest cell's own step and T_0 = 1.
    """
    z = exp(-1 / b)
    n, count = outermost.shape
    cell = _run_products(outermost) * _inverse_factorials(n)[:, :, None]
    tail = np.ones((n + 1, count))
    for m in range(1, n + 1):
        inner = sum(z**j * tail[j] * cell[j, m] for j in range(m))
        tail[m] = inner / -np.expm1(-m / b)
    return tail
