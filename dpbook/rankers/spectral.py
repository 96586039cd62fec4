"""The one-shot noisy spectral ranking that CCW25 compares its algorithms with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.privacy.units import Edge
from dpbook.rankers.base import Ranker

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OneShotSpectral(Ranker):
    """Stationary distribution of the walk from losers to winners, plus Laplace noise.

    Attributes
    ----------
    unit : Edge
        One comparison is protected.
    scale : float
        Scale of the noise on each probability.

    Notes
    -----
    Qiao, Su and Zhang (2021), as CCW25, Experiment 4 runs it. **Privacy.** What is released is the
    set of the k largest scores; the theorem behind the scale of `printed` is for a fixed one, and
    nobody knows the `loss` of the scores.
    The sampler is idealised (floating point): for study, unsafe for a release.
    """

    @classmethod
    def printed(
        cls, epsilon: float, unit: Edge, k: int, *, rho: float, delta: float
    ) -> OneShotSpectral:
        """``8 s sqrt(k log(n / delta)) / epsilon`` with ``s = 2 / (n (1 - rho))``, for the top k.

        Parameters
        ----------
        epsilon, delta : float
            Nominal privacy, in nats and as a probability.
        unit : Edge
        k : int
            Size of the set.
        rho : float
            Ergodicity coefficient, below 1, from `spectral_scores`: a function of the data, so that
            the scale is one too.
        """
        n, k = unit.n_items, check.integer("k", k, 1, unit.n_items - 1)
        if not 0 <= rho < 1:
            raise ValueError(f"rho = {rho!r}: allowed is a number in [0, 1)")
        delta = check.probability("delta", delta, zero=False)
        step = 2 / (n * (1 - rho))
        return cls(unit, float(8 * step * np.sqrt(k * np.log(n / delta)) / check.epsilon(epsilon)))

    def release(self, data: Comparisons | ArrayLike, noise: ArrayLike) -> Array:
        """Noisy scores of one table, shape (..., n); larger is better."""
        table = data.win_matrix() if isinstance(data, Comparisons) else data
        return spectral_scores(table)[0] + self.scale * check.finite_array("noise", noise)


def spectral_scores(wins: ArrayLike) -> tuple[Array, float]:
    """Stationary distribution of the walk from losers to winners, and its ergodicity coefficient.

    Parameters
    ----------
    wins : array, shape (n, n)
        Win matrix, each pair compared at most once.

    Returns
    -------
    scores : array, shape (n,)
        Probabilities; larger is better.
    rho : float
        The largest total-variation distance between two rows of the transition matrix, in [0, 1].

    Raises
    ------
    ValueError
        If an item was defeated more than n times, or the walk has no unique law.

    Notes
    -----
    Rank centrality: from item i the walk moves to each item that beat i with probability 1 / n,
    and stays otherwise.
    """
    beaten = check.win_tables("wins", wins).T.astype(float)
    n = len(beaten)
    stay = n - beaten.sum(axis=1)
    if beaten.ndim != 2 or stay.min() < 0:
        raise ValueError("wins: allowed is one table with at most n defeats of each item")
    steps = (beaten + np.diag(stay)) / n
    system = steps.T - np.eye(n)
    system[-1] = 1.0
    try:
        scores = np.linalg.solve(system, np.eye(n)[-1])
    except np.linalg.LinAlgError as error:
        raise ValueError("wins: the walk from losers to winners has no unique law") from error
    return scores, _ergodicity(beaten, stay) / n


def _ergodicity(beaten: Array, stay: Array) -> float:
    """Largest distance between two rows times n, for rows of zeros and ones off the diagonal."""
    common = beaten @ beaten.T  # items that beat both
    # Two rows also share what one has on its diagonal and the other in that column.
    diagonal = np.minimum(beaten, stay[None, :])
    shared = common + diagonal + diagonal.T
    distance = (beaten.sum(axis=1) + stay)[:, None] - shared
    np.fill_diagonal(distance, 0.0)
    return float(distance.max())
