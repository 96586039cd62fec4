"""Bad arguments: each is refused at once by a ValueError with its name, value and what is allowed.

Every call here used to return a wrong answer, end in another error, or not end at all.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpbook import data, estimators, mechanisms, models, privacy, rankers, simulation
from dpbook.mechanisms import hypercube
from dpbook.mechanisms.noise import discrete_laplace_noise

RNG = np.random.default_rng(0)
WINS = np.array([[0, 2, 1], [1, 0, 2], [0, 1, 0]])
PLACES = np.argsort(np.random.default_rng(1).random((9, 4)), axis=1)
RAGGED = [[0, 1], [1]]
ANSWERS = rankers.FlippedAnswers.private(1.0, privacy.Edge(2, exchange=False))


# A refusal takes milliseconds; the rest is for a busy machine.
pytestmark = pytest.mark.timeout(10)


def far(spread):
    return [0, spread, 3]


CASES = [
    (
        lambda: mechanisms.gaussian_scale(1, 1, 5e-324),
        r"delta = 5e-324: allowed is a number from 2\.2",
    ),
    (
        lambda: privacy.top_k_pmf(far(1e6), 1, scale=1),
        r"scale = 1\.0 with scores from 0 to 1e\+06: allowed are distributions",
    ),
    (lambda: privacy.top_k_pmf(far(1e9), 1, scale=1), "scale = 1.0"),
    (
        lambda: privacy.top_k_pmf(far(1e9), 1, scale=1, underflow="zero"),
        r"scale = 1\.0 asks for too much work: allowed is a scale .* fewer cells",
    ),
    (
        lambda: privacy.top_k_pmf(far(1e9), 1, scale=1, noise="discrete_laplace", underflow="zero"),
        "allowed is a scale .* fewer cells",
    ),
    (lambda: privacy.ranking_pmf(far(1e9), scale=1), "scale = 1.0"),
    (
        lambda: privacy.ranking_pmf(far(1e9), scale=1, underflow="zero"),
        "allowed is a scale .* fewer cells",
    ),
    (
        lambda: privacy.ranking_pmf(far(1e9), scale=1900, noise="discrete_laplace"),
        r"scale = 1900\.0",
    ),
    (
        lambda: privacy.discrete_laplace_profile([10**9], 1.0, 1.0),
        r"shift moves by 1e\+09 in all: allowed are at most",
    ),
    (
        lambda: privacy.composed_response_delta(0.1, 10**12, 1.0),
        "count = 1000000000000 asks for too much",
    ),
    (
        lambda: privacy.composed_response_epsilon(0.1, 10**12, 0.1),
        "count = 1000000000000 asks for too much",
    ),
    (
        lambda: data.Comparisons.from_win_matrix([[0, 10**12], [1, 0]]),
        r"wins adds up to 1e\+12: allowed are 1 to",
    ),
    (
        lambda: data.Comparisons(10**12, [0], [1]),
        "items = 1000000000000: allowed is at least 2 items, at most 10000000",
    ),
    (
        lambda: discrete_laplace_noise(1.0, 10**12, rng=RNG),
        "size = 1000000000000 asks for too much",
    ),
    (
        lambda: mechanisms.discrete_laplace_pmf([0.5], 1.0),
        r"x holds 0\.5: allowed are whole numbers",
    ),
    (lambda: mechanisms.discrete_laplace_pmf([np.nan], 1.0), "x holds nan"),
    (lambda: mechanisms.laplace_logpdf([np.nan], 1.0), "x holds nan"),
    (
        lambda: simulation.trend([0, 1], np.ones((2, 3))),
        r"settings = \[0, 1\]: allowed are positive and increasing",
    ),
    (lambda: simulation.trend([-1, 1], np.ones((2, 3))), r"settings = \[-1, 1\]"),
    (lambda: simulation.trend([2, 1], np.ones((2, 3))), r"settings = \[2, 1\]"),
    (
        lambda: rankers.Hypercube.private(1e-320, privacy.WholeRanking(5)),
        r"epsilon = 1e-320: allowed is a number from 1e-100",
    ),
    (
        lambda: mechanisms.debiased_response([1], 1e-320),
        r"epsilon = 1e-320: allowed is a number from 1e-100",
    ),
    (lambda: mechanisms.debiased_response([1, 0], [1.0, 1e-320]), r"epsilon holds 1e-320"),
    (
        lambda: mechanisms.laplace_logpdf([0.0], 1e308),
        r"scale = 1e\+308: allowed is a number from 1e-150 to 1e\+150",
    ),
    (lambda: mechanisms.gaussian_profile(1.0, 1e308, 1.0), r"scale = 1e\+308"),
    (lambda: mechanisms.laplace_logpdf([0.0], True), "scale = True"),
    (
        lambda: models.edge_wins(models.btl_probabilities([0, 1.0]), p=np.True_, rng=RNG),
        r"p = .*True_?: allowed is a number in \(0, 1\]",
    ),
    (
        lambda: estimators.win_counts(WINS * 1j),
        "data = .*, of type complex128: allowed is an array of real numbers",
    ),
    (lambda: models.btl_probabilities([0, 1j]), r"theta = \[0, 1j\], of type complex128"),
    (lambda: estimators.win_counts([[0, object()], [1, 0]]), "data = .*type object"),
    (lambda: estimators.ridge_mle([["0", "1"], ["1", "0"]], gamma=1.0), "data = "),
    (lambda: ANSWERS.publish("abc", rng=RNG), "data = 'abc'"),
    (lambda: mechanisms.randomized_response(["1"], 1.0, rng=RNG), "bits = "),
    (
        lambda: models.two_level_probabilities(4, 2, "a"),
        "gap = 'a': allowed is a finite number of at least 0",
    ),
    (lambda: rankers.AnswersOnDemand.private("1", privacy.WholeRanking(5), cap=9), "epsilon = '1'"),
    (
        lambda: discrete_laplace_noise(1.0, 2.5, rng=RNG),
        "size = 2.5: allowed is an integer >= 0 or a tuple",
    ),
    (lambda: discrete_laplace_noise(1.0, -1, rng=RNG), "size = -1"),
    (lambda: discrete_laplace_noise(1.0, (2, -1), rng=RNG), r"size = \(2, -1\)"),
    (
        lambda: models.individual_wins(
            models.btl_probabilities([0, 1.0]), users=10**18, per_user=10**6, rng=RNG
        ),
        "users times per_user = 1000000000000000000000000",
    ),
    (lambda: data.Rankings(2, RAGGED), "positions = .* all its rows of one"),
    (lambda: data.Rankings.from_orders(RAGGED), "orders = .* all its rows of one"),
    (lambda: data.Comparisons(2, RAGGED, [0]), "winner = .* all its rows of one"),
    (lambda: mechanisms.randomized_response(RAGGED, 1.0, rng=RNG), "bits = .* all its rows of one"),
    (
        lambda: mechanisms.randomized_response([1], RAGGED, rng=RNG),
        "epsilon = .* all its rows of one",
    ),
    (
        lambda: ANSWERS.publish([[0, 1e300], [1, 0]], rng=RNG),
        r"data holds 1e\+300: allowed are counts",
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_lies_within_the_limits_still_works():
    """The limits above are not so tight that they cost anything that could be computed."""
    assert mechanisms.gaussian_scale(1, 1, 1e-307) > 30
    assert np.isfinite(mechanisms.laplace_logpdf([0.0, 1e300], 1e150)).all()
    assert privacy.top_k_pmf(far(600), 1, scale=1).sum() == pytest.approx(1)
    assert privacy.ranking_pmf(far(600), scale=1).sum() == pytest.approx(1)
    assert privacy.top_k_pmf(far(5000), 1, scale=1, underflow="zero").max() == pytest.approx(1)
    # Where e^epsilon overflows nobody lies: no warning, which would be an error here.
    report = hypercube.hypercube_response(np.ones((3, 5)), 800.0, rng=RNG)
    assert np.abs(report).max() == hypercube.hypercube_scale(5, 800.0)
    assert hypercube.hypercube_response_pmf(np.ones(3), 800.0).max() == pytest.approx(1 / 4)


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
def test_no_law_is_refused_before_the_work_that_would_not_be_after_it(noise):
    """Two scores are moved apart until the law underflows; the bound used at first is close."""
    for spread in range(660, 680):
        least = privacy.top_k_pmf([0, spread], 1, scale=1, noise=noise, underflow="zero").min()
        try:
            privacy.top_k_pmf([0, spread], 1, scale=1, noise=noise)
        except ValueError:
            assert least < 1e-290
        else:
            assert least >= 1e-290
