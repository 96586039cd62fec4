"""The joint law of wrong pairs, against enumeration, simulation and the law of one pair."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

from dpbook.models import mallows_pair_probabilities, mallows_rankings
from dpbook.rankers import (
    all_right_probability,
    expected_wrong_pairs,
    ldp_pair_counts,
    wrong_pairs_bound,
    wrong_pairs_pmf,
    yll_mu,
)


def enumerated(preference, users, lie, ties):
    """Every way in which the users spread over the three pairs and the two reports."""
    upper = np.triu_indices(3, 1)
    right = preference[upper] * (1 - lie) + (1 - preference[upper]) * lie
    cells = np.stack([right, 1 - right], axis=1).ravel() / 3
    law = np.zeros(4)
    for counts in product(range(users + 1), repeat=6):
        if sum(counts) != users:
            continue
        ways = factorial(users) / prod(factorial(c) for c in counts)
        chance = ways * prod(p**c for p, c in zip(cells, counts, strict=True))
        gaps = [counts[2 * i + 1] - counts[2 * i] for i in range(3)]
        law[sum(gap > 0 or (ties and gap == 0) for gap in gaps)] += chance
    return law


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("mechanism", "lie"), [("response", 1 / (1 + np.e)), ("laplace", None)])
def test_law_is_that_of_the_enumeration(mechanism, lie, ties):
    lie = 0.5 * np.exp(-0.5) if lie is None else lie
    preference = mallows_pair_probabilities(3, 0.4)
    for users in (1, 4, 6):
        law = wrong_pairs_pmf(preference, users, epsilon=1.0, mechanism=mechanism, ties=ties)
        assert law == pytest.approx(enumerated(preference, users, lie, ties), abs=1e-12)


@pytest.mark.parametrize("users", [30, 5000, 400_000])
def test_mean_of_the_law_is_the_sum_over_pairs(users):
    preference = mallows_pair_probabilities(7, 0.6)
    errors = expected_wrong_pairs(preference, users, epsilon=0.3)
    law = wrong_pairs_pmf(preference, users, epsilon=0.3)
    both = wrong_pairs_pmf(preference, users, epsilon=0.3, ties=True)
    assert law.sum() == pytest.approx(1, abs=1e-10)
    assert law @ np.arange(22) == pytest.approx(errors.wrong, abs=1e-9)
    assert both @ np.arange(22) == pytest.approx(errors.wrong + errors.tie, abs=1e-9)
    right = all_right_probability(preference, users, epsilon=0.3)
    assert right == pytest.approx(both[0], abs=1e-12)


def test_law_fits_the_sampler():
    rng = np.random.default_rng(20)
    upper, seen = np.triu_indices(4, 1), np.zeros(7)
    for _ in range(4000):
        positions = mallows_rankings(60, 4, phi=0.5, rng=rng)
        counts = ldp_pair_counts(positions, epsilon=1.0, rng=rng)
        seen[(counts[upper] < counts.T[upper]).sum()] += 1
    law = wrong_pairs_pmf(mallows_pair_probabilities(4, 0.5), 60, epsilon=1.0)
    error = np.sqrt(law * (1 - law) / 4000)
    assert (np.abs(seen / 4000 - law) < 4.5 * error + 1e-3).all()


@pytest.mark.parametrize("design", ["random", "balanced"])
@pytest.mark.parametrize("mechanism", ["response", "laplace"])
def test_bound_is_above_the_truth_and_below_half_of_the_printed_one(mechanism, design):
    for n, users, queries, phi in product((3, 8), (1, 20, 3000), (1, 3), (0.1, 0.7)):
        given = dict(epsilon=2.0, queries=queries, mechanism=mechanism)
        preference = mallows_pair_probabilities(n, phi)
        bound = wrong_pairs_bound(preference, users, **given)
        errors = expected_wrong_pairs(preference, users, design=design, **given)
        assert errors.wrong + errors.tie <= bound * (1 + 1e-12)
        assert bound <= yll_mu(n, users, theta=1 - phi, **given) / 2 * (1 + 1e-12)


def test_bound_by_hand():
    # All agree, tanh(epsilon / 2) = 0.6: a report has the margin 0.6, and 1 - sqrt(1 - 0.36) = 0.2.
    # Two items: 0.8^10. Three items, one question of three: 3 (1 - 0.2 / 3)^10 = 3 (14 / 15)^10.
    epsilon = 2 * np.arctanh(0.6)
    two, three = np.triu(np.ones((2, 2)), 1), np.triu(np.ones((3, 3)), 1)
    assert wrong_pairs_bound(two, 10, epsilon=epsilon) == pytest.approx(0.1073741824, rel=1e-9)
    found = wrong_pairs_bound(three, 10, epsilon=epsilon)
    assert found == pytest.approx(3 * (14 / 15) ** 10, rel=1e-12)
    # Two questions of three, at half of twice that epsilon: 3 (1 - 0.4 / 3)^10.
    found = wrong_pairs_bound(three, 10, epsilon=2 * epsilon, queries=2)
    assert found == pytest.approx(3 * (13 / 15) ** 10, rel=1e-12)


def test_bound_has_the_right_exponent():
    preference = mallows_pair_probabilities(3, 0.2)
    pairs = [
        np.log(all_wrong.wrong + all_wrong.tie)
        for all_wrong in (expected_wrong_pairs(preference, m, epsilon=2.0) for m in (4000, 8000))
    ]
    bound = [np.log(wrong_pairs_bound(preference, m, epsilon=2.0)) for m in (4000, 8000)]
    assert np.diff(pairs) == pytest.approx(np.diff(bound), rel=0.01)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="preference"):
        wrong_pairs_bound(np.full((3, 3), 1.5), 10, epsilon=1.0)
    with pytest.raises(ValueError, match="users"):
        wrong_pairs_pmf(mallows_pair_probabilities(3, 0.5), 0, epsilon=1.0)
    with pytest.raises(ValueError, match="preference of shape"):
        wrong_pairs_pmf(np.full((2, 3), 0.5), 10, epsilon=1.0)
