"""Pages 20 and 21: exact chance that randomised responses put two items in the wrong order.

When every user answers every pair, the ridge fit ranks the items by their reported wins (with a
common epsilon, debiased or not). The difference of two items' wins is a sum of independent bits:
its distribution is a contour integral of its moment generating function, taken through the saddle
point, where the trapezoidal rule converges exponentially fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.mechanisms.responses import positive_epsilon
from dpbook.models import average_win_probabilities, btl_probabilities
from dpbook.privacy import Edge
from dpbook.rankers import FlippedAnswers, LaplaceAnswers
from dpbook.simulation import pair_order_error, privacy_schedule, ranking_errors

# Nodes on half of the contour, and their distance in standard deviations: the rule errs by about
# exp(-2 pi / STEP) of the answer.
NODES, STEP = 96, 0.2
ALARM = 1e-6  # probability that one part of a statistical check fails by chance

# What page 20 simulates. The decay: people, of whom every fourth data set is drawn, and epsilons.
LEVELS = (0.5, 1.0, 2.0)
DECAY_USERS = np.unique(np.geomspace(10, 8000, 30).astype(int))
DRAWN = slice(2, 22, 4)
# The top sets: n, k, people and epsilon, and the gaps over the critical one.
TOP_SETS = ((8, 2, 200, 1.0), (16, 4, 1000, 0.5), (32, 8, 800, 1.0), (32, 16, 400, 2.0))
MULTIPLES = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7])
# Scenarios III and IV: n, people and epsilon; people in the figure; schedules and their people.
SCENARIO = ((10, 20, 40), (50, 200, 800), LEVELS)
SHOWN_USERS = 50 * 2 ** np.arange(6)
SCHEDULES, SCHEDULE_USERS = ("faster", "threshold", "slower"), 50 * 4 ** np.arange(4)


def ranker_of(kind: str, epsilon: ArrayLike, n_items: int) -> FlippedAnswers | LaplaceAnswers:
    """One comparison is protected, by "laplace" noise or by flips, read as ``kind`` says."""
    answer = Edge(n_items, exchange=False)
    if kind == "laplace":
        return LaplaceAnswers.private(epsilon, answer)
    return FlippedAnswers.private(epsilon, answer, reading=kind)


def factor(epsilon: ArrayLike) -> Array:
    """A, by which flipping and debiasing blow up a variance; everybody has the same epsilon."""
    return 1 / np.tanh(np.asarray(epsilon) / 2) ** 2


def spaced(n: int, gap: float) -> Array:
    """Equally spaced strengths, best first, sum zero."""
    return np.asarray(gap * ((n - 1) / 2 - np.arange(n)), dtype=float)


def pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs, the better item first if strengths fall."""
    return np.triu_indices(n, 1)


def win_gaps(theta: ArrayLike) -> Array:
    """Differences of the average winning probabilities, shape (n, n)."""
    tau = average_win_probabilities(btl_probabilities(theta))
    return tau[:, None] - tau


def kendall(theta: Array, users: int, epsilon: float) -> float:
    """Expected share of misordered pairs, exact, if strengths fall."""
    wrong = local_order_errors(theta, users=users, epsilon=epsilon)
    return float(wrong[pairs(len(theta))].mean())


def across(theta: Array, k: int, users: int, epsilon: float) -> Array:
    """Chances of the wrong order for pairs of a top-k item and another, if strengths fall."""
    return local_order_errors(theta, users=users, epsilon=epsilon)[:k, k:]


def critical(n: int, k: int) -> float:
    """The gap at which the top k of n meet the others, over sqrt(A / (m n))."""
    return float(2 * np.sqrt(2) * (np.sqrt(np.log(k)) + np.sqrt(np.log(n - k))))


def scores_of(
    theta: Array, users: int, epsilon: float, size: int, rng: np.random.Generator
) -> Array:
    """Scores of the plain reports on all pairs, drawn ``size`` times."""
    ranker = ranker_of("classic", epsilon, len(theta))
    return ranker.simulate(btl_probabilities(theta), users, size, rng=rng)


def reports_on(
    theta: Array, users: int, levels: Sequence[float], size: int, rng: np.random.Generator
) -> Array:
    """Tables of reports, (size, groups, n, n), of as many people at each epsilon."""
    (i, j), n = pairs(len(theta)), len(theta)
    tables = np.zeros((size, len(levels), n, n))
    for g, level in enumerate(levels):
        sent = 0.5 + np.tanh(level / 2) * (btl_probabilities(theta)[i, j] - 0.5)
        tables[:, g, i, j] = rng.binomial(users, sent, (size, i.size))
        tables[:, g, j, i] = users - tables[:, g, i, j]
    return tables


def gain(values: Array, parts: int) -> float:
    """A mean over the largest that chance allows, Student's t, one of so many parts."""
    return _over_chance(ttest_1samp(values, 0), parts)


def between(larger: Array, smaller: Array, parts: int) -> float:
    """A difference of means over the largest that chance allows, Welch's test."""
    return _over_chance(ttest_ind(larger, smaller, equal_var=False), parts)


def _over_chance(found: Any, parts: int) -> float:
    return float(found.statistic / student.isf(ALARM / parts, found.df))


def by_scores(
    theta: Array, users: int, epsilon: float, k: int, size: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Kendall and top-k errors of ``size`` rankings by simulated scores; no estimate is needed."""
    return ranking_errors(scores_of(theta, users, epsilon, size, rng), theta, k)


def decay_samples(
    spacing: float, replicates: int, rng: np.random.Generator
) -> dict[float, list[Array]]:
    """Kendall errors of ten items for each epsilon and each simulated data set that is drawn."""
    ten, size = spaced(10, 2 * spacing), 2 * replicates
    datasets = DECAY_USERS[DRAWN].tolist()
    return {e: [by_scores(ten, m, e, 1, size, rng)[0] for m in datasets] for e in LEVELS}


def top_set_shares(
    size: int, rng: np.random.Generator
) -> dict[tuple[int, int, int, float], tuple[Array, Array]]:
    """Gaps below the top set, and how often it is found exactly, for each design."""
    found = {}
    for n, k, m, e in TOP_SETS:
        gaps = MULTIPLES * critical(n, k) * np.sqrt(factor(e) / (m * n))
        steps = [np.where(np.arange(n) < k, gap, 0.0) for gap in gaps]
        hits = [(by_scores(theta, m, e, k, size, rng)[1] == 0).mean() for theta in steps]
        found[n, k, m, e] = gaps, np.array(hits)
    return found


def scenario_errors(rng: np.random.Generator) -> tuple[Array, Array]:
    """Kendall and top-n/4 errors of Scenario III, each of the shape (n, people, epsilon, 1000)."""
    shape, settings = tuple(map(len, SCENARIO)), product(*SCENARIO)
    errors = [by_scores(spaced(n, 0.1), m, e, round(n / 4), 1000, rng) for n, m, e in settings]
    full, top = np.moveaxis(np.array(errors), 1, 0).reshape(2, *shape, 1000)
    return full, top


def shown_errors(
    n_items: int, spacing: float, replicates: int, rng: np.random.Generator
) -> tuple[dict[float, list[tuple[Array, Array]]], dict[str, list[Array]]]:
    """Errors in the figure of the scenarios: by epsilon, and Kendall's by schedule."""
    theta, k = spaced(n_items, spacing), max(1, round(n_items / 4))

    def drawn(m: int, e: float) -> tuple[Array, Array]:
        return by_scores(theta, m, e, k, replicates, rng)

    points = {e: [drawn(m, e) for m in SHOWN_USERS.tolist()] for e in LEVELS}
    marks = {}
    for kind in SCHEDULES:
        levels = privacy_schedule(kind, n_items, SCHEDULE_USERS)
        settings = zip(SCHEDULE_USERS.tolist(), levels.tolist(), strict=True)
        marks[kind] = [drawn(m, e)[0] for m, e in settings]
    return points, marks


class _Row:
    """Win differences of one item against some worse ones: sums of independent bits."""

    def __init__(self, reported: Array, counts: Ints, i: int, worse: range) -> None:
        n = reported.shape[-1]
        others = np.array([[x for x in range(n) if x not in (i, j)] for j in worse], dtype=int)
        j = np.array(worse)
        # Axes: pair, group of users, factor. The third item loses to i, or to j.
        self.up = np.swapaxes(reported[:, i, others], 0, 1)
        self.down = np.swapaxes(reported[:, j[:, None], others], 0, 1)
        self.direct = reported[:, i, j].T
        self.counts = counts

    def log_moment(self, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Cumulant generating function at complex z, shape (pair, node)."""
        x = z[..., None, None]
        rise, fall = np.exp(x), np.exp(-x)
        factors = 1 + self.up[:, None] * (rise - 1)
        factors *= 1 + self.down[:, None] * (fall - 1)
        direct = self.direct[:, None] * rise[..., 0] + (1 - self.direct[:, None]) * fall[..., 0]
        # Products are as good as sums of logarithms: the counts are whole, so no branch shows.
        return np.asarray(np.log(factors.prod(axis=-1) * direct) @ self.counts)

    def slope_and_bend(self, s: Array) -> tuple[Array, Array]:
        """First two derivatives of the cumulant generating function at real s, shape (pair,)."""
        up, down = (_tilt(p, s[:, None, None]) for p in (self.up, 1 - self.down))
        direct = _tilt(self.direct, 2 * s[:, None])
        slope = (up + down - 1).sum(axis=-1) + 2 * direct - 1
        bend = (up * (1 - up) + down * (1 - down)).sum(axis=-1) + 4 * direct * (1 - direct)
        return slope @ self.counts, bend @ self.counts

    def saddle(self) -> Array:
        """Where the tilted mean is zero: at most 0, since the first item is the better one."""
        low, high = np.full(len(self.direct), -60.0), np.zeros(len(self.direct))
        s = high
        for _ in range(100):
            slope, bend = self.slope_and_bend(s)
            low, high = np.where(slope > 0, low, s), np.where(slope > 0, s, high)
            if (np.abs(slope) <= 1e-10 * bend).all():
                break
            newton = s - slope / bend
            s = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        return s


def local_order_errors(theta: ArrayLike, *, users: ArrayLike, epsilon: ArrayLike) -> Array:
    """Probability that i has fewer reported wins than j, and half that of a tie, shape (n, n).

    Users, or groups of them with an epsilon each, answer every pair once. The relative error is
    below 1e-9. The mean over pairs, better item first, is the expected Kendall error (XSC, (9)).
    """
    strengths = check.item_vector("theta", theta)
    if strengths.size == 2:
        gap = float(abs(strengths[0] - strengths[1]))
        answer = Edge(2, exchange=False)
        ranker = FlippedAnswers.private(epsilon, answer, reading="classic")
        return _unsorted(strengths, [np.array([pair_order_error(gap, ranker, users=users)])])
    levels, counts = np.broadcast_arrays(*np.atleast_1d(positive_epsilon(epsilon), users))
    return _unsorted(strengths, [_tails(row) for row in _rows(strengths, levels, counts)])


def local_order_rates(theta: ArrayLike, *, epsilon: float) -> Array:
    """Limits of ``-log(local_order_errors) / users``, better item first; symmetric (Chernoff)."""
    strengths, rates = check.item_vector("theta", theta), []
    for row in _rows(strengths, np.array([check.epsilon(epsilon)]), np.array([1])):
        s = row.saddle()
        rates.append(-row.log_moment(s[:, None].astype(complex)).real[:, 0])
    result = _unsorted(strengths, rates, mirrored=True)
    np.fill_diagonal(result, 0.0)
    return result


def _tails(row: _Row) -> Array:
    """P(difference < 0) + P(difference = 0) / 2."""
    s = row.saddle()
    spread = np.sqrt(row.slope_and_bend(s)[1])
    # The kernel has a pole at zero: stay one standard deviation away from it.
    s = np.minimum(s, -1 / spread)
    half = np.maximum(np.ceil(np.pi * spread / STEP), 16).astype(int)
    # Almost all of it may sit on the even or on the odd numbers: then it has a second peak.
    with np.errstate(divide="ignore", invalid="ignore"):  # it may vanish there
        ends = row.log_moment(s[:, None] + np.array([0, 1j * np.pi])).real
    short = (ends[:, 1] - ends[:, 0]).max() < np.log(1e-14)
    k = np.arange(min(NODES, half.max()) if short else half.max())
    z = s[:, None] + 1j * np.pi * (k + 0.5) / half[:, None]
    values = np.exp(row.log_moment(z)) * (-0.5 / np.tanh(z / 2))
    return np.asarray(np.where(k < half[:, None], values.real, 0.0).sum(axis=1) / half)


def _rows(strengths: Array, eps: Array, counts: Ints) -> Iterator[_Row]:
    """One row for each item but the last, items sorted from the best."""
    best = np.sort(strengths)[::-1]
    shrink = np.tanh(eps / 2)[:, None, None]
    reported = 0.5 + shrink * (expit(best[:, None] - best) - 0.5)
    for i in range(best.size - 1):
        yield _Row(reported, counts, i, range(i + 1, best.size))


def _tilt(p: Array, s: Array) -> Array:
    """Success probability of a bit after exponential tilting."""
    grown = p * np.exp(s)
    return np.asarray(grown / (grown + 1 - p))


def _unsorted(strengths: Array, rows: list[Array], *, mirrored: bool = False) -> Array:
    """Matrix in the order of the items from rows above the diagonal in the order of strength."""
    n = strengths.size
    result = np.full((n, n), 0.5)
    upper = np.triu_indices(n, 1)
    result[upper] = np.concatenate(rows)
    result.T[upper] = result[upper] if mirrored else 1 - result[upper]
    place = np.empty(n, dtype=int)
    place[np.argsort(-strengths, kind="stable")] = np.arange(n)
    return result[np.ix_(place, place)]
