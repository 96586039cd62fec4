"""Reduction I of AGKM: noise on the fraction of users behind every pair, then aggregation.

The exact Kemeny ranking takes the place of the polynomial approximation scheme that AGKM plug in,
which has no practical form. Neighbours differ in one ranking, replaced by another: every fraction
moves by at most 1 / users, and all of them do when the ranking is turned round.
"""

from __future__ import annotations

from itertools import pairwise
from math import comb, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook.estimators import kemeny_ranking
from dpbook.mechanisms import laplace_noise
from dpbook.mechanisms.gaussian import gaussian_noise, gaussian_scale
from dpbook.models import all_rankings
from dpbook.rankers.central_rankings._kwiksort_runs import (
    MAX_ITEMS,
    all_costs,
    laplace_preference,
    pair_table,
)

__all__ = ["noisy_fractions", "pair_noise_scale", "private_kemeny", "private_kemeny_pmf"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

CALIBRATIONS = ("tight", "printed")
BLOCK = 512  # releases compared with all rankings at once
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)  # of a cell of the law for three items


def pair_noise_scale(
    n_items: int,
    users: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    queries: int | None = None,
    calibration: str = "tight",
) -> float:
    """Scale of the noise on each fraction when some or all pairs are answered.

    Parameters
    ----------
    n_items, users : int
        Numbers of items m and of users n.
    epsilon, delta : float
        Budget of all the answers together; delta = 0 means Laplace noise, else Gaussian.
    queries : int, optional
        At most so many different pairs q are answered, chosen adaptively; all pairs if omitted.
    calibration : {"tight", "printed"}
        The sensitivity of the answers, or the printed expression.

    Returns
    -------
    float
        Laplace scale, or standard deviation, in fractions of the users.

    Notes
    -----
    **Privacy.** ``"tight"``: the answers move by q / users in l1 and sqrt(q) / users in l2, both
    attained by opposite rankings, so that (epsilon, delta) is spent exactly; q is m (m - 1) / 2
    for all pairs. ``"printed"``, all pairs: Laplace scale m^2 / (epsilon n) spends only
    epsilon (m - 1) / (2 m); deviation (m / (epsilon n)) sqrt(log(1 / delta)). With q queries:
    q / (epsilon n), which spends epsilon, or (sqrt(q) / (epsilon n)) sqrt(log(1 / delta)). The
    Gaussian expressions are printed up to a constant, taken as 1 here; what they spend is for
    `dpbook.mechanisms.gaussian.gaussian_profile` to say. Source: AGKM, Corollaries 3, 4, 6 and 7.
    """
    m, n = check.integer("n_items", n_items, 2), check.integer("users", users, 1)
    eps, delta = check.epsilon(epsilon), check.probability("delta", delta, one=False)
    check.choice("calibration", calibration, CALIBRATIONS)
    q = comb(m, 2) if queries is None else check.integer("queries", queries, 1)
    if calibration == "tight":
        q = min(q, comb(m, 2))
        return gaussian_scale(sqrt(q) / n, eps, delta) if delta else q / (eps * n)
    if queries is None:
        q = m * m
    return (sqrt(q * log(1 / delta)) if delta else q) / (eps * n)


def noisy_fractions(
    fractions: ArrayLike,
    users: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    calibration: str = "tight",
    clip: bool = True,
    size: int | None = None,
    rng: np.random.Generator,
) -> Array:
    """Release the fraction of users who place i before j, for all pairs at once.

    Parameters
    ----------
    fractions : array, shape (m, m)
        Entry [i, j] in [0, 1] is the fraction that places i before j, a multiple of 1 / users;
        [i, j] + [j, i] = 1.
    users : int
        Number of users behind the fractions.
    epsilon, delta, calibration
        As for `pair_noise_scale`.
    clip : bool
        Cut the noisy fractions to [0, 1].
    size : int, optional
        Number of independent releases; one, and no axis for it, if omitted.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array, shape (m, m) or (size, m, m)
        Noise is added above the diagonal; below stands one minus the entry above. Diagonal 0.

    Raises
    ------
    ValueError
        If fractions is not such a table or an argument lies outside its range.

    Notes
    -----
    **Privacy.** One release is (epsilon, delta)-DP, see `pair_noise_scale`; clipping costs nothing.
    The exact twins are `laplace_logpdf` and `gaussian_logpdf` of the differences above the
    diagonal (before clipping). Source: AGKM, Theorem 1 and footnote 2.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    table = fraction_table(fractions, users)
    scale = pair_noise_scale(
        len(table), users, epsilon=epsilon, delta=delta, calibration=calibration
    )
    released = perturbed_fractions(table, scale, delta > 0, number_of_runs(size), rng)
    if clip:
        np.clip(released, 0.0, 1.0, out=released)
    return released[0] if size is None else released


def private_kemeny(
    fractions: ArrayLike,
    users: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    calibration: str = "tight",
    clip: bool = True,
    size: int | None = None,
    rng: np.random.Generator,
) -> Ints:
    """Reduction I: an exact Kemeny ranking of the noisy fractions.

    Parameters
    ----------
    fractions, users, epsilon, delta, calibration, clip, size, rng
        As for `noisy_fractions`.

    Returns
    -------
    array of int, shape (m,) or (size, m)
        Positions. Up to 7 items all rankings are compared and ties are broken at random; beyond
        that `dpbook.estimators.kemeny_ranking` is called for each release.

    Notes
    -----
    **Privacy.** (epsilon, delta)-DP: it only looks at `noisy_fractions`. The exact twin for three
    items is `private_kemeny_pmf`. Source: AGKM, Theorem 1 with Corollaries 3 and 4.
    Idealised sampler (floating point): for study, unsafe for a release.
    """
    released = noisy_fractions(
        fractions,
        users,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        clip=clip,
        size=number_of_runs(size),
        rng=rng,
    )
    blocks = [
        _kemeny_stack(part, rng) for part in np.split(released, range(BLOCK, len(released), BLOCK))
    ]
    positions = np.concatenate(blocks)
    return positions[0] if size is None else positions


def private_kemeny_pmf(
    fractions: ArrayLike,
    users: int,
    *,
    epsilon: float,
    calibration: str = "tight",
    clip: bool = True,
) -> Array:
    """Exact law of `private_kemeny` with Laplace noise, for three items.

    Parameters
    ----------
    fractions : array, shape (3, 3)
        As for `noisy_fractions`, but any fractions will do: a law is no release.
    users, epsilon, calibration, clip
        As for `noisy_fractions`.

    Returns
    -------
    array, shape (6,)
        In the order of `dpbook.models.all_rankings`.

    Raises
    ------
    ValueError
        If there are not three items, or as `noisy_fractions`.

    Notes
    -----
    Noisy majorities without a cycle are the ranking. In a cycle the least of the three leads is
    given up: an integral of products of exponentials over that lead, by Gauss-Legendre on cells of
    at most one scale. After clipping, three leads at the limit tie and each is given up equally
    often. Every term is positive, so small chances keep their relative accuracy.
    """
    table = fraction_table(fractions)
    if len(table) != 3:
        raise ValueError(f"fractions has {len(table)} items: allowed are exactly 3")
    b = pair_noise_scale(3, users, epsilon=epsilon, calibration=calibration)
    lead = np.array([table[0, 1], table[1, 2], table[2, 0]]) - 0.5
    up, down = laplace_preference(lead, b), laplace_preference(-lead, b)
    # Leads are (0 over 1, 1 over 2, 2 over 0); an order without a cycle fixes their signs.
    given_up, turned = _least_lead(lead, b, clip), _least_lead(-lead, b, clip)
    return np.array(
        [
            up[0] * up[1] * down[2] + given_up[2],  # 0 1 2
            up[0] * down[1] * down[2] + turned[0],  # 0 2 1
            down[0] * up[1] * down[2] + turned[1],  # 1 0 2
            up[0] * down[1] * up[2] + given_up[1],  # 2 0 1
            down[0] * up[1] * up[2] + given_up[0],  # 1 2 0
            down[0] * down[1] * up[2] + turned[2],  # 2 1 0
        ]
    )


def fraction_table(fractions: ArrayLike, users: int | None = None) -> Array:
    """Fractions as a checked array with a zero diagonal; of so many users, if these are data.

    A fraction that is one count over another, or one minus such a fraction, is off by at most two
    rounding units of 1, and the two of a pair together by four. The laws take any fractions.
    """
    table = pair_table("fractions", fractions).copy()
    np.fill_diagonal(table, 0.0)
    unit = float(np.finfo(float).eps)
    total = (table + table.T)[~np.eye(len(table), dtype=bool)]
    if table.min() < -2 * unit or np.abs(total - 1).max() > 4 * unit:
        raise ValueError("fractions: allowed are numbers in [0, 1] with [i, j] + [j, i] = 1")
    if users is None:
        return table
    n = check.integer("users", users, 1, check.MOST_COUNT)
    off = np.abs(table * n - np.rint(table * n))
    if off.max() > 2 * unit * n:
        raise ValueError(
            f"users = {users!r} with a fraction of {float(table.flat[off.argmax()])!r}: allowed is "
            "the number of users behind the fractions, each of them a multiple of 1 / users"
        )
    return table


def perturbed_fractions(
    table: Array, scale: float, gaussian: bool, runs: int, rng: np.random.Generator
) -> Array:
    """Stack of noisy copies with [i, j] + [j, i] = 1."""
    upper = np.triu_indices(len(table), 1)
    draw = gaussian_noise if gaussian else laplace_noise
    noisy = table[upper] + draw(scale, (runs, upper[0].size), rng=rng)
    stack = np.zeros((runs, *table.shape))
    stack[:, upper[0], upper[1]] = noisy
    stack[:, upper[1], upper[0]] = 1 - noisy
    return stack


def _kemeny_stack(stack: Array, rng: np.random.Generator) -> Ints:
    """Kemeny rankings of a stack of fractions; ties at random up to 7 items."""
    n = stack.shape[-1]
    if n > MAX_ITEMS:
        return np.array([kemeny_ranking(table).positions for table in stack], dtype=np.int64)
    places, cost = all_rankings(n), all_costs(stack)
    # Costs of tied rankings may differ by rounding.
    tied = cost <= cost.min(axis=1, keepdims=True) + 1e-9
    return places[np.argmax(tied * (1 + rng.random(cost.shape)), axis=1)]


def number_of_runs(size: int | None) -> int:
    return 1 if size is None else check.integer("size", size, 1)


def _least_lead(lead: Array, b: float, clip: bool) -> Array:
    """P(all three noisy leads are positive and the e-th is the least), for each e."""
    end = 0.5 if clip else max(0.0, float(lead.max())) + b
    kinks = np.unique(np.clip([0.0, end, *lead], 0.0, end))
    total = np.zeros(3)
    for low, high in pairwise(kinks):
        edges = np.linspace(low, high, int(np.ceil((high - low) / b)) + 1)
        half = np.diff(edges)[:, None] / 2
        t = ((edges[:-1, None] + half) + half * NODES).ravel()
        density = np.exp(-np.abs(t - lead[:, None]) / b) / (2 * b)
        above = laplace_preference(lead[:, None] - t, b)
        others = np.stack([above[1] * above[2], above[0] * above[2], above[0] * above[1]])
        total += (density * others) @ (half * WEIGHTS).ravel()
    # Beyond the end: one third each, by the tie, or because all three leads decay alike.
    return np.asarray(total + laplace_preference(lead - end, b).prod() / 3)
