"""Whole rankings, and rankings from ratings."""

import numpy as np
import pytest

from dpbook.data import Rankings, rankings_from_ratings


def test_positions_and_orders_are_inverse_permutations():
    data = Rankings.from_orders([[2, 0, 1], [0, 1, 2]], items=["a", "b", "c"])
    assert data.positions.tolist() == [[1, 2, 0], [0, 1, 2]]
    assert data.orders.tolist() == [[2, 0, 1], [0, 1, 2]]
    assert (data.n_users, data.n_items, len(data)) == (2, 3, 2)
    assert data == Rankings(["a", "b", "c"], data.positions)
    assert data != Rankings(3, data.positions)


def test_the_table_is_read_only():
    data = Rankings(3, [[0, 1, 2]])
    with pytest.raises(ValueError, match="read-only"):
        data.positions[0, 0] = 2


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([[0, 0, 1]], r"positions\[0\] = \[0, 0, 1\]: allowed is a permutation of 0..2"),
        ([[0, 1, 3]], "permutation"),
        ([[0.0, 1.0, 2.0]], "integers"),
        ([0, 1, 2], "shape"),
        ([[0, 1]], "shape"),
        (np.empty((0, 3), dtype=int), "at least one user"),
    ],
)
def test_bad_tables_are_refused(positions, message):
    with pytest.raises(ValueError, match=message):
        Rankings(3, positions)


def test_ratings_better_first_and_unrated_last():
    nan = np.nan
    data = rankings_from_ratings(
        [[3.0, 5.0, nan, 4.0], [nan, 1.0, 2.0, 0.5]], rng=np.random.default_rng(1)
    )
    assert data.orders.tolist() == [[1, 3, 0, 2], [2, 1, 3, 0]]


def test_ties_and_unrated_items_fall_either_way_equally_often():
    ratings = np.tile([4.0, 4.0, np.nan, np.nan], (4000, 1))
    positions = rankings_from_ratings(ratings, rng=np.random.default_rng(2)).positions
    # Four standard deviations of a fair coin tossed 4000 times.
    for i, j in ((0, 1), (2, 3)):
        assert abs((positions[:, i] < positions[:, j]).mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    assert (positions[:, :2].max(axis=1) < positions[:, 2:].min(axis=1)).all()


def test_ratings_without_an_item_are_refused():
    with pytest.raises(ValueError, match="ratings of shape"):
        rankings_from_ratings([1.0, 2.0], rng=np.random.default_rng(0))
