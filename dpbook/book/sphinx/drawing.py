"""The map of claims as a vector graphic: boxes with sign and words of the verdict, and links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.supports import GIVES_WAY, gives_way
from dpbook.book.ledger.words import PRIVACY_MARK, STATES
from dpbook.book.sphinx.layers import Point, layered

#: Pixels: width of a letter of the name and of other text, distance of two lines, room around.
_BOLD, _LETTER, _LINE, _ROOM = 8.6, 7.2, 16.0, 9.0
_MARGIN = 6.0


def map_svg(
    names: Sequence[str],
    ledger: Mapping[str, Claim],
    uri: Callable[[str], str],
    *,
    key: str,
    title: str,
    centre: str | None = None,
    edges: Iterable[tuple[str, str]] | None = None,
) -> str:
    """A graphic of some claims, each box a link; edges go from a support to what rests on it.

    The links follow each other from supports to what rests on them.  `key` makes ids that no other
    graphic of the page has; `edges` are by default all between the `names`.
    """
    lines = {name: _lines(ledger[name], ledger) for name in names}
    sizes = {name: (_width(texts), _LINE * len(texts) + _ROOM) for name, texts in lines.items()}
    if edges is None:
        edges = [(s, name) for name in names for s in ledger[name].rests_on if s in lines]
    edges = list(edges)
    found = layered(sizes, edges)
    width, height = found.width + 2 * _MARGIN, found.height + 2 * _MARGIN
    box = f"{-_MARGIN:g} {-_MARGIN:g} {width:g} {height:g}"
    counts = (
        f"{len(names)} claim{'s' * (len(names) != 1)}, {len(edges)} line{'s' * (len(edges) != 1)}"
    )
    described = f"{counts}, each from a claim to one that rests on it, to the right."
    html = [
        '<div class="claim-map">',  # scrolls sideways, by its links too
        f'<svg role="group" viewBox="{box}" width="{width:g}" height="{height:g}" '
        f'aria-labelledby="{escape(key)}-title {escape(key)}-desc">',
        f'<title id="{escape(key)}-title">{escape(title)}</title>',
        f'<desc id="{escape(key)}-desc">{escape(described)}</desc>',
    ]
    for one, other in edges:
        state = ledger[one].state
        kind = f"claim-edge claim-{state}" + " claim-weak" * (state in GIVES_WAY)
        html.append(f'<path class="{kind}" d="{_curve(found.edges[one, other])}"/>')
    ends = (found.edges[edge][-1] for edge in edges)
    heads = "".join(f"M{x:g} {y:g}l-7 -4v8z" for x, y in ends)
    html += [f'<path class="claim-heads" d="{heads}"/>'] if heads else []
    order = sorted(names, key=lambda n: (found.boxes[n][0], found.boxes[n][1], n))
    for name in order:
        inside = _box(lines[name], found.boxes[name], ledger[name], ledger, name == centre)
        words = escape(", ".join(lines[name]))
        html.append(f'<a href="{escape(uri(name))}" aria-label="{words}">{inside}</a>')
    return "\n".join([*html, "</svg>", "</div>"])


def _width(texts: Sequence[str]) -> int:
    name, *others = texts
    return round(max(_BOLD * len(name), *(_LETTER * len(t) for t in others)) + 2 * _ROOM)


def _lines(claim: Claim, ledger: Mapping[str, Claim]) -> list[str]:
    """The text of a box: id, verdict, and what is broken in it or upstream."""
    mark, words = STATES[claim.state]
    texts = [claim.id, f"{mark} {words}", *[PRIVACY_MARK] * claim.breaks_privacy]
    if up := gives_way(claim, ledger):
        where = "upstream" if up.shielded else "rests on"
        texts.append(f"! {where} {STATES[up.state][0]} {up.name}")
    return texts


def _box(
    texts: Sequence[str],
    place: tuple[float, float, float, float],
    claim: Claim,
    ledger: Mapping[str, Claim],
    centre: bool,
) -> str:
    x, y, width, height = place
    kind = f"claim-node claim-{claim.state}" + " claim-centre" * centre
    html = [f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>']
    if up := gives_way(claim, ledger):
        at = f'x="{x - 3:g}" y="{y - 3:g}" width="{width + 6:g}" height="{height + 6:g}"'
        kind = f"claim-tint claim-{up.state}" + " claim-shielded" * up.shielded
        html.append(f'<rect class="{kind}" {at}/>')
    for number, text in enumerate(texts, start=1):
        weight = " claim-name" if number == 1 else ""
        at = f'x="{x + _ROOM:g}" y="{y + _LINE * number:g}"'
        html.append(f'<text class="claim-{claim.state}{weight}" {at}>{escape(text)}</text>')
    return "".join(html)


def _curve(points: Sequence[Point]) -> str:
    """Level where a column is passed, a curve between two columns."""
    (x, y), *rest = points
    told = f"M{x:g} {y:g}"
    for number, (to_x, to_y) in enumerate(rest):
        if number % 2:
            told += f"H{to_x:g}"
        else:
            half = (x + to_x) / 2
            told += f"C{half:g} {y:g} {half:g} {to_y:g} {to_x:g} {to_y:g}"
        x, y = to_x, to_y
    return told
