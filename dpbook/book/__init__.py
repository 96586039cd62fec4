"""The machinery of the book: pages and their parameters, runs, claims, figures, the HTML."""

from __future__ import annotations

from dpbook.book.grading import grade
from dpbook.book.ledger.check import check, verdict_of
from dpbook.book.ledger.findings import at_least, at_most, equal, proved
from dpbook.book.prose import say, slider, table

__all__ = [
    "at_least",
    "at_most",
    "check",
    "equal",
    "grade",
    "proved",
    "say",
    "slider",
    "table",
    "verdict_of",
]
