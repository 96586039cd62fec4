"""The map of claims: a graphic for each paper, boxes in columns, and a section for each claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import fmean
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.supports import GIVES_WAY, gives_way, repaired_words, upstream_words, users
from dpbook.book.ledger.words import PRIVACY_MARK, STATES
from dpbook.book.sphinx import nodes as own

Sizes = Mapping[str, tuple[float, float]]
Box = tuple[float, float, float, float]  # left, top, width, height
Edge = tuple[str, str]
Layout = tuple[dict[str, Box], dict[Edge, list[tuple[float, float]]]]
Node = str | tuple[str, int]  # a box, or where lines from a box pass a column

#: Pixels between columns, between two boxes of a column, and around a line that passes.
BETWEEN, APART, PASSAGE = 56.0, 14.0, 7.0


def layered(sizes: Sizes, edges: Sequence[Edge], across: float = 900) -> Layout:
    """Boxes of at least the given sizes, each to the right of all that lead to it; and the lines.

    The boxes of a column are of one width, so that no line, level where it passes a column, goes
    behind one.  Boxes without any line come last, in rows of about `across` pixels.  Lines must
    not go in a circle.
    """
    joined = {name: sizes[name] for name in sizes if any(name in edge for edge in edges)}
    boxes, lines = _columns(joined, edges) if edges else ({}, {})
    top = max((y + height + 2 * APART for _, y, _, height in boxes.values()), default=0.0)
    alone = [name for name in sizes if name not in joined]
    wide, tall = (max((sizes[name][i] for name in alone), default=0.0) for i in (0, 1))
    row = max(1, int(across // (wide + APART)))
    for at, name in enumerate(alone):
        left = at % row * (wide + APART)
        boxes[name] = (left, top + at // row * (tall + APART), wide, sizes[name][1])
    return boxes, lines


def _columns(sizes: Sizes, edges: Sequence[Edge]) -> Layout:
    """Columns, each ordered by the mean height of the neighbours before it, then after it."""
    supports = {name: [one for one, other in edges if other == name] for name in sizes}
    column: dict[Node, int] = {}
    for name in TopologicalSorter(supports).static_order():
        column[name] = max((column[one] + 1 for one in supports[name]), default=0)
    for name in sizes:  # a beginning stands next to what it leads to
        if not supports[name]:
            column[name] = min(column[other] for one, other in edges if one == name) - 1
    routes: dict[Edge, list[Node]] = {}
    for one, other in edges:
        passed = {(one, at): at for at in range(column[one] + 1, column[other])}
        column |= passed
        routes[one, other] = [one, *passed, other]
    tall = {n: sizes[n][1] + APART if isinstance(n, str) else PASSAGE for n in column}
    columns = [[n for n in column if column[n] == at] for at in range(max(column.values()) + 1)]
    steps = dict.fromkeys(step for route in routes.values() for step in pairwise(route))
    before = {node: [one for one, other in steps if other == node] for node in column}
    after = {node: [other for one, other in steps if one == node] for node in column}
    middle = dict.fromkeys(column, 0.0)
    for stack in columns:
        middle |= _stacked(stack, tall, middle)
    for near, turn in 2 * ((before, 1), (after, -1)):
        for stack in columns[::turn]:
            wanted = {n: fmean([middle[m] for m in near[n]] or [middle[n]]) for n in stack}
            stack.sort(key=wanted.__getitem__)
            middle |= _stacked(stack, tall, wanted)
    top = min(middle[node] - tall[node] / 2 for node in column)
    middle = {node: round(y - top) for node, y in middle.items()}
    wide = [max(sizes[n][0] for n in stack if isinstance(n, str)) for stack in columns]
    left = [sum(wide[:at]) + BETWEEN * at for at in range(len(wide))]
    boxes = {
        name: (left[column[name]], middle[name] - height / 2, wide[column[name]], height)
        for name, (_, height) in sizes.items()
    }
    sides = {
        n: [(left[at] + part, middle[n]) for part in (0, wide[at])] for n, at in column.items()
    }
    return boxes, {e: [p for n in route for p in sides[n]][1:-1] for e, route in routes.items()}


def _stacked(
    stack: Sequence[Node], tall: Mapping[Node, float], wanted: Mapping[Node, float]
) -> dict[Node, float]:
    """Middles of a column near the wanted ones: the mean of pushing down and of pushing up."""
    middle = dict.fromkeys(stack, 0.0)
    for sign in (1, -1):
        end = -float("inf")
        for node in stack[::sign]:
            at = max(sign * wanted[node], end + tall[node] / 2)
            end, middle[node] = at + tall[node] / 2, middle[node] + sign * at / 2
    return middle


def map_svg(
    names: Sequence[str],
    ledger: Mapping[str, Claim],
    uri: Callable[[str], str],
    title: str,
    edges: Sequence[Edge],
) -> str:
    """A graphic of some claims, each box a link; edges go from a support to what rests on it."""
    texts = {name: _texts(ledger[name], ledger) for name in names}
    boxes, lines = layered({name: _size(texts[name]) for name in names}, edges)
    width, height = (max(box[i] + box[i + 2] for box in boxes.values()) for i in (0, 1))
    height = max(height, *(y for line in lines.values() for _, y in line), 0)
    shown: dict[str, Any] = {"width": width, "height": height, "title": title}
    shown["lines"] = [(ledger[one].state, _curve(line)) for (one, _), line in lines.items()]
    shown["ends"] = dict.fromkeys(line[-1] for line in lines.values())
    shown["boxes"] = [
        (boxes[name], ledger[name].state, texts[name], uri(name), gives_way(ledger[name], ledger))
        for name in sorted(names, key=boxes.__getitem__)
    ]
    return own.rendered("map.svg", gives_way=GIVES_WAY, **shown)


def _texts(claim: Claim, ledger: Mapping[str, Claim]) -> list[str]:
    """The text of a box: id, verdict, and what is broken in it or upstream."""
    texts = [claim.id, " ".join(STATES[claim.state]), *[PRIVACY_MARK] * claim.breaks_privacy]
    if up := gives_way(claim, ledger):
        where = "upstream" if up.shielded else "rests on"
        texts.append(f"! {where} {STATES[up.state][0]} {up.name}")
    return texts


def _size(texts: Sequence[str]) -> tuple[float, float]:
    """Room for a name of 8.6 pixels a letter, and for lines of 7.2 a letter, 16 apart."""
    return round(max(8.6 * len(texts[0]), 7.2 * max(map(len, texts[1:]))) + 18), 16 * len(texts) + 9


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """A curve between two columns, level where a column is passed."""
    path = ""
    for (x, y), (to_x, to_y) in zip(points[::2], points[1::2], strict=True):
        half = (x + to_x) / 2
        path += f"{'L' if path else 'M'}{x:g} {y:g}"
        path += f"C{half:g} {y:g} {half:g} {to_y:g} {to_x:g} {to_y:g}"
    return path


class MapDirective(SphinxDirective):
    """``{claims-map} CCW25``: the graphic of a paper, its table, and a section for each claim."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.ledger = own.ledger_of(self.env)
        self.by = users(self.ledger)
        group = self.arguments[0]
        claims = [claim for claim in self.ledger.values() if claim.group == group]
        if not claims:
            groups = dict.fromkeys(claim.group for claim in self.ledger.values())
            raise self.error(f"claims-map: {group!r} must be one of {', '.join(groups)}")
        edges = [(support, claim.id) for claim in claims for support in claim.rests_on]
        ends = {name for edge in edges for name in edge} | {claim.id for claim in claims}
        names = [name for name in self.ledger if name in ends]
        svg = map_svg(names, self.ledger, self.uri, f"Map of the claims: {group}", edges)
        head = ("Claim", "Rests on", "Used by", "Upstream")
        rows: list[own.Row] = [
            [
                [self.badge(claim.id)],
                self.badges(claim.rests_on),
                self.badges(self.by[claim.id]),
                self.words(claim),
            ]
            for claim in claims
        ]
        caption = "What the claims rest on, and what they are used by"
        table = own.table_of(head, rows, "claims-map", caption)
        opening = [nodes.raw("", svg, format="html"), *folded("The same as a table", table)]
        return [*opening, *map(self.section, claims)]

    def section(self, claim: Claim) -> nodes.section:
        opening = nodes.paragraph("", "", own.badge_ref(claim))
        section = own.chapter(f"map-{claim.id}", claim.id, opening)
        for words, others in (("Rests on", claim.rests_on), ("Used by", self.by[claim.id])):
            shown = self.badges(others) or [nodes.Text("nothing else in the ledger")]
            section += own.labelled(f"{words}: ", shown)
        for about in (repaired_words, upstream_words):
            if words := about(claim, self.ledger):
                section += nodes.paragraph("", words, classes=["claim-upstream"])
        return section

    def words(self, claim: Claim) -> str:
        """What fails upstream of a claim, or which repair it uses."""
        return upstream_words(claim, self.ledger) or repaired_words(claim, self.ledger)

    def uri(self, name: str) -> str:
        return own.map_uri(self.env, self.ledger[name])

    def badge(self, name: str) -> nodes.Element:
        return own.badge_of(self.ledger[name], self.uri(name))

    def badges(self, names: Sequence[str]) -> list[nodes.Node]:
        return [n for name in names for n in (nodes.Text(" "), self.badge(name))][1:]


class UpstreamDirective(MapDirective):
    """``{claims-upstream}``: where supports fail, counted for each paper, and in words."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        self.ledger = own.ledger_of(self.env)
        groups: dict[str, list[Claim]] = {}
        for claim in self.ledger.values():
            groups.setdefault(claim.group, []).append(claim)
        rows: list[own.Row] = []
        for group, claims in groups.items():
            shielded = [up.shielded for c in claims if (up := gives_way(c, self.ledger))]
            link = own.link_to(group, self.uri(claims[0].id).partition("#")[0])
            supports = sum(len(claim.rests_on) for claim in claims)
            mended = sum(bool(repaired_words(claim, self.ledger)) for claim in claims)
            counts = (len(claims), supports, shielded.count(False), shielded.count(True), mended)
            rows.append([[link], *map(str, counts)])
        head = ("Map", "claims", "supports", "support fails", "fails indirectly", "uses correction")
        in_words: list[own.Row] = [
            [[self.badge(claim.id)], words]
            for claim in self.ledger.values()
            if (words := self.words(claim))
        ]
        table = own.table_of(
            ("Claim", "Upstream"),
            in_words,
            "claims-told",
            "What fails upstream of each claim",
        )
        return [
            own.table_of(head, rows, "claims-upstream", "Where supports fail"),
            *folded("The same in words", table),
        ]


def folded(summary: str, table: nodes.Element) -> list[nodes.Node]:
    opening = f'<details class="claim-map-table"><summary>{summary}</summary>'
    raw = [nodes.raw("", html, format="html") for html in (opening, "</details>")]
    return [raw[0], table, raw[1]]
