"""The optimal mechanism against programs written out by hand, closed forms and reference values.

Rules for the planted set against their definitions, and against the optimum.
"""

import math
from fractions import Fraction
from itertools import combinations, permutations, product

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit

from dpbook import lower_bounds
from dpbook.book import figures
from dpbook.lower_bounds import product_pmf
from dpbook.mechanisms import exponential_pmf
from dpbook.models import two_level_probabilities
from dpbook.pages import exact_optimum
from dpbook.pages.exact_optimum import (
    blurred,
    fano_bound,
    flips,
    free_optimum_risk,
    half_noise_table,
    noisy_counts_risk,
    optimal_mechanism,
    permute_and_flip_pmf,
    randomised_response_risk,
    ranking_row,
    relabel,
    rule_risk,
    set_wins,
    sharp_packing_bound,
    tournament_law,
    tournament_wins,
    unreduced_risk,
    worst_risk,
)
from dpbook.privacy import check_mechanism, sets_of


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


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: optimal_mechanism(np.full((8, 8), 0.5), 2, epsilon=1), "rho"),
        (lambda: optimal_mechanism(np.full((7, 7), 0.5), epsilon=1), "rho"),
        (lambda: optimal_mechanism(np.full((3, 3), 0.5), 3, epsilon=1), "k"),
        (lambda: optimal_mechanism(np.full((3, 3), 0.5), 1, epsilon=0), "epsilon"),
        (lambda: optimal_mechanism(np.full((3, 3), 0.5), 1, epsilon=11), "epsilon"),
        (lambda: optimal_mechanism(np.full((3, 3), 0.6), 1, epsilon=1), "rho"),
        (lambda: optimal_mechanism(np.full((3, 3), 0.5), 1, epsilon=1, loss="l2"), "loss"),
        (lambda: unreduced_risk(np.full((6, 6), 0.5), 3, epsilon=1), "privacy rows"),
        (lambda: relabel([0, 0, 1]), "pi"),
        (lambda: relabel([0.0, 1.5]), r"pi holds 1\.5: allowed are whole"),
    ],
)
def test_arguments_out_of_range_are_named(call, word):
    with pytest.raises(ValueError, match=word):
        call()


def best_private(n, k, delta, epsilon):
    return optimal_mechanism(two_level_probabilities(n, k, delta), k, epsilon=epsilon)


def test_fano_bound_by_hand():
    # Sets of 2 of 4 items, advantage 0.05. A set with one other member: the two items exchanged
    # change by 0.05 against each of the two others, and by 0.1 against each other: 0.3 in all.
    # The opposite set: 4 pairs turn round, 0.4. Mean over the six sets: (4 * 0.3 + 0.4) / 6.
    expected = 1 - (0.5 * 4 / 15 + np.log(2)) / np.log(6)
    assert fano_bound(4, 2, 0.05, 0.5) == pytest.approx(expected, rel=1e-12)
    assert fano_bound(2, 1, 0.05, 0.5) == 0


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 2), (5, 2)])
def test_the_optimum_lies_between_the_bounds_and_the_rules(n, k, epsilon):
    delta = 0.3
    best = best_private(n, k, delta, epsilon)
    below = [
        sharp_packing_bound(n, k, delta, epsilon),
        fano_bound(n, k, delta, epsilon),
        free_optimum_risk(n, k, delta),
    ]
    above = [
        noisy_counts_risk(n, k, delta, 2 / epsilon),
        noisy_counts_risk(n, k, delta, 2 / epsilon, "discrete_laplace"),
    ]
    for law in (exponential_pmf, permute_and_flip_pmf):
        above.append(rule_risk(lambda w, law=law: law(set_wins(w, k), 1, epsilon), n, k, delta))
    above.append(randomised_response_risk(n, k, delta, epsilon))
    assert max(below) <= best.lower + 1e-12
    assert best.risk <= min(above) + 1e-9


def test_half_the_noise_falls_below_the_optimum():
    best = best_private(5, 2, 0.3, 1.0)
    assert noisy_counts_risk(5, 2, 0.3, 1.0) < best.lower - 0.01
    assert worst_risk(best, half_noise_table(best, 1.0), 0.3) < best.lower - 0.01


def test_rules_against_their_definitions():
    wins = np.array([2.0, 1, 0])
    assert set_wins(wins, 2).tolist() == [3, 2, 1]
    wins, chances = tournament_wins(4), tournament_law(two_level_probabilities(4, 2, 0.2))
    right = [exponential_pmf(set_wins(row, 2), 1, 1.0)[0] for row in wins]
    risk = rule_risk(lambda w: exponential_pmf(set_wins(w, 2), 1, 1.0), 4, 2, 0.2)
    assert risk == pytest.approx(1 - chances @ right, abs=1e-14)


def flips_in_every_order(accept: list[Fraction]) -> list[Fraction]:
    """Permute-and-flip as stated: all orders of arrival, first head wins."""
    law = [Fraction(0)] * len(accept)
    for order in permutations(range(len(accept))):
        still = Fraction(1, math.factorial(len(accept)))
        for i in order:
            law[i] += still * accept[i]
            still *= 1 - accept[i]
    return law


@pytest.mark.parametrize("halvings", [[0, 0], [0, 1, 3], [2, 0, 5, 1], [0, 4, 4, 1, 0, 2]])
def test_permute_and_flip_is_the_law_of_flips_in_random_order(halvings):
    accept = [Fraction(1, 2**h) for h in halvings]
    law = permute_and_flip_pmf(-np.array(halvings), 1.0, 2 * math.log(2))
    assert law == pytest.approx([float(x) for x in flips_in_every_order(accept)], rel=1e-12)


def test_permute_and_flip_of_thousands_adds_to_one():
    rng = np.random.default_rng(5)
    for utilities in (np.zeros(5040), -rng.integers(0, 900, 5040), -np.arange(5040.0)):
        law = permute_and_flip_pmf(utilities, 21, 2.0)
        assert law.sum() == pytest.approx(1, abs=1e-9) and law.min() >= 0
    assert permute_and_flip_pmf(np.zeros(5040), 1, 1) == pytest.approx(np.full(5040, 1 / 5040))


def test_free_optimum_is_the_largest_likelihood():
    laws = []
    for members in sets_of(4, 2):
        laws.append(tournament_law(two_level_probabilities(4, members, 0.3)))
    assert free_optimum_risk(4, 2, 0.3) == pytest.approx(1 - np.max(laws, axis=0).sum() / 6)


def test_packing_bound_of_two_items_is_the_optimum():
    # One bit: the packing bound is 1 - 1 / (1 + (1 + q x) / (1 + p x)), x = e^eps - 1.
    value = 1 - 1 / (1 + (1 + 0.2 * np.expm1(1.0)) / (1 + 0.8 * np.expm1(1.0)))
    assert sharp_packing_bound(2, 1, 0.3, 1.0) == pytest.approx(value, abs=1e-14)
    assert value == pytest.approx(0.5 - 0.3 * np.tanh(0.5), abs=1e-14)


def test_randomised_response_of_two_items():
    closed = 0.5 - 0.4 * np.tanh(0.5)
    assert randomised_response_risk(2, 1, 0.4, 1.0) == pytest.approx(closed, abs=1e-14)


def test_worst_risk_sees_data_renamed_at_random():
    best = best_private(3, 1, 0.3, 1.0)
    assert worst_risk(best, best.table(), 0.3) == pytest.approx(best.risk, abs=1e-14)
    assert worst_risk(best, blurred(best), 0.3) == pytest.approx(2 / 3)


def test_flips_are_all_pairs_that_differ_in_one_bit():
    assert flips(2) == [(0, 1)]
    assert len(flips(3)) == 8 * 3 / 2
    # Two answers spend twice the epsilon of one: the checker sees a table that is not private.
    table = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert check_mechanism(lambda d: table[d], flips(2)).loss == pytest.approx(np.log(9))


def test_full_rankings_of_two_items_by_hand():
    # One answer, right with chance F(1) = 0.731...: randomised response is optimal.
    n, epsilon, orbits, free, lower, gap, laplace = ranking_row(2, 1.0)
    right = 1 / (1 + np.exp(-1))
    assert (n, epsilon, orbits) == (2, 1.0, 2)
    assert free == pytest.approx(1 - right)
    keep = np.exp(1.0) / (1 + np.exp(1.0))
    assert lower == pytest.approx(1 - right * keep - (1 - right) * (1 - keep))
    assert 0 <= gap < 1e-8 and laplace > lower


def test_the_cube_marks_the_flips_at_which_privacy_is_used_up():
    epsilon = 1.0
    best = optimal_mechanism(two_level_probabilities(3, 1, 0.3), 1, epsilon=epsilon)
    fig, ax = figures.canvas(7, 5)
    exact_optimum.draw_cube(ax, best)
    edges = [line for line in ax.lines if line.get_linestyle() == "-" and line.get_zorder() == 2]
    thick = [line for line in edges if line.get_linewidth() == 4]
    chance = best.table()[:, 0]
    used_up = sum(abs(math.log(chance[a] / chance[b])) > epsilon - 1e-6 for a, b in flips(3))
    assert len(thick) == used_up + 1  # and one in the list beside the cube
    a = math.exp(-epsilon)  # the closed form of the page
    first = (1 - a / 3) / (1 + a)
    shown = {"A first": first, "A in the middle": a * first, "A last": a / 3, "in a cycle": 1 / 3}
    words = {text.get_text() for text in ax.texts}
    assert words >= {f"{name}:\n{value:.3f}" for name, value in shown.items()}
    plt.close(fig)


def test_the_cube_is_for_the_best_of_three():
    best = optimal_mechanism(two_level_probabilities(3, 2, 0.3), 2, epsilon=1)
    with pytest.raises(ValueError, match="best of three"):
        exact_optimum.draw_cube(None, best)
