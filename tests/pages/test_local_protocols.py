"""Pages 29 and 30, against enumeration in other words."""

import numpy as np
import pytest

from dpbook.pages import local_protocols as page
from dpbook.rankers.on_demand import GroupAnswers
from tests.oracles import one_question_runs


def test_caps_on_comparisons():
    # three items: 2 comparisons with probability 1/3 (the middle pivot), else 3
    assert page.quantile_cap(3) == 3 and page.mean_cap(3) == {"cap": 3, "groups": 4}


def test_runs_of_four_are_those_of_the_oracle():
    dataset = [(0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)]
    distributions = [{}, {}]
    ours = page.runs_of_four(dataset, 1.0, False)
    for distribution, runs in zip(
        distributions, (ours, one_question_runs(dataset, 1.0, 3).values()), strict=True
    ):
        for probability, ranks in runs:
            distribution[ranks] = distribution.get(ranks, 0) + probability
    assert distributions[0] == pytest.approx(distributions[1])


def test_who_refuses_when():
    groups = np.array([[-1, 0, 1], [0, -1, 0], [1, 0, -1]])
    answers = GroupAnswers(np.zeros((3, 3)), groups, limit=2, group_size=5)
    assert page.first_refused(answers, [[0, 1], [0, 2], [1, 2]]) is None
    assert page.first_refused(answers, [[0, 1], [0, 2], [1, 2], [2, 0], [2, 1]]) == 4
    assert page.first_refused(answers, [[0, 1]], counter="user") == 0
    assert page.first_refused(answers, np.empty((0, 2))) is None
