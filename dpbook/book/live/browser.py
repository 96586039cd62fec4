"""Run a page without a notebook server: in a worker of the reader's browser, or in a test.

Of IPython and MyST-NB a page needs a display, a glue and little more; `install` puts those into
their place, before `dpbook.book` is imported.  What a cell shows is collected as plain dicts, which
the page's script puts where the published output stands.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import sys
import time
import traceback
import types
import zipfile
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from dpbook.book.live import lighter, plots

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
            bundle = one if raw else _bundle(one)
            if bundle is not None:
                self._flush()
                self.outputs.append({"html": bundle["html"]} if "html" in bundle else _told(bundle))

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
            with lighter.drawn_once(figure):
                figure.savefig(drawn, format="svg", metadata={"Date": None})
            plt.close(number)
            self._flush()
            self.outputs.append({"svg": drawn.getvalue()})

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
        """What an interrupted cell has shown so far."""
        self._flush()
        return self.outputs

    def _flush(self) -> None:
        if text := self._printed.getvalue():
            if self.outputs and "text" in self.outputs[-1]:
                self.outputs[-1]["text"] += text
            else:
                self.outputs.append({"text": text})
            self._printed.seek(0)
            self._printed.truncate()


def _bundle(shown: Any) -> Output | None:
    html = getattr(shown, "_repr_html_", lambda: None)()
    return {"html": html} if html is not None else {"text": f"{shown!r}\n"}


def _told(bundle: Mapping[str, Any]) -> Output:
    """A bundle of types as one output; a check's is its card, and its record for the page."""
    if "text" in bundle:
        return {"text": bundle["text"]}
    from dpbook.book.ledger.check import RECORD_MIME, card_of  # after `install`

    if record := bundle.get(RECORD_MIME):
        return {"html": card_of(record), "record": record}
    return {"html": bundle.get("text/html") or f"<pre>{escape(bundle.get('text/plain', ''))}</pre>"}


def install(screen: Screen) -> None:
    """Put the screen in the place of IPython's display and MyST-NB's glue, `plots` of seaborn."""

    class HTML:
        """In place of ``IPython.display.HTML``."""

        def __init__(self, data: str) -> None:
            self.data = data

        def _repr_html_(self) -> str:
            return self.data

    display: Any = types.ModuleType("IPython.display")
    display.display, display.HTML = screen.display, HTML
    ipython: Any = types.ModuleType("IPython")
    ipython.display, ipython.get_ipython = display, lambda: None
    ipython.version_info = (8, 24)  # matplotlib asks
    myst: Any = types.ModuleType("myst_nb")
    myst.glue = screen.glue
    for module in (ipython, display, myst):
        sys.modules[module.__name__] = module
    sys.modules["seaborn"] = plots


def lighten() -> None:
    """Spare the imports that no page needs: for a process that does nothing but run pages.

    SciPy imports all that NumPy names, Fortran tools and tests among it, and a tester for each of
    its parts.
    """
    import numpy as np

    unused = {"ctypeslib", "f2py", "test", "testing", "typing"}
    np.__all__ = [name for name in np.__all__ if name not in unused]
    testers: Any = types.ModuleType("scipy._lib._testutils")
    testers.PytestTester = lambda module: None
    sys.modules[testers.__name__] = testers
    lighter.lighten_matplotlib()
    lighter.lighten_distributions()


def import_all(sources: Sequence[str]) -> None:
    """Import what the cells of a page import, before the first of them begins.

    What cannot be imported is left to the cell, which tells of it.
    """
    for source in sources:
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                with contextlib.suppress(ImportError):
                    exec(compile(ast.Module([node], []), "imports", "exec"), {})


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
    left_out: Sequence[int] = (),
) -> None:
    """Run the cells of a page at some parameters, and tell of each cell and of the end.

    Parameters
    ----------
    page : mapping
        ``cells`` (sources), ``parameters`` (the index of the cell that holds them), ``glued``
        (pairs of name and format, in the order of the sentences).
    given : mapping
        Values that differ from the page's own; as JSON has them.
    screen : Screen
        Installed.
    tell : callable
        Takes a dict with ``kind``: ``refused``, ``begin``, ``cell``, ``failed`` or ``done``; of
        the last, the numbers of sentences that come from cells left out are None.
    left_out : sequence of int
        Cells that do not run, as `dpbook.book.live.quick.left_out` finds them.
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
    for number, source in enumerate(sources):
        if number in left_out:
            continue
        tell({"kind": "begin", "cell": number, "words": _words(source)})
        start = time.perf_counter()
        try:
            outputs = screen.run(source, f"cell {number + 1}", names)
            if number == page["parameters"]:
                names |= chosen
                names["In"] = [source]  # where the page looks up its own ranges
        except Exception as error:
            tell({"kind": "failed", "cell": number, "why": told_of(error)})
            return
        took = time.perf_counter() - start
        tell({"kind": "cell", "cell": number, "outputs": outputs, "seconds": took})
    texts: list[str | None] = []
    for name, form in page["glued"]:
        try:
            texts.append(sentence(screen.glued[name], form))
        except (KeyError, ValueError, TypeError):
            texts.append(None if left_out and name not in screen.glued else "?")
    tell({"kind": "done", "glued": texts})


def _words(source: str) -> str:
    """The first line of a cell that is no import; of imports alone, "imports"."""
    body = ast.parse(source).body
    first = [node.lineno for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return source.splitlines()[first[0] - 1] if first else "imports"


def packed_bytecode(folders: Sequence[str]) -> bytes | None:
    """All bytecode below some folders as one archive, never to be compared with its source again.

    For a build that was made without a Python of the runtime's version: compiling takes most of the
    time of an import here; a browser keeps the archive with the files of the same build.  None if
    nothing is new.
    """
    found = [path for folder in folders for path in Path(folder).rglob("__pycache__/*.pyc")]
    codes = {path: path.read_bytes() for path in found}
    if all(code[4] for code in codes.values()):  # else with the time of the source: by this run
        return None
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as kept:
        for path, code in codes.items():
            code = code[:4] + (1).to_bytes(4, "little") + bytes(8) + code[16:]  # PEP 552
            kept.writestr(str(path).lstrip("/"), code)  # absolute names are not unpacked
    return archive.getvalue()


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
