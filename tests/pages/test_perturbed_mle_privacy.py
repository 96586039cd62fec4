"""Searches and explicit neighbours of pages 06 and 07."""

import numpy as np
import pytest

from dpbook.pages import perturbed_mle_privacy as page
from dpbook.privacy import Person
from dpbook.rankers import PerturbedMle


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("moved", "n"), [(1, 6), (2, 6), (3, 8)])
def test_revealing_neighbours_differ_in_what_moves_and_reach_the_loss(moved, n):
    t, before, after = page.revealing(n, 2.0 * moved, 8.0 * moved, moved, weight=200)
    assert np.abs(before - after).sum() == 2 * moved
    shown = page.log_ratio(t, before, after, 2.0 * moved, 8.0 * moved)
    exact = PerturbedMle(Person(n, moved), 8.0 * moved, 2.0 * moved).loss()[1]
    assert shown == pytest.approx(exact, rel=1e-8)


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
