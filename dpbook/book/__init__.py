"""The machinery of the book: pages and their parameters, runs, claims, figures, the HTML.

The names below are imported when they are asked for: what runs a page in a browser puts a display
in the place of IPython's before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpbook.book.ledger.check import check, verdict_of
    from dpbook.book.ledger.findings import at_least, at_most, equal, proved
    from dpbook.book.prose import grade, say, slider, table

__all__ = ["at_least", "at_most", "check", "equal", "grade", "proved"]
__all__ += ["moving", "say", "slider", "table", "verdict_of"]
_HOMES = dict.fromkeys(__all__, "prose")
_HOMES |= dict.fromkeys(("check", "verdict_of"), "ledger.check")
_HOMES |= dict.fromkeys(("at_least", "at_most", "equal", "proved"), "ledger.findings")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
