"""Experiments on private people: against direct computation, limits, and broken twins."""

from functools import partial

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit

from dpbook import privacy
from dpbook.data import PairTable, load_table
from dpbook.models import all_rankings
from dpbook.pages import individual_experiments as page
from dpbook.pages.individual_experiments import (
    edge_errors,
    individual_errors,
    individual_rankers,
    paper_strengths,
    survey_distances,
)
from dpbook.rankers import PerturbedMle
from dpbook.simulation import log_relative_error, top_k_error

RNG, LINE = np.random.default_rng(0), np.arange(8.0)[None]
surveyed = partial(survey_distances, load_table("cems"))


def errors(truth, users, epsilons, kind="printed", per_user=5, **options):
    rankers = individual_rankers(truth.shape[1], per_user, epsilons, kind)
    return individual_errors(truth, users=users, rankers=rankers, **options)


NAMES = {"mle l2", "mle linf", "mle top-k", "counts top-k"}


AS_RUN = {"as run l2", "as run linf", "as run top-k", "as run counts top-k"}


def test_strengths_have_k_zeros_first_and_the_range_of_the_paper():
    theta = paper_strengths(14, size=500, rng=np.random.default_rng(0))
    k = round(14 / 4)
    assert (theta[:, :k] == 0).all()
    rest = np.exp(theta[:, k:])
    assert 0.2 < rest.min() < 0.21 and 0.69 < rest.max() < 0.7
    assert rest.mean() == pytest.approx(0.45, abs=0.01)


def direct_errors(seed, n, m, L, epsilon):
    """One replicate redone: a general optimiser, and the public metrics."""
    rng = np.random.default_rng(seed)
    theta = paper_strengths(n, rng=rng)
    noise, count_noise, _ = rng.laplace(size=(3, 1, n))[:, 0]
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    p = expit(theta[0][i] - theta[0][j]) / (n * (n - 1) / 2)
    wins = np.zeros((n, n))
    wins[i, j] = rng.multinomial(m * L, p)
    gamma, w = 2 * L / epsilon, 8 * L / epsilon * noise

    def objective(t):
        gap = t[:, None] - t
        return (wins * np.logaddexp(0, -gap)).sum() + gamma / 2 * t @ t + w @ t

    raw = optimize.minimize(objective, np.zeros(n), tol=1e-12).x
    constraint = {"type": "eq", "fun": np.sum}  # as the public code fits
    fitted = optimize.minimize(
        objective, raw - raw.mean(), constraints=constraint, options={"ftol": 1e-15}
    ).x
    k, truth = round(n / 4), theta[0] - theta[0].mean()
    top, counts = np.arange(n) < k, wins.sum(axis=1) + L / epsilon * count_noise
    return {
        "mle l2": log_relative_error(raw - raw.mean(), truth),
        "mle linf": log_relative_error(raw - raw.mean(), truth, "linf"),
        "as run l2": log_relative_error(fitted, theta[0]),
        "as run linf": log_relative_error(fitted, theta[0], "linf"),
        "mle top-k": top_k_error(raw, top, k),
        "counts top-k": top_k_error(counts, top, k),
        "as run top-k": partial_sort_error(fitted, theta[0], k),
        "as run counts top-k": partial_sort_error(None, theta[0], k, set(np.argsort(counts)[-k:])),
    }


def partial_sort_error(estimate, truth, k, chosen=None):
    """By argpartition(x, k)[-k:], one row at a time; what its documentation allows is checked."""

    def last(x):
        found = set(np.argpartition(np.array(x, dtype=np.longdouble), k)[-k:])
        assert found <= set(np.argsort(x)[k + 1 :])
        return found

    guess = last(estimate) if chosen is None else chosen
    return 1 - len(guess & last(truth)) / k


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_replicate_against_direct_computation(seed):
    rng = np.random.default_rng(seed)
    truth = paper_strengths(9, rng=rng)
    found = errors(truth, [60], [1.5], per_user=3, rng=rng)
    assert set(found) == NAMES | AS_RUN
    for name, value in direct_errors(seed, 9, 60, 3, 1.5).items():
        assert found[name][0, 0, 0] == pytest.approx(float(value), abs=2e-4), name


def test_partial_sorts_miss_a_part_of_a_set_that_is_known():
    """Truths as the experiments draw them lose about a quarter of their own top set, five standard
    errors of 300 shares with sd below a quarter; the same set on both sides loses nothing."""
    rng = np.random.default_rng(5)
    truth = paper_strengths(16, size=300, rng=rng)
    found = errors(truth, [10**6], [np.inf], rng=rng)
    assert found["mle top-k"].mean() == found["counts top-k"].mean() == 0
    assert found["as run counts top-k"].mean() == pytest.approx(0.24, abs=5 * 0.25 / np.sqrt(300))
    twice = page._last_of_partition(truth, 4)
    assert (twice.sum(axis=1) == 4).all() and (twice[:, :4].mean() < 1)


def test_ties_between_counts_are_not_broken_in_favour_of_the_truth():
    """One comparison, twelve items: the top set is all but a guess."""
    rng = np.random.default_rng(8)
    truth = paper_strengths(12, size=4000, rng=rng)
    found = errors(truth, [1], [np.inf], per_user=1, rng=rng)
    assert found["counts top-k"].mean() > 0.68  # a guess misses 0.75; by position it is 0.05
    level = np.where(np.arange(12) < 3, 0, -1e-9) * np.ones((2000, 1))
    flat = edge_errors(level, epsilons=[np.inf], rng=rng)
    for name in ("mle top-k", "counts top-k"):
        assert flat[name].mean() == pytest.approx(0.75, abs=0.02)


def test_edge_rankers_agree_without_privacy():
    rng = np.random.default_rng(9)
    found = edge_errors(paper_strengths(40, size=60, rng=rng), epsilons=[0.5, np.inf], rng=rng)
    assert set(found) == NAMES
    assert found["mle l2"].shape == (2, 60)
    # On the complete graph both orders are that of the wins; ties go by different lots.
    assert found["mle top-k"][1].mean() == pytest.approx(found["counts top-k"][1].mean(), abs=0.05)
    assert found["mle l2"][0].mean() > found["mle l2"][1].mean()


def test_survey_distances_in_the_limits():
    table = load_table("cems_1998")
    rng = np.random.default_rng(10)
    options = {"fractions": [1.0, 0.3], "epsilons": [1.0, 1e7], "size": 200}
    found = survey_distances(table, kind="private", rng=rng, **options)
    assert found["l2"].shape == (2, 2, 200)
    assert found["l2"][:, 1].max() < 1e-4  # no noise, no ridge to speak of
    assert found["hamming"][0, 1].max() == 0  # no ties between the counts of all answers
    np.testing.assert_array_equal(found["hamming"][0], found["hamming to full"][0])
    assert found["hamming to full"][1, 1].mean() > 0.01
    assert (found["linf"] <= found["l2"] + 1e-12).all()
    printed = survey_distances(table, rng=rng, **options)
    assert printed["l2"][:, 1].min() > 0.01  # here the ridge does not shrink with epsilon


def test_survey_ranks_are_those_of_noisy_counts():
    """On all answers the law of the noisy ranking is known exactly; a mean at five standard errors,
    0.0045 of about 0.07, where half or twice the noise would move it by more than 0.03."""
    table, size = load_table("cems"), 4000
    found = survey_distances(
        table, fractions=[1.0], epsilons=[0.5], size=size, rng=np.random.default_rng(12)
    )["hamming"][0, 0]
    counts = table.half_tied_counts().sum(axis=1)
    law = privacy.ranking_pmf(counts, scale=4.0)
    places = all_rankings(6)
    displaced = (places != np.argsort(np.argsort(-counts))).mean(axis=1)
    mean, square = law @ displaced, law @ displaced**2
    assert found.mean() == pytest.approx(mean, abs=5 * np.sqrt((square - mean**2) / size))


@pytest.fixture
def fits(monkeypatch):
    """What the experiments hand to the ranker: tables or counts, its ridge, the noise at scale."""
    seen = []

    def spy(name):
        original = getattr(PerturbedMle, name)

        def spied(self, data, noise, **options):
            linear = self.scale * noise if self.scale else None
            seen.append((np.array(data), self.gamma, linear))
            return original(self, data, noise, **options)

        monkeypatch.setattr(PerturbedMle, name, spied)

    spy("release")
    spy("perturb")
    return seen


def laplace_scale(values):
    """Scale of Laplace numbers: their mean absolute value, with a relative standard error of
    1 / sqrt(count)."""
    return np.abs(values).mean(), 5.33 / np.sqrt(np.size(values))  # level 1e-7


@pytest.mark.parametrize(
    ("calibration", "scale", "gamma"),
    [
        # Six items, shares 1 and 1/4 of the answers, epsilon = 0.5: 2 sqrt(6 p log 6).
        ("printed", 8 / 0.5, (2 * np.sqrt(6 * np.log(6)), 2 * np.sqrt(1.5 * np.log(6)))),
        ("private", 4 / 0.5, (4 / 0.5, 4 / 0.5)),
        ("theorem", 0.5 / 16, (2 * np.sqrt(6 * np.log(6)), 2 * np.sqrt(1.5 * np.log(6)))),
    ],
)
def test_survey_estimates_get_the_noise_and_the_ridge_of_their_calibration(
    fits, calibration, scale, gamma
):
    """6 * 2000 numbers: a scale 5 % off shows."""
    survey_distances(
        load_table("cems"),
        fractions=[1.0, 0.25],
        epsilons=[0.5],
        kind=calibration,
        size=2000,
        rng=np.random.default_rng(14),
    )
    private = [(g, linear) for _, g, linear in fits if linear is not None]
    assert [g for g, _ in private] == pytest.approx(gamma, rel=1e-12)
    for _, linear in private:
        found, error = laplace_scale(linear)
        assert found == pytest.approx(scale, rel=error) and error < 0.05
    # 1 / epsilon is the larger lower limit of the ridge at epsilon = 0.1: 10 against 6.6.
    fits.clear()
    survey_distances(
        load_table("cems"),
        fractions=[1.0],
        epsilons=[0.1],
        kind=calibration,
        size=2,
        rng=np.random.default_rng(14),
    )
    assert fits[-1][1] == pytest.approx(40 if calibration == "private" else 10)


def test_subsamples_keep_the_right_share_of_decided_answers_and_of_ties(fits):
    """Binomial numbers of all replicates together, over a million answers in the real survey and
    1.8 million, nearly all ties, in the made-up one; tests at 1e-7 each. An error of 0.0025 of a
    share, 5.33 * 0.5 / sqrt(1.2e6), is seen."""
    table, size, shares = load_table("cems"), 300, [0.8, 0.4, 0.1]
    survey_distances(
        table, fractions=shares, epsilons=[1.0], size=size, rng=np.random.default_rng(15)
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
        undecided, fractions=shares, epsilons=[1.0], size=size, rng=np.random.default_rng(16)
    )
    seen = [data for data, _, linear in fits if linear is None]
    for share, data in zip(shares, seen, strict=True):
        kept = round((data + np.swapaxes(data, 1, 2))[:, *np.triu_indices(3, 1)].sum())
        assert stats.binomtest(kept, size * 3 * 2000, share).pvalue > 1e-7


@pytest.mark.parametrize(
    ("calibration", "score", "gamma", "counts"),
    # Three answers of each person, epsilon = 0.5: 8 L / epsilon, 2 L / epsilon, L / epsilon as
    # printed; 4 L / epsilon with an equal ridge, 2 L / epsilon as proved.
    [("printed", 48.0, 12.0, 6.0), ("private", 24.0, 24.0, 12.0)],
)
def test_individual_experiment_uses_the_noise_of_its_calibration(
    fits, monkeypatch, calibration, score, gamma, counts
):
    shown = []
    original = page.top_k_error
    monkeypatch.setattr(page, "top_k_error", lambda x, *a: (shown.append(x), original(x, *a))[1])
    truth = paper_strengths(8, size=2000, rng=np.random.default_rng(17))
    errors(truth, [50], [0.5], calibration, per_user=3, rng=np.random.default_rng(18))
    ((wins, ridge, linear),) = fits
    assert ridge == pytest.approx(gamma)
    for values, scale in ((linear, score), (shown[1] - wins.sum(axis=-1), counts)):
        found, error = laplace_scale(values)
        assert found == pytest.approx(scale, rel=error) and error < 0.05


def test_edge_twin_uses_the_printed_noise(fits, monkeypatch):
    """8 / epsilon on the score, 2 / epsilon on the counts, a ridge of 2 sqrt(8 log 8)."""
    shown = []
    original = page.top_k_error
    monkeypatch.setattr(page, "top_k_error", lambda x, *a: (shown.append(x), original(x, *a))[1])
    truth = paper_strengths(8, size=2000, rng=np.random.default_rng(19))
    edge_errors(truth, epsilons=[0.5], rng=np.random.default_rng(20))
    ((counts, ridge, linear),) = fits
    assert ridge == pytest.approx(2 * np.sqrt(8 * np.log(8)))
    for values, scale in ((linear, 16.0), (shown[1] - counts, 4.0)):
        found, error = laplace_scale(values)
        assert found == pytest.approx(scale, rel=error) and error < 0.05


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: errors(LINE, [10, 10], [1.0], rng=RNG), "users"),
        (lambda: errors(LINE, [], [1.0], rng=RNG), "users"),
        (lambda: errors(LINE, [10], [1.0], per_user=0, rng=RNG), "per_user"),
        (lambda: errors(LINE, [10], [0.0], rng=RNG), "epsilon"),
        (lambda: errors(LINE, [10], [1.0], "tight", rng=RNG), "kind"),
        (lambda: errors(0 * LINE + 2, [10], [1.0], rng=RNG), "truth"),
        (lambda: surveyed(fractions=[0.5, 1], epsilons=[1], size=2, rng=RNG), "fractions"),
        (lambda: surveyed(fractions=[1], epsilons=[1], kind="x", size=2, rng=RNG), "kind"),
        (lambda: paper_strengths(3, rng=RNG), "n_items"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
