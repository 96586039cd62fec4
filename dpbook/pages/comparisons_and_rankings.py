"""Page 03: the Plackett-Luce model (Luce, 1959), lists that rules allow, shapes of its map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from dpbook.models import all_rankings

Places = NDArray[Any]


def plackett_luce_rankings(
    theta: ArrayLike, users: int, *, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Sample rankings built from the top, each next item with odds exp(theta): positions.

    The order of independent arrival times log E_i - theta_i, E_i standard exponential, has the
    Plackett-Luce law. Any two items compare as in the Bradley-Terry-Luce model.
    Idealised sampler (floating point).
    """
    strengths = np.asarray(theta, dtype=float)
    arrival = rng.standard_exponential((users, strengths.size))
    # A draw of exactly 0 has log -inf, an arrival before all others, as it should be.
    with np.errstate(divide="ignore"):
        orders = np.argsort(np.log(arrival) - strengths, axis=1)
    return np.argsort(orders, axis=1)


def plackett_luce_pmf(theta: ArrayLike) -> NDArray[np.float64]:
    """Exact law of `plackett_luce_rankings`, over `all_rankings`."""
    strengths = np.asarray(theta, dtype=float)
    listed = strengths[np.argsort(all_rankings(strengths.size), axis=1)]
    left = np.logaddexp.accumulate(listed[:, ::-1], axis=1)[:, ::-1]
    return np.exp((listed - left).sum(axis=1))


def kwiksort_comparisons(
    counts: NDArray[Any], *, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """`kwiksort_ranking` of counts without ties, and the pairs it compares, the pivot first."""
    placed: list[int] = []
    pairs: list[tuple[int, int]] = []
    parts = [rng.permutation(len(counts)).tolist()]
    while parts:
        part = parts.pop()
        if len(part) < 2:
            placed += part
            continue
        pivot, *others = part
        pairs += [(pivot, item) for item in others]
        after = [item for item in others if counts[pivot, item] > counts[item, pivot]]
        parts += [after, [pivot], [item for item in others if item not in after]]
    return np.argsort(placed), np.array(pairs, dtype=np.int64).reshape(-1, 2)


# Orders of three items, best first, such that neighbours differ by one exchange.
RING = [(0, 1, 2), (1, 0, 2), (1, 2, 0), (2, 1, 0), (2, 0, 1), (0, 2, 1)]


def ring_law(lists: Places, masses: ArrayLike) -> NDArray[np.float64]:
    """Law of the order of three items around the ring, from positions and their masses."""
    law = dict.fromkeys(RING, 0.0)
    for row, mass in zip(lists, np.asarray(masses), strict=True):
        law[tuple(np.argsort(row).tolist())] += float(mass)
    return np.array([law[order] for order in RING])


def in_order(positions: Places, labels: Sequence[Any], sep: str = " > ") -> str:
    """Write a ranking as its items, best first."""
    return sep.join(str(labels[k]) for k in np.argsort(positions))


def flat(stack: NDArray[Any]) -> NDArray[np.float32]:
    """Return one row for each matrix; floats multiply faster."""
    return stack.reshape(len(stack), -1).astype(np.float32)


def allowed_lists(n: int, m: int) -> tuple[Places, Places, dict[str, NDArray[np.bool_]]]:
    """Profiles of m people, the first with list 0: all lists, the others' lists, allowed lists.

    For each rule, entry [profile, list] says whether some way to break ties gives the list.
    """
    lists = all_rankings(n)
    one = flat(lists[:, :, None] < lists[:, None, :])
    others = np.array(list(combinations_with_replacement(range(len(lists)), m - 1)))
    total = one[0] + sum(one[others[:, u]] for u in range(m - 1))
    cost = total @ flat(lists[:, :, None] > lists[:, None, :]).T
    square = total.reshape(-1, n, n)
    majority = np.sign(square - np.swapaxes(square, 1, 2))

    def by(scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Lists that never put a smaller score before a larger one."""
        return flat(scores[:, :, None] < scores[:, None, :]) @ one.T == 0

    sets = {"Borda": by(square.sum(2)), "Copeland": by(majority.sum(2))}
    sets["Kemeny"] = cost == cost.min(axis=1, keepdims=True)
    return lists, others, sets


def apart(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Profiles for which no list, or no winner, is allowed by both."""
    return np.logical_not((first & second).any(axis=1))


def first_places(lists: Places, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Items that the allowed lists of each profile put first."""
    weight: NDArray[np.float32] = allowed.astype(np.float32) @ (lists == 0)
    return np.asarray(weight > 0)


def pattern_counts(signs: Sequence[int]) -> NDArray[np.float64]:
    """Three people's worth of a pattern of majorities: 3 : 0, a draw, or 0 : 3."""
    counts = np.full((3, 3), 1.5)
    for (i, j), s in zip(combinations(range(3), 2), signs, strict=True):
        counts[i, j], counts[j, i] = 1.5 + 1.5 * s, 1.5 - 1.5 * s
    return counts


def is_circle(signs: Sequence[int]) -> bool:
    """Whether the majorities 0 : 1, 0 : 2, 1 : 2 go round."""
    return tuple(signs) in ((1, -1, 1), (-1, 1, -1))


Port = tuple[float, float]


def box(
    ax: Any,
    x: float,
    y: float,
    width: float,
    height: float,
    title: str,
    text: str,
    colour: str,
    size: float = 9.5,
) -> tuple[Port, Port]:
    """Draw a named box with lines of text; return the middles of its left and right sides."""
    frame = Rectangle((x, y), width, height, facecolor="white", edgecolor=colour, lw=1.8)
    ax.add_patch(frame)
    head = to_rgba(colour, 0.35)
    ax.add_patch(Rectangle((x, y + height - 0.08), width, 0.08, fc=head, ec=colour, lw=1.8))
    ax.text(x + 0.012, y + height - 0.041, title, weight="bold", va="center")
    ax.text(x + 0.012, y + height - 0.11, text, va="top", size=size, linespacing=1.45)
    return (x, y + height / 2), (x + width, y + height / 2)


def flow(ax: Any, start: Port, end: Port) -> None:
    """Draw an arrow between two boxes."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#444444", "lw": 1.5})


def counts_text(counts: NDArray[np.int64], names: Sequence[str]) -> str:
    """Write a table of counts in a fixed-width font."""
    lines = ["before".ljust(8) + "".join(name.rjust(7) for name in names)]
    for i, name in enumerate(names):
        row = ("·" if i == j else str(counts[i, j]) for j in range(len(names)))
        lines.append(name.ljust(8) + "".join(entry.rjust(7) for entry in row))
    return "\n".join(lines)
