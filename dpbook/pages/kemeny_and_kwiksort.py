"""How far KwikSort can be from the best ranking: exact worst cases of its expected cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from dpbook import _validation as check
from dpbook.estimators.kwiksort_laws import kwiksort_pmf

__all__ = ["chain_ratio", "kwiksort_pair_probabilities", "worst_ratio"]

Array = NDArray[np.float64]


def kwiksort_pair_probabilities(preference: ArrayLike) -> Array:
    """Probability that KwikSort's ranking has item i before item j.

    Parameters
    ----------
    preference : array, shape (..., n, n)
        As for `kwiksort_pmf`: n from 2 to 8.

    Returns
    -------
    array, shape (..., n, n)
        Zero on the diagonal.
    """
    rankings, law = kwiksort_pmf(preference)
    before = rankings[:, :, None] < rankings[:, None, :]
    return np.asarray(np.tensordot(law, before.astype(float), axes=1))


def worst_ratio(
    placed: ArrayLike, *, wins: ArrayLike, triangle: bool = True
) -> tuple[float, Array]:
    """Largest ratio of the expected cost to the cost of the order 0, 1, 2, ..., over fractions.

    Parameters
    ----------
    placed : array, shape (n, n)
        Probability that the algorithm places i before j when the majorities are `wins`.
    wins : array of bool, shape (n, n)
        Tournament of majorities: fractions with w_ij >= 1/2 where wins[i, j] are allowed. A tie
        may be decided either way, as by one more vote.
    triangle : bool
        Whether the fractions have to obey w_ij + w_jk >= w_ik, as those of rankings do. For
        n <= 5 that is all that rankings have to obey.

    Returns
    -------
    ratio : float
        The supremum.
    fractions : array, shape (n, n)
        Fractions that attain it, ties decided by `wins`.

    Raises
    ------
    ArithmeticError
        If the linear program is not solved, or the order's cost can be zero at a positive cost.

    Notes
    -----
    Both costs are linear in w, so with the order's cost scaled to 1 the ratio is a linear program
    (Charnes and Cooper, 1962). With a tournament for each labelling of the items, any best order
    is the identity for one of them. The inequalities describe the hull of rankings for n <= 5
    (Reinelt, 1985).
    """
    before = check.square_table("placed", placed)
    ahead, n = check.real_array("wins", wins).astype(bool), len(before)
    if n < (3 if triangle else 2):
        raise ValueError(
            f"placed of shape {before.shape}: allowed is (n, n) with n >= 3, or n >= 2 and "
            "triangle=False, since two items make no triangle"
        )
    if ahead.shape != before.shape:
        raise ValueError(f"wins of shape {ahead.shape}: allowed is {before.shape}, as placed has")
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
        a, b, c = np.array(
            [(x, y, z) for x in range(n) for y in range(x + 1, n) for z in range(y + 1, n)]
        ).T
        three = np.zeros((a.size, size + 1))
        place = np.arange(a.size)
        three[place, index[a, b]] = three[place, index[b, c]] = 1
        three[place, index[a, c]] = -1
        rows.append(-three)  # w_ab + w_bc - w_ac >= 0
        rows.append(three - np.eye(size + 1)[-1])  # and <= 1
    unit = np.append(-np.ones(size), size)
    matrix = np.concatenate(rows)
    found = optimize.linprog(
        -gain,
        A_ub=matrix,
        b_ub=np.zeros(len(matrix)),
        A_eq=unit[None],
        b_eq=[1.0],
        bounds=(0, None),
    )
    if found.x is None or found.fun is None or found.x[-1] <= 0:
        raise ArithmeticError(f"linear program: {found.message}")
    fractions = np.zeros((n, n))
    fractions[i, j] = found.x[:-1] / found.x[-1]
    fractions[j, i] = 1 - fractions[i, j]
    return float(-found.fun), fractions


def chain_ratio(signs: ArrayLike) -> float:
    """Ratio of KwikSort on a unanimous chain and one item that the people are split about.

    Parameters
    ----------
    signs : array of bool, shape (a,)
        Entry i says that the extra item is placed before item i of the chain when compared.

    Returns
    -------
    float
        Expected cost over the best cost, in the limit of half the people with the extra item
        first and half with it last, and one more person who decides the ties.

    Notes
    -----
    The extra item costs a/2 anywhere. A pair of the chain is reversed only when the extra item is
    the pivot; until then it stands with a stretch of the chain. So the expected number of
    reversed pairs F satisfies, for the stretch from l to r,
    (r - l + 1) F(l, r) = inv(l, r) + sum of F(l, i) over signs[i] + sum of F(i+1, r) over the
    others, where inv counts the pairs i < j with signs[i] and not signs[j].
    """
    before = check.number_array("signs", signs)
    if before.ndim != 1 or before.size < 1:
        raise ValueError(f"signs of shape {before.shape}: allowed is (a,) with a >= 1")
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
