"""Units: bundles, neighbours, sensitivities and refusals, against naive enumeration."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest

from dpbook.data import Comparisons
from dpbook.models import all_rankings
from dpbook.privacy import Edge, Person, WholeRanking, edge_datasets, edge_neighbours, sensitivity
from dpbook.privacy.neighbours import most_sums, outcome_counts
from dpbook.privacy.units import DESIGNS
from tests.oracles import sheets, tables

RELATIONS = ("replace", "add_remove")


def pairs_of(n):
    return list(combinations(range(n), 2))


def canonical(pair):
    """The smallest of all renamings of the items and of both orders of the sides."""
    x, y = (tuple(map(int, side)) for side in pair)
    both = product(((x, y), (y, x)), permutations(range(len(x))))
    return min(tuple(tuple(side[i] for i in order) for side in sides) for sides, order in both)


def classes(pairs):
    return {canonical(pair) for pair in pairs if tuple(pair[0]) != tuple(pair[1])}


def answer_sheets(n, design, per_user):
    """Win counts of everything that a person can hand in, each once."""
    return sorted({tuple(t.sum(axis=1).tolist()) for t in sheets(n, design, per_user)})


def of(design, n, per_user, users=None):
    return Person(n, per_user if design == "with_replacement" else None, design, users=users)


ALL_UNITS = [Edge(n, exchange=False) for n in (2, 3, 4)] + [Edge(2), Edge(3)]
ALL_UNITS += [of(design, 3, 2, users) for design in DESIGNS for users in (1, 2)]
ALL_UNITS += [WholeRanking(3, users, how) for how in RELATIONS for users in (1, 2)]


@pytest.mark.parametrize("unit", ALL_UNITS, ids=str)
def test_neighbours_match_the_definition(unit):
    pairs = [tuple(tuple(side.sum(axis=1).tolist()) for side in both) for both in tables(unit)]
    if isinstance(unit, WholeRanking):
        listed, found = list(unit.neighbours()), unit.neighbours("counts")
        if unit.relation == "replace":
            assert all((x + x.T == unit.users * (1 - np.eye(3))).all() for xy in listed for x in xy)
        wins = [tuple(tuple(x.sum(axis=1).tolist()) for x in both) for both in listed]
        assert classes(wins) == classes(pairs)
    else:
        found = unit.neighbours()
        assert len(found) == len(classes(pairs))  # each class once
    assert classes(found) == classes(pairs)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("exchange", [True, False])
def test_one_answer_moves_the_counts_by_two(n, exchange):
    pairs = Edge(n, exchange).neighbours()
    assert sensitivity(pairs).value == Edge(n, exchange).l1() == 2
    assert sensitivity(pairs, norm="l2").value == pytest.approx(Edge(n, exchange).l2(), rel=1e-12)
    assert sensitivity(pairs, norm="linf").value == 1


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_bundles_are_the_counts_of_all_answer_sheets(n, design):
    found = [tuple(b) for b in of(design, n, 3).contributions().tolist()]
    assert found == answer_sheets(n, design, 3)


def test_one_answer_among_many_items_has_few_bundles():
    """One answer among 450 items is a win of one of them: 450 bundles, of 100,000 allowed."""
    assert (Person(450, 1).contributions() == np.eye(450)[::-1]).all()


def search(norm, unit):
    return sensitivity(combinations(unit.contributions(), 2), norm=norm).value


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("wins", [1, 2, 4])
def test_free_comparisons(n, wins):
    unit = Person(n, wins)
    assert search("l1", unit) == unit.l1() == 2 * wins
    assert search("l2", unit) == pytest.approx(unit.l2(), rel=1e-12)
    assert search("linf", unit) == wins
    assert unit.comparisons == wins


@pytest.mark.parametrize(("n", "once", "skip"), [(2, 2, 2), (3, 4, 5), (4, 8, 10)])
def test_every_pair_once_or_skipped(n, once, skip):
    expected = {"each_pair_once": once, "ranking": once, "each_pair_or_skip": skip}
    for design, value in expected.items():
        unit = Person(n, design=design)
        assert search("l1", unit) == unit.l1() == value
        assert search("l2", unit) == pytest.approx(unit.l2(), rel=1e-12)
        assert search("linf", unit) == n - 1
        assert unit.comparisons == math.comb(n, 2)


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("design", ["each_pair_once", "each_pair_or_skip"])
def test_larger_sizes_against_the_bundles_directly(n, design):
    unit = Person(n, design=design)
    bundles = unit.contributions()
    # items may be renamed so that the first bundle descends
    first = np.unique(-np.sort(-bundles, axis=1), axis=0)
    assert max(int(np.abs(bundles - a).sum(axis=1).max()) for a in first) == unit.l1()
    longest = max(int(((bundles - a) ** 2).sum(axis=1).max()) for a in first)
    assert math.sqrt(longest) == pytest.approx(unit.l2(), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("design", ["with_replacement", "each_pair_once", "each_pair_or_skip"])
def test_half_wins_move_the_counts_no_further(n, design):
    item = np.eye(n)
    answers = [[item[i], item[j], (item[i] + item[j]) / 2] for i, j in pairs_of(n)]
    if design == "with_replacement":
        answers = [[a for three in answers for a in three]] * 2
    elif design == "each_pair_or_skip":
        answers = [[*three, np.zeros(n)] for three in answers]
    total = np.zeros((1, n))
    for options in answers:
        total = np.unique((total[:, None] + np.array(options)).reshape(-1, n), axis=0)
    unit = of(design, n, 2)
    assert len(total) > len(unit.contributions())
    assert max(np.abs(total - a).sum(axis=1).max() for a in total) == unit.l1()
    longest = max(((total - a) ** 2).sum(axis=1).max() for a in total)
    assert math.sqrt(longest) == pytest.approx(unit.l2(), rel=1e-12)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_one_ranking_moves_every_statistic_as_far_as_is_said(n, relation):
    ranks = all_rankings(n)
    ahead = (ranks[:, :, None] < ranks[:, None]).astype(int)
    upper = np.triu_indices(n, 1)
    values = {
        "counts": ahead.sum(axis=2),
        "margins": (ahead - ahead.swapaxes(1, 2))[:, *upper],
        "ranks": (ranks[:, :, None] <= np.arange(n - 1)).reshape(len(ranks), -1),
    }
    unit = WholeRanking(n, relation=relation)
    for statistic, value in values.items():
        base = np.zeros_like(value[:1]) if relation == "add_remove" else value
        change = np.abs(value[:, None].astype(int) - base[None]).sum(axis=2).max()
        assert change == unit.l1(statistic)
        if statistic == "counts":
            length = np.linalg.norm(value[:, None].astype(int) - base[None], axis=2).max()
            assert length == pytest.approx(unit.l2(), rel=1e-12)
    assert unit.step == (1 if relation == "add_remove" else 2)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_sets_move_apart_by_twice_the_half_range_and_no_less(n):
    everybody = [of(design, n, 2) for design in DESIGNS]
    for unit in (*everybody, Edge(n), Edge(n, False), *(WholeRanking(n, 1, r) for r in RELATIONS)):
        if isinstance(unit, Person):
            one = np.array(answer_sheets(n, unit.design, unit.per_user))
            moves = (one[:, None] - one).reshape(-1, n)
        else:
            sides = [[t.sum(axis=1) for t in both] for both in tables(unit)]
            moves = np.subtract(*np.swapaxes(sides, 0, 1))
        for k in range(1, n):
            gains = (
                moves @ np.array([[i in s for i in range(n)] for s in combinations(range(n), k)]).T
            )
            assert np.ptp(gains, axis=1).max() == 2 * unit.half_range(k)
        with pytest.raises(ValueError, match=rf"k = {n}"):
            unit.half_range(n)


def test_who_is_first_has_won_most():
    less, more = next(WholeRanking(3, 2, "add_remove").neighbours())
    assert less.sum() == 3 and more.sum() == 6
    least = next(WholeRanking(3, 1, "add_remove").neighbours("counts"))
    assert [side.tolist() for side in least] == [[0, 0, 0], [2, 1, 0]]


def sheet(*answers, user=0):
    """Comparisons of one person: pairs (winner, loser)."""
    winner, loser = np.array(answers).T
    return Comparisons(3, winner=winner, loser=loser, user=np.full(len(answers), user))


def together(*sheets):
    names = "winner", "loser", "user"
    return Comparisons(3, *(np.concatenate([getattr(s, name) for s in sheets]) for name in names))


FULL, OPPOSITE = sheet((0, 1), (0, 2), (1, 2)), sheet((2, 1), (2, 0), (1, 0), user=7)
PART, CIRCLE = sheet((0, 1), (0, 2)), sheet((0, 1), (1, 2), (2, 0))
# Item 0 beats all, and 1, 2, 3 beat each other in turn.
BELOW = Comparisons(4, [0, 0, 0, 1, 2, 3], [1, 2, 3, 2, 3, 1], user=[0] * 6)
UNLABELLED = Comparisons(3, winner=FULL.winner, loser=FULL.loser)
ONCE, SKIP, RANKING = (Person(3, design=design) for design in DESIGNS[1:])
VOUCHED = Person(3, design="each_pair_once", vouched=True)
UNKNOWN, OF_FOUR = (ONCE, SKIP, RANKING, Person(3, 3)), (Edge(4), Person(4, 3), WholeRanking(4))


@pytest.mark.parametrize(
    ("unit", "data", "message"),
    [
        (ONCE, PART, r"person 0 .* of 3 pairs: .*'each_pair_or_skip'"),
        (ONCE, together(FULL, sheet((1, 2), user=3)), "person 3 in data answered 1 of 3 pairs"),
        (VOUCHED, PART, "of 3 pairs"),  # labels are read
        (ONCE, sheet((0, 1), (1, 0)), "compares one pair twice"),
        (RANKING, PART, r"answered 2 of 3 pairs: .*'each_pair_or_skip'"),
        (RANKING, together(OPPOSITE, CIRCLE), r"person 0 .*circle: .*'each_pair_once'"),
        (Person(3, 1), PART, "per_user = 1: a person in data has 2 comparisons"),
        (WholeRanking(3), CIRCLE, "person 0 .*circle"),
        *[(u, BELOW, "person 0 .*circle") for u in (WholeRanking(4), Person(4, None, "ranking"))],
        (WholeRanking(3, 2), FULL, "data holds 1 to 1 answers to a pair: allowed is users = 2"),
        (WholeRanking(3), PART.win_matrix(), "holds 0 to 1 answers to a pair: allowed is the same"),
        (VOUCHED, PART.win_matrix(), "holds 0 to 1 answers to a pair.*'each_pair_or_skip'"),
        *[(u, UNLABELLED, r"nobody can check .*vouched=True") for u in UNKNOWN],
        *[(u, FULL.win_matrix(), r"nobody can check .*vouched=True") for u in UNKNOWN],
        *[(u, FULL, "data has 3 items: allowed are the 4 items of the unit") for u in OF_FOUR],
    ],
)
def test_data_that_break_the_promise_are_refused(unit, data, message):
    with pytest.raises(ValueError, match=message):
        unit.check(data)


@pytest.mark.parametrize(
    ("unit", "data"),
    [
        (Edge(3), PART),
        (ONCE, together(FULL, OPPOSITE)),
        (ONCE, CIRCLE),
        (SKIP, PART),
        (RANKING, together(FULL, OPPOSITE)),
        (Person(3, 3), FULL),
        (VOUCHED, UNLABELLED),
        (Person(3, design="each_pair_or_skip", vouched=True), PART.win_matrix()),
        (WholeRanking(3, 2), together(FULL, OPPOSITE)),
        (WholeRanking(3), np.stack([FULL.win_matrix(), 2 * OPPOSITE.win_matrix()])),
    ],
)
def test_data_that_keep_it_are_taken(unit, data):
    assert unit.check(data) is None


KINDS = ("flip", "exchange", "both")


def naive_counts(row, n):
    """Win counts of one row, pair by pair."""
    counts = [0] * n
    for (i, j), outcome in zip(pairs_of(n), row, strict=True):
        counts[i] += outcome == 1
        counts[j] += outcome == -1
    return tuple(counts)


def naive_edge_neighbours(row, kind):
    """Every data set that the definition calls a neighbour, found among all data sets."""
    found = []
    for other in product((-1, 0, 1), repeat=len(row)):
        changed = [(a, b) for a, b in zip(row, other, strict=True) if a != b]
        flip = len(changed) == 1 and 0 not in changed[0]
        asked = sorted((a == 0, b == 0) for a, b in changed)
        exchange = asked == [(False, True), (True, False)]
        if (flip and kind != "exchange") or (exchange and kind != "flip"):
            found.append(other)
    return found


@pytest.mark.parametrize("n, complete", [(2, True), (3, True), (4, True), (3, False), (4, False)])
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
    rows = map(tuple, data.tolist())
    related = {row: set(map(tuple, edge_neighbours(row, kind=kind))) for row in rows}
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


def test_the_worst_pair_is_returned_and_a_statistic_may_be_given():
    found = sensitivity([((0, 0), (1, 2)), ((0, 0), (3, -3))], norm="l1")
    assert found.value == 6 and found.pair == ((0, 0), (3, -3))
    rows = [(row, other) for row in edge_datasets(3) for other in edge_neighbours(row)]
    assert sensitivity(rows, statistic=lambda row: outcome_counts(row, 3)).value == 2
    # a score of plus and minus one for each answer moves twice as far as the wins
    assert sensitivity(rows, statistic=lambda row: 2 * outcome_counts(row, 3)).value == 4
