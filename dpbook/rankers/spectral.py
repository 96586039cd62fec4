"""The one-shot noisy spectral ranking that CCW25 compares its algorithms with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.privacy.units import Edge
from dpbook.rankers.base import Array, Ranker


@dataclass(frozen=True)
class OneShotSpectral(Ranker):
    """Stationary distribution of the walk from losers to winners, plus Laplace noise.

    Notes
    -----
    Qiao, Su and Zhang (2021), as CCW25, Experiment 4 runs it. **Privacy.** What is released is the
    set of the k largest scores; the theorem behind the scale of `printed` is for a fixed one, and
    nobody knows the `loss` of the scores.
    Idealised sampler (floating point): for study, unsafe for a release.
    """

    @classmethod
    def printed(
        cls, epsilon: float, unit: Edge, k: int, *, rho: float, delta: float
    ) -> OneShotSpectral:
        """``8 s sqrt(k log(n / delta)) / epsilon`` with ``s = 2 / (n (1 - rho))``, for the top k.

        The coefficient rho of `spectral_scores` depends on the data, and so does the scale.
        """
        n, k = unit.n_items, check.integer("k", k, 1, unit.n_items - 1)
        rho = check.probability("rho", rho, one=False)
        delta = check.probability("delta", delta, zero=False)
        step = 2 / (n * (1 - rho))
        return cls(unit, float(8 * step * np.sqrt(k * np.log(n / delta)) / check.epsilon(epsilon)))

    def release(self, data: Comparisons | ArrayLike, noise: ArrayLike) -> Array:
        """Noisy scores of one table, shape (..., n); larger is better."""
        table = data.win_matrix() if isinstance(data, Comparisons) else data
        return spectral_scores(table)[0] + self.scale * check.finite_array("noise", noise)


def spectral_scores(wins: ArrayLike) -> tuple[Array, float]:
    """Stationary distribution of the walk from losers to winners, and its ergodicity coefficient.

    Rank centrality of one win matrix (n, n), each pair compared at most once: from item i the walk
    moves to each item that beat i with probability 1 / n, and stays otherwise. Larger scores, (n,),
    are better; the coefficient is the largest total-variation distance between two rows of the
    transition matrix, in [0, 1]. A walk without a unique law is refused.
    """
    beaten = check.win_tables("wins", wins).T.astype(float)
    n = len(beaten)
    stay = n - beaten.sum(axis=1)
    if beaten.ndim != 2 or stay.min() < 0:
        raise ValueError("wins: allowed is one table with at most n defeats of each item")
    steps = beaten + np.diag(stay)  # n times the transition matrix
    system = (steps / n).T - np.eye(n)
    system[-1] = 1.0
    try:
        scores = np.linalg.solve(system, np.eye(n)[-1])
    except np.linalg.LinAlgError as error:
        raise ValueError("wins: the walk from losers to winners has no unique law") from error
    return scores, float(pdist(steps, "cityblock").max()) / 2 / n
