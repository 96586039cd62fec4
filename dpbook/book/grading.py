"""What the check of an exercise says, in a notebook; a page in the browser has its own words."""

from __future__ import annotations


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
