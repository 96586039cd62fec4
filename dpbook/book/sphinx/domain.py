"""The domain of claims: references to them, from this book and, by intersphinx, from others.

``{badge}`CCW25-T3.3``` names a claim and its state, ``{verdict}`` gives the state alone; both lead
to the row of the ledger.  ``{claim-ref}`` leads to the box of the claim.  Another book writes
``{claim:ref}`` with the address of this one in ``intersphinx_mapping``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole

from dpbook.book.ledger import words as report
from dpbook.book.ledger.claims import Claim
from dpbook.book.sphinx import nodes as own


class ClaimRole(XRefRole):
    """A reference to a claim by its id, perhaps with words of its own: ``words <ID>``."""

    def __init__(self, kind: str) -> None:
        super().__init__(warn_dangling=True)
        self.kind = kind

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """As a role of the domain, whatever its name."""
        own.ledger_of(self.env)  # the page depends on it
        self.name = f"claim:{self.kind}"
        return super().run()


class ClaimDomain(Domain):
    """Claims as objects: each stands in a box of its page, below its check, or in the ledger."""

    name, label = "claim", "Claims"
    object_types = {"statement": ObjType("statement", "ref", "badge", "verdict")}  # noqa: RUF012
    roles = {kind: ClaimRole(kind) for kind in ("ref", "badge", "verdict")}  # noqa: RUF012
    initial_data: dict[str, Any] = {"boxes": {}, "cards": {}}  # noqa: RUF012

    def note(self, kind: str, claim: str) -> None:
        """Remember that the page being read has the box, or the card, of a claim."""
        self.data[kind][claim] = self.env.docname

    def clear_doc(self, docname: str) -> None:
        """Forget what a page had."""
        for kind in ("boxes", "cards"):
            kept = {name: at for name, at in self.data[kind].items() if at != docname}
            self.data[kind] = kept

    def merge_domaindata(self, docnames: Any, otherdata: dict[str, Any]) -> None:
        """What another process read."""
        for kind in ("boxes", "cards"):
            found = {name: at for name, at in otherdata[kind].items() if at in docnames}
            self.data[kind] |= found

    def where(self, claim: Claim) -> tuple[str, str]:
        """Page and anchor of a claim: its box, its card, or its row."""
        for kind, prefix in (("boxes", "box"), ("cards", "claim")):
            if docname := self.data[kind].get(claim.id):
                return docname, f"{prefix}-{claim.id}"
        return own.LEDGER, f"ledger-{claim.id}"

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """What the inventory and the search know: the id, and the own.place in the paper."""
        for claim in own.ledger_of(self.env, reading=False).values():
            docname, anchor = self.where(claim)
            if docname in self.env.found_docs:
                yield claim.id, f"{claim.id}: {own.place(claim)}", "statement", docname, anchor, 1

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: addnodes.pending_xref,
        contnode: nodes.Element,
    ) -> nodes.reference | None:
        """The link; None, so that Sphinx warns, if there is no such claim."""
        if (claim := own.ledger_of(env, reading=False).get(target)) is None:
            return None
        page, anchor = own.LEDGER, f"ledger-{claim.id}"
        if typ == "ref" and target in self.data["boxes"]:
            page, anchor = self.where(claim)
        uri = f"{builder.get_relative_uri(fromdocname, page)}#{anchor}"
        if typ == "badge":
            return own.badge_of(claim, uri)
        words = own.place(claim) if typ == "ref" else report.state_words(claim)
        return own.link_to(contnode.astext() if node["refexplicit"] else words, uri)

    def resolve_any_xref(self, *_: Any) -> list[Any]:
        """Ids are found by the roles of this domain only."""
        return []
