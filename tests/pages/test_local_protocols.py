"""What page 29 needs, against enumeration in other words."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpbook.pages import local_protocols as page
from dpbook.rankers.on_demand import GroupAnswers
from tests.oracles import one_question_runs


@pytest.mark.parametrize(("queries", "groups"), [(1, 3), (5, 3), (6, 2), (4, 4)])
def test_refusals_against_all_ways_to_throw(queries, groups):
    loads = [max(np.bincount(way)) for way in itertools.product(range(groups), repeat=queries)]
    for limit in range(queries + 1):
        expected = np.mean(np.array(loads) > limit)
        assert page.refusal_probability(queries, groups, limit) == pytest.approx(expected)
    default = np.mean(np.array(loads) > 2 * queries // groups)
    assert page.refusal_probability(queries, groups) == pytest.approx(default)


def test_refusals_against_simulation_and_bound():
    rng = np.random.default_rng(3)
    loads = rng.multinomial(30, np.full(10, 0.1), size=20_000).max(axis=1)
    hits = int((loads > 6).sum())
    assert stats.binomtest(hits, 20_000, page.refusal_probability(30, 10)).pvalue > 1e-7
    for m in (2, 5, 10, 45):
        q = math.floor(10 * m * math.log(m)) + 1
        assert page.refusal_probability(q, m) < page.refusal_bound(q, m)
    assert page.refusal_probability(14, 2) == 0  # a group answers all 14 queries
    assert page.refusal_bound(50, 5) == pytest.approx(0.3678794412, rel=1e-9)  # exp(-0.1 * 50 / 5)


def test_rare_refusals_are_exact():
    # all 40 queries in one of two groups, limit 39: exactly 2 / 2^40
    assert page.refusal_probability(40, 2, 39) == pytest.approx(2.0**-39, rel=1e-10, abs=0)


def test_caps_of_the_cube_by_enumeration():
    corners = np.array(list(itertools.product((-1, 1), repeat=5)))
    truth = np.array([1, -1, 1, 1, -1])
    for k, found in zip((3, 4, 5), page.cap_gains(5, 1.2), strict=True):
        weight = np.where((corners == truth).sum(axis=1) >= k, math.exp(1.2), 1.0)
        law = weight / weight.sum()
        assert page.cap_law(truth, 1.2, k) == pytest.approx(law)
        assert law @ corners == pytest.approx(found * truth)


def test_caps_on_comparisons():
    # three items: 2 comparisons with probability 1/3 (the middle pivot), else 3
    assert page.quantile_cap(3) == 3 and page.mean_cap(3) == {"cap": 3, "groups": 4}
    assert page.safe_cap(3) == 3
    assert page.crossing(1.0, True) > page.crossing(1.0, False)


def test_runs_of_four_are_those_of_the_oracle():
    crowd = [(0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)]
    laws = [{}, {}]
    ours = page._runs_of_four(crowd, 1.0, False)
    for law, runs in zip(laws, (ours, one_question_runs(crowd, 1.0, 3).values()), strict=True):
        for chance, places in runs:
            law[places] = law.get(places, 0) + chance
    assert laws[0] == pytest.approx(laws[1])
    assert page.transcript_loss(1.0, False) == pytest.approx(1.0)
    assert page.transcript_loss(1.0, True) > 1.5


def test_a_group_of_all_has_the_variance_of_the_reports():
    honest = 1 / (1 + math.exp(-1.0))
    exact = honest * (1 - honest) / 6 * page.coth(0.5) ** 2
    assert page.drawn_variance(1, 1.0) == pytest.approx(exact)


def test_excess_of_one_person_by_hand():
    """One sign of three, right with probability h: then the best rows all agree with it."""
    table, honest = page.ranking_signs(3), 1 / (1 + math.exp(-0.7))
    score = -0.5 * table @ table[0]
    expected = 0.0
    for pair, sign in itertools.product(range(3), (1, -1)):
        chance = (honest if table[0, pair] == sign else 1 - honest) / 3
        expected += chance * (score[table[:, pair] == sign] - score.min()).max()
    assert page.exact_excess(table, [0], 0.7) == pytest.approx(expected)


def test_thresholds_are_reported_by_randomised_response():
    rng = np.random.default_rng(1)
    reports = page.footrule_response(np.tile([2, 0, 1], (6000, 1)), 1.0, rng)
    truth = np.array([[-1, -1], [1, 1], [-1, 1]])
    sent = (reports * truth).sum()  # true minus false reports
    hits = int((6000 + sent) / 2)
    assert stats.binomtest(hits, 6000, 1 / (1 + math.exp(-1.0))).pvalue > 1e-7


def test_who_refuses_when():
    groups = np.array([[-1, 0, 1], [0, -1, 0], [1, 0, -1]])
    answers = GroupAnswers(np.zeros((3, 3)), groups, limit=2, group_size=5)
    assert page.first_refused(answers, [[0, 1], [0, 2], [1, 2]]) is None
    assert page.first_refused(answers, [[0, 1], [0, 2], [1, 2], [2, 0], [2, 1]]) == 4
    assert page.first_refused(answers, [[0, 1]], counter="user") == 0
    assert page.first_refused(answers, np.empty((0, 2))) is None
