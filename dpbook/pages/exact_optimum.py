r"""The exactly optimal pure-DP mechanism for small complete tournaments, and rules to compare.

Data: a tournament, each pair compared once (p = 1). Neighbours: one comparison flipped. Outcome: a
k-set or a full ranking. A mechanism is a table Q[d, o]; its risk under a law of d is linear in Q,
and so are the privacy constraints, so the minimax mechanism solves a linear program.

If the hypotheses are closed under relabelling, some optimal Q is equivariant: averaging
Q[pi d, pi o] over all relabellings pi keeps privacy and does not raise the largest risk. Then
Q[d, pi o0] = q(pi^-1 d), and q is constant on the orbits of the relabellings that fix o0. These
orbits are the variables. A tournament is an integer: bit e says that the first item of the e-th
pair (i, j), i < j, in lexicographic order, won.

The rules are for the planted set: items of a k-set beat the others with probability 1/2 + delta,
all else is a coin toss, and all sets are hypotheses. Every rule treats the items alike, so its risk
P(wrong set) is the same at every hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations
from math import comb, exp, factorial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit, roots_legendre

from dpbook import _validation as check
from dpbook.lower_bounds import (
    best_private_rule,
    bordered,
    fano_error,
    privacy_rows,
    product_log_ratio,
    product_pmf,
    solve_program,
)
from dpbook.models import all_rankings, two_level_probabilities
from dpbook.privacy import ranking_pmf, sets_of, top_k_pmf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ITEMS = {"sets": 7, "rankings": 6}
MAX_EPSILON = 10
MAX_UNREDUCED = 110_000  # privacy rows of the unreduced program
LOSSES = ("exact", "average")
_BITS = 8  # width of the lookup tables of `relabel`


def tournament_law(rho: Array) -> Array:
    """Law of the tournament under win probabilities (n, n)."""
    return product_pmf(rho[np.triu_indices(len(rho), 1)])


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


@dataclass(frozen=True)
class OptimalMechanism:
    """An optimal mechanism, repaired so that its epsilon holds strictly, with its certificate.

    Attributes
    ----------
    n_items, k : int, int or None
        Size of the problem; k is None for rankings.
    bounds : tuple of two Fractions
        The smallest largest risk of any eps-DP mechanism, for laws of exactly the win probabilities
        that are stored above the diagonal, lies between them.
    risk : float
        The upper one, rounded up: largest risk of the mechanism published here, repair included.
    lower : float
        The lower one, rounded down: no eps-DP mechanism has a smaller largest risk.
    loss : float
        Largest log-ratio over all flips, in nats; at most the epsilon asked for.
    weights : array, shape (orbits,)
        q, the chance of the reference outcome o0 (items 0..k-1, or 0, 1, ..., n-1) on each orbit.
    orbit : array of int, shape (2^(n(n-1)/2),)
        Orbit of each tournament.
    outcomes : array of int, shape (outcomes, n)
        Relabellings pi that carry o0 to each outcome, in the order of `sets_of`, `all_rankings`.
    """

    n_items: int
    k: int | None
    bounds: tuple[Fraction, Fraction]
    risk: float
    lower: float
    loss: float
    weights: Array
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

    Returns
    -------
    OptimalMechanism

    Raises
    ------
    RuntimeError
        If the solver fails.
    """
    matrices, k = _hypotheses(rho, k)
    eps = _epsilon(epsilon)
    problem = _reduced_program(matrices, k, check.choice("loss", loss, LOSSES))
    # A chance is a product of up to `edges` numbers, 1 - p rounded like the product; then sums over
    # an orbit and over the outcomes, and the loss with its product.
    edges, members = matrices.shape[1] * (matrices.shape[1] - 1) // 2, np.bincount(problem.orbit)
    count = 2 * edges + int(members.max()) + len(problem.outcomes) + 2
    rule = best_private_rule(problem.costs, problem.totals, problem.pairs, eps, roundings=count)
    found = (rule.bounds, rule.risk, rule.lower, rule.loss, rule.weights)
    return OptimalMechanism(matrices.shape[1], k, *found, problem.orbit, problem.outcomes)


def unreduced_risk(
    rho: ArrayLike, k: int | None = None, *, epsilon: float, tol: float = 1e-10
) -> float:
    """Minimax risk from the program without symmetry: a referee for `optimal_mechanism`.

    Parameters
    ----------
    rho, k, epsilon
        As in `optimal_mechanism`, one hypothesis; the loss is 1 if the outcome is wrong. At most
        110 000 privacy rows.
    tol : float
        Of the solver; with tens of thousands of rows it may not reach the default.

    Returns
    -------
    float
        Optimal value of the solver, neither repaired nor certified.
    """
    matrices, k = _hypotheses(rho, k)
    eps = _epsilon(epsilon)
    n = matrices.shape[1]
    outcomes, _ = _outcomes_of(n, k, "exact")
    law = tournament_law(matrices[0])
    edges, size = n * (n - 1) // 2, law.size * len(outcomes)
    if size * edges > MAX_UNREDUCED:
        raise ValueError(
            f"rho, k: {size * edges} privacy rows; allowed are at most {MAX_UNREDUCED}"
        )
    table = np.arange(size).reshape(law.size, len(outcomes))
    codes = np.arange(law.size)
    flips = [(e, codes[codes >> e & 1 == 0]) for e in range(edges)]
    pairs = [np.stack([table[d].ravel(), table[d | 1 << e].ravel()], axis=1) for e, d in flips]
    privacy = privacy_rows(np.concatenate(pairs), size, eps)
    right = np.zeros((len(outcomes), size))  # chance of the right outcome, one row a hypothesis
    for row, pi in enumerate(outcomes):
        right[row, table[:, row]] = law[relabel(np.argsort(pi))]
    upper = bordered(
        [sparse.csr_array(-right), privacy],
        np.repeat([1.0, 0.0], [len(outcomes), privacy.shape[0]]),
    )
    totals = sparse.csr_array((np.ones(size), (np.arange(size) // len(outcomes), np.arange(size))))
    equal = bordered([totals], np.zeros(law.size))
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
    eps = check.epsilon(epsilon)
    if eps > MAX_EPSILON:  # e^epsilon and 1 in one row: the solver's tolerance is not enough
        raise ValueError(f"epsilon = {epsilon!r}: allowed is a number in (0, {MAX_EPSILON}]")
    return eps


@dataclass(frozen=True)
class _Reduced:
    """Orbits, the orbits met by each class of tournaments, and the pairs of adjacent orbits."""

    orbit: NDArray[np.int32]
    outcomes: Ints
    totals: sparse.csr_array  # (classes, orbits)
    pairs: Ints  # (pairs, 2)
    costs: Array  # (hypotheses, orbits)


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


def _reduced_program(matrices: Array, k: int | None, loss: str) -> _Reduced:
    n = matrices.shape[1]
    outcomes, losses = _outcomes_of(n, k, loss)
    laws = [tournament_law(matrix) for matrix in matrices]
    codes = np.arange(laws[0].size, dtype=np.uint32)
    smallest = codes.copy()
    if k is not None:
        for head in permutations(range(k)):
            for tail in permutations(range(k, n)):
                np.minimum(smallest, relabel([*head, *tail]), out=smallest)
    first = np.flatnonzero(smallest == codes)
    number = np.zeros(codes.size, dtype=np.int32)
    number[first] = np.arange(first.size)
    orbit = number[smallest]
    costs, met = np.zeros((len(laws), first.size)), np.zeros((first.size, len(outcomes)), np.int64)
    for column, (pi, wrong) in enumerate(zip(outcomes, losses, strict=True)):
        image = orbit[relabel(np.argsort(pi))]
        met[:, column] = image[first]
        for row, law in enumerate(laws):
            costs[row] += wrong * np.bincount(image.astype(np.intp), law, first.size)
    # Tournaments of one isomorphism class meet the same orbits equally often.
    rows = np.unique(np.sort(met, axis=1), axis=0)
    where = np.repeat(np.arange(len(rows)), len(outcomes))
    totals = sparse.csr_array(
        (np.ones(rows.size), (where, rows.ravel())), shape=(len(rows), first.size)
    )
    flips = [orbit[first ^ (1 << e)] for e in range(n * (n - 1) // 2)]
    near = np.stack([np.tile(np.arange(first.size), len(flips)), np.concatenate(flips)], axis=1)
    pairs = np.unique(np.sort(near, axis=1), axis=0)
    return _Reduced(orbit, outcomes, totals, pairs[pairs[:, 0] < pairs[:, 1]], costs)


# Rules for the planted set, and two simple lower bounds.


def flips(n_items: int) -> list[tuple[int, int]]:
    """All pairs of neighbouring tournaments."""
    edges = range(comb(n_items, 2))
    return [(d, d | 1 << e) for d in range(2 ** comb(n_items, 2)) for e in edges if not d >> e & 1]


def tournament_wins(n_items: int) -> Ints:
    """Wins of every item in every tournament, shape (2^(n(n-1)/2), n)."""
    codes = np.arange(2 ** comb(n_items, 2))
    wins = np.zeros((codes.size, n_items), dtype=np.int64)
    for e, (i, j) in enumerate(combinations(range(n_items), 2)):
        won = codes >> e & 1
        wins[:, i] += won
        wins[:, j] += 1 - won
    return wins


def set_wins(wins: ArrayLike, k: int) -> Array:
    """Wins of every k-set, in the order of `sets_of`: a flip moves one of them by at most 1."""
    counts = np.asarray(wins, dtype=float)
    return np.asarray(counts[sets_of(counts.size, k)].sum(axis=1))


def rule_risk(rule: Callable[[Array], ArrayLike], n_items: int, k: int, delta: float) -> float:
    """Exact risk of a rule from win counts (n,) to the chances of all k-sets, as in `sets_of`."""
    law = tournament_law(two_level_probabilities(n_items, k, delta))
    wins = tournament_wins(n_items)
    # Renaming inside the set, or outside, changes nothing: sort the counts on either side.
    sorted_wins = np.concatenate([np.sort(wins[:, :k], axis=1), np.sort(wins[:, k:], axis=1)], 1)
    kinds, which = np.unique(sorted_wins, axis=0, return_inverse=True)
    chance = np.bincount(which.ravel(), law, len(kinds))
    right = np.array([np.asarray(rule(row.astype(float)))[0] for row in kinds])
    return float(1 - chance @ right)


def permute_and_flip_pmf(utilities: ArrayLike, sensitivity: float, epsilon: float) -> Array:
    """Exact law of permute-and-flip, which is epsilon-DP (McKenna and Sheldon 2020, Theorem 1).

    Candidates arrive in random order; the first whose coin shows heads, with chance
    p_i = exp(epsilon (u_i - max u) / (2 D)), is taken. Give each an independent uniform arrival
    time: candidate i is taken at time t if no other arrived before t with heads, so

        P(i) = p_i * integral over t in (0, 1) of the product over j != i of (1 - p_j t).

    The integrand is a polynomial of degree ``candidates - 1`` and positive; Gauss-Legendre with
    half as many nodes integrates it exactly (512 nodes reach rounding error for any number).
    """
    u = np.asarray(utilities)
    accept = np.exp(epsilon / (2 * sensitivity) * (u - u.max()))
    node, weight = roots_legendre(min(accept.size // 2 + 1, 512))
    law = np.zeros(accept.size)
    for t, w in zip((node + 1) / 2, weight / 2, strict=True):
        log_pass = np.log1p(-accept * t)
        law += w * np.exp(log_pass.sum() - log_pass)
    return np.asarray(law * accept)


def noisy_counts_risk(
    n_items: int, k: int, delta: float, scale: float, noise: str = "laplace"
) -> float:
    """Risk of the top k by noisy win counts."""
    rule = partial(top_k_pmf, k=k, scale=scale, noise=noise, underflow="zero")
    return rule_risk(rule, n_items, k, delta)


def free_optimum_risk(n_items: int, k: int, delta: float) -> float:
    """Smallest risk without any privacy: the Bayes rule under the uniform prior.

    The best set is one with the most wins over the rest; which of several does not matter.
    """

    def best(wins: Array) -> Array:
        score = set_wins(wins, k)
        highest = (score == score.max()).astype(float)
        return np.asarray(highest / highest.sum())

    return rule_risk(best, n_items, k, delta)


def randomised_response_risk(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """Risk of flipping every answer with chance 1 / (1 + e^epsilon) and then deciding best.

    The noisy answers follow the same family with advantage delta * tanh(epsilon / 2).
    """
    return free_optimum_risk(n_items, k, delta * float(np.tanh(epsilon / 2)))


def sharp_packing_bound(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """Packing bound: 1 - 1 / sum over S' of exp(-D(S', S)), with D from `product_log_ratio`."""
    hypotheses = _all_hypotheses(n_items, k, delta)
    return 1 - 1 / sum(exp(-product_log_ratio(q, hypotheses[0], epsilon)) for q in hypotheses)


def fano_bound(n_items: int, k: int, delta: float, epsilon: float) -> float:
    """DP Fano bound: 1 - (epsilon * mean coupling distance + log 2) / log(number of sets).

    Zero where it says nothing. The distance of two hypotheses is the expected number of answers
    that differ under the best coupling; privacy bounds the divergence of two outputs by epsilon
    times it.
    """
    hypotheses = _all_hypotheses(n_items, k, delta)
    distance = np.abs(hypotheses - hypotheses[0]).sum(axis=1).mean()
    return fano_error(len(hypotheses), epsilon * float(distance))


def _all_hypotheses(n_items: int, k: int, delta: float) -> Array:
    """Chances of the upper triangle for every true set, shape (sets, n(n-1)/2)."""
    at = np.triu_indices(n_items, 1)
    sets = sets_of(n_items, k)
    return np.array([two_level_probabilities(n_items, s, delta)[at] for s in sets])


def worst_risk(mechanism: OptimalMechanism, table: Array, delta: float) -> float:
    """Over all hypotheses, computed from a table of the same shape as the mechanism's."""
    law = tournament_law(two_level_probabilities(mechanism.n_items, mechanism.k or 1, delta))
    laws = [law[relabel(np.argsort(pi))] for pi in mechanism.outcomes]
    return max(float(1 - one @ chances) for one, chances in zip(laws, table.T, strict=True))


def blurred(mechanism: OptimalMechanism) -> Array:
    """Table of the mechanism when the data are renamed at random and the outcome is not."""
    names = permutations(range(mechanism.n_items))
    return np.asarray(np.mean([mechanism.table()[relabel(pi)] for pi in names], axis=0))


def half_noise_table(mechanism: OptimalMechanism, epsilon: float) -> Array:
    """Table of noisy counts with half of the noise that epsilon asks for."""
    wins = tournament_wins(mechanism.n_items).astype(float)
    k = mechanism.k or 1
    return np.array([top_k_pmf(row, k, scale=1 / epsilon, underflow="zero") for row in wins])


def ranking_row(n_items: int, epsilon: float) -> list[float]:
    """Sizes and risks for full rankings of items one unit of log-odds apart."""
    n = n_items
    rho = expit(np.arange(n) - np.arange(n)[:, None])
    law, wins = tournament_law(rho), tournament_wins(n)
    best = optimal_mechanism(rho, epsilon=epsilon)
    noisy = [ranking_pmf(row, scale=2 / epsilon)[0] for row in wins.astype(float)]
    laws = [law[relabel(np.argsort(pi))] for pi in all_rankings(n)]
    free = 1 - np.max(laws, axis=0).sum() / factorial(n)
    gap = best.risk - best.lower
    return [n, epsilon, best.weights.size, free, best.lower, gap, 1 - law @ noisy]


# The cube of tournaments on three items.

_KINDS = ("A first", "A in the middle", "in a cycle", "A last")


def draw_cube(ax: Axes, mechanism: OptimalMechanism) -> None:
    """Eight corners, one for each tournament; edges are flips, colours the chance of item A."""
    if (mechanism.n_items, mechanism.k) != (3, 1):
        raise ValueError("mechanism: allowed is one for the best of three items")
    chance, wins = mechanism.weights[mechanism.orbit], tournament_wins(3)
    cycles = (wins == 1).all(axis=1)
    bits = np.arange(8)[:, None] >> np.arange(3) & 1  # A beats B, A beats C, B beats C
    step = np.array([[1.5, 0.75], [1.5, -0.75], [0.75, 2.35]])
    x, y = (bits @ step + [0.5, 1.1]).T
    for d, other in flips(3):
        used_up = abs(np.log(chance[d] / chance[other])) > mechanism.loss - 1e-6
        ends = [x[d], x[other]], [y[d], y[other]]
        ax.plot(*ends, "-", color="black" if used_up else "#999999", lw=4 if used_up else 1.4)
    colours = mpl.colormaps["Blues"](0.05 + 0.6 * chance / chance.max())
    kinds = np.where(cycles, 2, np.array([3, 1, 0])[wins[:, 0]])
    for d, kind in enumerate(kinds.tolist()):
        _corner(ax, x[d], y[d], 38, colours[d], kind)
        name = "cycle" if cycles[d] else "".join("ABC"[i] for i in np.argsort(-wins[d]))
        ax.text(x[d], y[d], name, ha="center", va="center", zorder=4)
    ax.text(4.95, 4.5, "chance q of item A", va="center")
    for kind, words in enumerate(_KINDS):
        some, level = int((kinds == kind).argmax()), 3.85 - 0.75 * kind
        _corner(ax, 5.15, level, 24, colours[some], kind)
        ax.text(5.5, level, f"{words}:\n{chance[some]:.3f}", va="center")
    ax.plot([4.95, 5.35], [0.75, 0.75], "-", color="black", lw=4)
    ax.text(5.5, 0.75, "privacy\nused up", va="center")


def _corner(ax: Axes, x: float, y: float, size: float, color: Any, kind: int) -> None:
    size *= 0.8 if "oshD"[kind] == "D" else 1.0  # a diamond stands on its corner
    edge: dict[str, Any] = {"markeredgecolor": "black", "zorder": 3}
    ax.plot(x, y, "oshD"[kind], ms=size, color=color, **edge)
