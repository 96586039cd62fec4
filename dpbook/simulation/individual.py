"""Experiments 5 to 7 of CCW25, and their edge twin.

Everything is vectorised over replicates, and settings share their random numbers: in one replicate
a larger crowd contains the smaller one, and a smaller epsilon stretches the same noise. Differences
between settings are then paired.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators import ranks_from_scores, ridge_mle, ridge_mle_complete
from dpbook.models import btl_probabilities
from dpbook.rankers import count_noise_scale, mle_calibration
from dpbook.simulation.metrics import log_relative_error, top_k_error

__all__ = ["edge_errors", "individual_errors", "paper_strengths"]

Array = NDArray[np.float64]

# Without privacy the printed ridge is 0. This one moves no estimate by more than about 1e-6, and
# gives every data set a minimiser.
NO_RIDGE = 1e-6
CALIBRATIONS = ("printed", "private")


def paper_strengths(n_items: int, *, size: int = 1, rng: np.random.Generator) -> Array:
    """Strengths of the papers' experiments, not centred: the first k are 0, the others lower.

    Parameters
    ----------
    n_items : int
        Number of items n, at least 4; k is n / 4, rounded.
    size : int
        Number of independent draws.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (size, n_items)
        Zeros, then logarithms of uniform numbers in (0.2, 0.7); log-odds.

    Notes
    -----
    CCW25, section 4.1.1, with k = n/4.
    """
    n = check.integer("n_items", n_items, 4)
    size = check.integer("size", size, 1)
    theta = np.zeros((size, n))
    k = round(n / 4)
    theta[:, k:] = np.log(check.generator(rng).uniform(0.2, 0.7, (size, n - k)))
    return theta


def individual_errors(
    truth: ArrayLike,
    *,
    users: Sequence[int],
    per_user: int,
    epsilons: Sequence[float],
    calibration: str = "printed",
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Errors of both individually private rankers, by the paper's metrics and by its code's.

    Parameters
    ----------
    truth : array, shape (size, n)
        Strengths of each replicate, not centred, the top k = n/4 (rounded) items first.
    users : sequence of int
        Numbers m of people, increasing; each crowd contains the one before.
    per_user : int
        Comparisons L of one person.
    epsilons : sequence of float
        Privacy levels in nats; ``inf`` for no privacy.
    calibration : {"printed", "private"}
        CCW25's noise (MLE: scale 8 L / epsilon, ridge 2 L / epsilon; counts: scale L / epsilon),
        or the smallest noise proved private (4 L / epsilon with an equal ridge; 2 L / epsilon).
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    dict of str to array, shape (len(users), len(epsilons), size)
        ``"mle l2"`` and ``"mle linf"``: log relative errors, estimate and truth centred;
        ``"mle top-k"`` and ``"counts top-k"``: share of the top k missed, ties drawn by lot.
        As the public code measures: ``"as run l2"``, ``"as run linf"`` (estimate centred, truth
        as drawn); ``"as run top-k"``, ``"as run counts top-k"`` (the top set of the truth, and for
        the MLE that of the estimate, is the last k positions after a partial sort at position k).
        What such a sort leaves open is taken to be by lot, and its mean is returned.

    Raises
    ------
    ValueError
        If an argument is out of range, or the strengths of a replicate are all equal.

    Notes
    -----
    CCW25, section 4.2; the public code is ``Individual-DP/pairwise_comparison.py``, whose
    constraint ``sum(theta) == 0`` is the same as centring the unconstrained minimiser. Without
    privacy the ridge is 1e-6 instead of the printed limit 0.
    """
    theta = check.finite_array("truth", truth, min_ndim=2)
    check.choice("calibration", calibration, CALIBRATIONS)
    steps = np.diff([0, *(check.integer("users", m, 1) for m in users)])
    if steps.size == 0 or steps.min() < 1:
        raise ValueError(f"users = {list(users)!r}: allowed are increasing numbers of people")
    per_user = check.integer("per_user", per_user, 1)
    levels = privacy_levels(epsilons)
    size, n = theta.shape
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    chances = btl_probabilities(theta)[:, i, j] / (n * (n - 1) / 2)
    # Three noises of each replicate: on the score, on the counts, and for ties.
    score_noise, count_noise, lots = check.generator(rng).laplace(size=(3, size, n))
    wins = np.zeros((size, n, n))
    rows: dict[str, list[list[Array]]] = {}
    for step in steps:
        wins[:, i, j] += rng.multinomial(step * per_user, chances)
        blocks: dict[str, list[Array]] = {}
        for epsilon in levels:
            scale, gamma, on_counts = _individual_noise(n, epsilon, per_user, calibration)
            raw = ridge_mle(wins, gamma=gamma, linear=scale * score_noise).theta
            counts = wins.sum(axis=-1) + (on_counts or 1e-9) * count_noise
            for name, values in _all_errors(raw, counts, theta, lots).items():
                blocks.setdefault(name, []).append(values)
        for name, block in blocks.items():
            rows.setdefault(name, []).append(block)
    return {name: np.array(block) for name, block in rows.items()}


def edge_errors(
    truth: ArrayLike, *, epsilons: Sequence[float], rng: np.random.Generator
) -> dict[str, Array]:
    """Errors of both edge-private rankers when each pair is compared once, as CCW25 prints them.

    Parameters
    ----------
    truth, epsilons, rng
        As for `individual_errors`.

    Returns
    -------
    dict of str to array, shape (len(epsilons), size)
        The four right metrics of `individual_errors`.

    Notes
    -----
    CCW25, section 4.1, p = 1: ridge 2 sqrt(n log n) at every epsilon, noise 8 / epsilon on the
    score and 2 / epsilon on the counts.
    """
    theta = check.finite_array("truth", truth, min_ndim=2)
    size, n = theta.shape
    score_noise, count_noise, lots = check.generator(rng).laplace(size=(3, size, n))
    i, j = np.triu_indices(n, 1)
    counts = np.empty((size, n))
    for r in range(size):
        first = rng.random(i.size) * (1 + np.exp(theta[r, j] - theta[r, i])) < 1
        counts[r] = np.bincount(np.where(first, i, j), minlength=n)
    gamma = 2 * np.sqrt(n * np.log(n))
    rows: dict[str, list[Array]] = {}
    for epsilon in privacy_levels(epsilons):
        noise = 0 if np.isinf(epsilon) else 1 / epsilon
        raw = ridge_mle_complete(counts, gamma=gamma, linear=8 * noise * score_noise).theta
        noisy = counts + (2 * noise or 1e-9) * count_noise
        for name, values in _all_errors(raw, noisy, theta, lots).items():
            if name.startswith(("mle", "counts")):
                rows.setdefault(name, []).append(values)
    return {name: np.array(block) for name, block in rows.items()}


def privacy_levels(epsilons: Sequence[float]) -> list[float]:
    """Check levels of privacy; infinity stands for none."""
    return [e if np.isposinf(e) else check.epsilon(e, "epsilons") for e in epsilons]


def _individual_noise(
    n: int, epsilon: float, per_user: int, calibration: str
) -> tuple[float, float, float]:
    """Scale on the score, ridge, and scale on the counts."""
    if np.isinf(epsilon):
        return 0.0, NO_RIDGE, 0.0
    kind = "printed" if calibration == "printed" else "tight"
    design = {"epsilon": epsilon, "privacy": "individual", "per_user": per_user}
    plan = mle_calibration(n, calibration=kind, **design)  # type: ignore[arg-type]
    counts = count_noise_scale(n, calibration=kind, **design)  # type: ignore[arg-type]
    return plan.scale, plan.gamma, counts


def _all_errors(raw: Array, counts: Array, theta: Array, lots: Array) -> dict[str, Array]:
    n = theta.shape[-1]
    k = round(n / 4)
    best = np.arange(n) < k
    estimate = centred(raw)
    found = {
        f"{name} {norm}": log_relative_error(estimate, target, norm)
        for name, target in (("mle", centred(theta)), ("as run", theta))
        for norm in ("l2", "linf")
    }
    # Equal counts on the complete graph give equal estimates, up to the solver's 1e-9.
    found["mle top-k"] = top_k_error(estimate + 1e-7 * lots, best, k)
    found["counts top-k"] = top_k_error(counts, best, k)
    # argpartition(x, k) puts the k + 1 smallest first, and the others behind in any order: k of
    # them by lot are a set, and two sets share each item of both parts with chance (k / behind)^2.
    behind = n - k - 1
    true_part = ranks_from_scores(theta) < behind
    both = (ranks_from_scores(estimate) < behind) & true_part
    counted = (ranks_from_scores(counts) < k) & true_part
    found["as run top-k"] = 1 - both.sum(axis=-1) * k / behind**2
    found["as run counts top-k"] = 1 - counted.sum(axis=-1) / behind
    return found


def centred(values: Array) -> Array:
    """Subtract the mean along the last axis."""
    return np.asarray(values - values.mean(axis=-1, keepdims=True))
