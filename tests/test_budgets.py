"""What the composite rankers hand down to their mechanisms adds up to what they promise.

A spy takes the place of every mechanism and notes the budget, or the scale, that it was given; the
largest moves of what is released are found by enumeration, not by the package's own sensitivities.
Epsilon is at most 1 throughout: where e^epsilon is large, coth(epsilon / 2) is 1 and a budget that
is spent twice leaves no trace in the output.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from dpbook import rankers
from dpbook.estimators import pairwise_counts, ridge_mle
from dpbook.mechanisms import randomized_response_pmf
from dpbook.models import mallows_rankings
from dpbook.privacy import Edge, Person

USERS, ITEMS, PAIRS = 40, 4, 6
EPSILONS = [0.3, 1.0]
POSITIONS = mallows_rankings(USERS, ITEMS, phi=0.5, rng=np.random.default_rng(1))
COUNTS = pairwise_counts(POSITIONS)

Calls = list[SimpleNamespace]
Watch = Callable[[Callable], Calls]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Let a function note its arguments and its result, under every name the package has for it."""

    def install(function: Callable) -> Calls:
        calls: Calls = []
        signature = inspect.signature(function)

        def spied(*args: object, **kwargs: object) -> object:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            result = function(*args, **kwargs)
            calls.append(SimpleNamespace(**given.arguments, result=result))
            return result

        modules = [m for name, m in sys.modules.items() if name.partition(".")[0] == "dpbook"]
        bound = [(m, name) for m in modules for name, value in vars(m).items() if value is function]
        assert bound
        for module, name in bound:
            monkeypatch.setattr(module, name, spied)
        return calls

    return install


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


# ------------------------------------------------------------------ one number for each answer


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_flipped_answers_take_epsilon_for_each_answer(watch: Watch, epsilon: float) -> None:
    calls = watch(randomized_response_pmf)
    ranker = rankers.FlippedAnswers.private(epsilon, Edge(ITEMS, exchange=False))
    ranker.noise(rng=rng(), data=COUNTS)
    assert [float(c.epsilon) for c in calls] == [pytest.approx(epsilon, rel=1e-15)]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_answers_take_epsilon_for_each_answer(epsilon: float) -> None:
    """The noise of a pair is a sum of USERS Laplace variables of scale 1 / epsilon.

    Its 6 * 4000 standardised squares have mean 1 and kurtosis 3 + 3 / USERS: their mean is within
    5.33 sqrt(2.1 / 24000) = 0.05 of it with probability 1 - 1e-7, so that a scale 5 % off shows.
    """
    ranker = rankers.LaplaceAnswers.private(epsilon, Edge(ITEMS, exchange=False))
    draws = ranker.release(COUNTS, ranker.noise(4000, rng=rng(), data=COUNTS))
    noise = (draws - COUNTS)[:, *np.triu_indices(ITEMS, 1)]
    assert (noise**2).mean() * epsilon**2 / (2 * USERS) == pytest.approx(1, abs=0.05)


# ------------------------------------------------------------------ a trusted curator


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("unit", "answers"), [(Edge(ITEMS), 1), (Person(ITEMS, 3, vouched=True), 3)]
)
def test_perturbed_mle_takes_the_noise_and_the_ridge_that_are_proved(
    watch: Watch, unit: Edge | Person, answers: int, epsilon: float
) -> None:
    """An answer exchanged moves the score by 4 in l1; a ridge as large as the scale hides the
    determinant."""
    fits, ranker = watch(ridge_mle), rankers.PerturbedMle.private(epsilon, unit)
    noise = ranker.noise(rng=rng())
    ranker.release(COUNTS, noise)
    assert [4 * answers / c.gamma for c in fits] == pytest.approx([epsilon], rel=1e-12)
    np.testing.assert_allclose(fits[0].linear, 4 * answers / epsilon * rng().laplace(size=ITEMS))


# ------------------------------------------------------------------ none is left out


def test_every_ranker_that_draws_is_an_object() -> None:
    """Objects promise their loss, which tests/test_conformance.py holds against their laws."""
    drawing = [
        name
        for name in rankers.__all__
        if inspect.isfunction(getattr(rankers, name))
        and "rng" in inspect.signature(getattr(rankers, name)).parameters
    ]
    assert drawing == []


def test_a_loss_of_the_ranking_that_nobody_knows_lies_between_0_and_that_of_the_release():
    for ranker in (
        rankers.PerturbedMle.private(0.5, Edge(4)),
        rankers.FlippedAnswers.private(0.5, Edge(4, exchange=False)),
    ):
        assert ranker.loss()[1] == pytest.approx(0.5)
        assert ranker.loss("ranking") == (0.0, ranker.loss()[1])
