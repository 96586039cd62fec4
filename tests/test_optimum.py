"""The optimal mechanism against programs written out by hand, closed forms, reference values."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit

from dpbook import lower_bounds
from dpbook.lower_bounds import product_pmf
from dpbook.models import two_level_probabilities
from dpbook.optimum import equivariant_rule, optimal_mechanism, relabel, unreduced_risk
from dpbook.privacy import check_mechanism, sets_of


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
                chance = 0.5 + delta * ((i in s) - (j in s))
                p *= chance if won else 1 - chance
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


def test_the_dual_bound_holds_whatever_the_solver_says(monkeypatch):
    """The term for negative reduced costs is 0, up to the solver's tolerance, at an exact dual
    solution. It is what keeps the bound a bound at any other: here the multipliers of the
    equalities are moved by far more than a tolerance."""
    exact = lower_bounds.solve_program

    def bound(shift):
        def careless(*args):
            found = exact(*args)
            found.eqlin.marginals = found.eqlin.marginals + shift
            return found

        monkeypatch.setattr(lower_bounds, "solve_program", careless)
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


@pytest.mark.parametrize(
    ("n", "k", "value"),
    [
        (3, 1, 0.617656),
        (3, None, 0.457388),
        (4, 2, 0.439428),
        (4, None, 0.438875),
        (5, 2, 0.499462),
    ],
)
def test_reference_values_for_evenly_spaced_strengths(n, k, value):
    # Average loss, epsilon = 1, the worst of four spacings and all orders: solved independently.
    gaps = np.arange(n) - np.arange(n)[:, None]
    rho = np.stack([expit(spacing * gaps) for spacing in (0.25, 0.5, 1, 2)])
    best = optimal_mechanism(rho, k, epsilon=1.0, loss="average")
    assert best.lower == pytest.approx(value, abs=6e-7)
    assert best.risk == pytest.approx(value, abs=6e-7)


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
        law = product_pmf(two_level_probabilities(4, members, 0.3)[at])
        assert 1 - law @ best.table()[:, column] == pytest.approx(best.risk, abs=1e-13)


def test_seven_items_are_relabelled_right():
    rng = np.random.default_rng(1)
    pi = rng.permutation(7)
    codes, edges = rng.integers(0, 2**21, 20), list(combinations(range(7), 2))
    image = relabel(pi)
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
    chances = (0.5 + delta) ** 2, 0.25 - delta**2, (0.5 - delta) ** 2
    right = chances[0] * first + chances[1] * (a * first + 1 / 3) + chances[2] * last
    best = optimal_mechanism(two_level_probabilities(3, 1, delta), 1, epsilon=epsilon)
    assert best.lower == pytest.approx(1 - right, abs=1e-13)


def test_one_answer_of_one_person_by_hand():
    """Two outcomes, two data sets: after renaming each is the other; randomised response."""
    rule = equivariant_rule([[0, 1], [1, 0]], [0.75, 0.25], [0, 1], [(0, 1)], 1.0)
    keep = np.e / (1 + np.e)
    assert rule.lower == pytest.approx(1 - 0.75 * keep - 0.25 * (1 - keep), abs=1e-12)
    assert rule.weights == pytest.approx([keep, 1 - keep], abs=1e-8)
    with pytest.raises(ValueError):
        equivariant_rule([[0, 1]], [0.75, 0.25], [0, 1], [(0, 1)], 1.0)
