"""The machinery of the book: pages and their parameters, runs, claims, figures, the HTML.

Notebooks need four names from here: ``check``, ``figures``, ``say`` and ``table``.  They are loaded
on first use, so that a command like ``dpbook list`` does not pay for matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpbook.book import figures
    from dpbook.book.claims import check
    from dpbook.book.prose import say, table

__all__ = ["check", "figures", "say", "table"]


def __getattr__(name: str) -> object:
    if name == "check":
        return import_module("dpbook.book.claims").check
    if name == "figures":
        return import_module("dpbook.book.figures")
    if name in ("say", "table"):
        return getattr(import_module("dpbook.book.prose"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
