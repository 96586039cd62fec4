"""Fano bounds under privacy against linear programs, closed forms and each other."""

from itertools import product
from math import exp, expm1, log

import numpy as np
import pytest

from dpbook.lower_bounds import fano
from dpbook.lower_bounds.divergences import product_law
from dpbook.lower_bounds.packings import set_probabilities


def winner_laws(gap):
    at = np.triu_indices(3, 1)
    return np.array([product_law(set_probabilities(3, np.array([i]), gap)[at]) for i in range(3)])


METRIC = np.column_stack([1 - np.eye(3), np.full(3, 0.5)])


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_sharp_ratio_is_the_optimum_over_all_tests(bits, epsilon):
    rng = np.random.default_rng(bits)
    p, q = rng.random((2, bits))
    value = fano.product_log_ratio(p, q, epsilon)
    optimum = fano.largest_log_ratio(product_law(p), product_law(q), epsilon)
    assert value == pytest.approx(optimum, abs=1e-7)
    agree = np.array([(np.array(x) == (p > q)).sum() for x in product((0, 1), repeat=bits)])
    test = np.exp(epsilon * agree)  # the test that attains it
    assert log((product_law(p) @ test) / (product_law(q) @ test)) == pytest.approx(value)
    assert fano.largest_log_ratio(product_law(p), product_law(q), 2 * epsilon) > value


def test_record_ratio_by_listing_events():
    rng = np.random.default_rng(3)
    a, b = rng.dirichlet(np.ones(6), 2)
    for epsilon in (0.2, 2.0):
        e = expm1(epsilon)
        events = np.array(list(product((0, 1), repeat=6)))
        best = np.log((1 + e * events @ a) / (1 + e * events @ b)).max()
        assert fano.record_log_ratio(a, b, epsilon) == pytest.approx(best)
    two = fano.record_log_ratio([0.3, 0.7], [0.6, 0.4], 1.0)
    assert two == pytest.approx(fano.product_log_ratio([0.3], [0.6], 1.0))


@pytest.mark.parametrize("gap", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
def test_no_bound_exceeds_the_optimum(gap, epsilon, delta):
    laws, distance = winner_laws(gap), 4 * gap
    best = fano.optimal_private_risk(laws, METRIC, epsilon=epsilon, delta=delta)
    ours = fano.dp_fano_risk(3, distance, epsilon=epsilon, delta=delta)
    printed = fano.dp_fano_risk_printed(3, distance, epsilon=epsilon, delta=delta)
    assert printed - 1e-9 <= ours <= best + 1e-7
    error = fano.optimal_private_risk(laws, 1 - np.eye(3), epsilon=epsilon, delta=delta)
    lost = exp(-epsilon) * distance * delta
    assert fano.dp_fano_error(2, epsilon * distance, delta_term=lost) <= error + 1e-7


def test_printed_risk_by_hand():
    # 5 laws, D = 0.2, epsilon = 1: 0.45 * 4 exp(-10 * 0.2 * 1) = 1.8 exp(-2) = 1.8 * 0.1353352832
    assert fano.dp_fano_risk_printed(5, 0.2, epsilon=1) == pytest.approx(0.2436035098, abs=1e-10)
    # ... less 0.45 * 10 * 4 * 0.2 * 0.01 = 0.036 at delta = 0.01
    with_delta = fano.dp_fano_risk_printed(5, 0.2, epsilon=1, delta=0.01)
    assert with_delta == pytest.approx(0.2076035098, abs=1e-10)
    # 4 exp(-0.1) exceeds 1: 0.45
    assert fano.dp_fano_risk_printed(5, 0.01, epsilon=1) == 0.45


def test_risk_by_hand():
    # Two laws: the minimum is at h = 1. D = 0.5, epsilon = 1, delta = 0.1:
    # (exp(-0.5) - 0.5 * 0.1 * exp(-1)) / 2 = (0.6065306597 - 0.0183939721) / 2
    two = fano.dp_fano_risk(2, 0.5, epsilon=1, delta=0.1)
    assert two == pytest.approx(0.2940683438, abs=1e-9)
    # Six laws, D = 2, epsilon = 0.5: the minimum is where x = 1 / h solves 5 (1 + x) exp(-x) = 1,
    # x = 2.9943083, and is (1 - 1 / (1 + x)) / 2 = (1 - 1 / 3.9943083) / 2.
    assert fano.dp_fano_risk(6, 2.0, epsilon=0.5) == pytest.approx(0.3748219, abs=1e-7)
    # At delta = 0.01 each of 5 laws gives away 2 * 0.01 * exp(-0.5), whatever h: the risk falls
    # by 5 * 0.0121306132 / 2 = 0.0303265330.
    lost = fano.dp_fano_risk(6, 2.0, epsilon=0.5, delta=0.01)
    assert lost == pytest.approx(0.3748219 - 0.0303265, abs=2e-7)


def test_certified_risk_is_never_above_the_optimum(monkeypatch):
    """Multipliers that are 1e-7 too large must not raise the certified value: one bit, two laws,
    where the optimum is 1/2 - gap tanh(epsilon / 2) by randomised response."""
    exact = fano.linprog

    def risk(shift):
        def careless(*args, **kwargs):
            found = exact(*args, **kwargs)
            found.eqlin.marginals = found.eqlin.marginals + shift
            return found

        monkeypatch.setattr(fano, "linprog", careless)
        laws = np.array([[0.2, 0.8], [0.8, 0.2]])
        return fano.optimal_private_risk(laws, 1 - np.eye(2), epsilon=1.0)

    optimum = 0.5 - 0.3 * np.tanh(0.5)
    for shift in (-1e-7, 0.0, 1e-7):
        assert optimum - 1e-6 < risk(shift) < optimum + 1e-9
    with pytest.raises(RuntimeError, match="does not certify"):
        risk(1e-5)


def test_controls_escape_the_bound():
    level = fano.dp_fano_risk_printed(3, 0.08, epsilon=0.05)
    squared = np.column_stack([1 - np.eye(3), np.full(3, 0.25)])
    assert fano.optimal_private_risk(winner_laws(0.02), squared, epsilon=0.05) < level
    assert fano.optimal_private_risk(winner_laws(0.5), 1 - np.eye(3), epsilon=6.0) < level


def test_without_privacy_the_program_gives_the_bayes_risk():
    laws = winner_laws(0.3)
    free = fano.optimal_private_risk(laws, 1 - np.eye(3), epsilon=12.0)
    assert free == pytest.approx(1 - laws.max(axis=0).sum() / 3, abs=1e-3)
    blind = fano.optimal_private_risk(laws, 1 - np.eye(3), epsilon=0.0)
    assert blind == pytest.approx(2 / 3)


def test_fano_error_solves_its_equation():
    b = fano.dp_fano_error(50, 2.0)
    assert b == pytest.approx(50 * (1 - b) * exp(-2.0 / (1 - b)))
    x = 50 * exp(-2.0)
    assert fano.dp_fano_error(50, 2.0, random=False) == pytest.approx(x / (1 + x))
    # b (1 + x) = x - 50 * 0.1 with x = 50 exp(-2) = 6.7667641618: 1.7667641618 / 7.7667641618
    by_hand = fano.dp_fano_error(50, 2.0, random=False, delta_term=0.1)
    assert by_hand == pytest.approx(0.2274775087, abs=1e-9)
    assert fano.dp_fano_error(50, 2.0, delta_term=1.0) == 0
    assert fano.fano_error(8, log(2)) == pytest.approx(1 / 3)
    assert fano.fano_error(2, 1.0) == 0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: fano.fano_error(1, 0.1), "hypotheses"),
        (lambda: fano.fano_error(3, -1), "kl"),
        (lambda: fano.dp_fano_risk(3, -1, epsilon=1), "distance"),
        (lambda: fano.dp_fano_risk_printed(1, 1, epsilon=1), "hypotheses"),
        (lambda: fano.dp_fano_error(0, 1), "alternatives"),
        (lambda: fano.product_log_ratio([0.5], [0.5, 0.5], 1), "q"),
        (lambda: fano.product_log_ratio([1.5], [0.5], 1), "p leaves"),
        (lambda: fano.record_log_ratio([1.0], [0.5, 0.5], 1), "other"),
        (lambda: fano.largest_log_ratio(np.full(3, 1 / 3), np.full(3, 1 / 3), 1), "data sets"),
        (lambda: fano.optimal_private_risk(np.eye(2), np.ones((3, 2)), epsilon=1), "loss"),
    ],
)
def test_errors_name_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
