"""Private rankers: scales against enumerated sensitivities, samplers against their exact twins."""

import numpy as np
import pytest
from scipy import stats

from dpbook.data import Comparisons
from dpbook.estimators import ranks_from_scores, top_k_mask
from dpbook.models import all_rankings
from dpbook.privacy import (
    audit_sampler,
    bundle_contributions,
    check_mechanism,
    count_neighbours_edge,
    count_neighbours_individual,
    sets_of,
)
from dpbook.rankers import (
    count_noise_scale,
    noisy_counts,
    noisy_counts_logpdf,
    noisy_counts_ranking_pmf,
    noisy_counts_top_k_pmf,
)

WINS = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
DRAWS = 40_000


def orders_of(n):
    """The order, best item first, of every ranking of a law."""
    return np.argsort(all_rankings(n), axis=1)


@pytest.mark.parametrize(
    ("n", "options", "expected"),
    [
        (3, {"privacy": "edge"}, 2 / 0.5),
        (3, {"privacy": "edge", "calibration": "printed"}, 2 / 0.5),
        (4, {"privacy": "individual", "per_user": 3}, 6 / 0.5),
        (4, {"privacy": "individual", "per_user": 3, "calibration": "printed"}, 3 / 0.5),
        (4, {"privacy": "individual", "design": "each_pair_once"}, 8 / 0.5),
        (6, {"privacy": "individual", "design": "each_pair_or_skip"}, 24 / 0.5),
        (
            6,
            {"privacy": "individual", "design": "each_pair_or_skip", "calibration": "printed"},
            15 / 0.5,
        ),
    ],
)
def test_scales(n, options, expected):
    assert count_noise_scale(n, epsilon=0.5, **options) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
def test_released_sets_and_rankings_keep_epsilon_on_every_edge_neighbour(epsilon, noise):
    scale = count_noise_scale(4, epsilon=epsilon, privacy="edge")
    pairs = count_neighbours_edge(4, complete=False)
    for law in (
        lambda counts: noisy_counts_top_k_pmf(counts, 2, scale=scale, noise=noise),
        lambda counts: noisy_counts_ranking_pmf(counts, scale=scale, noise=noise),
    ):
        loss = check_mechanism(law, pairs).loss
        assert loss <= epsilon
        # Sharp enough to notice a scale that is too small by a third.
        assert 1.5 * loss > epsilon


def test_the_printed_individual_scale_breaks_its_promise_and_the_tight_one_keeps_it():
    pairs = count_neighbours_individual(bundle_contributions(2, per_user=1), 10)
    losses = {}
    for calibration in ("printed", "tight"):
        scale = count_noise_scale(
            2, epsilon=1, privacy="individual", per_user=1, calibration=calibration
        )
        losses[calibration] = check_mechanism(
            lambda counts, b=scale: noisy_counts_top_k_pmf(counts, 1, scale=b), pairs
        ).loss
    # Closed form for two items: the margin drops from 10 to 8.
    assert losses["printed"] == pytest.approx(2 - np.log(6 / 5), rel=1e-12)
    assert losses["tight"] < 1


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
def test_sampler_follows_the_exact_set_and_ranking_law(noise):
    rng = np.random.default_rng(7)
    stack = np.broadcast_to(WINS, (DRAWS, 3, 3))
    values = noisy_counts(stack, epsilon=1.0, privacy="edge", noise=noise, rng=rng)
    ranks = ranks_from_scores(values, rng=rng)
    order = np.argsort(ranks, axis=1)
    outcomes = orders_of(3)
    drawn = [(order == outcome).all(axis=1).sum() for outcome in outcomes]
    for scale, fits in ((2.0, True), (1.0, False), (4.0, False)):
        pmf = noisy_counts_ranking_pmf([2, 1, 0], scale=scale, noise=noise)
        assert audit_sampler(drawn, pmf).passed is fits
    chosen = top_k_mask(values, 2, rng=rng)
    sets = np.array([np.isin(np.arange(3), s) for s in sets_of(3, 2)])
    drawn = [(chosen == s).all(axis=1).sum() for s in sets]
    assert audit_sampler(drawn, noisy_counts_top_k_pmf([2, 1, 0], 2, scale=2.0, noise=noise)).passed


def test_released_values_have_the_stated_density():
    rng = np.random.default_rng(8)
    stack = np.broadcast_to(WINS, (20_000, 3, 3))
    noise = noisy_counts(stack, epsilon=0.5, privacy="edge", rng=rng) - [2, 1, 0]
    assert stats.kstest(noise.ravel(), stats.laplace(scale=4).cdf).pvalue > 1e-4
    assert stats.kstest(noise.ravel(), stats.laplace(scale=2).cdf).pvalue < 1e-4
    x = np.array([3.5, 1.0, -2.0])
    expected = stats.laplace(scale=4).logpdf(x - [2, 1, 0]).sum()
    assert noisy_counts_logpdf(x, [2, 1, 0], scale=4.0) == pytest.approx(expected, rel=1e-14)


def bundles(user, winner, loser, n=3):
    return Comparisons(n, winner=winner, loser=loser, user=user)


def edge_counts(**options):
    return noisy_counts(WINS, **({"epsilon": 1, "privacy": "edge"} | options))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda rng: edge_counts(epsilon=0, rng=rng), "epsilon"),
        (lambda rng: edge_counts(epsilon=float("nan"), rng=rng), "epsilon"),
        (lambda rng: noisy_counts(WINS, epsilon=1, privacy="central", rng=rng), "privacy"),
        (lambda rng: edge_counts(calibration="loose", rng=rng), "calibration"),
        (lambda rng: edge_counts(noise="gaussian", rng=rng), "noise"),
        (lambda rng: noisy_counts(WINS, epsilon=1, privacy="individual", rng=rng), "per_user"),
        (
            lambda rng: noisy_counts(
                bundles([0, 0], [0, 1], [1, 2]),
                epsilon=1,
                privacy="individual",
                per_user=1,
                rng=rng,
            ),
            "per_user = 1: a person in data has 2 comparisons",
        ),
        (
            lambda rng: noisy_counts(
                bundles([0, 0], [0, 1], [1, 0]),
                epsilon=1,
                privacy="individual",
                design="each_pair_once",
                rng=rng,
            ),
            "compares one pair twice",
        ),
        (
            lambda rng: noisy_counts(
                bundles(None, [0], [1]), epsilon=1, privacy="individual", per_user=1, rng=rng
            ),
            "user",
        ),
        (
            lambda rng: noisy_counts_logpdf([0.5, 1], [0, 1], scale=1, noise="discrete_laplace"),
            "values",
        ),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call(np.random.default_rng(0))
