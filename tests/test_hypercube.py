"""The hypercube mechanism: its law by enumeration, its sampler against the law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpbook.mechanisms.hypercube import (
    hypercube_response,
    hypercube_response_pmf,
    hypercube_scale,
    sign_vectors,
)
from dpbook.privacy import privacy_loss

TIES = ["split", "closed"]
TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("d", range(1, 9))
def test_hypercube_is_unbiased_by_enumeration(d: int, ties: str) -> None:
    value = np.resize([1, -1, -1, 1, 1], d)
    law = hypercube_response_pmf(value, 0.8, ties)
    corners = hypercube_scale(d, 0.8, ties) * sign_vectors(d)
    assert law.sum() == pytest.approx(1, abs=1e-13)
    assert law @ corners == pytest.approx(value, abs=1e-12)
    assert law @ corners**2 - value**2 == pytest.approx(
        np.full(d, hypercube_scale(d, 0.8, ties) ** 2 - 1)
    )


@pytest.mark.parametrize("ties", TIES)
def test_hypercube_rounds_without_bias(ties: str) -> None:
    value = np.array([0.3, -1.0, 0.0, 0.75])
    law = hypercube_response_pmf(value, 1.3, ties)
    mean = law @ sign_vectors(4) * hypercube_scale(4, 1.3, ties)
    assert mean == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("d", range(1, 7))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_hypercube_loss_over_all_pairs_of_vectors(d: int, ties: str, epsilon: float) -> None:
    laws = [hypercube_response_pmf(v, epsilon, ties) for v in sign_vectors(d)]
    worst = max(privacy_loss(a, b) for a, b in itertools.permutations(laws, 2))
    exact = math.log1p(math.exp(epsilon)) if ties == "closed" and d % 2 == 0 else epsilon
    assert worst == pytest.approx(exact, rel=1e-12)


def test_hypercube_scale_grows_like_the_root_of_the_dimension() -> None:
    for d in (1000, 1001):
        limit = math.sqrt(math.pi * d / 2) / math.tanh(0.5)
        assert hypercube_scale(d, 1.0) == pytest.approx(limit, rel=2e-3)
    exact = Fraction(4**700, math.comb(1400, 700))
    assert hypercube_scale(1400, 1.0) * math.tanh(0.5) == pytest.approx(float(exact), rel=1e-12)
    assert hypercube_scale(1, 1.0) == pytest.approx(1 / math.tanh(0.5))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("value", [[1, -1, 1, 1], [1, 1, -1], [0.5, -1, 0.0, 1], [1] * 9])
def test_hypercube_sampler_follows_its_law(ties: str, value: list[float]) -> None:
    d, draws = len(value), 60_000
    rng = np.random.default_rng(1)
    out = hypercube_response(np.tile(value, (draws, 1)), 0.7, ties=ties, rng=rng)
    assert np.unique(np.abs(out)) == pytest.approx([hypercube_scale(d, 0.7, ties)])
    seen = np.bincount((out > 0) @ (2 ** np.arange(d - 1, -1, -1)), minlength=2**d)
    expected = draws * hypercube_response_pmf(value, 0.7, ties)
    assert stats.chisquare(seen, expected).pvalue > TINY


def test_a_law_over_all_pairs_of_many_corners_is_refused() -> None:
    """Sixteen entries of 0 round to every corner: 2^16 truths beside 2^16 answers."""
    assert hypercube_response_pmf(np.ones(16), 1.0).sum() == pytest.approx(1, abs=1e-9)
    with pytest.raises(ValueError, match="values"):
        hypercube_response_pmf(np.zeros(16), 1.0)
