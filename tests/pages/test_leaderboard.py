"""Page 36: searches for votes that overturn a winner, against all tables."""

from __future__ import annotations

import numpy as np

from dpbook.estimators import ridge_mle
from dpbook.pages import leaderboard as page


def test_inverse_information_of_two_items() -> None:
    met, theta = np.array([[0, 10.0], [10, 0]]), np.array([0.2, -0.2])
    weight = 10 / (2 + 2 * np.cosh(0.4))
    direction = np.array([1, -1])
    variance = direction @ page.inverse_information(theta, met, 1.0) @ direction
    assert np.isclose(variance, 2 / (1 + 2 * weight), rtol=1e-12)


def test_a_search_turns_at_least_the_fewest_votes_and_overturns() -> None:
    for wins in page.small_boards(4, rng=np.random.default_rng(3)):
        fewest = page.exact_flips(wins, 1.0)
        flips, changed = page.overturn(wins, wins, 1.0, 30, drop=False)
        assert fewest <= flips and np.abs(changed - wins).sum() == 2 * flips
        before, after = (ridge_mle(t, gamma=1.0).theta.argmax() for t in (wins, changed))
        assert before != after


def test_left_out_votes_are_those_that_were_cast() -> None:
    theta, rng = np.array([0.3, 0.28, 0.0, -0.5]), np.random.default_rng(5)
    law = 1 / (1 + np.exp(theta - theta[:, None])) * (1 - np.eye(4))
    board = rng.multinomial(400, (law / law.sum()).ravel()).reshape(4, 4)
    dropped, changed = page.overturn(board, board, 1.0, 200, drop=True)
    assert (changed >= 0).all() and (changed <= board).all()
    assert board.sum() - changed.sum() == dropped
    before, after = (ridge_mle(t, gamma=1.0).theta.argmax() for t in (board, changed))
    assert before != after


def test_a_search_that_finds_nothing_changes_nothing() -> None:
    wins = np.array([[0, 30], [2, 0]])
    flips, changed = page.overturn(wins, wins, 1.0, 3, drop=False)
    assert flips == 4 and np.array_equal(changed, wins)
