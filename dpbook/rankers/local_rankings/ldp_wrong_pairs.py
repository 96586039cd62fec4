"""How many private majorities point the wrong way at once: the joint law, and a bound that holds.

`dpbook.rankers.local_rankings.ldp_errors` takes the pairs one by one; here they are taken together.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, stats

from dpbook import _validation as check
from dpbook.rankers.local_rankings.ldp_errors import report_lie

__all__ = ["all_right_probability", "wrong_pairs_bound", "wrong_pairs_pmf"]

Array = NDArray[np.float64]


def wrong_pairs_bound(
    preference: ArrayLike,
    users: int,
    *,
    epsilon: float,
    queries: int = 1,
    mechanism: str = "response",
) -> float:
    """Upper bound on the expected number of pairs that are wrong or tied; independent users.

    Parameters
    ----------
    preference : array, shape (n, n)
        Entry [i, j] is the probability that a user places i before j. The likelier order of a
        pair is the right one.
    users : int
        Number of users.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    queries : int
        Pairs K per user.
    mechanism : {"response", "laplace"}
        Kind of the answers.

    Returns
    -------
    float
        In pairs. One minus it is a lower bound on the probability that all pairs are right.

    Notes
    -----
    The repaired form of YLL, Theorems 2 and 3. With r = K / C(n, 2) and s the margin of a report,
    P(right) - P(wrong), Chernoff's bound for one pair is ``(1 - r (1 - sqrt(1 - s^2)))^users``,
    for both designs; its base is the exact exponential rate of the random design. The bounds are
    added up: no independence is needed.
    """
    margin = _report_margins(preference, epsilon, queries, mechanism)
    rate = queries / margin.size
    # 1 - sqrt(1 - s^2) = s^2 / (1 + sqrt(1 - s^2)) without cancellation
    lost = margin**2 / (1 + np.sqrt(1 - margin**2))
    people = check.integer("users", users, 1)
    with np.errstate(divide="ignore"):
        return float(np.exp(people * np.log1p(-rate * lost)).sum())


def wrong_pairs_pmf(
    preference: ArrayLike,
    users: int,
    *,
    epsilon: float,
    mechanism: str = "response",
    ties: bool = False,
) -> Array:
    """Exact law of the number of wrong pairs when each user answers one random pair.

    Parameters
    ----------
    preference, users, epsilon, mechanism
        As for `wrong_pairs_bound`.
    ties : bool
        Count pairs with as many wrong as right reports, none included, as wrong too.

    Returns
    -------
    array, shape (n (n - 1) / 2 + 1,)
        Probability of 0, 1, ... wrong pairs.

    Notes
    -----
    Numbers of users per pair are multinomial: independent Poisson numbers, given their sum. Given
    the numbers, the pairs are independent. Sums go through the fast Fourier transform; the
    absolute error is below 1e-10.
    """
    count = comb(len(check.square_table("preference", preference)), 2)
    circle = np.exp(2j * np.pi * np.arange(count + 1) / (count + 1))
    values = _generating_function(preference, users, epsilon, mechanism, ties, circle)
    return np.clip(fft.fft(values).real / (count + 1), 0.0, 1.0)


def all_right_probability(
    preference: ArrayLike,
    users: int,
    *,
    epsilon: float,
    mechanism: str = "response",
    ties: bool = True,
) -> float:
    """Exact probability that no pair is wrong, when each user answers one random pair.

    Parameters
    ----------
    preference, users, epsilon, mechanism, ties
        As for `wrong_pairs_pmf`; a tie counts as wrong by default.

    Returns
    -------
    float
        The first entry of `wrong_pairs_pmf`, at a fraction of its cost.
    """
    value = _generating_function(preference, users, epsilon, mechanism, ties, np.zeros(1))
    return float(np.clip(value[0].real, 0.0, 1.0))


def _report_margins(preference: ArrayLike, epsilon: float, queries: int, mechanism: str) -> Array:
    """P(right report) - P(wrong report) of all pairs."""
    table = check.square_table("preference", preference)
    if ((table < 0) | (table > 1)).any():
        raise ValueError("preference: allowed are numbers in [0, 1]")
    gap = 1 - 2 * report_lie(len(table), epsilon, queries, mechanism)
    upper = table[np.triu_indices(len(table), 1)]
    return np.asarray(gap * np.abs(2 * upper - 1))


def _generating_function(
    preference: ArrayLike,
    users: int,
    epsilon: float,
    mechanism: str,
    ties: bool,
    points: NDArray,
) -> NDArray[np.complex128]:
    """E z^(number of wrong pairs) at the points z."""
    margin = _report_margins(preference, epsilon, 1, mechanism)
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
