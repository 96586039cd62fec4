"""Models: probabilities against scalar and rational formulas, samplers against their laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbook import models
from dpbook.privacy import audit_sampler
from tests.oracles import enumerated_edge_distribution, tally

RHO = np.array([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]])


def frequencies(counts, distribution):
    seen = [tuple(map(int, row)) for row in counts]
    assert set(seen) <= set(distribution)
    return [seen.count(key) for key in distribution]


def test_btl_probabilities_follow_the_logistic_formula():
    theta = [0.3, -1.0, 2.0]
    rho = models.btl_probabilities(theta)
    for i, j in itertools.product(range(3), repeat=2):
        assert rho[i, j] == pytest.approx(1 / (1 + math.exp(theta[j] - theta[i])), rel=1e-14)


def test_probit_and_cauchit_follow_their_distribution_functions():
    x = 0.7
    probit = models.btl_probabilities([x, 0.0], link="probit")[0, 1]
    cauchit = models.btl_probabilities([x, 0.0], link="cauchit")[0, 1]
    assert probit == pytest.approx(0.5 * (1 + math.erf(x / math.sqrt(2))), rel=1e-13)
    assert cauchit == pytest.approx(0.5 + math.atan(x) / math.pi, rel=1e-13)


@pytest.mark.parametrize("name", models.LINKS)
def test_links_are_symmetric_and_their_density_is_the_derivative(name):
    link = models.LINKS[name]
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(link.cdf(x) + link.cdf(-x), 1, rtol=0, atol=1e-15)
    h = 1e-5
    # Central differences err by h^2 |F'''| / 6 plus rounding / h: below 1e-9 here.
    slope = (link.cdf(x + h) - link.cdf(x - h)) / (2 * h)
    np.testing.assert_allclose(link.pdf(x), slope, rtol=0, atol=1e-9)


@given(st.integers(2, 12), st.data())
def test_two_level_probabilities_have_exactly_the_gap(n, data):
    k = data.draw(st.integers(1, n - 1))
    gap = data.draw(st.floats(0, 0.5))
    tau = models.average_win_probabilities(models.two_level_probabilities(n, k, gap))
    assert tau[:k].min() - tau[k:].max() == pytest.approx(gap, abs=1e-14)


def test_two_levels_of_any_group():
    rho = models.two_level_probabilities(5, [1, 4], 0.2)
    upper = np.isin(np.arange(5), [1, 4])
    for i, j in itertools.product(range(5), repeat=2):
        assert rho[i, j] == pytest.approx(0.5 + 0.2 * (int(upper[i]) - int(upper[j])))
    order = np.array([1, 4, 0, 2, 3])
    assert (models.two_level_probabilities(5, 2, 0.2) == rho[order][:, order]).all()


def test_edge_wins_follow_the_enumerated_distribution():
    p = 0.6
    wins = models.edge_wins(RHO, p=p, size=40_000, rng=np.random.default_rng(1))
    distribution = enumerated_edge_distribution(RHO, p)
    counts = frequencies(wins.sum(axis=2), distribution)
    assert audit_sampler(counts, list(distribution.values())).passed
    # The audit can fail: the same draws do not fit a distribution with another p.
    other = enumerated_edge_distribution(RHO, 0.65)
    assert not audit_sampler(counts, list(other.values())).passed


def test_individual_wins_follow_the_enumerated_distribution():
    distribution: dict[tuple[int, ...], float] = {}
    ordered = [(i, j) for i in range(3) for j in range(3) if i != j]
    for draws in itertools.product(ordered, repeat=2):
        counts, probability = [0, 0, 0], 1.0
        for i, j in draws:
            counts[i] += 1
            probability *= RHO[i, j] / 3
        distribution[tuple(counts)] = distribution.get(tuple(counts), 0.0) + probability
    rng = np.random.default_rng(2)
    wins = models.individual_wins(RHO, users=1, per_user=2, size=40_000, rng=rng)
    assert (np.diagonal(wins, axis1=1, axis2=2) == 0).all()
    counts = frequencies(wins.sum(axis=2), distribution)
    assert audit_sampler(counts, list(distribution.values())).passed
    flipped = [distribution[key[::-1]] for key in distribution]
    assert not audit_sampler(counts, flipped).passed


def inversions(ranking):
    return sum(a > b for a, b in itertools.combinations(ranking, 2))


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.999999, 1.0])
def test_mallows_sampler_follows_its_distribution(phi):
    distribution = models.mallows_pmf(4, phi)
    positions = models.mallows_rankings(20_000, 4, phi=phi, rng=np.random.default_rng(1))
    assert positions.shape == (20_000, 4) and positions.dtype == np.int64
    assert audit_sampler(tally(positions), distribution).passed
    # The audit can fail: another phi is told apart.
    other = models.mallows_pmf(4, 0.4 if phi != 0.3 else 0.25)
    assert not audit_sampler(tally(positions), other).passed


@pytest.mark.parametrize("n_items", [45, 300])
def test_every_mallows_row_is_a_permutation(n_items):
    positions = models.mallows_rankings(2500, n_items, phi=0.97, rng=np.random.default_rng(2))
    assert (np.sort(positions, axis=1) == np.arange(n_items)).all()
    expected = models.mallows_expected_distance(n_items, 0.97)
    sample = [inversions(row) for row in positions[:100].tolist()]
    assert abs(np.mean(sample) - expected) < 5 * np.std(sample) / 10


def test_mallows_at_the_ends():
    rng = np.random.default_rng(3)
    assert (models.mallows_rankings(9, 7, phi=0, rng=rng) == np.arange(7)).all()
    assert (models.mallows_rankings(9, 7, phi=1e-300, rng=rng) == np.arange(7)).all()
    assert models.mallows_pmf(3, 1) == pytest.approx([1 / 6] * 6, rel=1e-15)


@pytest.mark.parametrize("phi", [Fraction(0), Fraction(1, 3), Fraction(7, 8), Fraction(1)])
@pytest.mark.parametrize("n_items", [2, 3, 5, 6])
def test_mallows_probabilities_against_rational_enumeration(phi, n_items):
    weights = {r: phi ** inversions(r) for r in itertools.permutations(range(n_items))}
    total = sum(weights.values())
    pairs = models.mallows_pair_probabilities(n_items, float(phi))
    # Three sums of up to n powers, a product and a quotient: so many roundings of one, or twice
    # as many where a power is right to one unit of its last digit only.
    rounding = 4 * (n_items + 3) * 2.0**-53
    for i, j in itertools.permutations(range(n_items), 2):
        exact = sum(w for r, w in weights.items() if r[i] < r[j]) / total
        assert pairs[i, j] == pytest.approx(float(exact), rel=0, abs=rounding)
    assert (np.diagonal(pairs) == 0.5).all()
    mean = sum(w * inversions(r) for r, w in weights.items()) / total
    assert models.mallows_expected_distance(n_items, float(phi)) == pytest.approx(float(mean))
    distribution = models.mallows_pmf(n_items, float(phi))
    for row, probability in zip(models.all_rankings(n_items).tolist(), distribution, strict=True):
        assert probability == pytest.approx(float(weights[tuple(row)] / total), rel=1e-13, abs=0)


@given(st.floats(0.01, 0.999), st.integers(2, 40))
def test_pair_probability_has_the_closed_form(phi, n_items):
    pairs = models.mallows_pair_probabilities(n_items, phi)
    d, q = n_items - 1, Fraction(phi)
    exact = Fraction(d + 1) / (1 - q ** (d + 1)) - Fraction(d) / (1 - q**d)
    assert pairs[0, -1] == pytest.approx(float(exact), rel=1e-14)
    assert pairs[-1, 0] == pytest.approx(1 - float(exact), abs=1e-14)
    assert (pairs + pairs.T == 1).all()


def test_pair_probabilities_are_stable_near_one_and_stay_in_the_unit_interval():
    # First order in x = 1 - phi: h(d) = 1/2 + (2 d + 1) x/12.
    pairs = models.mallows_pair_probabilities(10, 1 - 1e-9)
    assert pairs[0, 9] - 0.5 == pytest.approx(19e-9 / 12, rel=1e-6, abs=0)
    for phi in (0.01, 0.05, 0.1):  # rounding would give 1 + 2e-16 for 40 items at 0.05
        pairs = models.mallows_pair_probabilities(40, phi)
        assert pairs.min() >= 0 and pairs.max() <= 1
