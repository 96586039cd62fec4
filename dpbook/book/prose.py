"""Numbers in sentences and tables for readers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from myst_nb import glue

from dpbook.book.output import aligned
from dpbook.book.report import TEMPLATES

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
    glue(name, value.item() if hasattr(value, "item") else value, display=False)


class Table:
    """What `table` shows: HTML on a page, aligned text in a terminal."""

    def __init__(
        self, columns: Mapping[str, list[Any]], formats: Mapping[str, Format], **shown: Any
    ) -> None:
        self._shown = shown  # name, caption, header
        self._right = [all(map(_is_number, values)) for values in columns.values()]
        self._heads = [str(head) for head in columns]
        texts = [[_text(v, formats.get(head)) for v in vs] for head, vs in columns.items()]
        self._rows = list(zip(*texts, strict=True))

    def _repr_html_(self) -> str:
        heads, *rows = ([*zip(row, self._right, strict=True)] for row in [self._heads, *self._rows])
        template = TEMPLATES.get_template("table.html.j2")
        return template.render(**self._shown, heads=heads, rows=rows)

    def __repr__(self) -> str:
        lines = aligned([self._heads, *self._rows], self._right)
        return "\n".join([*filter(None, [self._shown["caption"]]), *lines])


def table(
    rows: Iterable[Mapping[str, Any]],
    name: str,
    formats: Mapping[str, Format] | None = None,
    *,
    caption: str | None = None,
    header: int = 1,
) -> Table:
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
    Table
    """
    listed = list(rows)
    heads = dict.fromkeys(head for row in listed for head in row)
    columns = {head: _column([row.get(head, math.nan) for row in listed]) for head in heads}
    return Table(columns, formats or {}, name=name, caption=caption, header=header)


def _column(values: list[Any]) -> list[Any]:
    """Plain entries; numbers are floats together if one of them is, or if one is missing."""
    plain = [v.item() if hasattr(v, "item") and getattr(v, "ndim", 0) == 0 else v for v in values]
    if any(map(_is_number, plain)) and all(v is None or _is_number(v) for v in plain):
        if not all(isinstance(v, int) for v in plain):
            return [math.nan if v is None else float(v) for v in plain]
    return plain


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any, form: Format | None) -> str:
    if form is not None:
        return form.format(value) if isinstance(form, str) else str(form(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
