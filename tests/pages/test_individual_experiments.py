"""Surveys that are subsampled: limits, and the exact law of the ranks."""

import numpy as np
import pytest

from dpbook import privacy
from dpbook.data import load_table
from dpbook.models import all_rankings
from dpbook.pages.individual_experiments import survey_distances
from dpbook.privacy import Edge
from dpbook.rankers import PerturbedMle


def private(share, epsilon):
    return PerturbedMle.private(epsilon, Edge(6))


def with_ridge(share, epsilon):
    return PerturbedMle.printed(epsilon, Edge(6), 5.0)


def test_survey_distances_in_the_limits():
    table = load_table("cems_1998")
    rng = np.random.default_rng(10)
    options = {"fractions": [1.0, 0.3], "epsilons": [1.0, 1e7], "size": 200}
    (found,) = survey_distances(table, {"private": private}, rng=rng, **options).values()
    assert found["l2"].shape == (2, 2, 200)
    assert found["l2"][:, 1].max() < 1e-4  # no noise, no ridge to speak of
    assert found["hamming"][0, 1].max() == 0  # no ties between the counts of all answers
    np.testing.assert_array_equal(found["hamming"][0], found["hamming to full"][0])
    assert found["hamming to full"][1, 1].mean() > 0.01
    assert (found["linf"] <= found["l2"] + 1e-12).all()
    (printed,) = survey_distances(table, {"printed": with_ridge}, rng=rng, **options).values()
    assert printed["l2"][:, 1].min() > 0.01  # here the ridge does not shrink with epsilon


def test_survey_ranks_are_those_of_noisy_counts():
    """On all answers the law of the noisy ranking is known exactly; a mean at five standard errors,
    0.0045 of about 0.07, where half or twice the noise would move it by more than 0.03."""
    table, size = load_table("cems"), 4000
    settings = {"fractions": [1.0], "epsilons": [0.5], "size": size}
    (every,) = survey_distances(
        table, {"": private}, rng=np.random.default_rng(12), **settings
    ).values()
    found = every["hamming"][0, 0]
    counts = table.half_tied_counts().sum(axis=1)
    law = privacy.ranking_pmf(counts, scale=4.0)
    places = all_rankings(6)
    displaced = (places != np.argsort(np.argsort(-counts))).mean(axis=1)
    mean, square = law @ displaced, law @ displaced**2
    assert found.mean() == pytest.approx(mean, abs=5 * np.sqrt((square - mean**2) / size))


def test_shares_that_do_not_fall_are_refused():
    with pytest.raises(ValueError, match="fractions"):
        survey_distances(
            load_table("cems"),
            {},
            fractions=[0.5, 1],
            epsilons=[1],
            size=2,
            rng=np.random.default_rng(0),
        )
