"""Errors of private majorities, replicated studies of private answers, comparisons of rankers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import expit

from dpbook.mechanisms import debiased_variance
from dpbook.privacy import Edge, Person, WholeRanking
from dpbook.rankers import FlippedAnswers, LaplaceAnswers, PairResponses, PerturbedMle, debiased_mle
from dpbook.simulation import compare, pair_errors, privacy_schedule, ranking_errors, responses
from dpbook.simulation.compare import FLOOR, Situation, compare_rankers, field, winner
from tests.oracles import brute_order_error, chi_square, lead_by_enumeration, rng

MECHANISMS = ["response", "laplace"]


def asks(n: int, epsilon: float, queries: int = 1, mechanism: str = "response", **given: str):
    unit = WholeRanking(n)
    return PairResponses.private(epsilon, unit, queries=queries, mechanism=mechanism, **given)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("users", [1, 4, 7])
def test_wrong_pair_against_enumeration(mechanism: str, k: int, users: int) -> None:
    ranker, agree = asks(3, 1.5, k, mechanism), np.array([[0.5, 0.8], [1.0, 0.8]])
    lie, found = ranker.channel[0, 1], pair_errors(ranker, agree, users)
    for at in np.ndindex(2, 2):
        right = agree[at] * (1 - lie) + (1 - agree[at]) * lie
        expected = lead_by_enumeration([right] * users, k / 3)
        assert (found.wrong[at], found.tie[at]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("k", [1, 2])
def test_balanced_errors_against_all_ways_to_deal(k: int) -> None:
    users, pairs, agree, ranker = 4, 3, 0.8, asks(3, 1.5, k, design="balanced")
    deals = [
        [i for i in range(users) for c in range(k) if (turn[i] * k + c) % pairs == card]
        for turn in itertools.permutations(range(users))
        for card in range(pairs)
    ]
    lie = ranker.channel[0, 1]
    right = agree * (1 - lie) + (1 - agree) * lie
    expected = np.mean([lead_by_enumeration([right] * len(d), 1.0) for d in deals], axis=0)
    found = pair_errors(ranker, agree, users)
    assert (found.wrong, found.tie) == pytest.approx(tuple(expected))


def test_tiny_probabilities_are_exact() -> None:
    # two items, one pair, everybody asked: a binomial tail in exact arithmetic
    ranker = asks(2, 6.0)
    lie = Fraction(float(ranker.channel[0, 1]))
    exact = sum(math.comb(80, k) * (1 - lie) ** k * lie ** (80 - k) for k in range(40))
    assert float(exact) < 1e-70
    # without abs=0 any number below 1e-12 would do
    found = float(pair_errors(ranker, 1.0, 80).wrong)
    assert found == pytest.approx(float(exact), rel=1e-9, abs=0)


def test_reports_that_say_nothing_are_wrong_as_often_whoever_agrees():
    """Both rows of the printed channel are alike."""
    found = pair_errors(PairResponses.printed(1.0, WholeRanking(2)), [0.2, 0.9], 3).wrong
    assert found[0] == pytest.approx(found[1], rel=1e-12)


MIXED = np.repeat([0.1, 3.0], 50)


def ranker(kind, epsilon, n):
    """A ranker for single answers; epsilon is a number or one for each user."""
    answer, levels = Edge(n, exchange=False), np.unique(epsilon) if np.ndim(epsilon) else epsilon
    if kind == "none":
        return FlippedAnswers(answer, 0.0)
    if kind == "laplace":
        return LaplaceAnswers.private(levels, answer)
    return FlippedAnswers.private(levels, answer, reading=kind)


def dataset(kind, epsilon, users):
    """Users in the groups of that ranker."""
    if kind == "none" or not np.ndim(epsilon):
        return users
    return np.unique(epsilon, return_counts=True)[1]


def pair_error(gap, *, users, epsilon, mechanism):
    """`pair_order_error` of users with their own epsilons."""
    datasets = dataset(mechanism, epsilon, users)
    return responses.pair_order_error(gap, ranker(mechanism, epsilon, 2), users=datasets)


def run(mechanism, seed=5, *, theta=None, users=100, epsilon=1.0, gamma=1.0, replicates=200):
    strengths = np.linspace(-0.6, 0.6, 8) if theta is None else np.asarray(theta)
    return responses.response_errors(
        strengths,
        ranker(mechanism, epsilon, strengths.shape[-1]),
        users=dataset(mechanism, epsilon, users),
        gamma=gamma,
        replicates=replicates,
        rng=rng(seed),
    )


def test_with_a_common_epsilon_classic_and_debiased_rank_alike_and_estimate_differently():
    for epsilon in (0.2, 1.0, np.full(100, 1.0)):
        classic, debiased = run("classic", epsilon=epsilon), run("debiased", epsilon=epsilon)
        signs = [np.sign(s.scores[:, :, None] - s.scores[:, None]) for s in (classic, debiased)]
        assert (signs[0] == signs[1]).all() and (signs[0] == 0).sum() > 200 * 8
        assert (classic.kendall == debiased.kendall).all()
        assert np.abs(classic.theta - debiased.theta).max() > 0.1
    mixed = [run(m, epsilon=MIXED) for m in ("classic", "debiased")]
    assert (mixed[0].kendall != mixed[1].kendall).mean() > 0.5
    assert mixed[0].kendall.mean() < mixed[1].kendall.mean()


@pytest.mark.parametrize("mechanism", ["none", "classic", "debiased", "weighted", "laplace"])
@pytest.mark.parametrize("epsilon", [0.7, MIXED])
def test_scores_have_the_exact_mean_and_variance(mechanism, epsilon):
    theta = np.array([-1.0, 0.2, 0.8])
    study = run(mechanism, theta=theta, epsilon=epsilon, replicates=8000)
    per_user = np.broadcast_to(epsilon, 100)
    t = np.tanh(per_user / 2)
    factor = {"classic": t, "weighted": t**2 / np.mean(t**2)}.get(mechanism, np.ones(100))
    win = expit(theta[:, None] - theta)
    if mechanism in ("none", "laplace"):
        added = (2 / per_user**2).sum() if mechanism == "laplace" else 0.0
        variance = 100 * win * win.T + added
    else:
        # Of weighted debiased responses, user by user.
        users = zip(factor, per_user, strict=True)
        variance = sum(f**2 * debiased_variance(win, e) for f, e in users)
    mean = factor.sum() * (win - 0.5).sum(axis=1)
    off = ~np.eye(3, dtype=bool)
    spread = np.sqrt(np.where(off, variance, 0).sum(axis=1))
    assert np.abs(study.scores.mean(axis=0) - mean).max() < 5 * spread.max() / math.sqrt(8000)
    # A sample variance of 8000 numbers of kurtosis below 6 is within 5 sqrt(5 / 8000).
    assert study.scores.std(axis=0) ** 2 == pytest.approx(spread**2, rel=0.125)


def test_users_who_all_differ_are_drawn_as_single_reports():
    # Two users and two items: the four score values and their probabilities.
    gap, epsilons = 0.9, np.array([0.5, 1.5])
    study = run("debiased", 9, theta=[gap, 0.0], users=2, epsilon=epsilons, replicates=20_000)
    t = np.tanh(epsilons / 2)
    p = 0.5 + t * (expit(gap) - 0.5)
    values = [((2 * x - 1) / t[0] + (2 * y - 1) / t[1]) / 2 for x in (0, 1) for y in (0, 1)]
    distribution = np.outer([1 - p[0], p[0]], [1 - p[1], p[1]]).ravel()
    seen = np.array([np.isclose(study.scores[:, 0], v).sum() for v in values])
    assert seen.sum() == 20_000 and chi_square(seen, distribution) > 1e-3
    assert chi_square(seen, distribution[::-1]) < 1e-9


def test_errors_are_those_of_the_estimates():
    theta = np.array([3.0, 1.0, 1.4, 0.0])
    study = run("debiased", theta=theta, replicates=30)
    gap = study.theta - (theta - theta.mean())
    assert study.l2 == pytest.approx(np.linalg.norm(gap, axis=1) / 2)
    assert study.sup == pytest.approx(np.abs(gap).max(axis=1))
    assert (study.residual < 1e-6).all() and np.abs(study.theta.sum(axis=1)).max() < 1e-7
    rows = np.tile(theta, (30, 1)) + np.arange(30)[:, None]
    assert run("debiased", theta=rows, replicates=30).theta == pytest.approx(study.theta)


def test_the_estimate_is_that_of_the_win_matrices():
    # Two items: the win matrix is the score.
    study = run("weighted", theta=np.array([0.4, 0.0]), epsilon=MIXED, replicates=20)
    outcomes = np.zeros((20, 2, 2))
    outcomes[:, 0, 1] = 50 + study.scores[:, 0]
    outcomes[:, 1, 0] = 100 - outcomes[:, 0, 1]
    assert debiased_mle(outcomes, gamma=1.0).theta == pytest.approx(study.theta, abs=1e-8)


def test_ranking_errors_average_over_broken_ties():
    truth = np.array([4.0, 3.0, 2.0, 1.0])
    scores = [[4, 3, 2, 1], [1, 2, 3, 4], [2, 2, 2, 2], [3, 1, 3, 2]]
    kendall, top = ranking_errors(scores, truth, 2)
    assert kendall == pytest.approx([0, 1, 0.5, 2.5 / 6])
    assert top == pytest.approx([0, 1, 0.5, 0.5])
    source = rng(2)
    scores = source.integers(0, 3, 6)
    target = np.arange(6.0)
    broken = scores + source.uniform(0, 0.5, (40_000, 6))
    exact, drawn = ranking_errors(scores, target, 2), ranking_errors(broken, target, 2)
    for value, sample in zip(exact, drawn, strict=True):
        assert sample.mean() == pytest.approx(float(value), abs=5 * 0.5 / math.sqrt(40_000))


def test_equal_truths_have_no_wrong_order():
    kendall, top = ranking_errors([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], 2)
    assert kendall == pytest.approx(2 / 3) and top == pytest.approx(0.5)
    with pytest.raises(ValueError, match="k = 1"):
        ranking_errors([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], 1)


LEVELS = [1.0] * 5, [0.3] * 4 + [2.0] * 4, [0.1, 0.5, 0.5, 1.0, 1.0, 2.0, 3.0], [0.7]


@pytest.mark.parametrize("mechanism", ["classic", "debiased", "weighted"])
@pytest.mark.parametrize("epsilons", LEVELS)
def test_the_order_of_two_items_is_that_of_the_full_enumeration(mechanism, epsilons):
    power = {"classic": 0, "debiased": -1, "weighted": 1}[mechanism]
    found = pair_error(0.4, users=len(epsilons), epsilon=epsilons, mechanism=mechanism)
    assert found == pytest.approx(brute_order_error(0.4, epsilons, power), rel=1e-12)


def test_the_study_of_two_items_has_the_exact_order_error():
    for mechanism in ("none", "classic", "debiased", "weighted"):
        study = run(mechanism, theta=np.array([0.3, 0.0]), epsilon=MIXED, replicates=20_000)
        exact = pair_error(0.3, users=100, epsilon=MIXED, mechanism=mechanism)
        sd = math.sqrt(exact * (1 - exact) / 20_000)
        assert study.kendall.mean() == pytest.approx(exact, abs=4 * sd)


def test_too_many_different_epsilons_for_an_enumeration_are_refused():
    many = np.linspace(0.1, 3.0, 60)
    with pytest.raises(ValueError, match="60 different"):
        pair_error(0.2, users=60, epsilon=many, mechanism="debiased")
    assert 0 < pair_error(0.2, users=60, epsilon=many, mechanism="classic") < 0.5


def test_schedules_start_together_and_straddle_the_threshold():
    users = np.array([50, 200, 800, 3200])
    level = privacy_schedule("threshold", 20, users, start=2.0)
    assert level == pytest.approx([2.0, 1.0, 0.5, 0.25], rel=1e-12)
    logs = np.log(20 * users) / np.log(1000)
    for power in (0.5, 1.0):
        faster = privacy_schedule("faster", 20, users, start=2.0, log_power=power)
        slower = privacy_schedule("slower", 20, users, start=2.0, log_power=power)
        assert faster == pytest.approx(level / logs**power, rel=1e-12)
        assert slower == pytest.approx(level * logs**power, rel=1e-12)
    grid = privacy_schedule("slower", [[10], [40]], users)
    assert grid.shape == (2, 4) and grid[0, 0] == 1.0


DATA = ("comparisons", "surveys", "rankings")
SITUATIONS = [
    Situation(data, protect, n, 40, 6, 0.7)
    for data, protect, n in product(DATA, ("comparison", "person"), (3, 6))
]


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("s", SITUATIONS, ids=str)
def test_every_ranker_of_a_field_loses_epsilon(s: Situation, epsilon: float) -> None:
    for name, entry in field(s, epsilon).items():
        spent = entry.ranker.at_loss(epsilon * entry.share).loss()[1]
        assert spent == pytest.approx(epsilon * entry.share, rel=1e-9), name
        # and as it stands no more
        assert entry.ranker.loss()[1] <= epsilon * entry.share * (1 + 1e-9), name


@pytest.mark.parametrize("s", SITUATIONS, ids=str)
def test_what_a_person_answers_composes_to_epsilon(s: Situation) -> None:
    local = {name: entry for name, entry in field(s, 1.0).items() if entry.local}
    for name, entry in local.items():
        by_answer = isinstance(entry.ranker.unit, Edge) and not s.one_answer
        everything = s.per_user if s.data == "comparisons" else 0
        used = (entry.few or everything) if by_answer else 1
        assert used * entry.share == pytest.approx(1), name


def test_a__ridge_as_large_as_the_noise_is_cheaper_than_the_proof_says() -> None:
    for unit in (Edge(5), Person(5, 7, vouched=True)):
        made, proved = compare._ridge_as_large(0.8, unit), PerturbedMle.private(0.8, unit)
        assert made.scale == made.gamma <= proved.scale
        assert made.loss()[1] == pytest.approx(0.8, rel=1e-9)
    complete = Edge(5, exchange=False)
    assert compare._ridge_as_large(0.8, complete) == PerturbedMle.private(0.8, complete)


@pytest.mark.parametrize("data", DATA)
def test_crowds_have_the_law_of_their_model(data: str) -> None:
    s = Situation(data, "person", 4, 200, 6, 0.7)
    source = rng(1)
    tables = np.array([s.dataset(source)["table"] for _ in range(200)])
    answers = (tables + np.swapaxes(tables, 1, 2)).sum(axis=0)
    share = np.diagonal(tables.sum(axis=0), 1) / np.diagonal(answers, 1)
    # neighbours: five standard deviations of a share of about that many answers
    assert np.abs(share - 0.7).max() < 5 * np.sqrt(0.21 / answers[0, 1])
    assert tables.sum() == 200 * 200 * 6  # six comparisons each, and four items have six pairs


@pytest.mark.parametrize("data", ["comparisons", "surveys"])
def test_a_part_of_the_answers_is_a_part_and_has_the_mean(data: str) -> None:
    s, source = Situation(data, "person", 4, 50, 6, 0.7), rng(2)
    table = s.dataset(source)["table"]
    parts = np.array([s._part(table, 2, source) for _ in range(2000)])
    assert (parts <= table).all() and (parts.sum(axis=(1, 2)) == 100).all()
    spread = parts.std(axis=0) / np.sqrt(2000)
    assert (np.abs(parts.mean(axis=0) - table / 3) <= 5 * spread + 1e-12).all()
    assert not (np.abs(parts.mean(axis=0) - table / 2) <= 5 * spread + 1e-12).all()


def test_counted_reports_are_ranked_by_net_reports() -> None:
    ranker = PairResponses.private(1.0, WholeRanking(3), solver="borda")
    reports = np.array([[0, 5, 1], [2, 0, 9], [3, 1, 0]])
    assert ranker.rank(reports, rng=rng(1)).tolist() == [1, 0, 2]
    assert ranker.loss() == PairResponses.private(1.0, WholeRanking(3)).loss()


def test_errors_are_shares_of_wrong_pairs() -> None:
    """So much privacy lost that nothing but the data set is left: all agree, nothing is wrong."""
    s = Situation("surveys", "person", 4, 400, 6, 0.99)
    errors = compare_rankers(s, 200.0, datasets=2, draws=3, rng=rng(5))
    assert not any(error.any() for error in errors.values())
    lost = compare_rankers(s, 1e-6, datasets=40, draws=25, rng=rng(6))
    for name in set(lost) - {FLOOR}:  # a coin for each pair; five standard deviations at least
        assert abs(lost[name].mean() - 0.5) < 5 * 0.25 / np.sqrt(1000), name


def test_contests_repeat_with_the_seed_and_show_the_price_of_noise() -> None:
    s = Situation("surveys", "person", 4, 100, 6, 0.7)
    how = {"datasets": 6, "draws": 3}
    runs = [compare_rankers(s, e, **how, rng=rng(7)) for e in (1.0, 1.0, 0.01)]
    assert all((runs[0][name] == runs[1][name]).all() for name in runs[0])
    assert runs[2]["counts"].mean() > runs[0]["counts"].mean() + 0.1
    local = {name for name, entry in field(s, 1.0).items() if entry.local}
    assert local == {"flipped", "Laplace", "few flipped"} < set(runs[0])


def test_a_winner_beats_all_others_or_is_not_one() -> None:
    source = rng(3)
    noise = source.normal(0, 0.01, 30)
    errors = {"a": 0.1 + noise, "b": 0.2 + source.normal(0, 0.01, 30), FLOOR: 0 * noise}
    won = winner(errors)
    assert (won.name, won.error, won.equals) == ("a", errors["a"].mean(), ())
    near = winner(errors | {"c": 0.1001 + source.normal(0, 0.01, 30)})
    assert near.equals in (("c",), ("a",))
    alone = winner({"a": noise})
    assert (alone.name, alone.equals) == ("a", ())


def test_intervals_of_all_pairs_are_right_in_95_contests_of_100() -> None:
    """Of three equal rankers two are told apart in at most 5 of 100; by narrower ones, more."""
    source, told, plain = rng(4), 0, 0
    for _ in range(2000):
        errors = {name: source.normal(size=20) for name in "abc"}
        wide = compare.simultaneous_width(errors)
        gaps = np.array([errors[x] - errors[y] for x, y in combinations("abc", 2)])
        apart = np.abs(gaps.mean(axis=1)) / gaps.std(axis=1, ddof=1)
        told, plain = told + (apart > wide).any(), plain + (apart > wide / 1.5).any()
    assert told <= 0.05 * 2000 + 4 * np.sqrt(2000 * 0.05 * 0.95) < plain
