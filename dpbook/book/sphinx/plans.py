"""Sphinx extension: plans for reading groups from ``book/plans.yml``, and a hand-out a session.

Reading times are counted in the pages, and the claims of a session come from the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from dpbook.book.ledger.claims import Claim
from dpbook.book.pages import PageError
from dpbook.book.reading import minutes
from dpbook.book.sphinx.exercises import exercise_minutes
from dpbook.book.sphinx.front import page_link
from dpbook.book.sphinx.nodes import ClaimsDirective, badge_ref, table_of

FILE = "book/plans.yml"
_FIELDS = {"title", "pages", "papers", "know", "bring", "question", "exercise"}
_FACTS = {"In the papers": "papers", "What you should know": "know", "Bring": "bring"}
_FACTS |= {"Question to prepare": "question", "Exercise for the meeting": "exercise"}
_LINES = 7  # for notes, at the foot of a hand-out

Session = dict[str, Any]
Plan = dict[str, Any]


def load_plans(root: Path) -> tuple[list[Plan], list[str]]:
    """The plans, with a session in the place of its number, and the optional pages.

    Raises
    ------
    PageError
        If a session lacks a field, or a page is unknown, missing or placed twice.
    """
    found = yaml.safe_load((root / FILE).read_text(encoding="utf-8"))
    plans, optional = found["plans"], found["optional"]
    first = plans[0]["sessions"]
    for plan in plans:
        plan["sessions"] = [first[s - 1] if isinstance(s, int) else s for s in plan["sessions"]]
        for number, session in enumerate(plan["sessions"], 1):
            if session.keys() - {"more"} != _FIELDS:
                odd = ", ".join(sorted(_FIELDS ^ (session.keys() - {"more"})))
                raise PageError(f"{FILE}: {plan['name']}, session {number}: check the field {odd}")
    known = {path.stem for path in (root / "notebooks").glob("*.ipynb")}
    placed = Counter([*optional, *(page for s in first for page in (*s["pages"], *more(s)))])
    used = placed.keys() | {page for plan in plans for s in plan["sessions"] for page in s["pages"]}
    for problem, names in (
        ("is no page", used - known),
        ("stands in no plan and is not optional", known - placed.keys()),
        ("is placed twice", {page for page, count in placed.items() if count > 1}),
    ):
        if names:
            raise PageError(f"{FILE}: {sorted(names)[0]} {problem}")
    return plans, optional


def more(session: Session) -> list[str]:
    """Pages for whoever wants more."""
    return list(session.get("more", ()))


class PlanDirective(ClaimsDirective):
    """What the directives share: the plans, and pages with their minutes."""

    def plans(self) -> tuple[list[Plan], list[str]]:
        """The plans and the optional pages; the page depends on them."""
        self.env.note_dependency(str(Path(self.env.srcdir, FILE)))
        return load_plans(Path(self.env.srcdir))

    def pages(self, names: Sequence[str], number_only: bool = False) -> list[nodes.Node]:
        """Links to some pages, with a comma between."""
        shown: list[nodes.Node] = []
        for name in names:
            link, _ = page_link(self.env, name, number_only=number_only)
            shown += [nodes.Text(", "), link] if shown else [link]
        return shown

    def time(self, names: Sequence[str]) -> int:
        """Minutes for reading some pages once."""
        return sum(minutes(page_link(self.env, name)[1]) for name in names)


class ReadingPlanDirective(PlanDirective):
    """``{reading-plan} Ten meetings``: the sessions of one plan; ``optional`` for what is left."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        plans, optional = self.plans()
        if self.arguments[0] == "optional":
            return [nodes.paragraph("", "", *self.pages(optional), nodes.Text("."))]
        by_name = {plan["name"]: plan for plan in plans}
        if self.arguments[0] not in by_name:
            raise self.error(f"no plan {self.arguments[0]!r}; there are {', '.join(by_name)}")
        plan = by_name[self.arguments[0]]
        rows = [
            [
                f"{number}. {session['title']}",
                self.pages(session["pages"], number_only=True),
                str(self.time(session["pages"])),
                session["papers"],
                self.inline(session["question"]),
                self.pages(more(session), number_only=True) or "–",
            ]
            for number, session in enumerate(plan["sessions"], 1)
        ]
        head = ("Session", "Pages", "Minutes", "In the papers", "Question to prepare", "For more")
        table = table_of(head, rows, "reading-plan")
        total = sum(self.time(session["pages"]) for session in plan["sessions"])
        words = f"{plan['about']} Reading takes {total} minutes in all, without exercises."
        return [nodes.paragraph("", "", *self.inline(words)), table]


class HandoutsDirective(PlanDirective):
    """``{handouts}``: a sheet for each session of every plan; each begins a printed page."""

    def run(self) -> list[nodes.Node]:
        ledger, _ = self.load()
        shown: list[nodes.Node] = []
        for plan in self.plans()[0]:
            many = len(plan["sessions"]) > 1
            for number, session in enumerate(plan["sessions"], 1):
                name = plan["name"] + f", {number}" * many
                shown.append(self.sheet(f"{name}: {session['title']}", session, ledger))
        return shown

    def sheet(self, title: str, session: Session, ledger: dict[str, Claim]) -> nodes.section:
        """One hand-out."""
        sheet = nodes.section(
            ids=[nodes.make_id(title)], names=[title.lower()], classes=["handout"]
        )
        sheet += nodes.title(text=title)
        read = self.pages(session["pages"])
        read += [nodes.Text(f" ({self.time(session['pages'])} minutes)")]
        facts = {"Read before": read, "For more": self.pages(more(session))}
        facts |= {term: self.inline(session[field]) for term, field in _FACTS.items()}
        facts["Claims on these pages"] = list(self.claims(session, ledger))
        listed = nodes.definition_list(classes=["handout-facts"])
        for term, inside in facts.items():
            if inside:
                definition = nodes.definition("", nodes.paragraph("", "", *inside))
                listed += nodes.definition_list_item("", nodes.term(text=term), definition)
        notes = '<div class="handout-notes" aria-hidden="true">' + "<hr>" * _LINES + "</div>"
        sheet += [listed, nodes.raw("", notes, format="html")]
        return sheet

    def claims(self, session: Session, ledger: dict[str, Claim]) -> Iterator[nodes.Node]:
        """The badges of the claims that these pages check, those of the papers only."""
        for claim in ledger.values():
            here = claim.checked and claim.notebook in session["pages"]
            if here and claim.paper != "BOOK":
                yield from (badge_ref(claim), nodes.Text(" "))


class TaughtDirective(PlanDirective):
    """``{session} TITLE``: for whoever teaches a session, its times and its question."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        by_title = {s["title"]: s for plan in self.plans()[0] for s in plan["sessions"]}
        if self.arguments[0] not in by_title:
            raise self.error(f"no session {self.arguments[0]!r}; there are {', '.join(by_title)}")
        session = by_title[self.arguments[0]]
        pages = [page_link(self.env, name)[1] for name in session["pages"]]
        words = f": {sum(map(minutes, pages))} minutes to read"
        if solving := sum(map(exercise_minutes, pages)):
            words += f", {solving} for the exercises there"
        time = [nodes.strong(text="Time. "), *self.pages(session["pages"]), nodes.Text(f"{words}.")]
        asked = [nodes.strong(text="Question. "), *self.inline(session["question"])]
        return [nodes.paragraph("", "", *time), nodes.paragraph("", "", *asked)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("reading-plan", ReadingPlanDirective)
    app.add_directive("handouts", HandoutsDirective)
    app.add_directive("session", TaughtDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
