"""How often the private majority of a pair points the wrong way: exact, for people of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.rankers.local_pairs import PairResponses

# An upper tail of the number of people asked, left out of sums of doubles.
NEGLIGIBLE = 1e-20


@dataclass(frozen=True, eq=False)
class PairErrors:
    """Probabilities, or expected numbers of pairs: the reports point the wrong way, or nowhere."""

    wrong: Array | float  # more reports are wrong than right
    tie: Array | float  # as many are wrong as right, none included


def pair_errors(ranker: PairResponses, agree: ArrayLike, users: int) -> PairErrors:
    """Exact distribution of the sign of one pair's reports, for so many independent people.

    Each orders the pair in the right way with probability ``agree``, an array of any shape. Each is
    asked about the pair with probability L / C(n, 2), independently of the others (random design),
    or a fixed number of people is, up to one (balanced design); given their number, the right
    reports are binomial. All terms are positive, so that tiny probabilities are exact too. The
    quantity that YLL, Theorems 2 and 3, bound pair by pair.
    """
    given = check.finite_array("agree", agree, min_ndim=0)
    if ((given < 0) | (given > 1)).any():
        raise ValueError(f"agree = {agree!r}: allowed are numbers in [0, 1]")
    asked, weight = _people_asked(ranker, users)
    values, where = np.unique(given, return_inverse=True)
    distribution = ranker.channel
    right = (values * distribution[1, 1] + (1 - values) * distribution[0, 1])[:, None]
    wrong = scipy.stats.binom.cdf((asked - 1) // 2, asked, right) @ weight
    even = asked % 2 == 0
    tie = scipy.stats.binom.pmf(asked[even] // 2, asked[even], right) @ weight[even]
    return PairErrors(wrong[where].reshape(given.shape), tie[where].reshape(given.shape))


def expected_wrong_pairs(ranker: PairResponses, preference: ArrayLike, users: int) -> PairErrors:
    """Exact expected number of pairs with wrong, and with tied, reports; independent people.

    Entry [i, j] of ``preference``, (n, n), is the probability that a person places i before j, for
    instance `dpbook.models.mallows_pair_probabilities`; the likelier order is the right one.

    Examples
    --------
    >>> from dpbook.models import mallows_pair_probabilities
    >>> from dpbook.privacy import WholeRanking
    >>> ranker = PairResponses.private(1.0, WholeRanking(15))
    >>> round(expected_wrong_pairs(ranker, mallows_pair_probabilities(15, 0.5), 5000).wrong, 2)
    2.53
    """
    table = check.square_table("preference", preference)
    if len(table) != ranker.unit.n_items:
        raise ValueError(f"preference of shape {table.shape}: allowed is (n, n), n as in the unit")
    upper = np.triu_indices(len(table), 1)
    errors = pair_errors(ranker, np.maximum(table[upper], 1 - table[upper]), users)
    return PairErrors(float(np.sum(errors.wrong)), float(np.sum(errors.tie)))


def _people_asked(ranker: PairResponses, users: int) -> tuple[Ints, Array]:
    """Possible numbers of people asked about one pair, and their probabilities."""
    m, k, pairs = check.integer("users", users, 1), ranker.queries, ranker.pairs
    if ranker.design == "balanced" or k == pairs:
        low, rest = divmod(m * k, pairs)
        return np.array([low, low + 1]), np.array([1 - rest / pairs, rest / pairs])
    asked = np.arange(m + 1)
    weight = scipy.stats.binom.pmf(asked, m, k / pairs)
    # The more are asked, the rarer is a tie, and an error if people lean the right way: what the
    # upper tail adds is no larger, relative to the whole, than twice its own probability.
    tail = np.cumsum(weight[::-1])[::-1]
    kept = (weight > 0) & (tail > NEGLIGIBLE)
    return asked[kept], weight[kept]


def margin_needed(distribution: Any, n: float, failure: float = 0.05) -> float:
    """Lead of the upper half of n items at which a noisy top set is wrong with chance `failure`.

    Noise of scale 1 with a symmetric `distribution` of `scipy.stats`, on counts otherwise exact.
    """
    from scipy.optimize import brentq

    t = np.linspace(-40, 80, 12_001)
    best, middle = np.exp(n / 2 * distribution.logcdf(t)), (t[1:] + t[:-1]) / 2

    def fails(x: float) -> float:
        return float(1 - np.diff(best) @ np.exp(n / 2 * distribution.logcdf(x - middle)) - failure)

    return float(brentq(fails, 0.1, 75))
