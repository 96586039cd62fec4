"""Pages 04 and 05: edge moves counted, losses by enumeration, exact tails, exact failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import laplace

from dpbook.data import Comparisons
from dpbook.models import average_win_probabilities, edge_wins, two_level_probabilities
from dpbook.privacy import (
    AllEpsilonReport,
    Edge,
    MechanismReport,
    as_fraction,
    check_mechanism,
    clopper_pearson,
    edge_datasets,
    noisy_counts_law,
    outcome_counts,
    ranking_law,
    top_k_law,
)
from dpbook.rankers import NoisyCounts

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Row = tuple[int, ...]
Moves = Callable[[Row], Sequence[set[Row]]]

# ------------------------------------------------------------------ neighbours and the model


def listed(moves: Moves, n: int) -> tuple[Ints, Ints, Ints]:
    """Ways from each data set to each other, each one's numbers of moves and of comparisons."""
    data = [tuple(row) for row in edge_datasets(n, complete=False).tolist()]
    index = {row: at for at, row in enumerate(data)}
    ways, numbers = np.zeros((len(data), len(data)), dtype=int), []
    for at, row in enumerate(data):
        numbers.append([len(kind) for kind in moves(row)])
        for other in (other for kind in moves(row) for other in kind):
            ways[at, index[other]] += 1
    return ways, np.array(numbers), np.count_nonzero(np.array(data), axis=1)


def steps_up(theta: Array) -> Array:
    """Sign of every difference of two strengths."""
    return np.asarray(np.sign(theta[..., :, None] - theta[..., None, :]))


def wrong_pairs(rho: Array, theta: Array) -> int:
    """Pairs that tau and theta put in another order."""
    tau = average_win_probabilities(rho)
    return int((np.sign(tau[:, :, None] - tau[:, None]) != steps_up(theta)).sum())


def edge_comparisons(rho: Array, *, rng: np.random.Generator) -> Comparisons:
    """One data set in which each pair is compared once."""
    return Comparisons.from_win_matrix(edge_wins(rho, rng=rng)[0])


def mean_wins(rho: Array, p: float) -> Array:
    """Expected wins of three items, over all data sets."""
    data, (i, j) = edge_datasets(3, complete=False), np.triu_indices(3, 1)
    law = np.choose((data + 1).astype(np.intp), [p * rho[j, i], 1 - p, p * rho[i, j]]).prod(axis=1)
    return np.asarray(law @ outcome_counts(data, 3))


def dipping(theta: Array) -> Array:
    """Win probabilities that fall again when one item is much stronger."""
    difference = theta[..., :, None] - theta[..., None, :]
    return np.asarray(0.5 + 0.5 * np.sin(2 * difference) * np.exp(-(difference**2) / 8))


# ------------------------------------------------------------------ losses by enumeration


def set_report(pairs: Ints, scale: float, size: int, noise: str = "laplace") -> MechanismReport:
    """What the checker says of the set of so many items."""
    return check_mechanism(lambda c: top_k_law(c, size, scale=scale, noise=noise), list(pairs))


def set_loss(pairs: Ints, scale: float, noise: str = "laplace") -> float:
    """Loss of the released set, of the worst size."""
    sizes = range(1, pairs.shape[-1])
    return max(set_report(pairs, scale, size, noise).loss for size in sizes)


def ranking_loss(pairs: Ints, scale: float, noise: str = "laplace") -> float:
    """Loss of the whole ranking."""
    return check_mechanism(lambda c: ranking_law(c, scale=scale, noise=noise), list(pairs)).loss


def all_lost(scale: float, pairs: NDArray[Any]) -> AllEpsilonReport:
    """Whether noisy counts of three items lose at most epsilon; the scale in units of 1/epsilon."""
    steps = as_fraction(scale)
    return check_mechanism(lambda counts: noisy_counts_law(counts, 2, steps), pairs, epsilon="all")


def vector_loss(pairs: Ints, scale: float, noise: str = "laplace") -> float:
    """Loss of the noisy counts, seen far out, where every slope has its sign."""
    ranker = NoisyCounts(Edge(pairs.shape[-1]), scale, noise == "discrete_laplace")
    far = 100 * np.sign(pairs[:, 0] - pairs[:, 1])
    before, after = (ranker.logpdf(far, pairs[:, side]) for side in (0, 1))
    return float((before - after).max())


# ------------------------------------------------------------------ one pair


def strong_pair(n: int, gap: float) -> Array:
    """Item 0 always wins; item n - 1 is weaker by exactly `gap` in tau."""
    b, rho = (n - 1 - n * gap) / (n - 2), np.full((n, n), 0.5)
    rho[0, 1:], rho[1:, 0] = 1, 0
    rho[-1, 1:-1], rho[1:-1, -1] = b, 1 - b
    return rho


def win_difference_pmf(rho: Array, a: int, b: int, *, p: float) -> Array:
    """Exact law of N_a - N_b, two items' wins in the edge design; entry d + n - 1 is P(d).

    A convolution of n - 1 independent steps in {-1, 0, 1} (CCW25, proof A.6). All terms are
    positive, so each entry has a relative error of at most about 3 n rounding units.
    """
    pmf = np.array([p * rho[b, a], 1 - p, p * rho[a, b]])
    for j in set(range(len(rho))) - {a, b}:
        up, down = p * rho[a, j], p * rho[b, j]
        step = [(1 - up) * down, up * down + (1 - up) * (1 - down), up * (1 - down)]
        pmf = np.convolve(pmf, step)
    return pmf


def sampling_tail(n: int, p: float, C: float, family: str) -> float:
    """P(N_a <= N_b) at the gap C sqrt(log n / (n p))."""
    gap = C * np.sqrt(np.log(n) / (n * p))
    if family == "two levels":
        rho = two_level_probabilities(n, n // 2, gap)
    else:
        rho = strong_pair(n, gap)
    return float(win_difference_pmf(rho, 0, n - 1, p=p)[:n].sum())


def noise_tail(x: Array) -> Array:
    """P(W - W' >= x) for two independent Laplace variables of scale 1."""
    tail = 0.5 * np.exp(-np.abs(x)) * (1 + np.abs(x) / 2)
    return np.where(x >= 0, tail, 1 - tail)


def smallest_n(C: float, epsilon: float = 1.0, p: float = 1.0) -> int:
    """From which number of items on a gap of C beta is possible."""

    def feasible(n: int) -> bool:
        return bool(C * (np.sqrt(np.log(n) / (n * p)) + np.log(n) / (n * p * epsilon)) <= 0.5)

    low, high = 3, 4  # log(n)/n falls from n = 3 on
    while not feasible(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high


# ------------------------------------------------------------------ failures


def noise_only_failure(x: float, half: int) -> float:
    """Laplace noise of scale 1, a lead of x of so many items over as many: P(a set is wrong)."""
    t = np.linspace(-40, 80, 60_001)
    best = laplace.cdf(t) ** half
    middle = (t[1:] + t[:-1]) / 2
    return float(1 - np.diff(best) @ laplace.cdf(x - middle) ** half)


def seen(failures: Any, trials: Any, allowed: Any) -> Array:
    """The least that the failures prove, as a share of the bound.

    All limits together are too high once in a million pages: a one-sided error each, added up.
    """
    low, _ = clopper_pearson(failures, trials, confidence=1 - 2e-6 / np.size(failures))
    with np.errstate(divide="ignore"):
        return np.asarray(np.divide(low, allowed, out=np.zeros(low.shape), where=low > 0))


def largest_wrong_gap(scores: Array, lead: Array) -> Array:
    """Largest lead of a pair that the scores misorder; items come in their true order."""
    wrong = scores[:, :, None] <= scores[:, None, :]
    return np.asarray(np.where(wrong, lead, 0).max(axis=(1, 2)))


def ladder(n: int) -> Array:
    """Tau where the better item always wins."""
    return np.asarray(1 - (np.arange(n) + 0.5) / n)


# ------------------------------------------------------------------ exercises

NOISE = np.stack(np.meshgrid(*[np.arange(-18, 19)] * 3), axis=-1).reshape(-1, 3)
# Discrete noise of scale 1/2; beyond 18 its weight is below 1e-15.
WEIGHT = np.exp(-2 * np.abs(NOISE).sum(axis=1))
ORDERS = np.zeros(27, dtype=np.intp)  # by three digits of base three
ORDERS[list(permutations(range(3))) @ np.array([9, 3, 1])] = range(6)


def ranking_with_ties(row: Ints, by_data: bool) -> Array:
    """Law of the ranking if ties go by the true counts, or by the names."""
    counts = outcome_counts(row, 3)
    # Ties are worth less than one win: a few hundredths, from the data or from the names.
    scores = counts + NOISE + (0.01 * counts if by_data else 0) - 0.001 * np.arange(3)
    at = ORDERS[np.argsort(-scores, axis=1) @ np.array([9, 3, 1])]
    return np.asarray(np.bincount(at, WEIGHT, minlength=6) / WEIGHT.sum())


def first_and_last(n: int) -> tuple[bool, bool]:
    """Whether the step of the proof holds for all orders of n items, and its converse."""
    # place[r, i]: where order r puts item i
    place = np.argsort(list(permutations(range(n))), axis=1)
    implied = converse = True
    for size in range(1, n):
        for t in range(min(size - 1, n - 1 - size) + 1):
            apart = place[:, : size - t].max(axis=1) < place[:, size + t :].min(axis=1)
            close = (place[:, size:] < size).sum(axis=1) <= t
            implied &= bool((~apart | close).all())
            converse &= bool((~close | apart).all())
    return implied, converse
