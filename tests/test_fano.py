"""Fano bounds and divergences by hand and against closed forms."""

from math import exp, log

import numpy as np
import pytest

from dpbook.lower_bounds import fano
from dpbook.models import two_level_probabilities


def test_kl_of_edge_data_pair_by_pair():
    a, b = (two_level_probabilities(9, k, 0.15) for k in ([0, 1, 2, 3], [0, 1, 2, 7]))
    at = np.triu_indices(9, 1)
    kl = sum(
        x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y))
        for x, y in zip(a[at], b[at], strict=True)
    )
    assert fano.edge_kl(a, b, p=0.6) == pytest.approx(0.6 * kl)


def test_sharp_ratio_of_one_bit_by_hand():
    # p = 0.3, q = 0.6, s = -1, e^-1 - 1 = -0.6321205588: (1 - 0.1896362) / (1 - 0.3792723)
    found = fano.product_log_ratio([0.3], [0.6], 1.0)
    assert found == pytest.approx(log(0.8103638324 / 0.6207276647))
    assert fano.product_log_ratio([0.3, 0.5], [0.6, 0.5], 1.0) == pytest.approx(found)


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
        (lambda: fano.dp_fano_risk(1, 1, epsilon=1), "hypotheses"),
        (lambda: fano.dp_fano_error(0, 1), "alternatives"),
        (lambda: fano.edge_kl(np.eye(2), np.eye(3)), "other"),
        (lambda: fano.product_log_ratio([0.5], [0.5, 0.5], 1), "q"),
        (lambda: fano.product_log_ratio([1.5], [0.5], 1), "p leaves"),
    ],
)
def test_errors_name_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
