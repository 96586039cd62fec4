"""A reader's own ranking mechanism, checked in three lines: neighbours, law, loss, a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise, permutations
from math import ceil, factorial, fsum
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from dpbook._typing import Array
from dpbook.models.rankings import all_rankings
from dpbook.privacy.loss import Distribution, check_mechanism, check_probabilities
from dpbook.privacy.units import Unit

MOST_ITEMS = 5
NODES = 16  # Gauss-Legendre nodes in a cell
_RAREST, _TAIL, _ERROR = 1e-9, 1e-18, 1e-7
_FARTHEST, _ROUNDING = 2**16, 2.0**-50  # where whole noise is cut; error of a cdf of SciPy
_NAMES = "ABCDE"


@dataclass(frozen=True)
class RankerReport:
    """What `check_ranker` found; printed, it is a sentence with the worst pair drawn."""

    loss: float  # the smallest epsilon for which the mechanism is (epsilon, 0)-DP
    pair: tuple[NDArray[Any], NDArray[Any]]  # two neighbouring data sets where it is attained
    outcome: str  # the outcome that tells them apart, in words
    probabilities: tuple[float, float]  # its probabilities on both sides
    unit: Unit  # who is protected
    epsilon: float | None = None  # what was asked about

    @property
    def private(self) -> bool | None:
        """Whether the loss is at most epsilon (1e-12 to spare); None if nothing was asked."""
        return None if self.epsilon is None else self.loss <= self.epsilon + 1e-12

    def __str__(self) -> str:
        verdict = "private" if self.private else "NOT private"
        asked = "" if self.private is None else f", and {self.epsilon:g} was asked for: {verdict}"
        what = self.outcome.split()[0].replace("first", "first item")
        lines = [f"Publishing the {what} alone loses {self.loss:.4g}{asked}."]
        lines += [f"This holds for {self.unit}, and for no other number of items or people.", ""]
        lines += [f"The worst pair of neighbours; {self.outcome}:"]
        scores = [_counts(side) for side in self.pair]
        most = max(int(score.max()) for score in scores)
        for name, before, after in zip(_NAMES, *scores, strict=False):
            bars = (f"{'█' * int(wins):{most}} {wins:g}" for wins in (before, after))
            lines.append(f"  {name}  " + "   ".join(f"{bar:{most + 4}}" for bar in bars).rstrip())
        lines.append("  chance " + " against ".join(f"{p:.4g}" for p in self.probabilities))
        return "\n".join(lines)

    __repr__ = __str__


def check_ranker(mechanism: Any, unit: Unit, *, epsilon: float | None = None) -> RankerReport:
    """Exact loss of your own ranking mechanism, over all neighbours of a small design.

    Noisy counts take a quadrature: halving its cells moves the loss by 1e-7 at most. Whole noise is
    summed: the loss is right to 1e-7.

    Parameters
    ----------
    mechanism : callable or frozen distribution
        A function of the win counts, shape (n,) (of the table of wins, shape (n, n), for a
        `WholeRanking`), that returns the distribution of what is released: n! probabilities of
        rankings in the order of `dpbook.models.all_rankings`, n probabilities of the first item, or
        a mapping from outcome to probability. Or a distribution of scipy.stats: counts plus
        independent noise from it, sorted, ties of whole noise (`dlaplace`) broken at random.
    unit : Edge, Person or WholeRanking
        Who is protected, with n from 2 to 5 items; a `Person` or `WholeRanking` with few users.
    epsilon : float, optional
        What the mechanism is meant to lose at most, in nats.

    Examples
    --------
    >>> from scipy.stats import laplace
    >>> from dpbook.privacy import Edge
    >>> print(check_ranker(laplace(scale=2), Edge(2), epsilon=1))
    Publishing the ranking alone loses 0.4934, and 1 was asked for: private.
    This holds for Edge(n_items=2, exchange=True), and for no other number of items or people.
    <BLANKLINE>
    The worst pair of neighbours; ranking A, B:
      A  █ 1       0
      B    0     █ 1
      chance 0.6209 against 0.3791
    """
    n = unit.n_items
    if not 2 <= n <= MOST_ITEMS:
        raise ValueError(f"unit has {n} items: allowed are 2 to {MOST_ITEMS}")
    pmf_of = _distribution_of(mechanism, n)
    worst = check_mechanism(pmf_of, _neighbours(unit))
    p, q = (pmf_of(side) for side in worst.pair)
    probabilities = _probability(p, worst.outcome), _probability(q, worst.outcome)
    outcome = _words(worst.outcome, np.asarray(p).size, n)
    return RankerReport(worst.loss, worst.pair, outcome, probabilities, unit, epsilon)


def _neighbours(unit: Unit) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """All pairs of neighbours: the classes that the unit lists, under all names of the items."""
    seen = set()
    for x, y in unit.neighbours():
        for order in map(list, permutations(range(unit.n_items))):
            names = order if x.ndim == 1 else np.ix_(order, order)
            before, after = x[names], y[names]
            key = before.tobytes(), after.tobytes()
            if key not in seen:
                seen.add(key)
                yield before, after


def _distribution_of(mechanism: Any, n: int) -> Callable[[Any], Distribution]:
    """The mechanism as a function from data to a distribution that has been looked at."""
    for law, needed in ((_sorted_pmf, "pdf"), (_whole_pmf, "pmf")):
        if hasattr(mechanism, needed) and hasattr(mechanism, "cdf"):
            noisy = lru_cache(maxsize=None)(partial(law, noise=mechanism))
            return lambda counts: noisy(tuple(_counts(counts).tolist()))
    if not callable(mechanism):
        raise ValueError(
            f"mechanism = {mechanism!r:.60}: allowed is a function from win counts to the law of "
            "the release, or a distribution of scipy.stats, such as laplace(scale=2)"
        )

    def distribution(data: Any) -> Distribution:
        answer = mechanism(data)
        what = f"mechanism, for {np.asarray(data).tolist()}, returned {answer!r:.80}"
        allowed = f"{factorial(n)} probabilities in the order of all_rankings({n})"
        allowed += f", or {n} of the first item, or a mapping from outcome to probability"
        named = isinstance(answer, Mapping)
        values = np.asarray(list(answer.values()) if named else answer)
        fit = values.ndim == 1 and (named or values.size in (factorial(n), n))
        if fit and not named and (n > 2 or values.dtype.kind != "f"):  # else it may be certain
            fit = sorted(values.tolist()) not in ([*range(n)], [*range(1, n + 1)])  # one ranking
        if not fit or values.dtype.kind not in "fiu":
            rare = "a draw shows nothing of what is drawn too rarely"
            raise ValueError(f"{what}: return the distribution, {allowed}; {rare}")
        try:
            check_probabilities("the distribution", values.astype(float))
        except ValueError as error:
            raise ValueError(f"{what}: {error}; {allowed}") from None
        return answer

    return distribution


def _counts(data: NDArray[Any]) -> NDArray[Any]:
    return data if data.ndim == 1 else data.sum(axis=1)


def _sorted_pmf(counts: tuple[float, ...], noise: Any) -> Array:
    """Distribution of the ranking of counts plus noise; refused if it is not certain."""
    coarse, fine = (_quadrature(np.array(counts), noise, cells) for cells in (1, 2))
    if fine.min() < _RAREST:
        raise ValueError(
            f"mechanism: at counts {list(counts)} an outcome has probability {fine.min():.1e}: "
            f"allowed is at least {_RAREST:g} (wider noise, or the distribution itself)"
        )
    if np.abs(np.log(coarse) - np.log(fine)).max() > _ERROR / 2:
        rough = "is too rough for a quadrature: give its distribution"
        raise ValueError(f"mechanism: {noise!r:.60} {rough}")
    return fine / fsum(fine)  # of no order: renamed data have renamed chances


def _whole_pmf(counts: tuple[float, ...], noise: Any) -> Array:
    """Distribution of the ranking of counts plus whole noise: it lacks only what lies outside."""
    reach, outside = 4, 1.0
    while outside > _TAIL and reach < _FARTHEST:
        reach *= 2
        outside = float(noise.cdf(-reach - 1) + noise.sf(reach))
    grid = np.arange(min(counts) - reach, max(counts) + reach + 1)
    at = np.array([noise.pmf(grid - count) for count in counts])
    check_probabilities(f"mechanism, {noise!r:.60} on whole numbers,", at[0])
    pmf = []
    for ranks in all_rankings(len(counts)):
        lowest, *rest = np.argsort(-ranks)
        tied = [at[lowest]]  # the lower items in order, 1, 2, ... of them at the same number
        for item in rest:
            below = np.concatenate([[0.0], np.cumsum(sum(tied))[:-1]])
            tied = [at[item] * below, *(at[item] * same / k for k, same in enumerate(tied, 2))]
        pmf.append(fsum(sum(tied)))
    if not (missed := len(counts) * (outside + _ROUNDING)) <= min(pmf) * _ERROR / 2:
        told = f"mechanism: at counts {list(counts)} an outcome has probability {min(pmf):.1e}"
        raise ValueError(f"{told}, known to {missed:.1e}: allowed is wider noise")
    return np.array(pmf)


def _quadrature(counts: Array, noise: Any, cells: int) -> Array:
    low, middle, high = noise.ppf(_TAIL), noise.ppf(0.5), noise.isf(_TAIL)
    ends = [end for end in (*noise.support(), low, middle, high) if np.isfinite(end)]
    corners = np.unique(np.round([count + end for count in counts for end in ends], 12))
    width = (noise.ppf(0.75) - noise.ppf(0.25)) / 2
    sides = pairwise(corners)
    edges = [np.linspace(a, b, cells * ceil((b - a) / width) + 1)[:-1] for a, b in sides]
    grid = np.concatenate([*edges, corners[-1:]])
    x, w = legendre.leggauss(NODES)
    half = np.diff(grid)[:, None] / 2
    at = grid[:-1, None] + half * (1 + x)  # (cells, nodes)
    density = np.array([noise.pdf(at - count) for count in counts])
    below = np.array([noise.cdf(at - count) for count in counts])
    inner = _cumulative(NODES)
    pmf = []
    for ranks in all_rankings(len(counts)):
        lowest, *rest = np.argsort(-ranks)
        reached = below[lowest]  # the lower items lie below, in order
        for item in rest:
            step = density[item] * reached
            total = np.concatenate([[0.0], np.cumsum((half * w * step).sum(axis=1))])
            reached = total[:-1, None] + half * (step @ inner.T)
        pmf.append(total[-1])
    return np.array(pmf)


@lru_cache(maxsize=4)
def _cumulative(nodes: int) -> Array:
    """Integrals from -1 to each node of the polynomials that are 1 at one node, (nodes, nodes)."""
    x, _ = legendre.leggauss(nodes)
    series = np.linalg.inv(legendre.legvander(x, nodes - 1))
    return np.asarray(legendre.legval(x, legendre.legint(series, lbnd=-1)).T)


def _probability(pmf: Distribution, outcome: Any) -> float:
    return float(pmf.get(outcome, 0.0) if isinstance(pmf, Mapping) else np.asarray(pmf)[outcome])


def _words(outcome: Any, size: int, n: int) -> str:
    if not isinstance(outcome, int | np.integer):
        return f"outcome {outcome!r}"
    if size == factorial(n):
        return "ranking " + ", ".join(_NAMES[i] for i in np.argsort(all_rankings(n)[outcome]))
    return f"first {_NAMES[outcome]}" if size == n else f"outcome {outcome}"
