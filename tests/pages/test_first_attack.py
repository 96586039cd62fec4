"""Page 01: beliefs by Bayes' rule, guesses by hand, joint laws."""

from __future__ import annotations

import numpy as np
import pytest

from dpbook.book import figures
from dpbook.mechanisms import randomized_response_pmf
from dpbook.pages import first_attack as page
from dpbook.privacy import outcome_counts


def test_a_belief_moves_by_the_ratio_of_the_odds() -> None:
    after = page.posterior([0.0, 0.5, 0.9, 1.0], 3.0)
    np.testing.assert_allclose(after, [0, 3 / 4, 27 / 28, 1])


def test_the_best_guess_takes_the_likeliest_row() -> None:
    assert page.best_guess(np.eye(4)) == 1
    assert page.best_guess(np.full((4, 3), 1 / 3)) == pytest.approx(1 / 4)
    assert page.best_guess(randomized_response_pmf(np.log(3))) == pytest.approx(3 / 4)


def test_one_after_another_is_a_product_when_nothing_depends() -> None:
    one, other = (randomized_response_pmf(e) for e in (0.5, 1.5))
    joint = page.one_after_another(one, np.array([other, other]))
    for world in (0, 1):
        np.testing.assert_allclose(joint[world], np.outer(one[world], other[world]).ravel())
    assert page.largest_loss(joint) == pytest.approx(2.0)


def test_the_second_may_look_at_the_first() -> None:
    first = np.array([[0.6, 0.4], [0.5, 0.5]])
    second = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.2, 0.8], [0.7, 0.3]]])
    joint = page.one_after_another(first, second)
    np.testing.assert_allclose(joint, [[0.6, 0, 0.08, 0.32], [0.5, 0, 0.35, 0.15]])


def test_the_answers_name_their_drinks() -> None:
    assert page.preferred(page.ANSWERS)[3] == ["tea", "juice", "juice"]
    wins = outcome_counts(page.ANSWERS, 3)
    assert page.order_of(wins)[3].tolist() == [2, 0, 1]
    assert page.order_of(wins)[2].tolist() == [0, 1, 2]  # ties by name


def test_what_is_left_is_the_victims_own() -> None:
    _, ax = figures.canvas(7, 3.7)
    wins = outcome_counts(page.ANSWERS, 3)
    page.draw_subtraction(ax, wins, 1, ["coffee, tea, coffee"])
    said = [text.get_text() for text in ax.texts]
    assert [f"= {count}" for count in wins[1]] == [word for word in said if word[0] == "="]
