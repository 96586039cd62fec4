"""Relabelling of tournaments, their orbits, and the linear program that is left of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dpbook import _validation as check
from dpbook.models import all_rankings
from dpbook.privacy import sets_of

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_BITS = 8  # width of the lookup tables of `relabel`


@dataclass(frozen=True)
class Reduced:
    """Orbits, the orbits met by each class of tournaments, and the pairs of adjacent orbits."""

    orbit: NDArray[np.int32]
    outcomes: Ints
    class_of: Ints  # (orbits,)
    totals: sparse.csr_array  # (classes, orbits)
    pairs: Ints  # (pairs, 2)
    costs: Array  # (hypotheses, orbits)


def relabel(pi: ArrayLike) -> NDArray[np.uint32]:
    """All tournaments with their items renamed.

    Parameters
    ----------
    pi : array of int, shape (n,)
        A permutation of 0..n-1, n <= 7; item i gets the name pi[i].

    Returns
    -------
    array of uint32, shape (2^(n(n-1)/2),)
        Entry d is the renamed tournament d: pi[i] beats pi[j] in it if i beats j in d.
    """
    names = check.whole_array("pi", pi)
    n = names.size
    if n < 2 or n > 7 or sorted(names.tolist()) != list(range(n)):
        raise ValueError(f"pi = {pi!r}: allowed is a permutation of 0..n-1, 2 <= n <= 7")
    edges = list(combinations(range(n), 2))
    at = {edge: e for e, edge in enumerate(edges)}
    image = np.zeros(1, dtype=np.uint32)
    for start in range(0, len(edges), _BITS):
        # One small table per block of bits; all blocks together by an outer "or".
        block = np.zeros(1, dtype=np.uint32)
        for i, j in edges[start : start + _BITS]:
            a, b = int(names[i]), int(names[j])
            bit = np.uint32(1 << at[min(a, b), max(a, b)])
            set_if = (block | bit, block) if a > b else (block, block | bit)
            block = np.concatenate(set_if)
        image = (block[:, None] | image).ravel()
    return image


def tournament_law(rho: ArrayLike) -> Array:
    """Probability of every tournament under independent comparisons.

    Parameters
    ----------
    rho : array, shape (n, n)
        Win probabilities, rho + rho.T = 1, 2 <= n <= 7.

    Returns
    -------
    array, shape (2^(n(n-1)/2),)
    """
    matrix = check.finite_array("rho", rho, min_ndim=2)
    n = len(matrix)
    if matrix.shape != (n, n) or not 2 <= n <= 7:
        raise ValueError(f"rho of shape {matrix.shape}: allowed is (n, n) with 2 <= n <= 7")
    if matrix.min() < 0 or np.abs(matrix + matrix.T - 1).max() > 1e-12:
        raise ValueError("rho: allowed are probabilities with rho + rho.T = 1")
    law = np.ones(1)
    for i, j in combinations(range(n), 2):
        law = np.concatenate([law * matrix[j, i], law * matrix[i, j]])
    return law


def outcomes_of(n: int, k: int | None, loss: str) -> tuple[Ints, Array]:
    """Relabellings that carry the reference outcome to each outcome, and the losses."""
    if k is None:
        outcomes = all_rankings(n)
        wrong = [sum(a > b for a, b in combinations(pi, 2)) / (n * (n - 1) / 2) for pi in outcomes]
    else:
        sets = sets_of(n, k)
        outcomes = np.array([[*s, *np.setdiff1d(np.arange(n), s)] for s in sets], dtype=np.int64)
        wrong = (sets >= k).mean(axis=1)
    losses = np.asarray(wrong, dtype=float)
    return outcomes, losses if loss == "average" else np.sign(losses)


def reduced_program(matrices: Array, k: int | None, loss: str) -> Reduced:
    n = matrices.shape[1]
    outcomes, losses = outcomes_of(n, k, loss)
    laws = [tournament_law(matrix) for matrix in matrices]
    codes = np.arange(laws[0].size, dtype=np.uint32)
    smallest = codes.copy()
    if k is not None:
        for head in permutations(range(k)):
            for tail in permutations(range(k, n)):
                np.minimum(smallest, relabel([*head, *tail]), out=smallest)
    first = np.flatnonzero(smallest == codes)
    number = np.zeros(codes.size, dtype=np.int32)
    number[first] = np.arange(first.size)
    orbit = number[smallest]
    costs, met = np.zeros((len(laws), first.size)), np.zeros((first.size, len(outcomes)), np.int64)
    for column, (pi, wrong) in enumerate(zip(outcomes, losses, strict=True)):
        image = orbit[relabel(np.argsort(pi))]
        met[:, column] = image[first]
        for row, law in enumerate(laws):
            costs[row] += wrong * np.bincount(image, law, first.size)
    # Tournaments of one isomorphism class meet the same orbits equally often.
    rows, class_of = np.unique(np.sort(met, axis=1), axis=0, return_inverse=True)
    where = np.repeat(np.arange(len(rows)), len(outcomes))
    totals = sparse.csr_array(
        (np.ones(rows.size), (where, rows.ravel())), shape=(len(rows), first.size)
    )
    flips = [orbit[first ^ (1 << e)] for e in range(n * (n - 1) // 2)]
    near = np.stack([np.tile(np.arange(first.size), len(flips)), np.concatenate(flips)], axis=1)
    pairs = np.unique(np.sort(near, axis=1), axis=0)
    return Reduced(
        orbit, outcomes, class_of.ravel(), totals, pairs[pairs[:, 0] < pairs[:, 1]], costs
    )
