"""Sphinx extension: the panel that reruns a page, and the marks that its script looks for.

The script is ``book/_static/live.js``; what it loads is put beside the book by ``make live``.
"""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbook.book.live.bundle import digest, glued, version
from dpbook.book.pages import Page, Parameter, load_profile, read_page
from dpbook.book.run.editions import page_of, this_edition
from dpbook.book.run.render import sources
from dpbook.book.sphinx import nodes as own

_log = logging.getLogger(__name__)
_PARAMETERS = '<div class="cell tag_parameters'
_NUMBER = '<span class="pasted-text"'
_RANGE = re.compile(r"[\[(]\s*([^\s,]+)\s*,\s*([^\s,]+)\s*[\])]")

#: No page asks another host for anything, nor does a worker, which has the policy of its page as it
#: is made from a blob; no script runs but those of this site and the theme's, by their hashes.
_POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'{}; worker-src blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'"
)
_SCRIPT = re.compile(r"<script\b(?![^>]*\ssrc=)[^>]*>(.*?)</script>\s*", re.S | re.I)
_ARTICLE = re.compile(r"<article\b.*</article>", re.S)
_CALL = re.compile(r'\sonclick="(?:window\.)?(print|toggleFullScreen)\(\)"')


def guarded(html: str) -> str:
    """A page with its policy: of inline scripts, those run that stand around the text of the page.

    A formula, a title or an output brings none.  What the theme's buttons call moves from
    attributes, which no hash allows, to names for ``access.js``; a `ValueError` tells of others.
    """
    html = _ARTICLE.sub(lambda match: _SCRIPT.sub("", match[0]), html)
    html = _CALL.sub(r' data-call="\1"', html)
    if dead := re.search(r'<[^>]*\s(on\w+="[^"]*")|(href="javascript:[^"]*")', html):
        raise ValueError(f"{dead[1] or dead[2]} cannot run under the policy of the page")
    hashes = dict.fromkeys(f" '{digest(script.encode())}'" for script in _SCRIPT.findall(html))
    policy = _POLICY.format("".join(hashes))
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy}" />'
    return re.sub(r'<head>(\s*<meta charset="[^"]*" ?/?>)?', rf"\g<0>{tag}", html, count=1)


def guard_pages(app: Sphinx, exception: Exception | None) -> None:
    """On ``build-finished``: every page gets its policy, one that only leads to another too."""
    if exception or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        if "<head>" in (html := path.read_text(encoding="utf-8")):  # else a part for the theme
            try:
                path.write_text(guarded(html), encoding="utf-8")
            except ValueError as error:
                _log.warning("%s: %s", path.name, error)


def add_panel(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """On ``html-page-context``: panel before the parameters, marks on cells and glued numbers."""
    body = context.get("body") or ""
    if not pagename.startswith("notebooks/") or _PARAMETERS not in body:
        return
    root = sources(app.srcdir)
    page = page_of(read_page(root / f"{pagename}.ipynb"), this_edition())
    numbers = count()
    body = re.sub(_NUMBER, lambda m: f'{m[0]} data-glue="{next(numbers)}"', body)
    if (shown := next(numbers)) != len(glued(page)):
        _log.warning("%s: %d numbers in sentences, %d roles", pagename, shown, len(glued(page)))
    panel = panel_html(page, load_profile(root, "smoke").get(page.name, {}))
    context["body"] = body.replace(_PARAMETERS, f"{panel}\n{_PARAMETERS}", 1)


def panel_html(page: Page, quick: dict[str, Any]) -> str:
    """The panel: a native input for each parameter, buttons, and a place for progress."""
    hidden, long = (
        [number for number, tags in enumerate(page.code_tags) if tag in tags]
        for tag in ("remove-cell", "long")
    )
    about = {"page": page.name, "cells": len(page.code_tags), "hidden": hidden}
    about |= {"quick": quick, "long": long, "version": version(page)}
    fields = [_field(parameter) for parameter in page.parameters.values()]
    return own.rendered("panel.html", about=json.dumps(about), long=long, fields=fields)


def _field(parameter: Parameter) -> dict[str, Any]:
    """What an input shows: its text, a hint with unit and range, words or limits to choose in."""
    value, allowed = parameter.default, parameter.allowed
    unit = f" ({parameter.unit})" * (parameter.unit not in ("-", *parameter.meaning.split()))
    limits = {}
    if not isinstance(value, bool | str | list):
        bounds = _RANGE.fullmatch(allowed)
        ends = zip(("min", "max"), bounds.groups() if bounds else (), strict=False)
        limits = {key: end for key, end in ends if re.fullmatch(r"-?[\d.e+-]+", end)}
        limits["step"] = "1" if isinstance(value, int) else "any"
    listed = allowed.startswith("{") and not isinstance(value, bool)
    choices = [word.strip('" ') for word in allowed.strip("{}").split(",")] if listed else []
    words = re.sub(r"(each )?(?:in )?\[(.+), (.+)\]", r"\1from \2 to \3", allowed)
    return {
        "name": parameter.name,
        "kind": parameter.kind,
        "text": json.dumps(value) if isinstance(value, list) else str(value),
        "label": f"{parameter.meaning}{unit}",
        "hint": "" if choices else f"allowed: {words}",
        "choices": choices,
        "limits": limits,
    }


class TryDirective(SphinxDirective):
    """``{try} name``: an editor with a template; ``:solved:`` is an expression in its names.

    The expression is true, or says what is missing.
    """

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"solved": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        name, solved = self.arguments[0], self.options.get("solved", "")
        for code in filter(None, ["\n".join(self.content), solved]):
            compile(code, f"try {name}", "exec")  # a template is at least Python
        return [nodes.raw("", try_html(name, list(self.content), solved), format="html")]


def try_html(name: str, lines: list[str], solved: str) -> str:
    """An editor with its template; the script of the panel runs it."""
    return own.rendered("try.html", name=name, lines=lines, solved=solved)
