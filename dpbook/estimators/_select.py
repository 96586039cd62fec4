"""Which route suits which data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpbook.data import Comparisons
from dpbook.estimators import _sparse
from dpbook.estimators._routes import CompleteRoute, MatrixRoute, PairsRoute, Route
from dpbook.estimators.orders import win_matrices

METHODS = ("auto", "dense", "sparse", "complete")
# Up to here a pass over a matrix is cheaper than the index arithmetic of a list of pairs.
DENSE_ITEMS = 100
# Sparse matrices are typed by their own stubs only, with many parameters.
SparseMatrix = Any


def comparisons_route(data: Comparisons, method: str, link: str) -> Route:
    """Route for comparisons."""
    n = data.n_items
    crowded = 4 * len(data) >= n * n
    if method == "auto" and link == "logistic" and crowded and _each_pair_once(data):
        return CompleteRoute(np.bincount(data.winner, minlength=n).astype(float), 1.0)
    if method in ("dense", "complete") or (method == "auto" and (n <= DENSE_ITEMS or crowded)):
        return matrix_route(data.win_matrix(), method, link)
    return PairsRoute(_sparse.pairs_from_comparisons(data))


def _each_pair_once(data: Comparisons) -> bool:
    n = data.n_items
    if 2 * len(data) != n * (n - 1):
        return False
    met = np.zeros(n * n, dtype=bool)
    met[np.minimum(data.winner, data.loser) * n + np.maximum(data.winner, data.loser)] = True
    return np.count_nonzero(met) == len(data)


def sparse_route(data: SparseMatrix, method: str, link: str) -> Route:
    """Route for a sparse matrix of win weights, checked here."""
    if method not in ("auto", "sparse"):
        return matrix_route(win_matrices(data.toarray()), method, link)
    if data.ndim != 2 or data.shape[0] != data.shape[1] or data.shape[0] < 2:
        raise ValueError(f"data of shape {data.shape}: allowed is (n, n) with n >= 2")
    entries = sparse.coo_array(data)
    if not np.isfinite(entries.data).all() or (entries.data < 0).any():
        raise ValueError("data holds a negative or non-finite weight: allowed are weights >= 0")
    if entries.diagonal().any():
        raise ValueError("data has a non-zero diagonal: an item is never compared with itself")
    return PairsRoute(_sparse.pairs_from_matrix(entries))


def matrix_route(wins: NDArray[Any], method: str, link: str) -> Route:
    """Route for win matrices of shape (n, n) or (replicates, n, n)."""
    if method in ("auto", "complete"):
        per_pair = _equal_counts(wins)
        if per_pair is not None and link == "logistic":
            return CompleteRoute(np.asarray(wins.sum(axis=-1), dtype=float), per_pair)
        if method == "complete":
            raise ValueError(
                "method = 'complete': allowed for the logistic link and data in which every pair "
                "is compared equally often"
            )
        thin = 4 * np.count_nonzero(wins) < wins.size and wins.shape[-1] > DENSE_ITEMS
        method = "sparse" if wins.ndim == 2 and thin else "dense"
    if method == "sparse":
        if wins.ndim > 2 and len(wins) > 1:
            raise ValueError(f"method = 'sparse' with {len(wins)} win matrices: allowed is one")
        return PairsRoute(_sparse.pairs_from_matrix(wins.reshape(wins.shape[-2:])))
    return MatrixRoute(wins)


def _equal_counts(wins: NDArray[Any]) -> float | None:
    """Weight of the comparisons of each pair if it is the same for all, else None."""
    first = float(wins[..., 0, 1].flat[0] + wins[..., 1, 0].flat[0])
    n = wins.shape[-1]
    # The sum of one matrix settles nearly all cases.
    if first == 0 or wins.reshape(-1, n * n)[0].sum() != first * n * (n - 1) / 2:
        return None
    totals = wins + np.swapaxes(wins, -1, -2)
    return first if np.count_nonzero(totals == first) == wins.size // n * (n - 1) else None
