"""Clopper-Pearson intervals and the audit that ties a sampler to its twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpbook.privacy import audit_sampler, clopper_pearson


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_interval_is_scipys_exact_interval(trials, share, confidence):
    successes = round(trials * share)
    exact = stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    lower, upper = clopper_pearson(successes, trials, confidence=confidence)
    assert float(lower) == pytest.approx(exact.low, rel=1e-9, abs=1e-12)
    assert float(upper) == pytest.approx(exact.high, rel=1e-9, abs=1e-12)


def test_a_faithful_sampler_passes_and_a_wrong_one_does_not():
    rng = np.random.default_rng(2)
    law = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    tallies = rng.multinomial(5000, law, size=300)
    passed = sum(audit_sampler(tally, law, confidence=0.99).passed for tally in tallies)
    assert passed >= 290  # a binomial with success probability of at least 0.99
    other = audit_sampler(rng.multinomial(5000, [0.5, 0.25, 0.2, 0.05, 0]), law)
    assert not other.passed and set(other.outliers) == {1, 2}


def test_one_draw_of_an_impossible_outcome_is_enough():
    audit = audit_sampler([10_000, 1], [1.0, 0.0])
    assert not audit.passed and 1 in audit.outliers
    assert audit_sampler([10_000, 0], [1.0, 0.0]).passed


def test_an_audit_does_not_see_what_was_never_drawn():
    assert audit_sampler([9_999, 0], [1 - 1e-6, 1e-6]).passed
