"""Sphinx extension: plans for reading groups from ``book/plans.yml``, and a hand-out a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes

from dpbook.book.pages import PageError
from dpbook.book.sphinx import nodes as own

FILE = "book/plans.yml"
_FACTS = {"In the papers": "papers", "What you should know": "know", "Please bring": "bring"}
_FACTS |= {"Question to prepare": "question", "Exercise for the meeting": "exercise"}
_FACTS |= {"If time is short": "skip"}
_FIELDS = {"title", "pages", "more", "minutes", "claims", *_FACTS.values()}

Session = dict[str, Any]
Plan = dict[str, Any]


def load_plans(root: Path) -> list[Plan]:
    """The plans, in which a number means a session of the first plan.

    `PageError` if a session lacks a field, or a page is unknown, in no plan, or twice in the first.
    """
    plans: list[Plan] = yaml.safe_load((root / FILE).read_text(encoding="utf-8"))["plans"]
    first = plans[0]["sessions"]
    for plan in plans:
        plan["sessions"] = [first[s - 1] if isinstance(s, int) else s for s in plan["sessions"]]
        for number, session in enumerate(plan["sessions"], 1):
            session.setdefault("more", [])  # pages for readers who want more
            if odd := _FIELDS ^ session.keys():
                where = f"{FILE}: {plan['name']}, session {number}"
                raise PageError(f"{where}: check the field {', '.join(sorted(odd))}")
    known = {path.stem for path in (root / "notebooks").glob("*.ipynb")}
    used = {p for plan in plans for s in plan["sessions"] for p in (*s["pages"], *s["more"])}
    count = Counter(page for s in first for page in (*s["pages"], *s["more"]))
    for problem, names in (
        ("is no page", used - known),
        ("is in no plan", known - used),
        ("is placed twice", {page for page, times in count.items() if times > 1}),
    ):
        if names:
            raise PageError(f"{FILE}: {min(names)} {problem}")
    return plans


class PlanDirective(own.ClaimsDirective):
    """``{reading-plan} Ten meetings``: the sessions of one plan."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        plan = self.named({plan["name"]: plan for plan in self.plans()})
        rows = [
            [
                f"{number}. {session['title']}",
                self.inline(links(f"!{name}" for name in session["pages"])),
                str(session["minutes"]),
                session["papers"],
                self.inline(session["question"]),
                self.inline(links(f"!{name}" for name in session["more"])) or "–",
            ]
            for number, session in enumerate(plan["sessions"], 1)
        ]
        head = ("Session", "Pages", "Minutes", "In the papers", "Question to prepare", "For more")
        return [*self.parse_text_to_nodes(plan["about"]), own.table_of(head, rows, "reading-plan")]

    def plans(self) -> list[Plan]:
        """The plans; the page depends on them."""
        self.env.note_dependency(str(Path(self.env.srcdir, FILE)))
        return load_plans(Path(self.env.srcdir))

    def named(self, choices: dict[str, Any]) -> Any:
        if self.arguments[0] not in choices:
            raise self.error(f"{self.arguments[0]!r} must be one of {', '.join(choices)}")
        return choices[self.arguments[0]]


class HandoutsDirective(PlanDirective):
    """``{handouts}``: a sheet for each session of every plan; each begins a printed page."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        sheets: list[nodes.Node] = []
        done: list[Session] = []
        for plan in self.plans():
            for number, session in enumerate(plan["sessions"], 1):
                name = plan["name"] + f", {number}" * (len(plan["sessions"]) > 1)
                if session not in done:  # a plan may repeat sessions of the first
                    sheets.append(self.sheet(f"{name}: {session['title']}", session))
                    done.append(session)
        return sheets

    def sheet(self, title: str, session: Session) -> nodes.section:
        """One hand-out: what to read, facts, claims in words, lines for notes."""
        pages, others = map(links, (session["pages"], session["more"]))
        facts = {"Read before": pages, "Time": f"{session['minutes']} minutes"}
        facts |= {"For more": others, **{term: session[name] for term, name in _FACTS.items()}}
        listed = [f"{term}\n: {' '.join(text.split())}" for term, text in facts.items() if text]
        notes = f'<div class="handout-notes" aria-hidden="true">{7 * "<hr>"}</div>'
        parsed = self.parse_text_to_nodes("\n\n".join(listed))
        parsed[0]["classes"] = ["handout-facts"]
        items = [nodes.list_item("", self.claim(name)) for name in session["claims"]]
        words = nodes.definition("", nodes.bullet_list("", *items))
        parsed[0] += nodes.definition_list_item("", nodes.term(text="Claims to discuss"), words)
        end = nodes.raw("", notes, format="html")
        sheet = own.chapter(nodes.make_id(title), title, *parsed, end)
        sheet["classes"] = ["handout"]
        return sheet

    def claim(self, name: str) -> nodes.paragraph:
        """What a claim says, with its place in a paper and its verdict."""
        if (claim := self.load()[0].get(name)) is None:
            raise self.error(f"{FILE}: there is no claim {name}")
        place = f"{{claim-ref}}`{name}`, " * (claim.paper != "BOOK")
        return nodes.paragraph("", "", *self.inline(f"{claim.says} ({place}{{verdict}}`{name}`)"))


class SessionDirective(PlanDirective):
    """``{session} TITLE``: for the teacher of a session, its pages, its time and its question."""

    def run(self) -> list[nodes.Node]:
        session = self.named({s["title"]: s for plan in self.plans() for s in plan["sessions"]})
        time = f"**Time.** {session['minutes']} minutes. {session['skip']}"
        pages, question = f"**Pages.** {links(session['pages'])}.", session["question"]
        return self.parse_text_to_nodes(f"{pages}\n\n{time}\n\n**Question.** {question}")


def links(names: Iterable[str]) -> str:
    """Some pages as Markdown."""
    return ", ".join(f"{{page}}`{name}`" for name in names)
