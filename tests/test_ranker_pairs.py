"""Rankers of whole rankings by noise on pairs and places, or by choice, against enumeration."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import norm

from dpbook.estimators import footrule_ranking, kemeny_score, kwiksort_pmf, pairwise_counts
from dpbook.estimators.kwiksort import kwiksort_cost_pmf
from dpbook.estimators.pairwise import kendall_distance
from dpbook.mechanisms import laplace_logpdf
from dpbook.mechanisms.gaussian import gaussian_profile
from dpbook.models import mallows_rankings
from dpbook.privacy import WholeRanking
from dpbook.rankers import (
    CappedKwikSort,
    CubePairs,
    ExponentialRanking,
    NoisyPairs,
    PrivateFootrule,
)
from dpbook.rankers.pairs import ranks_reached
from tests.oracles import (
    all_places,
    close,
    frequencies,
    kwiksort_distribution,
    laplace_above,
    pair_table,
    tables,
    worst_log_ratio,
)

CYCLE = np.array([[0, 7, 3], [2, 0, 6], [6, 3, 0]])  # nine users, 0 over 1 over 2 over 0
NINE = WholeRanking(3, users=9)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_noise_spends_the_budget_on_the_margins(n, relation):
    tables = [pair_table([row], n) for row in all_places(n)]
    margins = np.array([(t - t.T)[np.triu_indices(n, 1)] for t in tables])
    moves = margins[:, None] - margins if relation == "replace" else margins
    unit = WholeRanking(n, relation=relation)
    l1, l2 = np.abs(moves).sum(axis=-1).max(), np.sqrt((moves**2).sum(axis=-1).max())
    assert l1 / NoisyPairs.private(0.4, unit).scale == pytest.approx(0.4)
    assert NoisyPairs.private(0.4, unit).loss() == pytest.approx((0.4, 0.4))
    gauss = NoisyPairs.private(0.4, unit, delta=1e-4)
    assert gaussian_profile(l2, gauss.scale, 0.4) == pytest.approx(1e-4, rel=1e-6)
    assert gauss.loss() == (math.inf, math.inf)


def test_printed_and_described_scales():
    unit = WholeRanking(4, users=50)
    assert NoisyPairs.printed(0.5, unit).scale / 100 == pytest.approx(16 / (0.5 * 50))
    assert NoisyPairs.described(0.5, unit).scale == pytest.approx(3 * math.log(4) / 0.5)


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
def test_law_of_the_noisy_kemeny_ranking(clip, epsilon):
    """Noise drawn here, all six costs compared here."""
    size, rng = 100_000, np.random.default_rng(4)
    distribution = NoisyPairs.private(epsilon, NINE, "kemeny", clip=clip).pmf(CYCLE)
    w = np.zeros((size, 3, 3))
    for i, j in combinations(range(3), 2):
        w[:, i, j] = CYCLE[i, j] / 9 + rng.laplace(scale=3 / (9 * epsilon), size=size)
        if clip:
            w[:, i, j] = np.minimum(np.maximum(w[:, i, j], 0), 1)
        w[:, j, i] = 1 - w[:, i, j]
    orders = np.argsort(all_places(3), axis=1)
    cost = np.stack([w[:, b, a] + w[:, c, a] + w[:, c, b] for a, b, c in orders], 1)
    best = np.argmin(cost.round(9) + 1e-10 * rng.random(cost.shape), axis=1)
    assert close(np.bincount(best, minlength=6) / size, distribution, size)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_joint_law_of_ranking_and_comparisons(n):
    upper = np.triu(np.random.default_rng(n).random((n, n)), 1)
    preference = upper + np.tril(1 - upper.T, -1)
    expected = kwiksort_distribution(preference)
    assert kwiksort_cost_pmf(preference) == pytest.approx(expected, abs=1e-14)
    assert kwiksort_pmf(preference) == pytest.approx(expected.sum(axis=1), abs=1e-14)


@pytest.mark.parametrize("make_one", [NoisyPairs.private, NoisyPairs.described])
def test_dp_kwiksort_follows_the_law_written_out(make_one):
    counts, ranker = 20 * CYCLE, make_one(0.1, WholeRanking(3))
    below = laplace_above(counts - counts.T, ranker.scale)
    assert ranker.pmf(counts) == pytest.approx(kwiksort_distribution(below).sum(axis=1), rel=1e-12)
    gauss = NoisyPairs.private(0.1, WholeRanking(3), delta=1e-3)
    drawn = frequencies(gauss.sample(counts, 40_000, rng=np.random.default_rng(1)))
    assert close(drawn, gauss.pmf(counts), 40_000)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
@pytest.mark.parametrize("make_one", [NoisyPairs.private, NoisyPairs.described])
def test_worst_loss_for_three_items(relation, epsilon, make_one):
    """All neighbours among up to five people reach the closed form, and none beats it."""
    ranker = make_one(epsilon, WholeRanking(3, relation=relation))
    datasets = (5,) if relation == "replace" else range(1, 6)
    units = [WholeRanking(3, m, relation) for m in datasets]
    worst = max(worst_log_ratio(ranker.pmf, tables(unit)) for unit in units)
    assert ranker.loss("ranking") == pytest.approx((worst, worst), rel=1e-9)
    assert (worst > epsilon) == (make_one == NoisyPairs.described)


def mcgarvey(margins) -> np.ndarray:
    """Counts with given even leads: two rankings that differ, but for the pair, in every pair
    move that pair by 2."""
    n = len(margins)
    counts = np.zeros((n, n), dtype=int)
    for i, j in combinations(range(n), 2):
        a, b = (i, j) if margins[i][j] > 0 else (j, i)
        rest = [k for k in range(n) if k not in (i, j)]
        both = np.argsort([[a, b, *rest], [*rest[::-1], a, b]], axis=1)
        counts += abs(margins[i][j]) // 2 * pair_table(both, n)
    return counts


@pytest.mark.parametrize("n", [4, 5, 6])
@pytest.mark.parametrize("make_one", [NoisyPairs.private, NoisyPairs.described])
def test_lower_end_of_the_loss_is_approached_by_profiles(n, make_one):
    """Forced pivots: items 0, 2, ... far behind all that follow but the next."""
    ranker = make_one(1.0, WholeRanking(n))
    margins = np.zeros((n, n), dtype=int)
    for i in range(0, n, 2):
        margins[i, i + 2 :] = -60 * math.ceil(ranker.scale)
    counts = mcgarvey(margins)
    assert ((counts - counts.T)[np.triu_indices(n, 1)] == margins[np.triu_indices(n, 1)]).all()
    # after the change all other leads are tied: one user had the reverse and has the identity now
    one = pair_table([range(n)], n)
    after, before = ranker.pmf(counts + one + one.T), ranker.pmf(counts + 2 * one.T)
    forced = n * n // 4 * 2 / ranker.scale
    assert math.log(after[0] / before[0]) == pytest.approx(forced, rel=1e-6)
    lower, upper = ranker.loss("ranking")
    assert forced - 1e-12 <= lower <= upper == ranker.loss()[0]
    assert (lower > 1) == (make_one == NoisyPairs.described)


@pytest.mark.parametrize("n", [3, 4])
def test_almost_no_noise_loses_what_the_leads_do_at_most(n):
    """All chances but one underflow; the law of many people has a closed form all the same."""
    dataset, two = NoisyPairs(WholeRanking(n), 1e-3), NoisyPairs(WholeRanking(3, users=2), 1e-3)
    lower, upper = dataset.loss("ranking")
    assert (n - 1) * 2 / 1e-3 <= lower <= upper <= dataset.loss()[1] == n * (n - 1) / 1e-3
    assert two.loss("ranking") == (0.0, two.loss()[1])
    found = two.at_loss(1.0, "ranking")
    assert found.loss("ranking")[1] == pytest.approx(1.0)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_lower_end_of_the_loss_is_at_least_that_of_two_users(n):
    one = pair_table([range(n)], n)
    for relation, before in (("replace", 2 * one.T), ("add_remove", one.T)):
        for make_one in (NoisyPairs.private, NoisyPairs.described):
            ranker = make_one(0.7, WholeRanking(n, relation=relation))
            shown = math.log(ranker.pmf(one + one.T)[0] / ranker.pmf(before)[0])
            lower = ranker.loss("ranking")[0]
            assert lower >= shown - 1e-12
            assert n not in (2, 4) or lower == pytest.approx(shown, rel=1e-10)


@pytest.mark.parametrize("make_one", [CappedKwikSort.private, CappedKwikSort.printed])
@pytest.mark.parametrize("cap", [2, 3])
def test_capped_kwiksort_follows_the_law_written_out(make_one, cap):
    epsilon, size, ranker = 3.0, 30_000, make_one(3.0, NINE, cap)
    answers = epsilon / 2 if make_one == CappedKwikSort.private and cap == 2 else epsilon
    joint = kwiksort_distribution(laplace_above(CYCLE / 9 - 0.5, cap / (9 * answers)))
    part = NoisyPairs.private if make_one == CappedKwikSort.private else NoisyPairs.printed
    fallback = replace(part(epsilon / 2, NINE), solver="kemeny", clip=True).pmf(CYCLE)
    expected = joint[:, : cap + 1].sum(axis=1) + joint[:, cap + 1 :].sum() * fallback
    assert ranker.pmf(CYCLE) == pytest.approx(expected, rel=1e-10)
    ranks, fell_back = ranker.runs(CYCLE, size, rng=np.random.default_rng(6))
    assert close(frequencies(ranks), expected, size)
    over = joint[:, cap + 1 :].sum()
    assert fell_back.mean() == pytest.approx(over, abs=6 / math.sqrt(size))
    assert fell_back.any() == (cap == 2)


def test_budgets_add_up_or_do_not():
    unit = WholeRanking(10, users=50)
    parts = CappedKwikSort.private(0.8, unit, 30, share=0.25)
    assert (parts.loss()[0], parts.fallback.loss()[0]) == pytest.approx((0.8, 0.2))
    assert CappedKwikSort.private(0.8, unit, 45).loss() == pytest.approx((0.8, 0.8))
    printed = CappedKwikSort.printed(0.8, unit, 30)
    # from the printed scales: answers that all move, and all pairs of the fallback
    answers, fallback = 30 / (0.8 * 50), 100 / (0.4 * 50)
    expected = 30 / 50 / answers + 45 / 50 / fallback, 45 / 50 / fallback
    assert (printed.loss()[0], printed.fallback.loss()[0]) == pytest.approx(expected)
    assert printed.loss()[0] == pytest.approx(0.8 * (1 + 9 / 40))
    assert CappedKwikSort.printed(1.0, NINE, 6).loss()[0] == pytest.approx(0.5)
    gauss = CappedKwikSort.private(0.8, unit, 30, share=0.25, delta=1e-4)
    assert gaussian_profile(2 * math.sqrt(30), gauss.scale, 0.6) == pytest.approx(1e-4, rel=1e-6)
    assert gauss.fallback.loss()[0] == pytest.approx(0.2) and gauss.loss()[1] == math.inf
    alike = CappedKwikSort(unit, 300.0, 30)  # with one scale: 30 leads and then 45 move by 2 each
    assert alike.loss()[0] == pytest.approx(2 * (30 + 45) / 300)


def footrule_distance(a, b):
    return np.abs(a - b).sum(axis=-1)


def ranker(n, epsilon, delta=0.0):
    return PrivateFootrule.private(epsilon, WholeRanking(n), delta=delta)


def reached_by_hand(positions):
    places = range(positions.shape[1] - 1)
    return np.array([[sum(x <= k for x in column) for k in places] for column in positions.T])


@pytest.mark.parametrize(("users", "n"), [(1, 2), (4, 3), (7, 4), (6, 5), (9, 6)])
def test_no_ranking_is_nearer(users, n):
    rng = np.random.default_rng(n)
    everything = all_places(n)
    for _ in range(10):
        positions = np.argsort(rng.random((users, n)), axis=1)
        table = reached_by_hand(positions)
        assert (ranks_reached(positions) == table).all()
        found = footrule_ranking(table)
        assert (np.sort(found) == np.arange(n)).all()
        total = footrule_distance(everything[:, None], positions).sum(axis=1)
        assert footrule_distance(found, positions).sum() == total.min()
        # Diaconis and Graham: within a factor 2 of the fewest disagreements.
        disagreements = kendall_distance(everything[:, None], positions).sum(axis=1)
        assert kendall_distance(found, positions).sum() <= 2 * disagreements.min()


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("table", [CYCLE, CYCLE[::-1, ::-1] + 0, np.triu(CYCLE + CYCLE.T, 1)])
def test_law_of_kemeny_after_cube_noise(table, relation):
    """Every point of a cube, by its largest coordinate; ties in equal parts."""
    noise, places = np.array(list(product(range(-13, 14), repeat=3))), np.array(all_places(3))
    unit, (i, j) = WholeRanking(3, 9, relation), np.triu_indices(3, 1)
    leads = (table - table.T)[i, j] + unit.step * noise
    agree = leads @ np.sign(places[:, j] - places[:, i]).T
    best = agree == agree.max(axis=1, keepdims=True)
    weight = np.exp(-np.abs(noise).max(axis=1) / 0.35)
    law = weight @ (best / best.sum(axis=1, keepdims=True)) / weight.sum()
    assert CubePairs(unit, 0.35 * unit.step).pmf(table) == pytest.approx(law, rel=1e-9)


def test_noisy_tables_are_solved_one_by_one():
    # With noise the objective is twice the noisy entries before the item's place.
    rng, everything = np.random.default_rng(3), all_places(4)
    tables = rng.normal(size=(2, 5, 4, 3))
    inside = np.arange(3) < everything[:, :, None]
    found = footrule_ranking(tables)
    assert found.shape == (2, 5, 4)
    for index in np.ndindex(2, 5):
        cost = (tables[index] * inside).sum(axis=(1, 2))
        assert (found[index] == everything[cost.argmin()]).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_sensitivity_by_enumeration(n):
    tables = np.array([ranks_reached(row[None]) for row in all_places(n)])
    moved = np.abs(tables[:, None] - tables)
    assert moved.max() == 1  # so that the squares add up to the same number
    total = moved.sum(axis=(2, 3))
    assert (total == footrule_distance(all_places(n)[:, None], all_places(n))).all()
    assert total.max() == n * n // 2 == ranker(n, 1.0).scale
    one_more = PrivateFootrule.private(1.0, WholeRanking(n, relation="add_remove"))
    assert (tables.sum(axis=(1, 2)) == n * (n - 1) // 2).all()
    assert one_more.scale == n * (n - 1) // 2


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_counts_spend_the_budget_exactly(epsilon):
    # One user replaced among three; Laplace loss is largest at the tables themselves.
    tables = [ranks_reached(row[None]) for row in all_places(3)]
    scale, worst = ranker(3, epsilon).scale, 0.0
    for a, b, out in product(tables, repeat=3):
        loss = laplace_logpdf(out - a, scale).sum() - laplace_logpdf(out - b, scale).sum()
        worst = max(worst, loss)
    assert worst == pytest.approx(epsilon, rel=1e-12)
    assert ranker(3, epsilon).loss() == pytest.approx((worst, worst))
    assert ranker(3, epsilon).at_loss(2.0).scale == pytest.approx(2.0)
    deviation = ranker(3, epsilon, 1e-5).scale
    widths = [np.sqrt(((a - b) ** 2).sum()) for a, b in combinations(tables, 2)]
    spent = max(gaussian_profile(width, deviation, epsilon) for width in widths)
    assert spent == pytest.approx(1e-5, rel=1e-9) and spent <= 1e-5


def law_two_items(margin, epsilon, delta):
    """P(item 0 first): a lead and the difference of the noise on the two counts, in closed form."""
    scale = ranker(2, epsilon, delta).scale
    if delta:
        return norm.cdf(margin / (scale * np.sqrt(2)))
    tail = np.exp(-abs(margin) / scale) * (2 + abs(margin) / scale) / 4
    return 1 - tail if margin > 0 else tail


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_releases_of_two_items_follow_their_exact_distribution(delta):
    epsilon, runs = 0.8, 40_000
    for first in (1, 3, 5):
        positions = np.array([[0, 1]] * first + [[1, 0]] * (5 - first))
        rng = np.random.default_rng(first)
        found = ranker(2, epsilon, delta).sample(positions, runs, rng=rng)
        p = law_two_items(2 * first - 5, epsilon, delta)
        # Five standard deviations: a false alarm once in two million runs.
        assert abs((found[:, 0] == 0).mean() - p) < 5 * np.sqrt(p * (1 - p) / runs)


def test_costs_and_weights():
    rng = np.random.default_rng(7)
    profile = np.array([rng.permutation(4) for _ in range(6)])
    costs = [sum(int(kendall_distance(r, u)) for u in profile) for r in all_places(4)]
    weights = np.exp(-0.9 * np.array(costs) / 12)
    ranker, counts = ExponentialRanking.private(0.9, WholeRanking(4)), pairwise_counts(profile)
    distribution = ranker.pmf(counts)
    assert distribution == pytest.approx(weights / weights.sum())
    assert ranker.expected_cost(counts) == pytest.approx(distribution @ costs)


def test_exact_sampler_of_many_items():
    rng = np.random.default_rng(3)
    counts = pairwise_counts(mallows_rankings(300, 12, phi=0.8, rng=rng))
    ranker = ExponentialRanking.private(1.0, WholeRanking(12))
    drawn = ranker.sample(counts, 4000, rng=rng)
    assert (np.sort(drawn, axis=1) == np.arange(12)).all()
    costs = kemeny_score(drawn, counts)
    deviation = costs.std() / math.sqrt(4000)
    assert abs(costs.mean() - ranker.expected_cost(counts)) < 4 * deviation


def test_loss_tends_to_epsilon_with_the_users():
    units = [WholeRanking(3, users=m) for m in range(1, 9)]
    losses = [ExponentialRanking.private(1.5, unit).loss()[0] for unit in units]
    # one user uses half of epsilon; many users all of it, so that the factor 2 is needed
    assert losses[0] == pytest.approx(0.75)
    assert (np.diff(losses) > 0).all() and 1.3 < losses[-1] <= 1.5
    assert ExponentialRanking.private(3.0, WholeRanking(3, users=4)).loss()[0] > 1.5
    agreed = 400 * np.triu(np.ones((3, 3)), 1)
    forward, backward = agreed / 400, agreed.T / 400
    for relation, other in (("replace", agreed + backward), ("add_remove", agreed)):
        # one more for the order of all leaves theirs; one against it moves all the others
        last = agreed + (forward if relation == "replace" else backward)
        ranker = ExponentialRanking.private(0.5, WholeRanking(3, relation=relation))
        shown = worst_log_ratio(ranker.pmf, [(last, other)])
        assert 0.4999 < shown <= ranker.loss()[0] + 1e-9 == pytest.approx(0.5)
