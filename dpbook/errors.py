"""How often the private majority of a pair points the wrong way: exact, without simulation.

For people who are drawn from a model (`pair_errors`, `expected_wrong_pairs`), and for a fixed set
of rankings, where only the questions and the answers are random (`expected_error_rate`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dpbook import _validation as check
from dpbook.rankers.base import Array, Ints
from dpbook.rankers.local_pairs import PairResponses

__all__ = ["expected_error_rate", "expected_wrong_pairs", "pair_errors"]

NEGLIGIBLE = 1e-18


@dataclass(frozen=True, eq=False)
class PairErrors:
    """Probabilities, or expected numbers of pairs: the reports point the wrong way, or nowhere."""

    wrong: Array | float  # more reports are wrong than right
    tie: Array | float  # as many are wrong as right, none included


def pair_errors(ranker: PairResponses, agree: ArrayLike, users: int) -> PairErrors:
    """Exact law of the sign of one pair's reports, for so many independent people.

    Each orders the pair in the right way with probability ``agree``, an array of any shape.

    Notes
    -----
    A person is asked about the pair with probability L / C(n, 2), independently of the others
    (random design), or a fixed number of people is, up to one (balanced design). Given their
    number, the right reports are binomial. All terms are positive, so that tiny probabilities are
    exact too. The quantity that YLL, Theorems 2 and 3, bound pair by pair.
    """
    given = check.finite_array("agree", agree, min_ndim=0)
    if ((given < 0) | (given > 1)).any():
        raise ValueError(f"agree = {agree!r}: allowed are numbers in [0, 1]")
    asked, weight = _people_asked(ranker, users)
    values, where = np.unique(given, return_inverse=True)
    law = ranker.channel
    right = (values * law[1, 1] + (1 - values) * law[0, 1])[:, None]
    wrong = stats.binom.cdf((asked - 1) // 2, asked, right) @ weight
    even = asked % 2 == 0
    tie = stats.binom.pmf(asked[even] // 2, asked[even], right) @ weight[even]
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
    table = _square(ranker, "preference", preference)
    upper = np.triu_indices(len(table), 1)
    errors = pair_errors(ranker, np.maximum(table[upper], 1 - table[upper]), users)
    return PairErrors(float(np.sum(errors.wrong)), float(np.sum(errors.tie)))


def expected_error_rate(ranker: PairResponses, counts: ArrayLike) -> float:
    """Exact expectation of YLL's error rate, equation (5), for a fixed set of rankings.

    The share of the pairs, drawn at random, whose reports point strictly against a strict majority
    of the people. Ties, among the people or in the reports, are no error. Entry [i, j] of
    ``counts``, (n, n), counts the people who place i before j; [i, j] + [j, i] is their number.
    """
    table = _square(ranker, "counts", counts)
    upper = np.triu_indices(len(table), 1)
    decided = table[upper] != table.T[upper]
    wrong = np.asarray(profile_errors(ranker, table).wrong)[upper]
    return float(wrong[decided].sum() / decided.size)


def profile_errors(ranker: PairResponses, counts: ArrayLike) -> PairErrors:
    """Exact law of the sign of each pair's reports, for a fixed set of rankings.

    Symmetric arrays of shape (n, n) with zero diagonal. For a pair on which the people themselves
    are tied, ``wrong`` is the probability that item max(i, j) is ahead.

    Notes
    -----
    Reports minus and plus are summed through their characteristic function; the absolute error is
    of the order of 1e-16 times the number of people.
    """
    table = _square(ranker, "counts", counts)
    upper = np.triu_indices(len(table), 1)
    ahead, behind = table[upper], table[upper[::-1]]
    users = int(ahead[0] + behind[0])
    if (ahead + behind != users).any() or (table < 0).any():
        raise ValueError("counts: allowed are tables in which every pair has the same total")
    if ranker.design != "random" and ranker.queries < ranker.pairs:
        raise ValueError(f"design = {ranker.design!r}: allowed is 'random'")
    agree, where = np.unique(np.maximum(ahead, behind).astype(int), return_inverse=True)
    rate, law = ranker.queries / ranker.pairs, ranker.channel
    reach = _most_asked(users, rate)
    turn = np.exp(2j * np.pi * np.arange(2 * reach + 1) / (2 * reach + 1))
    yes = np.log(1 - rate + rate * (law[1, 1] * turn + law[1, 0] / turn))
    no = np.log(1 - rate + rate * (law[0, 1] * turn + law[0, 0] / turn))
    transform = np.exp(agree[:, None] * yes + (users - agree[:, None]) * no)
    lead = np.clip(np.fft.fft(transform).real / transform.shape[-1], 0.0, 1.0)
    wrong, tie = np.zeros((2, *table.shape))
    # Index s and s - (2 reach + 1) are the same point of the circle: negatives come last.
    wrong[upper], tie[upper] = lead[:, reach + 1 :].sum(axis=1)[where], lead[where, 0]
    return PairErrors(wrong + wrong.T, tie + tie.T)


def _people_asked(ranker: PairResponses, users: int) -> tuple[Ints, Array]:
    """Possible numbers of people asked about one pair, and their probabilities."""
    m, k, pairs = check.integer("users", users, 1), ranker.queries, ranker.pairs
    if ranker.design == "balanced" or k == pairs:
        low, rest = divmod(m * k, pairs)
        return np.array([low, low + 1]), np.array([1 - rest / pairs, rest / pairs])
    asked = np.arange(m + 1)
    weight = stats.binom.pmf(asked, m, k / pairs)
    return asked[weight > 0], weight[weight > 0]


def _most_asked(users: int, rate: float) -> int:
    """Number of people that is exceeded with negligible probability; binom.isf gives up there."""
    return int((stats.binom.sf(np.arange(users), users, rate) > NEGLIGIBLE).sum())


def _square(ranker: PairResponses, name: str, value: ArrayLike) -> Array:
    table = check.square_table(name, value)
    if (n := ranker.unit.n_items) != len(table):
        raise ValueError(f"{name} of shape {table.shape}: allowed is {(n, n)}, as the unit says")
    return table
