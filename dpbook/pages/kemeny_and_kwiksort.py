"""Page 23: exact worst cases of KwikSort's expected cost, and of its number of comparisons."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from dpbook._typing import Array
from dpbook.estimators import kwiksort_pmf
from dpbook.models import all_rankings

Flags = NDArray[np.bool_]


def tournaments(n: int, *, chain: bool = False) -> Array:
    """All outcomes of the majority votes, as tables of 0 and 1, shape (number, n, n).

    With `chain` those in which each item beats the next.
    """
    i, j = np.triu_indices(n, 1)
    sides = (((1.0,) if chain and step == 1 else (0.0, 1.0)) for step in j - i)
    votes = np.array(list(product(*sides)))
    wins = np.zeros((len(votes), n, n))
    wins[:, i, j], wins[:, j, i] = votes, 1 - votes
    return wins


def random_tournament(n: int, bias: float, rng: np.random.Generator) -> Flags:
    """Item i beats a later one with the chance `bias`."""
    wins = np.triu(rng.random((n, n)) < bias, 1)
    return np.asarray(wins | np.tril(~wins.T, -1))


def kwiksort_pair_probabilities(preference: ArrayLike) -> Array:
    """Probability that KwikSort's ranking has item i before item j, zero for i = j.

    `preference` is that of `kwiksort_pmf`.
    """
    law, rankings = kwiksort_pmf(preference), all_rankings(np.shape(preference)[-1])
    before = rankings[:, :, None] < rankings[:, None, :]
    return np.asarray(np.tensordot(law, before.astype(float), axes=1))


def worst_ratio(
    placed: ArrayLike, *, wins: ArrayLike, triangle: bool = True
) -> tuple[float, Array]:
    """Largest ratio of the expected cost to the cost of the order 0, 1, 2, ..., over fractions.

    `placed` (n, n): the chance that i comes before j when the majorities are the tournament `wins`;
    fractions with w_ij >= 1/2 where wins[i, j] are allowed, so a tie may be decided either way.
    With `triangle`, w_ij + w_jk >= w_ik as for rankings; for n <= 5 that is all that rankings have
    to obey (Reinelt, 1985). Returned are the supremum and fractions that attain it.

    Both costs are linear in w, so with the order's cost scaled to 1 the ratio is a linear program
    (Charnes and Cooper, 1962). With a tournament for each labelling of the items, any best order
    is the identity for one of them.
    """
    before, ahead = np.asarray(placed, dtype=float), np.asarray(wins).astype(bool)
    n = len(before)
    i, j = np.triu_indices(n, 1)
    index = np.zeros((n, n), dtype=int)
    index[i, j] = np.arange(i.size)
    size = i.size  # variables: scale * w_ij for i < j, then the scale
    gain = np.append(before[j, i] - before[i, j], before[i, j].sum())
    sign = np.where(ahead[i, j], 1.0, -1.0)
    rows = [
        np.column_stack([-np.diag(sign), sign / 2]),
        np.column_stack([np.eye(size), -np.ones(size)]),
    ]
    if triangle:
        a, b, c = np.array(list(combinations(range(n), 3))).T
        three = np.zeros((a.size, size + 1))
        place = np.arange(a.size)
        three[place, index[a, b]] = three[place, index[b, c]] = 1
        three[place, index[a, c]] = -1
        rows.append(-three)  # w_ab + w_bc - w_ac >= 0
        rows.append(three - np.eye(size + 1)[-1])  # and <= 1
    unit = np.append(-np.ones(size), size)
    matrix = np.concatenate(rows)
    limits = (matrix, np.zeros(len(matrix)), unit[None], [1.0])  # at most, and equal
    found = optimize.linprog(-gain, *limits, bounds=(0, None))
    if found.x is None or found.fun is None or found.x[-1] <= 0:
        raise ArithmeticError(f"linear program: {found.message}")
    fractions = np.zeros((n, n))
    fractions[i, j] = found.x[:-1] / found.x[-1]
    fractions[j, i] = 1 - fractions[i, j]
    return float(-found.fun), fractions


def chain_ratio(signs: ArrayLike) -> float:
    """Ratio of KwikSort on a unanimous chain and one item that the people are split about.

    `signs`[i] says that the extra item is placed before item i of the chain when compared. The
    limit of half the people with the extra item first and half with it last, and one more person
    who decides the ties.

    The extra item costs a/2 anywhere. A pair of the chain is reversed only when the extra item is
    the pivot; until then it stands with a stretch of the chain. So the expected number of
    reversed pairs F satisfies, for the stretch from l to r,
    (r - l + 1) F(l, r) = inv(l, r) + sum of F(l, i) over signs[i] + sum of F(i+1, r) over the
    others, where inv counts the pairs i < j with signs[i] and not signs[j].
    """
    before = np.asarray(signs, dtype=float)
    a = before.size
    after = np.concatenate([[0.0], np.cumsum(1 - before)])
    # Entry [l, r] belongs to the stretch from l to r.
    inverted = np.zeros((a + 2, a + 2))
    left, right, expected = (np.zeros((a + 2, a + 2)) for _ in range(3))
    for start in range(a - 1, -1, -1):
        ends = np.arange(start + 1, a + 1)
        here = before[start] * (after[ends] - after[start + 1])
        inverted[start, ends] = inverted[start + 1, ends] + here
    for length in range(1, a + 1):
        low = np.arange(a - length + 1)
        high = low + length
        left[low, high] = left[low, high - 1] + before[high - 1] * expected[low, high - 1]
        right[low, high] = right[low + 1, high] + (1 - before[low]) * expected[low + 1, high]
        total = inverted[low, high] + left[low, high] + right[low, high]
        expected[low, high] = total / (length + 1)
    return float(1 + 2 * expected[0, a] / a)
