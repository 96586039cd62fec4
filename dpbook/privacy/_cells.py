"""Transitions from cell to cell for the law of the ranking; see `dpbook.privacy.laws`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from math import exp, factorial

import numpy as np
from numpy.typing import NDArray

from dpbook.privacy._grid import cell_edges, geometric_pmf

Array = NDArray[np.float64]

TAYLOR_TERMS = 60


def _run_products(factors: Array) -> Array:
    """Products over runs of items: entry [:, j, l] = prod of factors[:, j:l] (1 if j = l)."""
    count, n = factors.shape
    runs = np.zeros((count, n + 1, n + 1))
    for j in range(n + 1):
        runs[:, j, j] = 1.0
        for m in range(j + 1, n + 1):
            runs[:, j, m] = runs[:, j, m - 1] * factors[:, m - 1]
    return runs


def _inverse_factorials(n: int) -> Array:
    """Entry [j, l] = 1 / (l - j)!, the chance that l - j exchangeable items come in one order."""
    return np.array([[1 / factorial(max(m - j, 0)) for m in range(n + 1)] for j in range(n + 1)])


def laplace_cells(
    z: Array, b: float, orders: NDArray[np.int64]
) -> tuple[Array, Iterator[Array], Array]:
    """Left tail, transitions of the cells and right tail of the ranking law, Laplace noise."""
    z = z / b
    n = z.size
    low, high = z.min(), z.max()
    fractions = _inverse_factorials(n)
    # In a tail all densities are proportional to the same exponential: the items there are
    # exchangeable once each has paid its own factor.
    left = _run_products(0.5 * np.exp(low - z)[orders])[:, 0, :] * fractions[0]
    right = _run_products(0.5 * np.exp(z - high)[orders])[:, :, n] * fractions[:, n]
    edges = cell_edges(z)

    def cell(a: float, c: float) -> Array:
        rising = z > (a + c) / 2  # density grows towards the item's own score
        height = 0.5 * np.exp(np.where(rising, c - z, z - a))
        runs = _run_products(height[orders])
        return runs * _ordered_exponentials(rising[orders], c - a)

    return left, (cell(float(a), float(c)) for a, c in pairwise(edges)), right


def _ordered_exponentials(rising: NDArray[np.bool_], width: float) -> Array:
    """Ordered integrals of exponentials over a cell, for every run of items in every order.

    Entry [r, j, l] integrates prod_{j <= i < l} g_i(t_i) over 0 < t_j < ... < t_{l-1} < width,
    with g = exp(t - width) for a rising item and exp(-t) for a falling one.
    """
    n = rising.shape[1]
    table = _exponential_table(n, width)
    result = np.zeros((rising.shape[0], n + 1, n + 1))
    for j in range(n + 1):
        code = np.zeros(rising.shape[0], dtype=np.int64)
        result[:, j, j] = 1.0
        for m in range(j + 1, n + 1):
            code += rising[:, m - 1].astype(np.int64) << (m - 1 - j)
            result[:, j, m] = table[code, m - j]
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
    sigma = np.concatenate([np.zeros((2**n, 1)), np.cumsum(2 * bits - 1, axis=1)], axis=1)
    term = np.zeros((2**n, n + 1))
    term[:, 0] = 1.0
    total = term.copy()
    for order in range(1, TAYLOR_TERMS + int(6 * n * width)):
        carried = np.concatenate([np.zeros((2**n, 1)), term[:, :-1]], axis=1)
        term = ((n - sigma) * term + carried) * (width / order)
        total += term
    rises = np.concatenate([np.zeros((2**n, 1)), np.cumsum(bits, axis=1)], axis=1)
    return np.asarray(total * np.exp((sigma - n - rises) * width))


def geometric_cells(
    values: Array, b: float, orders: NDArray[np.int64]
) -> tuple[Array, Iterator[Array], Array]:
    """Left tail, transitions and right tail of the ranking law, discrete Laplace noise."""
    n = values.size
    low, high = values.min(), values.max()
    fractions = _inverse_factorials(n)
    left = _geometric_tail(geometric_pmf(low - 1 - values, b)[orders], b)
    right = _geometric_tail(geometric_pmf(high + 1 - values, b)[orders][:, ::-1], b)[:, ::-1]
    transitions = (
        _run_products(geometric_pmf(t - values, b)[orders]) * fractions
        for t in np.arange(low, high + 1)
    )
    return left, transitions, right


def _geometric_tail(outermost: Array, b: float) -> Array:
    """P(the first l items lie in the tail, in order), for every l.

    ``outermost`` holds the probabilities of the tail's nearest cell. One cell further out each
    item weighs exp(-1/b) times as much, so the tail T_l solves T_l = sum_j z^j T_j C_{j,l} with
    C the nearest cell's own transition and T_0 = 1.
    """
    z = exp(-1 / b)
    count, n = outermost.shape
    cell = _run_products(outermost) * _inverse_factorials(n)
    tail = np.ones((count, n + 1))
    for m in range(1, n + 1):
        inner = sum(z**j * tail[:, j] * cell[:, j, m] for j in range(m))
        tail[:, m] = inner / -np.expm1(-m / b)
    return tail
