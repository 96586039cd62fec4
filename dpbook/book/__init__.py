"""The machinery of the book: pages and their parameters, runs, claims, figures, the HTML.

The names for notebooks are loaded on first use, since ``dpbook list`` needs no matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpbook.book import figures
    from dpbook.book.claims import check
    from dpbook.book.findings import at_least, at_most, equal
    from dpbook.book.prose import say, table

__all__ = ["at_least", "at_most", "check", "equal", "figures", "say", "table"]


def __getattr__(name: str) -> object:
    if name == "check":
        return import_module("dpbook.book.claims").check
    if name == "figures":
        return import_module("dpbook.book.figures")
    if name in ("at_least", "at_most", "equal"):
        return getattr(import_module("dpbook.book.findings"), name)
    if name in ("say", "table"):
        return getattr(import_module("dpbook.book.prose"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
