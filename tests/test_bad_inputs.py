"""Bad arguments: each is refused at once by a ValueError with its name, value and what is allowed.

Every call here used to return a wrong answer, end in another error, or not end at all.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from test_refusals import NAMES

from dpbook import mechanisms, privacy
from dpbook.mechanisms import hypercube

# A refusal takes milliseconds, work without a bound minutes; the rest is for a busy machine.
pytestmark = pytest.mark.timeout(60)


def far(spread):
    return [0, spread, 3]


MADE = {
    "FAR": far(1e6),
    "OUT": far(1e9),
    "ZERO": {"scale": 1, "underflow": "zero"},
    "DISCRETE": {"noise": "discrete_laplace"},
    "RHO": np.array([[0.5, 0.3], [0.7, 0.5]]),
    "RAGGED": [[0, 1], [1]],
    "ANSWERS": eval("FlippedAnswers.private(1.0, Edge(2, exchange=False))", NAMES),
}
REFUSED = r"""
gaussian_scale(1, 1, 5e-324)  # delta = 5e-324: allowed is a number from 2\.2
top_k_pmf(FAR, 1, scale=1)  # scale = 1\.0 with scores from 0 to 1e\+06: allowed are distributions
top_k_pmf(OUT, 1, scale=1)  # scale = 1.0
top_k_pmf(OUT, 1, **ZERO)  # scale = 1\.0 asks for too much work: allowed is a scale .* fewer cells
top_k_pmf(OUT, 1, **DISCRETE, **ZERO)  # allowed is a scale .* fewer cells
ranking_pmf(OUT, scale=1)  # scale = 1.0
ranking_pmf(OUT, **ZERO)  # allowed is a scale .* fewer cells
ranking_pmf(OUT, scale=1900, **DISCRETE)  # scale = 1900\.0
discrete_laplace_profile([10**9], 1.0, 1.0)  # shift moves by 1e\+09 in all: allowed are at most
composed_response_delta(0.1, 10**12, 1.0)  # count = 1000000000000 asks for too much
composed_response_epsilon(0.1, 10**12, 0.1)  # count = 1000000000000 asks for too much
Comparisons.from_win_matrix([[0, 10**12], [1, 0]])  # wins adds up to 1e\+12: allowed are 1 to
Comparisons(10**12, [0], [1])  # items = 10{12}: allowed is at least 2 items, at most 10000000
discrete_laplace_noise(1.0, 10**12, rng=RNG)  # size = 1000000000000 asks for too much
discrete_laplace_pmf([0.5], 1.0)  # x holds 0\.5: allowed are whole numbers
discrete_laplace_pmf([np.nan], 1.0)  # x holds nan
laplace_logpdf([np.nan], 1.0)  # x holds nan
trend([0, 1], np.ones((2, 3)))  # settings = \[0, 1\]: allowed are positive and increasing
trend([-1, 1], np.ones((2, 3)))  # settings = \[-1, 1\]
trend([2, 1], np.ones((2, 3)))  # settings = \[2, 1\]
Hypercube.private(1e-320, WholeRanking(5))  # epsilon = 1e-320: allowed is a number from 1e-100
debiased_response([1], 1e-320)  # epsilon = 1e-320: allowed is a number from 1e-100
debiased_response([1, 0], [1.0, 1e-320])  # epsilon holds 1e-320
laplace_logpdf([0.0], 1e308)  # scale = 1e\+308: allowed is a number from 1e-150 to 1e\+150
gaussian_profile(1.0, 1e308, 1.0)  # scale = 1e\+308
laplace_logpdf([0.0], True)  # scale = True
edge_wins(RHO, p=np.True_, rng=RNG)  # p = .*True_?: allowed is a number in \(0, 1\]
win_counts(WINS * 1j)  # data = .*, of type complex128: allowed is an array of real numbers
btl_probabilities([0, 1j])  # theta = \[0, 1j\], of type complex128
win_counts([[0, object()], [1, 0]])  # data = .*type object
ridge_mle([["0", "1"], ["1", "0"]], gamma=1.0)  # data = \[\['0'
ANSWERS.publish("abc", rng=RNG)  # data = 'abc'
randomized_response(["1"], 1.0, rng=RNG)  # bits = \['1'
two_level_probabilities(4, 2, "a")  # gap = 'a': allowed is a finite number of at least 0
AnswersOnDemand.private("1", WholeRanking(5), cap=9)  # epsilon = '1'
discrete_laplace_noise(1.0, 2.5, rng=RNG)  # size = 2.5: allowed is an integer >= 0 or a tuple
discrete_laplace_noise(1.0, -1, rng=RNG)  # size = -1
discrete_laplace_noise(1.0, (2, -1), rng=RNG)  # size = \(2, -1\)
individual_wins(RHO, users=10**18, per_user=10**6, rng=RNG)  # users times per_user = 10{24}
Rankings(2, RAGGED)  # positions = .* all its rows of one
Rankings.from_orders(RAGGED)  # orders = .* all its rows of one
Comparisons(2, RAGGED, [0])  # winner = .* all its rows of one
randomized_response(RAGGED, 1.0, rng=RNG)  # bits = .* all its rows of one
randomized_response([1], RAGGED, rng=RNG)  # epsilon = .* all its rows of one
ANSWERS.publish([[0, 1e300], [1, 0]], rng=RNG)  # data holds 1e\+300: allowed are counts
"""


@pytest.mark.parametrize("line", REFUSED.strip("\n").splitlines())
def test_refused(line):
    call, words = line.split("  # ")
    with pytest.raises(ValueError, match=words):
        eval(call, NAMES | MADE)


#: Calls, the last value that they take, and the first that they do not.
ENDS = """
laplace_logpdf([0.0], {})  # 1e-150  # 9e-151
laplace_logpdf([0.0], {})  # 1e150  # 1.1e150
Hypercube.private({}, WholeRanking(5))  # 1e-100  # 9e-101
Hypercube.private({}, WholeRanking(5))  # 1e100  # 1.1e100
two_level_probabilities(4, 2, {})  # 0.0  # -5e-324
two_level_probabilities(4, 2, {})  # 0.5  # 0.6
two_level_probabilities(4, {}, 0.1)  # 3  # 4
two_level_probabilities(4, {}, 0.1)  # 1  # 0
edge_wins(RHO, p={}, rng=RNG)  # 1  # 1.0000000000000002
edge_wins(RHO, p={}, rng=RNG)  # 5e-324  # 0
gaussian_profile(1.0, 1.0, [{}])  # 0.0  # -5e-324
discrete_laplace_noise(1.0, {}, rng=RNG)  # 0  # 2**28 + 1
discrete_laplace_noise(1.0, {}, rng=RNG)  # (0, 2**30)  # (-1, 2)
discrete_laplace_noise(1.0, {}, rng=RNG)  # (2, 2)  # (2**14, 2**14 + 1)
clopper_pearson(1, {})  # 2**53  # 2**53 + 1
discrete_laplace_pmf({}, 1.0)  # [3.0]  # [3.0000000000000004]
win_counts([[0, {}], [0, 0]])  # 0  # -1
COUNTS.publish([[0, {}, 0], [0, 0, 0], [0, 0, 0]], rng=RNG)  # 2**53 // 9  # 2**53 // 9 + 1
ANSWERS.publish([[0, {}], [0, 0]], rng=RNG)  # 1  # 1.5
win_counts({})  # [[0, 1], [2, 0]]  # [[1, 1], [2, 0]]
win_counts({})  # [[0, 0], [0, 0]]  # [[0]]
win_counts({})  # [[[0, 1], [2, 0]]]  # [[0, 1]]
top_k_pmf({}, 1, scale=1)  # [0, 1]  # [0]
btl_probabilities({})  # [0, 1e300]  # [0, np.inf]
kendall_distance([0, 1], {})  # [1, 0]  # [1, 2]
kendall_distance({}, {})  # [1, 0]  # [0]
kendall_distance([0, 1], {})  # [1, 0]  # [1.0, 0.0]
"""


@pytest.mark.parametrize("line", ENDS.strip("\n").splitlines())
def test_a_range_ends_where_it_says(line):
    call, last, beyond = line.split("  # ")
    eval(call.replace("{}", last), NAMES | MADE)
    with pytest.raises(ValueError, match=r"allowed|asks for too much|has a non-zero diagonal"):
        eval(call.replace("{}", beyond), NAMES | MADE)


@pytest.mark.parametrize(("size", "shown"), [(78, "x" * 78 + "'"), (79, "x" * 76 + "...")])
def test_a_long_value_is_shown_in_part(size, shown):
    with pytest.raises(ValueError, match=rf"^ties = '{re.escape(shown)}: allowed is one of"):
        NAMES["Hypercube"](NAMES["WholeRanking"](3), 1.0, ties="x" * size)


def test_what_lies_within_the_limits_still_works():
    """The limits above are not so tight that they cost anything that could be computed."""
    assert mechanisms.gaussian_scale(1, 1, 1e-307) > 30
    assert np.isfinite(mechanisms.laplace_logpdf([0.0, 1e300], 1e150)).all()
    assert privacy.top_k_pmf(far(600), 1, scale=1).sum() == pytest.approx(1)
    assert privacy.ranking_pmf(far(600), scale=1).sum() == pytest.approx(1)
    assert privacy.top_k_pmf(far(5000), 1, scale=1, underflow="zero").max() == pytest.approx(1)
    # Where e^epsilon overflows nobody lies: no warning, which would be an error here.
    report = hypercube.hypercube_response(np.ones((3, 5)), 800.0, rng=NAMES["RNG"])
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
