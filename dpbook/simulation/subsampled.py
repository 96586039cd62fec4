"""Private estimates from subsamples of a survey (CCW23, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook.data import PairTable
from dpbook.estimators import ranks_from_scores, ridge_mle
from dpbook.simulation.individual import NO_RIDGE, centred, privacy_levels

__all__ = ["survey_distances"]

Array = NDArray[np.float64]


def survey_distances(
    table: PairTable,
    *,
    fractions: Sequence[float],
    epsilons: Sequence[float],
    calibration: str = "printed",
    size: int,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Distances between edge-private and non-private results on subsamples of a survey.

    Parameters
    ----------
    table : PairTable
        The survey. A tie counts half a win for each side.
    fractions : sequence of float
        Decreasing shares p in (0, 1]: each answer is kept with probability p, and what is kept
        at one share contains what is kept at the next.
    epsilons : sequence of float
        Privacy levels in nats, for one answer.
    calibration : {"printed", "private", "theorem"}
        Noise of the estimate: scale 8 / epsilon with ridge max(2 sqrt(n p log n), 1 / epsilon)
        (CCW23, Proposition 2.1; the paper does not say which ridge it used); the smallest one
        proved private, 4 / epsilon with an equal ridge; or the scale epsilon / 16 that CCW23,
        Theorem 2.1 prints, with the ridge of the first. Counts always carry 2 / epsilon.
    size : int
        Number of replicates.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    dict of str to array, shape (len(fractions), len(epsilons), size)
        ``"l2"``, ``"linf"``: norms of the difference of centred estimates on the same subsample;
        ``"hamming"``: share of items to which noisy counts give another rank than the counts of
        the same subsample, ties broken by lot; ``"hamming to full"``: the same against the counts
        of the whole survey.

    Notes
    -----
    CCW23, section 4.2. Without privacy the ridge is 1e-6 instead of 0.
    """
    check.choice("calibration", calibration, ("printed", "private", "theorem"))
    shares = [check.probability("fractions", p, zero=False) for p in fractions]
    if not shares or np.any(np.diff(shares) >= 0):
        raise ValueError(f"fractions = {list(fractions)!r}: allowed are decreasing shares")
    n, levels = table.n_items, privacy_levels(epsilons)
    # Three noises of each replicate: on the score, on the counts, and for ties between counts.
    shape = (3, check.integer("size", size, 1), n)
    noise, count_noise, lots = check.generator(rng).laplace(size=shape)
    wins = np.broadcast_to(table.counts, (size, n, n))
    ties = np.broadcast_to(np.triu(table.ties), (size, n, n))
    whole = ranks_from_scores(table.half_tied_counts().sum(axis=-1))
    rows: dict[str, list[list[Array]]] = {}
    before = 1.0
    for p in shares:
        wins, ties = rng.binomial(wins, p / before), rng.binomial(ties, p / before)
        before = p
        seen = wins + (ties + np.swapaxes(ties, 1, 2)) / 2
        plain = ridge_mle(seen, gamma=NO_RIDGE).theta
        counts = seen.sum(axis=-1)
        order = ranks_from_scores(counts + 1e-9 * lots)
        blocks: dict[str, list[Array]] = {}
        for epsilon in levels:
            scale, gamma = _survey_noise(n, p, epsilon, calibration)
            private = centred(ridge_mle(seen, gamma=gamma, linear=scale * noise).theta)
            gap = private - centred(plain)
            ranks = ranks_from_scores(counts + (2 / epsilon) * count_noise)
            for name, values in (
                ("l2", np.linalg.norm(gap, axis=-1)),
                ("linf", np.abs(gap).max(axis=-1)),
                ("hamming", (ranks != order).mean(axis=-1)),
                ("hamming to full", (ranks != whole).mean(axis=-1)),
            ):
                blocks.setdefault(name, []).append(values)
        for name, block in blocks.items():
            rows.setdefault(name, []).append(block)
    return {name: np.array(block) for name, block in rows.items()}


def _survey_noise(n: int, p: float, epsilon: float, calibration: str) -> tuple[float, float]:
    """Scale on the score and ridge."""
    if calibration == "private":
        return 4 / epsilon, 4 / epsilon
    ridge = max(2 * np.sqrt(n * p * np.log(n)), 1 / epsilon)
    return (8 / epsilon if calibration == "printed" else epsilon / 16), ridge
