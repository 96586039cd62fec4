"""What a person spends over many answers: closed forms against full enumeration."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest

from dpbook.privacy import (
    composed_response_delta,
    composed_response_epsilon,
    hockey_stick,
    person_epsilon,
)


def report_laws(epsilons: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """The laws of all 2^q reports when all answers are 0, and when all are 1."""
    truth = [math.exp(e) / (1 + math.exp(e)) for e in epsilons]
    outputs = list(product((0, 1), repeat=len(epsilons)))
    zeros = [
        math.prod(1 - t if o else t for t, o in zip(truth, out, strict=True)) for out in outputs
    ]
    return np.array(zeros), np.array(zeros[::-1])


def brute_delta(epsilons: list[float], total: float) -> float:
    p, q = report_laws(epsilons)
    return float(np.maximum(p - math.exp(total) * q, 0).sum())


def test_the_pure_sum_is_attained_and_nothing_less_suffices():
    p, q = report_laws([0.7] * 5)
    total = person_epsilon(0.7, 5)
    assert np.log(p / q).max() == pytest.approx(total, rel=1e-12)
    assert composed_response_delta(0.7, 5, 0.98 * total) > 0
    assert composed_response_delta(0.7, 5, 1.001 * total) == 0


@pytest.mark.parametrize("q", range(1, 9))
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_delta_is_that_of_the_full_enumeration(q, epsilon):
    totals = np.linspace(0, 1.1 * q * epsilon, 13)
    exact = composed_response_delta(epsilon, q, totals)
    assert exact == pytest.approx([brute_delta([epsilon] * q, t) for t in totals], abs=1e-14)
    assert composed_response_delta(epsilon, q, 0.3).shape == ()
    # Twice the epsilon of each answer is told apart.
    assert 1 - composed_response_delta(2 * epsilon, q, totals[3]) < 0.99 * (1 - exact[3])


def test_the_worst_neighbours_are_opposite_in_every_answer():
    truth = math.e / (1 + math.e)
    channel = np.array([[truth, 1 - truth], [1 - truth, truth]])
    for changed in range(1, 5):
        p = q = np.ones(1)
        for answer in range(4):
            p = np.multiply.outer(p, channel[0]).ravel()
            q = np.multiply.outer(q, channel[int(answer < changed)]).ravel()
        seen = float(hockey_stick(p, q, [1.5])[0])
        worst = float(composed_response_delta(1.0, 4, 1.5))
        assert seen <= worst + 1e-15
        assert (seen == pytest.approx(worst, rel=1e-12)) == (changed == 4)


def test_delta_keeps_its_digits_in_the_far_tail_and_for_many_answers():
    # All 200 reports are true: the only outcome beyond a total of 199 epsilon.
    epsilon, q = 0.5, 200
    total = 199 * epsilon
    all_true = -q * math.log1p(math.exp(-epsilon))
    expected = math.exp(all_true) * -math.expm1(total - q * epsilon)
    assert float(composed_response_delta(epsilon, q, total)) == pytest.approx(
        expected, rel=1e-9, abs=0
    )
    # At epsilon 0 the hockey-stick is the total variation: the majority of 10001 fair-ish coins.
    many = float(composed_response_delta(0.02, 10_001, 0.0))
    assert many == pytest.approx(math.erf(0.01 * math.sqrt(10_001) / math.sqrt(2)), abs=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "q", "delta"), [(0.1, 780, 1e-6), (0.5, 8, 0.01), (2.0, 3, 0.3)]
)
def test_epsilon_at_a_delta_inverts_delta(epsilon, q, delta):
    lower, upper = composed_response_epsilon(epsilon, q, delta)
    assert 0 <= upper - lower <= 1e-9 * (1 + upper)
    assert composed_response_delta(epsilon, q, upper + 1e-9) < delta
    assert composed_response_delta(epsilon, q, max(0.0, lower - 1e-9)) > delta
    assert type(lower) is float and type(upper) is float


def test_the_ends_of_the_range_of_delta():
    assert composed_response_epsilon(0.5, 6, 0.0) == (3.0, 3.0)
    assert composed_response_epsilon(0.1, 2, 0.9) == (0.0, 0.0)
    lower, upper = composed_response_epsilon(0.5, 6, 1e-12)
    assert 2.9 < lower <= upper <= 3.0


def test_an_independent_accountant_agrees():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    epsilon, q = 0.2, 50
    # Its parameter is the chance that a bucket is drawn uniformly from both.
    once = pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2)
    for total in (0.5, 2.0):
        seen = once.self_compose(q).get_delta_for_epsilon(total)
        exact = float(composed_response_delta(epsilon, q, total))
        assert exact <= seen * (1 + 1e-9) and seen == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("share", [1e-13, 1e-6, 0.01])
@pytest.mark.parametrize(("epsilon", "q"), [(0.1, 3), (0.1, 7), (0.7, 9), (0.3, 50), (0.9, 300)])
def test_the_bracket_holds_the_exact_epsilon_to_the_last_digit(epsilon, q, share):
    """Close to q epsilon only the report of truths counts: delta = p^q (1 - exp(e - q epsilon))."""
    with localcontext(prec=60):
        pure = q * Decimal(epsilon)
        chance = (1 + (-Decimal(epsilon)).exp()) ** -q
        delta = share * float(chance)
        exact = pure + (1 - Decimal(delta) / chance).ln()
        low, high = map(Decimal, composed_response_epsilon(epsilon, q, delta))
        assert low <= exact <= high
        assert high - low <= Decimal("1e-11") * pure


@pytest.mark.parametrize("above", [0.3, 2.0])
@pytest.mark.parametrize(("epsilon", "q"), [(8.0, 2), (8.0, 9), (10.0, 3)])
def test_the_bracket_holds_the_exact_epsilon_where_rounding_moves_it_most(epsilon, q, above):
    """There delta hardly falls with epsilon; the next loss is (q - 2) epsilon."""
    with localcontext(prec=60):
        pure, chance = q * Decimal(epsilon), (1 + (-Decimal(epsilon)).exp()) ** -q
        delta = float(chance * (1 - (Decimal(above) - 2 * Decimal(epsilon)).exp()))
        exact = pure + (1 - Decimal(delta) / chance).ln()
        assert exact > (q - 2) * Decimal(epsilon)  # so the formula holds
        low, high = map(Decimal, composed_response_epsilon(epsilon, q, delta))
        assert low <= exact <= high
