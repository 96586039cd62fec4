"""Neighbours of the edge design and sensitivities, against naive enumeration."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from dpbook.privacy import Person, edge_datasets, edge_neighbours, outcome_counts, sensitivity
from dpbook.privacy.neighbours import most_sums

KINDS = ("flip", "exchange", "both")


def pairs_of(n):
    return list(combinations(range(n), 2))


def naive_counts(row, n):
    """Win counts of one row, pair by pair."""
    counts = [0] * n
    for (i, j), outcome in zip(pairs_of(n), row, strict=True):
        if outcome == 1:
            counts[i] += 1
        elif outcome == -1:
            counts[j] += 1
    return tuple(counts)


def naive_edge_neighbours(row, kind):
    """Every data set that the definition calls a neighbour, found among all data sets."""
    found = []
    for other in product((-1, 0, 1), repeat=len(row)):
        changed = [(a, b) for a, b in zip(row, other, strict=True) if a != b]
        flip = len(changed) == 1 and 0 not in changed[0]
        exchange = len(changed) == 2 and [(a == 0, b == 0) for a, b in changed] in (
            [(True, False), (False, True)],
            [(False, True), (True, False)],
        )
        if (flip and kind != "exchange") or (exchange and kind != "flip"):
            found.append(other)
    return found


# ------------------------------------------------------------------ edge data sets


@pytest.mark.parametrize(
    ("n", "complete"), [(2, True), (3, True), (4, True), (3, False), (4, False)]
)
def test_all_edge_datasets_are_listed_once(n, complete):
    data = edge_datasets(n, complete=complete)
    values = 2 if complete else 3
    assert data.shape == (values ** math.comb(n, 2), math.comb(n, 2))
    assert len(np.unique(data, axis=0)) == len(data)
    assert set(np.unique(data)) == ({-1, 1} if complete else {-1, 0, 1})
    counts = outcome_counts(data, n)
    assert [tuple(c) for c in counts.tolist()] == [naive_counts(row, n) for row in data]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3])
def test_edge_neighbours_are_those_of_the_definition(n, kind):
    data = edge_datasets(n, complete=False)
    related = {
        tuple(row): set(map(tuple, edge_neighbours(row, kind=kind))) for row in data.tolist()
    }
    for row, neighbours in related.items():
        assert neighbours == set(naive_edge_neighbours(row, kind))
        assert all(row in related[other] for other in neighbours)  # symmetric
        assert all(sum(map(abs, other)) == sum(map(abs, row)) for other in neighbours)


@pytest.mark.parametrize("design", ["each_pair_once", "each_pair_or_skip"])
def test_the_bound_on_the_sums_of_bundles_is_one_by_hand(design):
    bundles = Person(3, design=design).contributions()
    rows, sums = [tuple(row) for row in bundles.tolist()], {(0, 0, 0)}
    for terms in range(1, 7):
        sums = {tuple(a + b for a, b in zip(s, row, strict=True)) for s in sums for row in rows}
        assert len(sums) <= most_sums(bundles, terms)
        # in a box, whose third side the two others tell if all bundles have three wins
        box = (2 * terms + 1) ** (2 if design == "each_pair_once" else 3)
        assert most_sums(bundles, terms) == min(box, math.comb(terms + len(rows) - 1, terms))
    assert most_sums(bundles, 1) == len(rows)


# ------------------------------------------------------------------ sensitivity


def test_the_worst_pair_is_returned_and_a_statistic_may_be_given():
    found = sensitivity([((0, 0), (1, 2)), ((0, 0), (3, -3))], norm="l1")
    assert found.value == 6 and found.pair == ((0, 0), (3, -3))
    rows = [(row, other) for row in edge_datasets(3) for other in edge_neighbours(row)]
    assert sensitivity(rows, statistic=lambda row: outcome_counts(row, 3)).value == 2
    # a score of plus and minus one for each answer moves twice as far as the wins
    assert sensitivity(rows, statistic=lambda row: 2 * outcome_counts(row, 3)).value == 4
