"""Private rank aggregation by a trusted curator, against enumeration written independently."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest

from dpbook.estimators import (
    kemeny_ranking,
    kemeny_score,
    kendall_distance,
    kwiksort_pmf,
    pairwise_counts,
)
from dpbook.mechanisms import laplace_logpdf
from dpbook.mechanisms.gaussian import gaussian_profile
from dpbook.models import all_rankings, mallows_rankings
from dpbook.privacy import privacy_loss
from dpbook.rankers import (
    capped_kwiksort,
    capped_kwiksort_pmf,
    dp_kwiksort,
    dp_kwiksort_loss_bound,
    dp_kwiksort_loss_three,
    dp_kwiksort_pmf,
    dp_kwiksort_scale,
    exponential_ranking,
    exponential_ranking_chain,
    exponential_ranking_cost,
    exponential_ranking_loss,
    exponential_ranking_pmf,
    kwiksort_cost_pmf,
    noisy_fractions,
    pair_noise_scale,
    permute_and_flip_ranking,
    permute_and_flip_ranking_pmf,
    private_kemeny,
    private_kemeny_pmf,
    ranking_costs,
    reduction_budget,
)

CYCLE = np.array([[0, 7, 3], [2, 0, 6], [6, 3, 0]])  # nine users, 0 over 1 over 2 over 0


# ------------------------------------------------------------------ references


def places(orders) -> np.ndarray:
    return np.argsort(orders, axis=-1)


def all_places(n: int) -> np.ndarray:
    return all_rankings(n)


def profiles(n_items: int, users: int):
    """Every multiset of rankings, as counts of the rankings."""
    size = math.factorial(n_items)
    for chosen in combinations_with_replacement(range(size), users):
        yield tuple(np.bincount(chosen, minlength=size))


def pair_counts(profile, n_items: int) -> np.ndarray:
    table = np.zeros((n_items, n_items))
    for weight, ranking in zip(profile, all_places(n_items), strict=True):
        table += weight * (ranking[:, None] < ranking[None, :])
    return table


def replacements(profile):
    for i, j in permutations(range(len(profile)), 2):
        if profile[i]:
            other = list(profile)
            other[i] -= 1
            other[j] += 1
            yield tuple(other)


def additions(profile):
    for j in range(len(profile)):
        other = list(profile)
        other[j] += 1
        yield tuple(other)


def worst_loss(law, n_items: int, users: int, neighbours=replacements) -> float:
    known: dict = {}

    def of(profile):
        if profile not in known:
            known[profile] = law(pair_counts(profile, n_items), sum(profile))
        return known[profile]

    return max(privacy_loss(of(a), of(b)) for a in profiles(n_items, users) for b in neighbours(a))


def quicksort(items, ahead, pivots):
    """Order and comparisons, the pivot of a part being its first member in `pivots`."""
    if not items:
        return (), 0
    pivot = next(i for i in pivots if i in items)
    left = [i for i in items if i != pivot and ahead[i][pivot]]
    right = [i for i in items if i != pivot and not ahead[i][pivot]]
    (a, x), (b, y) = quicksort(left, ahead, pivots), quicksort(right, ahead, pivots)
    return (*a, pivot, *b), x + y + len(items) - 1


def cost_law(preference) -> np.ndarray:
    """All tournaments times all orders of pivots."""
    n = len(preference)
    pairs = list(combinations(range(n), 2))
    index = {
        tuple(order): r for r, order in enumerate(np.argsort(all_rankings(n), axis=1).tolist())
    }
    law = np.zeros((len(index), len(pairs) + 1))
    for outcome in product((True, False), repeat=len(pairs)):
        ahead = np.zeros((n, n), dtype=bool)
        chance = 1.0
        for (i, j), first in zip(pairs, outcome, strict=True):
            ahead[i, j], ahead[j, i] = first, not first
            chance *= preference[i][j] if first else preference[j][i]
        for pivots in permutations(range(n)):
            order, made = quicksort(list(range(n)), ahead, pivots)
            law[index[order], made] += chance / math.factorial(n)
    return law


def frequencies(positions) -> np.ndarray:
    n = positions.shape[1]
    index = {tuple(row): r for r, row in enumerate(all_places(n))}
    count = Counter(index[tuple(row)] for row in positions)
    return np.array([count[r] for r in range(len(index))]) / len(positions)


def close(drawn, law, size, deviations=4.5) -> bool:
    return bool((np.abs(drawn - law) <= deviations * np.sqrt(law * (1 - law) / size) + 1e-9).all())


def random_preference(n: int, rng) -> np.ndarray:
    upper = np.triu(rng.random((n, n)), 1)
    return upper + np.tril(1 - upper.T, -1)


# ------------------------------------------------------------------ Reduction I


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_scale_is_the_sensitivity_of_the_upper_triangle(n):
    above = np.triu_indices(n, 1)
    bits = [(r[:, None] < r[None, :])[above].astype(int) for r in all_places(n)]
    moves = np.array([np.abs(a - bits[0]) for a in bits])
    users, epsilon, delta = 7, 0.4, 1e-4
    scale = pair_noise_scale(n, users, epsilon=epsilon)
    assert scale == pytest.approx(moves.sum(axis=1).max() / users / epsilon)
    assert pair_noise_scale(
        n, users, epsilon=epsilon, calibration="printed"
    ) / scale == pytest.approx(2 * n / (n - 1))
    sigma = pair_noise_scale(n, users, epsilon=epsilon, delta=delta)
    l2 = math.sqrt((moves**2).sum(axis=1).max()) / users
    assert gaussian_profile(l2, sigma, epsilon) == pytest.approx(delta, rel=1e-6)
    # the noise vector shows the whole of epsilon at a point far out
    far = laplace_logpdf(np.full(math.comb(n, 2), 9.0), scale).sum()
    assert laplace_logpdf(np.full(math.comb(n, 2), 9.0 + 1 / users), scale).sum() == pytest.approx(
        far - epsilon
    )


def test_scale_for_queries_and_printed_expressions():
    assert pair_noise_scale(10, 50, epsilon=0.5, queries=20) == pytest.approx(20 / 25)
    assert pair_noise_scale(4, 50, epsilon=0.5, queries=20) == pytest.approx(6 / 25)
    printed = {"calibration": "printed"}
    assert pair_noise_scale(4, 50, epsilon=0.5, queries=20, **printed) == pytest.approx(20 / 25)
    root = math.sqrt(math.log(1e5))
    assert pair_noise_scale(4, 50, epsilon=0.5, delta=1e-5, **printed) == pytest.approx(
        4 / 25 * root
    )
    assert pair_noise_scale(4, 50, epsilon=0.5, delta=1e-5, queries=9, **printed) == pytest.approx(
        3 / 25 * root
    )


def test_noisy_fractions_have_the_stated_noise():
    fractions = CYCLE / 9
    released = noisy_fractions(
        fractions, 9, epsilon=1.0, clip=False, size=50_000, rng=np.random.default_rng(0)
    )
    assert (released + np.swapaxes(released, 1, 2))[:, ~np.eye(3, dtype=bool)] == pytest.approx(1)
    off = np.abs(released - fractions)[:, *np.triu_indices(3, 1)]
    assert off.mean(axis=0) == pytest.approx(np.full(3, 3 / 9), rel=0.03)
    pairs = np.corrcoef(released[:, *np.triu_indices(3, 1)].T)
    assert np.abs(pairs[np.triu_indices(3, 1)]).max() < 0.02
    clipped = noisy_fractions(fractions, 9, epsilon=1.0, rng=np.random.default_rng(0))
    assert clipped.shape == (3, 3) and clipped.min() >= 0 and clipped.max() <= 1
    gaussian = noisy_fractions(
        fractions, 9, epsilon=1, delta=0.01, clip=False, size=50_000, rng=np.random.default_rng(0)
    )
    sigma = pair_noise_scale(3, 9, epsilon=1.0, delta=0.01)
    assert gaussian[:, 0, 1].std() == pytest.approx(sigma, rel=0.02)


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 6.0])
def test_law_of_the_noisy_kemeny_ranking(clip, epsilon):
    """Noise drawn here, all six costs compared here."""
    size, rng = 200_000, np.random.default_rng(4)
    fractions = CYCLE / 9
    law = private_kemeny_pmf(fractions, 9, epsilon=epsilon, clip=clip)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    w = np.zeros((size, 3, 3))
    for i, j in combinations(range(3), 2):
        w[:, i, j] = fractions[i, j] + rng.laplace(scale=3 / (9 * epsilon), size=size)
        if clip:
            w[:, i, j] = np.minimum(np.maximum(w[:, i, j], 0), 1)
        w[:, j, i] = 1 - w[:, i, j]
    cost = np.stack(
        [
            w[:, o[1], o[0]] + w[:, o[2], o[0]] + w[:, o[2], o[1]]
            for o in np.argsort(all_rankings(3), axis=1)
        ],
        1,
    )
    best = np.argmin(cost.round(9) + 1e-10 * rng.random(cost.shape), axis=1)
    assert close(np.bincount(best, minlength=6) / size, law, size)
    drawn = private_kemeny(
        fractions, 9, epsilon=epsilon, clip=clip, size=size, rng=np.random.default_rng(5)
    )
    assert close(frequencies(drawn), law, size)


def test_noisy_kemeny_ranking_keeps_its_promise():
    for calibration, share in (("tight", 1.0), ("printed", 2 / 6)):
        worst = worst_loss(
            lambda counts, users, c=calibration: private_kemeny_pmf(
                counts / users, users, epsilon=4.0, calibration=c
            ),
            3,
            5,
        )
        assert 0.9 * share * 4 < worst <= share * 4 + 1e-9


def test_noisy_kemeny_without_noise_is_kemeny():
    rng = np.random.default_rng(2)
    for n in (4, 9):
        fractions = pairwise_counts(mallows_rankings(21, n, phi=0.7, rng=rng)) / 21
        best = kemeny_score(kemeny_ranking(fractions).positions, fractions)
        found = private_kemeny(fractions, 21, epsilon=1e9, size=2, rng=rng)
        assert kemeny_score(found, fractions) == pytest.approx(np.full(2, best))
    assert private_kemeny(fractions, 21, epsilon=1.0, rng=rng).shape == (9,)


# ------------------------------------------------------------------ Reduction II


@pytest.mark.parametrize("n", [2, 3, 4])
def test_joint_law_of_ranking_and_comparisons(n):
    preference = random_preference(n, np.random.default_rng(n))
    assert kwiksort_cost_pmf(preference) == pytest.approx(cost_law(preference), abs=1e-14)


def test_joint_law_agrees_with_the_law_of_the_ranking():
    preference = random_preference(5, np.random.default_rng(1))
    rankings, law = kwiksort_pmf(preference)
    place = {tuple(row): p for row, p in zip(rankings, law, strict=True)}
    mine = kwiksort_cost_pmf(preference).sum(axis=1)
    assert mine == pytest.approx([place[tuple(row)] for row in all_rankings(5)])


@pytest.mark.parametrize("calibration", ["tight", "printed"])
@pytest.mark.parametrize("cap", [2, 3])
def test_capped_kwiksort_follows_its_law(calibration, cap):
    size, epsilon = 100_000, 3.0
    law = capped_kwiksort_pmf(CYCLE / 9, 9, epsilon=epsilon, cap=cap, calibration=calibration)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    run = capped_kwiksort(
        CYCLE / 9,
        9,
        epsilon=epsilon,
        cap=cap,
        calibration=calibration,
        size=size,
        rng=np.random.default_rng(6),
    )
    assert close(frequencies(run.positions), law, size)
    assert (run.fell_back == (run.comparisons > cap)).all()
    assert run.fell_back.any() == (cap == 2)
    # the scales, written out
    answers = epsilon if calibration == "printed" or cap == 3 else epsilon / 2
    scale = cap / (9 * answers)
    lead = CYCLE / 9 - 0.5
    below = np.where(lead < 0, 0.5 * np.exp(lead / scale), 1 - 0.5 * np.exp(-lead / scale))
    joint = cost_law(below)
    fallback = private_kemeny_pmf(CYCLE / 9, 9, epsilon=epsilon / 2, calibration=calibration)
    expected = joint[:, : cap + 1].sum(axis=1) + joint[:, cap + 1 :].sum() * fallback
    assert law == pytest.approx(expected, rel=1e-10)


def test_budgets_add_up_or_do_not():
    tight = reduction_budget(10, 0.8, cap=30, share=0.25)
    assert (tight.queries, tight.fallback) == pytest.approx((0.6, 0.2))
    assert tight.total == pytest.approx(0.8)
    assert reduction_budget(10, 0.8, cap=45).total == pytest.approx(0.8)
    assert reduction_budget(10, 0.8, cap=45).fallback == 0
    printed = reduction_budget(10, 0.8, cap=30, calibration="printed")
    assert printed.queries == pytest.approx(0.8)
    assert printed.total == pytest.approx(0.8 * (1 + 9 / 40))
    # from the scales themselves: answers that all move, and all pairs of the fallback
    queries = 30 / 50 / pair_noise_scale(10, 50, epsilon=0.8, queries=30, calibration="printed")
    fallback = 45 / 50 / pair_noise_scale(10, 50, epsilon=0.4, calibration="printed")
    assert printed.total == pytest.approx(queries + fallback)
    assert reduction_budget(3, 1.0, cap=6, calibration="printed").total == pytest.approx(0.5)


@pytest.mark.parametrize("users", [1, 2, 5])
def test_capped_kwiksort_keeps_its_promise(users):
    for cap, epsilon in product((2, 3), (0.3, 5.0)):
        worst = worst_loss(
            lambda counts, n, c=cap, e=epsilon: capped_kwiksort_pmf(
                counts / n, n, epsilon=e, cap=c
            ),
            3,
            users,
        )
        assert 0.3 * epsilon < worst <= epsilon


def test_printed_budgets_and_the_ranking_alone():
    """Three items, cap 2: the transcript spends 7/6 epsilon, the ranking alone comes near epsilon
    on a cycle (which never falls back) and does not pass it."""
    epsilon, users = 4.0, 400
    assert reduction_budget(3, epsilon, cap=2, calibration="printed").total == pytest.approx(
        7 / 6 * epsilon
    )

    def law(leads):
        table = np.full((3, 3), 0.5)
        for (i, j), lead in zip(((0, 1), (1, 2), (2, 0)), leads, strict=True):
            table[i, j] += lead / (2 * users)
            table[j, i] -= lead / (2 * users)
        return capped_kwiksort_pmf(table, users, epsilon=epsilon, cap=2, calibration="printed")

    assert privacy_loss(law((-2, -2, 128)), law((0, 0, 126))) > 0.9999 * epsilon
    rng = np.random.default_rng(1)
    for _ in range(200):
        leads = 2 * rng.integers(-40, 41, 3)
        for step in ((2, 2, -2), (2, 0, -2), (2, 0, 0)):
            assert privacy_loss(law(leads), law(leads + np.array(step))) <= epsilon


def test_capped_kwiksort_with_gaussian_noise_and_shapes():
    rng = np.random.default_rng(0)
    fractions = pairwise_counts(mallows_rankings(5000, 12, phi=0.6, rng=rng)) / 5000
    run = capped_kwiksort(fractions, 5000, epsilon=2.0, delta=1e-6, cap=60, size=20, rng=rng)
    assert run.positions.shape == (20, 12) and not run.fell_back.all()
    assert kemeny_score(run.positions, fractions).mean() < 1.05 * kemeny_score(
        np.arange(12), fractions
    )
    one = capped_kwiksort(fractions, 5000, epsilon=2.0, cap=11, rng=rng)
    assert (
        one.positions.shape == (12,) and one.fell_back and sorted(one.positions) == list(range(12))
    )


# ------------------------------------------------------------------ DP-KwikSort


def test_dp_kwiksort_follows_its_law():
    counts, size = 20 * CYCLE, 60_000
    for calibration in ("tight", "described"):
        scale = dp_kwiksort_scale(3, 0.1, calibration=calibration)
        lead = (counts - counts.T) / scale
        below = np.where(lead < 0, 0.5 * np.exp(lead), 1 - 0.5 * np.exp(-lead))
        law = dp_kwiksort_pmf(counts, epsilon=0.1, calibration=calibration)
        assert law == pytest.approx(cost_law(below).sum(axis=1), rel=1e-12)
        drawn = dp_kwiksort(
            counts, epsilon=0.1, calibration=calibration, size=size, rng=np.random.default_rng(1)
        )
        assert close(frequencies(drawn), law, size)
    assert dp_kwiksort(counts, epsilon=1, rng=np.random.default_rng(1)).shape == (3,)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("calibration", ["described", "tight"])
def test_worst_loss_for_three_items(relation, epsilon, calibration):
    """All neighbours among the profiles of up to six users reach the formula, and none beats it."""
    neighbours = {"replace": replacements, "add_remove": additions}[relation]
    worst = max(
        worst_loss(
            lambda counts, _: dp_kwiksort_pmf(
                counts, epsilon=epsilon, relation=relation, calibration=calibration
            ),
            3,
            users,
            neighbours,
        )
        for users in range(1, 6)
    )
    formula = dp_kwiksort_loss_three(epsilon, relation=relation, calibration=calibration)
    assert worst == pytest.approx(formula, rel=1e-9)
    assert (worst > epsilon) == (calibration == "described")


def test_worst_loss_for_three_items_in_the_limit():
    for relation, limit in (("replace", 2.5 / math.log(3)), ("add_remove", 1.25 / math.log(3))):
        assert dp_kwiksort_loss_three(1e-6, relation=relation) / 1e-6 == pytest.approx(
            limit, rel=1e-5
        )


def mcgarvey(leads) -> tuple[np.ndarray, np.ndarray]:
    """Rankings and how many users hold each, for even leads: two rankings that differ, but for
    the pair, in every pair move that pair by 2."""
    n = len(leads)
    rows, users = [], []
    for i, j in combinations(range(n), 2):
        a, b = (i, j) if leads[i][j] > 0 else (j, i)
        rest = [k for k in range(n) if k not in (i, j)]
        rows += [[a, b, *rest], [*rest[::-1], a, b]]
        users += [abs(leads[i][j]) // 2] * 2
    return places(np.array(rows)), np.array(users)


@pytest.mark.parametrize("n", [4, 5, 6])
@pytest.mark.parametrize("calibration", ["described", "tight"])
def test_loss_bound_is_approached_by_profiles(n, calibration):
    """Forced pivots: items 0, 2, ... far behind all that follow but the next."""
    epsilon = 1.0
    leads = np.zeros((n, n), dtype=int)
    far = 60 * math.ceil(dp_kwiksort_scale(n, epsilon, calibration=calibration))
    for i in range(0, n, 2):
        leads[i, i + 2 :] = -far
    rankings, users = mcgarvey(leads)
    counts = pairwise_counts(rankings, weights=users)
    assert ((counts - counts.T)[np.triu_indices(n, 1)] == leads[np.triu_indices(n, 1)]).all()
    # after the change all other leads are tied: one user had the reverse and has the identity now
    one = pairwise_counts([np.arange(n)])
    after = counts + one + one.T
    before = counts + 2 * one.T
    law = [dp_kwiksort_pmf(c, epsilon=epsilon, calibration=calibration) for c in (after, before)]
    scale = dp_kwiksort_scale(n, epsilon, calibration=calibration)
    forced = n * n // 4 * 2 / scale
    assert math.log(law[0][0] / law[1][0]) == pytest.approx(forced, rel=1e-6)
    bound = dp_kwiksort_loss_bound(n, epsilon, calibration=calibration)
    assert bound >= forced - 1e-12 and (bound > epsilon) == (calibration == "described")


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_loss_bound_is_at_least_that_of_two_users(n):
    back = np.arange(n)[::-1]
    alone, with_two = pairwise_counts([back]), pairwise_counts([back, back])
    mixed = pairwise_counts([back, np.arange(n)])
    for relation, before in (("replace", with_two), ("add_remove", alone)):
        for calibration in ("described", "tight"):
            settings = {"epsilon": 0.7, "relation": relation, "calibration": calibration}
            shown = math.log(
                dp_kwiksort_pmf(mixed, **settings)[0] / dp_kwiksort_pmf(before, **settings)[0]
            )
            bound = dp_kwiksort_loss_bound(n, **settings)
            assert bound >= shown - 1e-12
            assert n not in (2, 4) or bound == pytest.approx(shown, rel=1e-10)
            assert bound <= 0.7 + 1e-12 or calibration == "described"


def test_described_noise_is_too_small_and_more_so_for_many_items():
    bounds = [dp_kwiksort_loss_bound(n, 1.0) for n in range(2, 101)]
    assert min(bounds) > 2 and bounds[-1] > 100 / (2 * math.log(100))
    assert (np.diff(bounds[8:]) > 0).all()
    assert dp_kwiksort_loss_bound(3, 1.0) == pytest.approx(dp_kwiksort_loss_three(1.0))
    for n in (3, 10, 100):
        assert 0.5 < dp_kwiksort_loss_bound(n, 1.0, calibration="tight") <= 1


# ------------------------------------------------------------------ exponential mechanism


def test_costs_and_weights_over_rankings():
    rng = np.random.default_rng(7)
    profile = np.array([rng.permutation(4) for _ in range(6)])
    counts = pairwise_counts(profile)
    costs = [sum(int(kendall_distance(r, u)) for u in profile) for r in all_places(4)]
    assert ranking_costs(counts) == pytest.approx(costs)
    weights = np.exp(-0.9 * np.array(costs) / 12)
    law = exponential_ranking_pmf(counts, 0.9)
    assert law == pytest.approx(weights / weights.sum())
    assert exponential_ranking_cost(counts, 0.9) == pytest.approx(law @ costs)
    flips = permute_and_flip_ranking_pmf(counts, 0.9)
    assert flips.sum() == pytest.approx(1) and flips @ costs < law @ costs


def test_samplers_over_rankings_follow_their_laws():
    rng = np.random.default_rng(9)
    counts = pairwise_counts(mallows_rankings(40, 4, phi=0.5, rng=rng))
    law, size = exponential_ranking_pmf(counts, 2.0), 60_000
    assert close(frequencies(exponential_ranking(counts, 2.0, size=size, rng=rng)), law, size)
    chain = exponential_ranking_chain(counts, 2.0, steps=150, size=size, rng=rng)
    assert close(frequencies(chain), law, size)
    short = exponential_ranking_chain(counts, 2.0, steps=2, size=size, rng=rng)
    assert not close(frequencies(short), law, size)
    flips = permute_and_flip_ranking(counts, 2.0, size=size, rng=rng)
    assert close(frequencies(flips), permute_and_flip_ranking_pmf(counts, 2.0), size)


def test_exact_sampler_of_many_items():
    rng = np.random.default_rng(3)
    counts = pairwise_counts(mallows_rankings(300, 12, phi=0.8, rng=rng))
    drawn = exponential_ranking(counts, 1.0, size=4000, rng=rng)
    assert (np.sort(drawn, axis=1) == np.arange(12)).all()
    costs = 300 * kemeny_score(drawn, counts / 300)
    deviation = costs.std() / math.sqrt(4000)
    assert abs(costs.mean() - exponential_ranking_cost(counts, 1.0)) < 4 * deviation
    assert exponential_ranking(counts, 1.0, rng=rng).shape == (12,)
    with pytest.raises(ValueError, match="allowed are at most 16"):
        exponential_ranking(np.ones((17, 17)), 1.0, rng=rng)


def test_loss_of_the_exponential_mechanism():
    for n_items, users in ((3, 1), (3, 3), (4, 1)):
        worst = worst_loss(lambda counts, _: exponential_ranking_pmf(counts, 1.5), n_items, users)
        assert exponential_ranking_loss(n_items, users, 1.5) == pytest.approx(worst, rel=1e-9)
    # one user uses half of epsilon; many users all of it, so that the factor 2 is needed
    assert exponential_ranking_loss(3, 1, 1.5) == pytest.approx(0.75)
    losses = [exponential_ranking_loss(3, users, 1.5) for users in range(1, 9)]
    assert (np.diff(losses) > 0).all() and 1.3 < losses[-1] <= 1.5
    assert exponential_ranking_loss(3, 4, 2 * 1.5) > 1.5


def test_loss_tends_to_epsilon_with_the_users():
    agreed = np.zeros((3, 3)) + np.triu(np.full((3, 3), 400), 1)
    forward, backward = np.triu(np.ones((3, 3)), 1), np.tril(np.ones((3, 3)), -1)
    loss = privacy_loss(
        exponential_ranking_pmf(agreed + forward, 0.5),
        exponential_ranking_pmf(agreed + backward, 0.5),
    )
    assert 0.4999 < loss <= 0.5 + 1e-9


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("release", [noisy_fractions, private_kemeny, capped_kwiksort])
def test_a_wrong_number_of_users_is_refused(release):
    """Half the users would mean twice the noise needed, twice the users half of it."""
    options = {"epsilon": 1.0, "rng": np.random.default_rng(0)}
    options |= {"cap": 2} if release is capped_kwiksort else {}
    for users in (10, 8, 2, 9.0):
        with pytest.raises(ValueError, match=f"users = {users}"):
            release(CYCLE / 9, users, **options)
    for users in (9, 18):  # a multiple cannot be told from the number itself
        release(CYCLE / 9, users, **options)
    # Rounding is no reason to refuse, neither of a quotient nor of one minus it.
    for users in (3, 49, 10**7 + 19, 10**15 + 37):
        share = (users // 3) / users
        above = np.triu(np.full((3, 3), share), 1)
        release(above + np.tril(1 - above.T, -1), users, **options)
    with pytest.raises(ValueError, match=r"\[i, j\] \+ \[j, i\] = 1"):
        release(CYCLE / 9 * (1 + 1e-12), 9, **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda w, rng: dp_kwiksort(w, epsilon=1.0, rng=rng),
        lambda w, rng: dp_kwiksort_pmf(w, epsilon=1.0),
        lambda w, rng: exponential_ranking(w, 1.0, rng=rng),
        lambda w, rng: exponential_ranking_pmf(w, 1.0),
        lambda w, rng: exponential_ranking_cost(w, 1.0),
        lambda w, rng: exponential_ranking_chain(w, 1.0, steps=1, size=1, rng=rng),
        lambda w, rng: permute_and_flip_ranking(w, 1.0, rng=rng),
        lambda w, rng: permute_and_flip_ranking_pmf(w, 1.0),
        lambda w, rng: ranking_costs(w),
    ],
)
def test_fractions_and_negative_numbers_are_no_counts_of_users(call):
    rng = np.random.default_rng(0)
    for bad, named in ((CYCLE / 9, r"counts holds 0\.\d"), (-CYCLE, "counts holds -")):
        with pytest.raises(ValueError, match=named):
            call(bad, rng)
    call(CYCLE.astype(float), rng)


def test_refusals():
    rng = np.random.default_rng(0)
    half = np.full((3, 3), 0.5)
    with pytest.raises(ValueError, match="fractions: allowed are numbers"):
        noisy_fractions(CYCLE, 9, epsilon=1, rng=rng)
    with pytest.raises(ValueError, match="fractions of shape"):
        noisy_fractions(half[:2], 9, epsilon=1, rng=rng)
    with pytest.raises(ValueError, match="cap = 1"):
        capped_kwiksort(half, 10, epsilon=1, cap=1, rng=rng)
    with pytest.raises(ValueError, match=r"share = 0\.2"):
        capped_kwiksort(half, 10, epsilon=1, cap=2, share=0.2, calibration="printed", rng=rng)
    with pytest.raises(ValueError, match="calibration"):
        pair_noise_scale(3, 9, epsilon=1, calibration="described")
    with pytest.raises(ValueError, match="relation"):
        dp_kwiksort_scale(3, 1, relation="edge")
    with pytest.raises(ValueError, match="allowed are exactly 3"):
        private_kemeny_pmf(np.full((4, 4), 0.5), 9, epsilon=1)
    with pytest.raises(ValueError, match="preference"):
        kwiksort_cost_pmf([[0.5, 0.7], [0.7, 0.5]])
    with pytest.raises(ValueError, match="profiles"):
        exponential_ranking_loss(4, 30, 1.0)
    with pytest.raises(ValueError, match="steps"):
        exponential_ranking_chain(CYCLE, 1.0, steps=0, size=1, rng=rng)
