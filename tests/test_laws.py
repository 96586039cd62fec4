"""Exact distributions of noisy sorts, against integrals and lattice sums written independently."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from dpbook.models import all_rankings
from dpbook.privacy import ranking_pmf, sets_of, top_k_pmf
from dpbook.privacy._cells import NODES

NOISES = ("laplace", "discrete_laplace")
# All comparisons say abs=0: the claims are about relative errors, and `pytest.approx` would also
# pass whatever lies within 1e-12 of the expected number, so that every small probability would do.


def law_error_bound(n: int, *, cells: int = 16) -> float:
    """Bound on the relative error of the entries of `top_k_pmf` and `ranking_pmf`.

    The line of scores is cut into ``cells``: about the range of the scores in scales plus n
    for Laplace noise, the range of the counts plus 1 for discrete noise.

    Two parts. *Quadrature* (set law, Laplace noise): on a cell of half-width r <= 1/2 scales the
    integrand f is a product of n functions ``exp(z) / 2`` or ``1 - exp(-z) / 2``, so that
    ``abs(f(z)) <= 3^n exp(n abs(z - x)) f(x)`` for real x in the cell. Inside the Bernstein
    ellipse with parameter rho, ``abs(z - x) <= r ((rho + 1/rho) / 2 + 1)``, and Gauss-Legendre
    with q nodes errs relatively by at most ``(32/15) M rho^(-2(q - 1)) / (1 - rho^-2)`` with M
    that growth factor (Trefethen, Approximation Theory and Approximation Practice, Theorem
    19.3); the bound is minimised over rho. *Rounding*: only positive numbers are multiplied and
    added, at most 400 + 4 n operations per cell, each with a relative error of one rounding unit.
    """
    quadrature = min(
        (32 / 15)
        * 3.0**n
        * math.exp(min(700.0, n * 0.5 * ((rho + 1 / rho) / 2 + 1)))
        * rho ** (-2.0 * (NODES - 1))
        / (1 - rho**-2)
        for rho in np.linspace(1.5, 60, 400)
    )
    return float(quadrature + cells * (400 + 4 * n) * np.finfo(float).eps / 2)


def orders_of(n):
    """The order, best item first, of every ranking of a distribution."""
    return np.argsort(all_rankings(n), axis=1)


def density(x: float) -> float:
    return 0.5 * math.exp(-abs(x))


def below(x: float) -> float:
    return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)


def integrate(f, corners, low=-math.inf, high=math.inf) -> float:
    """Integral of f over (low, high), cut at the corners; relative accuracy, no absolute one."""
    cuts = [low, *sorted({c for c in corners if low < c < high}), high]
    return sum(quad(f, a, b, epsabs=0, epsrel=1e-11, limit=200)[0] for a, b in pairwise(cuts))


def laplace_ranking(order, scores, scale) -> float:
    """P(noisy scores come in this order) for 2 to 4 items, by quadrature over the middle items."""
    z = [scores[i] / scale for i in order]
    if len(z) == 2:
        return integrate(lambda t: density(t - z[0]) * below(t - z[1]), z)
    if len(z) == 3:
        return integrate(lambda t: below(z[0] - t) * density(t - z[1]) * below(t - z[2]), z)

    def upper(s: float) -> float:
        inner = integrate(lambda t: density(t - z[2]) * below(t - z[3]), z, high=s)
        return below(z[0] - s) * density(s - z[1]) * inner

    return integrate(upper, z)


def laplace_winner(item, scores, scale) -> float:
    z = [s / scale for s in scores]

    rest = [*z[:item], *z[item + 1 :]]
    return integrate(lambda t: density(t - z[item]) * math.prod(below(t - x) for x in rest), z)


def lattice(scores, scale):
    """All points of a box of noisy scores with their probabilities."""
    n, reach = len(scores), math.ceil(33 * scale)  # beyond lies a mass of e^-33
    axis = np.arange(min(scores) - reach, max(scores) + reach + 1)
    weight = np.exp(-np.abs(np.arange(-3000, 3001)) / scale).sum()
    marginals = [np.exp(-np.abs(axis - s) / scale) / weight for s in scores]
    points = np.stack(np.meshgrid(*[axis] * n, indexing="ij"), axis=-1).reshape(-1, n)
    mass = marginals[0]
    for other in marginals[1:]:
        mass = np.multiply.outer(mass, other)
    return points, mass.ravel()


def lattice_rankings(scores, scale):
    """Distribution of the ranking; a tie is shared equally among the orders that agree with it."""
    points, mass = lattice(scores, scale)
    orders = [tuple(order) for order in orders_of(len(scores)).tolist()]
    agree = np.array([(np.diff(points[:, order], axis=1) <= 0).all(axis=1) for order in orders])
    return (agree * (mass / agree.sum(axis=0))).sum(axis=1)


def lattice_sets(scores, k, scale):
    points, mass = lattice(scores, scale)
    least = [points[:, s].min(axis=1) for s in combinations(range(len(scores)), k)]
    rest = [points[:, s].max(axis=1) for s in combinations(range(len(scores)), len(scores) - k)]
    agree = np.array(least) >= np.array(rest[::-1])  # the sets and what they leave, in order
    return (agree * (mass / agree.sum(axis=0))).sum(axis=1)


def test_outcomes_are_listed_in_lexicographic_order():
    assert sets_of(4, 2).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert all_rankings(3).tolist() == [list(ranks) for ranks in permutations(range(3))]
    assert sets_of(5, 4).shape == (5, 4) and all_rankings(7).shape == (5040, 7)


@pytest.mark.parametrize("gap", [0.0, 1e-3, 0.7, 1.0, 2.0, 25.0])
@pytest.mark.parametrize("scale", [0.5, 1.0, 6.0])
def test_two_items_have_the_textbook_probability(gap, scale):
    x = gap / scale
    behind = math.exp(-x) * (1 + x / 2) / 2
    expected = pytest.approx([1 - behind, behind], rel=1e-12, abs=0)
    assert top_k_pmf([3 + gap, 3.0], 1, scale=scale) == expected
    assert ranking_pmf([3 + gap, 3.0], scale=scale) == expected


THREE = ((2, 1, 0), 1.0), ((1, 1, 1), 2.0), ((5, 0, 4), 0.6), ((0.3, 2.7, 1), 3)


@pytest.mark.parametrize(("scores", "scale"), THREE)
def test_three_items_with_laplace_noise_match_quadrature(scores, scale):
    distribution = ranking_pmf(scores, scale=scale)
    expected = [laplace_ranking(order, scores, scale) for order in orders_of(3)]
    assert distribution == pytest.approx(expected, rel=1e-9, abs=0)
    winners = [laplace_winner(i, scores, scale) for i in range(3)]
    assert top_k_pmf(scores, 1, scale=scale) == pytest.approx(winners, rel=1e-9, abs=0)
    # the set of the best two leaves out the last: the winner of the negated scores
    losers = [laplace_winner(i, [-s for s in scores], scale) for i in (2, 1, 0)]
    assert top_k_pmf(scores, 2, scale=scale) == pytest.approx(losers, rel=1e-9, abs=0)
    # the same comparison notices half the noise, where the scores are not all the same
    half = ranking_pmf(scores, scale=scale / 2)
    assert half != pytest.approx(expected, rel=1e-3) or len(set(scores)) == 1


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_four_items_with_laplace_noise_match_nested_quadrature(order):
    scores, scale = (3, 2, 1, 0), 1.5
    at = orders_of(4).tolist().index(list(order))
    expected = laplace_ranking(order, scores, scale)
    assert ranking_pmf(scores, scale=scale)[at] == pytest.approx(expected, rel=1e-8, abs=0)


@pytest.mark.parametrize(
    ("scores", "scale"),
    [((1, 0), 2.0), ((2, 2), 0.5), ((2, 1, 0), 1.0), ((1, 1, 1), 0.7), ((4, 0, 0), 1.2)],
)
def test_discrete_noise_with_fair_ties_matches_the_lattice_sum(scores, scale):
    distribution = ranking_pmf(scores, scale=scale, noise="discrete_laplace")
    assert distribution == pytest.approx(lattice_rankings(scores, scale), rel=1e-10, abs=0)
    for k in range(1, len(scores)):
        distribution = top_k_pmf(scores, k, scale=scale, noise="discrete_laplace")
        assert distribution == pytest.approx(lattice_sets(scores, k, scale), rel=1e-10, abs=0)


@st.composite
def settings_of_a_sort(draw):
    n = draw(st.integers(2, 5))
    scores = draw(st.lists(st.integers(-6, 12), min_size=n, max_size=n))
    scale = draw(st.floats(0.4, 15))
    return np.array(scores), scale, draw(st.sampled_from(NOISES))


@settings(max_examples=60)
@given(settings_of_a_sort(), st.randoms(use_true_random=False))
def test_laws_are_laws_and_agree_with_each_other(case, random):
    scores, scale, noise = case
    n = scores.size
    rankings = orders_of(n)
    distribution = ranking_pmf(scores, scale=scale, noise=noise)
    assert distribution.min() > 0
    assert distribution.sum() == pytest.approx(1, rel=1e-12, abs=0)
    for k in range(1, n):
        sets = [tuple(sorted(order)) for order in rankings[:, :k].tolist()]
        listed = map(tuple, sets_of(n, k).tolist())
        marginal = [distribution[[s == members for s in sets]].sum() for members in listed]
        found = top_k_pmf(scores, k, scale=scale, noise=noise)
        assert found == pytest.approx(marginal, rel=2 * law_error_bound(n), abs=0)
    # renaming the items renames the rankings; adding a constant changes nothing
    names = list(range(n))
    random.shuffle(names)
    at = {tuple(order): i for i, order in enumerate(rankings.tolist())}
    renamed = [at[tuple(names.index(i) for i in order)] for order in rankings.tolist()]
    moved = ranking_pmf(scores[names] + 17, scale=scale, noise=noise)
    assert moved[renamed] == pytest.approx(distribution, rel=1e-10, abs=0)
    # turning the scores round reverses the rankings round
    backwards = [at[tuple(order[::-1])] for order in rankings.tolist()]
    turned = ranking_pmf(-scores, scale=scale, noise=noise)
    assert turned[backwards] == pytest.approx(distribution, rel=1e-10, abs=0)


@pytest.mark.parametrize("noise", NOISES)
def test_seven_items(noise):
    scores = [6, 5, 4, 3, 2, 1, 0]
    distribution = ranking_pmf(scores, scale=2.0, noise=noise)
    ends = distribution.size, distribution.argmax(), distribution.argmin()
    assert ends == (5040, 0, 5039)
    assert distribution.sum() == pytest.approx(1, rel=1e-12, abs=0)
    first_three = np.sort(orders_of(7)[:, :3], axis=1) @ [49, 7, 1]
    marginal = [distribution[first_three == code].sum() for code in sets_of(7, 3) @ [49, 7, 1]]
    found = top_k_pmf(scores, 3, scale=2.0, noise=noise)
    assert law_error_bound(7) < 1e-11
    assert found == pytest.approx(marginal, rel=law_error_bound(7), abs=0)


@pytest.mark.parametrize("x", [50, 300, 600])
def test_tiny_probabilities_keep_their_relative_accuracy(x):
    behind = math.exp(-x) * (1 + x / 2) / 2
    assert top_k_pmf([x, 0], 1, scale=1.0)[1] == pytest.approx(behind, rel=1e-12, abs=0)
    assert ranking_pmf([x, 0], scale=1.0)[1] == pytest.approx(behind, rel=1e-12, abs=0)
    # discrete: the difference of two noises is at least x, a tie at exactly x counted half
    z = math.exp(-1)
    chance = lambda m: ((1 - z) / (1 + z)) ** 2 * z**m * (m + 1 + 2 * z**2 / (1 - z**2))  # noqa: E731
    tie, *above = map(chance, range(x, x + 80))
    expected, how = sum(above) + tie / 2, {"scale": 1.0, "noise": "discrete_laplace"}
    assert top_k_pmf([x, 0], 1, **how)[1] == pytest.approx(expected, rel=1e-11, abs=0)
    assert ranking_pmf([x, 0], **how)[1] == pytest.approx(expected, rel=1e-11, abs=0)


def test_the_least_likely_of_six_rankings_is_right_at_1e_minus_70():
    scores, scale = (160, 80, 0), 1.0
    distribution = ranking_pmf(scores, scale=scale)
    assert distribution[5] < 1e-68
    # The middle item has to stay near its place; outside, the integrand is smaller by e^-60.
    z = [0.0, 80.0, 160.0]
    middle = lambda t: below(z[0] - t) * density(t - z[1]) * below(t - z[2])  # noqa: E731
    expected = integrate(middle, z, low=-60, high=220)
    assert distribution[5] == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("noise", NOISES)
def test_probabilities_too_small_for_a_float_are_refused_unless_asked_for(noise):
    for call in (
        lambda **kw: top_k_pmf([2000, 0], 1, scale=1.0, noise=noise, **kw),
        lambda **kw: ranking_pmf([2000, 0], scale=1.0, noise=noise, **kw),
    ):
        with pytest.raises(ValueError, match=r"scale = 1\.0 .*underflow='zero'"):
            call()
        assert call(underflow="zero") == pytest.approx([1, 0], abs=1e-15)
        with pytest.raises(ValueError, match="underflow = 'ignore'"):
            call(underflow="ignore")
