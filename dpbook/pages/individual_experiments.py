"""Page 12: replicated experiments of the individual design, all settings on the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.models import btl_probabilities
from dpbook.simulation import log_relative_error, top_k_error
from dpbook.simulation.replicates import Rankers

Measure = Callable[[Array, Array, Array, Array], Mapping[str, Array]]
SOLVER_LOTS = 1e-7  # so small that it draws lots between estimates, which are right to 1e-9


def release_errors(scores: Array, counts: Array, truth: Array, lots: Array) -> dict[str, Array]:
    """Errors of both rankers, each of shape (size,), where the best n/4 items stand first.

    ``"mle l2"``, ``"mle linf"``: log relative errors, estimate and truth centred; ``"mle top-k"``,
    ``"counts top-k"``: share of the top set missed, ties of estimates broken by ``lots``. All
    arguments have the shape (size, n).
    """
    n, (estimate, theta) = truth.shape[-1], (x - x.mean(-1, keepdims=True) for x in (scores, truth))
    k, best = round(n / 4), np.arange(n) < round(n / 4)
    found = {f"mle {norm}": log_relative_error(estimate, theta, norm) for norm in ("l2", "linf")}
    found["mle top-k"] = top_k_error(estimate + SOLVER_LOTS * lots, best, k)
    return found | {"counts top-k": top_k_error(counts, best, k)}


def paired_errors(
    truth: ArrayLike,
    data: Iterable[Array],
    rankers: Sequence[Rankers],
    *,
    measure: Measure = release_errors,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Errors of both rankers, at all levels, on the same replicates and with the same noise.

    Parameters
    ----------
    truth : array, shape (size, n)
        Strengths of each replicate, not centred, for `measure`.
    data : iterable of arrays, shape (size, n, n) or (size, n)
        Win tables of every setting, or win counts if each pair was compared once; for instance
        `simulated_tables`, `complete_counts`. Drawn after the noise if it is a generator.
    rankers : sequence of pairs
        For instance `rankers_at`.
    measure : callable
        From scores, noisy counts, truth, lots (standard noise), each (size, n), to errors by name.

    Returns
    -------
    dict of str to array, shape (settings, len(rankers), size)
    """
    theta, (fit, count) = check.finite_array("truth", truth, min_ndim=2), rankers[0]
    on_score, on_counts = fit.noise(len(theta), rng=rng), count.noise(len(theta), rng=rng)
    lots, found = count.noise(len(theta), rng=rng), []
    for wins in data:
        won, level = wins if wins.ndim == 2 else wins.sum(axis=-1), []
        for mle, counts in rankers:
            complete = wins.ndim == 2
            scores = mle.perturb(won, on_score) if complete else mle.release(wins, on_score)
            level.append(measure(scores, counts.perturb(won, on_counts), theta, lots))
        found.append(level)
    names = found[0][0]
    return {x: np.array([[level[x] for level in setting] for setting in found]) for x in names}


def simulated_tables(
    truth: ArrayLike, users: Sequence[int], per_user: int, *, rng: np.random.Generator
) -> Iterator[Array]:
    """Win tables, (size, n, n), of people comparing random pairs; each data set contains the last.

    The numbers of people increase; each makes ``per_user`` comparisons (CCW25, section 3.1).
    """
    theta = check.finite_array("truth", truth, min_ndim=2)
    steps = np.diff([0, *(check.integer("users", m, 1) for m in users)])
    if steps.size == 0 or steps.min() < 1:
        raise ValueError(f"users = {list(users)!r}: allowed are increasing numbers of people")
    size, n = theta.shape
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    p, wins = btl_probabilities(theta)[:, i, j] / (n * (n - 1) / 2), np.zeros((size, n, n))
    for step in steps:
        wins = wins.copy()
        wins[:, i, j] += rng.multinomial(step * per_user, p)
        yield wins


def complete_counts(truth: ArrayLike, *, rng: np.random.Generator) -> Iterator[Array]:
    """Win counts, (size, n), where each pair is compared once: one setting."""
    theta = check.finite_array("truth", truth, min_ndim=2)
    (i, j), wins = np.triu_indices(theta.shape[1], 1), np.empty(theta.shape)
    for r, e in enumerate(np.exp(theta)):
        first = rng.random(i.size) * (e[i] + e[j]) < e[i]
        wins[r] = np.bincount(np.where(first, i, j), minlength=theta.shape[1])
    yield wins
