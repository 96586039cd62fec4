"""A small layout of a graph without circles, in columns: every edge goes to the right."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

Size = tuple[float, float]
Point = tuple[float, float]
Edge = tuple[str, str]
# A box, or the place in a column where longer edges pass: the box they come from, and the column.
_Node = Hashable

#: Pixels between columns, between two boxes of a column, and around an edge that passes.
BETWEEN, APART, PASSAGE = 56.0, 14.0, 7.0
_ROUNDS = 12


@dataclass(frozen=True)
class Layout:
    """Boxes as (left, top, width, height), edges as points from box to box, and the size.

    An edge is a list of points: it is level between the second and the third, the fourth and the
    fifth and so on, where it passes a column, and within the space between two columns else.
    """

    boxes: Mapping[str, tuple[float, float, float, float]]
    edges: Mapping[Edge, Sequence[Point]]
    width: float
    height: float


def layered(sizes: Mapping[str, Size], edges: Sequence[Edge], across: float = 900) -> Layout:
    """Boxes of at least the given sizes in columns, each to the right of all that lead to it.

    The boxes of a column are of one width, so that no edge passes behind one.  Parts that no edge
    joins stand below each other, the largest first; boxes without any edge come last, in lines of
    at most `across` pixels.  The edges must not go in a circle.
    """
    boxes: dict[str, tuple[float, float, float, float]] = {}
    lines: dict[Edge, list[Point]] = {}
    width = top = height = 0.0
    parts = _parts(list(sizes), edges)
    for part in sorted((p for p in parts if len(p) > 1), key=len, reverse=True):
        mine = [edge for edge in edges if edge[0] in part]
        found = _part({name: sizes[name] for name in part}, mine)
        boxes |= {n: (x, y + top, w, h) for n, (x, y, w, h) in found.boxes.items()}
        lines |= {edge: [(x, y + top) for x, y in found.edges[edge]] for edge in mine}
        width, height = max(width, found.width), top + found.height
        top = height + 2 * APART
    left, tallest = 0.0, 0.0
    for name in [part[0] for part in parts if len(part) == 1]:
        w, h = sizes[name]
        if left and left + w > max(across, width):
            left, tallest, top = 0.0, 0.0, top + tallest + APART
        boxes[name] = (left, top, w, h)
        width, left, tallest = max(width, left + w), left + w + APART, max(tallest, h)
        height = top + tallest
    return Layout(boxes, lines, width, height)


def _parts(names: Sequence[str], edges: Sequence[Edge]) -> list[list[str]]:
    """The parts that edges hold together, each in the order of the names."""
    head = {name: name for name in names}
    for one, other in edges:
        old, new = head[other], head[one]
        head = {name: new if top == old else top for name, top in head.items()}
    return [[n for n in names if head[n] == top] for top in dict.fromkeys(head.values())]


def _columns(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The column of each box: beyond all that lead to it, a beginning next to what it leads to."""
    column = dict.fromkeys(names, 0)
    for _ in names:
        for one, other in edges:
            column[other] = max(column[other], column[one] + 1)
    ends = {other for _, other in edges}
    for name in set(names) - ends:
        column[name] = min(column[other] for one, other in edges if one == name) - 1
    return column


def _part(sizes: Mapping[str, Size], edges: Sequence[Edge]) -> Layout:
    column = _columns(list(sizes), edges)
    sized: dict[_Node, Size] = {name: size for name, size in sizes.items()}
    columns: list[list[_Node]] = [[] for _ in range(max(column.values()) + 1)]
    for name in sizes:
        columns[column[name]].append(name)
    routes: dict[Edge, list[_Node]] = {}
    for edge in edges:
        passed = [(edge[0], at) for at in range(column[edge[0]] + 1, column[edge[1]])]
        for passage in passed:
            if passage not in sized:  # edges from one box share their way
                columns[passage[1]].append(passage)
                sized[passage] = (0.0, PASSAGE)
        routes[edge] = [edge[0], *passed, edge[1]]
    steps = list(dict.fromkeys(step for route in routes.values() for step in pairwise(route)))
    columns = _ordered(columns, steps)
    middles = _middles(columns, steps, sized)
    lefts, widths, at = [], [], 0.0
    for nodes in columns:
        lefts.append(at)
        widths.append(max(sized[node][0] for node in nodes))
        at += widths[-1] + BETWEEN
    top = min(middles[n] - sized[n][1] / 2 for n in middles)
    middles = {node: round(y - top, 1) for node, y in middles.items()}
    boxes = {}
    for name, (_, h) in sizes.items():
        here = column[name]
        boxes[name] = (lefts[here], round(middles[name] - h / 2, 1), widths[here], h)
    lines: dict[Edge, list[Point]] = {}
    for edge, route in routes.items():
        points = [(lefts[column[edge[0]]] + widths[column[edge[0]]], middles[edge[0]])]
        for at_column, node in enumerate(route[1:-1], start=column[edge[0]] + 1):
            right = lefts[at_column] + widths[at_column]
            points += [(lefts[at_column], middles[node]), (right, middles[node])]
        lines[edge] = [*points, (lefts[column[edge[1]]], middles[edge[1]])]
    height = max(y + h for _, y, _, h in boxes.values())
    return Layout(boxes, lines, at - BETWEEN, max(height, *middles.values()))


def _neighbours(steps: Sequence[tuple[_Node, _Node]]) -> tuple[dict[_Node, list[_Node]], ...]:
    before: dict[_Node, list[_Node]] = {}
    after: dict[_Node, list[_Node]] = {}
    for one, other in steps:
        before.setdefault(other, []).append(one)
        after.setdefault(one, []).append(other)
    return before, after


def _ordered(columns: list[list[_Node]], steps: Sequence[tuple[_Node, _Node]]) -> list[list[_Node]]:
    """Columns reordered by the mean place of the neighbours, to and fro; the fewest crossings."""
    before, after = _neighbours(steps)
    best, fewest = columns, _crossings(columns, steps)
    for turn in range(_ROUNDS):
        near = before if turn % 2 == 0 else after
        place = {node: at for nodes in columns for at, node in enumerate(nodes)}
        made: dict[int, list[_Node]] = {}
        indices = range(len(columns)) if turn % 2 == 0 else range(len(columns) - 1, -1, -1)
        for index in indices:
            beside = {node: [place[n] for n in near.get(node, [node])] for node in columns[index]}
            means = {node: sum(places) / len(places) for node, places in beside.items()}
            made[index] = sorted(columns[index], key=means.__getitem__)  # stable
            place |= {node: at for at, node in enumerate(made[index])}
        columns = [made[index] for index in range(len(columns))]
        if (count := _crossings(columns, steps)) < fewest:
            best, fewest = columns, count
    return best


def _crossings(columns: Sequence[Sequence[_Node]], steps: Sequence[tuple[_Node, _Node]]) -> int:
    place = {node: (col, at) for col, nodes in enumerate(columns) for at, node in enumerate(nodes)}
    found = 0
    for column in range(len(columns) - 1):
        ends = sorted((place[a][1], place[b][1]) for a, b in steps if place[a][0] == column)
        found += sum(one[1] > other[1] for one, other in combinations(ends, 2))
    return found


def _middles(
    columns: Sequence[Sequence[_Node]],
    steps: Sequence[tuple[_Node, _Node]],
    sized: Mapping[_Node, Size],
) -> dict[_Node, float]:
    """Heights of the middles: near those of the neighbours, and no boxes closer than `APART`."""
    before, after = _neighbours(steps)
    middle: dict[_Node, float] = {}
    for nodes in columns:
        middle |= _spaced(nodes, dict.fromkeys(nodes, 0.0), sized)
    for turn in range(_ROUNDS):
        for nodes in columns if turn % 2 == 0 else columns[::-1]:
            near = {n: [*before.get(n, ()), *after.get(n, ())] for n in nodes}
            wanted = {n: sum(middle[m] for m in near[n]) / len(near[n]) for n in nodes}
            middle |= _spaced(nodes, wanted, sized)
    return middle


def _spaced(
    nodes: Sequence[_Node], wanted: Mapping[_Node, float], sized: Mapping[_Node, Size]
) -> dict[_Node, float]:
    """The heights nearest to the wanted ones, in squares, that keep the order and the distances."""
    offset, offsets = 0.0, []
    for at, node in enumerate(nodes):
        if at:
            one, other = sized[nodes[at - 1]], sized[node]
            offset += (one[1] + other[1]) / 2 + (APART if one[0] and other[0] else PASSAGE / 2)
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []  # mean and number of those that stand shoulder to shoulder
    for node, shift in zip(nodes, offsets, strict=True):
        block = (wanted[node] - shift, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, count = blocks.pop()
            both = count + block[1]
            block = ((mean * count + block[0] * block[1]) / both, both)
        blocks.append(block)
    levels = [mean for mean, count in blocks for _ in range(count)]
    return {n: level + o for n, level, o in zip(nodes, levels, offsets, strict=True)}
