"""Run a page without a notebook server: in a worker of the reader's browser, or in a test.

Of IPython and MyST-NB a page needs a display, a glue and little more; `install` puts those into
their place.  What a cell shows is collected as plain dicts, which the page's script shows.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import sys
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from symtable import symtable
from types import SimpleNamespace
from typing import Any

from dpbook.book.live import plots

Output = dict[str, Any]


class Screen:
    """What cells show: outputs in their order, figures among them, and numbers by name."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.glued: dict[str, str] = {}
        self._printed = io.StringIO()

    def display(self, *shown: Any, raw: bool = False, **_: Any) -> None:
        """In place of ``IPython.display.display``: bundles of types, HTML, or the repr."""
        for one in shown:
            self.shown().append(_output(one, raw))

    def glue(self, name: str, value: Any, display: bool = True) -> None:
        """In place of ``myst_nb.glue``; a sentence shows the repr."""
        self.glued[name] = repr(value)
        if display:
            self.display(value)

    def show(self, *_: Any, **__: Any) -> None:
        """In place of ``matplotlib.pyplot.show``: every open figure as SVG, then closed."""
        plt: Any = sys.modules.get("matplotlib.pyplot")
        for number in plt.get_fignums() if plt else ():
            drawn, figure = io.StringIO(), plt.figure(number)
            figure.savefig(drawn, format="svg", metadata={"Date": None})
            plt.close(number)
            self.shown().append({"svg": drawn.getvalue()})

    def run(self, source: str, name: str, names: dict[str, Any]) -> list[Output]:
        """Execute the source of a cell; a last expression is shown, as in a notebook."""
        self.outputs, self._printed = [], io.StringIO()
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        tree = ast.parse(source, name)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        with contextlib.redirect_stdout(self._printed):
            # Its own level: the libraries are imported without docstrings and assertions.
            exec(compile(tree, name, "exec", optimize=0), names)
            if isinstance(last, ast.Expr):
                code = compile(ast.Expression(last.value), name, "eval", optimize=0)
                value = eval(code, names)
                if value is not None and not source.rstrip().endswith(";"):
                    self.display(value)
            self.show()
        return self.shown()

    def shown(self) -> list[Output]:
        """What a cell has shown so far."""
        if text := self._printed.getvalue():
            self.outputs.append({"text": text})
            self._printed.seek(0)
            self._printed.truncate()
        return self.outputs

    def forget(self, glued: Mapping[str, str]) -> None:
        """Drop the figures of a cell that was given up, and what it glued."""
        self.glued = dict(glued)
        if plt := sys.modules.get("matplotlib.pyplot"):
            plt.close("all")


def _output(shown: Any, raw: bool) -> Output:
    """HTML or a repr; of a check, which gives a bundle of types, its card and its record."""
    if not raw:
        html = getattr(shown, "_repr_html_", lambda: None)()
        return {"text": f"{shown!r}\n"} if html is None else {"html": html}
    from dpbook.book.ledger.check import RECORD_MIME, card_of  # after `install`

    if record := shown.get(RECORD_MIME):
        return {"html": card_of(record), "record": record}
    return {"html": shown.get("text/html") or f"<pre>{escape(shown.get('text/plain', ''))}</pre>"}


def install(screen: Screen) -> None:
    """Put the screen in the place of IPython's display and MyST-NB's glue, `plots` of seaborn."""
    display = SimpleNamespace(
        display=screen.display, HTML=lambda data: SimpleNamespace(_repr_html_=lambda: data)
    )
    # matplotlib asks for the version
    ipython = SimpleNamespace(display=display, get_ipython=lambda: None, version_info=(8, 24))
    modules: Any = sys.modules
    modules |= {"IPython": ipython, "IPython.display": display, "myst_nb": screen, "seaborn": plots}


def sentence(glued: str, form: str) -> str:
    """A glued value as the role ``glue:text`` writes it into a sentence."""
    value: Any = glued
    with contextlib.suppress(SyntaxError, ValueError):
        value = ast.literal_eval(glued)
    kinds = {"s": str, **dict.fromkeys("bcdoxX", int), **dict.fromkeys("eEfFgGn%", float)}
    wanted: Any = kinds.get(form[-1:])
    return format(wanted(value) if wanted else value, form) if form else str(value)


def run_page(
    page: Mapping[str, Any],
    given: Mapping[str, Any],
    screen: Screen,
    tell: Callable[[Output], None],
    long: Collection[int] = (),
) -> None:
    """Run the cells of a page at some parameters, and tell of each cell and of the end.

    Of the page are needed ``cells`` (sources), ``parameters`` (the index of the cell that holds
    them) and ``glued`` (name and format, in the order of the sentences); `given` are values that
    differ from the page's own.  What is told has a ``kind``: ``refused``, ``begin``, ``cell``,
    ``failed`` or ``done``.  The cells in `long` do not run, nor does one that misses a name which
    they would have made; numbers of sentences that come from those are None.
    """
    from dpbook.book.pages import parse_parameters

    sources: Sequence[str] = page["cells"]
    known = parse_parameters(sources[page["parameters"]])
    names: dict[str, Any] = {"__name__": "__main__"}
    chosen = {}
    for name, value in given.items():
        if name not in known:
            tell({"kind": "refused", "name": name, "why": f"there is no parameter {name!r}"})
            return
        try:
            chosen[name] = known[name].coerce(value)
        except ValueError as error:
            tell({"kind": "refused", "name": name, "why": f"{name} = {value!r} {error}"})
            return
    screen.glued.clear()
    lost: set[str] = set()  # what cells that were left out would have made
    touched = {name for name, value in chosen.items() if value != known[name].default}
    for number, source in enumerate(sources):
        glued = dict(screen.glued)
        if number not in long:
            tell({"kind": "begin", "cell": number, "words": _first(source)})
            start = time.perf_counter()
            try:
                outputs = screen.run(source, f"cell {number + 1}", names)
            except Exception as error:
                if not (isinstance(error, NameError) and error.name in lost):
                    tell({"kind": "failed", "cell": number, "why": told_of(error)})
                    return
            else:
                told = {
                    "seconds": time.perf_counter() - start,
                    "moved": _moves(source, names, touched),
                }
                tell({"kind": "cell", "cell": number, "outputs": outputs, **told})
                if number == page["parameters"]:
                    names |= chosen | {"In": [source]}  # where the page looks up its own ranges
                continue
        screen.forget(glued)
        for name in _makes(source, names):
            lost.add(name)
            names.pop(name, None)
    texts: list[str | None] = []
    for name, form in page["glued"]:
        try:
            texts.append(sentence(screen.glued[name], form))
        except (KeyError, ValueError, TypeError):
            texts.append(None if lost and name not in screen.glued else "?")
    tell({"kind": "done", "glued": texts})


def _first(source: str) -> str:
    """The first line of a cell that is no import, in words for the progress of a run."""
    rest = re.sub(r"(?m)^(from .*)?import (\([^)]*\)|.*)\n*", "", source)
    return rest.partition("\n")[0] or "imports"


def _moves(source: str, names: Mapping[str, Any], touched: set[str]) -> bool:
    """Whether a cell uses names that are `touched`; if so, all that it makes is, too."""
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    if not used & touched:
        return False
    touched |= _makes(source, names)
    touched |= {name for name in used if hasattr(names.get(name), "bit_generator")}
    return True


def _makes(source: str, names: Mapping[str, Any]) -> set[str]:
    """Names that a cell makes, and those of lists, tables and arrays that it changes."""
    symbols = symtable(source, "a cell", "exec").get_symbols()
    made = {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}
    for node in ast.walk(ast.parse(source)):
        part: Any = node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            part = node.value.func  # such as `found.append`
        elif isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        while isinstance(part, ast.Subscript | ast.Attribute):
            part = part.value
        if isinstance(part, ast.Name) and hasattr(names.get(part.id), "__len__"):
            made.add(part.id)
    return made


def told_of(error: BaseException) -> str:
    """An error as a sentence, with the line of the reader's or the page's code that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if frame.filename.startswith(("cell ", "your text"))]
    place = f" ({mine[-1].filename}, line {mine[-1].lineno}: {mine[-1].line})" if mine else ""
    if isinstance(error, SyntaxError):
        place = f" ({error.filename}, line {error.lineno}: {(error.text or '').strip()})"
        return f"SyntaxError: {error.msg}{place}"
    return f"{type(error).__name__}: {error}{place}"


def run_text(text: str, solved: str, screen: Screen, tell: Callable[[Output], None]) -> None:
    """Run what the reader wrote; tell what it shows, what is wrong in a sentence, and if it solves.

    `solved` is an expression in the names of the text; empty if there is nothing to solve.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        told: Output = {"kind": "text", "outputs": screen.run(text, "your text", names)}
        if solved:
            found = eval(solved, names)
            told["solved"] = found if isinstance(found, str) else bool(found)
    except Exception as error:
        told = {"kind": "text", "outputs": screen.shown(), "why": told_of(error)}
    tell(told)
