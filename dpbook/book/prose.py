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
    if not 0 <= start < len(listed):
        raise ValueError(f"start is {start}; allowed are 0 to {len(listed) - 1}, one of the rows")
    heads, texts = _columns(listed, formats or {})
    over, *others = [head for head, _ in heads]
    numbers = {
        head: [abs(float(row[head])) for row in listed] for head, number in heads[1:] if number
    }
    shared = {head: [x / (max(column) or 1.0) for x in column] for head, column in numbers.items()}
    shares = [
        [shared[head][at] if head in shared else None for head in others]
        for at in range(len(listed))
    ]
    data = escape(json.dumps({"rows": texts, "shares": shares}))
    empty = '<span></span><i aria-hidden="true"></i>'
    lines = [f"<dt>{escape(head)}</dt><dd>{empty}</dd>" for head in others]
    control = (
        f'<label>{escape(over)} <input type="range" min="0" max="{len(listed) - 1}" step="1" '
        f'value="{start}"> <output></output></label>'
    )
    whole = table_html(heads, texts, caption=caption, name=name)
    return HTML(
        f'<div class="slider" data-slider="{data}"><p>{escape(caption)}</p>\n{control}\n'
        f"<dl>{''.join(lines)}</dl>\n</div>\n"
        f'<details class="slider-table"><summary>All values</summary>\n'
        f'<div class="book-table">{whole}</div></details>'
    )


def grade(found: object) -> str:
    """The outcome of a check in words.

    Parameters
    ----------
    found : bool or str
        What the expression of the check gave: true if the exercise is solved, or what is missing.

    Returns
    -------
    str
    """
    if isinstance(found, str):
        return f"Not yet: {found}."
    return "Solved." if found else "Not yet."


def _columns(
    listed: list[Mapping[str, Any]], formats: Mapping[str, Format]
) -> tuple[list[tuple[str, bool]], list[tuple[str, ...]]]:
    """The heads of a table, with whether numbers stand below them, and its rows as texts."""
    heads, columns = [], []
    for head in dict.fromkeys(head for row in listed for head in row):
        values = [_plain(row.get(head, math.nan)) for row in listed]
        kinds = set(map(type, values))
        numbers = bool(kinds & {int, float}) and kinds <= {int, float, type(None)}
        if numbers and kinds != {int}:
            values = [math.nan if v is None else float(v) for v in values]
        heads.append((str(head), numbers))
        columns.append([_text(value, formats.get(head)) for value in values])
    return heads, list(zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _text(value: Any, form: Format | None) -> str:
    if form is not None:
        return form.format(value) if isinstance(form, str) else str(form(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
