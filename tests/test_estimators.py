"""Estimators against closed forms, against another optimiser, and one route against another."""

import math
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dpbook.data import Comparisons
from dpbook.estimators import _newton, ridge, ridge_mle, ridge_mle_complete, win_counts
from dpbook.estimators._complete import WinCounts
from dpbook.estimators._logistic import Matrices, Pairs
from dpbook.estimators.debiased import fit_scores
from dpbook.estimators.orders import ranks_from_scores, top_k_mask
from dpbook.models import LINKS, btl_probabilities, edge_wins

WINS = np.array([[0, 7, 9, 4], [3, 0, 6, 5], [1, 4, 0, 2], [2, 6, 8, 0]])


ROUTES = {
    "dense": Matrices,
    "sparse": ridge._pairs_of_matrix,
    "complete": lambda wins: WinCounts(wins.sum(axis=-1) * 1.0, float(wins[0, 1] + wins[1, 0])),
    "comparisons": ridge._pairs_of_comparisons,
}


def by_route(route, data, *, gamma, linear=None, tol=1e-8):
    """`ridge_mle` of one matrix, or of comparisons, by a given route."""
    data = data if route == "comparisons" else np.asarray(data)
    n = data.n_items if route == "comparisons" else len(data)
    linear = np.zeros(n) if linear is None else linear
    return ridge._fit(ROUTES[route](data), linear, gamma, tol)


def test_win_counts_of_both_kinds_of_data():
    data = Comparisons.from_win_matrix(WINS)
    assert win_counts(data).tolist() == [20, 14, 7, 16]
    assert win_counts(np.stack([WINS, WINS.T])).tolist() == [[20, 14, 7, 16], [6, 17, 23, 11]]


def test_chains_of_two_and_three_items_have_a_closed_form():
    fit = ridge_mle([[0, 30], [10, 0]], gamma=0)
    np.testing.assert_allclose(fit.theta, [np.log(3) / 2, -np.log(3) / 2], atol=1e-9)
    # Odds of a million to one, twice: near the edge, yet reached by wins both ways.
    far = ridge_mle([[0, 10**6, 0], [1, 0, 10**6], [0, 1, 0]], gamma=0).theta
    np.testing.assert_allclose(far, np.log(1e6) * np.array([1, 0, -1]), rtol=0, atol=1e-7)


class LogisticTanh:
    """The logistic law at x + tanh(x) / 4, by the chain rule; (e^x + e^-x)^-2 = tanh'(x) / 4."""

    @staticmethod
    def logcdf(x):
        return stats.logistic.logcdf(x + np.tanh(x) / 4)

    @staticmethod
    def logpdf(x):
        steeper = np.exp(-2 * np.logaddexp(x, -x))
        return stats.logistic.logpdf(x + np.tanh(x) / 4) + np.log1p(steeper)


LAWS = {
    "logistic": stats.logistic,
    "logistic_tanh": LogisticTanh,
    "probit": stats.norm,
    "cauchit": stats.cauchy,
    "student_t3": stats.t(3),
}


def pair_score(theta, wins, gamma, linear):
    """The score, written without the package's formulas: i's wins pull where j is ahead."""
    pull = np.asarray(wins) * special.expit(theta - theta[:, None])
    return gamma * theta + linear + pull.sum(axis=0) - pull.sum(axis=1)


def random_wins(n, p, seed, most=3):
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, most + 1, (n, n)) * (rng.random((n, n)) < p)
    np.fill_diagonal(wins, 0)
    return wins


def slack(fit, gamma, other=0.0):
    """Distance allowed between two points with certified residuals, by strong convexity."""
    n = fit.theta.shape[-1]
    return math.sqrt(n) * (float(np.max(fit.residual)) + other) / gamma * (1 + 1e-9)


@pytest.mark.parametrize("name", LINKS)
def test_derivatives_of_log_cdf_hold_out_to_the_tails(name):
    link, distribution = LINKS[name], LAWS[name]
    x = np.linspace(-30, 5, 71)
    slope = np.exp(distribution.logpdf(x) - distribution.logcdf(x))
    np.testing.assert_allclose(link.log_slope(x), slope, rtol=1e-10)
    h = 1e-4
    curvature = (link.log_slope(x - h) - link.log_slope(x + h)) / (2 * h)
    # Central differences of slopes up to 30, whose third derivatives stay below 3.
    np.testing.assert_allclose(link.log_curvature(x), curvature, rtol=0, atol=1e-7)
    far = np.array([-1e3, -1e6, -1e9, 1e3, 1e9])
    assert np.isfinite(link.log_slope(far)).all() and np.isfinite(link.log_curvature(far)).all()


@settings(max_examples=60)
@given(
    n=st.integers(2, 9),
    p=st.floats(0, 1),
    gamma=st.floats(1e-3, 10),
    size=st.sampled_from([0.0, 1.0, 10.0, 100.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_routes_agree_within_the_certified_bound(n, p, gamma, size, seed):
    wins = random_wins(n, p, seed)
    linear = size * np.random.default_rng(seed).laplace(size=n)
    fits = [by_route(m, wins, gamma=gamma, linear=linear) for m in ("dense", "sparse")]
    fits.append(ridge_mle(wins, gamma=gamma, linear=linear))
    for fit in fits:
        own = np.abs(pair_score(fit.theta, wins, gamma, linear)).max()
        # Rounding: a few units of the largest term.
        assert own <= 1e-8 + 1e-14 * (size * 100 + wins.sum())
        between = slack(fit, gamma) + slack(fits[0], gamma)
        np.testing.assert_allclose(fit.theta, fits[0].theta, rtol=1e-12, atol=between)


@settings(max_examples=40)
@given(
    n=st.integers(2, 40),
    per_pair=st.sampled_from([1, 2.5, 40]),
    gamma=st.floats(1e-3, 10),
    size=st.sampled_from([0.0, 1.0, 30.0, 300.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_complete_graph_agrees_with_the_dense_route(n, per_pair, gamma, size, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * per_pair, 1)
    wins = upper + np.tril((per_pair - upper.T), -1)
    linear = size * rng.laplace(size=n)
    low_rank = ridge_mle_complete(wins.sum(axis=1), per_pair=per_pair, gamma=gamma, linear=linear)
    dense = by_route("dense", wins, gamma=gamma, linear=linear)
    between = slack(low_rank, gamma) + slack(dense, gamma)
    np.testing.assert_allclose(low_rank.theta, dense.theta, rtol=1e-12, atol=between)


@pytest.mark.parametrize("spread", [1e5, 3e5])
def test_complete_graph_with_many_answers_and_a_tiny_ridge(spread):
    # The ridge is the eigenvalue of the constants, far below the truncation of the Hessian.
    noise = np.random.default_rng(15).normal(0, spread, (40, 10))
    noise -= noise.mean(axis=1, keepdims=True)
    wins = np.full(10, 3e5 * 9 / 2)
    fit = ridge_mle_complete(wins, per_pair=3e5, gamma=1.0, linear=noise, tol=3e-6)
    assert fit.iterations < 10
    assert np.abs(fit.theta.sum(axis=1)).max() < 1e-4
    shifted = ridge_mle_complete(wins, per_pair=3e5, gamma=1.0, linear=noise + 7.0, tol=3e-6)
    assert np.allclose(shifted.theta, fit.theta - 7.0, atol=1e-5)


def test_plain_estimates_of_all_routes_agree():
    rng = np.random.default_rng(8)
    rho = btl_probabilities(rng.uniform(-1, 1, 30))
    every, some = edge_wins(rho, rng=rng)[0], edge_wins(rho, p=0.6, rng=rng)[0]
    for wins, methods in ((every, ("complete", "dense", "sparse")), (some, ("dense", "sparse"))):
        fits = [by_route(m, wins, gamma=0) for m in methods]
        for fit in fits:
            assert np.abs(pair_score(fit.theta, wins, 0, np.zeros(30))).max() <= 1.1e-8
            assert abs(fit.theta.sum()) < 1e-10
            # Curvature at least (weights at these strengths) x (connectivity): above 0.1.
            np.testing.assert_allclose(fit.theta, fits[0].theta, rtol=0, atol=2e-7)


def test_the_route_suits_the_data():
    rng = np.random.default_rng(2)
    every = Comparisons.from_win_matrix(edge_wins(np.full((150, 150), 0.5), rng=rng)[0])
    thin = Comparisons.from_win_matrix(edge_wins(np.full((150, 150), 0.5), p=0.1, rng=rng)[0])
    assert isinstance(ridge._from_comparisons(every), WinCounts)
    assert isinstance(ridge._from_comparisons(thin), Pairs)
    assert isinstance(ridge._from_matrices(thin.win_matrix()), Pairs)
    assert isinstance(ridge._from_matrices(WINS), Matrices)


def test_one_wide_replicate_does_not_spoil_its_block():
    rng = np.random.default_rng(12)
    wins = edge_wins(btl_probabilities(rng.uniform(-1, 1, 10)), size=4, rng=rng).sum(axis=-1)
    linear = np.zeros((4, 10))
    linear[2, :2] = 900, -900
    fit = ridge_mle_complete(wins, gamma=0.5, linear=linear)
    assert np.ptp(fit.theta[2]) > 3000 and (fit.residual <= 1e-8).all()


@pytest.mark.parametrize("method", ["dense", "sparse"])
def test_strengths_beyond_the_range_of_exp(method):
    wins, linear = random_wins(8, 0.6, 9), np.linspace(-1, 1, 8) ** 3
    with np.errstate(all="raise", under="ignore"):
        fit = by_route(method, wins, gamma=0.01, linear=3000 * linear)
    assert np.ptp(fit.theta) > 2e5
    # Every comparison is decided by then: expected wins are 0 or 1 each.
    order = np.argsort(-fit.theta)
    totals = (wins + wins.T)[np.ix_(order, order)]
    sure = np.triu(totals).sum(axis=1)
    exact = (wins.sum(axis=1)[order] - 3000 * linear[order] - sure) / 0.01
    np.testing.assert_allclose(fit.theta[order], exact, rtol=1e-12, atol=slack(fit, 0.01))


@pytest.mark.parametrize("method", ["dense", "sparse", "complete"])
def test_the_residual_returned_is_that_of_the_returned_theta(method):
    wins = edge_wins(np.full((12, 12), 0.5), rng=np.random.default_rng(3))[0]
    for tol in (1e-2, 1e-5, 1e-8):
        fit = by_route(method, wins, gamma=0.2, tol=tol, linear=np.arange(12.0))
        own = np.abs(pair_score(fit.theta, wins, 0.2, np.arange(12.0))).max()
        assert float(fit.residual) == pytest.approx(own, rel=1e-6, abs=1e-12)
        assert fit.residual <= tol


@pytest.mark.parametrize("method", ["dense", "sparse"])
@pytest.mark.parametrize("apart", ["two pairs", "one always ahead", "one never compared"])
def test_plain_estimates_that_do_not_exist_are_refused(apart, method):
    wins = {
        "two pairs": np.kron(np.eye(2, dtype=int), [[0, 1], [1, 0]]),
        "one always ahead": [[0, 2, 2], [0, 0, 1], [0, 1, 0]],
        "one never compared": [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
    }[apart]
    with pytest.raises(ValueError, match=r"gamma = 0 with wins that split the items into 2 groups"):
        by_route(method, wins, gamma=0)
    assert by_route(method, wins, gamma=0.01).residual <= 1e-8


def test_large_sparse_data_never_form_a_matrix():
    n = 40_000  # a matrix of bytes would take 1.6 GB
    rng = np.random.default_rng(1)
    first = rng.integers(0, n, 5 * n)
    data = Comparisons(n, first, (first + rng.integers(1, n, first.size)) % n)
    tracemalloc.start()
    fit = ridge_mle(data, gamma=0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fit.residual <= 1e-8 and peak < 1e8
    assert win_counts(data).sum() == 5 * n


def test_ranks_and_sets():
    assert ranks_from_scores([3.0, 9.0, 3.0, 5.0]).tolist() == [2, 0, 3, 1]
    assert top_k_mask([[3.0, 9.0, 3.0, 5.0]], 2).tolist() == [[False, True, False, True]]


def test_ties_are_broken_fairly_with_a_generator():
    first = top_k_mask(np.zeros((20_000, 4)), 1, rng=np.random.default_rng(5)).mean(axis=0)
    # Four standard errors of a frequency of 1/4.
    np.testing.assert_allclose(first, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 20_000))
    assert top_k_mask(np.zeros(4), 1).tolist() == [True, False, False, False]


@pytest.mark.parametrize("method", ["dense", "sparse", "complete"])
def test_a_fit_that_is_nearly_right_is_refused(method, monkeypatch):
    """However many steps are allowed: either the residual is at most tol or there is no fit."""
    rng = np.random.default_rng(3)
    wins = np.triu(rng.integers(0, 6, (8, 8)), 1)
    wins += np.tril(5 - wins.T, -1)  # five answers to each pair
    residuals = []
    for steps in range(1, 9):
        monkeypatch.setattr(_newton, "STEP_LIMIT", steps)
        try:
            fit = by_route(method, wins, gamma=0.05, linear=3 * np.linspace(-1, 1, 8))
        except RuntimeError as error:
            residuals.append(float(re.search(r"residual of (\S+) > tol", str(error))[1]))
        else:
            assert fit.residual <= 1e-8
    assert any(1e-8 < residual < 1e-2 for residual in residuals) and len(residuals) < 8


@pytest.mark.parametrize("dtype", [bool, np.uint8])
@pytest.mark.parametrize("route", ["dense", "sparse"])
def test_short_types_do_not_wrap(route, dtype):
    """Each of two items beat the other: twice one win, or twice 200, more than a byte holds."""
    wins = np.array([[0, 200, 0], [200, 0, 200], [0, 1, 0]]).astype(dtype)
    fits = [by_route(route, table, gamma=1.0) for table in (wins, wins.astype(float))]
    np.testing.assert_allclose(fits[0].theta, fits[1].theta, atol=1e-9)


@pytest.mark.parametrize("n", [1000, 3000])
def test_wins_in_a_long_circle_join_all_items_and_without_one_of_them_they_do_not(n: int) -> None:
    # no item reaches the others in a few steps, so the groups are counted
    circle = np.arange(n), np.roll(np.arange(n), -1)
    fit = ridge_mle(Comparisons(n, winner=circle[0], loser=circle[1]), gamma=0)
    assert np.abs(fit.theta).max() < 1e-9
    with pytest.raises(ValueError, match=f"split the items into {n} groups"):
        ridge_mle(Comparisons(n, winner=circle[0][1:], loser=circle[1][1:]), gamma=0)


def test_a_repeated_pair_in_the_place_of_a_missing_one():
    """As many comparisons as pairs, but not one of each."""
    winner, loser = np.array([0, 0, 1, 2, 3, 0]), np.array([1, 1, 2, 3, 0, 2])
    data = Comparisons(4, winner, loser)
    wins = np.zeros((4, 4))
    np.add.at(wins, (winner, loser), 1)
    theta = ridge_mle(data, gamma=0.5).theta
    assert np.abs(pair_score(theta, wins, 0.5, np.zeros(4))).max() < 1e-7
    assert theta[1] != pytest.approx(theta[2], abs=1e-3)  # one win each; only their rivals differ


def test_a_linear_term_at_the_edge_of_what_has_a_minimiser():
    """Two items, one win each: 2 F(gap) = 1 - linear has no root at 1, though nearly one."""
    wins, tol = np.array([[0, 1], [1, 0]]), 1e-4  # reached where there is no minimiser, too
    theta = ridge_mle(wins, gamma=0, linear=[0.9, -0.9], tol=tol).theta
    gap = pytest.approx(math.log(0.05 / 0.95), abs=tol / 0.09)  # 2 F' = 0.095
    assert theta[0] - theta[1] == gap
    with pytest.raises(ValueError, match="no minimiser could be certified"):
        ridge_mle(wins, gamma=0, linear=[1.0, -1.0], tol=tol)


@pytest.mark.parametrize("length", [0.5, 1.0, 2.5, 4.0, 5.5])
def test_a_step_that_is_too_long_is_shortened_until_the_objective_falls(length):
    curvature = np.array([1.0, 3.0])

    class Quadratic:
        def score(self, theta):
            return curvature * theta

        def direction(self, score, tol):
            raise NotImplementedError

    start = np.array([1.0, -2.0])
    end, score = _newton._advance(Quadratic(), start, -length * start, curvature * start, 1e-9)
    assert curvature @ end**2 < curvature @ start**2
    assert (score == curvature * end).all()


@pytest.mark.parametrize("n", [6, 16, 17])
def test_a_batch_is_fitted_as_its_tables_are_one_by_one(n):
    rng = np.random.default_rng(n)
    wins, noise = rng.integers(0, 4, (5, n, n)) * (1 - np.eye(n)), rng.laplace(size=(5, n))
    batch = ridge_mle(wins, gamma=0.5, linear=noise).theta
    alone = [ridge_mle(w, gamma=0.5, linear=z).theta for w, z in zip(wins, noise, strict=True)]
    # Both are within sqrt(n) tol / gamma of the minimiser.
    np.testing.assert_allclose(batch, alone, rtol=0, atol=2 * np.sqrt(n) * 1e-8 / 0.5)
    assert np.abs(batch - alone[::-1]).max() > 0.1  # of other tables


def test_a_constant_added_to_all_scores_is_no_information():
    """Strengths are differences: what rounding, or an offset, leaves of a mean must not count."""
    score = np.array([1.5, 0.25, -0.5, -1.25])
    fit, moved = (fit_scores(score + offset, 4.0, gamma=0.5) for offset in (0.0, 0.125))
    assert (fit.theta == moved.theta).all()
    assert abs(fit.theta.sum()) < 1e-12
    # the control: the scores matter otherwise
    assert np.abs(fit_scores(score[::-1], 4.0, gamma=0.5).theta - fit.theta).max() > 0.1
