"""Lower bounds hold whatever the solver says; the optimum against programs by hand."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from math import comb, log

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import expit

from dpbook import lower_bounds, optimum
from dpbook.estimators import kemeny_score
from dpbook.lower_bounds import best_private_rule, product_pmf
from dpbook.models import all_rankings, two_level_probabilities
from dpbook.optimum import optimal_mechanism, unreduced_risk
from dpbook.pages import packings_and_fano
from dpbook.privacy import check_mechanism, sets_of

COSTS = np.array([[0.25, 0.75]])  # one answer, right with chance 3/4: named or not
TOTALS, PAIRS = sparse.csr_array(np.ones((1, 2))), np.array([[0, 1]])
LAW = lower_bounds._Laws(np.zeros(2, int), np.ones(2, int), PAIRS)


def exponential(epsilon):
    """e^epsilon to 80 digits, by the decimal module."""
    with localcontext() as context:
        context.prec = 80
        return Fraction(Decimal(epsilon).exp())


def least_risk(epsilon):
    """Randomised response: 1/2 - tanh(epsilon / 2) / 4."""
    e = exponential(epsilon)
    return Fraction(1, 2) - (e - 1) / (e + 1) / 4


@pytest.fixture
def lies(monkeypatch):
    honest = lower_bounds.solve_program

    def lie(change):
        def careless(*args):
            found = honest(*args)
            change(found)
            return found

        monkeypatch.setattr(lower_bounds, "solve_program", careless)

    return lie


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 10.0])
def test_the_bounds_enclose_the_optimum(epsilon):
    rule = best_private_rule(COSTS, TOTALS, PAIRS, epsilon)
    assert rule.loss < epsilon and rule.weights.sum() == pytest.approx(1)
    low, high = rule.bounds
    assert low <= least_risk(epsilon) <= high
    assert high - low < 1e-9
    assert Fraction(rule.lower) <= low and high <= Fraction(rule.risk)
    assert Fraction(rule.risk) - Fraction(rule.lower) < high - low + Fraction(1, 2**50)
    wider = best_private_rule(COSTS, TOTALS, PAIRS, epsilon, roundings=2**30).bounds
    share = Fraction(1, 2**23)
    assert wider[0] <= low * (1 - share) and high * (1 + share) <= wider[1]


def add(part, field, what):
    def change(found):
        place = getattr(found, part)
        place[field] = np.asarray(place[field]) + what

    return change


@pytest.mark.parametrize("part", ["ineqlin", "eqlin"])
@pytest.mark.parametrize("what", [1e-15, 1e-9, -1e-9, 0.1, -0.1, 5.0, -5.0, 1e300, np.nan])
def test_no_dual_is_believed(lies, part, what):
    lies(add(part, "marginals", what))
    low, high = best_private_rule(COSTS, TOTALS, PAIRS, 1.0).bounds
    assert 0 <= low <= least_risk(1.0) <= high


def primal(x):
    def change(found):
        found.x[:2] = x

    return change


@pytest.mark.parametrize("x", [[0.74, 0.26], [0.4, 0.6], [0.9, 0.9], [3, 1.2], [0.7311, 0.2689]])
def test_no_primal_is_believed(lies, x):
    lies(primal(x))
    rule = best_private_rule(COSTS, TOTALS, PAIRS, 1.0)
    exact = [Fraction(w) for w in rule.weights.tolist()]
    assert max(exact) <= exponential(1.0) * min(exact)
    named = exact[0] / sum(exact)
    assert least_risk(1.0) <= named / 4 + (1 - named) * Fraction(3, 4) <= rule.bounds[1]


@pytest.mark.parametrize("x", [[np.nan, 1], [1, 0], [0, 1], [-3, 4], [2e-9, 1]])
def test_a_primal_too_far_from_private_is_refused(lies, x):
    lies(primal(x))
    with pytest.raises(RuntimeError, match="too far from private"):
        best_private_rule(COSTS, TOTALS, PAIRS, 1.0)


@pytest.mark.parametrize("x", [1e-12, 0.1, 0.5, 1.0, 2.0, 10.0, 50.0, 700.0])
def test_the_exponential_lies_between_its_bounds(x):
    low, high = lower_bounds._exponential_bounds(x)
    assert 0 <= high - low <= 1 + high / 2**130
    with localcontext() as context:
        context.prec = 400
        exact = Fraction(Decimal(x).exp()) * 2**60
    assert low <= exact <= high


def test_roundings_of_a_law_are_within_what_is_said():
    """Twelve factors and roundings at most for six answers: against fractions."""
    rng = np.random.default_rng(3)
    rho = np.triu(rng.random((4, 4)), 1)
    probabilities = [Fraction(p) for p in rho[np.triu_indices(4, 1)].tolist()]
    share = Fraction(12, 2**53 - 12)
    for d, found in enumerate(optimum.tournament_distribution(rho).tolist()):
        exact = Fraction(1)
        for e, p in enumerate(probabilities):
            exact *= p if d >> e & 1 else 1 - p
        assert (1 - share) * Fraction(found) <= exact <= (1 + share) * Fraction(found)


def test_the_bound_is_given_the_upper_exponential(monkeypatch):
    """Which end goes where: the dual never gets less than e^epsilon, the repair never more."""
    given = {}
    dual, repair = lower_bounds._dual_bound, lower_bounds._repair

    def bound(*args):
        given["most"] = Fraction(args[-1], 2**60)
        return dual(*args)

    def mend(*args):
        given["least"] = Fraction(args[-1], 2**60)
        return repair(*args)

    monkeypatch.setattr(lower_bounds, "_dual_bound", bound)
    monkeypatch.setattr(lower_bounds, "_repair", mend)
    for epsilon in (0.1, 1.0, 3.0):
        best_private_rule(COSTS, TOTALS, PAIRS, epsilon)
        assert given["least"] <= exponential(epsilon) <= given["most"]


def test_the_largest_risk_divides_by_the_exact_sum():
    weights = np.array([0.7, 0.25])
    a, b = map(Fraction, weights.tolist())
    exact = (a / 4 + b * Fraction(3, 4)) / (a + b)
    found = lower_bounds._largest_risk(COSTS, LAW, weights)
    assert exact <= found < exact + Fraction(1, 2**58)


def test_the_sums_of_laws_are_paid_for():
    """Of thousands of variables the laws add up to 1 only roughly: more than a last digit."""
    n, rng = 3000, np.random.default_rng(5)
    row = np.repeat([0, 1], [n, 3 * n])
    totals = sparse.csr_array((np.ones(4 * n), (row, np.arange(4 * n))), shape=(2, 4 * n))
    pairs = np.stack([np.arange(3 * n) // 3, n + np.arange(3 * n)], axis=1)
    distribution = lower_bounds._Laws(row, np.ones(4 * n, int), pairs)
    epsilon = float(np.log(3)) + 2e-15
    for _ in range(6):
        a = rng.random(n) ** 8
        found = np.concatenate([a, np.repeat(a / 3, 3)])
        least = lower_bounds._exponential_bounds(epsilon)[0]
        try:
            weights = lower_bounds._repair(found, totals, distribution, epsilon, least)
        except RuntimeError:  # refused: nothing is promised
            continue
        exact = [Fraction(w) for w in weights.tolist()]
        first, second = sum(exact[:n]), sum(exact[n:])
        ratios = [exact[i] / first / (exact[j] / second) for i, j in pairs.tolist()]
        assert max(*ratios, 1 / min(ratios)) <= exponential(epsilon)


def test_the_loss_that_is_stated_is_never_above_epsilon_in_its_last_digit():
    """Logarithms round: this ratio is below e, and the difference of its logarithms above 1."""
    x, y, distribution = 0.00024297547871270135, 0.0006604758285458736, np.array([1, 1, 10**9])
    totals = sparse.csr_array(distribution[None] * 1.0)
    distributions = lower_bounds._Laws(np.zeros(3, int), distribution, PAIRS)
    found, least = np.array([x, y, (1 - x - y) / 1e9]), lower_bounds._exponential_bounds(1.0)[0]
    weights = lower_bounds._repair(found, totals, distributions, 1.0, least)
    assert lower_bounds._largest_loss(PAIRS, weights) <= 1.0


def test_kl_of_edge_data_pair_by_pair():
    a, b = (two_level_probabilities(9, k, 0.15) for k in ([0, 1, 2, 3], [0, 1, 2, 7]))
    x, y = (rho[np.triu_indices(9, 1)] for rho in (a, b))
    kl = (x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y))).sum()
    assert lower_bounds.edge_kl(a, b, p=0.6) == pytest.approx(0.6 * kl)


def test_sharp_ratio_of_one_bit_by_hand():
    # p = 0.3, q = 0.6, s = -1, e^-1 - 1 = -0.6321205588: (1 - 0.1896362) / (1 - 0.3792723)
    found = packings_and_fano.product_log_ratio([0.3], [0.6], 1.0)
    assert found == pytest.approx(log(0.8103638324 / 0.6207276647))
    assert packings_and_fano.product_log_ratio([0.3, 0.5], [0.6, 0.5], 1.0) == pytest.approx(found)


def test_fano_error_by_hand():
    assert lower_bounds.fano_error(8, log(2)) == pytest.approx(1 / 3)
    assert lower_bounds.fano_error(2, 1.0) == 0


def test_product_law_by_hand():
    # Entry d has bit 0 in the last place of its binary number: 00, 01, 10, 11.
    distribution = lower_bounds.product_pmf([0.2, 0.7])
    assert distribution == pytest.approx([0.8 * 0.3, 0.2 * 0.3, 0.8 * 0.7, 0.2 * 0.7])


def test_sets_that_can_always_be_had():
    assert packings_and_fano.gilbert_varshamov(6, 3, 4) == 2  # 20 sets, a ball of 1 + 9
    for length, weight, distance in product(range(1, 8), range(1, 8), range(1, 10)):
        if weight <= length:
            sets = [set(s) for s in combinations(range(length), weight)]
            near = sum(len(s ^ sets[0]) < distance for s in sets)
            assert packings_and_fano.gilbert_varshamov(length, weight, distance) == -(
                -len(sets) // near
            )


def test_a_program_without_a_solution_is_refused():
    with pytest.raises(RuntimeError, match="not solved"):
        best_private_rule(COSTS, sparse.csr_array([[1.0, 1.0], [0.0, 0.0]]), PAIRS, 1.0)


def test_kl_goes_from_the_first_to_the_second():
    sure, even = np.array([[0.5, 0.9], [0.1, 0.5]]), np.full((2, 2), 0.5)
    assert lower_bounds.edge_kl(sure, even) == pytest.approx(0.9 * log(1.8) + 0.1 * log(0.2))
    assert lower_bounds.edge_kl(even, sure) == pytest.approx(0.5 * log(25 / 9))


def flips(n):
    """All pairs of neighbouring tournaments."""
    codes, edges = range(2 ** (n * (n - 1) // 2)), range(n * (n - 1) // 2)
    return [(d, d | 1 << e) for d in codes for e in edges if not d >> e & 1]


def by_hand(n, k, delta, epsilon):
    """Minimax risk for k-sets from a dense program with one variable per tournament and set."""
    edges, sets = list(combinations(range(n), 2)), list(combinations(range(n), k))
    data = list(product((0, 1), repeat=len(edges)))
    at = {(d, s): x for x, (d, s) in enumerate(product(data, sets))}
    size = len(at) + 1
    upper, equal = [], []
    for s in sets:
        row = np.zeros(size)
        row[-1] = 1
        for d in data:
            p = 1.0
            for (i, j), won in zip(edges, d, strict=True):
                probability = 0.5 + delta * ((i in s) - (j in s))
                p *= probability if won else 1 - probability
            row[at[d, s]] = -p
        upper.append(row)
    for d in data:
        equal.append(np.zeros(size))
        for s in sets:
            equal[-1][at[d, s]] = 1
            for e in range(len(edges)):
                flipped = (*d[:e], 1 - d[e], *d[e + 1 :])
                upper.append(np.zeros(size))
                upper[-1][at[d, s]], upper[-1][at[flipped, s]] = 1, -np.exp(epsilon)
    cost = np.zeros(size)
    cost[-1] = -1
    found = linprog(cost, upper, np.zeros(len(upper)), equal, np.ones(len(equal)), method="highs")
    return 1 + found.fun


@pytest.mark.parametrize(("n", "k"), [(3, 1), (3, 2), (4, 1), (4, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_reduced_equals_unreduced(n, k, epsilon):
    rho = two_level_probabilities(n, k, 0.4)
    best = optimal_mechanism(rho, k, epsilon=epsilon)
    assert best.lower == pytest.approx(unreduced_risk(rho, k, epsilon=epsilon), abs=1e-10)
    assert 0 <= best.risk - best.lower < 1e-8
    if n == 3:
        assert best.lower == pytest.approx(by_hand(n, k, 0.4, epsilon), abs=1e-10)


def test_the_dual_bound_holds_whatever_the_solver_says(lies):
    """The term for negative reduced costs is 0, up to the solver's tolerance, at an exact dual
    solution. It is what keeps the bound a bound at any other: here the multipliers of the
    equalities are moved by far more than a tolerance."""

    def bound(shift):
        lies(add("eqlin", "marginals", shift))
        return optimal_mechanism(two_level_probabilities(2, 1, 0.3), 1, epsilon=1.0).lower

    value = 0.5 - 0.3 * np.tanh(0.5)
    assert bound(0.0) == pytest.approx(value, abs=1e-12)
    for shift in (-0.2, -1e-3, 1e-3, 0.2):
        assert bound(shift) < value - 1e-4


def test_rankings_equal_unreduced():
    rho = expit(0.7 * (np.arange(3) - np.arange(3)[:, None]))
    best = optimal_mechanism(rho, epsilon=1.0)
    assert best.k is None
    assert best.lower == pytest.approx(unreduced_risk(rho, epsilon=1.0), abs=1e-10)


REFERENCE = {(3, 1): 0.617656, (3, None): 0.457388, (4, 2): 0.439428, (4, None): 0.438875}
REFERENCE[5, 2] = 0.499462


@pytest.mark.parametrize(("n", "k"), REFERENCE)
def test_reference_values_for_evenly_spaced_strengths(n, k):
    # Average loss, epsilon = 1, the worst of four spacings and all orders: solved independently.
    gaps = np.arange(n) - np.arange(n)[:, None]
    rho = np.stack([expit(spacing * gaps) for spacing in (0.25, 0.5, 1, 2)])
    best = optimal_mechanism(rho, k, epsilon=1.0, loss="average")
    assert (best.lower, best.risk) == pytest.approx((REFERENCE[n, k],) * 2, abs=6e-7)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 2), (3, None), (4, None)])
def test_the_published_mechanism_is_strictly_private(n, k):
    rho = two_level_probabilities(n, k or 1, 0.3)
    best = optimal_mechanism(rho, k, epsilon=1.0)
    table = best.table()
    report = check_mechanism(lambda d: table[d], flips(n), epsilon=1.0)
    assert report.loss <= 1.0
    assert report.loss == pytest.approx(best.loss, abs=1e-15)
    assert report.loss == pytest.approx(1.0, abs=1e-6)  # and it spends all of it
    assert table.min() > 0
    assert np.abs(table.sum(axis=1) - 1).max() < 1e-14
    loose = optimal_mechanism(rho, k, epsilon=1.001).table()
    assert not check_mechanism(lambda d: loose[d], flips(n), epsilon=1.0).private


def test_the_table_attains_the_risk_at_every_hypothesis():
    best = optimal_mechanism(two_level_probabilities(4, 2, 0.3), 2, epsilon=1.0)
    at = np.triu_indices(4, 1)
    for column, members in enumerate(sets_of(4, 2)):
        distribution = product_pmf(two_level_probabilities(4, members, 0.3)[at])
        assert 1 - distribution @ best.table()[:, column] == pytest.approx(best.risk, abs=1e-13)


def test_seven_items_are_relabelled_right():
    rng = np.random.default_rng(1)
    pi = rng.permutation(7)
    codes, edges = rng.integers(0, 2**21, 20), list(combinations(range(7), 2))
    image = optimum.relabel(pi)
    for d in codes:
        for e, (i, j) in enumerate(edges):
            winner, loser = (i, j) if d >> e & 1 else (j, i)
            a, b = pi[winner], pi[loser]
            assert (image[d] >> edges.index((min(a, b), max(a, b))) & 1) == (a < b)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.05, 0.3, 0.45])
def test_three_items_have_a_closed_form(epsilon, delta):
    a = np.exp(-epsilon)
    last, first = a / 3, (1 - a / 3) / (1 + a)
    two, one, none = (0.5 + delta) ** 2, 0.25 - delta**2, (0.5 - delta) ** 2
    right = two * first + one * (a * first + 1 / 3) + none * last
    best = optimal_mechanism(two_level_probabilities(3, 1, delta), 1, epsilon=epsilon)
    assert best.lower == pytest.approx(1 - right, abs=1e-13)


def test_one_answer_of_one_person_by_hand():
    """Two outcomes, two data sets: after renaming each is the other; randomised response."""
    rule = optimum.equivariant_rule([[0, 1], [1, 0]], [0.75, 0.25], [0, 1], [(0, 1)], 1.0)
    keep = np.e / (1 + np.e)
    assert rule.lower == pytest.approx(1 - 0.75 * keep - 0.25 * (1 - keep), abs=1e-12)
    assert rule.weights == pytest.approx([keep, 1 - keep], abs=1e-8)
    with pytest.raises(ValueError):
        optimum.equivariant_rule([[0, 1]], [0.75, 0.25], [0, 1], [(0, 1)], 1.0)


@pytest.mark.parametrize(("n", "users", "epsilon"), [(2, 1, 0.8), (2, 4, 1.5), (3, 3, 0.8)])
def test_rankings_of_few_people_without_symmetry(n, users, epsilon):
    """One unknown for every profile and ranking, every profile a hypothesis."""
    best, ranks = optimum.optimal_ranking(n, users, epsilon=epsilon), all_rankings(n)
    size, held = best.profiles.size, best.profiles
    assert len(np.unique(held, axis=0)) == len(held) == comb(users + len(ranks) - 1, users)
    cost = kemeny_score(ranks, np.tensordot(held, ranks[:, :, None] < ranks[:, None], 1)[:, None])
    assert best.excess == pytest.approx((cost - cost.min(axis=1, keepdims=True)) / users)
    at, costs = np.arange(size).reshape(held.shape), np.zeros((len(held), size))
    np.put_along_axis(costs, at, best.excess, axis=1)
    near = np.argwhere(np.abs(held[:, None] - held).sum(axis=-1) == 2)
    totals = sparse.csr_array((np.ones(size), (np.arange(size) // len(ranks), np.arange(size))))
    pairs = at[near].swapaxes(1, 2).reshape(-1, 2)
    full = best_private_rule(costs, totals, pairs, epsilon)
    assert best.lower == pytest.approx(full.lower, abs=1e-9) and best.risk - best.lower < 1e-8
    assert best.table.sum(axis=1) == pytest.approx(1)
    assert (best.table * best.excess).sum(axis=1).max() == pytest.approx(best.risk)
    ratios = np.log(best.table[near[:, 0]] / best.table[near[:, 1]])
    assert best.loss == pytest.approx(ratios.max()) and best.loss < epsilon
    if n == 2 and users == 1:
        assert best.lower == pytest.approx(1 / (1 + np.exp(epsilon)), abs=1e-9)
