"""Page 13: how many people of each survey answered how many pairs."""

from __future__ import annotations

from typing import NamedTuple


class People(NamedTuple):
    """Entry c: people with exactly c decided answers, or c answers when ties count."""

    decided: tuple[int, ...]
    answered: tuple[int, ...]


# Counted from the same R packages as the tables. Reversing a pair changes who wins, not whether
# there was a decision: the same for both editions.
_CEMS = People(
    (2, 0, 0, 0, 0, 2, 2, 2, 8, 10, 13, 20, 27, 34, 84, 99),
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 91, 212),
)
PEOPLE = {
    "cems": _CEMS,
    "cems_1998": _CEMS,
    "immigration": People((0, 9, 9, 32, 9, 14, 25), (0, 3, 3, 13, 5, 9, 65)),
}
