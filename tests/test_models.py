"""Models: probabilities against scalar formulas, samplers against enumerated laws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import enumerated_edge_law

from dpbook import models
from dpbook.privacy import audit_sampler

RHO = np.array([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]])


def frequencies(counts, law):
    seen = [tuple(map(int, row)) for row in counts]
    assert set(seen) <= set(law)
    return [seen.count(key) for key in law]


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


def test_edge_wins_follow_the_enumerated_law():
    p = 0.6
    wins = models.edge_wins(RHO, p=p, size=40_000, rng=np.random.default_rng(1))
    law = enumerated_edge_law(RHO, p)
    counts = frequencies(wins.sum(axis=2), law)
    assert audit_sampler(counts, list(law.values())).passed
    # The audit can fail: the same draws do not fit a law with another p.
    other = enumerated_edge_law(RHO, 0.65)
    assert not audit_sampler(counts, list(other.values())).passed


def test_individual_wins_follow_the_enumerated_law():
    law: dict[tuple[int, ...], float] = {}
    ordered = [(i, j) for i in range(3) for j in range(3) if i != j]
    for draws in itertools.product(ordered, repeat=2):
        counts, probability = [0, 0, 0], 1.0
        for i, j in draws:
            counts[i] += 1
            probability *= RHO[i, j] / 3
        law[tuple(counts)] = law.get(tuple(counts), 0.0) + probability
    rng = np.random.default_rng(2)
    wins = models.individual_wins(RHO, users=1, per_user=2, size=40_000, rng=rng)
    assert (np.diagonal(wins, axis1=1, axis2=2) == 0).all()
    assert audit_sampler(frequencies(wins.sum(axis=2), law), list(law.values())).passed
    flipped = dict(zip(law, [law[key[::-1]] for key in law], strict=True))
    assert not audit_sampler(frequencies(wins.sum(axis=2), law), list(flipped.values())).passed
