"""Sphinx extension: the map of claims, a graphic for each paper, with a section for each claim."""

from __future__ import annotations

from collections.abc import Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.supports import gives_way, repaired_words, upstream_words, users
from dpbook.book.sphinx.drawing import map_svg
from dpbook.book.sphinx.nodes import (
    Row,
    badge_of,
    badge_ref,
    chapter,
    labelled,
    ledger_of,
    link_to,
    map_uri,
    table_of,
)


class MapDirective(SphinxDirective):
    """``{claims-map} CCW25``: the graphic of a paper, its table, and a section for each claim."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.ledger = ledger_of(self.env)
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
        rows: list[Row] = [
            [
                [self.badge(claim.id)],
                self.badges(claim.rests_on),
                self.badges(self.by[claim.id]),
                self.words(claim),
            ]
            for claim in claims
        ]
        table = folded("The same as a table", table_of(head, rows, "claims-map"))
        return [nodes.raw("", svg, format="html"), *table, *map(self.section, claims)]

    def section(self, claim: Claim) -> nodes.section:
        """One claim with its supports and its users."""
        opening = nodes.paragraph("", "", badge_ref(claim))
        section = chapter(f"map-{claim.id}", claim.id, opening)
        for words, others in (("Rests on", claim.rests_on), ("Used by", self.by[claim.id])):
            shown = self.badges(others) or [nodes.Text("nothing else in the ledger")]
            section += labelled(f"{words}: ", shown)
        for about in (repaired_words, upstream_words):
            if words := about(claim, self.ledger):
                section += nodes.paragraph("", words, classes=["claim-upstream"])
        return section

    def words(self, claim: Claim) -> str:
        """What fails upstream of a claim, or which repair it uses."""
        return upstream_words(claim, self.ledger) or repaired_words(claim, self.ledger)

    def uri(self, name: str) -> str:
        """The address of the section of a claim."""
        return map_uri(self.env, self.ledger[name])

    def badge(self, name: str) -> nodes.Element:
        return badge_of(self.ledger[name], self.uri(name))

    def badges(self, names: Sequence[str]) -> list[nodes.Node]:
        return [n for name in names for n in (nodes.Text(" "), self.badge(name))][1:]


class UpstreamDirective(MapDirective):
    """``{claims-upstream}``: where supports fail, counted for each paper, and in words."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        self.ledger = ledger_of(self.env)
        groups: dict[str, list[Claim]] = {}
        for claim in self.ledger.values():
            groups.setdefault(claim.group, []).append(claim)
        rows: list[Row] = []
        for group, claims in groups.items():
            shielded = [up.shielded for c in claims if (up := gives_way(c, self.ledger))]
            link = link_to(group, self.uri(claims[0].id).partition("#")[0])
            supports = sum(len(claim.rests_on) for claim in claims)
            mended = sum(bool(repaired_words(claim, self.ledger)) for claim in claims)
            counts = (len(claims), supports, shielded.count(False), shielded.count(True), mended)
            rows.append([[link], *map(str, counts)])
        head = ("Map", "claims", "supports", "support fails", "fails further up", "uses a repair")
        in_words: list[Row] = [
            [[self.badge(claim.id)], words]
            for claim in self.ledger.values()
            if (words := self.words(claim))
        ]
        table = table_of(("Claim", "Upstream"), in_words, "claims-told")
        return [table_of(head, rows, "claims-upstream"), *folded("All, in words", table)]


def folded(summary: str, table: nodes.Element) -> list[nodes.Node]:
    opening = f'<details class="claim-map-table"><summary>{summary}</summary>'
    raw = [nodes.raw("", html, format="html") for html in (opening, "</details>")]
    return [raw[0], table, raw[1]]
