"""Page 10: the published means of CCW25, section 4.1, and the one-shot algorithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.data.tables import rows_of
from dpbook.privacy import Edge
from dpbook.rankers import StandardNoise

Array = NDArray[np.float64]

_COLUMNS = "experiment metric n p epsilon mean sd replicates".split()
_FORMATS = "i8 U24 i8 f8 f8 f8 f8 i8".split()


def reference_table() -> NDArray[np.void]:
    """Published means of Experiments 1 to 4, from the authors' code (abhinavc3/DP-Ranking).

    A structured array with the fields ``experiment``, ``metric``, ``n`` (items), ``p`` (probability
    that a pair is compared), ``epsilon`` (nats; inf for the run without privacy), ``mean`` and
    ``sd`` over ``replicates``. The metrics are ``log_relative_l2`` and ``log_relative_linf``
    (natural logarithms of relative errors), ``topk_error_mle``, ``topk_error_counts`` and
    ``topk_error_one_shot`` (shares of the true top-k set that are missed, with k = n / 4 rounded).
    Experiment 4 lists n = 350 twice for some epsilon: once along n, once along epsilon. 2 and
    3 are from ``Edge-DP/accuracy-vs-p`` and ``accuracy-vs-epsilon``: 120 columns, though their
    script says 90.
    """
    rows = [tuple(row[name] for name in _COLUMNS) for row in rows_of("ccw25_reference.csv")]
    return np.array(rows, dtype={"names": _COLUMNS, "formats": _FORMATS})


@dataclass(frozen=True)
class OneShotSpectral(StandardNoise):
    """Stationary distribution of the walk from losers to winners, plus Laplace noise.

    Notes
    -----
    Qiao, Su and Zhang (2021), as CCW25, Experiment 4 runs it. **Privacy.** What is released is the
    set of the k largest scores; the theorem behind the scale of `printed` is for a fixed one, and
    the `loss` of the scores is not known here.
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
    transition matrix, in [0, 1]. A walk without a unique distribution is refused.
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
        found = "the walk from losers to winners has no unique distribution"
        raise ValueError(f"wins: {found}") from error
    return scores, float(pdist(steps, "cityblock").max()) / 2 / n
