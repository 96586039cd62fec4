"""Nodes on the line of scores for the law of the top-k set; see `dpbook.privacy.laws`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Gauss-Legendre nodes per cell of width at most one scale: tests/test_laws.py bounds the error.
NODES = 20
# Beyond this many scales the tails of the discrete law weigh less than a rounding unit.
TAIL_SCALES = 45


@dataclass(frozen=True)
class Grid:
    """Quadrature nodes on the line of scores; arrays of shape (nodes, n), weights (nodes,)."""

    cdf: Array
    survival: Array
    density: Array
    weights: Array


@lru_cache(maxsize=32)
def _gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on (0, 1)."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, w / 2


def threshold_grid(values: Array, b: float, noise: str) -> Grid:
    if noise == "laplace":
        return _laplace_grid(values / b)
    return _geometric_grid(values, b)


def _laplace_grid(z: Array) -> Grid:
    """Nodes for Laplace noise, in units of the scale."""
    tail, tail_weight = _gauss_legendre(z.size // 2 + 1)
    u, w = _gauss_legendre(NODES)
    edges = cell_edges(z)
    width = np.diff(edges)
    t = (edges[:-1, None] + width[:, None] * u).ravel()
    # In the tails v = exp(-distance to the outermost score) turns the integrand into a polynomial
    # of degree n - 1 in v, and dt = dv / v: exact with n/2 + 1 nodes.
    low, high = z.min() + np.log(tail), z.max() - np.log(tail)
    points = np.concatenate([low, t, high])
    weights = np.concatenate([tail_weight / tail, (width[:, None] * w).ravel(), tail_weight / tail])
    x = points[:, None] - z
    half = 0.5 * np.exp(-np.abs(x))
    return Grid(
        cdf=np.where(x < 0, half, 1 - half),
        survival=np.where(x < 0, 1 - half, half),
        density=half,
        weights=weights,
    )


def _geometric_grid(values: Array, b: float) -> Grid:
    """Nodes for discrete Laplace noise plus a uniform tie-breaker: polynomials on unit cells."""
    u, w = _gauss_legendre(values.size // 2 + 1)
    reach = ceil(TAIL_SCALES * b)
    cells = np.arange(values.min() - reach, values.max() + reach + 1)
    m = cells[:, None] - values
    pmf = geometric_pmf(m, b)
    below, above = _geometric_cdf(m - 1, b), _geometric_cdf(-m - 1, b)
    cdf = below[:, None, :] + pmf[:, None, :] * u[None, :, None]
    survival = above[:, None, :] + pmf[:, None, :] * (1 - u)[None, :, None]
    density = np.broadcast_to(pmf[:, None, :], cdf.shape)
    n = values.size
    return Grid(
        cdf=cdf.reshape(-1, n),
        survival=survival.reshape(-1, n),
        density=density.reshape(-1, n),
        weights=np.tile(w, cells.size),
    )


def geometric_pmf(m: Array, b: float) -> Array:
    return np.asarray(np.tanh(0.5 / b) * np.exp(-np.abs(m) / b))


def _geometric_cdf(m: Array, b: float) -> Array:
    """P(W <= m) for integer m."""
    tail = np.exp(-np.abs(np.where(m < 0, m, m + 1)) / b) / (1 + exp(-1 / b))
    return np.asarray(np.where(m < 0, tail, 1 - tail))


def cell_edges(z: Array) -> Array:
    """Edges at the scores, cut further so that no cell is wider than 1."""
    corners = np.unique(z)
    pieces = [np.linspace(a, c, ceil(c - a) + 1)[:-1] for a, c in pairwise(corners)]
    return np.concatenate([*pieces, corners[-1:]])
