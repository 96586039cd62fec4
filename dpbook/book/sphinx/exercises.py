"""Sphinx extension: exercises with a level and a time, and the answers that their checks take.

An exercise is a question, a hint, perhaps an editor with a check (``{try}`` of `panel`), and a
solution.  In the template of the editor one line ends with ``# change me``; an ``{answer}`` within
the solution says what belongs there, and what the check must refuse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.directive import ExerciseDirective

from dpbook.book.sphinx.nodes import block

#: What an exercise asks for, the easiest first.
LEVELS = ("recall", "apply", "extend")
_BLOCK = r"(?ms)^```\{%s\} (?P<name>\S+)\n(?P<options>(?::[^\n]*\n)*)(?P<code>.*?)^```$"
_TRY, _ANSWER = (re.compile(_BLOCK % name) for name in ("try", "answer"))


@dataclass(frozen=True)
class Check:
    """An editor with a check: its template, the expression that decides, its place in a text."""

    name: str
    template: str
    solved: str
    begin: int
    end: int


def checks(markdown: str) -> list[Check]:
    """The editors in some Markdown that have a check."""
    return [
        Check(found["name"], found["code"], solved, *found.span())
        for found in _TRY.finditer(markdown)
        if (solved := _option(found, "solved"))
    ]


def answers(markdown: str) -> dict[str, tuple[str, str]]:
    """By the name of the editor, the right answer and the wrong one that the check refuses."""
    found = _ANSWER.finditer(markdown)
    return {one["name"]: (one["code"], _option(one, "wrong")) for one in found}


def _option(block: re.Match[str], name: str) -> str:
    found = re.search(rf"^:{name}: *(.*)$", block["options"], re.MULTILINE)
    return found[1].strip() if found else ""


class RatedExercise(ExerciseDirective):  # type: ignore[misc]
    """``{exercise}`` with ``:level:`` (recall, apply, extend) and ``:minutes:``."""

    option_spec: ClassVar[dict[str, Any]] = ExerciseDirective.option_spec | {
        "level": lambda argument: directives.choice(argument, LEVELS),
        "minutes": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        exercise: list[nodes.Node] = super().run()
        minutes = self.options.get("minutes")
        about = [self.options.get("level", "").capitalize(), f"{minutes} minutes" * bool(minutes)]
        if words := ", ".join(filter(None, about)):
            section = next(part for node in exercise for part in node.findall(nodes.section))
            section.insert(0, nodes.paragraph("", f"{words}.", classes=["exercise-about"]))
        return exercise


class AnswerDirective(SphinxDirective):
    """``{answer} name``: what belongs into an editor; ``:wrong:`` is an answer that is refused."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"wrong": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        shown = [nodes.paragraph(text="In the editor:"), block("\n".join(self.content), "python")]
        if wrong := self.options.get("wrong"):
            words = [nodes.Text("The check refuses "), nodes.literal(text=wrong), nodes.Text(".")]
            shown.append(nodes.paragraph("", "", *words))
        return shown
