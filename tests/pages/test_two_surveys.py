"""Page 13: who answered how much, against the tables and against the answers."""

from __future__ import annotations

from collections import Counter

import pytest
from full_data import FULL_DATA, needs_full_data
from page_cells import made_by

from dpbook.data import load_table

PEOPLE = made_by("13-two-surveys", "people-counted")["PEOPLE"]


@pytest.mark.parametrize("name", PEOPLE)
def test_people_add_up_to_the_answers_of_the_table(name: str) -> None:
    table, people = load_table(name), PEOPLE[name]
    decided, missing = table.counts.sum(), table.missing.sum() // 2
    answered = table.users * table.n_pairs - missing
    for histogram, total in ((people["decided"], decided), (people["answered"], answered)):
        assert len(histogram) == table.n_pairs + 1 and sum(histogram) == table.users
        assert sum(c * k for c, k in enumerate(histogram)) == total


@needs_full_data
@pytest.mark.parametrize("name", PEOPLE)
def test_people_equal_a_recount_of_the_answers(name: str) -> None:
    decided: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for line in (FULL_DATA / f"{name}.csv").read_text().splitlines()[1:]:
        person, _, _, outcome = line.split(",")
        decided[person] += outcome in ("a", "b")
        answered[person] += outcome != "missing"
    for kind, recount in (("decided", decided), ("answered", answered)):
        histogram = PEOPLE[name][kind]
        assert Counter(recount.values()) == {c: k for c, k in enumerate(histogram) if k}
