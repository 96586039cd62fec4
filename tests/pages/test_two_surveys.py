"""Page 13: who answered how much, and the distance of noisy counts by hand."""

from __future__ import annotations

import sys
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pytest
from full_data import FULL_DATA, needs_full_data

from dpbook.data import load_table
from dpbook.pages.two_surveys import (
    PEOPLE,
    answers,
    chance,
    counts_distance,
    draw_shares,
    fair_mle,
    large_changes,
    mle_spends,
    tally,
    worst_ranking_loss,
)


@pytest.mark.parametrize("name", PEOPLE)
def test_people_add_up_to_the_answers_of_the_table(name: str) -> None:
    table, people = load_table(name), PEOPLE[name]
    said = answers(table)
    for histogram, total in (
        (people.decided, said.decided),
        (people.answered, said.decided + said.tied),
    ):
        assert len(histogram) == table.n_pairs + 1 and sum(histogram) == table.users
        assert sum(c * k for c, k in enumerate(histogram)) == total
    assert sum(said) == tally(table, people)["asked"] == table.users * table.n_pairs


@needs_full_data
@pytest.mark.parametrize("name", PEOPLE)
def test_people_equal_a_recount_of_the_answers(name: str) -> None:
    decided: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for line in (FULL_DATA / f"{name}.csv").read_text().splitlines()[1:]:
        person, _, _, outcome = line.split(",")
        decided[person] += outcome in ("a", "b")
        answered[person] += outcome != "missing"
    for histogram, found in zip(PEOPLE[name], (decided, answered), strict=True):
        assert Counter(found.values()) == {c: k for c, k in enumerate(histogram) if k}


def test_two_noisy_counts_change_places_as_laplace_noise_says() -> None:
    # P(swap) of two counts a gap apart, in units x of the scale: (2 + x) exp(-x) / 4.
    swapped = (2 + 3) * np.exp(-3) / 4
    assert counts_distance(np.array([7.0, 4.0]), 1.0) == pytest.approx(swapped, rel=1e-12)
    assert counts_distance(np.zeros(4), 1e6) == pytest.approx(chance(4), abs=1e-6)


def test_changes_are_those_of_one_person() -> None:
    changes = large_changes()
    assert len(np.unique(changes, axis=0)) == 40 and not changes.sum(axis=1).any()
    assert (np.abs(changes).sum(axis=1) == 6 * 5 // 2 + 6**2 // 4).all()


def test_the_loss_of_the_ranking_of_two_items_is_that_of_its_law() -> None:
    # One vote of two moves the gap from 3 to 1, in units of the scale 2.
    shares = [(2 + x) * np.exp(-x) / 4 for x in (1.5, 0.5)]
    found = worst_ranking_loss(np.array([5, 2]), np.array([[-1, 1], [0, 0]]), 2.0)
    assert found == pytest.approx(np.log(shares[1] / shares[0]), rel=1e-9)


def test_the_fair_noise_spends_its_level() -> None:
    for n, level in ((4, 0.5), (6, 2.0)):
        assert mle_spends(n, *fair_mle(n, level))[1] == pytest.approx(level, rel=1e-12)


@pytest.mark.parametrize("there", [True, False])
def test_shares_are_drawn_with_and_without_seaborn(there, monkeypatch):
    if not there:
        monkeypatch.setitem(sys.modules, "seaborn", None)
    counts = np.array([[0, 9, 2], [1, 0, 5], [8, 5, 0]])
    _, ax = plt.subplots()
    draw_shares(ax, counts / np.maximum(counts + counts.T, 1), counts, ["a", "b", "c"])
    texts = {(*map(float, t.get_position()), t.get_text()) for t in ax.texts}
    assert texts == {
        (j + 0.5, i + 0.5, str(counts[i, j])) for i in range(3) for j in range(3) if i != j
    }
    assert ax.get_ylim() == (3, 0), "the first row on top"
    plt.close()
