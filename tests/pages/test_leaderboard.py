"""Page 36: what a search may do to the votes, and the inverse information by hand."""

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


def test_left_out_votes_are_those_that_were_cast() -> None:
    theta, rng = np.array([0.3, 0.28, 0.0, -0.5]), np.random.default_rng(5)
    law = 1 / (1 + np.exp(theta - theta[:, None])) * (1 - np.eye(4))
    board = rng.multinomial(400, (law / law.sum()).ravel()).reshape(4, 4)
    dropped, changed = page.overturn(board, board, 1.0, 200, drop=True)
    assert (changed >= 0).all() and (changed <= board).all()
    assert board.sum() - changed.sum() == dropped
    before, after = (ridge_mle(t, gamma=1.0).theta.argmax() for t in (board, changed))
    assert before != after
