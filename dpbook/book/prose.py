"""Numbers in sentences and tables for readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from myst_nb import glue
from pandas.io.formats.style import Styler

__all__ = ["say", "table"]


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


def table(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    formats: Mapping[str, Any] | None = None,
    *,
    caption: str | None = None,
) -> Styler:
    """Show rows as a table without an index column.

    Parameters
    ----------
    rows : sequence of mapping
        One mapping from column heading to entry for each row; units stand in the headings.
    name : str
        Unique on the page; a fixed name keeps rebuilds identical.
    formats : mapping, optional
        From column heading to a format such as ``"{:.3f}"``.
    caption : str, optional
        What the table shows.

    Returns
    -------
    pandas.io.formats.style.Styler
    """
    styled = pd.DataFrame(list(rows)).style.hide(axis="index").set_uuid(f"t-{name}")
    styled = styled.set_caption(caption) if caption else styled
    return styled.format({**(formats or {})})
