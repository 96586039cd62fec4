"""Numbers with proved bounds: against another library, and against the program that checks them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import e, factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_cells import made_by

from dpbook.pages import ldp_kwiksort, trusted_curator, which_ranker, your_own_data
from dpbook.privacy.balls import Ball, _new, _steps, exp, largest, log, root, sqrt
from tests.test_verifier import asked, ends_of

TOOLS = {"Ball": Ball, "Fraction": Fraction, "exp": exp, "log": log, "sqrt": sqrt}
MLE, ATTACK = "06-perturbed-mle-privacy", "14-score-attack"
#: What the pages enclose, by the claim that reports it.
PAGES = {
    "BOOK-EXACT-DRAW": your_own_data.law_balls,
    "BOOK-EQUAL-PRIVACY": which_ranker.described_balls,
    "BOOK-THREE-GAMES": which_ranker.flipped_balls,
    "CCW25-A0A1A2": made_by(MLE, "curvature-balls", **TOOLS)["curvature_balls"],
    "CCW25-P2.1": made_by(MLE, "exchange-balls", **TOOLS)["exchange_balls"],
    "CCW25-P2.4": made_by(ATTACK, "prior-balls", **TOOLS)["prior_balls"],
    "YLL-DPKS": trusted_curator.described_balls,
    "YLL-KSTAR": ldp_kwiksort.best_number_balls,
}
small = st.fractions(-20, 20, max_denominator=50)


def with_arb(steps, **ends):
    """The steps of a certificate, by another library with its own rounding."""
    flint = pytest.importorskip("flint")
    flint.ctx.prec, found = 200, []
    operations = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": lambda a, b: a / b,
        "exp": lambda a: a.exp(),
        "ln": lambda a: a.log(),
    }
    for name, *ranks in steps:
        arguments = [found[at] for at in ranks]
        found.append(operations[name](*arguments) if ranks else flint.arb(ends.get(name, name)))
    return found[-1]


def meets(ball, other):
    """Whether two enclosures of one number have a number in common."""
    flint = pytest.importorskip("flint")
    low, high = (flint.arb(str(end)) for end in (ball.low, ball.high))
    return not (other < low or other > high)


@given(small, small, st.integers(0, 5))
def test_bounds_contain_what_another_library_finds(a, b, n):
    x, y = Ball(a), Ball(b)
    found = [x + y, x - y, x * y, -x, x**n, exp(x) * 2 - y, log(1 + exp(x / 3)), sqrt(exp(y))]
    for ball in found if b == 0 else [*found, x / y]:
        assert meets(ball, with_arb(_steps(ball)))
    assert all(ball.high - ball.low <= abs(ball.high) / 10**36 for ball in (x, x * y, exp(x)))


def test_bounds_move_outward():
    """What has no end among decimal numbers lies strictly between its bounds."""
    third, euler = Ball(1) / 3, exp(Ball(1))
    assert Fraction(third.low) < Fraction(1, 3) < Fraction(third.high)
    terms = sum(Fraction(1, factorial(k)) for k in range(60))
    assert Fraction(euler.low) < terms < Fraction(euler.high)


def test_a_root_is_enclosed():
    golden = root(lambda x: x * x - x - 1, Fraction(1), Fraction(2))
    low, high = Fraction(golden.low), Fraction(golden.high)
    assert low**2 - low < 1 < high**2 - high and high - low < Fraction(1, 10**37)
    with pytest.raises(ValueError, match="opposite signs"):
        root(lambda x: x * x + 1, Fraction(1), Fraction(2))
    with pytest.raises(ValueError, match="computed from a root"):
        (golden + 1).certificate()


wide = st.tuples(small, st.fractions(0, 3, max_denominator=50))


@settings(max_examples=40)
@given(wide, wide, st.integers(0, 4))
def test_bounds_contain_what_any_numbers_within_them_give(x, y, n):
    """Of numbers of which only bounds are known, and hardly more than the ends lead to."""
    ends = [(middle - reach, middle + reach) for middle, reach in (x, y)]
    one, other = (hull(Ball(low), Ball(high)) for low, high in ends)
    pairs = list(product(*ends))
    found = [(one + other, [a + b for a, b in pairs]), (one - other, [a - b for a, b in pairs])]
    found += [(one * other, [a * b for a, b in pairs]), (-one, [-a for a in ends[0]])]
    if not ends[1][0] <= 0 <= ends[1][1]:
        found.append((one / other, [a / b for a, b in pairs]))
    for ball, numbers in found:
        near = Fraction(max(map(abs, numbers)) + 1, 10**36)
        assert min(numbers) - near < Fraction(ball.low) <= min(numbers)
        assert max(numbers) <= Fraction(ball.high) < max(numbers) + near
    assert all(Fraction((one**n).low) <= a**n <= Fraction((one**n).high) for a in ends[0])


def hull(one, other):
    """A ball that holds two others."""
    return _new(("wide",), min(one.low, other.low), max(one.high, other.high))


@settings(max_examples=25)
@given(small, st.fractions(0, 1, max_denominator=99), st.sampled_from([1, -3]))
def test_an_enclosed_root_holds_all_roots_of_a_function_that_is_not_sharp(at, reach, slope):
    """The function is known within bounds: each end has to be certain of its sign."""
    blur = hull(Ball(-reach), Ball(reach))
    ends = at - 8, at + 9
    found = root(lambda x: slope * (x - at + blur), *ends)
    low, high = Fraction(found.low), Fraction(found.high)
    assert low <= at - reach and at + reach <= high
    if not reach and at:
        assert high - low < Fraction(1, 10**37)
    with pytest.raises(ValueError, match="allowed are a smaller and a larger end, of opposite"):
        root(lambda x: x - at, *ends[::-1])
    with pytest.raises(ValueError, match="of opposite signs"):  # one of them is not certain
        root(lambda x: x - at + hull(Ball(-99), Ball(99)), *ends)


def test_digits_that_one_end_alone_does_not_share_are_refused():
    for low, high in (
        ("1.0000000000047", "1.0000000000052"),  # rounded to 1, up to ...005
        ("2.9999999999948", "2.9999999999953"),  # rounded to 3, from ...995 on
    ):
        ball = _new(("wide",), Decimal(low), Decimal(high))
        with pytest.raises(ValueError, match="digits = 12: allowed are fewer"):
            ball.certificate()


def test_bad_input():
    for call, words in (
        (lambda: Ball(0.5), r"value = 0\.5"),
        (lambda: 1 / (exp(Ball(1)) - exp(Ball(1))), "may be zero"),
        (lambda: log(Ball(0)), "certainly positive"),
        (lambda: _new(("wide",), Decimal(2), Decimal(3)).certificate(), "digits = 12: .* fewer"),
        (lambda: largest([Ball(1), exp(Ball(0))]), "one that is above all others"),
        (lambda: largest([Ball(1), Ball(1)]), "one that is above all others"),
        (lambda: Ball(2) ** -1, "times = -1"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("claim", PAGES)
def test_the_balls_of_the_pages_are_those_of_another_library(claim):
    flint = pytest.importorskip("flint")
    for ball in PAGES[claim]().values():
        kept = ball.certificate()
        low, high = ends_of(kept)
        found = with_arb(kept["steps"], low=low, high=high)
        assert found < 0 if kept["root"] else flint.arb(low) < found < flint.arb(high)
        # and the number whose last digit is another one is outside
        assert Decimal(kept["centre"]) + 2 * Decimal(kept["radius"]) > Decimal(high)


def test_the_prior_of_the_score_attack_by_rigorous_integration():
    """The integral that is split at the kink is in the ball; one that is not, is not."""
    flint = pytest.importorskip("flint")
    balls = {name: ends_of(b.certificate()) for name, b in PAGES["CCW25-P2.4"]().items()}

    def integral(f, a, b):
        return flint.acb.integral(lambda t, _: f(t), a, b).real

    def inside(value, name):
        low, high = map(flint.arb, balls[name])
        return low < value < high

    def pull(t):
        return flint.arb(15) / 4 * t * (1 - t * t)

    assert inside(integral(pull, 0, 1) - integral(pull, -1, 0), "prior_E_abs_score")
    assert not inside(integral(pull, -1, 1), "prior_E_abs_score")
    assert inside(integral(lambda t: pull(t) * t, -1, 1), "prior_E_minus_theta_score")


def test_a_ball_is_checked_again(tmp_path):
    balls = {"one": exp(Ball(1)) / 3}
    balls["two"] = root(lambda x: x * x - x - 1, Fraction(1), Fraction(2))
    numbers = {name: ball.certificate() for name, ball in balls.items()}
    how = {"evidence": "exact", "report": {"one": e / 3, "two": (1 + 5**0.5) / 2}}
    cases = {"ONE": ("", {"kind": "balls", "numbers": numbers}, how)}
    assert asked(tmp_path, cases) == (0, {})
