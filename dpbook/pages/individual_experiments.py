"""Page 12: private and non-private results on subsamples of a survey."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpbook import _validation as check
from dpbook.data import PairTable
from dpbook.estimators import ranks_from_scores
from dpbook.privacy import Edge
from dpbook.rankers import NoisyCounts, PerturbedMle
from dpbook.simulation.replicates import LOTS, NO_RIDGE

Array = NDArray[np.float64]


def survey_distances(
    survey: PairTable,
    fits: Mapping[str, Callable[[float, float], PerturbedMle]],
    *,
    fractions: Sequence[float],
    epsilons: Sequence[float],
    size: int,
    rng: np.random.Generator,
) -> dict[str, dict[str, Array]]:
    """Distances between private and non-private results on subsamples of a survey.

    Parameters
    ----------
    survey : PairTable
        A tie counts half a win for each side.
    fits : mapping
        Private estimates by name, from a share and epsilon; counts always carry 2 / epsilon.
    fractions : sequence of float
        Decreasing shares p in (0, 1]: each answer is kept with probability p, and what is kept
        at one share contains what is kept at the next.
    epsilons : sequence of float
        Privacy levels in nats, for one answer.
    size : int
        Number of replicates.

    Returns
    -------
    dict of dicts of arrays, shape (len(fractions), len(epsilons), size)
        ``"l2"``, ``"linf"``: norms of the difference of centred estimates on the same subsample;
        ``"hamming"``: share of items to which noisy counts give another rank than the counts of
        the same subsample, ties broken by lot; ``"hamming to full"``: the same against the counts
        of the whole survey. CCW23, section 4.2.
    """
    shares = [check.probability("fractions", p, zero=False) for p in fractions]
    if not shares or np.any(np.diff(shares) >= 0):
        raise ValueError(f"fractions = {list(fractions)!r}: allowed are decreasing shares")
    n, unit = survey.n_items, Edge(survey.n_items)
    plain, by_lot = PerturbedMle(unit, 0, NO_RIDGE), NoisyCounts(unit, LOTS)
    noisy = [NoisyCounts.private(epsilon, unit) for epsilon in epsilons]
    # Three noises of each replicate: on the score, on the counts, and for ties between counts.
    on_score, on_counts = plain.noise(size, rng=rng), by_lot.noise(size, rng=rng)
    lots = by_lot.noise(size, rng=rng)
    wins = np.broadcast_to(survey.counts, (size, n, n))
    ties = np.broadcast_to(np.triu(survey.ties), (size, n, n))
    whole = ranks_from_scores(survey.half_tied_counts().sum(axis=-1))
    names = ("l2", "linf", "hamming", "hamming to full")
    shape, before = (len(shares), len(noisy), size), 1.0
    found = {kind: {name: np.empty(shape) for name in names} for kind in fits}
    for a, p in enumerate(shares):
        wins, ties = rng.binomial(wins, p / before), rng.binomial(ties, p / before)
        before = p
        seen = wins + (ties + np.swapaxes(ties, 1, 2)) / 2
        public, counts = plain.release(seen, on_score, centre=True), seen.sum(axis=-1)
        order = ranks_from_scores(by_lot.perturb(counts, lots))
        for b, (epsilon, ranker) in enumerate(zip(epsilons, noisy, strict=True)):
            ranks = ranks_from_scores(ranker.perturb(counts, on_counts))
            for kind, distances in found.items():
                gap = fits[kind](p, epsilon).release(seen, on_score, centre=True) - public
                distances["l2"][a, b] = np.linalg.norm(gap, axis=-1)
                distances["linf"][a, b] = np.abs(gap).max(axis=-1)
                distances["hamming"][a, b] = (ranks != order).mean(axis=-1)
                distances["hamming to full"][a, b] = (ranks != whole).mean(axis=-1)
    return found
