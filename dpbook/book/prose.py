"""Numbers in sentences and tables for readers, and what the check of an exercise says."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from dpbook.book.ledger.words import table_html
from dpbook.book.pages import SERIES_MIME

Format = str | Callable[[Any], str]


@dataclass(frozen=True, repr=False)
class Shown:
    """HTML, and the numbers in it by name, which the record of a build keeps."""

    html: str
    series: Mapping[str, list[Any]]

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/html": self.html, SERIES_MIME: dict(self.series)}

    def __repr__(self) -> str:
        return f"<{', '.join(self.series)}>"


def say(name: str, value: Any) -> None:
    """Make a number, or a word, of the run available to the sentences of its page.

    Parameters
    ----------
    name : str
        The name by which a sentence calls it, as in ``{glue:text}`name:.2f```.
    value : number or str
        NumPy scalars and arrays of one element become plain numbers, which can be formatted.
    """
    from myst_nb import glue  # only where a page runs

    glue(name, value.item() if hasattr(value, "item") else value, display=False)


def table(
    rows: Iterable[Mapping[str, Any]],
    name: str,
    formats: Mapping[str, Format] | None = None,
    *,
    caption: str | None = None,
    header: int = 1,
) -> Shown:
    """Show rows as a table.

    Parameters
    ----------
    rows : iterable of mapping
        One mapping from column heading to entry for each row; units stand in the headings.  An
        entry that is missing in a column of numbers makes all of it floats, as in pandas.
    name : str
        Unique on the page; a fixed name keeps rebuilds identical.
    formats : mapping, optional
        From column heading to a format such as ``"{:.3f}"``, or to a function that gives the text.
        Without one, floats have six digits after the point.
    caption : str, optional
        What the table shows.
    header : int
        How many of the first columns name their row; 0 for none.

    Returns
    -------
    Shown
        The HTML, and what a build keeps of it.
    """
    listed = list(rows)
    heads, texts = _columns(listed, formats or {})
    shown = table_html(heads, texts, caption=caption, header=header, name=name)
    return Shown(f'<div class="book-table">\n{shown}\n</div>', _series(listed, heads))


def slider(
    rows: Iterable[Mapping[str, Any]],
    name: str,
    formats: Mapping[str, Format] | None = None,
    *,
    caption: str,
    start: int = 0,
    promise: float | None = None,
) -> Shown:
    """Show one row at a time, chosen by a range input, with bars for its numbers.

    Everything is computed before: the page holds all rows, and a table below says the same.  Bars
    of one unit, the words in parentheses that end a heading or what follows a slash, share a scale.

    Parameters
    ----------
    rows, name, formats : as for `table`
        The first column is what the slider moves over.
    caption : str
        What is seen, in words.
    start : int
        The row that is shown first.
    promise : float, optional
        Drawn as a line in the bars of ratios, with a slash in their headings; what goes beyond it
        has another colour.

    Returns
    -------
    Shown
        The HTML, and what a build keeps of it.
    """
    listed = list(rows)
    last = len(listed) - 1
    if not 0 <= start <= last:
        raise ValueError(f"start is {start}; allowed are 0 to {last}, one of the rows")
    heads, texts = _columns(listed, formats or {})
    (over, _), *others = heads
    sizes = {h: [abs(float(row[h])) for row in listed] for h, number in others if number}
    units = {head: _unit(head) for head in sizes}
    largest = {
        unit: max((max(sizes[h]) for h in sizes if units[h] == unit), default=0) or 1.0
        for unit in units.values()
    }
    shares = [
        [sizes[h][at] / largest[units[h]] if h in sizes else None for h, _ in others]
        for at in range(len(listed))
    ]
    marks = [
        promise / largest[units[h]] if promise and "/" in units.get(h, "") else None
        for h, _ in others
    ]
    data = escape(json.dumps({"rows": texts, "shares": shares, "marks": marks}))
    empty = '<span></span><i aria-hidden="true"></i>'
    lines = "".join(f"<dt>{escape(head)}</dt><dd>{empty}</dd>" for head, _ in others)
    html = (
        f'<div class="slider" data-slider="{data}"><p>{escape(caption)}</p>\n'
        f"{_range(over, last, start)}\n<dl>{lines}</dl>\n</div>\n"
        f'<details class="slider-table"><summary>All values</summary>\n'
        f'<div class="book-table">{table_html(heads, texts, caption=caption, name=name)}</div>'
        "</details>"
    )
    return Shown(html, _series(listed, heads))


def moving(
    draw: Callable[[Any], Any],
    values: Iterable[Any],
    label: str,
    *,
    start: int = 0,
    form: str = "{:g}",
) -> Shown:
    """Show a figure at one of several values, chosen by a range input below it.

    Parameters
    ----------
    draw : callable
        Makes the figure for a value with ``plt.subplots``; axes and limits should stay the same.
    values : iterable
        What the input moves over, all drawn before.
    label : str
        What is moved, with its unit.
    start : int
        The value whose figure stands on the page, in print, and for those who have no script.
    form : str
        The format of a value.

    Returns
    -------
    Shown
        The HTML, and what a build keeps of it.
    """
    import matplotlib.pyplot as plt

    from dpbook.book.figures import series_of, vector_graphic

    values = list(values)
    if not 0 <= start < len(values):
        raise ValueError(f"start is {start}; allowed are 0 to {len(values) - 1}, one of the values")
    known: dict[str, int] = {}
    frames = []
    series: dict[str, Any] = {}
    for value in values:
        draw(value)
        figure = plt.gcf()
        drawn = vector_graphic(figure)
        if value == values[-1]:
            shown = series_of(figure)
            series = {f"{form.format(value)} {name}": shown[name] for name in shown}
        plt.close()
        parts = [known.setdefault(part, len(known)) for part in drawn.split("<")]
        cuts = [0, *(k for k in range(1, len(parts)) if parts[k] != parts[k - 1] + 1), len(parts)]
        frames.append([n for i, j in pairwise(cuts) for n in (parts[i], j - i)])
    draw(values[start])
    plt.show()
    said = [form.format(value) for value in values]
    data = escape(json.dumps({"parts": list(known), "frames": frames, "said": said}))
    inside = _range(label, len(values) - 1, start)
    html = f'<div class="slider moving" data-moving="{data}">{inside}</div>'
    return Shown(html, series)


def _range(label: str, last: int, start: int) -> str:
    """A range input over the numbers from 0 to `last`, and a place for what it shows."""
    return (
        f'<label>{escape(label)} <input type="range" min="0" max="{last}" step="1" '
        f'value="{start}"> <output></output></label>'
    )


def _unit(head: str) -> str:
    """The unit in a heading: ``%`` in "error (%)", ``/ ε`` in "privacy loss / ε, exact"."""
    found = re.search(r"\(([^()]*)\)$", head) or re.search(r"(/ [^ ,]+)", head)
    return found[1] if found else head


def grade(outcome: object) -> str:
    """What the check of an exercise says in a notebook: a text tells what is missing."""
    if isinstance(outcome, str):
        return f"Not yet: {outcome}."
    return "Solved." if outcome else "Not yet."


def _columns(
    rows: list[Mapping[str, Any]], formats: Mapping[str, Format]
) -> tuple[list[tuple[str, bool]], list[tuple[str, ...]]]:
    """The heads of a table, with whether numbers stand below them, and its rows as texts."""
    heads, columns = [], []
    for head in dict.fromkeys(head for row in rows for head in row):
        entries = [row.get(head, math.nan) for row in rows]
        values = [v.item() if getattr(v, "ndim", None) == 0 else v for v in entries]
        kinds = set(map(type, values))
        numbers = bool(kinds & {int, float}) and kinds <= {int, float, type(None)}
        if numbers and kinds != {int}:
            values = [math.nan if v is None else float(v) for v in values]
        heads.append((str(head), numbers))
        columns.append([_text(value, formats.get(head)) for value in values])
    return heads, list(zip(*columns, strict=True))


def _series(rows: list[Mapping[str, Any]], heads: list[tuple[str, bool]]) -> dict[str, list[Any]]:
    """The columns of a table in which numbers stand; what is not finite as text."""
    series = {}
    for head in (head for head, number in heads if number):
        values = [float(row[head]) for row in rows if row.get(head) is not None]
        series[head] = [value if math.isfinite(value) else str(value) for value in values]
    return series


def _text(value: Any, form: Format | None) -> str:
    if callable(form):
        return str(form(value))
    return (form or ("{:.6f}" if isinstance(value, float) else "{!s}")).format(value)
