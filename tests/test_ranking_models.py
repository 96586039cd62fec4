"""Mallows: laws against rational arithmetic, samplers against the laws."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbook import models
from dpbook.privacy import audit_sampler


def inversions(ranking):
    return sum(a > b for a, b in itertools.combinations(ranking, 2))


def drawn(positions, table):
    seen = {}
    for row in positions:
        seen[tuple(map(int, row))] = seen.get(tuple(map(int, row)), 0) + 1
    assert set(seen) <= set(map(tuple, table.tolist()))
    return [seen.get(tuple(row), 0) for row in table.tolist()]


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.999999, 1.0])
def test_mallows_sampler_follows_its_law(phi):
    table, law = models.all_rankings(4), models.mallows_pmf(4, phi)
    positions = models.mallows_rankings(20_000, 4, phi=phi, rng=np.random.default_rng(1))
    assert positions.shape == (20_000, 4) and positions.dtype == np.int64
    assert audit_sampler(drawn(positions, table), law).passed
    # The audit can fail: another phi is told apart.
    other = models.mallows_pmf(4, 0.4 if phi != 0.3 else 0.25)
    assert not audit_sampler(drawn(positions, table), other).passed


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
    for i, j in itertools.permutations(range(n_items), 2):
        exact = sum(w for r, w in weights.items() if r[i] < r[j]) / total
        assert pairs[i, j] == pytest.approx(float(exact), abs=3e-16)
    assert (np.diagonal(pairs) == 0.5).all()
    mean = sum(w * inversions(r) for r, w in weights.items()) / total
    assert models.mallows_expected_distance(n_items, float(phi)) == pytest.approx(float(mean))
    law = models.mallows_pmf(n_items, float(phi))
    for row, probability in zip(models.all_rankings(n_items).tolist(), law, strict=True):
        assert probability == pytest.approx(float(weights[tuple(row)] / total), rel=1e-13, abs=0)


@given(st.floats(0.01, 0.999), st.integers(2, 40))
def test_pair_probability_has_the_closed_form(phi, n_items):
    pairs = models.mallows_pair_probabilities(n_items, phi)
    d, q = n_items - 1, Fraction(phi)
    exact = Fraction(d + 1) / (1 - q ** (d + 1)) - Fraction(d) / (1 - q**d)
    assert pairs[0, -1] == pytest.approx(float(exact), rel=1e-14)
    assert pairs[-1, 0] == pytest.approx(1 - float(exact), abs=1e-14)
    assert (pairs + pairs.T == 1).all()


def test_pair_probability_near_one_is_stable():
    # First order in x = 1 - phi: h(d) = 1/2 + (2 d + 1) x/12.
    pairs = models.mallows_pair_probabilities(10, 1 - 1e-9)
    assert pairs[0, 9] - 0.5 == pytest.approx(19e-9 / 12, rel=1e-6, abs=0)


def test_pair_probabilities_stay_in_the_unit_interval():
    for phi in (0.01, 0.05, 0.1):  # rounding would give 1 + 2e-16 for 40 items at 0.05
        pairs = models.mallows_pair_probabilities(40, phi)
        assert pairs.min() >= 0 and pairs.max() <= 1


def test_all_rankings_are_the_order_of_a_law():
    table = models.all_rankings(4)
    assert table.shape == (24, 4) and table.tolist() == sorted(table.tolist())
    assert len(set(map(tuple, table.tolist()))) == 24
    assert models.mallows_pmf(4, 0.5).shape == (24,)
