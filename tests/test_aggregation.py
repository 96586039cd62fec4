"""Rank aggregation: counts, distances, KwikSort and Kemeny against plain Python."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse

from dpbook import estimators as est
from dpbook.data import Rankings
from dpbook.estimators import kemeny
from dpbook.models import mallows_rankings
from dpbook.privacy import audit_sampler
from tests.oracles import all_places, pair_table, tally

CYCLE = np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]])  # majority 0 > 1 > 2 > 0


def rankings(users, n, seed):
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((users, n)), axis=1)


def disagreements(a, b):
    pairs = itertools.combinations(range(len(a)), 2)
    return sum((a[i] < a[j]) != (b[i] < b[j]) for i, j in pairs)


@pytest.mark.parametrize(("users", "n"), [(1, 2), (7, 5), (255, 4), (300, 70), (2100, 6)])
def test_counts_against_plain_python(users, n):
    positions = rankings(users, n, 1)[: users if n < 70 else 20]
    expected = pair_table(positions, n).tolist()
    assert est.pairwise_counts(positions).tolist() == expected
    assert est.pairwise_counts(Rankings(n, positions)).tolist() == expected


def test_counts_of_many_users_and_of_many_items():
    # Every lane full: 70 000 equal rankings would overflow any byte that is not spilt in time.
    found = est.pairwise_counts(np.tile([1, 0, 2], (70_000, 1)))
    assert (found == 70_000 * np.array([[0, 0, 1], [1, 0, 1], [0, 0, 0]])).all()
    positions = rankings(11, 300, 2)
    expected = (positions[:, :, None] < positions[:, None, :]).sum(axis=0)
    assert (est.pairwise_counts(positions) == expected).all()


def test_weighted_counts_stand_for_repeated_rows():
    positions = rankings(9, 5, 3)
    times = [3, 0, 1, 2, 5, 1, 1, 4, 0]
    repeated = est.pairwise_counts(np.repeat(positions, times, axis=0))
    weighted = est.pairwise_counts(positions, weights=times)
    assert (weighted == repeated).all() and weighted.dtype == np.int64
    shares = est.pairwise_counts(positions, weights=np.array(times) / 17)
    assert shares == pytest.approx(repeated / 17)


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_distances_against_definitions(a, b):
    assert est.kendall_distance(a, b) == disagreements(a, b)


def test_kemeny_score_is_the_mean_distance():
    positions = rankings(25, 5, 4)
    fractions = est.pairwise_counts(positions) / 25
    scores = est.kemeny_score(all_places(5), fractions)
    for row, score in zip(all_places(5).tolist(), scores, strict=True):
        exact = sum(disagreements(row, other) for other in positions.tolist()) / 25
        assert score == pytest.approx(exact)
    stack = np.stack([fractions, fractions.T])
    assert est.kemeny_score(all_places(5)[:, None], stack).shape == (120, 2)


def test_borda_is_the_order_of_average_places():
    positions = mallows_rankings(31, 7, phi=0.9, rng=np.random.default_rng(5))
    borda = est.borda_ranking(est.pairwise_counts(positions))
    means = positions.mean(axis=0)
    assert (np.argsort(borda) == np.lexsort((np.arange(7), means))).all()


def test_copeland_counts_duels_and_breaks_ties():
    assert est.copeland_ranking([[0, 2, 2], [1, 0, 3], [1, 0, 0]]).tolist() == [0, 1, 2]
    # Item 1 wins one duel by much and loses one by little; Borda and Copeland differ.
    counts = np.array([[0, 6, 6, 6], [5, 0, 11, 11], [5, 0, 0, 6], [5, 0, 5, 0]])
    assert est.copeland_ranking(counts).tolist() == [0, 1, 2, 3]
    assert est.borda_ranking(counts).tolist() == [1, 0, 2, 3]
    rng = np.random.default_rng(6)
    seen = {tuple(est.copeland_ranking(CYCLE, rng=rng)) for _ in range(200)}
    assert len(seen) == 6 and tuple(est.copeland_ranking(CYCLE)) == (0, 1, 2)


def random_preference(n, seed):
    table = np.random.default_rng(seed).random((n, n))
    return np.triu(table, 1) + np.tril(1 - table.T, -1)


def test_kwiksort_samplers_follow_the_distribution():
    # A cycle, a tie, and a clear loser.
    counts = np.array([[0, 2, 1, 3], [1, 0, 2, 2], [2, 1, 0, 3], [0, 2, 0, 0]])
    preference = (1 + np.sign(counts - counts.T)) / 2
    distribution = est.kwiksort_pmf(preference)
    rng = np.random.default_rng(7)
    batch = est.kwiksort_rankings(counts, 20_000, rng=rng)
    single = np.array([est.kwiksort_rankings(counts, rng=rng) for _ in range(6000)])
    for draws in (batch, single):
        assert audit_sampler(tally(draws), distribution).passed
    mirrored = est.kwiksort_pmf(preference.T)
    assert not audit_sampler(tally(batch), mirrored).passed


def comparison_distribution(wins, items):
    """Distribution of the number of comparisons, by enumerating pivots."""
    if len(items) < 2:
        return {0: 1.0}
    distribution = {}
    for pivot in items:
        sides = [i for i in items if wins[i][pivot]], [i for i in items if wins[pivot][i]]
        parts = [comparison_distribution(wins, side).items() for side in sides]
        for (x, p), (y, q) in itertools.product(*parts):
            total = len(items) - 1 + x + y
            distribution[total] = distribution.get(total, 0) + p * q / len(items)
    return distribution


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_comparison_laws_against_enumeration(n):
    order = np.triu(np.ones((n, n), dtype=bool), 1)
    mixed = random_preference(n, 10) > 0.5
    np.fill_diagonal(mixed, False)
    for wins in (order, mixed):
        law = comparison_distribution(wins.tolist(), range(n))
        exact = pytest.approx([law.get(c, 0) for c in range(n * (n - 1) // 2 + 1)])
        assert est.comparisons_pmf_tournament(wins) == exact
        assert wins is mixed or est.comparisons_pmf(n) == exact


def test_comparisons_of_a_hundred_items():
    distribution = est.comparisons_pmf(100)
    number = np.arange(distribution.size)
    harmonic = sum(1 / k for k in range(1, 101))
    second = sum(1 / k**2 for k in range(1, 101))
    assert distribution.sum() == pytest.approx(1, abs=1e-13)
    # Knuth: mean 2 (n + 1) H_n - 4 n, variance 7 n^2 - 4 (n+1)^2 H''_n - 2 (n+1) H_n + 13 n.
    mean = 2 * 101 * harmonic - 400
    assert distribution @ number == pytest.approx(mean, rel=1e-12)
    variance = 70_000 - 4 * 101**2 * second - 202 * harmonic + 1300
    assert distribution @ (number - mean) ** 2 == pytest.approx(variance, rel=1e-10)
    # The worst case takes 2^(n-1)/n! of all runs.
    worst = 99 * np.log(2) - np.log(np.arange(1, 101)).sum()
    assert np.log(distribution[-1]) == pytest.approx(worst)


@pytest.mark.parametrize("seed", range(60))
def test_kemeny_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    counts = [
        rng.integers(0, 9, (n, n)),
        rng.normal(size=(n, n)),
        rng.integers(0, 2, (n, n)),
        est.pairwise_counts(rankings(5, n, seed)),
    ][seed % 4]
    fit = est.kemeny_fit(counts)
    best = est.kemeny_score(all_places(n), counts).min()
    assert fit.optimal and fit.cost == pytest.approx(best) and fit.lower == pytest.approx(best)
    assert est.kemeny_score(fit.positions, counts) == pytest.approx(best)


def held_karp(counts):
    """Smallest total distance by recursion over sets of leading items."""
    n = len(counts)
    best = {0: 0}
    for members in range(1, 2**n):
        inside = [i for i in range(n) if members >> i & 1]
        lost = {last: sum(counts[last][i] for i in inside) for last in inside}
        best[members] = min(best[members & ~(1 << last)] + lost[last] for last in inside)
    return best[2**n - 1]


def test_kemeny_stopped_early_still_brackets_the_optimum():
    wins = (random_preference(24, 11) > 0.5).astype(int)
    fit = est.kemeny_fit(wins, time_limit=1e-9)
    assert not fit.optimal and fit.lower < fit.cost
    assert est.kemeny_score(fit.positions, wins) == fit.cost
    full = est.kemeny_fit(wins, time_limit=0.2)
    assert fit.lower <= full.lower <= full.cost <= fit.cost


def test_a_bound_by_the_sets_of_items_changes_no_ranking(monkeypatch):
    source, tables = np.random.default_rng(7), []
    for k in range(60):
        margin = source.integers(-(4, 40, 1000)[k % 3], 1000, (3 + k % 6,) * 2)
        tables.append(np.where(np.eye(len(margin)) > 0, 0, 0.5 + 0.37 * (margin - margin.T)))
    quick = [est.kemeny_fit(table) for table in tables]
    monkeypatch.setattr("dpbook.estimators.kemeny._SUBSETS", 0)
    for table, one in zip(tables, quick, strict=True):
        fit = est.kemeny_fit(table)
        assert np.array_equal(one.positions, fit.positions) and one.cost == fit.cost
        assert one.lower == pytest.approx(fit.lower, rel=1e-9, abs=1e-6)


def lying(monkeypatch, lie):
    """Let the solver of linear programs answer something else; the calls, counted."""
    solve, calls = optimize.linprog, []

    def answer(*args, **kwargs):
        found = solve(*args, **kwargs)
        calls.append(found)
        if found.ineqlin.marginals is None:  # out of time, and there is nothing to lie about
            return found
        field, told = LIES[lie]
        place, name = (found.ineqlin, "marginals") if field == "duals" else (found, field)
        setattr(place, name, told(found, np.random.default_rng(len(calls))))
        return found

    monkeypatch.setattr(kemeny.optimize, "linprog", answer)
    return calls


def duals(found):
    return found.ineqlin.marginals


# What is answered in the place of the truth, by field: of the found, and of a generator.
LIES = {
    "too good": ("fun", lambda found, rng: -3 * found.fun),  # or above the true one
    "infeasible": ("x", lambda found, rng: rng.integers(0, 2, found.x.shape) * 1.0),
    "nothing there": ("status", lambda found, rng: 2),  # "infeasible", of programs that are not
    "other duals": ("duals", lambda found, rng: -rng.exponential(3, duals(found).shape)),
    "wrong sign": ("duals", lambda found, rng: 3 * np.abs(duals(found))),
    # so large that sums of them would be rounded
    "huge duals": ("duals", lambda found, rng: -rng.exponential(1e17, duals(found).shape)),
    "no duals": ("duals", lambda found, rng: np.full(duals(found).shape, np.nan)),
}


@pytest.mark.parametrize("lie", LIES)
def test_no_lie_of_the_solver_becomes_a_bound(monkeypatch, lie):
    calls = lying(monkeypatch, lie)
    monkeypatch.setattr(kemeny._Search, "bound_components", lambda search: None)
    for seed in range(4):
        wins = (random_preference(7, seed) > 0.5).astype(int)
        best = held_karp(wins.tolist())
        fit = est.kemeny_fit(wins, time_limit=0.1)
        assert fit.lower <= best <= fit.cost
        assert not fit.optimal or fit.cost == best
    assert calls


def test_a_dual_of_the_wrong_sign_gives_no_bound():
    """Priced at 8 instead of at most 0, the row x_ab + x_bc - x_ac <= 1 would "prove" too much."""
    counts = np.array([[0, 0, 10], [10, 0, 0], [0, 10, 0]])
    search = kemeny._Search(counts)
    row, right = sparse.csr_array([[1.0, -1.0, 1.0]]), np.ones(1)
    bounds = np.array([[0.0, 1.0]] * 3)
    best = held_karp(counts.tolist())
    for price in (8.0, -8.0, 0.0):
        assert search._bound(row, right, bounds, np.array([price])) <= best
    # the control, by hand: every x at its better end, at the price with the wrong sign
    reduced = search.price - 8.0 * row.toarray()[0]
    assert search.base + 8.0 + np.minimum(reduced, 0).sum() > best


def test_branching_proves_the_optimum(monkeypatch):
    """Rows for cycles of three leave fractions here; subsets are the independent reference."""
    squares = {pow(i, 2, 11) for i in range(1, 11)}
    paley = np.array([[int((j - i) % 11 in squares) for j in range(11)] for i in range(11)])
    rng = np.random.default_rng(5)
    tables = [paley, *(paley * 2 + rng.integers(0, 2, (11, 11)) for _ in range(12))]
    branches, branch = [], kemeny._Search.branch

    def counted(search, x, end):
        branches.append(not search.optimal)
        branch(search, x, end)

    monkeypatch.setattr(kemeny._Search, "branch", counted)
    monkeypatch.setattr(kemeny._Search, "bound_components", lambda search: None)
    # the search for good rankings would hide that a part was left out
    monkeypatch.setattr(kemeny, "local_search_ranking", lambda table, start: np.asarray(start))
    for wins in tables:
        np.fill_diagonal(wins, 0)
        fit = est.kemeny_fit(wins)
        assert fit.optimal and fit.cost == fit.lower == held_karp(wins.tolist())
    assert sum(branches) > 6


@pytest.mark.parametrize(("dual", "bound"), [(-1.0, 2.0), (-1e17, -np.inf), (np.nan, -np.inf)])
def test_a_dual_too_large_for_exact_sums_gives_no_bound(dual, bound):
    """Prices 1, -1, 1: the row x_ab - x_ac + x_bc <= 1 at -1 leaves 2, -2, 2, and so -1 - 2 + 5."""
    search = kemeny._Search(np.array([[0, 1, 3], [2, 0, 1], [2, 2, 0]]))
    row, both = sparse.csr_array([[1.0, -1.0, 1.0]]), np.array([[0.0, 1.0]] * 3)
    assert search.base == 5 and search._bound(row, np.ones(1), both, np.array([dual])) == bound


def test_local_search_takes_the_best_move_every_time():
    """Another program tries every move and counts its cost anew; all gains differ."""

    def best_moves(counts):
        order = list(range(len(counts)))
        while True:
            tried = []
            for p, q in itertools.permutations(range(len(counts)), 2):
                moved = [item for item in order if item != order[p]]
                moved.insert(q, order[p])
                tried.append((est.kemeny_score(np.argsort(moved), counts), moved))
            cost, moved = min(tried)
            if cost >= est.kemeny_score(np.argsort(order), counts) - 1e-9:
                return np.argsort(order)
            order = moved

    rng = np.random.default_rng(7)
    for n in (4, 5, 6, 7) * 5:
        counts = rng.random((n, n))
        np.fill_diagonal(counts, 0)
        assert (est.local_search_ranking(counts, np.arange(n)) == best_moves(counts)).all()


def test_a_ranking_is_best_only_when_the_bound_reaches_its_cost() -> None:
    """One voter among a million closes a circle: her vote is lost, and no bound may miss it."""
    counts = np.array([[0, 10**6, 0], [0, 0, 10**6], [1, 0, 0]])
    fit = est.kemeny_fit(counts)
    assert (fit.optimal, fit.cost, fit.lower) == (True, 1, 1)
    assert fit.positions.tolist() == [0, 1, 2]
