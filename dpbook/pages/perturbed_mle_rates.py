"""Pages 08 and 09: an error split into its sources, and descent with its leave-one-out twins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from dpbook import _validation as check
from dpbook.book import figures
from dpbook.data import Comparisons
from dpbook.estimators import ridge_mle
from dpbook.models import btl_probabilities, edge_wins
from dpbook.privacy import Edge
from dpbook.rankers import PerturbedMle
from dpbook.simulation import edge_win_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: Confidence of every interval that decides.
SURE = 1 - 1e-6
#: Rates come in half powers: within this the claimed exponent is the nearest.
NEAREST = 0.25
#: The one number that (A2) asks for, read literally: the inverse of the least curvature on [-4, 4].
KAPPA_LITERAL = float(1 / (expit(4) * expit(-4)))

# Pairs of items, over several twins, that one pass works on: a megabyte stays in the cache.
TWIN_ENTRIES = 2**17


def strengths(n: int) -> Array:
    """Evenly spaced strengths in [-1, 1]: the truth of all studies."""
    return np.linspace(-1, 1, n)


def edge_mle(n: int, scale: float, gamma: float) -> PerturbedMle:
    """The perturbed estimate of n strengths under edge privacy."""
    return PerturbedMle(Edge(n), scale, gamma)


def ridge_of(n: int, p: float, c0: float) -> float:
    """Ridge c0 sqrt(n p log n)."""
    return float(c0 * np.sqrt(n * p * np.log(n)))


def bound(n: ArrayLike, p: ArrayLike, scale: ArrayLike) -> tuple[Array, Array]:
    """The two terms of the rate of CCW25, Proposition 2.2, with constant one."""
    n, met = np.asarray(n, float), np.asarray(n, float) * np.asarray(p)
    return np.sqrt(np.log(n) / met), np.asarray(scale) * np.log(n) / met


def log_outnumbered(
    n: ArrayLike, S: ArrayLike, scale: float, chance: float, *, people: bool
) -> Array:
    """Log-probability that the noise of an item exceeds its wins, each won with this chance.

    Of S games on average: from n S / 2 random pairs (`people`), or with each other item at S / n.
    """
    n, S, lost = np.asarray(n, float), np.asarray(S, float), -chance * np.expm1(-1 / scale)
    if people:
        return np.asarray(n * S / 2 * np.log1p(-2 / n * lost) - np.log(2))
    return np.asarray((n - 1) * np.log1p(-S / n * lost) - np.log(2))


def sup(x: Array) -> Array:
    """Largest entry of each error, after centring."""
    return np.asarray(np.abs(x - x.mean(axis=-1, keepdims=True)).max(axis=-1))


def l2(x: Array) -> Array:
    """Length of each error, after centring."""
    return np.asarray(np.linalg.norm(x - x.mean(axis=-1, keepdims=True), axis=-1))


def far_end(slopes: Array, aims: ArrayLike = 1.0) -> Array:
    """Of each interval of `log_slopes`, the end that is further from the claimed exponent."""
    return np.asarray(np.abs(slopes[:, 1:] - np.reshape(aims, (-1, 1))).max(axis=1))


@dataclass(frozen=True)
class ErrorParts:
    """Error of a perturbed ridge estimate, split into three parts that add up to it exactly.

    Attributes
    ----------
    bias : array, shape (n,)
        Minimiser of the expected ridge objective minus the true strengths: what the ridge costs.
    sampling : array, shape (..., n)
        Fit without noise minus that minimiser: what finite data cost.
    noise : array, shape (..., n)
        Fit with noise minus fit without: what privacy costs.
    """

    bias: Array
    sampling: Array
    noise: Array

    @property
    def total(self) -> Array:
        """Estimate minus truth, shape (..., n)."""
        return np.asarray(self.bias + self.sampling + self.noise)


def error_parts(
    ranker: PerturbedMle, theta: ArrayLike, wins: ArrayLike, expected: ArrayLike, noise: ArrayLike
) -> ErrorParts:
    """Split the error of the perturbed maximum-likelihood estimate, without centring.

    Parameters
    ----------
    ranker : PerturbedMle
    theta : array, shape (n,)
        True strengths, centred.
    wins : array, shape (..., n, n)
        Win tables, one per replicate.
    expected : array, shape (n, n)
        Expectation of ``wins``; its fit is the minimiser of the expected objective.
    noise : array, shape (..., n)
        From ``ranker.noise``.
    """
    truth = check.finite_array("theta", theta)
    if np.shape(wins)[-1:] != truth.shape or np.shape(expected) != truth.shape * 2:
        raise ValueError(
            f"wins of shape {np.shape(wins)}, expected of shape {np.shape(expected)}: allowed are "
            f"(..., n, n) and (n, n) with n = {truth.size}"
        )
    population = ridge_mle(expected, gamma=ranker.gamma).theta
    public = replace(ranker, scale=0).release(wins, noise)
    private = ranker.release(wins, noise)
    return ErrorParts(population - truth, public - population, private - public)


def edge_study(
    ranker: PerturbedMle, theta: Array, p: float, size: int, rng: np.random.Generator
) -> tuple[ErrorParts, Array]:
    """Parts of the error in so many data sets of compared pairs, and the noise on the scores."""
    rho = btl_probabilities(theta)
    expected = p * rho * ~np.eye(theta.size, dtype=bool)
    noise = ranker.noise(size, rng=rng)
    if p == 1:  # win counts say all, and no table is made
        wins = edge_win_counts(theta, size=size, rng=rng)
        scaled = np.stack([np.zeros_like(noise), ranker.scale * noise])
        public, released = replace(ranker, scale=1).perturb(wins, scaled)
        population = ridge_mle(expected, gamma=ranker.gamma).theta
        parts = ErrorParts(population - theta, public - population, released - public)
        return parts, scaled[1]
    runs = []
    for z in np.array_split(noise, -(-size * theta.size**2 // 8_000_000)):  # keeps memory small
        wins = edge_wins(rho, p=p, size=len(z), rng=rng)
        runs.append(error_parts(ranker, theta, wins, expected, z))
    sampling = np.concatenate([run.sampling for run in runs])
    private = np.concatenate([run.noise for run in runs])
    return ErrorParts(runs[0].bias, sampling, private), ranker.scale * noise


def raw_squares(
    ranker: PerturbedMle, theta: Array, p: float, size: int, rng: np.random.Generator
) -> Array:
    """Squared l2 errors of the raw output, from win counts (p = 1) or from lists of pairs."""
    n, noise = theta.size, ranker.noise(size, rng=rng)
    if p == 1:
        wins = edge_win_counts(theta, size=size, rng=rng)
        return np.asarray(((ranker.perturb(wins, noise) - theta) ** 2).sum(axis=1))
    (i, j), found = np.triu_indices(n, 1), []
    for z in noise:
        met = rng.random(i.size) < p
        a, b = i[met], j[met]
        ahead = rng.random(a.size) < expit(theta[a] - theta[b])
        data = Comparisons(n, winner=np.where(ahead, a, b), loser=np.where(ahead, b, a))
        found.append(((ranker.release(data, z) - theta) ** 2).sum())
    return np.array(found)


@dataclass(frozen=True)
class LeaveOneOutPath:
    """Distances along gradient descent and its leave-one-out twins, one entry per iterate.

    Attributes
    ----------
    l2, linf : array, shape (steps + 1,)
        Distance of the iterate from the truth.
    left_out : array, shape (steps + 1,)
        Largest error of a left-out item's strength in its own leave-one-out iterate.
    twin_distance : array, shape (steps + 1,)
        Largest l2 distance between the iterate and a leave-one-out iterate.
    sums : array, shape (steps + 1,)
        Sum of the strengths of the iterate.
    sum_gap : array, shape (steps + 1,)
        Largest difference between that sum and the sum of a leave-one-out iterate.
    """

    l2: Array
    linf: Array
    left_out: Array
    twin_distance: Array
    sums: Array
    sum_gap: Array


def leave_one_out_path(
    ranker: PerturbedMle,
    theta: ArrayLike,
    wins: ArrayLike,
    noise: ArrayLike,
    *,
    weight: float,
    step: float,
    steps: int,
    hidden: bool = False,
) -> LeaveOneOutPath:
    """Run gradient descent and its n leave-one-out twins from the truth.

    Twin i replaces all comparisons of item i by their expectations.

    Parameters
    ----------
    ranker : PerturbedMle
        Whose objective is lowered.
    theta : array, shape (n,)
        True strengths; every sequence starts there.
    wins : array, shape (n, n)
        Win table.
    noise : array, shape (n,)
        From ``ranker.noise``.
    weight : float
        Expected number of comparisons of one pair: p in the edge design.
    step : float
        Step size, above 0.
    steps : int
        Number of steps.
    hidden : bool
        Whether the twins do not see the noise.

    Notes
    -----
    CCW25, (A.4)-(A.7) with the gradient of twin i taken at its current iterate. The cost of one
    step is of order n^3.
    """
    truth, table = check.finite_array("theta", theta), check.finite_array("wins", wins)
    n, gamma = truth.size, ranker.gamma
    if table.shape != (n, n):
        raise ValueError(f"wins of shape {table.shape}: allowed is ({n}, {n}), as theta asks")
    linear = ranker.scale * check.finite_array("noise", noise)
    twin_linear = np.zeros(n) if hidden else linear
    off = ~np.eye(n, dtype=bool)
    totals = table + table.T
    expected = weight * expit(truth[:, None] - truth) * off
    won = table.sum(axis=1)
    # Row i of this matrix: the wins of all items once the comparisons of i are averaged.
    twin_won = won - table.T + expected.T
    np.fill_diagonal(twin_won, expected.sum(axis=1))
    x, twins = truth.copy(), np.tile(truth, (n, 1))
    rows = [_distances(x, twins, truth)]
    for _ in range(steps):
        pull = (totals * expit(x[:, None] - x)).sum(axis=1) - won
        twin_pull = _twin_wins(twins, totals, weight) - twin_won
        x = x - step * (pull + gamma * x + linear)
        twins = twins - step * (twin_pull + gamma * twins + twin_linear)
        rows.append(_distances(x, twins, truth))
    return LeaveOneOutPath(*np.array(rows).T)


def _twin_wins(twins: Array, totals: Array, weight: float) -> Array:
    """Expected wins of every item in every twin, at the twin's strengths."""
    n = len(twins)
    out = np.empty_like(twins)
    # F(v_i - v_j) = e_i / (e_i + e_j); centred, e underflows only for differences beyond 1400.
    middle = (twins.max(axis=1, keepdims=True) + twins.min(axis=1, keepdims=True)) / 2
    strength = np.exp(twins - middle)
    block = max(1, min(n, TWIN_ENTRIES // n**2))
    work, ones = np.empty((block, n, n)), np.ones(n)
    for first in range(0, n, block):
        m = np.arange(first, min(first + block, n))
        e = strength[m]
        own = e / (e + e[np.arange(m.size), m][:, None])  # every item against the one left out
        sums = np.add(e[:, :, None], e[:, None, :], out=work[: m.size])
        out[m] = e * (np.divide(totals, sums, out=sums) @ ones)
        out[m] += (weight - totals[m]) * own
        out[m, m] = weight * (n - own.sum(axis=1) - 0.5)
    return out


def _distances(x: Array, twins: Array, truth: Array) -> tuple[float, ...]:
    error = x - truth
    return (
        float(np.linalg.norm(error)),
        float(np.abs(error).max()),
        float(np.abs(np.diagonal(twins) - truth).max()),
        float(np.linalg.norm(twins - x, axis=1).max()),
        float(x.sum()),
        float(np.abs(twins.sum(axis=1) - x.sum()).max()),
    )


def log_slopes(predictors: ArrayLike, values: ArrayLike, *, confidence: float = 0.95) -> Array:
    """Slopes of a log-log regression, with intervals over independent replicates.

    A line is fitted to each replicate by least squares; the slopes of the replicates are
    independent and alike, so Student's t gives an interval for their mean.

    Parameters
    ----------
    predictors : array, shape (settings,) or (settings, k)
        Positive predictors; their logarithms are taken.
    values : array, shape (settings, replicates)
        Positive values, the replicates of all settings independent of each other.
    confidence : float
        In (0, 1).

    Returns
    -------
    array, shape (k, 3)
        Mean slope, lower and upper end of the interval for each predictor.
    """
    x, y = check.finite_array("predictors", predictors), check.finite_array("values", values)
    x = x.reshape(len(x), -1)
    if y.ndim != 2 or len(y) != len(x) or len(x) < x.shape[1] + 1 or y.shape[1] < 2:
        raise ValueError(
            f"values of shape {y.shape}: allowed is (settings, replicates) with {len(x)} settings, "
            f"at least {x.shape[1] + 1}, and at least 2 replicates"
        )
    if x.min() <= 0 or y.min() <= 0:
        raise ValueError("predictors and values: allowed are positive numbers")
    design = np.column_stack([np.ones(len(x)), np.log(x)])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise ValueError("predictors: allowed are columns that vary, none determined by the others")
    slopes = (np.linalg.pinv(design) @ np.log(y))[1:]
    level = check.probability("confidence", confidence, zero=False, one=False)
    replicates = y.shape[1]
    half = scipy.stats.t.ppf((1 + level) / 2, replicates - 1) * slopes.std(axis=1, ddof=1)
    centre, half = slopes.mean(axis=1), half / np.sqrt(replicates)
    return np.column_stack([centre, centre - half, centre + half])


def draw_twin(ax: Axes, wins: Array, expected: Array, item: int) -> None:
    """Two tables of wins on a `figures.canvas` of 7 x 4.3: of an iterate, and of its twin.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    wins : array, shape (n, n)
        Entry (i, j) is 1 if i beat j.
    expected : array, shape (n, n)
        Expectations of ``wins``.
    item : int
        The item whose comparisons the twin averages.
    """
    n, side = len(wins), 2.4
    twin = np.array(wins, dtype=float)
    twin[item], twin[:, item] = expected[item], expected[:, item]
    cell, low = side / n, 1.0
    left, right = 0.1, 4.5
    ink: dict[str, Any] = {"ha": "center", "va": "center"}
    for x0, shown in ((left, np.asarray(wins, dtype=float)), (right, twin)):
        for i, j in np.ndindex(n, n):
            averaged = shown is twin and item in (i, j)
            color = figures.MECHANISMS["laplace"] if averaged else figures.ROLES["right"]
            at = (x0 + j * cell, low + (n - 1 - i) * cell)
            ground = "white" if i != j else "#cccccc"
            ax.add_patch(Rectangle(at, cell, cell, fc=ground, ec="#888888"))
            if i != j and shown[i, j] > 0:
                alpha = shown[i, j] if averaged else 1.0
                ax.add_patch(Rectangle(at, cell, cell, fc=color, ec="none", alpha=alpha))
    ax.text(left + side / 2, 3.75, "iterate $\\theta^t$\nsees all outcomes", **ink)
    ax.text(right + side / 2, 3.75, "twin $\\theta^{(i),t}$: item i\naveraged", **ink)
    ax.text(right - 0.18, low + (n - 0.5 - item) * cell, "i", **ink)
    middle, height = (left + side + right) / 2 - 0.1, low + side / 2
    ax.text(middle, height + 0.45, "stay close:", **ink)
    ends: dict[str, Any] = {"xy": (right - 0.45, height), "xytext": (left + side + 0.15, height)}
    ax.annotate("", **ends, arrowprops={"arrowstyle": "<->", "linewidth": 1.8})
    ax.text(middle, height - 0.45, "one item\nof many", **ink)
    ax.text(left + side / 2, 0.72, "blue: row beat column", **ink)
    ax.text(right + side / 2, 0.72, "yellow: chance of it", **ink)
    ax.text(3.5, 0.2, "same start, same step size, same noise w", **ink)
