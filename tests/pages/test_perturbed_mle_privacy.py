"""Searches, explicit neighbours and other solvers of page 06."""

import numpy as np
import pytest

from dpbook.models import btl_probabilities, edge_wins
from dpbook.pages import perturbed_mle_privacy as page
from dpbook.privacy import Edge
from dpbook.rankers import PerturbedMle


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("moved", "n"), [(1, 6), (2, 6), (3, 8)])
def test_revealing_neighbours_differ_in_what_moves_and_reach_the_loss(moved, n):
    t, before, after = page.revealing(n, 2.0 * moved, 8.0 * moved, moved, weight=200)
    assert np.abs(before - after).sum() == 2 * moved
    shown = page.log_ratio(t, before, after, 2.0 * moved, 8.0 * moved)
    exact = page.exact_loss(8.0 * moved, 2.0 * moved, comparisons=moved)
    assert shown == pytest.approx(exact, rel=1e-8)


def test_exact_loss_of_flips():
    assert page.exact_loss(8.0, 1.0, exchange=False) == 0.25


@pytest.mark.parametrize(("kind", "changed"), [("flip", [2]), ("exchange", [2])])
def test_drawn_neighbours_differ_in_one_comparison(kind, changed):
    before, after = page.drawn(4, kind, 200, rng())
    assert set(np.abs(before - after).sum(axis=(1, 2))) == set(changed)
    met = [x + np.swapaxes(x, 1, 2) for x in (before, after)]
    assert max(x.max() for x in met) == 1
    assert (met[0] == met[1]).all() == (kind == "flip")


def test_search_finds_nearly_all_of_the_loss_of_a_flip_and_no_more():
    found = page.search(page.drawn(3, "flip", 60, rng(1)), 1.0, 8.0, (), 60, rng(2))
    assert 0.24 < found <= 0.25 + 1e-12


def test_other_solvers():
    wins = edge_wins(btl_probabilities(np.linspace(-1, 1, 5)), rng=rng(3))[0]
    ranker, z = PerturbedMle(Edge(5), 4.0, 1.0), rng(4).laplace(size=5)
    right = ranker.release(wins, z)
    assert np.abs(page.score(right, wins, 4.0 * z, 1.0)).max() < 1e-8
    np.testing.assert_allclose(page.elsewhere(wins, 4.0 * z, 1.0), right, atol=1e-6)
    assert np.abs(page.aliased(wins, 4.0 * z, 1.0) - right).max() > 0.1


def test_derivatives_by_differences():
    wins, t = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), np.array([0.3, -0.2, 0.1])
    gradient, hessian = page.by_differences("logistic", wins, t, 0.02)
    np.testing.assert_allclose(gradient.astype(float), page.score(t, wins, 0, 0), atol=1e-12)
    np.testing.assert_allclose(hessian.astype(float), page.hessian(t, wins, 0.0), atol=1e-10)


def test_two_factors_are_exact_and_the_twin_is_not():
    before, after = page.drawn(5, "exchange", 30, rng(5))
    at = rng(6).normal(size=(30, 5))
    cases = [*zip(at, before, after, strict=True)]
    right = [page.update_errors(*case, 0.25) for case in cases]
    assert max(e for e, _ in right) < 1e-10 and all(ok for _, ok in right)
    assert max(page.update_errors(*case, 0.25, twin=True)[0] for case in cases) > 1e-3


def test_skipped_answers():
    before, after = page.skip_pairs(4, 50, rng(7))
    change = np.abs(before - after).sum(axis=(1, 2))
    assert change.max() <= 12 and change.min() >= 0 and change.mean() > 4
    shown = page.log_ratio(*page.two_halves(4), 90.0, 90.0) * 90.0
    assert 0.99 * page.skip_bound(4) < shown <= page.skip_bound(4)


def test_flips_under_the_logistic_link_lose_a_quarter():
    from dpbook.models import LINKS

    loss = page.flip_loss(LINKS["logistic"])
    assert loss.max() == pytest.approx(0.25) and page.flip_loss(LINKS["probit"]).max() > 1
