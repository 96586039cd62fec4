"""Page 34: laws by hand, rankers against their laws, intervals against what they must hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from dpbook.mechanisms import discrete_laplace_pmf
from dpbook.models import all_rankings, btl_probabilities
from dpbook.pages import how_much_epsilon as page
from dpbook.privacy import (
    Edge,
    Person,
    WholeRanking,
    audit_sampler,
    permute_and_flip_law,
    privacy_loss,
    ranking_law,
    top_k_law,
)
from dpbook.rankers import (
    ExponentialRanking,
    FlippedAnswers,
    NoisyCounts,
    NoisyPairs,
    PairResponses,
)


def drawn(positions):
    """How often each ranking of `all_rankings` came up."""
    rows = {tuple(row): at for at, row in enumerate(all_rankings(positions.shape[1]).tolist())}
    found = [rows[tuple(row)] for row in positions.tolist()]
    return np.bincount(found, minlength=len(rows))


def test_guesses_are_the_largest_posterior_the_mean_and_how_often():
    assert page.guesses([0.75, 0.25], [0.25, 0.75]) == pytest.approx((0.75, 0.75, 1))
    most, mean, often = page.guesses([0.5, 0.4, 0.1, 0], [0.1, 0.4, 0.5, 0])
    assert (most, mean, often) == pytest.approx((5 / 6, 0.7, 0.6))


@pytest.mark.parametrize("moved", [1, 2, 5])
def test_a_count_is_told_by_the_ends_and_the_values_between(moved):
    low, high = page.shifted(moved, 1.7)
    x = np.arange(-200, 201)
    law = discrete_laplace_pmf(x, 1.7)
    by_hand = [law[x <= 0].sum(), *law[(x > 0) & (x < moved)], law[x >= moved].sum()]
    assert low == pytest.approx(by_hand, rel=1e-12)
    assert high == pytest.approx(low[::-1])


@pytest.mark.parametrize("answers", [1, 3])
def test_both_ways_to_tell_a_bundle_lose_epsilon_for_each_answer(answers):
    for laws in (page.reports(0.7, answers), page.noisy_wins(0.7, answers)):
        assert laws.sum(axis=1) == pytest.approx([1, 1])
        assert privacy_loss(*laws) == pytest.approx(0.7 * answers, rel=1e-12)
    assert page.guesses(*page.reports(0.7, answers))[1] == pytest.approx(
        page.majority(0.7, answers)
    )


def test_laplace_noise_by_a_fine_lattice():
    """Discrete noise on a lattice of 40 steps a win comes near the closed form."""
    e, steps = 1.0, 40
    law = page.shifted(steps, 2 * steps / e)
    fine = page.guesses(*page.joint([law, law[:, ::-1]]))[1]
    assert page.laplace_guess(e) == pytest.approx(1 - np.exp(-e / 2) * (1 + e / 4) / 2, rel=1e-12)
    assert page.laplace_guess(e) == pytest.approx(fine, rel=1e-4)
    assert page.laplace_guess(0.9 * e) != pytest.approx(fine, rel=1e-2)


def test_an_order_never_tells_as_much_as_the_bound():
    found = [page.order_of_two(lead, 4.0)[0] for lead in (0, 1, 5, 30)]
    assert (np.diff(found) > 0).all() and found[-1] < expit(0.5)


def test_the_law_of_wins_and_what_counts_make_of_it():
    theta, answers = np.array([0.8, 0.0]), np.array([[0, 3], [3, 0]])
    chance = btl_probabilities(theta)
    law = page.counts_pmf(chance, answers)
    p = chance[0, 1]
    assert law[(2, 1)] == pytest.approx(3 * p**2 * (1 - p))
    assert sum(law.values()) == pytest.approx(1)
    ahead = sum(q * top_k_law(w, 1, scale=2.0)[0] for w, q in law.items())
    assert page.exact_counts(chance, answers, 1)(1.0) == pytest.approx([ahead] * 3)


def test_reports_are_counted_as_the_ranker_counts_them():
    theta = np.array([0.8, 0.0])
    for users in (3, 4):  # an even number may tie
        answers = np.array([[0, users], [users, 0]])
        flip = 1 / (1 + np.e)
        p = flip + (1 - 2 * flip) * expit(0.8)
        law = page.counts_pmf(np.array([[0.5, p], [1 - p, 0.5]]), answers)
        right = sum(q * (np.sign(w[0] - w[1]) + 1) / 2 for w, q in law.items())
        assert page.exact_reports(theta, answers, 1)(1.0) == pytest.approx([right] * 3)


def test_comparisons_are_drawn_by_the_laws_of_their_rankers():
    """With strengths far apart the data are certain, and only the noise is left."""
    theta, rng = np.array([80.0, 40.0, 0.0]), np.random.default_rng(1)
    families = page.comparisons(theta, 2, 20_000, rng)
    exact = {e: ranking_law([4, 2, 0], scale=2 / e) for e in (1.0, 1.2)}
    counted = drawn(families["noisy counts"](1.0))
    assert audit_sampler(counted, exact[1.0]).passed
    assert not audit_sampler(counted, exact[1.2]).passed
    ranker = FlippedAnswers.private(1.0, Edge(3, exchange=False))
    table = 2 * np.triu(np.ones((3, 3), dtype=int), 1)
    right = page.exact_reports(theta, table + table.T, 1)(1.0)
    for name, sampled in (
        ("randomised response", ranker.sample(table, 20_000, rng=rng)),
        ("Laplace on each answer", None),
    ):
        met = page.goals_met(families[name](1.0), 1).mean(axis=1)
        if sampled is not None:
            assert met == pytest.approx(right, abs=0.02)
            assert page.goals_met(sampled, 1).mean(axis=1) == pytest.approx(right, abs=0.02)
        assert (page.goals_met(families[name](50.0), 1)).all()
    assert page.goals_met(families["noisy counts"](np.inf), 1).all()


def test_the_mle_orders_as_counts_only_where_pairs_are_asked_equally():
    theta, rng = np.array([0.6, 0.3, 0.0]), np.random.default_rng(2)
    assert page.same_order(theta, 7, 1.0, 100, rng) == (1.0, pytest.approx(1.0))
    unequal = np.array([[0, 2, 2], [2, 0, 6], [2, 6, 0]])
    assert page.same_order(theta, unequal, 1.0, 100, rng)[0] < 0.9


def test_rankings_are_drawn_by_the_laws_of_their_rankers():
    """Without dispersion everybody hands in the centre."""
    families = page.whole_rankings(0.0, 3, 4, 20_000, np.random.default_rng(3))
    table, unit = 4 * np.triu(np.ones((3, 3), dtype=int), 1), WholeRanking(3)
    person = Person(3, design="ranking", vouched=True)
    for name, family in (
        ("noisy counts", lambda e: NoisyCounts.private(e, person)),
        ("KwikSort on noisy leads", lambda e: NoisyPairs.private(e, unit)),
        (
            "exponential mechanism over whole rankings",
            lambda e: ExponentialRanking.private(e, unit),
        ),
    ):
        counted = drawn(families[name](1.0))
        assert audit_sampler(counted, family(1.0).pmf(table)).passed, name
        assert not audit_sampler(counted, family(1.3).pmf(table)).passed, name
    for name, family in families.items():
        right = [page.goals_met(family(e), 1)[2].mean() for e in (0.5, 2.0, 40.0)]
        assert 0 < right[0] < right[1] < right[2], name


def test_permute_and_flip_names_the_first_place_by_its_law():
    wins = np.array([7, 5, 4])
    named = page.first_place(np.tile(wins, (20_000, 1)), 2, np.random.default_rng(8))(1.5)
    found = (named == 0).mean(axis=0)
    for moved, near in ((2, True), (1, False)):
        flip = permute_and_flip_law(dict(enumerate(wins.tolist())), 2 * moved).at(1.5)
        law = np.array(list(flip.values()))
        assert (np.abs(found - law) < 5 * np.sqrt(law / 20_000)).all() == near
    answers = np.array([[0, 1], [1, 0]])
    right = page.exact_first(btl_probabilities(np.array([0.7, 0.0])), answers)(1.0)
    worse = np.exp(-0.5) / 2  # the chance that the item behind is named
    assert right == pytest.approx(expit(0.7) * (1 - worse) + expit(-0.7) * worse)


def test_many_crowds_report_as_one_does():
    places = np.random.default_rng(4).permuted(np.tile(np.arange(4), (30, 1)), axis=1)
    ranker = PairResponses.private(1.0, WholeRanking(4), queries=2)
    one = ranker.release(places, ranker.noise(30, rng=np.random.default_rng(5)))
    assert (page.reported(ranker, places, 1, np.random.default_rng(5))[0] == one).all()
    three = page.reported(ranker, places, 3, np.random.default_rng(5))
    assert three.shape == (3, 4, 4) and (three.sum(axis=0) == one).all()


def steps_at(epsilon):
    """Right in all of 5000 runs from this epsilon on, else in none."""
    right, wrong = np.tile([0, 1, 2], (5000, 1)), np.tile([2, 1, 0], (5000, 1))
    return lambda e: right if e >= epsilon else wrong


def test_the_interval_holds_the_step_and_nothing_else():
    for step in (0.02, 0.5, 7.0):
        least = page.Study(steps_at(step), 1, 0.9, 1e-3).smallest(0)
        assert least.low < step <= least.high < 1.1 * least.low
        doubled = least.times(2)
        assert (doubled.low, doubled.high) == (2 * least.low, 2 * least.high)


def test_what_is_not_found_is_said_so():
    assert str(page.Study(steps_at(99), 1, 0.9, 1e-3, (0, 0, 0)).smallest(2)) == "not at this size"
    assert str(page.Study(steps_at(99), 1, 0.9, 1e-3, (5000,) * 3).smallest(2)) == "above 20"
    assert str(page.Study(steps_at(99), 1, 0.9, 1e-3).smallest(2)) == "above 20"
    assert str(page.Study(steps_at(0.001), 1, 0.9, 1e-3).smallest(2)) == "at most 0.01"
    assert str(page.Smallest(0.1316, 0.1634)) == "0.13 to 0.17"
    assert str(page.Smallest(0.0, np.inf)) == "not told by so few runs"


def test_rounding_only_widens():
    rng = np.random.default_rng(6)
    for value in np.exp(rng.uniform(-5, 5, 200)):
        assert float(page.outward(value, -1)) <= value <= float(page.outward(value, 1))
    assert page.of_hundred(0.5) == "50.0" and page.of_hundred(0.62246) == "62.3"
    assert page.of_hundred(0.9989) == "99.9" and page.of_hundred(0.99999) == "over 99.9"


def test_a_study_holds_the_exact_answer_and_misses_that_of_other_noise():
    theta = np.array([0.6, 0.3, 0.0])
    answers = 6 * (1 - np.eye(3, dtype=int))
    exact = page.exact_counts(btl_probabilities(theta), answers, 2)(1.0)
    family = page.comparisons(theta, 6, 50_000, np.random.default_rng(7))["noisy counts"]
    for goal in range(3):
        least = page.Study(family, 2, float(exact[goal]), 1e-6).smallest(goal)
        assert least.low < 1 <= least.high
        other = page.Study(lambda e: family(2 * e), 2, float(exact[goal]), 1e-6).smallest(goal)
        assert other.high < 1
