"""The exponential mechanism over rankings; what it shares with others is in test_conformance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbook.estimators import kemeny_score, kendall_distance, pairwise_counts
from dpbook.models import mallows_rankings
from dpbook.privacy import WholeRanking
from dpbook.rankers import ExponentialRanking
from tests.oracles import all_places, tables, worst_log_ratio


def test_costs_and_weights():
    rng = np.random.default_rng(7)
    profile = np.array([rng.permutation(4) for _ in range(6)])
    costs = [sum(int(kendall_distance(r, u)) for u in profile) for r in all_places(4)]
    weights = np.exp(-0.9 * np.array(costs) / 12)
    ranker, counts = ExponentialRanking.private(0.9, WholeRanking(4)), pairwise_counts(profile)
    law = ranker.pmf(counts)
    assert law == pytest.approx(weights / weights.sum())
    assert ranker.expected_cost(counts) == pytest.approx(law @ costs)


def test_exact_sampler_of_many_items():
    rng = np.random.default_rng(3)
    counts = pairwise_counts(mallows_rankings(300, 12, phi=0.8, rng=rng))
    ranker = ExponentialRanking.private(1.0, WholeRanking(12))
    drawn = ranker.sample(counts, 4000, rng=rng)
    assert (np.sort(drawn, axis=1) == np.arange(12)).all()
    costs = kemeny_score(drawn, counts)
    deviation = costs.std() / math.sqrt(4000)
    assert abs(costs.mean() - ranker.expected_cost(counts)) < 4 * deviation


@pytest.mark.parametrize(("n", "users"), [(3, 1), (3, 3), (4, 1)])
def test_loss_by_enumeration(n, users):
    ranker = ExponentialRanking.private(1.5, WholeRanking(n, users=users))
    worst = worst_log_ratio(ranker.pmf, tables(WholeRanking(n, users=users)))
    assert ranker.loss() == ranker.loss("ranking") == pytest.approx((worst, worst), rel=1e-9)


def test_loss_tends_to_epsilon_with_the_users():
    losses = [
        ExponentialRanking.private(1.5, WholeRanking(3, users=m)).loss()[0] for m in range(1, 9)
    ]
    # one user uses half of epsilon; many users all of it, so that the factor 2 is needed
    assert losses[0] == pytest.approx(0.75)
    assert (np.diff(losses) > 0).all() and 1.3 < losses[-1] <= 1.5
    assert ExponentialRanking.private(3.0, WholeRanking(3, users=4)).loss()[0] > 1.5
    agreed = 400 * np.triu(np.ones((3, 3)), 1)
    forward, backward = agreed / 400, agreed.T / 400
    for relation, other in (("replace", agreed + backward), ("add_remove", agreed)):
        # one more for the order of all leaves theirs; one against it moves all the others
        last = agreed + (forward if relation == "replace" else backward)
        ranker = ExponentialRanking.private(0.5, WholeRanking(3, relation=relation))
        shown = worst_log_ratio(ranker.pmf, [(last, other)])
        assert 0.4999 < shown <= ranker.loss()[0] + 1e-9 == pytest.approx(0.5)
