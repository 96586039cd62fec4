"""The drawings of one person's move and of the noise say what the page says."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dpbook.pages.individual_counts import draw_move, draw_noise


@pytest.mark.parametrize("L", [1, 3])
def test_two_bars_move_by_all_answers_of_one_person(L):
    fig, ax = plt.subplots()
    draw_move(ax, L)
    signs = [text.get_text() for text in ax.texts if text.get_text()]
    assert signs == [f"−L = −{L}", f"+L = +{L}"]
    assert f"= {2 * L} wins" in ax.get_title(loc="left") + ax.get_title()
    plt.close(fig)


def test_the_right_noise_is_twice_as_wide():
    fig, ax = plt.subplots()
    draw_noise(ax, 2, 0.5)
    printed, right = (np.asarray(line.get_ydata()) for line in ax.lines)
    assert printed.max() == pytest.approx(2 * right.max())
    assert printed.max() == pytest.approx(1 / (2 * 2 / 0.5))
    plt.close(fig)
