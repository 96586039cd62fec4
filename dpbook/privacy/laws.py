r"""Exact laws of what a noisy sort releases: the top-k set and the full ranking.

Item i has the score N_i + W_i with independent noise W_i. The line of scores is cut into cells on
which each item's distribution function is one simple expression; every law is then a sum, over
cells, of products of **positive** terms. Nothing cancels, so even probabilities of 1e-100 come out
with full relative accuracy, which is what a privacy loss (a log-ratio) needs.

* Laplace noise: cells end at the scores N_i and are cut further until no cell is wider than one
  scale. Inside a cell each density is a constant times exp(+t) or exp(-t).
* Discrete Laplace noise, ties broken uniformly at random: adding an independent uniform in (0, 1)
  to each score breaks ties fairly and makes every distribution function linear on [t, t + 1).

The set law integrates over the threshold that separates the set from the rest (Gauss-Legendre:
exact for the polynomials of the discrete law, with the stated bound for the exponentials). The
ranking law never integrates numerically: it carries, from cell to cell, the probability that the
lowest j items lie below the cell's edge in the right order.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, log, log1p
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.privacy._cells import geometric_cells, laplace_cells
from dpbook.privacy._grid import NODES, TAIL_SCALES, threshold_grid

Array = NDArray[np.float64]

NOISES = ("laplace", "discrete_laplace")
MAX_ITEMS_RANKING = 7
MAX_SETS = 5000
MAX_DISCRETE_SCALE = 2000
# Cells of the ranking law come one after the other: time limits them, not memory.
STEPS = 16

# Probabilities below this come near the subnormal floats and lose relative accuracy.
_SMALLEST = 1e-290


def sets_of(n_items: int, k: int) -> NDArray[np.int64]:
    """All k-subsets of the items, (C(n, k), k), in lexicographic order, that of `top_k_law`."""
    n = check.integer("n_items", n_items, 2)
    k = check.integer("k", k, 1, n - 1)
    return np.array(list(combinations(range(n), k)), dtype=np.int64)


def top_k_law(
    scores: ArrayLike, k: int, *, scale: float, noise: str = "laplace", underflow: str = "raise"
) -> Array:
    """Exact law of the k items with the largest noisy scores, (C(n, k),), as `sets_of` lists them.

    Parameters
    ----------
    scores : array, shape (n,)
        Noiseless scores (win counts); integers for discrete noise.
    k : int
        Size of the released set, 1 <= k <= n - 1.
    scale : float
        Scale b of the noise, in the unit of the scores.
    noise : {"laplace", "discrete_laplace"}
        Law of the independent noise; ties of the discrete law are broken uniformly at random.
    underflow : {"raise", "zero"}
        What to do when a probability is too small for a float: refuse (a log-ratio would be
        wrong), or return zero for it (an expectation would not notice).

    Notes
    -----
    At most 5000 sets. Up to 7 items on 16 cells, each entry errs by less than 1e-11, relatively.
    """
    values, b = _arguments(scores, scale, noise)
    number = comb(values.size, check.integer("k", k, 1, values.size - 1))
    if number > MAX_SETS:
        raise ValueError(
            f"k = {k} of {values.size} items gives {number} sets: allowed are at most {MAX_SETS}"
        )
    _refuse_spread(values, b, noise, underflow, 2 * number * values.size * NODES)
    sets = sets_of(values.size, k)
    grid = threshold_grid(values, b, noise)
    inside = np.zeros((len(sets), values.size), dtype=bool)
    np.put_along_axis(inside, sets, True, axis=1)
    # P(S) = integral over t of  d/dt prod_{j not in S} F_j(t)  *  prod_{i in S} (1 - F_i(t))
    factors = np.where(inside[:, None, :], grid.survival, grid.cdf).prod(axis=-1)
    rate = np.divide(grid.density, grid.cdf, out=np.zeros_like(grid.cdf), where=grid.cdf > 0)
    law = (factors * (rate @ ~inside.T).T) @ grid.weights
    return _refuse_underflow(law, values, b, underflow)


def ranking_law(
    scores: ArrayLike, *, scale: float, noise: str = "laplace", underflow: str = "raise"
) -> Array:
    """Exact law of the ranking of 2 to 7 noisy scores, over `dpbook.models.all_rankings`.

    Closed form: products and sums of positive terms. Parameters and error as for `top_k_law`.

    Examples
    --------
    >>> ranking_law([2, 1, 0], scale=1.0).round(3)  # wins of three items; over all_rankings(3)
    array([0.478, 0.193, 0.193, 0.053, 0.053, 0.03 ])
    """
    from dpbook.models.rankings import all_rankings

    values, b = _arguments(scores, scale, noise)
    n = values.size
    if n > MAX_ITEMS_RANKING:
        raise ValueError(
            f"scores of shape {values.shape}: allowed is (n,) with n from 2 to {MAX_ITEMS_RANKING}"
        )
    orders = np.argsort(all_rankings(n), axis=1)[:, ::-1]  # lowest first
    _refuse_spread(values, b, noise, underflow, len(orders) * (values.size + 1) ** 2 // STEPS)
    left, transitions, right = (
        laplace_cells(values, b, orders)
        if noise == "laplace"
        else geometric_cells(values, b, orders)
    )
    below = left
    for step in transitions:
        # below[:, j] = P(the lowest j items lie below the cell, in order); step[:, j, l] =
        # P(items j..l-1 fall into the cell in order).
        below = np.stack(
            [sum(below[:, j] * step[:, j, m] for j in range(m + 1)) for m in range(n + 1)], axis=1
        )
    law = np.asarray(sum(below[:, j] * right[:, j] for j in range(n + 1)))
    return _refuse_underflow(law, values, b, underflow)


def _refuse_underflow(law: Array, values: Array, b: float, underflow: str) -> Array:
    if underflow == "raise" and law.min() < _SMALLEST:
        _underflow(values.min(), values.max(), b)
    return law


def _refuse_spread(values: Array, b: float, noise: str, underflow: str, work: int) -> None:
    """Refuse scores too far apart before the line between them is cut into cells.

    With the scores s scales apart, the lowest item beats the highest, and so a set or a ranking
    in which it does comes up, with probability at most ``(2 + s) exp(-s) / 4`` for Laplace noise;
    for the discrete law the factor is at most 1 + s.
    """
    check.choice("underflow", underflow, ("raise", "zero"))
    low, high = float(values.min()), float(values.max())
    with np.errstate(over="ignore"):
        spread = (high - low) / b
    if underflow == "raise" and log1p(spread) - spread < log(_SMALLEST):
        _underflow(low, high, b)
    cells = spread + values.size if noise == "laplace" else high - low + 2 * TAIL_SCALES * b
    if not cells * work <= check.MOST_NUMBERS:
        raise ValueError(
            f"scale = {b!r} with {values.size} scores from {low:g} to {high:g}: allowed are scores "
            f"close enough for {check.MOST_NUMBERS // work} cells of the line, not {cells:.3g}"
        )


def _underflow(low: float, high: float, b: float) -> NoReturn:
    raise ValueError(
        f"scale = {b!r} with scores from {low:g} to {high:g}: allowed are laws whose probabilities "
        f"exceed {_SMALLEST:g} (widen the scale, or pass underflow='zero' if no log-ratio is taken)"
    )


def _arguments(scores: ArrayLike, scale: float, noise: str) -> tuple[Array, float]:
    values = check.item_vector("scores", scores)
    check.choice("noise", noise, NOISES)
    if noise == "discrete_laplace" and not np.array_equal(values, np.rint(values)):
        raise ValueError("scores hold a fraction: allowed are integers with discrete noise")
    b = check.noise_scale(scale)
    if noise == "discrete_laplace" and b > MAX_DISCRETE_SCALE:
        raise ValueError(
            f"scale = {scale!r}: allowed is at most {MAX_DISCRETE_SCALE} with discrete noise, "
            "whose law is summed count by count"
        )
    return values, b
