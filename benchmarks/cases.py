"""What is measured: the data sets, the targets, the peers, and the accuracy asked of everyone.

Nothing here uses dpbook or a peer: data and residuals are the harness's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

ACCURACY = 1e-8  # largest sup-norm of the score residual


@dataclass(frozen=True)
class Data:
    """Comparisons in the order drawn: ``won`` says that ``first`` beat ``second``.

    Entries of ``first``, ``second`` have shape (N,), of ``won`` (replicates, N).
    """

    n_items: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    won: NDArray[np.bool_]


@dataclass(frozen=True)
class Case:
    """One line of the table: ours against ``peer`` on one data set.

    Attributes
    ----------
    name, peer : str
        Words of the table; ``peer`` is also the module of the peer.
    kind : {"edges", "sparse", "counts"}
        Each pair with probability p; random pairs, repetitions allowed; all pairs, replicated.
    n_items, size : int, float
        Number of items; p, number of comparisons, or number of replicates.
    gamma : float
        Ridge parameter.
    target : float
        Smallest allowed ratio of the peer's time to ours.
    repeats : tuple of int
        Timed fits in each process: ours, the peer's.
    memory_mb : float, optional
        Limit on the peak memory of our process.
    """

    name: str
    peer: str
    kind: str
    n_items: int
    size: float
    gamma: float
    target: float
    repeats: tuple[int, int]
    memory_mb: float | None = None


CASES = (
    Case("n = 300, p = 1, plain", "evalica", "edges", 300, 1.0, 0.0, 15, (40, 10)),
    Case("n = 300, p = 1, plain", "scikit-learn", "edges", 300, 1.0, 0.0, 15, (40, 10)),
    Case("n = 300, p = 1, ridge", "scikit-learn", "edges", 300, 1.0, 1.0, 15, (40, 10)),
    Case("n = 300, p = 1/4, plain", "evalica", "edges", 300, 0.25, 0.0, 4, (40, 20)),
    Case("n = 300, p = 1/4, plain", "scikit-learn", "edges", 300, 0.25, 0.0, 4, (40, 20)),
    Case("n = 300, p = 1/4, ridge", "scikit-learn", "edges", 300, 0.25, 1.0, 4, (40, 20)),
    Case("n = 2000, p = 1/4, plain", "evalica", "edges", 2000, 0.25, 0.0, 8, (8, 2)),
    Case("n = 2000, p = 1/4, plain", "scikit-learn", "edges", 2000, 0.25, 0.0, 8, (8, 2)),
    Case("n = 2000, p = 1/4, ridge", "scikit-learn", "edges", 2000, 0.25, 1.0, 8, (8, 2)),
    Case(
        "n = 100 000, 1 000 000 comparisons, ridge",
        "scikit-learn",
        "sparse",
        100_000,
        1e6,
        0.1,
        5,
        (4, 1),
        600.0,
    ),
    Case("200 fits, n = 300, p = 1, per fit", "evalica", "counts", 300, 200, 0.0, 100, (10, 5)),
)

# Known, and not timed. Numbers from single trials on "n = 300, p = 1, plain".
LEFT_OUT = {
    "crowd-kit 1.4.2": "its BradleyTerry compares the new weights with themselves (p_old and "
    "p_new are one array), so it stops after two sweeps, whatever the tolerance",
    "choix 0.4.1": "opt_pairwise loops over pairs in Python: 11 s, and residual 3e-8; "
    "ilsr_pairwise reaches 6e-10 in 0.13 s, ten times evalica's time, but its alpha is another "
    "regulariser than a ridge",
}


def draw(case: Case, seed: int = 20251) -> Data:
    """Draw the data of a case; strengths are uniform on [-1, 1], the link is logistic."""
    rng = np.random.default_rng(seed)
    n = case.n_items
    theta = rng.uniform(-1, 1, n)
    if case.kind == "sparse":
        first = rng.integers(0, n, int(case.size))
        second = (first + rng.integers(1, n, first.size)) % n
    else:
        first, second = np.triu_indices(n, 1)
        if case.kind == "edges" and case.size < 1:
            kept = rng.random(first.size) < case.size
            first, second = first[kept], second[kept]
    replicates = int(case.size) if case.kind == "counts" else 1
    chance = special.expit(theta[first] - theta[second])
    return Data(n, first, second, rng.random((replicates, first.size)) < chance)


def residual(data: Data, theta: Array, gamma: float) -> float:
    """Largest sup-norm of the score at ``theta``, shape (replicates, n)."""
    worst = 0.0
    for won, strengths in zip(data.won, theta, strict=False):
        surprise = special.expit(strengths[data.first] - strengths[data.second]) - won
        n = data.n_items
        score = np.bincount(data.first, surprise, n) - np.bincount(data.second, surprise, n)
        worst = float(np.maximum(worst, np.abs(score + gamma * strengths).max()))
    return worst
