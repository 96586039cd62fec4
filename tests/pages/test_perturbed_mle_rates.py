"""Error parts and leave-one-out paths against direct computation."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit

from dpbook.book import figures
from dpbook.models import btl_probabilities, edge_wins
from dpbook.pages.perturbed_mle_rates import (
    KAPPA_LITERAL,
    bound,
    draw_twin,
    edge_mle,
    edge_study,
    error_parts,
    far_end,
    l2,
    leave_one_out_path,
    log_outnumbered,
    log_slopes,
    raw_squares,
    ridge_of,
    strengths,
    sup,
)
from dpbook.privacy import Edge
from dpbook.rankers import PerturbedMle

RANKER = PerturbedMle(Edge(7), 0.8, 1.3)
N, P, GAMMA = 7, 0.6, 1.3


TRUTH = np.linspace(-1, 1, N)


EXPECTED = P * np.where(np.eye(N, dtype=bool), 0, btl_probabilities(TRUTH))


def objective(theta, wins, gamma, linear):
    gap = theta[:, None] - theta
    return (wins * np.logaddexp(0, -gap)).sum() + gamma / 2 * theta @ theta + linear @ theta


def sample(seed, size=3):
    rng = np.random.default_rng(seed)
    wins = edge_wins(btl_probabilities(TRUTH), p=P, size=size, rng=rng)
    return wins, RANKER.noise(size, rng=rng)


def test_parts_add_up_and_match_a_general_minimiser():
    wins, z = sample(1)
    noise = RANKER.scale * z
    parts = error_parts(RANKER, TRUTH, wins, EXPECTED, z)
    zero = np.zeros(N)

    def fit(table, linear):
        options = {"gtol": 1e-9}
        return minimize(objective, zero, args=(table, GAMMA, linear), options=options).x

    np.testing.assert_allclose(parts.bias, fit(EXPECTED, zero) - TRUTH, atol=1e-5)
    for r in range(3):
        np.testing.assert_allclose(parts.total[r], fit(wins[r], noise[r]) - TRUTH, atol=1e-5)
        gap = fit(wins[r], noise[r]) - fit(wins[r], zero)
        np.testing.assert_allclose(parts.noise[r], gap, atol=1e-5)


def test_leave_one_out_path_against_gradients_by_hand():
    wins, z = sample(5, size=1)
    wins, noise, step = wins[0].astype(float), RANKER.scale * z[0], 0.05
    path = leave_one_out_path(RANKER, TRUTH, wins, z[0], steps=2, weight=P, step=step)

    def descend(table):  # expected wins enter as fractional wins
        x = TRUTH.copy()
        for _ in range(2):
            slope = ((table + table.T) * expit(x[:, None] - x)).sum(1) - table.sum(1)
            x = x - step * (slope + GAMMA * x + noise)
        return x

    full, twins = descend(wins), []
    for m in range(N):
        table = wins.copy()
        table[m], table[:, m] = EXPECTED[m], EXPECTED[:, m]
        twins.append(descend(table))
    twins = np.array(twins)
    assert path.linf[-1] == pytest.approx(np.abs(full - TRUTH).max(), abs=1e-12)
    assert path.l2[-1] == pytest.approx(np.linalg.norm(full - TRUTH), abs=1e-12)
    assert path.left_out[-1] == pytest.approx(np.abs(np.diagonal(twins) - TRUTH).max(), abs=1e-12)
    assert path.twin_distance[-1] == pytest.approx(
        np.linalg.norm(twins - full, axis=1).max(), abs=1e-12
    )
    assert path.sums[-1] == pytest.approx(full.sum(), abs=1e-12) and path.l2[0] == 0


def test_the_path_ends_at_the_estimate_and_all_sums_agree():
    wins, z = sample(6, size=1)
    path = leave_one_out_path(RANKER, TRUTH, wins[0], z[0], weight=P, step=0.15, steps=300)
    theta = RANKER.release(wins[0], z[0])
    assert path.linf[-1] == pytest.approx(np.abs(theta - TRUTH).max(), abs=1e-7)
    assert path.sum_gap.max() < 1e-12
    t = np.arange(301)
    theory = -(1 - (1 - 0.15 * GAMMA) ** t) * RANKER.scale * z.sum() / GAMMA
    np.testing.assert_allclose(path.sums, theory, atol=1e-12)


def test_twins_that_miss_the_noise_drift_apart():
    wins, z = sample(7, size=1)
    kwargs = {"weight": P, "step": 0.15, "steps": 100}
    same = leave_one_out_path(RANKER, TRUTH, wins[0], z[0], **kwargs)
    other = leave_one_out_path(RANKER, TRUTH, wins[0], z[0], hidden=True, **kwargs)
    assert other.twin_distance[-1] > same.twin_distance[-1]
    assert other.sum_gap[-1] > 0.01


def test_a_study_in_blocks_is_the_study_of_its_draws():
    parts, noise = edge_study(RANKER, TRUTH, P, 4, np.random.default_rng(8))
    source = np.random.default_rng(8)
    z = RANKER.noise(4, rng=source)
    wins = edge_wins(btl_probabilities(TRUTH), p=P, size=4, rng=source)
    np.testing.assert_array_equal(noise, 0.8 * z)
    same = error_parts(RANKER, TRUTH, wins, EXPECTED, z)
    np.testing.assert_allclose(parts.total, same.total, atol=1e-9)


def test_both_ways_to_squared_errors_agree_when_hardly_a_pair_is_missing():
    source = np.random.default_rng(9)
    full, most = (raw_squares(RANKER, TRUTH, p, 1500, source) for p in (1, 0.9999))
    doubt = np.hypot(full.std(), most.std()) / np.sqrt(1500)
    assert abs(full.mean() - most.mean()) < 5 * doubt < 0.2 * full.mean()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="wins"):
        error_parts(RANKER, TRUTH, np.zeros((2, 3, 3)), EXPECTED, TRUTH)
    with pytest.raises(ValueError, match="wins"):
        leave_one_out_path(RANKER, TRUTH, np.zeros((3, 3)), TRUTH, weight=P, step=0.1, steps=1)


def test_slopes_of_an_exact_power_law():
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 9, size=(8, 2))
    y = 3 * x[:, :1] ** 1.5 * x[:, 1:] ** -0.5 * np.ones(4)
    np.testing.assert_allclose(log_slopes(x, y), [[1.5] * 3, [-0.5] * 3], atol=1e-12)


def test_slope_interval_by_hand():
    # Slopes 1 and 3: mean 2, standard deviation sqrt(2), and Student's t with 1 degree of freedom
    # has the 97.5 % point 12.7062: 2 -+ 12.7062 sqrt(2) / sqrt(2).
    x = np.array([1.0, np.e])
    slopes = log_slopes(x, [[1.0, 1.0], [np.e, np.e**3]])
    np.testing.assert_allclose(slopes, [[2, 2 - 12.7062, 2 + 12.7062]], atol=5e-5)
    # Slopes 1, 2, 6 at 90 %: mean 3, standard deviation sqrt(14 / 2), t 2.91999 with 2 degrees.
    slopes = log_slopes(x, [[1, 1, 1], [np.e, np.e**2, np.e**6]], confidence=0.9)
    half = 2.91999 * np.sqrt(7 / 3)
    np.testing.assert_allclose(slopes, [[3, 3 - half, 3 + half]], atol=2e-5)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: log_slopes([1, 2], [[1, 2]]), "values"),
        (lambda: log_slopes([1, 2, 3], np.zeros((3, 2))), "positive"),
        (lambda: log_slopes([2, 2, 2], np.ones((3, 2))), "predictors"),
    ],
)
def test_bad_arguments_of_slopes_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_settings_by_hand():
    assert strengths(3).tolist() == [-1, 0, 1]
    ranker = edge_mle(5, 2.0, 3.0)
    assert (ranker.unit.n_items, ranker.scale, ranker.gamma) == (5, 2.0, 3.0)
    n = float(np.exp(4))
    assert np.isclose(ridge_of(n, 0.25, 3), 3 * np.sqrt(n))  # log n = 4
    assert np.allclose(bound(n, 0.5, 3), [np.sqrt(8 / n), 24 / n])
    # the curvature of the logistic link at 4 is that of cosh
    assert np.isclose(KAPPA_LITERAL, 2 + 2 * np.cosh(4))


@pytest.mark.parametrize("people", [True, False])
def test_noise_beyond_the_wins_by_summing_over_the_wins(people):
    n, S, scale, chance = 6, 3.0, 2.0, 0.3
    games, met = (9, 1 / 3) if people else (5, 0.5)
    wins = np.arange(games + 1)
    law = stats.binom(games, met * chance).pmf(wins)
    by_hand = np.log(law @ stats.laplace(scale=scale).sf(wins))
    found = log_outnumbered(n, S, scale, chance, people=people)
    assert found == pytest.approx(by_hand, abs=1e-12)


def test_norms_centre_each_error():
    errors = np.array([[1.0, 2.0, 6.0], [5.0, 5.0, 5.0]])
    assert np.allclose(sup(errors), [3, 0])
    assert np.allclose(l2(errors), [np.sqrt(14), 0])


def test_far_end_is_the_worse_end():
    slopes = np.array([[1.0, 0.9, 1.3], [2.0, 1.2, 2.1]])
    assert np.allclose(far_end(slopes), [0.3, 1.1])
    assert np.allclose(far_end(slopes, (1, 2)), [0.3, 0.8])


def test_only_one_item_of_the_twin_is_averaged():
    wins = edge_wins(btl_probabilities(strengths(4)), rng=np.random.default_rng(0))[0]
    fig, ax = figures.canvas(7, 4.3)
    draw_twin(ax, wins, np.full((4, 4), 0.25), 1)
    averaged = [p for p in ax.patches if p.get_alpha() == 0.25]
    assert len(averaged) == 6  # row and column, without the diagonal
    columns = {round(p.get_x(), 3) for p in averaged}
    assert min(columns) > 4  # all of them on the right
    figures.plt.close(fig)
