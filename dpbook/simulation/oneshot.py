"""The one-shot noisy spectral ranking that CCW25 compares its algorithms with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators.orders import win_matrices

__all__ = ["oneshot_scale", "spectral_scores"]


def spectral_scores(
    wins: ArrayLike, *, degree: float | None = None
) -> tuple[NDArray[np.float64], float]:
    """Stationary distribution of the walk from losers to winners, and its ergodicity coefficient.

    Parameters
    ----------
    wins : array, shape (n, n)
        Win matrix, each pair compared at most once.
    degree : float, optional
        Normaliser d, at least the largest number of defeats; n if left out.

    Returns
    -------
    scores : array, shape (n,)
        Probabilities; larger is better.
    rho : float
        The largest total-variation distance between two rows of the transition matrix, in [0, 1].

    Raises
    ------
    ValueError
        If an item was defeated more than ``degree`` times, or the walk has no unique law.

    Notes
    -----
    Rank centrality: from item i the walk moves to each item that beat i with probability 1 / d,
    and stays otherwise. As used by CCW25, Experiment 4.
    """
    beaten = win_matrices(wins).T.astype(float)
    n = len(beaten)
    d = float(n) if degree is None else check.positive("degree", degree)
    stay = d - beaten.sum(axis=1)
    if stay.min() < 0:
        raise ValueError(
            f"degree = {d:g}: allowed is at least the most defeats of an item, {d - stay.min():g}"
        )
    steps = (beaten + np.diag(stay)) / d
    system = steps.T - np.eye(n)
    system[-1] = 1.0
    try:
        scores = np.linalg.solve(system, np.eye(n)[-1])
    except np.linalg.LinAlgError as error:
        raise ValueError("wins: the walk from losers to winners has no unique law") from error
    return scores, _ergodicity(beaten, stay) / d


def oneshot_scale(
    n_items: int, k: int, *, rho: float, degree: float, epsilon: float, delta: float
) -> float:
    """Scale of the Laplace noise that the one-shot algorithm adds to each spectral score.

    Parameters
    ----------
    n_items, k : int
        Number of items, size of the set.
    rho : float
        Ergodicity coefficient, below 1, from `spectral_scores`. It is a function of the data,
        so that the scale is one too: the guarantee of the algorithm needs a fixed scale.
    degree : float
        Normaliser d of the walk.
    epsilon, delta : float
        Nominal privacy, in nats and as a probability.

    Returns
    -------
    float
        ``8 s sqrt(k log(n / delta)) / epsilon`` with ``s = 2 / (d (1 - rho))``.

    Notes
    -----
    Qiao, Su and Zhang (2021), as used by CCW25, Experiment 4, with delta = 1 / n^2.
    """
    n = check.integer("n_items", n_items, 2)
    k = check.integer("k", k, 1, n - 1)
    if not 0 <= rho < 1:
        raise ValueError(f"rho = {rho!r}: allowed is a number in [0, 1)")
    delta = check.probability("delta", delta, zero=False)
    step = 2 / (check.positive("degree", degree) * (1 - rho))
    return float(8 * step * np.sqrt(k * np.log(n / delta)) / check.epsilon(epsilon))


def _ergodicity(beaten: NDArray[np.float64], stay: NDArray[np.float64]) -> float:
    """Largest distance between two rows times d, for rows of zeros and ones off the diagonal."""
    common = beaten @ beaten.T  # items that beat both
    # Two rows also share what one has on its diagonal and the other in that column.
    diagonal = np.minimum(beaten, stay[None, :])
    shared = common + diagonal + diagonal.T
    distance = (beaten.sum(axis=1) + stay)[:, None] - shared
    np.fill_diagonal(distance, 0.0)
    return float(distance.max())
