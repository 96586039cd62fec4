"""How often the private majority of a pair points the wrong way, for independent users.

Exact, without simulation; `yll_mu` is the printed bound. For a fixed set of rankings see
`dpbook.rankers.local_rankings.ldp_profile_errors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpbook import _validation as check
from dpbook.rankers.local_rankings.ldp_channels import MECHANISMS, report_pmf
from dpbook.rankers.local_rankings.ldp_kwiksort import DESIGNS

__all__ = [
    "PairErrors",
    "expected_wrong_pairs",
    "wrong_pair_probability",
    "yll_mu",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairErrors:
    """What can go wrong with a pair: the reports point the wrong way, or nowhere.

    Attributes
    ----------
    wrong : array or float
        Probability (or expected number of pairs) that more reports are wrong than right.
    tie : array or float
        Probability (or expected number of pairs) that as many are wrong as right, none included.
    """

    wrong: Array | float
    tie: Array | float


def wrong_pair_probability(
    agree: ArrayLike,
    users: int,
    n_items: int,
    *,
    epsilon: float,
    queries: int = 1,
    mechanism: str = "response",
    design: str = "random",
) -> PairErrors:
    """Exact law of the sign of one pair's reports, for independent users.

    Parameters
    ----------
    agree : array of float
        Probability that a user orders the pair in the right way, any shape.
    users : int
        Number of users.
    n_items : int
        Number of items n, at least 2.
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    queries, mechanism, design
        As for `dpbook.rankers.ldp_pair_counts`.

    Returns
    -------
    PairErrors
        Arrays of the shape of ``agree``.

    Notes
    -----
    A user is asked about the pair with probability K / C(n, 2), independently of the others
    (random design), or a fixed number of users is, up to one (balanced design). Given N of them,
    the right reports are binomial. All terms are positive, so that tiny probabilities are exact
    too. Source: the quantity that YLL, Theorems 2 and 3, bound pair by pair.
    """
    given = check.finite_array("agree", agree, min_ndim=0)
    if ((given < 0) | (given > 1)).any():
        raise ValueError(f"agree = {agree!r}: allowed are numbers in [0, 1]")
    lie = report_lie(n_items, epsilon, queries, mechanism)
    asked, weight = users_asked(users, comb(n_items, 2), queries, design)
    values, where = np.unique(given, return_inverse=True)
    right = (values * (1 - lie) + (1 - values) * lie)[:, None]
    wrong = stats.binom.cdf((asked - 1) // 2, asked, right) @ weight
    even = asked % 2 == 0
    tie = stats.binom.pmf(asked[even] // 2, asked[even], right) @ weight[even]
    shape = given.shape
    return PairErrors(wrong[where].reshape(shape), tie[where].reshape(shape))


def expected_wrong_pairs(
    preference: ArrayLike,
    users: int,
    *,
    epsilon: float,
    queries: int = 1,
    mechanism: str = "response",
    design: str = "random",
) -> PairErrors:
    """Exact expected number of pairs with wrong, and with tied, reports; independent users.

    Parameters
    ----------
    preference : array, shape (n, n)
        Entry [i, j] is the probability that a user places i before j, for instance
        `dpbook.models.mallows_pair_probabilities`. The likelier order of a pair is the right one.
    users, epsilon, queries, mechanism, design
        As for `wrong_pair_probability`.

    Returns
    -------
    PairErrors
        Two numbers, between 0 and n (n - 1) / 2.
    """
    table = check.square_table("preference", preference)
    upper = np.triu_indices(len(table), 1)
    agree = np.maximum(table[upper], 1 - table[upper])
    errors = wrong_pair_probability(
        agree,
        users,
        len(table),
        epsilon=epsilon,
        queries=queries,
        mechanism=mechanism,
        design=design,
    )
    return PairErrors(float(np.sum(errors.wrong)), float(np.sum(errors.tie)))


def yll_mu(
    n_items: int,
    users: int,
    *,
    theta: float,
    epsilon: float,
    queries: int = 1,
    mechanism: str = "response",
    form: str = "printed",
) -> float:
    """The number mu of YLL's Theorems 2 and 3: fewer than 6 mu pairs are wrong, they say.

    Parameters
    ----------
    n_items, users : int
        Numbers of items and of users.
    theta : float
        Dispersion of the Mallows model, 1 - phi, in [0, 1].
    epsilon : float
        Privacy parameter of a user, in nats, above 0.
    queries : int
        Pairs per user.
    mechanism : {"response", "laplace"}
        Theorem 2 or Theorem 3.
    form : {"printed", "hoeffding"}
        As printed, or before ``tanh(x / 2)`` is replaced by ``x / (x + 2)``; the same for Laplace.

    Returns
    -------
    float
        In pairs.
    """
    pairs = comb(check.integer("n_items", n_items, 2), 2)
    tilt = check.probability("theta", theta)
    x = check.epsilon(epsilon) / check.integer("queries", queries, 1, pairs)
    check.choice("mechanism", mechanism, MECHANISMS)
    if check.choice("form", form, ("printed", "hoeffding")) == "printed" and (
        mechanism == "response"
    ):
        gap = x / (x + 2)
    else:
        gap = float(np.diff(report_pmf(x, mechanism)[0, ::-1])[0])
    per_pair = check.integer("users", users, 1) * queries / pairs
    return float(2 * pairs * np.exp(-0.5 * (gap * tilt / (2 - tilt)) ** 2 * per_pair))


def users_asked(
    users: int, pairs: int, queries: int, design: str
) -> tuple[NDArray[np.int64], Array]:
    """Possible numbers of users asked about one pair, and their probabilities."""
    n = check.integer("users", users, 1)
    if check.choice("design", design, DESIGNS) == "balanced" or queries == pairs:
        low, rest = divmod(n * queries, pairs)
        return np.array([low, low + 1]), np.array([1 - rest / pairs, rest / pairs])
    asked = np.arange(n + 1)
    weight = stats.binom.pmf(asked, n, queries / pairs)
    return asked[weight > 0], weight[weight > 0]


def report_lie(n_items: int, epsilon: float, queries: int, mechanism: str) -> float:
    pairs = comb(check.integer("n_items", n_items, 2), 2)
    k = check.integer("queries", queries, 1, pairs)
    return float(report_pmf(check.epsilon(epsilon) / k, mechanism)[0, 1])
