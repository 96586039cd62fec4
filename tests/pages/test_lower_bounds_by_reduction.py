"""Reduction from sign vectors: distances by enumeration, bounds by linear programs and samples."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import exp, log, sinh, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import beta, binom, norm

from dpbook.pages.lower_bounds_by_reduction import (
    attack,
    constants,
    hit_interval,
    identity_holds,
    image_distance,
    mean_sign_size,
    nearest_ranking_distance,
    noisy_borda_error,
    noisy_majority,
    packing_sample_size,
    ranking_to_signs,
    reed_muller_code,
    sample_tracing_scores,
    signs_to_ranking,
    total_score,
    tracing_moments,
    tracing_sample_size,
    tracing_scores,
    unanimous_sample_size,
)


def kendall(a, b):
    return sum((a[i] < a[j]) != (b[i] < b[j]) for i, j in combinations(range(len(a)), 2))


# --- the map -------------------------------------------------------------------------------------


def test_the_map_switches_outer_pairs_and_is_inverted():
    assert signs_to_ranking([1, -1], 1).tolist() == [3, 1, 2, 0, 4]
    assert signs_to_ranking([1, -1], 1, convention="formula").tolist() == [0, 4, 2, 3, 1]
    signs = np.array(list(product((-1, 1), repeat=3)))
    for t in (0, 1, 4):
        images = signs_to_ranking(signs, t)
        assert_array_equal(np.sort(images), np.broadcast_to(np.arange(6 + t), images.shape))
        assert_array_equal(ranking_to_signs(images, t), signs)
        formula = signs_to_ranking(signs, t, convention="formula")
        assert_array_equal(ranking_to_signs(formula, t), -signs)


@pytest.mark.parametrize(("d", "t"), [(1, 0), (1, 3), (2, 0), (2, 2), (3, 0), (3, 1)])
def test_distances_by_enumeration(d, t):
    signs = np.array(list(product((-1, 1), repeat=d)))
    x = signs[-2]
    image = signs_to_ranking(x, t)
    least = np.full(d + 1, 10**6)
    for sigma in permutations(range(2 * d + t)):
        h = np.count_nonzero(ranking_to_signs(np.array(sigma), t) != x)
        least[h] = min(least[h], kendall(sigma, image))
    assert_array_equal(least, nearest_ranking_distance(np.arange(d + 1), d, t))
    for y in signs:
        h = np.count_nonzero(x != y)
        assert kendall(signs_to_ranking(y, t), image) == image_distance(h, d, t)


def test_score_of_any_ranking_against_a_profile():
    rng = np.random.default_rng(4)
    d, t = 3, 4
    for _ in range(200):
        signs = rng.choice([-1, 1], (5, d), p=(0.3, 0.7))
        sigma = rng.permutation(2 * d + t)
        if rng.random() < 0.5:  # near the best ones
            sigma = signs_to_ranking(rng.choice([-1, 1], d), t)
        score = np.mean([kendall(sigma, image) for image in signs_to_ranking(signs, t)])
        wrong = (signs != ranking_to_signs(sigma, t)).mean(axis=0)
        assert score >= t * np.minimum(1, 2 * wrong).sum() - 1e-9


# --- unanimous data ------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.5, 2.0, 6.0])
def test_unanimous_bound_is_the_value_of_a_linear_program(budget):
    rankings = list(permutations(range(3)))
    loss = np.array([[kendall(a, b) for b in rankings] for a in rankings], dtype=float)
    k = len(rankings)
    cost = np.zeros(k * k + 1)
    cost[-1] = 1
    upper = [np.append((np.eye(k)[i][:, None] * loss[i]).ravel(), -1) for i in range(k)]
    for i, j, s in product(range(k), repeat=3):
        if i != j:
            row = np.zeros(k * k + 1)
            row[i * k + s], row[j * k + s] = 1, -exp(budget)
            upper.append(row)
    equal = np.append(np.kron(np.eye(k), np.ones(k)), np.zeros((k, 1)), axis=1)
    found = linprog(cost, A_ub=upper, b_ub=np.zeros(len(upper)), A_eq=equal, b_eq=np.ones(k))
    assert unanimous_sample_size(3, found.fun, epsilon=0.1) == pytest.approx(budget / 0.1, rel=1e-6)


def test_unanimous_bound_by_brute_force_and_its_limits():
    distances = [kendall(s, range(5)) for s in permutations(range(5))]
    expected = log(1 + (5 - 2.5) / np.mean(np.maximum(2.5 - np.array(distances), 0)))
    assert unanimous_sample_size(5, 2.5, epsilon=2.0) == pytest.approx(expected / 2)
    assert unanimous_sample_size(5, 5.0, epsilon=1.0) == 0
    # The volume of the ball alone gives less.
    ball = np.mean(np.array(distances) <= 2)
    assert unanimous_sample_size(5, 2.0, epsilon=1.0) > -log(ball)


def test_packing_bound_stays_below_the_exact_one():
    assert packing_sample_size(log(2), 10, 1.0, epsilon=0.5) == pytest.approx(2 * log(4))
    assert packing_sample_size(50.0, 10, 5.0, epsilon=1.0) == 0
    for k, r in ((3, 1), (4, 2), (5, 3)):
        words, d = len(reed_muller_code(r, k)) * log(2), 2**k
        for t in (0, d):
            far, m = int(image_distance(2 ** (k - r), d, t)), 2 * d + t
            ours = packing_sample_size(words, far, 0.01 * m * m, epsilon=1.0)
            assert ours <= unanimous_sample_size(m, 0.01 * m * m, epsilon=1.0)


@pytest.mark.parametrize(("order", "variables"), [(0, 3), (1, 3), (1, 4), (2, 4), (3, 3)])
def test_reed_muller_distance(order, variables):
    rows = reed_muller_code(order, variables)
    words = np.array(list(product((0, 1), repeat=len(rows)))) @ rows % 2
    weights = np.sort(words.sum(axis=1))
    assert weights[0] == 0
    assert weights[1] == 2 ** (variables - order)


# --- tracing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("users", "shape"), [(1, 1.0), (4, 0.3), (5, 2.5)])
def test_total_score_against_an_integral(users, shape):
    k = np.arange(users + 1)
    f = np.sin(3.0 * k + 1)

    def integrand(q):
        return beta.pdf(q, shape, shape) * (binom.pmf(k, users, q) * f * 2) @ (k - users * q)

    halves = ((1e-12, 0.5), (0.5, 1 - 1e-12))
    value = sum(quad(integrand, *ends, limit=200)[0] for ends in halves)
    assert total_score(users, shape, f) == pytest.approx(value, abs=2e-4)


def test_mean_sign_size():
    assert mean_sign_size(1.0) == pytest.approx(0.5)
    assert mean_sign_size(0.5) == pytest.approx(2 / np.pi)
    size = quad(lambda q: beta.pdf(q, 2.5, 2.5) * abs(2 * q - 1), 0, 1, points=[0.5])[0]
    assert mean_sign_size(2.5) == pytest.approx(size)


def test_noisy_majority_against_samples():
    rng = np.random.default_rng(5)
    noise = np.subtract(*rng.laplace(scale=2.0, size=(2, 200_000)))
    sampled = [np.sign(s + noise).mean() for s in (-3, -1, 1, 3)]
    assert_allclose(noisy_majority(3, 2.0), sampled, atol=0.01)
    assert noisy_majority(4).tolist() == [-1, -1, 0, 1, 1]


@pytest.mark.parametrize("shape", [0.3, 1.0, 3.0])
def test_sampled_scores_have_the_exact_moments(shape):
    """Means to 5.33 standard errors, sd(score) / sqrt(20000): a chance of 1e-7 each of a false
    alarm. Scores are sums of 30 terms, of kurtosis below 5, so that a variance has a relative
    standard error of at most sqrt(4 / 20000): 7.5 %. At shape 1 a law Beta(1, 2) in the place of
    Beta(1, 1) cannot be told from it by these scores, which do not change when all signs turn, and
    half of Beta(1, 2) and half of Beta(2, 1) is Beta(1, 1). At the others it can."""
    rng = np.random.default_rng(7)
    d, size, z = 30, 20_000, float(norm.isf(0.5e-7))
    spread = d * 2 * shape / (2 * shape + 1)  # variance of an outsider's score
    members, outsiders = sample_tracing_scores(9, d, shape, size, rng=rng)
    mean, variance = tracing_moments(9, shape)
    assert abs(members.mean() - d * mean) < z * sqrt(d * variance / size)
    assert abs(outsiders.mean()) < z * sqrt(spread / size)
    assert members.var() == pytest.approx(d * variance, rel=0.075)
    assert outsiders.var() == pytest.approx(spread, rel=0.075)
    noisy, _ = sample_tracing_scores(9, d, shape, size, rng=rng, scale=4.0)
    total = total_score(9, shape, noisy_majority(9, 4.0))
    assert abs(noisy.mean() - d * total / 9) < z * sqrt(spread / size)


def test_moments_of_one_person_by_hand():
    # One person, whose sign x is read: the score x (x - p) = 1 - x p has the mean 1 - E p^2, and
    # E p^2 = 1 / (2a + 1). An outsider's has the variance 1 - E p^2 too.
    for a, mean in ((0.5, 1 / 2), (1.0, 2 / 3), (2.0, 4 / 5)):
        assert tracing_moments(1, a) == pytest.approx((mean, mean - mean**2))


def test_scores_of_all_people():
    rng = np.random.default_rng(8)
    signs, p, read = rng.choice([-1, 1], (5, 4)), rng.uniform(-1, 1, 4), rng.choice([-1, 1], 4)
    assert_allclose(tracing_scores(read, signs, p), [read @ (x - p) for x in signs])


def test_sample_size_by_hand_and_its_order():
    given = {"approximation": 2.0, "epsilon": 0.5, "shape": 0.05}
    lost = 3 * (1 - mean_sign_size(0.05)) + 2 * 2 * 100 / 4000 + 2 * 1000 / (4000 * 100)
    signal = 0.1 * 100 * (1 - lost)
    expected = signal / (sinh(0.5) * sqrt(100 * 0.1 / 1.1)) - 0.1
    assert tracing_sample_size(100, 4000, error=1000, **given) == pytest.approx(expected)
    big = tracing_sample_size(10_000, 400_000, error=1000 * 10_000, **given)
    assert big == pytest.approx(10 * expected, rel=0.05)
    # leaks of 1e-3 take (1 + 0.1) * 4 * 100 * 1e-3 = 0.44 from the signal
    leaking = tracing_sample_size(100, 4000, error=1000, expected_leaks=1e-3, **given)
    assert leaking == pytest.approx((signal - 0.44) / (sinh(0.5) * sqrt(100 * 0.1 / 1.1)) - 0.1)
    assert tracing_sample_size(100, 10, error=1000, **given) == 0


def test_identity_needs_the_right_law():
    assert identity_holds(3, Fraction(5, 2), Fraction(5, 2))
    assert not identity_holds(3, Fraction(5, 2), Fraction(7, 2))


def test_constants_split_the_losses():
    found = constants(2, 0.5)
    # (2 alpha - 1)(1 - mean size) = 1/4, and 2 alpha d / t = 1/8 at t = 32 d, n = 34 d
    assert mean_sign_size(found["a"]) == pytest.approx(1 - 1 / 12)
    assert found["t/d"] == 32
    assert found["c"] == pytest.approx(32 / 16 / 34**2)
    # G = 1/2, so m sinh(e) sqrt(2ad / (2a + 1)) = ad, in units of sqrt(34 d) / e
    a = found["a"]
    people = a / sinh(0.5) / sqrt(2 * a / (2 * a + 1)) * 0.5 / sqrt(34)
    assert found["m ε/√n"] == pytest.approx(people, rel=1e-3)


def test_hit_interval_at_the_ends():
    # No hit in 10: (1 - p)^10 = 0.025 at the upper end.
    low, high = hit_interval(np.zeros(10))
    assert low == 0.0
    assert (1 - high) ** 10 == pytest.approx(0.025)
    assert hit_interval(np.ones(10)) == pytest.approx((1 - high, 1.0))


def test_noisy_borda_from_places_and_their_noise():
    found = noisy_borda_error(6, np.array([0.5, 40.0, 1e6]), 30, np.random.default_rng(6))
    noise = np.random.default_rng(6).laplace(size=(30, 3, 6)) * 18
    for column, budget in enumerate((0.5, 40.0, 1e6)):
        sums = np.arange(6) + noise[:, column] / budget
        expected = [kendall(np.argsort(np.argsort(row)), range(6)) for row in sums]
        assert found[:, column].tolist() == expected
    assert not found[:, 2].any()


def test_borda_reads_every_majority_and_traces():
    rng = np.random.default_rng(9)
    rows = [row for _ in range(10) for row in attack(20, 60, 5, 1.0, rng)]
    assert [row[0] for row in rows[:3]] == ["Borda", "KwikSort", "noisy Borda, ε = 1"]
    borda = np.array([row[1:] for row in rows[::3]])
    assert (borda[:, 0] == 1).all()
    assert borda[:, 1].mean() > 0.5 > borda[:, 2].mean()
    assert (borda[:, 3] >= 1).all()
