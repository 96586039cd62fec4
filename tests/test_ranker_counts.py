"""Noisy counts beyond what every ranker promises (tests/test_conformance.py): scales, densities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbook.estimators import win_counts
from dpbook.privacy import Edge, Person, audit_sampler
from dpbook.rankers import DiscreteCounts, NoisyCounts
from tests.oracles import rng

WINS = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
EDGE = NoisyCounts.private(1.0, Edge(3))


@pytest.mark.parametrize(
    ("unit", "numerator"),
    [
        (Edge(3), 2),
        (Person(4, 3), 3),
        (Person(6, design="each_pair_once"), 15),
        (Person(6, design="each_pair_or_skip"), 15),
    ],
)
def test_printed_scales(unit, numerator):
    printed = NoisyCounts.printed(0.5, unit)
    assert printed.scale == pytest.approx(numerator / 0.5, rel=1e-15)
    assert printed.loss()[0] == pytest.approx(unit.l1() / numerator * 0.5)


def test_the_printed_individual_scale_breaks_its_promise_and_the_tight_one_keeps_it():
    unit = Person(2, 1, users=10)
    printed, private = NoisyCounts.printed(1, unit), NoisyCounts.private(1, unit)
    # Closed form for two items: the margin drops from 10 to 8.
    assert printed.loss("ranking")[0] == pytest.approx(2 - np.log(6 / 5), rel=1e-12)
    assert private.loss("ranking")[1] < 1


def test_a_skipped_pair_would_lose_a_quarter_more_than_promised():
    """The exact loss of the released vector is the supremum of the log-ratio of two densities."""
    ranker = NoisyCounts.private(1.0, Person(3, design="each_pair_once"))
    x, y = np.array([2, 0, 0]), np.array([0, 1, 2])  # two of the pairs; all, the other way round
    far = np.where(x > y, 100, -100)
    assert ranker.logpdf(far, x) - ranker.logpdf(far, y) == pytest.approx(1.25, rel=1e-12)
    # The ratio of the two sensitivities grows from there.
    for n, ratio in ((3, 5 / 4), (5, 16 / 12), (10, 70 / 50), (40, 1180 / 800)):
        skip, once = (Person(n, design=f"each_pair_{w}").l1() for w in ("or_skip", "once"))
        assert skip / once == ratio


def test_densities():
    ranker = NoisyCounts.private(0.5, Edge(3))
    x = np.array([3.5, 1.0, -2.0])
    expected = stats.laplace(scale=4).logpdf(x - [2, 1, 0]).sum()
    assert ranker.logpdf(x, [2, 1, 0]) == pytest.approx(expected, rel=1e-14)
    whole = DiscreteCounts(Edge(3), ranker.scale)
    expected = stats.dlaplace(1 / 4).logpmf([1, 0, -2]).sum()
    assert whole.logpdf([3, 1, -2], [2, 1, 0]) == pytest.approx(expected, rel=1e-14)
    # So far out that the probability itself is 0 to a float.
    slope = whole.logpdf([4000, 0, 0], [0, 0, 0]) - whole.logpdf([8000, 0, 0], [0, 0, 0])
    assert slope == pytest.approx(1000, rel=1e-12)


def test_noise_is_standard_and_comes_with_its_bits():
    """An experiment may stretch one draw over many scales: b z is what a scale of b draws."""
    drawn = rng(3).laplace(scale=2.0, size=(5, 3))
    released = EDGE.release(WINS, EDGE.noise(5, rng=rng(3)))
    assert np.array_equal(released, np.array([2, 1, 0]) + drawn)
    assert np.array_equal(released, EDGE.perturb([2, 1, 0], EDGE.noise(5, rng=rng(3))))
    assert np.array_equal(replace(EDGE, scale=0).release(WINS, drawn), np.tile([2, 1, 0], (5, 1)))


def test_integers_tie_and_ties_go_by_lot():
    ranker = DiscreteCounts(Edge(3), 0.01)  # hardly ever anything but 0
    first = ranker.sample(np.zeros((3, 3), dtype=int), 6000, rng=rng(4))[:, 0]
    assert audit_sampler(np.bincount(first, minlength=3), [1 / 3] * 3).passed


def test_halves_are_kept_and_other_fractions_refused():
    halves = [[0, 1.5, 2], [0.5, 0, 0], [3, 0, 0]]
    assert win_counts(halves).tolist() == [3.5, 0.5, 3]
    assert EDGE.release(halves, np.zeros(3)).tolist() == [3.5, 0.5, 3]
    for bad in (0.9, 0.25, 1e300):
        table = [[0, bad, 0], [1, 0, 0], [0, 0, 0]]
        for call in (win_counts, lambda w: EDGE.release(w, np.zeros(3))):
            with pytest.raises(ValueError, match=r"data holds (0\.9|0\.25|1e\+300)"):
                call(table)
    with pytest.raises(ValueError, match=r"data holds 1\.5.*whole numbers"):
        DiscreteCounts(Edge(3), 1.0).publish(halves, rng=rng())
