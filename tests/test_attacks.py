"""Score attacks: identities against finite differences, bounds against hand-made estimators."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from dpbook.lower_bounds import (
    data_probabilities,
    edge_data_sets,
    expected_attacks,
    l2_risk_bound,
    pair_scores,
    sup_norm_risk_bound,
)

THETA = np.array([0.4, -0.7, 0.1])


def estimator(wins):
    return np.tanh((wins.sum(axis=2) - 0.6 * wins.sum(axis=1)) ** 2 / 3 - 0.5)


@pytest.mark.parametrize("link", ["logistic", "probit", "cauchit"])
@pytest.mark.parametrize("p", [1.0, 0.6])
def test_attack_is_the_derivative_of_the_mean(p, link):
    wins = edge_data_sets(3)
    values = estimator(wins)
    attacks = expected_attacks(values, wins, THETA, p=p, link=link)
    by_differences = np.array(
        [
            (
                data_probabilities(wins, THETA + s, p=p, link=link) @ values[:, k]
                - data_probabilities(wins, THETA - s, p=p, link=link) @ values[:, k]
            )
            / 2e-5
            for k, s in enumerate(1e-5 * np.eye(3))
        ]
    )
    assert np.allclose(attacks, by_differences, atol=1e-8)
    printed = expected_attacks(values, wins, THETA, p=p, link=link, signs="printed")
    assert printed[0] == pytest.approx(attacks[0]) and printed[2] == pytest.approx(-attacks[2])
    assert abs(printed[1]) != pytest.approx(abs(attacks[1]), abs=1e-3)


def test_data_sets_are_complete_and_distinct():
    assert len(np.unique(edge_data_sets(3).reshape(27, -1), axis=0)) == 27
    assert len(edge_data_sets(4, complete=True)) == 64
    for p in (0.3, 1.0):
        assert data_probabilities(edge_data_sets(3), THETA, p=p).sum() == pytest.approx(1)


def test_logistic_scores_are_residuals():
    wins = edge_data_sets(3, complete=True)
    scores = pair_scores(wins, THETA).sum(axis=-1)
    expected = wins.sum(axis=2) - expit(THETA[:, None] - THETA).sum(axis=1) + 0.5
    assert np.allclose(scores, expected)


@pytest.mark.parametrize("epsilon", [0.02, 0.5, 2.0])
def test_a_private_entry_obeys_the_sup_norm_bound(epsilon):
    n, t = 40, np.linspace(-1, 1, 101)
    wins, noise = np.arange(n), np.arange(-9000, 9001)
    weight = np.exp(-np.abs(noise) * epsilon)
    weight /= weight.sum()
    share = np.clip((wins[:, None] + noise) / (n - 1), 0.02, 0.98)
    shown = np.clip(np.log(share / (1 - share)) * (n - 1) / n, -1, 1)
    error = np.array([np.abs(shown - x) @ weight for x in t])
    law = binom.pmf(wins, n - 1, expit(t * n / (n - 1))[:, None])
    assert (law * error).sum(axis=1).max() > sup_norm_risk_bound(n, epsilon=epsilon)


def test_bounds_have_their_closed_forms_and_order():
    assert sup_norm_risk_bound(50, epsilon=0.8) == pytest.approx(1 / (1 + 50 * np.tanh(0.2)))
    assert l2_risk_bound(50, epsilon=0.8) == pytest.approx(
        49 / (np.sqrt(10) + 50 * np.tanh(0.2) / np.sqrt(2)) ** 2
    )
    for bound in (sup_norm_risk_bound, l2_risk_bound):
        for p in (0.5, 1.0):
            sharp, printed = (
                bound(200, epsilon=0.1, p=p, delta=1e-4, chain=c) for c in ("sharp", "printed")
            )
            assert sharp > printed > 0
        assert bound(200, epsilon=0.1, p=0.4) > bound(200, epsilon=0.1, p=0.8)
        assert bound(200, epsilon=0.1, delta=1e-3) < bound(200, epsilon=0.1)
        assert bound(200, epsilon=0.1, delta=1.0) == 0


def test_printed_sup_norm_bound_by_hand():
    # n = 100, p = 1, epsilon = 0.1: 1 - (100 / 99) (2 / 100) = 97 / 99, over
    # 15 / 8 + (100 / 99) 4 * 100 * 0.1 = 1.875 + 4000 / 99.
    found = sup_norm_risk_bound(100, epsilon=0.1, chain="printed")
    assert found == pytest.approx((97 / 99) / (1.875 + 4000 / 99), rel=1e-14)
    assert found == pytest.approx(0.0231745, abs=1e-7)
    # p = 1/2, delta = 1e-4: 1 - (100 / 99) (0.02 + 4 * 99 * 1e-4) = 1 - 5.96 / 99, over
    # 1.875 + (100 / 99) 4 * 100 * 0.5 * 0.1 = 1.875 + 2000 / 99.
    found = sup_norm_risk_bound(100, epsilon=0.1, p=0.5, delta=1e-4, chain="printed")
    assert found == pytest.approx((1 - 5.96 / 99) / (1.875 + 2000 / 99), rel=1e-14)


def test_printed_l2_bound_by_hand():
    # n = 11, p = 1/2, epsilon = 0.1, delta = 1e-3: 10 - 8 * 11 * 10 * 0.5e-3 = 9.56, over
    # sqrt(100) + 8 sqrt(2) 11^1.5 * 0.05 = 10 + 0.4 sqrt(2 * 1331) = 10 + 20.6378293, squared.
    found = l2_risk_bound(11, epsilon=0.1, p=0.5, delta=1e-3, chain="printed")
    assert found == pytest.approx((9.56 / (10 + 0.4 * 2662**0.5)) ** 2, rel=1e-14)
    assert found == pytest.approx(0.0973646, abs=1e-6)


def test_sharp_bounds_with_missing_pairs_by_hand():
    # tanh(epsilon / 4) = 0.1. Three items, p = 1/2: the degree d is Bin(2, 1/2), and E(d - t)^+
    # is 1, 1/4, 0 for t = 0, 1, 2. The best t is 1: (1 - 1.5 * 2 * 0.1 / 4) / (1 + 1.5 * 0.1).
    epsilon = 4 * np.arctanh(0.1)
    sup = sup_norm_risk_bound(3, epsilon=epsilon, p=0.5)
    assert sup == pytest.approx(0.925 / 1.15, rel=1e-12)
    # delta = 0.1 takes 1.5 * 2 * 0.5 * 0.1 / 2 = 0.075 from the room.
    sup = sup_norm_risk_bound(3, epsilon=epsilon, p=0.5, delta=0.1)
    assert sup == pytest.approx(0.85 / 1.15, rel=1e-12)
    # n = 11, p = 1/2: the mean square degree is 25 + 2.5, so Q^2 = 11 * 27.5 = 302.5; without
    # privacy's share sqrt(10 * 10) = 10. At delta = 0.02: 10 - 0.5 * 11 * 10 * 0.01 = 9.45.
    l2 = l2_risk_bound(11, epsilon=epsilon, p=0.5)
    assert l2 == pytest.approx((10 / (10 + 0.1 * 302.5**0.5)) ** 2, rel=1e-12)
    l2 = l2_risk_bound(11, epsilon=epsilon, p=0.5, delta=0.02)
    assert l2 == pytest.approx((9.45 / (10 + 0.1 * 302.5**0.5)) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: edge_data_sets(6), "n_items"),
        (lambda: data_probabilities(np.zeros((2, 2)), THETA), "wins"),
        (lambda: data_probabilities(np.zeros((3, 3)), THETA, p=0), "p ="),
        (lambda: pair_scores(np.zeros((3, 3)), THETA, link="cubic"), "link"),
        (lambda: expected_attacks(np.zeros((1, 2)), edge_data_sets(3), THETA), "means"),
        (lambda: expected_attacks(np.zeros((2, 3)), edge_data_sets(3)[:2], THETA), "wins"),
        (lambda: sup_norm_risk_bound(10, epsilon=0.5, chain="printed"), "p ="),
        (lambda: sup_norm_risk_bound(100, epsilon=2, chain="printed"), "epsilon"),
        (lambda: l2_risk_bound(100, epsilon=0.5, p=0.001, chain="printed"), "p ="),
        (lambda: l2_risk_bound(2, epsilon=0.5), "n_items"),
        (lambda: l2_risk_bound(9, epsilon=0.5, delta=2), "delta"),
        (lambda: l2_risk_bound(9, epsilon=0.5, chain="other"), "chain"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
