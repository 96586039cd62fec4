"""Score attacks: an identity by enumeration, and the lower bounds on private risk it leads to.

An attack multiplies the error of an estimator by the score of the data. Its mean is the derivative
of the estimator's mean; privacy keeps it small, accuracy makes it large.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from dpbook import _validation as check
from dpbook.models.links import LINKS

__all__ = [
    "data_probabilities",
    "edge_data_sets",
    "expected_attacks",
    "l2_risk_bound",
    "pair_scores",
    "sup_norm_risk_bound",
]

Array = NDArray[np.float64]
CHAINS = ("printed", "sharp")


def edge_data_sets(n_items: int, *, complete: bool = False) -> NDArray[np.int64]:
    """List every data set of the edge design: each pair unseen, won or lost.

    Parameters
    ----------
    n_items : int
        Number of items, from 2 to 4 (5 if complete).
    complete : bool
        Only the data sets in which every pair is compared.

    Returns
    -------
    array of int, shape (data sets, n, n)
        Win matrices.

    Raises
    ------
    ValueError
        If there are too many data sets to list.
    """
    n = check.integer("n_items", n_items, 2, 5 if complete else 4)
    i, j = np.triu_indices(n, 1)
    outcome = np.array(list(product((1, -1) if complete else (0, 1, -1), repeat=i.size)))
    wins = np.zeros((len(outcome), n, n), dtype=np.int64)
    wins[:, i, j], wins[:, j, i] = outcome == 1, outcome == -1
    return wins


def data_probabilities(
    wins: ArrayLike, theta: ArrayLike, *, p: float = 1.0, link: str = "logistic"
) -> Array:
    """Probability of each win matrix under strengths theta.

    Parameters
    ----------
    wins : array of 0 and 1, shape (..., n, n)
        Win matrices.
    theta : array, shape (n,)
        Strengths.
    p : float
        Probability that a pair is compared, in (0, 1].
    link : str
        A key of `LINKS`.

    Returns
    -------
    array, shape (...)

    Notes
    -----
    CCW25, section 2.1.
    """
    table, gaps = _table_and_gaps(wins, theta, link)
    p = check.probability("p", p, zero=False)
    i, j = np.triu_indices(len(gaps), 1)
    won, lost = table[..., i, j], table[..., j, i]
    cdf = LINKS[link].cdf
    up, down = p * cdf(gaps[i, j]), p * cdf(gaps[j, i])
    return np.where(won == 1, up, np.where(lost == 1, down, 1 - p)).prod(axis=-1)


def pair_scores(wins: ArrayLike, theta: ArrayLike, *, link: str = "logistic") -> Array:
    """Contribution of each pair to the score of its first item.

    Parameters
    ----------
    wins : array of 0 and 1, shape (..., n, n)
        Win matrices.
    theta : array, shape (n,)
        Strengths.
    link : str
        A key of `LINKS`.

    Returns
    -------
    array, shape (..., n, n)
        Entry ``[k, j]`` is the derivative in theta_k of the log-likelihood of the pair {k, j}, 0
        where it was not compared; antisymmetric. The sum of row k is the score of theta_k.

    Notes
    -----
    (y_kj - F_kj) F'_kj / (F_kj (1 - F_kj)), with k always in front: CCW25, section 2.2.2, with the
    sign that makes it the derivative.
    """
    table, gaps = _table_and_gaps(wins, theta, link)
    slope = LINKS[link].log_slope
    return table * slope(gaps) - np.swapaxes(table, -1, -2) * slope(-gaps)


def expected_attacks(
    means: ArrayLike,
    wins: ArrayLike,
    theta: ArrayLike,
    *,
    p: float = 1.0,
    link: str = "logistic",
    signs: str = "corrected",
) -> Array:
    """Expected entry-wise attack on each item, summed over pairs, by enumeration.

    Parameters
    ----------
    means : array, shape (data sets, n)
        Mean output of the estimator on each data set (the attack is linear in the output).
    wins : array, shape (data sets, n, n)
        All data sets of positive probability.
    theta : array, shape (n,)
        Strengths.
    p, link
        As in `data_probabilities`.
    signs : {"corrected", "printed"}
        ``"printed"`` takes the score of the first item of a pair also when the attacked item is
        the second.

    Returns
    -------
    array, shape (n,)

    Raises
    ------
    ValueError
        If the shapes do not fit or the data sets do not have total probability 1.

    Notes
    -----
    CCW25, section 2.2.2; the sum over items is the attack of CCW23, section 2.2.1.
    """
    table, values = check.real_array("wins", wins), check.finite_array("means", means, min_ndim=2)
    if table.ndim != 3 or values.shape != table.shape[:2]:
        raise ValueError(
            f"means of shape {values.shape}, wins of shape {table.shape}: allowed are "
            "(data sets, n) and (data sets, n, n)"
        )
    check.choice("signs", signs, ("corrected", "printed"))
    weight = data_probabilities(table, theta, p=p, link=link)
    if abs(weight.sum() - 1) > 1e-9:
        raise ValueError(f"wins have probability {weight.sum():.6g}: allowed is all data sets, 1")
    score = pair_scores(table, theta, link=link)
    if signs == "printed":
        score = np.triu(score) - np.tril(score)
    error = values - check.number_array("theta", theta)
    return np.asarray(weight @ (error * score.sum(axis=-1)))


def sup_norm_risk_bound(
    n_items: int, *, epsilon: float, p: float = 1.0, delta: float = 0.0, chain: str = "sharp"
) -> float:
    """Lower bound on the worst expected sup-norm error of an (epsilon, delta)-DP estimator.

    Parameters
    ----------
    n_items : int
        Number of items, at least 3.
    epsilon : float
        Privacy parameter in nats, above 0.
    p : float
        Probability that a pair is compared, in (0, 1].
    delta : float
        Privacy parameter, in [0, 1].
    chain : {"sharp", "printed"}
        This book's constants, or those of the paper.

    Returns
    -------
    float
        0 where the bound is empty.

    Raises
    ------
    ValueError
        If an argument is out of range, or the printed conditions epsilon < 1 (or = 1) and
        p > 6 log n / n fail for ``chain="printed"``.

    Notes
    -----
    Logistic link, truths with entries in [-1, 1] and mean 0; flips of one outcome as neighbours.

    ``"printed"``: CCW25, Propositions 2.3 and 2.4 with kappa_1 = 1, moved to centred truths; the
    risk itself takes the place of the constant c. ``"sharp"``: along the line on which theta_k
    runs from -1 to 1, the mean attack is at least (1 - R) (n - 1) / n, and at most
    tanh(epsilon / 4) (t R + 2 E(d - t)^+) + (n - 1) p delta / 2 for every t, with d the degree of
    an item.
    """
    n, epsilon, p, delta = _settings(n_items, epsilon, p, delta)
    check.choice("chain", chain, CHAINS)
    if chain == "printed":
        _printed_epsilon(epsilon)
        if not p > 6 * math.log(n) / n:
            raise ValueError(
                f"p = {p!r}: allowed is more than 6 log(n) / n = {6 * math.log(n) / n}"
            )
        inflate = n / (n - 1)
        rest = 1 - inflate * (2 / n + 4 * (n - 1) * delta)
        return max(0.0, rest / (15 / 8 + inflate * 4 * n * p * epsilon))
    inflate, weight = n / (n - 1), math.tanh(epsilon / 4)
    t = np.arange(n)
    tail = np.cumsum(binom.sf(t, n - 1, p)[::-1])[::-1]  # E (d - t)^+
    room = 1 - inflate * (2 * weight * tail + (n - 1) * p * delta / 2)
    return max(0.0, float((room / (1 + inflate * weight * t)).max()))


def l2_risk_bound(
    n_items: int, *, epsilon: float, p: float = 1.0, delta: float = 0.0, chain: str = "sharp"
) -> float:
    """Lower bound on the worst expected squared l2 error of an (epsilon, delta)-DP estimator.

    Parameters
    ----------
    n_items, epsilon, p, delta, chain
        As in `sup_norm_risk_bound`; the printed chain asks for p > 1 / (2 n).

    Returns
    -------
    float
        0 where the bound is empty.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Logistic link; the error is taken up to a common shift of all strengths, the truths are those
    with entries in [-1, 1].

    ``"printed"``: CCW23, Propositions 2.4 and 2.5 with kappa_1 = 1. ``"sharp"``: the mean attack is
    at least n - 1 - sqrt(10 (n - 1) R) under the prior, and at most tanh(epsilon / 4) Q sqrt(R)
    plus p n (n - 1) delta / 2. Here Q^2 is n times the mean square degree, or at p = 1 the smaller
    n^2 (n - 1) / 2.
    """
    n, epsilon, p, delta = _settings(n_items, epsilon, p, delta)
    check.choice("chain", chain, CHAINS)
    if chain == "printed":
        _printed_epsilon(epsilon)
        if not p > 1 / (2 * n):
            raise ValueError(f"p = {p!r}: allowed is more than 1 / (2 n) = {1 / (2 * n)}")
        slope = 8 * math.sqrt(2) * n**1.5 * p * epsilon
        rest = n - 1 - 8 * n * (n - 1) * p * delta
    else:
        degrees = n * ((n - 1) ** 2 * p**2 + (n - 1) * p * (1 - p))
        q2 = n**2 * (n - 1) / 2 if p == 1 else degrees
        slope = math.tanh(epsilon / 4) * math.sqrt(q2)
        rest = n - 1 - p * n * (n - 1) * delta / 2
    return max(0.0, rest / (math.sqrt(10 * (n - 1)) + slope)) ** 2


def _settings(
    n_items: int, epsilon: float, p: float, delta: float
) -> tuple[int, float, float, float]:
    return (
        check.integer("n_items", n_items, 3),
        check.epsilon(epsilon),
        check.probability("p", p, zero=False),
        check.probability("delta", delta),
    )


def _printed_epsilon(epsilon: float) -> None:
    if epsilon > 1:
        raise ValueError(f"epsilon = {epsilon!r}: allowed is a number in (0, 1] (printed)")


def _table_and_gaps(
    wins: ArrayLike, theta: ArrayLike, link: str
) -> tuple[NDArray[np.int64], Array]:
    table, strengths = check.real_array("wins", wins), check.finite_array("theta", theta)
    check.choice("link", link, tuple(LINKS))
    if strengths.ndim != 1 or table.shape[-2:] != strengths.shape * 2:
        raise ValueError(
            f"wins of shape {table.shape}: allowed is (..., n, n) with n = {strengths.size}, "
            "the length of theta"
        )
    return table, strengths[:, None] - strengths
