"""What page 41 needs of several questions, against enumeration and runs of the protocol."""

from itertools import combinations, product
from math import comb, cosh, sinh

import numpy as np
import pytest

from dpbook.models import all_rankings, mallows_pmf
from dpbook.pages.several_questions import kept_orders, set_moments, wrong_law


def test_kept_orders():
    for ranks, kept in zip(all_rankings(4), kept_orders(4), strict=True):
        pairs = combinations(range(4), 2)
        assert kept.tolist() == [1 if ranks[i] < ranks[j] else -1 for i, j in pairs]


@pytest.mark.parametrize("questions", [1, 2, 3])
def test_moments_of_one_person_by_enumeration(questions):
    pmf, s, tilt = mallows_pmf(3, 0.4), 0.6, 0.3
    found = set_moments(pmf, 3, questions, s, tilt)
    for b in range(8):
        total = 0.0
        for p, kept in zip(pmf, kept_orders(3), strict=True):
            for asked in combinations(range(3), questions):
                of = [kept[e] for e in asked if b >> e & 1]
                total += p * np.prod([cosh(tilt) - s * x * sinh(tilt) for x in of])
        assert found[b] == pytest.approx(total / comb(3, questions))


def test_law_of_wrong_pairs_by_enumeration():
    pmf, s = mallows_pmf(3, 0.3), 0.5
    one = {}  # of the reports of a person, 1 for a wrong one
    for p, kept in zip(pmf, kept_orders(3), strict=True):
        for wrong in product((0, 1), repeat=3):
            right = np.where((1 - 2 * np.array(wrong)) == kept, (1 + s) / 2, (1 - s) / 2)
            one[wrong] = one.get(wrong, 0) + p * right.prod()
    for people in (2, 3):  # a tie is wrong
        law = np.zeros(4)
        for reports in product(one, repeat=people):
            bad = int((2 * np.sum(reports, axis=0) >= people).sum())
            law[bad] += np.prod([one[r] for r in reports])
        assert wrong_law(pmf, 3, s, people) == pytest.approx(law)
