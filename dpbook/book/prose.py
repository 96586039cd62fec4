"""Numbers in sentences and tables for readers, and what the check of an exercise says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from IPython.display import HTML

from dpbook.book.ledger.words import table_html

Format = str | Callable[[Any], str]


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
) -> HTML:
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
    IPython.display.HTML
    """
    heads, texts = _columns(list(rows), formats or {})
    shown = table_html(heads, texts, caption=caption, header=header, name=name)
    return HTML(f'<div class="book-table">\n{shown}\n</div>')


def slider(
    rows: Iterable[Mapping[str, Any]],
    name: str,
    formats: Mapping[str, Format] | None = None,
    *,
    caption: str,
    start: int = 0,
) -> HTML:
    """Show one row at a time, chosen by a range input, with bars for its numbers.

    Everything is computed before: the page holds all rows, and a table below says the same.

    Parameters
    ----------
    rows, name, formats : as for `table`
        The first column is what the slider moves over.
    caption : str
        What is seen, in words.
    start : int
        The row that is shown first.

    Returns
    -------
    IPython.display.HTML
    """
    listed = list(rows)
    last = len(listed) - 1
    if not 0 <= start <= last:
        raise ValueError(f"start is {start}; allowed are 0 to {last}, one of the rows")
    heads, texts = _columns(listed, formats or {})
    (over, _), *others = heads
    columns: list[list[float | None]] = []
    for head, number in others:
        sizes = [abs(float(row[head])) for row in listed] if number else []
        largest = max(sizes, default=0) or 1.0
        columns.append([size / largest for size in sizes] or [None] * len(listed))
    shares = [[column[at] for column in columns] for at in range(len(listed))]
    data = escape(json.dumps({"rows": texts, "shares": shares}))
    empty = '<span></span><i aria-hidden="true"></i>'
    lines = "".join(f"<dt>{escape(head)}</dt><dd>{empty}</dd>" for head, _ in others)
    return HTML(
        f'<div class="slider" data-slider="{data}"><p>{escape(caption)}</p>\n'
        f'<label>{escape(over)} <input type="range" min="0" max="{last}" step="1" '
        f'value="{start}"> <output></output></label>\n<dl>{lines}</dl>\n</div>\n'
        f'<details class="slider-table"><summary>All values</summary>\n'
        f'<div class="book-table">{table_html(heads, texts, caption=caption, name=name)}</div>'
        "</details>"
    )


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


def _text(value: Any, form: Format | None) -> str:
    if callable(form):
        return str(form(value))
    return (form or ("{:.6f}" if isinstance(value, float) else "{!s}")).format(value)
