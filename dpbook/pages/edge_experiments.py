"""Page 10: the edge-private simulations of CCW25, section 4.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from dpbook import _validation as check
from dpbook.data import Comparisons
from dpbook.data.tables import rows_of
from dpbook.models import btl_probabilities, edge_wins
from dpbook.privacy import Edge
from dpbook.rankers import NoisyCounts, PerturbedMle, StandardNoise
from dpbook.simulation import edge_win_counts, log_relative_error, top_k_error

Array = NDArray[np.float64]
Generator = np.random.Generator

LOSSES = ["log_relative_l2", "log_relative_linf", "topk_error_mle", "topk_error_counts"]
# Equal strengths come out of the solver equal to about 1e-9; different ones are further apart.
_TIE_DECIMALS = 6

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


def edge_truth(n_items: int, k: int, *, rng: Generator) -> Array:
    """n - k values log Unif(0.2, 0.7), then k zeros, minus their mean (CCW25, section 4.1.1)."""
    n = check.integer("n_items", n_items, 2)
    k = check.integer("k", k, 1, n - 1)
    worse = np.log(check.generator(rng).uniform(0.2, 0.7, size=n - k))
    theta = np.concatenate([worse, np.zeros(k)])
    return np.asarray(theta - theta.mean())


def edge_ridge(n_items: int, p: float) -> float:
    """Ridge of the simulations, 2 sqrt(n p log n), natural logarithm."""
    return float(2 * np.sqrt(n_items * check.probability("p", p, zero=False) * np.log(n_items)))


def edge_fits(
    n_items: int, epsilons: Sequence[float], *, p: float = 1.0, calibration: str = "printed"
) -> list[PerturbedMle]:
    """The perturbed estimate at each level, with `edge_ridge`; infinity stands for no privacy."""
    unit, gamma = Edge(n_items), edge_ridge(n_items, p)
    make = {"printed": PerturbedMle.printed, "private": PerturbedMle.private}
    calibrated = make[check.choice("calibration", calibration, tuple(make))]
    return [
        PerturbedMle(unit, 0, gamma) if np.isposinf(e) else calibrated(e, unit, gamma)
        for e in epsilons
    ]


def edge_counts(n_items: int, epsilons: Sequence[float]) -> list[NoisyCounts]:
    """Noisy counts at each level: scale 2 / epsilon, which is printed and tight."""
    unit = Edge(n_items)
    return [
        NoisyCounts(unit, 0) if np.isposinf(e) else NoisyCounts.private(e, unit) for e in epsilons
    ]


def edge_experiment(
    fits: Sequence[PerturbedMle],
    counts: Sequence[NoisyCounts],
    *,
    replicates: int,
    p: float = 1.0,
    frozen: bool = False,
    rng: Generator,
) -> dict[str, Array]:
    """One run of the simulations: one truth, several data sets, every privacy level on each.

    Parameters
    ----------
    fits, counts : sequences of rankers
        `edge_fits` and `edge_counts` at the same levels, at least 4 items; k = n / 4 rounded is the
        size of the set sought. All levels share data and noise, up to its scale.
    replicates : int
        Number of data sets.
    p : float
        Probability that a pair is compared.
    frozen : bool
        Whether the noise of the perturbed MLE is drawn once for all data sets, as in the authors'
        runs, and not anew for each. The noise of the counts is always fresh.
    rng : numpy.random.Generator
        With equal generators truth, data and fresh noise (up to scale) agree, whatever the rankers.

    Returns
    -------
    dict of arrays, shape (levels, replicates)
        ``log_relative_l2``, ``log_relative_linf`` of the estimate as released, the same with
        ``_centred`` added for the centred estimate, ``topk_error_mle``, ``topk_error_counts``,
        and ``topk_error_half_net`` for half of wins minus defeats with the noise of the counts.
        Ties (counts without noise, and their estimates) are broken by lot.
    """
    every = np.arange(len(fits))
    return _experiments(fits, counts, replicates, p, {frozen: every}, rng)[frozen]


def _experiments(
    fits: Sequence[PerturbedMle],
    counts: Sequence[NoisyCounts],
    replicates: int,
    p: float,
    wanted: Mapping[bool, NDArray[np.intp]],
    rng: Generator,
) -> dict[bool, dict[str, Array]]:
    """`edge_experiment` with fresh and with frozen noise (True) on the same data.

    ``wanted`` has the levels of each, as their places among the rankers.
    """
    n, k = fits[0].unit.n_items, round(fits[0].unit.n_items / 4)
    # One stream for each purpose, so that a change of one leaves the others as they are.
    truths, data, fresh, once, counting, lots = check.generator(rng).spawn(6)
    theta = edge_truth(n, k, rng=truths)
    drawn = fits[0].noise(replicates, rng=fresh)
    same = np.broadcast_to(fits[0].noise(rng=once), drawn.shape)
    noise = np.stack([same if frozen else drawn for frozen in wanted])
    estimates = np.empty((len(wanted), len(fits), replicates, n))
    at_once, scales = _all_levels(fits)
    mask = np.array([np.isin(np.arange(len(fits)), levels) for levels in wanted.values()])
    if p == 1:
        wins = edge_win_counts(theta, size=replicates, rng=data)
        met = np.full(wins.shape, n - 1)
        _solve(partial(at_once.perturb, wins), scales, noise, mask, out=estimates)
    else:
        wins, met = np.empty((2, replicates, n), dtype=np.int64)
        for r, table in enumerate(_tables(theta, p, replicates, data)):
            wins[r], met[r] = table.sum(axis=1), table.sum(axis=1) + table.sum(axis=0)
            fit = partial(at_once.release, table)
            _solve(fit, scales, noise[:, r], mask, out=estimates[:, :, r])
    z = counts[0].noise(replicates, rng=counting)
    best = np.arange(n) >= n - k
    noisy = np.stack([ranker.perturb(wins, z) for ranker in counts])
    net = np.stack([ranker.perturb(wins - met / 2, z) for ranker in counts])
    found = {}
    for (frozen, levels), all_levels in zip(wanted.items(), estimates, strict=True):
        ties, estimate = deepcopy(lots), all_levels[levels]
        missed = {
            "topk_error_mle": top_k_error(estimate.round(_TIE_DECIMALS), best, k, rng=ties),
            "topk_error_counts": top_k_error(noisy[levels], best, k, rng=ties),
            "topk_error_half_net": top_k_error(net[levels], best, k, rng=ties),
        }
        found[frozen] = strength_errors(estimate, theta) | missed
    return found


def _all_levels(fits: Sequence[PerturbedMle]) -> tuple[PerturbedMle, Array]:
    """The fit for noise that is scaled already, for one call; and the scales, (levels,)."""
    if len({fit.gamma for fit in fits}) > 1:
        raise ValueError("fits: allowed is one ridge for all levels")
    return replace(fits[0], scale=1.0), np.array([fit.scale for fit in fits])


def _solve(
    fit: Callable[[Array], Array],
    scales: Array,
    noise: Array,
    mask: NDArray[np.bool_],
    *,
    out: Array,
) -> None:
    """One call of ``fit`` for all conventions and levels; one estimate for those without noise.

    ``noise`` is standard, (conventions, ..., n); estimates go to ``out``, (conventions, levels,
    ..., n), where ``mask``, (conventions, levels), asks for them.
    """
    convention, level = np.nonzero(mask & (scales > 0))
    loud = scales[level].reshape(-1, *[1] * (noise.ndim - 1)) * noise[convention]
    found = fit(np.concatenate([loud, np.zeros((1, *noise.shape[1:]))]))
    out[convention, level] = found[:-1]
    out[:, scales == 0] = found[-1]


def strength_errors(estimate: Array, theta: Array) -> dict[str, Array]:
    """Log relative errors of an estimate as released and centred, in both norms."""
    centred = estimate - estimate.mean(axis=-1, keepdims=True)
    return {
        f"log_relative_{norm}{suffix}": log_relative_error(x, theta, norm)
        for suffix, x in (("", estimate), ("_centred", centred))
        for norm in ("l2", "linf")
    }


def _tables(theta: Array, p: float, size: int, rng: Generator) -> Iterator[NDArray[np.int64]]:
    """Win tables with missing pairs; probabilities and uniform numbers have 24 bits."""
    n = theta.size
    first, second = np.triu_indices(n, 1)
    rho = btl_probabilities(theta)[first, second].astype(np.float32)
    for _ in range(size):
        seen = rng.random(first.size, dtype=np.float32) < p
        i, j = first[seen], second[seen]
        ahead = rng.random(i.size, dtype=np.float32) < rho[seen]
        table = np.zeros((n, n), dtype=np.int64)
        table[np.where(ahead, i, j), np.where(ahead, j, i)] = 1
        yield table


def several(
    n: int,
    count: int,
    size: int,
    *,
    seed: int,
    epsilons: Sequence[float],
    p: float = 1.0,
    calibration: str = "printed",
) -> list[dict[str, Array]]:
    """Runs with one truth each."""
    fits = edge_fits(n, epsilons, p=p, calibration=calibration)
    counts = edge_counts(n, epsilons)
    return [
        edge_experiment(fits, counts, replicates=size, p=p, rng=g) for g in streams(seed, n, count)
    ]


def frozen_and_fresh(
    n: int,
    count: int,
    size: int,
    *,
    seed: int,
    epsilons: Sequence[float],
    fresh_only: Sequence[float] = (),
    p: float,
) -> dict[str, list[dict[str, Array]]]:
    """`several` under both conventions for the noise, which share truths and data.

    The levels of ``fresh_only`` come after ``epsilons``, with fresh noise.
    """
    levels = [*epsilons, *fresh_only]
    fits, counts = edge_fits(n, levels, p=p), edge_counts(n, levels)
    wanted = {True: np.arange(len(epsilons)), False: np.arange(len(levels))}
    runs = [_experiments(fits, counts, size, p, wanted, g) for g in streams(seed, n, count)]
    names = (("frozen", True), ("fresh", False))
    return {name: [run[frozen] for run in runs] for name, frozen in names}


def streams(seed: int, n: int, count: int) -> Iterator[Generator]:
    """Generators of as many runs; equal n give equal truths."""
    return map(np.random.default_rng, np.random.SeedSequence([seed, n]).spawn(count))


def summary_rows(
    runs: Sequence[dict[str, Array]],
    metrics: Sequence[str],
    epsilons: Sequence[float],
    **labels: Any,
) -> list[dict[str, Any]]:
    """Means and standard deviations of several runs, one row for each metric and privacy level.

    ``sd`` is that over the replicates of a run, as published (0 for a single one); ``sd_between``
    that of the means of the runs; ``replicates`` those of all runs together.
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


# Experiments 1 and 4, under each convention for the noise.

FRESH = "fresh noise"


def script_noise(seed: int, n: int) -> Array:
    """Laplace noise of `Helper-Script.R`, lines 118-120: R's Mersenne Twister after set.seed."""
    state = [seed]
    for _ in range(675):
        state.append((69069 * state[-1] + 1) % 2**32)
    source, key = np.random.MT19937(), np.array(state[-624:], dtype=np.uint32)
    source.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    u = source.random_raw(n) / 2**32
    return np.asarray(np.sign(u - 0.5) * np.log(1 - 2 * np.abs(u - 0.5)))


def noises(
    ranker: PerturbedMle, size: int, vectors: dict[str, Array], rng: Generator
) -> dict[str, Array]:
    """Standard noise of the perturbed MLE under each convention, shape (data sets, n)."""
    fresh = ranker.noise(size, rng=rng)
    frozen = {k: np.broadcast_to(w[: fresh.shape[1]], fresh.shape) for k, w in vectors.items()}
    return {**frozen, FRESH: fresh}


def complete_run(
    n: int, epsilons: Sequence[float], size: int, vectors: dict[str, Array], rng: Generator
) -> dict[str, dict[str, Array]]:
    """One truth and several data sets with all pairs compared: losses under each convention."""
    k, best = round(n / 4), np.arange(n) >= n - round(n / 4)
    fits, counts = edge_fits(n, epsilons), edge_counts(n, epsilons)
    theta = edge_truth(n, k, rng=rng)
    wins = edge_win_counts(theta, size=size, rng=rng)
    at_once, scales = _all_levels(fits)
    drawn, found = noises(fits[0], size, vectors, rng), {}
    noise = np.stack([*drawn.values()])
    estimates = np.empty((len(drawn), len(fits), *wins.shape))
    mask = np.full(estimates.shape[:2], True)
    _solve(partial(at_once.perturb, wins), scales, noise, mask, out=estimates)
    for name, estimate in zip(drawn, estimates, strict=True):
        missed = top_k_error(estimate.round(_TIE_DECIMALS), best, k, rng=rng)
        found[name] = {"topk_error_mle": missed, **strength_errors(estimate, theta)}
    z = counts[0].noise(size, rng=rng)
    noisy = np.stack([ranker.perturb(wins, z) for ranker in counts])
    missed = top_k_error(noisy, best, k, rng=rng)
    return {name: {**x, "topk_error_counts": missed} for name, x in found.items()}


def sets_only(
    n: int, epsilons: Sequence[float], size: int, vectors: dict[str, Array], rng: Generator
) -> dict[str, dict[str, Array]]:
    """The top-k losses alone: at p = 1 the order of the estimate is that of wins minus noise."""
    k, best = round(n / 4), np.arange(n) >= n - round(n / 4)
    counts, fits = edge_counts(n, epsilons), edge_fits(n, epsilons)
    same_order = [NoisyCounts(fit.unit, fit.scale) for fit in fits]
    wins = edge_win_counts(edge_truth(n, k, rng=rng), size=size, rng=rng)
    z = counts[0].noise(size, rng=rng)
    noisy = np.stack([ranker.perturb(wins, z) for ranker in counts])
    missed = top_k_error(noisy, best, k)
    found = {}
    for name, w in noises(fits[0], size, vectors, rng).items():
        shifted = np.stack([ranker.perturb(wins, -w) for ranker in same_order])
        found[name] = {"topk_error_mle": top_k_error(shifted, best, k), "topk_error_counts": missed}
    return found


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
    transition matrix, in [0, 1]. A walk without a unique law is refused.
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
        raise ValueError("wins: the walk from losers to winners has no unique law") from error
    return scores, float(pdist(steps, "cityblock").max()) / 2 / n


def one_shot_run(
    n: int, epsilons: Sequence[float], draws: int, rng: Generator
) -> tuple[Array, float, float]:
    """Top-k errors of the one-shot algorithm on one data set, and what its noise is made of.

    Returns its error at each level, the spread of the scores over the scale at epsilon = 1, and
    the error without noise.
    """
    k = round(n / 4)
    best, truth = np.arange(n) >= n - k, edge_truth(n, k, rng=rng)
    wins = edge_wins(btl_probabilities(truth), rng=rng)[0]
    scores, rho = spectral_scores(wins)
    one = OneShotSpectral.printed(1, Edge(n), k, rho=rho, delta=n**-2)
    z = one.noise(draws, rng=rng)
    # `OneShotSpectral.release` at each level, with the scores of the one table made once.
    noisy = scores + (one.scale / np.asarray(epsilons))[:, None, None] * z
    bare = float(top_k_error(scores, best, k))
    return top_k_error(noisy, best, k).mean(axis=1), float(np.ptp(scores) / one.scale), bare
