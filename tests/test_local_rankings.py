"""Local answers: the hypercube mechanism, answers on demand, one pair, and their variances."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpbook import rankers
from dpbook.data import Rankings
from dpbook.estimators import pairwise_counts
from dpbook.models import mallows_rankings
from dpbook.privacy import privacy_loss
from dpbook.rankers import (
    AdaptiveAnswers,
    adaptive_answers,
    adaptive_loss,
    adaptive_report,
    adaptive_report_pmf,
    entry_variance,
    hypercube_loss,
    hypercube_response,
    hypercube_response_pmf,
    hypercube_scale,
    ldp_adaptive_kwiksort,
    ldp_one_question_kwiksort,
    local_fractions,
    one_pair_response,
    refusal_bound,
    refusal_probability,
    sign_vectors,
)

TIES = ["split", "closed"]
CALIBRATIONS = ["tight", "printed"]
TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs
SD = float(stats.norm.isf(TINY / 2))
# Samplers are tried at epsilon <= 1 too: coth(epsilon / 2) is 1 for large epsilon, and what they
# spend then hardly shows. At 1 a variance goes as epsilon^-1.7 (2 e / sinh e), so that an error of
# 13 % of the variance, which 4000 runs show, is one of 8 % of epsilon.


# ------------------------------------------------------------------ hypercube


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("d", range(1, 9))
def test_hypercube_is_unbiased_by_enumeration(d: int, ties: str) -> None:
    value = np.resize([1, -1, -1, 1, 1], d)
    law = hypercube_response_pmf(value, 0.8, ties)
    corners = hypercube_scale(d, 0.8, ties) * sign_vectors(d)
    assert law.sum() == pytest.approx(1, abs=1e-13)
    assert law @ corners == pytest.approx(value, abs=1e-12)
    assert law @ corners**2 - value**2 == pytest.approx(
        np.full(d, hypercube_scale(d, 0.8, ties) ** 2 - 1)
    )


@pytest.mark.parametrize("ties", TIES)
def test_hypercube_rounds_without_bias(ties: str) -> None:
    value = np.array([0.3, -1.0, 0.0, 0.75])
    law = hypercube_response_pmf(value, 1.3, ties)
    mean = law @ sign_vectors(4) * hypercube_scale(4, 1.3, ties)
    assert mean == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("d", range(1, 7))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_hypercube_loss_over_all_pairs_of_vectors(d: int, ties: str, epsilon: float) -> None:
    laws = [hypercube_response_pmf(v, epsilon, ties) for v in sign_vectors(d)]
    worst = max(privacy_loss(a, b) for a, b in itertools.permutations(laws, 2))
    assert worst == pytest.approx(hypercube_loss(d, epsilon, ties), rel=1e-12)


def test_closed_half_spaces_leak_on_rankings_too() -> None:
    first, second = np.triu_indices(4, 1)
    vectors = {
        tuple(np.where(np.array(p)[first] < np.array(p)[second], 1, -1))
        for p in itertools.permutations(range(4))
    }
    laws = [hypercube_response_pmf(v, 1.0, "closed") for v in sorted(vectors)]
    worst = max(privacy_loss(a, b) for a, b in itertools.permutations(laws, 2))
    assert len(vectors) == 24
    assert worst == pytest.approx(math.log(1 + math.e))


def test_hypercube_scale_grows_like_the_root_of_the_dimension() -> None:
    for d in (1000, 1001):
        limit = math.sqrt(math.pi * d / 2) / math.tanh(0.5)
        assert hypercube_scale(d, 1.0) == pytest.approx(limit, rel=2e-3)
    exact = Fraction(4**700, math.comb(1400, 700))
    assert hypercube_scale(1400, 1.0) * math.tanh(0.5) == pytest.approx(float(exact), rel=1e-12)
    assert hypercube_scale(1, 1.0) == pytest.approx(1 / math.tanh(0.5))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("value", [[1, -1, 1, 1], [1, 1, -1], [0.5, -1, 0.0, 1], [1] * 9])
def test_hypercube_sampler_follows_its_law(ties: str, value: list[float]) -> None:
    d, draws = len(value), 60_000
    rng = np.random.default_rng(1)
    out = hypercube_response(np.tile(value, (draws, 1)), 0.7, ties=ties, rng=rng)
    assert np.unique(np.abs(out)) == pytest.approx([hypercube_scale(d, 0.7, ties)])
    seen = np.bincount((out > 0) @ (2 ** np.arange(d - 1, -1, -1)), minlength=2**d)
    expected = draws * hypercube_response_pmf(value, 0.7, ties)
    assert stats.chisquare(seen, expected).pvalue > TINY


def test_hypercube_keeps_shapes_and_refuses_bad_values() -> None:
    rng = np.random.default_rng(2)
    assert hypercube_response(np.ones((2, 3, 5)), 1.0, rng=rng).shape == (2, 3, 5)
    with pytest.raises(ValueError, match="values"):
        hypercube_response([1.5, 0], 1.0, rng=rng)
    with pytest.raises(ValueError, match="ties"):
        hypercube_scale(3, 1.0, "open")
    with pytest.raises(ValueError, match="dimension"):
        hypercube_response_pmf(np.ones(17), 1.0)


# ------------------------------------------------------------------ answers on demand


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
def test_a_printed_report_wastes_half_of_its_budget(epsilon: float) -> None:
    printed = adaptive_report_pmf(epsilon, calibration="printed")
    tight = adaptive_report_pmf(epsilon)
    assert privacy_loss(printed[0], printed[1]) == pytest.approx(
        math.log((1 + math.exp(epsilon)) / 2)
    )
    assert privacy_loss(tight[0], tight[1]) == pytest.approx(epsilon)
    reports = np.array([-1, 1]) / math.tanh(epsilon / 2)
    assert printed @ reports == pytest.approx(np.array([0, 1]), abs=1e-12)
    assert tight @ reports == pytest.approx(np.array([-1, 1]))


def test_settings_and_losses() -> None:
    limit, report, scale = adaptive_report(10, epsilon=1.0, cap=37, calibration="printed")
    assert (limit, report) == (7, pytest.approx(0.5 * 10 / 37))
    assert scale == pytest.approx((math.exp(report) + 1) / (math.exp(report) - 1))
    assert adaptive_report(10, epsilon=1.0, cap=37)[1] == pytest.approx(1 / 7)
    assert adaptive_loss(10, epsilon=1.0, cap=37) == pytest.approx(1.0)
    assert adaptive_loss(10, epsilon=1.0, cap=37, fallback=True) == pytest.approx(1.0)
    printed = adaptive_loss(10, epsilon=1.0, cap=37, calibration="printed")
    assert printed == pytest.approx(7 * math.log((1 + math.exp(report)) / 2))
    both = adaptive_loss(9, epsilon=1.0, cap=37, calibration="printed", fallback=True)
    alone = adaptive_loss(9, epsilon=1.0, cap=37, calibration="printed")
    assert both - alone == pytest.approx(math.log(1 + math.exp(0.5)))  # 36 pairs: even


@pytest.mark.parametrize(("queries", "groups"), [(1, 3), (5, 3), (6, 2), (4, 4)])
def test_refusals_against_all_ways_to_throw(queries: int, groups: int) -> None:
    loads = [max(np.bincount(way)) for way in itertools.product(range(groups), repeat=queries)]
    for limit in range(queries + 1):
        expected = np.mean(np.array(loads) > limit)
        assert refusal_probability(queries, groups, limit) == pytest.approx(expected)
    default = np.mean(np.array(loads) > 2 * queries // groups)
    assert refusal_probability(queries, groups) == pytest.approx(default)


def test_refusals_against_simulation_and_bound() -> None:
    rng = np.random.default_rng(3)
    loads = rng.multinomial(30, np.full(10, 0.1), size=20_000).max(axis=1)
    hits = int((loads > 6).sum())
    assert stats.binomtest(hits, 20_000, refusal_probability(30, 10)).pvalue > TINY
    for m in (2, 5, 10, 45):
        q = math.floor(10 * m * math.log(m)) + 1
        assert refusal_probability(q, m) < refusal_bound(q, m)
    assert refusal_probability(14, 2) == 0  # a group answers all 14 queries


def test_refusal_bound_by_hand() -> None:
    assert refusal_bound(50, 5) == pytest.approx(0.3678794412, rel=1e-9)  # exp(-0.1 * 50 / 5)


def test_rare_refusals_are_exact() -> None:
    # all 40 queries in one of two groups, limit 39: exactly 2 / 2^40
    assert refusal_probability(40, 2, 39) == pytest.approx(2.0**-39, rel=1e-10, abs=0)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("truth", [[1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 1, 0]])
def test_variance_on_demand_by_enumeration(calibration: str, truth: list[int]) -> None:
    m, users, epsilon, cap = 2, len(truth), 1.2, 3
    _, report, scale = adaptive_report(m, epsilon=epsilon, cap=cap, calibration=calibration)
    channel = adaptive_report_pmf(report, calibration=calibration)
    slots = users + users % 2
    moments = []
    for group in itertools.combinations(range(slots), slots // 2):
        member = [truth[k] for k in group if k < users]
        for signs in itertools.product((0, 1), repeat=len(member)):
            value = m / users * scale * sum(2 * s - 1 for s in signs)
            value = 0.5 + 0.5 * value if calibration == "tight" else value
            chance = math.prod(channel[w, s] for w, s in zip(member, signs, strict=True))
            moments.append((chance, chance * value, chance * value**2))
    total, mean, square = np.sum(moments, axis=0)
    share = sum(truth) / users
    assert mean / total == pytest.approx(share)
    assert square / total - share**2 == pytest.approx(
        entry_variance(
            "adaptive", m, users, epsilon, fraction=share, cap=cap, calibration=calibration
        )
    )


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_answers_on_demand_against_their_moments(calibration: str, epsilon: float) -> None:
    rng = np.random.default_rng(4)
    positions = mallows_rankings(23, 4, phi=0.5, rng=rng)
    share, runs = pairwise_counts(positions) / 23, 4000
    args = {"epsilon": epsilon, "cap": 6, "calibration": calibration}
    draws = np.stack(
        [adaptive_answers(positions, rng=rng, **args).values for _ in range(runs)]  # type: ignore[arg-type]
    )
    for j, i in itertools.permutations(range(4), 2):
        exact = entry_variance("adaptive", 4, 23, fraction=share[j, i], **args)  # type: ignore[arg-type]
        assert abs(draws[:, j, i].mean() - share[j, i]) < SD * math.sqrt(exact / runs)
        # sums of many bounded reports: nearly normal, so the variance has relative sd sqrt(2/runs)
        assert abs(draws[:, j, i].var() / exact - 1) < SD * math.sqrt(2.5 / runs)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_empty_places_cause_no_bias(calibration: str) -> None:
    rng = np.random.default_rng(11)
    positions, runs = np.tile(np.arange(4), (5, 1)), 4000  # five users in eight places
    args = {"epsilon": 8.0, "cap": 4, "calibration": calibration}
    draws = [adaptive_answers(positions, rng=rng, **args).values[0, 3] for _ in range(runs)]  # type: ignore[arg-type]
    exact = entry_variance("adaptive", 4, 5, fraction=1.0, **args)  # type: ignore[arg-type]
    assert abs(np.mean(draws) - 1) < SD * math.sqrt(exact / runs) < 0.3


def test_who_refuses_when() -> None:
    groups = np.array([[-1, 0, 1], [0, -1, 0], [1, 0, -1]])
    answers = AdaptiveAnswers(np.zeros((3, 3)), groups, limit=2, group_size=5)
    assert answers.refused_at([[0, 1], [0, 2], [1, 2]]) is None
    assert answers.refused_at([[0, 1], [0, 2], [1, 2], [2, 0], [2, 1]]) == 4
    assert answers.refused_at([[0, 1]], counter="user") == 0
    assert answers.refused_at(np.empty((0, 2))) is None


def test_groups_are_uniform() -> None:
    rng = np.random.default_rng(5)
    table = np.tile(np.arange(3), (6, 1))
    groups = np.stack(
        [adaptive_answers(table, epsilon=1.0, cap=3, rng=rng).groups for _ in range(3000)]
    )
    assert (groups[:, [0, 1, 2], [0, 1, 2]] == -1).all()
    pair = groups[:, 0, 1] * 3 + groups[:, 1, 0]
    assert stats.chisquare(np.bincount(pair, minlength=9)).pvalue > TINY


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_kwiksort_on_demand_finds_a_clear_order(calibration: str) -> None:
    rng = np.random.default_rng(6)
    centre = np.array([2, 0, 3, 1, 4])
    found = ldp_adaptive_kwiksort(
        np.tile(centre, (4000, 1)), epsilon=60.0, cap=40, calibration=calibration, rng=rng
    )
    assert not found.refused and 4 <= found.asked <= 10
    assert np.array_equal(found.positions, centre)


def test_kwiksort_on_demand_of_two_items_follows_its_law() -> None:
    """42 users agree; a group of 21 answers the one pair at epsilon / 2, the majority decides.

    4000 runs err by 5.33 sqrt(0.13 * 0.87 / 4000) = 0.03 at most, at the level TINY; at all of
    epsilon the chance of the right order would be 0.99 instead of 0.87.
    """
    rng, runs = np.random.default_rng(12), 4000
    positions = np.tile([0, 1], (42, 1))
    right = 0
    for _ in range(runs):
        found = ldp_adaptive_kwiksort(positions, epsilon=1.0, cap=1, rng=rng)
        assert not found.refused and found.asked == 1
        right += int(found.positions[0] == 0)
    chance = float(stats.binom.sf(10, 21, 1 / (1 + math.exp(-0.5))))
    assert stats.binomtest(right, runs, chance).pvalue > TINY
    assert (
        stats.binomtest(right, runs, stats.binom.sf(10, 21, 1 / (1 + math.exp(-1)))).pvalue < TINY
    )


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_the_fallback_sees_fractions_at_half_of_epsilon(calibration: str) -> None:
    """The variance of each entry is right to 5.33 sqrt(2.5 / 1500) = 22 % at the level TINY; at
    all of epsilon it would be a quarter."""
    rng, seen = np.random.default_rng(13), []
    positions = mallows_rankings(25, 4, phi=0.5, rng=rng)

    def note(fractions: np.ndarray) -> np.ndarray:
        seen.append(fractions)
        return np.arange(4)

    for _ in range(2000):  # four groups with one answer each
        ldp_adaptive_kwiksort(
            positions, epsilon=1.0, cap=2, calibration=calibration, fallback=note, rng=rng
        )
    assert len(seen) >= 1500
    ties = "split" if calibration == "tight" else "closed"
    exact = entry_variance("hypercube", 4, 25, 0.5, ties=ties)
    draws, share = np.stack(seen), pairwise_counts(positions) / 25
    off = ~np.eye(4, dtype=bool)
    assert np.abs(draws.mean(axis=0) - share).max() < SD * math.sqrt(exact / len(seen))
    assert np.abs(draws[:, off].var(axis=0) / exact - 1).max() < SD * math.sqrt(2.5 / len(seen))


def test_refusal_hands_over_to_the_fallback() -> None:
    rng = np.random.default_rng(7)
    centre = np.array([2, 0, 3, 1, 4])
    positions = np.tile(centre, (3000, 1))
    seen: list[np.ndarray] = []

    def reversed_order(fractions: np.ndarray) -> np.ndarray:
        seen.append(fractions)
        return 4 - centre

    for _ in range(20):  # five groups with one answer each: a refusal is all but sure
        found = ldp_adaptive_kwiksort(
            positions, epsilon=6.0, cap=3, fallback=reversed_order, rng=rng
        )
        assert found.asked <= 5
        assert np.array_equal(found.positions, 4 - centre if found.refused else found.positions)
    assert seen and seen[0].shape == (5, 5)
    runs = [ldp_adaptive_kwiksort(positions, epsilon=6.0, cap=3, rng=rng) for _ in range(20)]
    assert all(np.array_equal(r.positions, centre) for r in runs if r.refused)
    with pytest.raises(ValueError, match="cap"):
        ldp_adaptive_kwiksort(positions, epsilon=6.0, cap=2, rng=rng)


# ------------------------------------------------------------------ one question each

Run = dict[tuple, tuple[float, tuple[int, ...]]]


def one_question_runs(crowd: list[tuple[int, ...]], epsilon: float, cap: int) -> Run:
    """Every run on three items in groups of one: what all people say -> chance, and positions.

    Three groups, so that whoever comes fourth is left over; with a cap of 2 the third and the
    fourth person answer the pair that two answers have left open, and a coin decides a tie.
    """
    honest, runs = 1 / (1 + math.exp(-epsilon)), {}
    orders = list(itertools.permutations(range(len(crowd))))
    for order, pivot in itertools.product(orders, range(3)):
        one, two = (i for i in range(3) if i != pivot)
        last = order[2:] if cap == 2 else order[2:3]
        questions = [(order[0], one, pivot), (order[1], two, pivot)]
        questions += [(person, one, two) for person in last]
        for bits in itertools.product((True, False), repeat=len(questions)):
            asked = questions if bits[0] == bits[1] else questions[:2]
            if len(asked) == 2 and any(bits[2:]):
                continue  # nobody was asked for these
            says = [
                honest if bit == (crowd[k][i] < crowd[k][j]) else 1 - honest
                for (k, i, j), bit in zip(asked, bits, strict=False)
            ]
            votes = sum(2 * bit - 1 for bit in bits[2:])
            for coin in (1, -1) if len(asked) > 2 and votes == 0 else (0,):
                ahead = [] if len(asked) == 2 else [one, two] if votes + coin > 0 else [two, one]
                left = [i for i, bit in zip((one, two), bits, strict=False) if bit]
                right = [i for i in (one, two) if i not in left]
                ranked = (ahead or left) if left else []
                ranked = [*ranked, pivot, *((ahead or right) if right else [])]
                chance = math.prod(says) / len(orders) / 3 * (0.5 if coin else 1)
                key = (order, pivot, bits[: len(asked)], coin)
                runs[key] = (chance, tuple(np.argsort(ranked).tolist()))
    return runs


@pytest.mark.parametrize("cap", [2, 3])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_one_question_each_spends_epsilon_by_enumeration(epsilon: float, cap: int) -> None:
    everyone = list(itertools.permutations(range(3)))
    crowd = [everyone[0], everyone[3], everyone[5], everyone[1]]
    law, worst = one_question_runs(crowd, epsilon, cap), 0.0
    assert math.fsum(chance for chance, _ in law.values()) == pytest.approx(1, abs=1e-12)
    for person, other in itertools.product(range(4), everyone):
        changed = one_question_runs([*crowd[:person], other, *crowd[person + 1 :]], epsilon, cap)
        assert changed.keys() == law.keys()
        ratios = [abs(math.log(changed[key][0] / law[key][0])) for key in law]
        worst = max(worst, *ratios)
    assert worst == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("cap", [2, 3])
def test_one_question_each_follows_its_law(cap: int) -> None:
    crowd = [(0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)]
    rng, runs = np.random.default_rng(21), 5000
    chances = dict.fromkeys(itertools.permutations(range(3)), 0.0)
    for chance, places in one_question_runs(crowd, 2.5, cap).values():
        chances[places] += chance
    found = [
        ldp_one_question_kwiksort(crowd, epsilon=2.5, groups=3 if cap == 2 else 4, cap=cap, rng=rng)
        for _ in range(runs)
    ]
    seen = [tuple(f.positions.tolist()) for f in found]
    counts = [seen.count(places) for places in chances]
    assert stats.chisquare(counts, np.array(list(chances.values())) * runs).pvalue > TINY
    assert {(f.asked, f.refused) for f in found} == {(2, False), (cap, cap == 2)}


def test_a_tied_group_decides_by_a_coin() -> None:
    """Reversed and with 0 and 2 renamed, these people are the same: item 1 is as often first as
    last. If a tie always put the other item before the pivot, it would be first in 0.57 of those
    runs, 8 standard deviations from a half."""
    rng = np.random.default_rng(22)
    crowd = [(1, 0, 2)] * 3 + [(0, 2, 1)] * 3
    places = [
        ldp_one_question_kwiksort(crowd, epsilon=60.0, groups=3, rng=rng).positions[1]
        for _ in range(5000)
    ]
    first, last = places.count(0), places.count(2)
    assert stats.binomtest(first, first + last).pvalue > TINY


@pytest.mark.parametrize("truth", [[1, 1, 0, 1], [1, 0, 0, 1, 1], [1, 1, 1, 0, 0, 0]])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_variance_of_one_question_by_enumeration(groups: int, truth: list[int]) -> None:
    users, epsilon = len(truth), 1.2
    size, honest, moments = users // groups, 1 / (1 + math.exp(-epsilon)), []
    for group in itertools.combinations(truth, size):
        for signs in itertools.product((0, 1), repeat=size):
            mean = sum(2 * s - 1 for s in signs) / size / math.tanh(epsilon / 2)
            value = 0.5 + 0.5 * mean
            says = [honest if s == w else 1 - honest for s, w in zip(signs, group, strict=True)]
            moments.append(math.prod(says) * np.array([1, value, value**2]))
    total, mean, square = np.sum(moments, axis=0)
    share = sum(truth) / users
    exact = entry_variance("one_question", 5, users, epsilon, fraction=share, cap=groups)
    assert mean / total == pytest.approx(share)
    assert square / total - share**2 == pytest.approx(exact)


def test_without_groups_one_question_each_is_one_pair() -> None:
    rng, centre = np.random.default_rng(7), np.array([2, 0, 3, 1, 4])
    crowd = np.tile(centre, (4000, 1))
    for cap in (0, 4, None):  # nobody, one pivot, everybody on demand
        found = ldp_one_question_kwiksort(crowd, epsilon=60.0, groups=20, cap=cap, rng=rng)
        assert np.array_equal(found.positions, centre)
        assert found.asked == 0 if cap == 0 else 4 <= found.asked <= (cap or 10)
        assert found.refused == (cap == 0) or cap == 4


def test_one_question_each_refuses_bad_arguments() -> None:
    rng, crowd = np.random.default_rng(7), [[0, 1, 2]] * 5
    for given, named in (
        ({"groups": 6}, "groups = 6: allowed is an integer from 1 to 5"),
        ({"groups": 4, "cap": 5}, "cap = 5: allowed is an integer from 0 to 4"),
        ({"groups": 4, "epsilon": 0}, "epsilon = 0"),
    ):
        with pytest.raises(ValueError, match=named):
            ldp_one_question_kwiksort(crowd, **({"epsilon": 1.0} | given), rng=rng)
    with pytest.raises(ValueError, match="cap = None"):
        entry_variance("one_question", 4, 10, 1.0)


# ------------------------------------------------------------------ all entries at once


@pytest.mark.parametrize(
    ("protocol", "ties"),
    [
        ("one_pair", "split"),
        ("pairs", "split"),
        ("split", "split"),
        ("hypercube", "split"),
        ("hypercube", "closed"),
    ],
)
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_fractions_against_their_moments(protocol: str, ties: str, epsilon: float) -> None:
    rng = np.random.default_rng(8)
    positions = mallows_rankings(25, 4, phi=0.5, rng=rng)
    share, runs = pairwise_counts(positions) / 25, 4000
    draws = np.stack(
        [
            local_fractions(positions, protocol, epsilon=epsilon, ties=ties, rng=rng)
            for _ in range(runs)
        ]
    )
    exact = entry_variance(protocol, 4, 25, epsilon, ties=ties)
    off = ~np.eye(4, dtype=bool)
    assert np.abs(draws.mean(axis=0) - share).max() < SD * math.sqrt(exact / runs)
    assert draws[:, off] + np.swapaxes(draws, 1, 2)[:, off] == pytest.approx(1)
    assert np.abs(draws[:, off].var(axis=0) / exact - 1).max() < SD * math.sqrt(2.5 / runs)


def test_one_pair_by_enumeration() -> None:
    epsilon, bit = 1.1, np.array([1, 0])  # two users, three items, one pair of interest
    truth, gain = 1 / (1 + math.exp(-epsilon)), 3 / math.tanh(epsilon / 2)
    one = [
        [(2 / 3, 0.0), (truth / 3, gain * (2 * b - 1)), ((1 - truth) / 3, -gain * (2 * b - 1))]
        for b in bit
    ]
    cases = [(p * q, 0.5 + (x + y) / 4) for (p, x), (q, y) in itertools.product(*one)]
    mean = sum(p * x for p, x in cases)
    assert mean == pytest.approx(0.5)
    variance = sum(p * (x - mean) ** 2 for p, x in cases)
    assert variance == pytest.approx(entry_variance("one_pair", 3, 2, epsilon))


def test_one_pair_is_the_default_fraction() -> None:
    positions = mallows_rankings(50, 5, phi=0.5, rng=np.random.default_rng(9))
    a = one_pair_response(positions, epsilon=1.0, rng=np.random.default_rng(10))
    b = local_fractions(positions, "one_pair", epsilon=1.0, rng=np.random.default_rng(10))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_one_pair_beats_the_other_protocols_at_the_same_epsilon(epsilon: float) -> None:
    for n in range(3, 30):
        pair, best, cube, split = (
            entry_variance(p, n, 1000, epsilon) for p in ("one_pair", "pairs", "hypercube", "split")
        )
        assert pair < cube
        tried = [
            entry_variance("pairs", n, 1000, epsilon, queries=k)
            for k in range(1, min(n * (n - 1) // 2, 20) + 1)
        ]
        assert best == pytest.approx(min(tried)) and best <= split and tried[0] == pair
    many = entry_variance("hypercube", 300, 1000, epsilon)
    assert many / entry_variance("one_pair", 300, 1000, epsilon) == pytest.approx(
        math.pi / 2, rel=1e-4
    )


def test_variance_refuses_bad_arguments() -> None:
    with pytest.raises(ValueError, match="protocol"):
        entry_variance("laplace", 4, 10, 1.0)
    with pytest.raises(ValueError, match="cap"):
        entry_variance("adaptive", 4, 10, 1.0)


PROTOCOL_CALLS = [
    lambda p, rng: rankers.ldp_pair_counts(p, epsilon=1.0, rng=rng),
    lambda p, rng: rankers.ldp_kwiksort(p, epsilon=1.0, rng=rng),
    lambda p, rng: rankers.one_pair_response(p, epsilon=1.0, rng=rng),
    lambda p, rng: rankers.pairs_response(p, epsilon=1.0, queries=None, rng=rng),
    lambda p, rng: rankers.local_fractions(p, "hypercube", epsilon=1.0, rng=rng),
    lambda p, rng: rankers.adaptive_answers(p, epsilon=1.0, cap=6, rng=rng).values,
    lambda p, rng: rankers.ldp_adaptive_kwiksort(p, epsilon=1.0, cap=6, rng=rng).positions,
    lambda p, rng: rankers.ldp_one_question_kwiksort(p, epsilon=1.0, groups=7, rng=rng).positions,
]


@pytest.mark.parametrize("call", PROTOCOL_CALLS)
def test_protocols_take_rankings_and_nothing_else(call):
    places = np.argsort(np.random.default_rng(3).random((30, 4)), axis=1)
    answers = [call(p, np.random.default_rng(0)) for p in (places, Rankings(4, places))]
    np.testing.assert_array_equal(*answers)
    for bad, named in (
        ([[0, 0, 5], [9, 9, 9]], r"positions\[0\] = \[0, 0, 5\]: allowed is a permutation"),
        ([[0, 1, 2], [1, 2, 3]], r"positions\[1\]"),
        ([[0, 1, -1]], r"positions\[0\]"),
        ([[0.0, 1.0, 2.0]], "positions of type float64"),
        ([[0, 1, 2], [0, 1]], "positions = .* rows of one length"),
    ):
        with pytest.raises(ValueError, match=named):
            call(bad, np.random.default_rng(0))
