"""Sphinx extension: the panel "Rerun this page here", and the marks that its script looks for.

The script is ``book/_static/live.js``; what it loads is put beside the book by ``make live``.
"""

from __future__ import annotations

import json
import re
from html import escape
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from dpbook.book.live.bundle import digest, glued
from dpbook.book.pages import Page, Parameter, load_profile, read_page
from dpbook.book.run.editions import page_of, this_edition
from dpbook.book.run.render import sources

_log = logging.getLogger(__name__)
_PARAMETERS = '<div class="cell tag_parameters'
_NUMBER = '<span class="pasted-text"'
_RANGE = re.compile(r"[\[(]\s*([^\s,]+)\s*,\s*([^\s,]+)\s*[\])]")


_SHORT = """<label class="live-short"><input type="checkbox" data-do="short">
Leave out the long studies and what needs them; those keep what is published</label>"""

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
    fields = "\n".join(_field(parameter) for parameter in page.parameters.values())
    tagged = {
        tag: [number for number, tags in enumerate(page.code_tags) if tag in tags]
        for tag in ("remove-cell", "long")
    }
    about = {"page": page.name, "cells": len(page.code_tags), "hidden": tagged["remove-cell"]}
    about |= {"quick": quick, "long": tagged["long"]}
    return f"""<details class="live" id="rerun-here" data-live="{escape(json.dumps(about))}">
<summary>Rerun this page here</summary>
<form>
<p class="live-about">Runs the cells of this page on this computer, in this window.
<span class="live-size"></span></p>
<div class="live-profile" role="group" aria-label="Sets of values">
<button type="button" data-set="published">As published</button>
<button type="button" data-set="quick">Quick</button>
</div>
{_SHORT if tagged["long"] else ""}
{fields}
<p class="live-buttons"><button type="submit">Run</button>
<button type="button" data-do="stop" disabled>Stop</button>
<button type="button" data-do="restore" disabled>Restore</button></p>
</form>
<p class="live-status" role="status"></p>
<p class="live-clock"></p>
<progress class="live-bar" max="1" value="0" aria-label="Progress of the run" hidden></progress>
</details>"""


def _field(parameter: Parameter) -> str:
    """A labelled input; its hint says meaning, unit and range."""
    name, value, allowed = parameter.name, parameter.default, parameter.allowed
    unit = "" if parameter.unit in ("-", "") else f" ({parameter.unit})"
    hint = escape(f"{parameter.meaning}{unit}; allowed: {allowed}")
    text = escape(json.dumps(value) if isinstance(value, list) else str(value))
    shared = f'id="live-{name}" name="{name}" aria-describedby="live-{name}-hint"'
    shared += f' data-kind="{parameter.kind}" data-published="{text}"'
    if isinstance(value, str) and (words := re.findall(r'"([^"]+)"', allowed)):
        options = (f"<option{' selected' * (w == value)}>{escape(w)}</option>" for w in words)
        control = f"<select {shared}>{''.join(options)}</select>"
    elif isinstance(value, bool | str | list):
        control = f'<input type="text" {shared} value="{text}">'
    else:
        bounds = _RANGE.fullmatch(allowed)
        limits = zip(("min", "max"), bounds.groups() if bounds else (), strict=False)
        shared += "".join(f' {k}="{v}"' for k, v in limits if re.fullmatch(r"-?[\d.e+-]+", v))
        step = "1" if isinstance(value, int) else "any"
        control = f'<input type="number" {shared} value="{text}" step="{step}">'
    label = f'<label for="live-{name}">{escape(name)}</label>'
    small = f'<small id="live-{name}-hint">{hint}</small>'
    return f'<div class="live-field">{label}{control}{small}</div>'


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
    ident, state = f"try-{escape(name)}", "Not answered yet." if solved else ""
    return f"""<div class="try live" data-try="{escape(name)}" data-solved="{escape(solved)}">
<label for="{ident}">Try it here: change the code and run it. It stays on this computer.</label>
<textarea id="{ident}" rows="{len(lines) + 1}" spellcheck="false" autocapitalize="off">
{escape(chr(10).join(lines))}</textarea>
<p class="live-buttons"><button type="button" data-do="check" disabled>Run</button>
<button type="button" data-do="stop" disabled>Stop</button>
<button type="button" data-do="template" disabled>Template</button>
<button type="button" data-do="save" disabled>Download</button></p>
<div class="try-said" role="status">{state}</div>
</div>"""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", add_panel)
    app.connect("build-finished", guard_pages, priority=900)
    app.add_directive("try", TryDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
