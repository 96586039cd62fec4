"""Bad arguments: each is refused at once by a ValueError with its name, value and what is allowed.

Every call here used to return a wrong answer, end in another error, or not end at all.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import numpy as np
import pytest

from dpbook import data, estimators, lower_bounds, mechanisms, models, privacy, rankers, simulation

RNG = np.random.default_rng(0)
WINS = np.array([[0, 2, 1], [1, 0, 2], [0, 1, 0]])
PLACES = np.argsort(np.random.default_rng(1).random((9, 4)), axis=1)
RAGGED = [[0, 1], [1]]
ANSWERS = rankers.FlippedAnswers.private(1.0, privacy.Edge(2, exchange=False))
EDGE = {"epsilon": 1.0, "privacy": "edge", "rng": RNG}
SECONDS = 10  # a refusal takes milliseconds; the rest is for a busy machine


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """Break off a call that neither returns nor refuses, endless loops included."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"no answer within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def far(spread):
    return [0, spread, 3]


ENDLESS = {
    "gaussian delta": (
        lambda: mechanisms.gaussian_scale(1, 1, 5e-324),
        r"delta = 5e-324: allowed is a number from 2\.2",
    ),
    "top k, one million": (
        lambda: rankers.noisy_counts_top_k_pmf(far(1e6), 1, scale=1),
        r"scale = 1\.0 with scores from 0 to 1e\+06: allowed are laws",
    ),
    "top k, one billion": (lambda: privacy.top_k_law(far(1e9), 1, scale=1), "scale = 1.0"),
    "top k, zeros": (
        lambda: privacy.top_k_law(far(1e9), 1, scale=1, underflow="zero"),
        r"scale = 1\.0 with 3 scores .* to 1e\+09: allowed are scores close enough",
    ),
    "top k, discrete": (
        lambda: privacy.top_k_law(far(1e9), 1, scale=1, noise="discrete_laplace", underflow="zero"),
        "allowed are scores close enough",
    ),
    "ranking": (lambda: privacy.ranking_law(far(1e9), scale=1), "scale = 1.0"),
    "ranking, zeros": (
        lambda: privacy.ranking_law(far(1e9), scale=1, underflow="zero"),
        "allowed are scores close enough",
    ),
    "ranking, discrete": (
        lambda: privacy.ranking_law(far(1e9), scale=1900, noise="discrete_laplace"),
        r"scale = 1900\.0",
    ),
    "profile": (
        lambda: privacy.discrete_laplace_profile([10**9], 1.0, 1.0),
        r"shift moves by 1e\+09 in all: allowed are at most",
    ),
    "composition": (
        lambda: privacy.composed_response_delta(0.1, 10**12, 1.0),
        r"count = 1e\+12 answers",
    ),
    "composition, epsilon": (
        lambda: privacy.composed_response_epsilon(0.1, 10**12, 0.1),
        r"count = 1e\+12 answers",
    ),
    "composition, groups": (
        lambda: privacy.composed_response_bounds([0.1, 0.2], 10**12, 1.0),
        r"count = 2e\+12 answers on 65536 points",
    ),
    "wins one by one": (
        lambda: data.Comparisons.from_win_matrix([[0, 10**12], [1, 0]]),
        r"wins adds up to 1e\+12: allowed are at most",
    ),
    "names one by one": (
        lambda: data.Comparisons(10**12, [0], [1]),
        "items = 1000000000000: allowed is at least 2 items, at most 10000000",
    ),
    "bundles, once": (
        lambda: privacy.bundle_contributions(40, design="each_pair_once"),
        "n_items = 40 with design = 'each_pair_once': allowed are 2 to 7",
    ),
    "bundles, ranking": (
        lambda: privacy.bundle_contributions(15, design="ranking"),
        "n_items = 15 with design = 'ranking': allowed are 2 to 8",
    ),
    "bundles, skips": (
        lambda: privacy.bundle_contributions(7, design="each_pair_or_skip"),
        "n_items = 7",
    ),
    "bundles, per user": (
        lambda: privacy.bundle_contributions(5, per_user=10**6),
        "per_user = 1000000 with n_items = 5",
    ),
    "neighbours": (
        lambda: privacy.count_neighbours_individual(
            privacy.bundle_contributions(3, design="each_pair_once"), 1000
        ),
        "users = 1000 asks for too much work: allowed is so few people",
    ),
    "ball": (
        lambda: lower_bounds.kendall_ball(2000, 10**6),
        "n_items = 2000, radius = 1000000: allowed is a product",
    ),
    "code by lot": (
        lambda: lower_bounds.kendall_code(5, 3, method="random", draws=10**9, rng=RNG),
        "draws = 1000000000: allowed is an integer from 1 to",
    ),
    "words by lot": (
        lambda: lower_bounds.constant_weight_code(9, 4, 3, method="random", draws=10**12, rng=RNG),
        "draws = 1000000000000: allowed is an integer from 1 to",
    ),
    "noise": (
        lambda: mechanisms.laplace_noise(1.0, 10**12, rng=RNG),
        "size = 1000000000000 asks for too much",
    ),
}

SILENT = {
    "pmf at a half": (
        lambda: mechanisms.discrete_laplace_pmf([0.5], 1.0),
        r"x holds 0\.5: allowed are whole numbers",
    ),
    "pmf at nan": (lambda: mechanisms.discrete_laplace_pmf([np.nan], 1.0), "x holds nan"),
    "logpdf at nan": (lambda: mechanisms.laplace_logpdf([np.nan], 1.0), "x holds nan"),
    "gaussian logpdf at nan": (lambda: mechanisms.gaussian_logpdf([np.nan], 1.0), "x holds nan"),
    "tracing": (
        lambda: lower_bounds.tracing_scores([np.nan], [[1.0]], [0.0]),
        "read holds nan: allowed are numbers",
    ),
    "trend from zero": (
        lambda: simulation.trend([0, 1], np.ones((2, 3))),
        r"settings = \[0, 1\]: allowed are positive and increasing",
    ),
    "trend from below": (
        lambda: simulation.trend([-1, 1], np.ones((2, 3))),
        r"settings = \[-1, 1\]",
    ),
    "trend downwards": (lambda: simulation.trend([2, 1], np.ones((2, 3))), r"settings = \[2, 1\]"),
    "laws": (
        lambda: lower_bounds.optimal_private_risk(
            [[0.5, 0.4], [0.4, 0.5]], [[0, 1], [1, 0]], epsilon=1.0
        ),
        r"laws sums to 0\.9.*: allowed are probabilities with total 1",
    ),
    "log-ratio of laws": (
        lambda: lower_bounds.largest_log_ratio([0.5, 0.4], [0.5, 0.5], 1.0),
        r"law sums to 0\.9",
    ),
    "log-ratio of records": (
        lambda: lower_bounds.record_log_ratio([0.5, 0.5], [1.5, -0.5], 1.0),
        r"other sums to 1, with a least entry of -0\.5",
    ),
    "words": (
        lambda: lower_bounds.minimum_distance([[5, 0], [0, 0.5]]),
        "code holds an entry other than 0 and 1",
    ),
    "renaming": (lambda: lower_bounds.relabel([0.0, 1.5]), r"pi holds 1\.5: allowed are whole"),
    "hypercube at 1e-320": (
        lambda: rankers.local_fractions(PLACES, "hypercube", epsilon=1e-320, rng=RNG),
        r"epsilon = 1e-320: allowed is a number from 1e-100",
    ),
    "debiased at 1e-320": (
        lambda: mechanisms.debiased_response([1], 1e-320),
        r"epsilon = 1e-320: allowed is a number from 1e-100",
    ),
    "debiased in a list": (
        lambda: mechanisms.debiased_response([1, 0], [1.0, 1e-320]),
        r"epsilon holds 1e-320",
    ),
    "counts at 1e-320": (
        lambda: rankers.count_noise_scale(3, epsilon=1e-320, privacy="edge"),
        "epsilon = 1e-320",
    ),
    "infinite noise": (
        lambda: mechanisms.laplace_noise(1e308, 1000, rng=RNG),
        r"scale = 1e\+308: allowed is a number from 1e-150 to 1e\+150",
    ),
    "infinite gaussian noise": (
        lambda: mechanisms.gaussian_noise(1e308, 1000, rng=RNG),
        r"scale = 1e\+308",
    ),
    "true epsilon": (
        lambda: rankers.count_noise_scale(3, epsilon=True, privacy="edge"),
        "epsilon = True: allowed is a finite number above 0",
    ),
    "true scale": (lambda: mechanisms.laplace_noise(True, 3, rng=RNG), "scale = True"),
    "true probability": (
        lambda: models.edge_wins(models.btl_probabilities([0, 1.0]), p=np.True_, rng=RNG),
        r"p = .*True_?: allowed is a number in \(0, 1\]",
    ),
    "epsilon as text": (
        lambda: rankers.count_noise_scale(3, epsilon="1", privacy="edge"),
        "epsilon = '1'",
    ),
    "imaginary wins": (
        lambda: rankers.noisy_counts(WINS * 1j, **EDGE),
        "data = .*, of type complex128: allowed is an array of real numbers",
    ),
    "imaginary strengths": (
        lambda: models.btl_probabilities([0, 1j]),
        r"theta = \[0, 1j\], of type complex128",
    ),
}

NAMELESS = {
    "text": (lambda: rankers.noisy_counts([["0", "a"], ["b", "0"]], **EDGE), "data = .*type <U1"),
    "none": (lambda: rankers.noisy_counts(None, **EDGE), "data = None, of type object"),
    "objects": (lambda: estimators.win_counts([[0, object()], [1, 0]]), "data = .*type object"),
    "text ridge": (lambda: estimators.ridge_mle([["0", "1"], ["1", "0"]], gamma=1.0), "data = "),
    "none as fractions": (
        lambda: rankers.noisy_fractions(None, 3, epsilon=1.0, rng=RNG),
        "fractions = None",
    ),
    "text counts": (
        lambda: rankers.dp_kwiksort([["0", "1"], ["1", "0"]], epsilon=1.0, rng=RNG),
        "counts = ",
    ),
    "text reports": (lambda: ANSWERS.noise(rng=RNG, data="abc"), "data = 'abc'"),
    "text bits": (lambda: mechanisms.randomized_response(["1"], 1.0, rng=RNG), "bits = "),
    "gap": (
        lambda: models.two_level_probabilities(4, 2, "a"),
        "gap = 'a': allowed is a finite number of at least 0",
    ),
    "adaptive epsilon": (
        lambda: rankers.ldp_adaptive_kwiksort(PLACES, epsilon="1", cap=9, rng=RNG),
        "epsilon = '1'",
    ),
    "half a size": (
        lambda: mechanisms.laplace_noise(1.0, 2.5, rng=RNG),
        "size = 2.5: allowed is an integer >= 0 or a tuple",
    ),
    "negative size": (lambda: mechanisms.laplace_noise(1.0, -1, rng=RNG), "size = -1"),
    "negative gaussian size": (lambda: mechanisms.gaussian_noise(1.0, -1, rng=RNG), "size = -1"),
    "negative discrete size": (
        lambda: mechanisms.discrete_laplace_noise(1.0, (2, -1), rng=RNG),
        r"size = \(2, -1\)",
    ),
    "negative choices": (
        lambda: mechanisms.exponential_choice([0, 1], 1.0, 1.0, size=-1, rng=RNG),
        "size = -1",
    ),
    "half a choice": (
        lambda: mechanisms.permute_and_flip([0, 1], 1.0, 1.0, size=1.5, rng=RNG),
        "size = 1.5",
    ),
    "too many people": (
        lambda: models.individual_wins(
            models.btl_probabilities([0, 1.0]), users=10**18, per_user=10**6, rng=RNG
        ),
        "users times per_user = 1000000000000000000000000",
    ),
    "too many laws": (
        lambda: lower_bounds.dp_fano_risk(10**400, 1.0, epsilon=1.0),
        "hypotheses = 10.*: allowed is an integer from 2 to",
    ),
    "too large a number": (
        lambda: rankers.count_noise_scale(3, epsilon=10**400, privacy="edge"),
        "epsilon = 10",
    ),
    "no triangle": (
        lambda: estimators.worst_ratio(np.full((2, 2), 0.5), wins=np.triu(np.ones((2, 2)), 1)),
        r"placed of shape \(2, 2\): allowed is \(n, n\) with n >= 3",
    ),
    "ragged rankings": (lambda: data.Rankings(2, RAGGED), "positions = .* all its rows of one"),
    "ragged orders": (lambda: data.Rankings.from_orders(RAGGED), "orders = .* all its rows of one"),
    "ragged winners": (lambda: data.Comparisons(2, RAGGED, [0]), "winner = .* all its rows of one"),
    "ragged wins": (lambda: rankers.noisy_counts(RAGGED, **EDGE), "data = .* all its rows of one"),
    "ragged bits": (
        lambda: mechanisms.randomized_response(RAGGED, 1.0, rng=RNG),
        "bits = .* all its rows of one",
    ),
    "ragged epsilon": (
        lambda: mechanisms.randomized_response([1], RAGGED, rng=RNG),
        "epsilon = .* all its rows of one",
    ),
    "reports of 1e300": (
        lambda: ANSWERS.noise(rng=RNG, data=[[0, 1e300], [1, 0]]),
        r"data holds 1e\+300: allowed are counts",
    ),
    "text ratings": (
        lambda: data.rankings_from_ratings([["a", "b"]], rng=RNG),
        "ratings = .*: allowed is an array of real numbers",
    ),
    "ragged ratings": (
        lambda: data.rankings_from_ratings([[1.0, 2.0], [1.0]], rng=RNG),
        "ratings = .* all its rows of one",
    ),
}

TABLE = ENDLESS | SILENT | NAMELESS


@pytest.mark.parametrize(("call", "message"), TABLE.values(), ids=TABLE)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_lies_within_the_limits_still_works():
    """The limits above are not so tight that they cost anything that could be computed."""
    assert mechanisms.gaussian_scale(1, 1, 1e-307) > 30
    assert np.isfinite(mechanisms.laplace_noise(1e150, 10_000, rng=RNG)).all()
    assert privacy.top_k_law(far(600), 1, scale=1).sum() == pytest.approx(1)
    assert privacy.ranking_law(far(600), scale=1).sum() == pytest.approx(1)
    assert privacy.top_k_law(far(5000), 1, scale=1, underflow="zero").max() == pytest.approx(1)
    assert lower_bounds.kendall_ball(2000, 10) > 2000**10 / 10**7
    assert len(lower_bounds.kendall_code(8, 1)) == 40_320
    # Where e^epsilon overflows nobody lies: no warning, which would be an error here.
    report = rankers.hypercube_response(np.ones((3, 5)), 800.0, rng=RNG)
    assert np.abs(report).max() == rankers.hypercube_scale(5, 800.0)
    assert rankers.hypercube_response_pmf(np.ones(3), 800.0).max() == pytest.approx(1 / 4)


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
def test_no_law_is_refused_before_the_work_that_would_not_be_after_it(noise):
    """Two scores are moved apart until the law underflows; the bound used at first is close."""
    for spread in range(660, 680):
        least = privacy.top_k_law([0, spread], 1, scale=1, noise=noise, underflow="zero").min()
        try:
            privacy.top_k_law([0, spread], 1, scale=1, noise=noise)
        except ValueError:
            assert least < 1e-290
        else:
            assert least >= 1e-290
