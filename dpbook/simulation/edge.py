"""The edge-private simulations of CCW25, section 4.1: both algorithms on Bradley-Terry data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook.estimators import ridge_mle, ridge_mle_complete
from dpbook.models import btl_probabilities
from dpbook.rankers import count_noise_scale, mle_calibration
from dpbook.simulation.metrics import log_relative_error, top_k_error

__all__ = ["edge_experiment", "edge_ridge", "edge_truth", "edge_win_counts", "summary_rows"]

Array = NDArray[np.float64]

NOISES = ("frozen", "fresh")
# Equal strengths come out of the solver equal to about 1e-9; different ones are further apart.
_TIE_DECIMALS = 6


def edge_truth(n_items: int, k: int, *, rng: np.random.Generator) -> Array:
    """True strengths of the simulations: k equal best items, the others worse and at random.

    Parameters
    ----------
    n_items, k : int
        Number of items, and of best items, 1 <= k <= n_items - 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (n_items,)
        Centred log-odds: n - k values log Unif(0.2, 0.7), then k zeros, minus their mean.

    Notes
    -----
    CCW25, section 4.1.1 (which lists the best items first).
    """
    n = check.integer("n_items", n_items, 2)
    k = check.integer("k", k, 1, n - 1)
    worse = np.log(check.generator(rng).uniform(0.2, 0.7, size=n - k))
    theta = np.concatenate([worse, np.zeros(k)])
    return np.asarray(theta - theta.mean())


def edge_ridge(n_items: int, p: float) -> float:
    """Ridge parameter of the simulations, 2 sqrt(n p log n), natural logarithm."""
    n = check.integer("n_items", n_items, 2)
    return float(2 * np.sqrt(n * check.probability("p", p, zero=False) * np.log(n)))


def edge_win_counts(theta: Array, *, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Win counts when each pair is compared once, without keeping the outcomes.

    Parameters
    ----------
    theta : array, shape (n,)
        Strengths, logistic link.
    size : int
        Number of replicates.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (size, n)

    Notes
    -----
    Probabilities and uniform numbers have 24 bits.
    """
    rho = btl_probabilities(theta).astype(np.float32)
    n, size = len(rho), check.integer("size", size, 1)
    wins = np.zeros((size, n), dtype=np.int64)
    for i in range(n - 1):
        first = check.generator(rng).random((size, n - 1 - i), dtype=np.float32) < rho[i, i + 1 :]
        wins[:, i] += np.count_nonzero(first, axis=1)
        wins[:, i + 1 :] += ~first
    return wins


def edge_experiment(
    n_items: int,
    *,
    epsilons: Sequence[float],
    replicates: int,
    p: float = 1.0,
    noise: str = "fresh",
    calibration: str = "printed",
    rng: np.random.Generator,
) -> dict[str, Array]:
    """One run of the simulations: one truth, several data sets, every privacy level on each.

    Parameters
    ----------
    n_items : int
        Number of items n, at least 4; k = n / 4 rounded to even is the size of the set sought.
    epsilons : sequence of float
        Privacy levels in nats, above 0; ``inf`` for no privacy.
    replicates : int
        Number of data sets.
    p : float
        Probability that a pair is compared.
    noise : {"fresh", "frozen"}
        Whether the noise of the perturbed MLE is drawn anew for each data set, or once for all of
        them, as in the authors' runs. The noise of the counts is always fresh. All privacy levels
        share data and noise, up to its scale.
    calibration : {"printed", "tight", "flips-only"}
        Noise of the perturbed MLE, as in `dpbook.rankers.mle_calibration`; the counts carry
        Laplace noise of scale 2 / epsilon.
    rng : numpy.random.Generator
        Source of randomness. With equal generators the truth, the data and the fresh noise (up to
        scale) agree, whatever the noise convention and the calibration.

    Returns
    -------
    dict of arrays, shape (len(epsilons), replicates)
        ``log_relative_l2``, ``log_relative_linf`` of the estimate as released, the same with
        ``_centred`` added for the centred estimate, ``topk_error_mle``, ``topk_error_counts``,
        and ``topk_error_half_net`` for half of wins minus defeats with the noise of the counts.

    Notes
    -----
    CCW25, section 4.1, with the ridge of `edge_ridge`. Ties (counts without noise, and their
    estimates) are broken at random.
    """
    n, k = check.integer("n_items", n_items, 4), round(n_items / 4)
    replicates = check.integer("replicates", replicates, 1)
    gamma = edge_ridge(n, p)
    scales = np.array([_scale(n, epsilon, calibration, gamma) for epsilon in epsilons])
    counting = np.array([_count_scale(n, epsilon) for epsilon in epsilons])
    # One stream for each purpose, so that a change of one leaves the others as they are.
    truths, data, fresh, frozen, counts, ties = check.generator(rng).spawn(6)
    theta = edge_truth(n, k, rng=truths)
    w = fresh.laplace(size=(replicates, n))
    if check.choice("noise", noise, NOISES) == "frozen":
        w = np.broadcast_to(frozen.laplace(size=n), w.shape)
    linear = scales[:, None, None] * w
    if p == 1:
        wins = edge_win_counts(theta, size=replicates, rng=data)
        met = np.full(wins.shape, n - 1)
        estimate = ridge_mle_complete(wins, gamma=gamma, linear=linear).theta
    else:
        wins, met, estimate = _sampled(theta, p, gamma, linear, data)
    added = counting[:, None, None] * counts.laplace(size=(replicates, n))
    centred = estimate - estimate.mean(axis=-1, keepdims=True)
    best = np.arange(n) >= n - k
    return {
        "log_relative_l2": log_relative_error(estimate, theta, "l2"),
        "log_relative_linf": log_relative_error(estimate, theta, "linf"),
        "log_relative_l2_centred": log_relative_error(centred, theta, "l2"),
        "log_relative_linf_centred": log_relative_error(centred, theta, "linf"),
        "topk_error_mle": top_k_error(estimate.round(_TIE_DECIMALS), best, k, rng=ties),
        "topk_error_counts": top_k_error(wins + added, best, k, rng=ties),
        "topk_error_half_net": top_k_error(wins - met / 2 + added, best, k, rng=ties),
    }


def summary_rows(
    runs: Sequence[dict[str, Array]],
    metrics: Sequence[str],
    epsilons: Sequence[float],
    **labels: Any,
) -> list[dict[str, Any]]:
    """Means and standard deviations of several runs, one row for each metric and privacy level.

    Parameters
    ----------
    runs : sequence of dict
        Results of `edge_experiment` at one setting, each with a truth of its own.
    metrics : sequence of str
        Which of them.
    epsilons : sequence of float
        Privacy levels of the runs, in nats.
    **labels
        Copied into each row.

    Returns
    -------
    list of dict
        The labels, ``epsilon`` (the string "inf" for no privacy), ``metric``, ``mean``, ``sd``
        (over the replicates of a run, as published), ``replicates`` (of all runs together),
        ``runs`` and ``sd_between`` (of the means of the runs; 0 for a single run).
    """
    rows = []
    for metric in metrics:
        values = np.stack([run[metric] for run in runs])
        for e, epsilon in enumerate(epsilons):
            x = values[:, e]
            within = x.var(axis=1, ddof=1).mean() if x.shape[1] > 1 else 0.0
            between = x.mean(axis=1).std(ddof=1) if len(x) > 1 else 0.0
            level = "inf" if np.isinf(epsilon) else float(epsilon)
            row = {**labels, "epsilon": level, "metric": metric, "mean": float(x.mean())}
            row |= {"sd": float(np.sqrt(within)), "replicates": x.size}
            rows.append(row | {"runs": len(x), "sd_between": float(between)})
    return rows


def _scale(n: int, epsilon: float, calibration: str, gamma: float) -> float:
    if np.isposinf(epsilon):
        return 0.0
    return mle_calibration(
        n, epsilon=epsilon, privacy="edge", calibration=calibration, gamma=gamma
    ).scale


def _count_scale(n: int, epsilon: float) -> float:
    return 0.0 if np.isposinf(epsilon) else count_noise_scale(n, epsilon=epsilon, privacy="edge")


def _sampled(
    theta: Array, p: float, gamma: float, linear: Array, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Wins and comparisons of the items in data sets with missing pairs, and the estimates."""
    n = theta.size
    first, second = np.triu_indices(n, 1)
    rho = btl_probabilities(theta)[first, second].astype(np.float32)
    estimate = np.empty(linear.shape)
    counts = np.empty((2, *linear.shape[1:]), dtype=np.int64)
    for r in range(linear.shape[1]):
        seen = rng.random(first.size, dtype=np.float32) < p
        i, j = first[seen], second[seen]
        ahead = rng.random(i.size, dtype=np.float32) < rho[seen]
        wins = np.zeros((n, n), dtype=np.int64)
        wins[np.where(ahead, i, j), np.where(ahead, j, i)] = 1
        counts[:, r] = wins.sum(axis=1), wins.sum(axis=1) + wins.sum(axis=0)
        estimate[:, r] = ridge_mle(wins, gamma=gamma, linear=linear[:, r]).theta
    return counts[0], counts[1], estimate
