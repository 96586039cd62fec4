"""The machinery of the book: pages and their parameters, runs, claims, figures, the HTML.

The names below are imported when they are asked for: what runs a page in a browser puts a display
in the place of IPython's before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpbook.book.ledger.check import check as check
    from dpbook.book.ledger.check import verdict_of as verdict_of
    from dpbook.book.ledger.findings import at_least as at_least
    from dpbook.book.ledger.findings import at_most as at_most
    from dpbook.book.ledger.findings import equal as equal
    from dpbook.book.ledger.findings import proved as proved
    from dpbook.book.prose import grade as grade
    from dpbook.book.prose import say as say
    from dpbook.book.prose import slider as slider
    from dpbook.book.prose import table as table

_HOMES = {"check": "ledger.check", "verdict_of": "ledger.check"}
_HOMES |= dict.fromkeys(("at_least", "at_most", "equal", "proved"), "ledger.findings")
_HOMES |= dict.fromkeys(("grade", "say", "slider", "table"), "prose")
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
