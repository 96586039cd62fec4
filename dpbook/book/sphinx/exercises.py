"""Sphinx extension: exercises with a level and a time, and the answers that their checks take.

An exercise is a question, a hint, perhaps an editor with a check (``{try}`` of `panel`), and a
solution.  In the template of the editor one line ends with ``# change me``; an ``{answer}`` within
the solution says what belongs there, and what the check must refuse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.directive import ExerciseDirective

#: What an exercise asks for, the easiest first.
LEVELS = ("recall", "apply", "extend")
CHANGE = "# change me"
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

    def answered(self, answer: str) -> str:
        """The template with the lines of an answer in place of the line to change.

        Raises
        ------
        ValueError
            If not exactly one line of the template ends with ``# change me``.
        """
        lines = self.template.splitlines()
        places = [at for at, line in enumerate(lines) if line.endswith(CHANGE)]
        if len(places) != 1:
            what = f"{len(places)} lines of {self.name} end with {CHANGE!r}, one is needed"
            raise ValueError(what)
        (at,) = places
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at : at + 1] = [indent + line for line in answer.splitlines()]
        return "\n".join(lines) + "\n"


def checks(markdown: str) -> list[Check]:
    """The editors in some Markdown that have a check."""
    found = [
        Check(m["name"], m["code"], _option(m["options"], "solved"), *m.span())
        for m in _TRY.finditer(markdown)
    ]
    return [check for check in found if check.solved]


def answers(markdown: str) -> dict[str, tuple[str, str]]:
    """By the name of the editor, the right answer and the wrong one that the check refuses."""
    found = _ANSWER.finditer(markdown)
    return {m["name"]: (m["code"], _option(m["options"], "wrong")) for m in found}


def _option(options: str, name: str) -> str:
    found = re.search(rf"^:{name}: *(.*)$", options, re.MULTILINE)
    return found[1].strip() if found else ""


class RatedExercise(ExerciseDirective):  # type: ignore[misc]
    """``{exercise}`` with ``:level:`` (recall, apply, extend) and ``:minutes:``."""

    option_spec: ClassVar[dict[str, Any]] = ExerciseDirective.option_spec | {
        "level": lambda argument: directives.choice(argument, LEVELS),
        "minutes": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        made: list[nodes.Node] = super().run()
        told = [self.options.get("level", "").capitalize()]
        if minutes := self.options.get("minutes"):
            told.append(f"{minutes} minutes")
        section = next((part for node in made for part in node.findall(nodes.section)), None)
        if section is not None and (words := ", ".join(filter(None, told))):
            section.insert(0, nodes.paragraph("", f"{words}.", classes=["exercise-about"]))
        return made


class AnswerDirective(SphinxDirective):
    """``{answer} name``: what belongs into an editor; ``:wrong:`` is an answer that is refused."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"wrong": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        code = nodes.literal_block("\n".join(self.content), "\n".join(self.content))
        code["language"] = "python"
        made: list[nodes.Node] = [nodes.paragraph(text="In the editor:"), code]
        if wrong := self.options.get("wrong"):
            words = [nodes.Text("The check refuses "), nodes.literal(text=wrong), nodes.Text(".")]
            made.append(nodes.paragraph("", "", *words))
        return made


def exercise_minutes(notebook: Mapping[str, Any]) -> int:
    """The minutes that the exercises of a page state, in all."""
    text = "\n\n".join("".join(cell["source"]) for cell in notebook["cells"])
    told = re.findall(r"\{exercise\}[^\n]*\n(?::[^\n]*\n)*?:minutes: *(\d+)", text)
    return sum(map(int, told))


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx_exercise")
    app.add_directive("exercise", RatedExercise, override=True)
    app.add_directive("answer", AnswerDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
