"""Sphinx extension: the map of claims, a graphic for each paper and for each claim, with tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.supports import gives_way, repaired_words, upstream_words, users
from dpbook.book.sphinx.drawing import map_svg
from dpbook.book.sphinx.nodes import Row, badge_of, badge_ref, ledger_of, map_uri, table_of

_HEAD = ("Claim", "Rests on", "Used by", "Upstream")


class MapDirective(SphinxDirective):
    """``{claims-map} CCW25``: the graphic of a paper, and one for each of its claims."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        ledger = ledger_of(self.env)
        group = self.arguments[0].strip()
        mine = [claim for claim in ledger.values() if claim.group == group]
        if not mine:
            groups = dict.fromkeys(claim.group for claim in ledger.values())
            raise self.error(f"claims-map: {group!r} must be one of {', '.join(groups)}")
        outside = {name for claim in mine for name in claim.rests_on}
        shown = [n for n in ledger if n in outside or ledger[n].group == group]
        edges = [(support, claim.id) for claim in mine for support in claim.rests_on]
        title = f"Map of the claims: {group}"
        svg = map_svg(shown, ledger, self.uri, key="map", title=title, edges=edges)
        return [_raw(svg), *self.folded(mine), *map(self.section, mine)]

    def uri(self, name: str) -> str:
        """The address of the graphic around a claim."""
        return map_uri(self.env, ledger_of(self.env)[name])

    def folded(self, claims: Sequence[Claim]) -> list[nodes.Node]:
        """The facts of a graphic as a table, folded."""
        ledger = ledger_of(self.env)
        by = users(ledger)
        rows: list[Row] = [
            [
                [self.badge(claim)],
                self.badges(claim.rests_on),
                self.badges(by[claim.id]),
                upstream_words(claim, ledger) or repaired_words(claim, ledger),
            ]
            for claim in claims
        ]
        opening = _raw('<details class="claim-map-table"><summary>The same as a table</summary>')
        return [opening, table_of(_HEAD, rows, "claims-map"), _raw("</details>")]

    def section(self, claim: Claim) -> nodes.section:
        """One claim with its supports and its users."""
        ledger = ledger_of(self.env)
        by = users(ledger)[claim.id]
        section = nodes.section(ids=[f"map-{claim.id}"], names=[f"map-{claim.id}".lower()])
        section += nodes.title("", claim.id)
        section += nodes.paragraph("", "", badge_ref(claim))
        names = [*claim.rests_on, claim.id, *by]
        edges = [(support, claim.id) for support in claim.rests_on]
        edges += [(claim.id, user) for user in by]
        if edges:
            about = {"key": f"map-{claim.id}", "title": f"Around {claim.id}", "centre": claim.id}
            section += _raw(map_svg(names, ledger, self.uri, **about, edges=edges))
        for words, others in (("Rests on", claim.rests_on), ("Used by", by)):
            shown = self.badges(others) or [nodes.Text("nothing else in the ledger")]
            section += nodes.paragraph("", "", nodes.strong(text=f"{words}: "), *shown)
        for told in filter(None, (repaired_words(claim, ledger), upstream_words(claim, ledger))):
            section += nodes.paragraph("", told, classes=["claim-upstream"])
        return section

    def badge(self, claim: Claim) -> nodes.Element:
        return badge_of(claim, self.uri(claim.id))

    def badges(self, names: Sequence[str]) -> list[nodes.Node]:
        ledger = ledger_of(self.env)
        return [n for name in names for n in (nodes.Text(" "), self.badge(ledger[name]))][1:]


class UpstreamDirective(MapDirective):
    """``{claims-upstream}``: where supports fail, counted for each paper, and in words."""

    required_arguments = 0
    final_argument_whitespace = False

    def run(self) -> list[nodes.Node]:
        ledger = ledger_of(self.env)
        rows: list[Row] = []
        for group in dict.fromkeys(claim.group for claim in ledger.values()):
            mine = [claim for claim in ledger.values() if claim.group == group]
            found = [gives_way(claim, ledger) for claim in mine]
            shielded = [up.shielded for up in found if up]
            mended = sum(bool(repaired_words(claim, ledger)) for claim in mine)
            counts = [shielded.count(False), shielded.count(True), mended]
            uri = map_uri(self.env, mine[0]).partition("#")[0]
            name = nodes.reference("", group, refuri=uri, internal=True)
            lines = sum(len(claim.rests_on) for claim in mine)
            rows.append([[name], str(len(mine)), str(lines), *map(str, counts)])
        head = ("Map", "claims", "supports", "support fails", "fails further up", "uses a repair")
        told: list[Row] = [
            [[self.badge(claim)], words]
            for claim in ledger.values()
            if (words := upstream_words(claim, ledger) or repaired_words(claim, ledger))
        ]
        opening = _raw('<details class="claim-map-table"><summary>All, in words</summary>')
        table = table_of(("Claim", "Upstream"), told, "claims-told")
        return [table_of(head, rows, "claims-upstream"), opening, table, _raw("</details>")]


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("claims-map", MapDirective)
    app.add_directive("claims-upstream", UpstreamDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
