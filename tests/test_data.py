"""Data types: comparisons, rankings, and tables of pair counts."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbook.data import Comparisons, PairTable, Rankings


def test_win_matrix_of_a_small_example() -> None:
    data = Comparisons(["x", "y", "z"], [0, 0, 2, 1], [1, 1, 0, 0], user=[7, 7, 9, 7])
    assert data.win_matrix().tolist() == [[0, 2, 0], [1, 0, 0], [1, 0, 0]]
    assert (data.n_items, len(data)) == (3, 4)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_win_matrix_round_trip(n: int, seed: int) -> None:
    wins = np.random.default_rng(seed).integers(0, 5, (n, n)) * (1 - np.eye(n, dtype=int))
    wins[0, 1] += 1
    data = Comparisons.from_win_matrix(wins)
    assert len(data) == wins.sum() and np.array_equal(data.win_matrix(), wins)
    counted = Counter(zip(data.winner.tolist(), data.loser.tolist(), strict=True))
    assert all(wins[pair] == times for pair, times in counted.items())
    with pytest.raises(ValueError, match="wins adds up to 0"):
        Comparisons.from_win_matrix(0 * wins)


def test_arrays_are_read_only_copies() -> None:
    winner = np.array([0, 1])
    data = Comparisons(2, winner, np.array([1, 0]))
    winner[0] = 1
    assert data.winner.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        data.winner[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        Rankings(3, [[0, 1, 2]]).positions[0, 0] = 2
    with pytest.raises(FrozenInstanceError):
        data.user = None  # type: ignore[misc]


def test_equality_looks_at_every_part() -> None:
    data = Comparisons(3, [0, 1], [1, 2], [0, 1])
    assert data == Comparisons(3, [0, 1], [1, 2], [0, 1])
    assert data == pickle.loads(pickle.dumps(data))
    others = [
        Comparisons(4, [0, 1], [1, 2], [0, 1]),
        Comparisons(3, [0, 1], [1, 0], [0, 1]),
        Comparisons(3, [0, 2], [1, 1], [0, 1]),
        Comparisons(3, [0, 1], [1, 2], [0, 0]),
        Comparisons(3, [0, 1], [1, 2]),
    ]
    assert all(data != other for other in others)
    assert replace(data, loser=[1, 0]) == others[1]


def test_positions_and_orders_are_inverse_permutations():
    data = Rankings.from_orders([[2, 0, 1], [0, 1, 2]], items=["a", "b", "c"])
    assert data.positions.tolist() == [[1, 2, 0], [0, 1, 2]]
    assert (data.n_items, len(data)) == (3, 2)
    assert data == Rankings(["a", "b", "c"], data.positions)
    assert data != Rankings(3, data.positions)


def test_a_table_by_hand() -> None:
    table = PairTable(
        list("abc"), [[0, 3, 1], [1, 0, 2], [2, 2, 0]], 5, [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    )
    assert (table.n_items, table.n_pairs, table.users) == (3, 3, 5)
    assert table.missing.tolist() == [[0, 0, 2], [0, 0, 1], [2, 1, 0]]
    assert table.half_tied_counts().tolist() == [[0, 3.5, 1], [1.5, 0, 2], [2, 2, 0]]
    assert not PairTable(2, [[0, 1], [0, 0]], 1).ties.any()
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0, 1] = 0
