"""Pages 31 and 32: the exact distribution of the reports on fixed rankings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbook.estimators import pairwise_counts
from dpbook.models import mallows_rankings
from dpbook.pages import aggregation_experiments
from dpbook.pages.aggregation_experiments import (
    as_table,
    asks,
    expected_error_rate,
    pairs_of,
    profile_errors,
)
from tests.oracles import lead_by_enumeration

MECHANISMS = ["response", "laplace"]
COUNTS = np.array([[0, 30, 25], [10, 0, 8], [15, 32, 0]])


def test_pairs_and_tables_are_inverse() -> None:
    assert pairs_of(COUNTS).tolist() == [30, 25, 8]
    assert as_table(pairs_of(COUNTS), pairs_of(COUNTS.T)).tolist() == COUNTS.tolist()


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_errors_of_fixed_rankings_against_enumeration(k: int, mechanism: str) -> None:
    ranker, counts = asks(3, 0.8, k, mechanism), np.array([[0, 5, 3], [1, 0, 6], [3, 0, 0]])
    lie, found = ranker.channel[0, 1], profile_errors(ranker, counts)
    for (i, j), agree in {(0, 1): 5, (1, 2): 6, (0, 2): 3}.items():
        expected = lead_by_enumeration([1 - lie] * agree + [lie] * (6 - agree), k / 3)
        for a, b in ((i, j), (j, i)):
            assert (found.wrong[a, b], found.tie[a, b]) == pytest.approx(expected, abs=1e-13)
    rate = expected_error_rate(ranker, counts)  # the tied pair does not count
    assert rate == pytest.approx((found.wrong[0, 1] + found.wrong[1, 2]) / 3)


def test_only_what_has_no_mass_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, ranker = np.random.default_rng(5), asks(8, 0.5)
    counts = pairwise_counts(mallows_rankings(3000, 8, phi=0.9, rng=rng))
    short = profile_errors(ranker, counts)
    assert aggregation_experiments._most_asked(3000, 1 / 28) < 300
    assert aggregation_experiments._most_asked(3000, 1.0) == 3000
    monkeypatch.setattr(aggregation_experiments, "NEGLIGIBLE", 0.0)
    full = profile_errors(ranker, counts)
    assert short.wrong == pytest.approx(full.wrong, abs=1e-12)
    assert short.tie == pytest.approx(full.tie, abs=1e-12)


@pytest.mark.parametrize(
    ("design", "counts", "named"),
    [
        ("random", [[0, 2], [1, 0], [1, 1]], "counts"),
        ("random", [[0, 2, 1], [1, 0, 1], [1, 1, 0]], "same total"),
        ("balanced", np.zeros((3, 3)), "design"),
    ],
)
def test_bad_tables_of_counts_are_named(design, counts, named) -> None:
    with pytest.raises(ValueError, match=named):
        expected_error_rate(replace(asks(3, 1.0), design=design), counts)
