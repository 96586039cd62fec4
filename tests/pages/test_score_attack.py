"""Score attacks: identities against finite differences, bounds against hand-made estimators."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from dpbook.mechanisms import randomized_response_pmf
from dpbook.pages.score_attack import (
    by_answers,
    by_counts,
    centred,
    data_probabilities,
    expected_attacks,
    l2_bounds,
    l2_draws,
    l2_risk_bound,
    least_error,
    on_the_line,
    one_entry,
    one_pair,
    pair_scores,
    prior_scores,
    random_answers,
    revealing,
    risk_curve,
    slopes,
    sup_norm_risk_bound,
    t_interval,
    upper_bounds,
    win_tables,
)

THETA = np.array([0.4, -0.7, 0.1])


def estimator(wins):
    return np.tanh((wins.sum(axis=2) - 0.6 * wins.sum(axis=1)) ** 2 / 3 - 0.5)


@pytest.mark.parametrize("p", [1.0, 0.6])
def test_attack_is_the_derivative_of_the_mean(p):
    wins = win_tables(3, complete=False)
    values = estimator(wins)
    attacks = expected_attacks(values, wins, THETA, p=p)
    by_differences = np.array(
        [
            (
                data_probabilities(wins, THETA + s, p=p) @ values[:, k]
                - data_probabilities(wins, THETA - s, p=p) @ values[:, k]
            )
            / 2e-5
            for k, s in enumerate(1e-5 * np.eye(3))
        ]
    )
    assert np.allclose(attacks, by_differences, atol=1e-8)
    assert np.allclose(slopes(values, wins, THETA, p), by_differences, atol=1e-8)
    printed = expected_attacks(values, wins, THETA, p=p, signs="printed")
    assert printed[0] == pytest.approx(attacks[0]) and printed[2] == pytest.approx(-attacks[2])
    assert abs(printed[1]) != pytest.approx(abs(attacks[1]), abs=1e-3)


def test_data_sets_are_complete_and_distinct():
    wins = win_tables(3, complete=False)
    assert len(np.unique(wins.reshape(27, -1), axis=0)) == 27
    assert not (wins * wins.swapaxes(1, 2)).any()
    assert len(win_tables(4, complete=True)) == 64
    for p in (0.3, 1.0):
        assert data_probabilities(wins, THETA, p=p).sum() == pytest.approx(1)


def test_logistic_scores_are_residuals():
    wins = win_tables(3, complete=True)
    scores = pair_scores(wins, THETA).sum(axis=-1)
    expected = wins.sum(axis=2) - expit(THETA[:, None] - THETA).sum(axis=1) + 0.5
    assert np.allclose(scores, expected)


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


def test_random_answers_are_a_private_law_of_the_data():
    channel = random_answers(win_tables(2, complete=False), 0.7)
    truth, lie = randomized_response_pmf(0.7)[0]
    assert channel == pytest.approx(np.array([[truth, lie, 0], [lie, truth, 0], [0, 0, 1]]))


def test_one_pair_nearly_attains_the_sharp_constant():
    # Reports at the ends: F (1 - F) = 1/4, and the means differ by 2 (truth - lie) = 2 tanh(e/2).
    assert one_pair(0.8) == pytest.approx(np.tanh(0.4) / 2)
    assert 0.95 < one_pair(0.8) / upper_bounds(2, 1, 0.8, 0, 1.0, 1.0)[1] <= 1


def test_one_entry_by_differences():
    def mean(t):
        wins = np.arange(30)
        share = np.clip((wins + 0.5) / 30, 0.01, 0.99)
        law = binom.pmf(wins, 29, expit(t + 0.1))
        return law @ np.clip(np.log(share / (1 - share)) * 29 / 30, -1, 1)

    attack, _ = one_entry(30, 0.3, rest=-0.1)
    assert attack == pytest.approx((mean(0.3 + 1e-5) - mean(0.3 - 1e-5)) / 2e-5, rel=1e-8)
    quiet, error = one_entry(30, 0.3, 40.0, rest=-0.1)  # hardly any noise
    assert quiet == pytest.approx(attack, rel=1e-6)
    assert error == pytest.approx(one_entry(30, 0.3, rest=-0.1)[1], rel=1e-6)


def test_revealing_by_hand():
    # Three items, two answers: the score is -1, 0, 1 with chances 1/4, 1/2, 1/4.
    assert revealing(5.0, 3, 0.1) == pytest.approx((0.25, 0.25))


def test_upper_bounds_by_hand():
    assert upper_bounds(10, 0.5, 0.2, 0.01, 0.3, 1.5) == pytest.approx(
        (4 * 10 * 0.5 * 0.2 * 0.3 + 4 * 9 * 0.01 + 0.2, np.tanh(0.05) * 1.5 + 9 * 0.5 * 0.005)
    )
    # p = 1/2, n = 11: the mean square degree is 27.5. p = 1: Q^2 = 121 * 10 / 2.
    for p, q2 in ((0.5, 11 * 27.5), (1, 605.0)):
        _, sharp = l2_bounds(11, p, 0.2, 0.01, 4.0)
        assert sharp == pytest.approx(np.tanh(0.05) * 2 * q2**0.5 + p * 110 * 0.005)
    printed, _ = l2_bounds(11, 0.5, 0.2, 0.01, 4.0)
    assert printed == pytest.approx(8 * 2**0.5 * 11**1.5 * 0.1 * 2 + 8 * 110 * 0.005)


def test_the_prior_has_its_scores_and_the_line_its_attack():
    assert prior_scores() == pytest.approx((1, 15 / 8))
    worst, by_prior, evenly = on_the_line(50, None, lambda t, n: -t / (n - 1), 15 / 16, 1)
    assert by_prior >= (1 - 15 / 8 * worst) * 49 / 50
    assert evenly >= (1 - worst) * 49 / 50
    _, less, _ = on_the_line(50, None, lambda t, n: -t / (n - 1), 15 / 16, 0.5)
    assert less == pytest.approx(by_prior / 2)


def test_ends_that_cannot_be_told_apart():
    assert least_error(20, lambda t, n: t) == pytest.approx(1)
    assert least_error(2, lambda t, n: 0 * t) == pytest.approx(2 * expit(-1))


def test_draws_have_centred_scores():
    truths, errors, scores = l2_draws(20, 3, np.random.default_rng(3))
    assert np.abs(scores.sum(axis=1)).max() < 1e-10
    assert np.abs(truths).max() <= 1
    assert centred(errors + truths).mean() == pytest.approx(0, abs=1e-12)


def test_t_interval_by_hand():
    # Four values of mean 2 and standard error 0.6455, and t with 3 degrees at 5 %: 2.3534.
    ends = t_interval(np.array([0.5, 1.5, 2.5, 3.5]), 0.05)
    assert ends == pytest.approx(2 + 2.353363 * 0.645497 * np.array([-1, 1]), abs=1e-5)


def test_private_estimates_at_a_large_epsilon_are_those_without_noise():
    wins = np.triu(np.ones((2, 6, 6), dtype=np.int64), 1)
    share = np.clip(np.arange(5, -1, -1) / 5, 0.02, 0.98)
    odds = np.log(share / (1 - share))
    rng = np.random.default_rng(4)
    for maker in (by_counts, by_answers):
        found = maker(wins, 60.0, rng)
        assert found == pytest.approx(np.tile(odds - odds.mean(), (2, 1)), abs=0.5)
    noisy = by_counts(np.tile(wins[:1], (400, 1, 1)), 0.5, rng)
    assert noisy.std(axis=0).min() > 0.5


def test_printed_curves_end_where_their_condition_does():
    levels, bound = risk_curve(sup_norm_risk_bound, 100, "printed", [0.1, 1.0, 3.0])
    assert levels.tolist() == [0.1, 1.0]
    assert bound[1] == sup_norm_risk_bound(100, epsilon=1.0, chain="printed")
    assert risk_curve(sup_norm_risk_bound, 100, "sharp", [0.1, 3.0])[0].size == 2
