"""What page 27 needs: YLL's bounds, how many majorities are wrong at once, bits of information."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb, expm1
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, stats
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook.privacy import WholeRanking
from dpbook.privacy.balls import Ball, root, sqrt
from dpbook.privacy.balls import exp as exp_of
from dpbook.privacy.balls import log as log_of
from dpbook.rankers import PairResponses, best_ratio, report_pmf
from dpbook.rankers.local_pairs import report_margin

Array = NDArray[np.float64]


def asks(
    n: int, level: float, count: int = 1, mechanism: str = "response", design: str = "random"
) -> PairResponses:
    """The protocol of YLL: so many questions to each person, who spends this level on all."""
    unit = WholeRanking(n)
    return PairResponses.private(level, unit, queries=count, mechanism=mechanism, design=design)


def right_answers(ranking: Sequence[int], count: int) -> dict[tuple[Any, ...], int]:
    """How many of so many reports are right, by the pairs asked about and the reports."""
    scores: dict[tuple[Any, ...], int] = {}
    for asked in combinations(combinations(range(len(ranking)), 2), count):
        truth = [ranking[i] < ranking[j] for i, j in asked]
        for reports in product((0, 1), repeat=count):
            right = sum(a == b for a, b in zip(reports, truth, strict=True))
            scores[asked, reports] = right
    return scores


def channel_information(channel: ArrayLike, prior: float = 0.5) -> float:
    """Mutual information in nats between a bit and the output of a channel; P(1) = prior."""
    rows = check.finite_array("channel", channel, min_ndim=2)
    weights = np.array([1 - prior, prior])
    output = weights @ rows
    ratio = np.divide(rows, output, out=np.ones_like(rows), where=rows > 0)
    return float(max(weights @ (rows * np.log(ratio)).sum(axis=1), 0.0))


def response_exponent(
    queries: ArrayLike, epsilon: float, *, mechanism: str = "response", margin: float = 0.0
) -> Array:
    """Rate at which a majority over people errs less, as a function of K, up to a constant.

    Parameters
    ----------
    queries : array of positive numbers
        Questions K per person, any shape; fractions are allowed, to find the continuous optimum.
    epsilon : float
        Privacy parameter of a person, in nats; each answer gets epsilon / K.
    mechanism : {"response", "laplace"}
        As for `report_pmf`.
    margin : float
        P(a person agrees with the truth) - P(disagrees), in [0, 1]; 0 means the limit.

    Notes
    -----
    ``K s^2`` for margin 0, where s is the margin of one report; for a margin t,
    ``2 K (1 - sqrt(1 - t^2 s^2)) / t^2``. With r = K / C(n, 2) the chance that a person is asked
    about a given pair, the probability that m people give the wrong sign is at most
    (1 - r + 2 r sqrt(ab))^m, where a - b = t s: this is the exact exponential rate in m. To first
    order in r it is -r (1 - sqrt(1 - t^2 s^2)). YLL, Section 4.2, whose Hoeffding bound keeps the
    first term in t.
    """
    k = np.asarray(queries, dtype=float)
    return np.asarray(k * _gain(report_margin(epsilon / k, mechanism), margin))


def best_ratio_at(margin: float, mechanism: str = "response") -> float:
    """Real number K / epsilon that maximises `response_exponent` at this margin."""

    def slope(x: float) -> float:
        gap, half = report_margin(x, mechanism), 0.5 * x
        change = 0.5 / np.cosh(half) ** 2 if mechanism == "response" else 0.5 * np.exp(-half)
        fall = _gain(gap, margin)
        return float(2 * gap * change * x / np.sqrt(1 - (margin * gap) ** 2) - fall)

    return 1 / brentq(slope, 1.0, 10.0, xtol=1e-14)


def switch_epsilon(queries: int, mechanism: str = "response") -> float:
    """Privacy parameter from which on ``queries + 1`` questions beat ``queries``.

    From 1 to 2: ``4 artanh(sqrt(sqrt(2) - 1))`` for randomised response, ``4 ln(1 + sqrt(2))`` for
    Laplace.
    """
    ratio = best_ratio(mechanism)

    def lead(epsilon: float) -> float:
        pair = response_exponent([queries, queries + 1], epsilon, mechanism=mechanism)
        return float(pair[1] - pair[0])

    return float(brentq(lead, queries / ratio, (queries + 1) / ratio, xtol=1e-14))


def best_number_balls() -> dict[str, Ball]:
    """The best numbers of questions over epsilon, and where two are better than one: proved bounds.

    With x = 1/number, sinh x = 2x for responses and e^(x/2) = 1 + x for Laplace noise; the turns
    are 4 artanh sqrt(sqrt 2 - 1) and 4 log(1 + sqrt 2).
    """
    ends, two = (Fraction(1, 4), Fraction(1)), sqrt(Ball(2))
    small = sqrt(two - 1)
    return {
        "kstar_over_eps_rr": root(lambda r: exp_of(1 / r) - exp_of(-1 / r) - 4 / r, *ends),
        "kstar_over_eps_laplace": root(lambda r: exp_of(1 / r / 2) - 1 - 1 / r, *ends),
        "switch_1_to_2_rr": 2 * log_of((1 + small) / (1 - small)),
        "switch_1_to_2_laplace": 4 * log_of(1 + two),
    }


def yll_mu(ranker: PairResponses, users: int, theta: float, form: str = "printed") -> float:
    """The number mu of YLL's Theorems 2 and 3: fewer than 6 mu pairs are wrong, they say.

    Parameters
    ----------
    ranker : PairResponses
        By randomised response (Theorem 2) or Laplace (Theorem 3).
    users : int
        Number of people.
    theta : float
        Dispersion of the Mallows model, 1 - phi, in [0, 1].
    form : {"printed", "hoeffding"}
        As printed, or before ``tanh(x / 2)`` is replaced by ``x / (x + 2)``; the same for Laplace.
    """
    x, kind, tilt = ranker.level, ranker.mechanism, check.probability("theta", theta)
    if check.choice("form", form, ("printed", "hoeffding")) == "printed" and kind == "response":
        gap = x / (x + 2)
    else:
        gap = float(np.diff(report_pmf(x, kind)[0, ::-1])[0])
    per_pair = check.integer("users", users, 1) * ranker.queries / ranker.pairs
    return float(2 * ranker.pairs * np.exp(-0.5 * (gap * tilt / (2 - tilt)) ** 2 * per_pair))


def wrong_pairs_bound(ranker: PairResponses, preference: ArrayLike, users: int) -> float:
    """Upper bound on the expected number of pairs that are wrong or tied; independent people.

    Parameters
    ----------
    ranker : PairResponses
        Of either design.
    preference : array, shape (n, n)
        Entry [i, j] is the probability that a person places i before j. The likelier order of a
        pair is the right one.
    users : int
        Number of people.

    Returns
    -------
    float
        In pairs. One minus it is a lower bound on the probability that all pairs are right.

    Notes
    -----
    The repaired form of YLL, Theorems 2 and 3. With r = L / C(n, 2) and s the margin of a report,
    P(right) - P(wrong), Chernoff's bound for one pair is ``(1 - r (1 - sqrt(1 - s^2)))^users``,
    for both designs; its base is the exact exponential rate of the random design. The bounds are
    added up: no independence is needed.
    """
    margin = _report_margins(ranker, preference)
    rate = ranker.queries / margin.size
    # 1 - sqrt(1 - s^2) = s^2 / (1 + sqrt(1 - s^2)) without cancellation
    lost = margin**2 / (1 + np.sqrt(1 - margin**2))
    people = check.integer("users", users, 1)
    with np.errstate(divide="ignore"):
        return float(np.exp(people * np.log1p(-rate * lost)).sum())


def wrong_pairs_pmf(
    ranker: PairResponses, preference: ArrayLike, users: int, ties: bool = False
) -> Array:
    """Exact law of the number of wrong pairs when each person answers one random pair.

    Parameters
    ----------
    ranker, preference, users
        As for `wrong_pairs_bound`, for one question.
    ties : bool
        Count pairs with as many wrong as right reports, none included, as wrong too.

    Returns
    -------
    array, shape (n (n - 1) / 2 + 1,)
        Probability of 0, 1, ... wrong pairs.

    Notes
    -----
    Numbers of people per pair are multinomial: independent Poisson numbers, given their sum. Given
    the numbers, the pairs are independent. Sums go through the fast Fourier transform; the
    absolute error is below 1e-10.
    """
    count = comb(len(check.square_table("preference", preference)), 2)
    circle = np.exp(2j * np.pi * np.arange(count + 1) / (count + 1))
    values = _generating_function(ranker, preference, users, ties, circle)
    return np.clip(fft.fft(values).real / (count + 1), 0.0, 1.0)


def all_right_probability(ranker: PairResponses, preference: ArrayLike, users: int) -> float:
    """Exact probability that no pair is wrong or tied; the first entry of `wrong_pairs_pmf`."""
    value = _generating_function(ranker, preference, users, True, np.zeros(1))
    return float(np.clip(value[0].real, 0.0, 1.0))


def _gain(gap: Array, t: float) -> Array:
    """2 (1 - sqrt(1 - t^2 gap^2)) / t^2 without cancellation; gap^2 for t = 0."""
    return np.asarray(2 * gap**2 / (1 + np.sqrt(1 - (t * gap) ** 2)))


def _report_margins(ranker: PairResponses, preference: ArrayLike) -> Array:
    """P(right report) - P(wrong report) of all pairs."""
    table = check.square_table("preference", preference)
    if ((table < 0) | (table > 1)).any():
        raise ValueError("preference: allowed are numbers in [0, 1]")
    upper = table[np.triu_indices(ranker.unit.n_items, 1)]
    return np.asarray((1 - 2 * ranker.channel[0, 1]) * np.abs(2 * upper - 1))


def _generating_function(
    ranker: PairResponses, preference: ArrayLike, users: int, ties: bool, points: NDArray[Any]
) -> NDArray[np.complex128]:
    """E z^(number of wrong pairs) at the points z."""
    if (ranker.queries, ranker.design) != (1, "random"):
        raise ValueError(f"ranker = {ranker}: allowed is one question, drawn at random")
    margin = _report_margins(ranker, preference)
    people = check.integer("users", users, 1)
    rate = people / margin.size
    # Further away than this, neither a Poisson number nor the sum of all has any mass.
    width = 40 * np.sqrt(rate) + 60
    asked = np.arange(max(0, int(rate - width)), min(people, int(rate + width)) + 1)
    size = fft.next_fast_len(int(40 * np.sqrt(people) + 60) + asked.size)
    values, many = np.unique(margin, return_counts=True)
    chance = 0.5 * (1 + values)[:, None]
    most = asked // 2 if ties else (asked - 1) // 2
    wrong = stats.binom.cdf(most, asked, chance)
    weight = stats.poisson.pmf(asked, rate)
    # The sum lives on a circle of `size` places: all that could coincide has no mass.
    bad, good = np.zeros((2, values.size, size))
    bad[:, asked % size] = weight * wrong
    good[:, asked % size] = weight * (1 - wrong)
    bad_turned, good_turned = fft.fft(bad), fft.fft(good)
    phase = np.exp(2j * np.pi * (np.arange(size) * (people % size) % size) / size)
    out = np.empty(len(points) + 1, dtype=np.complex128)
    for k, z in enumerate((*points, 1.0)):
        out[k] = (np.prod((good_turned + z * bad_turned) ** many[:, None], axis=0) * phase).mean()
    return np.asarray(out[:-1] / out[-1], dtype=np.complex128)


@cache
def _tails(count: int) -> tuple[Array, Array]:
    """P(at least a right) by a fair coin, a = 0, 1, ..., count, and the mean margin there."""
    right = np.arange(count + 1)
    share = stats.binom.pmf(right, count, 0.5)
    lead = share * (2 * right - count) / count
    return share[::-1].cumsum()[::-1], lead[::-1].cumsum()[::-1]


def joint_margins(count: int, level: float) -> Array:
    """Margins of one report that prefers agreement in at least a = 0, 1, ..., count places."""
    tail, lead = _tails(count)
    return np.asarray(expm1(level) * lead / (1 + expm1(level) * tail))


def joint_best(level: float, most: int = 105) -> tuple[float, int, int]:
    """Largest L margin^2 of one report for L questions, with its L and a; 15 items: 105 pairs."""
    margins = ((k, joint_margins(k, level)) for k in range(1, most + 1))
    return max((float(k * gaps.max() ** 2), k, int(gaps.argmax())) for k, gaps in margins)


def two_ranking_wrong(people: int, agree: float, level: float) -> tuple[Array, Array]:
    """How many people hold the centre, the others its reverse; P(a pair is wrong) given that."""
    p, holders = report_pmf(level)[0, 0], np.arange(people + 1)
    wrong = []
    for a in holders:
        right = stats.binom.pmf(np.arange(a + 1), a, p)
        others = stats.binom.pmf(np.arange(people - a + 1), people - a, 1 - p)
        wrong.append(min(1.0, np.convolve(right, others)[: (people + 1) // 2].sum()))
    return stats.binom.pmf(holders, people, agree), np.array(wrong)
