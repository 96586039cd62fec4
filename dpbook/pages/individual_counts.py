"""Page 11: laws of few people listed, losses of a set of two items, exact failures, drawings."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from scipy.stats import binom

from dpbook.book import figures
from dpbook.models import two_level_probabilities
from dpbook.privacy import MechanismReport, Person, check_mechanism, top_k_law

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Pairs = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
KAPPA = 4 * (np.cosh(1) - 1)

# ------------------------------------------------------------------ the design


def degree_error(
    n: int, people: int, per_person: int, of_item: float = 2, distinct: bool = False
) -> float:
    """Distance of the laws of one pair's and one item's comparisons from the binomial ones.

    All that the people may be asked is listed; a draw hits a given item with chance of_item / n.
    ``distinct``: no pair twice by the same person.
    """
    pairs = range(n * (n - 1) // 2)
    one: list[tuple[int, ...]] = list(
        permutations(pairs, per_person) if distinct else product(pairs, repeat=per_person)
    )
    drawn = np.array([sum(bundles, ()) for bundles in product(one, repeat=people)])
    draws, grid = people * per_person, np.arange(people * per_person + 1)
    error = 0.0
    chances = of_item / (n * (n - 1)), of_item / n
    for hits, chance in zip((drawn == 0, drawn < n - 1), chances, strict=True):  # pair 0; item 0
        law = np.bincount(hits.sum(axis=1, dtype=np.intp), minlength=draws + 1) / len(drawn)
        error = max(error, float(np.abs(law - binom.pmf(grid, draws, chance)).max()))
    return error


def bundle_pairs(n: int, **design: Any) -> Pairs:
    """Two bundles of one person, the first of them descending: renaming the items loses nothing."""
    bundles = Person(n, **design).contributions()
    descending = bundles[(np.diff(bundles, axis=1) <= 0).all(axis=1)]
    return [(x, y) for x in descending for y in bundles]


def farthest(n: int, design: str) -> float:
    """Largest l1 distance of two bundles, by search."""
    bundles = Person(n, design=design).contributions()
    descending = bundles[(np.diff(bundles, axis=1) <= 0).all(axis=1)]
    return float(cdist(descending, bundles, "cityblock").max())


# ------------------------------------------------------------------ losses of a set


def tail(d: Any, b: float) -> Array:
    """P(W_1 - W_0 >= d) for two Laplace variables of scale b."""
    half = np.exp(-np.abs(d) / b) * (1 + np.abs(d) / (2 * b)) / 2
    return np.where(d >= 0, half, 1 - half)


def set_loss(m: float, a: float) -> float:
    """Loss of the released set of two items and m people, in closed form; a = L / b."""
    if m == 1:
        return float(np.log((1 - tail(1.0, 1 / a)) / tail(1.0, 1 / a)))
    return float(2 * a - np.log1p(2 * a / (2 + (m - 2) * a)))


def enumerated(
    n: int, k: int, L: int, m: int, b: float, eps: float | None = None, noise: str = "laplace"
) -> MechanismReport:
    """The same by quadrature over all reachable counts of m people."""
    pairs = list(Person(n, L, users=m).neighbours())
    return check_mechanism(lambda c: top_k_law(c, k, scale=b, noise=noise), pairs, epsilon=eps)


def least_scale(m: float, eps: float) -> float:
    """Smallest private b eps / L for the set of two items."""
    return float(brentq(lambda s: set_loss(m, eps / s) - eps, 0.2, 2))


def set_profile(scale: float, eps: Array, m: int, L: int) -> Array:
    """Profile of the set of two items when one of m people turns round L answers."""
    d = np.arange(-m * L, m * L + 1, 2)
    d = d[d - 2 * L >= -m * L][:, None]
    gain = tail(d - 2 * L, scale) - np.exp(eps) * tail(d, scale)
    return np.asarray(np.maximum(gain, 0).max(axis=0))


# ------------------------------------------------------------------ failures


def walk_law(step: Any, draws: int) -> Array:
    """Law of a sum of independent steps in {-1, 0, 1}: positive terms only."""
    law = np.ones(1)
    for bit in f"{draws:b}":
        law = np.convolve(law, law)
        law = np.convolve(law, step) if bit == "1" else law
    return law


def grid_point(
    n: int, L: int, m: int, c: float, r: float, busy: bool
) -> dict[str | int, float] | None:
    """Exact failures of a pair over the printed bound and over the bounds with constants.

    r is the noise term over the sampling term; the keys 1 and 2 are scales in units of L / eps, and
    10 and 20 ten times these against the same bounds.
    """
    sampling = np.sqrt(n * np.log(n) / m)
    eps, gap, pairs = sampling / r, c * sampling * (1 + r), n * (n - 1) / 2
    mean = n * gap / pairs
    spread = min((2 * n - 3) / pairs, 2 * (n - 1) / pairs - mean) if busy else (n - 1) / pairs
    if gap > 1 - 1 / n or spread < mean:
        return None
    law = walk_law([(spread - mean) / 2, 1 - spread, (spread + mean) / 2], m * L)
    d = np.arange(-m * L, m * L + 1)
    C, deviation = 2 * L * c * n / (n - 1), np.sqrt(m * np.log(n) / n)
    printed = law[d <= m * L * mean - C * deviation].sum() / n ** -(C**2)
    sides = {f: 16 / 9 * n ** -min(c / f, c**2 * L / KAPPA) for f in (1, 2)}
    noises = ((f, more * f) for f in sides for more in (1, 10))
    return {"printed": printed} | {f: law @ tail(d, f * L / eps) / sides[of] for of, f in noises}


def pair_failure(gap: float, scale: float, draws: int, n: int, k: int) -> float:
    """P(an item of the top set does not lead one outside), two levels of strength.

    By Fourier, with an absolute error of about 1e-12.
    """
    wins = two_level_probabilities(n, k, gap).sum(axis=1) - 0.5
    up, down = wins[0] / (n * (n - 1) / 2), wins[-1] / (n * (n - 1) / 2)
    law = np.fft.ifft(np.fft.fft([down, 1 - up - down, up], 2 * draws + 1) ** draws).real
    chance = float(law @ tail(np.arange(-draws, draws + 1), scale or 1e-6))
    return min(max(chance, 0.0), 1.0)


def ladder_fails(n: int, people: int, eps: float, scale: float) -> float:
    """Sum of the failures of all pairs of a ladder, one comparison each."""
    pairs, total = n * (n - 1) / 2, 0.0
    for a, b in combinations(range(n), 2):
        up, down = (n - 1 - a) / pairs, (n - 1 - b) / pairs
        law = walk_law([down, 1 - up - down, up], people)
        total += float(law @ tail(np.arange(-people, people + 1), scale / eps))
    return total


# ------------------------------------------------------------------ drawings


def draw_move(ax: Axes, L: int) -> None:
    """Four bars of wins; one person turns L answers from item B to item C."""
    items, before = np.arange(4), np.array([3.4, 2.6, 1.9, 1.1]) * L
    moves = np.array([0, -L, L, 0])
    after = before + moves
    ax.bar(items, np.minimum(before, after), width=0.5, color="#cccccc")
    ax.set(ylim=(0, 4.6 * L), yticks=[], ylabel="wins", xlim=(-0.5, 3.5))
    ax.set_xticks(items, [f"item {name}" for name in "ABCD"])
    ax.grid(visible=False)
    for item in np.flatnonzero(moves).tolist():
        low, high = sorted((before[item], after[item]))
        ax.bar(item, high - low, 0.5, low, color="white", edgecolor="black", linestyle="--")
        arrow = {"arrowstyle": "-|>", "color": "black", "lw": 2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (item, after[item]), (item, before[item]), arrowprops=arrow)
        sign = "+" if moves[item] > 0 else "−"
        ax.text(item, high + 0.1 * L, f"{sign}L = {sign}{L}", ha="center", va="bottom")
    total = int(np.abs(moves).sum())
    ax.set_title(f"one person turns L = {L} answers: L + L = 2L = {total} wins move")


def draw_noise(ax: Axes, L: int, epsilon: float) -> None:
    """The density of the noise on one count, as printed and as it must be."""
    x = np.linspace(-6, 6, 601) * L / epsilon
    looks = {"printed": (1, "-", 0.55), "right": (2, "--", 2.2)}
    for role, (factor, dash, at) in looks.items():
        b = factor * L / epsilon
        color = figures.ROLES[role]
        ax.plot(x, np.exp(-np.abs(x) / b) / (2 * b), dash, color=color)
        place = (at * L / epsilon, np.exp(-at / factor) / (2 * b))
        words = f"{role}: scale {'L/ε' if factor == 1 else '2L/ε'}"
        near: dict[str, Any] = {"xytext": (8, 4), "textcoords": "offset points"}
        ax.annotate(words, place, color=figures.ink(color), **near)
    ax.set(yticks=[], ylim=(0, None), xlabel="noise added to each count (wins)", ylabel="density")
