"""Neighbours and sensitivities, against naive enumeration and counting formulas."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest

from dpbook.privacy import (
    bundle_contributions,
    count_neighbours_edge,
    count_neighbours_individual,
    count_sensitivity,
    edge_datasets,
    edge_neighbours,
    sensitivity,
)
from dpbook.privacy.neighbours import DESIGNS, outcome_counts

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


def canonical(pair):
    """The smallest of all renamings of the items and of both orders of the sides."""
    x, y = (tuple(map(int, side)) for side in pair)
    names = list(permutations(range(len(x))))
    return min(
        (tuple(a[i] for i in order), tuple(b[i] for i in order))
        for a, b in ((x, y), (y, x))
        for order in names
    )


def classes(pairs):
    return {canonical(pair) for pair in pairs if tuple(pair[0]) != tuple(pair[1])}


def answer_sheets(n, design, per_user):
    """Win counts of every single answer sheet a person can hand in, one by one."""
    if design == "ranking":
        return [tuple(n - 1 - order.index(i) for i in range(n)) for order in permutations(range(n))]
    if design == "with_replacement":
        wins = [w for i, j in pairs_of(n) for w in (i, j)]
        return [tuple(sheet.count(i) for i in range(n)) for sheet in product(wins, repeat=per_user)]
    values = (-1, 1) if design == "each_pair_once" else (-1, 0, 1)
    return [naive_counts(row, n) for row in product(values, repeat=len(pairs_of(n)))]


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


def test_the_number_of_edge_neighbours_has_a_closed_form():
    for row in edge_datasets(4, complete=False):
        present = np.count_nonzero(row)
        absent = row.size - present
        assert edge_neighbours(row, kind="flip").shape == (present, 6)
        assert edge_neighbours(row, kind="exchange").shape == (2 * present * absent, 6)
        assert len(edge_neighbours(row)) == present + 2 * present * absent


@pytest.mark.parametrize(
    ("n", "complete", "kind"),
    [
        (2, True, "both"),
        (3, True, "both"),
        (4, True, "flip"),
        *[(3, False, kind) for kind in KINDS],
    ],
)
def test_classes_of_edge_neighbours_match_naive_enumeration(n, complete, kind):
    pairs = [
        (naive_counts(row, n), naive_counts(other, n))
        for row in edge_datasets(n, complete=complete).tolist()
        for other in edge_neighbours(row, kind=kind)
    ]
    found = count_neighbours_edge(n, complete=complete, kind=kind)
    assert classes(found) == classes(pairs)
    assert len(found) == len(classes(pairs))  # each class once


# ------------------------------------------------------------------ what one person contributes


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_bundles_are_the_counts_of_all_answer_sheets(n, design):
    per_user = 3 if design == "with_replacement" else None
    found = [tuple(b) for b in bundle_contributions(n, design=design, per_user=per_user).tolist()]
    assert found == sorted(set(answer_sheets(n, design, per_user)))


def test_the_number_of_bundles():
    # score vectors of labelled tournaments are as many as labelled forests
    forests = [2, 7, 38, 291, 2932]
    assert [len(bundle_contributions(n, design="each_pair_once")) for n in range(2, 7)] == forests
    assert len(bundle_contributions(5, design="ranking")) == 120
    for n, wins in ((3, 4), (5, 2), (6, 6)):
        assert len(bundle_contributions(n, per_user=wins)) == math.comb(wins + n - 1, n - 1)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("users", [1, 2])
def test_classes_of_individual_neighbours_match_naive_enumeration(design, users):
    n, per_user = 3, 2 if design == "with_replacement" else None
    sheets = sorted(set(answer_sheets(n, design, per_user)))
    others = sheets if users == 2 else [(0,) * n]
    pairs = [
        (tuple(np.add(rest, a)), tuple(np.add(rest, b)))
        for rest in others
        for a, b in combinations(sheets, 2)
    ]
    bundles = bundle_contributions(n, design=design, per_user=per_user)
    found = count_neighbours_individual(bundles, users)
    assert classes(found) == classes(pairs)
    assert len(found) == len(classes(pairs))


# ------------------------------------------------------------------ sensitivity


def search(n, norm, **design):
    return sensitivity(combinations(bundle_contributions(n, **design), 2), norm=norm).value


def person(n, **design):
    return count_sensitivity(n, privacy="individual", **design)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("complete", [True, False])
def test_one_answer_moves_the_counts_by_two(n, complete):
    pairs = count_neighbours_edge(n, complete=complete)
    assert sensitivity(pairs).value == count_sensitivity(n, privacy="edge") == 2
    assert sensitivity(pairs, norm="l2").value == pytest.approx(math.sqrt(2))
    assert sensitivity(pairs, norm="linf").value == 1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("wins", [1, 2, 4])
def test_free_comparisons(n, wins):
    assert search(n, "l1", per_user=wins) == person(n, per_user=wins) == 2 * wins
    assert search(n, "l2", per_user=wins) == pytest.approx(math.sqrt(2) * wins)
    assert search(n, "linf", per_user=wins) == wins


@pytest.mark.parametrize(("n", "once", "skip"), [(2, 2, 2), (3, 4, 5), (4, 8, 10)])
def test_every_pair_once_or_skipped(n, once, skip):
    for design, expected in (
        ("each_pair_once", once),
        ("ranking", once),
        ("each_pair_or_skip", skip),
    ):
        assert search(n, "l1", design=design) == expected
        assert person(n, design=design) == expected
        assert search(n, "linf", design=design) == n - 1
    assert search(n, "l2", design="ranking") == pytest.approx(math.sqrt(n * (n**2 - 1) / 3))
    half = [*range((n + 1) // 2, n), *range(n // 2, n)]
    skipping = math.sqrt(sum(v**2 for v in half))
    assert search(n, "l2", design="each_pair_or_skip") == pytest.approx(skipping)


@pytest.mark.parametrize("n", [5, 6])
def test_larger_sizes_against_the_bundles_directly(n):
    for design in ("each_pair_once", "each_pair_or_skip"):
        bundles = bundle_contributions(n, design=design)
        # items may be renamed so that the first bundle descends
        first = np.unique(-np.sort(-bundles, axis=1), axis=0)
        largest = max(int(np.abs(bundles - a).sum(axis=1).max()) for a in first)
        assert largest == person(n, design=design)


def test_the_people_who_stay_do_not_matter():
    bundles = bundle_contributions(3, design="each_pair_or_skip")
    for users in (1, 2, 3):
        assert sensitivity(count_neighbours_individual(bundles, users)).value == 5


def test_the_worst_pair_is_returned_and_a_statistic_may_be_given():
    found = sensitivity([((0, 0), (1, 2)), ((0, 0), (3, -3))], norm="l1")
    assert found.value == 6 and found.pair == ((0, 0), (3, -3))
    rows = [(row, other) for row in edge_datasets(3) for other in edge_neighbours(row)]
    assert sensitivity(rows, statistic=lambda row: outcome_counts(row, 3)).value == 2
    # a score of plus and minus one for each answer moves twice as far as the wins
    assert sensitivity(rows, statistic=lambda row: 2 * outcome_counts(row, 3)).value == 4


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: edge_datasets(1), "n_items"),
        (lambda: edge_datasets(8), "n_items"),
        (lambda: edge_datasets(6, complete=False), "n_items"),
        (lambda: edge_datasets(3.0), "n_items"),
        (lambda: edge_neighbours([[1, 1, 1]]), "dataset"),
        (lambda: edge_neighbours([1, 2, 1]), "dataset"),
        (lambda: edge_neighbours([1, 1, 1], kind="swap"), "kind"),
        (lambda: count_neighbours_edge(3, kind=""), "kind"),
        (lambda: count_neighbours_edge(9), "n_items"),
        (lambda: outcome_counts([1, 1], 3), "datasets"),
        (lambda: bundle_contributions(1, per_user=1), "n_items"),
        (lambda: bundle_contributions(3, design="free"), "design"),
        (lambda: bundle_contributions(3), "per_user"),
        (lambda: bundle_contributions(3, per_user=0), "per_user"),
        (lambda: bundle_contributions(3, design="ranking", per_user=2), "per_user"),
        (lambda: count_neighbours_individual(np.ones((2, 3)), 0), "users"),
        (lambda: count_neighbours_individual([1, 2, 3], 1), "bundles"),
        (lambda: count_neighbours_individual(np.empty((0, 3)), 1), "bundles"),
        (lambda: sensitivity([]), "pairs"),
        (lambda: sensitivity([((0,), (1,))], norm="l3"), "norm"),
        (lambda: person(1), "n_items"),
        (lambda: count_sensitivity(3, privacy="local"), "privacy"),
        (lambda: person(3, design="all"), "design"),
        (lambda: person(3), "per_user"),
        (lambda: person(3, per_user=0), "per_user"),
    ],
)
def test_what_is_no_design_is_refused_by_name(call, name):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()


def test_bundles_that_are_not_closed_under_renaming_are_taken_as_they_are():
    pairs = count_neighbours_individual([[2, 0, 0], [0, 1, 0]], 2)
    # One other person contributed (2,0,0) or (0,1,0); the bundle that changes does either.
    found = {frozenset(map(tuple, np.sort(pair, axis=1).tolist())) for pair in pairs}
    assert found == {frozenset({(0, 0, 4), (0, 1, 2)}), frozenset({(0, 1, 2), (0, 0, 2)})}


@pytest.mark.parametrize("bundles", [[[-1, 1], [1, -1]], [[0.5, 0.5]], [1, 0]])
def test_bundles_that_are_no_counts_are_refused(bundles):
    with pytest.raises(ValueError, match="bundles"):
        count_neighbours_individual(bundles, 1)


def test_edge_neighbours_refuses_fractions():
    with pytest.raises(ValueError, match="dataset"):
        edge_neighbours([0.5, 1, 1])


def test_sensitivity_refuses_nan_wherever_it_comes():
    pairs = [(0, 1), (0, 2)]
    with pytest.raises(ValueError, match="statistic"):
        sensitivity(pairs, statistic=lambda x: [np.nan if x == 2 else x])


def test_count_sensitivity_refuses_per_user_where_it_means_nothing():
    with pytest.raises(ValueError, match="per_user"):
        person(3, design="ranking", per_user=7)
