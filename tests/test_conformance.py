"""What every private ranker promises, asked of all of them in the same words.

A ranker joins with one line of `CASES`. Neighbours are listed here from the definition, without the
unit's own enumeration; the laws are those of the ranker, and its sampler is tied to them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbook import rankers
from dpbook.models import all_rankings
from dpbook.privacy import Edge, Person, WholeRanking, audit_sampler, check_mechanism, record_play
from dpbook.rankers import (
    AnswersOnDemand,
    CappedKwikSort,
    DiscreteCounts,
    ExponentialRanking,
    FlippedAnswers,
    Hypercube,
    LaplaceAnswers,
    NoisyCounts,
    NoisyPairs,
    OneQuestion,
    PairResponses,
    PerturbedMle,
    PrivateFootrule,
    Ranker,
    StandardNoise,
)

EPSILON = 1.0
DRAWS = 40_000


@dataclass(frozen=True)
class Case:
    """A ranker made for EPSILON, and data for it.

    Attributes
    ----------
    ranker : Ranker
        For three items, and so few people that all neighbouring data can be listed.
    data : array
        What the ranker takes: a table of wins, or rankings.
    pairs : callable
        From the unit to all neighbouring data, `tables` or one's own.
    seen : callable, optional
        From ranker and two data sets to the loss of the release between them, at an output where
        it is attained; without it only the law of the ranking is held against the promise.
    sharp : bool
        Whether at half the scale the law of the ranking alone already breaks the promise.
    tight : bool
        Whether so few people already spend all of it.
    """

    ranker: Ranker
    data: Any
    pairs: Callable[[Any], Iterator[tuple[Any, Any]]]
    seen: Callable[[Any, Any, Any], float] | None = None
    sharp: bool = True
    tight: bool = True


# ------------------------------------------------------------------ neighbours by definition


def sheets(n: int, design: str, per_user: int | None) -> list[np.ndarray]:
    """The table of every set of answers that one person may give."""
    pairs = list(combinations(range(n), 2))
    if design == "ranking":
        return [(r[:, None] < r).astype(int) for r in map(np.array, permutations(range(n)))]
    single = [[(i, j), (j, i)] for i, j in pairs]
    if design == "with_replacement":
        choices = [[winner for both in single for winner in both]] * int(per_user or 0)
    else:
        skip = [None] if design == "each_pair_or_skip" else []
        choices = [[*both, *skip] for both in single]
    found = []
    for answers in product(*choices):
        table = np.zeros((n, n), dtype=int)
        for answer in answers:
            if answer is not None:
                table[answer] += 1
        found.append(table)
    return [np.array(t).reshape(n, n) for t in {tuple(table.ravel()) for table in found}]


def tables(unit: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All neighbouring tables of the design, one by one."""
    n = unit.n_items
    if isinstance(unit, Edge):
        every = sheets(n, "each_pair_or_skip" if unit.exchange else "each_pair_once", None)
        for x, y in combinations(every, 2):
            # One answer turned round, or one gone and another come: two entries differ by one.
            if (x != y).sum() == 2 and x.sum() == y.sum():
                yield x, y
        return
    whole = isinstance(unit, WholeRanking)
    one = sheets(n, "ranking", None) if whole else sheets(n, unit.design, unit.per_user)
    for others in product(one, repeat=unit.users - 1):
        base = sum(others, np.zeros((n, n), dtype=int))
        if whole and unit.relation == "add_remove":
            yield from ((base, base + new) for new in one)
        else:
            yield from ((base + old, base + new) for old, new in combinations(one, 2))


# ------------------------------------------------------------------ the rankers


def far_out(ranker: NoisyCounts, x: np.ndarray, y: np.ndarray) -> float:
    """The log-ratio of the densities of noisy counts where every slope has its sign."""
    before, after = x.sum(axis=1), y.sum(axis=1)
    far = 100 * np.sign(before - after)
    return float(ranker.logpdf(far, before) - ranker.logpdf(far, after))


EDGE, THREE = (
    np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]),
    np.array([[0, 3, 2], [0, 0, 2], [1, 1, 0]]),
)
counts, CROWD = NoisyCounts.private, WholeRanking(3, users=3)
CROWD_OF_TWO = 2 * EDGE
LISTS = np.array([[0, 1, 2], [0, 2, 1], [2, 1, 0]])

CASES = {
    name: Case(counts(EPSILON, unit), data, tables, far_out)
    for name, unit, data in (
        ("counts, flips", Edge(3, exchange=False), EDGE),
        ("counts, edge", Edge(3), EDGE),
        ("counts, person", Person(3, 2, vouched=True, users=2), THREE),
        ("counts, sheets", Person(3, design="each_pair_once", vouched=True, users=3), THREE),
        ("counts, skips", Person(3, design="each_pair_or_skip", vouched=True, users=2), EDGE),
        ("counts, ranking", WholeRanking(3, users=3), THREE),
        ("counts, one more", WholeRanking(3, users=3, relation="add_remove"), THREE),
    )
}
CASES |= {
    "counts, discrete": Case(DiscreteCounts.private(EPSILON, Edge(3)), EDGE, tables, far_out),
    "pairs, KwikSort": Case(NoisyPairs.private(EPSILON, CROWD), THREE, tables),
    "pairs, Kemeny": Case(NoisyPairs.private(EPSILON, CROWD, solver="kemeny"), THREE, tables),
    "pairs, clipped": Case(NoisyPairs.private(EPSILON, CROWD, "kemeny", clip=True), THREE, tables),
    # Half of the loss of its fallback is hidden by the chance that it is not needed.
    "capped KwikSort": Case(
        CappedKwikSort.private(EPSILON, CROWD, cap=2), THREE, tables, sharp=False
    ),
    "all pairs in time": Case(CappedKwikSort.private(EPSILON, CROWD, cap=3), THREE, tables),
    # What is set aside for the sum of the weights is spent in large crowds only.
    "exponential": Case(ExponentialRanking.private(EPSILON, CROWD), THREE, tables, tight=False),
}

# Rankers without an exact law of the ranking here: what they publish has one, which the file of
# each ranker holds against the sampler and against all neighbours.
ALONE = WholeRanking(3)
OTHERS: dict[str, tuple[Ranker, Any]] = {
    "perturbed MLE": (PerturbedMle.private(EPSILON, Edge(3)), EDGE),
    "footrule": (PrivateFootrule.private(EPSILON, CROWD), LISTS),
    "one pair": (PairResponses.private(EPSILON, ALONE), LISTS),
    "all pairs": (PairResponses.private(EPSILON, ALONE, queries=3), LISTS),
    "hypercube": (Hypercube.private(EPSILON, ALONE), LISTS),
    "one question": (OneQuestion.private(EPSILON, ALONE, groups=3), LISTS),
    "on demand": (AnswersOnDemand.private(EPSILON, ALONE, cap=3), LISTS),
    "flipped answers": (FlippedAnswers.private(EPSILON, Edge(3, exchange=False)), THREE),
    "Laplace answers": (LaplaceAnswers.private(EPSILON, Edge(3, exchange=False)), THREE),
}
every_other = pytest.mark.parametrize(("ranker", "data"), OTHERS.values(), ids=OTHERS)

NOISY = {name: (case.ranker, case.data) for name, case in CASES.items()} | OTHERS
NOISY |= {
    "pairs, Gauss": (NoisyPairs.private(EPSILON, CROWD, delta=1e-6), THREE),
    "footrule, Gauss": (PrivateFootrule.private(EPSILON, CROWD, delta=1e-6), LISTS),
}
NOISY = {name: pair for name, pair in NOISY.items() if isinstance(pair[0], StandardNoise)}
every_noise = pytest.mark.parametrize(("ranker", "data"), NOISY.values(), ids=NOISY)

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


# ------------------------------------------------------------------ sampler and law


def drawn(ranker: Ranker, data: Any) -> np.ndarray:
    """How often each ranking comes up."""
    outcomes = {tuple(r): at for at, r in enumerate(all_rankings(3).tolist())}
    places = ranker.sample(data, DRAWS, rng=rng(7))
    return np.bincount([outcomes[tuple(r)] for r in places.tolist()], minlength=len(outcomes))


@every_case
def test_the_sampler_follows_the_law_and_no_other(case: Case) -> None:
    found = drawn(case.ranker, case.data)
    assert audit_sampler(found, case.ranker.pmf(case.data)).passed
    for factor in (0.5, 2):
        other = replace(case.ranker, scale=factor * case.ranker.scale)
        assert not audit_sampler(found, other.pmf(case.data)).passed


@every_case
def test_sizes_are_shapes(case: Case) -> None:
    assert case.ranker.sample(case.data, (4, 5), rng=rng()).shape == (4, 5, 3)
    assert case.ranker.sample(case.data, rng=rng()).shape == (3,)


@every_noise
def test_noise_is_standard_and_has_the_shape(ranker: StandardNoise, data: Any) -> None:
    """The same numbers at every scale, by the law of Laplace or of Gauss, none of them used twice.

    A distribution function drawn 24,000 times errs by more than 0.0188 with a chance of 5e-8 at
    most (Massart 1990); a scale 15 per cent off moves it by 0.026 or more.
    """
    size = 24_000 // ranker.noise(rng=rng()).size
    noise = ranker.noise(size, rng=rng())
    assert np.array_equal(noise, replace(ranker, scale=7 * ranker.scale).noise(size, rng=rng()))
    law = stats.norm if ranker.gaussian else stats.laplace
    assert stats.kstest(noise.ravel(), law.cdf).statistic < 0.0188
    assert np.unique(noise).size == noise.size
    assert ranker.noise((4, 5), rng=rng()).shape == (4, 5, *noise.shape[1:])


@every_noise
def test_a_release_is_its_data_its_noise_and_its_scale(ranker: StandardNoise, data: Any) -> None:
    noise = ranker.noise((4, 5), rng=rng())
    first = ranker.release(data, noise)
    assert np.array_equal(first, ranker.release(data, noise)) and first.shape[:2] == (4, 5)
    assert np.array_equal(first, ranker.publish(data, (4, 5), rng=rng()))
    louder = replace(ranker, scale=2 * ranker.scale)
    np.testing.assert_allclose(louder.release(data, noise / 2), first, atol=1e-6)


def test_only_standard_noise_is_called_noise() -> None:
    for ranker in [*(case.ranker for case in CASES.values()), *(one for one, _ in OTHERS.values())]:
        for name in ("noise", "release"):
            assert hasattr(ranker, name) is isinstance(ranker, StandardNoise)
        assert callable(type(ranker).private)


@every_case
def test_renaming_the_items_renames_the_law(case: Case) -> None:
    law, places = case.ranker.pmf(case.data), all_rankings(3)
    assert law.sum() == pytest.approx(1, rel=1e-12)
    index = {tuple(r): at for at, r in enumerate(places.tolist())}
    for names in permutations(range(3)):
        order = list(names)
        renamed = case.data[:, order] if case.pairs is not tables else case.data[order][:, order]
        moved = [index[tuple(r[order].tolist())] for r in places]
        assert case.ranker.pmf(renamed)[moved] == pytest.approx(law, rel=1e-9, abs=0)


# ------------------------------------------------------------------ privacy


def enumerated(ranker: Ranker, case: Case) -> float:
    return check_mechanism(ranker.pmf, case.pairs(ranker.unit)).loss


@every_case
def test_no_neighbours_lose_more_than_is_promised(case: Case) -> None:
    ranking = enumerated(case.ranker, case)
    low, high = case.ranker.loss("ranking")
    assert low - 1e-9 <= ranking <= high + 1e-9
    of_release = case.ranker.loss()
    assert ranking <= of_release[1] + 1e-9 <= EPSILON + 2e-9
    # Not more noise than is needed: the promise is tight, or known to within these bounds.
    if case.tight:
        assert of_release[1] == pytest.approx(EPSILON, rel=1e-9)
    if case.seen:
        worst = max(case.seen(case.ranker, x, y) for x, y in case.pairs(case.ranker.unit))
        assert of_release[0] - 1e-9 <= worst <= of_release[1] + 1e-9


@every_case
def test_half_the_scale_breaks_the_promise(case: Case) -> None:
    half = replace(case.ranker, scale=case.ranker.scale / 2)
    if case.tight:
        assert half.loss()[0] > 1.5 * EPSILON
    if case.sharp:
        assert enumerated(half, case) > EPSILON


@every_case
@pytest.mark.parametrize("of", ["release", "ranking"])
def test_a_ranker_can_be_made_for_its_true_loss(case: Case, of: str) -> None:
    made = case.ranker.at_loss(0.7, of)
    assert made.loss(of)[1] == pytest.approx(0.7, rel=1e-10)
    assert replace(made, scale=case.ranker.scale) == case.ranker


# ------------------------------------------------------------------ what is refused


@every_case
def test_bad_input_is_refused_by_name(case: Case) -> None:
    ranker, data = case.ranker, case.data
    calls: dict[str, list[Callable[[], object]]] = {
        "epsilon": [lambda: ranker.at_loss(0), lambda: ranker.at_loss(float("nan"))],
        "of": [lambda: ranker.loss("set")],
        "scale": [lambda s=s: replace(ranker, scale=s) for s in (-1.0, float("inf"), None, "1")],
        "unit": [lambda u=u: replace(ranker, unit=u) for u in ("edge", None)],
        "rng": [lambda: ranker.publish(data, rng=None), lambda: ranker.sample(data, rng=0)],
        "size": [lambda k=k: ranker.publish(data, k, rng=rng()) for k in (-1, 1.5)],
        "data": [
            lambda bad=bad, call=call: call(bad)
            for call in (lambda d: ranker.publish(d, rng=rng()), ranker.pmf)
            for bad in (data * np.nan, data * 1j, data - 5, data[..., :2], None, "table")
        ],
    }
    for name, bad in calls.items():
        for call in bad:
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                call()


@every_case
def test_data_on_more_items_than_the_unit_has_are_refused(case: Case) -> None:
    cap = {"cap": 3} if isinstance(case.ranker, CappedKwikSort) else {}
    wider = replace(case.ranker, unit=replace(case.ranker.unit, n_items=4), **cap)
    named = r"3 items: allowed are the 4 items|data of shape \(3, 3\): allowed is"
    with pytest.raises(ValueError, match=named):
        wider.publish(case.data, rng=rng())
    with pytest.raises(ValueError, match=named):
        wider.pmf(case.data)


@pytest.mark.parametrize("make", [NoisyCounts, DiscreteCounts])
def test_a_law_is_that_of_data_that_keep_to_the_unit(make: type[Ranker]) -> None:
    """Nobody vouches for the people behind a table: it has neither a release nor a law."""
    ranker = make.private(EPSILON, Person(3, 2))
    for call in (partial(ranker.publish, rng=rng()), ranker.pmf):
        with pytest.raises(ValueError, match="data does not say who gave which answer"):
            call(THREE)


def test_one_ranking_more_or_less_is_one_of_so_many_or_one_fewer() -> None:
    unit = replace(CROWD, relation="add_remove")
    unit.check(CROWD_OF_TWO)
    assert NoisyPairs.private(EPSILON, unit).loss("ranking")[1] < EPSILON
    for who, table in ((CROWD, CROWD_OF_TWO), (unit, CROWD_OF_TWO / 2)):
        with pytest.raises(ValueError, match="allowed is users = 3"):
            who.check(table)


# ------------------------------------------------------------------ the others


@every_other
def test_the_promise_is_kept_and_half_the_noise_breaks_it(ranker: Ranker, data: Any) -> None:
    low, high = ranker.loss()
    assert 0 < low <= high == pytest.approx(EPSILON, rel=1e-9)
    made = ranker.at_loss(0.7)
    assert made.loss()[1] == pytest.approx(0.7, rel=1e-9)
    louder = ranker.at_loss(2 * EPSILON)
    assert louder.scale < ranker.scale < made.scale
    assert replace(ranker, scale=ranker.scale / 2).loss()[0] > EPSILON


@every_other
def test_samples_are_rankings_and_repeat_with_their_seed(ranker: Ranker, data: Any) -> None:
    places = ranker.sample(data, 6, rng=rng())
    assert places.shape == (6, 3) and (np.sort(places, axis=1) == np.arange(3)).all()
    assert np.array_equal(places, ranker.sample(data, 6, rng=rng()))
    assert ranker.sample(data, rng=rng()).shape == (3,)


@every_other
def test_the_rest_is_refused_by_name(ranker: Ranker, data: Any) -> None:
    for name, call in (
        ("epsilon", lambda: ranker.at_loss(0)),
        ("of", lambda: ranker.loss("set")),
        ("scale", lambda: replace(ranker, scale=-1.0)),
        ("unit", lambda: replace(ranker, unit="edge")),
        ("rng", lambda: ranker.sample(data, rng=0)),
    ):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            call()
    with pytest.raises(AttributeError):
        ranker.scale = 1.0  # type: ignore[misc]


# ------------------------------------------------------------------ the code itself


def lists(unit: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Everybody's ranking replaced by every other."""
    for who, new in product(range(len(LISTS)), permutations(range(3))):
        other = LISTS.copy()
        other[who] = new
        if (other != LISTS).any():
            yield LISTS, other


def turned(unit: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every answer of the table turned round."""
    for at in np.argwhere(THREE):
        move = np.zeros_like(THREE)
        move[tuple(at)] -= 1
        yield THREE, THREE + move + (-move.T)


def upper(published: Any) -> np.ndarray:
    """The reports "i before j", i < j, of which the others are the rest."""
    return np.asarray(published)[..., *np.triu_indices(3, 1)]


@dataclass(frozen=True)
class Play:
    """What `record_play` can see of a ranker, without a look at its law."""

    ranker: Any
    pairs: Callable[[Any], Iterator[tuple[Any, Any]]]
    run: Callable[[Any], Callable[..., Any]] = lambda ranker: ranker.publish
    shift: bool = True  # else the noise is compared with thresholds: no value is behind it
    scale: bool = True  # else no call has the scale, and no number is multiplied by it
    less: float = 0.5  # of the scale is certainly too little on one path


def reports(ranker: Any) -> Callable[..., Any]:
    return lambda data, rng: upper(ranker.publish(data, rng=rng))


def answers(ranker: AnswersOnDemand) -> Callable[..., Any]:
    return lambda data, rng: ranker.answers(data, rng=rng).values


def people_asked(ranker: OneQuestion) -> Callable[..., Any]:
    """Of so many who agree that one more or less decides nothing, and the questions stay."""
    return lambda data, rng: ranker.publish(np.concatenate([data, [[0, 1, 2]] * 57]), rng=rng)


# Whether a clipped lead has moved cannot be seen.
PLAYS = {
    name: Play(case.ranker, case.pairs) for name, case in CASES.items() if name != "pairs, clipped"
}
PLAYS |= {
    "counts, one more": Play(
        counts(EPSILON, WholeRanking(3, relation="add_remove")),
        lambda unit: tables(WholeRanking(3, users=3, relation="add_remove")),
    ),
    "exponential": Play(CASES["exponential"].ranker, tables, shift=False, scale=False),
    "perturbed MLE": Play(OTHERS["perturbed MLE"][0], tables, less=0.25),
    "footrule": Play(OTHERS["footrule"][0], lists),
    "one pair": Play(OTHERS["one pair"][0], lists, reports),
    "all pairs": Play(OTHERS["all pairs"][0], lists, reports),
    "hypercube": Play(OTHERS["hypercube"][0], lists, shift=False, scale=False),
    "one question": Play(
        OneQuestion.private(16.0, ALONE, groups=3), lists, people_asked, shift=False, scale=False
    ),
    "on demand": Play(OTHERS["on demand"][0], lists, answers, shift=False),
    "flipped answers": Play(OTHERS["flipped answers"][0], turned),
    "Laplace answers": Play(OTHERS["Laplace answers"][0], turned, reports),
}
every_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)


def played(play: Play, twin: Callable[[Any, Any], Callable[..., Any]], scale: float) -> list[Any]:
    """Reports on a twin, made from the two data sets it is to tell apart; on all neighbours, or
    every so many of them.
    """
    pairs = list(play.pairs(play.ranker.unit))
    return [
        record_play(
            twin(x, y), x, y, seed=seed, declared=EPSILON if play.shift else None, scale=scale
        )
        for seed, (x, y) in enumerate(pairs[:: 1 + len(pairs) // 16])
    ]


@every_play
def test_the_code_moves_its_values_by_what_is_declared_and_nothing_else(play: Play) -> None:
    ranker = play.ranker
    found = played(play, lambda x, y: play.run(ranker), ranker.scale)
    assert not [words for report in found for words in report.violations]
    assert all(report.number[0] == report.number[1] > 0 for report in found)
    if play.shift:
        assert max(report.l1 + report.count for report in found) > EPSILON / 2


@every_play
def test_too_little_noise_is_seen_in_the_code(play: Play) -> None:
    less = replace(play.ranker, scale=play.less * play.ranker.scale)
    found = played(play, lambda x, y: play.run(less), less.scale)
    seen = [words for report in found for words in report.violations]
    assert all("declared" in words for words in seen)
    assert bool(seen) is play.shift


@every_play
def test_a_scale_that_looks_at_the_data_is_seen_in_the_code(play: Play) -> None:
    loud = replace(play.ranker, scale=4 * play.ranker.scale)

    def twin(x: Any, y: Any) -> Callable[..., Any]:
        runs = play.run(play.ranker), play.run(loud)
        return lambda data, rng: runs[np.array_equal(data, x)](data, rng=rng)

    found = played(play, twin, play.ranker.scale)
    assert any(report.violations for report in found) is play.scale


@every_play
def test_a_call_that_looks_at_the_data_is_seen_in_the_code(play: Play) -> None:
    def twin(x: Any, y: Any) -> Callable[..., Any]:
        def run(data: Any, rng: Any) -> Any:
            out = play.run(play.ranker)(data, rng=rng)
            return out if np.array_equal(data, x) else out + 0 * rng.random()

        return run

    for report in played(play, twin, play.ranker.scale):
        assert report.number[1] == report.number[0] + 1
        assert any("test_conformance" in words for words in report.violations)


# ------------------------------------------------------------------ none is left out


def test_every_ranker_that_draws_is_an_object() -> None:
    """Objects promise their loss."""
    for name in rankers.__all__:
        value = getattr(rankers, name)
        assert not inspect.isfunction(value) or "rng" not in inspect.signature(value).parameters


def test_a_loss_of_the_ranking_that_nobody_knows_lies_between_0_and_that_of_the_release() -> None:
    for name in ("perturbed MLE", "flipped answers"):
        ranker = OTHERS[name][0]
        assert ranker.loss("ranking") == (0.0, ranker.loss()[1])
