"""What a person spends over many answers: closed forms against full enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from dpbook.privacy import (
    advanced_composition_epsilon,
    composed_response_bounds,
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


# ------------------------------------------------------------------ pure


def test_a_person_who_compares_all_pairs_of_forty_items_spends_780_times_epsilon():
    assert person_epsilon(1.0, 40 * 39 // 2) == 780
    assert person_epsilon([0.1, 2.0], [3, 4]) == pytest.approx(8.3, rel=1e-15)
    assert person_epsilon([0.1, 2.0], 2) == pytest.approx(4.2, rel=1e-15)


def test_the_pure_sum_is_attained_and_nothing_less_suffices():
    epsilons = [0.3, 0.3, 1.1, 0.7]
    p, q = report_laws(epsilons)
    assert np.log(p / q).max() == pytest.approx(person_epsilon(epsilons), rel=1e-12)
    total = person_epsilon(epsilons)
    assert composed_response_bounds(epsilons, 1, 0.98 * total)[0] > 0
    assert composed_response_bounds(epsilons, 1, 1.001 * total)[1] == 0


# ------------------------------------------------------------------ exact delta


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


# ------------------------------------------------------------------ different epsilons


@pytest.mark.parametrize(
    ("epsilons", "counts"), [([0.5, 0.9], [4, 3]), ([0.1, 0.2, 0.31, 1.7, 3.0], [1, 1, 2, 1, 1])]
)
def test_bounds_enclose_the_enumeration_and_close_in(epsilons, counts):
    flat = [e for e, c in zip(epsilons, counts, strict=True) for _ in range(c)]
    totals = np.linspace(0, 0.97 * sum(flat), 9)
    exact = np.array([brute_delta(flat, t) for t in totals])
    widths = []
    for points in (2**8, 2**12, 2**16):
        lower, upper = composed_response_bounds(epsilons, counts, totals, points=points)
        assert (lower <= exact + 1e-15).all() and (exact <= upper + 1e-15).all()
        widths.append(float((upper - lower).max()))
    assert widths[1] < widths[0] / 8 and widths[2] < widths[1] / 8 and widths[2] < 3e-4


@pytest.mark.parametrize("side", [1, -1])
def test_bounds_hold_for_losses_just_beside_a_grid_point(side):
    """A loss within 1e-9 steps of a grid point is put on it, and a margin pays for that.

    Four steps from the least loss to the largest, and 2 * 1 is 3 of them plus or minus 0.9e-9.
    Rounding it the wrong way moves delta by about 1e-10, far above the rounding of the sums.
    """
    epsilons = [1.0, 4 / (3 + side * 0.9e-9) - 1]
    for total in (0.1, 0.3, 0.5):
        lower, upper = composed_response_bounds(epsilons, 1, total, points=5)
        assert lower < brute_delta(epsilons, total) < upper


def test_bounds_for_one_group_enclose_the_closed_form():
    for total in (0.0, 0.4, 5.0):
        lower, upper = composed_response_bounds([0.1], 100, total)
        assert lower <= composed_response_delta(0.1, 100, total) <= upper


# ------------------------------------------------------------------ epsilon at a delta


@pytest.mark.parametrize(
    ("epsilon", "q", "delta"), [(0.1, 780, 1e-6), (0.5, 8, 0.01), (2.0, 3, 0.3)]
)
def test_epsilon_at_a_delta_inverts_delta(epsilon, q, delta):
    lower, upper = composed_response_epsilon(epsilon, q, delta)
    assert 0 <= upper - lower <= 1e-9 * (1 + upper)
    assert composed_response_delta(epsilon, q, upper + 1e-9) < delta
    assert composed_response_delta(epsilon, q, max(0.0, lower - 1e-9)) > delta
    assert type(lower) is float and type(upper) is float


def test_epsilon_at_a_delta_for_different_answers_is_a_bracket():
    epsilons, counts, delta = [0.2, 0.6], [5, 3], 0.01
    lower, upper = composed_response_epsilon(epsilons, counts, delta)
    assert 0 < upper - lower < 1e-3
    flat = [0.2] * 5 + [0.6] * 3
    assert brute_delta(flat, lower) >= delta * (1 - 1e-12) >= brute_delta(flat, upper) * 0.999
    assert brute_delta(flat, upper) <= delta
    # Equal entries take the exact way.
    assert composed_response_epsilon([0.3, 0.3], [2, 5], delta) == composed_response_epsilon(
        0.3, 7, delta
    )


def test_the_ends_of_the_range_of_delta():
    assert composed_response_epsilon(0.5, 6, 0.0) == (3.0, 3.0)
    assert composed_response_epsilon([0.5, 1.0], 2, 0) == (3.0, 3.0)
    assert composed_response_epsilon(0.1, 2, 0.9) == (0.0, 0.0)
    lower, upper = composed_response_epsilon(0.5, 6, 1e-12)
    assert 2.9 < lower <= upper <= 3.0


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
@pytest.mark.parametrize(("epsilon", "q"), [(0.01, 780), (0.1, 780), (1.0, 190)])
def test_advanced_composition_lies_between_the_exact_value_and_the_sum(epsilon, q, delta):
    exact = composed_response_epsilon(epsilon, q, delta)[1]
    refined = advanced_composition_epsilon(epsilon, q, delta)
    classic = advanced_composition_epsilon(epsilon, q, delta, kind="classic")
    assert exact <= refined <= classic <= person_epsilon(epsilon, q)


def test_advanced_composition_has_its_printed_form():
    mean = 780 * 0.01 * (math.exp(0.01) - 1)
    spread = 0.01 * math.sqrt(2 * 780 * math.log(1e6))
    classic = advanced_composition_epsilon(0.01, 780, 1e-6, kind="classic")
    assert classic == pytest.approx(mean + spread, rel=1e-12)
    halves = advanced_composition_epsilon([0.01, 0.01], [300, 480], 1e-6)
    assert halves == pytest.approx(advanced_composition_epsilon(0.01, 780, 1e-6), rel=1e-12)


def test_an_independent_accountant_agrees():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    epsilon, q = 0.2, 50
    # Its parameter is the chance that a bucket is drawn uniformly from both.
    once = pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2)
    for total in (0.5, 2.0):
        seen = once.self_compose(q).get_delta_for_epsilon(total)
        exact = float(composed_response_delta(epsilon, q, total))
        assert exact <= seen * (1 + 1e-9) and seen == pytest.approx(exact, rel=0.02)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    for call in (
        lambda: person_epsilon(epsilon),
        lambda: person_epsilon([1.0, epsilon]),
        lambda: composed_response_delta(epsilon, 2, 1.0),
        lambda: composed_response_bounds([epsilon], 2, 1.0),
        lambda: composed_response_epsilon(epsilon, 2, 0.1),
        lambda: advanced_composition_epsilon(epsilon, 2, 0.1),
    ):
        with pytest.raises(ValueError, match="epsilon_each = "):
            call()


@pytest.mark.parametrize("count", [0, 1.5, True, [1, 2, 3]])
def test_a_count_that_is_none_is_refused(count):
    with pytest.raises(ValueError, match="count = "):
        person_epsilon([1.0, 2.0], count)
    with pytest.raises(ValueError, match="count = "):
        composed_response_delta(1.0, count, 1.0)


def test_totals_deltas_and_words_out_of_range_are_refused():
    for total in (-0.1, [1.0, math.nan]):
        with pytest.raises(ValueError, match="epsilon_total"):
            composed_response_delta(1.0, 2, total)
        with pytest.raises(ValueError, match="epsilon_total"):
            composed_response_bounds([1.0], 2, total)
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta = "):
            composed_response_epsilon(1.0, 2, delta)
    for delta in (0, 1):
        with pytest.raises(ValueError, match="delta = "):
            advanced_composition_epsilon(1.0, 2, delta)
    with pytest.raises(ValueError, match="kind = "):
        advanced_composition_epsilon(1.0, 2, 0.1, kind="tight")
    with pytest.raises(ValueError, match="points = "):
        composed_response_bounds([1.0], 2, 1.0, points=1)
