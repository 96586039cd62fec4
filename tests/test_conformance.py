"""What every private ranker promises, asked of all of them in the same words.

A ranker joins with one line of `CASES`. Neighbours are listed here from the definition, without the
unit's own enumeration; the distributions are those of the ranker, and its sampler is tied to them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbook import rankers as r
from dpbook.mechanisms import knorm, randomized_response
from dpbook.mechanisms.hypercube import hypercube_response
from dpbook.mechanisms.noise import discrete_laplace_noise
from dpbook.models import all_rankings
from dpbook.privacy import Edge, Person, WholeRanking, audit_sampler, check_mechanism, record_play
from tests.oracles import rng, tables, tally

EPSILON = 1.0
DRAWS = 40_000


@dataclass(frozen=True)
class Case:
    """A ranker made for EPSILON, of three items and so few people that all neighbouring data can be
    listed, and data for it, a table of wins or rankings.

    `pairs` is from the unit to all neighbouring data, `seen` from ranker and two data sets to the
    loss of the release between them at an output where it is attained; without it only the law of
    the ranking is held against the promise. `sharp` is whether at half the scale the law of the
    ranking alone already breaks the promise, `tight` whether so few people already spend all of it.
    """

    ranker: r.Ranker
    data: Any
    pairs: Callable[[Any], Iterator[tuple[Any, Any]]]
    seen: Callable[[Any, Any, Any], float] | None = None
    sharp: bool = True
    tight: bool = True


def far_out(ranker: r.NoisyCounts, x: np.ndarray, y: np.ndarray) -> float:
    """The log-ratio of the densities of noisy counts where every slope has its sign."""
    before, after = x.sum(axis=1), y.sum(axis=1)
    far = 100 * np.sign(before - after)
    return float(ranker.logpdf(far, before) - ranker.logpdf(far, after))


def along(ranker: r.KNormCounts, x: np.ndarray, y: np.ndarray) -> float:
    """The log-ratio of K-norm noise far out in the direction of the move."""
    before, after = (ranker._centred(table.sum(axis=1)) for table in (x, y))
    gauges = [int(ranker.gauge(k * (before - after))) for k in (99, 100)]
    return (gauges[1] - gauges[0]) / ranker.scale / (getattr(ranker.unit, "per_user", None) or 1)


EDGE = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
THREE = np.array([[0, 3, 2], [0, 0, 2], [1, 1, 0]])
counts, CROWD, CROWD_OF_TWO = r.NoisyCounts.private, WholeRanking(3, users=3), 2 * EDGE
KEMENY = r.NoisyPairs.private(EPSILON, CROWD, solver="kemeny")
CAPPED = r.CappedKwikSort.private(EPSILON, CROWD, cap=2)
LISTS = np.array([[0, 1, 2], [0, 2, 1], [2, 1, 0]])

COUNTED = (
    ("flips", Edge(3, exchange=False), EDGE),
    ("edge", Edge(3), EDGE),
    ("person", Person(3, 2, vouched=True, users=2), THREE),
    ("sheets", Person(3, design="each_pair_once", vouched=True, users=3), THREE),
    ("skips", Person(3, design="each_pair_or_skip", vouched=True, users=1), EDGE),
    ("ranking", WholeRanking(3, users=3), THREE),
    ("one more", WholeRanking(3, users=3, relation="add_remove"), THREE),
)
CASES = {
    f"{name}, {who}": Case(make.private(EPSILON, unit), data, tables, seen)
    for name, make, seen in (("counts", r.NoisyCounts, far_out), ("K-norm", r.KNormCounts, along))
    for who, unit, data in COUNTED
}
CASES |= {
    "counts, discrete": Case(r.DiscreteCounts.private(EPSILON, Edge(3)), EDGE, tables, far_out),
    "pairs, KwikSort": Case(r.NoisyPairs.private(EPSILON, CROWD), THREE, tables),
    "pairs, Kemeny": Case(KEMENY, THREE, tables),
    "cube": Case(r.CubePairs.private(EPSILON, CROWD), THREE, tables),
    "pairs, clipped": Case(replace(KEMENY, clip=True), THREE, tables),
    # Half of the loss of its fallback is hidden by the chance that it is not needed.
    "capped KwikSort": Case(CAPPED, THREE, tables, sharp=False),
    "all pairs in time": Case(r.CappedKwikSort.private(EPSILON, CROWD, cap=3), THREE, tables),
    "first place": Case(r.TopSet.private(EPSILON, Edge(3)), EDGE, tables),
    "top two": Case(r.TopSet.private(EPSILON, CROWD, 2), THREE, tables, tight=False),
    # What is set aside for the sum of the weights is spent in large simulated data sets only.
    "exponential": Case(r.ExponentialRanking.private(EPSILON, CROWD), THREE, tables, tight=False),
}
CASES |= {
    f"one of three, {name}": Case(
        r.TopSet.private(EPSILON, unit, 1, "exponential"), data, tables, tight=False
    )
    for name, unit, data in (
        ("person", Person(3, 2, vouched=True, users=2), THREE),
        ("skips", Person(3, design="each_pair_or_skip", vouched=True, users=2), EDGE),
        ("one more", WholeRanking(3, users=3, relation="add_remove"), THREE),
    )
}

# Rankers without an exact law of the ranking here: what they publish has one, which the file of
# each ranker holds against the sampler and against all neighbours.
ALONE = WholeRanking(3)
OTHERS: dict[str, tuple[r.Ranker, Any]] = {
    "perturbed MLE": (r.PerturbedMle.private(EPSILON, Edge(3)), EDGE),
    "footrule": (r.PrivateFootrule.private(EPSILON, CROWD), LISTS),
    "one pair": (r.PairResponses.private(EPSILON, ALONE), LISTS),
    "all pairs": (r.PairResponses.private(EPSILON, ALONE, queries=3), LISTS),
    "hypercube": (r.Hypercube.private(EPSILON, ALONE), LISTS),
    "pair or parity": (r.PairOrParity.private(EPSILON, ALONE), LISTS),
    "order of three": (r.RandomOrder.private(EPSILON, ALONE), LISTS),
    "one question": (r.OneQuestion.private(EPSILON, ALONE, groups=3), LISTS),
    "on demand": (r.AnswersOnDemand.private(EPSILON, ALONE, cap=3), LISTS),
    "flipped answers": (r.FlippedAnswers.private(EPSILON, Edge(3, exchange=False)), THREE),
    "Laplace answers": (r.LaplaceAnswers.private(EPSILON, Edge(3, exchange=False)), THREE),
}
every_other = pytest.mark.parametrize(("ranker", "data"), OTHERS.values(), ids=OTHERS)

ALL = {name: (case.ranker, case.data) for name, case in CASES.items()} | OTHERS
every_ranker = pytest.mark.parametrize(("ranker", "data"), ALL.values(), ids=ALL)

NOISY = ALL | {
    "counts, Gauss": (counts(EPSILON, CROWD, delta=1e-6), THREE),
    "pairs, Gauss": (r.NoisyPairs.private(EPSILON, CROWD, delta=1e-6), THREE),
    "footrule, Gauss": (r.PrivateFootrule.private(EPSILON, CROWD, delta=1e-6), LISTS),
}
NOISY = {name: pair for name, pair in NOISY.items() if isinstance(pair[0], r.StandardNoise)}
every_noise = pytest.mark.parametrize(("ranker", "data"), NOISY.values(), ids=NOISY)

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def at_scale(ranker: r.Ranker, data: Any) -> Callable[[float, Any], Any]:
    """Rankings drawn by a ranker, as a function of its scale."""
    return lambda scale, bits: replace(ranker, scale=scale).sample(data, 50, rng=bits)


def by_its_fraction(scale: float, bits: Any) -> np.ndarray:
    """Below every last bit of a scale: such a sampler branches on it."""
    return bits.integers(0, Fraction(scale).numerator, size=50)


SIGNS = np.ones((50, 4))
#: Samplers as functions of scale, or of epsilon, and generator; beside them every ranker.
SAMPLERS: dict[str, Callable[[float, Any], Any]] = {
    "discrete Laplace": lambda x, bits: discrete_laplace_noise(x, 50, rng=bits),
    "root polytope": lambda x, bits: knorm.root_noise(4, x, (50,), rng=bits),
    "root polytope, free": lambda x, bits: knorm.root_noise(4, x, (50,), rng=bits, free=True),
    "cube": lambda x, bits: knorm.cube_noise(3, x, (50,), rng=bits),
    "zonotope": lambda x, bits: knorm.zonotope_noise(4, x, (50,), rng=bits),
    "zonotope, free": lambda x, bits: knorm.zonotope_noise(4, x, (50,), rng=bits, free=True),
    "randomised response": lambda x, bits: randomized_response(SIGNS, x, rng=bits),
    "hypercube": lambda x, bits: hypercube_response(SIGNS, x, rng=bits) > 0,
}
SAMPLERS |= {f"ranker, {name}": at_scale(*pair) for name, pair in ALL.items()}


def branches(draw: Callable[[float, Any], Any], scale: float) -> bool:
    """Does another last bit of the scale give other draws, or other draws after them?"""

    def run(value: float) -> list[Any]:
        bits = rng(5)
        return [np.asarray(draw(value, bits)).tolist(), bits.random()]

    near = np.nextafter(scale, [0, np.inf]).tolist()
    return any(run(value) != run(scale) for value in near)


@pytest.mark.parametrize("draw", SAMPLERS.values(), ids=SAMPLERS)
def test_the_last_bit_of_a_scale_changes_no_draw(draw: Callable[[float, Any], Any]) -> None:
    """So that a simulation is the same on every processor.

    Scales that people write, those next to which a rounding could jump, and one of a power. Below
    are 50 draws, or a few hundred numbers: that one lies between two thresholds side by side has a
    chance below 1e-12, that a rounding to twelve digits does so, 1 in 4500 for the last scale.
    """
    for scale in (1.0, 2.0, 0.3, 20 / 3, 0.05 * 80 ** (7 / 19)):
        assert not branches(draw, scale), f"scale {scale!r}: take `exact_scale` of it"
        assert branches(by_its_fraction, scale)


@every_case
def test_the_sampler_follows_the_law_and_no_other(case: Case) -> None:
    found = tally(case.ranker.sample(case.data, DRAWS, rng=rng(7)))
    assert audit_sampler(found, case.ranker.pmf(case.data)).passed
    for factor in (0.5, 2):
        other = replace(case.ranker, scale=factor * case.ranker.scale)
        assert not audit_sampler(found, other.pmf(case.data)).passed


@every_ranker
def test_samples_are_rankings_of_any_shape_and_repeat(ranker: r.Ranker, data: Any) -> None:
    ranks = ranker.sample(data, (2, 3), rng=rng(1))
    assert ranks.shape == (2, 3, 3) and (np.sort(ranks) == np.arange(3)).all()
    assert np.array_equal(ranks, ranker.sample(data, (2, 3), rng=rng(1)))
    assert ranker.sample(data, rng=rng(1)).shape == (3,)


@every_noise
def test_noise_is_standard_and_has_the_shape(ranker: r.StandardNoise, data: Any) -> None:
    """The same numbers at every scale, by the law of Laplace or of Gauss, none of them used twice.

    A distribution function drawn 24,000 times errs by more than 0.0188 with a chance of 5e-8 at
    most (Massart 1990); a scale 15 per cent off moves it by 0.026 or more.
    """
    size = 24_000 // ranker.noise(rng=rng(1)).size
    noise = ranker.noise(size, rng=rng(1))
    assert np.array_equal(noise, replace(ranker, scale=7 * ranker.scale).noise(size, rng=rng(1)))
    distribution = stats.norm if ranker.gaussian else stats.laplace
    assert stats.kstest(noise.ravel(), distribution.cdf).statistic < 0.0188
    assert np.unique(noise).size == noise.size
    assert ranker.noise((4, 5), rng=rng(1)).shape == (4, 5, *noise.shape[1:])


@every_noise
def test_a_release_is_its_data_its_noise_and_its_scale(ranker: r.StandardNoise, data: Any) -> None:
    noise = ranker.noise((4, 5), rng=rng(1))
    first = ranker.release(data, noise)
    assert np.array_equal(first, ranker.release(data, noise)) and first.shape[:2] == (4, 5)
    assert np.array_equal(first, ranker.publish(data, (4, 5), rng=rng(1)))
    louder = replace(ranker, scale=2 * ranker.scale)
    np.testing.assert_allclose(louder.release(data, noise / 2), first, atol=1e-6)


def test_only_standard_noise_is_called_noise() -> None:
    for ranker, _ in ALL.values():
        for name in ("noise", "release"):
            assert hasattr(ranker, name) is isinstance(ranker, r.StandardNoise)
        assert callable(type(ranker).private)


@every_case
def test_renaming_the_items_renames_the_distribution(case: Case) -> None:
    distribution, ranks = case.ranker.pmf(case.data), all_rankings(3)
    assert distribution.sum() == pytest.approx(1, rel=1e-12)
    index = {tuple(r): at for at, r in enumerate(ranks.tolist())}
    for names in permutations(range(3)):
        order = list(names)
        renamed = case.data[:, order] if case.pairs is not tables else case.data[order][:, order]
        moved = [index[tuple(r[order].tolist())] for r in ranks]
        assert case.ranker.pmf(renamed)[moved] == pytest.approx(distribution, rel=1e-9, abs=0)


def enumerated(ranker: r.Ranker, case: Case) -> float:
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


@every_ranker
def test_a_ranker_can_be_made_for_its_true_loss(ranker: r.Ranker, data: Any) -> None:
    known = any(ranker is case.ranker for case in CASES.values())
    for of in ("release", "ranking") if known else ("release",):
        made = ranker.at_loss(0.7, of)
        assert made.loss(of)[1] == pytest.approx(0.7, rel=1e-10)
        assert replace(made, scale=ranker.scale) == ranker


@every_ranker
def test_bad_input_is_refused_by_name(ranker: r.Ranker, data: Any) -> None:
    calls: dict[str, list[Callable[[], object]]] = {
        "epsilon": [lambda: ranker.at_loss(0), lambda: ranker.at_loss(float("nan"))],
        "of": [lambda: ranker.loss("set")],
        "scale": [lambda s=s: replace(ranker, scale=s) for s in (-1.0, float("inf"), None, "1")],
        "unit": [lambda u=u: replace(ranker, unit=u) for u in ("edge", None)],
        "rng": [lambda: ranker.publish(data, rng=None), lambda: ranker.sample(data, rng=0)],
        "size": [lambda k=k: ranker.publish(data, k, rng=rng(1)) for k in (-1, 1.5)],
        "data": [
            lambda bad=bad, call=call: call(bad)
            for call in (lambda d: ranker.publish(d, rng=rng(1)), ranker.pmf)
            for bad in (data * np.nan, data * 1j, data - 5, data[..., :2], None, "table")
            if any(ranker is case.ranker for case in CASES.values())
        ],
    }
    for name, bad in calls.items():
        for call in bad:
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                call()
    with pytest.raises(AttributeError):
        ranker.scale = 1.0  # type: ignore[misc]


@every_case
def test_data_on_more_items_than_the_unit_has_are_refused(case: Case) -> None:
    cap = {"cap": 3} if isinstance(case.ranker, r.CappedKwikSort) else {}
    wider = replace(case.ranker, unit=replace(case.ranker.unit, n_items=4), **cap)
    named = r"3 items: allowed are the 4 items|data of shape \(3, 3\): allowed is"
    with pytest.raises(ValueError, match=named):
        wider.publish(case.data, rng=rng(1))
    with pytest.raises(ValueError, match=named):
        wider.pmf(case.data)


@pytest.mark.parametrize("make", [r.NoisyCounts, r.DiscreteCounts])
def test_a_law_is_that_of_data_that_keep_to_the_unit(make: type[r.Ranker]) -> None:
    """Nobody vouches for the people behind a table: it has neither a release nor a distribution."""
    ranker = make.private(EPSILON, Person(3, 2))
    for call in (partial(ranker.publish, rng=rng(1)), ranker.pmf):
        with pytest.raises(ValueError, match="data does not say who gave which answer"):
            call(THREE)


def test_one_ranking_more_or_less_is_one_of_so_many_or_one_fewer() -> None:
    unit = replace(CROWD, relation="add_remove")
    unit.check(CROWD_OF_TWO)
    assert r.NoisyPairs.private(EPSILON, unit).loss("ranking")[1] < EPSILON
    for who, table in ((CROWD, CROWD_OF_TWO), (unit, CROWD_OF_TWO / 2)):
        with pytest.raises(ValueError, match="allowed is users = 3"):
            who.check(table)


@every_other
def test_the_promise_is_kept_and_half_the_noise_breaks_it(ranker: r.Ranker, data: Any) -> None:
    low, high = ranker.loss()
    assert 0 < low <= high == pytest.approx(EPSILON, rel=1e-9)
    assert ranker.at_loss(2 * EPSILON).scale < ranker.scale < ranker.at_loss(0.7).scale
    assert replace(ranker, scale=ranker.scale / 2).loss()[0] > EPSILON


def lists(unit: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Everybody's ranking replaced by every other."""
    for who, new in product(range(len(LISTS)), permutations(range(3))):
        other = LISTS.copy()
        other[who] = new
        if (other != LISTS).any():
            yield LISTS, other


def flipped(unit: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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
    """What `record_play` can see of a ranker, without a look at its distribution."""

    ranker: Any
    pairs: Callable[[Any], Iterator[tuple[Any, Any]]]
    run: Callable[[Any], Callable[..., Any]] = lambda ranker: ranker.publish
    shift: bool = True  # else noise is compared with thresholds, or the l1 norm does not decide
    scale: bool = True  # else no call has the scale, and no number is multiplied by it
    less: float = 0.5  # of the scale is certainly too little on one path


def reports(ranker: Any) -> Callable[..., Any]:
    return lambda data, rng: upper(ranker.publish(data, rng=rng))


def answers(ranker: r.AnswersOnDemand) -> Callable[..., Any]:
    return lambda data, rng: ranker.answers(data, rng=rng).values


def people_asked(ranker: r.OneQuestion) -> Callable[..., Any]:
    """Of so many who agree that one more or less decides nothing, and the questions stay."""
    return lambda data, rng: ranker.publish(np.concatenate([data, [[0, 1, 2]] * 57]), rng=rng)


# Whether a clipped lead has moved cannot be seen.
SEEN = {name for name in CASES if name != "pairs, clipped" and "three" not in name}
# K-norm noise is paid by a gauge: in l1, which is what is summed, a move may be longer.
GAUGED = {name for name in CASES if "K-norm" in name or name == "cube"}
PLAYS = {
    name: Play(CASES[name].ranker, CASES[name].pairs, shift=name not in GAUGED)
    for name in CASES
    if name in SEEN
}
ONE_MORE = replace(ALONE, relation="add_remove")
ASKED = r.OneQuestion.private(16.0, ALONE, groups=3)
PLAYS |= {
    "counts, one more": Play(
        counts(EPSILON, ONE_MORE), lambda unit: tables(replace(ONE_MORE, users=3))
    ),
    "exponential": Play(CASES["exponential"].ranker, tables, shift=False, scale=False),
    "top two": Play(CASES["top two"].ranker, tables, shift=False),
    "perturbed MLE": Play(OTHERS["perturbed MLE"][0], tables, less=0.25),
    "footrule": Play(OTHERS["footrule"][0], lists),
    "one pair": Play(OTHERS["one pair"][0], lists, reports),
    "all pairs": Play(OTHERS["all pairs"][0], lists, reports),
    "hypercube": Play(OTHERS["hypercube"][0], lists, shift=False, scale=False),
    "pair or parity": Play(OTHERS["pair or parity"][0], lists, shift=False, scale=False),
    "order of three": Play(OTHERS["order of three"][0], lists, shift=False, scale=False),
    "one question": Play(ASKED, lists, people_asked, shift=False, scale=False),
    "on demand": Play(OTHERS["on demand"][0], lists, answers, shift=False),
    "flipped answers": Play(OTHERS["flipped answers"][0], flipped),
    "Laplace answers": Play(OTHERS["Laplace answers"][0], flipped, reports),
}


def told(found: list) -> list[str]:
    """All violations; that a path showed nothing, such as a first place that stays, is none."""
    words = [words for report in found for words in report.violations]
    return [word for word in words if not word.startswith("inconclusive")]


every_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)


def played(play: Play, control: Callable[[Any, Any], Callable[..., Any]], scale: float) -> list:
    """Reports on a control, made from two data sets: on all neighbours or every so many."""
    pairs, how = list(play.pairs(play.ranker.unit)), {"scale": scale}
    how |= {"declared": EPSILON} if play.shift else {}
    some = enumerate(pairs[:: 1 + len(pairs) // 16])
    return [record_play(control(x, y), x, y, seed=seed, **how) for seed, (x, y) in some]


@every_play
def test_the_code_moves_its_values_by_what_is_declared_and_nothing_else(play: Play) -> None:
    ranker = play.ranker
    found = played(play, lambda x, y: play.run(ranker), ranker.scale)
    assert not told(found)
    assert all(report.number[0] == report.number[1] > 0 for report in found)
    if play.shift:
        assert max(report.l1 + report.count for report in found) > EPSILON / 2


@every_play
def test_what_spends_more_is_seen_in_the_code(play: Play) -> None:
    """Too little noise; a scale, and a call, that look at the data."""
    less, loud = (replace(play.ranker, scale=k * play.ranker.scale) for k in (play.less, 4))
    found = played(play, lambda x, y: play.run(less), less.scale)
    seen = told(found)
    assert all("declared" in words for words in seen) and bool(seen) is play.shift

    def by_scale(x: Any, y: Any) -> Callable[..., Any]:
        runs = play.run(play.ranker), play.run(loud)
        return lambda data, rng: runs[np.array_equal(data, x)](data, rng=rng)

    found = played(play, by_scale, play.ranker.scale)
    assert bool(told(found)) is play.scale

    def by_call(x: Any, y: Any) -> Callable[..., Any]:
        def run(data: Any, rng: Any) -> Any:
            out = play.run(play.ranker)(data, rng=rng)
            return out if np.array_equal(data, x) else out + 0 * rng.random()

        return run

    for report in played(play, by_call, play.ranker.scale):
        assert report.number[1] == report.number[0] + 1
        assert any("test_conformance" in words for words in report.violations)


def test_every_ranker_that_draws_is_an_object() -> None:
    """Objects promise their loss."""
    for name in r.__all__:
        value = getattr(r, name)
        assert not inspect.isfunction(value) or "rng" not in inspect.signature(value).parameters


def test_a_loss_of_the_ranking_that_nobody_knows_lies_between_0_and_that_of_the_release() -> None:
    for name in ("perturbed MLE", "flipped answers"):
        ranker = OTHERS[name][0]
        assert ranker.loss("ranking") == (0.0, ranker.loss()[1])
