"""Exact distributions of what a noisy sort releases: the top-k set and the full ranking.

The line of scores is cut into cells on which each item's distribution function is one simple
expression: with Laplace noise at the scores, and finer; with discrete noise at the integers, where
an added uniform in (0, 1) breaks ties fairly. Every distribution is a sum of products of
**positive** terms: nothing cancels, and even 1e-100 is relatively as accurate as a log-ratio needs.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, exp, log1p

import numpy as np
from numpy.typing import ArrayLike

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.models.rankings import all_rankings
from dpbook.privacy import _cells
from dpbook.privacy._cells import NODES, TAIL_SCALES

MAX_ITEMS_RANKING = 7
MAX_SETS = 5000
MAX_DISCRETE_SCALE = 2000
CLOSE = "a scale that cuts the line between the scores into fewer cells"
# Probabilities below this come near the subnormal floats and lose relative accuracy.
_SMALLEST = 1e-290


def sets_of(n_items: int, k: int) -> Ints:
    """All k-subsets of the items, (C(n, k), k), in lexicographic order, that of `top_k_pmf`."""
    n = check.integer("n_items", n_items, 2)
    number = comb(n, check.integer("k", k, 1, n - 1))
    if number > MAX_SETS:
        raise ValueError(f"k = {k} of {n} items: allowed are at most {MAX_SETS} sets, not {number}")
    return np.array(list(combinations(range(n), k)), dtype=np.int64)


def top_k_pmf(
    scores: ArrayLike, k: int, *, scale: float, noise: str = "laplace", underflow: str = "raise"
) -> Array:
    """Exact distribution of the k items with the largest noisy scores, (C(n, k),), by `sets_of`.

    At most 5000 sets. Up to 7 items on 16 cells, each entry errs by less than 1e-11, relatively.

    Parameters
    ----------
    scores : array, shape (n,)
        Noiseless scores (win counts); integers for discrete noise.
    k, scale : int, float
        Size of the released set, 1 <= k <= n - 1; scale b of the noise, in the unit of the scores.
    noise : {"laplace", "discrete_laplace"}
        Distribution of the independent noise; discrete ties are broken uniformly at random.
    underflow : {"raise", "zero"}
        What to do when a probability is too small for a float: refuse (a log-ratio would be
        wrong), or return zero for it (an expectation would not notice).
    """
    values, b, cells = _arguments(scores, scale, noise, underflow)
    n = values.size
    sets = sets_of(n, k)
    check.fits("scale", b, cells * 2 * len(sets) * n * NODES, CLOSE)
    nodes = _cells.laplace_nodes if noise == "laplace" else _cells.geometric_nodes
    cdf, survival, density, weights = nodes(values, b)
    inside = np.zeros((len(sets), n), dtype=bool)
    np.put_along_axis(inside, sets, True, axis=1)
    # P(S) = integral over t of  d/dt prod_{j not in S} F_j(t)  *  prod_{i in S} (1 - F_i(t))
    factors = np.where(inside[:, None, :], survival, cdf).prod(axis=-1)
    rate = np.divide(density, cdf, out=np.zeros_like(cdf), where=cdf > 0)
    pmf = (factors * (rate @ ~inside.T).T) @ weights
    _refuse_underflow(pmf.min(), values, b, underflow)
    return np.asarray(pmf)


def ranking_pmf(
    scores: ArrayLike, *, scale: float, noise: str = "laplace", underflow: str = "raise"
) -> Array:
    """Exact distribution of the ranking of 2 to 7 noisy scores, over `dpbook.models.all_rankings`.

    Closed form: products and sums of positive terms. Parameters and error as for `top_k_pmf`.

    Examples
    --------
    >>> ranking_pmf([2, 1, 0], scale=1.0).round(3)  # wins of three items; over all_rankings(3)
    array([0.478, 0.193, 0.193, 0.053, 0.053, 0.03 ])
    """
    values, b, cells = _arguments(scores, scale, noise, underflow)
    n = values.size
    allowed = f"(n,) with n from 2 to {MAX_ITEMS_RANKING}"
    check.shaped("scores", values, n <= MAX_ITEMS_RANKING, allowed)
    orders = np.argsort(all_rankings(n), axis=1).T[::-1]  # lowest first
    # Cells come one after the other: time limits them, not memory.
    check.fits("scale", b, cells * (orders.shape[1] * (n + 1) ** 2 // 16), CLOSE)
    find = _cells.laplace_steps if noise == "laplace" else _cells.geometric_steps
    below, steps, right = find(values, b, orders)
    for step in steps:
        # below[j] = P(the lowest j items lie below the cell, in order); step[j, l] =
        # P(items j..l-1 fall into the cell in order).
        below = (below[:, None] * step).sum(axis=0)
    pmf = np.asarray((below * right).sum(axis=0))
    _refuse_underflow(pmf.min(), values, b, underflow)
    return pmf


def _arguments(
    scores: ArrayLike, scale: float, noise: str, underflow: str
) -> tuple[Array, float, float]:
    """Scores, scale and about the number of cells; scores too far apart are refused at once.

    With the scores s scales apart, the lowest item beats the highest, and so a set or a ranking
    in which it does comes up, with probability at most ``(2 + s) exp(-s) / 4`` for Laplace noise;
    for the discrete distribution the factor is at most 1 + s.
    """
    values, b = check.item_vector("scores", scores), check.noise_scale(scale)
    check.choice("underflow", underflow, ("raise", "zero"))
    discrete = check.choice("noise", noise, ("laplace", "discrete_laplace")) != "laplace"
    if discrete and (values != np.rint(values)).any():
        raise ValueError("scores hold a fraction: allowed are integers with discrete noise")
    if discrete and b > MAX_DISCRETE_SCALE:
        allowed = f"allowed is at most {MAX_DISCRETE_SCALE} with discrete noise"
        raise ValueError(f"scale = {scale!r}: {allowed}, whose distribution is a sum of counts")
    width = float(values.max()) - float(values.min())
    spread = width / b
    _refuse_underflow(exp(log1p(spread) - spread), values, b, underflow)
    return values, b, width + 2 * TAIL_SCALES * b if discrete else spread + values.size


def _refuse_underflow(least: float, values: Array, b: float, underflow: str) -> None:
    if underflow == "raise" and least < _SMALLEST:
        raise ValueError(
            f"scale = {b!r} with scores from {values.min():g} to {values.max():g}: allowed are "
            f"distributions whose probabilities exceed {_SMALLEST:g} (widen the scale, or pass "
            "underflow='zero' if no log-ratio is taken)"
        )
