"""How far an estimate or a ranking is from the truth: the metrics of the papers' experiments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators import top_k_mask

__all__ = ["log_relative_error", "top_k_error"]

_ORDERS: dict[str, float] = {"l2": 2, "linf": np.inf}


def log_relative_error(
    estimate: ArrayLike, truth: ArrayLike, norm: str = "l2"
) -> NDArray[np.float64]:
    """Natural logarithm of the relative error of an estimate.

    Parameters
    ----------
    estimate : array, shape (..., n)
        Estimated strengths, taken as they are: centre both arguments or neither.
    truth : array, shape (..., n)
        True strengths, not all zero; broadcast against ``estimate``.
    norm : {"l2", "linf"}
        Euclidean norm, or largest absolute entry.

    Returns
    -------
    array, shape (...)
        ``log(norm(estimate - truth) / norm(truth))``; -inf for an exact estimate.

    Raises
    ------
    ValueError
        If the shapes do not fit, an entry is not finite, or the truth is zero.

    Notes
    -----
    CCW25, section 4.1.1.
    """
    order = _ORDERS[check.choice("norm", norm, tuple(_ORDERS))]
    values, target = check.finite_array("estimate", estimate), check.finite_array("truth", truth)
    if values.shape[-1] != target.shape[-1]:
        raise ValueError(
            f"truth of shape {target.shape}: allowed is (..., {values.shape[-1]}), as estimate asks"
        )
    size = np.linalg.norm(target, order, axis=-1)
    if not np.all(size):
        raise ValueError("truth is zero: allowed are strengths that are not all zero")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.linalg.norm(values - target, order, axis=-1) / size))


def top_k_error(
    scores: ArrayLike, truth_mask: ArrayLike, k: int, *, rng: np.random.Generator | None = None
) -> NDArray[np.float64]:
    """Share of the true top-k set that the k largest scores miss.

    Parameters
    ----------
    scores : array, shape (..., n)
        Larger is better.
    truth_mask : array of bool, shape (n,)
        The true set, exactly k items: `dpbook.estimators.top_k_mask` of the true strengths.
    k : int
        Size of the set, from 1 to n - 1.
    rng : numpy.random.Generator, optional
        Breaks ties between scores uniformly at random; without it the smaller index comes first,
        which favours whatever items stand first.

    Returns
    -------
    array, shape (...)
        1 minus (size of the intersection) / k.

    Raises
    ------
    ValueError
        If the mask does not hold exactly k items.

    Notes
    -----
    CCW25, section 4.1.1. The relative Hamming error; a k-set drawn by lot has mean 1 - k / n.
    """
    mask = np.asarray(truth_mask)
    n = np.asarray(scores).shape[-1]
    if mask.dtype != np.bool_ or mask.shape != (n,) or np.count_nonzero(mask) != k:
        raise ValueError(
            f"truth_mask of shape {mask.shape} and type {mask.dtype} with "
            f"{np.count_nonzero(mask)} items: allowed is a mask of shape ({n},) with k = {k} items"
        )
    chosen = top_k_mask(scores, k, rng=rng)
    return np.asarray(1 - np.count_nonzero(chosen & mask, axis=-1) / k)
