"""Fits of paired comparisons: ours, evalica, arena-rank and scikit-learn, all equally accurate.

Data and residuals are the harness's own: only what is timed uses dpbook or a peer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from benchmarks.harness import Task

Array = NDArray[np.float64]
Fit = Callable[[], Array]
ACCURACY = 1e-8  # largest sup-norm of the score residual
REPLICATES = 3  # evalica's, of a batch: it fits one after the other, time per fit is what counts


@dataclass(frozen=True)
class Data:
    """Comparisons in the order drawn: ``won``, (replicates, N), says that first beat second."""

    n_items: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    won: NDArray[np.bool_]


def draw(kind: str, n: int, size: float, seed: int = 20251) -> Data:
    """Each pair with probability `size`, so many random pairs, or all pairs so many times."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1, 1, n)  # of a logistic link
    if kind == "sparse":
        first = rng.integers(0, n, int(size))
        second = (first + rng.integers(1, n, first.size)) % n
    else:
        first, second = np.triu_indices(n, 1)
        if kind == "edges" and size < 1:
            kept = rng.random(first.size) < size
            first, second = first[kept], second[kept]
    replicates = int(size) if kind == "counts" else 1
    probability = special.expit(theta[first] - theta[second])
    return Data(n, first, second, rng.random((replicates, first.size)) < probability)


def residual(data: Data, theta: Array, gamma: float) -> float:
    """Largest sup-norm of the score at ``theta``, shape (replicates, n)."""
    n, worst = data.n_items, 0.0
    for won, strengths in zip(data.won, theta, strict=False):
        surprise = special.expit(strengths[data.first] - strengths[data.second]) - won
        score = np.bincount(data.first, surprise, n) - np.bincount(data.second, surprise, n)
        worst = float(np.maximum(worst, np.abs(score + gamma * strengths).max()))
    return worst


def ours(gamma: float, data: Data) -> Fit:
    """From a `Comparisons` object, or all replicates together from win counts."""
    from dpbook.data import Comparisons
    from dpbook.estimators import ridge_mle, ridge_mle_complete

    sides = [np.where(won, data.first, data.second) for won in data.won]
    if len(sides) > 1:
        wins = np.stack([np.bincount(side, minlength=data.n_items) for side in sides])
        return lambda: ridge_mle_complete(wins, gamma=gamma).theta
    loser = np.where(data.won[0], data.second, data.first)
    comparisons = Comparisons(data.n_items, winner=sides[0], loser=loser)
    return lambda: ridge_mle(comparisons, gamma=gamma).theta[None]


def evalica(gamma: float, data: Data) -> Fit:
    """Scores by minorisation-maximisation, in Rust; no ridge, no batch, and a ready index."""
    import evalica as peer
    import pandas as pd

    first, second = data.first.tolist(), data.second.tolist()
    sides = [peer.Winner.Y, peer.Winner.X]
    outcomes = [[sides[int(won)] for won in row] for row in data.won[:REPLICATES]]
    index = pd.Index(range(data.n_items))

    def fit() -> Array:
        how = {"index": index, "tolerance": ACCURACY, "limit": 10_000}
        fits = [peer.bradley_terry(first, second, winners, **how) for winners in outcomes]
        theta = np.log([one.scores.reindex(index).to_numpy() for one in fits])
        return theta - theta.mean(axis=1, keepdims=True)

    return fit


def arena_rank(gamma: float, data: Data) -> Fit:
    """What LMArena's leaderboard runs: L-BFGS in JAX; each fit compiles its loop anew."""
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    winner = np.where(data.won[0], "model_a", "model_b")
    frame = pd.DataFrame({"model_a": data.first, "model_b": data.second, "winner": winner})
    table = PairDataset.from_pandas(frame)
    # Its gradient is divided by the number of comparisons; it may not stop for a small change.
    how = {"gtol": 0.9 * ACCURACY / data.first.size, "ftol": 0.0}

    def fit() -> Array:
        theta = np.array(BradleyTerry(data.n_items, **how).fit(table).params["ratings"])
        return theta[None] - theta.mean()

    return fit


def sklearn(gamma: float, data: Data) -> Fit:
    """Logistic regression on differences of items, Newton-CG, from a ready sparse matrix."""
    from sklearn.linear_model import LogisticRegression

    count = data.first.size
    columns = np.stack([data.first, data.second], axis=1).ravel().astype(np.int32)
    starts = np.arange(0, 2 * count + 1, 2, dtype=np.int32)
    design = sparse.csr_matrix(
        (np.tile([1.0, -1.0], count), columns, starts), (count, data.n_items)
    )
    model = LogisticRegression(
        C=1 / gamma if gamma > 0 else np.inf,
        fit_intercept=False,
        solver="newton-cg",
        tol=0.9 * ACCURACY / count,  # its gradient is divided by the number of comparisons
        max_iter=1000,
    )
    return lambda: model.fit(design, data.won[0]).coef_


PEERS = {"evalica": evalica, "arena-rank": arena_rank, "scikit-learn": sklearn}


def case(
    peer: str,
    kind: tuple[str, int, float],
    gamma: float,
    target: float,
    repeats: tuple[int, int],
    name: str = "",
    limit_mb: float | None = None,
) -> Task:
    """Ours against a peer on one data set."""

    def errors(data: Data, *fits: Array) -> list[float]:
        return [residual(data, theta, gamma) for theta in fits]

    sides = {"ours": partial(ours, gamma), peer: partial(PEERS[peer], gamma)}
    how = f"n = {kind[1]}, p = {SHARES.get(kind[2])}, {'ridge' if gamma else 'plain'}"
    return Task(name or how, peer, sides, errors, target, ACCURACY, partial(draw, *kind), repeats,
                limit_mb=limit_mb, batch=True)  # fmt: skip


SHARES = {1.0: "1", 0.25: "1/4"}
FULL, QUARTER, LARGE = ("edges", 300, 1.0), ("edges", 300, 0.25), ("edges", 2000, 0.25)
SPARSE, MANY = ("sparse", 100_000, 1e6), "n = 100 000, 1 000 000 comparisons, ridge"
TASKS = (
    case("evalica", FULL, 0.0, 15, (40, 10)),
    case("arena-rank", FULL, 0.0, 15, (40, 1)),
    case("scikit-learn", FULL, 0.0, 15, (40, 10)),
    case("scikit-learn", FULL, 1.0, 15, (40, 10)),
    case("evalica", QUARTER, 0.0, 4, (40, 20)),
    case("scikit-learn", QUARTER, 0.0, 4, (40, 20)),
    case("scikit-learn", QUARTER, 1.0, 4, (40, 20)),
    case("evalica", LARGE, 0.0, 8, (8, 2)),
    case("scikit-learn", LARGE, 0.0, 8, (8, 2)),
    case("scikit-learn", LARGE, 1.0, 8, (8, 2)),
    case("scikit-learn", SPARSE, 0.1, 5, (4, 1), MANY, 600.0),
    case("evalica", ("counts", 300, 200), 0.0, 100, (10, 5), "200 fits, n = 300, p = 1, per fit"),
)
