"""Surveys that are subsampled: limits, the exact law of the ranks, the shares that are kept."""

import numpy as np
import pytest
from scipy import stats

from dpbook import privacy
from dpbook.data import PairTable, load_table
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


@pytest.fixture
def fits(monkeypatch):
    """What the experiments hand to the ranker: tables, its ridge, the noise at scale."""
    seen = []

    original = PerturbedMle.release

    def spied(self, data, noise, **options):
        seen.append((np.array(data), self.gamma, self.scale * noise if self.scale else None))
        return original(self, data, noise, **options)

    monkeypatch.setattr(PerturbedMle, "release", spied)
    return seen


def test_subsamples_keep_the_right_share_of_decided_answers_and_of_ties(fits):
    """Binomial numbers of all replicates together, over a million answers in the real survey and
    1.8 million, nearly all ties, in the made-up one; tests at 1e-7 each. An error of 0.0025 of a
    share, 5.33 * 0.5 / sqrt(1.2e6), is seen."""
    table, size, shares = load_table("cems"), 300, [0.8, 0.4, 0.1]
    survey_distances(
        table, {}, fractions=shares, epsilons=[1.0], size=size, rng=np.random.default_rng(15)
    )
    seen = [data for data, _, linear in fits if linear is None]
    assert len(seen) == len(shares)
    upper = np.triu_indices(6, 1)
    for share, data in zip(shares, seen, strict=True):
        both = (data + np.swapaxes(data, 1, 2))[:, *upper].sum()
        asked = size * (table.counts.sum() + table.ties.sum() // 2)
        assert stats.binomtest(int(both), int(asked), share).pvalue > 1e-7
    # Ties alone: a survey in which nobody decided but for one circle, so that a fit exists.
    fits.clear()
    wins = np.zeros((3, 3), dtype=int)
    wins[[0, 1, 2], [1, 2, 0]] = 1
    ties = np.full((3, 3), 1999) * (1 - np.eye(3, dtype=int))
    undecided = PairTable(("a", "b", "c"), wins, 2000, ties)
    survey_distances(
        undecided, {}, fractions=shares, epsilons=[1.0], size=size, rng=np.random.default_rng(16)
    )
    seen = [data for data, _, linear in fits if linear is None]
    for share, data in zip(shares, seen, strict=True):
        kept = round((data + np.swapaxes(data, 1, 2))[:, *np.triu_indices(3, 1)].sum())
        assert stats.binomtest(kept, size * 3 * 2000, share).pvalue > 1e-7


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
