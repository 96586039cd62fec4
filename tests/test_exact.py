"""Laws as polynomials, proofs for every epsilon, and the program that checks them again."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbook.book import proved
from dpbook.mechanisms import randomized_response_pmf
from dpbook.privacy import ExactDistribution, as_fraction, certify_mechanism, exact
from dpbook.privacy.exact import Polynomial, _shifted, _sign, discrete_laplace_distribution, one, t
from dpbook.privacy.exact import exponential_mechanism_distribution as exponential
from dpbook.privacy.loss import discrete_laplace_profile
from tests.test_verifier import asked

PAIRS = list(combinations(range(4), 2))
ANSWERS = list(product((0, 1), repeat=6))
FLIPS = [(y, (*y[:k], 1, *y[k + 1 :])) for y in ANSWERS for k in range(6) if not y[k]]
coefficients = st.lists(st.integers(-9, 9), max_size=8)


@cache
def ranking(answers, steps=2):
    """The exponential mechanism over rankings of four, scored by the answers they agree with."""
    truth = list(zip(PAIRS, answers, strict=True))
    scores = {
        order: sum((order.index(i) < order.index(j)) == bool(won) for (i, j), won in truth)
        for order in permutations(range(4))
    }
    return exponential(scores, steps)


def hypercube(truth):
    """The hypercube mechanism of the papers, printed with ties in both half-spaces."""
    corners = list(product((-1, 1), repeat=4))
    dots = [sum(a * b for a, b in zip(z, truth, strict=True)) for z in corners]
    share, empty = Polynomial((sum(dot >= 0 for dot in dots),)), Polynomial(())
    parts = [(t if dot >= 0 else empty) + (one if dot <= 0 else empty) for dot in dots]
    return ExactDistribution({z: share * part for z, part in zip(corners, parts, strict=True)})


def accepted(folder, found):
    """Whether the program accepts a certificate that a record names."""
    named = proved("cases", found, mechanism="anything", relation="anything", n=4)
    return asked(folder, {"ONE": ("", named.certificate, {"evidence": "all-epsilon"})}) == (0, {})


@given(coefficients, coefficients, st.integers(-3, 3))
def test_polynomials_compute_like_their_values(a, b, x):
    def value(p):
        return sum(c * x**k for k, c in enumerate(p.coefficients))

    p, q = Polynomial(tuple(a)), Polynomial(tuple(b))
    assert value(p + q) == value(p) + value(q)
    assert value(p - q) == value(p) - value(q)
    assert value(p * q) == value(p) * value(q)
    assert value(p**3) == value(p) ** 3
    assert sum(c * (x - 1) ** k for k, c in enumerate(_shifted(a))) == value(p)


@given(coefficients)
def test_signs_on_the_half_line_are_those_of_another_library(a):
    flint = pytest.importorskip("flint")
    p = flint.fmpz_poly(a)
    if p == 0 or any(m > 1 for root, m in p.complex_roots() if root != 0):
        return
    roots = [float(root.real) for root, _ in p.complex_roots() if root.imag == 0 and root.real > 0]
    ends = [0.0, *sorted(roots), max(roots, default=0.0) + 2]
    between = [flint.fmpq(*((x + y) / 2).as_integer_ratio()) for x, y in pairwise(ends)]
    assert _sign(a) == (-1 if any(p(x) < 0 for x in between) else 1)


@pytest.mark.parametrize("epsilon", [0, 0.3, 1, 5, 700])
def test_laws_are_those_of_the_mechanisms(epsilon):
    told = exact.randomized_response_distribution([1]).map(sum).at(epsilon)
    assert told[1] == pytest.approx(1 / (1 + exp(-epsilon)))
    if 0 < epsilon < 100:
        assert told[1] == pytest.approx(float(np.max(randomized_response_pmf(epsilon))))
    tails = discrete_laplace_distribution(1, 0, 3, 2).at(epsilon)
    z = exp(-epsilon / 2)
    assert tails[0] == pytest.approx(z / (1 + z))
    assert tails[2] == pytest.approx((1 - z) / (1 + z) * z)
    assert sum(tails.values()) == pytest.approx(1)


def test_mallows_is_an_exponential_distribution():
    orders = list(permutations(range(3)))
    distance = {o: sum(a > b for a, b in combinations(o, 2)) for o in orders}
    pmf = exponential({order: -d for order, d in distance.items()}).at(log(2))
    assert pmf[(2, 1, 0)] == pytest.approx(1 / 8 / (1 * 1.5 * 1.75))


def test_an_output_may_be_joined_and_processed():
    coin = exponential({1: 1, 0: 0})
    both = exact.joint_distribution([coin, coin]).map(sum)
    assert both.weights == {2: t * t, 1: t + t, 0: one}


def test_the_exponential_mechanism_is_private_at_every_epsilon(tmp_path):
    found = certify_mechanism(ranking, FLIPS)
    assert found.proved and found.cases == 2 * len(FLIPS) * 24
    assert accepted(tmp_path, found)
    half = certify_mechanism(lambda y: ranking(y, 1), FLIPS)
    assert not half.proved and tuple(sorted(half.pair)) in FLIPS and half.certificate is None


def test_every_failure_is_counted():
    """Ties in both half-spaces, against a report on one side."""
    distributions = {v: hypercube(v) for v in ((1, 1, 1, 1), (1, 1, 1, -1))}
    found = certify_mechanism(distributions.get, [((1, 1, 1, 1), (1, 1, 1, -1))])
    assert found.violations == sum(
        log(distributions[x].at(0.3)[o]) - log(distributions[y].at(0.3)[o]) > 0.3 + 1e-12
        for x in distributions
        for y in distributions
        for o in distributions[x].weights
    )


@pytest.mark.parametrize("steps", [1, 2])
def test_a_noisy_count_loses_what_the_profile_says(steps):
    counts = {v: discrete_laplace_distribution(v, 0, 4, steps) for v in range(5)}
    for move in (1, 2):
        pairs = [(v, v + move) for v in range(5 - move)]
        found = certify_mechanism(counts.get, pairs)
        profile = discrete_laplace_profile([move], steps, [1.0])
        assert found.proved == (profile[0] <= 1e-15)


def test_sides_that_meet_without_crossing_are_refused():
    # the first difference is s (s^2 - 2)^2, whose root no cut hits; the others are positive
    s = t - one
    q, total = Polynomial((10, 0, 0, 0, 10)), Polynomial((200, 0, 0, 0, 0, 0, 200))
    p = t * q - s * (s * s - one - one) ** 2
    sides = [ExactDistribution({0: side, 1: total - side}) for side in (p, q)]
    with pytest.raises(ValueError, match="meet without crossing"):
        certify_mechanism(sides.__getitem__, [(0, 1)])


def test_labels_are_the_data_sets_and_the_outcomes():
    """Whatever numbers they were made of; what has no chance, or is compared with none, is left."""
    sides = {True: {(np.int64(3), False): t, ((), 1): one, "none": Polynomial(())}}
    sides[False] = {(3, False): one, ((), 1): t}
    data = [(np.array([[1, 0]]), 7), (np.array([[0, 1]]), 7), (np.array([[1, 0]]), 8)]
    found = certify_mechanism(
        lambda x: ExactDistribution(sides[bool(x[0][0, 0])]), [data[:2], (data[0], data[2])]
    )
    one_of_it = json.loads(json.dumps(found.certificate))
    assert one_of_it["datasets"] == [[[[1, 0]], 7], [[[0, 1]], 7]]
    assert one_of_it["outcomes"] == [[3, 0], [[], 1]]
    assert one_of_it["laws"] == [[[0, 1], [1]], [[1], [0, 1]]]
    assert one_of_it["bounds"] == [[0, 1]] and one_of_it["order"] == []
    assert one_of_it["pairs"] == [[0, 1, 0, 1], [1, 0, 0, 1]]


def test_a_bound_may_be_any_polynomial_and_it_is_said_where_it_is_attained(tmp_path):
    """Two answers; a distance of 1 loses t of the t^2 that is claimed for both."""
    answers = list(product((0, 1), repeat=2))
    pairs = list(combinations(answers, 2))
    both = certify_mechanism(exact.randomized_response_distribution, pairs, lambda x, y: t * t)
    sharp = {(x, y): flag for x, y, _, flag in both.certificate["pairs"]}
    assert both.certificate["bounds"] == [(0, 0, 1)] and len(sharp) == 12
    assert [xy for xy, flag in sharp.items() if flag] == [(0, 3), (3, 0), (1, 2), (2, 1)]

    def apart(x, y):
        return t ** sum(a != b for a, b in zip(x, y, strict=True))

    each = certify_mechanism(exact.randomized_response_distribution, pairs, apart)
    assert {flag for *_, flag in each.certificate["pairs"]} == {1}
    assert accepted(tmp_path, each)
    short = certify_mechanism(exact.randomized_response_distribution, pairs, lambda x, y: t)
    assert short.violations == 4 and short.certificate is None


@pytest.mark.parametrize(("upper", "wrong"), [(t * t, 0), (t + one, 0), (t, 1), (one, 1)])
def test_bounds_may_be_put_in_order(upper, wrong):
    coins = [exponential({0: way, 1: 1 - way}) for way in (0, 1)]
    found = certify_mechanism(coins.__getitem__, [(0, 1)], order=[(t, upper)])
    assert (found.violations, found.proved) == (wrong, not wrong)
    if not wrong:
        assert found.certificate["order"] == [[0, 1]]
        assert found.certificate["bounds"] == [(0, 1), upper.coefficients]


def test_laws_that_are_the_same_are_not_compared(tmp_path):
    """And a pair that comes twice is listed once; the program would refuse both."""
    coins = [exponential({0: way, 1: 1 - way}) for way in (0, 1, 1)]
    pairs = [(0, 1), (1, 2), (1, 0)]
    found = certify_mechanism(dict(enumerate(coins)).get, pairs)
    assert found.cases == 12 and found.certificate["pairs"] == [(0, 1, 0, 1), (1, 0, 0, 1)]
    assert found.certificate["datasets"] == [0, 1]
    assert accepted(tmp_path, found)


@pytest.mark.parametrize("steps", [Fraction(9, 5), 2, Fraction(11, 5)])
def test_steps_may_be_fractions(steps):
    distributions = {v: discrete_laplace_distribution(v, 0, 3, steps) for v in range(4)}
    z = exp(-0.7 / float(steps))
    assert distributions[1].at(0.7)[0] == pytest.approx(z / (1 + z))
    pairs = [(v, v + 2) for v in range(2)]
    assert certify_mechanism(distributions.get, pairs).proved is (steps >= 2)


@pytest.mark.parametrize("value", [2.0, 0.9 * (2 / 0.3) * 0.3, 1 / 0.55, 9 / 43])
def test_a_number_is_a_fraction_up_to_its_rounding(value):
    assert abs(float(as_fraction(value)) - value) < 1e-12


@pytest.mark.parametrize("value", [1.995, 2**0.5, 2 + 1e-9])
def test_a_number_is_not_made_a_fraction(value):
    """Too little noise must not get the certificate of enough."""
    with pytest.raises(ValueError, match="denominator up to 100"):
        as_fraction(value)


def test_an_outcome_of_one_side_only_is_a_violation():
    """Its chance on the other side is 0: no bound holds; the other outcome needs 1 + 1/t."""
    distributions = {0: ExactDistribution({"a": t, "b": one}), 1: ExactDistribution({"a": one})}
    report = certify_mechanism(distributions.__getitem__, [(0, 1)], lambda x, y: one + one)
    assert (report.violations, report.pair, report.outcome) == (1, (0, 1), "b")


def test_an_outcome_of_neither_side_is_not_sharp():
    sides = [{0: t, 1: one}, {0: one, 1: t}, {2: t, 3: one}, {2: one, 3: t}]
    distributions = [ExactDistribution(weights, 2) for weights in sides]
    found = certify_mechanism(distributions.__getitem__, [(0, 1), (2, 3)])
    assert {flag for *_, flag in found.certificate["pairs"]} == {0}
