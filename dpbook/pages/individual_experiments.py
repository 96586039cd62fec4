"""Page 12: Experiments 5 to 7 of CCW25, their edge twin, and the surveys of CCW23, section 4.2.

Everything is vectorised over replicates, and settings share their random numbers: in one replicate
a larger crowd contains the smaller one, and a smaller epsilon stretches the same noise. Differences
between settings are then paired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook.data import PairTable
from dpbook.estimators import ranks_from_scores
from dpbook.models import btl_probabilities
from dpbook.privacy import Edge, Person
from dpbook.rankers import NoisyCounts, PerturbedMle
from dpbook.simulation import log_relative_error, top_k_error

Array = NDArray[np.float64]
Rankers = tuple[PerturbedMle, NoisyCounts]

# Without privacy the printed ridge is 0. This one moves no estimate by more than about 1e-6, and
# gives every data set a minimiser.
NO_RIDGE = 1e-6
# Noise so small that all it does is to draw lots between equal counts.
LOTS = 1e-9
# Equal counts on the complete graph give equal estimates, up to the solver's 1e-9.
SOLVER_LOTS = 1e-7
KINDS = ("printed", "private")


def paper_strengths(n_items: int, *, size: int = 1, rng: np.random.Generator) -> Array:
    """Strengths, shape (size, n), not centred: k = n/4 zeros, then logs of uniforms in (0.2, 0.7).

    CCW25, section 4.1.1.
    """
    n = check.integer("n_items", n_items, 4)
    theta = np.zeros((size, n))
    k = round(n / 4)
    theta[:, k:] = np.log(check.generator(rng).uniform(0.2, 0.7, (size, n - k)))
    return theta


def individual_rankers(
    n_items: int, per_user: int, epsilons: Sequence[float], kind: str = "printed"
) -> list[Rankers]:
    """Both rankers at each level, one person protected; infinity stands for no privacy.

    CCW25's noise (MLE: scale 8 L / epsilon, ridge 2 L / epsilon; counts: scale L / epsilon), or
    the smallest noise proved private (4 L / epsilon with an equal ridge; 2 L / epsilon).
    """
    unit = Person(n_items, per_user, vouched=True)
    check.choice("kind", kind, KINDS)

    def both(epsilon: float) -> Rankers:
        if np.isposinf(epsilon):
            return PerturbedMle(unit, 0, NO_RIDGE), NoisyCounts(unit, LOTS)
        if kind == "printed":
            return PerturbedMle.printed(epsilon, unit), NoisyCounts.printed(epsilon, unit)
        return PerturbedMle.private(epsilon, unit), NoisyCounts.private(epsilon, unit)

    return [both(epsilon) for epsilon in epsilons]


def edge_rankers(n_items: int, epsilons: Sequence[float]) -> list[Rankers]:
    """Both as printed for one comparison, p = 1: ridge 2 sqrt(n log n), noise 8 and 2 / epsilon."""
    unit, gamma = Edge(n_items), 2 * np.sqrt(n_items * np.log(n_items))

    def both(epsilon: float) -> Rankers:
        if np.isposinf(epsilon):
            return PerturbedMle(unit, 0, gamma), NoisyCounts(unit, LOTS)
        fit = PerturbedMle.printed(epsilon, unit, gamma)
        return fit, NoisyCounts.printed(epsilon, unit)

    return [both(epsilon) for epsilon in epsilons]


def individual_errors(
    truth: ArrayLike, *, users: Sequence[int], rankers: Sequence[Rankers], rng: np.random.Generator
) -> dict[str, Array]:
    """Errors of both individually private rankers, by the paper's metrics and by its code's.

    Parameters
    ----------
    truth : array, shape (size, n)
        Strengths of each replicate, not centred, the top k = n/4 (rounded) items first.
    users : sequence of int
        Numbers m of people, increasing; each crowd contains the one before.
    rankers : sequence of pairs
        `individual_rankers`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    dict of str to array, shape (len(users), len(rankers), size)
        ``"mle l2"`` and ``"mle linf"``: log relative errors, estimate and truth centred;
        ``"mle top-k"`` and ``"counts top-k"``: share of the top k missed, ties drawn by lot.
        As the public code measures: ``"as run l2"``, ``"as run linf"`` (estimate centred, truth
        as drawn); ``"as run top-k"``, ``"as run counts top-k"`` (the top set of the truth, and for
        the MLE that of the estimate, is the last k positions after a partial sort at position k,
        with what NumPy's plain algorithm leaves there).

    Notes
    -----
    CCW25, section 4.2; the public code is ``Individual-DP/pairwise_comparison.py``, whose
    constraint ``sum(theta) == 0`` is the same as centring the unconstrained minimiser.
    """
    theta = check.finite_array("truth", truth, min_ndim=2)
    steps = np.diff([0, *(check.integer("users", m, 1) for m in users)])
    if steps.size == 0 or steps.min() < 1:
        raise ValueError(f"users = {list(users)!r}: allowed are increasing numbers of people")
    (fit, count), (size, n) = rankers[0], theta.shape
    assert isinstance(fit.unit, Person)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    chances = btl_probabilities(theta)[:, i, j] / (n * (n - 1) / 2)
    on_score, on_counts = fit.noise(size, rng=rng), count.noise(size, rng=rng)
    lots, wins = count.noise(size, rng=rng), np.zeros((size, n, n))
    crowds = []
    for step in steps:
        wins[:, i, j] += rng.multinomial(step * fit.unit.comparisons, chances)
        won, level = wins.sum(axis=-1), []
        for mle, counts in rankers:
            scores, noisy = mle.release(wins, on_score), counts.perturb(won, on_counts)
            level.append(_all_errors(scores, noisy, theta, lots))
        crowds.append(level)
    return {
        name: np.array([[level[name] for level in crowd] for crowd in crowds])
        for name in crowds[0][0]
    }


def edge_errors(
    truth: ArrayLike, *, epsilons: Sequence[float], rng: np.random.Generator
) -> dict[str, Array]:
    """The four right metrics of `individual_errors` where each pair is compared once, as printed.

    Shape (len(epsilons), size). CCW25, section 4.1, p = 1.
    """
    theta = check.finite_array("truth", truth, min_ndim=2)
    size, n = theta.shape
    rankers = edge_rankers(n, epsilons)
    fit, count = rankers[0]
    on_score, on_counts = fit.noise(size, rng=rng), count.noise(size, rng=rng)
    lots = count.noise(size, rng=rng)
    i, j = np.triu_indices(n, 1)
    wins = np.empty((size, n))
    weight = np.exp(theta)
    for r, e in enumerate(weight):
        first = rng.random(i.size) * (e[i] + e[j]) < e[i]
        wins[r] = np.bincount(np.where(first, i, j), minlength=n)
    levels = [
        _all_errors(mle.perturb(wins, on_score), counts.perturb(wins, on_counts), theta, lots)
        for mle, counts in rankers
    ]
    right = ("mle l2", "mle linf", "mle top-k", "counts top-k")
    return {name: np.array([level[name] for level in levels]) for name in right}


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
    found["mle top-k"] = top_k_error(estimate + SOLVER_LOTS * lots, best, k)
    found["counts top-k"] = top_k_error(counts, best, k)
    true_part = _last_of_partition(theta, k)
    both = _last_of_partition(estimate, k) & true_part
    found["as run top-k"] = 1 - both.sum(axis=-1) / k
    counted = (ranks_from_scores(counts) < k) & true_part
    found["as run counts top-k"] = 1 - counted.sum(axis=-1) / k
    return found


def _last_of_partition(values: Array, k: int) -> NDArray[np.bool_]:
    """Which items stand in ``argpartition(values, k)[-k:]``, by NumPy's plain introselect.

    For doubles some processors run another algorithm, for long doubles none does.
    """
    places = np.argpartition(values.astype(np.longdouble), k, axis=-1)[..., -k:]
    inside = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(inside, places, True, axis=-1)
    return inside


def centred(values: Array) -> Array:
    """Subtract the mean along the last axis."""
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def first_order(n: int, m: int, level: float, L: int = 5) -> float:
    """Log of the root mean square relative l2 error to first order, averaged over truths."""
    factor = 0 if np.isinf(level) else L / level
    lam, gamma = 8 * factor, 2 * factor + NO_RIDGE
    values = []
    for drawn in paper_strengths(n, size=20, rng=np.random.default_rng(5)):
        theta = drawn - drawn.mean()
        share = expit(theta[:, None] - theta)
        weight = share * share.T * m * L / (n * (n - 1) / 2)
        np.fill_diagonal(weight, 0)
        hessian = np.diag(weight.sum(axis=1)) - weight
        inverse = np.linalg.inv(hessian + gamma * np.eye(n))
        middle = inverse - inverse.mean(axis=0)
        square = np.trace(middle @ (hessian + 2 * lam**2 * np.eye(n)) @ middle.T)
        square += np.sum((gamma * inverse @ theta) ** 2)
        values.append(0.5 * np.log(square / np.sum(theta**2)))
    return float(np.mean(values))


# The surveys, subsampled: the perturbed estimate for a number of items, a share and an epsilon.


def survey_ridge(n_items: int, share: float, epsilon: float) -> float:
    """Ours, since the paper does not say which it used: max(2 sqrt(n p log n), 1 / epsilon)."""
    return float(max(2 * np.sqrt(n_items * share * np.log(n_items)), 1 / epsilon))


SURVEY_FITS: dict[str, Callable[[int, float, float], PerturbedMle]] = {
    # CCW23, Proposition 2.1.
    "printed": lambda n, p, e: PerturbedMle.printed(e, Edge(n), survey_ridge(n, p, e)),
    "private": lambda n, p, e: PerturbedMle.private(e, Edge(n)),
    # The scale that CCW23, Theorem 2.1 prints.
    "theorem": lambda n, p, e: PerturbedMle(Edge(n), e / 16, survey_ridge(n, p, e)),
}


def survey_distances(
    survey: PairTable,
    *,
    fractions: Sequence[float],
    epsilons: Sequence[float],
    kind: str = "printed",
    size: int,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Distances between edge-private and non-private results on subsamples of a survey.

    Parameters
    ----------
    survey : PairTable
        A tie counts half a win for each side.
    fractions : sequence of float
        Decreasing shares p in (0, 1]: each answer is kept with probability p, and what is kept
        at one share contains what is kept at the next.
    epsilons : sequence of float
        Privacy levels in nats, for one answer.
    kind : str
        A key of `SURVEY_FITS`. Counts always carry 2 / epsilon.
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
    CCW23, section 4.2.
    """
    (found,) = survey_distances_by_kind(
        survey, fractions=fractions, epsilons=epsilons, kinds=[kind], size=size, rng=rng
    ).values()
    return found


def survey_distances_by_kind(
    survey: PairTable,
    *,
    fractions: Sequence[float],
    epsilons: Sequence[float],
    kinds: Sequence[str],
    size: int,
    rng: np.random.Generator,
) -> dict[str, dict[str, Array]]:
    """`survey_distances` of several kinds on the same subsamples, with the same noise."""
    calibrated = {k: SURVEY_FITS[check.choice("kind", k, tuple(SURVEY_FITS))] for k in kinds}
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
    found = {kind: {name: np.empty(shape) for name in names} for kind in calibrated}
    for a, p in enumerate(shares):
        wins, ties = rng.binomial(wins, p / before), rng.binomial(ties, p / before)
        before = p
        seen = wins + (ties + np.swapaxes(ties, 1, 2)) / 2
        public, counts = plain.release(seen, on_score, centre=True), seen.sum(axis=-1)
        order = ranks_from_scores(by_lot.perturb(counts, lots))
        for b, (epsilon, ranker) in enumerate(zip(epsilons, noisy, strict=True)):
            ranks = ranks_from_scores(ranker.perturb(counts, on_counts))
            for kind, distances in found.items():
                fit = calibrated[kind](n, p, epsilon)
                gap = fit.release(seen, on_score, centre=True) - public
                distances["l2"][a, b] = np.linalg.norm(gap, axis=-1)
                distances["linf"][a, b] = np.abs(gap).max(axis=-1)
                distances["hamming"][a, b] = (ranks != order).mean(axis=-1)
                distances["hamming to full"][a, b] = (ranks != whole).mean(axis=-1)
    return found
