"""What page 27 needs: YLL's bounds, how many majorities are wrong at once, bits of information."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, stats
from scipy.optimize import brentq

from dpbook import _validation as check
from dpbook._typing import Array
from dpbook.privacy import WholeRanking
from dpbook.privacy.balls import Ball, root, sqrt
from dpbook.privacy.balls import exp as exp_of
from dpbook.privacy.balls import log as log_of
from dpbook.rankers import PairResponses, best_ratio, report_pmf
from dpbook.rankers.local_pairs import report_margin


def asks(
    n: int, level: float, count: int = 1, mechanism: str = "response", design: str = "random"
) -> PairResponses:
    """The protocol of YLL: so many questions to each person, who spends this level on all."""
    unit = WholeRanking(n)
    return PairResponses.private(level, unit, queries=count, mechanism=mechanism, design=design)


def channel_information(channel: ArrayLike, prior: float = 0.5) -> float:
    """Mutual information in nats between a bit and the output of a channel; P(1) = prior."""
    rows = check.finite_array("channel", channel, min_ndim=2)
    weights = np.array([1 - prior, prior])
    output = weights @ rows
    ratio = np.divide(rows, output, out=np.ones_like(rows), where=rows > 0)
    return float(max(weights @ (rows * np.log(ratio)).sum(axis=1), 0.0))


def response_exponent(queries: ArrayLike, epsilon: float, *, mechanism: str = "response") -> Array:
    """Rate at which a majority over people errs less, as a function of K, up to a constant.

    K questions per person, each at epsilon / K; fractions are allowed. ``K s^2``, where s is the
    margin of one report: the limit in which people agree with the truth hardly more often than
    not. YLL, Section 4.2, whose Hoeffding bound keeps the first term.
    """
    k = np.asarray(queries, dtype=float)
    return np.asarray(k * report_margin(epsilon / k, mechanism) ** 2)


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
    """The number mu of YLL's Theorems 2 and 3 (Laplace): fewer than 6 mu pairs are wrong.

    `theta` is the dispersion 1 - phi of the Mallows model. As printed, or ("hoeffding") before
    ``tanh(x / 2)`` is replaced by ``x / (x + 2)``; the same for Laplace.
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

    `preference` [i, j] is the probability that a person places i before j; the likelier order of
    a pair is the right one. One minus the bound is at most the chance that all pairs are right.

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
    """Exact distribution of the number of wrong pairs when each person answers one random pair.

    Chances of 0, 1, ... wrong pairs. With `ties` a pair with as many wrong as right reports, none
    included, is wrong too. Numbers of people per pair are multinomial: independent Poisson
    numbers, given their sum. Given the numbers, the pairs are independent. Sums go through the
    fast Fourier transform; the absolute error is below 1e-10.
    """
    count = comb(len(check.square_table("preference", preference)), 2)
    circle = np.exp(2j * np.pi * np.arange(count + 1) / (count + 1))
    values = _generating_function(ranker, preference, users, ties, circle)
    return np.clip(fft.fft(values).real / (count + 1), 0.0, 1.0)


def all_right_probability(ranker: PairResponses, preference: ArrayLike, users: int) -> float:
    """Exact probability that no pair is wrong or tied; the first entry of `wrong_pairs_pmf`."""
    value = _generating_function(ranker, preference, users, True, np.zeros(1))
    return float(np.clip(value[0].real, 0.0, 1.0))


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
