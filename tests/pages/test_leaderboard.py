"""Leaderboards: votes that overturn a winner, places that could be true, chances of a release."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import laplace

from dpbook.data import load_table
from dpbook.estimators import ridge_mle
from dpbook.pages import leaderboard as page

EPSILON, DELTA = 0.7, 1e-4


def test_drawn_tables_have_so_many_votes_and_the_model_s_shares() -> None:
    theta = np.array([1.0, 0.0, -0.5])
    tables = page.drawn(theta, 30_000, 4, rng=np.random.default_rng(1))
    assert tables.shape == (4, 3, 3) and (tables.sum(axis=(1, 2)) == 30_000).all()
    assert not tables[:, range(3), range(3)].any()
    share = tables[:, 0, 1] / (tables[:, 0, 1] + tables[:, 1, 0])
    # Six standard deviations of 10,000 votes on a pair.
    assert np.abs(share - 1 / (1 + np.exp(-1))).max() < 6 * 0.5 / 99


def test_votes_are_kept_at_random_and_ties_stay_half_wins() -> None:
    votes = load_table("llmfao")
    every = page.kept(votes, 8931, 2, rng=np.random.default_rng(2))
    assert (every == votes.half_tied_counts()).all()
    few = page.kept(votes, 2480, 300, rng=np.random.default_rng(3))
    assert (few.sum(axis=(1, 2)) == 2480).all() and (few <= every[0]).all()
    wins, mean = every[0].sum(axis=1), few.sum(axis=(2,)).mean(axis=0)
    # six standard deviations of a mean of 300; a vote of a model is a win or none
    assert np.abs(mean - wins * 2480 / 8931).max() < 6 * np.sqrt(wins.max() / 300)


def test_misordered_pairs_by_hand() -> None:
    theta = np.array([3.0, 2.0, 1.0])
    found = np.array([[9, 5, 1], [5, 9, 1], [1, 5, 9], [5, 5, 1]])
    assert page.misordered(found, theta).tolist() == [0, 1 / 3, 1, 1 / 3]


def test_places_by_hand() -> None:
    low, high = np.array([5.0, 1.0, 0.0]), np.array([6.0, 2.0, 1.5])
    best, worst = page.rank_limits(low, high)
    assert (best.tolist(), worst.tolist()) == ([1, 2, 2], [1, 3, 3])


def test_simultaneous_limit_of_the_noise_is_exact() -> None:
    q = page.simultaneous(3.0, 59, 0.05)
    inside = laplace.cdf(q, scale=3.0) - laplace.cdf(-q, scale=3.0)
    assert inside**59 == pytest.approx(0.95, rel=1e-12)


def test_sampling_margin_is_that_of_hoeffding() -> None:
    met = np.array([100.0, 400.0])
    chances = 2 * np.exp(-2 * page.sampling_margin(met, 0.01) ** 2 / met)
    assert chances == pytest.approx([0.005, 0.005], rel=1e-12)


def test_flips_of_shares_against_all_tables() -> None:
    rng = np.random.default_rng(2)
    for wins in page.small_boards(3, rng=rng):
        pairs = np.argwhere(np.triu(wins + wins.T))
        met = (wins + wins.T).sum(axis=1)
        first = int((wins.sum(axis=1) / met).argmax())
        fewest = 10**6
        grids = [range(wins[i, j] + wins[j, i] + 1) for i, j in pairs]
        for after in np.array(np.meshgrid(*grids)).reshape(len(pairs), -1).T:
            table = np.zeros_like(wins)
            for (i, j), x in zip(pairs, after, strict=True):
                table[i, j], table[j, i] = x, wins[i, j] + wins[j, i] - x
            rate = table.sum(axis=1) / met
            if np.delete(rate, first).max() >= rate[first] - 1e-12:
                fewest = min(fewest, int(np.abs(table - wins).sum()) // 2)
        assert page.rate_flips(wins, wins) == fewest


def test_resistance_of_two_items_is_one_over_the_information() -> None:
    met, theta = np.array([[0, 10.0], [10, 0]]), np.array([0.2, -0.2])
    weight = 10 / (2 + 2 * np.cosh(0.4))
    found = page.resistances(theta, met, 1.0)
    assert found[0, 1] == pytest.approx(2 / (1 + 2 * weight), rel=1e-12)


def test_bounds_lie_on_both_sides_of_the_fewest_votes() -> None:
    """The control: one more than the lower bound is too much somewhere."""
    rng, tight = np.random.default_rng(3), 0
    for wins in page.small_boards(4, rng=rng):
        exact = page.exact_flips(wins, 1.0)
        found, changed = page.overturn(wins, wins, 1.0, 30, drop=False)
        bound = page.least_flips(wins.astype(float), 1.0)
        assert bound <= exact <= found
        tight += bound == exact
        assert np.abs(changed - wins).sum() == 2 * found
        assert page.new_lead(wins, changed, 1.0) > 0 > page.new_lead(wins, wins, 1.0)
    assert tight


def test_left_out_votes_are_those_that_were_cast() -> None:
    theta = np.array([0.3, 0.28, 0.0, -0.5])
    board = page.drawn(theta, 400, 1, rng=np.random.default_rng(5))[0]
    found, changed = page.overturn(board, board, 1.0, 200, drop=True)
    assert (changed >= 0).all() and (changed <= board).all()
    assert board.sum() - changed.sum() == found
    before, after = (ridge_mle(t, gamma=1.0).theta.argmax() for t in (board, changed))
    assert before != after


def test_a_search_that_finds_nothing_changes_nothing() -> None:
    wins = np.array([[0, 30], [2, 0]])
    found, changed = page.overturn(wins, wins, 1.0, 3, drop=False)
    assert found == 4 and np.array_equal(changed, wins)


def test_tail_of_the_noise() -> None:
    x = np.array([-3.0, 0.0, 2.0, 40.0])
    assert page.laplace_tail(x, 0.5) == pytest.approx(laplace.sf(x, scale=0.5), rel=1e-12)


def test_the_threshold_is_just_enough() -> None:
    ask, scale = page.threshold(EPSILON, DELTA), 1 / EPSILON
    test = page.tested(60, scale, ask)
    assert test[0, 0] == 0 and test[0, 1] == pytest.approx(DELTA, rel=1e-12)
    assert test.sum(axis=0) == pytest.approx(np.ones(60), rel=1e-12)
    assert page.pts_loss(test, EPSILON) == pytest.approx(DELTA, rel=1e-6)
    assert page.pts_loss(page.tested(60, scale, ask - 0.1), EPSILON) > 1.05 * DELTA
    assert page.pts_loss(page.tested(60, 0.9 * scale, ask), EPSILON) > 1.05 * DELTA


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (0.7, 1e-4), (10.0, 1e-9)])
def test_nothing_private_is_released_more_often(epsilon: float, delta: float) -> None:
    steps = 1 + int(2 * page.threshold(epsilon, delta))
    best = page.most_release(steps, epsilon, delta)
    test = page.tested(steps, 1 / epsilon, page.threshold(epsilon, delta))
    assert (test[0] <= best[0] * (1 + 1e-9)).all()
    for chances in (best, test):
        assert page.pts_loss(chances, epsilon) == pytest.approx(delta, rel=1e-6)


def test_the_most_that_can_be_released_starts_in_closed_form() -> None:
    best, _ = page.most_release(40, EPSILON, DELTA)
    closed = page.first_release(np.arange(40), EPSILON, DELTA)
    assert best[:8] == pytest.approx(closed[:8], rel=1e-12)
    assert (np.diff(best) >= 0).all() and best[-1] <= 1 < closed[-1]
