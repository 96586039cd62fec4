"""The private footrule ranking, against enumeration and against exact laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from dpbook.estimators import footrule_ranking, kendall_distance
from dpbook.mechanisms import laplace_logpdf
from dpbook.mechanisms.gaussian import gaussian_profile
from dpbook.privacy import WholeRanking
from dpbook.rankers import PrivateFootrule
from dpbook.rankers.pairs import places_reached
from tests.oracles import all_places


def footrule_distance(a, b):
    return np.abs(a - b).sum(axis=-1)


def ranker(n, epsilon, delta=0.0):
    return PrivateFootrule.private(epsilon, WholeRanking(n), delta=delta)


def reached_by_hand(positions):
    users, n = positions.shape
    return np.array(
        [[sum(positions[u, i] <= k for u in range(users)) for k in range(n - 1)] for i in range(n)]
    )


@pytest.mark.parametrize(("users", "n"), [(1, 2), (4, 3), (7, 4), (6, 5), (9, 6)])
def test_no_ranking_is_nearer(users, n):
    rng = np.random.default_rng(n)
    everything = all_places(n)
    for _ in range(10):
        positions = np.argsort(rng.random((users, n)), axis=1)
        table = reached_by_hand(positions)
        assert (places_reached(positions) == table).all()
        found = footrule_ranking(table)
        assert (np.sort(found) == np.arange(n)).all()
        total = footrule_distance(everything[:, None], positions).sum(axis=1)
        assert footrule_distance(found, positions).sum() == total.min()
        # Diaconis and Graham: within a factor 2 of the fewest disagreements.
        disagreements = kendall_distance(everything[:, None], positions).sum(axis=1)
        assert kendall_distance(found, positions).sum() <= 2 * disagreements.min()


def test_noisy_tables_are_solved_one_by_one():
    # With noise the objective is twice the noisy entries before the item's place.
    rng, everything = np.random.default_rng(3), all_places(4)
    tables = rng.normal(size=(2, 5, 4, 3))
    inside = np.arange(3) < everything[:, :, None]
    found = footrule_ranking(tables)
    assert found.shape == (2, 5, 4)
    for index in np.ndindex(2, 5):
        cost = (tables[index] * inside).sum(axis=(1, 2))
        assert (found[index] == everything[cost.argmin()]).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_sensitivity_by_enumeration(n):
    tables = np.array([places_reached(row[None]) for row in all_places(n)])
    moved = np.abs(tables[:, None] - tables)
    assert moved.max() == 1  # so that the squares add up to the same number
    assert (
        moved.sum(axis=(2, 3)) == footrule_distance(all_places(n)[:, None], all_places(n))
    ).all()
    assert moved.sum(axis=(2, 3)).max() == n * n // 2 == ranker(n, 1.0).scale
    one_more = PrivateFootrule.private(1.0, WholeRanking(n, relation="add_remove"))
    assert (tables.sum(axis=(1, 2)) == n * (n - 1) // 2).all()
    assert one_more.scale == n * (n - 1) // 2


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_counts_spend_the_budget_exactly(epsilon):
    # One user replaced among three; Laplace loss is largest at the tables themselves.
    tables = [places_reached(row[None]) for row in all_places(3)]
    scale, worst = ranker(3, epsilon).scale, 0.0
    for a in tables:
        for b in tables:
            for out in tables:
                loss = laplace_logpdf(out - a, scale).sum() - laplace_logpdf(out - b, scale).sum()
                worst = max(worst, loss)
    assert worst == pytest.approx(epsilon, rel=1e-12)
    assert ranker(3, epsilon).loss() == pytest.approx((worst, worst))
    assert ranker(3, epsilon).at_loss(2.0).scale == pytest.approx(2.0)
    deviation = ranker(3, epsilon, 1e-5).scale
    spent = max(
        gaussian_profile(np.sqrt(((a - b) ** 2).sum()), deviation, epsilon)
        for a in tables
        for b in tables
        if (a != b).any()
    )
    assert spent == pytest.approx(1e-5, rel=1e-9) and spent <= 1e-5


def law_two_items(lead, epsilon, delta):
    """P(item 0 first): a lead and the difference of the noise on the two counts, in closed form."""
    scale = ranker(2, epsilon, delta).scale
    if delta:
        return norm.cdf(lead / (scale * np.sqrt(2)))
    tail = np.exp(-abs(lead) / scale) * (2 + abs(lead) / scale) / 4
    return 1 - tail if lead > 0 else tail


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_releases_of_two_items_follow_their_exact_law(delta):
    epsilon, runs = 0.8, 40_000
    for first in (1, 3, 5):
        positions = np.array([[0, 1]] * first + [[1, 0]] * (5 - first))
        rng = np.random.default_rng(first)
        found = ranker(2, epsilon, delta).sample(positions, runs, rng=rng)
        p = law_two_items(2 * first - 5, epsilon, delta)
        # Five standard deviations: a false alarm once in two million runs.
        assert abs((found[:, 0] == 0).mean() - p) < 5 * np.sqrt(p * (1 - p) / runs)


def test_a_release_is_the_counts_plus_the_noise():
    positions, rng = np.array([[0, 1, 2], [2, 1, 0]]), np.random.default_rng(0)
    one = PrivateFootrule.private(1.0, WholeRanking(3, users=2))
    noise = one.noise(4, rng=rng)
    assert noise.shape == (4, 3, 2)
    released = one.release(positions, noise)
    assert released == pytest.approx(reached_by_hand(positions) + 4 * noise)
