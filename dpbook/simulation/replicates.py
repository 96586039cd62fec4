"""Replicated experiments with the perturbed estimate and noisy counts.

All settings of one replicate share their random numbers: a larger data set contains the smaller
one, and a smaller epsilon stretches the same noise. Differences between settings are then paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.models import btl_probabilities
from dpbook.privacy import Edge, Person
from dpbook.rankers import NoisyCounts, PerturbedMle
from dpbook.simulation.experiments import edge_win_counts
from dpbook.simulation.statistics import log_relative_error, top_k_error

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Rankers = tuple[PerturbedMle, NoisyCounts]
NO_RIDGE = 1e-6  # moves no estimate by more than about that, and gives all data a minimiser
LOTS = 1e-9  # noise so small that all it does is to draw lots between equal counts
TIE_DECIMALS = 6  # estimates that agree so far are equal; different ones are further apart


def planted_strengths(n_items: int, size: int = 1, *, rng: np.random.Generator) -> Array:
    """Strengths, shape (size, n), not centred: k = n/4 zeros, then logs of uniforms in (0.2, 0.7).

    CCW25, section 4.1.1; n / 4 is rounded, and n at least 4.
    """
    n, k = check.integer("n_items", n_items, 4), round(n_items / 4)
    theta = np.zeros((check.integer("size", size, 1), n))
    theta[:, k:] = np.log(check.generator(rng).uniform(0.2, 0.7, (size, n - k)))
    return theta


def rankers_at(
    unit: Edge | Person,
    epsilons: Sequence[float],
    kind: str = "printed",
    *,
    gamma: float | None = None,
    lots: float = LOTS,
) -> list[Rankers]:
    """Perturbed estimate and noisy counts at each privacy level; infinity stands for no privacy.

    Parameters
    ----------
    unit, epsilons : Edge or Person, sequence of float
        Who is protected; privacy levels, in nats.
    kind : {"printed", "private"}
        The noise that the papers print, or the smallest that is proved private.
    gamma : float, optional
        Ridge of all estimates; without it that of the calibration, and 1e-6 without privacy.
    lots : float
        Scale of the counts' noise without privacy; the default breaks ties, 0 leaves them.
    """
    check.choice("kind", kind, ("printed", "private"))
    ridge = () if gamma is None else (gamma,)

    def both(epsilon: float) -> Rankers:
        if np.isposinf(epsilon):
            return PerturbedMle(unit, 0, *(ridge or (NO_RIDGE,))), NoisyCounts(unit, lots)
        fit, count = (getattr(one, kind) for one in (PerturbedMle, NoisyCounts))
        return fit(epsilon, unit, *ridge), count(epsilon, unit)

    return [both(epsilon) for epsilon in epsilons]


def _centred(values: Array) -> Array:
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def edge_experiment(
    rankers: Sequence[Rankers],
    *,
    replicates: int,
    p: float = 1.0,
    levels: Mapping[str, Sequence[int]] | None = None,
    rng: np.random.Generator,
) -> dict[str, dict[str, Array]]:
    """One truth, several data sets of compared pairs, every privacy level on each.

    Parameters
    ----------
    rankers : sequence of pairs
        `rankers_at` for `Edge` with one ridge and ``lots=0``.
    replicates, p : int, float
        Number of data sets; probability that a pair is compared.
    levels : mapping, optional
        From ``"fresh"``, ``"frozen"`` (noise of the estimates drawn anew for each data set, or once
        for all; the counts' noise is always fresh) to places in ``rankers``; all, and fresh.
    rng : numpy.random.Generator
        With equal generators truth, data and fresh noise (up to scale) agree, whatever the rankers.

    Returns
    -------
    dict of dicts of arrays, shape (levels, replicates)
        ``log_relative_l2``, ``log_relative_linf`` of the estimate as released, the same with
        ``_centred`` added for the centred estimate, ``topk_error_mle``, ``topk_error_counts``,
        and ``topk_error_half_net`` for half of wins minus defeats with the noise of the counts.
        Ties (counts without noise, and their estimates) are broken at random.
    """
    fits, counts = zip(*rankers, strict=True)
    wanted = levels or {"fresh": range(len(fits))}
    n, k = fits[0].unit.n_items, round(fits[0].unit.n_items / 4)
    # One stream for each purpose, so that a change of one leaves the others as they are.
    truths, source, fresh, once, counting, lots = check.generator(rng).spawn(6)
    theta = _last_best(planted_strengths(n, rng=truths)[0])
    drawn = fits[0].noise(replicates, rng=fresh)
    same = np.broadcast_to(fits[0].noise(rng=once), drawn.shape)
    noise = np.stack([same if name == "frozen" else drawn for name in wanted])
    mask = np.array([np.isin(np.arange(len(fits)), ranks) for ranks in wanted.values()])
    if p == 1:
        wins = edge_win_counts(theta, size=replicates, rng=source)
        met = np.full(wins.shape, n - 1)
        estimates = estimates_at(fits, wins, noise, mask, complete=True)
    else:
        (wins, met), made = np.empty((2, replicates, n), dtype=np.int64), []
        for r, table in enumerate(_tables(theta, p, replicates, source)):
            wins[r], met[r] = table.sum(axis=1), table.sum(axis=1) + table.sum(axis=0)
            made.append(estimates_at(fits, table, noise[:, r], mask))
        estimates = np.stack(made, axis=2)
    z, best = counts[0].noise(replicates, rng=counting), np.arange(n) >= n - k
    noisy = np.stack([ranker.perturb(wins, z) for ranker in counts])
    net = np.stack([ranker.perturb(wins - met / 2, z) for ranker in counts])
    found = {}
    for (name, ranks), all_levels in zip(wanted.items(), estimates, strict=True):
        at, ties, estimate = list(ranks), deepcopy(lots), all_levels[list(ranks)]
        found[name] = strength_errors(estimate, theta)
        scores = estimate.round(TIE_DECIMALS), noisy[at], net[at]
        for method, x in zip(("mle", "counts", "half_net"), scores, strict=True):
            found[name][f"topk_error_{method}"] = top_k_error(x, best, k, rng=ties)
    return found


def _last_best(strengths: Array) -> Array:
    """Planted strengths, (n,), centred, and with the best items last."""
    theta = np.roll(strengths, -round(strengths.size / 4))
    return np.asarray(theta - theta.mean())


def estimates_at(
    fits: Sequence[PerturbedMle],
    data: ArrayLike,
    noise: Array,
    mask: NDArray[np.bool_] | None = None,
    *,
    complete: bool = False,
) -> Array:
    """Estimates under several noises, at all levels of one ridge, by one call of the solver.

    ``data`` is one win table, or win counts, (..., n), if each pair was ``complete``\\ ly compared;
    the standard noise has the shape (noises, ..., n), the estimates (noises, levels, ..., n). Those
    without noise are fitted once; those that the ``mask``, (noises, levels), leaves out are nan.
    """
    if len({fit.gamma for fit in fits}) > 1:
        raise ValueError("fits: allowed is one ridge for all levels")
    at_once, scales = replace(fits[0], scale=1.0), np.array([fit.scale for fit in fits])
    asked = np.full((len(noise), len(fits)), True) if mask is None else mask
    which, level = np.nonzero(asked & (scales > 0))
    loud = scales[level].reshape(-1, *[1] * (noise.ndim - 1)) * noise[which]
    loud = np.concatenate([loud, np.zeros((1, *noise.shape[1:]))])
    solved = at_once.perturb(data, loud) if complete else at_once.release(data, loud)
    found = np.full((*asked.shape, *noise.shape[1:]), np.nan)
    found[which, level], found[:, scales == 0] = solved[:-1], solved[-1]
    return found


def strength_errors(estimate: Array, theta: Array) -> dict[str, Array]:
    """Log relative errors of an estimate, (..., n), as released and centred, in both norms."""
    return {
        f"log_relative_{norm}{suffix}": log_relative_error(x, theta, norm)
        for suffix, x in (("", estimate), ("_centred", _centred(estimate)))
        for norm in ("l2", "linf")
    }


def _tables(theta: Array, p: float, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Win tables with missing pairs; probabilities and uniform numbers have 24 bits."""
    first, second = np.triu_indices(theta.size, 1)
    rho = btl_probabilities(theta)[first, second].astype(np.float32)
    for _ in range(size):
        seen = rng.random(first.size, dtype=np.float32) < p
        i, j = first[seen], second[seen]
        ahead = rng.random(i.size, dtype=np.float32) < rho[seen]
        table = np.zeros((theta.size, theta.size), dtype=np.int64)
        table[np.where(ahead, i, j), np.where(ahead, j, i)] = 1
        yield table
