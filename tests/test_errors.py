"""Exact errors of private majorities, against enumeration and against the sampler."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpbook.privacy import WholeRanking
from dpbook.rankers import PairResponses
from dpbook.simulation import pair_errors
from tests.oracles import lead_by_enumeration

MECHANISMS = ["response", "laplace"]


def asks(n: int, epsilon: float, queries: int = 1, mechanism: str = "response", **given: str):
    unit = WholeRanking(n)
    return PairResponses.private(epsilon, unit, queries=queries, mechanism=mechanism, **given)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("users", [1, 4, 7])
def test_wrong_pair_against_enumeration(mechanism: str, k: int, users: int) -> None:
    ranker, agree = asks(3, 1.5, k, mechanism), np.array([[0.5, 0.8], [1.0, 0.8]])
    lie, found = ranker.channel[0, 1], pair_errors(ranker, agree, users)
    for at in np.ndindex(2, 2):
        right = agree[at] * (1 - lie) + (1 - agree[at]) * lie
        expected = lead_by_enumeration([right] * users, k / 3)
        assert (found.wrong[at], found.tie[at]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("k", [1, 2])
def test_balanced_errors_against_all_ways_to_deal(k: int) -> None:
    users, pairs, agree, ranker = 4, 3, 0.8, asks(3, 1.5, k, design="balanced")
    deals = [
        [i for i in range(users) for c in range(k) if (turn[i] * k + c) % pairs == card]
        for turn in itertools.permutations(range(users))
        for card in range(pairs)
    ]
    lie = ranker.channel[0, 1]
    right = agree * (1 - lie) + (1 - agree) * lie
    expected = np.mean([lead_by_enumeration([right] * len(d), 1.0) for d in deals], axis=0)
    found = pair_errors(ranker, agree, users)
    assert (found.wrong, found.tie) == pytest.approx(tuple(expected))


def test_tiny_probabilities_are_exact() -> None:
    # two items, one pair, everybody asked: a binomial tail in exact arithmetic
    ranker = asks(2, 6.0)
    lie = Fraction(float(ranker.channel[0, 1]))
    exact = sum(
        math.comb(80, right) * (1 - lie) ** right * lie ** (80 - right) for right in range(40)
    )
    assert float(exact) < 1e-70
    # without abs=0 any number below 1e-12 would do
    found = float(pair_errors(ranker, 1.0, 80).wrong)
    assert found == pytest.approx(float(exact), rel=1e-9, abs=0)


def test_reports_that_say_nothing_are_wrong_as_often_whoever_agrees():
    """Both rows of the printed channel are alike."""
    found = pair_errors(PairResponses.printed(1.0, WholeRanking(2)), [0.2, 0.9], 3).wrong
    assert found[0] == pytest.approx(found[1], rel=1e-12)
