"""Sphinx extension: plans for reading groups from ``book/plans.yml``, and a hand-out a session.

Reading times are counted in the pages, and the claims of a session come from the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes

from dpbook.book.pages import PageError
from dpbook.book.reading import minutes
from dpbook.book.sphinx import nodes as own
from dpbook.book.sphinx.exercises import exercise_minutes
from dpbook.book.sphinx.front import page_link

FILE = "book/plans.yml"
_FACTS = {"In the papers": "papers", "What you should know": "know", "Bring": "bring"}
_FACTS |= {"Question to prepare": "question", "Exercise for the meeting": "exercise"}
_FIELDS = {"title", "pages", "more", *_FACTS.values()}

Session = dict[str, Any]
Plan = dict[str, Any]


def load_plans(root: Path) -> tuple[list[Plan], list[str]]:
    """The plans, with a session in the place of its number, and the optional pages.

    `PageError` if a session lacks a field, or a page is unknown, missing or placed twice.
    """
    content = yaml.safe_load((root / FILE).read_text(encoding="utf-8"))
    plans, optional = content["plans"], content["optional"]
    first = plans[0]["sessions"]
    for plan in plans:
        plan["sessions"] = [first[s - 1] if isinstance(s, int) else s for s in plan["sessions"]]
        for number, session in enumerate(plan["sessions"], 1):
            session.setdefault("more", [])  # pages for whoever wants more
            if odd := _FIELDS ^ session.keys():
                where = f"{FILE}: {plan['name']}, session {number}"
                raise PageError(f"{where}: check the field {', '.join(sorted(odd))}")
    known = {path.stem for path in (root / "notebooks").glob("*.ipynb")}
    placed = Counter([*optional, *(page for s in first for page in (*s["pages"], *s["more"]))])
    used = placed.keys() | {page for plan in plans for s in plan["sessions"] for page in s["pages"]}
    for problem, names in (
        ("is no page", used - known),
        ("stands in no plan and is not optional", known - placed.keys()),
        ("is placed twice", {page for page, count in placed.items() if count > 1}),
    ):
        if names:
            raise PageError(f"{FILE}: {min(names)} {problem}")
    return plans, optional


class PlanDirective(own.ClaimsDirective):
    """``{reading-plan} Ten meetings``: the sessions of one plan; ``optional`` for what is left."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        plans, optional = self.plans()
        if self.arguments[0] == "optional":
            return self.parse_text_to_nodes(f"{roles('page', optional)}.")
        plan = self.named({plan["name"]: plan for plan in plans})
        times = [self.minutes(session) for session in plan["sessions"]]
        rows = [
            [
                f"{number}. {session['title']}",
                self.inline(roles("page", (f"!{name}" for name in session["pages"]))),
                str(time),
                session["papers"],
                self.inline(session["question"]),
                self.inline(roles("page", (f"!{name}" for name in session["more"]))) or "–",
            ]
            for number, (session, time) in enumerate(zip(plan["sessions"], times, strict=True), 1)
        ]
        head = ("Session", "Pages", "Minutes", "In the papers", "Question to prepare", "For more")
        words = f"{plan['about']} Reading takes {sum(times)} minutes in all, without exercises."
        return [*self.parse_text_to_nodes(words), own.table_of(head, rows, "reading-plan")]

    def plans(self) -> tuple[list[Plan], list[str]]:
        """The plans and the optional pages; the page depends on them."""
        self.env.note_dependency(str(Path(self.env.srcdir, FILE)))
        return load_plans(Path(self.env.srcdir))

    def named(self, choices: dict[str, Any]) -> Any:
        if self.arguments[0] not in choices:
            raise self.error(f"{self.arguments[0]!r} must be one of {', '.join(choices)}")
        return choices[self.arguments[0]]

    def minutes(self, session: Session, count: Callable[[Any], int] = minutes) -> int:
        """Minutes for reading the pages of a session once."""
        return sum(count(page_link(self.env, name)[1]) for name in session["pages"])


class HandoutsDirective(PlanDirective):
    """``{handouts}``: a sheet for each session of every plan; each begins a printed page."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        sheets: list[nodes.Node] = []
        for plan in self.plans()[0]:
            for number, session in enumerate(plan["sessions"], 1):
                name = plan["name"] + f", {number}" * (len(plan["sessions"]) > 1)
                sheets.append(self.sheet(f"{name}: {session['title']}", session))
        return sheets

    def sheet(self, title: str, session: Session) -> nodes.section:
        """One hand-out: what to read, facts, badges of the papers' claims, lines for notes."""
        pages, others = (roles("page", names) for names in (session["pages"], session["more"]))
        facts = {"Read before": f"{pages} ({self.minutes(session)} minutes)"}
        facts |= {"For more": others, **{term: session[name] for term, name in _FACTS.items()}}
        claims = [c for c in self.load()[0].values() if c.checked and c.paper != "BOOK"]
        names = [claim.id for claim in claims if claim.notebook in session["pages"]]
        facts["Claims on these pages"] = roles("badge", names, " ")
        listed = [f"{term}\n: {' '.join(text.split())}" for term, text in facts.items() if text]
        notes = f'<div class="handout-notes" aria-hidden="true">{7 * "<hr>"}</div>'
        parsed = self.parse_text_to_nodes("\n\n".join(listed))
        parsed[0]["classes"] = ["handout-facts"]
        end = nodes.raw("", notes, format="html")
        sheet = own.chapter(nodes.make_id(title), title, *parsed, end)
        sheet["classes"] = ["handout"]
        return sheet


class SessionDirective(PlanDirective):
    """``{session} TITLE``: for whoever teaches a session, its times and its question."""

    def run(self) -> list[nodes.Node]:
        session = self.named({s["title"]: s for plan in self.plans()[0] for s in plan["sessions"]})
        words = f"{roles('page', session['pages'])}: {self.minutes(session)} minutes to read"
        if solving := self.minutes(session, exercise_minutes):
            words += f", {solving} for the exercises there"
        text = f"**Time.** {words}.\n\n**Question.** {session['question']}"
        return self.parse_text_to_nodes(text)


def roles(kind: str, names: Iterable[str], between: str = ", ") -> str:
    """Some pages or claims as Markdown."""
    return between.join(f"{{{kind}}}`{name}`" for name in names)
