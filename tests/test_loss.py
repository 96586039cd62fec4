"""Losses, profiles, the exact checker, the audit and composition, against the definitions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import chain, combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from dpbook.privacy import audit_sampler, check_mechanism, clopper_pearson, loss, person_epsilon
from dpbook.privacy.accounting import composed_response_delta, composed_response_epsilon
from dpbook.privacy.loss import hockey_stick, laplace_profile, privacy_loss

GRID = np.array([0.0, 0.1, 0.35, 0.8, 1.0, 1.5, 2.0, 3.0])


def all_events(size):
    return chain.from_iterable(combinations(range(size), r) for r in range(size + 1))


def delta_by_definition(p, q, epsilon):
    """The largest P(S) - e^epsilon Q(S) over all events, both ways round."""
    chances = [(p[[*event]].sum(), q[[*event]].sum()) for event in all_events(len(p)) if event]
    return max(0.0, *(a - math.exp(epsilon) * b for pair in chances for a, b in (pair, pair[::-1])))


@st.composite
def two_distributions(draw):
    size = draw(st.integers(2, 6))
    weights = st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(any)
    p, q = np.array(draw(weights), float), np.array(draw(weights), float)
    return p / p.sum(), q / q.sum()


def test_the_loss_is_the_largest_log_ratio():
    assert privacy_loss([0.5, 0.3, 0.2], [0.4, 0.3, 0.3]) == pytest.approx(math.log(1.5))
    assert privacy_loss([0.75, 0.25], [0.25, 0.75]) == pytest.approx(math.log(3))
    assert privacy_loss([0.5, 0.5, 0], [0.5, 0.5, 0]) == 0
    assert privacy_loss([0.5, 0.5, 0], [0.5, 0.25, 0.25]) == math.inf
    assert privacy_loss([1e-300, 1], [3e-300, 1]) == pytest.approx(math.log(3))


@settings(max_examples=80)
@given(two_distributions(), st.floats(0, 4))
def test_the_hockey_stick_is_the_worst_event(distributions, epsilon):
    p, q = distributions
    worst = delta_by_definition(p, q, epsilon)
    assert hockey_stick(p, q, epsilon) == pytest.approx(worst, abs=1e-13)
    assert privacy_loss(p, q) == privacy_loss(q, p)
    worst = privacy_loss(p, q)
    if math.isfinite(worst):
        assert hockey_stick(p, q, worst) == pytest.approx(0, abs=1e-13)
        if worst > 1e-6:
            assert hockey_stick(p, q, worst * 0.999) > 0


def lattice_profile(shift, scale, epsilons):
    """Sum of (p - e^eps q)_+ over a box of outcomes, with weights normalised here."""
    reach = math.ceil(40 * scale)
    axis = np.arange(-reach - 5, reach + 6)
    total = np.exp(-np.abs(axis) / scale).sum()
    p, q = np.ones(1), np.ones(1)
    for d in shift:
        p = np.multiply.outer(p, np.exp(-np.abs(axis) / scale) / total).ravel()
        q = np.multiply.outer(q, np.exp(-np.abs(axis - d) / scale) / total).ravel()
    return [np.maximum(p - math.exp(e) * q, 0).sum() for e in epsilons]


def plane_profile(shift, scale, epsilon):
    """Integral of (p - e^eps q)_+ over the plane, each cut where the integrand has a corner."""
    a, c = np.abs(shift) / scale

    def density(x):
        return math.exp(-abs(x)) / 2

    def inner(x):
        rest = epsilon - (abs(x - a) - abs(x))
        corner = min(max((c - rest) / 2, 0.0), c)

        def gap(y):
            return max(density(y) - math.exp(rest) * density(y - c), 0.0)

        cuts = [-45.0, *sorted({0.0, corner, c}), c + 45.0]
        return density(x) * sum(quad(gap, u, v, epsabs=1e-13)[0] for u, v in pairwise(cuts))

    corners = np.clip([0, a, (a - epsilon - c) / 2, (a - epsilon + c) / 2], 0, a)
    cuts = [-45.0, *np.unique(corners), a + 45.0]
    return sum(quad(inner, u, v, epsabs=1e-12)[0] for u, v in pairwise(cuts))


SHIFTS = ((1,), 0.7), ((3,), 2.0), ((1, -1), 2.0), ((2, -1), 1.0), ((1, -2, 1), 0.6)


@pytest.mark.parametrize(("shift", "scale"), SHIFTS)
def test_the_discrete_profile_is_the_sum_over_the_lattice(shift, scale):
    found = loss.discrete_laplace_profile(shift, scale, GRID)
    assert found == pytest.approx(lattice_profile(shift, scale, GRID), abs=1e-13)
    assert loss.discrete_laplace_profile(shift, scale / 2, GRID) != pytest.approx(found, rel=0.01)


@pytest.mark.parametrize("a", [0.2, 1.0, 3.0])
def test_the_profile_of_one_laplace_count_has_its_textbook_form(a):
    grid = np.linspace(0, a, 7)
    expected = 1 - np.exp((grid - a) / 2)
    assert laplace_profile([2 * a], 2.0, grid) == pytest.approx(expected, abs=1e-14)
    assert laplace_profile([0, -2 * a, 0], 2.0, grid) == pytest.approx(expected, abs=1e-14)
    assert laplace_profile([2 * a], 2.0, [a, a + 1]).tolist() == [0, 0]


@pytest.mark.parametrize(("shift", "scale"), [((1, -1), 2.0), ((2, 1), 1.0), ((1, 5), 1.5)])
def test_the_profile_of_two_laplace_counts_is_the_integral_over_the_plane(shift, scale):
    grid = [0.0, 0.3, 0.9, 1.4]
    expected = [plane_profile(shift, scale, e) for e in grid]
    assert laplace_profile(shift, scale, grid) == pytest.approx(expected, abs=1e-10)
    assert laplace_profile(shift, scale / 2, grid) != pytest.approx(expected, abs=0.01)


def response(truth_probability):
    def distribution(bit):
        return {bit: truth_probability, 1 - bit: 1 - truth_probability}

    return distribution


def test_the_checker_finds_the_loss_of_randomised_response():
    report = check_mechanism(response(0.75), [(0, 1)], epsilon=math.log(3))
    assert report.loss == pytest.approx(math.log(3), rel=1e-14)
    assert report.pair == (0, 1) and report.outcome in (0, 1)
    assert report.private is True and report.delta == pytest.approx(0, abs=1e-15)
    broken = check_mechanism(response(0.8), [(0, 1)], epsilon=math.log(3))
    assert broken.private is False
    assert broken.delta == pytest.approx(0.8 - 3 * 0.2)
    assert check_mechanism(response(0.8), [(0, 1)]).private is None


def test_a_delta_a_tenth_too_small_is_refused():
    distribution, delta = response(0.75), 0.75 - math.e * 0.25
    for share, private in ((1.0, True), (0.9, False)):
        report = check_mechanism(distribution, [(0, 1)], epsilon=1.0, delta=share * delta)
        assert report.private is private


def test_the_checker_names_the_worst_pair_and_outcome():
    distributions = {"a": [0.5, 0.5], "b": [0.4, 0.6], "c": [0.1, 0.9]}
    report = check_mechanism(distributions.get, [("a", "b"), ("b", "c"), ("a", "a")])
    assert report.pair == ("b", "c") and report.outcome == 0
    assert report.loss == pytest.approx(math.log(4))


def test_of_losses_that_are_equal_but_for_rounding_the_first_is_named():
    distributions = {"a": [0.2, 0.3, 0.5], "d": [0.1, 0.15, 0.75]}
    for last in (0.15 * (1 - 1e-15), 0.15 * (1 - 1e-9)):
        distributions |= {"b": [0.1, last, 0.9 - last]}
        report = check_mechanism(distributions.get, [("a", "d"), ("a", "b")])
        alike = last > 0.15 * (1 - 1e-12)
        assert report.pair == ("a", "d" if alike else "b")
        assert report.outcome == (0 if alike else 1)
        assert report.loss == pytest.approx(math.log(0.3 / last), rel=1e-15)


def test_an_outcome_possible_on_one_side_only_costs_everything():
    def distribution(x):
        return {"usual": 1.0} if x == 0 else {"usual": 1 - 1e-6, "leak": 1e-6}

    report = check_mechanism(distribution, [(0, 1)], epsilon=1.0)
    assert report.loss == math.inf and report.outcome == "leak"
    assert report.delta == pytest.approx(1e-6) and report.private is False
    assert check_mechanism(distribution, [(0, 1)], epsilon=1.0, delta=1e-5).private is True
    assert check_mechanism(distribution, [(0, 1)], epsilon=1.0, delta=1e-7).private is False


def test_delta_is_the_worst_over_pairs_and_not_that_of_the_worst_loss():
    def distribution(x):
        return [[0.5, 0.5, 0.0], [0.499, 0.5, 0.001], [0.1, 0.9, 0.0]][x]

    for pairs in ([(0, 1), (0, 2)], [(0, 2), (0, 1)]):
        report = check_mechanism(distribution, pairs, epsilon=0.1)
        assert report.pair == (0, 1) and report.loss == math.inf
        assert report.delta == pytest.approx(0.5 - math.exp(0.1) * 0.1)


def test_each_law_is_computed_once_and_datasets_may_be_arrays():
    asked = []

    def distribution(counts):
        asked.append(tuple(counts))
        return np.array([0.5, 0.5])

    data = [np.array(x) for x in product((0, 1), repeat=2)]
    assert check_mechanism(distribution, list(combinations(data, 2))).loss == 0
    assert sorted(asked) == sorted({tuple(x) for x in data})
    assert check_mechanism(lambda x: [1.0], [([1, [2]], [2, [1]])]).loss == 0


@pytest.mark.parametrize("epsilon", [800.0, np.inf])
def test_huge_epsilon_does_not_hide_disjoint_distributions(epsilon):
    assert hockey_stick([0.5, 0.5], [1.0, 0.0], epsilon) == 0.5
    report = check_mechanism(lambda x: [[1, 0], [0, 1]][x], [(0, 1)], epsilon=epsilon, delta=1e-9)
    assert report.delta == 1 and report.private is False


def test_laplace_profile_refuses_shifts_beyond_its_stated_error():
    for shift in ([3000, 3000], [40.5]):
        with pytest.raises(ValueError, match="shift exceeds 40 scales"):
            laplace_profile(shift, 1.0, 0.0)
    assert laplace_profile([40], 1.0, 0.0) == pytest.approx(-math.expm1(-20))
    assert laplace_profile([0, 0], 1.0, GRID).tolist() == [0] * GRID.size


def test_discrete_laplace_profile_takes_a_hundred_thousand_steps_and_no_more():
    """One count moved by an even d: at epsilon 0 the worst event is noise below d / 2."""
    z = math.exp(-1 / 50_000)
    found = loss.discrete_laplace_profile([100_000], 50_000, 0.0)
    assert found == pytest.approx(1 - (z**50_000 + z**50_001) / (1 + z))
    with pytest.raises(ValueError, match="allowed are at most 100000 steps"):
        loss.discrete_laplace_profile([99_999, -2], 50_000, 0.0)


def test_laws_of_data_with_the_same_bytes_are_not_confused() -> None:
    """Another shape, another type: other data."""
    distribution = {(2,): [0.9, 0.1], (2, 1): [0.5, 0.5]}
    for other in (np.zeros((2, 1), dtype=int), np.zeros((2, 1))):
        report = check_mechanism(lambda d: distribution[d.shape], [(np.zeros(2, dtype=int), other)])
        assert report.loss == pytest.approx(math.log(5))
    kinds = {"i": [0.9, 0.1], "f": [0.5, 0.5]}
    pair = np.zeros(2, dtype=np.int64), np.zeros(2)
    assert check_mechanism(lambda d: kinds[d.dtype.kind], [pair]).loss == pytest.approx(math.log(5))


@pytest.mark.parametrize("off", [2e-9, -2e-9, 5e-4])
def test_a_law_adds_up_to_one(off: float) -> None:
    with pytest.raises(ValueError, match=r"p sums to .*: allowed is a total of 1"):
        privacy_loss([0.5, 0.5 + off], [0.5, 0.5])
    privacy_loss([0.5, 0.5 + off * 1e-7], [0.5, 0.5])


@settings(max_examples=60)
@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_interval_is_scipys_exact_interval(trials, share, confidence):
    successes = round(trials * share)
    exact = stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    lower, upper = clopper_pearson(successes, trials, confidence=confidence)
    assert float(lower) == pytest.approx(exact.low, rel=1e-9, abs=1e-12)
    assert float(upper) == pytest.approx(exact.high, rel=1e-9, abs=1e-12)


def test_a_faithful_sampler_passes_and_a_wrong_one_does_not():
    rng = np.random.default_rng(2)
    distribution = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    tallies = rng.multinomial(5000, distribution, size=300)
    passed = sum(audit_sampler(tally, distribution, confidence=0.99).passed for tally in tallies)
    assert passed >= 290  # a binomial with success probability of at least 0.99
    other = audit_sampler(rng.multinomial(5000, [0.5, 0.25, 0.2, 0.05, 0]), distribution)
    assert not other.passed and set(other.outliers) == {1, 2}


def test_one_draw_of_an_impossible_outcome_is_enough():
    audit = audit_sampler([10_000, 1], [1.0, 0.0])
    assert not audit.passed and 1 in audit.outliers
    assert audit_sampler([10_000, 0], [1.0, 0.0]).passed
    assert audit_sampler([9_999, 0], [1 - 1e-6, 1e-6]).passed  # what was never drawn is not seen


def report_distributions(epsilons: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """The distributions of all 2^q reports when all answers are 0, and when all are 1."""
    truth = [math.exp(e) / (1 + math.exp(e)) for e in epsilons]
    outputs = list(product((0, 1), repeat=len(epsilons)))
    sides = [zip(truth, out, strict=True) for out in outputs]
    zeros = [math.prod(1 - t if o else t for t, o in side) for side in sides]
    return np.array(zeros), np.array(zeros[::-1])


def brute_delta(epsilons: list[float], total: float) -> float:
    p, q = report_distributions(epsilons)
    return float(np.maximum(p - math.exp(total) * q, 0).sum())


def test_the_pure_sum_is_attained_and_nothing_less_suffices():
    p, q = report_distributions([0.7] * 5)
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
    found = float(composed_response_delta(epsilon, q, total))
    assert found == pytest.approx(expected, rel=1e-9, abs=0)
    # At epsilon 0 the hockey-stick is the total variation: the majority of 10001 fair-ish coins.
    many = float(composed_response_delta(0.02, 10_001, 0.0))
    assert many == pytest.approx(math.erf(0.01 * math.sqrt(10_001) / math.sqrt(2)), abs=1e-3)


@pytest.mark.parametrize("epsilon, q, delta", [(0.1, 780, 1e-6), (0.5, 8, 0.01), (2.0, 3, 0.3)])
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
        probability = (1 + (-Decimal(epsilon)).exp()) ** -q
        delta = share * float(probability)
        exact = pure + (1 - Decimal(delta) / probability).ln()
        low, high = map(Decimal, composed_response_epsilon(epsilon, q, delta))
        assert low <= exact <= high
        assert high - low <= Decimal("1e-11") * pure


@pytest.mark.parametrize("above", [0.3, 2.0])
@pytest.mark.parametrize(("epsilon", "q"), [(8.0, 2), (8.0, 9), (10.0, 3)])
def test_the_bracket_holds_the_exact_epsilon_where_rounding_moves_it_most(epsilon, q, above):
    """There delta hardly falls with epsilon; the next loss is (q - 2) epsilon."""
    with localcontext(prec=60):
        pure, probability = q * Decimal(epsilon), (1 + (-Decimal(epsilon)).exp()) ** -q
        delta = float(probability * (1 - (Decimal(above) - 2 * Decimal(epsilon)).exp()))
        exact = pure + (1 - Decimal(delta) / probability).ln()
        assert exact > (q - 2) * Decimal(epsilon)  # so the formula holds
        low, high = map(Decimal, composed_response_epsilon(epsilon, q, delta))
        assert low <= exact <= high
