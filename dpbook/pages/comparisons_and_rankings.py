"""Page 03: the Plackett-Luce model (Luce, 1959), lists that rules allow, its drawings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from dpbook.estimators import kendall_distance
from dpbook.models import all_rankings

Places = NDArray[Any]
GREY = "#444444"


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
    """`kwiksort_rankings` of counts without ties, and the pairs it compares, the pivot first."""
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
    before = lists[:, :, None] < lists[:, None, :]
    one, size = flat(before), comb(len(lists) + m - 2, m - 1)
    chosen = combinations_with_replacement(range(len(lists)), m - 1)
    others = np.fromiter(chain.from_iterable(chosen), np.intp, size * (m - 1)).reshape(size, m - 1)
    # A rule sees how many put i before j: one number for each profile, and ruled on once.
    i, j = np.triu_indices(n, 1)
    place = np.int64(m + 1) ** np.arange(i.size, dtype=np.int64)
    code = before[:, i, j] @ place
    seen, which = np.unique(code[0] + code[others].sum(axis=1), return_inverse=True)
    square = np.zeros((len(seen), n, n), dtype=np.float32)
    square[:, i, j] = seen[:, None] // place % (m + 1)
    square[:, j, i] = m - square[:, i, j]
    cost = flat(square) @ flat(before.swapaxes(1, 2)).T
    majority = np.sign(square - np.swapaxes(square, 1, 2))

    def by(scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Lists that never put a smaller score before a larger one."""
        return flat(scores[:, :, None] < scores[:, None, :]) @ one.T == 0

    sets = {"Borda": by(square.sum(2)), "Copeland": by(majority.sum(2))}
    sets["Kemeny"] = cost == cost.min(axis=1, keepdims=True)
    return lists, others, {rule: allowed[which] for rule, allowed in sets.items()}


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
    **look: Any,
) -> tuple[Port, Port]:
    """Draw a named box with lines of text, in inches; return the middles of its top and bottom."""
    frame = Rectangle((x, y), width, height, facecolor="white", edgecolor=colour, lw=1.8)
    ax.add_patch(frame)
    head = to_rgba(colour, 0.35)
    ax.add_patch(Rectangle((x, y + height - 0.34), width, 0.34, fc=head, ec=colour, lw=1.8))
    ax.text(x + 0.1, y + height - 0.18, title, weight="bold", va="center")
    ax.text(x + 0.1, y + height - 0.43, text, va="top", linespacing=1.4, **look)
    return (x + width / 2, y + height), (x + width / 2, y)


def flow(ax: Any, start: Port, end: Port, **look: Any) -> None:
    """Draw an arrow between two boxes."""
    given = {"arrowstyle": "-|>", "color": GREY, "lw": 1.5} | look
    ax.annotate("", end, start, arrowprops=given)


def counts_text(counts: NDArray[np.int64], names: Sequence[str]) -> str:
    """Write a table of counts in a fixed-width font."""
    lines = ["before".ljust(7) + "".join(name.rjust(7) for name in names)]
    for i, name in enumerate(names):
        row = ("·" if i == j else str(counts[i, j]) for j in range(len(names)))
        lines.append(name.ljust(7) + "".join(entry.rjust(7) for entry in row))
    return "\n".join(lines)


def draw_hexagon(ax: Any) -> None:
    """Draw the ring of the lists of three items, with their distances from the first."""
    positions = np.argsort(np.array(RING), axis=1)
    distances = kendall_distance(positions, positions[0])
    angle = np.pi / 2 + np.arange(6) * np.pi / 3
    corners = np.column_stack([3.5 + 1.9 * np.cos(angle), 1.95 + 1.45 * np.sin(angle)])
    ax.plot(*corners[[0, 1, 2, 3, 4, 5, 0]].T, color="#bbbbbb", lw=2, linestyle="-")
    shades = colormaps["viridis_r"](0.1 + 0.2 * np.arange(4))
    for spot, order, distance in zip(corners, RING, distances.tolist(), strict=True):
        ax.plot(*spot, "o", ms=30, color="white", mec=shades[distance], mew=3)
        ax.text(*spot, str(distance), ha="center", va="center", weight="bold")
        right = spot[0] > 3.4
        words = "".join("abc"[k] for k in order)
        side = "left" if right else "right"
        ax.text(spot[0] + (0.35 if right else -0.35), spot[1], words, ha=side, va="center")


def draw_circle(ax: Any, names: Sequence[str], counts: NDArray[Any], circle: Sequence[int]) -> None:
    """Draw three items, each of which beats the next one, with the answers for both."""
    spots = np.array([[3.5, 2.85], [5.8, 0.45], [1.2, 0.45]])
    for at, item in enumerate(circle):
        other, end = circle[(at + 1) % 3], spots[(at + 1) % 3]
        room = 56 if spots[at, 1] == end[1] else 24  # beside a name, or above one
        flow(ax, tuple(spots[at]), tuple(end), shrinkA=room, shrinkB=room, lw=2.2)
        ax.text(*spots[at], names[item], ha="center", va="center", weight="bold")
        middle = (spots[at] + end) / 2 + [(0.55, 0.1), (0, 0.2), (-0.55, 0.1)][at]
        votes = f"{counts[item, other]:g} : {counts[other, item]:g}"
        ax.text(*middle, votes, ha="center", va="center")


def draw_kwiksort(
    ax: Any, positions: NDArray[np.intp], pairs: NDArray[np.int64], names: Sequence[str]
) -> None:
    """Draw the comparisons of one run as a tree; an item stands in the row of its position."""
    parents: dict[int, list[int]] = {item: [] for item in range(len(names))}
    for pivot, item in pairs.tolist():
        parents[item].append(pivot)
    depth = {item: len(above) for item, above in parents.items()}
    step = 5.6 / max(depth.values())
    top = 0.46 * (len(names) - 1) + 0.3
    spots = {item: (0.75 + step * depth[item], top - 0.46 * int(positions[item])) for item in depth}
    for item, above in parents.items():
        if above:
            (x, y), (to_x, to_y) = spots[above[-1]], spots[item]
            ax.plot([x, x, to_x], [y, to_y, to_y], color=GREY, lw=1.6, linestyle="-", zorder=1)
    inner = set(pairs[:, 0].tolist())
    for item, spot in spots.items():
        frame = {"facecolor": "white", "edgecolor": GREY, "boxstyle": "round,pad=0.25"}
        weight = "bold" if item in inner else "normal"
        ax.text(*spot, names[item], ha="center", va="center", bbox=frame, weight=weight)
