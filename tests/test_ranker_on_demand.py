"""Rankers that ask on demand: answers by groups with a fallback, and one question each."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbook.estimators import pairwise_counts
from dpbook.models import mallows_rankings
from dpbook.pages.local_protocols import entry_variance
from dpbook.privacy import WholeRanking
from dpbook.rankers import AnswersOnDemand, Hypercube, OneQuestion
from dpbook.rankers.on_demand import GroupAnswers
from tests.oracles import one_question_runs, rng, worst_loss

TINY = 1e-7  # a correct sampler fails a test at this level once in ten million runs
SD = float(stats.norm.isf(TINY / 2))
MAKERS = {"tight": AnswersOnDemand.private, "printed": AnswersOnDemand.printed}
THREE, FOUR, FIVE = (WholeRanking(n) for n in (3, 4, 5))


def transcript(ranker: AnswersOnDemand, ranks: tuple[int, ...]) -> np.ndarray:
    """As many answers as one person may give, and of the message to the fallback."""
    bits, distribution = [ranks[i] < ranks[j] for i, j in ((0, 1), (0, 2), (1, 2))], np.ones(1)
    for k in range(ranker.limit):
        distribution = np.kron(distribution, ranker.channel[int(bits[k % 3])])
    message = ranker.second.message_pmf(ranks) if ranker.fallback else np.ones(1)
    return np.kron(distribution, message)


@pytest.mark.parametrize("fallback", [True, False])
@pytest.mark.parametrize("cap", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_loss_by_enumeration_of_transcripts(epsilon: float, cap: int, fallback: bool) -> None:
    everyone = list(itertools.permutations(range(3)))
    for name, make in MAKERS.items():
        ranker = make(epsilon, THREE, cap=cap, fallback=fallback)
        worst = worst_loss([transcript(ranker, ranks) for ranks in everyone])
        assert ranker.loss() == (pytest.approx(worst, rel=1e-9),) * 2
        if name == "tight":
            assert worst == pytest.approx(epsilon)
            broken = replace(ranker, scale=ranker.scale / 2)
            assert worst_loss([transcript(broken, p) for p in everyone]) > 1.5 * epsilon
            assert ranker.at_loss(0.2).loss()[1] == pytest.approx(0.2)
        elif fallback and 2 * cap % 3 == 0:
            assert worst > epsilon  # half of it wasted, half of it again on top


def test_budgets_are_split_as_stated() -> None:
    tight, printed = (make(1.0, FOUR, cap=6) for make in MAKERS.values())
    assert tight.limit == printed.limit == 3
    assert tight.level == pytest.approx(1 / 6) and tight.second.loss()[1] == pytest.approx(0.5)
    assert printed.level == pytest.approx(0.5 * 4 / 6)  # 0.5 epsilon n / q
    assert printed.second == Hypercube.printed(printed.second.level, FOUR, solver="kemeny")
    assert printed.second.level == pytest.approx(0.5)
    alone = AnswersOnDemand.private(1.0, FOUR, cap=6, fallback=False)
    assert alone.level == pytest.approx(1 / 3)


@pytest.mark.parametrize("calibration", MAKERS)
@pytest.mark.parametrize("truth", [[1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 1, 0]])
def test_variance_by_enumeration(calibration: str, truth: list[int]) -> None:
    users, ranker = len(truth), MAKERS[calibration](1.2, WholeRanking(2), cap=3, fallback=False)
    slots, moments = users + users % 2, []
    for group in itertools.combinations(range(slots), slots // 2):
        member = [truth[k] for k in group if k < users]
        for signs in itertools.product((0, 1), repeat=len(member)):
            value = 2 / users * ranker.gain * sum(2 * s - 1 for s in signs)
            value = 0.5 + 0.5 * value if calibration == "tight" else value
            says = zip(member, signs, strict=True)
            probability = math.prod(ranker.channel[w, s] for w, s in says)
            moments.append((probability, probability * value, probability * value**2))
    total, mean, square = np.sum(moments, axis=0)
    share = sum(truth) / users
    assert mean / total == pytest.approx(share)
    assert square / total - share**2 == pytest.approx(entry_variance(ranker, users, share))


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("calibration", MAKERS)
def test_answers_against_their_moments(calibration: str, epsilon: float) -> None:
    source, runs = rng(4), 1500
    positions = mallows_rankings(23, 4, phi=0.5, rng=source)
    share = pairwise_counts(positions) / 23
    ranker = MAKERS[calibration](epsilon, FOUR, cap=6, fallback=False)
    draws = np.stack([ranker.answers(positions, rng=source).values for _ in range(runs)])
    for j, i in itertools.permutations(range(4), 2):
        exact = entry_variance(ranker, 23, share[j, i])
        assert abs(draws[:, j, i].mean() - share[j, i]) < SD * math.sqrt(exact / runs)
        # sums of many bounded reports: nearly normal, so the variance has relative sd sqrt(2/runs)
        assert abs(draws[:, j, i].var() / exact - 1) < SD * math.sqrt(2.5 / runs)


def test_groups_are_uniform() -> None:
    source, ranker = rng(5), AnswersOnDemand.private(1.0, THREE, cap=3)
    table = np.tile(np.arange(3), (6, 1))
    groups = np.stack([ranker.answers(table, rng=source).groups for _ in range(3000)])
    assert (groups[:, [0, 1, 2], [0, 1, 2]] == -1).all()
    pair = groups[:, 0, 1] * 3 + groups[:, 1, 0]
    assert stats.chisquare(np.bincount(pair, minlength=9)).pvalue > TINY


@pytest.mark.parametrize("calibration", MAKERS)
def test_a_clear_order_is_found(calibration: str) -> None:
    centre = np.array([2, 0, 3, 1, 4])
    ranker = MAKERS[calibration](60.0, FIVE, cap=40)
    found, asked, refused = ranker._run(np.tile(centre, (4000, 1)), rng(6))
    assert not refused and 4 <= asked <= 10
    assert np.array_equal(found, centre)
    assert np.array_equal(ranker.publish(np.tile(centre, (4000, 1)), rng=rng(6)), centre)


def test_two_items_follow_their_distribution() -> None:
    """42 people agree; a group of 21 answers the one pair at epsilon / 2, the majority decides.

    1500 runs err by 5.33 sqrt(0.13 * 0.87 / 1500) = 0.05 at most, at the level TINY; at all of
    epsilon the chance of the right order would be 0.99 instead of 0.87.
    """
    ranker, runs = AnswersOnDemand.private(1.0, WholeRanking(2), cap=1), 1500
    ranks = ranker.sample(np.tile([0, 1], (42, 1)), runs, rng=rng(12))
    right = int((ranks[:, 0] == 0).sum())
    probability, twice = (stats.binom.sf(10, 21, 1 / (1 + math.exp(-e))) for e in (0.5, 1.0))
    assert stats.binomtest(right, runs, probability).pvalue > TINY
    assert stats.binomtest(right, runs, twice).pvalue < TINY


def test_refusal_hands_over_to_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fallback is the second ranker, with half of epsilon; nobody else sees the people."""
    source, centre, seen = rng(7), np.array([2, 0, 3, 1, 4]), []
    original = Hypercube._once

    def noted(self: Hypercube, table: object, rng: object) -> object:
        seen.append(self)
        return original(self, table, rng)  # type: ignore[arg-type]

    monkeypatch.setattr(Hypercube, "_once", noted)
    positions, ranker = np.tile(centre, (3000, 1)), AnswersOnDemand.private(6.0, FIVE, cap=3)
    runs = [ranker._run(positions, source) for _ in range(20)]
    refused = [found for found, _, over in runs if over]  # five groups with one answer each
    assert refused and len(seen) == len(refused) and set(seen) == {ranker.second}
    assert ranker.second.loss()[1] == pytest.approx(3.0) and ranker.second.ties == "split"
    assert all(asked <= 5 for _, asked, _ in runs)
    assert all(np.array_equal(found, centre) for found in refused)
    with pytest.raises(ValueError, match="cap = 3, fallback = False: a group was asked too often"):
        for _ in range(50):
            replace(ranker, fallback=False).publish(positions, rng=source)


def test_no_group_shows_more_answers_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is that of `limit` answers; only what KwikSort looks at is released."""
    original, shown = AnswersOnDemand._answers, []

    class Guarded:
        def __init__(self, values: np.ndarray, seen: list[tuple[int, int]]) -> None:
            self.values, self.seen = values, seen

        def __getitem__(self, index: tuple) -> np.ndarray:
            rows, columns = np.broadcast_arrays(*index)
            self.seen.extend(zip(rows.tolist(), columns.tolist(), strict=True))
            return self.values[index]

    def guarded(self: AnswersOnDemand, *args: object, **kwargs: object) -> GroupAnswers:
        answers, seen = original(self, *args, **kwargs), []  # type: ignore[arg-type]
        shown.append((answers, seen))
        return replace(answers, values=Guarded(answers.values, seen))  # type: ignore[arg-type]

    monkeypatch.setattr(AnswersOnDemand, "_answers", guarded)
    source, refused, full = rng(2), 0, 0
    table = mallows_rankings(30, 6, phi=0.5, rng=source)
    ranker = AnswersOnDemand.private(1.0, WholeRanking(6), cap=6)
    for _ in range(60):
        _, asked, over = ranker._run(table, source)
        answers, seen = shown[-1]
        assert len(set(seen)) == len(seen) <= asked
        loads = np.bincount([answers.groups[pair] for pair in seen], minlength=6)
        assert answers.limit == 2 and loads.max(initial=0) <= 2
        refused += over
        full += loads.max(initial=0) == 2
    assert refused and full and refused < 60


@pytest.mark.parametrize("cap", [2, 3])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_one_question_each_spends_epsilon_by_enumeration(epsilon: float, cap: int) -> None:
    everyone = list(itertools.permutations(range(3)))
    dataset = [everyone[0], everyone[3], everyone[5], everyone[1]]
    before, worst = one_question_runs(dataset, epsilon, cap), 0.0
    assert math.fsum(p for p, _ in before.values()) == pytest.approx(1, abs=1e-12)
    for person, other in itertools.product(range(4), everyone):
        changed = [*dataset[:person], other, *dataset[person + 1 :]]
        after = one_question_runs(changed, epsilon, cap)
        assert after.keys() == before.keys()
        worst = max(worst, *(abs(math.log(after[run][0] / before[run][0])) for run in before))
    ranker = OneQuestion.private(epsilon, THREE, groups=3, cap=cap)
    assert ranker.loss() == (pytest.approx(worst, rel=1e-12),) * 2


@pytest.mark.parametrize("cap", [2, 3])
def test_one_question_each_follows_its_distribution(cap: int) -> None:
    dataset, source, runs = [(0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)], rng(21), 2500
    probabilities, half = (dict.fromkeys(itertools.permutations(range(3)), 0.0) for _ in range(2))
    for distribution, epsilon in ((probabilities, 2.5), (half, 5.0)):
        for probability, ranks in one_question_runs(dataset, epsilon, cap).values():
            distribution[ranks] += probability
    ranker = OneQuestion.private(2.5, THREE, groups=3 if cap == 2 else 4, cap=cap)
    found = [ranker._run(np.array(dataset), source) for _ in range(runs)]
    seen = [tuple(ranks.tolist()) for ranks, _, _ in found]
    counts = [seen.count(ranks) for ranks in probabilities]
    assert stats.chisquare(counts, np.array(list(probabilities.values())) * runs).pvalue > TINY
    assert stats.chisquare(counts, np.array(list(half.values())) * runs).pvalue < TINY
    assert {run[1:] for run in found} == {(2, False), (cap, cap == 2)}


def test_a_tied_group_decides_by_a_coin() -> None:
    """Reversed and with 0 and 2 renamed, these people are the same: item 1 is as often first as
    last. If a tie always put the other item before the pivot, it would be first in 0.57 of those
    runs, 6 standard deviations from a half."""
    dataset = [(1, 0, 2)] * 3 + [(0, 2, 1)] * 3
    ranks = OneQuestion.private(60.0, THREE, groups=3).sample(dataset, 3000, rng=rng(22))[:, 1]
    first, last = int((ranks == 0).sum()), int((ranks == 2).sum())
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
    exact = entry_variance(OneQuestion.private(epsilon, FIVE, groups=groups), users, share)
    assert mean / total == pytest.approx(share)
    assert square / total - share**2 == pytest.approx(exact)


@pytest.mark.parametrize("cap", range(8))
def test_no_more_questions_than_the_cap_allows(cap: int) -> None:
    positions = mallows_rankings(40, 4, phi=0.5, rng=rng(1))
    ranker = OneQuestion.private(1.0, FOUR, groups=30, cap=cap)
    runs = [ranker._run(positions, rng(seed)) for seed in range(60)]
    assert all(asked <= cap for _, asked, _ in runs)
    if cap >= 6:  # all pairs
        assert not any(refused for _, _, refused in runs)
    if cap < 3:  # not even the first pivot
        assert all(refused for _, _, refused in runs)


@pytest.mark.parametrize("cap", [0, 5, 30])
def test_one_question_each_reads_everybody_once(cap: int) -> None:
    """Both sides of a comparison are read, for the people who answer it, and nobody twice."""
    positions = mallows_rankings(40, 4, phi=0.5, rng=rng(1))
    read = np.zeros(40, dtype=int)

    class Guarded:
        shape = positions.shape

        def __getitem__(self, index: tuple) -> np.ndarray:
            np.add.at(read, index[0], 1)
            return positions[index]

    ranker = OneQuestion.private(1.0, FOUR, groups=30, cap=cap)
    for seed in range(20):
        _, asked, refused = ranker._run(Guarded(), rng(seed))  # type: ignore[arg-type]
        assert set(read) <= {0, 2} and read.sum() == 2 * (40 if refused else asked)
        read[:] = 0
