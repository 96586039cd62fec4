"""The exactly optimal pure-DP mechanism for small complete tournaments, or few whole rankings.

Data: a tournament, each pair compared once (p = 1). Neighbours: one comparison flipped. Outcome: a
k-set or a full ranking. A mechanism is a table Q[d, o]; its risk under a distribution of d is
linear in Q, and so are the privacy constraints, so the minimax mechanism solves a linear program.

If the hypotheses are closed under relabelling, some optimal Q is equivariant: averaging
Q[pi d, pi o] over all relabellings pi keeps privacy and does not raise the largest risk. Then
Q[d, pi o0] = q(pi^-1 d), and q is constant on the orbits of the relabellings that fix o0. These
orbits are the variables. Minimax private mechanisms as linear programs: Ghosh, Roughgarden and
Sundararajan, SIAM J. Comput. 41 (2012).

A tournament is an integer: bit e says whether i won the e-th pair i < j in lexicographic order.
Whole rankings, of which one is replaced, are a profile: how many people hold each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpbook import _validation as check
from dpbook._typing import Array, Ints
from dpbook.estimators import kendall_distance
from dpbook.lower_bounds import (
    PrivateRule,
    best_private_rule,
    bordered,
    privacy_rows,
    product_pmf,
    solve_program,
)
from dpbook.models import all_rankings
from dpbook.privacy import sets_of
from dpbook.privacy.neighbours import sumset

__all__ = [
    "OptimalMechanism",
    "OptimalRanking",
    "equivariant_rule",
    "optimal_mechanism",
    "optimal_ranking",
    "relabel",
    "tournament_distribution",
    "unreduced_risk",
]

MAX_ITEMS, MAX_EPSILON = {"sets": 7, "rankings": 6}, 10
MOST_USERS = {2: 100, 3: 10, 4: 3}  # by items: at most 3003 profiles
MAX_UNREDUCED = 110_000  # privacy rows of the unreduced program
LOSSES = ("exact", "average")
_BITS = 8  # width of the lookup tables of `relabel`


def tournament_distribution(rho: ArrayLike) -> Array:
    """Distribution of the tournament under win probabilities, (n, n), n <= 7: (2^(n(n-1)/2),)."""
    table = check.square_table("rho", rho)
    return product_pmf(table[np.triu_indices(len(table), 1)])


def relabel(pi: ArrayLike) -> NDArray[np.uint32]:
    """All tournaments with their items renamed.

    Parameters
    ----------
    pi : array of int, shape (n,)
        A permutation of 0..n-1, n <= 7; item i gets the name pi[i].

    Returns
    -------
    array of uint32, shape (2^(n(n-1)/2),)
        Entry d is the renamed tournament d: pi[i] beats pi[j] in it if i beats j in d.
    """
    names = check.whole_array("pi", pi)
    n = names.size
    if n < 2 or n > 7 or sorted(names.tolist()) != list(range(n)):
        raise ValueError(f"pi = {pi!r}: allowed is a permutation of 0..n-1, 2 <= n <= 7")
    edges = list(combinations(range(n), 2))
    at = {edge: e for e, edge in enumerate(edges)}
    image = np.zeros(1, dtype=np.uint32)
    for start in range(0, len(edges), _BITS):
        # One small table per block of bits; all blocks together by an outer "or".
        block = np.zeros(1, dtype=np.uint32)
        for i, j in edges[start : start + _BITS]:
            a, b = int(names[i]), int(names[j])
            bit = np.uint32(1 << at[min(a, b), max(a, b)])
            set_if = (block | bit, block) if a > b else (block, block | bit)
            block = np.concatenate(set_if)
        image = (block[:, None] | image).ravel()
    return image


@dataclass(frozen=True, eq=False)
class OptimalMechanism(PrivateRule):
    """An optimal mechanism, repaired so that its epsilon holds strictly, with its certificate.

    Besides what a `dpbook.lower_bounds.PrivateRule` has (its bounds are those for distributions of
    exactly the win probabilities that are stored above the diagonal; its weights, one for each
    orbit, the chances q of the reference outcome o0, items 0..k-1, or 0, 1, ..., n-1):

    Attributes
    ----------
    n_items, k : int, int or None
        Size of the problem; k is None for rankings.
    orbit : array of int, shape (2^(n(n-1)/2),)
        Orbit of each tournament.
    outcomes : array of int, shape (outcomes, n)
        Relabellings pi that carry o0 to each outcome, in the order of `sets_of`, `all_rankings`.
    """

    n_items: int
    k: int | None
    orbit: NDArray[np.int32]
    outcomes: Ints

    def table(self) -> Array:
        """Chance of every outcome for every tournament, shape (tournaments, outcomes)."""
        columns = [self.weights[self.orbit[relabel(np.argsort(pi))]] for pi in self.outcomes]
        return np.stack(columns, axis=1)


def optimal_mechanism(
    rho: ArrayLike, k: int | None = None, *, epsilon: float, loss: str = "exact"
) -> OptimalMechanism:
    """Minimax eps-DP mechanism over all relabellings of the given hypotheses.

    Parameters
    ----------
    rho : array, shape (n, n) or (hypotheses, n, n)
        Win probabilities for which 0, 1, ..., n-1 is the right ranking and 0..k-1 the right set;
        every relabelling of every one of them is a hypothesis.
    k : int, optional
        Size of the set, n <= 7; None for full rankings, n <= 6.
    epsilon : float
        Privacy parameter in nats, in (0, 10].
    loss : {"exact", "average"}
        1 if the outcome is wrong; or the fraction of wrong items (sets) or pairs (rankings).

    Raises
    ------
    ValueError, RuntimeError
        If an argument is out of range; if the solver fails.
    """
    (matrices, k), eps = _hypotheses(rho, k), _epsilon(epsilon)
    n, edges = matrices.shape[1], matrices.shape[1] * (matrices.shape[1] - 1) // 2
    outcomes, losses = _outcomes_of(n, k, check.choice("loss", loss, LOSSES))
    orbit, first = _orbits(n, k)
    # A flip of one tournament of an orbit leads to every orbit next to it.
    near = np.concatenate([np.c_[orbit[first], orbit[first ^ (1 << e)]] for e in range(edges)])
    # A chance is a product of up to `edges` numbers, 1 - p rounded like the product; then sums over
    # an orbit and over the outcomes, and the loss with its product.
    count = 2 * edges + int(np.bincount(orbit).max()) + len(outcomes) + 2
    images = (orbit[relabel(np.argsort(pi))] for pi in outcomes)
    pmfs = list(map(tournament_distribution, matrices))
    rule = equivariant_rule(images, pmfs, losses, near, eps, roundings=count)
    return OptimalMechanism(**vars(rule), n_items=n, k=k, orbit=orbit, outcomes=outcomes)


def equivariant_rule(
    images: Iterable[ArrayLike],
    distributions: ArrayLike,
    losses: ArrayLike,
    pairs: ArrayLike,
    epsilon: float,
    *,
    roundings: int = 0,
) -> PrivateRule:
    """Minimax epsilon-DP rule if all outcomes are alike up to renaming, from any list of data sets.

    One unknown for each class of data sets under the renamings that fix the first outcome: the
    chance of this outcome. That of any other is read after the renaming that carries it there.

    Parameters
    ----------
    images : iterable of arrays of int, shape (data,), one for each outcome
        Class, 0 to V - 1, of every data set after the renaming that makes this outcome the first
        one. The first array thus has the classes of the data sets themselves, each at least once.
    distributions : array, shape (hypotheses, data) or (data,)
        Chances of the data sets, one hypothesis of each family that renaming makes.
    losses : array, shape (outcomes,) or (hypotheses, outcomes)
        Loss of every outcome, the same under these hypotheses or one row for each; not below 0.
    pairs : array of int, shape (pairs, 2)
        Classes that hold neighbours.
    epsilon : float
        Privacy parameter, in nats.
    roundings : int
        Of the costs, as for `dpbook.lower_bounds.best_private_rule`.

    Returns
    -------
    PrivateRule
        Its ``weights``, (V,), are the chances of the first outcome.

    Raises
    ------
    ValueError, RuntimeError
        If there are not as many images as losses; if the solver fails.
    """
    pmfs, wrong = np.atleast_2d(np.asarray(distributions)), np.asarray(losses)
    costs, met = np.zeros((len(pmfs), 0)), list[Ints]()
    for image, cost in zip(images, wrong.T, strict=True):
        classes = np.asarray(image, dtype=np.intp)
        if not met:
            _, first = np.unique(classes, return_index=True)
            costs = np.zeros((len(pmfs), first.size))
        met.append(classes[first])
        chances = np.array([np.bincount(classes, pmf, first.size) for pmf in pmfs])
        costs += cost[..., None] * chances
    # Data sets that are renamings of each other meet the same classes equally often: one sum each.
    rows = np.unique(np.sort(np.stack(met, axis=1), axis=1), axis=0)
    where, shape = np.repeat(np.arange(len(rows)), len(met)), (len(rows), costs.shape[1])
    totals = scipy.sparse.csr_array((np.ones(rows.size), (where, rows.ravel())), shape=shape)
    near = np.unique(np.sort(np.asarray(pairs), axis=1), axis=0)
    near = near[near[:, 0] < near[:, 1]]
    return best_private_rule(costs, totals, near, epsilon, roundings=roundings)


@dataclass(frozen=True, eq=False)
class OptimalRanking(PrivateRule):
    """An optimal mechanism for whole rankings. Of each profile and each of ``all_rankings(n)``:

    how many people hold it, its mean Kendall distance to theirs less the least, and its chance.
    """

    profiles: Ints
    excess: Array
    table: Array


def optimal_ranking(n_items: int, users: int, *, epsilon: float) -> OptimalRanking:
    """Minimax eps-DP mechanism for the common ranking of so many people, one of whom is replaced.

    The risk is the largest expected excess of any profile. Some optimum is also alike for reversed
    rankings, by the same average; profiles that this exchanges together with i -> n - 1 - i, which
    keeps the ranking 0, 1, ..., are one class. Three items: at most 10 people; four: 3.
    """
    ranks, eps = all_rankings(check.integer("n_items", n_items, 2, 4)), _epsilon(epsilon)
    users, size = check.integer("users", users, 1, MOST_USERS[n_items]), len(ranks)
    one = np.eye(size, dtype=np.int64)
    others, profiles = (sumset([one] * people, size) for people in (users - 1, users))
    mirror = _order(profiles[:, _order(n_items - 1 - ranks[:, ::-1])])
    orbit = np.unique(np.minimum(np.arange(mirror.size), mirror), return_inverse=True)[1]
    images = np.array([orbit[_order(profiles[:, _order(ranks[:, pi])])] for pi in ranks])
    digits = (users + 1) ** np.arange(size, dtype=np.int64)[::-1]  # as numbers, profiles ascend
    near = orbit[np.searchsorted(profiles @ digits, (others @ digits)[:, None] + digits)]
    pairs = np.concatenate([near[:, list(ends)] for ends in combinations(range(size), 2)])
    score = profiles @ kendall_distance(ranks[:, None], ranks)
    excess = (score - score.min(axis=1, keepdims=True)) / users
    first = np.unique(images.min(axis=0), return_index=True)[1]  # one profile of each family
    # A cost is the sum of at most as many quotients as there are outcomes.
    point = np.eye(len(profiles))[first]
    rule = vars(equivariant_rule(images, point, excess[first], pairs, eps, roundings=size))
    return OptimalRanking(**rule, profiles=profiles, excess=excess, table=rule["weights"][images.T])


def _order(rows: Ints) -> Ints:
    """Number of every row among all of them in lexicographic order."""
    return np.argsort(np.lexsort(rows.T[::-1]))


def unreduced_risk(
    rho: ArrayLike, k: int | None = None, *, epsilon: float, tol: float = 1e-10
) -> float:
    """Minimax risk from the program without symmetry: a referee for `optimal_mechanism`.

    Parameters
    ----------
    rho, k, epsilon
        As there, one hypothesis; the loss is 1 if the outcome is wrong. At most 110 000 rows.
    tol : float
        Of the solver; with tens of thousands of rows it may not reach the default.

    Returns
    -------
    float
        Optimal value of the solver, neither repaired nor certified.
    """
    matrices, k = _hypotheses(rho, k)
    eps, n, csr = _epsilon(epsilon), matrices.shape[1], scipy.sparse.csr_array
    outcomes, _ = _outcomes_of(n, k, "exact")
    pmf, many = tournament_distribution(matrices[0]), len(outcomes)
    edges, size = n * (n - 1) // 2, pmf.size * many
    if size * edges > MAX_UNREDUCED:
        raise ValueError(f"rho, k: {size * edges} privacy rows; allowed are {MAX_UNREDUCED}")
    table, codes = np.arange(size).reshape(pmf.size, many), np.arange(pmf.size)
    flips = [(e, codes[codes >> e & 1 == 0]) for e in range(edges)]
    pairs = [np.stack([table[d].ravel(), table[d | 1 << e].ravel()], axis=1) for e, d in flips]
    privacy = privacy_rows(np.concatenate(pairs), size, eps)
    right = np.zeros((many, size))  # chance of the right outcome, one row a hypothesis
    for row, pi in enumerate(outcomes):
        right[row, table[:, row]] = pmf[relabel(np.argsort(pi))]
    ends = np.repeat([1.0, 0.0], [many, privacy.shape[0]])
    upper = bordered([csr(-right), privacy], ends)
    totals = csr((np.ones(size), (np.arange(size) // many, np.arange(size))))
    equal = bordered([totals], np.zeros(pmf.size))
    return 1 + float(solve_program(-np.eye(size + 1)[-1], upper, equal, tol).fun)


def _hypotheses(rho: ArrayLike, k: int | None) -> tuple[Array, int | None]:
    matrices = check.finite_array("rho", rho, min_ndim=2)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ValueError(f"rho of shape {matrices.shape}: allowed is (n, n) or (hypotheses, n, n)")
    n, limit = matrices.shape[1], MAX_ITEMS["rankings" if k is None else "sets"]
    if not 2 <= n <= limit:
        raise ValueError(f"rho has n = {n} items: allowed is 2 <= n <= {limit}")
    if matrices.min() < 0 or np.abs(matrices + np.swapaxes(matrices, 1, 2) - 1).max() > 1e-12:
        raise ValueError("rho: allowed are probabilities with rho + rho.T = 1")
    return matrices, None if k is None else check.integer("k", k, 1, n - 1)


def _epsilon(epsilon: float) -> float:
    if check.epsilon(epsilon) > MAX_EPSILON:  # e^epsilon and 1 in one row are too much to solve
        raise ValueError(f"epsilon = {epsilon!r}: allowed is a number in (0, {MAX_EPSILON}]")
    return float(epsilon)


def _outcomes_of(n: int, k: int | None, loss: str) -> tuple[Ints, Array]:
    """Relabellings that carry the reference outcome to each outcome, and the losses."""
    if k is None:
        outcomes = all_rankings(n)
        wrong = [sum(a > b for a, b in combinations(pi, 2)) / (n * (n - 1) / 2) for pi in outcomes]
    else:
        sets = sets_of(n, k)
        outcomes = np.array([[*s, *np.setdiff1d(np.arange(n), s)] for s in sets], dtype=np.int64)
        wrong = (sets >= k).mean(axis=1)
    losses = np.asarray(wrong, dtype=float)
    return outcomes, losses if loss == "average" else np.sign(losses)


def _orbits(n: int, k: int | None) -> tuple[NDArray[np.int32], Ints]:
    """Orbit of each tournament under what fixes the reference outcome; the first one of each."""
    codes = np.arange(1 << n * (n - 1) // 2, dtype=np.uint32)
    smallest = codes.copy()
    if k is not None:
        for head in permutations(range(k)):
            for tail in permutations(range(k, n)):
                np.minimum(smallest, relabel([*head, *tail]), out=smallest)
    first = np.flatnonzero(smallest == codes)
    number = np.zeros(codes.size, dtype=np.int32)
    number[first] = np.arange(first.size)
    return number[smallest], first
